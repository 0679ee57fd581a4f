//! What it costs to stop a process for a while, and how it rejoins.

use crate::processes::{MatchOf, Process, Setting};
use std::path::Path;
use std::time::Duration;

/// The turn after which a peer is stopped.
const TURN: u64 = 20;
/// Timeout for the match to go on, or for the peer to learn that it was removed.
const PATIENCE: Duration = Duration::from_secs(30);

/// Plays a match of three in which the last joiner is stopped for a while, and prints the result. A removed peer
/// rejoins by the command that it was given.
///
/// # Panics
/// If no match can be started.
pub fn print(program: &Path, first: &[&str], seconds: u64) {
    let folder = tempfile::tempdir().expect("a folder for the match");
    let setting = Setting {
        program,
        first,
        peers: 3,
        host: &["--map-seed", "4", "--plan", "200x2"],
        all: &[],
    };
    let mut playing = MatchOf::start(&setting, folder.path());
    let at_turn = |event: &serde_json::Value| event["event"] == "turn" && event["turn"] == TURN;
    for peer in &mut playing.peers {
        peer.wait_until(PATIENCE, at_turn);
    }
    let mut stopped = playing.peers.pop().expect("a match has peers");
    stopped.stop();
    std::thread::sleep(Duration::from_secs(seconds));
    stopped.go_on();
    let went_on = super::now();
    let slept = stopped.wait_for("slept", PATIENCE);
    let next = stopped.wait_until(PATIENCE, |event| {
        event["event"] == "end" || event["event"] == "turn"
    });
    let removed = next.is_some_and(|event| event["event"] == "end");
    println!(
        "stopped for {seconds} s: noticed {} s; {} {} ms after it went on",
        slept.map_or(0, |event| event["ms"].as_u64().unwrap_or(0)) / 1_000,
        match removed {
            true => "learned of its removal",
            false => "executed the next turn",
        },
        went_on.elapsed().as_millis(),
    );
    if !removed {
        return;
    }
    let errors = stopped.finish(PATIENCE).errors;
    let again = errors.lines().find_map(|line| line.split_once("demo-rts "));
    let Some((_, command)) = again else {
        println!("  got no command to rejoin with: {errors}");
        return;
    };
    let mut arguments: Vec<&str> = first.to_vec();
    arguments.extend(command.split_whitespace());
    arguments.extend(["--headless", "--bot", "normal", "--json"]);
    let asked = super::now();
    let mut back = Process::start(program, &arguments, folder.path());
    let admitted =
        |event: &serde_json::Value| event["event"] == "roster" && event["cause"] == "rejoined";
    let rejoined = back.wait_until(PATIENCE, admitted);
    match rejoined {
        Some(event) => println!(
            "  `demo-rts {command}`: admitted at turn {} after {} ms",
            event["turn"],
            asked.elapsed().as_millis()
        ),
        None => println!(
            "  `demo-rts {command}`: not admitted after {} s",
            PATIENCE.as_secs()
        ),
    }
}
