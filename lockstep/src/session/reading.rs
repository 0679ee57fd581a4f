//! What a session tells of the match without being given any input.

use super::contract::{LinkStats, Stats};
use super::{Phase, Session};
use crate::{Status, TurnNumber};
use sim::Seat;
use std::time::Duration;

/// What stands between a command that is issued now and its execution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outlook {
    /// The turn of the next batch.
    pub next: TurnNumber,
    /// Bytes that own commands which no batch holds yet take in one, 3 more than the encoding of each.
    pub waiting: u32,
}

impl Outlook {
    /// The turn of the batch that holds the last of so many waiting bytes, where each batch has room for `room` bytes.
    pub fn turn_of(&self, bytes: u32, room: u32) -> TurnNumber {
        let batches = bytes.saturating_sub(1) / room.max(1);
        TurnNumber(self.next.0.saturating_add(batches))
    }
}

impl Session {
    /// Where the match stands.
    pub fn status(&self) -> Status {
        match &self.phase {
            Phase::Lobby(lobby) => lobby.status(),
            Phase::Rejoin(joiner) => joiner.status(),
            Phase::Playing(playing) => playing.status(self.core.now),
            Phase::Over => Status::Ended,
        }
    }

    /// Seats of this peer, once the lobby has given it some.
    pub fn own_seats(&self) -> &[Seat] {
        match &self.phase {
            Phase::Lobby(lobby) => lobby.own_seats(),
            Phase::Rejoin(joiner) => joiner.own_seats(),
            Phase::Playing(playing) => playing.own_seats(),
            Phase::Over => &[],
        }
    }

    /// Addresses of the members of the lobby or the peers of the match, best ones first: a transport
    /// [keeps places](crate::Transport::keep_places) for dials from there.
    pub fn member_addresses(&self) -> Vec<String> {
        match &self.phase {
            Phase::Lobby(lobby) => lobby.member_addresses(),
            Phase::Playing(playing) => playing.member_addresses(),
            Phase::Rejoin(_) | Phase::Over => Vec::new(),
        }
    }

    /// What has been measured so far; the links are those that are up now.
    pub fn stats(&self) -> Stats {
        let mut stats = match &self.phase {
            Phase::Playing(playing) => playing.stats(self.core.now),
            _ => self.ended_stats.clone(),
        };
        let pings = match &self.phase {
            Phase::Lobby(lobby) => lobby.pings(),
            _ => &[],
        };
        let in_full =
            |(peer, ms): &(crate::PeerId, u16)| (*peer, Duration::from_millis((*ms).into()));
        stats.pings = pings.iter().map(in_full).collect();
        stats.links = self
            .core
            .links
            .values()
            .filter_map(|link| {
                let (peer, _) = link.proved?;
                Some(LinkStats {
                    peer,
                    rtt: link.quality.rtt.or(link.probed),
                    lost_of_64: link.quality.loss_per_64(),
                    batches: link.quality.copies.batches,
                    copies: link.quality.copies.again,
                    bytes: link.quality.bytes,
                    up_for: self.core.now.saturating_sub(link.up_at),
                })
            })
            .collect();
        stats
    }

    /// What a command that is issued now has before it. Outside a match nothing.
    pub fn outlook(&self) -> Outlook {
        match &self.phase {
            Phase::Playing(playing) => playing.outlook(),
            Phase::Lobby(_) | Phase::Rejoin(_) | Phase::Over => Outlook::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fills_a_batch_pushes_the_rest_into_the_next() {
        let outlook = Outlook {
            next: TurnNumber(7),
            waiting: 0,
        };
        let turns = [0, 1, 500, 501, 1_000, 1_001].map(|bytes| outlook.turn_of(bytes, 500).0);
        assert_eq!(turns, [7, 7, 7, 8, 8, 9]);
    }
}
