//! The model of roster changes is safe, and every planted mutant is found.
//!
//! Larger bounds: `cargo run -p tests --no-default-features --release --bin model`.

use std::time::Duration;
use tests::model::{MUTANTS, RosterModel, bounds, far, with_mutant};

/// Random walks that find a mutant, and find nothing without one.
const WALKS: u32 = 3_000;

#[test]
fn no_order_of_messages_breaks_a_roster_change() {
    for bound in bounds() {
        let checked = bound.small.check(Duration::from_secs(120));
        println!(
            "{}: {} states in {:.1?}",
            bound.about, checked.states, checked.took
        );
        assert_eq!(
            checked.violation, None,
            "{}: {:?}",
            bound.about, bound.small
        );
        assert!(checked.complete, "{}: not all states seen", bound.about);
        assert_eq!(checked.unreached, [""; 0], "{}", bound.about);
    }
}

#[test]
fn every_mutant_is_caught() {
    for mutant in MUTANTS {
        let model = with_mutant(mutant);
        let found = model.walk(1, WALKS);
        // If chance misses it, every state is explored.
        let found = found.or_else(|| model.check(Duration::from_secs(60)).violation);
        let (broken, steps) = found.unwrap_or_else(|| panic!("{mutant:?} is not found"));
        println!("{mutant:?}: {broken}, after {} steps", steps.len());
        let sound = RosterModel {
            mutant: None,
            ..model
        };
        assert_eq!(sound.walk(1, WALKS), None, "without {mutant:?}");
    }
}

#[test]
fn far_random_walks_find_no_violation() {
    assert_eq!(far().walk(1, WALKS), None);
}
