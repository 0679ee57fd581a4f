//! Playing on from a moment of a recorded match: a person takes one seat, bots take the others.

use crate::cli::Common;
use crate::exit::Problem;
use crate::options::OptionError;
use crate::peer::{Bots, KeyChoice, Launch, Part, Peer};
use crate::plain::shown;
use crate::recording::RecordedTo;
use crate::words::{clock, match_time};
use crate::world::World;
use lockstep::log::{LogStore, Start};
use lockstep::quic::Identity;
use lockstep::{PeerId, Seat, TurnNumber};
use replay::{Reader, Recorder, WorldAt};
use std::path::{Path, PathBuf};

/// A moment of a recording, and what the player should know about it.
pub struct Found {
    path: PathBuf,
    moment: WorldAt<World>,
    /// Where the file breaks off.
    pub damage: Option<String>,
}

/// Finds the moment before a turn, or the end of the recording.
///
/// # Errors
/// [`Problem::PlayOn`].
pub fn find(path: &Path, turn: Option<u32>) -> Result<Found, Problem> {
    let moment = WorldAt::<World>::open(path, turn);
    let moment = moment.map_err(|source| Problem::PlayOn {
        path: path.to_owned(),
        damage: match source {
            replay::Error::NoSuchTurn { .. } => broken_off(path),
            _ => None,
        },
        source,
    })?;
    let damage = moment.reader().damage().map(|damage| damage.to_string());
    Ok(Found {
        path: path.to_owned(),
        moment,
        damage,
    })
}

impl Found {
    pub fn world(&self) -> &World {
        self.moment.world()
    }

    /// The first turn to play.
    pub fn turn(&self) -> TurnNumber {
        TurnNumber(self.moment.turns())
    }

    /// The seat that was asked for. Otherwise a seat of this player's key or of `identity`, or else the lowest in
    /// the match.
    ///
    /// # Errors
    /// [`OptionError`]: no such seat, or it is out of the match.
    pub fn seat(&self, asked: Option<u8>, identity: Option<&Path>) -> Result<Seat, OptionError> {
        let plays = |seat: &Seat| self.world().seat(*seat).is_some_and(|seat| !seat.defeated);
        let Some(asked) = asked.map(Seat) else {
            let own = self.own_seats(identity).into_iter().find(plays);
            let mut all = self.world().seats().map(|seat| seat.seat);
            // An undecided match has at least one seat in it.
            let any = own.or_else(|| all.find(plays));
            return any.ok_or(OptionError::AllSeatsOut);
        };
        if self.world().seat(asked).is_none() {
            let seats = self.world().seats().map(|seat| seat.seat.0).collect();
            return Err(OptionError::NoSeat {
                seat: asked.0,
                seats,
            });
        }
        match plays(&asked) {
            true => Ok(asked),
            false => Err(OptionError::Defeated {
                seat: asked.0,
                turn: self.moment.turns(),
            }),
        }
    }

    /// The seats of the recording's owner, as far as known, beginning with the one that a person played.
    fn own_seats(&self, identity: Option<&Path>) -> Vec<Seat> {
        let reader = self.moment.reader();
        let start = reader.start();
        let turns = self.moment.turns();
        let continued = reader.continuations().iter().rev();
        let mut continued = continued.filter(|at| at.turns <= turns);
        if let Some(continuation) = continued.next() {
            return vec![continuation.seat];
        }
        if let [alone] = start.roster.as_slice() {
            return alone.seats.clone();
        }
        let peers: Vec<PeerId> = start.roster.iter().map(|peer| peer.peer).collect();
        let key = match identity {
            // A key that does not exist yet has played nothing.
            Some(path) if !path.exists() => None,
            Some(path) => Identity::at(path).ok(),
            None => Identity::default_for_user_among(&peers).ok().flatten(),
        };
        let key = key.map(|key| key.peer());
        let own = start.roster.iter().find(|peer| Some(peer.peer) == key);
        own.map_or_else(Vec::new, |peer| peer.seats.clone())
    }

    pub fn start(&self) -> &Start {
        self.moment.reader().start()
    }

    /// Begins to play from there, and to record where a file is named.
    ///
    /// # Errors
    /// [`Problem`].
    pub fn begin(
        mut self,
        seat: Seat,
        bots: Bots,
        common: &Common,
        recorder: Option<Recorder>,
    ) -> Result<Peer, Problem> {
        let mut recording = None;
        if let Some(mut recorder) = recorder {
            let path = recorder.path().unwrap_or(&self.path).to_owned();
            let written = self.moment.record_to(&mut recorder);
            written.map_err(|source| Problem::Record {
                path: path.clone(),
                source,
            })?;
            let recorded_to = RecordedTo::default();
            // Set once: the cell is new.
            let _ = recorded_to.set(path);
            let store: Box<dyn LogStore> = Box::new(recorder);
            recording = Some((store, recorded_to));
        }
        let from = self.moment.of_seat(seat);
        let common = Common {
            record: None,
            ..common.clone()
        };
        let beginning = Launch {
            ready: true,
            recording,
            ..Launch::default()
        };
        let part = Part::PlayOn { from: &from };
        Peer::begin(&part, bots, &common, KeyChoice::Ephemeral, beginning)
    }

    /// Lines to show before play begins.
    pub fn notes(&self, seat: Seat, record: Option<&Path>) -> Vec<String> {
        let reader = self.moment.reader();
        let tick_ms = reader.start().terms.plan.tick_ms;
        let time = match_time(reader.ticks_before(self.turn()), tick_ms);
        let path = shown(&self.path);
        let mut notes: Vec<String> = self
            .damage
            .iter()
            .map(|damage| format!("{path}: {damage}"))
            .collect();
        notes.push(format!(
            "playing on from turn {} ({}) of {path} in {}",
            self.moment.turns(),
            clock(time),
            crate::play::seat_name(seat)
        ));
        notes.extend(record.map(|record| format!("recording to {}", shown(record))));
        notes
    }
}

/// Where a file breaks off, if it does.
fn broken_off(path: &Path) -> Option<String> {
    let reader = Reader::open(path).ok()?;
    reader.damage().map(|damage| damage.to_string())
}
