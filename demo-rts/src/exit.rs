//! Exit codes, and the error messages that end the program.

use lockstep::EndReason;
use lockstep::quic::IdentityError;
use lockstep::session::ConfigError;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Success.
pub const GOOD: u8 = 0;
/// A file, a device or the operating system failed.
pub const IO: u8 = 1;
/// The command line is invalid.
pub const USAGE: u8 = 2;
/// Worlds or rules differ, or a world failed.
pub const DESYNC: u8 = 3;
/// The network or the other side failed.
pub const NETWORK: u8 = 4;
/// A file is damaged or foreign.
pub const DAMAGED: u8 = 5;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// An option is out of range, or of a later version.
    #[error("{0}")]
    Usage(#[from] crate::options::OptionError),
    /// A text that is not a ticket.
    #[error(transparent)]
    Ticket(lockstep::ticket::TicketError),
    /// A file could not be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A file could not be written.
    #[error("cannot write {path}: {source}")]
    Write {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A recording could not be begun.
    #[error("cannot record to {path}: {source}")]
    Record {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: replay::Error,
    },
    /// A replay could not be opened.
    #[error("cannot watch {path}: {source}")]
    Replay {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: replay::Error,
    },
    /// A replay does not identify its match.
    #[error("cannot rejoin with {path}: {source}")]
    Rejoin {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: replay::Error,
    },
    /// A replay does not hold the moment to play on from.
    #[error("cannot play on from {path}: {source}{}", damage.as_ref().map_or_else(String::new, |damage| format!("; the file {damage}")))]
    PlayOn {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: replay::Error,
        /// Where the file breaks off, if the turn may lie behind that.
        damage: Option<String>,
    },
    /// A match that a peer cannot go on with after quorum loss.
    #[error("a match without a recording can neither be reopened nor played on alone")]
    NotRecorded,
    /// A key without a seat in the match.
    #[error("this key has no seat in that match: give the key of the match with --identity FILE")]
    KeyWithoutSeat,
    /// This peer's key cannot be read or made.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// The network endpoint failed.
    #[error(transparent)]
    Quic(#[from] lockstep::quic::Error),
    /// The match could not be opened.
    #[error(transparent)]
    Live(#[from] lockstep::live::Error),
    /// The terminal or stdout failed.
    #[error("the terminal, or stdout, cannot be used: {0}")]
    Terminal(#[source] std::io::Error),
}

impl Problem {
    /// The exit code.
    pub fn code(&self) -> u8 {
        match self {
            Problem::Usage(_)
            | Problem::Ticket(_)
            | Problem::NotRecorded
            | Problem::KeyWithoutSeat => USAGE,
            Problem::Live(lockstep::live::Error::Config(
                ConfigError::OnlySelf | ConfigError::OwnKey,
            )) => USAGE,
            Problem::Rejoin {
                source:
                    replay::Error::NoWayBack
                    | replay::Error::OtherMatch
                    | replay::Error::Over
                    | replay::Error::Continued { .. }
                    | replay::Error::TooLong { .. },
                ..
            } => USAGE,
            Problem::PlayOn {
                source:
                    replay::Error::NoSuchTurn { .. }
                    | replay::Error::Decided { .. }
                    | replay::Error::TooLong { .. },
                damage: None,
                ..
            } => USAGE,
            Problem::PlayOn { source, .. }
            | Problem::Replay { source, .. }
            | Problem::Rejoin { source, .. } => of_replay(source),
            Problem::Identity(IdentityError::Content { .. }) => DAMAGED,
            _ if self.is_closed_pipe() => GOOD,
            _ => IO,
        }
    }

    /// Whether the reader of the output has closed it, as `head` does.
    fn is_closed_pipe(&self) -> bool {
        matches!(self, Problem::Terminal(error) if error.kind() == std::io::ErrorKind::BrokenPipe)
    }
}

/// The exit code of a match that ended this way.
pub fn of_end(reason: &EndReason) -> u8 {
    match reason {
        EndReason::Decided | EndReason::TurnLimit | EndReason::Left | EndReason::ReplayEnd => GOOD,
        EndReason::Desync | EndReason::World | EndReason::WorldFault { .. } => DESYNC,
        EndReason::Internal => IO,
        _ => NETWORK,
    }
}

/// The `reason` of the JSON line `end`.
pub fn reason_name(reason: &EndReason) -> &'static str {
    match reason {
        EndReason::Decided => "decided",
        EndReason::TurnLimit => "turn-limit",
        EndReason::Left => "left",
        EndReason::Desync => "desync",
        EndReason::StallLimit { .. } => "stall",
        EndReason::Removed => "removed",
        EndReason::Refused(_) => "refused",
        EndReason::Unreachable(_) | EndReason::NoPeerFound | EndReason::OthersWent { .. } => {
            "unreachable"
        }
        EndReason::OnlyJoiners => "nobody-plays",
        EndReason::OnlyBranches => "only-branches",
        EndReason::LobbyClosed => "lobby-closed",
        EndReason::NoQuorum { .. } => "no-quorum",
        EndReason::Undecided { .. } => "undecided",
        EndReason::Contradicted { .. } => "contradicted",
        EndReason::World => "world",
        EndReason::WorldFault { .. } => "world-fault",
        EndReason::Internal => "internal",
        EndReason::ReplayEnd => "replay-end",
        _ => "other",
    }
}

/// Writes the problem to stderr and returns the exit code.
pub fn report(problem: &Problem) -> ExitCode {
    if !problem.is_closed_pipe() {
        // A closed stderr leaves no way to report its own failure.
        let _ = writeln!(std::io::stderr(), "demo-rts: {problem}");
    }
    ExitCode::from(problem.code())
}

/// The exit code of a replay that cannot be used for this reason: that of the command `replay verify`.
pub fn of_replay(error: &replay::Error) -> u8 {
    match error {
        replay::Error::Io(_) | replay::Error::Exists | replay::Error::Store(_) => IO,
        replay::Error::Setup
        | replay::Error::OtherRules { .. }
        | replay::Error::World { .. }
        | replay::Error::OtherWorld { .. } => DESYNC,
        _ => DAMAGED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstep::{JoinRefused, LinkError, Seat, TurnNumber};

    #[test]
    fn a_closed_pipe_is_good_and_a_full_disk_is_io() {
        let problem = |kind: std::io::ErrorKind| Problem::Terminal(kind.into());
        assert_eq!(problem(std::io::ErrorKind::BrokenPipe).code(), GOOD);
        assert_eq!(problem(std::io::ErrorKind::StorageFull).code(), IO);
    }

    #[test]
    fn rejoin_with_own_ticket_is_a_usage_error() {
        let problem = Problem::Live(ConfigError::OnlySelf.into());
        assert_eq!(problem.code(), USAGE);
        let message = problem.to_string();
        assert!(message.contains("only to this peer itself"), "{message}");
    }

    #[test]
    fn a_replay_of_other_rules_or_a_panic_has_the_code_of_verify() {
        let world = || replay::Error::World {
            turn: 9,
            message: "no such coin".to_owned(),
        };
        let path = || PathBuf::from("a.replay");
        for (source, code) in [
            (replay::Error::Setup, DESYNC),
            (world(), DESYNC),
            (replay::Error::Foreign, DAMAGED),
        ] {
            assert_eq!(of_replay(&source), code, "{source}");
        }
        let problem = Problem::Replay {
            path: path(),
            source: world(),
        };
        assert_eq!(problem.code(), DESYNC);
        let identity = IdentityError::Content { path: path() };
        assert_eq!(Problem::from(identity).code(), DAMAGED);
    }

    #[test]
    fn a_sound_replay_that_does_not_fit_the_command_is_a_usage_error() {
        let path = || PathBuf::from("a.replay");
        let long = || replay::Error::TooLong {
            turns: 1_000_001,
            most: 1_000_000,
        };
        for source in [
            replay::Error::OtherMatch,
            replay::Error::Continued { turns: 9 },
            long(),
        ] {
            let problem = Problem::Rejoin {
                path: path(),
                source,
            };
            assert_eq!(problem.code(), USAGE, "{problem}");
        }
        let problem = Problem::PlayOn {
            path: path(),
            source: long(),
            damage: None,
        };
        assert_eq!(problem.code(), USAGE, "{problem}");
    }

    #[test]
    fn every_end_reason_has_its_documented_exit_code() {
        let table = [
            (EndReason::Decided, 0),
            (EndReason::TurnLimit, 0),
            (EndReason::Left, 0),
            (EndReason::Desync, 3),
            (EndReason::World, 3),
            (
                EndReason::WorldFault {
                    turn: TurnNumber(9),
                    message: String::new(),
                    report: None,
                },
                3,
            ),
            (EndReason::Internal, 1),
            (EndReason::StallLimit { on: vec![Seat(1)] }, 4),
            (EndReason::Refused(JoinRefused::Started), 4),
            (EndReason::Refused(JoinRefused::Full { seats: 2 }), 4),
            (EndReason::Unreachable(LinkError::WrongKey), 4),
            (EndReason::NoPeerFound, 4),
            (
                EndReason::OthersWent {
                    after: TurnNumber(9),
                },
                4,
            ),
            (EndReason::OnlyJoiners, 4),
            (EndReason::LobbyClosed, 4),
            (EndReason::NoQuorum { missing: vec![] }, 4),
            (EndReason::Undecided { missing: vec![] }, 4),
            (
                EndReason::Contradicted {
                    signers: vec![],
                    turn: TurnNumber(9),
                },
                4,
            ),
        ];
        for (reason, code) in table {
            assert_eq!(of_end(&reason), code, "{reason}");
        }
    }
}
