//! What others answer to a peer that comes back.

use super::{JoinerLog, Known, NO_HELP, Returning, Snapshot, World};
use crate::limits::MAX_PEERS;
use crate::log::{Codec, Record, RosterChange, SignedBatch, Start, start_hash};
use crate::session::catch_up::message::{Answer, Ask, Offer, decode, encode};
use crate::session::core::Core;
use crate::session::lobby::Step;
use crate::session::roster::Joins;
use crate::session::{RulesOf, SnapshotHash};
use crate::{EndReason, Fault, JoinRefused, LinkId, MatchId, PeerId};
use std::sync::Arc;
use std::time::Duration;

impl Returning {
    /// Takes an answer.
    pub(crate) fn answered(&mut self, core: &mut Core, link: LinkId, bytes: &[u8]) -> Step {
        if let Ok(ask) = decode::<Ask>(bytes) {
            // Another one that comes back, or waits for the others: it answers as well.
            self.note_search(core, link, &ask);
            core.send_bulk(link, encode(&Answer::Nothing));
            return Step::Stay;
        }
        let searches = self.is_searching(core, link);
        // Without a log of its own it has nothing to say where the match is reopened.
        let has_log = match self.world {
            World::None => !self.own.is_empty(),
            World::Loading => false,
            World::Ready { .. } => true,
        };
        let Some(server) = self.server.as_mut().filter(|server| server.link == link) else {
            return Step::Stay;
        };
        let asked_at = std::mem::replace(&mut server.asked_at, core.now);
        if let Some(link) = core.links.get_mut(&link) {
            link.heard_at = core.now;
        }
        let answer = decode(bytes);
        // Two that look for the match have not found it. Who does not look for it, and has nothing yet, has found it.
        let helps = !matches!(answer, Ok(Answer::Nothing));
        if helps {
            self.helped_at = core.now;
        }
        if helps || !searches {
            self.reached_at = core.now;
        }
        let next = self.log.as_ref().map(|log| log.ahead().turns());
        match answer {
            Err(_) => self.distrust(core, Fault::Garbage),
            Ok(Answer::Outline {
                start,
                snapshot,
                contacts,
            }) if !server.outlined => {
                server.outlined = true;
                return self.outline(core, &start, snapshot, contacts);
            }
            Ok(Answer::Log {
                from,
                records,
                turns,
                due_in_ms,
                batches,
            }) if server.log_asked && next == Some(from) => {
                (server.log_asked, server.has) = (false, turns);
                let due = core.now.as_millis() as i64 + i64::from(due_in_ms);
                let one_way = self.rtt.unwrap_or_default() / 2;
                let due = Duration::from_millis(due.max(0) as u64).saturating_sub(one_way);
                // Whatever it says: the next turn is due soon where a match goes on.
                let plan = self.log.as_ref().map(|log| log.ahead().fold().plan);
                let soon = plan.map_or(Duration::ZERO, |plan| {
                    plan.turn() * (u32::from(plan.delay_turns) + 1)
                });
                self.told = Some((turns, due.min(core.now + soon)));
                self.offered_with.get_or_insert(turns);
                let batches: Vec<SignedBatch> = batches.into_iter().map(Into::into).collect();
                if self.page(core, &records).is_none() {
                    self.distrust_log(core);
                    return Step::Stay;
                }
                self.attest(core, &batches);
                let moved = self.log.as_ref().map(|log| log.ahead().turns()) != next;
                if moved || !self.owes_more() {
                    self.moved_at = core.now;
                }
            }
            Ok(Answer::Snapshot { offset, bytes }) => self.piece(core, offset, &bytes),
            Ok(Answer::Nothing) => self.pass_over(core, core.now + NO_HELP),
            // It asks again once the match goes on.
            Ok(Answer::Reopens) if !has_log => self.pass_over(core, core.now + NO_HELP),
            Ok(Answer::Reopens) => self.told_of_reopening(core, link),
            // The late answer to what is not asked any more, as before another one was asked for a while.
            Ok(Answer::Outline { .. } | Answer::Log { .. }) => server.asked_at = asked_at,
        }
        Step::Stay
    }

    pub(super) fn outline(
        &mut self,
        core: &mut Core,
        start: &[u8],
        offer: Option<Offer>,
        contacts: Vec<(PeerId, Vec<String>)>,
    ) -> Step {
        let Ok(Record::Start(start)) = Codec::default().decode(start, &core.limits) else {
            self.distrust(core, Fault::Garbage);
            return Step::Stay;
        };
        if self.log.is_none() {
            if let Err(why) = self.begin(core, start) {
                return why;
            }
        } else if self
            .log
            .as_ref()
            .is_some_and(|log| start_hash(log.start()) != start_hash(&start))
        {
            self.distrust(core, Fault::Signature);
            return Step::Stay;
        }
        if matches!(self.world, World::None) {
            self.offered_at = core.now;
            self.offered_with = None;
            self.snapshot = match offer {
                Some(offer) if (1..=core.limits.snapshot_bytes).contains(&offer.bytes) => {
                    Snapshot::Offered(offer)
                }
                _ => Snapshot::Start,
            };
        }
        let log = self.log.as_ref().expect("just begun");
        for (peer, addresses) in contacts {
            let of_the_match = log.start().roster.iter().any(|place| place.peer == peer);
            if of_the_match && peer != core.id() {
                let known = self
                    .contacts
                    .entry(peer)
                    .or_insert_with(|| Known::at(Vec::new()));
                for address in addresses.into_iter().take(8) {
                    if known.addresses.len() < 16 && !known.addresses.contains(&address) {
                        known.addresses.push(address);
                    }
                }
            }
        }
        Step::Stay
    }

    /// A start counts where this peer has signed it, and so has everybody else.
    pub(super) fn begin(&mut self, core: &mut Core, start: Arc<Start>) -> Result<(), Step> {
        match place_in(core, &start, self.match_id, &self.rules) {
            Ok(me) => self.me = me,
            Err(Unfit::Forged) => {
                self.distrust(core, Fault::Signature);
                return Err(Step::Stay);
            }
            Err(Unfit::Refused(why)) => return Err(Step::End(EndReason::Refused(why))),
        }
        let own = &self.own[..self.sure];
        let same = matches!(own.first(), Some(Record::Start(first)) if start_hash(first) == start_hash(&start));
        let own = if same { &own[1..] } else { &[] };
        self.log = Some(JoinerLog::new(start, own, core.signer.as_ref()));
        self.confirmed_at = core.now;
        Ok(())
    }

    /// Takes a page of the log. `None` where it does not follow.
    pub(super) fn page(&mut self, core: &Core, bytes: &[u8]) -> Option<()> {
        let over_at = self.quorums_end().map(|end| end.turns);
        let log = self.log.as_mut()?;
        let records = log.decode(bytes, &core.limits)?;
        if !log.has_unconfirmed() {
            self.confirmed_at = core.now;
        }
        for record in records {
            // A page begins with the changes before its first turn: those that are walked already come again.
            if log.ahead().is_past(&record) {
                continue;
            }
            let lets_in = |change: &RosterChange| {
                change
                    .value
                    .joins
                    .is_some_and(|joins| joins.peer as usize == self.me)
            };
            // The rest of the page belongs to turns that this peer has a part in.
            if self.decided.as_ref().is_some_and(|change| {
                change.epoch == log.ahead().epoch() && change.value.cut == log.ahead().turns()
            }) {
                break;
            }
            if let Record::Roster(change) = &record
                && over_at.is_none_or(|turns| turns <= change.value.cut)
                && lets_in(change)
                && change.value.joins.map(|joins| joins.incarnation) == Some(core.incarnation)
            {
                if !log.ahead().is_next(change, core.signer.as_ref()) {
                    return None;
                }
                self.decided = Some(change.clone());
                break;
            }
            log.take(&record, core.signer.as_ref()).ok()?;
        }
        Some(())
    }

    /// Takes note of what signed batches say about the log.
    pub(super) fn attest(&mut self, core: &Core, batches: &[SignedBatch]) {
        let Some(log) = &mut self.log else {
            return;
        };
        for signed in batches.iter().take(2 * MAX_PEERS) {
            log.attest(signed, core.signer.as_ref());
        }
    }

    pub(super) fn piece(&mut self, core: &mut Core, offset: u64, piece: &[u8]) {
        let Snapshot::Fetching { offer, bytes, .. } = &mut self.snapshot else {
            return;
        };
        let room = offer.bytes - bytes.len() as u64;
        if offset != bytes.len() as u64 || piece.is_empty() || piece.len() as u64 > room {
            return self.distrust(core, Fault::Oversize);
        }
        bytes.extend_from_slice(piece);
        if bytes.len() as u64 == offer.bytes {
            self.finish_snapshot(core);
        }
    }

    pub(super) fn finish_snapshot(&mut self, core: &mut Core) {
        let fetched = std::mem::replace(&mut self.snapshot, Snapshot::Unknown);
        let (Snapshot::Fetching { offer, bytes, .. }, Some(log)) = (fetched, &self.log) else {
            return;
        };
        let keyframe = log.keyframe(offer.turns, offer.ticks, bytes.into());
        match keyframe.filter(|keyframe| SnapshotHash::of(keyframe) == offer.hash) {
            Some(keyframe) => self.snapshot = Snapshot::Here(keyframe),
            None => self.distrust(core, Fault::Signature),
        }
    }

    pub(super) fn hear_decision(&mut self, core: &Core, change: RosterChange) {
        let joins = Joins {
            peer: self.me as u8,
            incarnation: core.incarnation,
        };
        let Some(log) = self
            .log
            .as_ref()
            .filter(|_| change.value.joins == Some(joins))
        else {
            return;
        };
        if self.is_over_behind(change.value.cut) {
            return;
        }
        // One of an epoch that the log has not come to, or is beyond, will be seen there.
        if change.value.cut >= log.ahead().turns()
            && log.ahead().is_next(&change, core.signer.as_ref())
        {
            self.decided = Some(change);
        }
    }
}

/// Why a start is none to go on from.
pub(in crate::session) enum Unfit {
    /// It is of another match, or not signed by all its peers.
    Forged,
    /// This peer cannot go on with it.
    Refused(JoinRefused),
}

/// This peer's place in the roster of a start that all have signed, and by whose rules it can play.
pub(in crate::session) fn place_in(
    core: &Core,
    start: &Start,
    match_id: MatchId,
    rules: &RulesOf,
) -> Result<usize, Unfit> {
    if start.match_id != match_id || !start.is_signed(core.signer.verifier()) {
        return Err(Unfit::Forged);
    }
    let mut places = start.roster.iter();
    let me = places.position(|place| place.peer == core.id());
    let me = me.ok_or(Unfit::Refused(JoinRefused::NoSeat))?;
    match rules(&start.setup) {
        None => Err(Unfit::Refused(JoinRefused::Setup)),
        Some(rules) if rules != start.rules => Err(Unfit::Refused(JoinRefused::Rules)),
        Some(_) => Ok(me),
    }
}
