//! Matches on the local network: announced by their hosts and found by themselves, by multicast DNS.
//!
//! What others announce is anything at all: it is read with bounds, and what is no match is only counted.

use crate::world::MapKind;
use lockstep::Ticket;
use mdns_sd::{DaemonEvent, Receiver, ServiceDaemon, ServiceEvent, ServiceInfo};
use std::collections::BTreeMap;

/// What a host tells of its match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Announcement {
    /// What the host is called.
    pub host: String,
    /// Seats of the match.
    pub seats: u8,
    /// Seats that are taken.
    pub taken: u8,
    /// The host's build.
    pub build: String,
    /// What the land looks like.
    pub map: Option<MapKind>,
    /// What invites into the match.
    pub ticket: Ticket,
}

impl Announcement {
    /// As keys and values, each short enough for a record of the network.
    pub fn to_texts(&self) -> Vec<(String, String)> {
        let mut texts = vec![
            ("v".to_owned(), VERSION.to_owned()),
            ("host".to_owned(), self.host.clone()),
            ("seats".to_owned(), self.seats.to_string()),
            ("taken".to_owned(), self.taken.to_string()),
            ("build".to_owned(), self.build.clone()),
        ];
        texts.extend(
            self.map
                .map(|map| ("map".to_owned(), map.name().to_owned())),
        );
        let ticket = self.ticket.to_string();
        // A ticket is ASCII: it is cut anywhere.
        let parts = ticket.as_bytes().chunks(PART_BYTES);
        texts.extend(parts.enumerate().map(|(place, part)| {
            let part = String::from_utf8_lossy(part).into_owned();
            (format!("t{place}"), part)
        }));
        texts
    }

    /// Reads them: `text` gives the value of a key. `None` where they are no announcement of this version, or make no
    /// sense.
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
            ticket: ticket.parse().ok()?,
        })
    }
}

/// What is heard from the local network.
#[derive(Debug, Default)]
pub struct Heard {
    /// Matches by the names of their announcements.
    matches: BTreeMap<String, Announcement>,
    /// Names of announcements that are no match.
    strange: std::collections::BTreeSet<String>,
}

impl Heard {
    /// An announcement of this name was heard.
    pub fn take(&mut self, name: &str, announcement: Option<Announcement>) {
        let short: String = name.chars().take(MOST_NAME).collect();
        // Whoever announces under the name of a match that is known, with another key, is somebody else.
        let known = self.matches.get(&short).map(|known| known.ticket.host);
        let host = announcement.as_ref().map(|new| new.ticket.host);
        if known.is_some() && known != host {
            if self.strange.len() < MOST_HEARD {
                self.strange.insert(short);
            }
            return;
        }
        self.forget(name);
        let name = short;
        match announcement {
            Some(announcement) if self.matches.len() < MOST_HEARD => {
                self.matches.insert(name, announcement);
            }
            None if self.strange.len() < MOST_HEARD => {
                self.strange.insert(name);
            }
            _ => {}
        }
    }

    /// Whoever announced it takes it back, or is gone.
    pub fn forget(&mut self, name: &str) {
        let name: String = name.chars().take(MOST_NAME).collect();
        self.matches.remove(&name);
        self.strange.remove(&name);
    }

    /// The matches, in a lasting order.
    pub fn matches(&self) -> impl Iterator<Item = &Announcement> {
        self.matches.values()
    }

    /// How many announcements are no match.
    pub fn strange(&self) -> usize {
        self.strange.len()
    }
}

/// This process on the local network.
pub struct Lan {
    daemon: ServiceDaemon,
    found: Receiver<ServiceEvent>,
    told: Receiver<DaemonEvent>,
    heard: Heard,
    /// The name of the own announcement, and what it said last.
    own: Option<(String, Announcement)>,
    trouble: Option<String>,
}

impl Lan {
    /// Listens from now on.
    ///
    /// # Errors
    /// Why that cannot be, in words.
    pub fn open() -> Result<Lan, String> {
        let words = |error: mdns_sd::Error| error.to_string();
        let daemon = ServiceDaemon::new().map_err(words)?;
        let told = daemon.monitor().map_err(words)?;
        let found = daemon.browse(SERVICE).map_err(words)?;
        Ok(Lan {
            daemon,
            found,
            told,
            heard: Heard::default(),
            own: None,
            trouble: None,
        })
    }

    /// Takes in what was heard. Never waits.
    pub fn poll(&mut self) {
        // A queue that has run full, as after a flood that nobody looked at, is closed at its other end.
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
                    self.heard.take(&service.fullname, announcement);
                }
                ServiceEvent::ServiceRemoved(_, name) => self.heard.forget(&name),
                _ => {}
            }
        }
        for event in self.told.try_iter().take(MOST_AT_ONCE) {
            if let DaemonEvent::Error(why) = event {
                self.trouble = Some(why.to_string());
            }
        }
    }

    /// The matches of others.
    pub fn matches(&self) -> impl Iterator<Item = &Announcement> {
        let own = self.own.as_ref().map(|(_, own)| own.ticket.match_id);
        let others = move |found: &&Announcement| Some(found.ticket.match_id) != own;
        self.heard.matches().filter(others)
    }

    /// How many announcements are no match.
    pub fn strange(&self) -> usize {
        self.heard.strange()
    }

    /// What the network last refused.
    pub fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// Announces a match, or that its seats are others now. Does nothing where that was said already.
    pub fn announce(&mut self, announcement: &Announcement) {
        if self
            .own
            .as_ref()
            .is_some_and(|(_, own)| own == announcement)
        {
            return;
        }
        let id: String = announcement.ticket.match_id.to_string();
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

    /// Takes the own announcement back.
    pub fn withdraw(&mut self) {
        if let Some((name, _)) = self.own.take() {
            // Where it cannot be taken back it runs out by itself.
            let _ = self.daemon.unregister(&name);
        }
    }
}

impl Drop for Lan {
    fn drop(&mut self) {
        self.withdraw();
        // A daemon that is gone already needs no end.
        let _ = self.daemon.shutdown();
    }
}

const SERVICE: &str = "_demo-rts._udp.local.";
const VERSION: &str = "1";
/// With its key a text has at most 255 bytes.
const PART_BYTES: usize = 240;
const MOST_PARTS: usize = 4;
const MOST_SEATS: u8 = 16;
const NAME_BYTES: usize = 32;
const BUILD_BYTES: usize = 48;
/// Announcements that are kept of either kind.
const MOST_HEARD: usize = 64;
/// Letters of an announcement's name that are kept.
const MOST_NAME: usize = 128;
/// Events that one look takes: a flood must not hold the picture up.
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
            ticket: Ticket {
                match_id: MatchId([id; 16]),
                secret: [2; 16],
                host: PeerId([3; 32]),
                addresses: (0..8).map(|n| format!("[fe80::1:2:3:{n}]:4000")).collect(),
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
    fn an_announcement_is_read_as_it_was_told_and_each_text_fits_its_record() {
        let told = announcement(1);
        let texts = told.to_texts();
        assert_eq!(read(&texts), Some(told));
        for (key, value) in &texts {
            assert!(key.len() + 1 + value.len() <= 255, "{key}");
        }
        assert!(texts.len() > 7, "the ticket is in several parts");
    }

    #[test]
    fn what_makes_no_sense_is_no_announcement() {
        let good = announcement(1).to_texts();
        let long = "x".repeat(33);
        for (key, value) in [
            ("v", "2"),
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
    fn a_flood_of_announcements_fills_no_memory_and_hides_none_that_was_there() {
        let mut heard = Heard::default();
        heard.take("first", Some(announcement(1)));
        for number in 0..10_000 {
            heard.take(&format!("{number}"), None);
            heard.take(&format!("match {number}"), Some(announcement(2)));
        }
        assert_eq!(heard.matches().count(), MOST_HEARD);
        assert_eq!(heard.strange(), MOST_HEARD);
        assert!(heard.matches().any(|found| *found == announcement(1)));
        heard.forget("first");
        assert!(heard.matches().all(|found| *found != announcement(1)));
    }

    #[test]
    fn nobody_takes_the_name_of_another_hosts_match() {
        let mut heard = Heard::default();
        heard.take("first", Some(announcement(1)));
        let mut forged = announcement(1);
        forged.ticket.host = PeerId([99; 32]);
        heard.take("first", Some(forged));
        heard.take("first", None);
        assert_eq!(heard.matches().collect::<Vec<_>>(), [&announcement(1)]);
        assert_eq!(heard.strange(), 1);
        let mut fuller = announcement(1);
        fuller.taken = fuller.seats;
        heard.take("first", Some(fuller.clone()));
        assert_eq!(heard.matches().collect::<Vec<_>>(), [&fuller]);
    }

    proptest! {
        #[test]
        fn garbage_is_read_without_harm(texts in proptest::collection::vec((".{0,6}", ".{0,260}"), 0..12)) {
            let mut texts = texts;
            texts.push(("v".to_owned(), VERSION.to_owned()));
            prop_assert_eq!(read(&texts), None);
        }
    }
}
