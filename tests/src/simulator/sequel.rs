//! What befalls somebody in the moment after the roster has changed.

use super::schedule::Happening;
use super::{Playable, Scenario, Simulator};
use crate::random::Stream;
use lockstep::{Event, RosterCause};
use sim::Seat;
use std::time::Duration;

/// One of those who play goes, in the moment after somebody is told that the roster has changed.
#[derive(Clone, Copy, Debug)]
pub struct Sequel {
    /// After the first change that lets somebody in, or that reopens the match; else after the first of all.
    pub back: bool,
    /// So much later.
    pub later: Duration,
    /// Who goes.
    pub whom: Whom,
    /// It leaves; else its process dies.
    pub leaves: bool,
    /// When another run of a process that died begins, after that.
    pub returns: Option<Duration>,
}

/// One of those who play.
#[derive(Clone, Copy, Debug)]
pub enum Whom {
    /// Whoever was told of the change first.
    Told,
    /// Whoever it lets in, else whoever was told.
    ComesBack,
    /// The peer of this number.
    Peer(usize),
}

/// A match goes on for so long after it.
const GOES_ON: Duration = Duration::from_secs(25);

impl Scenario {
    /// One or two die and come back, and nothing else goes wrong than the weather, but for what follows.
    pub(super) fn draw_sequel_to_return(&mut self, random: &mut Stream) {
        let count = self.peers.len();
        if count < 3 {
            return;
        }
        self.nothing_goes_wrong();
        let at = random.millis(1_000, 10_000);
        let victims = random.between(1, if count > 4 { 2 } else { 1 });
        let first = random.below(count as u64) as usize;
        for victim in 0..victims as usize {
            let peer = &mut self.peers[(first + victim) % count];
            let dies = at + random.millis(0, 1_000);
            let longest = random.pick(&[1_000, 5_000, 12_000]);
            peer.crashes_at = Some(dies);
            peer.returns = Some((dies + random.millis(50, longest), random.chance(500)));
        }
        self.heal_at = at + random.millis(2_000, 15_000);
        self.lasts(self.heal_at + GOES_ON);
        self.draw_sequel(random);
    }

    /// Who goes after which change, and how.
    pub(super) fn draw_sequel(&mut self, random: &mut Stream) {
        let longest = random.pick(&[0, 60, 300, 1_500]);
        self.sequel = Some(Sequel {
            back: random.chance(800),
            later: random.millis(0, longest),
            whom: match random.below(3) {
                0 => Whom::Told,
                1 => Whom::ComesBack,
                _ => Whom::Peer(random.below(self.peers.len() as u64) as usize),
            },
            leaves: random.chance(300),
            returns: random.chance(500).then(|| random.millis(50, 8_000)),
        });
    }

    /// The match lasts so long at least.
    pub(super) fn lasts(&mut self, least: Duration) {
        let turns = least.as_millis() / self.plan.turn().as_millis();
        self.turn_limit = self.turn_limit.max(turns as u32);
    }
}

/// Who is to go, and of whom.
pub struct Goes {
    victim: usize,
    /// Those who are in the match then.
    members: Vec<usize>,
    sequel: Sequel,
}

impl<W: Playable> Simulator<W> {
    /// Whether what a peer is told is what the sequel waits for: then it is planned.
    pub(super) fn plan_sequel(&mut self, told: usize, event: &Event) {
        let Event::RosterChanged {
            seats, back, cause, ..
        } = event
        else {
            return;
        };
        let reopened = *cause == RosterCause::Reopened;
        let is_due = |sequel: &mut Sequel| !sequel.back || reopened || !back.is_empty();
        let Some(sequel) = self.scenario.sequel.take_if(is_due) else {
            return;
        };
        let peers = 0..self.peers.len();
        let has_one = |peer: &usize, of: &[Seat]| {
            let own = &self.judge.peer(*peer).own;
            own.iter().any(|seat| of.contains(seat))
        };
        let is_here = |peer: &usize| reopened || !self.peers[*peer].is_out || has_one(peer, back);
        let members = peers
            .clone()
            .filter(|peer| has_one(peer, seats) && is_here(peer));
        let victim = match sequel.whom {
            Whom::Told => told,
            Whom::ComesBack => peers
                .clone()
                .find(|peer| has_one(peer, back))
                .unwrap_or(told),
            Whom::Peer(peer) => peer % self.peers.len(),
        };
        let goes = Goes {
            victim,
            members: members.collect(),
            sequel,
        };
        self.schedule
            .add(self.now + sequel.later, Happening::Sequel(goes));
    }

    /// A peer goes, if those who stay are a quorum.
    pub(super) fn follow_up(&mut self, goes: &Goes) {
        let victim = goes.victim;
        let stays = |peer: &&usize| {
            let state = &self.peers[**peer];
            **peer != victim && state.session.is_some() && !state.left
        };
        let stay = goes.members.iter().filter(stays).count();
        // Who hosts the match again may be the only one that knows of it.
        let hosts = self.scenario.reopens.as_ref().map(|reopens| reopens.host) == Some(victim);
        if 2 * stay <= goes.members.len() || hosts {
            return;
        }
        if goes.sequel.leaves {
            return self.leave(victim);
        }
        self.crash(victim);
        if let Some(after) = goes.sequel.returns {
            self.scenario.peers[victim].returns = Some((after, true));
            self.schedule
                .add(self.now + after, Happening::Return(victim));
        }
    }
}
