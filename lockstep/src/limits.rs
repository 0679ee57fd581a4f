//! What a peer, a ticket or a file may ask of us.

use std::time::Duration;

/// Bytes of the largest signed batch that the protocol carries.
pub(crate) const MAX_BATCH: usize = 700;
/// The longest command delay of a plan, in turns. No more turns are provisional.
pub(crate) const LONGEST_DELAY: u32 = 8;
/// Bytes of the largest command in it.
pub(crate) const MAX_COMMAND: usize = MAX_BATCH - 200;
/// Bytes of the longest chat text in it.
pub(crate) const MAX_CHAT: usize = 400;
/// Bytes that a command of so many takes in a batch.
pub(crate) fn room_of(command: usize) -> u32 {
    u32::try_from(command).unwrap_or(u32::MAX).saturating_add(3)
}

/// Peers that a match has at most.
pub(crate) const MAX_PEERS: usize = 16;
/// Ends of one peer that are taken: a correct peer signs one more each time that turns are taken back, for one cheat more.
pub(crate) const MOST_ENDS: usize = MAX_PEERS;

/// Every bound on what others can make us hold or do. Crossing one names the peer that did. More than 2^24 turns, or 2^48
/// bytes of a snapshot or log, count as so many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Encoded bytes of one own command. Default 400; at most `batch_bytes` − 203, to fit a turn. What others
    /// send is bounded by the protocol itself, so that all peers take in the same.
    pub command_bytes: u32,
    /// Encoded bytes of one own signed batch. 350 to 700; default 700. [`turn_bytes`](Self::turn_bytes) says how much
    /// that leaves for commands.
    pub batch_bytes: u32,
    /// Commands one seat may have issued and not yet seen executed. Default 256.
    pub waiting_commands: u32,
    /// Commands per second and seat, averaged over two seconds. Default 50.
    pub commands_per_s: u32,
    /// Bytes of one own chat text, as far as it fits [`turn_bytes`](Self::turn_bytes). Default 200, maximum 400.
    pub chat_bytes: u32,
    /// Chat texts a peer may send in ten seconds. Default 10.
    pub chats_per_10_s: u32,
    /// Bytes of the game's setup. Default 16 KiB. A match of several peers needs `message_bytes` to be 24 KiB more than
    /// its setup.
    pub setup_bytes: u32,
    /// Bytes of one message on a stream. Default 64 KiB; 56 KiB or more, for a part of the log.
    pub message_bytes: u32,
    /// Peers in a match. Default and maximum 16.
    pub peers: u8,
    /// Links that strangers dialled: neither a guest of the lobby nor a peer of the match has proved to be at the other
    /// end. An eighth of them may come from one address. Default 128.
    pub unproved_links: u32,
    /// How long a peer may take to answer: to prove its key where it was dialled, and each step of the lobby's end. A
    /// stranger that has dialled has 3 s at most to prove a key. Default 10 s. More than a year counts as a year.
    pub handshake: Duration,
    /// Turns a world may lie behind its session before the session stops completing more. Default 600; at least 1.
    pub unexecuted_turns: u32,
    /// Faults of one peer that are reported before its link is closed. Default 64.
    pub faults_per_peer: u32,
    /// Bytes of a snapshot, unpacked. Default 256 MiB. [`Event::WorldTooLarge`](crate::Event::WorldTooLarge) tells of a world
    /// that takes more.
    pub snapshot_bytes: u64,
    /// Bytes of the log that a peer keeps in memory for joiners, and that a joiner accepts. A match with a longer log
    /// admits no joiner. Default 64 MiB, several days of play. The log is held encoded, within twice that memory.
    pub catch_up_bytes: u64,
}

impl Limits {
    /// Bytes of commands that a peer's seats have in one turn, all together: 500 by default. Each command takes 3 more
    /// than its encoding. A chat text in the same batch leaves less, as do the checksums of a world that catches up.
    pub fn turn_bytes(&self) -> u32 {
        self.batch_bytes.saturating_sub(200)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            command_bytes: 400,
            batch_bytes: 700,
            waiting_commands: 256,
            commands_per_s: 50,
            chat_bytes: 200,
            chats_per_10_s: 10,
            setup_bytes: 16 << 10,
            message_bytes: 64 << 10,
            peers: 16,
            unproved_links: 128,
            handshake: Duration::from_secs(10),
            unexecuted_turns: 600,
            faults_per_peer: 64,
            snapshot_bytes: 256 << 20,
            catch_up_bytes: 64 << 20,
        }
    }
}
