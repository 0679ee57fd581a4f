//! How far the model is run through.

use super::{Mutant, RosterModel};
use lockstep::session::roster::Peers;

/// One thing that the model is run through for.
#[derive(Clone, Debug)]
pub struct Bound {
    /// What it is about.
    pub about: &'static str,
    /// What is run through with every test run: all of them together in less than a minute of two cores.
    pub small: RosterModel,
    /// What the `model` binary runs through, as far as it comes in the time that it is given.
    pub large: RosterModel,
}

/// All there are.
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
        returns: Peers(0b10),
        ..two.clone()
    };
    let host_rejoins = RosterModel {
        epochs: 2,
        out: Peers(0b01),
        returns: Peers(0b01),
        ..rejoin.clone()
    };
    let restart = RosterModel {
        turns: 1,
        epochs: 2,
        returns: Peers(0b11),
        ..two.clone()
    };
    let two_rejoin = RosterModel {
        epochs: 2,
        out: Peers(0b110),
        returns: Peers(0b110),
        turns: 1,
        ..three.clone()
    };
    vec![
        Bound {
            about: "crash removal, 2 peers, 3 turns",
            small: turns.clone(),
            large: RosterModel {
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
                leavers: Peers(0b111),
                ..three.clone()
            },
        },
        Bound {
            about: "two epochs, 2 peers",
            small: epochs.clone(),
            large: RosterModel { turns: 3, ..epochs },
        },
        Bound {
            about: "the guest comes back to the host",
            small: rejoin.clone(),
            large: RosterModel {
                turns: 4,
                attempts: 2,
                epochs: 2,
                ..rejoin
            },
        },
        Bound {
            about: "the host comes back to the guest",
            small: host_rejoins.clone(),
            large: RosterModel {
                turns: 4,
                attempts: 2,
                ..host_rejoins
            },
        },
        Bound {
            about: "removed and come back, 2 peers",
            small: restart.clone(),
            large: RosterModel {
                turns: 3,
                goes_on: true,
                ..restart
            },
        },
        Bound {
            about: "one of 3 peers comes back while another may be removed",
            small: RosterModel {
                out: Peers(0b100),
                returns: Peers(0b100),
                ..three.clone()
            },
            large: RosterModel {
                out: Peers(0b100),
                returns: Peers(0b100),
                attempts: 2,
                turns: 2,
                ..three.clone()
            },
        },
        Bound {
            about: "two of 3 peers come back",
            small: two_rejoin.clone(),
            large: RosterModel {
                turns: 4,
                goes_on: true,
                ..two_rejoin
            },
        },
    ]
}

/// More of everything than can be run through: for walks at random.
pub fn far() -> RosterModel {
    RosterModel {
        peers: 4,
        turns: 6,
        attempts: 3,
        epochs: 4,
        goes_on: true,
        leavers: Peers(0b1111),
        returns: Peers(0b1111),
        ..RosterModel::default()
    }
}

/// The model in which a mutant is found, at random and in no time.
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
        // One who decides alone, and one who has not heard of it.
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
        // Votes alone: no turn is needed for two of them to decide differently.
        Mutant::IgnoredAccepted => RosterModel { turns: 0, ..three },
        Mutant::JoinerCounted => RosterModel {
            turns: 0,
            out: Peers(0b100),
            returns: Peers(0b100),
            ..three
        },
        Mutant::OldEpochVote => RosterModel {
            turns: 0,
            returns: Peers(0b100),
            ..three
        },
        Mutant::ForgottenStart => RosterModel {
            turns: 1,
            attempts: 1,
            epochs: 2,
            out: Peers(0b110),
            returns: Peers(0b110),
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
