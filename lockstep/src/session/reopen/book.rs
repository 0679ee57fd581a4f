//! A recorded log that others are given what they lack of, and that takes what this peer lacks.

use super::message::Claim;
use crate::log::{Codec, Record, RosterChange, Start, start_hash};
use crate::session::RulesOf;
use crate::session::catch_up::{Answer, Log, PART, Reopened, Unfit, Walk, place_in};
use crate::session::core::Core;
use crate::session::roster::Peers;
use crate::{Event, Incarnation, JoinRefused, LobbyPeer, LogHash, MatchId};
use std::sync::Arc;
use std::time::Duration;

/// What a record taken from others counts in memory, at least.
pub(super) const RECORD: usize = size_of::<Record>() + size_of::<LogHash>();
/// Turns at the end of a log of an earlier epoch that may be the peer's alone: as many as the longest command delay.
const PROVISIONAL: u32 = 8;

pub(super) struct Book {
    pub start: Arc<Start>,
    pub me: usize,
    log: Log,
    /// The log once more, encoded, as long as it stays as it is and others ask for it.
    pages: Option<Pages>,
    /// Memory for what was taken from others.
    taken: u64,
}

impl Book {
    /// These are here.
    pub(super) fn lobby(&self, peers: Vec<LobbyPeer>) -> Event {
        Event::Lobby {
            peers,
            seats: self.start.seats().len() as u8,
            plan: self.start.terms.plan,
        }
    }

    /// What an earlier run of this process has recorded.
    pub(super) fn open(
        core: &Core,
        match_id: MatchId,
        own: &[Record],
        rules: &RulesOf,
    ) -> Result<Book, JoinRefused> {
        let Some((Record::Start(start), records)) = own.split_first() else {
            return Err(JoinRefused::OtherMatch);
        };
        let me = place_in(core, start, match_id, rules).map_err(|unfit| match unfit {
            Unfit::Forged => JoinRefused::OtherMatch,
            Unfit::Refused(why) => why,
        })?;
        Ok(Book {
            start: start.clone(),
            me,
            log: Log::new(start.clone(), records, core),
            pages: None,
            taken: 0,
        })
    }

    pub(super) fn turns(&self) -> u32 {
        self.log.ahead.turns
    }

    pub(super) fn epoch(&self) -> u32 {
        self.log.ahead.epoch
    }

    /// The first turn of that epoch.
    pub(super) fn began(&self) -> u32 {
        self.log.ahead.began()
    }

    pub(super) fn roster(&self) -> Peers {
        self.log.ahead.roster
    }

    /// Hash of all, with the changes chained in that wait for their first turn.
    pub(super) fn tip(&self) -> LogHash {
        self.log.ahead.tip()
    }

    pub(super) fn claim(&self) -> Claim {
        Claim {
            start: start_hash(&self.start),
            epoch: self.epoch(),
            turns: self.turns(),
            hash: self.log.ahead.hash,
        }
    }

    /// Turns of this log that who claims so has too; `None` where it has others. Of a claim that goes further in the same
    /// epoch only who made it can tell whether it goes on from here: it signs, or refuses to.
    pub(super) fn shared_with(&self, claim: &Claim) -> Option<u32> {
        let mut changes = self.log.ahead.changes.iter();
        let ended = changes.find(|change| change.epoch == claim.epoch);
        match ended.map(|change| change.value.cut) {
            // What it has beyond the end of its epoch is its own.
            Some(cut) if claim.turns > cut => Some(cut),
            _ if claim.epoch > self.epoch() => None,
            _ if claim.turns > self.turns() => Some(self.turns()),
            _ => {
                let ours = self.log.hashes.get(claim.turns as usize);
                (ours == Some(&claim.hash)).then_some(claim.turns)
            }
        }
    }

    /// Whether the log names this run of a peer's process: it is not a new one.
    pub(super) fn names_run(&self, peer: u8, run: Incarnation) -> bool {
        self.log.ahead.names_run(peer, run)
    }

    /// Goes back to so many turns of an epoch that it has come to.
    pub(super) fn cut_back(&mut self, core: &Core, epoch: u32, turns: u32) {
        if (self.epoch(), self.turns()) == (epoch, turns) {
            return;
        }
        let stays = |record: &Record| match record {
            Record::Bundle(bundle) => bundle.turn.0 < turns,
            Record::Roster(change) => change.epoch < epoch && change.value.cut <= turns,
            _ => false,
        };
        let mut records = std::mem::take(&mut self.log.ready);
        records.retain(stays);
        self.log = Log::new(self.start.clone(), &records, core);
        self.pages = None;
    }

    /// Goes back behind what others may not have, to be given the turns of a later epoch.
    pub(super) fn cut_back_provisional(&mut self, core: &Core) {
        let turns = self.turns().saturating_sub(PROVISIONAL);
        self.cut_back(core, self.epoch(), turns);
    }

    /// What follows on the turns before `from`.
    pub(super) fn page(&mut self, from: u32) -> Answer {
        let log = &self.log;
        let pages = self.pages.get_or_insert_with(|| Pages::of(log));
        Answer::Log {
            from,
            records: pages.from(from).to_vec(),
            turns: log.ahead.turns,
            due_in_ms: 0,
            batches: Vec::new(),
        }
    }

    /// Takes such a page. `None` where it does not follow, brings nothing new, or is too much.
    pub(super) fn take(&mut self, core: &Core, from: u32, bytes: &[u8]) -> Option<()> {
        let log = &mut self.log;
        let before = (log.ahead.epoch, log.ahead.turns);
        if from != log.ahead.turns {
            return None;
        }
        self.pages = None;
        let mut codec = log.ahead.codec.clone();
        let records = codec.decode_all(bytes, &core.limits).ok()?;
        self.taken += (bytes.len() + records.len() * RECORD) as u64;
        if self.taken > core.limits.catch_up_bytes {
            return None;
        }
        for record in records {
            // The change that began the epoch stands where the page begins, too.
            let known = matches!(&record, Record::Roster(change) if change.epoch < log.ahead.epoch);
            if !known {
                log.walk(record, core).ok()?;
            }
        }
        log.confirmed = log.ahead.clone();
        log.ready.extend(log.pending.drain(..));
        (before != (log.ahead.epoch, log.ahead.turns)).then_some(())
    }

    /// Whether a change reopens the match where this log ends, decided by those whom it names.
    pub(super) fn is_reopened_by(&self, core: &Core, change: &RosterChange) -> bool {
        let walk = &self.log.ahead;
        change.reopening.is_some()
            && walk.is_next(change, core.signer.as_ref())
            && change.follows_on(walk.turns, walk.tip(), walk.began(), walk.roster)
    }

    /// How far the log is walked.
    pub(super) fn into_end(self) -> Walk {
        self.log.ahead
    }

    /// What its peer goes on from, once this change has reopened the match.
    pub(super) fn reopened(self, change: RosterChange, due: Duration) -> Reopened {
        Reopened {
            log: self.log,
            me: self.me,
            change,
            due,
        }
    }
}

/// A log behind its start, encoded.
struct Pages {
    bytes: Vec<u8>,
    /// Where what belongs to each turn begins, its roster change first; at the end, where what follows on all turns does.
    begins: Vec<usize>,
}

impl Pages {
    fn of(log: &Log) -> Pages {
        let mut codec = Codec::behind(&log.start);
        let (mut bytes, mut begins) = (Vec::new(), vec![0]);
        for record in &log.ready {
            codec.encode(record, &mut bytes);
            if matches!(record, Record::Bundle(_)) {
                begins.push(bytes.len());
            }
        }
        Pages { bytes, begins }
    }

    /// Whole turns from this one on, as many as a page holds, and one at least.
    fn from(&self, turn: u32) -> &[u8] {
        let turn = turn as usize;
        let Some(begin) = self.begins.get(turn).copied() else {
            return &[];
        };
        let fits = |at: usize| at <= begin + PART;
        let whole = self.begins.partition_point(|at| fits(*at)).max(turn + 2);
        match self.begins.get(whole - 1) {
            Some(end) if whole < self.begins.len() || !fits(self.bytes.len()) => {
                &self.bytes[begin..*end]
            }
            _ => &self.bytes[begin..],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::{Bundle, LogEntry, What};
    use crate::sign::KeyedHash;
    use crate::{Limits, PeerId, TurnNumber};
    use sim::Seat;

    /// A book of so many turns, every fifth of them with a long text.
    fn book(turns: u32) -> (Core, Book) {
        let signer = Box::new(KeyedHash::new(PeerId([1; 32])));
        let core = Core::new(Limits::default(), signer, [3; 32]);
        let start = Arc::new(Start {
            protocol: crate::PROTOCOL,
            match_id: MatchId([7; 16]),
            rules: sim::RulesId([9; 16]),
            setup: Arc::from([1, 2, 3]),
            seed: sim::Seed([5; 32]),
            terms: crate::log::Terms {
                seats: 1,
                ..Default::default()
            },
            roster: vec![crate::log::RosterPeer {
                peer: PeerId([1; 32]),
                incarnation: Incarnation([1; 16]),
                name: String::new(),
                seats: vec![Seat(0)],
                share: [0; 32],
            }],
            build: String::new(),
            signatures: Vec::new(),
        });
        let bundle = |turn: u32| {
            let text = What::Chat("x".repeat(390));
            let entry = LogEntry {
                seat: Seat(0),
                what: text,
            };
            Record::Bundle(Bundle {
                turn: TurnNumber(turn),
                plan: crate::Plan::default(),
                paused: false,
                entries: vec![entry; usize::from(turn.is_multiple_of(5))],
            })
        };
        let records: Vec<Record> = (0..turns).map(bundle).collect();
        let log = Log::new(start.clone(), &records, &core);
        assert_eq!(log.ahead.turns, turns);
        let book = Book {
            start,
            me: 0,
            log,
            pages: None,
            taken: 0,
        };
        (core, book)
    }

    #[test]
    fn another_book_is_given_the_whole_log_page_by_page() {
        let (core, mut giving) = book(2_000);
        let (_, mut taking) = book(7);
        let mut pages = 0;
        while taking.turns() < 2_000 {
            let from = taking.turns();
            let Answer::Log { records, .. } = giving.page(from) else {
                panic!("a page");
            };
            assert!(records.len() <= PART);
            taking.take(&core, from, &records).expect("it follows");
            pages += 1;
        }
        assert_eq!(taking.claim(), giving.claim());
        assert!((5..8).contains(&pages), "{pages}");
    }

    #[test]
    fn the_log_is_encoded_once_for_all_its_pages_and_anew_when_it_changes() {
        let (core, mut book) = book(2_000);
        let at = |book: &mut Book| {
            let page = book.page(0);
            let pages = book.pages.as_ref().expect("encoded");
            (pages.bytes.as_ptr(), pages.begins.len(), page)
        };
        let (first, turns, _) = at(&mut book);
        let (second, ..) = at(&mut book);
        assert_eq!((first, turns), (second, 2_001));
        book.cut_back(&core, 0, 3);
        let (_, turns, page) = at(&mut book);
        assert_eq!(turns, 4);
        assert!(matches!(page, Answer::Log { turns: 3, .. }));
    }

    #[test]
    fn what_is_taken_is_counted_with_the_memory_that_it_takes() {
        let (mut core, mut book) = book(0);
        core.limits.catch_up_bytes = 1_000 * (RECORD as u64 + 1);
        assert!(book.take(&core, 0, &[1; 1_000]).is_some());
        assert!(
            book.take(&core, 1_000, &[1]).is_none(),
            "idle turns are not free"
        );
    }
}
