//! Peers that come back: who asks to, what the decision to let one in does, and how its own part begins.

use super::Playing;
use super::agreement::Hashes;
use super::begin::{Beginning, Settings};
use super::epochs::Epochs;
use super::member::{Member, Returns};
use super::snapshots::SignedSnapshot;
use super::undo::Undone;
use crate::log::{RosterChange, SignedBatch, encode_change};
use crate::session::Output;
use crate::session::core::Core;
use crate::session::link::Link;
use crate::session::rejoin::{GIVE_UP, Returned};
use crate::session::roster::{Joins, Message, Peers, Request};
use crate::session::wire::{Control, TurnPacket};
use crate::{Contact, Event, Fault, JoinRefused, LinkId, MatchId, PeerId, TurnNumber};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// Turns that a peer that comes back may have beyond this one, at most: others may be so far ahead of it.
const TURNS_AHEAD: u32 = 64;
/// A peer that has said for so long nothing new is not let in: it may be gone again.
pub(super) const FRESH: Duration = Duration::from_secs(1);
/// A peer's request is passed on as often as this.
const AGAIN: Duration = Duration::from_millis(300);
/// Another run of a process is heard of by its own links no sooner.
const NEXT_RUN: Duration = Duration::from_secs(1);
/// Runs of one process that are remembered of those that one voter has told of: longer than a decision takes.
const RUNS: usize = 8;
/// Links to strangers who have proved that they are nobody of the match: they may ask, and are told so.
const NOBODIES: usize = 8;
/// Links to one peer of the match that is not in the roster.
const LINKS_OUTSIDE: usize = 2;
/// Addresses of one peer, and the bytes of each.
const ADDRESSES: usize = 8;
const ADDRESS_BYTES: usize = 64;

/// Who has asked to come back in this epoch, by place in the start's roster.
#[derive(Default)]
pub(super) struct Requests {
    /// The last run of each that has.
    asked: BTreeMap<u8, Asked>,
    /// The last runs that each voter has told of: where one dies and the next one asks, what was proposed for the first
    /// can still be accepted. Whoever makes up runs takes no place of those that others tell of.
    known: BTreeMap<(u8, u8), VecDeque<Joins>>,
    /// The run of each that this peer has told all of, and since when.
    told: BTreeMap<u8, (Joins, Duration)>,
}

struct Asked {
    request: Request,
    heard_at: Duration,
}

impl Requests {
    pub(super) fn is_empty(&self) -> bool {
        self.asked.is_empty()
    }

    pub(super) fn known(&self) -> Vec<Joins> {
        self.known.values().flatten().copied().collect()
    }

    fn is_told(&self, joins: Joins) -> bool {
        let told = self.told.get(&joins.peer);
        told.is_some_and(|(told, _)| *told == joins)
    }

    /// Whether a request says more than the last one.
    fn is_news(&self, request: &Request) -> bool {
        let last = self.asked.get(&request.joins.peer);
        last.map(|asked| asked.request)
            .is_none_or(|last| last.joins != request.joins || last.turns < request.turns)
    }

    /// A voter tells of a request.
    fn note(&mut self, request: Request, by: u8, now: Duration) {
        let joins = request.joins;
        let known = self.known.entry((by, joins.peer)).or_default();
        if !known.contains(&joins) {
            known.push_back(joins);
            if known.len() > RUNS {
                known.pop_front();
            }
        }
        if self.is_news(&request) {
            let heard_at = now;
            self.asked.insert(joins.peer, Asked { request, heard_at });
        }
    }
}

impl Playing {
    /// The part of a peer that comes back, from the first turn of its epoch on.
    pub(crate) fn returned(core: &mut Core, returned: Returned, settings: Settings) -> Self {
        let Returned { start, me, .. } = returned;
        let change = returned.changes.last().cloned();
        let change = change.expect("it comes back by a change");
        let (cut, roster) = (change.value.cut, change.value.roster);
        let plan = start.plan;
        // Another one may have come back so shortly before that its batches are still empty by rule.
        let from = |at: usize| {
            let speaks = |change: &&RosterChange| {
                let mut runs = change.new_runs();
                runs.any(|(peer, _)| usize::from(peer) == at)
            };
            let change = returned.changes.iter().rev().find(speaks);
            change.map_or(0, |change| change.value.cut + u32::from(plan.delay_turns))
        };
        let reopened = change.reopening.is_some();
        let member = |(at, addresses): (usize, Vec<String>)| {
            let peer = start.roster[at].clone();
            let goes_on = roster.contains(at as u8);
            let begins = at == me || reopened && goes_on;
            let from = from(at);
            let held = from.max(cut);
            let unheard_since = returned.unheard_since[at];
            Member {
                from,
                left_from: (!goes_on).then_some(cut),
                reported: cut + 1,
                reports_from: cut + 1,
                reports_anew: !begins,
                past: returned.past.get(at).cloned().unwrap_or_default(),
                heard_at: unheard_since.unwrap_or(core.now),
                lives_from: match unheard_since {
                    Some(_) => cut + u32::from(plan.delay_turns) + 1,
                    None => 0,
                },
                ..Member::new(peer, addresses, TurnNumber(held), core.now)
            }
        };
        let mut members: Vec<Member> = returned
            .addresses
            .into_iter()
            .enumerate()
            .map(member)
            .collect();
        for proof in returned.changes.iter().flat_map(|change| &change.proofs) {
            members[usize::from(proof.0.peer)].proof = Some(proof.clone());
        }
        for at in returned
            .changes
            .iter()
            .flat_map(|change| change.value.odd.iter())
        {
            let member = &mut members[usize::from(at)];
            member.desyncs = member.desyncs.saturating_add(1);
        }
        let before = match returned.changes.len().checked_sub(2) {
            Some(at) => returned.changes[at].value.roster,
            None => Peers::first(members.len()),
        };
        let undone = returned.changes.iter();
        let undone: Vec<Undone> = undone.filter_map(Undone::by).collect();
        let epochs = Epochs::resumed(me, returned.chained, returned.changes, core.now);
        let kept = core.limits.unexecuted_turns as usize;
        let beginning = Beginning {
            start,
            me,
            members,
            course: returned.course,
            epochs,
            turns: cut,
            ticks: returned.ticks,
            hashes: Hashes::resumed(cut, &returned.hashes, kept),
            due: returned.due,
            executed: returned.executed,
            checksum: returned.checksum,
            reports_from: cut + 1,
        };
        let mut playing = Playing::begin(core, settings, beginning);
        // What the others sealed before turns were taken back says nothing of those that took their place.
        playing.past.knows_of(undone);
        let gone = before.without(roster);
        let gone = playing.gone_by(&change, gone, gone.without(returned.left));
        core.event(Event::RosterChanged {
            turn: TurnNumber(cut),
            epoch: playing.epochs.epoch(),
            seats: playing.seats_of(roster),
            back: playing.seats_of(roster.without(before)),
            cause: change.cause(&gone),
            gone,
        });
        if playing.past.begins_with(cut, playing.ticks_handed_out) {
            core.out.push(Output::Save { turns: cut });
        }
        for (link, message) in returned.early {
            if core.links.contains_key(&link) {
                playing.received(core, link, message);
            }
        }
        playing
    }

    /// A peer of the match that is out of its roster is at the other end of this link, or `asks` on it for what it lacks.
    /// Should this one move meanwhile, the other one cannot find it: it is this one that dials then.
    pub(crate) fn note_return(&mut self, core: &Core, link: LinkId, asks: bool) {
        let Some(link) = core.links.get(&link) else {
            return;
        };
        if let Some(at) = self.leads_to(link).filter(|at| !self.epochs.has(*at)) {
            self.members[at].returns = Some(Returns {
                from: link.address.clone(),
                until: core.now + GIVE_UP,
                asks,
            });
        }
    }

    /// Where a peer of the match is found by now is kept, for whoever comes back later.
    pub(crate) fn note_address(&mut self, core: &mut Core, link: LinkId) {
        let Some(link) = core.links.get(&link) else {
            return;
        };
        let address = link.address.clone();
        let Some(at) = self.leads_to(link).filter(|at| *at != self.me) else {
            return;
        };
        let known = &mut self.members[at].addresses;
        if !known.contains(&address) {
            known.insert(0, address);
            known.truncate(ADDRESSES);
            core.event(Event::Contacts(self.contacts()));
        }
    }

    /// Takes a request that came by a link from the peer itself, and passes it on.
    pub(super) fn receive_request(
        &mut self,
        core: &mut Core,
        link: LinkId,
        request: Request,
        addresses: Vec<String>,
    ) {
        let place = usize::from(request.joins.peer);
        let proved = core.links.get(&link).and_then(|link| link.proved);
        let known = self.members.get(place);
        let of_itself = known.zip(proved).is_some_and(|(member, proved)| {
            (member.peer.peer, request.joins.incarnation) == proved
        });
        if !of_itself {
            return core.fault(link, Fault::OutOfPlace);
        }
        if known.is_some_and(|member| member.proof.is_some()) {
            return core.refuse(link, JoinRefused::Cheated);
        }
        if self.is_barred(place) {
            return core.refuse(link, JoinRefused::Desynced);
        }
        // It may speak of the epoch before, or of one that this peer has not come to.
        if !self.is_signed(core, &request) {
            return;
        }
        if self.epochs.has(place) {
            let member = &mut self.members[place];
            let run = request.joins.incarnation;
            let another = run != member.peer.incarnation && !member.past.contains(&run);
            member.replaced_at = another.then_some(core.now).or(member.replaced_at);
            return;
        }
        let fits = |address: &String| address.len() <= ADDRESS_BYTES && !address.is_empty();
        let addresses: Vec<String> = addresses.into_iter().filter(fits).take(ADDRESSES).collect();
        if !addresses.is_empty() && self.members[place].addresses != addresses {
            self.members[place].addresses = addresses;
            core.event(Event::Contacts(self.contacts()));
        }
        let known = self.requests.asked.get(&request.joins.peer);
        let due = match self.requests.told.get(&request.joins.peer) {
            Some((joins, since)) if *joins != request.joins => *since + NEXT_RUN <= core.now,
            Some(_) => known.is_none_or(|asked| asked.heard_at + AGAIN <= core.now),
            None => true,
        };
        let news = due && self.requests.is_news(&request);
        if news && self.epochs.pending().is_none() && !self.over {
            self.note_request(core, request, self.me as u8);
            self.tell_request(core, request);
        }
    }

    /// Passes on a request as one that this peer would grant.
    fn tell_request(&mut self, core: &mut Core, request: Request) {
        let joins = request.joins;
        let since = match self.requests.told.get(&joins.peer) {
            Some((told, since)) if *told == joins => *since,
            _ => core.now,
        };
        self.requests.told.insert(joins.peer, (joins, since));
        self.say(core, Message::Request(request));
    }

    /// Tells all of who follows and has reached only others: what is proposed is accepted by those who were told of it.
    pub(super) fn tell_of_joiners(&mut self, core: &mut Core) {
        let asked = self.requests.asked.values().filter(|asked| {
            let told = self.requests.told.get(&asked.request.joins.peer);
            told.is_none_or(|(joins, since)| {
                *joins != asked.request.joins && *since + NEXT_RUN <= core.now
            })
        });
        let untold = asked.filter(|asked| self.follows(asked, core.now));
        let untold: Vec<Request> = untold.map(|asked| asked.request).collect();
        for request in untold {
            self.tell_request(core, request);
        }
    }

    fn is_signed(&self, core: &Core, request: &Request) -> bool {
        let Some(member) = self.members.get(usize::from(request.joins.peer)) else {
            return false;
        };
        let (key, signer) = (member.peer.peer, core.signer.as_ref());
        request.is_signed_by(key, signer, &self.start, self.epochs.epoch())
    }

    /// Takes a request that a voter passes on. A run of a process that has had its part does not come back, and nobody
    /// does who is proved to cheat, or has strayed too often.
    pub(super) fn note_request(&mut self, core: &Core, request: Request, by: u8) {
        let Request { joins, turns, .. } = request;
        let Some(member) = self.members.get(usize::from(joins.peer)) else {
            return;
        };
        let over = member.peer.incarnation == joins.incarnation
            || member.past.contains(&joins.incarnation)
            || member.proof.is_some();
        let over = over || self.is_barred(usize::from(joins.peer));
        let outside = !self.epochs.has(usize::from(joins.peer));
        // Nobody has followed to where nobody is.
        let over = over || turns > self.complete.saturating_add(TURNS_AHEAD);
        let counts = self.epochs.has(usize::from(by));
        if !over && outside && counts && self.is_signed(core, &request) {
            self.requests.note(request, by, core.now);
        }
    }

    /// Who is to be let in next.
    pub(super) fn joiner(&self, now: Duration) -> Option<Joins> {
        // Nobody is let in behind the end, and whoever comes back knows nothing of why somebody is to go.
        if self.ending.holds_turns()
            || !self.attests_what_is_decided_now()
            || !self.odd_voters().is_empty()
        {
            return None;
        }
        let mut told = self.requests.asked.values().filter(|asked| {
            let joins = asked.request.joins;
            self.requests.is_told(joins) && self.follows(asked, now)
        });
        told.next().map(|asked| asked.request.joins)
    }

    /// Whether batches attest the log up to a cut that is decided on now: the last ones of a match are sealed some turns
    /// before its end. Who is let in behind them could not know that the log it has is the others', and would never
    /// take its place.
    fn attests_what_is_decided_now(&self) -> bool {
        let delay = u32::from(self.course.plan.delay_turns);
        let limit = self.start.turn_limit;
        limit.is_none_or(|limit| self.complete + 2 * delay <= limit)
    }

    /// Whether who has asked follows, was heard of lately, and may come back by now.
    fn follows(&self, asked: &Asked, now: Duration) -> bool {
        let delay = u32::from(self.course.plan.delay_turns);
        let lately = FRESH.as_millis() / self.course.plan.turn().as_millis().max(1);
        let reach = delay + lately as u32 + 1;
        let Request { joins, turns, .. } = asked.request;
        let member = self.members.get(usize::from(joins.peer));
        let may = member.is_some_and(|member| member.back_at <= now);
        may && asked.heard_at + FRESH > now && turns.saturating_add(reach) >= self.complete
    }

    /// Tells a peer that comes back that it is decided: its first batches are due soon.
    pub(super) fn tell_joiner(&self, core: &mut Core, change: &RosterChange) {
        let Some(joins) = change.value.joins else {
            return;
        };
        let peer = self.members[usize::from(joins.peer)].peer.peer;
        let links: Vec<LinkId> = core.links_to(peer).map(|link| link.id).collect();
        for link in links {
            core.send(link, &Control::Decided(encode_change(change)));
        }
    }

    /// A change is complete: whom it lets in is of the roster again.
    pub(super) fn readmit(&mut self, core: &mut Core, change: &RosterChange) {
        self.requests = Requests::default();
        let Some(joins) = change.value.joins else {
            return;
        };
        change.apply(Arc::make_mut(&mut self.start));
        let cut = change.value.cut;
        let first = cut + u32::from(self.course.plan.delay_turns);
        let member = &mut self.members[usize::from(joins.peer)];
        member.come_back(joins.incarnation, cut, first, core.now);
        // What was taken back in epochs before its own is nothing that it has ever reported.
        member.reported_in = change.epoch + 1;
        self.presence.readmit(joins.peer, joins.incarnation);
        let seats = member.peer.seats.clone();
        self.course.open(&seats);
    }

    /// Whether a link leads to another run of the process of a peer of the match, which may come back.
    pub(super) fn may_come_back(&self, core: &Core, link: LinkId) -> bool {
        let proved = core.links.get(&link).and_then(|link| link.proved);
        proved.is_some_and(|(peer, _)| self.place_of(peer).is_some())
    }

    /// Whether a link leads to a run of a peer of the match that has no part in it yet.
    pub(super) fn is_follower(&self, core: &Core, link: LinkId) -> bool {
        self.may_come_back(core, link)
            && self.member_of(core, link).is_none()
            && !self.is_past(core, link)
    }

    pub(crate) fn match_id(&self) -> MatchId {
        self.start.match_id
    }

    /// The place of a key in the start's roster.
    pub(crate) fn place_of(&self, peer: PeerId) -> Option<usize> {
        self.members
            .iter()
            .position(|member| member.peer.peer == peer)
    }

    /// Closes all but the newest links that lead to nobody of the match.
    pub(crate) fn close_nobodies(&self, core: &mut Core) {
        let links = core.links.values();
        let nobodies = links.filter(|link| {
            let proved = link.proved;
            proved.is_some_and(|(peer, _)| self.place_of(peer).is_none())
        });
        let mut nobodies: Vec<_> = nobodies.map(|link| (link.up_at, link.id)).collect();
        nobodies.sort_unstable();
        let most = nobodies.len().saturating_sub(NOBODIES);
        for (_, link) in &nobodies[..most] {
            core.close(*link);
        }
    }

    /// Closes all but the newest links to a peer of the match that is not in the roster as the run that it proved.
    pub(crate) fn close_crowd(&self, core: &mut Core, proved: LinkId) {
        let Some((peer, _)) = core.links.get(&proved).and_then(|link| link.proved) else {
            return;
        };
        let outside = core
            .links_to(peer)
            .map(|link| link.id)
            .filter(|link| self.member_of(core, *link).is_none());
        let outside: Vec<LinkId> = outside.collect();
        let most = outside.len().saturating_sub(LINKS_OUTSIDE);
        for link in &outside[..most] {
            core.close(*link);
        }
    }

    /// The member whose earlier run a link leads to.
    pub(super) fn past_member(&self, core: &Core, link: LinkId) -> Option<usize> {
        self.past_member_at(core.links.get(&link)?)
    }

    pub(super) fn past_member_at(&self, link: &Link) -> Option<usize> {
        let (peer, run) = link.proved?;
        let mut members = self.members.iter();
        members.position(|member| member.peer.peer == peer && member.past.contains(&run))
    }

    pub(super) fn is_past(&self, core: &Core, link: LinkId) -> bool {
        self.past_member(core, link).is_some()
    }

    /// An earlier run still sends turns: it has not heard that it is out. From what it sends, what it lacks is known.
    pub(super) fn note_past(&self, core: &mut Core, link: LinkId, packet: &TurnPacket) {
        if let Some(link) = core.links.get_mut(&link) {
            link.heard_at = core.now;
            link.epoch = link.epoch.max(Some(packet.epoch));
        }
    }

    /// The newest snapshot that a quorum has signed.
    pub(crate) fn signed_snapshot(&self) -> Option<&SignedSnapshot> {
        self.snapshots.signed()
    }

    /// Each roster peer's newest batch that attests no more than so many turns.
    pub(crate) fn attests(&self, turns: u32) -> impl Iterator<Item = &SignedBatch> {
        let members = self.members.iter().enumerate();
        let voters = members.filter(|(at, _)| self.epochs.has(*at));
        voters.filter_map(move |(_, member)| member.newest_within(self.at_most(turns)))
    }

    /// Up to how many turns a quorum's batches attest the log.
    pub(crate) fn attested(&self, turns: u32) -> u32 {
        let voters = self.epochs.voters();
        let mut told: Vec<(u32, u8)> = (0..self.members.len() as u8)
            .filter(|at| self.epochs.has(usize::from(*at)))
            .filter_map(|at| {
                let member = &self.members[usize::from(at)];
                Some((member.attested_within(self.at_most(turns))?, at))
            })
            .collect();
        told.sort_unstable_by_key(|(turns, at)| (std::cmp::Reverse(*turns), *at));
        let quorum = (1..=told.len()).find(|count| {
            let first = told[..*count].iter().map(|(_, at)| *at);
            voters.is_quorum(first.collect())
        });
        quorum.map_or(0, |count| told[count - 1].0)
    }

    /// When the turn after `turns` turns is due, in milliseconds from now.
    pub(crate) fn due_in_ms(&self, now: Duration, turns: u32) -> i32 {
        let ahead = i64::from(turns) - i64::from(self.complete);
        let turn = self.course.plan.turn().as_millis() as i64;
        let due = self.due.as_millis() as i64 - now.as_millis() as i64 + ahead * turn;
        due.clamp(-600_000, 600_000) as i32
    }

    /// Where the peers of the match can be dialled, by index in the start's roster.
    pub(crate) fn contacts(&self) -> Vec<Contact> {
        let members = self.members.iter();
        let contact = |member: &Member| Contact {
            peer: member.peer.peer,
            addresses: member.addresses.clone(),
        };
        members.map(contact).collect()
    }
}

#[cfg(test)]
mod tests;
