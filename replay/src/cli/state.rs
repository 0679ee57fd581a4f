//! `show`: the world at a turn.

use super::contents::{plan_text, seat_numbers, way_json};
use super::print::{Printer, clock, count, thousands};
use super::report::{ms, tail_verdict};
use super::{Failure, Verdict, at};
use crate::{Error, Player, Reader, Speed};
use indicatif::ProgressBar;
use lockstep::source::TurnSource as _;
use lockstep::{EndReason, Event, Match, Status, TurnNumber};
use serde_json::{Value, json};
use sim::{Field, Simulation, Visit};
use std::path::Path;

pub(super) fn show<S: Simulation>(
    path: &Path,
    json: bool,
    turn: u32,
    to: &mut Printer<'_>,
) -> Result<Verdict, Failure> {
    let reader = Reader::open(path).map_err(at(path))?;
    reader.setup::<S>().map_err(at(path))?;
    if turn > reader.turns() {
        to.problem(&format!(
            "{}: --turn {turn} is beyond the file's {}",
            path.display(),
            count(u64::from(reader.turns()), "turn")
        ));
        // If the turn is beyond a damaged end, the damage is the reason to report.
        return Ok(match tail_verdict(path, &reader, json, to) {
            Verdict::Damaged => Verdict::Damaged,
            _ => Verdict::Usage,
        });
    }
    let bar = to.bar(turn);
    let run = run_until::<S>(reader, TurnNumber(turn), &bar);
    bar.finish_and_clear();
    let mut game = run.map_err(at(path))?;
    let ticks = game.ticks();
    let mut sections = Sections(Vec::new());
    let mut saved = Vec::new();
    let world = game.world().expect("the run came to the turn");
    world.visit(&mut sections);
    world.save(&mut saved);
    let checksum = world.checksum().to_string();
    let player = game.source();
    let reader = player.reader();
    let time = reader.time_of(TurnNumber(turn));
    let seats = reader.start().seats();
    let at_turn = reader.plan_at(TurnNumber(turn));
    if json {
        let sections: Vec<Value> = sections
            .0
            .iter()
            .map(|(name, rows)| json!({"name": name, "rows": rows}))
            .collect();
        let seats: Vec<u8> = seats.iter().map(|seat| seat.0).collect();
        to.json(&json!({
            "turn": turn, "ms": ms(time), "tick": ticks, "checksum": checksum, "seats": seats,
            "bytes": saved.len(), "sections": sections, "plan": at_turn.plan.to_string(), "tick_ms": at_turn.plan.tick_ms,
            "slow": seat_numbers(&at_turn.slow), "way": way_json(at_turn.way),
        }));
    } else {
        to.line(&format!(
            "turn {} ({}), tick {}, checksum {checksum}, {}, {}",
            thousands(u64::from(turn)),
            clock(time),
            thousands(ticks),
            count(seats.len() as u64, "seat"),
            count(saved.len() as u64, "byte")
        ));
        to.line(&format!("  plan                 {}", plan_text(&at_turn)));
        for (name, rows) in &sections.0 {
            to.line(&format!("  {name:<20} {}", count(*rows as u64, "row")));
        }
    }
    Ok(tail_verdict(path, reader, json, to))
}

/// Runs a match up to a turn. Without an error the world is that before the turn.
fn run_until<S: Simulation>(
    reader: Reader,
    turn: TurnNumber,
    bar: &ProgressBar,
) -> Result<Match<S, Player>, Error> {
    let changed = Error::Changed {
        at: reader.valid_bytes(),
    };
    let mut game: Match<S, Player> = Match::over(Player::new(reader));
    game.source().set_speed(Speed::PAUSED);
    game.source().seek(turn);
    while matches!(game.status(), Status::CatchingUp { .. } | Status::Loading) {
        for event in game.poll() {
            if let Event::Ended(ended) = event
                && let EndReason::WorldFault { turn, message, .. } = ended.reason
            {
                let turn = turn.0;
                return Err(Error::World { turn, message });
            }
        }
        bar.set_position(u64::from(game.source().next_turn().0));
    }
    if let Some(error) = game.source().take_error() {
        return Err(error);
    }
    // The first pass has seen the turns before it.
    let arrived = game.source().next_turn() == turn && game.world().is_some();
    if arrived { Ok(game) } else { Err(changed) }
}

/// Collects names and row counts of a world's sections.
struct Sections(Vec<(String, usize)>);

impl Visit for Sections {
    fn section(&mut self, name: &str, rows: usize) -> bool {
        self.0.push((name.to_owned(), rows));
        false
    }

    fn row(&mut self, _: u64) -> bool {
        false
    }

    fn field(&mut self, _: &str, _: &dyn Field) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{self, Coins};
    use std::io::Cursor;

    #[test]
    fn a_disk_that_fails_on_the_way_is_an_error_and_no_earlier_world() {
        let reader = Reader::from_bytes(fixture::file_of(&fixture::play(40).records)).unwrap();
        let run = |bytes: Vec<u8>| {
            let reader = reader.share(Cursor::new(bytes));
            run_until::<Coins>(reader, TurnNumber(30), &ProgressBar::hidden()).err()
        };
        assert!(matches!(run(Vec::new()), Some(Error::Io(_))));
        let other = vec![0xff; reader.file_bytes() as usize];
        assert!(matches!(run(other), Some(Error::Changed { .. })));
    }
}
