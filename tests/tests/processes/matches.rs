//! Processes of the demo in matches over loopback, as players run them.

use lockstep::source::TurnSource;
use lockstep::{Live, PeerId, Ticket};
use sim::RulesId;
use std::path::Path;
use std::time::Duration;
use tests::peers::config;
use tests::processes::{Finished, MatchOf, Process, Setting, demo};

const PROGRAM: &str = env!("CARGO_BIN_EXE_numbers");

fn play(peers: usize, host: &[&str], all: &[&str], folder: &Path) -> MatchOf {
    let setting = Setting {
        program: Path::new(PROGRAM),
        first: &["demo"],
        peers,
        host,
        all,
    };
    MatchOf::start(&setting, folder)
}

fn agree(finished: &[Finished]) {
    let first = finished[0].checksums();
    for (at, peer) in finished.iter().enumerate() {
        assert_eq!(peer.checksums(), first, "peer {at}");
        let end = peer
            .last("end")
            .unwrap_or_else(|| panic!("no end: {}", peer.errors));
        let number = |name: &str| {
            end[name]
                .as_u64()
                .unwrap_or_else(|| panic!("no {name}: {end}"))
        };
        assert_eq!(
            number("issued"),
            number("executed") + number("refused"),
            "{end}"
        );
        assert!(peer.status.success(), "{} {}", peer.status, peer.errors);
    }
}

#[test]
fn four_impaired_processes_play_one_match_with_equal_replays() {
    let folder = tempfile::tempdir().expect("a folder for the match");
    let impair = "delay=20ms,jitter=5ms,loss=5%,dup=2%,reorder=2%,seed=7";
    let all = ["--turns", "60", "--impair", impair];
    let finished =
        play(4, &["--map-seed", "3"], &all, folder.path()).finish(Duration::from_secs(60));
    agree(&finished);
    assert_eq!(finished[0].checksums().len(), 60);
    for peer in 0..4 {
        let replay = format!("peer{peer}.replay");
        let verified = demo(&["replay", "verify", &replay], folder.path());
        assert!(verified.status.success(), "{}", verified.errors);
        let same = demo(&["replay", "diff", "peer0.replay", &replay], folder.path());
        assert!(same.status.success(), "{}", same.errors);
    }
}

#[test]
fn others_go_on_when_a_guest_is_killed() {
    others_go_on(3, 2);
}

#[test]
fn others_go_on_when_the_host_is_killed() {
    others_go_on(3, 0);
}

#[test]
fn others_go_on_when_one_of_eight_is_killed() {
    others_go_on(8, 5);
}

/// The others go on without a killed peer, and every replay is valid.
fn others_go_on(peers: usize, victim: usize) {
    let folder = tempfile::tempdir().expect("a folder for the match");
    let host = ["--map-seed", "4", "--turns", "60"];
    let mut playing = play(peers, &host, &[], folder.path());
    let turn = |event: &serde_json::Value| event["event"] == "turn" && event["turn"] == 20;
    for peer in &mut playing.peers {
        assert!(peer.wait_until(Duration::from_secs(30), turn).is_some());
    }
    let started = |event: &&serde_json::Value| event["event"] == "start";
    let started = playing.peers[victim].events.iter().find(started);
    let seat = started.expect("it has started")["seat"].clone();
    playing.peers[victim].kill();
    let mut finished = playing.finish(Duration::from_secs(60));
    let killed = finished.remove(victim);
    agree(&finished);
    assert_eq!(finished[0].checksums().len(), 60);
    for survivor in &finished {
        // Turns of 50 ms may wait for others as well, where the machine is busy.
        let waits = |event: &serde_json::Value| {
            event["event"] == "stall" && event["waiting_on"] == serde_json::json!([seat])
        };
        assert!(survivor.events.iter().any(waits), "it had to wait");
        let roster = survivor.last("roster").expect("it has decided to go on");
        assert_eq!(
            (roster["epoch"].as_u64(), roster["cause"].as_str()),
            (Some(1), Some("lost"))
        );
        assert_eq!(roster["left"], serde_json::json!([seat]));
        let end = survivor.last("end").expect("it has ended");
        assert_eq!(end["reason"], "turn-limit");
        let all = serde_json::json!(peers - 1);
        assert_eq!((&end["agreed"], &end["of"]), (&all, &all));
    }
    // Every peer has executed the killed peer's turns before the cut.
    let cut = finished[0]
        .last("roster")
        .and_then(|roster| roster["turn"].as_u64());
    let mut common = killed.checksums();
    common.retain(|(turn, _)| Some(*turn) < cut);
    assert!(common.len() > 20);
    assert_eq!(finished[0].checksums()[..common.len()], common);
    let survivor = format!("peer{}.replay", if victim == 0 { 1 } else { 0 });
    for peer in 0..peers {
        // The killed peer's replay may end within a record, and may hold provisional turns.
        let may = |code: Option<i32>| code == Some(0) || peer == victim && code == Some(5);
        let replay = format!("peer{peer}.replay");
        for asked in [vec!["verify", &replay], vec!["diff", &survivor, &replay]] {
            let arguments = [vec!["replay"], asked].concat();
            let answered = demo(&arguments, folder.path());
            let code = answered.status.code();
            assert!(may(code), "{arguments:?}: {code:?} {}", answered.errors);
        }
    }
}

#[test]
fn a_killed_guest_rejoins_after_its_removal() {
    comes_back(2, Duration::from_secs(5));
}

#[test]
fn a_killed_host_rejoins_before_its_removal() {
    comes_back(0, Duration::from_millis(300));
}

/// A killed peer rejoins after this time, and all agree on every later turn.
fn comes_back(victim: usize, later: Duration) {
    let folder = tempfile::tempdir().expect("a folder for the match");
    let host = ["--map-seed", "4", "--turns", "150", "--plan", "200x2"];
    let mut playing = play(3, &host, &[], folder.path());
    let at_turn = |turn: u64| {
        move |event: &serde_json::Value| event["event"] == "turn" && event["turn"] == turn
    };
    for peer in &mut playing.peers {
        assert!(
            peer.wait_until(Duration::from_secs(40), at_turn(60))
                .is_some()
        );
    }
    playing.peers[victim].kill();
    playing.peers[victim].wait_until(later, |_| false);
    let replay = format!("peer{victim}.replay");
    let identity = format!("peer{victim}.key");
    if victim == 2 {
        let other = ["rejoin", &replay, "--headless", "--identity", "other.key"];
        let stranger = demo(&other, folder.path());
        assert_eq!(stranger.status.code(), Some(2), "{}", stranger.errors);
        assert!(
            stranger
                .errors
                .contains("this key has no seat in that match")
        );
    }
    let arguments = [
        "demo",
        "rejoin",
        &replay,
        "--headless",
        "--bot",
        "normal",
        "--json",
    ];
    let own = ["--identity", &identity, "--record", "back.replay"];
    let arguments: Vec<&str> = arguments.iter().chain(&own).copied().collect();
    let again = Process::start(Path::new(PROGRAM), &arguments, folder.path());
    let again = again.finish(Duration::from_secs(90));
    let mut finished = playing.finish(Duration::from_secs(30));
    let killed = finished.remove(victim);
    agree(&finished);
    let end = again
        .last("end")
        .unwrap_or_else(|| panic!("no end: {}", again.errors));
    assert_eq!(end["reason"], "turn-limit", "{}", again.errors);
    assert_eq!((&end["agreed"], &end["of"]), (&3.into(), &3.into()));
    let back = again.last("roster").expect("it is admitted");
    assert_eq!(
        (&back["cause"], &back["seats"]),
        (&"rejoined".into(), &serde_json::json!([0, 1, 2]))
    );
    // It executed only the turns after the snapshot, with the others' checksums.
    let (ours, theirs) = (again.checksums(), finished[0].checksums());
    let first = ours.first().expect("it has executed turns").0 as usize;
    assert_eq!(first, 50, "the snapshot's turn");
    assert_eq!((ours.len(), &ours[..]), (150 - first, &theirs[first..]));
    let common = killed.checksums().len().min(60);
    assert_eq!(killed.checksums()[..common], theirs[..common]);
    let stayed = format!("peer{}.replay", if victim == 0 { 1 } else { 0 });
    for asked in [
        vec!["verify", "back.replay"],
        vec!["diff", &stayed, "back.replay"],
    ] {
        let arguments = [vec!["replay"], asked].concat();
        let answered = demo(&arguments, folder.path());
        assert!(
            answered.status.success(),
            "{arguments:?}: {}",
            answered.errors
        );
    }
    for peer in (0..3).filter(|peer| *peer != victim) {
        let verified = demo(
            &["replay", "verify", &format!("peer{peer}.replay")],
            folder.path(),
        );
        assert!(verified.status.success(), "{}", verified.errors);
    }
}

#[test]
fn others_play_on_after_a_peer_leaves() {
    let folder = tempfile::tempdir().expect("a folder for the match");
    let mut playing = play(3, &["--map-seed", "5", "--turns", "60"], &[], folder.path());
    let leaver = playing.peers.pop().expect("three peers");
    drop(leaver);
    let ticket = playing.peers[0].events[0]["ticket"]
        .as_str()
        .expect("a ticket")
        .to_owned();
    let brief = [
        "demo",
        "join",
        &ticket,
        "--headless",
        "--bot",
        "easy",
        "--json",
        "--turns",
        "20",
    ];
    let own = ["--identity", "brief.key", "--record", "brief.replay"];
    let arguments: Vec<&str> = brief.iter().chain(&own).copied().collect();
    let brief = Process::start(Path::new(PROGRAM), &arguments, folder.path());
    let left = brief.finish(Duration::from_secs(60));
    let end = left
        .last("end")
        .unwrap_or_else(|| panic!("no end: {}", left.errors));
    assert_eq!(end["reason"].as_str(), Some("left"));
    // On a machine with other work, turns that wait are executed before it leaves: as many as a plan may have on their way.
    let turns = end["turns"].as_u64().expect("a number of turns") as usize;
    assert!((20..=28).contains(&turns), "{turns} turns");
    assert!(left.status.success());
    let finished = playing.finish(Duration::from_secs(60));
    agree(&finished);
    assert_eq!(finished[0].checksums().len(), 60);
    assert_eq!(finished[0].checksums()[..turns], left.checksums());
    let roster = finished[0]
        .last("roster")
        .expect("the host reports the leaver");
    assert_eq!(roster["cause"], "left");
}

/// Runs the second command if the first succeeds, and ends with its code.
const ON_A_SMALL_DISK: &str = r#"
mkdir small && mount -t tmpfs -o size=4k none small && "$0" demo join "$@" --record small/guest.replay &&
    "$0" demo replay verify small/guest.replay"#;

/// The guest's disk has no room for the keyframe of an army after 30 s.
#[test]
fn a_full_disk_ends_the_recording_and_not_the_match() {
    let folder = tempfile::tempdir().expect("a folder for the match");
    let bot = ["--headless", "--bot", "normal", "--json"];
    let host = [
        "demo",
        "host",
        "--seats",
        "2",
        "--listen",
        "127.0.0.1:0",
        "--scenario",
        "archers",
        "--plan",
        "50x2",
        "--turns",
        "640",
        "--record",
        "host.replay",
    ];
    let host = [&host[..], &bot[..]].concat();
    let mut host = Process::start(Path::new(PROGRAM), &host, folder.path());
    let event = host.wait_for("ticket", Duration::from_secs(20));
    let event = event.expect("the host prints a ticket");
    let ticket = event["ticket"].as_str().expect("a text").to_owned();
    // The disk lives in its own namespace, and disappears with it.
    let guest = [
        "--mount",
        "--map-root-user",
        "--propagation",
        "private",
        "sh",
        "-c",
        ON_A_SMALL_DISK,
        PROGRAM,
        &ticket,
    ];
    let guest = [&guest[..], &bot[..]].concat();
    let guest = Process::start(Path::new("unshare"), &guest, folder.path());
    let guest = guest.finish(Duration::from_secs(90));
    let host = host.finish(Duration::from_secs(10));
    let recording = guest.last("recording");
    let why = recording.and_then(|event| event["why"].as_str());
    assert_eq!(why, Some("cannot write the replay: no storage space"));
    assert!(guest.errors.contains("recording stopped"));
    let whole = |line: &str| line.starts_with("small/guest.replay: whole up to its last turn");
    let verified = guest
        .events
        .iter()
        .any(|event| event.as_str().is_some_and(whole));
    assert!(verified, "{} {}", guest.status, guest.errors);
    assert_eq!(host.last("recording"), None);
    assert_eq!(host.checksums().len(), 640);
    agree(&[host, guest]);
    let verified = demo(&["replay", "verify", "host.replay"], folder.path());
    assert!(verified.status.success(), "{}", verified.errors);
}

#[test]
fn a_full_lobby_refuses_a_joiner_with_code_4() {
    let folder = tempfile::tempdir().expect("a folder for the match");
    let mut playing = play(2, &["--map-seed", "6"], &["--turns", "100"], folder.path());
    assert!(
        playing.peers[0]
            .wait_for("start", Duration::from_secs(30))
            .is_some()
    );
    let ticket = playing.peers[0]
        .events
        .iter()
        .find(|event| event["event"] == "ticket");
    let ticket = ticket
        .and_then(|event| event["ticket"].as_str())
        .expect("a ticket was printed")
        .to_owned();
    let third = demo(
        &[
            "join",
            &ticket,
            "--headless",
            "--json",
            "--identity",
            "third.key",
        ],
        folder.path(),
    );
    assert_eq!(third.status.code(), Some(4), "{}", third.errors);
    let finished = playing.finish(Duration::from_secs(60));
    agree(&finished);
}

/// Hosts in this process while `join` runs in another; returns the joiner's result.
fn join_hosted(rules: RulesId, change: impl FnOnce(&mut Ticket)) -> Finished {
    let folder = tempfile::tempdir().expect("a folder for the joiner");
    let setup = demo_rts::world::Setup::default();
    let setup = tests::simulator::to_bytes(&setup);
    let mut host = Live::host(setup, rules, config(70)).expect("the config is in range");
    let mut ticket = host.ticket().expect("a host has a ticket").clone();
    change(&mut ticket);
    let ticket = ticket.to_string();
    let joiner = std::thread::spawn(move || {
        let arguments = [
            "join",
            &ticket,
            "--headless",
            "--json",
            "--identity",
            "joiner.key",
        ];
        demo(&arguments, folder.path())
    });
    while !joiner.is_finished() {
        host.wait(Duration::from_millis(50));
        host.events();
    }
    joiner.join().expect("the joiner was waited for")
}

#[test]
fn other_rules_or_another_key_of_the_host_end_with_code_4() {
    let other_rules = join_hosted(RulesId([1; 16]), |_| ());
    assert_eq!(other_rules.status.code(), Some(4));
    assert!(
        other_rules.errors.contains("other rules"),
        "{}",
        other_rules.errors
    );
    let other_key = join_hosted(RulesId([1; 16]), |ticket| ticket.host = PeerId([9; 32]));
    assert_eq!(other_key.status.code(), Some(4));
    assert!(
        other_key.errors.contains("another key"),
        "{}",
        other_key.errors
    );
}

#[test]
fn nonsense_on_the_command_line_has_its_exit_code() {
    let folder = tempfile::tempdir().expect("a folder for the files");
    std::fs::write(folder.path().join("empty.replay"), b"").expect("the folder is writable");
    std::fs::write(
        folder.path().join("foreign.replay"),
        b"MZ no replay at all, whatever its name says",
    )
    .expect("writable");
    let cases: &[(&[&str], i32)] = &[
        (&["join", "nonsense", "--headless"], 2),
        (&["join", "", "--headless"], 2),
        (&["join", "@missing.ticket", "--headless"], 1),
        (&["host", "--seats", "99", "--headless"], 2),
        (&["host", "--plan", "7x1", "--headless"], 2),
        (&["host", "--impair", "loss=200%", "--headless"], 2),
        (
            &["host", "--headless", "--record", "no/such/folder/x.replay"],
            1,
        ),
        (&["local", "--peers", "1"], 2),
        (&["rejoin", "x", "--headless"], 1),
        (&["rejoin", "ls1-x", "--headless"], 2),
        (&["rejoin", "empty.replay", "--headless"], 5),
        (&["rejoin", "@missing.ticket", "--headless"], 1),
        (&["relay"], 2),
        (&["continue", "x"], 1),
        (&["replay", "bisect", "a", "b"], 2),
        (&["replay", "bisect"], 2),
        (&["local", "--turns", "-3"], 2),
        (&["--map-seed", "-1"], 2),
        (&["watch", "empty.replay", "--seed", "3"], 2),
        (&["replay", "info", "missing.replay"], 1),
        (&["replay", "info", "empty.replay"], 5),
        (&["replay", "verify", "foreign.replay"], 5),
        (&["replay", "show", "--turn", "x", "empty.replay"], 2),
        (&["no-such-command"], 2),
    ];
    for (arguments, code) in cases {
        let finished = demo(arguments, folder.path());
        assert_eq!(
            finished.status.code(),
            Some(*code),
            "{arguments:?}: {}",
            finished.errors
        );
        assert!(
            !finished.errors.trim().is_empty(),
            "{arguments:?} says nothing"
        );
        assert!(
            !finished.errors.contains("panicked"),
            "{arguments:?}: {}",
            finished.errors
        );
    }
}
