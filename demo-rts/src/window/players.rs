//! Names of a recording's players.

use crate::names;
use lockstep::Seat;
use lockstep::log::Start;
use replay::Reader;

/// Names by seat: further seats of a peer are bots.
pub fn players(start: &Start) -> Vec<(Seat, String)> {
    names::players(&start.seat_infos()).into_iter().collect()
}

/// Names by seat of a recording. After a player played on alone, that player and bots.
pub fn players_of(reader: &Reader) -> Vec<(Seat, String)> {
    let Some(continuation) = reader.continuations().last() else {
        return players(reader.start());
    };
    let name = |seat| (seat == continuation.seat).then(|| continuation.name.clone());
    let seats = reader.start().seats().into_iter();
    let people = seats.map(|seat| (seat, name(seat)));
    names::name_seats(people.collect()).into_iter().collect()
}
