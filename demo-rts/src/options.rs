//! Values of command line options.

use crate::world::{Density, MapKind, Scenario};
use lockstep::Plan;
use lockstep::log::{Absent, OnDesync, OnSlow, Terms};
use lockstep::quic::{ImpairmentError, Ways};
use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    #[error("`{0}` is no policy for slow machines: meter or remove")]
    OnSlow(String),
    #[error("`{0}` is no policy for worlds that differ: pause or remove")]
    OnDesync(String),
    #[error("`{0}` is no policy for a missing player's seat: idle or ai")]
    Absent(String),
    #[error("`{0}` is no choice after quorum loss: ask, wait, reopen or branch")]
    OnQuorumLoss(String),
    #[error(
        "`{0}` is no plan: write `adaptive`, or turn milliseconds x command delay, such as 200x2"
    )]
    PlanShape(String),
    #[error("a turn of {0} ms does not exist: 50, 100, 200 or 400 (1, 2, 4 or 8 ticks of 50 ms)")]
    PlanTurn(u32),
    #[error("a command delay of {given} turns is out of range: 2 to 8, or 1 in a skirmish")]
    PlanDelay { given: u32 },
    #[error(
        "`{0}` is no scenario: standard, skirmish[:N], archers[:N], march[:N], or \
         swarm[:sparse|normal|dense]"
    )]
    Scenario(String),
    #[error("{scenario} takes 1 to {most} units{each}, not `{given}`")]
    ScenarioUnits {
        scenario: &'static str,
        given: String,
        most: u32,
        /// ` a seat`, or empty where the number is that of the match.
        each: &'static str,
    },
    #[error(
        "`{0}` is no density of a swarm: sparse, normal or dense (.01, .05, .25 a square tile)"
    )]
    ScenarioDensity(String),
    #[error("`{0}` is no kind of map: plains, valleys or lakes")]
    Map(String),
    #[error("a whole number from {least} to {most} is expected, not `{given}`")]
    Whole {
        given: String,
        least: u64,
        most: u64,
    },
    /// A name that would be cut.
    #[error("a name of {bytes} bytes is too long: {most} bytes at most, here")]
    LongName { bytes: usize, most: usize },
    /// A name without a visible letter.
    #[error("a name of at least one visible letter is expected")]
    EmptyName,
    #[error("an address and port such as 0.0.0.0:4433 are expected, not `{0}`")]
    Address(String),
    #[error("the match has no seat {seat}: its seats are {}", listed(seats))]
    NoSeat { seat: u8, seats: Vec<u8> },
    #[error(
        "seat {seat} is out of the match before turn {turn}: choose another one, or an earlier turn"
    )]
    Defeated { seat: u8, turn: u32 },
    #[error("every seat is out of the match by then: choose an earlier turn")]
    AllSeatsOut,
    /// An option that has no meaning for a command.
    #[error("{command} does not take {options}")]
    NotTaken {
        command: &'static str,
        /// Separated by commas.
        options: String,
    },
    /// Options that stand before `replay`.
    #[error("{0} before `replay` has no meaning: options of `replay` stand behind its command")]
    BeforeReplay(String),
    /// A feature that this version lacks.
    #[error("{what} is not available in this version; {instead}")]
    NotAvailable {
        what: &'static str,
        /// What to do instead.
        instead: &'static str,
    },
    #[error(
        "the adaptive plan follows the links of a network, and this match has none: use a fixed plan, such as --plan 100x1"
    )]
    AdaptiveAlone,
    #[error("stdout is no terminal: add --headless (and --bot normal to have the bot play)")]
    NoTerminal,
}

fn listed(seats: &[u8]) -> String {
    let seats: Vec<String> = seats.iter().map(u8::to_string).collect();
    seats.join(", ")
}

/// Parses a policy for slow machines.
///
/// # Errors
/// [`OptionError`], naming the policies.
pub fn on_slow(text: &str) -> Result<OnSlow, OptionError> {
    match text {
        "meter" => Ok(OnSlow::Meter),
        "remove" => Ok(OnSlow::Remove),
        _ => Err(OptionError::OnSlow(text.to_owned())),
    }
}

/// Parses a policy for worlds that differ.
///
/// # Errors
/// [`OptionError`], naming the policies.
pub fn on_desync(text: &str) -> Result<OnDesync, OptionError> {
    match text {
        "pause" => Ok(OnDesync::Pause),
        "remove" => Ok(OnDesync::RemoveMinority),
        _ => Err(OptionError::OnDesync(text.to_owned())),
    }
}

/// Parses a policy for the seats of missing players.
///
/// # Errors
/// [`OptionError`], naming the policies.
pub fn absent(text: &str) -> Result<Absent, OptionError> {
    match text {
        "idle" => Ok(Absent::Idle),
        "ai" => Ok(Absent::Ai),
        _ => Err(OptionError::Absent(text.to_owned())),
    }
}

/// What a peer does after quorum loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnQuorumLoss {
    /// Its player chooses.
    Ask,
    Wait,
    Reopen,
    /// It goes on alone.
    Branch,
}

/// Parses a choice after quorum loss.
///
/// # Errors
/// [`OptionError`], naming the choices.
pub fn on_quorum_loss(text: &str) -> Result<OnQuorumLoss, OptionError> {
    match text {
        "ask" => Ok(OnQuorumLoss::Ask),
        "wait" => Ok(OnQuorumLoss::Wait),
        "reopen" => Ok(OnQuorumLoss::Reopen),
        "branch" => Ok(OnQuorumLoss::Branch),
        _ => Err(OptionError::OnQuorumLoss(text.to_owned())),
    }
}

/// How plans come about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlanChoice {
    /// They follow the links.
    #[default]
    Adaptive,
    /// It stays as it is.
    Fixed(Plan),
}

impl fmt::Display for PlanChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanChoice::Adaptive => f.write_str(ADAPTIVE),
            PlanChoice::Fixed(plan) => plan.fmt(f),
        }
    }
}

impl PlanChoice {
    /// Of a match of these terms.
    pub fn of(terms: &Terms) -> PlanChoice {
        match terms.adaptive {
            true => PlanChoice::Adaptive,
            false => PlanChoice::Fixed(terms.plan),
        }
    }

    /// These terms with this choice.
    pub fn put(self, terms: &mut Terms) {
        match self {
            PlanChoice::Adaptive => terms.adaptive = true,
            PlanChoice::Fixed(plan) => (terms.adaptive, terms.plan) = (false, plan),
        }
    }
}

/// Parses `adaptive`, or a plan such as `200x2`.
///
/// # Errors
/// [`OptionError`], naming the range.
pub fn plan_choice(text: &str) -> Result<PlanChoice, OptionError> {
    match text {
        ADAPTIVE => Ok(PlanChoice::Adaptive),
        text => plan(text).map(PlanChoice::Fixed),
    }
}

/// The plan of a match without a network, which waits for no peer.
///
/// # Errors
/// [`OptionError::AdaptiveAlone`] for an adaptive one.
pub fn plan_alone(choice: Option<PlanChoice>) -> Result<Plan, OptionError> {
    match choice {
        None => Ok(ALONE),
        Some(PlanChoice::Fixed(plan)) => Ok(plan),
        Some(PlanChoice::Adaptive) => Err(OptionError::AdaptiveAlone),
    }
}

fn plan(text: &str) -> Result<Plan, OptionError> {
    let shape = || OptionError::PlanShape(text.to_owned());
    let (turn, delay) = text.split_once('x').ok_or_else(shape)?;
    let number = |digits: &str| {
        let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        plain.then(|| digits.parse::<u32>().ok()).flatten()
    };
    let turn = number(turn).ok_or_else(shape)?;
    let delay = number(delay).ok_or_else(shape)?;
    let ticks = match turn {
        50 => 1,
        100 => 2,
        200 => 4,
        400 => 8,
        _ => return Err(OptionError::PlanTurn(turn)),
    };
    match u8::try_from(delay) {
        Ok(delay_turns @ 1..=8) => Ok(Plan {
            ticks,
            delay_turns,
            tick_ms: TICK_MS,
        }),
        _ => Err(OptionError::PlanDelay { given: delay }),
    }
}

/// Checks the plan of a networked match: a delay of one turn would leave the network no time.
///
/// # Errors
/// [`OptionError::PlanDelay`].
pub fn networked(choice: Option<PlanChoice>) -> Result<(), OptionError> {
    match choice {
        Some(PlanChoice::Fixed(plan)) if !plan.is_valid(true) => Err(OptionError::PlanDelay {
            given: u32::from(plan.delay_turns),
        }),
        _ => Ok(()),
    }
}

/// Parses a scenario.
///
/// # Errors
/// [`OptionError`], naming the scenarios.
pub fn scenario(text: &str) -> Result<Scenario, OptionError> {
    let (name, number) = match text.split_once(':') {
        Some((name, number)) => (name, Some(number)),
        None => (text, None),
    };
    let units = |scenario, most: u32, usual: u32, each| match number {
        None => Ok(usual),
        Some(given) => {
            let plain = !given.is_empty() && given.bytes().all(|byte| byte.is_ascii_digit());
            let units = given
                .parse()
                .ok()
                .filter(|units| plain && (1..=most).contains(units));
            units.ok_or_else(|| OptionError::ScenarioUnits {
                scenario,
                given: given.to_owned(),
                most,
                each,
            })
        }
    };
    match name {
        "standard" if number.is_none() => Ok(Scenario::Standard),
        "skirmish" => Ok(Scenario::Skirmish {
            units_per_seat: units("skirmish", 2_500, 50, " a seat")? as u16,
        }),
        "archers" => Ok(Scenario::Archers {
            units_per_seat: units("archers", 2_500, 200, " a seat")? as u16,
        }),
        "march" => Ok(Scenario::March {
            units: units("march", 10_000, 10_000, "")?,
        }),
        "swarm" => Ok(Scenario::Swarm {
            units: 100_000,
            density: match number {
                Some("sparse") => Density::Sparse,
                None | Some("normal") => Density::Normal,
                Some("dense") => Density::Dense,
                Some(other) => return Err(OptionError::ScenarioDensity(other.to_owned())),
            },
        }),
        _ => Err(OptionError::Scenario(text.to_owned())),
    }
}

/// Parses a kind of map.
///
/// # Errors
/// [`OptionError::Map`].
pub fn map(text: &str) -> Result<MapKind, OptionError> {
    MapKind::ALL
        .into_iter()
        .find(|kind| kind.name() == text)
        .ok_or_else(|| OptionError::Map(text.to_owned()))
}

/// A parser of whole numbers from `least` to `most`. Its errors name the range; those of clap do not.
pub fn whole<N>(
    least: N,
    most: N,
) -> impl Fn(&str) -> Result<N, OptionError> + Clone + Send + Sync + 'static
where
    N: Copy + Into<u64> + TryFrom<u64> + Send + Sync + 'static,
{
    let (least, most) = (least.into(), most.into());
    move |text| {
        let plain = text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|_| plain);
        number
            .filter(|number| (least..=most).contains(number))
            .and_then(|number| N::try_from(number).ok())
            .ok_or_else(|| OptionError::Whole {
                given: text.to_owned(),
                least,
                most,
            })
    }
}

/// Parses a player's name.
///
/// # Errors
/// [`OptionError`]: too long, or invisible.
pub fn name(text: &str) -> Result<String, OptionError> {
    short_name(text, NAME_BYTES)
}

/// Like [`name`], for a name of at most `most` bytes.
///
/// # Errors
/// As [`name`].
pub fn short_name(text: &str, most: usize) -> Result<String, OptionError> {
    let bytes = text.len();
    if bytes > most {
        return Err(OptionError::LongName { bytes, most });
    }
    if text.chars().all(|c| c.is_whitespace() || c.is_control()) {
        return Err(OptionError::EmptyName);
    }
    Ok(text.to_owned())
}

/// Parses an address to listen on.
///
/// # Errors
/// [`OptionError::Address`].
pub fn address(text: &str) -> Result<SocketAddr, OptionError> {
    text.parse()
        .map_err(|_| OptionError::Address(text.to_owned()))
}

/// An impairment of a peer's outgoing packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Impair {
    /// The impairment at the start.
    pub ways: Ways,
    /// The file to follow from then on.
    pub file: Option<PathBuf>,
}

/// Parses an impairment such as `delay=50ms,loss=5%`, or `@FILE` with the text of one.
///
/// # Errors
/// [`ImpairError`].
pub fn impair(text: &str) -> Result<Impair, ImpairError> {
    let Some(path) = text.strip_prefix('@') else {
        let ways = text.parse()?;
        return Ok(Impair { ways, file: None });
    };
    let path = PathBuf::from(path);
    Ok(Impair {
        ways: ways_in(&path)?,
        file: Some(path),
    })
}

/// Reads the file of an impairment.
///
/// # Errors
/// [`ImpairError`].
pub fn ways_in(path: &Path) -> Result<Ways, ImpairError> {
    let mut text = String::new();
    let file = File::open(path).map(|file| file.take(IMPAIR_FILE_BYTES));
    file.and_then(|mut file| file.read_to_string(&mut text))
        .map_err(|source| ImpairError::File {
            path: path.to_owned(),
            source,
        })?;
    Ok(text.parse()?)
}

#[derive(Debug, thiserror::Error)]
pub enum ImpairError {
    #[error(transparent)]
    Text(#[from] ImpairmentError),
    #[error("cannot read {}: {source}", path.display())]
    File {
        path: PathBuf,
        source: std::io::Error,
    },
}

const IMPAIR_FILE_BYTES: u64 = 16 << 10;

/// The session cuts a name to this.
pub const NAME_BYTES: usize = 32;
const TICK_MS: u16 = 50;
const ADAPTIVE: &str = "adaptive";
/// Default plan of a match without a network.
pub const ALONE: Plan = Plan {
    ticks: 2,
    delay_turns: 1,
    tick_ms: TICK_MS,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans() {
        for (text, ticks, delay_turns) in [
            ("50x2", 1, 2),
            ("100x2", 2, 2),
            ("200x2", 4, 2),
            ("400x8", 8, 8),
            ("200x1", 4, 1),
        ] {
            let wanted = Plan {
                ticks,
                delay_turns,
                tick_ms: 50,
            };
            assert_eq!(plan(text), Ok(wanted), "{text}");
            assert_eq!(wanted.to_string(), text);
        }
        for text in [
            "", "200", "x", "200x", "x2", "ax2", "200x2x", "-200x2", "+200x2", "200 x2",
        ] {
            assert_eq!(plan(text), Err(OptionError::PlanShape(text.into())));
        }
        for turn in [0, 1, 75, 150, 300, 800] {
            assert_eq!(plan(&format!("{turn}x2")), Err(OptionError::PlanTurn(turn)));
        }
        for given in [0, 9, 256, 4_000_000_000] {
            let text = format!("200x{given}");
            assert_eq!(plan(&text), Err(OptionError::PlanDelay { given }));
        }
        let choice = |text| Some(plan_choice(text).unwrap());
        assert!(networked(choice("200x1")).is_err());
        for good in [choice("200x2"), choice("adaptive"), None] {
            assert_eq!(networked(good), Ok(()));
        }
        assert!(plan_alone(choice("adaptive")).is_err());
        assert_eq!(plan_alone(None), Ok(ALONE));
        for text in ["adaptive", "200x2"] {
            let mut terms = Terms::default();
            let choice = plan_choice(text).unwrap();
            choice.put(&mut terms);
            assert_eq!(PlanChoice::of(&terms).to_string(), text);
        }
    }

    #[test]
    fn scenarios() {
        assert_eq!(scenario("standard"), Ok(Scenario::Standard));
        let army = |units_per_seat| Ok(Scenario::Skirmish { units_per_seat });
        assert_eq!(scenario("skirmish"), army(50));
        assert_eq!(scenario("skirmish:200"), army(200));
        let archers = |units_per_seat| Ok(Scenario::Archers { units_per_seat });
        assert_eq!(scenario("archers"), archers(200));
        assert_eq!(scenario("archers:2500"), archers(2_500));
        let march = |units| Ok(Scenario::March { units });
        assert_eq!(scenario("march"), march(10_000));
        assert_eq!(scenario("march:1"), march(1));
        for (text, density) in [
            ("swarm", Density::Normal),
            ("swarm:sparse", Density::Sparse),
            ("swarm:normal", Density::Normal),
            ("swarm:dense", Density::Dense),
        ] {
            let units = 100_000;
            assert_eq!(scenario(text), Ok(Scenario::Swarm { units, density }));
        }
        for text in ["", "melee", "standard:1", "Standard", "swarms", ":"] {
            assert_eq!(scenario(text), Err(OptionError::Scenario(text.into())));
        }
        for (name, number, most) in [
            ("skirmish", "", 2_500),
            ("skirmish", "0", 2_500),
            ("skirmish", "2501", 2_500),
            ("archers", "-1", 2_500),
            ("archers", "99999999999999999999", 2_500),
            ("march", "10001", 10_000),
            ("march", "+5", 10_000),
            ("march", "5:5", 10_000),
        ] {
            let error = scenario(&format!("{name}:{number}")).expect_err("out of range");
            let message = error.to_string();
            assert!(message.contains(&most.to_string()), "{message}");
            assert!(message.contains(&format!("`{number}`")), "{message}");
        }
        let error = scenario("swarm:thick").expect_err("no density");
        assert_eq!(error, OptionError::ScenarioDensity("thick".into()));
    }

    #[test]
    fn whole_numbers() {
        let small = whole(1, 8_u8);
        assert_eq!((small("1"), small("8")), (Ok(1), Ok(8)));
        let large = whole(0, u64::MAX);
        assert_eq!(large("18446744073709551615"), Ok(u64::MAX));
        for text in ["", "0", "9", "-1", "+1", " 1", "1.0", "x", "257"] {
            let message = small(text).expect_err(text).to_string();
            let wanted = format!("a whole number from 1 to 8 is expected, not `{text}`");
            assert_eq!(message, wanted);
        }
        assert!(large("18446744073709551616").is_err());
    }

    #[test]
    fn names_are_taken_whole_or_not_at_all() {
        let longest = "ä".repeat(16);
        assert_eq!(name(&longest), Ok(longest.clone()));
        let message = name(&(longest + "b")).expect_err("33 bytes").to_string();
        assert!(
            message.contains("33 bytes") && message.contains("32 bytes"),
            "{message}"
        );
        assert_eq!(
            short_name("Ada", 2),
            Err(OptionError::LongName { bytes: 3, most: 2 })
        );
        for text in ["", " ", "\u{1b}\n"] {
            assert_eq!(name(text), Err(OptionError::EmptyName));
        }
    }

    #[test]
    fn kinds_of_map() {
        for kind in MapKind::ALL {
            assert_eq!(map(kind.name()), Ok(kind));
        }
        for text in ["", "Plains", "plains ", "moon"] {
            assert_eq!(map(text), Err(OptionError::Map(text.into())));
        }
    }
}
