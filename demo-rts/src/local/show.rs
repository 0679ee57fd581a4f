//! The views of a local match: a screen, lines of progress, or JSON.

use super::agreement::Agreement;
use crate::exit::Problem;
use crate::facts::Facts;
use crate::news::News;
use crate::output::{EndLine, Line, OfPeer, write_json};
use crate::plain::{self, ms};
use crate::signals::QuitRequest;
use crate::tally::Summary;
use crate::terminal::{Console, Screen};
use crate::words::count;
use crate::world::{Effect, World};
use lockstep::{Ended, Event, Status};
use ratatui::crossterm::event::{KeyCode, KeyModifiers};
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

pub(super) enum Show {
    Json,
    Plain,
    Screen(Box<View>),
}

pub(super) struct View {
    console: Console,
    facts: Facts,
    world: Option<World>,
    leaving: bool,
}

impl Show {
    pub fn json() -> Show {
        Show::Json
    }

    pub fn plain(peers: u8) -> Result<Show, Problem> {
        let title = "peers over QUIC on this machine, played by bots (Ctrl-C ends the match early)";
        plain::print(&format!("{peers} {title}")).map_err(Problem::Terminal)?;
        Ok(Show::Plain)
    }

    pub fn screen(peers: u8, turns: u32, asked: &QuitRequest) -> Result<Show, Problem> {
        let mut facts = Facts::new(format!("local, {peers} peers"));
        facts.turns = Some(turns);
        Ok(Show::Screen(Box::new(View {
            console: Console::open(asked).map_err(Problem::Terminal)?,
            facts,
            world: None,
            leaving: false,
        })))
    }

    pub fn event(&mut self, peer: usize, event: &Event) -> io::Result<()> {
        match self {
            Show::Json => {
                let mut out = io::stdout().lock();
                for line in Line::of(event) {
                    let line = OfPeer { line: &line, peer };
                    write_json(&mut out, &line)?;
                }
            }
            Show::Plain => {
                if peer == 0 {
                    for text in Line::of(event).iter().filter_map(plain::text) {
                        writeln!(io::stdout(), "{text}")?;
                    }
                }
            }
            Show::Screen(view) => {
                if peer == 0 {
                    view.facts.take(event);
                }
            }
        }
        Ok(())
    }

    pub fn world(&mut self, world: World, status: Status, summary: &Summary, agreed: u32) {
        if let Show::Screen(view) = self {
            view.world = Some(world);
            view.facts.status = Some(status);
            view.facts.latency = summary.latency;
            view.facts.late_turns = summary.late_turns;
            view.facts.agreed = Some(agreed);
        }
    }

    pub fn effects(&mut self, effects: &[Effect]) {
        let (Show::Screen(view), true) = (self, !effects.is_empty()) else {
            return;
        };
        let Some(world) = &view.world else {
            return;
        };
        let named = |seat| view.facts.name(seat);
        let lines = News::default().of(world, effects, None, named, |_| true);
        lines.into_iter().for_each(|line| view.facts.note(line));
    }

    pub fn over(&mut self, peer: usize, ended: &Ended, summary: &Summary) -> io::Result<()> {
        if let Show::Json = self {
            let line = Line::End(Box::new(EndLine::new(ended, summary)));
            write_json(&mut io::stdout().lock(), &OfPeer { line: &line, peer })?;
        }
        Ok(())
    }

    /// Redraws. True when the user asked to end the match.
    pub fn refresh(&mut self) -> io::Result<bool> {
        let Show::Screen(view) = self else {
            return Ok(false);
        };
        while let Some(key) = view.console.key(Duration::ZERO)? {
            let interrupted =
                key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
            view.leaving |= interrupted || key.code == KeyCode::Char('q');
        }
        let prompt = if view.leaving { "ending ..." } else { "" };
        view.console.draw(&Screen {
            facts: &view.facts,
            world: view.world.as_ref(),
            hand: None,
            centre: None,
            close: false,
            notice: "The peers are connecting.",
            prompt: prompt.to_owned(),
            keys: &["q end the match and verify its replay"],
        })?;
        Ok(view.leaving)
    }

    /// Restores the terminal.
    pub fn close(self) -> io::Result<()> {
        drop(self);
        io::stdout().flush()
    }
}

pub(super) fn peer_line(peer: usize, ended: &Ended, summary: &Summary) -> String {
    let checksum = ended
        .checksum
        .map_or_else(|| "-".to_owned(), |sum| sum.to_string());
    let winner = ended.outcome.and_then(|outcome| outcome.winner);
    let winner = winner.map_or_else(String::new, |seat| {
        format!(", {} won", crate::play::seat_name(seat))
    });
    format!(
        "peer {peer}: {}, checksum {checksum}, {}{winner}; {}, latency p50 {} p99 {} max {} ms, {}, {:.1} kB/s up",
        count(u64::from(ended.turns), "turn"),
        ended.reason,
        count(summary.counts.executed, "command"),
        ms(summary.latency.p50),
        ms(summary.latency.p99),
        ms(summary.latency.max),
        count(summary.late_turns, "late turn"),
        summary.rates()[0] / 1_000.0
    )
}

/// The last line of JSON.
pub(super) fn write_verify(agreement: &Agreement, replays: &[PathBuf]) -> io::Result<()> {
    let line = Line::Verify {
        agreed: agreement.agreed(),
        differed: agreement.differed(),
        replays: replays
            .iter()
            .map(|path| path.display().to_string())
            .collect(),
    };
    write_json(&mut io::stdout().lock(), &line)
}
