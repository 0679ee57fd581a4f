//! What the judge holds about one peer.

use lockstep::log::{Codec, Keyframe, Record};
use lockstep::{CommandId, Desync, Ended, Limits, PeerId};
use sim::{Checksum, Seat};
use std::collections::BTreeSet;
use std::time::Duration;

/// A command, when its player issued it.
pub struct Issued {
    /// The peer that issued it.
    pub peer: usize,
    /// Turns that this peer's session had handed out by then.
    pub handed_turns: u32,
    /// Its world had not executed all that another run of its process had begun with, or that all had sealed.
    pub behind: bool,
    /// The encoded command.
    pub bytes: Vec<u8>,
}

/// A text that a player wrote to all.
pub struct Chat {
    text: String,
    /// So many had not been heard of then that this one may have been dropped.
    crowded: bool,
}

/// Texts and pauses that a session keeps for turns to come.
const NOTES: usize = 16;

/// One peer's doings.
pub struct PeerFile {
    /// Its key.
    pub id: PeerId,
    /// The seats it asked for.
    pub wanted_seats: u8,
    /// The seats it was given.
    pub own: Vec<Seat>,
    /// When the match began for it.
    pub started_at: Option<Duration>,
    /// When each turn was handed out.
    pub handed: Vec<Duration>,
    /// Turns in its log.
    pub appended: u32,
    /// The most that any run of its process has had there.
    pub longest: u32,
    /// Turns of which it was handed out all before its world went back last.
    pub again: u32,
    /// Turns that its world executed.
    pub executed: u32,
    /// Another run of its process has executed, once, as far as turns were handed out.
    pub caught_up: bool,
    /// When its world executed turns.
    pub stepped: Vec<Duration>,
    /// Checksum of its world.
    pub checksum: Option<Checksum>,
    /// Its log, encoded.
    pub log: Vec<u8>,
    /// Commands it was told will never be executed.
    pub refused: BTreeSet<CommandId>,
    /// The desync it reported.
    pub desync: Option<(Duration, Desync)>,
    /// It was told that the others and it went on without somebody whose world differed.
    pub went_on: bool,
    /// How it ended.
    pub ended: Option<(Duration, Ended)>,
    /// When it suspected somebody.
    pub suspected_at: Vec<Duration>,
    /// It was told that those who are left are no quorum.
    pub lacks_quorum: bool,
    /// It was told to leave.
    pub left: bool,
    /// When it was.
    pub left_at: Option<Duration>,
    /// When its process died last.
    pub crashed: Option<Duration>,
    /// How often it did.
    pub deaths: u32,
    /// It has stood still.
    pub froze: bool,
    /// When its address changed.
    pub moved_at: Option<Duration>,
    /// When it last went on after that.
    pub thawed_at: Option<Duration>,
    /// Before this nobody can have told it that it still belongs.
    pub unsure_until: Duration,
    /// When another run of its process began.
    pub returned: Option<Duration>,
    /// When that one was back in the match.
    pub back: Option<Duration>,
    /// What it wrote to all.
    pub chats: Vec<Chat>,
    /// Pauses and resumptions that it asked for.
    pub pause_asks: u32,
    /// Texts and pauses of it that the history holds.
    pub(super) agreed: (usize, u32),
    /// What the log was before each turn: its bytes, and the codec.
    before: Vec<(usize, Codec)>,
    /// The most turns that it took back at once.
    pub undone: u32,
    codec: Codec,
    log_begun: bool,
    log_ended: bool,
}

impl PeerFile {
    /// Of a peer that has done nothing yet.
    pub fn new(id: PeerId, wanted_seats: u8) -> Self {
        PeerFile {
            id,
            wanted_seats,
            own: Vec::new(),
            started_at: None,
            handed: Vec::new(),
            appended: 0,
            longest: 0,
            again: 0,
            executed: 0,
            caught_up: false,
            stepped: Vec::new(),
            checksum: None,
            log: Vec::new(),
            refused: BTreeSet::new(),
            desync: None,
            went_on: false,
            ended: None,
            suspected_at: Vec::new(),
            lacks_quorum: false,
            left: false,
            left_at: None,
            crashed: None,
            deaths: 0,
            froze: false,
            moved_at: None,
            thawed_at: None,
            unsure_until: Duration::ZERO,
            returned: None,
            back: None,
            chats: Vec::new(),
            pause_asks: 0,
            agreed: (0, 0),
            before: Vec::new(),
            undone: 0,
            codec: Codec::default(),
            log_begun: false,
            log_ended: false,
        }
    }

    /// What its log holds for another run of its process: turns and roster changes, and the newest keyframe.
    pub fn kept(&self) -> (Vec<Record>, Option<Keyframe>) {
        let records = Codec::default().decode_all(&self.log, &Limits::default());
        let (mut log, mut keyframe) = (Vec::new(), None);
        for record in records.unwrap_or_default() {
            match record {
                Record::Start(_) | Record::Bundle(_) | Record::Roster(_) => log.push(record),
                Record::Keyframe(newer) => keyframe = Some(newer),
                _ => {}
            }
        }
        (log, keyframe)
    }

    /// Another run of its process begins, with an empty log of its own.
    pub(super) fn begin_anew(&mut self, now: Duration) {
        self.returned = Some(now);
        self.unsure_until = Duration::ZERO;
        self.handed = Vec::new();
        self.appended = 0;
        self.again = 0;
        self.executed = 0;
        self.caught_up = false;
        self.checksum = None;
        self.log = Vec::new();
        self.before = Vec::new();
        self.codec = Codec::default();
        self.log_begun = false;
        self.log_ended = false;
    }

    /// Keeps a record as the bytes it has on disk. What is wrong with it where it is, if anything.
    pub(super) fn append(&mut self, record: &Record) -> Option<String> {
        if self.log_ended {
            return Some("a record after the log's end".to_owned());
        }
        match record {
            Record::Start(_) if self.log_begun => return Some("a second start".to_owned()),
            Record::Start(_) => self.log_begun = true,
            _ if !self.log_begun => return Some("a record before the start".to_owned()),
            Record::Bundle(bundle) if bundle.turn.0 != self.appended => {
                return Some(format!(
                    "turn {} logged, {} was next",
                    bundle.turn, self.appended
                ));
            }
            Record::Bundle(_) => {
                self.before.push((self.log.len(), self.codec.clone()));
                self.appended += 1;
                self.longest = self.longest.max(self.appended);
            }
            Record::Keyframe(keyframe) if keyframe.turns != self.appended => {
                return Some(format!(
                    "keyframe of {} turns in a log of {}",
                    keyframe.turns, self.appended
                ));
            }
            Record::End(_) => self.log_ended = true,
            _ => {}
        }
        self.codec.encode(record, &mut self.log);
        None
    }

    /// Whether this run of its process was of the match at some time.
    pub(super) fn was_in(&self) -> bool {
        let since = self.returned;
        since.is_none_or(|since| self.back.is_some_and(|at| at >= since))
    }

    /// Whether its process has died, and no other run of it is in the match.
    pub(super) fn is_dead(&self) -> bool {
        self.crashed
            .is_some_and(|died| self.back.is_none_or(|back| back < died))
    }

    /// Whether another run of its process follows the match, and has no part in it.
    pub(super) fn follows(&self) -> bool {
        !self.was_in()
    }

    /// Whether another run of its process has died as well.
    pub(super) fn died_again(&self) -> bool {
        self.crashed > self.returned && self.returned.is_some()
    }

    /// Takes back every turn from `turns` on.
    pub(super) fn undo(&mut self, turns: u32) {
        self.undone = self.undone.max(self.appended.saturating_sub(turns));
        if let Some((bytes, codec)) = self.before.get(turns as usize).cloned() {
            self.log.truncate(bytes);
            self.codec = codec;
            self.before.truncate(turns as usize);
            self.appended = turns;
        }
    }

    /// Whether the next text that this peer wrote is this one.
    pub(super) fn takes_chat(&mut self, text: &str) -> bool {
        // While turns wait, a peer keeps so many and no more.
        let next = self.chats.iter().skip(self.agreed.0);
        let dropped = next.take_while(|chat| chat.crowded && chat.text != text);
        self.agreed.0 += dropped.count();
        let next = self.chats.get(self.agreed.0);
        self.agreed.0 += 1;
        next.is_some_and(|next| next.text == text)
    }

    /// A player writes to all.
    pub(super) fn writes(&mut self, text: String) {
        let open = self.chats.len().saturating_sub(self.agreed.0) + self.pause_asks as usize;
        self.chats.push(Chat {
            text,
            crowded: open >= NOTES,
        });
    }

    /// Whether a pause or resumption that this peer asked for is still open.
    pub(super) fn takes_pause_ask(&mut self) -> bool {
        self.agreed.1 += 1;
        self.agreed.1 <= self.pause_asks
    }
}
