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
    /// [`OptionError`]: no such seat, or it is out of the match. Without `asked`, where `identity` is not readable or has no
    /// seat: [`Problem`].
    pub fn seat(&self, asked: Option<u8>, identity: Option<&Path>) -> Result<Seat, Problem> {
        let plays = |seat: &Seat| self.world().seat(*seat).is_some_and(|seat| !seat.defeated);
        let Some(asked) = asked.map(Seat) else {
            let own = self.own_seats(identity)?.into_iter().find(plays);
            let mut all = self.world().seats().map(|seat| seat.seat);
            // An undecided match has at least one seat in it.
            let any = own.or_else(|| all.find(plays));
            return any.ok_or(OptionError::AllSeatsOut.into());
        };
        if self.world().seat(asked).is_none() {
            let seats = self.world().seats().map(|seat| seat.seat.0).collect();
            let seat = asked.0;
            return Err(OptionError::NoSeat { seat, seats }.into());
        }
        match plays(&asked) {
            true => Ok(asked),
            false => Err(OptionError::Defeated {
                seat: asked.0,
                turn: self.moment.turns(),
            }
            .into()),
        }
    }

    /// The seats of the recording's owner, as far as known, beginning with the one that a person played.
    fn own_seats(&self, identity: Option<&Path>) -> Result<Vec<Seat>, Problem> {
        let reader = self.moment.reader();
        let start = reader.start();
        let turns = self.moment.turns();
        let continued = reader.continuations().iter().rev();
        let mut continued = continued.filter(|at| at.turns <= turns);
        if let Some(continuation) = continued.next() {
            return Ok(vec![continuation.seat]);
        }
        if let [alone] = start.roster.as_slice() {
            return Ok(alone.seats.clone());
        }
        let peers: Vec<PeerId> = start.roster.iter().map(|peer| peer.peer).collect();
        let key = match identity {
            Some(path) => Some(kept(path)?),
            None => Identity::default_for_user_among(&peers).ok().flatten(),
        };
        let key = key.map(|key| key.peer());
        let own = start.roster.iter().find(|peer| Some(peer.peer) == key);
        match own {
            Some(peer) => Ok(peer.seats.clone()),
            None if identity.is_some() => Err(Problem::KeyWithoutSeat),
            None => Ok(Vec::new()),
        }
    }

    pub fn start(&self) -> &Start {
        self.moment.reader().start()
    }

    /// Begins to play from there, and to record where a file is named. Where play does not begin, it removes that file.
    ///
    /// # Errors
    /// [`Problem`].
    pub fn begin(
        self,
        seat: Seat,
        bots: Bots,
        common: &Common,
        recorder: Option<Recorder>,
    ) -> Result<Peer, Problem> {
        let new = recorder.as_ref().and_then(LogStore::path);
        let new = new.map(Path::to_owned);
        let begun = self.begin_over(seat, bots, common, recorder);
        if let (Err(_), Some(new)) = (&begun, new) {
            // What is left of it would only block the name. The first error is the one to report.
            let _ = std::fs::remove_file(new);
        }
        begun
    }

    fn begin_over(
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
            written.map_err(|source| match source {
                source @ replay::Error::Store(_) => Problem::Record {
                    path: path.clone(),
                    source,
                },
                source => Problem::PlayOn {
                    path: self.path.clone(),
                    source,
                    damage: None,
                },
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

/// The key in a file. One that is missing has played nothing, and is not made.
fn kept(path: &Path) -> Result<Identity, Problem> {
    let there = path.metadata();
    there.map_err(|source| Problem::Read {
        path: path.to_owned(),
        source,
    })?;
    Ok(Identity::at(path)?)
}

/// Where a file breaks off, if it does.
fn broken_off(path: &Path) -> Option<String> {
    let reader = Reader::open(path).ok()?;
    reader.damage().map(|damage| damage.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::PlanChoice;
    use crate::{exit, fixture};
    use lockstep::log::{Bundle, LogEntry, Record, Terms, What};

    /// A recording of more than a reader holds at once, with the key of the second player beside it.
    fn recorded(folder: &Path) -> (PathBuf, PathBuf) {
        let (path, key) = (folder.join("old.replay"), folder.join("bob.key"));
        let mut start = fixture::start(Terms::default(), ["ada", "bob"]);
        start.roster[1].peer = Identity::at(&key).unwrap().peer();
        let plan = start.terms.plan;
        let mut log = Recorder::create(&path).unwrap();
        log.append(&Record::Start(start.into())).unwrap();
        for turn in 0..400 {
            let entry = LogEntry {
                seat: Seat(0),
                what: What::Chat("good luck ".repeat(20)),
            };
            let bundle = Bundle {
                turn: TurnNumber(turn),
                plan,
                paused: false,
                entries: vec![entry],
            };
            log.append(&Record::Bundle(bundle)).unwrap();
        }
        log.close().unwrap();
        (path, key)
    }

    #[test]
    fn a_given_key_without_a_seat_takes_none() {
        let folder = tempfile::tempdir().unwrap();
        let (path, key) = recorded(folder.path());
        let found = find(&path, Some(1)).unwrap();
        let (missing, other) = (folder.path().join("no.key"), folder.path().join("eve.key"));
        drop(Identity::at(&other).unwrap());
        let seat = |asked: Option<u8>, key: &Path| {
            let seat = found.seat(asked, Some(key));
            seat.map_err(|why| why.to_string())
        };
        assert_eq!(seat(None, &key), Ok(Seat(1)));
        assert!(seat(None, &missing).is_err_and(|why| why.contains("no.key")));
        assert!(seat(None, &other).is_err_and(|why| why.contains("no seat")));
        // A seat that is named needs no key.
        assert_eq!(seat(Some(0), &missing), Ok(Seat(0)));
        assert!(!missing.exists());
    }

    #[test]
    fn a_recording_that_does_not_begin_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let (old, _) = recorded(folder.path());
        let new = folder.path().join("new.replay");
        let begin = |found: Found, common: &Common| {
            let recorder = crate::recording::recorder(&new).unwrap();
            let begun = found.begin(Seat(0), Bots::None, common, Some(recorder));
            let problem = begun.err().expect("it does not begin");
            assert!(!new.exists(), "{problem}");
            problem
        };
        let common = Common {
            plan: Some(PlanChoice::Adaptive),
            ..Common::default()
        };
        begin(find(&old, None).unwrap(), &common);
        // The old file breaks off while it is copied.
        let found = find(&old, None).unwrap();
        let file = std::fs::File::options().write(true).open(&old).unwrap();
        file.set_len(40).unwrap();
        let problem = begin(found, &Common::default());
        assert!(
            matches!(&problem, Problem::PlayOn { path, .. } if *path == old),
            "{problem}"
        );
        assert_eq!(problem.code(), exit::IO);
    }
}
