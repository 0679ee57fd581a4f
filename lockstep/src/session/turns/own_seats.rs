//! This peer's own seats: their commands, chat and pauses, until they are in the log.

use crate::limits::room_of;
use crate::log::{Batch, Formed, LogEntry, TurnFold, What, seats_with_commands};
use crate::text::tidy_text;
use crate::{Event, Limits};
use sim::Seat;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// Pauses, resumptions and texts that wait, at most: the texts of four minutes.
const NOTES: usize = 256;
/// Bytes of a note in a batch, beside its text.
const NOTE: u32 = 4;
/// Texts are counted over this time.
const CHAT_TIME: Duration = Duration::from_secs(10);

/// All of them.
pub(super) struct OwnSeats {
    seats: Vec<OwnSeat>,
    /// When the last texts were taken.
    chats: VecDeque<Duration>,
}

/// The commands of one own seat.
struct OwnSeat {
    seat: Seat,
    /// Number of the first command of `waiting`: all before it are executed.
    executed: u32,
    waiting: VecDeque<Arc<[u8]>>,
    /// How many of `waiting` are in a sealed batch that will count.
    sealed: usize,
    /// Sealed batches with commands of this seat whose turns are not complete: turn, first number, count.
    in_flight: VecDeque<(u32, u32, usize)>,
    notes: VecDeque<What>,
    /// Commands that the last batch with room for commands had no room for, and whether the game was told of some.
    behind: usize,
    told: bool,
}

/// A seat's commands in the batch of a turn.
struct Sealed {
    turn: u32,
    /// Number of the first one.
    first: u32,
    commands: Vec<Arc<[u8]>>,
}

impl OwnSeats {
    /// The seats of this peer's place, after the commands that the log has of them.
    pub(super) fn new(seats: &[Seat], fold: &TurnFold) -> Self {
        let seats = seats.iter();
        let seats = seats.map(|seat| OwnSeat::new(*seat, fold.next_number(*seat)));
        OwnSeats {
            seats: seats.collect(),
            chats: VecDeque::new(),
        }
    }

    pub(super) fn issue(&mut self, seat: Seat, command: Vec<u8>) {
        let mut seats = self.seats.iter_mut();
        if let Some(own) = seats.find(|own| own.seat == seat) {
            own.issue(command);
        }
    }

    /// Pause, resume or chat, for this peer's first seat.
    pub(super) fn note(&mut self, what: What) {
        let first = self.seats.first_mut();
        if let Some(own) = first.filter(|own| own.notes.len() < NOTES) {
            own.notes.push_back(what);
        }
    }

    pub(super) fn chat(&mut self, text: &str, limits: &Limits, now: Duration) {
        let over = |at: &mut Duration| *at + CHAT_TIME <= now;
        while self.chats.pop_front_if(over).is_some() {}
        // A text that fits no turn would wait for ever, and all behind it.
        let room = limits.turn_bytes().saturating_sub(NOTE);
        let text = tidy_text(text, limits.chat_bytes.min(room));
        if self.chats.len() < limits.chats_per_10_s as usize && !text.is_empty() {
            self.chats.push_back(now);
            self.note(What::Chat(text));
        }
    }

    /// Bytes in a batch of all commands that none holds yet.
    pub(super) fn waiting_bytes(&self) -> u32 {
        let commands = self.seats.iter().flat_map(OwnSeat::unsealed);
        commands.map(|command| room_of(command.len())).sum()
    }

    /// What the game is to be told of commands that wait for more than one batch.
    pub(super) fn news(&mut self) -> Vec<Event> {
        let news = self.seats.iter_mut().filter_map(OwnSeat::news);
        news.collect()
    }

    /// A turn is complete in which so many commands of each seat counted.
    pub(super) fn complete(&mut self, formed: &Formed, paused_next: bool) {
        for own in &mut self.seats {
            let executed = formed.executed.get(&own.seat).copied().unwrap_or(0);
            own.completed(formed.bundle.turn.0, executed, paused_next);
        }
    }

    /// Turns are taken back: what was executed of their commands waits again, and these batches of this peer, for them
    /// and later ones, stand.
    pub(super) fn retract(&mut self, batches: &[(u32, &Batch)], fold: &TurnFold) {
        for own in &mut self.seats {
            let sealed = batches.iter();
            let sealed = sealed.filter_map(|(turn, batch)| sealed_of(own.seat, *turn, batch));
            let sealed = sealed.collect();
            own.undo(fold.next_number(own.seat), sealed, fold.paused_by.is_some());
        }
    }

    /// Fills a batch from all own seats: notes first, then commands unless the match is paused, of another seat first each
    /// turn, so that none starves the others.
    pub(super) fn fill(&mut self, batch: &mut Batch, paused: bool, limits: &Limits) {
        // Beside entries: the signature, turn, counts, executed, complete, log hash, checksums, ways, load, epoch and
        // snapshot.
        let fixed = 64
            + 5
            + 3
            + 5
            + 2
            + 4 * batch.checksums.len()
            + 5
            + 16
            + 1
            + 2 * batch.way_ms.len()
            + 3
            + 4
            + 26;
        let mut room = (limits.batch_bytes as usize).saturating_sub(fixed);
        let seats = self.seats.len();
        let mut parts: Vec<(Seat, Vec<LogEntry>, Option<u32>)> = Vec::with_capacity(seats);
        for seat in &mut self.seats {
            let mut entries = Vec::new();
            room -= seat.fill_notes(room, &mut entries);
            parts.push((seat.seat, entries, None));
        }
        for step in (0..seats).filter(|_| !paused) {
            let at = (batch.turn.0 as usize + step) % seats;
            let (_, entries, first) = &mut parts[at];
            let (used, number) = self.seats[at].fill_commands(batch.turn.0, room, entries);
            (room, *first) = (room - used, number);
        }
        for seat in self.seats.iter_mut().filter(|_| !paused) {
            seat.behind = seat.unsealed().count();
        }
        parts.sort_by_key(|(seat, ..)| *seat);
        for (_, entries, first) in parts {
            batch.entries.extend(entries);
            batch.first_numbers.extend(first);
        }
    }
}

/// The commands of a seat in a batch, if it has any.
fn sealed_of(seat: Seat, turn: u32, batch: &Batch) -> Option<Sealed> {
    let place = seats_with_commands(&batch.entries).position(|of| of == seat)?;
    let commands = batch.entries.iter().filter(|entry| entry.seat == seat);
    let commands = commands.filter_map(|entry| match &entry.what {
        What::Command(bytes) => Some(bytes.clone()),
        _ => None,
    });
    Some(Sealed {
        turn,
        first: *batch.first_numbers.get(place)?,
        commands: commands.collect(),
    })
}

impl OwnSeat {
    /// A seat with so many commands in the log already.
    fn new(seat: Seat, executed: u32) -> Self {
        OwnSeat {
            seat,
            executed,
            waiting: VecDeque::new(),
            sealed: 0,
            in_flight: VecDeque::new(),
            notes: VecDeque::new(),
            behind: 0,
            told: false,
        }
    }

    /// The commands that no batch holds that counts.
    fn unsealed(&self) -> impl Iterator<Item = &Arc<[u8]>> {
        self.waiting.iter().skip(self.sealed)
    }

    fn news(&mut self) -> Option<Event> {
        let (seat, commands) = (self.seat, self.behind as u32);
        let is_behind = commands > 0;
        let is_news = std::mem::replace(&mut self.told, is_behind) != is_behind;
        is_news.then_some(match is_behind {
            true => Event::Backlog { seat, commands },
            false => Event::BacklogEnded { seat },
        })
    }

    fn issue(&mut self, command: Vec<u8>) {
        self.waiting.push_back(command.into());
    }

    /// Moves notes into `entries` that fit into `room` more bytes. What does not fit spills into the next turn, in order.
    /// The bytes used.
    fn fill_notes(&mut self, room: usize, entries: &mut Vec<LogEntry>) -> usize {
        let mut used = 0;
        let mut chatted = false;
        while let Some(note) = self.notes.front() {
            let bytes = NOTE as usize
                + if let What::Chat(text) = note {
                    // One text of a seat counts per turn: the next text waits for the next turn.
                    if std::mem::replace(&mut chatted, true) {
                        break;
                    }
                    text.len()
                } else {
                    0
                };
            if used + bytes > room {
                break;
            }
            used += bytes;
            let what = self.notes.pop_front().expect("the front was just seen");
            entries.push(LogEntry {
                seat: self.seat,
                what,
            });
        }
        used
    }

    /// The same for commands. The bytes used, and the first command's number.
    fn fill_commands(
        &mut self,
        turn: u32,
        room: usize,
        entries: &mut Vec<LogEntry>,
    ) -> (usize, Option<u32>) {
        let first = self.executed + self.sealed as u32;
        let from = self.sealed;
        let mut used = 5;
        while let Some(command) = self.waiting.get(self.sealed) {
            let bytes = room_of(command.len()) as usize;
            if used + bytes > room {
                break;
            }
            used += bytes;
            self.sealed += 1;
            entries.push(LogEntry {
                seat: self.seat,
                what: What::Command(command.clone()),
            });
        }
        let count = self.sealed - from;
        if count == 0 {
            return (0, None);
        }
        self.in_flight.push_back((turn, first, count));
        (used, Some(first))
    }

    /// A turn is complete in which `executed` commands of this seat counted.
    fn completed(&mut self, turn: u32, executed: usize, paused_next: bool) {
        self.waiting.drain(..executed);
        self.executed += executed as u32;
        while self
            .in_flight
            .front()
            .is_some_and(|(sealed_for, ..)| *sealed_for <= turn)
        {
            self.in_flight.pop_front();
        }
        self.count_sealed(paused_next);
    }

    /// The turns from the seat's command `next` on are taken back. `sealed` is what stands for them, and for later ones.
    fn undo(&mut self, next: u32, sealed: Vec<Sealed>, paused_next: bool) {
        let mut again = BTreeMap::new();
        self.in_flight.clear();
        for Sealed {
            turn,
            first,
            commands,
        } in sealed
        {
            self.in_flight.push_back((turn, first, commands.len()));
            again.extend((first..).zip(commands));
        }
        for number in (next..self.executed).rev() {
            let command = again.remove(&number);
            let command = command.expect("what was executed is in a batch that is kept");
            self.waiting.push_front(command);
        }
        self.executed = next;
        self.count_sealed(paused_next);
    }

    fn count_sealed(&mut self, paused_next: bool) {
        // What is still under way counts as far as it continues what is executed; the rest is sealed again.
        let mut next = self.executed;
        if !paused_next {
            for (_, first, count) in &self.in_flight {
                if *first == next {
                    next += *count as u32;
                }
            }
        }
        self.sealed = (next - self.executed) as usize;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::ledger::fixture::batch;

    fn own(seat: Seat) -> OwnSeats {
        OwnSeats {
            seats: vec![OwnSeat::new(seat, 0)],
            chats: VecDeque::new(),
        }
    }

    #[test]
    fn the_longest_text_fits_the_smallest_turn() {
        let limits = Limits {
            batch_bytes: 350,
            chat_bytes: 400,
            ..Limits::default()
        };
        let mut own = own(Seat(0));
        own.chat(&"a".repeat(400), &limits, Duration::ZERO);
        own.note(What::Pause);
        let mut batch = batch(2);
        own.fill(&mut batch, false, &limits);
        assert_eq!(batch.entries.len(), 2, "{:?}", batch.entries);
    }

    #[test]
    fn entries_that_do_not_fit_spill_in_order() {
        let limits = Limits::default();
        let mut own = own(Seat(0));
        for number in 0..10u8 {
            own.issue(Seat(0), vec![number; 200]);
        }
        let mut seen = Vec::new();
        for turn in 2..20 {
            let mut batch = batch(turn);
            own.fill(&mut batch, false, &limits);
            let mut bytes = Vec::new();
            batch.encode(&mut bytes);
            assert!(bytes.len() + 64 <= limits.batch_bytes as usize);
            assert_eq!(Batch::decode(&bytes).as_ref(), Ok(&batch));
            for entry in &batch.entries {
                if let What::Command(command) = &entry.what {
                    seen.push(command[0]);
                }
            }
            own.seats[0].completed(turn, batch.entries.len(), false);
        }
        assert_eq!(seen, (0..10).collect::<Vec<u8>>());
    }

    #[test]
    fn a_backlog_is_told_of_when_it_begins_and_when_it_ends() {
        let limits = Limits::default();
        let (mut own, seat) = (own(Seat(0)), Seat(0));
        for _ in 0..5 {
            own.issue(seat, vec![7; 200]);
        }
        assert_eq!(own.waiting_bytes(), 5 * 203);
        let mut told = Vec::new();
        for (turn, paused) in [(2, false), (3, true), (4, false), (5, false), (6, false)] {
            let mut batch = batch(turn);
            own.fill(&mut batch, paused, &limits);
            told.push((batch.entries.len(), own.news()));
            own.seats[0].completed(turn, batch.entries.len(), false);
        }
        let begins = Event::Backlog { seat, commands: 3 };
        let ends = Event::BacklogEnded { seat };
        let none = Vec::new;
        let expected = [
            (2, vec![begins]),
            (0, none()),
            (2, none()),
            (1, vec![ends]),
            (0, none()),
        ];
        assert_eq!(told, expected);
        assert_eq!(own.waiting_bytes(), 0);
    }

    #[test]
    fn commands_sealed_into_a_pause_are_sealed_again_once() {
        let limits = Limits::default();
        let mut own = own(Seat(0));
        own.issue(Seat(0), vec![1]);
        let mut first = batch(2);
        own.fill(&mut first, false, &limits);
        own.issue(Seat(0), vec![2]);
        let mut second = batch(3);
        own.fill(&mut second, false, &limits);
        // Turns 2 and 3 turn out to be paused: nothing of them counts.
        own.seats[0].completed(2, 0, true);
        own.seats[0].completed(3, 0, false);
        let mut third = batch(4);
        own.fill(&mut third, false, &limits);
        assert_eq!((third.entries.len(), third.first_numbers), (2, vec![0]));
        let mut fourth = batch(5);
        own.fill(&mut fourth, false, &limits);
        assert!(fourth.entries.is_empty());
    }
}
