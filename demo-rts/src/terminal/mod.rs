//! The terminal views: matches and replays without a window.

pub mod controls;
mod flow;
mod ground;
mod panels;
mod panics;
pub mod screen;

use crate::signals::{Hold, QuitRequest};
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{self, Event, KeyEvent, KeyEventKind};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{EnterAlternateScreen, enable_raw_mode};
use ratatui::layout::Rect;
use ratatui::{DefaultTerminal, Terminal};
use std::io;
use std::time::Duration;

pub use ground::colour_name;
pub use screen::Screen;

/// The terminal in full-screen mode, restored on drop and before a second signal ends the program.
pub struct Console {
    terminal: DefaultTerminal,
    signals: Hold,
}

impl Console {
    /// Takes over the terminal.
    ///
    /// # Errors
    /// The error of the terminal.
    pub fn open(asked: &QuitRequest) -> io::Result<Console> {
        let signals = asked.hold()?;
        // Log lines on stderr would spoil the screen.
        crate::log::set(None);
        panics::keep();
        match enter() {
            Ok(terminal) => Ok(Console { terminal, signals }),
            Err(error) => {
                restore();
                Err(error)
            }
        }
    }

    /// Draws a screen at the terminal's current size, which it returns.
    ///
    /// # Errors
    /// The error of the terminal.
    pub fn draw(&mut self, screen: &Screen<'_>) -> io::Result<Rect> {
        let drawn = self
            .terminal
            .draw(|frame| screen.render(frame.area(), frame.buffer_mut()))?;
        Ok(drawn.area)
    }

    /// The next key press, within `timeout`. After a second signal it ends the program instead.
    ///
    /// # Errors
    /// The error of the terminal.
    pub fn key(&mut self, timeout: Duration) -> io::Result<Option<KeyEvent>> {
        if let Some(code) = self.signals.ends_by() {
            restore();
            std::process::exit(code);
        }
        if !event::poll(timeout)? {
            return Ok(None);
        }
        Ok(match event::read()? {
            Event::Key(key) if key.kind != KeyEventKind::Release => Some(key),
            _ => None,
        })
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        restore();
    }
}

/// Without ratatui's panic hook, which restores the terminal also for a panic that the match catches.
fn enter() -> io::Result<DefaultTerminal> {
    enable_raw_mode()?;
    execute!(io::stdout(), EnterAlternateScreen)?;
    Terminal::new(CrosstermBackend::new(io::stdout()))
}

fn restore() {
    ratatui::restore();
    panics::print();
}

/// Whether stdin and stdout are a terminal to draw on.
pub fn is_there() -> bool {
    use std::io::IsTerminal;
    io::stdout().is_terminal() && io::stdin().is_terminal()
}
