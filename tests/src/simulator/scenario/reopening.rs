//! The processes of all peers die, or so many that the others have no quorum. New runs reopen the match.

use super::{SUSPICION, Scenario, Weather};
use crate::random::Stream;
use std::time::Duration;

/// The deaths that leave no quorum, and how the match is reopened.
#[derive(Clone, Debug)]
pub struct Reopening {
    /// When the first process dies, after the match began.
    pub at: Duration,
    /// The peer that hosts the reopening.
    pub host: usize,
    /// How long the host waits for all.
    pub wait: Duration,
    /// By peer.
    pub fates: Vec<Fate>,
    /// Peers that die once they have accepted a roster change, and before they know that the majority has decided it.
    pub outlived: Vec<usize>,
    /// The match is reopened without some peers, and these try to reopen it as well.
    pub parted: Option<Parted>,
}

/// Two reopenings of one match, whose peers cannot reach each other.
#[derive(Clone, Copy, Debug)]
pub struct Parted {
    /// The peer that signs the first one, and dies before it knows that all have. It takes part in the second one.
    pub signer: usize,
    /// The peer that hosts the second one.
    pub host: usize,
}

/// The fate of one process.
#[derive(Clone, Copy, Debug)]
pub struct Fate {
    /// Its death, after the first one. `None` if it lives, and stalls with the other survivors.
    pub dies: Option<Duration>,
    /// Turns at the end of its log that the disk has lost.
    pub lost: u32,
    /// When another run begins, after the last death; a survivor leaves then. `None` for no other run, unless the
    /// peer is told of its removal.
    pub begins: Option<Duration>,
    /// Whether that run knows all addresses; otherwise only the host's.
    pub knows_all: bool,
}

impl Reopening {
    /// When the last process dies, after the match began.
    pub fn last_death(&self) -> Duration {
        let deaths = self.fates.iter().filter_map(|fate| fate.dies);
        let last = deaths.max().unwrap_or_default();
        self.at + last.max(Duration::from_millis(ALL_WITHIN_MS))
    }

    /// Whether any peer survives.
    pub fn some_live(&self) -> bool {
        self.fates.iter().any(|fate| fate.dies.is_none())
    }
}

/// From the first death to the last no peer becomes a suspect, except a planned early one.
const ALL_WITHIN_MS: u64 = 300;
/// Time for a run that is there to learn that its match is reopened, and to come: it asks other peers first.
const COMES_WITHIN: Duration = Duration::from_secs(6);
/// Time for a survivor to leave a stalled match and begin another run.
const LEAVES_WITHIN: Duration = Duration::from_secs(7);

impl Scenario {
    /// All processes die, without other faults than the weather. More than half return.
    pub(super) fn draw_all_die(&mut self, random: &mut Stream) {
        let count = self.peers.len();
        let host = random.below(count as u64) as usize;
        let mut may_stay_away = (count - 1) / 2;
        let fate = |peer: usize| {
            let away = peer != host && may_stay_away > 0 && random.chance(300);
            may_stay_away -= usize::from(away);
            Fate {
                dies: Some(random.millis(0, ALL_WITHIN_MS)),
                lost: draw_lost(random, 400),
                begins: (!away).then(|| random.millis(0, 6_000)),
                knows_all: random.chance(500),
            }
        };
        let fates = (0..count).map(fate).collect();
        self.is_reopened(random, host, fates);
    }

    /// So many die that the survivors stall; a joiner among them follows. One of all these peers hosts the
    /// reopening, and more than half take part, without those that died earlier.
    pub(super) fn draw_too_few_left(&mut self, random: &mut Stream) {
        let count = self.peers.len();
        let early = usize::from(count > 4 && random.chance(300));
        let mut may_miss_it = (count - 1) / 2 - early;
        let mut may_live = (count - 1 - early) / 2;
        let host = random.below(count as u64) as usize;
        let mut fates: Vec<Fate> = Vec::new();
        for peer in 0..count {
            // At least one survives. An early death is that of the peer after the host, which survives. Other peers
            // might not have recorded its removal, and would not reopen that match.
            let is_early = early > 0 && peer == (host + 1) % count;
            let all_die = fates.iter().all(|fate| fate.dies.is_some());
            let must_live = match early {
                0 => all_die && peer + 1 == count,
                _ => peer == host,
            };
            let left = may_live.saturating_sub(usize::from(early > 0 && peer < host));
            let lives = must_live || !is_early && left > 0 && random.chance(400);
            may_live = may_live.saturating_sub(usize::from(lives));
            let misses = peer != host
                && !is_early
                && may_miss_it > 0
                && random.chance(if lives { 700 } else { 200 });
            may_miss_it -= usize::from(misses);
            let dies = match is_early {
                true => Duration::ZERO,
                false => random.millis(0, ALL_WITHIN_MS) + SUSPICION * early as u32,
            };
            let comes_within = random.pick(&[2_000, 15_000]);
            self.peers[peer].troubled = lives && misses;
            fates.push(Fate {
                dies: (!lives).then_some(dies),
                lost: if lives { 0 } else { draw_lost(random, 300) },
                begins: (!misses).then(|| random.millis(0, comes_within)),
                knows_all: lives || random.chance(500),
            });
        }
        self.is_reopened(random, host, fates);
        if random.chance(400) {
            self.draw_aftermath(random);
            // Others die earlier, as planned.
            self.aftermath
                .iter_mut()
                .for_each(|aftermath| aftermath.admission = true);
        }
    }

    /// The last peer dies. Others accept a change without it, and half of these die before they know that it is decided.
    /// The dead come back, are a quorum of the old roster, and cannot reach the majority that goes on.
    pub(super) fn draw_outlived(&mut self, random: &mut Stream) {
        let count = self.peers.len() / 2 * 2;
        self.peers.truncate(count);
        let (half, last) = (count / 2, count - 1);
        for (peer, plan) in self.peers.iter_mut().enumerate() {
            plan.troubled = peer + 1 < half || peer == last;
            plan.log_takes = None;
        }
        self.have_good_links(random);
        let begins = random.millis(5_000, 7_000);
        let fate = |peer: usize| Fate {
            dies: (peer == last).then_some(Duration::ZERO),
            lost: draw_lost(random, 400),
            begins: (peer == last).then_some(begins),
            knows_all: true,
        };
        let fates = (0..count).map(fate).collect();
        let reopening = Reopening {
            at: random.millis(4_000, 8_000),
            host: 0,
            wait: Duration::from_secs(8),
            fates,
            outlived: (0..half - 1).collect(),
            parted: None,
        };
        self.heal_at = reopening.at + SUSPICION * 6;
        self.turn_limit = 20;
        self.lasts_beyond_healing(random.millis(4_000, 10_000));
        self.reopening = Some(reopening);
    }

    /// All processes die. The first half and one more reopen the match. One of them signs that, dies, and comes back with its
    /// signature: it and the others are more than half of the old roster, too.
    pub(super) fn draw_parted(&mut self, random: &mut Stream) {
        while self.peers.len() < 3 {
            let at = self.peers.len();
            self.peers.push(super::draw::draw_peer(random, at, 3));
        }
        let count = (self.peers.len() - 1) / 2 * 2 + 1;
        self.peers.truncate(count);
        let first = count / 2 + 1;
        // The first peer has the tie-break: the others of the first half go on without the signer.
        let signer = random.between(1, first as u64 - 1) as usize;
        let hosts: Vec<usize> = (0..first).filter(|peer| *peer != signer).collect();
        let second: Vec<usize> = (first..count).chain([signer]).collect();
        for peer in &mut self.peers {
            peer.log_takes = None;
        }
        for peer in &second {
            self.peers[*peer].troubled = true;
        }
        self.have_good_links(random);
        let fate = |peer: usize| Fate {
            dies: Some(random.millis(0, ALL_WITHIN_MS)),
            lost: draw_lost(random, 200),
            begins: (peer < first).then(|| random.millis(0, 2_000)),
            knows_all: true,
        };
        let fates = (0..count).map(fate).collect();
        let reopening = Reopening {
            at: random.millis(4_000, 8_000),
            host: random.pick(&hosts),
            wait: Duration::from_secs(5),
            fates,
            outlived: Vec::new(),
            parted: Some(Parted {
                signer,
                host: random.pick(&second),
            }),
        };
        // Time for the second reopening, and for the first one's peers to go on without the signer.
        self.heal_at = reopening.at + reopening.wait * 2 + SUSPICION * 4;
        self.turn_limit = 20;
        self.lasts_beyond_healing(random.millis(4_000, 10_000));
        self.reopening = Some(reopening);
    }

    fn have_good_links(&mut self, random: &mut Stream) {
        self.weather = Weather {
            delay: random.millis(5, 60),
            jitter: random.millis(0, 30),
            ..Weather::default()
        };
        (self.stranger, self.extends) = (false, false);
        self.unreachable.clear();
    }

    fn is_reopened(&mut self, random: &mut Stream, host: usize, fates: Vec<Fate>) {
        let begins = fates.iter().filter_map(|fate| fate.begins).max();
        let mut reopening = Reopening {
            at: random.millis(4_000, 12_000),
            host,
            wait: Duration::ZERO,
            fates,
            outlived: Vec::new(),
            parted: None,
        };
        let mut all_begun = reopening.last_death() + begins.unwrap_or_default();
        if reopening.some_live() {
            all_begun += SUSPICION * 2 + LEAVES_WITHIN;
        }
        // Whatever the weather until then, all that return have time to.
        let waits_until = all_begun + random.millis(5_000, 12_000);
        self.heal_at = all_begun + random.millis(500, 6_000);
        reopening.wait = waits_until.max(self.heal_at + COMES_WITHIN) - reopening.at;
        self.turn_limit = 20;
        self.lasts_beyond_healing(random.millis(4_000, 10_000));
        self.reopening = Some(reopening);
    }
}

fn draw_lost(random: &mut Stream, chance: u32) -> u32 {
    match random.chance(chance) {
        true => random.between(1, 4) as u32,
        false => 0,
    }
}
