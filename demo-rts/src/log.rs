//! Log lines on stderr.

use std::fmt;
use std::io::Write;
use std::sync::atomic::{AtomicU8, Ordering};

/// Verbosity. Each level includes those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// Events that end or spoil the match.
    Error,
    /// Events that a player should know.
    #[default]
    Warn,
    /// Each stage of the match.
    Info,
    /// Every event except turns.
    Debug,
}

impl LogLevel {
    /// All levels, ascending.
    pub const ALL: [LogLevel; 4] = [
        LogLevel::Error,
        LogLevel::Warn,
        LogLevel::Info,
        LogLevel::Debug,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            LogLevel::Error => "error",
            LogLevel::Warn => "warn",
            LogLevel::Info => "info",
            LogLevel::Debug => "debug",
        }
    }
}

/// Sets the loudest level to write; `None` writes nothing, so that a drawn screen stays whole.
pub fn set(level: Option<LogLevel>) {
    LOUDEST.store(level.map_or(0, |level| level as u8 + 1), Ordering::Relaxed);
}

/// Writes a line, if its level is enabled.
pub fn say(level: LogLevel, text: fmt::Arguments<'_>) {
    if (level as u8) < LOUDEST.load(Ordering::Relaxed) {
        // A closed stderr leaves no way to report its own failure.
        let _ = writeln!(std::io::stderr(), "{:5} {text}", level.name());
    }
}

static LOUDEST: AtomicU8 = AtomicU8::new(LogLevel::Warn as u8 + 1);
