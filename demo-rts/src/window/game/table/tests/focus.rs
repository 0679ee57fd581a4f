//! The focus of the keyboard, while the buttons around it come and go.

use super::*;
use crate::world::{Setup, Upgrade};
use sim::{Seed, Start};

#[test]
fn the_focus_stays_with_its_order_when_an_upgrade_is_known() {
    let mut sitting = Sitting::at(SIZES[0]);
    sitting.world = World::new(&Start {
        setup: Setup {
            gold: 1_000,
            wood: 1_000,
            ..Setup::default()
        },
        seed: Seed([1; 32]),
        seats: vec![Seat(0), Seat(1)],
    });
    sitting.table = Table::new(Some(Seat(0)), &sitting.world);
    let building = sitting.own(Kind::TownHall)[0];
    sitting.select(building);
    sitting.frame(Input::default());
    let rally = Mode::Aim(Aim::Rally);
    let set_free = |sitting: &mut Sitting| {
        let hand = sitting.table.hand.as_mut().expect("a person plays");
        std::mem::take(&mut hand.mode)
    };
    // Behind a worker and an upgrade; another one needs a barracks.
    for _ in 0..3 {
        sitting.key(KeyCode::Tab, PLAIN);
    }
    sitting.key(KeyCode::Enter, PLAIN);
    assert_eq!(set_free(&mut sitting), rally);
    let upgrade = Upgrade::Tools;
    for _ in 0..upgrade.stats().levels {
        sitting.execute(Command::Research { building, upgrade });
        for _ in 0..upgrade.stats().ticks {
            sitting.tick(&[]);
        }
    }
    let own = sitting.world.seat(Seat(0)).expect("it plays");
    assert_eq!(own.upgrades[upgrade as usize], upgrade.stats().levels);
    sitting.frame(Input::default());
    sitting.key(KeyCode::Enter, PLAIN);
    assert_eq!(set_free(&mut sitting), rally);
}
