//! S5: nothing that a session asks of its surroundings grows without bound.

use lockstep::session::Output;
use lockstep::{Channel, LinkId, MAX_DATAGRAM};
use std::collections::BTreeMap;
use std::time::Duration;

/// Counts what one session asks for, second by second.
#[derive(Default)]
pub struct Bounds {
    second: u64,
    timeouts: u32,
    sent: BTreeMap<LinkId, Sent>,
    /// The largest datagram so far.
    pub largest_datagram: usize,
    /// The most bytes of datagrams on one link in one second.
    pub busiest_second: usize,
    /// The most outputs of one call.
    pub most_outputs: usize,
}

#[derive(Default)]
struct Sent {
    datagram_bytes: usize,
    messages: u32,
}

/// Outputs of one call: a catch-up of the 600 turns that a world may lie behind, each logged, checked and executed.
const OUTPUTS: usize = 3_000;
/// Datagram bytes per link in one second: a full burst beside the sustained rate.
const DATAGRAM_BYTES: usize = 80_000;
/// Messages per link in one second.
const MESSAGES: u32 = 200;
/// Bytes of one message: `Limits::message_bytes`.
const MESSAGE_BYTES: usize = 64 << 10;
/// Timeouts in one second.
const TIMEOUTS: u32 = 2_000;

impl Bounds {
    /// The session is told that time has passed. What is wrong, if anything.
    pub fn timeout(&mut self, now: Duration) -> Option<String> {
        self.turn_over(now);
        self.timeouts += 1;
        (self.timeouts > TIMEOUTS).then(|| format!("{} timeouts in a second", self.timeouts))
    }

    /// What a session returned from one call. What is wrong, if anything.
    pub fn outputs(&mut self, now: Duration, outputs: &[Output]) -> Option<String> {
        self.turn_over(now);
        self.most_outputs = self.most_outputs.max(outputs.len());
        if outputs.len() > OUTPUTS {
            return Some(format!("{} outputs of one call", outputs.len()));
        }
        for output in outputs {
            let Output::Send {
                link,
                channel,
                bytes,
            } = output
            else {
                continue;
            };
            let sent = self.sent.entry(*link).or_default();
            let size = bytes.len();
            if *channel == Channel::Turns {
                sent.datagram_bytes += size;
                self.busiest_second = self.busiest_second.max(sent.datagram_bytes);
                self.largest_datagram = self.largest_datagram.max(size);
                if size > MAX_DATAGRAM {
                    return Some(format!("a datagram of {size} bytes"));
                }
            } else {
                sent.messages += 1;
                if size > MESSAGE_BYTES {
                    return Some(format!("a message of {size} bytes"));
                }
            }
            if sent.datagram_bytes > DATAGRAM_BYTES || sent.messages > MESSAGES {
                return Some(format!(
                    "{} datagram bytes and {} messages on {link:?} in a second",
                    sent.datagram_bytes, sent.messages
                ));
            }
        }
        None
    }

    fn turn_over(&mut self, now: Duration) {
        if now.as_secs() != self.second {
            self.second = now.as_secs();
            self.timeouts = 0;
            self.sent.clear();
        }
    }
}
