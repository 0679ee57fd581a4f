//! Who plays.

use lockstep::Seat;
use lockstep::log::Start;
use replay::Reader;

/// The seats of each player, and what they are called: several seats of one are its bots.
pub fn players(start: &Start) -> Vec<(Seat, String)> {
    let infos = start.seat_infos();
    let mut first: Vec<lockstep::PeerId> = Vec::new();
    let names = infos.into_iter().map(|info| {
        let is_bot = first.contains(&info.peer);
        first.push(info.peer);
        match is_bot {
            true => (info.seat, crate::window::words::bot(info.seat)),
            false => (info.seat, info.name),
        }
    });
    names.collect()
}

/// The same of a recording: of a match that one has played on alone, it is that one and bots.
pub fn players_of(reader: &Reader) -> Vec<(Seat, String)> {
    let Some(continuation) = reader.continuations().last() else {
        return players(reader.start());
    };
    let seats = reader.start().seats().into_iter();
    let name = |seat: Seat| match seat == continuation.seat {
        true => continuation.name.clone(),
        false => crate::window::words::bot(seat),
    };
    seats.map(|seat| (seat, name(seat))).collect()
}
