//! S3: the history holds what players said, and nothing else. Every command and text is there once, in order, and
//! without delay while its peer stays.

use super::*;

/// A batch has room for this many bytes of commands: 700 less signature, checksums of a catch-up, slack and heads.
const ROOMY: usize = 300;
/// A world outside the core lies at most this far behind its session.
const BEHIND: Duration = Duration::from_secs(5);

/// A command, a text or a pause of a player.
#[derive(Clone, Debug)]
pub(super) struct Saying {
    entry: LogEntry,
    peer: usize,
    run: u32,
    /// The first turn that its session had not handed out, and the first one with room that must hold it.
    next: u32,
    due: u32,
    /// The turn of the history that holds it.
    turn: Option<u32>,
}

/// Bytes of batches, by turn and peer.
type Used = BTreeMap<(u32, usize), usize>;

/// The pauses of each seat, how often and how long.
type Paused = BTreeMap<Seat, (u8, Duration)>;

impl Judge {
    /// A player says something to its session.
    pub fn says(&mut self, peer: usize, entry: LogEntry) {
        let file = &self.peers[peer];
        // Batches of turns that are taken back stay sealed.
        let handed = file.handed.iter().map(|(turn, ..)| turn + 1);
        let (next, run) = (handed.fold(file.next, u32::max), file.notes.run);
        let in_core = self.is_core(peer) && Some(self.now) > self.core.due;
        let behind = BEHIND.as_micros() / self.scenario.shortest_turn().as_micros();
        let due = next + u32::from(!in_core) * behind as u32 + self.scenario.delay();
        let of = (entry.seat, kind(&entry.what).0);
        self.said.entry(of).or_default().push(Saying {
            entry,
            peer,
            run,
            next,
            due,
            turn: None,
        });
    }

    /// The history holds what players said.
    pub(super) fn check_said(&mut self, log: &Log) {
        let (mut used, mut paused) = (Used::new(), Paused::new());
        let (mut by, most) = (None, self.scenario.pauses);
        let longest = Duration::from_secs(most.seconds.into());
        for bundle in &log.turns {
            let in_order = bundle.entries.is_sorted_by_key(|entry| entry.seat);
            self.must(RUN, NoLoss, bundle)(in_order, "a turn out of seat order");
            let asked = bundle.paused == by.is_some();
            self.must(RUN, NoLoss, bundle)(asked, "a pause, or none, unasked");
            for entry in &bundle.entries {
                if entry.what == What::Pause {
                    let (often, long) = paused.entry(entry.seat).or_default();
                    let within = *often < most.pauses && *long < longest;
                    self.must(RUN, NoLoss, bundle)(within, "a pause beyond its budget");
                    (by, *often) = (Some(entry.seat), *often + 1);
                }
                by = by.filter(|_| entry.what != What::Resume);
                let founded = self.read(&mut used, log, bundle, entry);
                let must = self.must(RUN, NoLoss, (bundle.turn, entry));
                must(founded, "an entry for no reason, or not the next");
            }
            by = by.filter(|seat| {
                let (_, long) = paused.entry(*seat).or_default();
                *long += bundle.plan.turn();
                *long < longest
            });
        }
        for saying in self.said.values().flatten() {
            let must = self.must(saying.peer, NoLoss, saying);
            let spent = paused.get(&saying.entry.seat);
            let spent = spent.is_some_and(|of| of.0 >= most.pauses || of.1 >= longest);
            // A pause of a seat that has none left has no effect.
            let counts = saying.entry.what != What::Pause || !spent;
            let waits = counts && self.waits(saying, &used, log);
            must(!waits, "a turn that has room is without what was said");
        }
    }

    /// The world is told once that a seat's peer is gone, or back: by the next turn that has ticks.
    pub(super) fn check_seats(&self, log: &Log) {
        let roster = log.start.iter().flat_map(|start| &start.roster);
        let peers = Vec::from_iter(roster.zip(&self.places));
        // The seats that no player has, and those of which the world was told that.
        let (mut empty, mut told) = (BTreeSet::new(), BTreeSet::new());
        for bundle in &log.turns {
            let epochs = log.epochs.windows(2);
            for pair in epochs.filter(|pair| pair[1].0 == bundle.turn.0) {
                for (of, peer) in &peers {
                    match [&pair[0], &pair[1]].map(|(_, roster)| roster.contains(peer)) {
                        [true, false] => empty.extend(&of.seats),
                        [false, true] => empty.retain(|seat| !of.seats.contains(seat)),
                        _ => {}
                    }
                }
            }
            let must = self.must(RUN, NoLoss, bundle);
            for LogEntry { seat, what } in &bundle.entries {
                let news = match what {
                    What::Seat(SeatState::Played) => !empty.contains(seat) && told.remove(seat),
                    // A peer that leaves is in the roster for a while.
                    What::Seat(_) => {
                        empty.insert(*seat);
                        told.insert(*seat)
                    }
                    _ => continue,
                };
                must(news, "tells the world what it knows");
            }
            must(
                bundle.paused || empty == told,
                "does not tell the world of a seat",
            );
        }
    }

    /// Whether an entry has a reason, and is the next of its seat.
    fn read(&mut self, used: &mut Used, log: &Log, bundle: &Bundle, entry: &LogEntry) -> bool {
        let (turn, what) = (bundle.turn.0, &entry.what);
        let Some(peer) = self.with_seat(log, entry.seat) else {
            return false;
        };
        let (notes, hostile) = (&self.peers[peer].notes, self.scenario.is_hostile(peer));
        let is_in = log.roster(turn).contains(&peer);
        let is_gone = !is_in || notes.leaves || notes.has_left || hostile;
        match what {
            What::Command(_) | What::Seat(_) if bundle.paused => return false,
            What::Seat(SeatState::Played) => return is_in && notes.run > 0,
            What::Seat(state) => return is_gone && *state == self.scenario.absent.state(),
            _ if turn < u32::from(log.turns[0].plan.delay_turns) => return false,
            What::Way { .. } => return self.scenario.adaptive,
            What::Load(_) => return hostile || notes.slow_until.is_some(),
            What::Pause | What::Resume => {}
            _ => *used.entry((turn, peer)).or_default() += kind(what).1,
        }
        let said = self.said.entry((entry.seat, kind(what).0)).or_default();
        let read = said.iter().rposition(|saying| saying.turn.is_some());
        let rest = &mut said[read.map_or(0, |last| last + 1)..];
        let Some(found) = rest.iter().position(|saying| saying.entry == *entry) else {
            return hostile;
        };
        rest[found].turn = Some(turn);
        // The words of a dead run may be lost with it, and a late pause has no effect.
        let next = rest[..found].iter().all(|of| of.run < rest[found].run);
        next || hostile || matches!(what, What::Pause | What::Resume)
    }

    /// Whether a turn with room lacks something that was said, while its peer stays and logs turns itself.
    fn waits(&self, saying: &Saying, used: &Used, log: &Log) -> bool {
        let (what, file) = (&saying.entry.what, &self.peers[saying.peer]);
        let has_room = |turn: u32| {
            let (from, paused) = match what {
                What::Command(_) => (turn.saturating_sub(self.scenario.delay()), false),
                What::Pause | What::Resume => (saying.next, *what == What::Resume),
                _ => (turn + 1, false),
            };
            let mut turns = log.turns[from as usize..=turn as usize].iter();
            let used = used.get(&(turn, saying.peer));
            let fits = used.is_none_or(|used| used + kind(what).1 <= ROOMY);
            // A pause has no effect in a turn that another one has paused, even where that turn goes on.
            let other = |of: &LogEntry| kind(what).0 == 2 && kind(&of.what).0 == 2;
            fits && turns.all(|of| of.paused == paused && !of.entries.iter().any(other))
        };
        let is_in = log.roster(saying.next).contains(&saying.peer);
        let mut epochs = log.epochs.iter();
        let gone = epochs.find(|(begins, of)| *begins > saying.next && !of.contains(&saying.peer));
        // A peer outside may have provisional turns that the history lacks.
        let end = file.log.len().min(log.len());
        let until = gone.map_or(end, |(begins, _)| end.min(*begins));
        let mut turns = saying.due..saying.turn.unwrap_or(until);
        let stays = is_in && saying.run == file.notes.run && !file.notes.leaves;
        stays && turns.any(has_room)
    }
}

/// The kind of an entry, and its bytes in a batch. Each kind keeps its order. A peer has one text per turn.
fn kind(what: &What) -> (u8, usize) {
    match what {
        What::Command(bytes) => (0, bytes.len() + 3),
        What::Chat(_) => (1, ROOMY / 2 + 1),
        _ => (2, ROOMY / 2 + 1),
    }
}
