//! Who plays.

use lockstep::Seat;
use lockstep::log::Start;

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
