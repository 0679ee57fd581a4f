//! The world is deterministic, whatever a player sends.

use first_game::{Command, Setup, World};
use sim::{Entry, Id, Num, Seat, Seed, Start, Vec2};

#[test]
fn the_world_is_deterministic() {
    let setup = Setup { runners: 3 };
    let start = Start {
        setup,
        seed: Seed([7; 32]),
        seats: vec![Seat(0), Seat(1)],
    };
    sim::check::<World>(&start)
        .ticks(500)
        .commands(|_, random| {
            // A hostile player sends anything: foreign runners, dead ones, places off the map.
            let runners = vec![Id {
                slot: random.below(8),
                generation: random.below(3),
            }];
            let mut anywhere = || Num::from_bits(random.next_u32() as i32);
            let to = Vec2::new(anywhere(), anywhere());
            let seat = Seat(random.below(3) as u8);
            vec![Entry::Command {
                seat,
                command: Command::Go { runners, to },
            }]
        })
        .assert();
}
