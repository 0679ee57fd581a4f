//! The recording of a session, in memory.

use crate::log::{Accepted, EncodedLog, Keyframe, Record, SignedBatch, SignedReopening};
use crate::log::{Tail, TailChange};
use crate::session::Output;
use crate::{Contact, MatchId, Rejoin};

/// What one run of a peer's process records, as a disk holds it.
///
/// Another run of the process comes back with it: see [`rejoin`](Self::rejoin).
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// The records, oldest first, with the turns that are not final yet.
    pub records: Vec<Record>,
    tail: Tail,
}

impl Recording {
    /// Takes [`Output::Append`], [`Output::AppendAll`] and [`Output::Tail`]. Other outputs record nothing.
    pub fn take(&mut self, output: &Output) {
        match output {
            Output::Append(record) => self.append(record.clone()),
            Output::AppendAll(part) => part.records().for_each(|record| self.append(record)),
            Output::Tail(turns) => {
                let change = self.tail.replace(turns);
                write(&mut self.records, &change);
            }
            _ => {}
        }
    }

    fn append(&mut self, record: Record) {
        match record {
            Record::Bundle(bundle) => {
                let change = self.tail.append(&bundle);
                write(&mut self.records, &change);
            }
            record => self.records.push(record),
        }
    }

    /// What its peer has accepted and of which its log has no decision.
    pub fn accepted(&self) -> Option<Accepted> {
        let mut newest = None;
        for record in &self.records {
            match record {
                Record::Accept(accepted) => newest = Some(accepted.clone()),
                Record::Roster(change) => {
                    newest.take_if(|accepted| accepted.epoch <= change.epoch);
                }
                _ => {}
            }
        }
        newest
    }

    /// The reopening that its peer has signed last, and by which its log does not go on.
    pub fn signed(&self) -> Option<SignedReopening> {
        let mut newest = None;
        for record in &self.records {
            match record {
                Record::Signed(signed) => newest = Some(*signed),
                Record::Roster(change) => {
                    newest.take_if(|signed| signed.epoch <= change.epoch);
                }
                _ => {}
            }
        }
        newest
    }

    /// What another run of the process comes back to this match with. It dials these contacts.
    pub fn rejoin(&self, match_id: MatchId, contacts: Vec<Contact>) -> Rejoin {
        let mut attests: Vec<SignedBatch> = Vec::new();
        let mut keyframe: Option<Keyframe> = None;
        for record in &self.records {
            match record {
                Record::Attest(signed) => {
                    attests.retain(|old| old.peer != signed.peer);
                    attests.push(signed.clone());
                }
                Record::Keyframe(newer) => keyframe = Some(newer.clone()),
                _ => {}
            }
        }
        let of_log =
            |of: &&Record| matches!(of, Record::Start(_) | Record::Bundle(_) | Record::Roster(_));
        Rejoin {
            match_id,
            contacts,
            player: None,
            log: EncodedLog::of(self.records.iter().filter(of_log)),
            keyframe,
            accepted: self.accepted(),
            signed: self.signed(),
            attests,
            accepts_other_history: false,
        }
    }
}

fn write(records: &mut Vec<Record>, change: &TailChange<'_>) {
    if let Some(from) = change.take_back {
        records.retain(|record| !matches!(record, Record::Bundle(bundle) if bundle.turn.0 >= from));
    }
    records.extend(change.write.iter().cloned().map(Record::Bundle));
}
