//! Whether all peers of one process computed the same.

use lockstep::{Checksum, Event};
use std::collections::BTreeMap;

/// Compares the checksums of every turn. Keeps only turns that some peer has yet to execute.
pub struct Agreement {
    peers: usize,
    open: BTreeMap<u32, Vec<Checksum>>,
    agreed: u32,
    differed: u32,
}

impl Agreement {
    pub fn of(peers: usize) -> Agreement {
        Agreement {
            peers,
            open: BTreeMap::new(),
            agreed: 0,
            differed: 0,
        }
    }

    pub fn take(&mut self, event: &Event) {
        let Event::Turn { turn, checksum, .. } = event else {
            return;
        };
        let known = self.open.entry(turn.0).or_default();
        known.push(*checksum);
        if known.len() < self.peers {
            return;
        }
        if known.iter().all(|other| other == checksum) {
            self.agreed += 1;
        } else {
            self.differed += 1;
        }
        self.open.remove(&turn.0);
    }

    /// Turns that all peers executed to equal checksums.
    pub fn agreed(&self) -> u32 {
        self.agreed
    }

    /// Turns with differing checksums, even where some peers never reached them.
    pub fn differed(&self) -> u32 {
        let differs = |sums: &&Vec<Checksum>| sums.iter().any(|sum| Some(sum) != sums.first());
        let open = self.open.values().filter(differs).count();
        self.differed
            .saturating_add(u32::try_from(open).unwrap_or(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstep::TurnNumber;
    use std::time::Duration;

    fn turn(number: u32, checksum: u32) -> Event {
        Event::Turn {
            turn: TurnNumber(number),
            tick: 0,
            checksum: Checksum(checksum),
            step: Duration::ZERO,
        }
    }

    #[test]
    fn one_differing_checksum_is_counted() {
        let mut agreement = Agreement::of(3);
        for _ in 0..3 {
            agreement.take(&turn(0, 7));
        }
        assert_eq!((agreement.agreed(), agreement.differed()), (1, 0));
        agreement.take(&turn(1, 8));
        agreement.take(&turn(1, 8));
        assert_eq!((agreement.agreed(), agreement.differed()), (1, 0));
        agreement.take(&turn(1, 9));
        assert_eq!((agreement.agreed(), agreement.differed()), (1, 1));
        agreement.take(&turn(2, 1));
        agreement.take(&turn(2, 2));
        assert_eq!((agreement.agreed(), agreement.differed()), (1, 2));
    }
}
