//! Discovery of matches on the local network, by multicast DNS.
//!
//! Announcements are untrusted: reading them is bounded, and unreadable ones are only counted.

use crate::world::MapKind;
use lockstep::{Contact, Ticket};
use mdns_sd::{DaemonEvent, Receiver, ServiceDaemon, ServiceEvent, ServiceInfo};
use std::collections::BTreeMap;

/// The content of an announcement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Announcement {
    /// The host's name.
    pub host: String,
    /// Seats of the match.
    pub seats: u8,
    /// Seats that players have.
    pub taken: u8,
    /// The host's build.
    pub build: String,
    /// What the land looks like, where the host has chosen it.
    pub map: Option<MapKind>,
    /// Whether new players may ask to join. A reopening, or a branch, is for players of its match.
    pub is_open: bool,
    /// The way to the host. All that listen read it, so it has no secret.
    pub ticket: Ticket,
}

impl Announcement {
    /// Where a player of a match is found that reopens it, or plays a branch of it.
    pub fn contact(&self) -> Contact {
        Contact {
            peer: self.ticket.host,
            addresses: self.ticket.addresses.clone(),
        }
    }

    /// The machine where its host is found, as it says.
    fn place(&self) -> &str {
        let address = self.ticket.addresses.first();
        let place = address.and_then(|address| address.rsplit_once(':'));
        place.map_or("", |(place, _)| place)
    }

    /// Its name on the network. Several players may announce one match that is not open.
    fn name(&self) -> String {
        let Ticket { match_id, host, .. } = &self.ticket;
        match self.is_open {
            true => match_id.to_string(),
            false => format!("{match_id}-{host}"),
        }
    }

    /// As keys and values, each short enough for a DNS record.
    pub fn to_texts(&self) -> Vec<(String, String)> {
        let mut texts = vec![
            ("v".to_owned(), VERSION.to_owned()),
            ("host".to_owned(), self.host.clone()),
            ("seats".to_owned(), self.seats.to_string()),
            ("taken".to_owned(), self.taken.to_string()),
            ("build".to_owned(), self.build.clone()),
        ];
        if self.is_open {
            texts.push(("open".to_owned(), String::new()));
        }
        texts.extend(
            self.map
                .map(|map| ("map".to_owned(), map.name().to_owned())),
        );
        let ticket = self.ticket.without_secret().to_string();
        // A ticket is ASCII, so any cut is valid.
        let parts = ticket.as_bytes().chunks(PART_BYTES);
        texts.extend(parts.enumerate().map(|(place, part)| {
            let part = String::from_utf8_lossy(part).into_owned();
            (format!("t{place}"), part)
        }));
        texts
    }

    /// Parses keys and values; `text` gives the value of a key. `None` for another version or nonsense.
    pub fn from_texts<'a>(text: impl Fn(&str) -> Option<&'a str>) -> Option<Announcement> {
        if text("v") != Some(VERSION) {
            return None;
        }
        let word = |key: &str, most: usize| {
            let word = text(key).filter(|word| word.len() <= most)?;
            let word: String = word
                .chars()
                .filter(|letter| lockstep::is_shown(*letter))
                .collect();
            (!word.trim().is_empty()).then_some(word)
        };
        let seats: u8 = text("seats")?.parse().ok()?;
        let taken: u8 = text("taken")?.parse().ok()?;
        if !(1..=MOST_SEATS).contains(&seats) || taken > seats {
            return None;
        }
        let keys = (0..MOST_PARTS).map(|place| format!("t{place}"));
        let parts = keys.map_while(|key| text(&key).filter(|part| part.len() <= PART_BYTES));
        let ticket: String = parts.collect();
        let named = |name: &str| MapKind::ALL.into_iter().find(|kind| kind.name() == name);
        Some(Announcement {
            host: word("host", NAME_BYTES)?,
            seats,
            taken,
            build: word("build", BUILD_BYTES)?,
            map: text("map").and_then(named),
            is_open: text("open").is_some(),
            ticket: ticket.parse::<Ticket>().ok()?.without_secret(),
        })
    }
}

/// Announcements received from the local network.
#[derive(Debug, Default)]
pub struct Announcements {
    /// By the names of their announcements.
    matches: BTreeMap<String, Announcement>,
    /// The same names, as they came.
    heard: Vec<String>,
    /// Names of unreadable announcements.
    unreadable: std::collections::BTreeSet<String>,
}

impl Announcements {
    /// Takes an announcement of this name.
    pub fn take(&mut self, name: &str, announcement: Option<Announcement>) {
        let short: String = name.chars().take(MOST_NAME).collect();
        // A different host key under a known match's name belongs to an impostor.
        let known = self.matches.get(&short).map(|known| known.ticket.host);
        let host = announcement.as_ref().map(|new| new.ticket.host);
        if known.is_some() && known != host {
            if self.unreadable.len() < MOST_HEARD {
                self.unreadable.insert(short);
            }
            return;
        }
        self.forget(name);
        let name = short;
        match announcement {
            Some(announcement) => {
                if self.matches.len() == MOST_HEARD {
                    self.make_room(announcement.place());
                }
                self.heard.push(name.clone());
                self.matches.insert(name, announcement);
            }
            None if self.unreadable.len() < MOST_HEARD => {
                self.unreadable.insert(name);
            }
            _ => {}
        }
    }

    /// An announcement was withdrawn or has expired.
    pub fn forget(&mut self, name: &str) {
        let name: String = name.chars().take(MOST_NAME).collect();
        self.matches.remove(&name);
        self.heard.retain(|heard| *heard != name);
        self.unreadable.remove(&name);
    }

    /// Forgets the earliest match of the place that announces most, with one more of this place: neither those before a
    /// flood nor those after it are hidden.
    fn make_room(&mut self, place: &str) {
        let places = self.matches.values().map(Announcement::place);
        let mut crowds = BTreeMap::from([(place, 1)]);
        places.for_each(|place| *crowds.entry(place).or_insert(0) += 1);
        let size = |name: &&String| crowds[self.matches[*name].place()];
        let most = self.heard.iter().map(|name| size(&name)).max();
        let earliest = self.heard.iter().find(|name| Some(size(name)) == most);
        if let Some(name) = earliest.cloned() {
            self.forget(&name);
        }
    }

    /// In a stable order.
    pub fn matches(&self) -> impl Iterator<Item = &Announcement> {
        self.matches.values()
    }

    /// Unreadable announcements, up to a bound.
    pub fn unreadable(&self) -> usize {
        self.unreadable.len()
    }
}

/// This process on the local network.
pub struct Lan {
    daemon: ServiceDaemon,
    found: Receiver<ServiceEvent>,
    daemon_events: Receiver<DaemonEvent>,
    announcements: Announcements,
    /// The name and last content of the own announcement.
    own: Option<(String, Announcement)>,
    trouble: Option<String>,
}

impl Lan {
    /// Starts listening.
    ///
    /// # Errors
    /// The cause, as text.
    pub fn open() -> Result<Lan, String> {
        let words = |error: mdns_sd::Error| error.to_string();
        let daemon = ServiceDaemon::new().map_err(words)?;
        let daemon_events = daemon.monitor().map_err(words)?;
        let found = daemon.browse(SERVICE).map_err(words)?;
        Ok(Lan {
            daemon,
            found,
            daemon_events,
            announcements: Announcements::default(),
            own: None,
            trouble: None,
        })
    }

    /// Handles received announcements without blocking.
    pub fn poll(&mut self) {
        // The daemon closes a queue that has overflowed, as after a flood during a match.
        if self.found.is_disconnected() && self.found.is_empty() {
            match self.daemon.browse(SERVICE) {
                Ok(found) => self.found = found,
                Err(why) => self.trouble = Some(why.to_string()),
            }
        }
        for event in self.found.try_iter().take(MOST_AT_ONCE) {
            match event {
                ServiceEvent::ServiceResolved(service) => {
                    let texts = &service.txt_properties;
                    let text = |key: &str| texts.get_property_val_str(key);
                    let announcement = Announcement::from_texts(text);
                    self.announcements.take(&service.fullname, announcement);
                }
                ServiceEvent::ServiceRemoved(_, name) => self.announcements.forget(&name),
                _ => {}
            }
        }
        for event in self.daemon_events.try_iter().take(MOST_AT_ONCE) {
            if let DaemonEvent::Error(why) = event {
                self.trouble = Some(why.to_string());
            }
        }
    }

    pub fn matches(&self) -> impl Iterator<Item = &Announcement> {
        let own = self.own.as_ref().map(|(_, own)| own.name());
        let others = move |found: &&Announcement| Some(found.name()) != own;
        self.announcements.matches().filter(others)
    }

    pub fn unreadable(&self) -> usize {
        self.announcements.unreadable()
    }

    /// The network's last error.
    pub fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// Announces a match or a change of its seats. Does nothing if the content is the same.
    pub fn announce(&mut self, announcement: &Announcement) {
        if self
            .own
            .as_ref()
            .is_some_and(|(_, own)| own == announcement)
        {
            return;
        }
        let id = announcement.name();
        // A peer announces one match at a time.
        if self.own.as_ref().is_some_and(|(_, own)| own.name() != id) {
            self.withdraw();
        }
        let host = format!("demo-rts-{id}.local.");
        let texts = announcement.to_texts();
        let port = announcement.ticket.addresses.iter().find_map(|address| {
            let address: std::net::SocketAddr = address.parse().ok()?;
            Some(address.port())
        });
        let service =
            ServiceInfo::new(SERVICE, &id, &host, (), port.unwrap_or(0), texts.as_slice());
        let registered = service.and_then(|service| {
            let service = service.enable_addr_auto();
            let name = service.get_fullname().to_owned();
            self.daemon.register(service).map(|()| name)
        });
        match registered {
            Ok(name) => self.own = Some((name, announcement.clone())),
            Err(why) => self.trouble = Some(why.to_string()),
        }
    }

    pub fn withdraw(&mut self) {
        if let Some((name, _)) = self.own.take() {
            // An announcement that cannot be withdrawn expires by itself.
            let _ = self.daemon.unregister(&name);
        }
    }
}

impl Drop for Lan {
    fn drop(&mut self) {
        self.withdraw();
        // The daemon may have ended already.
        let _ = self.daemon.shutdown();
    }
}

const SERVICE: &str = "_demo-rts._udp.local.";
const VERSION: &str = "2";
/// Together with its key a text has at most 255 bytes.
const PART_BYTES: usize = 240;
const MOST_PARTS: usize = 4;
const MOST_SEATS: u8 = 16;
const NAME_BYTES: usize = 32;
const BUILD_BYTES: usize = 48;
/// Bound of either kind of announcement.
const MOST_HEARD: usize = 64;
/// Longer names are cut.
const MOST_NAME: usize = 128;
/// Events per poll: a flood must not delay a frame.
const MOST_AT_ONCE: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;
    use lockstep::{MatchId, PeerId};
    use proptest::prelude::*;

    fn announcement(id: u8) -> Announcement {
        Announcement {
            host: "Ada".to_owned(),
            seats: 4,
            taken: 1,
            build: "demo-rts 0.1.0".to_owned(),
            map: Some(MapKind::Lakes),
            is_open: true,
            ticket: Ticket {
                match_id: MatchId([id; 16]),
                secret: [0; 16],
                host: PeerId([3; 32]),
                addresses: (0..8)
                    .map(|n| format!("[fe80::{id}:2:3:{n}]:4000"))
                    .collect(),
                expires_unix_s: 1_900_000_000,
            },
        }
    }

    fn read(texts: &[(String, String)]) -> Option<Announcement> {
        let value = |key: &str| {
            let found = texts.iter().find(|(name, _)| name == key);
            found.map(|(_, value)| value.as_str())
        };
        Announcement::from_texts(value)
    }

    #[test]
    fn an_announcement_round_trips_in_texts_that_fit_records() {
        let daemon_events = announcement(1);
        let texts = daemon_events.to_texts();
        assert_eq!(read(&texts), Some(daemon_events));
        for (key, value) in &texts {
            assert!(key.len() + 1 + value.len() <= 255, "{key}");
        }
        assert!(texts.len() > 7, "the ticket is in several parts");
    }

    #[test]
    fn an_announcement_tells_no_secret() {
        let mut invites = announcement(1);
        invites.ticket.secret = [2; 16];
        assert_eq!(read(&invites.to_texts()), Some(announcement(1)));
        let secret = invites.ticket.to_string();
        let texts: String = invites
            .to_texts()
            .into_iter()
            .map(|(_, text)| text)
            .collect();
        let common = texts.split_once("ls1-").map(|(_, ticket)| ticket);
        assert!(!secret.ends_with(common.expect("a ticket")));
    }

    #[test]
    fn players_that_announce_one_match_for_its_own_players_have_names_of_their_own() {
        let mut reopened = announcement(1);
        reopened.is_open = false;
        let mut branch = reopened.clone();
        branch.ticket.host = PeerId([9; 32]);
        assert_eq!(read(&reopened.to_texts()), Some(reopened.clone()));
        assert_ne!(reopened.name(), branch.name());
        assert!(reopened.name().len() <= 63, "a label of a name");
    }

    #[test]
    fn nonsense_is_not_an_announcement() {
        let good = announcement(1).to_texts();
        let long = "x".repeat(33);
        for (key, value) in [
            ("v", "1"),
            ("seats", "0"),
            ("seats", "200"),
            ("taken", "5"),
            ("taken", "-1"),
            ("host", ""),
            ("host", "\u{7}"),
            ("host", long.as_str()),
            ("build", ""),
            ("t0", "nonsense"),
            ("t1", ""),
        ] {
            let mut texts = good.clone();
            for text in &mut texts {
                if text.0 == key {
                    text.1 = value.to_owned();
                }
            }
            assert_eq!(read(&texts), None, "{key} {value}");
        }
    }

    #[test]
    fn a_flood_of_announcements_is_bounded_and_hides_no_match() {
        let mut announcements = Announcements::default();
        announcements.take("first", Some(announcement(1)));
        for number in 0..10_000 {
            announcements.take(&format!("{number}"), None);
            announcements.take(&format!("match {number}"), Some(announcement(2)));
        }
        announcements.take("last", Some(announcement(3)));
        assert_eq!(announcements.matches().count(), MOST_HEARD);
        assert_eq!(announcements.heard.len(), MOST_HEARD);
        assert_eq!(announcements.unreadable(), MOST_HEARD);
        let shows = |announcements: &Announcements, id: u8| {
            let mut matches = announcements.matches();
            matches.any(|found| *found == announcement(id))
        };
        assert!(shows(&announcements, 1) && shows(&announcements, 3));
        announcements.forget("first");
        assert!(!shows(&announcements, 1));
    }

    #[test]
    fn a_host_cannot_take_the_name_of_anothers_match() {
        let mut announcements = Announcements::default();
        announcements.take("first", Some(announcement(1)));
        let mut forged = announcement(1);
        forged.ticket.host = PeerId([99; 32]);
        announcements.take("first", Some(forged));
        announcements.take("first", None);
        assert_eq!(
            announcements.matches().collect::<Vec<_>>(),
            [&announcement(1)]
        );
        assert_eq!(announcements.unreadable(), 1);
        let mut fuller = announcement(1);
        fuller.taken = fuller.seats;
        announcements.take("first", Some(fuller.clone()));
        assert_eq!(announcements.matches().collect::<Vec<_>>(), [&fuller]);
    }

    proptest! {
        #[test]
        fn garbage_does_not_panic(texts in proptest::collection::vec((".{0,6}", ".{0,260}"), 0..12)) {
            let mut texts = texts;
            texts.push(("v".to_owned(), VERSION.to_owned()));
            prop_assert_eq!(read(&texts), None);
        }
    }
}
