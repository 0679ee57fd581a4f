//! The replay viewer: any moment of a match, from the view of any seat.

mod above;
#[cfg(feature = "window")]
mod desktop;
pub(crate) mod events;
mod export;
pub mod film;
mod keys;
#[cfg(feature = "window")]
mod opening;
mod panels;
#[cfg(feature = "window")]
mod play_on;
pub mod reel;
pub mod survey;
mod timeline;

#[cfg(test)]
mod tests;

pub use demo_canvas::raster;

use super::canvas::Canvas;
use super::clock::now;
use super::game::camera::{Camera, place_of};
use super::game::land::Eye;
use super::game::scene::{Overlay, Scene};
use super::graphs::{self, Line};
use super::input::{Input, KeyCode};
use super::settings::Shared;
#[cfg(feature = "window")]
use super::sound::{self, listener};
use super::ui::Memory;
use super::words::viewer as words;
use super::{Next, Screen, players, theme};
use crate::home::look_at_first;
use crate::world::World;
#[cfg(feature = "window")]
pub use desktop::{NoWindow, run};
use events::{Event, Lane};
use export::{Exporting, outcome_text};
use film::Film;
use lockstep::Seat;
#[cfg(feature = "window")]
pub use opening::{Opener, Opening};
#[cfg(feature = "window")]
pub use play_on::MatchContext;
use raster::Still;
use reel::Reel;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use survey::Survey;

/// A replay in the window.
pub struct Viewer {
    path: PathBuf,
    settings: Shared,
    reel: Reel,
    survey: Survey,
    scene: Option<Scene>,
    camera: Option<Camera>,
    names: BTreeMap<Seat, String>,
    /// An index into [`SPEEDS`].
    speed: usize,
    going: Going,
    /// Where to seek once the current seek has arrived.
    wanted: Option<Wanted>,
    memory: Memory,
    side: Side,
    help: bool,
    /// Which events are listed and visited; `None` for all.
    lane: Option<Lane>,
    list: List,
    flash: Option<(String, Duration)>,
    /// What is wrong with the file, and since when that is known.
    trouble_since: Option<(String, Duration)>,
    exporting: Option<Exporting>,
    #[cfg(feature = "window")]
    exit_report: desktop::ExitReport,
    /// What a match begun from here needs; without it there is none.
    #[cfg(feature = "window")]
    match_context: Option<MatchContext>,
    /// The page that comes next.
    next: Option<Box<dyn Screen>>,
    now: Duration,
}

/// Whether time passes, and in which direction.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Going {
    On,
    Still,
    /// Backward: the tick reached, with its fraction.
    Back(f64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    Tick(u64),
    Turn(u32),
}

/// The panel at the right side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Nothing,
    Graphs,
    Events,
}

/// The list of events as shown.
#[derive(Debug, Default)]
struct List {
    /// The number of events and the lane that the list was made from.
    of: Option<(usize, Option<Lane>)>,
    lines: Vec<String>,
    /// The event of each line, as an index into the survey's events.
    events: Vec<usize>,
    first: usize,
    current: Option<usize>,
    /// The line that was chosen last.
    chosen: Option<usize>,
}

/// A replay that was read once and can be shown.
pub struct Opened {
    film: Film,
    reel: Reel,
    names: BTreeMap<Seat, String>,
}

impl Opened {
    /// Reads a file.
    ///
    /// # Errors
    /// Why it cannot be shown.
    pub fn file(path: &Path) -> Result<Opened, replay::Error> {
        Opened::of(Film::file(path))
    }

    /// Reads a film.
    ///
    /// # Errors
    /// Why it cannot be shown.
    pub fn of(film: Film) -> Result<Opened, replay::Error> {
        let mut reel = Reel::of(film.open()?)?;
        reel.seek_tick(0);
        let names = players::players_of(reel.reader()).into_iter().collect();
        Ok(Opened { film, reel, names })
    }
}

impl Viewer {
    /// A viewer of this replay.
    pub fn new(opened: Opened, settings: Shared) -> Viewer {
        let Opened { film, reel, names } = opened;
        let path = film.path().to_owned();
        let survey = Survey::begin(&film, &reel);
        Viewer {
            path,
            settings,
            survey,
            reel,
            scene: None,
            camera: None,
            names,
            speed: NORMAL,
            going: Going::On,
            wanted: None,
            memory: Memory::default(),
            side: Side::Nothing,
            help: false,
            lane: None,
            list: List::default(),
            flash: None,
            trouble_since: None,
            exporting: None,
            #[cfg(feature = "window")]
            exit_report: desktop::ExitReport::default(),
            #[cfg(feature = "window")]
            match_context: None,
            next: None,
            now: Duration::ZERO,
        }
    }

    /// Its position, as text.
    pub fn state(&self) -> String {
        let reel = &self.reel;
        let place = words::place(reel.turn(), reel.turns(), reel.tick());
        let over = if reel.is_over() { words::AT_END } else { "" };
        let read = match (self.survey.is_running(), self.survey.found.differs_after) {
            (_, Some(turns)) => words::differs(turns),
            (true, None) => words::reading(self.survey.reached() * 100 / reel.ticks().max(1)),
            (false, None) => words::agreed(self.survey.found.agreed),
        };
        let all = [place.as_str(), over, &read];
        let texts: Vec<&str> = all.into_iter().filter(|text| !text.is_empty()).collect();
        texts.join("   ")
    }

    /// Whether a match can begin from here.
    fn plays_on(&self) -> bool {
        #[cfg(feature = "window")]
        let plays_on = self.match_context.is_some();
        #[cfg(not(feature = "window"))]
        let plays_on = false;
        plays_on
    }

    fn name(&self, seat: Seat) -> String {
        let known = self.names.get(&seat).cloned();
        known.unwrap_or_else(|| format!("seat {}", u32::from(seat.0) + 1))
    }

    fn eye(&self) -> Eye {
        self.scene.as_ref().map_or(Eye::All, Scene::eye)
    }

    fn look_with(&mut self, eye: Eye) {
        if let (Some(scene), Some(world)) = (&mut self.scene, self.reel.world()) {
            scene.look_with(eye, world);
        }
    }

    /// The current tick, or that of a seek under way.
    fn tick(&self) -> u64 {
        match self.wanted {
            Some(Wanted::Tick(tick)) => tick,
            Some(Wanted::Turn(turn)) => {
                let turn = lockstep::TurnNumber(turn);
                self.reel.reader().ticks_before(turn)
            }
            None => self.reel.goal_tick().unwrap_or(self.reel.tick()),
        }
    }

    fn go_to(&mut self, tick: u64) {
        let tick = tick.min(self.reel.ticks());
        self.wanted = Some(Wanted::Tick(tick));
        if let Going::Back(at) = &mut self.going {
            *at = tick as f64;
        }
    }

    fn go_to_event(&mut self, event: &Event) {
        self.go_to(event.tick);
        if let (Some(at), Some(camera)) = (event.at, &mut self.camera) {
            camera.look_at(at);
        }
    }

    fn say(&mut self, text: String) {
        self.flash = Some((text, self.now + FLASH));
    }

    /// Lets time pass, in either direction.
    fn pass(&mut self, seconds: f32) {
        self.survey.poll(&mut self.reel);
        if !self.reel.is_seeking()
            && let Some(wanted) = self.wanted.take()
        {
            match wanted {
                Wanted::Tick(tick) => self.reel.seek_tick(tick),
                Wanted::Turn(turn) => self.reel.seek_turn(turn),
            }
        }
        if self.reel.is_seeking() {
            if self.reel.pursue(now() + SEEK_BUDGET) {
                self.arrive();
            }
            return;
        }
        let passed = seconds * SPEEDS[self.speed].0;
        match &mut self.going {
            Going::Still => {}
            Going::On => {
                let scene = &mut self.scene;
                #[cfg(feature = "window")]
                let camera = &self.camera;
                let more = self
                    .reel
                    .play(passed, now() + PLAY_BUDGET, |world, effects| {
                        let Some(scene) = scene else { return };
                        scene.step(world, effects);
                        #[cfg(feature = "window")]
                        if let Some(camera) = camera {
                            let cues = listener::of_tick(world, effects, scene.eye(), camera, None);
                            cues.into_iter().for_each(sound::play_cue);
                        }
                    });
                if !more {
                    self.going = Going::Still;
                }
            }
            Going::Back(at) => {
                *at = (*at - f64::from(passed) * TICKS).max(0.0);
                let to = at.ceil() as u64;
                if to < self.reel.tick() {
                    self.reel.seek_tick(to);
                    if self.reel.pursue(now() + SEEK_BUDGET) {
                        self.arrive();
                    }
                }
                if to == 0 {
                    self.going = Going::Still;
                }
            }
        }
    }

    /// A seek has arrived: the scene continues from there.
    fn arrive(&mut self) {
        let Some(world) = self.reel.world() else {
            return;
        };
        match &mut self.scene {
            Some(scene) => scene.leap(world),
            None => {
                let mut scene = Scene::new(Eye::All);
                scene.restart(world);
                self.scene = Some(scene);
                let first = world.seats().next().map_or(Seat(0), |seat| seat.seat);
                let home = look_at_first(first, world);
                self.camera = Some(Camera::new(place_of(home.centre()), world.map().size()));
            }
        }
    }

    fn draw_world(&mut self, input: &Input, canvas: &mut Canvas, covered: bool) {
        let (Some(world), Some(scene), Some(camera)) =
            (self.reel.world(), &mut self.scene, &mut self.camera)
        else {
            return;
        };
        camera.fit(canvas.whole(), canvas.scale());
        let steered = keys::steering(input, self.help);
        let settings = self.settings.borrow().clone();
        camera.steer(&steered, &settings, covered, true);
        let moves = self.going == Going::On && !self.reel.is_over();
        let seconds = input.seconds * SPEEDS[self.speed].0.clamp(1.0, 4.0);
        scene.pass(if moves { seconds } else { 0.0 });
        let alpha = self.reel.alpha();
        let under = input.mouse.filter(|_| !covered);
        let overlay = Overlay {
            selected: &[],
            under: under.and_then(|at| scene.at(at, camera, alpha)),
            alpha,
            all_bars: input.with.alt,
        };
        scene.draw(world, camera, &overlay, canvas);
    }

    /// The seats for graphs.
    fn lines(&self) -> Vec<Line> {
        let colour = |seat| {
            let known = self.reel.world().and_then(|world: &World| world.seat(seat));
            known.map_or(theme::of(seat), |known| known.colour)
        };
        let seats = self.survey.found.seats.iter();
        let line = |seat: &Seat| Line {
            name: self.name(*seat),
            colour: colour(*seat),
        };
        seats.map(line).collect()
    }

    fn export_graphs(&mut self) {
        if self.survey.is_running() {
            return self.say(words::STILL_READING.to_owned());
        }
        if self.survey.found.samples.len() < LEAST_SAMPLES {
            return self.say(words::TOO_LITTLE.to_owned());
        }
        let ticks = self.reel.ticks();
        let title = self.path.file_stem().unwrap_or_default().to_string_lossy();
        let length = (ticks, self.reel.time_of(ticks));
        let svg = graphs::svg(&title, &self.survey.found.samples, &self.lines(), length);
        let written = export::write_beside(&self.path, "graphs", "svg", |file| {
            file.write_all(svg.as_bytes())
        });
        self.say(outcome_text(&written));
    }

    fn export_picture(&mut self, canvas: &mut Canvas) {
        if self.exporting.is_some() {
            return;
        }
        let tick = self.reel.tick();
        let moment = words::moment(self.reel.time_of(tick), tick);
        let still = Still::of(canvas, theme::GROUND);
        match Exporting::picture(&self.path, &moment, still) {
            Ok(exporting) => {
                self.exporting = Some(exporting);
                self.say(words::DRAWING.to_owned());
            }
            Err(why) => self.say(words::unwritten(&why.to_string())),
        }
    }

    /// What is wrong with the file, as text.
    fn trouble(&self) -> Option<String> {
        let reader = self.reel.reader();
        let damage = reader.damage().map(|damage| {
            let remedy = damage.remedy(self.path.display());
            words::broken(&damage.to_string(), &remedy)
        });
        let error = self
            .reel
            .error()
            .map(|why| words::stopped(&why.to_string()));
        let survey = self.survey.trouble.as_deref().map(words::stopped);
        let differs = self.survey.found.differs_after.map(words::differs);
        let all = damage.into_iter().chain(error.or(survey)).chain(differs);
        let all: Vec<String> = all.collect();
        (!all.is_empty()).then(|| all.join(" "))
    }
}

impl Screen for Viewer {
    fn frame(&mut self, input: &Input, canvas: &mut Canvas) -> Next {
        self.now = input.now;
        if let Some(text) = self.exporting.as_ref().and_then(Exporting::poll) {
            self.exporting = None;
            self.say(text);
        }
        let leaves = self.press_keys(input);
        self.pass(input.seconds);
        let covered = self.covers(input, canvas);
        self.draw_world(input, canvas, covered);
        self.draw_panels(input, canvas);
        if input.hit(KeyCode::F2) {
            self.export_picture(canvas);
        }
        if input.hit(KeyCode::F3) {
            self.export_graphs();
        }
        self.draw_above(input, canvas);
        #[cfg(feature = "window")]
        if leaves || input.closing {
            self.store_exit_report();
        }
        match self.next.take() {
            _ if leaves => Next::Back,
            Some(page) => Next::Push(page),
            None => Next::Stay,
        }
    }
}

/// A line of a graph goes through at least so many samples.
const LEAST_SAMPLES: usize = 2;
/// Speeds and their names, ascending.
const SPEEDS: [(f32, &str); 9] = [
    (0.25, "0.25"),
    (0.5, "0.5"),
    (1.0, "1"),
    (2.0, "2"),
    (4.0, "4"),
    (8.0, "8"),
    (16.0, "16"),
    (32.0, "32"),
    (64.0, "64"),
];
/// The index of normal speed.
const NORMAL: usize = 2;
const TICKS: f64 = crate::world::TICKS_PER_SECOND as f64;
/// Time of one frame for a seek: most seeks arrive within it.
const SEEK_BUDGET: Duration = Duration::from_millis(120);
/// Time of one frame for stepping.
const PLAY_BUDGET: Duration = Duration::from_millis(24);
/// How long a message is shown.
const FLASH: Duration = Duration::from_secs(7);
