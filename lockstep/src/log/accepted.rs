//! What a peer has accepted of a roster change, as its own recording keeps it.

use super::bundle::{Bundle, decode_entries, encode_entries};
use super::peers::Peers;
use super::value::{Ballot, Readmission, Value};
use crate::encoding::{DecodeError, Reader, put_varint};
use crate::{Incarnation, LogHash, Plan, TurnNumber};

/// A roster change that this peer has accepted and does not know to be decided.
///
/// A peer writes it before any other peer hears of the accept, so that a later run of its process knows of it. The newest
/// one counts, and none counts behind the change that ends its epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// The epoch that the change ends.
    pub epoch: u32,
    /// The ballot in which this peer accepted.
    pub ballot: Ballot,
    /// The new roster, and where its epoch begins.
    pub value: Value,
    /// The turns up to the cut that stand not in the log: the peer holds their batches, and completes no turn while the
    /// roster changes.
    pub turns: Vec<Bundle>,
}

impl Accepted {
    /// Turns of an accept, at most: no peer holds batches of so many turns that it has not completed.
    const MOST_TURNS: usize = 256;
    /// Bytes of them, which a recording takes in one item.
    const MOST_BYTES: usize = 128 << 10;

    /// Leaves the turns out where there are too many, which their peers have recorded.
    pub(crate) fn bounded(mut self) -> Accepted {
        let few = self.turns.len() <= Accepted::MOST_TURNS;
        let mut bytes = Vec::new();
        for bundle in self.turns.iter().filter(|_| few) {
            encode_entries(&mut bytes, &bundle.entries);
        }
        if !few || bytes.len() > Accepted::MOST_BYTES {
            self.turns.clear();
        }
        self
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        let value = &self.value;
        put_varint(out, u64::from(self.epoch));
        put_varint(out, u64::from(self.ballot.round));
        out.push(self.ballot.peer);
        put_varint(out, u64::from(value.cut));
        for peers in [value.roster, value.cheats, value.minority, value.left] {
            out.extend_from_slice(&peers.0.to_le_bytes());
        }
        out.push(u8::from(value.joins.is_some()));
        if let Some(joins) = &value.joins {
            out.push(joins.peer);
            out.extend_from_slice(&joins.incarnation.0);
        }
        out.push(u8::from(value.log_hash.is_some()));
        if let Some(hash) = &value.log_hash {
            out.extend_from_slice(&hash.0);
        }
        put_varint(out, self.turns.len() as u64);
        for bundle in &self.turns {
            put_varint(out, u64::from(bundle.turn.0));
            bundle.plan.encode(out);
            out.push(u8::from(bundle.paused));
            encode_entries(out, &bundle.entries);
        }
    }

    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<Accepted, DecodeError> {
        let epoch = reader.number()?;
        let ballot = Ballot {
            round: reader.number()?,
            peer: reader.byte()?,
        };
        let cut = reader.number()?;
        let mut peers = || Ok::<_, DecodeError>(Peers(u16::from_le_bytes(reader.array()?)));
        let mut value = Value::of(peers()?, cut);
        (value.cheats, value.minority, value.left) = (peers()?, peers()?, peers()?);
        if reader.flag()? {
            value.joins = Some(Readmission {
                peer: reader.byte()?,
                incarnation: Incarnation(reader.array()?),
            });
        }
        if reader.flag()? {
            value.log_hash = Some(LogHash(reader.array()?));
        }
        let count = reader.count(Accepted::MOST_TURNS, "more turns than a peer holds")?;
        let turns = (0..count)
            .map(|_| {
                Ok(Bundle {
                    turn: TurnNumber(reader.number()?),
                    plan: Plan::decode(reader)?,
                    paused: reader.flag()?,
                    entries: decode_entries(reader)?,
                })
            })
            .collect::<Result<_, DecodeError>>()?;
        Ok(Accepted {
            epoch,
            ballot,
            value,
            turns,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;
    use crate::log::fixture::{accepted, bundle};
    use crate::log::{Codec, LogEntry, Record, What};
    use sim::Seat;

    #[test]
    fn an_accept_decodes_to_what_was_encoded_and_no_part_of_it_does() {
        let mut whole = accepted(0, 12);
        whole.turns = vec![bundle(10), bundle(11)];
        whole.value.joins = Some(Readmission {
            peer: 2,
            incarnation: Incarnation([3; 16]),
        });
        let record = Record::Accept(whole);
        let mut bytes = Vec::new();
        Codec::default().encode(&record, &mut bytes);
        let decode = |bytes: &[u8]| Codec::default().decode(bytes, &Limits::default());
        assert_eq!(decode(&bytes), Ok(record));
        for end in 0..bytes.len() {
            assert!(decode(&bytes[..end]).is_err(), "{end} bytes");
        }
    }

    #[test]
    fn a_recording_takes_what_is_kept_of_an_accept() {
        let turn = |turn: u32, commands: usize| {
            let command = LogEntry {
                seat: Seat(0),
                what: What::Command(vec![7; 300].into()),
            };
            Bundle {
                entries: vec![command; commands],
                ..bundle(turn)
            }
        };
        let kept = |turns: u32, commands: usize| {
            let turns = (0..turns).map(|number| turn(number, commands)).collect();
            let whole = Accepted {
                turns,
                ..accepted(0, 300)
            };
            whole.bounded().turns.len()
        };
        assert_eq!((kept(256, 0), kept(257, 0)), (256, 0));
        assert_eq!((kept(16, 20), kept(16, 30)), (16, 0));
    }

    #[test]
    fn a_turn_of_more_than_all_batches_is_no_turn() {
        let decode = |commands: usize| {
            let command = LogEntry {
                seat: Seat(0),
                what: What::Command(vec![7; 500].into()),
            };
            let mut bytes = Vec::new();
            encode_entries(&mut bytes, &vec![command; commands]);
            decode_entries(&mut Reader::new(&bytes)).map(|entries| entries.len())
        };
        assert_eq!(decode(32), Ok(32));
        assert_eq!(
            decode(33).map_err(|error| error.what),
            Err("a turn above its limit")
        );
    }
}
