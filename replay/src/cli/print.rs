//! Output for people and scripts.

use crate::FileEnd;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::path::Path;

pub(super) use crate::words::{clock, count, thousands};

/// Writes results to one place and problems to another. A closed output ends the output, not the program.
pub(super) struct Printer<'a> {
    out: &'a mut dyn Write,
    err: &'a mut dyn Write,
    bars: bool,
    failed: Option<io::Error>,
}

/// Items of a list, made as they are written.
pub(super) type Items<'i> = Box<dyn Iterator<Item = Value> + 'i>;

impl<'a> Printer<'a> {
    pub(super) fn new(out: &'a mut dyn Write, err: &'a mut dyn Write, bars: bool) -> Self {
        Printer {
            out,
            err,
            bars,
            failed: None,
        }
    }

    /// A line of the result without control characters: names in a file come from other players.
    pub(super) fn line(&mut self, line: &str) {
        self.whole(&shown(line));
    }

    pub(super) fn json(&mut self, value: &Value) {
        self.whole(&lockstep::escape_hidden(&value.to_string()));
    }

    /// As [`json`](Self::json), of an object with these lists among its fields. They may be long, and are written item by
    /// item.
    pub(super) fn json_with<'i>(
        &mut self,
        object: &Value,
        lists: impl IntoIterator<Item = (&'static str, Items<'i>)>,
    ) {
        let object = object.to_string();
        self.part(object.strip_suffix('}').unwrap_or(&object));
        for (name, items) in lists {
            self.part(&format!(",\"{name}\":["));
            for (at, item) in items.enumerate() {
                self.part(if at == 0 { "" } else { "," });
                self.part(&item.to_string());
            }
            self.part("]");
        }
        self.whole("}");
    }

    fn part(&mut self, json: &str) {
        if self.failed.is_none() {
            let shown = lockstep::escape_hidden(json);
            self.failed = write!(self.out, "{shown}").err();
        }
    }

    fn whole(&mut self, line: &str) {
        if self.failed.is_none() {
            self.failed = writeln!(self.out, "{line}").err();
        }
    }

    /// A line for stderr, without control characters. A closed stderr is no reason to stop.
    pub(super) fn problem(&mut self, line: &str) {
        writeln!(self.err, "{}", shown(line)).ok();
    }

    /// False once the output is closed.
    pub(super) fn is_open(&self) -> bool {
        self.failed.is_none()
    }

    /// The error of the output. A closed pipe is none: `head` closes its input when it has enough.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        if self.failed.is_none() {
            self.failed = self.out.flush().err();
        }
        match self.failed.take() {
            Some(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
            _ => Ok(()),
        }
    }

    /// A progress bar, if stderr is a terminal.
    pub(super) fn bar(&self, turns: u32) -> ProgressBar {
        let target = if self.bars {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(Some(u64::from(turns)), target);
        match ProgressStyle::with_template("{bar:40} {human_pos} of {human_len} turns, {eta} left")
        {
            Ok(style) => bar.with_style(style),
            Err(_) => bar,
        }
    }
}

pub(super) fn tail_json(tail: FileEnd) -> Value {
    match tail {
        FileEnd::Complete => json!({"state": "complete"}),
        FileEnd::Open => json!({"state": "open"}),
        FileEnd::Cut { at, of } => json!({"state": "cut", "at": at, "of": of}),
        FileEnd::Damaged { at } => json!({"state": "damaged", "at": at}),
    }
}

/// A path as one word of a command line, also where it has spaces.
pub(super) fn quoted(path: &Path) -> String {
    let path = path.display().to_string();
    match path.contains(' ') {
        true => format!("\"{path}\""),
        false => path,
    }
}

/// A line without the characters that a terminal would obey.
fn shown(line: &str) -> String {
    line.chars().filter(|c| lockstep::is_shown(*c)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_with_a_space_is_quoted() {
        assert_eq!(quoted(Path::new("a b.replay")), "\"a b.replay\"");
        assert_eq!(quoted(Path::new("ab.replay")), "ab.replay");
    }

    #[test]
    fn no_way_of_printing_keeps_what_hides() {
        let hidden = "\u{1b}[2J\u{202e}\u{200b}Ada";
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut printer = Printer::new(&mut out, &mut err, false);
        printer.line(hidden);
        printer.json(&json!({ "name": hidden }));
        let names: Items<'_> = Box::new(std::iter::once(Value::from(hidden)));
        printer.json_with(&json!({ "name": hidden }), [("names", names)]);
        printer.problem(hidden);
        printer.finish().unwrap();
        for (bytes, names) in [(out, 4), (err, 1)] {
            let text = String::from_utf8(bytes).unwrap();
            let obeyed = text.chars().find(|c| *c != '\n' && !lockstep::is_shown(*c));
            assert_eq!(obeyed, None, "{text:?}");
            assert_eq!(text.matches("Ada").count(), names, "{text:?}");
        }
    }
}
