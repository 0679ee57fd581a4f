//! What a script asks of a peer without a screen: lines of JSON on stdin.

use crate::log::{LogLevel, say};
use serde::Deserialize;
use std::io::{self, BufRead, IsTerminal as _, Read as _};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// One request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "request", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// Enter the branch that was found.
    EnterBranch,
    /// As the host of a reopening, go on as soon as the players that came are a quorum.
    BeginNow,
    /// As the host of a lobby, remove the guest with this seat.
    RemoveGuest {
        /// One of the guest's seats.
        seat: u8,
    },
}

/// The requests that have come.
pub struct Requests(Option<Receiver<Request>>);

impl Requests {
    /// A peer of which nothing is asked.
    pub fn none() -> Requests {
        Requests(None)
    }

    /// Reads stdin from now on. A terminal is not read: a program in the background would be stopped for that.
    pub fn listen() -> Requests {
        if io::stdin().is_terminal() {
            return Requests::none();
        }
        let (sender, receiver) = sync_channel(MOST_WAITING);
        // It ends with stdin, or with the program.
        std::thread::spawn(move || read(&mut io::stdin().lock(), &sender));
        Requests(Some(receiver))
    }

    /// The next one.
    pub fn next(&self) -> Option<Request> {
        self.0.as_ref()?.try_recv().ok()
    }
}

fn read(from: &mut impl BufRead, to: &SyncSender<Request>) {
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = from.take(LONGEST_LINE).read_until(b'\n', &mut line);
        if !matches!(read, Ok(1..)) {
            return;
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        match serde_json::from_slice(&line) {
            Ok(request) if to.send(request).is_err() => return,
            Ok(_) => {}
            Err(why) => say(
                LogLevel::Warn,
                format_args!("stdin: this is no request: {why}"),
            ),
        }
    }
}

/// A longer line counts as several, none of which is a request.
const LONGEST_LINE: u64 = 4_096;
const MOST_WAITING: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_line_by_line_and_nonsense_is_skipped() {
        let long = "x".repeat(10_000);
        let text = format!(
            "{{\"request\":\"begin_now\"}}\n\nnonsense\n{long}\n{{\"request\":\"dance\"}}\n\0\n\
             {{\"request\":\"enter_branch\"}}\n{{\"request\":\"remove_guest\"}}\n\
             {{\"request\":\"remove_guest\",\"seat\":300}}\n{{\"request\":\"remove_guest\",\"seat\":3}}"
        );
        let (sender, receiver) = sync_channel(MOST_WAITING);
        read(&mut text.as_bytes(), &sender);
        drop(sender);
        let requests: Vec<Request> = receiver.iter().collect();
        let wanted = [
            Request::BeginNow,
            Request::EnterBranch,
            Request::RemoveGuest { seat: 3 },
        ];
        assert_eq!(requests, wanted);
    }
}
