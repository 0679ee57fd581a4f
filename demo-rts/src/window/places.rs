//! Where the user's files are, and the names of recordings.

use crate::recording::RecordedTo;
use crate::words::clock;
use crate::world::Setup;
use lockstep::TurnNumber;
use lockstep::log::{Bundle, LogStore, Memory, Record, Start, StoreError};
use replay::Recorder;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The folder of the user's data, if the system has one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    folder: Option<PathBuf>,
}

impl Places {
    /// The platform's folder for a user's data.
    pub fn of_user() -> Places {
        let folders = directories::ProjectDirs::from("", "", "demo-rts");
        Places {
            folder: folders.map(|folders| folders.data_dir().to_owned()),
        }
    }

    pub fn at(folder: &Path) -> Places {
        Places {
            folder: Some(folder.to_owned()),
        }
    }

    pub fn settings(&self) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join("settings.json"))
    }

    pub fn replays(&self) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join("replays"))
    }

    /// Creates the folder of the recordings, and tests whether it is writable.
    ///
    /// # Errors
    /// The cause, as text.
    pub fn try_replays(&self) -> Result<PathBuf, String> {
        let Some(folder) = self.replays() else {
            return Err(crate::window::words::menu::NO_FOLDER.to_owned());
        };
        let tried = folder.join(format!(".try-{}", std::process::id()));
        let made = std::fs::create_dir_all(&folder)
            .and_then(|()| std::fs::write(&tried, b"."))
            .and_then(|()| std::fs::remove_file(&tried));
        made.map_err(|why| {
            // On a full disk the test file exists, but empty.
            let _ = std::fs::remove_file(&tried);
            format!("{}: {why}", folder.display())
        })?;
        Ok(folder)
    }
}

/// A recording that is created when the match begins, so that its name can hold the players: `2026-11-21 21.40
/// lakes, Ada and Bob`.
pub struct Named {
    folder: PathBuf,
    date: String,
    /// The file, or memory where no file could be made, so that joiners can still catch up from this peer.
    store: Option<Box<dyn LogStore>>,
    path: RecordedTo,
}

impl Named {
    /// A recording to be created in this folder with this date.
    pub fn new(folder: PathBuf, date: String) -> Named {
        Named {
            folder,
            date,
            store: None,
            path: RecordedTo::default(),
        }
    }

    /// The path, once it is known.
    pub fn path(&self) -> RecordedTo {
        self.path.clone()
    }

    fn begin(&mut self, start: &Record, name: &str) -> Result<(), StoreError> {
        let begun = Recorder::create_in(&self.folder, name).and_then(|mut recorder| {
            recorder.append(start)?;
            Ok(recorder)
        });
        let why = match begun {
            Ok(recorder) => {
                let path = recorder.path().unwrap_or(&self.folder).to_owned();
                // Set once: a recording has one start.
                let _ = self.path.set(path);
                self.store = Some(Box::new(recorder));
                return Ok(());
            }
            Err(replay::Error::Store(why)) => why,
            Err(replay::Error::Io(why)) => StoreError::Io(why.kind()),
            Err(replay::Error::Exists) => StoreError::Io(std::io::ErrorKind::AlreadyExists),
            Err(_) => StoreError::Io(std::io::ErrorKind::Other),
        };
        let mut memory = Memory::new(MEMORY_BYTES);
        memory.append(start)?;
        self.store = Some(Box::new(memory));
        Err(why)
    }
}

impl LogStore for Named {
    fn append(&mut self, record: &Record) -> Result<(), StoreError> {
        match (&mut self.store, record) {
            (Some(store), _) => store.append(record),
            (None, Record::Start(start)) => self.begin(record, &name_of(&self.date, start)),
            // No record precedes the start.
            (None, _) => Ok(()),
        }
    }

    fn tail(&mut self, turns: &[Bundle]) -> Result<(), StoreError> {
        match &mut self.store {
            Some(store) => store.tail(turns),
            None => Ok(()),
        }
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        self.store.as_mut().map_or(Ok(()), |store| store.sync())
    }

    fn keyframe_every(&self) -> Option<Duration> {
        Some(KEYFRAMES_EVERY)
    }

    fn read(&mut self, from: TurnNumber, max_bytes: usize) -> Result<Vec<Record>, StoreError> {
        match &mut self.store {
            Some(store) => store.read(from, max_bytes),
            None => Err(StoreError::NotKept(from)),
        }
    }

    fn close(&mut self) -> Result<(), StoreError> {
        self.store.as_mut().map_or(Ok(()), |store| store.close())
    }

    fn path(&self) -> Option<&Path> {
        self.store.as_ref().and_then(|store| store.path())
    }
}

/// The name of a recording: date, map and players.
fn name_of(date: &str, start: &Start) -> String {
    let setup = setup_of(&start.setup);
    let map = setup.and_then(|setup| setup.map);
    let map = map.map_or("map", crate::world::MapKind::name);
    let own = start.roster.first().map_or(0, |peer| peer.seats.len());
    let players = match start.roster.as_slice() {
        [alone] => match own {
            0 | 1 => file_safe(&alone.name),
            2 => format!("{} and a bot", file_safe(&alone.name)),
            many => format!("{} and {} bots", file_safe(&alone.name), many - 1),
        },
        peers => {
            let names: Vec<String> = peers.iter().map(|peer| file_safe(&peer.name)).collect();
            let shown = names.len().min(MOST_NAMES);
            let more = names.len() - shown;
            match (names[..shown].split_last(), more) {
                (Some((last, others)), 0) => format!("{} and {last}", others.join(", ")),
                _ => format!("{} and {more} more", names[..shown].join(", ")),
            }
        }
    };
    format!("{date} {map}, {players}")
}

/// The name of a recording of playing on: `2026-11-22 00.46 lakes, Ada and 3 bots from 1.40`.
pub fn name_of_continued(date: &str, start: &Start, name: &str, time: Duration) -> String {
    let setup = setup_of(&start.setup);
    let map = setup.and_then(|setup| setup.map);
    let map = map.map_or("map", crate::world::MapKind::name);
    let players = match start.seats().len() {
        0 | 1 => file_safe(name),
        2 => format!("{} and a bot", file_safe(name)),
        seats => format!("{} and {} bots", file_safe(name), seats - 1),
    };
    // Not every file system allows a colon.
    let clock = clock(time).replace(':', ".");
    format!("{date} {map}, {players} from {clock}")
}

/// Decodes the game's setup from the start of a match.
pub fn setup_of(bytes: &[u8]) -> Option<Setup> {
    match postcard::take_from_bytes(bytes) {
        Ok((setup, [])) => Some(setup),
        _ => None,
    }
}

/// A player's name without characters that some file system refuses.
fn file_safe(name: &str) -> String {
    // Characters with a meaning in a shell are dropped too: people paste file names into command lines.
    let kept = |letter: char| match letter {
        ' ' | '-' => letter,
        letter if letter.is_alphanumeric() => letter,
        _ => '_',
    };
    let word: String = name.trim().chars().map(kept).collect();
    match word.is_empty() {
        true => "player".to_owned(),
        false => word,
    }
}

/// The interval of `replay::Recorder`, which does not exist yet when the session asks.
const KEYFRAMES_EVERY: Duration = Duration::from_secs(30);
/// Memory for a match without a recording.
const MEMORY_BYTES: u64 = 64 << 20;
/// Names in a file name.
const MOST_NAMES: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_leaves_no_file_behind() {
        let data = tempfile::tempdir().unwrap();
        let places = Places::at(data.path());
        let folder = places.replays().unwrap();
        std::fs::create_dir_all(&folder).unwrap();
        let tried = folder.join(format!(".try-{}", std::process::id()));
        std::os::unix::fs::symlink("/dev/full", &tried).unwrap();
        assert!(places.try_replays().is_err());
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
    }
    use crate::world::MapKind;
    use lockstep::log::{RosterPeer, Terms};
    use lockstep::{Incarnation, MatchId, PeerId, Seat};
    use std::sync::Arc;

    fn start(names: &[(&str, u8)]) -> Start {
        let setup = Setup {
            map: Some(MapKind::Lakes),
            ..Setup::default()
        };
        let mut next = 0;
        let roster = names.iter().enumerate().map(|(place, (name, seats))| {
            let first = next;
            next += seats;
            RosterPeer {
                peer: PeerId([place as u8; 32]),
                incarnation: Incarnation([0; 16]),
                name: (*name).to_owned(),
                seats: (first..next).map(Seat).collect(),
                share: [0; 32],
            }
        });
        Start {
            protocol: lockstep::PROTOCOL,
            match_id: MatchId([1; 16]),
            rules: sim::RulesId([0; 16]),
            setup: postcard::to_allocvec(&setup).unwrap().into(),
            seed: sim::Seed([0; 32]),
            terms: Terms {
                seats: names.iter().map(|(_, seats)| seats).sum(),
                ..Terms::default()
            },
            roster: roster.collect(),
            build: String::new(),
            signatures: Vec::new(),
        }
    }

    #[test]
    fn a_recording_is_named_by_date_map_and_players() {
        let name = |names: &[(&str, u8)]| name_of("2026-11-21 21.40", &start(names));
        assert_eq!(
            name(&[("Ada", 1), ("Bob", 1)]),
            "2026-11-21 21.40 lakes, Ada and Bob"
        );
        assert_eq!(
            name(&[("Ada", 4)]),
            "2026-11-21 21.40 lakes, Ada and 3 bots"
        );
        assert_eq!(name(&[("Ada", 2)]), "2026-11-21 21.40 lakes, Ada and a bot");
        let many: Vec<_> = ["a", "b", "c", "d", "e", "f"].map(|name| (name, 1)).into();
        assert_eq!(name(&many), "2026-11-21 21.40 lakes, a, b, c, d and 2 more");
    }

    #[test]
    fn playing_on_is_named_by_its_player_and_moment() {
        let start = start(&[("Ada", 1), ("Bob", 2)]);
        let name = |name| name_of_continued("date", &start, name, Duration::from_secs(100));
        assert_eq!(name("Eve"), "date lakes, Eve and 2 bots from 1.40");
        assert!(!name("../x").contains(['/', '\\']));
    }

    #[test]
    fn player_names_cannot_leave_the_folder() {
        for name in ["../../etc/passwd", "C:\\x", "..", "", "a/b", "\u{0}"] {
            let called = name_of("date", &start(&[(name, 1), ("Bob", 1)]));
            assert!(!called.contains(['/', '\\', ':', '\u{0}']), "{called}");
            assert!(!called.contains(".."), "{called}");
        }
    }

    #[test]
    fn recordings_get_free_names_and_report_a_lost_folder_once() {
        let folder = tempfile::tempdir().unwrap();
        let record = Record::Start(Arc::new(start(&[("Ada", 1), ("Bob", 1)])));
        let begin = |folder: &Path| {
            let mut named = Named::new(folder.to_owned(), "date".to_owned());
            let stored = named.append(&record);
            let path = named.path().get().cloned();
            (named, stored, path)
        };
        let (_one, stored, first) = begin(folder.path());
        assert_eq!(stored, Ok(()));
        let (_other, _, second) = begin(folder.path());
        assert_eq!(
            first,
            Some(folder.path().join("date lakes, Ada and Bob.replay"))
        );
        assert_eq!(
            second,
            Some(folder.path().join("date lakes, Ada and Bob-2.replay"))
        );
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        let (mut named, stored, path) = begin(&file);
        assert!(matches!(stored, Err(StoreError::Io(_))) && path.is_none());
        // Joiners can still catch up from this peer.
        assert_eq!(named.read(TurnNumber(0), 1 << 20), Ok(vec![record.clone()]));
    }
}
