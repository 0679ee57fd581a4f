//! The terminal: where matches are watched and played without a window.

pub mod controls;
mod flow;
mod ground;
mod panels;
pub mod screen;

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyEvent, KeyEventKind};
use ratatui::layout::Rect;
use std::io;
use std::time::Duration;

pub use ground::colour_name;
pub use screen::Screen;

/// The terminal in full-screen mode. Given back as it was when this is dropped, and on a panic.
pub struct Console {
    terminal: DefaultTerminal,
}

impl Console {
    /// Takes the terminal.
    ///
    /// # Errors
    /// What the terminal says.
    pub fn open() -> io::Result<Console> {
        // A drawn screen and lines on stderr would spoil each other.
        crate::log::set(None);
        match ratatui::try_init() {
            Ok(terminal) => Ok(Console { terminal }),
            Err(error) => {
                ratatui::restore();
                Err(error)
            }
        }
    }

    /// Draws a screen, at whatever size the terminal has now. Returns that.
    ///
    /// # Errors
    /// What the terminal says.
    pub fn draw(&mut self, screen: &Screen<'_>) -> io::Result<Rect> {
        let drawn = self
            .terminal
            .draw(|frame| screen.render(frame.area(), frame.buffer_mut()))?;
        Ok(drawn.area)
    }

    /// The next key pressed, waiting for it up to `timeout`.
    ///
    /// # Errors
    /// What the terminal says.
    pub fn key(&mut self, timeout: Duration) -> io::Result<Option<KeyEvent>> {
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
        ratatui::restore();
    }
}

/// Whether stdout is a terminal that a screen can be drawn on.
pub fn is_there() -> bool {
    use std::io::IsTerminal;
    io::stdout().is_terminal() && io::stdin().is_terminal()
}
