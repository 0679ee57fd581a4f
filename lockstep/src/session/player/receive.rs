//! What arrives from other peers, and where it goes.

use super::Player;
use super::apply::BATCHES;
use crate::encoding::Reader;
use crate::log::{Document, Equivocation, NO_SLACK, RosterChange, SignedBatch, decode_change};
use crate::session::core::Core;
use crate::session::facts::Fact;
use crate::session::membership::paxos::Request;
use crate::session::rejoin::GIVE_UP;
use crate::session::turns::{Arrival, Collected};
use crate::session::wire::{Control, Datagram, SignedStatement, TurnPacket, WireBatch};
use crate::{Event, Fault, JoinRefused, LinkError, LinkId, PeerId};

/// Votes in one message, at most.
const VOTES: usize = 64;

impl Player {
    pub(crate) fn received(&mut self, core: &mut Core, link: LinkId, message: Control) {
        let member = self.member_of(core, link);
        // A joiner may be further than this peer; what it passes on is signed by others, or proves itself.
        let of_the_match = member.is_some() || self.may_come_back(core, link);
        match message {
            Control::Join { .. } if member.is_none() => core.refuse(link, JoinRefused::Started),
            end @ Control::End { .. } if member.is_some() => self.receive_end(core, link, end),
            Control::Rejoin { request, addresses } if member.is_none() => {
                self.receive_request(core, link, request, addresses);
            }
            Control::Bye if of_the_match => {
                if let Some(at) = member {
                    self.membership.note_goodbye(at);
                }
                core.close_for(link, LinkError::Closed);
            }
            Control::Evidence(shown) if of_the_match => self.receive_evidence(core, link, shown),
            Control::Roster(votes) if of_the_match => self.receive_votes(core, link, votes),
            Control::Decided(change) if of_the_match => {
                self.receive_decision(core, link, &change);
            }
            Control::Words(statuses) if of_the_match => {
                self.receive_statuses(core, link, statuses);
            }
            Control::Branch {
                left,
                change,
                match_id,
            } if of_the_match => self.receive_branch(core, link, (left, &change), match_id),
            // Of another match.
            Control::Branch { .. } => {}
            // What was on its way when it was admitted, or had ended for it; and what others pass on that had not heard this
            // peer yet, also an earlier run that stood still since.
            Control::Rejoin { .. } => {}
            Control::Reopen(_) | Control::End { .. } | Control::Go { .. } if of_the_match => {}
            // What was on its way when the match began.
            Control::Lobby(_)
            | Control::Pings(_)
            | Control::Ready { .. }
            | Control::Chat { .. }
                if member.is_some() => {}
            _ => core.fault(link, Fault::OutOfPlace),
        }
    }

    pub(crate) fn datagram(&mut self, core: &mut Core, link: LinkId, datagram: Datagram) {
        let Datagram::Turns(packet) = datagram else {
            return;
        };
        let member = self.member_of(core, link);
        if self.past_member(core, link).is_some() {
            self.receive_past(core, link, &packet);
        } else if member.is_none() && self.may_come_back(core, link) {
            // It has been admitted, which this peer has not heard.
        } else if member.is_none() || packet.held.len() != self.ledger.places.len() {
            core.fault(link, Fault::OutOfPlace);
        } else {
            self.receive_packet(core, link, packet);
        }
    }

    /// An earlier run still sends turns: it has not heard that it is out. From what it sends, what it lacks is known.
    fn receive_past(&self, core: &mut Core, link: LinkId, packet: &TurnPacket) {
        if let Some(link) = core.links.get_mut(&link) {
            link.heard_at = core.now;
            link.epoch = link.epoch.max(Some(packet.epoch));
        }
    }

    /// Takes a batch that came by a link, whichever peer signed it.
    pub(super) fn receive_batch(&mut self, core: &mut Core, link: LinkId, signed: SignedBatch) {
        let signer = usize::from(signed.peer);
        let from_signer = self.member_of(core, link) == Some(signer);
        let quality = core.links.get(&link).map(|link| &link.quality);
        let arrival = Arrival {
            now: core.now,
            epoch: self.membership.epoch(),
            round_trip: quality
                .filter(|_| from_signer)
                .and_then(|of| of.fresh_rtt(core.now)),
            cheats: self.verify.cheats(),
            signer: core.signer.as_ref(),
        };
        match self
            .turns
            .collect(signed.clone(), &mut self.ledger, &arrival)
        {
            Collected::Nothing => {}
            Collected::Fault(fault) => core.fault(link, fault),
            Collected::OutOfReach => {
                // A forwarding peer may be further than this one; the signer itself may not, unless this one stands still.
                if from_signer && !self.ending.is_leaving() {
                    core.fault(link, Fault::WrongTurn);
                }
            }
            Collected::Differs(proof) => {
                self.weigh(core, link, proof);
                self.keep_alternate(core, link, signed);
            }
            Collected::Held {
                at,
                turn,
                wrong_seat,
            } => {
                if wrong_seat {
                    let (peer, fault) = (self.ledger.places.key(at), Fault::WrongSeat);
                    core.event(Event::PeerFault { peer, fault });
                }
                self.membership.note_batch(at, turn, core.now);
                while let Some(turn) = self.ledger.batches.advance(at) {
                    self.take_reports(core, at, turn);
                }
            }
        }
    }

    /// Takes the reports of a batch up to which all of its peer are held.
    fn take_reports(&mut self, core: &mut Core, at: usize, turn: u32) {
        let held = self.ledger.batches.get(at, turn);
        let batch = &held.expect("it was just found to be held").batch;
        let report = match self.verify.take_reports(at, batch, &self.ledger) {
            Ok(report) => report,
            Err(named) => return self.act_on(core, named),
        };
        let slack = batch.slack_ms.get(self.ledger.places.me()).copied();
        if let Some(slack) = slack.filter(|slack| *slack != NO_SLACK) {
            self.turns.note_slack(at, slack, &self.ledger);
        }
        let voters = self.membership.voters();
        self.turns.note_snapshot(at, turn, &self.ledger, voters);
        self.check_hashes(core);
        for (turns, checksum) in (report.from..).zip(report.checksums) {
            self.report(core, at, turns, checksum);
        }
    }

    fn receive_evidence(&mut self, core: &mut Core, link: LinkId, shown: Vec<WireBatch>) {
        if shown.len() > BATCHES {
            return core.fault(link, Fault::Oversize);
        }
        let shown: Vec<SignedBatch> = shown.into_iter().map(SignedBatch::from).collect();
        let places = self.ledger.places.len();
        if shown.iter().any(|batch| usize::from(batch.peer) >= places) {
            return core.fault(link, Fault::OutOfPlace);
        }
        if let [one, other] = shown.as_slice() {
            let proof = Equivocation(one.clone(), other.clone());
            let differ = one.peer == other.peer && one.content != other.content;
            if differ && proof.turn().is_some() {
                self.weigh(core, link, proof);
                return self.keep_alternate(core, link, one.clone());
            }
        }
        for batch in &shown {
            self.receive_batch(core, link, batch.clone());
        }
        if self.voter_of(core, link).is_some() {
            let signer = core.signer.as_ref();
            for both in self.verify.answers(&shown, &self.ledger, signer) {
                core.send(link, &Control::Evidence(both));
            }
        }
    }

    /// Keeps what the voter at the other end of a link holds in the place of what this peer does, while the roster
    /// changes.
    fn keep_alternate(&mut self, core: &mut Core, link: LinkId, signed: SignedBatch) {
        let changes = self.membership.is_frozen() || self.membership.pending().is_some();
        let Some(holder) = self.voter_of(core, link).filter(|_| changes) else {
            return;
        };
        let (epoch, ledger) = (self.membership.epoch(), &mut self.ledger);
        let with = (core.signer.as_ref(), core.now);
        if !self
            .verify
            .keep_alternate(holder, signed, epoch, ledger, with)
        {
            core.strange(link);
        }
    }

    fn receive_votes(&mut self, core: &mut Core, id: LinkId, votes: Vec<SignedStatement>) {
        if votes.len() > VOTES {
            return core.fault(id, Fault::Oversize);
        }
        for signed in votes {
            let places = &self.ledger.places;
            let (vote, kept) = match self.membership.read_vote(&signed, places) {
                Ok(read) => read,
                Err(fault) => return core.fault(id, fault),
            };
            if let Some((topic, version)) = kept
                && let Some(link) = core.links.get_mut(&id)
            {
                link.board.note(topic, version);
            }
            let signer = core.signer.as_ref();
            match self.membership.take_vote(vote, signed, places, signer) {
                Ok(news) => news.into_iter().for_each(|fact| self.board.post(fact)),
                Err(true) => core.strange(id),
                Err(false) => return core.fault(id, Fault::Signature),
            }
        }
    }

    fn receive_statuses(&mut self, core: &mut Core, id: LinkId, statuses: Vec<SignedStatement>) {
        if statuses.len() > self.ledger.places.len() {
            return core.fault(id, Fault::Oversize);
        }
        for signed in statuses {
            let (places, signer) = (&self.ledger.places, core.signer.as_ref());
            match self.membership.take_status(signed, places, signer) {
                Ok(None) => {}
                Ok(Some(fact)) => {
                    if let Some(link) = core.links.get_mut(&id) {
                        link.board.note(fact.topic, fact.version);
                    }
                    self.board.post(fact);
                }
                Err(fault) => return core.fault(id, fault),
            }
        }
    }

    fn receive_decision(&mut self, core: &mut Core, id: LinkId, bytes: &[u8]) {
        let mut reader = Reader::new(bytes);
        let change = decode_change(&mut reader).ok();
        let Some(change) = change.filter(|_| reader.end().is_ok()) else {
            return core.fault(id, Fault::Garbage);
        };
        let mut from = None;
        if let Some(link) = core.links.get_mut(&id) {
            link.epoch = link.epoch.max(Some(change.epoch.saturating_add(1)));
            from = link.proved.map(|(peer, _)| peer);
        }
        let (places, signer) = (&self.ledger.places, core.signer.as_ref());
        match self.membership.take_decision(change, from, places, signer) {
            Ok(None) => {}
            Ok(Some(change)) => self.decided(core, change),
            Err(fault) => core.fault(id, fault),
        }
    }

    /// Takes a request that came by a link from the joiner itself, and passes it on.
    fn receive_request(
        &mut self,
        core: &mut Core,
        link: LinkId,
        request: Request,
        addresses: Vec<String>,
    ) {
        let at = usize::from(request.joins.peer);
        let run = request.joins.incarnation;
        let proved = core.links.get(&link).and_then(|link| link.proved);
        let places = &self.ledger.places;
        let asks = places.get(at).map(|peer| (peer.peer, run));
        if asks.is_none() || asks != proved {
            return core.fault(link, Fault::OutOfPlace);
        }
        if self.verify.convicts(at) {
            return core.refuse(link, JoinRefused::Cheated);
        }
        if self.verify.is_barred(at) {
            return core.refuse(link, JoinRefused::Desynced);
        }
        // It may speak of the epoch before, or of one that this peer has not come to.
        if !self
            .membership
            .is_signed(&request, places, core.signer.as_ref())
        {
            return;
        }
        if self.membership.has(at) {
            return self.membership.note_replacement(at, run, places, core.now);
        }
        if self.dialling.note_addresses(at, addresses) {
            core.event(Event::Contacts(self.contacts()));
        }
        if self.over {
            return;
        }
        let around = self.around_membership(core.now);
        let (ledger, signer) = (&self.ledger, core.signer.as_ref());
        let told = self
            .membership
            .take_request(request, &around, ledger, signer);
        told.into_iter().for_each(|fact| self.board.post(fact));
    }

    fn receive_end(&mut self, core: &mut Core, link: LinkId, told: Control) {
        let Some((peer, end, signature)) = told.signed_end() else {
            return;
        };
        let at = usize::from(peer);
        let signer = self.ledger.places.get(at).map(|peer| peer.peer);
        let signed = (&end).with(signature);
        if !signer.is_some_and(|signer| signed.is_by(signer, core.signer.verifier())) {
            return core.fault(link, Fault::Signature);
        }
        // A peer that is out is not asked to agree: its last turns may be none of the others'.
        if !self.membership.has(at) || self.membership.is_out() {
            return;
        }
        if end.turns > self.turns.reach(self.ledger.window.complete()) {
            // The others went on while this peer leaves, or without it, and it has not heard of that yet.
            return;
        }
        // Word of an end that is taken back may still be on its way, or may have come before the one that counts.
        let took_back = self.ledger.window.took_back_before(end.turns);
        if !self.ending.take(at, &end, signature, took_back) {
            return;
        }
        self.forward_end(core, &told, Some(link));
        // What a peer signs at its end it reports: no batch of it follows.
        if at != self.ledger.places.me() && !took_back {
            self.verify.expect_hash(at, end.turns, end.log_hash);
            self.check_hashes(core);
            self.report(core, at, end.turns, end.checksum);
        }
    }

    /// Sends what is signed of the end to every peer of the match but the one that it came from, and to those that follow
    /// it.
    pub(super) fn forward_end(&self, core: &mut Core, told: &Control, from: Option<LinkId>) {
        for link in core.links.keys().copied().collect::<Vec<_>>() {
            let listens = self.member_of(core, link).is_some() || self.is_follower(core, link);
            if listens && Some(link) != from {
                core.send(link, told);
            }
        }
    }

    /// Tells on a link what is signed of the end: the links on which it was told may be gone, and a follower knows whose
    /// signatures these are only once it has the log.
    pub(crate) fn tell_ends(&self, core: &mut Core, link: LinkId) {
        if self.member_of(core, link).is_some() || self.is_follower(core, link) {
            self.ending.told().for_each(|told| core.send(link, &told));
        }
    }

    /// The other end of a link has proved its key.
    pub(crate) fn proved(&mut self, core: &mut Core, link: LinkId) {
        self.note_return(core, link, false);
        self.note_address(core, link);
        self.close_unknown_links(core);
        self.close_excess_links(core, link);
        self.close_doubles(core, link);
        self.tell_ends(core, link);
        self.tell_of_branch(core, link);
    }

    pub(crate) fn link_down(&mut self, core: &mut Core, peer: PeerId, why: LinkError) {
        let at = self.ledger.places.of(peer);
        let plays = at.is_some_and(|at| !self.ledger.batches.is_gone(at));
        if !self.over && plays && core.links_to(peer).next().is_none() {
            core.event(Event::LinkLost { peer, why });
        }
    }

    /// Tells the others that this process ends, and closes their links.
    pub(crate) fn say_goodbye(&self, core: &mut Core) {
        for link in core.links.keys().copied().collect::<Vec<_>>() {
            if self.member_of(core, link).is_some() {
                core.send(link, &Control::Bye);
            }
            core.close_for(link, LinkError::Closed);
        }
    }

    /// A peer of the match that is out of its roster is at the other end of this link, or `asks` on it for what it lacks.
    pub(crate) fn note_return(&mut self, core: &Core, link: LinkId, asks: bool) {
        let Some(link) = core.links.get(&link) else {
            return;
        };
        if let Some(at) = self.leads_to(link).filter(|at| !self.membership.has(*at)) {
            let until = core.now + GIVE_UP;
            self.dialling.note_return(at, &link.address, until, asks);
        }
    }

    /// Where a peer of the match is found by now is kept, for later joiners.
    fn note_address(&mut self, core: &mut Core, link: LinkId) {
        let Some(link) = core.links.get(&link) else {
            return;
        };
        let at = self.leads_to(link);
        let at = at.filter(|at| *at != self.ledger.places.me());
        if at.is_some_and(|at| self.dialling.note_address(at, &link.address)) {
            core.event(Event::Contacts(self.contacts()));
        }
    }

    /// What a change before this peer's part proves is posted for its neighbours.
    pub(super) fn post_earlier(&mut self, change: &RosterChange) {
        // A branch decides nothing for peers of the match that it leaves.
        if change.branch().is_some() {
            return;
        }
        self.board.post(Fact::decision(change.clone()));
        for proof in &change.proofs {
            let at = proof.0.peer;
            if self.verify.convicts(usize::from(at)) {
                self.board.post(Fact::proof(at));
            }
        }
    }
}
