//! What befalls somebody in the moment after the roster has changed.

use super::schedule::Happening;
use super::{Playable, Scenario, Simulator};
use crate::random::Stream;
use lockstep::{Event, RosterCause};
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

impl<W: Playable> Simulator<W> {
    /// Whether what a peer is told is what the sequel waits for: then it is planned.
    pub(super) fn plan_sequel(&mut self, told: usize, event: &Event) {
        let Event::RosterChanged { back, cause, .. } = event else {
            return;
        };
        let reopened = *cause == RosterCause::Reopened;
        let is_due = |sequel: &mut Sequel| !sequel.back || reopened || !back.is_empty();
        let Some(sequel) = self.scenario.sequel.take_if(is_due) else {
            return;
        };
        let comes_back = |peer: &usize| {
            let own = &self.judge.peer(*peer).own;
            own.iter().any(|seat| back.contains(seat))
        };
        let victim = match sequel.whom {
            Whom::Told => told,
            Whom::ComesBack => (0..self.peers.len()).find(comes_back).unwrap_or(told),
            Whom::Peer(peer) => peer % self.peers.len(),
        };
        let at = self.now + sequel.later;
        let goes = Happening::Sequel(victim, sequel.leaves, sequel.returns);
        self.schedule.add(at, goes);
    }

    /// A peer goes, if those who stay are a quorum.
    pub(super) fn follow_up(&mut self, victim: usize, leaves: bool, returns: Option<Duration>) {
        let stays = |peer: &usize| {
            let state = &self.peers[*peer];
            *peer != victim && state.session.is_some() && !state.left && !state.is_out
        };
        let stay = (0..self.peers.len()).filter(stays).count();
        // Who was let in just now is in no log yet.
        let most = self.peers.len().min(self.judge.newest_roster().len() + 1);
        // Who hosts the match again may be the only one that knows of it.
        let hosts = self.scenario.all_die.as_ref().map(|all| all.host) == Some(victim);
        if 2 * stay <= most || hosts {
            return;
        }
        if leaves {
            return self.leave(victim);
        }
        self.crash(victim);
        if let Some(after) = returns {
            self.scenario.peers[victim].returns = Some((after, true));
            self.schedule
                .add(self.now + after, Happening::Return(victim));
        }
    }
}
