//! The way back into a match whose recording broke off: where its peers were, kept in a file beside the replay.

use crate::{Error, Reader};
use lockstep::log::Record;
use lockstep::{Contact, MatchId, Rejoin, Ticket};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Addresses beside a replay: `match.replay.peers`, one ticket a line.
#[derive(Clone, Debug)]
pub struct WayBack {
    path: PathBuf,
}

impl WayBack {
    /// Beside this replay.
    pub fn beside(replay: &Path) -> WayBack {
        let mut path = replay.as_os_str().to_owned();
        path.push(".peers");
        WayBack { path: path.into() }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps where the peers of the match are, instead of what was kept before.
    ///
    /// # Errors
    /// The disk's.
    pub fn keep(&self, match_id: MatchId, contacts: &[Contact]) -> io::Result<()> {
        let lines: String = contacts
            .iter()
            .map(|contact| line(match_id, contact))
            .collect();
        let mut beside = self.path.clone().into_os_string();
        beside.push(".new");
        let kept = std::fs::write(&beside, lines);
        let kept = kept.and_then(|()| std::fs::rename(&beside, &self.path));
        if kept.is_err() {
            // Of a full disk, or a name that is taken: nothing is left behind. The first error is the one to tell.
            let _ = std::fs::remove_file(&beside);
        }
        kept
    }

    /// Forgets them: the match is over.
    pub fn forget(&self) {
        // Where there is none, or it cannot be removed, nothing is lost.
        let _ = std::fs::remove_file(&self.path);
    }

    /// What was kept of this match.
    ///
    /// # Errors
    /// The disk's; a file of another kind counts as one that holds nothing.
    pub fn read(&self, match_id: MatchId) -> io::Result<Vec<Contact>> {
        let mut text = String::new();
        let file = std::fs::File::open(&self.path)?;
        if file.take(MOST_BYTES).read_to_string(&mut text).is_err() {
            return Ok(Vec::new());
        }
        let tickets = text.lines().filter_map(|line| line.parse::<Ticket>().ok());
        let of_the_match = tickets.filter(|ticket| ticket.match_id == match_id);
        Ok(of_the_match
            .map(|ticket| Contact {
                peer: ticket.host,
                addresses: ticket.addresses,
            })
            .collect())
    }
}

/// What a replay, and the addresses beside it, know of a match to come back to.
///
/// # Errors
/// [`Error`]: no replay, no addresses beside it, or a match that is longer than what can be taken in at once.
pub fn rejoin(replay: &Path) -> Result<Rejoin, Error> {
    let mut reader = Reader::open(replay)?;
    let contacts = contacts(replay, &reader)?;
    if contacts.is_empty() {
        return Err(Error::NoWayBack);
    }
    known(&mut reader, contacts)
}

/// What a replay knows of a match that is to be reopened, as its host, or through the ticket of who hosts: also where no
/// addresses are left beside it.
///
/// # Errors
/// [`Error`]: no replay, one of another match than the ticket's, of a match that has ended, or one that
/// is longer than what can be taken in at once.
pub fn reopen(replay: &Path, host: Option<&Ticket>) -> Result<Rejoin, Error> {
    let mut reader = Reader::open(replay)?;
    if host.is_some_and(|ticket| ticket.match_id != reader.start().match_id) {
        return Err(Error::OtherMatch);
    }
    if reader.end().is_some() {
        return Err(Error::Over);
    }
    let contacts = match host {
        Some(ticket) => Rejoin::from(ticket).contacts,
        None => contacts(replay, &reader)?,
    };
    known(&mut reader, contacts)
}

fn contacts(replay: &Path, reader: &Reader) -> Result<Vec<Contact>, Error> {
    match WayBack::beside(replay).read(reader.start().match_id) {
        Ok(contacts) => Ok(contacts),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}

fn known(reader: &mut Reader, contacts: Vec<Contact>) -> Result<Rejoin, Error> {
    known_within(reader, contacts, MOST_TURNS)
}

fn known_within(reader: &mut Reader, contacts: Vec<Contact>, most: u32) -> Result<Rejoin, Error> {
    let match_id = reader.start().match_id;
    // An idle turn is one byte there, and many here.
    if reader.turns() > most {
        return Err(Error::TooLong {
            turns: reader.turns(),
            most,
        });
    }
    let mut log = Vec::new();
    for record in reader.records() {
        let record = record?;
        if let Record::Continued(continuation) = &record {
            let turns = continuation.turns;
            return Err(Error::Continued { turns });
        }
        if matches!(
            record,
            Record::Start(_) | Record::Bundle(_) | Record::Roster(_)
        ) {
            log.push(record);
        }
    }
    // The last turns may turn out not to count: a keyframe among them would be of no use.
    let turns = reader.turns();
    let mut keyframes = reader.keyframes().iter().rev();
    let sure = keyframes.find(|keyframe| keyframe.turns.saturating_add(MAY_NOT_COUNT) <= turns);
    let newest = sure.copied();
    // One that does not unpack is fetched like any other.
    let keyframe = newest.and_then(|newest| reader.keyframe(&newest).ok());
    Ok(Rejoin {
        match_id,
        contacts,
        log,
        keyframe,
    })
}

/// A ticket that nobody could join a lobby with: the key is what lets its peer back in.
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

/// Turns at the end of a recording that nobody else may have.
const MAY_NOT_COUNT: u32 = 8;
/// Turns of the longest match that one comes back into, which are held in memory meanwhile: two days at 5 turns a second.
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
            known_within(&mut reader, Vec::new(), most)
        };
        let known = within(50).unwrap();
        let bundles = known.log.iter();
        let bundles = bundles.filter(|record| matches!(record, Record::Bundle(_)));
        assert_eq!(bundles.count(), 50);
        assert!(matches!(
            within(49),
            Err(Error::TooLong {
                turns: 50,
                most: 49
            })
        ));
    }

    #[test]
    fn what_is_kept_is_read_again_for_the_same_match() {
        let folder = tempfile::tempdir().unwrap();
        let way_back = WayBack::beside(&folder.path().join("x.replay"));
        let contact = |at: u8| Contact {
            peer: PeerId([at; 32]),
            addresses: vec![format!("10.0.0.{at}:4000")],
        };
        let contacts = [contact(1), contact(2)];
        way_back.keep(MatchId([3; 16]), &contacts).unwrap();
        assert_eq!(way_back.read(MatchId([3; 16])).unwrap(), contacts);
        assert_eq!(way_back.read(MatchId([4; 16])).unwrap(), []);
        std::fs::write(way_back.path(), [0xff, 0xfe, 7]).unwrap();
        assert_eq!(way_back.read(MatchId([3; 16])).unwrap(), []);
        way_back.forget();
        assert!(way_back.read(MatchId([3; 16])).is_err());
    }

    #[test]
    fn what_cannot_be_kept_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let way_back = WayBack::beside(&folder.path().join("x.replay"));
        std::fs::create_dir(way_back.path()).unwrap();
        way_back.keep(MatchId([3; 16]), &[]).unwrap_err();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
