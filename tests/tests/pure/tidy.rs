//! Prose that is checked: what pages show and name is there.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the workspace holds this crate")
        .into()
}

pub fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn trimmed_lines(text: &str) -> Vec<&str> {
    text.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect()
}

/// The README and all pages of a folder, by path from the root, with their text.
fn pages(folders: &[&str]) -> Vec<(String, String)> {
    let mut pages = vec!["README.md".to_owned()];
    for folder in folders {
        let entries = std::fs::read_dir(root().join(folder)).expect("a folder of pages");
        let names = entries.flatten().map(|entry| entry.file_name());
        let names = names.filter_map(|name| name.into_string().ok());
        let of_pages = names.filter(|name| name.ends_with(".md"));
        pages.extend(of_pages.map(|name| format!("{folder}/{name}")));
    }
    assert!(pages.len() > folders.len(), "the pages are found");
    let with_text = |path: String| (path.clone(), read(&path));
    pages.into_iter().map(with_text).collect()
}

/// The blocks of code in a page: what stands behind the opening fence, and the code.
fn blocks(page: &str) -> Vec<(&str, &str)> {
    let fenced = page.split("```").skip(1).step_by(2);
    fenced
        .map(|block| block.split_once('\n').expect("a fence ends its line"))
        .collect()
}

/// The page without its blocks of code.
fn prose(page: &str) -> String {
    page.split("```").step_by(2).collect()
}

/// What stands between single backticks.
fn quoted(prose: &str) -> impl Iterator<Item = &str> {
    prose.split('`').skip(1).step_by(2)
}

#[test]
fn the_program_in_the_readme_is_the_example() {
    let readme = read("README.md");
    let shown = blocks(&readme)
        .into_iter()
        .find(|(kind, _)| *kind == "rust")
        .map(|(_, code)| trimmed_lines(code));
    let shown = shown.expect("the README shows a program");
    let example = read("lockstep/examples/minimal.rs");
    let example = trimmed_lines(&example);
    let found = example.windows(shown.len()).any(|part| part == shown);
    assert!(
        found,
        "README.md shows lines that are not, in this order, in lockstep/examples/minimal.rs"
    );
}

/// The first is not enough: fixed-point numbers check their products and quotients by assertions of their crate.
#[test]
fn profiles_that_check_integers_check_the_numbers_of_worlds() {
    let mut files = pages(&["docs", "sim/docs"]);
    let manifests = ["Cargo.toml", "tests/rivals/Cargo.toml"];
    files.extend(manifests.map(|path| (path.to_owned(), read(path))));
    files.retain(|(_, text)| text.contains("overflow-checks = true"));
    assert_eq!(files.len(), 5, "{files:?}");
    for (path, text) in files {
        let lines = trimmed_lines(&text);
        let settings = lines.iter().filter(|line| !line.starts_with('#'));
        let settings: Vec<&&str> = settings.collect();
        let checks = settings.windows(2).any(|pair| {
            pair[0].ends_with(".package.fixed]") && pair[1].starts_with("debug-assertions = true")
        });
        assert!(checks, "{path}");
    }
}

#[test]
fn a_complete_game_loop_takes_at_most_60_lines() {
    let lines = trimmed_lines(&read("lockstep/examples/minimal.rs")).len();
    assert!(lines <= 60, "{lines}");
}

/// Each block of the guide names its file in its first line. Together they are the files.
#[test]
fn the_guide_shows_the_whole_game() {
    let guide = read("docs/guide.md");
    let blocks: Vec<(&str, &str)> = blocks(&guide)
        .into_iter()
        .filter(|(kind, _)| kind.starts_with("rust"))
        .map(|(_, code)| code.split_once('\n').expect("a block names its file"))
        .collect();
    let files = ["src/lib.rs", "tests/determinism.rs", "src/main.rs"];
    for (name, _) in &blocks {
        let is_known = files.iter().any(|file| *name == format!("// {file}"));
        assert!(is_known, "{name} is none of {files:?}");
    }
    for file in files {
        let of_file = blocks
            .iter()
            .filter(|(name, _)| *name == format!("// {file}"));
        let shown: Vec<&str> = of_file.flat_map(|(_, code)| trimmed_lines(code)).collect();
        let whole = read(&format!("docs/first-game/{file}"));
        assert_eq!(shown, trimmed_lines(&whole), "docs/guide.md and {file}");
    }
}

#[test]
fn every_path_and_link_in_a_page_leads_somewhere() {
    let rooms = [
        "sim/",
        "lockstep/",
        "replay/",
        "demo-rts/",
        "tests/",
        "docs/",
        ".ci/",
    ];
    let mut links = 0;
    for (path, page) in pages(&["docs", "sim/docs"]) {
        let prose = prose(&page);
        for quoted in quoted(&prose) {
            if rooms.iter().any(|room| quoted.starts_with(room)) && !quoted.contains(' ') {
                let file = quoted.split("::").next().unwrap_or(quoted);
                assert!(root().join(file).exists(), "{path} names {quoted}");
            }
        }
        let folder = root()
            .join(&path)
            .parent()
            .expect("a page has a folder")
            .to_owned();
        let linked = prose.split("](").skip(1);
        for link in linked.filter_map(|rest| rest.split(')').next()) {
            links += 1;
            let is_elsewhere = link.contains("://");
            // Links of pages that are documentation of a crate may lead to an item of it.
            let is_item = path.starts_with("sim/") && link.starts_with("crate::");
            let file = link.split('#').next().unwrap_or(link);
            let leads = is_elsewhere || is_item || folder.join(file).exists();
            assert!(leads, "{path} links to {link}");
        }
    }
    assert!(links > 20, "links are found");
}

/// Whether the source has a test of this name.
fn has_test(source: &str, name: &str) -> bool {
    let lines: Vec<&str> = source.lines().map(str::trim_start).collect();
    let head = format!("fn {name}(");
    let mut at = (0..lines.len()).filter(|at| lines[*at].starts_with(&head));
    at.any(|at| {
        let mut above = lines[..at].iter().rev();
        let is_above = |line: &&&str| line.starts_with("#[") || line.starts_with("//");
        let mut attributes = above.by_ref().take_while(is_above);
        attributes.any(|line| *line == "#[test]")
    })
}

/// A test is named by its file and its name, as in `tests/tests/pure/tidy.rs::pronouns_are_found`.
#[test]
fn every_test_that_a_page_names_is_there() {
    let mut named = 0;
    for (path, page) in pages(&["docs", "sim/docs"]) {
        let prose = prose(&page);
        for quoted in quoted(&prose) {
            if let Some((file, test)) = quoted.split_once(".rs::") {
                named += 1;
                let file = format!("{file}.rs");
                assert!(has_test(&read(&file), test), "{path} names {quoted}");
            }
        }
    }
    assert!(named > 50, "{named} tests are named");
}

#[test]
fn a_name_that_no_test_has_is_found() {
    let source = "#[test]\n#[cfg(unix)]\n/// Why.\nfn is_one() {}\n\n#[test]\nfn other() {}\nfn is_none() {}";
    assert!(has_test(source, "is_one") && has_test(source, "other"));
    assert!(!has_test(source, "is_none") && !has_test(source, "is"));
}

#[test]
fn the_readme_has_at_most_1500_words() {
    let words = read("README.md").split_whitespace().count();
    assert!(words <= 1_500, "{words}");
}

/// Words that stand in the place of a noun: the subject of a sentence is a noun of the vocabulary.
const PRONOUNS: &str = "who whom whoever nobody somebody someone anybody anyone everybody everyone";
/// Names in formats, which stay.
const KEPT: [&str; 2] = ["nobody-plays", PRONOUNS];
/// Behind "that one", these make it a subject: "that one frame" has its noun.
const ENDS: [&str; 14] = [
    ".", ",", ";", ":", " is ", " was ", " has ", " had ", " goes ", " does ", " may ", " can ",
    " will ", " must ",
];

/// The first pronoun in a line, if it has one.
fn pronoun(line: &str) -> Option<String> {
    let line = KEPT
        .iter()
        .fold(line.to_lowercase(), |line, kept| line.replace(kept, ""));
    let mut words = line.split(|letter: char| !letter.is_alphabetic());
    let pronoun = words.find(|word| PRONOUNS.split(' ').any(|pronoun| pronoun == *word));
    let mut those = line.split("that one").skip(1);
    let is_subject = |rest: &str| ENDS.iter().any(|end| rest.starts_with(end));
    let that_one = those.any(is_subject).then_some("that one");
    pronoun.or(that_one).map(str::to_owned)
}

#[test]
fn pronouns_are_found() {
    assert_eq!(
        pronoun("fn who_comes_back_is_heard() {").as_deref(),
        Some("who")
    );
    assert_eq!(pronoun("// Verdict: Nobody.").as_deref(), Some("nobody"));
    assert_eq!(
        pronoun("/// Waits for that one, too.").as_deref(),
        Some("that one")
    );
    assert_eq!(
        pronoun("/// A peer whose code that one signature attests."),
        None
    );
    assert_eq!(
        pronoun(r#"EndReason::OnlyJoiners => "nobody-plays","#),
        None
    );
}

#[test]
fn pages_speak_of_peers_and_players() {
    for (path, page) in pages(&["docs", "sim/docs"]) {
        let prose = prose(&page);
        for text in prose.split('`').step_by(2) {
            assert_eq!(pronoun(text), None, "{path} says `{text}`");
        }
    }
}

/// Comments, names and texts alike.
#[test]
fn source_speaks_of_peers_and_players() {
    let mut said = Vec::new();
    for path in source_files() {
        let text = std::fs::read_to_string(&path).expect("text");
        let own_list = path.ends_with("pure/tidy.rs");
        for (line, number) in text.lines().zip(1..).filter(|_| !own_list) {
            if pronoun(line).is_some() {
                said.push(format!("{}:{number}: {}", path.display(), line.trim()));
            }
        }
    }
    assert!(said.is_empty(), "{}", said.join("\n"));
}

/// Targets that pages name by `--bin`, `--example`, `--bench` and `--test`, and commands of the demo, are there.
#[cfg(feature = "demo")]
#[test]
fn every_command_in_a_page_can_be_typed() {
    let folders = |kind: &str| match kind {
        "--bin" => vec!["tests/src/bin"],
        "--example" => vec![
            "lockstep/examples",
            "demo-rts/examples",
            "demo-rts/world/examples",
        ],
        "--bench" => vec!["sim/benches", "demo-rts/world/benches"],
        "--test" => vec!["tests/tests", "demo-rts/world/tests"],
        _ => vec![],
    };
    let (mut targets, mut commands) = (0, 0);
    for (path, page) in pages(&["docs"]) {
        let in_blocks = blocks(&page)
            .into_iter()
            .filter(|(kind, _)| *kind == "sh")
            .flat_map(|(_, code)| code.lines());
        let prose = prose(&page);
        for line in in_blocks.chain(quoted(&prose)) {
            let line = line.split(" #").next().unwrap_or(line).trim();
            let words: Vec<&str> = line.split_whitespace().collect();
            for pair in words.windows(2).filter(|_| words.contains(&"cargo")) {
                let folders = folders(pair[0]);
                if folders.is_empty() {
                    continue;
                }
                targets += 1;
                let there = folders.iter().any(|folder| {
                    let at = root().join(folder).join(pair[1]);
                    at.with_extension("rs").exists() || at.is_dir()
                });
                assert!(there, "{path} names {} {}", pair[0], pair[1]);
            }
            let of_demo = line
                .strip_prefix("cargo run --release -- ")
                .or_else(|| line.strip_prefix("demo-rts "));
            if let Some(arguments) = of_demo.filter(|arguments| !arguments.starts_with('→')) {
                commands += 1;
                // A file that a command is to read need not be there.
                let arguments = arguments.replace("@bad.txt", "loss=1%");
                let typed = ["demo-rts"].into_iter().chain(arguments.split_whitespace());
                if let Err(error) = demo_rts::command_line().try_get_matches_from(typed) {
                    assert!(!error.use_stderr(), "{path}: {line}: {error}");
                }
            }
        }
    }
    assert!(targets > 10 && commands > 10, "{targets} and {commands}");
}

/// All files of Rust in the repository.
fn source_files() -> Vec<PathBuf> {
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
    for room in ["sim", "lockstep", "replay", "demo-rts", "docs", "tests"] {
        walk(&root().join(room), &mut files);
    }
    assert!(files.len() > 50, "the source is found");
    files
}

#[test]
fn no_source_file_outgrows_700_lines() {
    for file in source_files()
        .iter()
        .filter(|file| file.file_name().is_some_and(|name| name != "tests.rs"))
    {
        let lines = std::fs::read_to_string(file).expect("text").lines().count();
        assert!(lines <= 700, "{}: {lines} lines", file.display());
    }
}
