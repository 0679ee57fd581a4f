//! Who is suspected: whoever turns, or a change, wait for, and is not heard, or is heard and for too long does not send
//! what is waited for.

use super::Playing;
use super::epochs::ATTEMPTS_EVERY;
use crate::limits::MAX_PEERS;
use crate::log::STALL_BUDGET;
use crate::session::clock_gap::GAP;
use crate::session::core::Core;
use crate::session::roster::Peers;
use crate::{Event, Incarnation, TurnNumber};
use std::collections::BTreeMap;
use std::time::Duration;

/// Of [`STALL_BUDGET`], such a part of the time that passes is given back: a tenth.
pub(super) const GIVEN_BACK: u32 = 10;
/// Who has so much of it left is not begun without, but gone without where another one begins: clocks of peers that
/// wait for the same are not quite the same.
const AGREED_BEFORE: Duration = Duration::from_secs(1);
/// So long this peer begins no change again to remove somebody whom the others have kept.
const KEPT_FOR: Duration = STALL_BUDGET;
/// Whoever is removed and has used up so much of it, has held the others up; with what is left it may come back.
pub(super) const HALF_SPENT: Duration = Duration::from_secs(5);
/// The second time that it does, it is let in again after so long, the third time after twice this time, and so on.
const BACK_AFTER: Duration = Duration::from_secs(60);
/// Another run of one process may have the place of the one before at once, and after that one has had it for so long the
/// second time, twice as long the third, and so on up to so many times: each time costs the others a change.
const REPLACED_AFTER: Duration = Duration::from_secs(15);
const REPLACED_MOST: u32 = 4;
/// Whoever tells of batches and does not deliver them for so long, all told, is not believed any more. Short enough for
/// the others not to call the coordinator late that waits for them.
const PROVED_WITHIN: Duration = Duration::from_secs(4);

/// Who has said that it leaves, and is not heard for so long, has gone.
const GONE: Duration = Duration::from_secs(1);

/// Who is suspected.
pub(super) struct Watch {
    suspicion: Duration,
    pub at: Duration,
    pub suspects: Peers,
    pub unwanted: Peers,
    /// Those that it agrees to go without: all of these, and who is about to be one.
    pub agreed: Peers,
    /// Those of the unwanted who have told of batches and not delivered them.
    pub disbelieved: Peers,
    /// Those of the unwanted who were told, until they have enough of their time back.
    told: Peers,
    told_no_quorum: bool,
    /// The incarnations of lost peers that wait for a reopening, as told.
    told_joiners: BTreeMap<u8, Incarnation>,
}

impl Watch {
    pub(super) fn new(suspicion: Duration, now: Duration) -> Self {
        Watch {
            suspicion,
            at: now,
            suspects: Peers::default(),
            unwanted: Peers::default(),
            agreed: Peers::default(),
            disbelieved: Peers::default(),
            told: Peers::default(),
            told_no_quorum: false,
            told_joiners: BTreeMap::new(),
        }
    }

    /// Another epoch begins: who is suspected is seen anew.
    pub(super) fn begin_epoch(&mut self) {
        self.suspects = Peers::default();
        self.unwanted = Peers::default();
        self.agreed = Peers::default();
        self.disbelieved = Peers::default();
        self.told = Peers::default();
        self.told_no_quorum = false;
    }

    /// Nothing was seen up to this time.
    pub(super) fn skip(&mut self, now: Duration) {
        self.at = now;
    }
}

impl Playing {
    /// Peers of the roster whose leaving is in the log.
    pub(super) fn leavers(&self) -> Peers {
        self.places(|at| self.members[at].left_from.is_some())
    }

    pub(super) fn places(&self, of: impl Fn(usize) -> bool) -> Peers {
        let members = self.epochs.voters().members().iter();
        members.filter(|at| of(usize::from(*at))).collect()
    }

    /// The peers that the next turn, or the change, waits for.
    pub(super) fn blockers(&self) -> Peers {
        let me: Peers = std::iter::once(self.me as u8).collect();
        let waited_for = if self.epochs.is_changing() {
            let alive = self.alive();
            match self.epochs.roster.coordinates() {
                Some(_) => {
                    let answered = self.epochs.roster.answered().or(self.cheats());
                    let silent = self.epochs.voters().members().without(answered);
                    silent.or(self.unproved())
                }
                None => self.waits_for_coordinator(alive),
            }
        } else if self.stall.is_some() {
            let missing = self.places(|at| !self.members[at].has(self.complete));
            missing.or(self.unanswering())
        } else {
            Peers::default()
        };
        waited_for.without(me)
    }

    /// Whom a change waits for that another one coordinates: who has been promised an answer to, whether or not it was its
    /// turn; but while it waits itself for some who have not answered it, those. At first they cannot have: whoever begins
    /// attempt after attempt waits for nobody.
    fn waits_for_coordinator(&self, alive: Peers) -> Peers {
        let promised = self.epochs.roster.promised();
        let promised = promised.filter(|ballot| alive.contains(ballot.peer));
        let Some(ballot) = promised.filter(|ballot| usize::from(ballot.peer) != self.me) else {
            let first = alive.lowest();
            if first != Some(self.me as u8) {
                return first.into_iter().collect();
            }
            // It is this peer's turn: it waits for those who begin later rounds than its own.
            let own = self.epochs.roster.begun().map_or(0, |own| own.round);
            return self.epochs.begun_after(own);
        };
        let gone = self.watch.suspects.or(self.watch.unwanted);
        let answered = self.epochs.promised_in(ballot, self.members.len());
        let answered = answered.or(self.cheats());
        let silent = self.epochs.voters().members().without(answered.or(gone));
        let begins = self.watch.at < self.epochs.attempt_at + ATTEMPTS_EVERY;
        match begins || silent.is_empty() {
            true => std::iter::once(ballot.peer).collect(),
            false => silent,
        }
    }

    /// Those whose promises this peer, as coordinator, waits to see the batches of.
    pub(super) fn unproved(&self) -> Peers {
        match self.epochs.roster.begun() {
            Some(_) => self.epochs.roster.unproved(&self.sight(None).view()),
            None => Peers::default(),
        }
    }

    /// Those who may coordinate. Who has said that it leaves does not, even if its last turn is not complete.
    pub(super) fn alive(&self) -> Peers {
        let leaves = self.places(|at| self.members[at].leaves.is_some());
        let gone = self.watch.suspects.or(self.watch.unwanted).or(leaves);
        let gone = gone.or(self.cheats()).or(self.odd.peers());
        self.epochs.voters().members().without(gone)
    }

    pub(super) fn watch_peers(&mut self, core: &mut Core) {
        let now = core.now;
        let passed = now.saturating_sub(self.watch.at);
        self.watch.at = now;
        self.look_at_links(core);
        let blockers = self.blockers();
        let stalls_for = self
            .stall
            .as_ref()
            .map(|stall| now.saturating_sub(stall.since));
        let silent = self.places(|at| {
            let member = &self.members[at];
            at != self.me && member.heard_at + self.watch.suspicion <= now
        });
        let unheard = self.places(|at| {
            let member = &self.members[at];
            // Nobody waits longer for who has said that it leaves.
            let suspicion = match member.leaves {
                Some(_) => self.watch.suspicion.min(GONE),
                None => self.watch.suspicion + self.longer(),
            };
            let unheard = member.restarted || member.heard_at + suspicion <= now;
            unheard && at != self.me
        });
        // Silence alone is no reason to begin. Once there is one, nobody waits for who is silent.
        let begun = self.epochs.is_changing()
            || self.leaving.is_some() && self.watch.told_no_quorum
            || !self.leavers().is_empty()
            || !self.cheating_voters().is_empty()
            || !self.odd_voters().is_empty()
            || !self.watch.unwanted.is_empty();
        let suspects = match begun || !unheard.and(blockers).is_empty() {
            true => unheard,
            false => Peers::default(),
        };
        // Where nobody can decide anything, nobody is to blame for turns that wait for that.
        let voters = self.epochs.voters();
        let unproved = self.unproved();
        let lost = !voters.is_quorum(voters.members().without(suspects));
        // Time under an extension does not count against a peer's stall budget, nor while a silent peer is still waited for
        // by one. A silent peer that nothing waits for excuses no other one.
        let forgiven = stalls_for.is_some_and(|passed| passed < self.longer())
            || !silent.without(unheard).is_empty();
        for (at, member) in self.members.iter_mut().enumerate() {
            let blocks = blockers.contains(at as u8) && !suspects.contains(at as u8) && !lost;
            member.blocked = match blocks {
                true if forgiven => member.blocked,
                // What passed before the stall began was not waited for.
                true => {
                    member.blocked
                        + stalls_for
                            .map_or(passed, |stalls| stalls.min(passed))
                            .min(GAP)
                }
                false => member.blocked.saturating_sub(passed / GIVEN_BACK),
            };
            if unproved.contains(at as u8) {
                member.unproved += passed.min(GAP);
            }
        }
        let late = self.places(|at| {
            let member = &self.members[at];
            member.blocked >= STALL_BUDGET && member.kept_until <= now
        });
        let me: Peers = std::iter::once(self.me as u8).collect();
        let disbelieved = self.places(|at| self.members[at].unproved >= PROVED_WITHIN);
        let unwanted = late.or(self.too_slow().without(me)).or(disbelieved);
        let unwanted = unwanted.or(self.odd_and_due(now));
        let unwanted = unwanted.or(self.replaced(now));
        let known = self.watch.suspects.or(self.watch.unwanted);
        // Who is odd was named when that was found.
        let known = known.or(self.odd_voters());
        // Whoever is not waited for while others answer has a little of its time back, and uses it up again.
        let news = suspects.or(unwanted.without(self.watch.told));
        for at in news.without(known).iter() {
            let member = &self.members[usize::from(at)];
            core.event(Event::Suspected {
                peer: member.peer.peer,
                seats: member.peer.seats.clone(),
                unheard: now.saturating_sub(member.heard_at),
            });
        }
        self.watch.suspects = suspects;
        self.watch.unwanted = unwanted;
        let soon = self.places(|at| self.members[at].blocked + AGREED_BEFORE >= STALL_BUDGET);
        self.watch.told = unwanted.or(self.watch.told.and(soon));
        self.watch.agreed = unwanted.or(soon).or(self.odd_voters());
        self.watch.disbelieved = disbelieved;
        self.tell_no_quorum(core, lost);
    }

    /// The voters that are heard, and so soon that no other peer can suspect them yet.
    pub(super) fn heard_lately(&self) -> Peers {
        let lately = self.watch.suspicion.saturating_sub(AGREED_BEFORE);
        self.places(|at| {
            let member = &self.members[at];
            at != self.me && !member.restarted && member.heard_at + lately > self.watch.at
        })
    }

    /// The peer that has slowed the match down for longer than it may, where the others can go on without it.
    pub(super) fn too_slow(&self) -> Peers {
        let voters = self.epochs.voters();
        let slow = self.course.too_slow();
        let slow =
            self.places(|at| slow.is_some_and(|seat| self.members[at].peer.seats.contains(&seat)));
        match voters.is_quorum(voters.members().without(slow)) {
            true => slow,
            false => Peers::default(),
        }
    }

    /// Peers another run of whose process has followed and asks for their places, where the others can go on without
    /// them: their players began it, and the run that has the place is a window that does not answer, or forgotten.
    pub(super) fn replaced(&self, now: Duration) -> Peers {
        let voters = self.epochs.voters();
        let replaced = self.places(|at| {
            let member = &self.members[at];
            let due = member.run_since + REPLACED_AFTER * member.replaced.min(REPLACED_MOST);
            let may = member.kept_until <= now && due <= now;
            at != self.me && may && member.is_asked_for(now)
        });
        let replaced = replaced.and(voters.members());
        match voters.is_quorum(voters.members().without(replaced)) {
            true => replaced,
            false => Peers::default(),
        }
    }

    fn tell_no_quorum(&mut self, core: &mut Core, lost: bool) {
        let told = std::mem::replace(&mut self.watch.told_no_quorum, lost);
        if lost && !told {
            core.event(Event::NoQuorum {
                turn: TurnNumber(self.complete),
                missing: self.seats_of(self.watch.suspects),
            });
        }
        if lost {
            self.tell_joiners(core);
        }
    }

    /// Tells of new incarnations of lost peers, once they and the heard peers are a quorum.
    fn tell_joiners(&mut self, core: &mut Core) {
        let links = core.links.values().filter_map(|link| {
            let at = self.leads_to(link)?;
            let (_, run) = link.proved?;
            let member = &self.members[at];
            let another = run != member.peer.incarnation && !member.past.contains(&run);
            let lost = self.watch.suspects.contains(at as u8);
            (lost && another && member.restarted).then_some((at as u8, run))
        });
        let joiners: BTreeMap<u8, Incarnation> = links.collect();
        let voters = self.epochs.voters();
        let heard = voters.members().without(self.watch.suspects);
        if !voters.is_quorum(heard.or(joiners.keys().copied().collect())) {
            return;
        }
        for (at, run) in joiners {
            if self.watch.told_joiners.insert(at, run) != Some(run) {
                let member = &self.members[usize::from(at)];
                core.event(Event::JoinerWaits {
                    peer: member.peer.peer,
                    seats: member.peer.seats.clone(),
                });
            }
        }
    }

    /// Who is suspected.
    pub(super) fn suspects(&self) -> Peers {
        self.watch.suspects
    }

    /// Whether so many peers are lost that the others cannot decide to go on without them.
    pub(super) fn has_no_quorum(&self) -> bool {
        self.watch.told_no_quorum
    }

    /// Whether this peer has a reason of its own to freeze when it is asked to.
    pub(super) fn sees_cause(&self) -> bool {
        let leaves = |at: usize| self.members[at].leaves.is_some();
        self.stall.is_some()
            || self.epochs.is_changing()
            || !self.too_slow().is_empty()
            || !self.places(leaves).is_empty()
            || !self.cheating_voters().is_empty()
            || !self.odd_voters().is_empty()
            || !self.replaced(self.watch.at).is_empty()
            || self.leaving.is_some()
            || !self.requests.is_empty()
            || !self.wants_turns()
    }

    /// The roster changes. What a peer has held up of late stays with it, or whoever holds up as much as is allowed would
    /// have it all back with every change; who is removed `goes`. Where the others keep whom this peer would not, be it
    /// that the change gave a little of its time back, they have seen less of that, and it begins no change after change.
    pub(super) fn keep_debts(&mut self, goes: Peers, now: Duration) {
        let kept = self.watch.told.without(goes);
        self.watch.begin_epoch();
        for (at, member) in self.members.iter_mut().enumerate() {
            member.unproved = Duration::ZERO;
            if kept.contains(at as u8) {
                member.kept_until = now + KEPT_FOR;
            }
            if goes.contains(at as u8) && member.is_asked_for(now) {
                member.replaced = member.replaced.saturating_add(1);
            }
            if goes.contains(at as u8) && member.blocked >= HALF_SPENT {
                member.back_at = now + BACK_AFTER * member.held_up;
                member.held_up = member.held_up.saturating_add(1);
            }
        }
    }

    /// Who was heard, and whose process has another run: one may be at the other end of a link that was up before this
    /// peer came back itself, too. A link that was up before the run of the roster was let in is of an earlier one, which
    /// had not been: so is one that was up before a link of that run.
    fn look_at_links(&mut self, core: &mut Core) {
        let mut since = [None; MAX_PEERS];
        for link in core.links.values() {
            let (Some(at), Some((_, run))) = (self.leads_to(link), link.proved) else {
                continue;
            };
            let member = &mut self.members[at];
            if run == member.peer.incarnation {
                member.heard_at = member.heard_at.max(link.heard_at);
                let newest = since[at].unwrap_or(member.run_since);
                since[at] = Some(link.up_at.max(newest));
            }
        }
        for link in core.links.values() {
            let (Some(at), Some((_, run))) = (self.leads_to(link), link.proved) else {
                continue;
            };
            let member = &mut self.members[at];
            let another = run != member.peer.incarnation && !member.past.contains(&run);
            member.restarted |= another && link.up_at >= since[at].unwrap_or(member.run_since);
        }
        // A run that is out and has not heard of it may know none of those who would tell: they are other runs, too.
        for link in core.links.values_mut() {
            let out = match self.member_at(link) {
                Some(at) => !self.epochs.has(at),
                None => self.past_member_at(link).is_some(),
            };
            if out {
                link.epoch = link.epoch.max(Some(0));
            }
        }
    }
}
