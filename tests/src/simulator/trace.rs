//! The trace of a run: a hash over all inputs and outputs, and on request their text.

use crate::formats;
use lockstep::log::{Bundle, Codec, Record};
use lockstep::session::{Input, Output};
use std::fmt::{self, Write as _};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::time::Duration;

/// Hashes a run, and optionally writes it.
pub struct Trace {
    hasher: DefaultHasher,
    out: Option<Box<dyn Write>>,
    now: Duration,
}

impl Trace {
    /// Writes lines to `out`, if any.
    pub fn new(out: Option<Box<dyn Write>>) -> Self {
        Trace {
            hasher: DefaultHasher::new(),
            out,
            now: Duration::ZERO,
        }
    }

    /// Records a call of a session.
    pub fn input(&mut self, now: Duration, peer: usize, input: &Input<'_>) {
        self.now = now;
        (now, peer).hash(&mut self.hasher);
        match input {
            Input::Received { link, bytes, .. } => (link, bytes).hash(&mut self.hasher),
            Input::Snapshot { turns, bytes } => (turns, bytes).hash(&mut self.hasher),
            Input::Timeout => {}
            input => self.text(format_args!("{input:?}")),
        }
        if let Some(out) = &mut self.out {
            let line = match input {
                Input::Received {
                    link,
                    channel,
                    bytes,
                } => {
                    format!("Received {link:?} {channel:?} {}", brief(bytes))
                }
                Input::Snapshot { turns, bytes } => format!("Snapshot {turns} {}", brief(bytes)),
                input => format!("{input:?}"),
            };
            // A failed write of the trace must not change the run.
            let _ = writeln!(out, "{now:>12.3?} {peer} <- {line}");
        }
    }

    /// Records an output of a session.
    pub fn output(&mut self, peer: usize, output: &Output) {
        match output {
            Output::Send { link, bytes, .. } => (link, bytes).hash(&mut self.hasher),
            Output::Append(record) => self.record(record),
            Output::AppendAll(part) => part.records().for_each(|record| self.record(&record)),
            Output::Tail(turns) => turns.iter().for_each(|bundle| self.bundle(bundle)),
            Output::Execute(bundle) => self.bundle(bundle),
            Output::New { start, .. } => self.record(&Record::Start(start.clone())),
            output => self.text(format_args!("{output:?}")),
        }
        if let Some(out) = &mut self.out {
            let line = match output {
                Output::Send {
                    link,
                    channel,
                    bytes,
                } => {
                    format!("Send {link:?} {channel:?} {}", brief(bytes))
                }
                Output::Append(Record::Keyframe(keyframe)) => {
                    format!("Append keyframe {}", keyframe.turns)
                }
                output => format!("{output:?}"),
            };
            let _ = writeln!(out, "{:>12.3?} {peer} -> {line}", self.now);
        }
    }

    /// Hashes the bytes of a record, not how its fields are arranged.
    fn record(&mut self, record: &Record) {
        match record {
            Record::Bundle(bundle) => self.bundle(bundle),
            record => {
                let mut bytes = Vec::new();
                Codec::default().encode(record, &mut bytes);
                bytes.hash(&mut self.hasher);
            }
        }
    }

    fn bundle(&mut self, bundle: &Bundle) {
        formats::after_turn(&formats::Hash::default(), bundle).hash(&mut self.hasher);
    }

    /// Hashes text as it is formatted.
    fn text(&mut self, text: fmt::Arguments<'_>) {
        write!(Hashed(&mut self.hasher), "{text}").expect("a hasher takes any text");
    }

    /// The hash so far.
    pub fn hash(&self) -> u64 {
        self.hasher.finish()
    }
}

struct Hashed<'a>(&'a mut DefaultHasher);

impl fmt::Write for Hashed<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}

fn brief(bytes: &[u8]) -> String {
    let head: String = bytes
        .iter()
        .take(12)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("{} bytes {head}", bytes.len())
}
