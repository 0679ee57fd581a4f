//! Hosts, joins, comes back, watches, and looks into replays.

use first_game::{Command, Setup, World};
use lockstep::log::LogStore as _;
use lockstep::source::TurnSource;
use lockstep::{Config, Event, Match};
use replay::{Recorder, WayBack};
use sim::{Num, Vec2};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    run().unwrap_or_else(|why| {
        eprintln!("first-game: {why}");
        ExitCode::FAILURE
    })
}

fn run() -> Result<ExitCode, Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let named = |why: replay::Error| format!("{}: {why}", words[1]);
    match words[..] {
        ["host"] => {
            let (config, file) = recorded()?;
            let mut game = Match::<World>::host(Setup { runners: 3 }, config)?;
            println!("{}", game.source().ticket().expect("a host has a ticket"));
            play(game, file)
        }
        ["join", ticket] => {
            let (config, file) = recorded()?;
            play(Match::<World>::join(&ticket.parse()?, config)?, file)
        }
        ["rejoin", file] => {
            let from = replay::rejoin(Path::new(file)).map_err(named)?;
            let (config, file) = recorded()?;
            play(Match::<World>::rejoin(from, config)?, file)
        }
        ["watch", file] => {
            let game = replay::open::<World>(Path::new(file)).map_err(named)?;
            play(game, None)
        }
        ["replay", ..] => Ok(replay::cli::run::<World>(&words[1..])),
        _ => {
            eprintln!("first-game host | join TICKET | rejoin FILE | watch FILE | replay ...");
            Ok(ExitCode::from(2))
        }
    }
}

/// Settings of a match that is recorded, and where.
fn recorded() -> Result<(Config, Option<PathBuf>), Failure> {
    let recorder = Recorder::create_in(Path::new("replays"), "match")?;
    let file = recorder.path().map(Path::to_owned);
    let config = Config {
        log: Some(Box::new(recorder)),
        ..Config::default()
    };
    Ok((config, file))
}

/// The loop of every match: live, or from a file.
fn play<T: TurnSource>(
    mut game: Match<World, T>,
    file: Option<PathBuf>,
) -> Result<ExitCode, Failure> {
    let typed = typed();
    let mut playing = None;
    loop {
        for event in game.poll() {
            match event {
                Event::Started { match_id, own, .. } => {
                    println!("playing as {own:?}");
                    playing = Some(match_id);
                }
                Event::Contacts(peers) => {
                    if let (Some(file), Some(match_id)) = (&file, playing)
                        && let Err(why) = WayBack::beside(file).keep(match_id, &peers)
                    {
                        eprintln!("first-game: the way back is not kept: {why}");
                    }
                }
                Event::Turn { turn, .. } if turn.0 % 5 == 0 => {
                    if let Some(world) = game.world() {
                        println!("{world}");
                    }
                }
                Event::Stalled { on, .. } => println!("waiting for {on:?}"),
                Event::RosterChanged { cause, seats, .. } => println!("{cause:?}: {seats:?} play"),
                Event::Ended(end) => {
                    if let Some(file) = file.as_ref().filter(|_| end.is_final) {
                        WayBack::beside(file).forget();
                    }
                    println!("{}: {:?}", end.reason, end.outcome);
                    return Ok(ExitCode::SUCCESS);
                }
                _ => {}
            }
        }
        for to in typed.try_iter() {
            if let (Some(world), Some(seat)) = (game.world(), game.own_seats().first()) {
                let runners = world.runners_of(*seat);
                if let Err(refused) = game.issue(Command::Go { runners, to }) {
                    println!("{refused}");
                }
            }
        }
        game.wait(Duration::from_millis(16));
    }
}

/// Places that the player types: `7 8`.
fn typed() -> Receiver<Vec2> {
    let (places, typed) = channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lines().map_while(Result::ok) {
            let numbers: Vec<Num> = line.split(' ').flat_map(str::parse).collect();
            if let [x, y] = numbers[..] {
                // The game may have ended.
                let _ = places.send(Vec2::new(x, y));
            }
        }
    });
    typed
}
