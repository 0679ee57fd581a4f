//! Checks of prose and files: what the README shows and names exists.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the workspace holds this crate")
        .into()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn trimmed_lines(text: &str) -> Vec<&str> {
    text.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect()
}

#[test]
fn the_program_in_the_readme_is_the_example() {
    let readme = read("README.md");
    let shown = readme
        .split("```rust")
        .nth(1)
        .and_then(|rest| rest.split("```").next());
    let shown = shown.expect("the README shows a program");
    let shown = trimmed_lines(shown.trim_start_matches(",ignore"));
    let example = read("lockstep/examples/minimal.rs");
    let example = trimmed_lines(&example);
    let found = example.windows(shown.len()).any(|part| part == shown);
    assert!(
        found,
        "README.md shows lines that are not, in this order, in lockstep/examples/minimal.rs"
    );
}

#[test]
fn a_complete_game_loop_takes_at_most_60_lines() {
    let lines = trimmed_lines(&read("lockstep/examples/minimal.rs")).len();
    assert!(lines <= 60, "{lines}");
}

#[test]
fn every_path_in_the_readme_exists() {
    let readme = read("README.md");
    let quoted = readme.split('`').skip(1).step_by(2);
    let linked = readme
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next());
    let rooms = [
        "sim/",
        "lockstep/",
        "replay/",
        "demo-rts/",
        "tests/",
        "docs/",
    ];
    for path in quoted.chain(linked) {
        if rooms.iter().any(|room| path.starts_with(room)) && !path.contains(' ') {
            assert!(root().join(path).exists(), "README.md names {path}");
        }
    }
}

#[test]
fn no_source_file_outgrows_700_lines() {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder)
            .expect("a folder of the source")
            .flatten()
        {
            let path = entry.path();
            if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
                walk(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    let mut files = Vec::new();
    for room in ["sim", "lockstep", "replay", "demo-rts", "tests"] {
        walk(&root().join(room), &mut files);
    }
    assert!(files.len() > 50, "the source is found");
    for file in files
        .iter()
        .filter(|file| file.file_name().is_some_and(|name| name != "tests.rs"))
    {
        let lines = std::fs::read_to_string(file).expect("text").lines().count();
        assert!(lines <= 700, "{}: {lines} lines", file.display());
    }
}
