//! Rejoining an interrupted match of this user, found by the contacts beside its recording.

use super::front::{Front, now_unix, sentence};
use super::recordings::{Content, Recording, Recordings, Which};
use crate::options;
use crate::peer::{Bots, Part};
use crate::recording::beside;
use crate::window::Screen;
use crate::window::lobby::{Kind, Lobby};
use crate::window::words::menu as words;
use lockstep::quic::{Identity, IdentityError};
use replay::WayBack;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, SystemTime};

/// A match to rejoin.
#[derive(Clone, Debug)]
pub struct Offer {
    path: PathBuf,
    content: Content,
    age: Duration,
}

impl Offer {
    /// An offer for a recording of a match that was interrupted recently and that no other window of this user
    /// plays.
    fn of(recording: &Recording, identity: Option<&Path>) -> Option<Offer> {
        let content = recording.content.as_ref().ok()?;
        if content.is_over || recording.age > LONGEST_AGO {
            return None;
        }
        match played_by(content, identity) {
            Ok(Some(_)) => {}
            // Another window holds the key: most likely it plays this very match.
            Ok(None) | Err(_) => return None,
        }
        Some(Offer {
            path: recording.path.clone(),
            content: content.clone(),
            age: recording.age,
        })
    }

    /// The text of the offer.
    pub fn words(&self) -> String {
        let ago = words::ago(self.age);
        words::interrupted(&self.content.player_names(), self.content.length, &ago)
    }

    /// Begins to rejoin. Returns the screen to wait on.
    ///
    /// # Errors
    /// The cause, as text.
    pub fn begin(&self, front: &Rc<Front>) -> Result<Box<dyn Screen>, String> {
        let no_way = |why: &str| words::cannot_rejoin(why.trim_end_matches('.'));
        let from = replay::rejoin(&self.path).map_err(|why| no_way(&why.to_string()))?;
        let mut common = front.common.clone();
        if front.places.try_replays().is_ok() {
            common.record = Some(beside(&self.path));
        }
        let listen = options::address("0.0.0.0:0").map_err(|why| sentence(&why.to_string()))?;
        let part = Part::Rejoin {
            from: &from,
            replay: Some(&self.path),
            listen,
        };
        let bots = Bots::on_way_back(common.bot);
        let begun = front.begin(&part, bots, common, true);
        let begun = begun.map_err(|why| no_way(&why))?;
        let old = Some(self.path.clone());
        Ok(Box::new(Lobby::new(
            front.clone(),
            begun,
            Kind::Rejoin { old },
        )))
    }
}

/// The key of the match, if this user has it: that of the command line, or one of the user's own.
fn played_by(
    content: &Content,
    identity: Option<&Path>,
) -> Result<Option<Identity>, IdentityError> {
    let Some(path) = identity else {
        return Identity::default_for_user_among(&content.peers);
    };
    let named = Identity::at(path)?;
    Ok(Some(named).filter(|named| content.peers.contains(&named.peer())))
}

/// Offers to rejoin matches.
pub struct Offers {
    recordings: Recordings,
    identity: Option<PathBuf>,
    seen: usize,
    /// Offers whose recordings may still be growing.
    watched: Vec<Offer>,
    offers: Vec<Offer>,
}

impl Offers {
    /// Searches the recordings.
    pub fn look(front: &Front) -> Offers {
        Offers {
            recordings: Recordings::of(front.places.replays(), Which::WithContacts),
            identity: front.common.identity.clone(),
            seen: 0,
            watched: Vec::new(),
            offers: Vec::new(),
        }
    }

    /// The newest offer.
    pub fn first(&mut self) -> Option<&Offer> {
        self.recordings.poll();
        let new = &self.recordings.read[self.seen..];
        self.seen += new.len();
        let offer = |recording| Offer::of(recording, self.identity.as_deref());
        self.watched.extend(new.iter().filter_map(offer));
        // Another window may have played on in that match: its growing recording is not an interrupted one.
        let broke_off = |offer: &mut Offer| !is_being_written(&offer.path);
        for offer in self.watched.extract_if(.., broke_off) {
            let same = |other: &&mut Offer| other.content.match_id == offer.content.match_id;
            match self.offers.iter_mut().find(same) {
                None => self.offers.push(offer),
                // Of two windows of one match, the interrupted one stopped first.
                Some(known) if known.age < offer.age => *known = offer,
                Some(_) => {}
            }
        }
        self.offers.first()
    }

    /// Never makes the newest offer again. Its recording stays.
    ///
    /// # Errors
    /// The cause, as text.
    pub fn forget_first(&mut self) -> Result<(), String> {
        if self.offers.is_empty() {
            return Ok(());
        }
        let offer = self.offers.remove(0);
        for recording in &self.recordings.read {
            let content = recording.content.as_ref();
            let same = content.is_ok_and(|content| content.match_id == offer.content.match_id);
            // Another window may still play that match.
            if same && !is_being_written(&recording.path) {
                forget(&recording.path)?;
            }
        }
        Ok(())
    }
}

/// Forgets the contacts of a recorded match.
///
/// # Errors
/// The cause, as text.
pub fn forget(replay: &Path) -> Result<(), String> {
    let way_back = WayBack::beside(replay);
    way_back.forget();
    match way_back.path().exists() {
        true => Err(sentence(&format!(
            "{} cannot be removed",
            way_back.path().display()
        ))),
        false => Ok(()),
    }
}

/// Whether a process is recording to this file: every turn is written at once.
fn is_being_written(path: &Path) -> bool {
    let written = std::fs::metadata(path).and_then(|data| data.modified());
    let now = SystemTime::UNIX_EPOCH + now_unix();
    written.is_ok_and(|written| {
        // A clock that was set back leaves files of the future: those are not being written either.
        let apart = now
            .duration_since(written)
            .unwrap_or_else(|ahead| ahead.duration());
        apart < JUST_NOW
    })
}

/// Longer than any turn.
const JUST_NOW: Duration = Duration::from_secs(3);
/// After this time no player waits any more.
const LONGEST_AGO: Duration = Duration::from_secs(24 * 3_600);
