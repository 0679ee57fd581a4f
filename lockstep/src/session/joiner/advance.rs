//! What a joiner does, in order, whenever something has come or time has passed.

use super::{Joiner, Known, Stage, proved};
use crate::log::{Keyframe, Record, RosterChange, SignedBatch, Start, bars, encode_change};
use crate::session::core::Core;
use crate::session::ledger::LogWindow;
use crate::session::rejoin::{
    Ask, Checked, Confirmed, Mistrust, Returned, Settled, attesting, encode, head_at, in_reach,
    is_new_run, members_after, seats_of,
};
use crate::session::wire::Control;
use crate::session::{Output, Step};
use crate::{Contact, EndReason, Event, JoinRefused, LinkId, MatchId, TurnNumber};

impl Joiner {
    /// Does what is due.
    pub(crate) fn advance(&mut self, core: &mut Core) -> Step {
        if self.knows_end() {
            return self.come_to_end(core);
        }
        core.out.extend(self.sources.dials(core.now, &proved(core)));
        self.check_quorum(core);
        self.look_after_source(core);
        self.look_at_branches(core);
        if let Some(why) = self.give_up(core) {
            return Step::End(why);
        }
        if let Some(link) = self.gather(core) {
            return Step::Gather(link);
        }
        if self.hosts_reopening(core) {
            return Step::Reopen;
        }
        self.confirm(core);
        if let Some(why) = self.bar() {
            return Step::End(why);
        }
        self.settle_end(core);
        if self.knows_end() {
            return self.come_to_end(core);
        }
        self.settle_snapshot(core);
        self.load(core);
        self.tell_contacts(core);
        self.hand_out(core);
        self.ask(core);
        self.request(core);
        self.forward_decision(core);
        self.begin_part(core)
    }

    /// Keeps to a source that answers, or asks another peer.
    fn look_after_source(&mut self, core: &mut Core) {
        let mut links = proved(core);
        let stands_still = self.quorum.is_lost();
        let last = match self.sources.check(core.now, &links, stands_still) {
            Checked::Answers => return,
            Checked::ToProbe(link) => return core.probe(link),
            Checked::Silent(link) => {
                core.close(link);
                links.retain(|other| other.link != link);
                Some(link)
            }
            Checked::Unanswered(link) => Some(link),
            Checked::NoSource => None,
        };
        if !self.searches() {
            return;
        }
        // Of a match that stands still, a peer that has come since may know of more than its members.
        let known = self.known.as_ref().filter(|_| stands_still);
        let head = known.map(|known| known.log.ahead());
        let chosen = self.sources.choose(core.now, &links, last, |link| {
            head.is_some_and(|head| is_new_run(head, link))
        });
        if let Some(link) = chosen {
            let match_id = self.from.match_id;
            self.say(core, &Ask::Outline { match_id });
            core.probe(link);
        }
    }

    /// Looks whether the log goes on, and tells once where it cannot.
    fn check_quorum(&mut self, core: &mut Core) {
        let searches = self.searches();
        let Some(known) = self.known.as_ref().filter(|_| searches) else {
            return self.quorum.postpone(core.now);
        };
        let head = known.log.ahead();
        let at = (head.epoch(), head.turns(), self.decided().is_some());
        let has = self.sources.source_has();
        if !self.quorum.has_stopped(core.now, at, has) {
            return;
        }
        let links = proved(core);
        let host_in_reach = self.gathering.is_in_reach(&links);
        let here = in_reach(head, &links);
        if let Some(missing) = self.quorum.check_quorum(head, here, host_in_reach) {
            let missing = seats_of(known.start(), missing);
            core.event(Event::NoQuorum {
                turn: TurnNumber(head.turns()),
                missing: missing.iter().map(|info| info.seat).collect(),
            });
        }
    }

    /// Takes over what a quorum attests, and looks whether the source is any good.
    fn confirm(&mut self, core: &mut Core) {
        let decided = match &self.stage {
            Stage::Decided(decision) => Some(&decision.change),
            _ => None,
        };
        let Some(Known { log, .. }) = &mut self.known else {
            return;
        };
        for (at, end) in self.ends.signed() {
            log.attest_turns(at, end.turns, end.log_hash);
        }
        let (unexecuted, signer) = (core.limits.unexecuted_turns, core.signer.as_ref());
        match self
            .follow
            .confirm(core.now, log, decided, unexecuted, signer)
        {
            Confirmed::More => {
                self.sources.reset_failures();
                self.gathering.fetched(core.now);
            }
            Confirmed::Unattested => self.mistrust_log(core, false),
            Confirmed::Stuck => self.back_off(core),
            Confirmed::Waits => {
                if self.source_is_ahead() && self.sources.brings_nothing(core.now) {
                    self.back_off(core);
                }
            }
        }
    }

    /// Why this peer is not admitted again, if the log says so: its world has executed turns that do not count, an earlier
    /// run of its process signed two batches for one turn, or strayed too often.
    fn bar(&mut self) -> Option<EndReason> {
        if let Some(why) = self.contradicted() {
            return Some(why);
        }
        let Known { me, log } = self.known.as_ref()?;
        let final_turns = self.final_turns.as_ref();
        if final_turns.is_some_and(|turns| !turns.may_be_in(log.verified())) {
            return Some(EndReason::Refused(JoinRefused::OtherHistory));
        }
        let mut decided = log.confirmed().changes().iter().map(|change| &change.value);
        if decided.clone().any(|value| value.cheats.contains(*me)) {
            return Some(EndReason::Refused(JoinRefused::Cheated));
        }
        let barred = bars(decided.by_ref(), *me);
        barred.then_some(EndReason::Refused(JoinRefused::Desynced))
    }

    /// The contradiction between the others' history and the own recording, if any.
    fn contradicted(&mut self) -> Option<EndReason> {
        let Known { log, .. } = self.known.as_ref()?;
        let confirmed = log.confirmed();
        let at = (confirmed.epoch(), confirmed.turns());
        let goes_on = std::mem::replace(&mut self.compared, at) != at;
        let testimony = self.testimony.as_ref().filter(|_| goes_on);
        let found = testimony.and_then(|given| given.contradicted_by(log.verified(), confirmed));
        let found = found.or(self.world.strayed())?;
        Some(found.reason(seats_of(log.start(), found.peers)))
    }

    /// Once the match is over and the log is here, nothing is fetched any more, unless a snapshot is still to come by which
    /// the world gets there sooner.
    fn settle_end(&mut self, core: &mut Core) {
        let Some(Known { log, .. }) = &self.known else {
            return;
        };
        let end = match self.ends.settle(core.now, log, core.links.is_empty()) {
            Settled::Open => return self.forget_late_decision(),
            Settled::Waits => return,
            Settled::Over(end) => end,
        };
        if let Stage::Fetching(fetch) = &mut self.stage {
            if fetch.is_open() && self.sources.link().is_some() {
                return;
            }
            self.world.begin_with(fetch.begin().flatten());
        }
        self.stage = Stage::Ended(end);
        self.sources.drop_source();
        for link in core.links.keys().copied().collect::<Vec<_>>() {
            core.close(link);
        }
    }

    /// A joiner goes on following where it was admitted so late that no batch attests its cut.
    fn forget_late_decision(&mut self) {
        let (Stage::Decided(decision), Some(Known { log, .. })) = (&self.stage, &self.known) else {
            return;
        };
        let cut = decision.change.value.cut;
        let late = log.confirmed().turns() < cut;
        if !decision.reopens && late && self.ends.is_behind(cut, log) {
            self.stage = Stage::Following;
        }
    }

    /// Has the world come to the end, and then tells it.
    fn come_to_end(&mut self, core: &mut Core) -> Step {
        self.load(core);
        if let Some(why) = self.contradicted() {
            return Step::End(why);
        }
        self.hand_out(core);
        let (Stage::Ended(end), Some(world), Some(known)) =
            (&self.stage, self.world.running(), &self.known)
        else {
            return Step::Stay;
        };
        if world.executed < end.turns {
            return Step::Stay;
        }
        if world.executed == end.turns && world.checksum != end.checksum {
            let roster = &known.start().roster;
            let desync = self.ends.desync(end, roster, known.me, world.checksum);
            core.event(Event::Desync(desync));
            return Step::End(EndReason::Desync);
        }
        core.out.extend(self.world.settle(end.turns));
        core.out.push(Output::Append(Record::End(end.clone())));
        Step::End(match end.outcome {
            Some(_) => EndReason::Decided,
            None => EndReason::TurnLimit,
        })
    }

    fn settle_snapshot(&mut self, core: &mut Core) {
        let (Stage::Fetching(fetch), Some(Known { log, .. })) = (&mut self.stage, &self.known)
        else {
            return;
        };
        let reruns = self.from.log.is_some() && !self.from.accepts_other_history;
        let of_the_log =
            |own: &mut Keyframe| log.verified().hash_after(own.turns) == Some(own.log_hash);
        let mut own = self.from.keyframe.take_if(|own| reruns && of_the_log(own));
        let settled = fetch.settle(
            core.now,
            log.confirmed().turns(),
            log.ahead(),
            (&mut own, reruns),
            core.signer.as_ref(),
        );
        self.from.keyframe = self.from.keyframe.take().or(own);
        match settled {
            Ok(()) => {}
            Err(Mistrust::Source) => self.back_off(core),
            Err(mistrust) => self.mistrust(core, mistrust),
        }
    }

    /// Has the world built, once it is known from what.
    fn load(&mut self, core: &mut Core) {
        if let Stage::Fetching(fetch) = &mut self.stage
            && let Some(keyframe) = fetch.begin()
        {
            self.world.begin_with(keyframe);
            self.stage = Stage::Following;
        }
        let Some(known) = &self.known else {
            return;
        };
        let started = || Event::Started {
            match_id: self.from.match_id,
            own: known.own_seats().to_vec(),
            seats: known.start().seat_infos(),
            plan: known.start().terms.plan,
        };
        let is_whole = self.knows_end();
        let loads = self.world.load(&known.log, is_whole, started);
        if !loads.is_empty() {
            let begins = matches!(loads.first(), Some(Output::Append(Record::Start(_))));
            core.out.extend(loads);
            // Where a decision that is known ended its epoch, a reader of the log passes over it.
            let accepted = self.from.accepted.clone().map(Record::Accept);
            let bound = accepted
                .into_iter()
                .chain(self.from.signed.map(Record::Signed));
            let bound = bound.filter(|_| begins).map(Output::Append);
            core.out.extend(bound);
            self.tells_contacts = true;
            self.tell_contacts(core);
        }
    }

    /// Tells the game where the other peers are, once there is a world, and again where the match was reopened.
    fn tell_contacts(&mut self, core: &mut Core) {
        if std::mem::take(&mut self.tells_contacts) {
            let own = Contact {
                peer: core.id(),
                addresses: self.addresses.clone(),
            };
            let contacts = self.sources.contacts().chain([own]);
            core.tell_contacts(contacts.collect());
        }
    }

    fn hand_out(&mut self, core: &mut Core) {
        if let Some(known) = &self.known {
            let most = core.limits.unexecuted_turns;
            core.out.extend(self.world.hand_out(&known.log, most));
        }
    }

    /// Asks the source for the next page of the log, and pieces of the snapshot.
    fn ask(&mut self, core: &mut Core) {
        let Some(Known { log, .. }) = self.known.as_ref().filter(|_| self.sources.is_outlined())
        else {
            return;
        };
        let (from, attested) = (log.ahead().turns(), log.confirmed().turns());
        if self.sources.may_ask_log() && !self.is_at_cut() {
            self.sources.log_asked(core.now);
            self.say(core, &Ask::Log { from, attested });
        }
        let pieces = match &mut self.stage {
            Stage::Fetching(fetch) => fetch.pieces(),
            _ => Vec::new(),
        };
        for offset in pieces {
            self.say(core, &Ask::Snapshot { offset });
        }
    }

    fn say(&self, core: &mut Core, ask: &Ask) {
        if let Some(id) = self.sources.link() {
            if let Some(link) = core.links.get_mut(&id) {
                link.asked = true;
            }
            core.send_bulk(id, encode(ask));
        }
    }

    /// Asks all members in reach for admission.
    fn request(&mut self, core: &mut Core) {
        if !self.asks_for_admission() {
            return;
        }
        let (Some(world), Some(known)) = (self.world.running(), &self.known) else {
            return;
        };
        let (joins, signer) = (known.joins(core), core.signer.as_ref());
        let request = self
            .admission
            .request(core.now, &known.log, joins, world.executed, signer);
        let Some(request) = request else {
            return;
        };
        let message = Control::Rejoin {
            request,
            addresses: self.addresses.clone().into(),
        };
        let roster = &known.start().roster;
        for link in proved(core) {
            if roster.iter().any(|place| place.peer == link.peer) {
                core.send(link.link, &message);
            }
        }
    }

    /// Tells members of the decision that admits this peer, or of the newest one in its log or in that of its earlier run: all
    /// others that knew of it may be gone, and without it the rest may be no quorum.
    fn forward_decision(&self, core: &mut Core) {
        let Some(known) = &self.known else {
            return;
        };
        let ahead = known.log.ahead();
        let changes = ahead.changes().iter().chain(&self.logged);
        let newest = changes.max_by_key(|change| change.epoch);
        let newest = newest.filter(|change| change.reopening.is_none());
        let Some(change) = self.decided().or(newest) else {
            return;
        };
        let members = members_after(change, ahead);
        let links = core.links.values_mut().filter(|link| {
            let member = link.proved.is_some_and(|proved| members.contains(&proved));
            member && link.board.lacks_decision(change.epoch)
        });
        let lack: Vec<LinkId> = links
            .map(|link| {
                link.board.note_decision(change.epoch);
                link.id
            })
            .collect();
        for link in lack {
            core.send(link, &Control::Decided(encode_change(change)));
        }
    }

    /// Begins this peer's part, once everything before it is handed out.
    fn begin_part(&mut self, core: &mut Core) -> Step {
        let (Some(change), Some(Known { me, log })) = (self.decided(), &self.known) else {
            return Step::Stay;
        };
        let cut = change.value.cut;
        let world = self.world.running();
        let Some(world) = world.filter(|world| world.handed_out >= cut) else {
            return Step::Stay;
        };
        let Some(head) = head_at(change, log, core.signer.as_ref()) else {
            return Step::Stay;
        };
        let due = self.follow.due(cut, head.fold().plan.turn());
        let places = &head.start().roster;
        let sources = &self.sources;
        let addresses = places.iter().map(|place| sources.addresses(place.peer));
        let unheard = places.iter().map(|place| sources.unheard_since(place.peer));
        let returned = Box::new(Returned {
            me: usize::from(*me),
            addresses: addresses.collect(),
            unheard_since: unheard.collect(),
            past: (0..places.len() as u8)
                .map(|at| head.past_runs(at))
                .collect(),
            chained: head.tip(),
            start: head.start().clone(),
            changes: head.changes().to_vec(),
            branches: branches_of(log.start(), head.changes()),
            left: head.left(),
            course: head.fold().clone(),
            ticks: head.ticks(),
            hashes: log
                .verified()
                .last_hashes(LogWindow::kept(core.limits.unexecuted_turns)),
            executed: world.executed,
            checksum: world.checksum,
            due: due.unwrap_or(core.now),
            early: self.admission.take_early(),
        });
        // What others have signed of this history goes from recording to recording.
        let (log, signer) = (log.verified(), core.signer.as_ref());
        let attests = self.from.attests.iter();
        let attests = attests.filter(|attest| attesting(attest, log, signer).is_some());
        let attests: Vec<SignedBatch> = attests.cloned().collect();
        core.out.extend(self.world.settle(cut));
        let attests = attests.into_iter().map(Record::Attest);
        core.out.extend(attests.map(Output::Append));
        if let Some((_, change)) = returned.branches.last() {
            core.event(Event::Branched {
                turn: TurnNumber(change.value.cut),
                match_id: returned.start.match_id,
                of: self.origin,
            });
            // Where the way back into the match was kept, that into the branch is to be kept.
            self.tells_contacts = true;
            self.tell_contacts(core);
        }
        Step::Return(returned)
    }
}

/// The changes by which a log has left a match for a branch, each with the match that it has left.
pub(super) fn branches_of(start: &Start, changes: &[RosterChange]) -> Vec<(MatchId, RosterChange)> {
    let mut at = start.clone();
    let mut branches = Vec::new();
    for change in changes {
        if change.branch().is_some() {
            branches.push((at.match_id, change.clone()));
        }
        change.apply(&mut at);
    }
    branches
}
