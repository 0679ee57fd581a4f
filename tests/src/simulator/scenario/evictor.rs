//! A coordinator that has an honest peer removed, if the others let it.

use super::{Fault, Hostile, Scenario};
use crate::random::Stream;

/// Peers, at least: without the evictor and one that comes and goes, more than half of them.
const PEERS: usize = 5;

impl Scenario {
    /// The first peer is the evictor: it is the first to coordinate. Another one dies after healing and comes back, or
    /// leaves, so that there are changes to coordinate.
    pub(super) fn draw_evictor(&mut self, random: &mut Stream) {
        while self.peers.len() < PEERS {
            let at = self.peers.len();
            self.peers.push(super::draw::draw_peer(random, at, PEERS));
        }
        let mut others: Vec<usize> = (1..self.peers.len()).collect();
        let goes = others.remove(random.below(others.len() as u64) as usize);
        let victim = random.pick(&others);
        self.peers[0].hostile = Some(Hostile::Evictor { victim });
        self.peers[goes].troubled = true;
        let mut at = self.heal_at + random.millis(2_500, 5_000);
        if random.chance(200) {
            self.add_fault(goes, at, Fault::Leave);
            return self.lasts_beyond_healing(random.millis(25_000, 35_000));
        }
        for _ in 0..random.between(1, 2) {
            self.add_fault(goes, at, Fault::Crash);
            at += random.millis(50, 8_000);
            let with_log = random.chance(500);
            self.add_fault(goes, at, Fault::Return { with_log });
            at += random.millis(5_000, 12_000);
        }
        self.lasts_beyond_healing(at - self.heal_at + random.millis(5_000, 15_000));
    }
}
