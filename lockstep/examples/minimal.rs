//! A complete game for two: `minimal` hosts and prints a ticket, `minimal TICKET` joins with it.

mod pushing;

use lockstep::{Config, Event, Match};
use pushing::{Push, Setup, World};
use std::time::Duration;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut config = Config::default();
    config.host.terms.seats = 2;
    let mut game = match std::env::args().nth(1) {
        None => Match::<World>::host(Setup { width: 24 }, config)?,
        Some(ticket) => Match::join(&ticket.parse()?, config)?,
    };
    if let Some(ticket) = game.source().ticket() {
        println!("{ticket}");
    }
    loop {
        for event in game.poll() {
            match event {
                Event::Started { own, .. } => println!("playing as {own:?}"),
                Event::Turn { .. } => drop(game.issue(Push { by: 1 })),
                Event::Stalled { on, .. } => println!("waiting for {on:?}"),
                Event::Ended(end) => {
                    println!("{} {:?} {:?}", end.reason, end.outcome, end.checksum);
                    return Ok(());
                }
                _ => {}
            }
        }
        if let Some(world) = game.world() {
            world.draw(game.alpha());
        }
        game.wait(Duration::from_millis(16));
    }
}
