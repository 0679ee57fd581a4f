//! Measures the viewer's seeks: goes to moments throughout a replay and prints percentiles, with the file's
//! keyframes alone, and with the viewer's own snapshots.
//!
//! ```sh
//! cargo run --release -p demo-rts --example seeks -- match.replay 200
//! ```

use demo_rts::window::clock;
use demo_rts::window::viewer::film::Film;
use demo_rts::window::viewer::reel::Reel;
use demo_rts::window::viewer::survey::Survey;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    let Some(path) = words.next().map(PathBuf::from) else {
        eprintln!("usage: seeks REPLAY [HOW-MANY]");
        return ExitCode::FAILURE;
    };
    let many = words.next().and_then(|text| text.to_str()?.parse().ok());
    match measure(path, many.unwrap_or(200)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn measure(path: PathBuf, many: u32) -> Result<(), replay::Error> {
    let mut reel = Reel::open(&path)?;
    let (turns, ticks) = (reel.turns(), reel.ticks());
    let keyframes = reel.reader().keyframes().len();
    println!("{turns} turns, {ticks} ticks, {keyframes} keyframes in the file");
    println!("with the file's keyframes:   {}", seeks(&mut reel, many));
    let begun = now();
    let mut survey = Survey::begin(&Film::file(&path), &reel);
    while survey.is_running() {
        survey.poll(&mut reel);
        std::thread::sleep(Duration::from_millis(1));
    }
    let (snapshots, bytes) = survey.kept();
    println!(
        "the match was read in {:.1} s: {} events, {snapshots} snapshots of {:.1} MiB in all",
        begun.elapsed().as_secs_f32(),
        survey.found.events.len(),
        bytes as f64 / f64::from(1 << 20),
    );
    println!("with the viewer's snapshots: {}", seeks(&mut reel, many));
    Ok(())
}

fn seeks(reel: &mut Reel, many: u32) -> String {
    let mut times: Vec<Duration> = (1..=u64::from(many.max(1)))
        .map(|place| {
            // Steps of the golden ratio cover the replay evenly, with long jumps.
            let part = place.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
            let to = (part * (reel.ticks() + 1)) >> 32;
            let begun = now();
            reel.seek_tick(to);
            reel.pursue(clock::now() + Duration::from_secs(600));
            begun.elapsed()
        })
        .collect();
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() - 1) * percent / 100].as_secs_f32() * 1_000.0;
    format!(
        "p50 {:.0} ms, p95 {:.0} ms, max {:.0} ms",
        at(50),
        at(95),
        at(100)
    )
}

#[expect(clippy::disallowed_methods, reason = "a measurement")]
fn now() -> Instant {
    Instant::now()
}
