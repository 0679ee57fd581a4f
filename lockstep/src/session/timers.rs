//! The table of timers: what a session waits for, and until when.

use std::time::Duration;

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timer {
    /// When the other end of a link must have proved its key.
    Handshake,
    /// When a lobby, a reopening or a joiner goes on.
    Gathering,
    /// When the next turn is due, or the game is told that it waits.
    Turn,
    /// When peers that turns or a change wait for are looked at.
    Watch,
    /// When the clock is looked at for a gap.
    ClockGap,
    /// When a neighbour may be told votes that it lacks.
    Votes,
    /// When a neighbour may be told statuses that it lacks.
    Statuses,
    /// When a turn packet leaves.
    Packet,
    /// When a peer is dialled to which no link carries.
    Dial,
    /// When a link has been silent for so long that its peer is dialled anew.
    Silence,
    /// When worlds that differ have had their time to be explained.
    Mismatch,
    /// When the batches of a dispute are shown again, or it is judged.
    Dispute,
    /// When batches that a decided log needs are asked for again.
    Search,
    /// When the wait for other signatures of the end is over.
    End,
    /// When the wait for the others of a peer that leaves is over.
    Leave,
}

impl Timer {
    const COUNT: usize = Timer::Leave as usize + 1;
}

/// When each timer is due, if it runs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Timers([Option<Duration>; Timer::COUNT]);

impl Timers {
    /// A timer is due then; of several times for one the earliest counts.
    pub(crate) fn set(&mut self, timer: Timer, at: impl IntoIterator<Item = Duration>) {
        let entry = &mut self.0[timer as usize];
        *entry = at.into_iter().chain(*entry).min();
    }

    /// When the first timer is due.
    pub(crate) fn first(&self) -> Option<Duration> {
        self.0.iter().flatten().min().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_time_of_the_earliest_timer_counts() {
        let mut timers = Timers::default();
        assert_eq!(timers.first(), None);
        let at = Duration::from_secs;
        timers.set(Timer::Turn, Some(at(5)));
        timers.set(Timer::Leave, [at(4), at(3)]);
        timers.set(Timer::Leave, Some(at(6)));
        timers.set(Timer::Handshake, None);
        assert_eq!(timers.first(), Some(at(3)));
    }
}
