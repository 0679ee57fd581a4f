//! Playing on from a moment of a recorded match, by command.

use serde_json::Value;
use std::path::Path;
use tests::processes::{Finished, demo};

const BOT: [&str; 4] = ["--headless", "--bot", "normal", "--json"];

/// Records a skirmish of 30 turns.
fn recorded(folder: &Path) {
    let match_of = [
        "skirmish",
        "--bots",
        "2",
        "--turns",
        "30",
        "--map-seed",
        "4",
        "--plan",
        "50x1",
        "--record",
        "old.replay",
    ];
    let played = demo(&[&match_of[..], &BOT].concat(), folder);
    assert!(played.status.success(), "{}", played.errors);
}

fn json(arguments: &[&str], folder: &Path) -> Value {
    let finished = demo(&[&["replay"], arguments, &["--json"]].concat(), folder);
    assert!(
        finished.status.success(),
        "{arguments:?}: {}",
        finished.errors
    );
    finished.events[0].clone()
}

/// The first and last executed turn, and the reason of the end.
fn turns(of: &Finished) -> (u64, u64, &Value) {
    let turn = |event: &&Value| event["event"] == "turn";
    let turn_of = |event: &Value| event["turn"].as_u64().expect("a number");
    let first = of.events.iter().find(turn).map(turn_of);
    let last = of.events.iter().rfind(turn).map(turn_of);
    let end = of.last("end").expect("it ended");
    (
        first.expect("turns were played"),
        last.expect("turns were played"),
        &end["reason"],
    )
}

#[test]
fn playing_on_from_the_middle_is_marked_in_the_recording() {
    let folder = tempfile::tempdir().expect("a folder for the match");
    let folder = folder.path();
    recorded(folder);
    let on = [
        "continue",
        "old.replay",
        "--turn",
        "20",
        "--seat",
        "2",
        "--level",
        "easy",
    ];
    let more = ["--turns", "25", "--plan", "50x1", "--name", "Eve"];
    let played = demo(&[&on[..], &more, &BOT].concat(), folder);
    assert!(played.status.success(), "{}", played.errors);
    assert_eq!(
        played.last("start").map(|start| &start["seat"]),
        Some(&2.into())
    );
    assert_eq!(turns(&played), (20, 44, &"turn-limit".into()));
    // The new recording is beside the old one, and valid without it.
    let verified = json(&["verify", "old-2.replay"], folder);
    assert_eq!(verified["turns"], 45);
    assert_eq!(verified["wrong"], Value::Null);
    assert_eq!(
        verified["tail"],
        json(&["info", "old.replay"], folder)["tail"]
    );
    let info = json(&["info", "old-2.replay"], folder);
    for continued in [&verified["continued"], &info["continued"]] {
        let [only] = continued.as_array().expect("a list").as_slice() else {
            panic!("{continued}");
        };
        assert_eq!((&only["turn"], &only["seat"]), (&20.into(), &2.into()));
        assert_eq!(only["name"], "Eve");
    }
    let diff = demo(&["replay", "diff", "old.replay", "old-2.replay"], folder);
    assert_eq!(diff.status.code(), Some(3), "{}", diff.errors);
    let line = diff.events[0].as_str().expect("a sentence");
    assert!(
        line.starts_with("from turn 20 (") && line.contains("in the second"),
        "{line}"
    );
    // It can be played on again, in the same seat by default.
    let again = [
        "continue",
        "old-2.replay",
        "--turn",
        "30",
        "--record",
        "third.replay",
    ];
    let again = [&again[..], &["--turns", "5", "--plan", "50x1"], &BOT].concat();
    let again = demo(&again, folder);
    assert!(again.status.success(), "{}", again.errors);
    assert_eq!(
        again.last("start").map(|start| &start["seat"]),
        Some(&2.into())
    );
    assert_eq!(turns(&again), (30, 34, &"turn-limit".into()));
    let verified = json(&["verify", "third.replay"], folder);
    assert_eq!(verified["continued"].as_array().map(Vec::len), Some(2));
}

#[test]
fn invalid_moments_to_play_on_from_are_refused() {
    let folder = tempfile::tempdir().expect("a folder for the match");
    let folder = folder.path();
    recorded(folder);
    let whole = std::fs::read(folder.join("old.replay")).expect("it was recorded");
    // Within the record of some turn.
    let cut = (0..whole.len()).rev().find(|cut| {
        let reader = replay::Reader::from_bytes(whole[..*cut].to_vec());
        reader.is_ok_and(|reader| {
            (5..30).contains(&reader.turns())
                && matches!(reader.file_end(), replay::FileEnd::Cut { .. })
        })
    });
    let cut = cut.expect("some turn takes more than a byte");
    std::fs::write(folder.join("cut.replay"), &whole[..cut]).expect("a file");
    std::fs::write(folder.join("foreign.replay"), "not a replay").expect("a file");
    let mut damaged = whole.clone();
    damaged[30] ^= 1;
    std::fs::write(folder.join("damaged.replay"), damaged).expect("a file");
    for (arguments, code, word) in [
        (&["old.replay", "--turn", "31"][..], 2, "before turn 30"),
        (&["old.replay", "--turn", "3", "--seat", "3"], 2, "0, 1, 2"),
        (&["cut.replay", "--turn", "30"], 5, "middle of a record"),
        (&["foreign.replay"], 5, "not a replay"),
        (&["damaged.replay"], 5, "damaged"),
        (&["missing.replay"], 1, "missing.replay"),
        (&["old.replay", "--record", "old.replay"], 1, "exists"),
        (
            &["old.replay", "--record", "no/folder/x.replay"],
            1,
            "no/folder",
        ),
    ] {
        let all = [&["continue"], arguments, &["--turns", "2"], &BOT].concat();
        let finished = demo(&all, folder);
        let errors = &finished.errors;
        assert_eq!(
            finished.status.code(),
            Some(code),
            "{arguments:?}: {errors}"
        );
        assert!(errors.contains(word), "{arguments:?}: {errors}");
        assert!(finished.last("start").is_none(), "{arguments:?} began");
    }
    // The valid part of a cut file is enough, with a warning.
    let on = ["continue", "cut.replay", "--turns", "2", "--plan", "50x1"];
    let played = demo(&[&on[..], &BOT].concat(), folder);
    assert!(played.status.success(), "{}", played.errors);
    assert!(
        played.errors.contains("middle of a record"),
        "{}",
        played.errors
    );
    assert!(json(&["verify", "cut-2.replay"], folder)["wrong"].is_null());
}
