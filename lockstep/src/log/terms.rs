//! The terms of a match: what its host settles for all.

use super::adaptive::{MARGIN_MS, fitting_plan};
use super::bundle::MAX_WAY;
use super::chain::Chain;
use crate::Plan;
use crate::encoding::{DecodeError, Reader, put_varint};
use crate::limits::LONGEST_DELAY;
use serde::{Deserialize, Serialize};
use sim::SeatState;
use std::time::Duration;

/// What the host settles for all peers of a match, beside the game's own setup.
///
/// A new option of matches is a field here. The start of every log holds the terms, and all peers sign them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms {
    /// The plan of turn 0, where it is not adaptive. Default 200 ms × 2.
    pub plan: Plan,
    /// Whether plans follow the links: turns become as short, and as few lie between a command and its execution, as
    /// batches come in time for. The plan of turn 0 is then what the links of the lobby ask for. Default: no.
    pub adaptive: bool,
    /// Seats of the match, 1–16. Default 2.
    pub seats: u8,
    /// Turns after which the match ends. Default: there is no such limit.
    pub turn_limit: Option<u32>,
    /// How often and how long one seat may pause. Default three pauses, five minutes together.
    pub pauses: PauseBudget,
    /// What becomes of a peer whose machine is too slow. Default: the match slows down for it.
    pub on_slow: OnSlow,
    /// What becomes of a match whose worlds differ. Default: a majority goes on without a minority that differs.
    pub on_desync: OnDesync,
    /// What plays the seats of a missing player. Default: they stand idle.
    pub absent: Absent,
}

impl Default for Terms {
    fn default() -> Self {
        Terms {
            plan: Plan::default(),
            adaptive: false,
            seats: 2,
            turn_limit: None,
            pauses: PauseBudget::default(),
            on_slow: OnSlow::default(),
            on_desync: OnDesync::default(),
            absent: Absent::default(),
        }
    }
}

impl Terms {
    /// Appends them as the start of a log holds them. The roster behind them tells the seats.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        self.plan.encode(out);
        out.push(self.adaptive as u8);
        put_turn_limit(out, self.turn_limit);
        out.push(self.pauses.pauses);
        put_varint(out, u64::from(self.pauses.seconds));
        out.push(self.on_slow as u8);
        out.push(self.on_desync as u8);
        out.push(self.absent as u8);
    }

    /// Reads what [`encode`](Self::encode) wrote. The caller sets the seats once it knows the roster.
    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<Terms, DecodeError> {
        let plan = Plan::decode(reader)?;
        let adaptive = reader.flag()?;
        let turn_limit = turn_limit(reader)?;
        let pauses = PauseBudget {
            pauses: reader.byte()?,
            seconds: u16::try_from(reader.varint()?)
                .map_err(|_| reader.fail("a budget of pauses that is too large"))?,
        };
        Ok(Terms {
            plan,
            adaptive,
            seats: 0,
            turn_limit,
            pauses,
            // Each policy has two variants.
            on_slow: [OnSlow::Meter, OnSlow::Remove][usize::from(reader.flag()?)],
            on_desync: [OnDesync::Pause, OnDesync::RemoveMinority][usize::from(reader.flag()?)],
            absent: [Absent::Idle, Absent::Ai][usize::from(reader.flag()?)],
        })
    }

    /// The plan to begin with where the slowest way between two peers takes so long, as far as is known.
    pub(crate) fn plan_for(&self, way: Duration) -> Plan {
        let way_ms = way.as_millis().min(MAX_WAY.into()) as u16;
        match self.adaptive {
            true => fitting_plan(way_ms + MARGIN_MS, self.plan),
            false => self.plan,
        }
    }

    /// Whether a match of these terms may begin with this plan: the one that they name, or any of its ticks where plans are
    /// adaptive.
    pub(crate) fn may_begin_with(&self, plan: Plan) -> bool {
        let adapts = self.adaptive && plan.tick_ms == self.plan.tick_ms && plan.is_valid(true);
        plan == self.plan || adapts
    }

    /// The longest command delay that a turn of the match may have, in turns.
    pub fn longest_delay(&self) -> u32 {
        match self.adaptive {
            true => LONGEST_DELAY,
            false => u32::from(self.plan.delay_turns),
        }
    }

    /// The shortest turn that the match may have.
    pub fn shortest_turn(&self) -> Duration {
        let fastest = fitting_plan(0, self.plan).turn();
        match self.adaptive {
            true => fastest.min(self.plan.turn()),
            false => self.plan.turn(),
        }
    }

    /// How many turns make up so long a time of the match, at least one: about, where plans are adaptive and turns are of
    /// two lengths and more.
    pub fn turns_in(&self, time: Duration) -> u32 {
        let turn = match self.adaptive {
            true => self.shortest_turn() * 2,
            false => self.plan.turn(),
        };
        (time.as_millis() / turn.as_millis()).max(1) as u32
    }

    /// Adds them to the hash of a start.
    pub(super) fn chain(&self, hash: &mut Chain) {
        hash.plan(&self.plan);
        hash.number(u32::from(self.adaptive));
        hash.turn_limit(self.turn_limit);
        hash.number(u32::from(self.pauses.pauses));
        hash.number(u32::from(self.pauses.seconds));
        hash.number(self.on_slow as u32);
        hash.number(self.on_desync as u32);
        hash.number(self.absent as u32);
    }
}

/// Appends a limit of turns; the number 0 stands for none.
pub(super) fn put_turn_limit(out: &mut Vec<u8>, limit: Option<u32>) {
    put_varint(out, limit.map_or(0, |turns| u64::from(turns) + 1));
}

/// Reads what [`put_turn_limit`] wrote.
pub(super) fn turn_limit(reader: &mut Reader<'_>) -> Result<Option<u32>, DecodeError> {
    match reader.varint()? {
        0 => Ok(None),
        turns => match u32::try_from(turns - 1) {
            Ok(turns) => Ok(Some(turns)),
            Err(_) => Err(reader.fail("too many turns")),
        },
    }
}

/// How often and how long one seat may pause a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PauseBudget {
    /// Pauses that it may call.
    pub pauses: u8,
    /// Seconds that they may last together.
    pub seconds: u16,
}

impl Default for PauseBudget {
    /// Three pauses, five minutes together.
    fn default() -> Self {
        PauseBudget {
            pauses: 3,
            seconds: 300,
        }
    }
}

/// What becomes of a peer whose machine takes longer for a tick than the match has for it.
///
/// Under either policy ticks become longer for all, four times at most, until it keeps up; all are told which peer it is.
/// They are short again once it has been fast enough for some time, or has cost the others ten seconds. Of these it is given
/// back a tenth of the time that it does not cost them. A peer that has used them up reports in vain until it has all of
/// them back: a false report buys no more than being late. A peer that plays alone costs no other anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum OnSlow {
    /// The peer stays, for friends. A machine that cannot keep up falls behind, until turns wait for it and the peer is
    /// removed for being late.
    #[default]
    Meter,
    /// A peer that has cost the others so much is removed, for strangers.
    Remove,
}

/// What becomes of a match when its peers' worlds differ, or their logs do and no peer is proved to have cheated.
///
/// Under either policy every peer writes a desync report, and the log holds what each one reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum OnDesync {
    /// It stands still for all: no turn is executed any more, and every peer ends with
    /// [`EndReason::Desync`](crate::EndReason::Desync). For development, where a difference is to be looked at.
    Pause,
    /// A quorum that reported the same goes on without the peers that differ, if it is more than half of all that
    /// reported. Anything else is as under [`Pause`](Self::Pause), for no peer knows then which world is right. So it is
    /// with two peers, and where halves differ although one has the tie-break: a tie-break says which half goes on, not
    /// which is right.
    ///
    /// A peer that is removed so may come back once, from a snapshot that a quorum signed or from the start. Memory that
    /// flips a bit is no lie, but a peer that strays again would go on to do so.
    #[default]
    RemoveMinority,
}

/// What plays the seats of a peer that has left or was removed, until it comes back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Absent {
    /// Nothing: they stand idle.
    #[default]
    Idle,
    /// The world's own AI, if it has one: nothing of that goes over the network.
    Ai,
}

impl Absent {
    /// What the world is told of such a seat.
    pub fn state(self) -> SeatState {
        match self {
            Absent::Idle => SeatState::Idle,
            Absent::Ai => SeatState::Ai,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Terms of which no field has its default.
    fn unusual() -> Terms {
        Terms {
            plan: Plan {
                ticks: 8,
                delay_turns: 5,
                tick_ms: 300,
            },
            adaptive: true,
            seats: 7,
            turn_limit: Some(300),
            pauses: PauseBudget {
                pauses: 9,
                seconds: 700,
            },
            on_slow: OnSlow::Remove,
            on_desync: OnDesync::Pause,
            absent: Absent::Ai,
        }
    }

    #[test]
    fn bytes_in_a_log_are_these() {
        let mut bytes = Vec::new();
        unusual().encode(&mut bytes);
        let golden = [8, 5, 0xac, 2, 1, 0xad, 2, 9, 0xbc, 5, 1, 0, 1];
        assert_eq!(bytes, golden);
        let mut reader = Reader::new(&bytes);
        let read = Terms::decode(&mut reader).expect("they decode");
        assert_eq!(reader.end(), Ok(()));
        assert_eq!(Terms { seats: 7, ..read }, unusual());
    }

    #[test]
    fn bytes_on_a_link_are_these() {
        let bytes = postcard::to_allocvec(&unusual()).expect("they encode");
        let golden = [8, 5, 0xac, 2, 1, 7, 1, 0xac, 2, 9, 0xbc, 5, 1, 0, 1];
        assert_eq!(bytes, golden);
        assert_eq!(postcard::from_bytes::<Terms>(&bytes), Ok(unusual()));
    }

    #[test]
    fn every_field_but_the_seats_enters_the_hash() {
        let hash = |terms: Terms| {
            let mut chain = Chain::new("test");
            terms.chain(&mut chain);
            chain.end()
        };
        let usual = Terms::default();
        let mut changed = [usual; 6];
        changed[0].plan = unusual().plan;
        changed[1].turn_limit = unusual().turn_limit;
        changed[2].pauses = unusual().pauses;
        changed[3].on_slow = unusual().on_slow;
        changed[4].on_desync = unusual().on_desync;
        changed[5].absent = unusual().absent;
        for terms in changed {
            assert_ne!(hash(terms), hash(usual), "{terms:?}");
        }
    }
}
