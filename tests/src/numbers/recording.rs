//! A recorded match of an hour: its size, and the speed of verifying and showing it.

use super::{median_and, now};
use crate::recorded::{Wanted, play};
use crate::simulator::execute;
use demo_rts::bot::Level;
use demo_rts::world::{Setup, World};
use lockstep::TurnNumber;
use lockstep::log::{LogStore, Record};
use lockstep::source::TurnSource;
use replay::{Player, Reader, Recorder};
use sim::{Seed, Simulation, State, Stream};
use std::path::Path;
use std::time::Duration;

/// Plays, records, and prints one block.
pub fn print(minutes: u32, seats: u8) {
    let folder = tempfile::tempdir().expect("a folder for the replay");
    let path = folder.path().join("hour.replay");
    let begun = now();
    let played = play(&Wanted {
        path: &path,
        setup: Setup {
            map_seed: Some(1),
            minutes: 600,
            ..Setup::default()
        },
        levels: vec![Level::Normal; usize::from(seats)],
        turn_limit: minutes * 60 * 5,
        keyframes_every: Duration::from_secs(30),
        peaceful: true,
    });
    let bytes = std::fs::metadata(&path).map_or(0, |file| file.len());
    let hours = f64::from(minutes) / 60.0;
    let per = |bytes: u64| bytes as f64 / 1_000.0 / hours / f64::from(seats);
    println!(
        "replay: {seats} seats, {minutes} min at 200x2, {} commands ({:.0} a minute and seat), {} units at the end; played in {:.1} s",
        played.commands,
        played.commands as f64 / f64::from(minutes) / f64::from(seats),
        played.units,
        begun.elapsed().as_secs_f64(),
    );
    let plain = bytes_of(&path, |_| true);
    let unsigned = bytes_of(&path, |record| !matches!(record, Record::Attest(_)));
    let turns = bytes_of(&path, |record| {
        !matches!(record, Record::Attest(_) | Record::Checksum { .. })
    });
    println!("  bytes per hour and player: {:.1} kB", per(bytes));
    println!(
        "    {:.1} keyframes ({:.0} unpacked), {:.1} signatures (newest of each peer every 90 s), {:.1} all the rest",
        per(bytes - plain),
        per(played.snapshot_bytes),
        per(plain - unsigned),
        per(unsigned),
    );
    println!(
        "    of the rest: {:.1} commands ({:.1} bytes each, {:.0} % of the groups are references), {:.1} checksums, {:.1} turns and framing",
        per(played.command_bytes),
        played.command_bytes as f64 / played.commands as f64,
        100.0 * played.references as f64 / played.moves.max(1) as f64,
        per(unsigned - turns),
        per(turns - played.command_bytes),
    );
    verify(&path, minutes);
    show(&path);
}

fn verify(path: &Path, minutes: u32) {
    let mut reader = Reader::open(path).expect("the replay was just written");
    let bundles: Vec<_> = reader
        .records()
        .filter_map(|record| match record {
            Ok(Record::Bundle(bundle)) => Some(bundle),
            _ => None,
        })
        .collect();
    let setup = reader.setup::<World>().expect("the rules are our own");
    let start = sim::Start {
        setup,
        seed: reader.start().seed,
        seats: reader.start().seats(),
    };
    let mut bare = Vec::new();
    let mut verified = Vec::new();
    let mut unsigned = Vec::new();
    for _ in 0..3 {
        let begun = now();
        let mut world = World::new(&start);
        bundles
            .iter()
            .for_each(|bundle| execute(&mut world, bundle));
        std::hint::black_box(world.checksum());
        bare.push(begun.elapsed().as_secs_f64());
        let options = replay::verify::Options::default();
        verified.push(verify_once(path, &options));
        let options = replay::verify::Options {
            signature: |_, _, _| true,
            ..options
        };
        unsigned.push(verify_once(path, &options));
    }
    let median =
        |samples: &mut Vec<f64>| median_and(samples, 0.5).map_or(0.0, |(median, _)| median);
    let (bare, verified, unsigned) = (
        median(&mut bare),
        median(&mut verified),
        median(&mut unsigned),
    );
    println!(
        "  verify (median of 3): {verified:.2} s, {:.0} x real time; {:.2} x the bare step loop, {:.2} x without signatures",
        f64::from(minutes) * 60.0 / verified,
        verified / bare,
        unsigned / bare,
    );
}

fn verify_once(path: &Path, options: &replay::verify::Options) -> f64 {
    let begun = now();
    let mut reader = Reader::open(path).expect("the replay was just written");
    let found = replay::verify::verify::<World>(&mut reader, options, |_| ())
        .expect("the rules are our own");
    assert!(found.holds(), "{:?}", found.wrong);
    begun.elapsed().as_secs_f64()
}

/// Measures `show --turn`, from opening the file to the world at the turn.
fn show(path: &Path) {
    let turns = Reader::open(path)
        .expect("the replay was just written")
        .turns();
    let mut random = Stream::named(&Seed([3; 32]), "turns shown");
    let mut samples: Vec<f64> = (0..200)
        .map(|_| {
            let begun = now();
            let reader = Reader::open(path).expect("the replay was just written");
            let mut player = Player::new(reader);
            let turn = TurnNumber(random.below(turns));
            player.seek(turn);
            let mut game =
                lockstep::Match::<World, Player>::over(player).with_budget(Duration::from_secs(60));
            while game.source().next_turn() < turn || game.world().is_none() {
                game.poll();
            }
            begun.elapsed().as_secs_f64() * 1_000.0
        })
        .collect();
    let (p50, p95) = median_and(&mut samples, 0.95).unwrap_or_default();
    let max = samples.last().copied().unwrap_or_default();
    println!(
        "  show --turn, 200 random turns of {turns}: p50 {p50:.1} ms, p95 {p95:.1} ms, max {max:.1} ms"
    );
}

/// The size of a file without keyframes and with only some records of another file.
fn bytes_of(path: &Path, keep: impl Fn(&Record) -> bool) -> u64 {
    let plain = path.with_extension("plain");
    let mut recorder = Recorder::create(&plain)
        .expect("the folder is ours")
        .with_keyframes_every(None);
    let mut reader = Reader::open(path).expect("the replay was just written");
    for record in reader.records() {
        let record = record.expect("the replay is whole");
        if keep(&record) {
            recorder.append(&record).expect("the disk takes it");
        }
    }
    recorder.close().expect("the disk takes it");
    let bytes = std::fs::metadata(&plain).map_or(0, |file| file.len());
    std::fs::remove_file(&plain).ok();
    bytes
}
