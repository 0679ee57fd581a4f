//! What the program says on stderr while it runs.

use std::fmt;
use std::io::Write;
use std::sync::atomic::{AtomicU8, Ordering};

/// How much to say. Each level includes those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// What ends or spoils the match.
    Error,
    /// What a player should know.
    #[default]
    Warn,
    /// Each step of the match's life.
    Info,
    /// Each event but turns.
    Debug,
}

impl LogLevel {
    /// All of them, ascending.
    pub const ALL: [LogLevel; 4] = [
        LogLevel::Error,
        LogLevel::Warn,
        LogLevel::Info,
        LogLevel::Debug,
    ];

    /// As it is typed.
    pub fn name(self) -> &'static str {
        match self {
            LogLevel::Error => "error",
            LogLevel::Warn => "warn",
            LogLevel::Info => "info",
            LogLevel::Debug => "debug",
        }
    }
}

/// Says everything up to `level`; `None` says nothing, so that a drawn screen stays whole.
pub fn set(level: Option<LogLevel>) {
    LOUDEST.store(level.map_or(0, |level| level as u8 + 1), Ordering::Relaxed);
}

/// Writes a line, if `level` is to be said.
pub fn say(level: LogLevel, text: fmt::Arguments<'_>) {
    if (level as u8) < LOUDEST.load(Ordering::Relaxed) {
        // Where stderr is closed, nobody is left to tell.
        let _ = writeln!(std::io::stderr(), "{:5} {text}", level.name());
    }
}

static LOUDEST: AtomicU8 = AtomicU8::new(LogLevel::Warn as u8 + 1);
