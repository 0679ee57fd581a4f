//! Addresses of a match's peers, kept beside the replay so that a player can rejoin after a crash.

use crate::output::{Output, sync_folder, write_all};
use crate::{Error, Reader};
use lockstep::log::{EncodedLog, Record, SignedBatch};
use lockstep::{Contact, MatchId, PeerId, Rejoin, Ticket};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The file of addresses beside a replay: `match.replay.peers`, one ticket a line, the recording peer's first.
#[derive(Clone, Debug)]
pub struct WayBack {
    path: PathBuf,
}

impl WayBack {
    /// The file beside this replay.
    pub fn beside(replay: &Path) -> WayBack {
        let mut path = replay.as_os_str().to_owned();
        path.push(".peers");
        WayBack { path: path.into() }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Stores the addresses of the match's peers in place of older ones, and durably: after a loss of power the file holds
    /// the older ones or these. Waits for the disk. With this peer's own first, as
    /// [`Event::Contacts`](lockstep::Event::Contacts) has them, its next run takes the same key, and listens there again,
    /// where the others seek it.
    ///
    /// # Errors
    /// The error of the disk.
    pub fn keep(&self, match_id: MatchId, contacts: &[Contact]) -> io::Result<()> {
        let lines = lines(match_id, contacts);
        self.replace(&lines, |beside| std::fs::File::create(beside))
    }

    /// Replaces the file by one that `create` makes beside it.
    fn replace<O: Output>(
        &self,
        lines: &str,
        create: impl FnOnce(&Path) -> io::Result<O>,
    ) -> io::Result<()> {
        let mut beside = self.path.clone().into_os_string();
        beside.push(".new");
        let beside = Path::new(&beside);
        let written = create(beside).and_then(|mut file| {
            write_all(&mut file, lines.as_bytes())?;
            file.sync()
        });
        let kept = written.and_then(|()| std::fs::rename(beside, &self.path));
        if kept.is_err() {
            // A full disk, or a taken name, must leave no file behind. The first error is the one to report.
            let _ = std::fs::remove_file(beside);
        }
        sync_folder(&self.path);
        kept
    }

    /// Removes the file once the match is over.
    pub fn forget(&self) {
        // A file that is missing or cannot be removed does no harm.
        let _ = std::fs::remove_file(&self.path);
    }

    /// The stored addresses of this match.
    ///
    /// # Errors
    /// The error of the disk; a foreign file counts as empty.
    pub fn read(&self, match_id: MatchId) -> io::Result<Vec<Contact>> {
        let mut text = String::new();
        let file = std::fs::File::open(&self.path)?;
        if file.take(MOST_BYTES).read_to_string(&mut text).is_err() {
            return Ok(Vec::new());
        }
        Ok(contacts_in(&text, match_id))
    }
}

/// The addresses of this match, among such lines.
pub fn contacts_in(text: &str, match_id: MatchId) -> Vec<Contact> {
    let tickets = text.lines().filter_map(|line| line.parse::<Ticket>().ok());
    let of_the_match = tickets.filter(|ticket| ticket.match_id == match_id);
    let contact = |ticket: Ticket| Contact {
        peer: ticket.host,
        addresses: ticket.addresses,
    };
    of_the_match.map(contact).collect()
}

/// The addresses of a match, a peer a line.
pub fn lines(match_id: MatchId, contacts: &[Contact]) -> String {
    let lines = contacts.iter().map(|contact| line(match_id, contact));
    lines.collect()
}

/// Reads a replay, and the addresses beside it, for rejoining its match.
///
/// # Errors
/// [`Error`]: no replay, a match that has ended, one that a player plays alone, no addresses beside it, or a match too
/// long to load.
pub fn rejoin(replay: &Path) -> Result<Rejoin, Error> {
    let mut reader = Reader::open(replay)?;
    refuse_over(&reader)?;
    let contacts = contacts(replay, &reader)?;
    let Some(own) = contacts.first() else {
        return Err(Error::NoWayBack);
    };
    let player = Some(own.peer);
    load(&mut reader, contacts, player)
}

/// Reads a replay for rejoining its match by a peer's ticket. Needs no addresses beside it.
///
/// # Errors
/// [`Error`]: no replay, another match than the ticket's, a match that has ended, one that a player plays alone, or one too
/// long to load.
pub fn rejoin_by(replay: &Path, ticket: &Ticket) -> Result<Rejoin, Error> {
    let mut reader = Reader::open(replay)?;
    if ticket.match_id != reader.match_id() {
        return Err(Error::OtherMatch);
    }
    refuse_over(&reader)?;
    // Without them the key is looked for among those of the match.
    let kept = contacts(replay, &reader).unwrap_or_default();
    let player = kept.first().map(|own| own.peer);
    load(&mut reader, Rejoin::from(ticket).contacts, player)
}

/// Reads a replay for reopening its match as the host. Needs no addresses beside it.
///
/// # Errors
/// [`Error`]: no replay, a match that has ended, one that a player plays alone, or one too long to load.
pub fn reopen(replay: &Path) -> Result<Rejoin, Error> {
    let mut reader = Reader::open(replay)?;
    refuse_over(&reader)?;
    let contacts = contacts(replay, &reader)?;
    let player = contacts.first().map(|own| own.peer);
    load(&mut reader, contacts, player)
}

/// Refuses a match that no other peer plays any more, or that none ever played.
fn refuse_over(reader: &Reader) -> Result<(), Error> {
    if reader.end().is_some() {
        return Err(Error::Over);
    }
    match reader.continuations().first() {
        Some(continuation) => Err(Error::Continued {
            turns: continuation.turns,
        }),
        None if reader.start().roster.len() == 1 => Err(Error::Continued { turns: 0 }),
        None => Ok(()),
    }
}

fn contacts(replay: &Path, reader: &Reader) -> Result<Vec<Contact>, Error> {
    match WayBack::beside(replay).read(reader.match_id()) {
        Ok(contacts) => Ok(contacts),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}

fn load(
    reader: &mut Reader,
    contacts: Vec<Contact>,
    player: Option<PeerId>,
) -> Result<Rejoin, Error> {
    let from = load_within(reader, contacts, MOST_TURNS)?;
    Ok(Rejoin { player, ..from })
}

fn load_within(reader: &mut Reader, contacts: Vec<Contact>, most: u32) -> Result<Rejoin, Error> {
    let match_id = reader.match_id();
    // An idle turn is one byte, and takes time to verify.
    if reader.turns() > most {
        return Err(Error::TooLong {
            turns: reader.turns(),
            most,
        });
    }
    let mut log = EncodedLog::new(reader.start().clone());
    let mut attests = Vec::new();
    for record in reader.records() {
        let record = record?;
        if let Record::Attest(signed) = &record {
            attests.retain(|old: &SignedBatch| old.peer != signed.peer);
            attests.push(signed.clone());
        }
        if matches!(record, Record::Bundle(_) | Record::Roster(_)) {
            log.append(&record);
        }
    }
    // The last turns may not count in the end: a keyframe among them would be useless.
    let turns = reader.turns();
    let mut keyframes = reader.keyframes().iter().rev();
    let sure = keyframes.find(|keyframe| keyframe.turns.saturating_add(PROVISIONAL_TURNS) <= turns);
    let newest = sure.copied();
    // A keyframe that does not unpack is fetched from a peer.
    let keyframe = newest.and_then(|newest| reader.keyframe(&newest).ok());
    Ok(Rejoin {
        match_id,
        contacts,
        player: None,
        log: Some(log),
        keyframe,
        accepted: reader.accepted().cloned(),
        signed: reader.signed().copied(),
        attests,
        accepts_other_history: false,
    })
}

/// A ticket that cannot join a lobby: its peer's key is enough to rejoin.
fn line(match_id: MatchId, contact: &Contact) -> String {
    let ticket = Ticket {
        match_id,
        secret: [0; 16],
        host: contact.peer,
        addresses: contact.addresses.clone(),
        expires_unix_s: 0,
    };
    format!("{ticket}\n")
}

/// Turns at the end of a recording that may be provisional.
const PROVISIONAL_TURNS: u32 = 8;
/// The longest match to rejoin, in turns: two days at 5 turns a second.
const MOST_TURNS: u32 = 1_000_000;
/// More than the tickets of all peers of a match.
const MOST_BYTES: u64 = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;
    use lockstep::PeerId;

    #[test]
    fn a_file_of_too_many_turns_is_not_loaded() {
        let bytes = crate::fixture::file_of(&crate::fixture::play(50).records);
        let within = |most: u32| {
            let mut reader = Reader::from_bytes(bytes.clone()).unwrap();
            load_within(&mut reader, Vec::new(), most)
        };
        let log = within(50).unwrap().log;
        assert_eq!(log.map(|log| log.turns()), Some(50));
        assert!(matches!(
            within(49),
            Err(Error::TooLong {
                turns: 50,
                most: 49
            })
        ));
    }

    #[test]
    fn a_replay_that_no_peer_can_admit_is_refused_for_that() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("match.replay");
        let refused = |records: &[Record]| {
            std::fs::write(&path, crate::fixture::file_of(records)).unwrap();
            rejoin(&path).expect_err("it is refused")
        };
        let ended = crate::fixture::play(4).records;
        assert!(matches!(refused(&ended), Error::Over));
        let mut open = ended;
        open.pop();
        assert!(matches!(refused(&open), Error::NoWayBack));
        let Record::Continued(mut continuation) = crate::harness::continuation(0) else {
            panic!("it is a continuation");
        };
        std::sync::Arc::make_mut(&mut continuation).turns = 4;
        open.push(Record::Continued(continuation));
        assert!(matches!(refused(&open), Error::Continued { turns: 4 }));
        let Record::Start(start) = &mut open[0] else {
            panic!("a log begins with its start");
        };
        let start = std::sync::Arc::make_mut(start);
        let match_id = start.match_id;
        start.roster.truncate(1);
        start.signatures.truncate(1);
        // Only the first player has a command in the first turn.
        assert!(matches!(refused(&open[..2]), Error::Continued { turns: 0 }));
        let ticket = line(match_id, &contact(1)).trim().parse().unwrap();
        for refused in [reopen(&path), rejoin_by(&path, &ticket)] {
            assert!(matches!(refused, Err(Error::Continued { turns: 0 })));
        }
    }

    fn contact(at: u8) -> Contact {
        Contact {
            peer: PeerId([at; 32]),
            addresses: vec![format!("10.0.0.{at}:4000")],
        }
    }

    #[test]
    fn addresses_are_read_back_for_the_same_match() {
        let folder = tempfile::tempdir().unwrap();
        let way_back = WayBack::beside(&folder.path().join("x.replay"));
        let contacts = [contact(1), contact(2)];
        way_back.keep(MatchId([3; 16]), &contacts).unwrap();
        assert_eq!(way_back.read(MatchId([3; 16])).unwrap(), contacts);
        assert_eq!(way_back.read(MatchId([4; 16])).unwrap(), []);
        std::fs::write(way_back.path(), [0xff, 0xfe, 7]).unwrap();
        assert_eq!(way_back.read(MatchId([3; 16])).unwrap(), []);
        way_back.forget();
        assert!(way_back.read(MatchId([3; 16])).is_err());
    }

    /// A file on a disk that may never take its bytes.
    struct Unsynced(std::fs::File);

    impl Output for Unsynced {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            Output::write(&mut self.0, bytes)
        }

        fn sync(&mut self) -> io::Result<()> {
            Err(io::ErrorKind::StorageFull.into())
        }

        fn truncate(&mut self, length: u64) -> io::Result<()> {
            self.0.truncate(length)
        }
    }

    #[test]
    fn addresses_that_are_not_durable_replace_no_older_ones() {
        let folder = tempfile::tempdir().unwrap();
        let way_back = WayBack::beside(&folder.path().join("x.replay"));
        way_back
            .replace("older", |path| std::fs::File::create(path))
            .unwrap();
        let newer = way_back.replace("newer", |path| std::fs::File::create(path).map(Unsynced));
        assert_eq!(newer.unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!(std::fs::read_to_string(way_back.path()).unwrap(), "older");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_failed_store_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let way_back = WayBack::beside(&folder.path().join("x.replay"));
        std::fs::create_dir(way_back.path()).unwrap();
        way_back.keep(MatchId([3; 16]), &[]).unwrap_err();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
