//! A small world and its matches, for tests.

use crate::format;
use crate::segment::{Encoder, Kind};
use lockstep::log::{
    Accept, AgreedStart, Bundle, Codec, Document, End, Equivocation, Keyframe, LogEntry, LogStore,
    Metering, OnSlow, Record, RosterChange, RosterPeer, SignedBatch, Start, Terms, What,
    roster_hash, start_hash, turn_hash,
};
use lockstep::session::roster::{Ballot, Peers, Value};
use lockstep::session::{Batch, Lead};
use lockstep::sign::{Ed25519, Signer};
use lockstep::{Incarnation, LogHash, MatchId, Plan, TurnNumber, world_entries};
use serde::{Deserialize, Serialize};
use sim::{
    Checksum, Entry, Field, LoadError, Outcome, RulesId, Seat, SeatState, Seed, Simulation, State,
    Visit,
};
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// Heaps of coins, one per seat, and a number that depends on the whole match.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Coins {
    heaps: Vec<u64>,
    mixed: u64,
    ticks: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Order {
    Add(u32),
    Take { from: u8, coins: u32 },
    Win,
    Panic,
}

thread_local! {
    /// Steps of all worlds of a thread.
    pub(crate) static STEPS: Cell<u64> = const { Cell::new(0) };
}

/// The heap of the winner.
const WON: u64 = 1 << 60;

struct Number(u64);

impl Field for Number {
    fn bytes(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0.to_le_bytes());
    }

    fn text(&self) -> String {
        self.0.to_string()
    }
}

impl State for Coins {
    fn save(&self, out: &mut Vec<u8>) {
        out.extend(postcard::to_allocvec(self).expect("a plain world encodes"));
    }

    fn load(bytes: &[u8]) -> Result<Self, LoadError> {
        match postcard::take_from_bytes::<Self>(bytes) {
            Ok((world, [])) => {
                assert!(!world.heaps.is_empty(), "no heap");
                Ok(world)
            }
            _ => Err(LoadError {
                what: "not coins",
                at: 0,
            }),
        }
    }

    fn visit(&self, to: &mut dyn Visit) {
        if to.section("heaps", self.heaps.len()) {
            for (id, coins) in self.heaps.iter().enumerate() {
                if to.row(id as u64) {
                    to.field("coins", &Number(*coins));
                }
            }
        }
        if to.section("world", 1) && to.row(0) {
            to.field("mixed", &Number(self.mixed));
            to.field("ticks", &Number(self.ticks));
        }
    }
}

impl Simulation for Coins {
    type Setup = u8;
    type Command = Order;
    type Effect = ();

    fn rules(_: &u8) -> RulesId {
        RulesId([7; 16])
    }

    fn new(start: &sim::Start<u8>) -> Self {
        Coins {
            heaps: vec![u64::from(start.setup); start.seats.len()],
            mixed: u64::from(start.seed.0[0]),
            ticks: 0,
        }
    }

    fn step(&mut self, entries: &[Entry<Order>], _: &mut Vec<()>) {
        STEPS.set(STEPS.get() + 1);
        for entry in entries {
            let Entry::Command { seat, command } = entry else {
                self.mixed = self.mixed.wrapping_add(1);
                continue;
            };
            let own = usize::from(seat.0);
            match command {
                Order::Add(coins) => {
                    self.heaps[own] = self.heaps[own].wrapping_add(u64::from(*coins));
                }
                Order::Take { from, coins } => {
                    let from = usize::from(*from) % self.heaps.len();
                    self.heaps[from] = self.heaps[from].wrapping_sub(u64::from(*coins));
                    self.heaps[own] = self.heaps[own].wrapping_add(u64::from(*coins));
                }
                Order::Win => self.heaps[own] = WON,
                Order::Panic => panic!("no such coin"),
            }
        }
        for heap in &self.heaps {
            self.mixed = self.mixed.wrapping_mul(0x5851_f42d_4c95_7f2d) ^ heap;
        }
        self.ticks += 1;
    }

    fn outcome(&self) -> Option<Outcome> {
        let winner = self.heaps.iter().position(|heap| *heap == WON)?;
        Some(Outcome {
            winner: Some(Seat(winner as u8)),
        })
    }
}

/// A handmade match of two peers: the records that a session would append, in order.
pub(crate) struct Played {
    pub records: Vec<Record>,
    /// By number of turns executed.
    pub worlds: Vec<Coins>,
}

/// A match of `turns` turns.
pub(crate) fn play(turns: u32) -> Played {
    play_with(turns, |_| {})
}

/// Like [`play`], with every bundle changed by `edit` before the world executes it.
pub(crate) fn play_with(turns: u32, edit: impl Fn(&mut Bundle)) -> Played {
    play_changing(turns, &[], edit)
}

/// Like [`play`], with a slow machine at seat 1 from turn 20 on: ticks take 100 ms from turn [`SLOW_FROM`] to
/// [`SLOW_UNTIL`].
pub(crate) fn play_slow(turns: u32) -> Played {
    let course = RefCell::new((
        Plan::default(),
        Metering::new(Plan::default().tick_ms, OnSlow::default()),
    ));
    play_with(turns, |bundle| {
        let (plan, metering) = &mut *course.borrow_mut();
        bundle.plan = *plan;
        if (20..=40).contains(&bundle.turn.0) && bundle.turn.0.is_multiple_of(5) {
            bundle.entries.push(LogEntry {
                seat: Seat(1),
                what: What::Load(80 * 16),
            });
        }
        if let Some(metered) = metering.take(bundle) {
            *plan = metered.plan;
        }
    })
}

pub(crate) const SLOW_FROM: u32 = 21;
/// Ten seconds of match, 25 turns, after the last load.
pub(crate) const SLOW_UNTIL: u32 = 66;

/// Like [`play_with`], with a false alarm before each of these turns.
pub(crate) fn play_changing(turns: u32, cuts: &[u32], edit: impl Fn(&mut Bundle)) -> Played {
    play_changed(turns, cuts, edit, false_alarm)
}

/// Like [`play`], but the second peer is removed before turn `cut`: it signed two batches for the turn after that.
pub(crate) fn play_cheated(turns: u32, cut: u32) -> Played {
    play_changed(turns, &[cut], alone_from(cut), cheated)
}

/// Like [`play`], but the second peer is removed before turn `cut`: it signed other checksums for the two turns
/// before.
pub(crate) fn play_desynced(turns: u32, cut: u32) -> Played {
    let mut played = play_changed(turns, &[cut], alone_from(cut), desynced);
    let Some(Record::Start(start)) = played.records.first().cloned() else {
        panic!("the first record is the start");
    };
    let mut records = Vec::new();
    for mut record in played.records {
        let differs = match &mut record {
            Record::Attest(signed) if signed.peer == 1 => {
                let mut batch = Batch::decode(&signed.content).expect("made above");
                if batch.complete + 1 >= cut {
                    batch.checksums[0].0 ^= 1;
                    let run = start.roster[1].incarnation;
                    *signed = batch.seal(1, start.match_id, run, &Ed25519::new(&[2; 32]));
                }
                None
            }
            Record::Checksum { turns, checksum } => (*turns + 1 == cut).then_some(*checksum),
            _ => None,
        };
        records.push(record);
        if let Some(checksum) = differs {
            let other = Checksum(checksum.0 ^ 1);
            records.push(Record::Mismatch {
                turns: cut - 1,
                checksums: vec![(0, checksum), (1, other)],
            });
        }
    }
    played.records = records;
    played
}

/// Like [`play`], but the second peer is lost before turn `cut`, or left in the turn before.
pub(crate) fn play_gone(turns: u32, cut: u32, left: bool) -> Played {
    let alone_from_turn = if left { cut - 1 } else { cut };
    play_changed(turns, &[cut], alone_from(alone_from_turn), lost)
}

/// From turn `cut` on, the second seat has no player.
fn alone_from(cut: u32) -> impl Fn(&mut Bundle) {
    move |bundle| {
        if bundle.turn.0 >= cut {
            bundle.entries.retain(|entry| entry.seat == Seat(0));
        }
        if bundle.turn.0 == cut {
            let what = What::Seat(SeatState::Idle);
            let seat = Seat(1);
            bundle.entries.push(LogEntry { seat, what });
        }
    }
}

/// The roster change that ends an epoch before turn `cut`, given the log hash there.
type Change = fn(&Place<'_>) -> RosterChange;

/// Where the roster changes.
struct Place<'a> {
    epoch: u32,
    cut: u32,
    start: &'a Start,
    signers: &'a [Ed25519; 2],
    log_hash: LogHash,
}

fn play_changed(turns: u32, cuts: &[u32], edit: impl Fn(&mut Bundle), change: Change) -> Played {
    let signers = [Ed25519::new(&[1; 32]), Ed25519::new(&[2; 32])];
    let mut start = Start {
        protocol: lockstep::PROTOCOL,
        match_id: MatchId([0x7f; 16]),
        rules: RulesId([7; 16]),
        setup: Arc::from([3]),
        seed: Seed([5; 32]),
        terms: Terms {
            turn_limit: Some(turns),
            ..Terms::default()
        },
        roster: (0..2)
            .map(|index| RosterPeer {
                peer: signers[usize::from(index)].id(),
                incarnation: Incarnation([index; 16]),
                name: ["ada", "bob"][usize::from(index)].to_owned(),
                seats: vec![Seat(index)],
                share: [index; 32],
            })
            .collect(),
        build: "test".into(),
        signatures: Vec::new(),
    };
    let mut log_hash = start_hash(&start);
    start.signatures = signers
        .iter()
        .map(|signer| AgreedStart(log_hash).sign(signer))
        .collect();
    let start = Arc::new(start);
    let mut world = Coins::new(&sim::Start {
        setup: 3,
        seed: start.seed,
        seats: start.seats(),
    });
    let mut records = vec![Record::Start(start.clone())];
    let mut worlds = vec![world.clone()];
    let mut roster = Peers::first(2);
    for turn in 0..turns {
        let mut bundle = bundle(turn);
        edit(&mut bundle);
        let at_cut = log_hash;
        for (epoch, cut) in (0..).zip(cuts).filter(|(_, cut)| **cut == turn) {
            let change = change(&Place {
                epoch,
                cut: *cut,
                start: &start,
                signers: &signers,
                log_hash: at_cut,
            });
            roster = change.value.roster;
            log_hash = roster_hash(log_hash, &change);
            records.push(Record::Roster(change));
        }
        records.push(Record::Bundle(bundle.clone()));
        log_hash = turn_hash(log_hash, &bundle);
        let (mut entries, _) = world_entries(&bundle);
        for _ in 0..bundle.ticks() {
            world.step(&entries, &mut Vec::new());
            entries.clear();
        }
        worlds.push(world.clone());
        let checksum = world.checksum();
        records.push(Record::Checksum {
            turns: turn + 1,
            checksum,
        });
        for peer in roster.iter() {
            let signer = &signers[usize::from(peer)];
            let attest = attest(peer, turn, log_hash, checksum, &start, signer);
            records.push(Record::Attest(attest));
        }
        let (ms, usual_ms, stands_out) = (20, 200, true);
        let lead = Lead {
            ms,
            usual_ms,
            stands_out,
        };
        let turns = turn + 1;
        let leads = vec![(1, lead)];
        records.push(Record::Leads { turns, leads });
        if (turn + 1) % KEYFRAME_TURNS == 0 {
            let mut snapshot = Vec::new();
            world.save(&mut snapshot);
            records.push(Record::Keyframe(Keyframe {
                turns: turn + 1,
                ticks: world.ticks,
                plan: bundle.plan,
                paused: bundle.paused,
                log_hash,
                snapshot: snapshot.into(),
            }));
        }
    }
    let checksum = world.checksum();
    let mut end = End {
        turns,
        log_hash,
        checksum,
        outcome: None::<Outcome>,
        signatures: Vec::new(),
    };
    let signature = |peer: u8| (peer, end.sign(&signers[usize::from(peer)]));
    end.signatures = roster.iter().map(signature).collect();
    records.push(Record::End(end));
    Played { records, worlds }
}

fn false_alarm(place: &Place<'_>) -> RosterChange {
    accepted(place, place.goes_on_with(2), &[0, 1])
}

fn cheated(place: &Place<'_>) -> RosterChange {
    let value = Value {
        cheats: Peers::first(2).without(Peers::first(1)),
        ..place.goes_on_with(1)
    };
    let Place { start, signers, .. } = place;
    let batch = |checksum| {
        let turn = place.cut - 1;
        attest(1, turn, place.log_hash, checksum, start, &signers[1])
    };
    RosterChange {
        proofs: vec![Equivocation(batch(Checksum(1)), batch(Checksum(2)))],
        ..accepted(place, value, &[0])
    }
}

fn lost(place: &Place<'_>) -> RosterChange {
    accepted(place, place.goes_on_with(1), &[0])
}

fn desynced(place: &Place<'_>) -> RosterChange {
    let value = Value {
        minority: Peers::first(2).without(Peers::first(1)),
        ..place.goes_on_with(1)
    };
    accepted(place, value, &[0])
}

impl Place<'_> {
    /// A value in which the first `peers` peers remain.
    fn goes_on_with(&self, peers: usize) -> Value {
        Value::of(Peers::first(peers), self.cut).with_log(self.log_hash)
    }
}

fn accepted(place: &Place<'_>, value: Value, by: &[u8]) -> RosterChange {
    let Place {
        epoch,
        start,
        signers,
        ..
    } = *place;
    let ballot = Ballot { round: 1, peer: 0 };
    let accept = |peer: &u8| {
        let peer = *peer;
        let accept = Accept::of(start, peer, epoch, ballot, value);
        let accept = accept.expect("there is such a place");
        (peer, accept.sign(&signers[usize::from(peer)]))
    };
    RosterChange {
        epoch,
        ballot,
        value,
        accepts: by.iter().map(accept).collect(),
        proofs: Vec::new(),
        reopening: None,
    }
}

pub(crate) const KEYFRAME_TURNS: u32 = 50;

fn bundle(turn: u32) -> Bundle {
    let mut entries = Vec::new();
    let command = |order: &Order| {
        What::Command(
            postcard::to_allocvec(order)
                .expect("an order encodes")
                .into(),
        )
    };
    if turn.is_multiple_of(3) {
        entries.push(LogEntry {
            seat: Seat(0),
            what: command(&Order::Add(turn)),
        });
    }
    if turn == 4 {
        entries.push(LogEntry {
            seat: Seat(0),
            what: What::Chat("good luck".into()),
        });
    }
    if turn % 5 == 1 {
        entries.push(LogEntry {
            seat: Seat(1),
            what: command(&Order::Take {
                from: 0,
                coins: turn,
            }),
        });
    }
    if turn == 7 {
        entries.push(LogEntry {
            seat: Seat(1),
            what: What::Pause,
        });
    }
    Bundle {
        turn: TurnNumber(turn),
        plan: Plan::default(),
        paused: (8..11).contains(&turn),
        entries: match turn {
            8 | 9 => Vec::new(),
            10 => vec![LogEntry {
                seat: Seat(1),
                what: What::Resume,
            }],
            _ => entries,
        },
    }
}

fn attest(
    peer: u8,
    turn: u32,
    log_hash: LogHash,
    checksum: Checksum,
    start: &Start,
    signer: &Ed25519,
) -> SignedBatch {
    Batch {
        turn: TurnNumber(turn + 2),
        entries: Vec::new(),
        first_numbers: Vec::new(),
        executed: turn + 1,
        checksums: vec![checksum],
        complete: turn + 1,
        log_hash,
        way_ms: Vec::new(),
        load: 0,
        leaving: false,
        epoch: 0,
        snapshot: None,
    }
    .seal(
        peer,
        start.match_id,
        start.roster[usize::from(peer)].incarnation,
        signer,
    )
}

/// A file of a start, and behind it nothing but one content again and again, in as few items as can be.
pub(crate) fn file_of_many(content: impl Fn(&mut Codec) -> Record, bytes: usize) -> Vec<u8> {
    let (mut codec, mut record) = (Codec::default(), Vec::new());
    codec.encode(&play(1).records[0], &mut record);
    let mut file = format::header();
    let mut encoder = Encoder::new();
    encoder.item(Kind::Records, &record, &mut file);
    encoder.seal(&mut file);
    let content = content(&mut codec.clone());
    record.clear();
    codec.encode(&content, &mut record);
    let many = record.repeat(format::MAX_RECORDS_BYTES as usize / record.len());
    while file.len() < bytes {
        encoder.item(Kind::Records, &many, &mut file);
    }
    file
}

/// The next turn, in which no player does anything. It takes a byte.
pub(crate) fn idle_turn(codec: &mut Codec) -> Record {
    Record::Bundle(codec.next_bundle(Vec::new()).expect("behind a start"))
}

/// The file that a recorder makes of these records.
pub(crate) fn file_of(records: &[Record]) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a folder for the file");
    let path = folder.path().join("match.replay");
    let mut recorder = crate::Recorder::create(&path).expect("a new file");
    for record in records {
        recorder.append(record).expect("the disk takes it");
    }
    recorder.close().expect("the disk takes it");
    std::fs::read(path).expect("the file is there")
}

/// A snapshot at which the world panics.
pub(crate) fn bad_snapshot() -> Arc<[u8]> {
    Arc::from([0; 3])
}

/// A snapshot of a world without the second seat: it loads, and panics at a command of that seat.
pub(crate) fn brittle_snapshot() -> Arc<[u8]> {
    let world = Coins {
        heaps: vec![0],
        mixed: 0,
        ticks: 0,
    };
    let mut bytes = Vec::new();
    world.save(&mut bytes);
    bytes.into()
}

/// Gives the match a setup of so many bytes.
pub(crate) fn put_setup(records: &mut [Record], bytes: usize) {
    let Record::Start(start) = &mut records[0] else {
        panic!("a log begins with its start");
    };
    Arc::make_mut(start).setup = vec![3; bytes].into();
}

/// A command at which the world panics.
pub(crate) fn panics() -> LogEntry {
    let command = postcard::to_allocvec(&Order::Panic).expect("a plain command encodes");
    LogEntry {
        seat: Seat(0),
        what: What::Command(command.into()),
    }
}
