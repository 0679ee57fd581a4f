//! Who plays.

use crate::names;
use lockstep::Seat;
use lockstep::log::Start;
use replay::Reader;

/// The seats of each player, and what they are called: several seats of one are its bots.
pub fn players(start: &Start) -> Vec<(Seat, String)> {
    names::players(&start.seat_infos()).into_iter().collect()
}

/// The same of a recording: of a match that one has played on alone, it is that one and bots.
pub fn players_of(reader: &Reader) -> Vec<(Seat, String)> {
    let Some(continuation) = reader.continuations().last() else {
        return players(reader.start());
    };
    let name = |seat| (seat == continuation.seat).then(|| continuation.name.clone());
    let seats = reader.start().seats().into_iter();
    let people = seats.map(|seat| (seat, name(seat)));
    names::called(people.collect()).into_iter().collect()
}
