//! A replay on the terminal: pause, seek and speed.

use crate::exit::{self, Problem};
use crate::facts::Facts;
use crate::news::News;
use crate::peer::now;
use crate::plain;
use crate::play::{home, seat_name};
use crate::signals::QuitRequest;
use crate::terminal::controls::stepped;
use crate::terminal::{Console, Screen};
use crate::world::{TICKS_PER_SECOND, Tile, World};
use lockstep::source::TurnSource;
use lockstep::{EndReason, Match, Status, TurnNumber};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use replay::{Player, Speed};
use sim::State;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Shows a replay until the screen is closed.
///
/// # Errors
/// [`Problem`]: not a replay of this game, or no terminal.
pub fn run(path: &Path, asked: &QuitRequest) -> Result<ExitCode, Problem> {
    let mut game = replay::open::<World>(path).map_err(|source| Problem::Replay {
        path: path.to_owned(),
        source,
    })?;
    let mut console = Console::open(asked).map_err(Problem::Terminal)?;
    let name = path.file_name().unwrap_or(path.as_os_str());
    let damage = game.source().reader().damage();
    let mut viewer = Viewer {
        damage: damage
            .map(|damage| format!("this file {damage}: {}", damage.remedy(path.display()))),
        facts: Facts::new(name.to_string_lossy()),
        speed: 2,
        paused: false,
        close: false,
        centre: None,
        seeking: false,
    };
    let shown = viewer.show(&mut game, &mut console, asked);
    drop(console);
    shown.map_err(Problem::Terminal)?;
    let ended = viewer.facts.ended;
    let winner = ended.as_ref().and_then(|ended| ended.outcome?.winner);
    if let Some(seat) = winner {
        plain::print(&format!("{} won", seat_name(seat))).map_err(Problem::Terminal)?;
    }
    let fault = ended.and_then(|ended| world_error(ended.reason));
    let source = game.source();
    let error = source.error().or(fault.as_ref());
    Ok(ExitReport::of(path, source.reader().damage(), error).print())
}

/// The panic of the world that ended a replay.
fn world_error(reason: EndReason) -> Option<replay::Error> {
    match reason {
        EndReason::WorldFault { turn, message, .. } => Some(replay::Error::World {
            turn: turn.0,
            message,
        }),
        _ => None,
    }
}

/// What is wrong with a watched file.
#[derive(Default)]
pub(crate) struct ExitReport {
    lines: Vec<String>,
    code: u8,
}

impl ExitReport {
    pub(crate) fn of(
        path: &Path,
        damage: Option<replay::Damage>,
        error: Option<&replay::Error>,
    ) -> ExitReport {
        let name = plain::shown(path);
        let mut lines = Vec::new();
        if let Some(damage) = damage {
            lines.push(format!("{name}: {damage}"));
            lines.push(format!("{name}: {}", damage.remedy(plain::quoted(path))));
        }
        lines.extend(error.map(|error| format!("{name}: {error}")));
        let code = match (error, damage) {
            (Some(error), _) => exit::of_replay(error),
            (None, Some(_)) => exit::DAMAGED,
            (None, None) => exit::GOOD,
        };
        ExitReport { lines, code }
    }

    /// Prints its lines and returns the exit code.
    pub(crate) fn print(&self) -> ExitCode {
        for line in &self.lines {
            // A closed stderr leaves no way to report its own failure.
            let _ = writeln!(std::io::stderr(), "demo-rts: {line}");
        }
        ExitCode::from(self.code)
    }
}

struct Viewer {
    facts: Facts,
    /// Where the file breaks off, and the remedy.
    damage: Option<String>,
    /// An index into [`speeds`].
    speed: usize,
    paused: bool,
    close: bool,
    /// The centre of the view.
    centre: Option<Tile>,
    /// Whether the world runs to the target of a seek. Events on the way are not logged.
    seeking: bool,
}

impl Viewer {
    fn show(
        &mut self,
        game: &mut Match<World, Player>,
        console: &mut Console,
        asked: &QuitRequest,
    ) -> std::io::Result<()> {
        let mut drawn_at: Option<Instant> = None;
        while !asked.is_set() {
            let mut lines = Vec::new();
            let (facts, silent) = (&self.facts, self.seeking);
            let events = game.poll_each_tick(|world, effects| {
                if !silent {
                    let named = |seat| facts.name(seat);
                    lines.extend(News::default().of(world, effects, None, named, |_| true));
                }
            });
            lines.into_iter().for_each(|line| self.facts.note(line));
            for event in events {
                self.facts.take(&event);
            }
            self.facts.status = Some(game.status());
            self.facts.turns = Some(game.source().turns());
            // A seek emits no events, so they do not tell where it ended.
            self.facts.turn = game.source().next_turn().0.checked_sub(1);
            self.facts.tick = game.ticks();
            let busy = matches!(game.status(), Status::CatchingUp { .. });
            if std::mem::replace(&mut self.seeking, busy) && !busy {
                self.facts.checksum = game.world().map(State::checksum);
            }
            // Set once: the unit at the centre may move or die, and the view must not jump.
            self.centre = self.centre.or_else(|| game.world().map(home));
            if drawn_at.is_none_or(|at| at.elapsed() >= FRAME) {
                drawn_at = Some(now());
                let prompt = self.prompt();
                console.draw(&Screen {
                    facts: &self.facts,
                    world: game.world(),
                    hand: None,
                    centre: self.centre,
                    close: self.close,
                    notice: "loading",
                    prompt,
                    keys: &KEYS,
                })?;
            }
            let wait = if busy { Duration::ZERO } else { SHORT };
            if let Some(key) = console.key(wait)?
                && !self.press(key, game)
            {
                return Ok(());
            }
        }
        Ok(())
    }

    /// `false` when the viewer quits.
    fn press(&mut self, key: KeyEvent, game: &mut Match<World, Player>) -> bool {
        match key.code {
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return false,
            KeyCode::Char('q') | KeyCode::Esc => return false,
            KeyCode::Char(' ') => {
                self.paused = !self.paused;
                self.set_speed(game);
            }
            KeyCode::Char('+' | '=') => {
                self.speed = (self.speed + 1).min(speeds().len() - 1);
                self.set_speed(game);
            }
            KeyCode::Char('-') => {
                self.speed = self.speed.saturating_sub(1);
                self.set_speed(game);
            }
            KeyCode::Right => self.jump(game, 10),
            KeyCode::Left => self.jump(game, -10),
            KeyCode::PageDown => self.jump(game, 60),
            KeyCode::PageUp => self.jump(game, -60),
            KeyCode::Char('.') => self.seek(game, 1),
            KeyCode::Char(',') => self.seek(game, -1),
            KeyCode::Home => self.seek(game, i64::from(i32::MIN)),
            KeyCode::End => self.seek(game, i64::from(u32::MAX)),
            KeyCode::Char('z') => self.close = !self.close,
            KeyCode::Char(letter) => self.look(letter, game),
            _ => {}
        }
        true
    }

    /// Moves the view by letters: the arrows move in time here.
    fn look(&mut self, letter: char, game: &Match<World, Player>) {
        let arrow = match letter.to_ascii_lowercase() {
            'a' => KeyCode::Left,
            'd' => KeyCode::Right,
            'w' => KeyCode::Up,
            's' => KeyCode::Down,
            _ => return,
        };
        if let Some(world) = game.world() {
            let at = self.centre.unwrap_or_else(|| home(world));
            let far = letter.is_ascii_uppercase();
            self.centre = stepped(at, arrow, far, world.map().size());
        }
    }

    fn set_speed(&self, game: &mut Match<World, Player>) {
        let (speed, _) = speeds()[self.speed];
        let speed = if self.paused { Speed::PAUSED } else { speed };
        game.source().set_speed(speed);
    }

    /// Seeks by seconds of play at the default pace: a change of the plan changes how many turns these are.
    fn jump(&mut self, game: &mut Match<World, Player>, seconds: i64) {
        let from = Self::goal(game);
        let reader = game.source().reader();
        let ticks = seconds * i64::from(TICKS_PER_SECOND);
        let to = reader.ticks_before(from).saturating_add_signed(ticks);
        let to = reader.turn_of(to);
        self.go_to(game, to);
    }

    /// Seeks by turns.
    fn seek(&mut self, game: &mut Match<World, Player>, by: i64) {
        let last = i64::from(game.source().turns());
        let to = i64::from(Self::goal(game).0).saturating_add(by);
        let to = u32::try_from(to.clamp(0, last)).unwrap_or(0);
        self.go_to(game, TurnNumber(to));
    }

    /// Held keys come faster than a seek arrives: they count from where it goes.
    fn goal(game: &mut Match<World, Player>) -> TurnNumber {
        let source = game.source();
        source.goal().unwrap_or(source.next_turn())
    }

    fn go_to(&mut self, game: &mut Match<World, Player>, to: TurnNumber) {
        self.facts.ended = None;
        self.seeking = true;
        let ticks = game.source().reader().ticks_before(to);
        self.facts.rewind(ticks);
        game.source().seek(to);
    }

    fn prompt(&self) -> String {
        let (_, name) = speeds()[self.speed];
        let paused = if self.paused { "paused, " } else { "" };
        let mut prompt = format!("{paused}speed {name}");
        if let Some(damage) = &self.damage {
            prompt.push_str("  ");
            prompt.push_str(damage);
        }
        prompt
    }
}

/// Speeds to choose from, ascending.
fn speeds() -> [(Speed, &'static str); 9] {
    [
        (Speed::QUARTER, "1/4"),
        (Speed::HALF, "1/2"),
        (Speed::NORMAL, "1"),
        (Speed::times(2), "2"),
        (Speed::times(4), "4"),
        (Speed::times(8), "8"),
        (Speed::times(16), "16"),
        (Speed::times(64), "64"),
        (Speed::UNLIMITED, "unlimited"),
    ]
}

const KEYS: [&str; 2] = [
    "space pause  + - speed  left/right 10 s  page up/down 1 min  , . one turn",
    "home start  end end  z zoom  w a s d look around (capitals: far)  q quit",
];
const FRAME: Duration = Duration::from_millis(50);
const SHORT: Duration = Duration::from_millis(10);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use lockstep::log::{Bundle, LogStore, Plans, Record, Terms};
    use replay::Recorder;
    use std::sync::Arc;

    fn viewer() -> Viewer {
        Viewer {
            facts: Facts::new("test"),
            damage: None,
            speed: 2,
            paused: false,
            close: false,
            centre: None,
            seeking: false,
        }
    }

    /// Records a match in which turns become shorter on the way.
    fn record_adaptive(path: &Path) {
        let terms = Terms {
            adaptive: true,
            ..Terms::default()
        };
        let start = fixture::start(terms, ["test"; 2]);
        let (mut plans, mut plan) = (Plans::of(&start), start.terms.plan);
        let mut log = Recorder::create(path).unwrap();
        log.append(&Record::Start(Arc::new(start))).unwrap();
        for turn in 0..2_000 {
            let bundle = Bundle {
                turn: TurnNumber(turn),
                plan,
                paused: false,
                entries: Vec::new(),
            };
            plan = plans.take(&bundle).map_or(plan, |change| change.plan);
            log.append(&Record::Bundle(bundle)).unwrap();
        }
        log.close().unwrap();
    }

    #[test]
    fn a_failed_disk_or_world_is_reported_with_its_code() {
        let path = Path::new("a.replay");
        let fault = EndReason::WorldFault {
            turn: TurnNumber(30),
            message: "no such coin".to_owned(),
            report: None,
        };
        let fault = world_error(fault).expect("the world has failed");
        let disk = replay::Error::Io(std::io::ErrorKind::StorageFull.into());
        for (error, code) in [(&fault, exit::DESYNC), (&disk, exit::IO)] {
            let report = ExitReport::of(path, None, Some(error));
            assert_eq!(report.code, code, "{error}");
            assert_eq!(report.lines, [format!("a.replay: {error}")]);
        }
        let none = ExitReport::of(path, None, world_error(EndReason::ReplayEnd).as_ref());
        assert_eq!((none.code, none.lines.len()), (exit::GOOD, 0));
    }

    #[test]
    fn jumps_last_as_long_after_a_change_of_the_plan() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("adaptive.replay");
        record_adaptive(&path);
        let mut game = replay::open::<World>(&path).expect("a replay");
        let reader = game.source().reader();
        assert!(reader.plans().len() > 1, "the plan changes");
        let mut viewer = viewer();
        let mut press = |key: KeyCode| {
            assert!(viewer.press(key.into(), &mut game));
            let goal = game.source().goal().expect("a seek");
            game.source().reader().ticks_before(goal)
        };
        let end = press(KeyCode::End);
        let second = u64::from(TICKS_PER_SECOND);
        for (key, seconds) in [
            (KeyCode::Left, 10),
            (KeyCode::PageUp, 70),
            (KeyCode::Right, 60),
        ] {
            let ago = end - press(key);
            assert_eq!(ago / second, seconds, "{key}");
        }
    }

    #[test]
    fn keys_pressed_during_a_seek_count_from_its_goal() {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/duel.replay");
        let mut game = replay::open::<World>(&golden).expect("a golden replay");
        let mut viewer = viewer();
        let last = game.source().turns();
        for (key, goal) in [
            (KeyCode::Right, 50),
            (KeyCode::Right, 100),
            (KeyCode::Left, 50),
            (KeyCode::End, last),
            (KeyCode::Left, last - 50),
            (KeyCode::Left, last - 100),
            (KeyCode::Home, 0),
            (KeyCode::Char('.'), 1),
        ] {
            assert!(viewer.press(key.into(), &mut game));
            assert_eq!(game.source().goal(), Some(TurnNumber(goal)), "{key}");
        }
    }
}
