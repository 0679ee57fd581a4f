use super::*;
use crate::fixture::{self, Coins};
use crate::harness;
use serde_json::Value;
use std::fs;
use tempfile::TempDir;

struct Ran {
    code: u8,
    out: String,
    err: String,
}

fn replay(args: &[&str]) -> Ran {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = run_to::<Coins>(args.iter().copied(), &mut out, &mut err, false);
    Ran {
        code,
        out: String::from_utf8(out).unwrap(),
        err: String::from_utf8(err).unwrap(),
    }
}

/// A folder with replays: `whole`, `cut`, `open`, `other` (a command differs), `flipped`, `foreign`, `empty`.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    let records = fixture::play(120).records;
    let whole = fixture::file_of(&records);
    put("whole", &whole);
    // Within the end record, which is long.
    put("cut", &whole[..whole.len() - 60]);
    put("open", &fixture::file_of(&records[..200]));
    let mut flipped = whole.clone();
    flipped[600] ^= 4;
    put("flipped", &flipped);
    let mut other = records.clone();
    for record in &mut other {
        if let lockstep::log::Record::Bundle(bundle) = record
            && bundle.turn.0 == 30
        {
            bundle.entries.clear();
        }
    }
    put("other", &fixture::file_of(&other));
    put("foreign", b"not a replay at all");
    put("empty", b"");
    folder
}

#[test]
fn control_characters_are_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let mut records = fixture::play(40).records;
    let lockstep::log::Record::Start(start) = &mut records[0] else {
        panic!("a log begins with its start");
    };
    let start = std::sync::Arc::make_mut(start);
    start.build = "\u{1b}]52;c;eA==\u{7}build".to_owned();
    let name = "\u{1b}[2K\rAda\n\u{9b}2K\u{202e}";
    start.roster[0].name = name.to_owned();
    let path = folder.path().join("obeyed.replay");
    fs::write(&path, fixture::file_of(&records)).unwrap();
    let path = path.to_str().unwrap();
    for command in ["info", "verify", "stats"] {
        let ran = replay(&[command, path]);
        let text = format!("{}{}", ran.out, ran.err);
        let obeyed = text.chars().find(|c| *c != '\n' && c.is_control());
        assert_eq!(obeyed, None, "{command}: {text:?}");
        assert!(!ran.out.contains("Ada\n"), "{command}: {text:?}");
        let json = replay(&[command, "--json", path]).out;
        let hidden = json.chars().find(|c| *c != '\n' && !lockstep::is_shown(*c));
        assert_eq!(hidden, None, "{command}: {json:?}");
    }
    let info: Value = serde_json::from_str(&replay(&["info", "--json", path]).out).unwrap();
    assert!(
        info.to_string().contains(&Value::from(name).to_string()),
        "{info}"
    );
    let out = replay(&["info", path]).out;
    assert!(
        out.contains("build      ]52;c;eA==build\n") && out.contains("[2KAda"),
        "{out}"
    );
}

#[test]
fn verify_prints_text_or_json_and_sets_the_exit_code() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let whole = replay(&["verify", &path("whole")]);
    assert_eq!(whole.code, 0, "{}", whole.err);
    let lines: Vec<&str> = whole.out.lines().collect();
    assert_eq!(
        lines[0],
        "match 7f7f-7f7f  2 seats  rules 0707…  0:23  120 turns"
    );
    assert!(lines[1].starts_with("turns      120 of 120 re-run, "));
    assert!(lines[2].starts_with("history    log hash and "));
    assert!(lines[2].ends_with(" hold up to turn 120"));
    assert_eq!(lines[3], "result     ended without a decision");

    let cut = replay(&["verify", &path("cut")]);
    assert_eq!(cut.code, 5);
    assert!(cut.err.contains("ends in the middle of a record at byte"));
    assert!(cut.err.contains("replay trim"));
    let open = replay(&["verify", &path("open")]);
    assert_eq!(open.code, 0, "{}", open.err);
    assert!(open.out.contains("the recording has no end"));
    let other = replay(&["verify", &path("other")]);
    assert_eq!(other.code, 3);
    assert!(other.err.contains("another history"));
    for (name, code) in [("foreign", 5), ("empty", 5), ("flipped", 5), ("missing", 1)] {
        let ran = replay(&["verify", &path(name)]);
        assert_eq!(ran.code, code, "{name}: {}", ran.err);
        assert!(ran.err.contains(&path(name)), "{}", ran.err);
    }
    let json = replay(&["verify", "--json", "--every-tick", &path("whole")]);
    let json: Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(
        (&json["turns"], &json["wrong"]),
        (&120.into(), &Value::Null)
    );
}

#[test]
fn info_show_stats_and_diff_print_their_results() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let info = replay(&["info", "--json", &path("whole")]);
    let info: Value = serde_json::from_str(&info.out).unwrap();
    assert_eq!(info["turns"], 120);
    assert_eq!(info["setup"], 3);
    assert_eq!(info["seats"][1]["name"], "bob");
    assert_eq!(info["tail"]["state"], "complete");
    let info_text = replay(&["info", &path("whole")]);
    assert_eq!(info_text.code, 0);
    assert!(
        info_text.out.contains("setup      3\n"),
        "{}",
        info_text.out
    );
    assert_eq!(replay(&["info", &path("cut")]).code, 5);

    let shown = replay(&["show", "--turn", "77", "--json", &path("whole")]);
    assert_eq!(shown.code, 0);
    let shown: Value = serde_json::from_str(&shown.out).unwrap();
    let world = &fixture::play(120).worlds[77];
    assert_eq!(shown["checksum"], sim::State::checksum(world).to_string());
    assert_eq!(shown["tick"], 74 * 4);
    assert_eq!(shown["sections"][0]["rows"], 2);
    assert_eq!(replay(&["show", "--turn", "121", &path("whole")]).code, 2);

    // Beyond a damaged end, the damage is the reason.
    let beyond = replay(&["show", "--turn", "121", &path("cut")]);
    assert_eq!(beyond.code, 5);
    for wanted in [
        "--turn 121 is beyond",
        "ends in the middle of a record",
        "replay trim",
    ] {
        assert!(beyond.err.contains(wanted), "{wanted} in {}", beyond.err);
    }

    let stats = replay(&["stats", "--json", &path("whole")]);
    let stats: Value = serde_json::from_str(&stats.out).unwrap();
    let bytes = stats["bytes"].as_object().unwrap().values();
    let bytes: u64 = bytes.map(|bytes| bytes.as_u64().unwrap()).sum();
    assert_eq!(
        bytes,
        fs::metadata(folder.path().join("whole")).unwrap().len()
    );
    assert_eq!(stats["paused_turns"], 3);
    assert!(replay(&["stats", &path("whole")]).out.contains("seat 0"));

    let equal = replay(&["diff", &path("whole"), &path("whole")]);
    assert!(equal.code == 0 && equal.out.starts_with("equal: 120 turns"));
    let prefix = replay(&["diff", &path("whole"), &path("open")]);
    assert!(prefix.code == 0 && prefix.out.contains("equal in all common turns"));
    let other = replay(&["diff", &path("whole"), &path("other")]);
    assert_eq!(other.code, 3);
    assert!(
        other
            .out
            .starts_with("turn 30 (0:05) differs at entry 0: seat 0's command")
    );
}

#[test]
fn show_fails_where_the_run_does_not_come_to_the_turn() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("panics");
    let mut records = fixture::play(60).records;
    for record in &mut records {
        if let lockstep::log::Record::Bundle(bundle) = record
            && bundle.turn.0 == 30
        {
            bundle.entries.push(fixture::panics());
        }
    }
    // No keyframe behind the turn.
    records.retain(|record| !matches!(record, lockstep::log::Record::Keyframe(_)));
    fs::write(&path, fixture::file_of(&records)).unwrap();
    let path = path.to_str().unwrap();
    assert_eq!(replay(&["show", "--turn", "30", path]).code, 0);
    for args in [
        &["show", "--turn", "55", path][..],
        &["show", "--turn", "55", "--json", path],
        &["verify", path],
    ] {
        let ran = replay(args);
        assert_eq!(ran.code, 3, "{args:?}: {}", ran.err);
        let told = ran
            .err
            .contains("the world panicked in turn 30: no such coin");
        assert!(
            told && (args[0] == "verify" || ran.out.is_empty()),
            "{args:?}: {}{}",
            ran.out,
            ran.err
        );
    }
}

#[test]
fn diff_tells_how_many_commands_are_equal_beside_checksums() {
    use lockstep::log::Record;
    let folder = folder();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let diff = |edit: &dyn Fn(&mut Record)| {
        let mut records = fixture::play(120).records;
        records.iter_mut().for_each(edit);
        fs::write(path("edited"), fixture::file_of(&records)).unwrap();
        let ran = replay(&["diff", &path("whole"), &path("edited")]);
        assert_eq!(ran.code, 3);
        ran.out.lines().next().unwrap().to_owned()
    };
    let checksum = |record: &mut Record| {
        if let Record::Checksum {
            turns: 53,
            checksum,
        } = record
        {
            checksum.0 ^= 1;
        }
    };
    let line = diff(&checksum);
    assert!(
        line.starts_with("after 53 turns ")
            && line.ends_with("; the commands of all 120 common turns are equal"),
        "{line}"
    );
    let line = diff(&|record| {
        checksum(record);
        if let Record::Bundle(bundle) = record
            && bundle.turn.0 == 60
        {
            bundle.entries.clear();
        }
    });
    assert!(
        line.ends_with("; the commands of the first 60 common turns are equal"),
        "{line}"
    );
    let start = |edit: &dyn Fn(&mut lockstep::log::Start)| {
        diff(&|record| {
            if let Record::Start(start) = record {
                edit(std::sync::Arc::make_mut(start));
            }
        })
    };
    let line = start(&|start| start.match_id.0[0] ^= 1);
    assert_eq!(line, "two different matches");
    let line = start(&|start| start.seed.0[0] ^= 1);
    assert!(line.ends_with(": roster, setup, seed or plan"), "{line}");
}

#[test]
fn records_of_the_last_epoch_are_exported() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("crafted");
    let records = [
        fixture::play(1).records.swap_remove(0),
        lockstep::log::Record::Roster(harness::change(u32::MAX)),
        harness::continuation(u32::MAX),
    ];
    fs::write(&path, fixture::file_of(&records)).unwrap();
    let ran = replay(&["export", path.to_str().unwrap()]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let last = format!("\"epoch\":{}", u32::MAX);
    assert_eq!(ran.out.matches(&last).count(), 2, "{}", ran.out);
}

#[test]
fn a_cheater_is_named_and_the_proof_is_exported() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cheated");
    fs::write(
        &path,
        fixture::file_of(&fixture::play_cheated(120, 40).records),
    )
    .unwrap();
    let path = path.to_str().unwrap();
    let text =
        "cheated    seat 1  bob signed two different batches for turn 41: removed from turn 40 on";
    for command in ["info", "verify"] {
        let ran = replay(&[command, path]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert!(ran.out.contains(text), "{}", ran.out);
        let json: Value = serde_json::from_str(&replay(&[command, "--json", path]).out).unwrap();
        let cheat = serde_json::json!([{"peer": 1, "seats": [1], "turn": 41, "gone_from": 40}]);
        assert_eq!(json["cheats"], cheat);
    }
    let exported = replay(&["export", path]).out;
    let lines = exported
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let roster: Vec<Value> = lines.filter(|line| line["record"] == "roster").collect();
    assert_eq!(roster[0]["cheats"], serde_json::json!([1]));
    let batches = roster[0]["proofs"][0]["batches"].as_array().unwrap();
    assert_eq!(batches.len(), 2);
    assert_ne!(batches[0]["content"], batches[1]["content"]);
}

#[test]
fn info_tells_removed_peers_from_leavers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gone");
    let path = path.to_str().unwrap();
    for (left, text, removed) in [
        (
            false,
            "removed    seat 1 (bob) from turn 40 on: connection lost",
            vec![1],
        ),
        (true, "left       seat 1 (bob) before turn 40", vec![]),
    ] {
        let played = fixture::play_gone(60, 40, left);
        fs::write(path, fixture::file_of(&played.records)).unwrap();
        let ran = replay(&["info", path]);
        assert!(ran.out.contains(text), "{}", ran.out);
        let json: Value = serde_json::from_str(&replay(&["info", "--json", path]).out).unwrap();
        let cause = if left { "left" } else { "lost" };
        let expected = serde_json::json!([{
            "turn": 40, "epoch": 1, "seats": [0], "gone": [1], "removed": removed,
            "causes": [{"cause": cause, "seats": [1]}], "back": [], "cause": cause,
        }]);
        assert_eq!(json["rosters"], expected);
    }
}

#[test]
fn a_cut_file_is_trimmed_to_a_clean_one() {
    let folder = folder();
    let cut = folder.path().join("cut.replay");
    fs::copy(folder.path().join("cut"), &cut).unwrap();
    let trimmed = folder.path().join("cut.trimmed.replay");
    assert_eq!(replay(&["trim", cut.to_str().unwrap()]).code, 0);
    assert_eq!(replay(&["verify", trimmed.to_str().unwrap()]).code, 0);
    let again = replay(&["trim", cut.to_str().unwrap()]);
    assert_eq!(again.code, 1);
    assert!(again.err.contains("exists already"));
}

#[test]
fn everything_is_exported_as_json_lines() {
    let folder = folder();
    let path = folder.path().join("whole");
    let ran = replay(&["export", path.to_str().unwrap()]);
    assert_eq!(ran.code, 0);
    let lines: Vec<Value> = ran
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines[0]["record"], "start");
    assert_eq!(lines[0]["setup"], 3);
    let bundles = lines.iter().filter(|line| line["record"] == "bundle");
    assert_eq!(bundles.count(), 120);
    assert_eq!(lines[1]["entries"][0]["command"]["Add"], 0);
    assert_eq!(lines.last().unwrap()["record"], "end");
}

#[test]
fn usage_errors_and_help_have_their_exit_codes() {
    for wrong in [
        &["verify"][..],
        &["no-such"],
        &[],
        &["show", "x"],
        &["bisect"],
        &["bisect", "x"],
        &["bisect", "x", "y"],
        &["bisect", "x", "y", "z"],
    ] {
        let ran = replay(wrong);
        assert_eq!(ran.code, 2, "{wrong:?}");
        assert!(!ran.err.is_empty());
    }
    for given in ["-1", "x", "4294967296"] {
        let ran = replay(&["show", "--turn", given, "x"]);
        let wanted =
            format!("a whole number from 0 to the turns of the file is expected, not `{given}`");
        assert!(ran.code == 2 && ran.err.contains(&wanted), "{}", ran.err);
    }
    for command in [
        "info", "verify", "show", "stats", "diff", "bisect", "trim", "export",
    ] {
        let ran = replay(&[command, "--help"]);
        assert_eq!(ran.code, 0);
        assert!(
            ran.out.contains(&format!("Example: replay {command}")),
            "{}",
            ran.out
        );
    }
}

#[test]
fn help_names_each_json_field_that_is_written() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (whole, open) = (path("whole"), path("open"));
    let new = path("new");
    for args in [
        &["info", &whole][..],
        &["verify", &whole],
        &["show", "--turn", "77", &whole],
        &["stats", &whole],
        &["diff", &whole, &open],
        &["trim", &whole, "-o", &new],
    ] {
        let ran = replay(&[args, &["--json"]].concat());
        let written: Value = serde_json::from_str(&ran.out).unwrap();
        let help = replay(&[args[0], "--help"]).out;
        for field in written.as_object().unwrap().keys() {
            assert!(
                help.contains(&format!("\"{field}\"")),
                "{field} of {args:?} is not in: {help}"
            );
        }
    }
}

/// A reader that closes the pipe after some bytes, or a full disk.
struct Limited(usize, io::ErrorKind);

impl Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > self.0 {
            return Err(self.1.into());
        }
        self.0 -= bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_closed_pipe_is_quiet_and_a_full_disk_is_an_error() {
    let folder = folder();
    let path = folder.path().join("whole").display().to_string();
    for (kind, code) in [
        (io::ErrorKind::BrokenPipe, 0),
        (io::ErrorKind::StorageFull, 1),
    ] {
        let mut err = Vec::new();
        let mut out = Limited(300, kind);
        let args = ["export", path.as_str()];
        assert_eq!(run_to::<Coins>(args, &mut out, &mut err, false), code);
        assert_eq!(err.is_empty(), code == 0);
    }
}

#[test]
fn a_slow_machine_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("slow");
    let records = fixture::play_slow(120).records;
    fs::write(&path, fixture::file_of(&records)).unwrap();
    let path = path.display().to_string();
    let json = |args: &[&str]| -> Value { serde_json::from_str(&replay(args).out).unwrap() };

    let stats = replay(&["stats", &path]);
    assert!(stats.out.contains("2 plan changes"), "{}", stats.out);
    let line = "turn 21                0:03  400x2, ticks of 100 ms, slowed down for seat 1";
    assert!(stats.out.lines().any(|it| it == line), "{}", stats.out);
    let plans = &json(&["stats", "--json", &path])["plans"];
    let slow = serde_json::json!(
        {"turn": 21, "ms": 3_600, "ticks": 4, "delay": 2, "tick_ms": 100, "slow": [1], "way": null}
    );
    assert_eq!(plans[0], slow);
    assert_eq!(plans[1]["slow"], serde_json::json!([]));

    let show = replay(&["show", "--turn", "30", &path]);
    assert!(show.out.contains("slowed down for seat 1"), "{}", show.out);
    let show = json(&["show", "--json", "--turn", "30", &path]);
    assert_eq!(
        (&show["tick_ms"], &show["slow"]),
        (&100.into(), &serde_json::json!([1]))
    );
    let show = json(&["show", "--json", "--turn", "100", &path]);
    assert_eq!(
        (&show["tick_ms"], &show["slow"]),
        (&50.into(), &serde_json::json!([]))
    );

    let mut forged = records;
    for record in &mut forged {
        if let lockstep::log::Record::Bundle(bundle) = record
            && bundle.turn.0 == 40
        {
            bundle.plan.tick_ms = 200;
        }
    }
    fs::write(&path, fixture::file_of(&forged)).unwrap();
    let verify = replay(&["verify", &path]);
    assert_eq!(verify.code, 3);
    let wrong = "turn 40 has ticks of 200 ms (800x2); the turns before it ask for 100 ms (400x2)";
    assert!(verify.err.contains(wrong), "{}", verify.err);
}
