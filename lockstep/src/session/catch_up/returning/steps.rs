//! What a peer that comes back does with what it has: confirm, load, hand out, ask for more, and begin its part.

use super::{ANSWER, CONFIRM, Known, REQUEST_EVERY, Returning, Snapshot, WINDOW, World};
use crate::log::{Record, SignedBatch, encode_change};
use crate::session::catch_up::message::{Ask, PART};
use crate::session::core::Core;
use crate::session::ledger::bars;
use crate::session::links::link::Link;
use crate::session::lobby::Step;
use crate::session::player::Returned;
use crate::session::roster::{Joins, Peers, Request};
use crate::session::wire::Control;
use crate::session::{Output, SnapshotHash};
use crate::{Contact, Event, Fault, Incarnation, LinkId, PeerId};

impl Returning {
    pub(super) fn confirm(&mut self, core: &mut Core) {
        let Some(log) = &mut self.log else {
            return;
        };
        if log.confirm(core, self.decided.as_ref()) {
            self.confirmed_at = core.now;
            self.doubts = false;
            let server = self.server.as_ref();
            let proved = server.and_then(|server| core.links.get(&server.link)?.proved);
            let known = proved.and_then(|(peer, _)| self.contacts.get_mut(&peer));
            known.into_iter().for_each(|known| known.in_vain = 0);
            return;
        }
        let plan = log.start.plan;
        let lag = (CONFIRM.as_millis() / plan.turn().as_millis()) as u32;
        let lag = match log.is_anew() {
            true => lag.max(core.limits.unexecuted_turns),
            false => lag,
        };
        let most = log.confirmed.turns + lag + 2 * u32::from(plan.delay_turns) + 8;
        let has_all = self.told.is_some_and(|(turns, _)| log.ahead.turns >= turns);
        // While those who play settle which of two histories counts, their newest batches attest neither.
        let waited = core.now >= self.confirmed_at + CONFIRM;
        if has_all && log.ahead.turns > most && waited {
            self.distrust_log(core);
        } else if !log.pending.is_empty() && core.now >= self.confirmed_at + CONFIRM {
            // Perhaps the match stands still; perhaps another one has more.
            self.confirmed_at = core.now;
            self.pass_over_longer(core);
        } else if self.owes_more() && core.now >= self.moved_at + ANSWER {
            // It answers, and nothing comes of it.
            self.pass_over_longer(core);
        }
    }

    /// Whether who is asked says that it has more of the log than it has given.
    pub(super) fn owes_more(&self) -> bool {
        let log = self.log.as_ref().zip(self.server.as_ref());
        log.is_some_and(|(log, server)| server.has > log.ahead.turns) && !self.is_at_cut()
    }

    /// Whether the log, as a quorum attests it, holds the proof that an earlier run of this process signed two batches
    /// for one turn: nobody lets such a peer in again.
    pub(super) fn has_cheated(&self) -> bool {
        let log = self.log.as_ref();
        let me = self.me as u8;
        log.is_some_and(|log| {
            let mut changes = log.confirmed.changes.iter();
            changes.any(|change| change.value.cheats.contains(me))
        })
    }

    /// Whether that log says that earlier runs of this process strayed too often: nobody lets it in again either.
    pub(super) fn is_barred(&self) -> bool {
        let log = self.log.as_ref();
        log.is_some_and(|log| {
            let changes = log.confirmed.changes.iter();
            bars(changes.map(|change| &change.value), self.me as u8)
        })
    }

    /// Once the log has come to an offered snapshot, looks whether a quorum has signed it.
    pub(super) fn settle_snapshot(&mut self, core: &mut Core) {
        let (Snapshot::Offered(offer), Some(log)) = (&self.snapshot, &self.log) else {
            return;
        };
        if log.confirmed.turns < offer.turns {
            return;
        }
        let reports = |signed: &SignedBatch| {
            let batch = log.ahead.read(signed, core.signer.as_ref())?;
            (batch.snapshot == Some((offer.turns, offer.hash))).then_some(signed.peer)
        };
        let batches: Vec<SignedBatch> = offer.batches.iter().cloned().map(Into::into).collect();
        let signed: Peers = batches.iter().filter_map(reports).collect();
        if !log.ahead.were_quorum_since(offer.turns, signed) {
            // The roster that has signed it may be one that the log has not come to: while a match stands still, one that
            // begins where the log ends.
            let with = self.offered_with;
            let passed = with.is_some_and(|turns| log.confirmed.turns > turns);
            if passed && core.now >= self.offered_at + CONFIRM {
                self.distrust(core, Fault::Signature);
            }
            return;
        }
        let own = self
            .keyframe
            .take_if(|own| own.turns == offer.turns && SnapshotHash::of(own) == offer.hash);
        let Snapshot::Offered(offer) = std::mem::replace(&mut self.snapshot, Snapshot::Unknown)
        else {
            return;
        };
        self.snapshot = match own {
            Some(own) => Snapshot::Here(own),
            None => Snapshot::Fetching {
                offer,
                bytes: Vec::new(),
                asked: 0,
            },
        };
    }

    /// Has the world built, once it is known from what, and appends the log up to there.
    pub(super) fn load(&mut self, core: &mut Core) {
        let (World::None, Some(log)) = (&self.world, &mut self.log) else {
            return;
        };
        let turns = match &self.snapshot {
            Snapshot::Start => 0,
            Snapshot::Here(keyframe) => keyframe.turns,
            _ => return,
        };
        let start = &log.start;
        self.tells_contacts = true;
        if let Some(turns) = self.again {
            core.out.push(Output::Undo { turns });
        } else {
            core.out.push(Output::Append(Record::Start(start.clone())));
            core.event(Event::Started {
                match_id: start.match_id,
                own: start.roster[self.me].seats.clone(),
                seats: start.seat_infos(),
                plan: start.plan,
            });
        }
        let before = |record: &&Record| match record {
            Record::Bundle(bundle) => bundle.turn.0 < turns,
            Record::Roster(change) => change.value.cut < turns,
            _ => false,
        };
        for record in log.ready.iter().take_while(before) {
            self.appended += 1;
            if self.appended > self.logged {
                core.out.push(Output::Append(record.clone()));
            }
        }
        match &self.snapshot {
            Snapshot::Here(keyframe) => {
                if self.again.is_none() || self.appended > self.logged {
                    let record = Record::Keyframe(keyframe.clone());
                    core.out.push(Output::Append(record));
                }
                core.out.push(Output::Load {
                    turns: keyframe.turns,
                    ticks: keyframe.ticks,
                    snapshot: keyframe.snapshot.clone(),
                });
            }
            _ => core.out.push(Output::New(start.clone())),
        }
        self.world = World::Loading;
        self.tell_contacts(core);
    }

    /// Tells the game where the others are, once there is a world, and again where the match was reopened.
    pub(super) fn tell_contacts(&mut self, core: &mut Core) {
        if !std::mem::take(&mut self.tells_contacts) {
            return;
        }
        let contact = |(peer, known): (&PeerId, &Known)| Contact {
            peer: *peer,
            addresses: known.addresses.clone(),
        };
        let own = Contact {
            peer: core.id(),
            addresses: self.addresses.clone(),
        };
        let others = self.contacts.iter().map(contact);
        core.event(Event::Contacts(others.chain([own]).collect()));
    }

    pub(super) fn hand_out(&mut self, core: &mut Core) {
        let (
            World::Ready {
                handed_out,
                executed,
                ..
            },
            Some(log),
        ) = (&mut self.world, &mut self.log)
        else {
            return;
        };
        while *handed_out - *executed < core.limits.unexecuted_turns
            && let Some(record) = log.ready.get(self.appended)
        {
            self.appended += 1;
            if self.appended > self.logged {
                core.out.push(Output::Append(record.clone()));
            }
            if let Record::Bundle(bundle) = record {
                core.out.push(Output::Execute(bundle.clone()));
                *handed_out += 1;
            }
        }
    }

    pub(super) fn ask(&mut self, core: &mut Core) {
        let (Some(server), Some(log)) = (&mut self.server, &self.log) else {
            return;
        };
        if !server.outlined {
            return;
        }
        let mut asks = Vec::new();
        if !server.log_asked && !self.is_at_cut() {
            asks.push(Ask::Log {
                from: log.ahead.turns,
                attested: log.confirmed.turns,
            });
        }
        if let Snapshot::Fetching {
            offer,
            bytes,
            asked,
        } = &mut self.snapshot
        {
            let part = PART as u64;
            let until = (bytes.len() as u64 + WINDOW * part).min(offer.bytes);
            while *asked < until {
                asks.push(Ask::Snapshot { offset: *asked });
                *asked += part;
            }
        }
        for ask in asks {
            if let (Ask::Log { .. }, Some(server)) = (&ask, &mut self.server) {
                server.log_asked = true;
                server.asked_at = core.now;
            }
            self.say(core, &ask);
        }
    }

    /// Whether the whole log before this peer's part is walked; what is left is that a quorum attests it.
    pub(super) fn is_at_cut(&self) -> bool {
        let (Some(change), Some(log)) = (&self.decided, &self.log) else {
            return false;
        };
        let at_cut = log.ahead.turns == change.value.cut && log.ahead.epoch == change.epoch;
        at_cut && log.pending.is_empty()
    }

    /// Tells of the decision that lets this peer in: whoever else knew of it may be gone, and without it the others may
    /// be no quorum.
    pub(super) fn tell_of_decision(&self, core: &mut Core) {
        let (Some(change), Some(log)) = (&self.decided, &self.log) else {
            return;
        };
        let places = change.value.roster.iter();
        let places = places.filter_map(|at| log.ahead.start.roster.get(usize::from(at)));
        let mut runs: Vec<(PeerId, Incarnation)> = places
            .map(|place| (place.peer, place.incarnation))
            .collect();
        let new = change.new_runs();
        runs.extend(new.filter_map(|(at, run)| {
            let place = log.start.roster.get(usize::from(at))?;
            Some((place.peer, run))
        }));
        let lacks = |link: &&mut Link| {
            let member = link.proved.is_some_and(|proved| runs.contains(&proved));
            member && link.board.lacks_decision(change.epoch)
        };
        let lack: Vec<LinkId> = core
            .links
            .values_mut()
            .filter(lacks)
            .map(|link| {
                link.board.note_decision(change.epoch);
                link.id
            })
            .collect();
        for link in lack {
            core.send(link, &Control::Decided(encode_change(change)));
        }
    }

    /// Whether the world is as far as a peer of the roster must be.
    pub(super) fn follows(&self) -> bool {
        let (World::Ready { executed, .. }, Some((turns, _)), Some(log)) =
            (&self.world, self.told, &self.log)
        else {
            return false;
        };
        executed + u32::from(log.start.plan.delay_turns) >= turns && self.decided.is_none()
    }

    pub(super) fn request(&mut self, core: &mut Core) {
        if !self.follows() || core.now < self.next_request {
            return;
        }
        self.next_request = core.now + REQUEST_EVERY;
        let (World::Ready { executed, .. }, Some(log)) = (&self.world, &self.log) else {
            return;
        };
        let joins = Joins {
            peer: self.me as u8,
            incarnation: core.incarnation,
        };
        let (signer, epoch) = (core.signer.as_ref(), log.ahead.epoch);
        let message = Control::Rejoin {
            request: Request::signed(signer, &log.start, epoch, joins, *executed),
            addresses: self.addresses.clone(),
        };
        let of_the_match = |peer: &PeerId| log.start.roster.iter().any(|place| place.peer == *peer);
        let links = core
            .links
            .values()
            .filter(|link| link.proved.is_some_and(|(peer, _)| of_the_match(&peer)));
        for link in links.map(|link| link.id).collect::<Vec<_>>() {
            core.send(link, &message);
        }
    }

    /// Begins this peer's part, once everything before it is handed out.
    pub(super) fn come_back(&mut self, core: &Core) -> Step {
        if !self.is_at_cut() {
            return Step::Stay;
        }
        let (
            Some(change),
            Some(log),
            World::Ready {
                handed_out,
                executed,
                checksum,
            },
        ) = (&self.decided, &mut self.log, &self.world)
        else {
            return Step::Stay;
        };
        let cut = change.value.cut;
        if log.confirmed.turns < cut || *handed_out < cut {
            return Step::Stay;
        }
        let mut walk = log.confirmed.clone();
        if walk
            .take(&Record::Roster(change.clone()), core.signer.as_ref())
            .is_err()
        {
            return Step::Stay;
        }
        let (told, due) = self.told.unwrap_or((cut, core.now));
        let turn = walk.course.plan.turn();
        let due = match cut.checked_sub(told) {
            Some(later) => due + turn * later,
            None => due.saturating_sub(turn * (told - cut)),
        };
        let addresses = walk.start.roster.iter().map(|place| {
            let known = self.contacts.get(&place.peer);
            known.map_or(Vec::new(), |known| known.addresses.clone())
        });
        let unheard_since = walk.start.roster.iter().map(|place| {
            let known = self.contacts.get(&place.peer);
            known.and_then(|known| known.unheard_since)
        });
        Step::Return(Box::new(Returned {
            me: self.me,
            addresses: addresses.collect(),
            unheard_since: unheard_since.collect(),
            past: (0..walk.start.roster.len() as u8)
                .map(|at| walk.past(at))
                .collect(),
            chained: walk.chained.unwrap_or(walk.hash),
            start: walk.start,
            changes: walk.changes,
            left: walk.left,
            course: walk.course,
            ticks: walk.ticks,
            hashes: std::mem::take(&mut log.hashes),
            executed: *executed,
            checksum: *checksum,
            due,
            early: std::mem::take(&mut self.early).into(),
        }))
    }
}
