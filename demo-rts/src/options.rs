//! What the values on the command line may be.

use crate::world::{Density, MapKind, Scenario};
use lockstep::Plan;
use lockstep::quic::Impairment;

/// A value that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// Not `WxD`.
    #[error("`{0}` is no plan: write turn milliseconds x command delay, such as 200x2")]
    PlanShape(String),
    /// A turn length that does not exist.
    #[error("a turn of {0} ms does not exist: 50, 100, 200 or 400 (1, 2, 4 or 8 ticks of 50 ms)")]
    PlanTurn(u32),
    /// A delay out of range.
    #[error("a command delay of {given} turns is out of range: 2 to 8, or 1 in a skirmish")]
    PlanDelay {
        /// What was given.
        given: u32,
    },
    /// A scenario that does not exist.
    #[error(
        "`{0}` is no scenario: standard, skirmish[:N], archers[:N], march[:N], or \
         swarm[:sparse|normal|dense]"
    )]
    Scenario(String),
    /// A number of units that a scenario does not take.
    #[error("{scenario} takes 1 to {most} units{each}, not `{given}`")]
    ScenarioUnits {
        /// Which.
        scenario: &'static str,
        /// What was given.
        given: String,
        /// The largest number it takes.
        most: u32,
        /// Whether they are counted by seat.
        each: &'static str,
    },
    /// A density that does not exist.
    #[error(
        "`{0}` is no density of a swarm: sparse, normal or dense (.01, .05, .25 a square tile)"
    )]
    ScenarioDensity(String),
    /// A kind of map that does not exist.
    #[error("`{0}` is no kind of map: plains, valleys or lakes")]
    Map(String),
    /// Something that this version cannot do yet.
    #[error("{what} comes in a later version; {instead}")]
    Later {
        /// What.
        what: &'static str,
        /// What can be done now.
        instead: &'static str,
    },
    /// A way of playing that needs a terminal.
    #[error("stdout is no terminal: add --headless (and --bot normal to have the bot play)")]
    NoTerminal,
}

/// Reads a plan such as `200x2`.
///
/// # Errors
/// [`OptionError`], naming what is allowed.
pub fn plan(text: &str) -> Result<Plan, OptionError> {
    if text == "adaptive" {
        return Err(OptionError::Later {
            what: "the adaptive plan",
            instead: "use a fixed one, such as --plan 200x2",
        });
    }
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

/// The plan of a match over a network: a delay of one turn leaves it no time at all.
///
/// # Errors
/// [`OptionError::PlanDelay`].
pub fn networked(plan: Plan) -> Result<Plan, OptionError> {
    if plan.is_valid(true) {
        return Ok(plan);
    }
    Err(OptionError::PlanDelay {
        given: u32::from(plan.delay_turns),
    })
}

/// Reads the name of a scenario.
///
/// # Errors
/// [`OptionError`], naming what is allowed.
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

/// Reads the name of a kind of map.
///
/// # Errors
/// [`OptionError::Map`].
pub fn map(text: &str) -> Result<MapKind, OptionError> {
    MapKind::ALL
        .into_iter()
        .find(|kind| kind.name() == text)
        .ok_or_else(|| OptionError::Map(text.to_owned()))
}

/// Reads an impairment such as `delay=50ms,loss=5%`.
///
/// # Errors
/// What is wrong with it.
pub fn impairment(text: &str) -> Result<Impairment, lockstep::quic::ImpairmentError> {
    text.parse()
}

/// Milliseconds in a tick of this world.
const TICK_MS: u16 = 50;

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
        assert!(matches!(plan("adaptive"), Err(OptionError::Later { .. })));
        assert!(networked(plan("200x1").unwrap()).is_err());
        assert!(networked(plan("200x2").unwrap()).is_ok());
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
    fn kinds_of_map() {
        for kind in MapKind::ALL {
            assert_eq!(map(kind.name()), Ok(kind));
        }
        for text in ["", "Plains", "plains ", "moon"] {
            assert_eq!(map(text), Err(OptionError::Map(text.into())));
        }
    }
}
