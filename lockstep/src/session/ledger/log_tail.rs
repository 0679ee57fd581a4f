//! The tail: complete turns that are not final yet, and records about them, which wait.

use crate::limits::LONGEST_DELAY;
use crate::log::{Bundle, LogPart, Record};
use crate::session::Output;
use std::collections::VecDeque;

pub(crate) struct LogTail {
    /// Turns of the log.
    logged: u32,
    /// Turns that are final, whether they are complete here or not.
    finals: u32,
    turns: VecDeque<Bundle>,
    /// Records about so many turns, some of them in the tail.
    waiting: Vec<(u32, Record)>,
}

impl LogTail {
    /// Behind a log of so many turns.
    pub(crate) fn behind(logged: u32) -> Self {
        LogTail {
            logged,
            finals: logged,
            turns: VecDeque::new(),
            waiting: Vec::new(),
        }
    }

    /// Turns of the log.
    pub(crate) fn logged(&self) -> u32 {
        self.logged
    }

    /// The turn behind all that are here.
    pub(crate) fn next(&self) -> u32 {
        self.logged + self.turns.len() as u32
    }

    /// The turns that are not final, where there are any. The store writes them anew after each turn.
    pub(crate) fn provisional(&self) -> Option<Vec<Bundle>> {
        (!self.turns.is_empty()).then(|| self.turns.iter().cloned().collect())
    }

    /// The next turn is complete. No correct peer is further behind than the longest command delay.
    pub(crate) fn push(&mut self, bundle: Bundle) -> Vec<Output> {
        let complete = bundle.turn.0 + 1;
        self.turns.push_back(bundle);
        self.settle(complete.saturating_sub(LONGEST_DELAY))
    }

    /// The next turn stands in the tail, however long that is, until it is known to be final.
    pub(crate) fn hold(&mut self, bundle: Bundle) {
        self.turns.push_back(bundle);
    }

    /// Turns before this one are final: they go into the log, and what was recorded about them.
    pub(crate) fn settle(&mut self, turns: u32) -> Vec<Output> {
        self.finals = self.finals.max(turns);
        let finals = self.finals;
        let mut out = Vec::new();
        while let Some(bundle) = self.turns.pop_front_if(|next| next.turn.0 < finals) {
            self.logged += 1;
            out.push(Output::Append(Record::Bundle(bundle)));
        }
        let logged = self.logged;
        let settled = self.waiting.extract_if(.., |(about, _)| *about <= logged);
        out.extend(settled.map(|(_, record)| Output::Append(record)));
        out
    }

    /// Takes final records behind all that are here, however many. They go into the log at once.
    pub(crate) fn pass(&mut self, part: LogPart) -> Vec<Output> {
        if part.is_empty() {
            return Vec::new();
        }
        let (begin, end) = part.turns();
        let mut out = self.settle(begin);
        out.push(Output::AppendAll(part));
        self.logged = end;
        out.extend(self.settle(end));
        out
    }

    /// Takes a record about so many turns. It goes into the log once they have.
    pub(crate) fn record(&mut self, about: u32, record: Record) -> Option<Output> {
        if about <= self.logged {
            return Some(Output::Append(record));
        }
        self.waiting.push((about, record));
        None
    }

    /// Takes back the turns from `cut` on, and what was recorded about them.
    pub(crate) fn retract(&mut self, cut: u32) -> Output {
        self.turns.retain(|bundle| bundle.turn.0 < cut);
        self.waiting.retain(|(about, _)| *about <= cut);
        Output::Tail(self.provisional().unwrap_or_default())
    }

    /// No turn is taken back any more: what waits is recorded, and the tail stays as it is. A keyframe is of final turns
    /// only.
    pub(crate) fn close(&mut self) -> Vec<Output> {
        let waiting = self.waiting.drain(..).map(|(_, record)| record);
        let records = waiting.filter(|record| !matches!(record, Record::Keyframe(_)));
        records.map(Output::Append).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::fixture::bundle;
    use sim::Checksum;

    fn checksum(turns: u32) -> Record {
        Record::Checksum {
            turns,
            checksum: Checksum(turns),
        }
    }

    fn turn(turn: u32) -> Output {
        Output::Append(Record::Bundle(bundle(turn)))
    }

    #[test]
    fn turns_and_what_is_said_of_them_wait_until_they_are_final() {
        let mut tail = LogTail::behind(4);
        assert_eq!(tail.push(bundle(4)), []);
        assert_eq!(tail.provisional(), Some(vec![bundle(4)]));
        tail.push(bundle(5));
        assert_eq!(tail.record(6, checksum(6)), None);
        let known = Output::Append(checksum(4));
        assert_eq!(tail.record(4, checksum(4)), Some(known));
        assert_eq!(tail.settle(5), [turn(4)]);
        assert_eq!(tail.logged(), 5);
        let recorded = Output::Append(checksum(6));
        assert_eq!(tail.settle(7), [turn(5), recorded]);
        assert_eq!(tail.push(bundle(6)), [turn(6)], "final already");
        assert_eq!(tail.provisional(), None);
    }

    #[test]
    fn a_tail_is_no_longer_than_the_longest_delay() {
        let mut tail = LogTail::behind(0);
        (0..8).for_each(|at| assert_eq!(tail.push(bundle(at)), []));
        assert_eq!(tail.push(bundle(8)), [turn(0)]);
        assert_eq!(tail.provisional(), Some((1..9).map(bundle).collect()));
    }

    #[test]
    fn a_retraction_takes_back_what_is_said_of_the_turns() {
        let mut tail = LogTail::behind(0);
        for at in 0..3 {
            tail.push(bundle(at));
        }
        tail.record(1, checksum(1));
        tail.record(2, checksum(2));
        assert_eq!(tail.retract(1), Output::Tail(vec![bundle(0)]));
        let recorded = Output::Append(checksum(1));
        assert_eq!(tail.close(), [recorded]);
    }
}
