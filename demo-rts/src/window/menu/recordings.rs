//! The recordings of a folder, read on a thread of their own.

use crate::names::bot;
use crate::window::places::setup_of;
use crate::window::players::players_of;
use crate::window::words::menu as words;
use crate::words::match_time;
use crate::world::{Setup, World};
use lockstep::{MatchId, PeerId, Seat, TurnNumber};
use replay::{Reader, WayBack};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::time::{Duration, SystemTime};

/// A file of the folder.
#[derive(Clone, Debug)]
pub struct Recording {
    pub path: PathBuf,
    /// Time since the last write, when it was read.
    pub age: Duration,
    /// The content, or why it is unreadable.
    pub content: Result<Content, String>,
}

/// A summary of a recorded match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    pub match_id: MatchId,
    /// Names by seat.
    pub players: Vec<(Seat, String)>,
    pub peers: Vec<PeerId>,
    pub setup: Setup,
    /// Match time.
    pub length: Duration,
    /// The result, as text.
    pub result: String,
    /// Whether the match ended for all players.
    pub is_over: bool,
    pub build: String,
    /// Match time from which a player played on alone, if one did.
    pub continued: Option<Duration>,
    /// Where the file breaks off.
    pub damage: Option<String>,
}

impl Recording {
    pub fn read(path: PathBuf, age: Duration) -> Recording {
        let content = read(&path).map_err(|why| super::front::sentence(&why.to_string()));
        Recording { path, age, content }
    }

    /// The file's name without its extension.
    pub fn name(&self) -> String {
        let stem = self.path.file_stem().unwrap_or_default();
        stem.to_string_lossy().into_owned()
    }
}

impl Content {
    /// Names of all persons, then the number of bots.
    pub fn player_names(&self) -> String {
        let mut names = Vec::new();
        let mut bots = 0;
        for (_, name) in &self.players {
            match *name == bot(bots + 1) {
                true => bots += 1,
                false => names.push(name.clone()),
            }
        }
        match bots {
            0 => {}
            1 => names.push("a bot".to_owned()),
            many => names.push(format!("{many} bots")),
        }
        match names.split_last() {
            Some((last, others)) if !others.is_empty() => {
                format!("{} and {last}", others.join(", "))
            }
            _ => names.concat(),
        }
    }
}

fn read(path: &Path) -> Result<Content, replay::Error> {
    let reader = Reader::open(path)?;
    reader.setup::<World>()?;
    let start = reader.start().clone();
    let setup = setup_of(&start.setup).unwrap_or_default();
    let players = players_of(&reader);
    let damage = reader.damage().map(|damage| format!("The file {damage}."));
    let winner = reader
        .end()
        .map(|end| end.outcome.map(|outcome| outcome.winner));
    let result = match winner {
        _ if damage.is_some() => words::BROKEN_OFF.to_owned(),
        None => words::BROKEN_OFF.to_owned(),
        Some(None) => words::UNDECIDED.to_owned(),
        Some(Some(None)) => words::DRAW.to_owned(),
        Some(Some(Some(seat))) => {
            let name = players.iter().find(|(of, _)| *of == seat);
            words::won(&name.map_or_else(
                || format!("seat {}", u32::from(seat.0) + 1),
                |(_, name)| name.clone(),
            ))
        }
    };
    let time_of = |turns| {
        let ticks = reader.ticks_before(TurnNumber(turns));
        match_time(ticks, start.terms.plan.tick_ms)
    };
    Ok(Content {
        match_id: start.match_id,
        players,
        peers: start.roster.iter().map(|peer| peer.peer).collect(),
        setup,
        length: time_of(reader.turns()),
        result,
        is_over: reader.end().is_some(),
        build: start.build.clone(),
        continued: reader.continuations().last().map(|at| time_of(at.turns)),
        damage,
    })
}

/// Which files to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    All,
    /// Only files with contacts beside them.
    WithContacts,
}

enum Found {
    One(Box<Recording>),
    LeftOut(usize),
}

/// Recordings as they are read, newest first.
pub struct Recordings {
    work: Option<Receiver<Found>>,
    pub read: Vec<Recording>,
    /// How many files are beyond the limit.
    pub left_out: usize,
}

impl Recordings {
    /// Reads the folder; a missing one is empty.
    pub fn of(folder: Option<PathBuf>, which: Which) -> Recordings {
        let (done, work) = sync_channel(QUEUE);
        let reading = std::thread::Builder::new().name("recordings".to_owned());
        // Listing the folder may take long, so it does not run within a frame.
        let reading = reading.spawn(move || {
            let mut files = folder.map_or_else(Vec::new, |folder| files_in(&folder, which));
            files.sort();
            let left_out = files.len().saturating_sub(MOST_LISTED);
            files.truncate(MOST_LISTED);
            let read = files
                .into_iter()
                .map(|(age, path)| Found::One(Box::new(Recording::read(path, age))));
            for found in std::iter::once(Found::LeftOut(left_out)).chain(read) {
                // The page was closed.
                if done.send(found).is_err() {
                    return;
                }
            }
        });
        Recordings {
            work: reading.is_ok().then_some(work),
            read: Vec::new(),
            left_out: 0,
        }
    }

    /// Takes recordings that were read, without blocking.
    pub fn poll(&mut self) {
        while let Some(work) = &self.work {
            match work.try_recv() {
                Ok(Found::One(recording)) => self.read.push(*recording),
                Ok(Found::LeftOut(count)) => self.left_out = count,
                Err(TryRecvError::Disconnected) => self.work = None,
                Err(TryRecvError::Empty) => return,
            }
        }
    }

    /// Whether more will come.
    pub fn is_reading(&self) -> bool {
        self.work.is_some()
    }
}

fn files_in(folder: &Path, which: Which) -> Vec<(Duration, PathBuf)> {
    let now = SystemTime::UNIX_EPOCH + super::front::now_unix();
    // An unreadable folder lists nothing; recording to it reports the error.
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let files = entries.filter_map(|entry| {
        let entry = entry.ok()?;
        let path = entry.path();
        let data = entry.metadata().ok()?;
        let fits = path.extension().is_some_and(|end| end == "replay") && data.is_file();
        let fits = fits && (which == Which::All || WayBack::beside(&path).path().exists());
        let age = now.duration_since(data.modified().ok()?);
        fits.then(|| (age.unwrap_or_default(), path))
    });
    files.collect()
}

const MOST_LISTED: usize = 500;
const QUEUE: usize = 64;
