//! Applies patches with bugs to a copy of the source, behind a switch. The environment variable `PLANTED` selects a
//! patch by its number among the arguments, from 1 on.
//!
//! Each patched function keeps its old body beside the new ones, so that one build serves all patches.

use clap::Parser;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Apply patches with bugs behind a switch.
#[derive(Parser)]
struct Arguments {
    /// The copy to change.
    copy: PathBuf,
    /// Patches against the copy.
    #[arg(required = true)]
    patches: Vec<PathBuf>,
}

/// By file and by line of the function: the patched bodies, with the numbers of their patches.
type Bodies = BTreeMap<PathBuf, BTreeMap<usize, Vec<(usize, String)>>>;

fn main() -> ExitCode {
    let Arguments { copy, patches } = Arguments::parse();
    let mut bodies = Bodies::new();
    for (patch, number) in patches.iter().zip(1..) {
        if let Err(error) = read(&copy, patch, number, &mut bodies) {
            eprintln!("{}: {error}", patch.display());
            return ExitCode::FAILURE;
        }
    }
    match write(&copy, &bodies) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Collects the bodies that a patch changes. Leaves the copy as it was.
fn read(copy: &Path, patch: &Path, number: usize, bodies: &mut Bodies) -> Result<(), String> {
    let text = std::fs::read_to_string(patch).map_err(|error| error.to_string())?;
    let files = text.lines().filter_map(|line| line.strip_prefix("+++ b/"));
    for file in files.map(PathBuf::from) {
        let before = contents(&copy.join(&file))?;
        apply(copy, patch, &[])?;
        let after = contents(&copy.join(&file));
        apply(copy, patch, &["--reverse"])?;
        let after = after?;
        let (old, new) = (functions(&before), functions(&after));
        if without(&before, &old) != without(&after, &new) {
            let file = file.display();
            return Err(format!(
                "changes {file} outside of function bodies: move the change into a function"
            ));
        }
        for (at, (old, new)) in old.iter().zip(&new).enumerate() {
            let new = joined(&after, new.clone());
            if joined(&before, old.clone()) != new {
                let of_file = bodies.entry(file.clone()).or_default();
                of_file.entry(at).or_default().push((number, new));
            }
        }
    }
    Ok(())
}

fn apply(copy: &Path, patch: &Path, options: &[&str]) -> Result<(), String> {
    let patch = std::path::absolute(patch).map_err(|error| error.to_string())?;
    let mut command = Command::new("patch");
    let command = command.current_dir(copy).args(["--quiet", "--strip=1"]);
    let command = command.args(["--no-backup-if-mismatch", "-i"]).arg(patch);
    match command.args(options).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err("does not apply".to_owned()),
        Err(error) => Err(format!("the program patch does not run: {error}")),
    }
}

/// Writes every changed file with its switches, and the switch function into each crate's root.
fn write(copy: &Path, bodies: &Bodies) -> Result<(), String> {
    let mut roots = std::collections::BTreeSet::new();
    for (file, changed) in bodies {
        let before = contents(&copy.join(file))?;
        let lines: Vec<&str> = before.lines().collect();
        let (mut text, mut next) = (String::new(), 0);
        for (at, body) in functions(&before).into_iter().enumerate() {
            let Some(changed) = changed.get(&at) else {
                continue;
            };
            text += &(lines[next..body.start].join("\n") + "\nmatch crate::planted() {\n");
            for (number, patched) in changed {
                text += &format!("{number} => {{\n{patched}\n}}\n");
            }
            let original = lines[body.clone()].join("\n");
            text += &format!("_ => {{\n{original}\n}}\n}}\n");
            next = body.end;
        }
        text += &(lines[next..].join("\n") + "\n");
        put(&copy.join(file), &text)?;
        let source = file
            .ancestors()
            .find(|folder| folder.ends_with("src"))
            .ok_or_else(|| format!("{} is in no folder src", file.display()))?;
        roots.insert(source.join("lib.rs"));
    }
    for root in roots {
        let root = copy.join(root);
        put(&root, &(contents(&root)? + SWITCH))?;
    }
    Ok(())
}

/// The switch function of a crate.
const SWITCH: &str = r#"
pub fn planted() -> u32 {
    static PLANTED: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    let number = || std::env::var("PLANTED").ok()?.parse().ok();
    *PLANTED.get_or_init(|| number().unwrap_or(0))
}
"#;

/// The line ranges of all outermost function bodies, as `rustfmt` formats them.
fn functions(text: &str) -> Vec<Range<usize>> {
    let lines: Vec<&str> = text.lines().collect();
    let (mut found, mut at) = (Vec::new(), 0);
    while at < lines.len() {
        let indent = &lines[at][..lines[at].len() - lines[at].trim_start().len()];
        let opens = |line: &&str| line.ends_with('{') || line.ends_with([';', '}']);
        let ends = lines[at..].iter().position(opens).map(|more| at + more);
        at += 1;
        let Some(begins) = ends.filter(|_| is_function(lines[at - 1])) else {
            continue;
        };
        if lines[begins].ends_with('{') {
            let closes = format!("{indent}}}");
            let rest = lines[begins..].iter().position(|line| *line == closes);
            let end = rest.map_or(lines.len(), |more| begins + more);
            found.push(begins + 1..end);
            at = end;
        }
    }
    found
}

/// Whether a function that is not `const` begins in this line.
fn is_function(line: &str) -> bool {
    let line = line.trim_start();
    let line = match line.strip_prefix("pub(") {
        Some(rest) => rest.split_once(") ").map_or(rest, |(_, rest)| rest),
        None => line.strip_prefix("pub ").unwrap_or(line),
    };
    line.starts_with("fn ")
}

/// A text without these lines.
fn without(text: &str, parts: &[Range<usize>]) -> Vec<String> {
    let lines = text.lines().enumerate();
    let outside = lines.filter(|(at, _)| !parts.iter().any(|part| part.contains(at)));
    outside.map(|(_, line)| line.to_owned()).collect()
}

fn joined(text: &str, lines: Range<usize>) -> String {
    let lines: Vec<&str> = text.lines().skip(lines.start).take(lines.len()).collect();
    lines.join("\n")
}

fn contents(file: &Path) -> Result<String, String> {
    std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))
}

fn put(file: &Path, text: &str) -> Result<(), String> {
    std::fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))
}
