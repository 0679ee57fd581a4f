//! Whether the match is still played elsewhere. A peer that waits for the others looks for that, and takes no peer's bare
//! word. A match that goes on has turns, or a roster change, behind those that this peer recorded, and a quorum signed
//! them. A match without a quorum has neither, and no peer could come back into it.

use super::recovered_log::RecoveredLog;
use crate::log::{Codec, Head, Peers, Record, SignedBatch, start_hash};
use crate::session::rejoin::{Answer, Ask, RejoinContext};
use crate::sign::Signer;
use crate::{Contact, Limits, LinkId, LogHash, MatchId, PeerId};
use std::collections::BTreeMap;
use std::time::Duration;

/// Others are dialled, and asked, this often.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// A quorum's batches about so many turns more than this peer recorded show that the match went on without it: more than
/// what was complete elsewhere, and not yet written here, when all died.
const MARGIN: u32 = 16;

pub(super) struct ActivityProbe {
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

/// What an activity probe wants done.
#[derive(Debug)]
pub(super) enum Probe {
    Dial { address: String, key: PeerId },
    Ask(LinkId, Ask),
}

/// What it has come to.
#[derive(Debug)]
pub(super) enum Finding {
    /// Nothing so far.
    Probes(Vec<Probe>),
    /// The peer on this link shows another match for this one.
    Forged(LinkId),
    /// The match goes on.
    GoesOn,
}

impl ActivityProbe {
    pub(super) fn new(now: Duration) -> Self {
        ActivityProbe {
            next: now,
            dials: 0,
            asked: BTreeMap::new(),
            recorded: None,
        }
    }

    pub(super) fn deadline(&self) -> Duration {
        self.next
    }

    /// Asks the peers `elsewhere` that a link leads to, and dials the others, where it is time to.
    pub(super) fn advance<'a>(
        &mut self,
        now: Duration,
        match_id: MatchId,
        elsewhere: impl Iterator<Item = (&'a Contact, Option<LinkId>)>,
        is_up: impl Fn(LinkId) -> bool,
    ) -> Finding {
        if now < self.next {
            return Finding::Probes(Vec::new());
        }
        self.next = now + LOOK_EVERY;
        self.asked.retain(|link, _| is_up(*link));
        let probes = elsewhere.map(|(contact, link)| match link {
            Some(link) => self.ask(match_id, link),
            None => Probe::Dial {
                address: contact.addresses[self.dials % contact.addresses.len()].clone(),
                key: contact.peer,
            },
        });
        let probes = probes.collect();
        self.dials += 1;
        Finding::Probes(probes)
    }

    /// Asks the peer on a link.
    pub(super) fn ask(&mut self, match_id: MatchId, link: LinkId) -> Probe {
        let asked = self.asked.entry(link).or_default();
        asked.waits = true;
        let ask = match &self.recorded {
            Some(recorded) if asked.outlined => Ask::Log {
                from: recorded.head.turns(),
                attested: 0,
            },
            _ => Ask::Outline { match_id },
        };
        Probe::Ask(link, ask)
    }

    /// Takes an answer.
    pub(super) fn answered(
        &mut self,
        signer: &dyn Signer,
        limits: &Limits,
        context: &RejoinContext,
        link: LinkId,
        answer: Answer,
    ) -> Finding {
        let nothing = Finding::Probes(Vec::new());
        let Some(asked) = self.asked.get_mut(&link) else {
            return nothing;
        };
        // An answer for a question: each costs a walk.
        if !std::mem::take(&mut asked.waits) {
            return nothing;
        }
        match answer {
            Answer::Outline { start, .. } if !asked.outlined => {
                if self.recorded.is_none() {
                    self.recorded = Recorded::of(signer, context).map(Box::new);
                }
                let ours = self.recorded.as_ref().map(|recorded| recorded.start);
                match Codec::default().decode(&start, limits) {
                    Ok(Record::Start(start)) if Some(start_hash(&start)) == ours => {
                        asked.outlined = true;
                        Finding::Probes(vec![self.ask(context.from.match_id, link)])
                    }
                    _ => Finding::Forged(link),
                }
            }
            Answer::Log {
                from,
                records,
                batches,
                ..
            } if asked.outlined => {
                let batches: Vec<SignedBatch> = batches.into_iter().map(Into::into).collect();
                let recorded = self.recorded.as_ref();
                let goes_on = recorded.is_some_and(|recorded| {
                    recorded.goes_on(signer, limits, from, &records, &batches)
                });
                if goes_on { Finding::GoesOn } else { nothing }
            }
            _ => nothing,
        }
    }
}

impl Recorded {
    fn of(signer: &dyn Signer, context: &RejoinContext) -> Option<Recorded> {
        let mut log = RecoveredLog::open(signer, context).ok()?;
        let (epoch, turns) = (log.epoch(), log.turns());
        log.cut_back_provisional(signer);
        Some(Recorded {
            start: start_hash(log.start()),
            epoch,
            turns,
            head: log.head().clone(),
        })
    }

    fn goes_on(
        &self,
        signer: &dyn Signer,
        limits: &Limits,
        from: u32,
        records: &[u8],
        batches: &[SignedBatch],
    ) -> bool {
        if from != self.head.turns() {
            return false;
        }
        let mut head = self.head.clone();
        let Ok(records) = head.codec().clone().decode_all(records, limits) else {
            return false;
        };
        for record in records {
            // A branch decides nothing in the match.
            let branches = matches!(&record, Record::Roster(change) if change.branch().is_some());
            if branches || !head.is_past(&record) && head.take(&record, signer).is_err() {
                break;
            }
            // A change proves itself: this peer's log lacks the decision that ended its last epoch.
            if head.epoch() > self.epoch {
                return true;
            }
        }
        let beyond = |signed: &SignedBatch| {
            let batch = head.read(signed, signer)?;
            (batch.complete >= self.turns.saturating_add(MARGIN)).then_some(signed.peer)
        };
        let signed: Peers = batches.iter().filter_map(beyond).collect();
        head.is_quorum(signed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::fixture::{false_alarm, signer};
    use crate::session::lobby::reopening::fixture::{context, log, start};
    use std::sync::Arc;

    const NOW: Duration = Duration::from_secs(5);
    const LINK: LinkId = LinkId(7);

    fn contact(addresses: &[&str]) -> Contact {
        Contact {
            peer: PeerId([2; 32]),
            addresses: addresses
                .iter()
                .map(|address| (*address).to_owned())
                .collect(),
        }
    }

    fn advance(probe: &mut ActivityProbe, now: Duration, link: Option<LinkId>) -> Vec<String> {
        let contact = contact(&["a", "b"]);
        let elsewhere = std::iter::once((&contact, link));
        let finding = probe.advance(now, context(0).from.match_id, elsewhere, |_| true);
        let Finding::Probes(probes) = finding else {
            panic!("{finding:?}");
        };
        let told = probes.into_iter().map(|probe| match probe {
            Probe::Dial { address, .. } => address,
            Probe::Ask(link, ask) => format!("{link:?} {ask:?}"),
        });
        told.collect()
    }

    #[test]
    fn others_are_dialled_in_turn_or_asked_once_a_second() {
        let mut probe = ActivityProbe::new(NOW);
        assert_eq!(advance(&mut probe, NOW, None), ["a"]);
        assert_eq!(advance(&mut probe, NOW, None), [] as [String; 0]);
        assert_eq!(probe.deadline(), NOW + LOOK_EVERY);
        assert_eq!(advance(&mut probe, NOW + LOOK_EVERY, None), ["b"]);
        let asked = advance(&mut probe, NOW + LOOK_EVERY * 2, Some(LINK));
        assert!(asked[0].contains("Outline"), "{asked:?}");
    }

    /// A probe of a peer that has recorded 20 turns, after the other end has shown that it has the match.
    fn outlined() -> ActivityProbe {
        let mut probe = ActivityProbe::new(NOW);
        probe.ask(context(20).from.match_id, LINK);
        let asks = answered(&mut probe, outline(start()));
        let Finding::Probes(asks) = asks else {
            panic!("{asks:?}");
        };
        let from = |probe: &Probe| matches!(probe, Probe::Ask(LINK, Ask::Log { from: 12, .. }));
        assert!(asks.iter().all(from) && asks.len() == 1, "{asks:?}");
        probe
    }

    fn outline(start: crate::log::Start) -> Answer {
        let mut bytes = Vec::new();
        Codec::default().encode(&Record::Start(Arc::new(start)), &mut bytes);
        Answer::Outline {
            start: bytes,
            snapshot: None,
            contacts: Vec::new(),
        }
    }

    fn answered(probe: &mut ActivityProbe, answer: Answer) -> Finding {
        probe.answered(&signer(0), &Limits::default(), &context(20), LINK, answer)
    }

    /// The log from turn 12 on, with more behind it.
    fn pages(more: Option<Record>) -> Answer {
        let mut records = Vec::new();
        let mut codec = log(1, 12).head().codec().clone();
        let turns = crate::log::fixture::turns(20).split_off(12).into_iter();
        turns
            .chain(more)
            .for_each(|record| codec.encode(&record, &mut records));
        Answer::Log {
            from: 12,
            records,
            turns: 20,
            due_in_ms: 0,
            batches: Vec::new(),
        }
    }

    #[test]
    fn a_roster_change_behind_the_recording_shows_that_the_match_goes_on() {
        let change = false_alarm(&start(), 0, 20, log(1, 20).head().hash());
        let decided = pages(Some(Record::Roster(change.clone())));
        assert!(matches!(
            answered(&mut outlined(), decided),
            Finding::GoesOn
        ));
        let mut forged = change;
        forged.accepts.truncate(1);
        let forged = pages(Some(Record::Roster(forged)));
        assert!(matches!(
            answered(&mut outlined(), forged),
            Finding::Probes(_)
        ));
    }

    #[test]
    fn a_log_as_long_as_the_recording_shows_nothing() {
        assert!(matches!(
            answered(&mut outlined(), pages(None)),
            Finding::Probes(_)
        ));
    }

    #[test]
    fn another_start_is_forged_and_an_answer_to_no_question_is_nothing() {
        let mut probe = ActivityProbe::new(NOW);
        probe.ask(context(20).from.match_id, LINK);
        let mut other = start();
        other.seed = sim::Seed([9; 32]);
        assert!(matches!(
            answered(&mut probe, outline(other)),
            Finding::Forged(LINK)
        ));
        assert!(matches!(
            answered(&mut probe, outline(start())),
            Finding::Probes(_)
        ));
        let unasked = answered(&mut probe, pages(None));
        assert!(matches!(unasked, Finding::Probes(_)));
    }
}
