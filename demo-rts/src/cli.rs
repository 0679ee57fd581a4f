//! The command line as types. Parsing only; `program` decides what a command starts.

use crate::bot::Level;
use crate::log::LogLevel;
use crate::options::{self, OnQuorumLoss, PlanChoice};
use crate::world::{LONGEST_MINUTES, MapKind, SHORTEST_MINUTES, Scenario};
use clap::{Args, Parser, Subcommand, ValueEnum};
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
    /// What to do. Without a command: the menu in a window, or, without a display, `local` with four peers.
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub common: Common,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run several real peers on this machine, each with its own session and QUIC endpoint; bots play.
    #[command(
        mut_arg("identity", |option| option.hide(true)),
        mut_arg("on_quorum_loss", |option| option.hide(true)),
        after_help = "Example: demo-rts local --peers 4 --impair delay=50ms,loss=5%"
    )]
    Local(Local),
    /// Play against bots, without a network.
    #[command(
        mut_arg("identity", |option| option.hide(true)),
        mut_arg("impair", |option| option.hide(true)),
        mut_arg("patient", |option| option.hide(true)),
        mut_arg("on_quorum_loss", |option| option.hide(true)),
        mut_arg("plan", |option| option.help(PLAN_ALONE)),
        after_help = "Example: demo-rts skirmish --bots 3 --level easy"
    )]
    Skirmish(Skirmish),
    /// Open a match and print its ticket.
    #[command(
        after_help = "Example: demo-rts host --seats 4 --ticket-file match.ticket\n\
                      Example: demo-rts host --headless --bot normal --json --turns 500 --record host.replay\n\n\
                      After quorum loss, or after all peers crashed, one player reopens the match from its recording:\n\
                      `host --from`. The other players join with `join --from`, their own recordings and their identity\n\
                      of that match. The new recordings hold the match from turn 0.\n\n\
                      Example: demo-rts host --from match.replay --wait 30"
    )]
    Host(Host),
    /// Join the match of a ticket.
    #[command(
        mut_arg("map_seed", |option| option.hide(true)),
        mut_arg("map", |option| option.hide(true)),
        mut_arg("scenario", |option| option.hide(true)),
        mut_arg("minutes", |option| option.hide(true)),
        mut_arg("plan", |option| option.hide(true)),
        after_help = "The host chooses map, scenario, length and plan.\n\n\
                      Example: demo-rts join @match.ticket --name Ada\n\
                      Example: demo-rts join TICKET --headless --bot hard --json\n\
                      Example: demo-rts join TICKET --from match.replay"
    )]
    Join(Join),
    /// Rejoin a running or reopened match: after a crash, or after the other peers removed this one.
    #[command(
        mut_arg("map_seed", |option| option.hide(true)),
        mut_arg("map", |option| option.hide(true)),
        mut_arg("scenario", |option| option.hide(true)),
        mut_arg("minutes", |option| option.hide(true)),
        mut_arg("plan", |option| option.hide(true)),
        after_help = "Needs the identity of the match. The file .peers beside the replay holds the addresses of the other\n\
                      peers; the ticket of any peer serves as well. Records to a new file beside the replay.\n\n\
                      Example: demo-rts rejoin match.replay\n\
                      Example: demo-rts rejoin TICKET --headless --bot hard --json --record back.replay"
    )]
    Rejoin(Rejoin),
    /// Watch a replay.
    #[command(after_help = "Example: demo-rts watch match.replay")]
    Watch(Watch),
    /// Forward a match between peers that cannot reach each other. Not available in this version.
    #[command(after_help = "Example: demo-rts relay --listen 0.0.0.0:4433")]
    Relay(Unavailable),
    /// Play on from a moment of a replay, against bots.
    #[command(
        mut_arg("identity", |option| option.help("The key of the match: you take its seat")),
        mut_arg("map_seed", |option| option.hide(true)),
        mut_arg("map", |option| option.hide(true)),
        mut_arg("scenario", |option| option.hide(true)),
        mut_arg("minutes", |option| option.hide(true)),
        mut_arg("impair", |option| option.hide(true)),
        mut_arg("patient", |option| option.hide(true)),
        mut_arg("on_quorum_loss", |option| option.hide(true)),
        mut_arg("plan", |option| option.help(PLAN_ALONE)),
        mut_arg("turns", |option| option.help("End after this many more turns")),
        mut_arg("record", |option| option.help("Record to this new file. Default: a file beside the replay")),
        after_help = "The new recording begins with the old match up to that turn, signatures included, and marks the turn\n\
                      where play went on: `replay info` and `verify` name it.\n\n\
                      Example: demo-rts continue match.replay --turn 500\n\
                      Example: demo-rts continue match.replay --turn 500 --seat 1 --level hard --headless --bot normal --turns 300"
    )]
    Continue(Continue),
    /// Read replay files: info, verify, show, stats, diff, trim, export.
    #[command(
        disable_help_flag = true,
        after_help = "Example: demo-rts replay verify match.replay"
    )]
    Replay(Replay),
}

/// A peer alone waits for no other, so a skirmish begins with less delay than a networked match may have.
const PLAN_ALONE: &str =
    "Milliseconds in a turn x command delay in turns: 50, 100, 200 or 400 by 1 to 8. Default 100x1";

/// Options of `host` that a recording has fixed. `--turns` is not one: it only makes this peer leave.
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

#[derive(Debug, Args)]
pub struct Local {
    /// Peers, each with one seat.
    #[arg(long, value_name = "N", default_value_t = 4, allow_negative_numbers = true, value_parser = options::whole(2, 8_u8))]
    pub peers: u8,
    #[command(flatten)]
    pub common: Common,
}

#[derive(Debug, Args)]
pub struct Skirmish {
    /// Opponents.
    #[arg(long, value_name = "N", default_value_t = 3, allow_negative_numbers = true, value_parser = options::whole(1, 7_u8))]
    pub bots: u8,
    /// Level of the bots: easy, normal or hard.
    #[arg(long, default_value = "normal", value_parser = str::parse::<Level>)]
    pub level: Level,
    #[command(flatten)]
    pub common: Common,
}

#[derive(Debug, Args)]
pub struct Host {
    /// Address to listen on.
    #[arg(long, value_name = "ADDR", default_value = "0.0.0.0:0", value_parser = options::address)]
    pub listen: SocketAddr,
    /// Seats of the match. It begins once all are taken and every player in a window is ready.
    #[arg(long, value_name = "N", default_value_t = 2, allow_negative_numbers = true, value_parser = options::whole(1, 8_u8))]
    pub seats: u8,
    /// Also write the ticket to this file, atomically.
    #[arg(long, value_name = "F")]
    pub ticket_file: Option<PathBuf>,
    /// What to do about a slow machine: either way the match slows down for it, until that has cost ten seconds; `remove`
    /// then removes the peer.
    #[arg(long, value_name = "POLICY", default_value = "meter", value_parser = options::on_slow)]
    pub on_slow: OnSlow,
    /// What to do when worlds differ: `remove` goes on without the minority, `pause` stops the match. Without a
    /// majority, as in a match of two, it is `pause`.
    #[arg(long, value_name = "POLICY", default_value = "remove", value_parser = options::on_desync)]
    pub on_desync: OnDesync,
    /// A missing player's seat: `idle` leaves it idle, `ai` has a bot play it.
    #[arg(long, value_name = "POLICY", default_value = "idle", value_parser = options::absent)]
    pub absent: Absent,
    /// Reopen the match of this recording after quorum loss, from the newest turn that a quorum of its
    /// players recorded. Give your longest recording.
    #[arg(long, value_name = "REPLAY", conflicts_with_all = FIXED)]
    pub from: Option<PathBuf>,
    /// With --from: begin after this many seconds without the missing players, if the others are a quorum.
    #[arg(long, value_name = "S", default_value_t = 60, requires = "from", allow_negative_numbers = true, value_parser = options::whole(0, 3_600_u16))]
    pub wait: u16,
    /// With --from: begin as soon as the players that came are a quorum, without waiting for the rest.
    #[arg(long, requires = "from")]
    pub first_comers: bool,
    /// With --from: reopen the match also where the others lack turns that they have signed, as your recording proves.
    #[arg(long, requires = "from")]
    pub accept_other_history: bool,
    /// A relay for peers that cannot reach each other. Not available in this version.
    #[arg(long, value_name = "ADDR")]
    pub relay: Option<String>,
    #[command(flatten)]
    pub common: Common,
}

#[derive(Debug, Args)]
pub struct Join {
    /// The ticket, or @FILE for one in a file.
    #[arg(value_name = "TICKET|@FILE")]
    pub ticket: String,
    /// Your recording of a match that is being reopened. Give your longest one.
    #[arg(long, value_name = "REPLAY")]
    pub from: Option<PathBuf>,
    /// With --from: go on also where the others lack turns that they have signed, as your recording proves.
    #[arg(long, requires = "from")]
    pub accept_other_history: bool,
    /// Address to listen on for other peers.
    #[arg(long, value_name = "ADDR", default_value = "0.0.0.0:0", value_parser = options::address)]
    pub listen: SocketAddr,
    #[command(flatten)]
    pub common: Common,
}

#[derive(Debug, Args)]
pub struct Rejoin {
    /// The recording of an earlier run, the ticket of a peer in the match, or @FILE with that ticket.
    #[arg(value_name = "REPLAY|TICKET|@FILE")]
    pub what: String,
    /// Address to listen on for other peers. Port 0 takes the port of the earlier run, where that is free.
    #[arg(long, value_name = "ADDR", default_value = "0.0.0.0:0", value_parser = options::address)]
    pub listen: SocketAddr,
    /// Enter a branch where no match goes on and none is reopened: other players went on there without a quorum.
    #[arg(long)]
    pub into_branch: bool,
    /// Go on also where the others lack turns that they have signed, as your recording proves.
    #[arg(long)]
    pub accept_other_history: bool,
    #[command(flatten)]
    pub common: Common,
}

#[derive(Debug, Args)]
pub struct Watch {
    /// A replay file. Watching a running match by its ticket is not available in this version.
    #[arg(value_name = "REPLAY|TICKET")]
    pub what: String,
    /// Use the terminal even where a window could open.
    #[arg(long)]
    pub terminal: bool,
    /// Without a terminal. Not available in this version.
    #[arg(long, hide = true)]
    pub headless: bool,
    /// JSON lines. Not available in this version.
    #[arg(long, hide = true)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Continue {
    /// The replay.
    #[arg(value_name = "REPLAY")]
    pub replay: PathBuf,
    /// The first turn to play; earlier turns stay as recorded. Default: the end of the recording.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = options::whole(0, u32::MAX))]
    pub turn: Option<u32>,
    /// The seat to take. Default: the seat you played, or else the lowest seat still in the match.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = options::whole(0, u8::MAX))]
    pub seat: Option<u8>,
    /// Level of the bots: easy, normal or hard.
    #[arg(long, default_value = "normal", value_parser = str::parse::<Level>)]
    pub level: Level,
    #[command(flatten)]
    pub common: Common,
}

/// A command of a later version. Its arguments are accepted and ignored.
#[derive(Debug, Args)]
pub struct Unavailable {
    /// Accepted, so that any arguments get the same answer.
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "..."
    )]
    pub rest: Vec<OsString>,
}

#[derive(Debug, Args)]
pub struct Replay {
    /// A command and its files; `demo-rts replay --help` lists the commands.
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "..."
    )]
    pub rest: Vec<OsString>,
}

/// Options of every command that runs a match.
#[derive(Clone, Debug, Default, Args)]
pub struct Common {
    /// Run without a window or terminal view.
    #[arg(long)]
    pub headless: bool,
    /// Use the terminal even where a window could open.
    #[arg(long)]
    pub terminal: bool,
    /// A bot plays this peer's seat: easy, normal or hard.
    #[arg(long, value_name = "LEVEL", value_parser = str::parse::<Level>)]
    pub bot: Option<Level>,
    /// End after this many turns. A guest with a smaller number than the host's leaves then.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = options::whole(1, u32::MAX))]
    pub turns: Option<u32>,
    /// Record the match to this new file.
    #[arg(long, value_name = "F")]
    pub record: Option<PathBuf>,
    /// Seed of this peer's own randomness: its bot, and its share of the match seed.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = options::whole(0, u64::MAX))]
    pub seed: Option<u64>,
    /// Seed of the map. Default: drawn from the match seed.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = options::whole(0, u64::MAX))]
    pub map_seed: Option<u64>,
    /// Kind of map: plains, valleys or lakes. Default: drawn from the map's seed.
    #[arg(long, value_name = "KIND", value_parser = options::map)]
    pub map: Option<MapKind>,
    /// Starting position: `standard`, `skirmish[:N]`, `archers[:N]`, `march[:N]` or
    /// `swarm[:sparse|:normal|:dense]`.
    #[arg(long, value_name = "NAME", value_parser = options::scenario)]
    pub scenario: Option<Scenario>,
    /// Time limit in minutes of match time; the highest score then wins. Default 60.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = options::whole(SHORTEST_MINUTES, LONGEST_MINUTES))]
    pub minutes: Option<u16>,
    /// This peer's key file; created if it does not exist.
    #[arg(long, value_name = "F")]
    pub identity: Option<PathBuf>,
    /// Your name, up to 32 bytes.
    #[arg(long, value_name = "S", value_parser = options::name)]
    pub name: Option<String>,
    /// `adaptive`, as fast as the slowest link allows, or fixed: milliseconds in a turn x command delay in turns: 50, 100,
    /// 200 or 400 by 2 to 8. Default adaptive.
    #[arg(long, value_name = "WxD", value_parser = options::plan_choice)]
    pub plan: Option<PlanChoice>,
    /// Impair this peer's outgoing packets: delay=50ms,jitter=10ms,loss=5%,dup=1%,reorder=1%,burst=100ms,seed=7.
    /// @FILE reads that text, and lines `to ADDRESS loss=100%`, from a file, again whenever it changes.
    #[arg(long, value_name = "..", value_parser = options::impair)]
    pub impair: Option<options::Impair>,
    /// Vote to wait longer for a lost player, up to ten minutes.
    #[arg(long)]
    pub patient: bool,
    /// After quorum loss: `wait` for the missing players, `reopen` the match with its first comers, or `branch`, which
    /// goes on alone: missing players may enter the branch, and its result counts as unagreed. All but `wait` need
    /// --record. Default: `ask`; `wait` without a screen.
    #[arg(long, value_name = "CHOICE", value_parser = options::on_quorum_loss)]
    pub on_quorum_loss: Option<OnQuorumLoss>,
    /// The player's word to enter a branch.
    #[arg(skip)]
    pub into_branch: bool,
    /// The player's word to go on by a history that the recording contradicts.
    #[arg(skip)]
    pub accept_other_history: bool,
    /// Write one JSON object per line to stdout and nothing else. Implies --headless. Requests are read from stdin, unless
    /// that is a terminal: {"request":"enter_branch"}, {"request":"begin_now"} and {"request":"remove_guest","seat":1}.
    #[arg(long)]
    pub json: bool,
    /// Verbosity on stderr.
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
    /// Names of those of these options that were given: for commands that cannot use every one.
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
            "--on-quorum-loss" => self.on_quorum_loss.is_some(),
            "--json" => self.json,
            _ => self.log != LogLevel::default(),
        };
        options.iter().copied().filter(given).collect()
    }

    /// What a peer with these options does after quorum loss.
    pub fn on_quorum_loss(&self) -> OnQuorumLoss {
        self.on_quorum_loss.unwrap_or(match self.without_screen() {
            true => OnQuorumLoss::Wait,
            false => OnQuorumLoss::Ask,
        })
    }

    pub fn without_screen(&self) -> bool {
        self.headless || self.json
    }

    /// These options, completed by those of `outer`: options may also stand before the command.
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
            on_quorum_loss: self.on_quorum_loss.or(outer.on_quorum_loss),
            into_branch: self.into_branch || outer.into_branch,
            accept_other_history: self.accept_other_history || outer.accept_other_history,
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
    fn every_command_shows_an_example() {
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
    fn help_names_the_default_plan_of_each_command() {
        let mut command = Cli::command();
        for (sub, plan) in [
            ("skirmish", PlanChoice::Fixed(options::ALONE)),
            ("continue", PlanChoice::Fixed(options::ALONE)),
            ("local", PlanChoice::Adaptive),
            ("host", PlanChoice::Adaptive),
        ] {
            let sub = command.find_subcommand_mut(sub).expect("it is there");
            let help = sub.render_long_help().to_string();
            let least = if plan == PlanChoice::Adaptive { 2 } else { 1 };
            for wanted in [format!("Default {plan}"), format!("by {least} to 8")] {
                assert!(help.contains(&wanted), "{wanted} in {help}");
            }
        }
    }

    #[test]
    fn help_lists_only_options_that_the_command_uses() {
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
                &["--identity", "--impair", "--patient", "--on-quorum-loss"],
            ),
            (
                "continue",
                "--turn",
                &[
                    "--map",
                    "--scenario",
                    "--minutes",
                    "--impair",
                    "--on-quorum-loss",
                ],
            ),
            ("local", "--impair", &["--identity", "--on-quorum-loss"]),
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
    fn documented_command_lines_parse() {
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
            "demo-rts local --plan adaptive",
            "demo-rts host --on-quorum-loss ask",
            "demo-rts rejoin f.replay --on-quorum-loss branch --headless",
            "demo-rts join @file --headless",
            "demo-rts join @file --from f.replay --headless",
            "demo-rts host --from f.replay --wait 0 --headless",
            "demo-rts host --from f.replay --first-comers",
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
    fn options_fixed_by_a_recording_are_refused_by_name() {
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
    fn options_out_of_range_are_refused_by_name() {
        for (line, word) in [
            ("demo-rts local --peers 1", "--peers"),
            ("demo-rts local --peers 9", "--peers"),
            ("demo-rts skirmish --bots 8", "--bots"),
            ("demo-rts skirmish --level brutal", "easy, normal or hard"),
            ("demo-rts host --seats 0", "--seats"),
            ("demo-rts host --wait 3", "--from"),
            ("demo-rts host --first-comers", "--from"),
            ("demo-rts host --from f --wait 3601", "0 to 3600"),
            ("demo-rts host --seats 9", "--seats"),
            ("demo-rts host --listen nowhere", "--listen"),
            ("demo-rts host --on-slow wait", "meter or remove"),
            ("demo-rts host --on-slow", "--on-slow"),
            (
                "demo-rts host --on-quorum-loss leave",
                "wait, reopen or branch",
            ),
            ("demo-rts watch f --on-quorum-loss wait", "--on-quorum-loss"),
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
