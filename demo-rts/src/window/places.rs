//! Where the user's files are, and what recordings are called.

use crate::world::Setup;
use lockstep::log::{LogStore, Record, Start, StoreError};
use lockstep::{Seat, TurnNumber};
use replay::Recorder;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// The folder of the user's data, if this system names one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    folder: Option<PathBuf>,
}

impl Places {
    /// Where this platform keeps a user's data.
    pub fn of_user() -> Places {
        let folders = directories::ProjectDirs::from("", "", "demo-rts");
        Places {
            folder: folders.map(|folders| folders.data_dir().to_owned()),
        }
    }

    /// All in this folder.
    pub fn at(folder: &Path) -> Places {
        Places {
            folder: Some(folder.to_owned()),
        }
    }

    /// The file of the settings.
    pub fn settings(&self) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join("settings.json"))
    }

    /// The folder of the recordings.
    pub fn replays(&self) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join("replays"))
    }

    /// Makes the folder of the recordings, and tries whether files can be made in it.
    ///
    /// # Errors
    /// Why not, in words.
    pub fn try_replays(&self) -> Result<PathBuf, String> {
        let Some(folder) = self.replays() else {
            return Err("this system names no folder for a user's data".to_owned());
        };
        let tried = folder.join(format!(".try-{}", std::process::id()));
        let made = std::fs::create_dir_all(&folder)
            .and_then(|()| std::fs::write(&tried, b"."))
            .and_then(|()| std::fs::remove_file(&tried));
        match made {
            Ok(()) => Ok(folder),
            Err(why) => Err(format!("{}: {why}", folder.display())),
        }
    }
}

/// Where a recording is, once it is begun.
pub type RecordedTo = Arc<OnceLock<PathBuf>>;

/// A recording that begins with the match, so that its name can say who plays: `2026-11-21 21.40 lakes, Ada and Bob`.
pub struct Named {
    folder: PathBuf,
    date: String,
    recorder: Option<Recorder>,
    path: RecordedTo,
}

impl Named {
    /// To be made in this folder, by this date.
    pub fn new(folder: PathBuf, date: String) -> Named {
        Named {
            folder,
            date,
            recorder: None,
            path: RecordedTo::default(),
        }
    }

    /// Where it will be.
    pub fn path(&self) -> RecordedTo {
        self.path.clone()
    }

    fn begin(&mut self, start: &Start) -> Result<&mut Recorder, StoreError> {
        let name = name_of(&self.date, start);
        let made = Recorder::create_in(&self.folder, &name).map_err(|why| match why {
            replay::Error::Io(why) => StoreError::Io(why.kind()),
            _ => StoreError::Io(std::io::ErrorKind::AlreadyExists),
        })?;
        // Set once: a recording has one start.
        let _ = self
            .path
            .set(made.path().unwrap_or(&self.folder).to_owned());
        Ok(self.recorder.insert(made))
    }
}

impl LogStore for Named {
    fn append(&mut self, record: &Record) -> Result<(), StoreError> {
        match (&mut self.recorder, record) {
            (Some(recorder), _) => recorder.append(record),
            (None, Record::Start(start)) => self.begin(start)?.append(record),
            // The start could not be recorded, which was told.
            (None, _) => Ok(()),
        }
    }

    fn undo(&mut self, turns: u32) -> Result<(), StoreError> {
        match &mut self.recorder {
            Some(recorder) => recorder.undo(turns),
            None => Err(StoreError::NotKept(TurnNumber(turns))),
        }
    }

    fn keyframe_every(&self) -> Option<Duration> {
        match &self.recorder {
            Some(recorder) => recorder.keyframe_every(),
            None => Some(KEYFRAMES_EVERY),
        }
    }

    fn newest_keyframe(&self) -> Option<u32> {
        self.recorder.as_ref().and_then(LogStore::newest_keyframe)
    }

    fn read(&mut self, from: TurnNumber, max_bytes: usize) -> Result<Vec<Record>, StoreError> {
        match &mut self.recorder {
            Some(recorder) => recorder.read(from, max_bytes),
            None => Err(StoreError::NotKept(from)),
        }
    }

    fn close(&mut self) -> Result<(), StoreError> {
        self.recorder.as_mut().map_or(Ok(()), LogStore::close)
    }

    fn path(&self) -> Option<&Path> {
        self.recorder.as_ref().and_then(LogStore::path)
    }
}

/// What a recording is called: when, where, who.
fn name_of(date: &str, start: &Start) -> String {
    let setup = setup_of(&start.setup);
    let map = setup.and_then(|setup| setup.map);
    let map = map.map_or("map", crate::world::MapKind::name);
    let own = start.roster.first().map_or(0, |peer| peer.seats.len());
    let who = match start.roster.as_slice() {
        [alone] => match own {
            0 | 1 => file_word(&alone.name),
            2 => format!("{} and a bot", file_word(&alone.name)),
            many => format!("{} and {} bots", file_word(&alone.name), many - 1),
        },
        peers => {
            let names: Vec<String> = peers.iter().map(|peer| file_word(&peer.name)).collect();
            let shown = names.len().min(MOST_NAMES);
            let more = names.len() - shown;
            match (names[..shown].split_last(), more) {
                (Some((last, others)), 0) => format!("{} and {last}", others.join(", ")),
                _ => format!("{} and {more} more", names[..shown].join(", ")),
            }
        }
    };
    format!("{date} {map}, {who}")
}

/// The game's setup as the start of a match holds it.
pub fn setup_of(bytes: &[u8]) -> Option<Setup> {
    match postcard::take_from_bytes(bytes) {
        Ok((setup, [])) => Some(setup),
        _ => None,
    }
}

/// A player's name as every file system takes it.
fn file_word(name: &str) -> String {
    let kept = |letter: char| match letter {
        '/' | '\\' | ':' | '*' | '?' | '"' | '<' | '>' | '|' | '.' => '_',
        letter if letter.is_control() => '_',
        letter => letter,
    };
    let word: String = name.trim().chars().map(kept).collect();
    match word.is_empty() {
        true => "nobody".to_owned(),
        false => word,
    }
}

/// The seats of each player, and what they are called: several seats of one are its bots.
pub fn players(start: &Start) -> Vec<(Seat, String)> {
    let infos = start.seat_infos();
    let mut first: Vec<lockstep::PeerId> = Vec::new();
    let names = infos.into_iter().map(|info| {
        let is_bot = first.contains(&info.peer);
        first.push(info.peer);
        match is_bot {
            true => (info.seat, crate::window::words::bot(info.seat)),
            false => (info.seat, info.name),
        }
    });
    names.collect()
}

/// What the recorder wants, before there is one.
const KEYFRAMES_EVERY: Duration = Duration::from_secs(30);
/// Players whose names a file's name holds.
const MOST_NAMES: usize = 4;
