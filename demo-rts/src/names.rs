//! What seats are called, on every machine alike.

use lockstep::{Seat, SeatInfo};
use std::collections::BTreeMap;

/// What the players of these seats are called, on every machine alike: a peer's first seat has its name, and its other
/// seats are its bots'.
pub fn players(seats: &[SeatInfo]) -> BTreeMap<Seat, String> {
    let mut seats: Vec<&SeatInfo> = seats.iter().collect();
    seats.sort_by_key(|info| info.seat);
    let mut peers = Vec::new();
    let people = seats.iter().map(|info| {
        let is_person = !peers.contains(&info.peer);
        peers.push(info.peer);
        (info.seat, is_person.then(|| info.name.clone()))
    });
    called(people.collect())
}

/// What seats are called, ascending, by the names of those that people play. Bots are counted from 1, as are people who
/// have one name.
pub fn called(people: Vec<(Seat, Option<String>)>) -> BTreeMap<Seat, String> {
    let many = |name: &str, among: &[(Seat, Option<String>)]| {
        let alike = among.iter().filter(|(_, of)| of.as_deref() == Some(name));
        alike.count()
    };
    let named = people.iter().enumerate().map(|(place, (seat, name))| {
        let before = &people[..place];
        let name = match name {
            None => {
                let bots = before.iter().filter(|(_, name)| name.is_none());
                bot(bots.count() + 1)
            }
            Some(name) if !name.is_empty() && many(name, &people) > 1 => {
                format!("{name} {}", many(name, before) + 1)
            }
            Some(name) => name.clone(),
        };
        (*seat, name)
    });
    named.collect()
}

/// What a bot is called; they are counted from 1.
pub fn bot(number: usize) -> String {
    format!("bot {number}")
}
