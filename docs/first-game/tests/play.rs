//! The commands of the guide, as processes.

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

struct Game {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Game {
    fn start(words: &[&str], folder: &Path) -> Game {
        let mut child = Command::new(env!("CARGO_BIN_EXE_first-game"))
            .args(words)
            .current_dir(folder)
            .env("HOME", folder)
            .env("XDG_DATA_HOME", folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the game starts");
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        Game { child, lines }
    }

    /// The next line with these words.
    fn line(&mut self, words: &str) -> String {
        let mut seen = Vec::new();
        for line in self.lines.by_ref().map_while(Result::ok) {
            if line.contains(words) {
                return line;
            }
            seen.push(line);
        }
        panic!("no line has `{words}`: {seen:#?}");
    }

    fn write(&mut self, line: &str) {
        let to = self.child.stdin.as_mut().expect("piped");
        writeln!(to, "{line}").expect("the game reads");
    }

    /// The last line, and how the process ended.
    fn end(mut self) -> (String, ExitStatus) {
        let last = self.lines.by_ref().map_while(Result::ok).last();
        let status = self.child.wait().expect("a child can be waited for");
        (last.unwrap_or_default(), status)
    }
}

impl Drop for Game {
    fn drop(&mut self) {
        // It has ended by itself where the test has not failed.
        let _ = self.child.kill();
    }
}

#[test]
fn a_race_of_two_is_played_rejoined_watched_and_verified() {
    let folder = tempfile::tempdir().expect("a folder for the game");
    let folder = folder.path();
    let mut host = Game::start(&["host"], folder);
    let ticket = host.line("ls1-");
    let mut guest = Game::start(&["join", &ticket], folder);
    let standing = host.line("flag at");
    guest.line("flag at");

    // A run beside the one that still plays is told which file is in use, and finds no other key.
    let (told, status) = Game::start(&["rejoin", "replays/match-2.replay"], folder).end();
    assert!(!status.success(), "{told}");

    guest.child.kill().expect("a child can be killed");
    // A process that is killed may take a while to end.
    guest.child.wait().expect("a child can be waited for");
    let mut back = Game::start(&["rejoin", "replays/match-2.replay"], folder);
    // It ends where it does not get back, and its lines say why.
    back.line("Rejoined");
    host.line("Rejoined");

    let flag: Vec<&str> = standing.split(' ').skip(2).take(2).collect();
    host.write(&flag.join(" "));
    let (hosted, status) = host.end();
    assert!(status.success(), "{status}");
    assert_eq!(
        hosted,
        "the game is decided: Some(Outcome { winner: Some(Seat(0)) })"
    );
    assert_eq!(back.end().0, hosted);

    let (watched, _) = Game::start(&["watch", "replays/match.replay"], folder).end();
    assert_eq!(watched, hosted);
    for replay in ["replays/match.replay", "replays/match-3.replay"] {
        let (verified, status) = Game::start(&["replay", "verify", replay], folder).end();
        assert!(status.success(), "{verified}");
        assert_eq!(
            verified.split_whitespace().collect::<Vec<_>>(),
            ["result", "seat", "0", "(player)", "won"]
        );
    }
    let replays = [
        "replay",
        "diff",
        "replays/match.replay",
        "replays/match-3.replay",
    ];
    let (compared, status) = Game::start(&replays, folder).end();
    assert!(status.success(), "{compared}");
}
