//! Suspicion: a peer that turns, or a change, wait for, and that is not heard, or is heard and for too long does not send
//! what is waited for.

use super::paxos::{OnlyEnd, Peers, Voters, can_do_without};
use super::{Membership, Surroundings};
use crate::log::STALL_BUDGET;
use crate::session::ledger::Ledger;
use crate::{Event, Incarnation, TurnNumber};
use std::time::Duration;

/// A peer is given back such a part of the time that passes: a tenth.
const GIVEN_BACK: u32 = 10;
/// With so much of its stall budget left, a peer is removed only by a change that another peer begins: clocks of peers that
/// wait for the same are not quite the same.
const AGREED_BEFORE: Duration = Duration::from_secs(1);
/// A peer is charged no more: what it is given back while the others keep it, after they had reason to remove it, counts.
const MOST_CHARGED: Duration = STALL_BUDGET.saturating_add(Duration::from_millis(500));
/// A peer that is to begin a change is passed over once so much of its stall budget is used up: the next one begins. The
/// peer may know of no reason that others see, as each measures for itself; or it keeps its votes from them.
const PASSED_OVER: Duration = Duration::from_secs(8);
/// The peer is passed over as well where it has not begun for so long.
const BEGINS_WITHIN: Duration = Duration::from_secs(3);
/// A peer is to be removed for what it holds up of late: for so much, until it has all of that back, which takes a second.
const OF_LATE: Duration = Duration::from_millis(100);
/// This peer begins no change for so long to remove a peer that the others have kept.
const KEPT_FOR: Duration = STALL_BUDGET;
/// Where a quorum is heard again, the others have so long to be heard: what silenced many may end for all of them.
const GATHERED: Duration = Duration::from_secs(2);
/// A peer that comes back has used up no more of its stall budget than this.
const HALF_SPENT: Duration = Duration::from_secs(5);
/// A peer that tells of batches and does not deliver them for so long, all told, is withholding while it owes any. Short
/// enough for the others not to call the coordinator late that waits for them.
const PROVED_WITHIN: Duration = Duration::from_secs(4);
/// A new run of a lost peer's process has so long to tell of a branch that it plays. Otherwise it waits to come back.
const TELLS_OF_BRANCH: Duration = Duration::from_millis(500);
/// A leaving peer counts as gone after this long without a packet.
const GONE: Duration = Duration::from_secs(1);
/// A peer that has said goodbye, and to which no link has led since, counts as gone after this long without a packet.
const PARTED: Duration = Duration::from_millis(500);
/// A coordinator is given back so much of what it was charged for a change, once that is in force: links took it.
const CHANGE_TAKES: Duration = Duration::from_secs(1);
/// It is given so much back no more often than this.
const CHANGES_EVERY: Duration = Duration::from_secs(5);
/// No more time than this passes at once: peers are looked at more often. What is beyond that this process stood still, with
/// what others had sent on its way to it.
const AT_ONCE: Duration = Duration::from_millis(200);

pub(super) struct Suspicion {
    /// How long silence lasts before a peer is suspected.
    time: Duration,
    /// When peers were last looked at.
    pub at: Duration,
    pub suspects: Peers,
    /// Peers that are to be removed though they answer.
    pub to_remove: Peers,
    /// Peers that this one would vote to remove: `to_remove`, and peers about to be of it.
    pub agreed: Peers,
    /// Peers of `to_remove` that have told of batches and not delivered them yet.
    pub withholding: Peers,
    /// Peers of `to_remove` for what only this peer has measured: others may know of no reason.
    pub late: Peers,
    /// Peers with a used-up stall budget: from the turn that they hold up, until enough of it is given back.
    spent: Peers,
    /// Peers that are or were of `to_remove` and were named, until they have enough of their time back.
    named: Peers,
    /// Peers that were passed over in this epoch: another one is to begin a change.
    pub passed_over: Peers,
    /// The peer that is to begin a change.
    turn_of: Option<Succession>,
    /// So many are suspected that the others can decide nothing.
    pub lost_quorum: bool,
    /// By place.
    of: Vec<Watched>,
}

/// The peer that is to begin a change, now or where there is a reason again.
#[derive(Clone, Copy)]
struct Succession {
    of: u8,
    /// For how long there was one, less a part of the time in which there was none.
    waited: Duration,
    /// Whether there was one at the last look, and when that was.
    is_due: bool,
    at: Duration,
}

#[derive(Clone)]
struct Watched {
    /// When the peer was last heard, by any path.
    heard_at: Duration,
    /// When the peer was last heard on a link of its own.
    linked_at: Option<Duration>,
    /// Batches for turns before this one may have been sealed before the peer fell silent: they are no sign of life.
    lives_from: u32,
    /// For how long the peer has blocked turns of late though it was heard.
    blocked: Duration,
    /// How much of that is of late.
    of_late: Duration,
    /// What the peer was charged in this epoch while it coordinated a change.
    charged: Duration,
    /// When the peer is given that back at the earliest.
    returned_from: Duration,
    /// The others have kept the peer, and this one would not: until then it begins no change again to remove it.
    kept_until: Duration,
    /// For how long the peer has owed, in this epoch, batches that it told of.
    unproved: Duration,
    /// The peer has said that its process ends, and no link has led to it since.
    parted: bool,
    /// Another run of the peer's process has shown up.
    restarted: bool,
    /// The new run of the peer's process that a link leads to, and the one that the game was told of.
    waits: Option<Incarnation>,
    told: Option<Incarnation>,
    /// The new run that was seen last, and since when; and the one that plays a branch.
    seen: Option<(Incarnation, Duration)>,
    plays_branch: Option<Incarnation>,
    /// Since when this run of the peer's process is of the roster, where another one was before.
    run_since: Duration,
}

/// What is looked at.
struct Seen {
    now: Duration,
    voters: Voters,
    only_end: Option<OnlyEnd>,
    /// Peers that the next turn, or the change, waits for; those of them that owe what they told of.
    blockers: Peers,
    unproved: Peers,
    /// Peers that an attempt of another peer holds: what they owe is charged to that peer.
    held: Peers,
    /// Peers that owe what their newest promises tell of, for so long that the others doubt them as well.
    owing: Peers,
    /// The peer that coordinates the change that is open.
    coordinator: Option<u8>,
    stalled_since: Option<Duration>,
    extension: Duration,
    /// There is a reason to change the roster, or, where the quorum is lost, to end without it.
    has_cause: bool,
    /// Peers that are to go, heard or not: leavers, cheats and the minority.
    going: Peers,
    is_leaving: bool,
    /// The minority, and further peers that are to be removed though they answer.
    minority: Peers,
    to_remove: Peers,
}

/// A link on which a peer of the match is heard.
#[derive(Clone, Copy)]
pub(crate) struct HeardLink {
    pub at: usize,
    pub run: Incarnation,
    /// It leads to the run in force of the peer's process, or to one that has had no part yet.
    pub is_current: bool,
    pub is_new: bool,
    /// Its other end has told of a branch that it plays.
    pub plays_branch: bool,
    pub up_at: Duration,
    pub heard_at: Duration,
}

impl Succession {
    fn new(of: u8, at: Duration) -> Self {
        Succession {
            of,
            waited: Duration::ZERO,
            is_due: true,
            at,
        }
    }

    /// A reason that comes and goes counts for as long as it was there: a staller may pause to begin the time anew.
    fn looked_at(self, is_due: bool, at: Duration) -> Self {
        let passed = at.saturating_sub(self.at);
        let waited = match self.is_due {
            true => self.waited + passed.min(AT_ONCE),
            false => self.waited.saturating_sub(passed / GIVEN_BACK),
        };
        Succession {
            waited,
            is_due,
            at,
            ..self
        }
    }
}

impl Suspicion {
    pub(super) fn new(time: Duration, peers: usize, now: Duration) -> Self {
        Suspicion {
            time,
            at: now,
            suspects: Peers::default(),
            to_remove: Peers::default(),
            agreed: Peers::default(),
            withholding: Peers::default(),
            late: Peers::default(),
            spent: Peers::default(),
            named: Peers::default(),
            passed_over: Peers::default(),
            turn_of: None,
            lost_quorum: false,
            of: vec![Watched::new(now); peers],
        }
    }

    /// A peer was not heard since then, when this one came back; batches of turns before `lives_from` are no sign of life.
    pub(super) fn note_silence(&mut self, at: usize, since: Duration, lives_from: u32) {
        self.of[at].heard_at = since;
        self.of[at].lives_from = lives_from;
    }

    pub(super) fn unheard(&self, at: usize, now: Duration) -> Duration {
        now.saturating_sub(self.of[at].heard_at)
    }

    /// A batch of a peer for this turn arrives.
    pub(super) fn note_batch(&mut self, at: usize, turn: u32, now: Duration) {
        let watched = &mut self.of[at];
        if turn >= watched.lives_from {
            watched.heard_at = now;
        }
    }

    /// A peer says that its process ends.
    pub(super) fn note_goodbye(&mut self, at: usize) {
        self.of[at].parted = true;
    }

    /// How long this peer's silence lasts before it is suspected.
    fn time_of(&self, watched: &Watched) -> Duration {
        match watched.parted {
            true => self.time.min(PARTED),
            false => self.time,
        }
    }

    /// Another peer says that it heard this one then.
    pub(super) fn note_heard(&mut self, at: usize, heard_at: Duration) {
        let heard = &mut self.of[at].heard_at;
        *heard = heard_at.max(*heard);
    }

    /// Which peers are heard, and whose process has another run: one may be at the other end of a link that was up before
    /// this peer came back itself, too. A link that was up before the run of the roster was admitted is of an earlier one,
    /// which had not been: so is a link that was up before a link of that run.
    pub(super) fn note_links(&mut self, links: &[HeardLink]) {
        let current = links.iter().filter(|link| link.is_current);
        for link in current.clone() {
            self.note_heard(link.at, link.heard_at);
            let watched = &mut self.of[link.at];
            watched.linked_at = Some(link.heard_at).max(watched.linked_at);
            watched.parted = false;
        }
        self.of.iter_mut().for_each(|watched| watched.waits = None);
        for link in links.iter().filter(|link| link.is_new) {
            let of_run = current.clone().filter(|current| current.at == link.at);
            let since = of_run.map(|current| current.up_at).max();
            let watched = &mut self.of[link.at];
            let since = since.unwrap_or(Duration::ZERO).max(watched.run_since);
            watched.restarted |= link.up_at >= since;
            if watched.seen.is_none_or(|(run, _)| run != link.run) {
                watched.seen = Some((link.run, link.up_at));
            }
            if link.plays_branch {
                watched.plays_branch = Some(link.run);
            }
            let waits = watched.restarted && watched.plays_branch != Some(link.run);
            watched.waits = waits.then_some(link.run);
        }
    }

    /// Nothing was seen for a while. The others have waited for this peer, and have some of their own time back.
    pub(super) fn skip(&mut self, away: Duration, now: Duration) {
        self.at = now;
        for watched in &mut self.of {
            watched.heard_at = now;
            watched.blocked = watched.blocked.saturating_sub(away / GIVEN_BACK);
            watched.of_late = watched.of_late.saturating_sub(away / GIVEN_BACK);
        }
        if let Some(turn) = &mut self.turn_of {
            turn.at = now;
        }
    }

    /// Looks at all peers. What the game is told.
    fn watch(&mut self, seen: &Seen, ledger: &Ledger) -> Vec<Event> {
        let (now, voters) = (seen.now, seen.voters);
        let passed = now.saturating_sub(self.at);
        self.at = now;
        let me = ledger.places.me();
        let members = voters.members();
        let silent = self.those(members, |at, watched| {
            at != me && watched.heard_at + self.time_of(watched) <= now
        });
        let unheard = self.those(members, |at, watched| {
            let heard_at = watched.heard_at;
            let until = match ledger.batches.leaves(at) {
                // An extension is not for a peer that has said that it leaves.
                Some(_) => heard_at + self.time.min(GONE),
                // Nor does it count from later than the stall: a peer that falls silent meanwhile has no more of it.
                None => {
                    let stalls = seen.stalled_since.unwrap_or(heard_at).min(heard_at);
                    heard_at.max(stalls + seen.extension) + self.time_of(watched)
                }
            };
            at != me && (watched.restarted || until <= now)
        });
        // Silence alone is no reason to begin. Once there is one, no peer waits for a silent one.
        let waits = seen.is_leaving || !seen.blockers.is_empty();
        let begun = seen.has_cause || self.lost_quorum && waits || !self.to_remove.is_empty();
        let suspects = match begun || !unheard.and(seen.blockers).is_empty() {
            true => unheard,
            false => Peers::default(),
        };
        // Where no quorum can decide anything, no peer is to blame for turns that wait for that.
        let lost = !can_do_without(suspects, voters, seen.only_end);
        let suspects = match self.lost_quorum && !lost {
            true => self.gather(suspects, seen),
            false => suspects,
        };
        let blamed = match lost {
            true => Peers::default(),
            false => seen.blockers.without(suspects.or(seen.held)),
        };
        // A silent peer that is still waited for by an extension excuses the others.
        let excused = !silent.without(unheard.or(seen.going)).is_empty();
        self.charge(seen, passed, (blamed, excused));
        let of = |is: &dyn Fn(&Watched) -> bool| self.those(members, |_, watched| is(watched));
        // What is used up is no reason by itself: a peer goes that holds up turns now.
        let late = of(&|watched| watched.blocked >= STALL_BUDGET && watched.kept_until <= now);
        let late = late.and(blamed.or(self.spent).or(self.to_remove));
        // The others accept no roster without a peer that has delivered.
        let withholding = of(&|watched| watched.unproved >= PROVED_WITHIN).and(seen.owing);
        let soon = of(&|watched| watched.blocked + AGREED_BEFORE >= STALL_BUDGET);
        // This peer begins no change without a peer that is on time again, but agrees to one that was begun before.
        let again = of(&|watched| watched.of_late >= OF_LATE);
        let still = match seen.has_cause {
            true => members,
            false => of(&|watched| !watched.of_late.is_zero()),
        };
        let reason = again.or(self.to_remove.and(still));
        let to_remove = late.and(reason).or(withholding).or(seen.to_remove);
        self.late = to_remove.without(seen.to_remove);
        let known = self.suspects.or(self.to_remove);
        // The minority was named when it was found.
        let known = known.or(seen.minority);
        // A peer that is not waited for while others answer has a little of its time back, and uses it up again.
        let news = suspects.or(to_remove.without(self.named)).without(known);
        let events = news.iter().map(usize::from).map(|at| {
            let peer = ledger.places.peer(at);
            Event::Suspected {
                peer: peer.peer,
                seats: peer.seats.clone(),
                unheard: self.unheard(at, now),
            }
        });
        let mut events: Vec<Event> = events.collect();
        self.suspects = suspects;
        self.to_remove = to_remove;
        self.named = to_remove.or(self.named.and(soon));
        // Nor is a used-up budget one where a change has begun for a joiner, say.
        let before = Some(self.agreed).filter(|_| seen.has_cause);
        let holding = blamed.or(self.spent).or(before.unwrap_or_default());
        self.agreed = to_remove.or(late).or(soon.and(holding)).or(seen.minority);
        self.spent = late;
        self.withholding = withholding;
        if !std::mem::replace(&mut self.lost_quorum, lost) && lost {
            events.push(Event::NoQuorum {
                turn: TurnNumber(ledger.window.complete()),
                missing: ledger.places.seats_of(suspects),
            });
        }
        if lost {
            events.extend(self.tell_joiners(voters, ledger));
        }
        events
    }

    /// Gives suspects that have not restarted some more time to be heard. The others.
    fn gather(&mut self, suspects: Peers, seen: &Seen) -> Peers {
        let since = (seen.now + GATHERED).saturating_sub(self.time);
        let restarted = suspects.iter().filter(|at| {
            let watched = &mut self.of[usize::from(*at)];
            watched.heard_at = watched.heard_at.max(since);
            watched.restarted
        });
        restarted.collect()
    }

    /// Tells of new runs of lost peers, once they and the heard peers are a quorum.
    fn tell_joiners(&mut self, voters: Voters, ledger: &Ledger) -> Vec<Event> {
        let lost = self.suspects.iter();
        let joiners = lost.filter(|at| self.of[usize::from(*at)].waits_long(self.at));
        let joiners: Peers = joiners.collect();
        let heard = voters.members().without(self.suspects);
        if !voters.is_quorum(heard.or(joiners)) {
            return Vec::new();
        }
        let news = joiners.iter().filter_map(|at| {
            let watched = &mut self.of[usize::from(at)];
            let run = watched.waits;
            let is_news = std::mem::replace(&mut watched.told, run) != run;
            let peer = ledger.places.peer(usize::from(at));
            is_news.then(|| Event::JoinerWaits {
                peer: peer.peer,
                seats: peer.seats.clone(),
            })
        });
        news.collect()
    }

    /// The peers among these of which this is so.
    fn those(&self, peers: Peers, is: impl Fn(usize, &Watched) -> bool) -> Peers {
        let is = |at: &u8| is(usize::from(*at), &self.of[usize::from(*at)]);
        peers.iter().filter(is).collect()
    }

    /// Charges the time that has passed to the stall budgets of the peers that are to blame for it. Time under an extension
    /// does not count, nor while a silent peer is still waited for by one.
    fn charge(&mut self, seen: &Seen, passed: Duration, (blamed, excused): (Peers, bool)) {
        let stalls_for = seen.stalled_since;
        let stalls_for = stalls_for.map(|since| seen.now.saturating_sub(since));
        let forgiven = excused || stalls_for.is_some_and(|lasts| lasts < seen.extension);
        for (at, watched) in self.of.iter_mut().enumerate() {
            watched.blocked = match blamed.contains(at as u8) {
                true if forgiven => watched.blocked,
                // What passed before the stall began was not waited for.
                true => {
                    let waited = stalls_for.map_or(passed, |lasts| lasts.min(passed));
                    let waited = waited.min(AT_ONCE);
                    if seen.coordinator == Some(at as u8) {
                        watched.charged += waited;
                    }
                    watched.of_late = (watched.of_late + waited).min(OF_LATE);
                    (watched.blocked + waited).min(MOST_CHARGED)
                }
                false => {
                    let given = passed / GIVEN_BACK;
                    watched.of_late = watched.of_late.saturating_sub(given);
                    watched.blocked.saturating_sub(given)
                }
            };
            if seen.unproved.contains(at as u8) {
                watched.unproved += passed.min(AT_ONCE);
            }
        }
    }

    /// The voters that are heard, and so soon that no other peer can suspect them yet.
    pub(super) fn heard_lately(&self, voters: Voters, me: usize) -> Peers {
        let lately = self.time.saturating_sub(AGREED_BEFORE);
        let heard = voters.members().iter().filter(|at| {
            let at = usize::from(*at);
            let watched = &self.of[at];
            at != me && !watched.restarted && !watched.parted && watched.heard_at + lately > self.at
        });
        heard.collect()
    }

    /// Whether a link leads to a peer, which is heard there.
    pub(super) fn is_linked(&self, at: u8) -> bool {
        let linked_at = self.of[usize::from(at)].linked_at;
        linked_at.is_some_and(|at| at + self.time > self.at)
    }

    /// A peer's turn to begin a change passes where the peer has held the others up for long, or does not begin.
    pub(super) fn note_turn(&mut self, of: Option<u8>, has_begun: bool) {
        let before = self
            .turn_of
            .filter(|before| !has_begun && of.is_none_or(|of| of == before.of));
        self.turn_of = before.map(|before| before.looked_at(of.is_some(), self.at));
        if let Some(of) = of {
            let turn = self.turn_of.get_or_insert(Succession::new(of, self.at));
            if turn.waited >= BEGINS_WITHIN || self.has_little_left(of) {
                self.passed_over.insert(of);
            }
        }
    }

    /// Whether a peer has used up most of its stall budget.
    pub(super) fn has_little_left(&self, at: u8) -> bool {
        self.of[usize::from(at)].blocked >= PASSED_OVER
    }

    /// Whether the others have kept a peer so lately that this one begins no change to remove it.
    fn is_kept(&self, at: usize, now: Duration) -> bool {
        self.of[at].kept_until > now
    }

    /// The peers that the others have kept so lately that this one does not remove them itself.
    pub(super) fn kept(&self) -> Peers {
        let all = 0..self.of.len() as u8;
        let kept = all.filter(|at| self.is_kept(usize::from(*at), self.at));
        kept.collect::<Peers>().without(self.to_remove)
    }

    /// Since when this run of the peer's process is of the roster.
    fn run_since(&self, at: usize) -> Duration {
        self.of[at].run_since
    }

    /// Whether a peer has held the others up for long: it has used up half of its stall budget.
    pub(super) fn has_held_up(&self, at: usize) -> bool {
        self.of[at].blocked >= HALF_SPENT
    }

    /// An epoch begins; its change has `removed` these peers. What a peer has held up of late stays with it, or a peer that
    /// holds up as much as is allowed would have it all back with every change. Where the others keep a peer that this one
    /// would not, be it that the change gave a little of its time back, they have seen less of that, and this peer begins
    /// no change after change. The `coordinator` of a change that does not keep all peers has a part of it back.
    pub(super) fn carry_stall_budget(
        &mut self,
        removed: Peers,
        coordinator: Option<u8>,
        now: Duration,
    ) {
        let kept = self.named.without(removed);
        self.suspects = Peers::default();
        self.to_remove = Peers::default();
        self.agreed = Peers::default();
        self.withholding = Peers::default();
        self.late = Peers::default();
        self.spent = Peers::default();
        self.named = Peers::default();
        self.passed_over = Peers::default();
        self.turn_of = None;
        self.lost_quorum = false;
        for (at, watched) in self.of.iter_mut().enumerate() {
            watched.unproved = Duration::ZERO;
            let charged = std::mem::take(&mut watched.charged);
            if coordinator == Some(at as u8) && watched.returned_from <= now {
                watched.blocked = watched.blocked.saturating_sub(charged.min(CHANGE_TAKES));
                watched.returned_from = now + CHANGES_EVERY;
            }
            if kept.contains(at as u8) {
                watched.kept_until = now + KEPT_FOR;
            }
        }
    }

    /// Another run of a peer's process has its place; with what is left of its stall budget it may come back.
    pub(super) fn readmit(&mut self, at: usize, now: Duration) {
        let watched = &mut self.of[at];
        *watched = Watched {
            blocked: watched.blocked.min(HALF_SPENT),
            run_since: now,
            ..Watched::new(now)
        };
    }

    #[cfg(test)]
    pub(super) fn blocked_by(&self, at: usize) -> Duration {
        self.of[at].blocked
    }
}

impl Membership {
    /// A peer was not heard since then, when this one came back; batches of turns before `lives_from` are no sign of life.
    pub(crate) fn note_silence(&mut self, at: usize, since: Duration, lives_from: u32) {
        self.suspicion.note_silence(at, since, lives_from);
    }

    /// A batch of a peer for this turn arrives.
    pub(crate) fn note_batch(&mut self, at: usize, turn: u32, now: Duration) {
        self.suspicion.note_batch(at, turn, now);
    }

    /// Another peer says that it heard this one then.
    pub(crate) fn note_heard(&mut self, at: usize, heard_at: Duration) {
        self.suspicion.note_heard(at, heard_at);
    }

    /// A peer says that its process ends.
    pub(crate) fn note_goodbye(&mut self, at: usize) {
        self.suspicion.note_goodbye(at);
    }

    pub(crate) fn note_links(&mut self, links: &[HeardLink]) {
        self.suspicion.note_links(links);
    }

    /// Looks whether peers are to be suspected. What the game is told.
    pub(crate) fn watch(&mut self, around: &Surroundings, ledger: &Ledger) -> Vec<Event> {
        self.watch_doubts(around, ledger);
        let now = around.now;
        let voters = self.epochs.voters();
        let leavers = ledger.batches.gone().and(voters.members());
        let convicted = around.cheats.and(voters.members());
        let minority = around.minority.and(voters.members());
        let going = leavers.or(convicted).or(minority);
        let to_remove = self.too_slow(around, ledger).without(ledger.places.own());
        let to_remove = to_remove.or(around.minority_due);
        let seen = Seen {
            now,
            voters,
            only_end: self.epochs.only_end(),
            blockers: self.blockers(around, ledger, now),
            unproved: self.unproved(around, ledger),
            held: self.held(around, ledger).0,
            owing: self.owing(around, ledger),
            coordinator: self.epochs.coordinator(),
            stalled_since: around.stalled_since,
            extension: self.extensions.ends(),
            has_cause: self.epochs.is_changing() || !going.is_empty(),
            going,
            is_leaving: around.is_leaving,
            minority,
            to_remove: to_remove.or(self.replaced(now, ledger)),
        };
        let events = self.suspicion.watch(&seen, ledger);
        self.watch_succession(around, ledger);
        events
    }

    /// The peer that has slowed the match down for longer than it may, where the others can go on without it.
    pub(super) fn too_slow(&self, around: &Surroundings, ledger: &Ledger) -> Peers {
        let slow = around.too_slow;
        let slow =
            self.voting(|at| slow.is_some_and(|seat| ledger.places.peer(at).seats.contains(&seat)));
        self.if_dispensable(slow)
    }

    /// Peers with another run, which has followed and asks for the place of the earlier one: players have begun it. The
    /// earlier run is a window that does not answer, or forgotten, and the others can go on without it.
    pub(super) fn replaced(&self, now: Duration, ledger: &Ledger) -> Peers {
        let replaced = self.voting(|at| {
            let since = self.suspicion.run_since(at);
            let due = since + self.readmission.replaced_after(at) <= now;
            let may = due && !self.suspicion.is_kept(at, now);
            at != ledger.places.me() && may && self.readmission.is_asked_for(at, now)
        });
        self.if_dispensable(replaced)
    }

    /// These, where the others are a quorum.
    fn if_dispensable(&self, peers: Peers) -> Peers {
        let voters = self.epochs.voters();
        match voters.is_quorum(voters.members().without(peers)) {
            true => peers,
            false => Peers::default(),
        }
    }

    /// The voters of which this is true.
    pub(super) fn voting(&self, of: impl Fn(usize) -> bool) -> Peers {
        let members = self.epochs.voters().members().iter();
        members.filter(|at| of(usize::from(*at))).collect()
    }
}

impl Watched {
    /// Whether a new run waits that has had its time to tell of a branch.
    fn waits_long(&self, now: Duration) -> bool {
        let since = self.seen.map_or(now, |(_, since)| since);
        self.waits.is_some() && since + TELLS_OF_BRANCH <= now
    }

    fn new(now: Duration) -> Self {
        Watched {
            heard_at: now,
            linked_at: None,
            lives_from: 0,
            blocked: Duration::ZERO,
            of_late: Duration::ZERO,
            charged: Duration::ZERO,
            returned_from: Duration::ZERO,
            kept_until: Duration::ZERO,
            unproved: Duration::ZERO,
            parted: false,
            restarted: false,
            waits: None,
            told: None,
            seen: None,
            plays_branch: None,
            run_since: Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests;
