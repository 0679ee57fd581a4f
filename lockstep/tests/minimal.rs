//! The example, run as its readers run it: two processes, one ticket.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

fn example(argument: Option<&str>, home: &std::path::Path) -> Child {
    // Test binaries lie in `deps`, beside `examples`, which cargo builds for every test run.
    let deps = std::env::current_exe().expect("a test has a path");
    let target: PathBuf = deps
        .ancestors()
        .nth(2)
        .expect("deps lies in a target folder")
        .into();
    Command::new(target.join("examples/minimal"))
        .args(argument)
        .env("XDG_DATA_HOME", home)
        .env("HOME", home)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the example is built beside the tests")
}

#[test]
fn two_processes_play_to_the_same_end() {
    let home = tempfile::tempdir().expect("a folder for the identities");
    let mut host = example(None, home.path());
    let mut host_lines = BufReader::new(host.stdout.take().expect("piped"))
        .lines()
        .map_while(Result::ok);
    let ticket = host_lines.next().expect("the host prints its ticket first");
    let joiner = example(Some(&ticket), home.path());
    let joined = joiner
        .wait_with_output()
        .expect("the joiner ends by itself");
    let hosted: Vec<String> = host_lines.collect();
    assert!(host.wait().expect("the host ends by itself").success());
    let joined = String::from_utf8(joined.stdout).expect("text");
    assert!(
        hosted.last().is_some_and(|line| line.contains("decided")),
        "{hosted:?}"
    );
    assert_eq!(hosted.last().map(String::as_str), joined.lines().last());
}
