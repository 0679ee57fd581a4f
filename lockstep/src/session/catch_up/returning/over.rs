//! The end of a match that a peer follows and has no part in: learnt from those who sign it, before they go.

use super::{Returning, Snapshot, World};
use crate::log::{End, Record, end_signed_bytes};
use crate::session::Output;
use crate::session::core::Core;
use crate::session::ending::signed_end;
use crate::session::lobby::Step;
use crate::session::roster::Peers;
use crate::session::wire::Control;
use crate::{Desync, DesyncSide, EndReason, Ended, Event, Fault, LinkId, TurnNumber};
use std::time::Duration;

/// Once a quorum has signed the end, the others have so long to: those who play wait for them longer.
const SIGNED_WITHIN: Duration = Duration::from_secs(1);

impl Returning {
    /// Takes what a peer has signed of the end. Before there is a log it is not known whose signature that is; whoever
    /// asks for the end of the log is told again.
    pub(super) fn hear_end(&mut self, core: &mut Core, link: LinkId, told: Control) {
        let (Some((peer, end, signature)), Some(log)) = (signed_end(&told), &self.log) else {
            return;
        };
        let Some(place) = log.start.roster.get(usize::from(peer)) else {
            return core.fault(link, Fault::OutOfPlace);
        };
        let known = self.ends.get(&peer);
        if known.is_some_and(|(known, _)| *known == end) {
            return;
        }
        if !core
            .signer
            .verify(place.peer, &end_signed_bytes(&end), &signature)
        {
            return core.fault(link, Fault::Signature);
        }
        self.ends.insert(peer, (end, signature));
        // It may be let in a few turns before the end.
        self.keep_early(link, told);
    }

    /// Who signs the end signs the log up to there: of the last turns no batch tells.
    pub(super) fn take_ends(&mut self) {
        let Some(log) = &mut self.log else {
            return;
        };
        for (peer, (end, _)) in &self.ends {
            if log.hashes.get(end.turns as usize) == Some(&end.log_hash) {
                let attested = log.attested.entry(*peer).or_default();
                *attested = end.turns.max(*attested);
            }
        }
    }

    /// Once the log is here up to an end that a quorum has signed, nothing is fetched any more, unless a snapshot is
    /// still to come by which the world gets there sooner.
    pub(super) fn settle_end(&mut self, core: &mut Core) {
        let Some(log) = &self.log else {
            return;
        };
        let here = |end: &&End| {
            let same = log.hashes.get(end.turns as usize) == Some(&end.log_hash);
            same && log.confirmed.turns >= end.turns
        };
        let Some(end) = self.quorums_end().filter(here).cloned() else {
            self.forget_late_decision();
            return;
        };
        let since = *self.ends_since.get_or_insert(core.now);
        let signed = self.ends.iter().filter(|(_, (told, _))| *told == end);
        let signers: Peers = signed.clone().map(|(peer, _)| *peer).collect();
        let all = log.ahead.roster.is_within(signers);
        if !all && core.now < since + SIGNED_WITHIN && !core.links.is_empty() {
            return;
        }
        let end = End {
            signatures: signed.map(|(peer, (_, by))| (*peer, *by)).collect(),
            ..end
        };
        if matches!(self.world, World::None) {
            let waits = !matches!(self.snapshot, Snapshot::Start | Snapshot::Here(_));
            if waits && self.server.is_some() {
                return;
            }
            if waits {
                self.snapshot = Snapshot::Start;
            }
        }
        self.end = Some(end);
        self.server = None;
        for link in core.links.keys().copied().collect::<Vec<_>>() {
            core.close(link);
        }
    }

    /// When it waits no longer for others to sign.
    pub(super) fn end_deadline(&self, core: &Core) -> Option<Duration> {
        let at = self.ends_since? + SIGNED_WITHIN;
        (at > core.now).then_some(at)
    }

    pub(crate) fn knows_end(&self) -> bool {
        self.end.is_some()
    }

    /// Has the world come to the end, and then tells it.
    pub(super) fn come_to_end(&mut self, core: &mut Core) -> Step {
        self.load(core);
        self.hand_out(core);
        let (
            Some(end),
            World::Ready {
                executed, checksum, ..
            },
        ) = (&self.end, &self.world)
        else {
            return Step::Stay;
        };
        if *executed < end.turns {
            return Step::Stay;
        }
        if *executed == end.turns && *checksum != end.checksum {
            let desync = self.strayed_at(end);
            core.event(Event::Desync(desync));
            return Step::End(EndReason::Desync);
        }
        core.out.push(Output::Append(Record::End(end.clone())));
        Step::End(match end.outcome {
            Some(_) => EndReason::Decided,
            None => EndReason::TurnLimit,
        })
    }

    /// How it ended for this peer, which has no part in the match.
    pub(crate) fn ended(&self, reason: EndReason) -> Ended {
        let (turns, checksum) = match &self.world {
            World::Ready {
                executed, checksum, ..
            } => (*executed, Some(*checksum)),
            _ => (0, None),
        };
        let agreed = matches!(reason, EndReason::Decided | EndReason::TurnLimit);
        let end = self.end.as_ref().filter(|_| agreed);
        let roster = self.log.as_ref().filter(|_| agreed);
        Ended {
            reason,
            turns: end.map_or(turns, |end| end.turns),
            checksum: end.map(|end| end.checksum).or(checksum),
            outcome: end.and_then(|end| end.outcome),
            agreed: end.map_or(0, |end| end.signatures.len() as u8),
            of: roster.map_or(0, |log| log.ahead.roster.len() as u8),
        }
    }

    /// The newest turn of the others' that this peer has from them, where anybody has told it of turns.
    pub(super) fn last_known_turn(&self) -> Option<TurnNumber> {
        let log = self.log.as_ref().filter(|_| self.told.is_some())?;
        log.ahead.turns.checked_sub(1).map(TurnNumber)
    }

    /// Whether a quorum has signed an end behind this cut: who would be let in there might not learn the end.
    pub(super) fn is_over_behind(&self, cut: u32) -> bool {
        self.quorums_end().is_some_and(|end| end.turns > cut)
    }

    /// What a quorum of the log's last roster has signed alike.
    pub(super) fn quorums_end(&self) -> Option<&End> {
        let log = self.log.as_ref()?;
        let mut ends = self.ends.values().map(|(end, _)| end);
        ends.find(|end| {
            let alike = self.ends.iter().filter(|(_, (told, _))| told == *end);
            let signers: Peers = alike.map(|(peer, _)| *peer).collect();
            log.ahead.is_quorum(signers)
        })
    }

    /// Who was let in shortly before the end, and of whose cut no batch tells any more, goes on as one that follows.
    fn forget_late_decision(&mut self) {
        let (Some(change), Some(log)) = (&self.decided, &self.log) else {
            return;
        };
        let cut = change.value.cut;
        if !self.reopened && log.confirmed.turns < cut && self.is_over_behind(cut) {
            self.decided = None;
        }
    }

    /// The world is another one than those who signed the end have.
    fn strayed_at(&self, end: &End) -> Desync {
        let roster = self
            .log
            .iter()
            .flat_map(|log| &log.start.roster)
            .enumerate();
        let side = |(at, place): (usize, &crate::log::RosterPeer)| {
            let own = at == self.me;
            let signed = self.ends.get(&(at as u8)).map(|(end, _)| end.checksum);
            let world = match &self.world {
                World::Ready { checksum, .. } if own => Some(*checksum),
                _ => signed,
            };
            Some(DesyncSide {
                seat: place.seats.first().copied()?,
                peer: place.peer,
                own,
                checksum: world?,
                log_hash: None,
            })
        };
        let reports: Vec<DesyncSide> = roster.filter_map(side).collect();
        let odd = reports.iter().filter(|side| side.checksum != end.checksum);
        Desync {
            turn: TurnNumber(end.turns.saturating_sub(1)),
            odd: odd.map(|side| side.peer).collect(),
            reports,
            goes_on: false,
            report: None,
        }
    }
}
