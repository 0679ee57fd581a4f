//! Prints, compares or rewrites the golden trace.

use everywhere::{How, compare, everything, toolkit};
use std::process::ExitCode;

const USAGE: &str = "everywhere                        prints the trace
everywhere threads N              prints it, computed by N threads
everywhere plain                  prints it, computed without the instructions that only newer machines have
everywhere toolkit                prints the part of the toolkit `sim`
everywhere compare GOLDEN FOUND   compares two files, and names the first line that differs
everywhere write                  rewrites tests/golden/trace.txt";

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
        [] => print(How::default()),
        ["threads", number] => number.parse().map_or(Err(USAGE.to_owned()), |number| {
            print(How {
                threads: Some(number),
                ..How::default()
            })
        }),
        ["plain"] => print(How {
            plain: true,
            ..How::default()
        }),
        ["toolkit"] => {
            print!("{}", toolkit().text());
            Ok(())
        }
        ["compare", golden, found] => compare_files(golden, found),
        ["write"] => write(),
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

fn print(how: How) -> Result<(), String> {
    print!("{}", everything(how).text());
    Ok(())
}

fn write() -> Result<(), String> {
    let trace = everything(How::default());
    std::fs::write(GOLDEN, format!("{HEAD}{}", trace.text()))
        .map_err(|error| format!("{GOLDEN} cannot be written: {error}"))
}

fn compare_files(golden: &str, found: &str) -> Result<(), String> {
    let read = |path: &str| {
        std::fs::read_to_string(path).map_err(|error| format!("{path} cannot be read: {error}"))
    };
    let equal = compare(&read(golden)?, &read(found)?).map_err(|error| error.to_string())?;
    println!("{equal} lines");
    Ok(())
}
