//! Bounds of the model's exploration.

use super::{Mutant, RosterModel};
use lockstep::session::roster::Peers;

/// One purpose of the exploration.
#[derive(Clone, Debug)]
pub struct Bound {
    /// The purpose.
    pub about: &'static str,
    /// Explored by every test run: all bounds together take less than a minute on two cores.
    pub small: RosterModel,
    /// Explored by the `model` binary, as far as its time allows.
    pub large: RosterModel,
}

/// All bounds.
pub fn bounds() -> Vec<Bound> {
    let two = RosterModel::default();
    let three = RosterModel {
        peers: 3,
        ..two.clone()
    };
    let turns = RosterModel {
        turns: 3,
        goes_on: true,
        ..two.clone()
    };
    let leaving = RosterModel {
        turns: 2,
        leavers: Peers(0b11),
        ..two.clone()
    };
    let epochs = RosterModel {
        turns: 2,
        epochs: 2,
        goes_on: true,
        ..two.clone()
    };
    let rejoin = RosterModel {
        turns: 3,
        goes_on: true,
        out: Peers(0b10),
        joiners: Peers(0b10),
        ..two.clone()
    };
    let host_rejoins = RosterModel {
        epochs: 2,
        out: Peers(0b01),
        joiners: Peers(0b01),
        ..rejoin.clone()
    };
    let restart = RosterModel {
        turns: 1,
        epochs: 2,
        joiners: Peers(0b11),
        ..two.clone()
    };
    let two_rejoin = RosterModel {
        epochs: 2,
        out: Peers(0b110),
        joiners: Peers(0b110),
        turns: 1,
        ..three.clone()
    };
    vec![
        Bound {
            about: "crash removal, 2 peers, 3 turns",
            small: turns.clone(),
            large: RosterModel {
                turns: 4,
                attempts: 2,
                ..turns
            },
        },
        Bound {
            about: "crash removal, 3 peers",
            small: three.clone(),
            large: RosterModel {
                attempts: 2,
                ..three.clone()
            },
        },
        Bound {
            about: "two values accepted, and a third ballot, 3 peers",
            small: RosterModel {
                turns: 0,
                attempts: 3,
                ..three.clone()
            },
            // With a turn to play, and a delay of one turn, 70 million states were not all.
            large: RosterModel {
                turns: 0,
                attempts: 3,
                reopens: true,
                ..three.clone()
            },
        },
        Bound {
            about: "leaving, 2 peers",
            small: leaving.clone(),
            large: RosterModel {
                turns: 5,
                attempts: 2,
                ..leaving
            },
        },
        Bound {
            about: "leaving, 3 peers",
            small: RosterModel {
                leavers: Peers(0b001),
                ..three.clone()
            },
            large: RosterModel {
                turns: 2,
                leavers: Peers(0b111),
                ..three.clone()
            },
        },
        Bound {
            about: "two epochs, 2 peers",
            small: epochs.clone(),
            large: RosterModel { turns: 4, ..epochs },
        },
        Bound {
            about: "the guest rejoins the host",
            small: rejoin.clone(),
            large: RosterModel {
                turns: 5,
                attempts: 2,
                epochs: 2,
                ..rejoin
            },
        },
        Bound {
            about: "the host rejoins the guest",
            small: host_rejoins.clone(),
            large: RosterModel {
                turns: 5,
                attempts: 2,
                ..host_rejoins
            },
        },
        Bound {
            about: "removed and rejoined, 2 peers",
            small: restart.clone(),
            large: RosterModel {
                turns: 4,
                goes_on: true,
                ..restart
            },
        },
        Bound {
            about: "one of 3 peers rejoins while another may be removed",
            small: RosterModel {
                out: Peers(0b100),
                joiners: Peers(0b100),
                ..three.clone()
            },
            large: RosterModel {
                out: Peers(0b100),
                joiners: Peers(0b100),
                attempts: 2,
                turns: 3,
                ..three.clone()
            },
        },
        Bound {
            about: "crash between accept and decision, 3 peers, reopened",
            small: RosterModel {
                turns: 0,
                attempts: 2,
                reopens: true,
                ..three.clone()
            },
            large: RosterModel {
                peers: 4,
                turns: 0,
                attempts: 2,
                reopens: true,
                ..three.clone()
            },
        },
        Bound {
            about: "two of 3 peers rejoin",
            small: two_rejoin.clone(),
            large: RosterModel {
                turns: 5,
                goes_on: true,
                ..two_rejoin
            },
        },
    ]
}

/// Larger than exploration can complete: for random walks.
pub fn far() -> RosterModel {
    RosterModel {
        peers: 4,
        turns: 6,
        attempts: 3,
        epochs: 4,
        goes_on: true,
        leavers: Peers(0b1111),
        joiners: Peers(0b1111),
        ..RosterModel::default()
    }
}

/// A model in which random walks find a mutant quickly.
pub fn with_mutant(mutant: Mutant) -> RosterModel {
    let three = RosterModel {
        peers: 3,
        turns: 3,
        attempts: 2,
        ..RosterModel::default()
    };
    let model = match mutant {
        Mutant::LeaveAtOnce => RosterModel {
            turns: 1,
            leavers: Peers(0b111),
            ..three
        },
        // One peer decides alone, and one has not learned of it.
        Mutant::LeaveUndecided => RosterModel {
            peers: 2,
            turns: 4,
            attempts: 1,
            leavers: Peers(0b01),
            ..three
        },
        Mutant::EpochlessBatches => RosterModel {
            peers: 2,
            attempts: 1,
            ..three
        },
        // Votes alone suffice: two peers decide differently without any turn.
        Mutant::IgnoredAccepted => RosterModel { turns: 0, ..three },
        Mutant::OldestAccepted => RosterModel {
            turns: 0,
            attempts: 3,
            ..three
        },
        Mutant::JoinerCounted => RosterModel {
            turns: 0,
            out: Peers(0b100),
            joiners: Peers(0b100),
            ..three
        },
        Mutant::OldEpochVote => RosterModel {
            turns: 0,
            joiners: Peers(0b100),
            ..three
        },
        Mutant::AcceptsForgotten => RosterModel {
            turns: 0,
            reopens: true,
            ..three
        },
        Mutant::ForgottenStart => RosterModel {
            turns: 1,
            attempts: 1,
            epochs: 2,
            out: Peers(0b110),
            joiners: Peers(0b110),
            ..three
        },
        _ => three,
    };
    RosterModel {
        goes_on: true,
        mutant: Some(mutant),
        ..model
    }
}
