//! What happens when: one queue, in order of time and then of scheduling.

use super::links::Dial;
use super::network::{End, Node};
use super::quic::Packet;
use super::sequel::Goes;
use lockstep::{Channel, LinkError};
use std::collections::BTreeMap;
use std::time::Duration;

/// Something that happens at a time.
pub enum Happening {
    /// A peer's process begins.
    Begin(usize),
    /// A session's deadline may have come.
    Wake(usize),
    /// A world is done with a piece of work.
    World(usize),
    /// Bytes arrive at an end of a link.
    Arrive(End, Channel, Vec<u8>),
    /// A packet arrives.
    Packet(Packet),
    /// A timer of a node's QUIC may be due.
    Timer(Node),
    /// Another attempt of a dial.
    Dial(Dial),
    /// A dial has come to nothing.
    DialFailed(Dial, LinkError),
    /// A link comes up at an end.
    Up(End),
    /// A link goes down at an end.
    Down(End, LinkError),
    /// It may be that nothing came from one node to another for too long.
    Silent(Node, Node),
    /// A cut begins.
    Cut(usize),
    /// A cut ends.
    Mend(usize),
    /// All faults end.
    Heal,
    /// Players of a peer issue commands.
    Play(usize),
    /// A player writes to all.
    Chat(usize),
    /// A player pauses the match.
    Pause(usize),
    /// A player resumes it.
    Resume(usize),
    /// A peer leaves.
    Leave(usize),
    /// A peer's machine becomes slow.
    Slow(usize),
    /// It is fast again.
    Fast(usize),
    /// A peer's process dies.
    Crash(usize),
    /// A peer's process, or its machine, stops.
    Freeze(usize),
    /// It goes on.
    Thaw(usize),
    /// Others may have given up their links to it.
    Forgotten(usize, Duration),
    /// A peer gets another address.
    Move(usize),
    /// A peer's clock jumps ahead.
    Jump(usize, Duration),
    /// Another run of a process that has died begins.
    Return(usize),
    /// A peer leaves, or dies and perhaps comes back, in the moment after the roster has changed.
    Sequel(Goes),
    /// The processes of many peers die.
    ManyDie,
    /// Another run of one of them begins.
    BeginAgain(usize),
    /// Somebody disturbs.
    Disturb,
}

/// The queue.
#[derive(Default)]
pub struct Schedule {
    happenings: BTreeMap<(Duration, u64), Happening>,
    added: u64,
}

impl Schedule {
    /// Adds a happening.
    pub fn add(&mut self, at: Duration, happening: Happening) {
        self.happenings.insert((at, self.added), happening);
        self.added += 1;
    }

    /// Takes out, in order, all messages that are on their way; datagrams stay.
    pub fn take_messages(&mut self) -> Vec<(Duration, End, Channel, Vec<u8>)> {
        let is_message = |happening: &mut Happening| matches!(happening, Happening::Arrive(_, channel, _) if *channel != Channel::Turns);
        let messages = self
            .happenings
            .extract_if(.., |_, happening| is_message(happening));
        let messages = messages.filter_map(|((at, _), happening)| match happening {
            Happening::Arrive(end, channel, bytes) => Some((at, end, channel, bytes)),
            _ => None,
        });
        messages.collect()
    }

    /// Takes the earliest.
    pub fn next(&mut self) -> Option<(Duration, Happening)> {
        let ((at, _), happening) = self.happenings.pop_first()?;
        Some((at, happening))
    }
}
