//! Texts in which a match is found: announcements on the local network, and the addresses kept beside a replay.

use demo_rts::window::{Announcement, Announcements};
use lockstep::{MatchId, Ticket};
use replay::parts::{contacts_in, lines};
use std::collections::BTreeMap;

/// An announcement that is read is written as one that reads the same. The input has a key and its value a line.
///
/// # Panics
/// If it is not, or tells a secret.
pub fn announcement(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    let read = read(&pairs.collect());
    let mut heard = Announcements::default();
    heard.take("fuzzed", read.clone());
    assert_eq!(heard.matches().count(), usize::from(read.is_some()));
    if let Some(announcement) = read {
        assert_eq!(announcement.ticket.secret, [0; 16], "it tells a secret");
        let texts = announcement.to_texts();
        let pairs = texts
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()));
        assert_eq!(self::read(&pairs.collect()), Some(announcement));
    }
}

fn read(texts: &BTreeMap<&str, &str>) -> Option<Announcement> {
    Announcement::from_texts(|key| texts.get(key).copied())
}

/// Addresses that are read are kept as lines that read the same. The first line with a ticket names the match.
///
/// # Panics
/// If they are not.
pub fn contacts(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut tickets = text.lines().filter_map(|line| line.parse::<Ticket>().ok());
    let first = tickets.next().map(|ticket| ticket.match_id);
    let found = contacts_in(&text, first.unwrap_or(MatchId([0; 16])));
    assert_eq!(found.is_empty(), first.is_none());
    if let Some(of) = first {
        assert_eq!(contacts_in(&lines(of, &found), of), found);
    }
}
