//! Prints the golden trace as this build computes it, compares it, or writes it anew.

use everywhere::{compare, everything, toolkit};
use std::process::ExitCode;

const USAGE: &str = "everywhere                        prints the trace
everywhere toolkit                prints the part of the toolkit `sim`
everywhere compare GOLDEN FOUND   compares two files, and names the first line that differs
everywhere write                  writes tests/golden/trace.txt anew";

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../golden/trace.txt");

const HEAD: &str = "\
# What every machine must compute: a name and a checksum a line. See tests/everywhere.
# Compared by `cargo test -p everywhere`, and on every target by tests/everywhere/run.
# When the rules of the demo's world change on purpose, write it anew with
#   cargo run --release -p everywhere -- write
# and look at what changed: the lines `sim/` must stay as they are for ever.
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        [] => {
            print!("{}", everything().text());
            Ok(())
        }
        ["toolkit"] => {
            print!("{}", toolkit().text());
            Ok(())
        }
        ["compare", golden, found] => compare_files(golden, found),
        ["write"] => std::fs::write(GOLDEN, format!("{HEAD}{}", everything().text()))
            .map_err(|error| error.to_string()),
        _ => Err(USAGE.to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn compare_files(golden: &str, found: &str) -> Result<(), String> {
    let read = |path: &str| {
        std::fs::read_to_string(path).map_err(|error| format!("{path} cannot be read: {error}"))
    };
    let equal = compare(&read(golden)?, &read(found)?).map_err(|error| error.to_string())?;
    println!("{equal} lines");
    Ok(())
}
