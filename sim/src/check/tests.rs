use super::*;
use crate::{Field, Outcome, RulesId, State, Visit};
use serde::{Deserialize, Serialize};
use std::cell::Cell;

/// A world whose step is one function of its number, with commands that add to it.
macro_rules! world {
    (@whole $name:ident { $($(#[$meta:meta])* $field:ident: $type:ty),* } $step:expr) => {
        world!(@simulation $name { $($(#[$meta])* $field: $type),* } $step);
        crate::state_by_serde!($name);
    };
    (@simulation $name:ident { $($(#[$meta:meta])* $field:ident: $type:ty),* } $step:expr) => {
        #[derive(Default, Serialize, Deserialize)]
        struct $name { total: u64, $($(#[$meta])* $field: $type),* }

        impl Simulation for $name {
            type Setup = ();
            type Command = u64;
            type Effect = ();

            fn rules(_: &()) -> RulesId {
                RulesId([0; 16])
            }

            fn new(_: &Start<()>) -> Self {
                Self::default()
            }

            fn step(&mut self, entries: &[Entry<u64>], _: &mut Vec<()>) {
                for entry in entries {
                    if let Entry::Command { command, .. } = entry {
                        self.total = self.total.wrapping_add(*command);
                    }
                }
                let step: fn(&mut Self) = $step;
                step(self);
            }
        }
    };
}

fn start() -> Start<()> {
    Start {
        setup: (),
        seed: Seed([0; 32]),
        seats: vec![Seat(0), Seat(1)],
    }
}

fn some_commands<S: Simulation<Command = u64>>(_: &S, random: &mut Stream) -> Vec<Entry<u64>> {
    (0..random.below(4))
        .map(|_| Entry::Command {
            seat: Seat(random.below(3) as u8),
            command: random.next_u64(),
        })
        .collect()
}

fn failure<S: Simulation<Setup = (), Command = u64>>() -> Failure {
    check::<S>(&start())
        .ticks(50)
        .commands(some_commands)
        .run()
        .expect_err("the planted bug is found")
}

#[test]
fn an_honest_world_passes() {
    world!(@whole Honest { ticks: u32 } |world| world.ticks += 1);
    let report = check::<Honest>(&start())
        .ticks(50)
        .seeds(0..6)
        .commands(some_commands)
        .run()
        .unwrap();
    assert_eq!((report.seeds, report.ticks), (6, 300));
    assert!(report.entries > 300);
    assert!(report.largest_snapshot >= 2);
}

#[test]
fn a_field_that_is_not_saved_is_found() {
    world!(@whole Forgetful { #[serde(skip)] charge: u32 } |world| {
        world.charge += 1;
        if world.charge.is_multiple_of(5) {
            world.total = world.total.wrapping_add(1);
        }
    });
    let failure = failure::<Forgetful>();
    assert_eq!((failure.seed, failure.tick), (0, 5));
    let Problem::Reloaded(Mismatch::Field(difference)) = *failure.problem else {
        panic!("{failure}");
    };
    assert_eq!(difference.section, "total");
}

#[test]
fn a_draw_from_outside_is_found() {
    thread_local!(static DRAWN: Cell<u64> = const { Cell::new(0) });
    world!(@whole Drawing { luck: Vec<u64> } |world| {
        let drawn = DRAWN.replace(DRAWN.get() + 1);
        world.luck.push(drawn);
    });
    let failure = failure::<Drawing>();
    let expected = Problem::Diverged(Mismatch::Field(Difference {
        section: "luck".to_owned(),
        row: Some(0),
        field: Some("value".to_owned()),
        left: "0".to_owned(),
        right: "1".to_owned(),
    }));
    assert_eq!(*failure.problem, expected);
    assert_eq!(failure.tick, 1);
    let text = failure.to_string();
    assert!(
        text.contains("luck[0].value: 0 on the left, 1 on the right"),
        "{text}"
    );
    assert!(text.contains("`.seeds(0..1).ticks(1)`"), "{text}");
}

#[test]
#[allow(clippy::disallowed_types)]
fn the_order_of_a_hash_map_is_found() {
    world!(@whole Hashing { first: u32 } |world| {
        let map: std::collections::HashMap<u32, ()> = (0..100).map(|key| (key, ())).collect();
        world.first = map.into_keys().next().unwrap_or(0);
    });
    let failure = failure::<Hashing>();
    let Problem::Diverged(Mismatch::Field(difference)) = *failure.problem else {
        panic!("{failure}");
    };
    assert_eq!(difference.section, "first");
}

#[test]
fn an_address_is_found() {
    world!(@whole Pointing { tile: Box<u8>, place: u64 } |world| {
        world.place = std::ptr::from_ref(&*world.tile).addr() as u64;
    });
    assert!(matches!(
        *failure::<Pointing>().problem,
        Problem::Diverged(_)
    ));
}

/// A world by hand, so that each part can lie by itself.
macro_rules! by_hand {
    ($name:ident, $($lie:item)*) => {
        impl State for $name {
            fn save(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.total.to_le_bytes());
                out.push(self.extra);
            }

            fn load(bytes: &[u8]) -> Result<Self, LoadError> {
                let total = *bytes.first_chunk().ok_or(LoadError { what: "short", at: 0 })?;
                Ok(Self { total: u64::from_le_bytes(total), extra: Self::extra(bytes[8]) })
            }

            fn visit(&self, to: &mut dyn Visit) {
                if to.section("total", 1) && to.row(0) {
                    to.field("value", &self.total as &dyn Field);
                }
            }

            $($lie)*
        }
    };
}

#[test]
fn a_wrong_checksum_is_found() {
    world!(@simulation Lazy { extra: u8 } |world| world.extra ^= 1);
    impl Lazy {
        fn extra(saved: u8) -> u8 {
            saved
        }
    }
    by_hand!(
        Lazy,
        fn checksum(&self) -> Checksum {
            Checksum::of(&[self.total.to_le_bytes().as_slice(), &[0]].concat())
        }
    );
    let failure = failure::<Lazy>();
    assert!(
        matches!(*failure.problem, Problem::Checksum { .. }),
        "{failure}"
    );
    assert_eq!(failure.tick, 1);
}

#[test]
fn a_digest_of_other_bytes_is_found() {
    world!(@simulation Blind { extra: u8 } |world| world.extra ^= 1);
    impl Blind {
        fn extra(saved: u8) -> u8 {
            saved
        }
    }
    by_hand!(
        Blind,
        fn digest(&self) -> crate::Digest {
            crate::Digest::of(&self.total.to_le_bytes())
        }
    );
    let failure = failure::<Blind>();
    assert!(
        matches!(*failure.problem, Problem::Digest { .. }),
        "{failure}"
    );
}

#[test]
fn a_loss_that_visit_hides_is_found() {
    world!(@simulation Losing { extra: u8 } |world| world.extra = 7);
    impl Losing {
        fn extra(_: u8) -> u8 {
            0
        }
    }
    by_hand!(Losing,);
    let failure = failure::<Losing>();
    assert_eq!(
        *failure.problem,
        Problem::Loaded(Mismatch::Hidden { at: 8 })
    );
}

#[test]
fn a_world_that_refuses_its_own_bytes_is_found() {
    #[derive(Default, Serialize)]
    struct Picky(u8);

    impl<'de> Deserialize<'de> for Picky {
        fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
            match u8::deserialize(from)? {
                3 => Err(serde::de::Error::custom("not three")),
                other => Ok(Self(other)),
            }
        }
    }
    world!(@whole Refusing { count: Picky } |world| world.count.0 += 1);
    let failure = failure::<Refusing>();
    assert!(matches!(*failure.problem, Problem::Load(_)), "{failure}");
    assert_eq!(failure.tick, 3);
}

#[test]
fn a_panic_is_found_with_its_tick() {
    world!(@whole Fragile { ticks: u8 } |world| {
        world.ticks += 1;
        assert!(world.ticks < 9, "nine");
    });
    let failure = failure::<Fragile>();
    assert_eq!((failure.tick, *failure.problem), (9, Problem::Panicked));
}

#[test]
fn a_command_that_changes_on_the_way_is_found() {
    #[derive(Clone, Default, Serialize, Deserialize)]
    struct Shifty(#[serde(serialize_with = "one_more")] u8);

    fn one_more<S: serde::Serializer>(value: &u8, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u8(value.wrapping_add(1))
    }

    #[derive(Default, Serialize, Deserialize)]
    struct Still;
    crate::state_by_serde!(Still);
    impl Simulation for Still {
        type Setup = ();
        type Command = Shifty;
        type Effect = ();

        fn rules(_: &()) -> RulesId {
            RulesId([0; 16])
        }

        fn new(_: &Start<()>) -> Self {
            Self
        }

        fn step(&mut self, _: &[Entry<Shifty>], _: &mut Vec<()>) {}
    }

    let run = |ticks| {
        check::<Still>(&start())
            .ticks(ticks)
            .commands(|_, _| {
                vec![Entry::Command {
                    seat: Seat(0),
                    command: Shifty(1),
                }]
            })
            .run()
    };
    let failure = run(50).unwrap_err();
    assert_eq!(failure.tick, 1);
    assert_eq!(*failure.problem, Problem::Command(CommandFault::Changed));
    assert_eq!(run(failure.tick), Err(failure), "it repeats");
}

#[test]
fn an_outcome_that_depends_on_more_than_the_state_is_found() {
    #[derive(Default, Serialize, Deserialize)]
    struct Moody {
        #[serde(skip)]
        ticks: u32,
    }
    crate::state_by_serde!(Moody);
    impl Simulation for Moody {
        type Setup = ();
        type Command = ();
        type Effect = ();

        fn rules(_: &()) -> RulesId {
            RulesId([0; 16])
        }

        fn new(_: &Start<()>) -> Self {
            Self::default()
        }

        fn step(&mut self, _: &[Entry<()>], _: &mut Vec<()>) {
            self.ticks += 1;
        }

        fn outcome(&self) -> Option<Outcome> {
            (self.ticks >= 4).then_some(Outcome { winner: None })
        }
    }
    let failure = check::<Moody>(&start()).run().unwrap_err();
    assert_eq!((failure.tick, *failure.problem), (4, Problem::Outcome));
}

#[test]
fn a_failure_repeats() {
    world!(@whole Late { #[serde(skip)] seen: u64 } |world| {
        world.seen = world.seen.max(world.total % 97);
        if world.seen > 90 {
            world.total = world.total.wrapping_add(world.seen);
        }
    });
    let first = failure::<Late>();
    let again = check::<Late>(&start())
        .seeds(first.seed..first.seed + 1)
        .ticks(first.tick)
        .commands(some_commands)
        .run()
        .unwrap_err();
    assert_eq!(again, first);
}
