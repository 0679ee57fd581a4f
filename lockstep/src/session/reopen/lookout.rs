//! Whether somebody still plays the match: a peer that waits for the others looks for that, and believes nobody's bare
//! word. A match that goes on has turns, or a roster change, behind those that this peer recorded, and a quorum signed
//! them. A match that stands still for want of a quorum has neither, and nobody could come back into it.

use super::book::Book;
use crate::log::{Codec, Head, Peers, Record, SignedBatch, start_hash};
use crate::session::Output;
use crate::session::core::Core;
use crate::session::rejoin::{Answer, Ask, RejoinContext, encode};
use crate::{Fault, LinkId, LogHash, PeerId};
use std::collections::BTreeMap;
use std::time::Duration;

/// Others are dialled, and asked, this often.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// A quorum's batches about so many turns more than this peer recorded show that the match went on without it: more than
/// what was complete elsewhere, and not yet written here, when all died.
const MARGIN: u32 = 16;

pub(super) struct Lookout {
    next: Duration,
    dials: usize,
    asked: BTreeMap<LinkId, Asked>,
    recorded: Option<Box<Recorded>>,
}

/// Where it stands with one link.
#[derive(Default)]
struct Asked {
    /// It is to answer.
    waits: bool,
    /// It has told that it has the match.
    outlined: bool,
}

/// Where the recorded log ends.
struct Recorded {
    start: LogHash,
    epoch: u32,
    turns: u32,
    /// The log up to where others must have it, too.
    head: Head,
}

impl Lookout {
    pub(super) fn new(core: &Core) -> Self {
        Lookout {
            next: core.now,
            dials: 0,
            asked: BTreeMap::new(),
            recorded: None,
        }
    }

    pub(super) fn deadline(&self) -> Duration {
        self.next
    }

    /// Dials whom it is not linked with, and asks the others, where it is time to. Who is `here` waits as well.
    pub(super) fn look(&mut self, core: &mut Core, known: &RejoinContext, here: &[PeerId]) {
        if core.now < self.next {
            return;
        }
        self.next = core.now + LOOK_EVERY;
        self.asked.retain(|link, _| core.links.contains_key(link));
        let elsewhere = known.contacts.iter().filter(|contact| {
            let known = contact.peer == core.id() || here.contains(&contact.peer);
            !known && !contact.addresses.is_empty()
        });
        for contact in elsewhere.cloned().collect::<Vec<_>>() {
            let link = core.links_to(contact.peer).map(|link| link.id).next();
            match link {
                Some(link) => self.ask(core, known, link),
                None => {
                    let address = contact.addresses[self.dials % contact.addresses.len()].clone();
                    let key = contact.peer;
                    core.out.push(Output::Dial { address, key });
                }
            }
        }
        self.dials += 1;
    }

    /// Somebody has proved who it is. Whoever this peer has dialled is asked at once.
    pub(super) fn proved(&mut self, core: &mut Core, known: &RejoinContext, link: LinkId) {
        if core.links.get(&link).is_some_and(|link| link.dialled) {
            self.ask(core, known, link);
        }
    }

    fn ask(&mut self, core: &mut Core, known: &RejoinContext, link: LinkId) {
        let Some(at) = core.links.get_mut(&link) else {
            return;
        };
        at.asked = true;
        let asked = self.asked.entry(link).or_default();
        asked.waits = true;
        let ask = match &self.recorded {
            Some(recorded) if asked.outlined => Ask::Log {
                from: recorded.head.turns(),
                attested: 0,
            },
            _ => Ask::Outline {
                match_id: known.match_id,
            },
        };
        core.send_bulk(link, encode(&ask));
    }

    /// Takes an answer. True where it shows that the match goes on.
    pub(super) fn answered(
        &mut self,
        core: &mut Core,
        known: &RejoinContext,
        link: LinkId,
        answer: Answer,
    ) -> bool {
        let Some(asked) = self.asked.get_mut(&link) else {
            return false;
        };
        // An answer for a question: each costs a walk.
        if !std::mem::take(&mut asked.waits) {
            return false;
        }
        match answer {
            Answer::Outline { start, .. } if !asked.outlined => {
                if self.recorded.is_none() {
                    self.recorded = Recorded::of(core, known).map(Box::new);
                }
                let ours = self.recorded.as_ref().map(|recorded| recorded.start);
                match Codec::default().decode(&start, &core.limits) {
                    Ok(Record::Start(start)) if Some(start_hash(&start)) == ours => {
                        asked.outlined = true;
                        self.ask(core, known, link);
                    }
                    _ => {
                        core.fault(link, Fault::Signature);
                        core.close(link);
                    }
                }
                false
            }
            Answer::Log {
                from,
                records,
                batches,
                ..
            } if asked.outlined => {
                let batches: Vec<SignedBatch> = batches.into_iter().map(Into::into).collect();
                let recorded = self.recorded.as_ref();
                recorded.is_some_and(|recorded| recorded.goes_on(core, from, &records, &batches))
            }
            _ => false,
        }
    }
}

impl Recorded {
    fn of(core: &Core, known: &RejoinContext) -> Option<Recorded> {
        let book = Book::open(core, known.match_id, &known.own, &known.rules);
        let mut book = book.ok()?;
        let (epoch, turns) = (book.epoch(), book.turns());
        book.cut_back_provisional(core);
        let start = start_hash(&book.start);
        let head = book.head().clone();
        Some(Recorded {
            start,
            epoch,
            turns,
            head,
        })
    }

    fn goes_on(&self, core: &Core, from: u32, records: &[u8], batches: &[SignedBatch]) -> bool {
        if from != self.head.turns() {
            return false;
        }
        let mut head = self.head.clone();
        let Ok(records) = head.codec().clone().decode_all(records, &core.limits) else {
            return false;
        };
        for record in records {
            if !head.is_past(&record) && head.take(&record, core.signer.as_ref()).is_err() {
                break;
            }
            // A change proves itself: this peer's log lacks the decision that ended its last epoch.
            if head.epoch() > self.epoch {
                return true;
            }
        }
        let beyond = |signed: &SignedBatch| {
            let batch = head.read(signed, core.signer.as_ref())?;
            (batch.complete >= self.turns.saturating_add(MARGIN)).then_some(signed.peer)
        };
        let signed: Peers = batches.iter().filter_map(beyond).collect();
        head.is_quorum(signed)
    }
}
