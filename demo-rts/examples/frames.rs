//! Measures frame times: draws scenarios of many units and prints percentiles.
//!
//! ```sh
//! cargo run --release -p demo-rts --example frames -- 200 2000 10000
//! ```

use demo_rts::facts::Facts;
use demo_rts::signals::QuitRequest;
use demo_rts::window::canvas::Canvas;
use demo_rts::window::game::table::{Around, Table};
use demo_rts::window::input::Input;
use demo_rts::window::settings::{Settings, Shared};
use demo_rts::window::{self, Next, Screen};
use demo_rts::world::{Effect, Scenario, Setup, World};
use sim::{Seat, Seed, Simulation, Start};
use std::time::{Duration, Instant};

fn main() {
    let units: Vec<u32> = std::env::args()
        .skip(1)
        .filter_map(|text| text.parse().ok())
        .collect();
    let units = if units.is_empty() {
        vec![200, 2_000, 10_000]
    } else {
        units
    };
    let settings = Shared::default();
    settings.borrow_mut().most_frames = 100_000;
    settings.borrow_mut().edge_scroll = false;
    let asked = QuitRequest::listen().expect("signals can be listened to");
    let shared = settings.clone();
    let first = move || -> Box<dyn Screen> { Box::new(Bench::new(units, shared.borrow().clone())) };
    if window::open("frames", &settings, &asked, first).is_err() {
        eprintln!("cannot open a window");
    }
}

struct Bench {
    left: Vec<u32>,
    settings: Settings,
    stage: Option<Stage>,
}

struct Stage {
    units: u32,
    world: World,
    table: Table,
    facts: Facts,
    frames: Vec<Duration>,
    began: Option<Instant>,
    since_tick: f32,
    drawing: Duration,
    stepping: Duration,
}

impl Bench {
    fn new(mut units: Vec<u32>, settings: Settings) -> Bench {
        units.reverse();
        Bench {
            left: units,
            settings,
            stage: None,
        }
    }
}

impl Stage {
    fn new(units: u32) -> Stage {
        // Marching units do not fight, so their number stays the same.
        let scenario = Scenario::March { units };
        let setup = Setup {
            scenario,
            ..Setup::default()
        };
        let seats = (0..4).map(Seat).collect();
        let seed = Seed([7; 32]);
        let world = World::new(&Start { setup, seed, seats });
        Stage {
            units,
            table: Table::new(None, &world),
            world,
            facts: Facts::new("frames"),
            frames: Vec::new(),
            began: None,
            since_tick: 0.0,
            drawing: Duration::ZERO,
            stepping: Duration::ZERO,
        }
    }

    fn frame(&mut self, input: &Input, canvas: &mut Canvas, settings: &Settings) {
        let now = now();
        if let Some(began) = self.began.replace(now) {
            self.frames.push(now.duration_since(began));
        }
        self.since_tick += input.seconds;
        let mut effects: Vec<Effect> = Vec::new();
        while self.since_tick >= TICK {
            self.since_tick -= TICK;
            effects.clear();
            self.world.step(&[], &mut effects);
            self.table.step(&self.world, &effects);
        }
        self.stepping += now.elapsed();
        let drawing = self::now();
        let middle = f32::from(self.world.map().size()) / 2.0;
        self.table.camera.centre = (middle, middle);
        self.table.camera.zoom = 0.01;
        let around = Around {
            world: &self.world,
            facts: &self.facts,
            settings,
            alpha: (self.since_tick / TICK).min(1.0),
            alarm: None,
            covered: true,
        };
        self.table.frame(input, canvas, around);
        self.drawing += drawing.elapsed();
    }

    fn report(&mut self, canvas: &Canvas) {
        self.frames.drain(..WARM.min(self.frames.len()));
        // A click happens anywhere within a frame, takes effect in the next, and shows at its end.
        let mut answers: Vec<Duration> = self
            .frames
            .windows(2)
            .enumerate()
            .map(|(n, pair)| pair[0].mul_f64((n % 16) as f64 / 16.0) + pair[1])
            .collect();
        let many = self.frames.len() as u32;
        let (drawing, stepping) = (self.drawing / many, self.stepping / many);
        let (width, height) = canvas.size();
        println!(
            "{:6} units, {width}x{height}, {} alive: frame p50 {:5.1} p99 {:5.1} ms; click to answer p50 {:5.1} p99 {:5.1} ms; \
             of a frame {:.1} ms building it, {:.1} ms world; {} triangles, {} draw calls",
            self.units,
            self.world.units().count(),
            ms(percentile(&mut self.frames, 50)),
            ms(percentile(&mut self.frames, 99)),
            ms(percentile(&mut answers, 50)),
            ms(percentile(&mut answers, 99)),
            ms(drawing),
            ms(stepping),
            canvas.triangles().1.len() / 3,
            canvas.batches().len(),
        );
    }
}

impl Screen for Bench {
    fn frame(&mut self, input: &Input, canvas: &mut Canvas) -> Next {
        if self.stage.is_none() {
            match self.left.pop() {
                Some(units) => self.stage = Some(Stage::new(units)),
                None => return Next::Quit,
            }
        }
        if let Some(stage) = &mut self.stage {
            stage.frame(input, canvas, &self.settings);
            if stage.frames.len() >= FRAMES + WARM {
                stage.report(canvas);
                self.stage = None;
            }
        }
        Next::Stay
    }
}

fn percentile(times: &mut [Duration], percent: usize) -> Duration {
    times.sort_unstable();
    times
        .get(times.len() * percent / 100)
        .copied()
        .unwrap_or_default()
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

#[expect(clippy::disallowed_methods, reason = "a measurement")]
fn now() -> Instant {
    Instant::now()
}

const TICK: f32 = 0.05;
/// Measured frames.
const FRAMES: usize = 300;
/// Frames before the measured ones.
const WARM: usize = 20;
