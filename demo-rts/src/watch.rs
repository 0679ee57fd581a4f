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
use crate::world::{Tile, World};
use lockstep::source::TurnSource;
use lockstep::{Match, Plan, Status, TurnNumber};
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
    let mut console = Console::open().map_err(Problem::Terminal)?;
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
        turn_ms: u64::try_from(Plan::default().turn().as_millis()).unwrap_or(200),
    };
    let shown = viewer.show(&mut game, &mut console, asked);
    drop(console);
    shown.map_err(Problem::Terminal)?;
    if let Some(seat) = viewer.facts.ended.and_then(|ended| ended.outcome?.winner) {
        plain::print(&format!("{} won", seat_name(seat))).map_err(Problem::Terminal)?;
    }
    let source = game.source();
    Ok(print_problems(&problems(
        path,
        source.reader().damage(),
        source.error(),
    )))
}

/// What is wrong with a watched file, in lines.
pub(crate) fn problems(
    path: &Path,
    damage: Option<replay::Damage>,
    error: Option<&replay::Error>,
) -> Vec<String> {
    let name = plain::shown(path);
    let mut problems = Vec::new();
    if let Some(damage) = damage {
        problems.push(format!("{name}: {damage}"));
        problems.push(format!("{name}: {}", damage.remedy(plain::quoted(path))));
    }
    problems.extend(error.map(|error| format!("{name}: {error}")));
    problems
}

/// Prints these lines and returns the exit code.
pub(crate) fn print_problems(problems: &[String]) -> ExitCode {
    for line in problems {
        // A closed stderr leaves no way to report its own failure.
        let _ = writeln!(std::io::stderr(), "demo-rts: {line}");
    }
    ExitCode::from(match problems {
        [] => exit::GOOD,
        _ => exit::DAMAGED,
    })
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
    turn_ms: u64,
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
                if let lockstep::Event::Started { plan, .. } = event {
                    self.turn_ms = u64::try_from(plan.turn().as_millis()).unwrap_or(200);
                }
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
        let minute = u32::try_from(60_000 / self.turn_ms.max(1))
            .unwrap_or(1)
            .max(1);
        let ten_seconds = (minute / 6).max(1);
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
            KeyCode::Right => self.seek(game, i64::from(ten_seconds)),
            KeyCode::Left => self.seek(game, -i64::from(ten_seconds)),
            KeyCode::PageDown => self.seek(game, i64::from(minute)),
            KeyCode::PageUp => self.seek(game, -i64::from(minute)),
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

    fn seek(&mut self, game: &mut Match<World, Player>, by: i64) {
        let source = game.source();
        // Held keys come faster than a seek arrives: they count from where it goes.
        let at = i64::from(source.goal().unwrap_or(source.next_turn()).0);
        let last = i64::from(source.turns());
        let to = at.saturating_add(by).clamp(0, last);
        self.facts.ended = None;
        self.seeking = true;
        let to = TurnNumber(u32::try_from(to).unwrap_or(0));
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

    #[test]
    fn keys_pressed_during_a_seek_count_from_its_goal() {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/duel.replay");
        let mut game = replay::open::<World>(&golden).expect("a golden replay");
        let mut viewer = Viewer {
            facts: Facts::new("duel.replay"),
            damage: None,
            speed: 2,
            paused: false,
            close: false,
            centre: None,
            seeking: false,
            turn_ms: 200,
        };
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
