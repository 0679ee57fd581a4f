//! Names of seats, equal on every machine.

use lockstep::{Seat, SeatInfo};
use std::collections::BTreeMap;

/// Names by seat, equal on every machine: a peer's first seat has the peer's name, its other seats are bots.
pub fn players(seats: &[SeatInfo]) -> BTreeMap<Seat, String> {
    let mut seats: Vec<&SeatInfo> = seats.iter().collect();
    seats.sort_by_key(|info| info.seat);
    let mut peers = Vec::new();
    let people = seats.iter().map(|info| {
        let is_person = !peers.contains(&info.peer);
        peers.push(info.peer);
        (info.seat, is_person.then(|| info.name.clone()))
    });
    name_seats(people.collect())
}

/// Names by ascending seat, from the names of the seats that persons play. Bots are numbered from 1, and so are
/// persons with one name.
pub fn name_seats(people: Vec<(Seat, Option<String>)>) -> BTreeMap<Seat, String> {
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

/// The name of a bot; bots are numbered from 1.
pub fn bot(number: usize) -> String {
    format!("bot {number}")
}
