//! Plants bugs behind a switch: of a copy of the source with patches it makes one source in which the environment
//! variable `PLANTED` says which of them is in force, by its number in the order of the arguments, from 1 on.
//!
//! Each function that a patch changes keeps its old body beside the new one, so that one build serves all patches.

use clap::Parser;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Plants bugs behind a switch.
#[derive(Parser)]
struct Arguments {
    /// The folder of the copy, which is changed.
    copy: PathBuf,
    /// Patches against it.
    #[arg(required = true)]
    patches: Vec<PathBuf>,
}

/// By file: by function, the bodies that patches give it, with the patches' numbers.
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

/// Notes the bodies that a patch changes. The copy is as before afterwards.
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
                "changes {file} outside of the bodies of functions: express it within one"
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

/// Writes every changed file with its switches, and what they ask into the crates' roots.
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

/// What a crate's functions ask.
const SWITCH: &str = r#"
/// Which bug is in force.
pub fn planted() -> u32 {
    static PLANTED: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    let number = || std::env::var("PLANTED").ok()?.parse().ok();
    *PLANTED.get_or_init(|| number().unwrap_or(0))
}
"#;

/// The lines of the bodies of all functions that are in no other one, as `rustfmt` lays them out.
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
