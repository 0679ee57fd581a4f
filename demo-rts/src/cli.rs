//! The command line: what can be typed, and nothing of what it does.

use crate::bot::Level;
use crate::log::LogLevel;
use crate::options;
use crate::world::{LONGEST_MINUTES, MapKind, SHORTEST_MINUTES, Scenario};
use clap::{Args, Parser, Subcommand, ValueEnum};
use lockstep::Plan;
use lockstep::log::{Absent, OnDesync, OnSlow, Terms};
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

/// A small real-time strategy game over a deterministic lockstep network.
#[derive(Debug, Parser)]
#[command(
    name = "demo-rts",
    version,
    after_help = "Example: demo-rts                     the menu in the window, or four bots in the terminal\n\
                  Example: demo-rts host --seats 2      then, elsewhere: demo-rts join TICKET\n\n\
                  Exit codes: 0 good, 1 I/O, 2 usage, 3 desync, 4 network, 5 damaged or foreign file."
)]
pub struct Cli {
    /// What to do. Without any: the menu in the window; without a display `local`, four peers in the terminal.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Options of every match.
    #[command(flatten)]
    pub common: Common,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Several real peers on this machine, each with its own session and QUIC endpoint; bots play.
    #[command(
        mut_arg("identity", |option| option.hide(true)),
        after_help = "Example: demo-rts local --peers 4 --impair delay=50ms,loss=5%"
    )]
    Local(Local),
    /// You against bots, without a network.
    #[command(
        mut_arg("identity", |option| option.hide(true)),
        mut_arg("impair", |option| option.hide(true)),
        mut_arg("patient", |option| option.hide(true)),
        mut_arg("plan", |option| option.help(PLAN_ALONE)),
        after_help = "Example: demo-rts skirmish --bots 3 --level easy"
    )]
    Skirmish(Skirmish),
    /// Opens a match and prints its ticket.
    #[command(
        after_help = "Example: demo-rts host --seats 4 --plan 200x2 --ticket-file match.ticket\n\
                      Example: demo-rts host --headless --bot normal --json --turns 500 --record host.replay\n\n\
                      When all players were lost, or too few are left to go on, one leaves and hosts the match again with\n\
                      its recording, and each of the others joins with its own and the identity that it played with. New\n\
                      recordings go on from turn 0 on.\n\n\
                      Example: demo-rts host --from match.replay --wait 30"
    )]
    Host(Host),
    /// Joins the match of a ticket.
    #[command(
        mut_arg("map_seed", |option| option.hide(true)),
        mut_arg("map", |option| option.hide(true)),
        mut_arg("scenario", |option| option.hide(true)),
        mut_arg("minutes", |option| option.hide(true)),
        mut_arg("plan", |option| option.hide(true)),
        after_help = "The host decides about map, scenario, length and plan.\n\n\
                      Example: demo-rts join @match.ticket --name Ada\n\
                      Example: demo-rts join TICKET --headless --bot hard --json\n\
                      Example: demo-rts join TICKET --from match.replay"
    )]
    Join(Join),
    /// Comes back into a match that goes on, or that is hosted again: after a crash, or when the others went on without
    /// this peer.
    #[command(
        mut_arg("map_seed", |option| option.hide(true)),
        mut_arg("map", |option| option.hide(true)),
        mut_arg("scenario", |option| option.hide(true)),
        mut_arg("minutes", |option| option.hide(true)),
        mut_arg("plan", |option| option.hide(true)),
        after_help = "It takes the identity that the match was played with. Beside the replay lies a file .peers that says\n\
                      where the others are; a ticket of any of them does as well. Records to a new file beside the replay.\n\n\
                      Example: demo-rts rejoin match.replay\n\
                      Example: demo-rts rejoin TICKET --headless --bot hard --json --record back.replay"
    )]
    Rejoin(Rejoin),
    /// Watches a replay.
    #[command(after_help = "Example: demo-rts watch match.replay")]
    Watch(Watch),
    /// Forwards a match between peers that cannot reach each other. Comes in a later version.
    #[command(after_help = "Example: demo-rts relay --listen 0.0.0.0:4433")]
    Relay(Later),
    /// Plays on from a moment of a replay, against bots.
    #[command(
        mut_arg("identity", |option| option.help("The key that the match was played with: its seat is taken")),
        mut_arg("map_seed", |option| option.hide(true)),
        mut_arg("map", |option| option.hide(true)),
        mut_arg("scenario", |option| option.hide(true)),
        mut_arg("minutes", |option| option.hide(true)),
        mut_arg("impair", |option| option.hide(true)),
        mut_arg("patient", |option| option.hide(true)),
        mut_arg("plan", |option| option.help(PLAN_ALONE)),
        mut_arg("turns", |option| option.help("End after so many turns more")),
        mut_arg("record", |option| option.help("Record to this new file. Without it, to one beside the replay")),
        after_help = "The new recording holds the old match up to that turn, as it was played and signed, and says that one\n\
                      player went on from there: `replay info` and `verify` name the turn.\n\n\
                      Example: demo-rts continue match.replay --turn 500\n\
                      Example: demo-rts continue match.replay --turn 500 --seat 1 --level hard --headless --bot normal --turns 300"
    )]
    Continue(Continue),
    /// Looks into replay files: info, verify, show, stats, diff, trim, export.
    #[command(
        disable_help_flag = true,
        after_help = "Example: demo-rts replay verify match.replay"
    )]
    Replay(Replay),
}

/// Alone nobody is waited for, so a skirmish begins with less delay than a match over a network may have.
const PLAN_ALONE: &str =
    "Milliseconds in a turn x command delay in turns: 50, 100, 200 or 400 by 1 to 8. Default 100x1";

/// Options of `host` that a recording has decided about. `--turns` is none of them: whoever gives it leaves then.
const FIXED: [&str; 9] = [
    "seats",
    "on_slow",
    "on_desync",
    "absent",
    "map_seed",
    "map",
    "scenario",
    "minutes",
    "plan",
];

/// `local`.
#[derive(Debug, Args)]
pub struct Local {
    /// Peers, each with one seat.
    #[arg(long, value_name = "N", default_value_t = 4, allow_negative_numbers = true, value_parser = options::whole(2, 8_u8))]
    pub peers: u8,
    /// Options of every match.
    #[command(flatten)]
    pub common: Common,
}

/// `skirmish`.
#[derive(Debug, Args)]
pub struct Skirmish {
    /// Opponents.
    #[arg(long, value_name = "N", default_value_t = 3, allow_negative_numbers = true, value_parser = options::whole(1, 7_u8))]
    pub bots: u8,
    /// How well they play: easy, normal or hard.
    #[arg(long, default_value = "normal", value_parser = str::parse::<Level>)]
    pub level: Level,
    /// Options of every match.
    #[command(flatten)]
    pub common: Common,
}

/// `host`.
#[derive(Debug, Args)]
pub struct Host {
    /// Where to listen.
    #[arg(long, value_name = "ADDR", default_value = "0.0.0.0:0", value_parser = options::address)]
    pub listen: SocketAddr,
    /// Seats of the match; it begins when all are taken, unless somebody in a window says there that they are not ready.
    #[arg(long, value_name = "N", default_value_t = 2, allow_negative_numbers = true, value_parser = options::whole(1, 8_u8))]
    pub seats: u8,
    /// Also writes the ticket to this file, whole or not at all.
    #[arg(long, value_name = "F")]
    pub ticket_file: Option<PathBuf>,
    /// What becomes of a peer whose machine is too slow: `meter`, the match slows down for it, or `remove`, it does so
    /// for ten seconds and then goes on without it.
    #[arg(long, value_name = "POLICY", default_value = "meter", value_parser = options::on_slow)]
    pub on_slow: OnSlow,
    /// What becomes of the match when worlds differ: `remove`, the others go on without those who differ from more than
    /// half, or `pause`, nobody plays a turn more. Where no such half is, as with two players, it is `pause`.
    #[arg(long, value_name = "POLICY", default_value = "remove", value_parser = options::on_desync)]
    pub on_desync: OnDesync,
    /// Who plays a seat while its player is gone: `idle`, nobody, or `ai`, a bot of the world.
    #[arg(long, value_name = "WHO", default_value = "idle", value_parser = options::absent)]
    pub absent: Absent,
    /// Reopens the match that this recording is of, after so many of its players were lost that it stands still: from the
    /// newest turn that more than half of them recorded. Give the recording that goes furthest.
    #[arg(long, value_name = "REPLAY", conflicts_with_all = FIXED)]
    pub from: Option<PathBuf>,
    /// With --from: goes on without those who have not come after this many seconds, if the others are enough.
    #[arg(long, value_name = "S", default_value_t = 60, requires = "from", allow_negative_numbers = true, value_parser = options::whole(0, 3_600_u16))]
    pub wait: u16,
    /// A relay for peers that cannot be reached. Comes in a later version.
    #[arg(long, value_name = "ADDR")]
    pub relay: Option<String>,
    /// Options of every match.
    #[command(flatten)]
    pub common: Common,
}

/// `join`.
#[derive(Debug, Args)]
pub struct Join {
    /// The ticket, or @FILE for one in a file.
    #[arg(value_name = "TICKET|@FILE")]
    pub ticket: String,
    /// What this player recorded of the match, where it is reopened. Give the recording that goes furthest.
    #[arg(long, value_name = "REPLAY")]
    pub from: Option<PathBuf>,
    /// Where to listen for the other peers.
    #[arg(long, value_name = "ADDR", default_value = "0.0.0.0:0", value_parser = options::address)]
    pub listen: SocketAddr,
    /// Options of every match.
    #[command(flatten)]
    pub common: Common,
}

/// `rejoin`.
#[derive(Debug, Args)]
pub struct Rejoin {
    /// What an earlier run recorded, or the ticket of a peer that is in the match, or @FILE for one in a file.
    #[arg(value_name = "REPLAY|TICKET|@FILE")]
    pub what: String,
    /// Where to listen for the other peers.
    #[arg(long, value_name = "ADDR", default_value = "0.0.0.0:0", value_parser = options::address)]
    pub listen: SocketAddr,
    /// Options of every match.
    #[command(flatten)]
    pub common: Common,
}

/// `watch`.
#[derive(Debug, Args)]
pub struct Watch {
    /// A replay file. Watching a running match by its ticket comes in a later version.
    #[arg(value_name = "REPLAY|TICKET")]
    pub what: String,
    /// In the terminal, though there is a display for the window.
    #[arg(long)]
    pub terminal: bool,
    /// Without a terminal. Comes in a later version.
    #[arg(long, hide = true)]
    pub headless: bool,
    /// As lines of JSON. Comes in a later version.
    #[arg(long, hide = true)]
    pub json: bool,
}

/// `continue`.
#[derive(Debug, Args)]
pub struct Continue {
    /// The replay.
    #[arg(value_name = "REPLAY")]
    pub replay: PathBuf,
    /// The turn to play on from: those before it are as they were recorded. Without it, where the recording ends.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = options::whole(0, u32::MAX))]
    pub turn: Option<u32>,
    /// The seat to take. Without it the one that you played, or else the lowest that is still in the match.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = options::whole(0, u8::MAX))]
    pub seat: Option<u8>,
    /// How well the others play: easy, normal or hard.
    #[arg(long, default_value = "normal", value_parser = str::parse::<Level>)]
    pub level: Level,
    /// Options of every match.
    #[command(flatten)]
    pub common: Common,
}

/// A command that comes in a later version: whatever is typed behind it is taken and not used.
#[derive(Debug, Args)]
pub struct Later {
    /// Taken, so that the answer is the same whatever is asked.
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "..."
    )]
    pub rest: Vec<OsString>,
}

/// `replay`.
#[derive(Debug, Args)]
pub struct Replay {
    /// What to do with which file; `demo-rts replay --help` lists it.
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "..."
    )]
    pub rest: Vec<OsString>,
}

/// What every command that runs a match takes.
#[derive(Clone, Debug, Default, Args)]
pub struct Common {
    /// Draw nothing: run without a window or terminal.
    #[arg(long)]
    pub headless: bool,
    /// In the terminal, though there is a display for the window.
    #[arg(long)]
    pub terminal: bool,
    /// A bot plays this peer's seat: easy, normal or hard.
    #[arg(long, value_name = "LEVEL", value_parser = str::parse::<Level>)]
    pub bot: Option<Level>,
    /// End after this many turns. A joiner that gives fewer than the host leaves then.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = options::whole(1, u32::MAX))]
    pub turns: Option<u32>,
    /// Record the match to this new file.
    #[arg(long, value_name = "F")]
    pub record: Option<PathBuf>,
    /// Fixes this peer's own randomness: its bot, and its share of the match seed.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = options::whole(0, u64::MAX))]
    pub seed: Option<u64>,
    /// Draws the map. Without it the match seed does.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = options::whole(0, u64::MAX))]
    pub map_seed: Option<u64>,
    /// What the land looks like: plains, valleys or lakes. Without it the map's seed draws it.
    #[arg(long, value_name = "KIND", value_parser = options::map)]
    pub map: Option<MapKind>,
    /// How the match begins: `standard`, `skirmish[:N]`, `archers[:N]`, `march[:N]` or `swarm[:sparse|:normal|:dense]`.
    #[arg(long, value_name = "NAME", value_parser = options::scenario)]
    pub scenario: Option<Scenario>,
    /// Minutes of match time after which the highest score wins, if nobody has won by then. Default 60.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = options::whole(SHORTEST_MINUTES, LONGEST_MINUTES))]
    pub minutes: Option<u16>,
    /// The key to be known by; made if the file does not exist.
    #[arg(long, value_name = "F")]
    pub identity: Option<PathBuf>,
    /// What to be called, up to 32 bytes.
    #[arg(long, value_name = "S", value_parser = options::name)]
    pub name: Option<String>,
    /// Milliseconds in a turn x command delay in turns: 50, 100, 200 or 400 by 2 to 8. Default 200x2.
    #[arg(long, value_name = "WxD", value_parser = options::plan)]
    pub plan: Option<Plan>,
    /// Makes this peer's ways out worse: delay=50ms,jitter=10ms,loss=5%,dup=1%,reorder=1%,burst=100ms,seed=7, or @FILE
    /// with that and lines `to ADDRESS loss=100%`, read again whenever it changes.
    #[arg(long, value_name = "..", value_parser = options::impair)]
    pub impair: Option<options::Impair>,
    /// Vote to wait longer, up to ten minutes, for whoever is lost.
    #[arg(long)]
    pub patient: bool,
    /// One JSON object per line on stdout, and nothing else there. Implies --headless.
    #[arg(long)]
    pub json: bool,
    /// How much to say on stderr.
    #[arg(long, value_name = "LEVEL", value_enum, default_value_t = LogLevel::Warn)]
    pub log: LogLevel,
}

impl Host {
    /// What holds for all peers of the match, but for plan and turn limit.
    pub fn terms(&self) -> Terms {
        Terms {
            seats: self.seats,
            on_slow: self.on_slow,
            on_desync: self.on_desync,
            absent: self.absent,
            ..Terms::default()
        }
    }
}

impl Common {
    /// The options among these that were given, by name. For commands that cannot use every one.
    pub fn given(&self, options: &[&'static str]) -> Vec<&'static str> {
        let given = |name: &&'static str| match *name {
            "--headless" => self.headless,
            "--terminal" => self.terminal,
            "--bot" => self.bot.is_some(),
            "--turns" => self.turns.is_some(),
            "--record" => self.record.is_some(),
            "--seed" => self.seed.is_some(),
            "--map-seed" => self.map_seed.is_some(),
            "--map" => self.map.is_some(),
            "--scenario" => self.scenario.is_some(),
            "--minutes" => self.minutes.is_some(),
            "--identity" => self.identity.is_some(),
            "--name" => self.name.is_some(),
            "--plan" => self.plan.is_some(),
            "--impair" => self.impair.is_some(),
            "--patient" => self.patient,
            "--json" => self.json,
            _ => self.log != LogLevel::default(),
        };
        options.iter().copied().filter(given).collect()
    }

    /// Whether nothing is to be drawn.
    pub fn without_screen(&self) -> bool {
        self.headless || self.json
    }

    /// These options, and where one is missing, that of `outer`: options may stand before the command too.
    #[must_use]
    pub fn or(self, outer: &Common) -> Common {
        Common {
            headless: self.headless || outer.headless,
            terminal: self.terminal || outer.terminal,
            bot: self.bot.or(outer.bot),
            turns: self.turns.or(outer.turns),
            record: self.record.or_else(|| outer.record.clone()),
            seed: self.seed.or(outer.seed),
            map_seed: self.map_seed.or(outer.map_seed),
            map: self.map.or(outer.map),
            scenario: self.scenario.or(outer.scenario),
            minutes: self.minutes.or(outer.minutes),
            identity: self.identity.or_else(|| outer.identity.clone()),
            name: self.name.or_else(|| outer.name.clone()),
            plan: self.plan.or(outer.plan),
            impair: self.impair.or_else(|| outer.impair.clone()),
            patient: self.patient || outer.patient,
            json: self.json || outer.json,
            log: if self.log == LogLevel::default() {
                outer.log
            } else {
                self.log
            },
        }
    }
}

impl ValueEnum for LogLevel {
    fn value_variants<'a>() -> &'a [Self] {
        &LogLevel::ALL
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        Some(self.name().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn parse(line: &str) -> Result<Cli, clap::Error> {
        Cli::try_parse_from(line.split_whitespace())
    }

    #[test]
    fn the_definition_holds_and_every_command_shows_an_example() {
        let mut command = Cli::command();
        command.clone().debug_assert();
        assert!(command.render_help().to_string().contains("Example: "));
        let own = |sub: &&mut clap::Command| sub.get_name() != "help";
        for sub in command.get_subcommands_mut().filter(own) {
            let help = sub.render_help().to_string();
            assert!(help.contains("Example: demo-rts"), "{}", sub.get_name());
        }
    }

    #[test]
    fn the_help_of_each_command_names_the_plan_that_it_begins_with() {
        let mut command = Cli::command();
        for (sub, plan) in [
            ("skirmish", crate::peer::ALONE),
            ("continue", crate::peer::ALONE),
            ("local", Plan::default()),
            ("host", Plan::default()),
        ] {
            let sub = command.find_subcommand_mut(sub).expect("it is there");
            let help = sub.render_long_help().to_string();
            let least = if plan.is_valid(true) { 2 } else { 1 };
            for wanted in [format!("Default {plan}"), format!("by {least} to 8")] {
                assert!(help.contains(&wanted), "{wanted} in {help}");
            }
        }
    }

    #[test]
    fn help_lists_only_what_a_command_uses() {
        let mut command = Cli::command();
        for (sub, shown, hidden) in [
            (
                "join",
                "--turns",
                &["--map", "--scenario", "--minutes", "--plan"][..],
            ),
            (
                "watch",
                "--terminal",
                &["--seed", "--map", "--bot", "--name", "--json"],
            ),
            (
                "skirmish",
                "--map",
                &["--identity", "--impair", "--patient"],
            ),
            (
                "continue",
                "--turn",
                &["--map", "--scenario", "--minutes", "--impair"],
            ),
            ("local", "--impair", &["--identity"]),
        ] {
            let sub = command.find_subcommand_mut(sub).expect("it is there");
            let help = sub.render_help().to_string();
            assert!(help.contains(shown), "{help}");
            for option in hidden {
                assert!(!help.contains(option), "{option} in {help}");
            }
        }
    }

    #[test]
    fn options_are_found_by_name() {
        let given = |line: &str| {
            let common = parse(line).expect(line).common;
            common.given(&["--map-seed", "--map", "--log", "--json"])
        };
        assert!(given("demo-rts --seed 1").is_empty());
        assert_eq!(given("demo-rts --map lakes --seed 1"), ["--map"]);
        assert_eq!(
            given("demo-rts --json --map-seed 0"),
            ["--map-seed", "--json"]
        );
    }

    #[test]
    fn what_is_documented_is_taken() {
        for line in [
            "demo-rts",
            "demo-rts --turns 50",
            "demo-rts local",
            "demo-rts local --peers 8 --json",
            "demo-rts skirmish --bots 7 --level hard",
            "demo-rts host --listen 127.0.0.1:4000 --seats 8 --ticket-file t",
            "demo-rts host --headless --bot normal --turns 9 --record f --seed 1 --map-seed 2 --map lakes --scenario standard \
             --minutes 600 --identity k --name Ada --plan 200x2 --json --log debug \
             --impair delay=50ms,jitter=10ms,loss=5%,dup=1%,reorder=1%,burst=100ms,seed=7",
            "demo-rts host --on-slow remove",
            "demo-rts join @file --headless",
            "demo-rts join @file --from f.replay --headless",
            "demo-rts host --from f.replay --wait 0 --headless",
            "demo-rts watch f.replay --terminal",
            "demo-rts rejoin x --headless",
            "demo-rts relay --listen 0.0.0.0:1",
            "demo-rts continue f --turn 3",
            "demo-rts continue f --seat 2 --level hard --headless --bot easy --turns 9 --record g --json",
            "demo-rts replay verify f --json",
            "demo-rts replay --help",
        ] {
            assert!(parse(line).is_ok(), "{line}: {:?}", parse(line).err());
        }
    }

    #[test]
    fn what_a_recording_has_decided_is_refused_by_name() {
        for (id, value) in FIXED.into_iter().zip([
            "3", "remove", "pause", "ai", "7", "lakes", "standard", "90", "200x2",
        ]) {
            let option = format!("--{}", id.replace('_', "-"));
            let alone = format!("demo-rts host {option} {value}");
            assert!(parse(&alone).is_ok(), "{alone}: {:?}", parse(&alone).err());
            for line in [
                format!("demo-rts host --from f {option} {value}"),
                format!("demo-rts host {option} {value} --from f"),
            ] {
                let error = parse(&line).expect_err(&line);
                assert_eq!(error.kind(), clap::error::ErrorKind::ArgumentConflict);
                assert!(error.to_string().contains(&option), "{line}: {error}");
            }
        }
        assert!(parse("demo-rts host --from f --turns 9 --name Ada").is_ok());
    }

    #[test]
    fn what_is_out_of_range_is_refused_by_name() {
        for (line, word) in [
            ("demo-rts local --peers 1", "--peers"),
            ("demo-rts local --peers 9", "--peers"),
            ("demo-rts skirmish --bots 8", "--bots"),
            ("demo-rts skirmish --level brutal", "easy, normal or hard"),
            ("demo-rts host --seats 0", "--seats"),
            ("demo-rts host --wait 3", "--from"),
            ("demo-rts host --from f --wait 3601", "0 to 3600"),
            ("demo-rts host --seats 9", "--seats"),
            ("demo-rts host --listen nowhere", "--listen"),
            ("demo-rts host --on-slow wait", "meter or remove"),
            ("demo-rts host --on-slow", "--on-slow"),
            ("demo-rts join x --on-slow remove", "--on-slow"),
            ("demo-rts local --turns 0", "from 1 to 4294967295"),
            ("demo-rts local --turns -1", "not `-1`"),
            ("demo-rts local --turns=-1", "not `-1`"),
            ("demo-rts local --turns 4294967296", "--turns"),
            ("demo-rts --map-seed -1", "from 0 to 18446744073709551615"),
            ("demo-rts skirmish --bots -2", "from 1 to 7"),
            ("demo-rts local --peers two", "from 2 to 8"),
            ("demo-rts host --seats -0", "from 1 to 8"),
            ("demo-rts host --listen 4433", "address and port"),
            (
                "demo-rts host --name 123456789012345678901234567890123",
                "33 bytes",
            ),
            ("demo-rts watch f --seed 3", "--seed"),
            ("demo-rts continue", "REPLAY"),
            ("demo-rts continue f --turn -1", "from 0 to 4294967295"),
            ("demo-rts continue f --seat 256", "from 0 to 255"),
            ("demo-rts continue f --level brutal", "easy, normal or hard"),
            ("demo-rts local --plan 170x2", "50, 100, 200 or 400"),
            ("demo-rts local --plan 200x9", "out of range"),
            ("demo-rts local --plan adaptive", "later version"),
            ("demo-rts local --impair loss=101%", "--impair"),
            ("demo-rts local --impair speed=3", "speed"),
            ("demo-rts local --scenario chess", "chess"),
            ("demo-rts local --map moon", "moon"),
            ("demo-rts local --minutes 0", "from 1 to 600"),
            ("demo-rts skirmish --minutes 601", "--minutes"),
            ("demo-rts host --minutes -5", "not `-5`"),
            ("demo-rts watch f --minutes 5", "--minutes"),
            ("demo-rts local --log loud", "--log"),
            (
                "demo-rts local --seed abc",
                "a whole number from 0 to 18446744073709551615 is expected, not `abc`",
            ),
            ("demo-rts join", "TICKET"),
            ("demo-rts dance", "dance"),
        ] {
            let error = parse(line).expect_err(line);
            assert_eq!(error.exit_code(), 2, "{line}");
            assert!(error.to_string().contains(word), "{line}: {error}");
        }
    }
}
