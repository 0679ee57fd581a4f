//! Events of a run, beside deadlines of sessions.

use super::faults::Leaver;
use super::links::Dial;
use super::network::{End, Node};
use super::quic::Packet;
use lockstep::{Channel, LinkError, LinkId};
use std::time::Duration;

pub enum Event {
    /// A peer's process begins.
    Begin(usize),
    /// A world has finished a job.
    World(usize),
    /// A sync of a peer's disk is done: of which run, and its number.
    Synced(usize, u32, u64),
    /// A packet that a peer has held back leaves.
    Late(usize, LinkId, Vec<u8>),
    /// Bytes arrive at an end of a link.
    Arrive(End, Channel, Vec<u8>),
    /// A packet arrives.
    Packet(Packet),
    /// A timer of a node's QUIC may be due.
    Timer(Node),
    /// Another attempt of a dial.
    Dial(Dial),
    /// A dial has failed.
    DialFailed(Dial, LinkError),
    /// A link comes up at an end.
    Up(End),
    /// A link goes down at an end.
    Down(End, LinkError),
    /// Silence from one node to another may have reached the limit.
    Silent(Node, Node),
    /// A fault of a peer begins: its number in the peer's plan.
    Fault(usize, usize),
    /// That fault ends.
    FaultOver(usize, usize),
    /// The faults of calm peers end.
    Heal,
    /// Turns must advance again.
    Recovered,
    /// Players of a peer issue commands.
    Play(usize),
    /// A player writes to all.
    Chat(usize),
    /// Others may have given up their links to a peer that is frozen since then.
    Forgotten(usize, Duration),
    /// A peer leaves or crashes just after a roster change.
    Aftermath(Leaver),
    /// The processes of many peers die.
    ManyDie,
    /// The process of one of them dies.
    Die(usize),
    /// A stalled peer leaves, to begin another run.
    GiveUp(usize),
    /// Another run of such a process begins.
    Restart(usize),
    /// Another run of a dead process begins, with its log.
    Return(usize),
    /// A node sends garbage.
    Disturb(Node),
}

impl Event {
    /// The peer or node of the event, if the event needs it awake.
    pub fn node(&self, at: impl Fn(End) -> Node) -> Option<Node> {
        match self {
            Event::Begin(peer)
            | Event::World(peer)
            | Event::Synced(peer, ..)
            | Event::Play(peer)
            | Event::Chat(peer)
            | Event::Late(peer, ..)
            | Event::GiveUp(peer) => Some(*peer),
            Event::Arrive(end, ..) | Event::Down(end, _) => Some(at(*end)),
            Event::Packet(packet) => Some(packet.to.0),
            Event::Timer(node) => Some(*node),
            Event::Dial(dial) | Event::DialFailed(dial, _) => Some(dial.from),
            _ => None,
        }
    }
}
