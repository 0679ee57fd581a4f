//! The coordinator's part: its attempt, the promises that answer it, what it proposes, and when.

use super::{
    Ballot, Effect, Message, Peers, Promise, RECENT, Readmission, Roster, Value, View, Voters,
};
use crate::LogHash;
use std::collections::BTreeMap;

/// What a coordinator has been answered.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Coordinating {
    ballot: Ballot,
    promises: BTreeMap<u8, Promise>,
    /// The voters that promised in its last ballot: it waits for them, suspected or not, unless a quorum wants them to go.
    promised_before: Peers,
    has_proposed: bool,
}

impl Roster {
    /// The ballot that this peer coordinates, while it knows of no higher one.
    pub fn coordinates(&self) -> Option<Ballot> {
        let ballot = self.coordinating.as_ref()?.ballot;
        let highest = ballot.round >= self.round && self.promised <= Some(ballot);
        (self.decision.is_none() && highest).then_some(ballot)
    }

    /// The ballot that this peer has begun last.
    pub fn begun(&self) -> Option<Ballot> {
        self.coordinating.as_ref().map(|own| own.ballot)
    }

    /// The voters that have given this peer, the coordinator, their promise.
    pub fn answered(&self) -> Peers {
        let promises = self.coordinating.iter().flat_map(|own| own.promises.keys());
        promises.copied().collect()
    }

    /// Begins an attempt, in a ballot above all that were heard of.
    pub(super) fn coordinate(&mut self, out: &mut Vec<Effect>) {
        let ballot = Ballot {
            round: self.round.saturating_add(1),
            peer: self.me,
        };
        self.coordinating = Some(Coordinating {
            ballot,
            promises: BTreeMap::new(),
            promised_before: self.answered(),
            has_proposed: false,
        });
        out.push(Effect::Broadcast(Message::Prepare(ballot)));
    }

    /// Takes the promise of a voter, and proposes where no answer is missing any more.
    pub(super) fn answer(
        &mut self,
        from: u8,
        promise: Promise,
        view: &View<'_>,
        out: &mut Vec<Effect>,
    ) {
        let Some(own) = &mut self.coordinating else {
            return;
        };
        if own.ballot == promise.ballot && promise.holdings.len() == view.holdings.len() {
            own.promises.insert(from, promise);
            self.propose(view, out);
        }
    }

    /// Proposes, where the answers that are here are enough.
    pub(super) fn propose(&mut self, view: &View<'_>, out: &mut Vec<Effect>) {
        let Some((mut value, counted)) = self.planned(view) else {
            return;
        };
        let Some(own) = &self.coordinating else {
            return;
        };
        let counted = own.promises.iter().filter(|(of, _)| counted.contains(**of));
        let unproved = |promise| self.is_unproved(promise, value, view);
        if counted.clone().any(|(_, promise)| unproved(promise)) {
            return;
        }
        if value.log_hash.is_none() {
            let stay = value.roster.without(view.withholding);
            let mut stay = counted.filter(|(of, _)| stay.contains(**of));
            value.log_hash = view.hash_after(value.cut);
            if value.log_hash.is_none() || stay.any(|(_, promise)| is_unlike(promise, view)) {
                return;
            }
        }
        let ballot = own.ballot;
        self.coordinating
            .iter_mut()
            .for_each(|own| own.has_proposed = true);
        out.push(Effect::Broadcast(Message::Propose(ballot, value)));
    }

    /// The voters that tell this peer, as coordinator, of batches that it lacks, or of another log, where it waits for
    /// nothing else.
    pub fn unproved(&self, view: &View<'_>) -> Peers {
        let planned = self.planned(view).zip(self.coordinating.as_ref());
        let Some(((value, counted), own)) = planned else {
            return Peers::default();
        };
        let others = own.promises.iter().filter(|(of, _)| counted.contains(**of));
        let others = others.filter(|(of, _)| **of != self.me);
        let unlike = |of, promise| value.roster.contains(of) && is_unlike(promise, view);
        let unproved = others.filter(|(of, promise)| {
            let differs = value.log_hash.is_none() && unlike(**of, promise);
            differs || self.is_unproved(promise, value, view)
        });
        unproved.map(|(of, _)| *of).collect()
    }

    /// What others have proposed to this peer, or accepted as they tell it as coordinator: its batches must lead to the
    /// log that this names.
    pub fn wanted(&self, view: &View<'_>) -> Option<Value> {
        let proposed = self.proposed().map(|(_, value)| *value);
        let planned = || self.planned(view).map(|(value, _)| value);
        proposed.or_else(planned)
    }

    /// What this peer proposes as coordinator once it holds all that it was told of, and whose promises count; `None`
    /// where it has proposed, or answers are missing.
    fn planned(&self, view: &View<'_>) -> Option<(Value, Peers)> {
        let voters = self.voters;
        let own = self.coordinating.as_ref().filter(|own| !own.has_proposed)?;
        // A proved cheat is neither waited for nor believed.
        let answered: Peers = own.promises.keys().copied().collect();
        let answered = answered.without(view.cheats);
        // Nor is a peer that a quorum wants to go: it could tell of a value that keeps it.
        let unwanted = unwanted(voters, &own.promises, answered).without(view.kept);
        let believed = answered.without(view.withholding.or(unwanted));
        let counted = match voters.is_quorum(believed) {
            true => believed,
            false => answered,
        };
        let suspects = view.suspects.without(own.promised_before).or(unwanted);
        let expected = voters.members().without(suspects.or(view.cheats));
        if !voters.is_quorum(counted) || !expected.is_within(answered) {
            return None;
        }
        let cheats = view.cheats.and(voters.members());
        let known = Known {
            cheats,
            minority: view.evident_minority,
            kept: view.kept,
            joiner: view.joiner,
        };
        let value = value(voters, &own.promises, counted, known)?;
        Some((value, counted))
    }

    /// Whether a voter tells this peer, as coordinator, of another log than its batches lead to, and it waits for
    /// nothing else.
    pub fn is_told_another_log(&self, view: &View<'_>) -> bool {
        let planned = self.planned(view).zip(self.coordinating.as_ref());
        planned.is_some_and(|((value, counted), own)| {
            let stay = value.roster.and(counted);
            let mut stay = own.promises.iter().filter(|(of, _)| stay.contains(**of));
            value.log_hash.is_none() && stay.any(|(_, promise)| is_unlike(promise, view))
        })
    }

    /// Whether a promise tells of what this peer cannot see: batches, a peer that leaves, or a value that could not be.
    pub fn doubts(&self, promise: &Promise, view: &View<'_>) -> bool {
        let told = promise.accepted.map(|(_, value)| value);
        let any = Value::of(self.voters.members(), u32::MAX);
        let mut values = told.into_iter().chain([any]);
        values.any(|value| self.is_unproved(promise, value, view))
    }

    /// Whether a promise tells of batches that matter to a value and that this peer does not hold, or of a value that
    /// this peer could not accept.
    fn is_unproved(&self, promise: &Promise, value: Value, view: &View<'_>) -> bool {
        let accepted = promise
            .accepted
            .is_some_and(|(_, accepted)| accepted == value);
        let behind =
            value.roster.contains(self.me) && value.cheats.is_empty() && value.cut < view.complete;
        let known =
            value.cheats.is_within(view.cheats) && value.minority.is_within(view.evident_minority);
        let another = view.hash_after(value.cut) != value.log_hash;
        let impossible = behind || another || !known || !self.keeps_enough(&value, view);
        let lacks = |of: u8| {
            // No incomplete turn of a cheat is wanted.
            if value.cheats.contains(of) {
                return false;
            }
            let at = usize::from(of);
            let (Some(told), Some(held)) = (promise.holdings.get(at), view.holdings.get(at)) else {
                return false;
            };
            let lacking = !held.reaches(value.cut) && (accepted || told.until > held.until);
            lacking || told.left && !held.left
        };
        accepted && impossible || self.voters.members().iter().any(lacks)
    }
}

/// Whether the log that a promise tells of is not the one that this peer's batches lead to.
pub(crate) fn is_unlike(promise: &Promise, view: &View<'_>) -> bool {
    let told = promise.hash_after(promise.complete);
    let own = view.hash_after(promise.complete);
    told.zip(own).is_some_and(|(told, own)| told != own)
}

/// What a coordinator knows itself.
struct Known {
    /// The voters that are proved to cheat.
    cheats: Peers,
    /// The peers that have another world, or log, than a quorum.
    minority: Peers,
    /// The peers that it keeps.
    kept: Peers,
    /// The joiner that is to be admitted.
    joiner: Option<Readmission>,
}

/// What a coordinator proposes, given the promises of the quorum that counts.
fn value(
    voters: Voters,
    promises: &BTreeMap<u8, Promise>,
    counted: Peers,
    Known {
        cheats,
        minority,
        kept,
        joiner,
    }: Known,
) -> Option<Value> {
    let honest = || promises.iter().filter(|(peer, _)| counted.contains(**peer));
    let accepted = honest().filter_map(|(_, promise)| promise.accepted);
    let accepted = accepted.filter(|(_, value)| value.can_end(voters.members()));
    if let Some((_, value)) = accepted.max_by_key(|(ballot, _)| *ballot) {
        return Some(value);
    }
    let most = |peer: u8| {
        let holdings = honest().map(|(_, promise)| promise);
        let holdings = holdings.filter_map(|promise| promise.holdings.get(usize::from(peer)));
        let left = holdings.clone().any(|holding| holding.left);
        let until = holdings.map(|holding| holding.until).max().unwrap_or(0);
        (left, until)
    };
    let members = voters.members().iter();
    let required = members.clone().filter(|peer| !most(*peer).0);
    let cut = required.map(|peer| most(peer).1).min()?;
    let left: Peers = members.clone().filter(|peer| most(*peer).0).collect();
    let unwanted = unwanted(voters, promises, counted).without(kept);
    let survivors: Peers = honest().map(|(peer, _)| *peer).collect();
    let stay = survivors.without(left);
    let wanted = stay.without(unwanted);
    let mut roster = if wanted.is_empty() { stay } else { wanted };
    if roster.is_empty() {
        return None;
    }
    // A quorum of them does not want them, and none of it without having seen why.
    let minority = minority.and(unwanted).without(roster);
    if !cheats.is_empty() {
        // A joiner asks again afterwards: it may have followed turns that are taken back.
        let promises = honest().filter(|(peer, _)| roster.contains(**peer));
        let (cut, hash) = last_alike(promises.map(|(_, promise)| promise))?;
        return Some(Value {
            cheats,
            minority,
            left,
            ..Value::of(roster, cut).with_log(hash)
        });
    }
    // Where an earlier run of its process is still a voter, the earlier run goes first.
    let joins = joiner.filter(|joins| !voters.members().contains(joins.peer));
    joins.iter().for_each(|joins| roster.insert(joins.peer));
    Some(Value {
        joins,
        minority,
        left,
        ..Value::of(roster, cut)
    })
}

/// The peers that a quorum of counted promises wants to go.
fn unwanted(voters: Voters, promises: &BTreeMap<u8, Promise>, counted: Peers) -> Peers {
    let promises = promises.iter().filter(|(of, _)| counted.contains(**of));
    let members = voters.members().iter();
    let against = members.filter(|peer| {
        let against = promises
            .clone()
            .filter(|(_, promise)| promise.unwanted.contains(*peer));
        voters.is_quorum(against.map(|(of, _)| *of).collect())
    });
    against.collect()
}

/// The most turns after which all of these have one log, and its hash.
fn last_alike<'a>(promises: impl Iterator<Item = &'a Promise> + Clone) -> Option<(u32, LogHash)> {
    let least = promises.clone().map(|promise| promise.complete).min()?;
    let mut turns = (0..=least).rev().take(RECENT);
    turns.find_map(|turns| {
        let mut hashes = promises.clone().map(|promise| promise.hash_after(turns));
        let first = hashes.next()??;
        let alike = hashes.all(|hash| hash == Some(first));
        alike.then_some((turns, first))
    })
}
