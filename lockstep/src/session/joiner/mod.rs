//! The joiner: a peer on its way back into a match, until it is admitted.
//!
//! An assembly of the components of `session::rejoin`: it makes the facts that they are told, calls them in one order
//! ([`advance`](Joiner::advance)), and carries out what they return.

mod advance;
mod branch;
mod receive;
mod reopening;
mod source;

use crate::log::{AttestedLog, EncodedLog, End, Head, Readmission, Record, RosterChange, Start};
use crate::session::RulesOf;
use crate::session::clock_gap::{GAP, LOOK_AT_TIME};
use crate::session::core::Core;
use crate::session::rejoin::{
    Admission, Branches, Fetch, FinalTurns, Follow, GIVE_UP, Gathering, GatheringFacts, MatchEnd,
    ProvedLink, QuorumLoss, RejoinContext, Reopened, Sources, SourcesFacts, Testimony, World,
};
use crate::{EndReason, Ended, JoinRefused, LinkId, MatchId, PeerId, Rejoin, Status};
use sim::{Checksum, Seat};
use std::time::Duration;

pub(crate) struct Joiner {
    /// What an earlier run of its process left. The match that it asks for may be a branch of that. What that run has
    /// accepted and signed goes into the new recording, and counts where the match is reopened.
    from: Rejoin,
    /// The match whose start all its players have signed.
    origin: MatchId,
    branches: Branches,
    /// What the branch that it enters must hold.
    final_turns: Option<FinalTurns>,
    addresses: Vec<String>,
    rules: RulesOf,
    /// How far the earlier run's log goes, once that was needed.
    recorded: Option<Head>,
    /// What comes of what others have signed of that log, once it is known how the match began.
    testimony: Option<Testimony>,
    /// The newest roster change that the earlier run has logged: all others that knew of it may be gone.
    logged: Option<RosterChange>,
    /// The epoch and turns up to which the others' history was compared with that.
    compared: (u32, u32),
    sources: Sources,
    gathering: Gathering,
    quorum: QuorumLoss,
    ends: MatchEnd,
    admission: Admission,
    /// The match, from the first source on that told how it began.
    known: Option<Known>,
    follow: Follow,
    world: World,
    stage: Stage,
    /// The game is to be told where the other peers are.
    tells_contacts: bool,
    seen_at: Duration,
}

/// A match of which the start is known.
struct Known {
    /// This peer's place in the roster.
    me: u8,
    log: AttestedLog,
}

/// How far it has come.
enum Stage {
    /// No source has told how the match began.
    Seeking,
    /// The log comes, and a snapshot if there is one: it is not known yet what the world begins with.
    Fetching(Fetch),
    /// The world runs the log, which grows; near its end the joiner asks for admission.
    Following,
    /// It is admitted, once the world has come to the cut.
    Decided(Decision),
    /// The match is over, once the world has come to its end.
    Ended(End),
}

/// The decision that lets the joiner in.
struct Decision {
    change: RosterChange,
    /// It has reopened the match: the log is here, and no source is needed.
    reopens: bool,
}

impl Joiner {
    pub(crate) fn new(
        core: &Core,
        mut from: Rejoin,
        addresses: Vec<String>,
        rules: RulesOf,
    ) -> Self {
        let mut contacts = std::mem::take(&mut from.contacts);
        contacts.retain(|contact| contact.peer != core.id());
        let own = from.log.as_ref();
        let origin = own.map_or(from.match_id, |own| own.start().match_id);
        Joiner {
            from,
            origin,
            branches: Branches::default(),
            final_turns: None,
            addresses,
            rules,
            recorded: None,
            testimony: None,
            logged: None,
            compared: (0, 0),
            sources: Sources::new(core.now, contacts),
            gathering: Gathering::new(None),
            quorum: QuorumLoss::new(core.now, false),
            ends: MatchEnd::new(),
            admission: Admission::new(core.now),
            known: None,
            follow: Follow::new(core.now),
            world: World::new(),
            stage: Stage::Seeking,
            tells_contacts: false,
            seen_at: core.now,
        }
    }

    /// The match was not reopened where it seemed to be: `host` turned the joiner away, which goes on looking.
    pub(crate) fn turned_away(
        core: &Core,
        context: RejoinContext,
        host: PeerId,
        why: EndReason,
    ) -> Self {
        let accepts = context.from.accepts_other_history;
        let refused = match &why {
            EndReason::Refused(JoinRefused::GoesOn | JoinRefused::AlreadyIn) => None,
            EndReason::Refused(JoinRefused::OtherHistory) if accepts => None,
            EndReason::Refused(why) => Some(why.clone()),
            _ => None,
        };
        let mut joiner = Joiner::resumed(core, context, why);
        joiner.sources.turned_away(core.now, host, refused);
        joiner
    }

    /// A reopening came to nothing, and this peer goes on looking.
    pub(crate) fn resumed(core: &Core, context: RejoinContext, why: EndReason) -> Self {
        let mut joiner = Joiner::new(core, context.from, context.addresses, context.rules);
        let before = context.otherwise.filter(|(_, by)| *by > core.now);
        joiner.gathering = Gathering::new(before.or(Some((why, core.now + GIVE_UP))));
        match context.held.map(|held| World::attach(*held)) {
            Some((world, Some((log, me)))) => {
                joiner.quorum = QuorumLoss::new(core.now, true);
                joiner.known = Some(Known { me, log });
                (joiner.world, joiner.stage) = (world, Stage::Following);
            }
            Some((world, None)) => joiner.world = world,
            None => {}
        }
        joiner
    }

    /// The match was reopened, with this log: only the world has to come to its end.
    pub(crate) fn reopened(core: &Core, context: RejoinContext, reopened: Reopened) -> Self {
        let keyframe = context.from.keyframe;
        // All that it left is in the log that it begins with.
        let from = Rejoin {
            log: None,
            keyframe: None,
            accepted: None,
            signed: None,
            ..context.from
        };
        let log = AttestedLog::of(reopened.log);
        let world = match context.held {
            Some(held) => World::reattached(*held, &log, keyframe),
            None => World::of_log(&log, keyframe.into_iter()),
        };
        let change = reopened.change;
        let origin = log.start().match_id;
        let mut follow = Follow::new(core.now);
        follow.set_reported(change.value.cut, reopened.due);
        let me = reopened.me as u8;
        Joiner {
            origin,
            known: Some(Known { me, log }),
            follow,
            world,
            stage: Stage::Decided(Decision {
                change,
                reopens: true,
            }),
            tells_contacts: true,
            ..Joiner::new(core, from, context.addresses, context.rules)
        }
    }

    /// What it goes on from where it waits for the other peers to reopen the match. The log that it has followed counts
    /// there as recorded.
    pub(crate) fn into_context(self) -> RejoinContext {
        let known = self.known.map(|known| (known.me, known.log));
        let held = self.world.detach(known);
        let mut from = self.from;
        if let Some(held) = &held {
            let (own, followed) = (from.log.as_ref(), held.followed());
            if own.is_none_or(|own| how_far(&followed) > how_far(own)) {
                from.log = Some(followed);
            }
        }
        from.contacts = self.sources.contacts().collect();
        RejoinContext {
            from,
            addresses: self.addresses,
            rules: self.rules,
            otherwise: self.gathering.into_otherwise(),
            held: held.map(Box::new),
        }
    }

    /// Comes before anything else is done with a new time. While its machine slept this peer has waited for no other.
    pub(crate) fn detect_clock_gap(&mut self, core: &Core) {
        let away = core.now.saturating_sub(self.seen_at);
        self.seen_at = core.now;
        if away <= GAP {
            return;
        }
        self.sources.skip(core.now, away);
        self.gathering.skip(away);
        self.quorum.skip(away);
        self.follow.skip(away);
        if let Stage::Fetching(fetch) = &mut self.stage {
            fetch.skip(away);
        }
    }

    pub(crate) fn own_seats(&self) -> &[Seat] {
        match &self.known {
            Some(known) if self.world.exists() => known.own_seats(),
            _ => &[],
        }
    }

    pub(crate) fn status(&self) -> Status {
        let world = self.world.running();
        let behind = world.and_then(|world| self.follow.behind(world.executed));
        behind.map_or(Status::Loading, |behind| Status::CatchingUp { behind })
    }

    /// Whether the match is over, and only the world has to come to its end.
    pub(crate) fn knows_end(&self) -> bool {
        matches!(self.stage, Stage::Ended(_))
    }

    /// How it ended for this peer, which has no part in the match.
    pub(crate) fn ended(&self, reason: EndReason) -> Ended {
        let executed = self.world.executed_turns();
        let turns = executed.map_or(0, |(turns, _)| turns);
        let checksum = executed.map(|(_, checksum)| checksum);
        let agreed = matches!(reason, EndReason::Decided | EndReason::TurnLimit);
        let end = match &self.stage {
            Stage::Ended(end) if agreed => Some(end),
            _ => None,
        };
        let known = self.known.as_ref().filter(|_| agreed);
        Ended {
            reason,
            turns: end.map_or(turns, |end| end.turns),
            checksum: end.map(|end| end.checksum).or(checksum),
            outcome: end.and_then(|end| end.outcome),
            agreed: end.map_or(0, |end| end.signatures.len() as u8),
            of: known.map_or(0, |known| known.log.ahead().roster().len() as u8),
            is_final: end.is_some(),
            branch_of: self.known.as_ref().and_then(Known::branch_of),
        }
    }

    pub(crate) fn loaded(&mut self, checksum: Checksum) {
        self.world.loaded(checksum);
    }

    pub(crate) fn executed(&mut self, checksum: Checksum) {
        self.world.executed(checksum);
    }

    pub(crate) fn link_down(&mut self, link: LinkId) {
        if self.sources.link() == Some(link) {
            self.sources.drop_source();
        }
    }

    pub(crate) fn deadline(&self, core: &Core) -> Option<Duration> {
        if self.knows_end() {
            return None;
        }
        let (now, links) = (core.now, proved(core));
        let searches = self.searches();
        let sources = self.sources.deadline(&SourcesFacts {
            now,
            links: &links,
            stands_still: self.quorum.is_lost(),
            searches,
            source_is_ahead: self.source_is_ahead(),
        });
        let waits = !self.world.exists();
        let gathering = self.gathering_facts(now, &links);
        let known = self.known.as_ref();
        let looks = known.is_some() && searches;
        let fetch = match &self.stage {
            Stage::Fetching(fetch) => fetch.deadline(now),
            _ => None,
        };
        let times = [
            Some(self.seen_at + LOOK_AT_TIME),
            sources,
            self.gathering.deadline(&gathering, waits),
            looks.then(|| self.quorum.deadline(now)).flatten(),
            known.and_then(|known| self.follow.deadline(&known.log)),
            fetch,
            self.asks_for_admission().then(|| self.admission.deadline()),
            self.ends.deadline(now),
            self.branches.deadline().filter(|_| searches),
        ];
        times.into_iter().flatten().min()
    }

    /// Whether it needs sources: a match that was reopened is here.
    fn searches(&self) -> bool {
        !matches!(self.stage, Stage::Decided(Decision { reopens: true, .. }))
    }

    /// The decision that admits it, where it is known.
    fn decided(&self) -> Option<&RosterChange> {
        match &self.stage {
            Stage::Decided(decision) => Some(&decision.change),
            _ => None,
        }
    }

    /// Whether the whole log before its part is here; what is left is that the world comes to it.
    fn is_at_cut(&self) -> bool {
        let decided = self.decided().zip(self.known.as_ref());
        decided.is_some_and(|(change, Known { log, .. })| {
            log.ends_with(change) && !log.has_unconfirmed()
        })
    }

    /// Whether the source says that it has more of the log than it has given.
    fn source_is_ahead(&self) -> bool {
        let has = self.sources.source_has().zip(self.known.as_ref());
        has.is_some_and(|(has, known)| has > known.log.ahead().turns()) && !self.is_at_cut()
    }

    /// Whether its world is near the others', and no decision admits it yet.
    fn asks_for_admission(&self) -> bool {
        let world = self.world.running().zip(self.known.as_ref());
        let near = world.is_some_and(|(world, known)| {
            let delay = known.log.ahead().fold().plan.delay_turns;
            self.follow.is_near(world.executed, delay)
        });
        // A log that has not come to the branch is none to go on from in it.
        let there = self
            .known
            .as_ref()
            .is_some_and(|known| known.log.confirmed().start().match_id == self.from.match_id);
        near && there && matches!(self.stage, Stage::Following)
    }

    fn gathering_facts<'a>(&self, now: Duration, links: &'a [ProvedLink]) -> GatheringFacts<'a> {
        GatheringFacts {
            now,
            links,
            may_join: self.may_gather(),
            stands_still: self.quorum.is_lost(),
        }
    }

    /// Whether it can begin, or go on, in a match that is reopened.
    fn may_gather(&self) -> bool {
        let stands_still = self.quorum.is_lost();
        match self.world.running() {
            Some(world) => stands_still && world.handed_out == world.executed,
            None if self.world.exists() => false,
            None => stands_still || !self.sources.is_outlined(),
        }
    }
}

impl Known {
    /// As the match began.
    fn start(&self) -> &Start {
        self.log.start()
    }

    /// The match that was left, where the log has come to a branch.
    fn branch_of(&self) -> Option<MatchId> {
        let origin = self.start().match_id;
        let now = self.log.confirmed().start().match_id;
        (now != origin).then_some(origin)
    }

    fn own_seats(&self) -> &[Seat] {
        &self.start().roster[usize::from(self.me)].seats
    }

    /// This run of the joiner's process, as a decision names it.
    fn joins(&self, core: &Core) -> Readmission {
        Readmission {
            peer: self.me,
            incarnation: core.incarnation,
        }
    }
}

/// The links whose other ends have proved their keys.
fn proved(core: &Core) -> Vec<ProvedLink> {
    let links = core.links.values();
    let proved = links.filter_map(|link| {
        let (peer, run) = link.proved?;
        Some(ProvedLink {
            link: link.id,
            peer,
            run,
            heard_at: link.heard_at,
        })
    });
    proved.collect()
}

/// Roster changes, and then turns.
fn how_far(log: &EncodedLog) -> (usize, u32) {
    let changes = log
        .records()
        .filter(|record| matches!(record, Record::Roster(_)));
    (changes.count(), log.turns())
}
