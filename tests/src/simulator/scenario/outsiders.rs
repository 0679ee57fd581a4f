//! Peers outside the core: a minority that dies, leaves, is hostile, or has faults that go on after healing.

use super::{Aftermath, Fault, Hostile, PeerPlan, Scenario, Victim, Withholder};
use crate::random::Stream;
use lockstep::log::OnSlow;
use std::time::Duration;

impl Scenario {
    /// Fewer than half of the peers, so that the others can decide to go on without them.
    pub(super) fn draw_outsiders(&mut self, random: &mut Stream) {
        let count = self.peers.len();
        let most = match count {
            // One of two peers is a quorum only by the tie-break.
            2 if random.chance(200) => 1,
            _ => (count - 1) / 2,
        };
        if most == 0 || random.chance(250) {
            return;
        }
        let mut outsiders: Vec<usize> = (0..count).collect();
        for _ in 0..count - random.between(1, most as u64) as usize {
            outsiders.remove(random.below(outsiders.len() as u64) as usize);
        }
        for peer in &outsiders {
            self.draw_outsider(random, *peer);
        }
        let hostile: Vec<usize> = self.hostile().map(|(peer, _)| peer).collect();
        if let [one, other] = hostile[..]
            && random.chance(600)
        {
            self.draw_collusion(random, one, other);
        }
        self.link_some_outsiders_only_to_the_host(random, &outsiders);
        self.link_a_core();
        self.link_all_by_calm_peers();
    }

    /// Links more than half of all peers pairwise, and one more, as few runs had a core otherwise.
    fn link_a_core(&mut self) {
        let count = self.peers.len();
        let calm = (0..count).filter(|peer| self.is_calm(*peer));
        let calm: Vec<usize> = calm.collect();
        let is_core = |linked: usize| linked == calm.len() || 2 * linked > count + 1;
        while !is_core(self.in_reach(calm.clone(), count).len()) {
            self.unreachable.pop();
        }
    }

    /// Gives two peers without a link a calm common neighbour: batches are forwarded once.
    fn link_all_by_calm_peers(&mut self) {
        for (one, other) in self.unreachable.clone() {
            let passes_on = |peer: usize| {
                self.is_calm(peer) && !self.are_apart(peer, one) && !self.are_apart(peer, other)
            };
            if !(0..self.peers.len()).any(|peer| peer != one && peer != other && passes_on(peer)) {
                self.unreachable.retain(|pair| *pair != (one, other));
            }
        }
    }

    fn draw_outsider(&mut self, random: &mut Stream, peer: usize) {
        let healed = self.heal_at.as_millis() as u64;
        let end = (self.plan.turn() * self.turn_limit).as_millis() as u64;
        // With two peers most outsiders prove little. A wrong world without a majority on either side is of
        // interest.
        let kind = match self.peers.len() == 2 && random.chance(500) {
            true => 60,
            false => random.below(100),
        };
        match kind {
            0..16 => self.draw_crash(random, peer),
            16..26 => {
                self.add_fault(peer, random.millis(0, end), Fault::Leave);
                self.peers[peer].troubled = true;
            }
            26..56 => self.draw_hostile(random, peer),
            56..66 => {
                let turns = u64::from(self.turn_limit) * 2 / 3;
                self.peers[peer].flaw = Some(random.between(1, turns) as u32);
            }
            66..76 => self.draw_flapping(random, peer, end),
            76..91 => {
                self.peers[peer].troubled = true;
                let mut at = random.millis(healed / 2, healed + 4_000);
                for _ in 0..random.between(1, 5) {
                    let longest = random.pick(&[900, 4_000, 12_000]);
                    let lasts = random.millis(100, longest);
                    let fault = match random.below(4) {
                        0 => Fault::Freeze(lasts),
                        1 => Fault::Pause(lasts),
                        _ => self.draw_cut(random, peer, lasts),
                    };
                    self.add_fault(peer, at, fault);
                    at += lasts + random.millis(200, 6_000);
                }
            }
            91..97 => {
                self.peers[peer].troubled = true;
                // The stall budget that a slow calm peer has used would count as well.
                let is_slow =
                    |peer: &PeerPlan| peer.has(|fault| matches!(fault, Fault::Slow { .. }));
                if random.chance(500) && !self.peers.iter().any(is_slow) {
                    self.on_slow = OnSlow::Remove;
                }
                let at = random.millis(healed / 2, healed + 4_000);
                let lasts = random.millis(2_000, 60_000);
                let step = self.slow_step(random);
                self.add_fault(peer, at, Fault::Slow { lasts, step });
            }
            // Its links stay as bad as they are.
            _ => self.peers[peer].troubled = true,
        }
    }

    /// A process that dies before healing, with or without another run.
    fn draw_crash(&mut self, random: &mut Stream, peer: usize) {
        let at = random.millis(0, self.heal_at.as_millis() as u64);
        self.add_fault(peer, at, Fault::Crash);
        if random.chance(700) {
            let longest = random.pick(&[1_000, 5_000, 15_000]);
            let back_at = at + random.millis(50, longest);
            let with_log = random.chance(500);
            self.add_fault(peer, back_at, Fault::Return { with_log });
            self.heals_after(back_at);
        }
    }

    /// A process that dies and restarts repeatedly.
    fn draw_flapping(&mut self, random: &mut Stream, peer: usize, end: u64) {
        self.peers[peer].troubled = true;
        let mut at = random.millis(500, self.heal_at.as_millis() as u64);
        while at < Duration::from_millis(end) {
            self.add_fault(peer, at, Fault::Crash);
            let longest = random.pick(&[300, 4_000, 12_000]);
            at += random.millis(50, longest);
            let with_log = random.chance(500);
            self.add_fault(peer, at, Fault::Return { with_log });
            at += random.millis(1_000, 10_000);
        }
    }

    fn draw_hostile(&mut self, random: &mut Stream, peer: usize) {
        let limit = u64::from(self.turn_limit);
        let delay = u64::from(self.plan.delay_turns);
        let hostile = match random.below(100) {
            0..8 => Hostile::Garbage {
                messages: random.pick(&[20, 200, 3_000]),
                early: random.chance(200),
            },
            8..15 => {
                let longest = Duration::from_secs(1);
                let claims = random.pick(&[longest, longest, self.plan.tick() * 2]);
                if random.chance(500) && self.slowing() == 0 {
                    self.on_slow = OnSlow::Remove;
                }
                Hostile::LiesOfLoad(claims)
            }
            15..30 => Hostile::Forger,
            30..52 => {
                let from = match random.chance(250) {
                    true => random.between(limit - delay - 4, limit - 1),
                    false => random.between(2, limit * 2 / 3),
                };
                Hostile::Equivocator {
                    from: from as u32,
                    turns: random.pick(&[1, 2, 3, 8]),
                }
            }
            52..57 => Hostile::LiesOfWorld(random.between(1, limit * 2 / 3) as u32),
            57..62 => Hostile::LiesOfLog(random.between(1, limit * 2 / 3) as u32),
            62..88 => Hostile::Withholder(self.draw_withholder(random)),
            _ => Hostile::Mute {
                from: self.some_time(random),
            },
        };
        self.peers[peer].hostile = Some(hostile);
        if random.chance(150) {
            // So that some peers hold one of its two batches, and some the other.
            let at = match hostile {
                Hostile::Equivocator { from, .. } => {
                    self.plan.turn() * from.saturating_sub(4) + random.millis(0, 2_000)
                }
                _ => self.some_time(random),
            };
            self.add_fault(peer, at, Fault::Crash);
        }
    }

    /// A lie of a peer's load for so long that it is believed again, once all of the stall budget is given back. There are no
    /// other faults than the weather.
    pub(super) fn draw_long_lie(&mut self, random: &mut Stream) {
        let liar = random.below(self.peers.len() as u64) as usize;
        let claims = random.pick(&[Duration::from_secs(1), self.plan.tick() * 2]);
        self.peers[liar].hostile = Some(Hostile::LiesOfLoad(claims));
        self.lasts_beyond_healing(Duration::from_secs(60) + random.millis(20_000, 80_000));
    }

    fn draw_withholder(&self, random: &mut Stream) -> Withholder {
        let longest = random.pick(&[400, 3_000, 9_500]);
        let batches = random.chance(800);
        Withholder {
            from: self.some_time(random),
            withholds: random.millis(100, longest),
            delivers: match random.chance(500) {
                true => Duration::ZERO,
                false => random.millis(60, 3_000),
            },
            batches,
            votes: !batches || random.chance(500),
            from_odd: random.chance(250),
        }
    }

    /// Before healing, or a little later.
    fn some_time(&self, random: &mut Stream) -> Duration {
        random.millis(300, self.heal_at.as_millis() as u64 + 8_000)
    }

    /// Two hostile peers that collude.
    fn draw_collusion(&mut self, random: &mut Stream, one: usize, other: usize) {
        let from = self.some_time(random);
        let withholder = Withholder {
            from,
            withholds: random.millis(500, 9_500),
            delivers: Duration::ZERO,
            batches: true,
            votes: true,
            from_odd: false,
        };
        let equivocator = Hostile::Equivocator {
            from: random.between(2, u64::from(self.turn_limit) * 2 / 3) as u32,
            turns: random.pick(&[1, 3]),
        };
        let pair = match random.below(4) {
            // One stays heard and withholds; the other falls silent at about that time.
            0 => {
                let mute = Hostile::Mute {
                    from: from + random.millis(0, 3_000),
                };
                (Hostile::Withholder(withholder), mute)
            }
            // They take turns.
            1 => {
                let first = Withholder {
                    delivers: withholder.withholds,
                    ..withholder
                };
                let second = Withholder {
                    from: from + first.withholds,
                    ..first
                };
                (Hostile::Withholder(first), Hostile::Withholder(second))
            }
            2 => (equivocator, equivocator),
            _ => {
                let votes_only = Withholder {
                    batches: false,
                    ..withholder
                };
                (equivocator, Hostile::Withholder(votes_only))
            }
        };
        self.peers[one].hostile = Some(pair.0);
        self.peers[other].hostile = Some(pair.1);
    }

    /// Some outsiders and other guests cannot dial each other.
    fn link_some_outsiders_only_to_the_host(&mut self, random: &mut Stream, outsiders: &[usize]) {
        if !random.chance(150) {
            return;
        }
        for outsider in outsiders.iter().filter(|outsider| **outsider != 0) {
            for other in (1..self.peers.len()).filter(|other| other != outsider) {
                let pair = (*outsider.min(&other), *outsider.max(&other));
                if random.chance(500) && !self.unreachable.contains(&pair) {
                    self.unreachable.push(pair);
                }
            }
        }
    }

    /// One or two processes die and return, and a peer leaves or crashes just after a change. There are no other
    /// faults than the weather.
    pub(super) fn draw_return_and_aftermath(&mut self, random: &mut Stream) {
        let count = self.peers.len();
        let at = random.millis(1_000, 8_000);
        let victims = random.between(1, if count > 4 { 2 } else { 1 });
        let first = random.below(count as u64) as usize;
        for victim in 0..victims as usize {
            let peer = (first + victim) % count;
            let dies = at + random.millis(0, 1_000);
            let longest = random.pick(&[1_000, 5_000, 12_000]);
            let back_at = dies + random.millis(50, longest);
            let with_log = random.chance(500);
            self.add_fault(peer, dies, Fault::Crash);
            self.add_fault(peer, back_at, Fault::Return { with_log });
            self.heals_after(back_at);
        }
        // The aftermath ends before that.
        self.heals_after(self.heal_at + random.millis(4_000, 15_000));
        self.draw_aftermath(random);
    }

    /// Draws the peer and the roster change of an aftermath.
    pub(super) fn draw_aftermath(&mut self, random: &mut Stream) {
        let longest = random.pick(&[0, 60, 300, 1_500]);
        self.aftermath = Some(Aftermath {
            admission: random.chance(800),
            later: random.millis(0, longest),
            victim: match random.below(3) {
                0 => Victim::Told,
                1 => Victim::Joiner,
                _ => Victim::Peer(random.below(self.peers.len() as u64) as usize),
            },
            leaves: random.chance(300),
            returns: random.chance(500).then(|| random.millis(50, 8_000)),
        });
    }
}
