//! Regenerates the golden replays after a change of the rules: `cargo run --release -p tests --bin golden`.

use std::process::ExitCode;
use tests::golden;

fn main() -> ExitCode {
    let folder = golden::folder();
    match golden::make(&golden::all(), &folder).and_then(|()| golden::check(&folder)) {
        Ok(count) => {
            println!("{count} replays in {}", folder.display());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
