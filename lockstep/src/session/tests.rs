//! Sessions on links in memory, with a fixed delay and no loss: worse is the business of the simulator in `tests`.

mod adaptive;
mod askers;
mod crowd;
mod desync;
mod equivocation;
mod hostile;
mod joining;
mod late;
mod lobby;
mod lost;
mod patience;
mod play_on;
mod quorum_loss;
mod rejoin;
mod reopen;
mod returning;
mod sleep;
mod slow;
mod stats;
mod traffic;
mod uplink;

use super::*;
use crate::harness::peer_id as id;
use crate::harness::{
    Arrival, Arrives, Clock, Mesh, Recording, Sent, Surroundings, change_batches, guest, hosted,
    settings, without_votes,
};
use crate::log::{Absent, Bundle, LogEntry, OnDesync, OnSlow, Record, SignedBatch, Terms};
use crate::sign::KeyedHash;
use crate::{Incarnation, Limits, MatchId, PeerId, Plan, Status, TurnNumber};
use sim::{Outcome, RulesId, Seat, SeatState};
use std::sync::Arc;

const DELAY: Duration = Duration::from_millis(30);
const SUSPICION: Duration = Duration::from_secs(3);

/// What a peer's session has said, and its world.
struct Peer {
    run: Incarnation,
    turns: Vec<Bundle>,
    events: Vec<Event>,
    recording: Recording,
    /// Turns that were left each time that some were taken back.
    retracted: Vec<u32>,
    /// Turns of the snapshot that its world began with.
    loaded: u32,
    /// The world that it builds slowly, until a test says that it is there.
    built: Option<Checksum>,
    executed: u64,
    diverges_at: Option<u64>,
    /// Time that its machine takes for a tick.
    step: Duration,
}

/// What a peer sends in the place of these bytes.
type Lie = fn(Vec<u8>) -> Vec<u8>;

/// Changes what a peer, of this match, at this place, says; `None` where it says what is so.
type Attack = fn(&crate::log::Start, usize, Channel, &[u8]) -> Option<Vec<u8>>;

struct Net {
    mesh: Mesh,
    peers: Vec<Peer>,
    links: Links,
    /// After so many turns the world is decided.
    decided_after: Option<u64>,
}

/// What becomes of links, and of what is sent on them.
#[derive(Default)]
struct Links {
    /// Peer 2 signs another batch of this turn for peer 1 than for all others.
    two_faced: Option<u32>,
    /// In the other one it leaves.
    other_face_leaves: bool,
    /// Peers whose messages are lost from now on.
    silent: Vec<usize>,
    /// A peer that stands still: what comes for it waits.
    stopped: Option<usize>,
    waiting: Vec<Arrival>,
    /// Links of processes that have died.
    dead: Vec<LinkId>,
    /// Dials that are lost, the next ones first.
    lost_dials: u32,
    /// Changes what peer 0 answers to a peer that comes back.
    lie: Option<Lie>,
    /// Links at whose other end a test speaks, and what it was told there.
    by_hand: Vec<LinkId>,
    heard: Vec<(LinkId, Channel, Arc<[u8]>)>,
    /// Pairs of peers between which nothing comes up for now.
    deaf_between: Vec<(usize, usize)>,
    /// A peer with a world that takes long to be built.
    slow_to_load: Option<usize>,
    /// Peers whose disks hang, and what these were to make durable.
    disks_hang: Vec<usize>,
    syncs: Vec<(usize, u64)>,
    /// A peer that has moved: dials to its old address come to nothing.
    moved: Option<usize>,
    /// A peer that says what is not so.
    attack: Option<(usize, Attack)>,
}

/// What surrounds the sessions.
struct Around<'a> {
    peers: &'a mut [Peer],
    links: &'a mut Links,
    decided_after: Option<u64>,
}

const NOWHERE: &str = "nowhere";

/// The dialler of a link at whose other end there is no session.
const OUTSIDE: usize = usize::MAX;

impl Peer {
    fn new(run: Incarnation) -> Self {
        Peer {
            run,
            turns: Vec::new(),
            events: Vec::new(),
            recording: Recording::default(),
            retracted: Vec::new(),
            loaded: 0,
            built: None,
            executed: 0,
            diverges_at: None,
            step: Duration::from_millis(2),
        }
    }
}

impl Net {
    fn new(peers: usize, plan: Plan, turn_limit: Option<u32>) -> Net {
        Net::with(peers, plan, turn_limit, OnSlow::Meter)
    }

    fn with(peers: usize, plan: Plan, turn_limit: Option<u32>, on_slow: OnSlow) -> Net {
        let terms = Terms {
            plan,
            turn_limit,
            on_slow,
            ..Terms::default()
        };
        Net::under(peers, terms)
    }

    /// A match of so many, each with one seat.
    fn under(peers: usize, terms: Terms) -> Net {
        let mut net = Net {
            mesh: Mesh::new(DELAY),
            peers: Vec::new(),
            links: Links::default(),
            decided_after: None,
        };
        for at in 0..peers {
            let role = if at == 0 {
                Role::Host(HostConfig {
                    setup: vec![1, 2, 3],
                    terms: Terms {
                        seats: peers as u8,
                        ..terms
                    },
                    ..hosted(peers as u8)
                })
            } else {
                guest()
            };
            net.add(role);
        }
        net
    }

    fn add(&mut self, role: Role) {
        let at = self.peers.len();
        self.begin(at, at, at as u8, role);
    }

    fn config(at: usize, run: u8, role: Role) -> SessionConfig {
        SessionConfig {
            entropy: [run; 32],
            keyframe_every: Some(Duration::from_secs(2)),
            stall_limit: Some(Duration::from_secs(20)),
            suspicion: SUSPICION,
            build: "one build".to_owned(),
            ..settings(at, role)
        }
    }

    /// A process with this key begins at this place.
    fn begin(&mut self, at: usize, key: usize, run: u8, role: Role) {
        self.begin_as(at, key, Net::config(key, run, role));
    }

    fn begin_as(&mut self, at: usize, key: usize, config: SessionConfig) {
        let signer = Box::new(KeyedHash::new(id(key)));
        let session = Session::new(config, signer).expect("the config is in range");
        let clock = Clock::from(self.now());
        let new = Peer::new(session.core.incarnation);
        match self.peers.get_mut(at) {
            Some(peer) => {
                *peer = new;
                self.mesh.driver.restart(at, session, clock);
            }
            None => {
                self.peers.push(new);
                self.mesh.driver.add(session, clock);
            }
        }
    }

    fn now(&self) -> Duration {
        self.mesh.driver.now()
    }

    fn session(&self, at: usize) -> &Session {
        self.mesh.driver.session(at).expect("its process runs")
    }

    fn session_mut(&mut self, at: usize) -> &mut Session {
        self.mesh.driver.session_mut(at).expect("its process runs")
    }

    fn input(&mut self, at: usize, input: Input<'_>) {
        let mut around = Around {
            peers: &mut self.peers,
            links: &mut self.links,
            decided_after: self.decided_after,
        };
        self.mesh.input(&mut around, at, input);
    }

    fn run(&mut self, until: Duration) {
        let mut around = Around {
            peers: &mut self.peers,
            links: &mut self.links,
            decided_after: self.decided_after,
        };
        self.mesh.run(&mut around, until);
    }

    /// The peer stands still, until it goes on.
    fn suspend(&mut self, at: usize) {
        self.links.stopped = Some(at);
        self.mesh.driver.suspend(at);
    }

    /// The peer that stands still is given all that came in the meantime.
    fn resume(&mut self) {
        let at = self.links.stopped.take().expect("a peer stands still");
        self.mesh.driver.resume(at);
        for arrival in std::mem::take(&mut self.links.waiting) {
            self.mesh.driver.schedule(Duration::ZERO, arrival);
        }
    }

    /// The peer stands still for so long.
    fn stop(&mut self, at: usize, lasts: Duration) {
        self.suspend(at);
        self.run(self.now() + lasts);
        self.resume();
    }

    fn ends(&self) -> Vec<&Ended> {
        let ends = self
            .peers
            .iter()
            .filter_map(|peer| match peer.events.last() {
                Some(Event::Ended(ended)) => Some(ended),
                _ => None,
            });
        ends.collect()
    }
}

impl Around<'_> {
    fn loaded(&mut self, at: usize, checksum: Checksum) -> Option<Input<'static>> {
        if self.links.slow_to_load == Some(at) {
            self.peers[at].built = Some(checksum);
            return None;
        }
        Some(Input::Loaded { checksum })
    }
}

impl Surroundings for Around<'_> {
    fn perform(&mut self, at: usize, output: Output) -> Option<Input<'static>> {
        let peer = &mut self.peers[at];
        match output {
            Output::New { retracted, .. } => {
                peer.retracted.extend(retracted.map(|from| from.0));
                peer.turns.clear();
                (peer.loaded, peer.executed) = (0, 0);
                return self.loaded(at, Checksum(1));
            }
            Output::Load {
                turns, retracted, ..
            } => {
                peer.retracted.extend(retracted.map(|from| from.0));
                if u64::from(turns) > peer.executed {
                    peer.turns.clear();
                    peer.loaded = turns;
                }
                peer.turns.truncate((turns - peer.loaded) as usize);
                peer.executed = u64::from(turns);
                return self.loaded(at, Checksum(turns * 3));
            }
            Output::Execute(bundle) => return Some(peer.execute(bundle, self.decided_after)),
            Output::Save { turns } => {
                let bytes = Arc::from([1, 2, 3]);
                return Some(Input::Snapshot { turns, bytes });
            }
            Output::Event(event) => peer.events.push(event),
            output => peer.recording.take(&output),
        }
        None
    }

    fn sync(&mut self, at: usize, id: u64) -> Option<Input<'static>> {
        if self.links.disks_hang.contains(&at) {
            self.links.syncs.push((at, id));
            return None;
        }
        Some(Input::Synced(id))
    }

    fn connects(&mut self, from: usize, to: usize) -> bool {
        let links = &mut *self.links;
        let deaf = links.deaf_between.contains(&(from, to));
        if deaf || links.deaf_between.contains(&(to, from)) || links.moved == Some(to) {
            return false;
        }
        let connects = links.lost_dials == 0;
        links.lost_dials = links.lost_dials.saturating_sub(1);
        connects
    }

    fn carry(&mut self, Sent { from, to, link }: Sent, what: Arrives) -> Option<Arrives> {
        let links = &mut *self.links;
        if links.silent.contains(&from) || links.dead.contains(&link) {
            return None;
        }
        let Arrives::Bytes(channel, mut bytes) = what else {
            return Some(what);
        };
        if links.by_hand.contains(&link) {
            links.heard.push((link, channel, bytes));
            return None;
        }
        let peer = &self.peers[from];
        if let Some(turn) = links.two_faced
            && (from, to, channel) == (2, 1, Channel::Turns)
        {
            let face = |batch| Some(peer.other_face(turn, links.other_face_leaves, batch));
            bytes = change_batches(channel, &bytes, 2, face).into();
        }
        if let Some(lie) = links.lie
            && (from, channel) == (0, Channel::Bulk)
        {
            bytes = lie(bytes.to_vec()).into();
        }
        if let Some((by, attack)) = links.attack
            && let Some(Record::Start(start)) = peer.recording.records.first()
            && by == from
        {
            bytes = attack(start, by, channel, &bytes).map_or(bytes, Arc::from);
        }
        Some(Arrives::Bytes(channel, bytes))
    }

    fn arrives(&mut self, arrival: Arrival) -> Option<Arrival> {
        if arrival.to == OUTSIDE || self.links.dead.contains(&arrival.link) {
            return None;
        }
        if self.links.stopped == Some(arrival.to) {
            self.links.waiting.push(arrival);
            return None;
        }
        Some(arrival)
    }
}

impl Peer {
    fn execute(&mut self, bundle: Bundle, decided_after: Option<u64>) -> Input<'static> {
        let next = TurnNumber(self.loaded + self.turns.len() as u32);
        assert_eq!(bundle.turn, next, "turns come without a hole");
        let step = self.step * u32::from(bundle.ticks());
        self.turns.push(bundle);
        self.executed += 1;
        let lie = self.diverges_at.is_some_and(|turn| turn < self.executed);
        let checksum = Checksum(self.executed as u32 * 3 + u32::from(lie));
        let winner = Some(Seat(0));
        Input::Executed {
            checksum,
            outcome: (decided_after == Some(self.executed)).then_some(Outcome { winner }),
            step,
        }
    }

    /// Peer 2's batch of this turn as peer 1 sees it; other batches as they are.
    fn other_face(&self, turn: u32, leaves: bool, signed: SignedBatch) -> SignedBatch {
        let mut batch = Batch::decode(&signed.content).expect("an honest batch until here");
        if batch.turn != TurnNumber(turn) {
            return signed;
        }
        if leaves {
            batch.leaving = true;
        } else {
            batch.entries.push(LogEntry {
                seat: Seat(2),
                what: What::Chat("for you alone".to_owned()),
            });
        }
        batch.seal(2, MatchId([7; 16]), self.run, &KeyedHash::new(id(2)))
    }
}

fn command(byte: u8) -> Vec<u8> {
    vec![byte; 20]
}

#[test]
fn four_peers_agree_on_every_turn_and_on_the_end() {
    let mut net = Net::new(4, Plan::default(), Some(60));
    for step in 0..40u8 {
        net.run(Duration::from_millis(1_000 + 200 * u64::from(step)));
        let at = usize::from(step % 4);
        net.input(
            at,
            Input::Issue {
                seat: Seat(at as u8),
                command: command(step),
            },
        );
    }
    net.run(Duration::from_secs(20));
    let first = net.peers[0].turns.clone();
    assert_eq!(first.len(), 60);
    assert_eq!(
        first
            .iter()
            .map(|bundle| bundle.entries.len())
            .sum::<usize>(),
        40
    );
    for (at, peer) in net.peers.iter().enumerate() {
        assert_eq!(peer.turns, first);
        assert_eq!(net.session(at).stats().late_turns, 0);
        let faults = peer
            .events
            .iter()
            .filter(|event| matches!(event, Event::PeerFault { .. }))
            .count();
        assert_eq!(faults, 0, "{:?}", peer.events);
        let agreed = peer
            .recording
            .records
            .iter()
            .filter(|record| matches!(record, Record::Checksum { .. }))
            .count();
        assert!(agreed > 55, "{agreed}");
        assert!(
            matches!(peer.recording.records.last(), Some(Record::End(end)) if end.signatures.len() == 4)
        );
    }
    assert!(
        net.ends()
            .iter()
            .all(|ended| ended.reason == EndReason::TurnLimit && ended.agreed == 4)
    );
    assert_eq!(net.ends().len(), 4);
}

#[test]
fn a_session_alone_runs_with_a_delay_of_one_turn() {
    let plan = Plan {
        delay_turns: 1,
        ..Plan::default()
    };
    let mut net = Net::new(1, plan, Some(20));
    net.run(Duration::from_millis(500));
    net.input(
        0,
        Input::Issue {
            seat: Seat(0),
            command: command(1),
        },
    );
    net.run(Duration::from_secs(6));
    let at = net.peers[0]
        .turns
        .iter()
        .position(|bundle| !bundle.entries.is_empty());
    assert_eq!(at, Some(3));
    assert_eq!(net.ends().len(), 1);
}

#[test]
fn a_pause_holds_commands_back_and_loses_none() {
    let mut net = Net::new(2, Plan::default(), Some(60));
    net.run(Duration::from_secs(2));
    net.input(0, Input::Pause);
    for step in 0..20u8 {
        net.run(Duration::from_millis(2_000 + 100 * u64::from(step)));
        net.input(
            1,
            Input::Issue {
                seat: Seat(1),
                command: command(step),
            },
        );
    }
    net.input(1, Input::Resume);
    net.run(Duration::from_secs(20));
    let turns = &net.peers[0].turns;
    assert_eq!(turns, &net.peers[1].turns);
    let commands: Vec<u8> = turns
        .iter()
        .flat_map(|bundle| &bundle.entries)
        .filter_map(|entry| match &entry.what {
            What::Command(bytes) => Some(bytes[0]),
            _ => None,
        })
        .collect();
    assert_eq!(commands, (0..20).collect::<Vec<u8>>());
    assert!(turns.iter().any(|bundle| bundle.paused));
    assert!(turns.iter().all(|bundle| {
        !bundle.paused
            || bundle
                .entries
                .iter()
                .all(|e| matches!(e.what, What::Resume))
    }));
}

#[test]
fn a_leaver_goes_and_the_others_play_on() {
    let mut net = Net::new(3, Plan::default(), Some(50));
    net.run(Duration::from_secs(3));
    net.input(1, Input::Leave);
    net.run(Duration::from_secs(20));
    let ends = net.ends();
    assert_eq!(ends.len(), 3);
    assert_eq!(ends[1].reason, EndReason::Left);
    assert_eq!(net.peers[0].turns.len(), 50);
    assert_eq!(net.peers[0].turns, net.peers[2].turns);
    let last_agreed = net.peers[0]
        .recording
        .records
        .iter()
        .rev()
        .find_map(|record| match record {
            Record::Checksum { turns, .. } => Some(*turns),
            _ => None,
        });
    assert!(
        last_agreed > Some(45),
        "the others go on comparing: {last_agreed:?}"
    );
    let left = net.peers[0].turns.iter().flat_map(|bundle| &bundle.entries);
    assert_eq!(
        left.filter(|entry| matches!(entry.what, What::Seat(_)))
            .count(),
        1
    );
}

#[test]
fn a_guest_without_its_host_waits_in_vain_and_names_its_seat() {
    let mut net = Net::new(2, Plan::default(), None);
    net.run(Duration::from_secs(3));
    net.links.silent.push(0);
    net.run(Duration::from_secs(13));
    let so_far = net.session(1).stats().stalled;
    assert!(so_far > Duration::from_secs(8), "{so_far:?}");
    let no_quorum = |event: &&Event| matches!(event, Event::NoQuorum { .. });
    assert_eq!(net.peers[1].events.iter().filter(no_quorum).count(), 1);
    net.run(Duration::from_secs(40));
    let Some(Event::Ended(ended)) = net.peers[1].events.last() else {
        panic!("the guest goes on without a quorum");
    };
    let on = vec![Seat(0)];
    assert_eq!(ended.reason, EndReason::StallLimit { on });
    assert_eq!(ended.reason.to_string(), "seat 0 was waited for in vain");
    let stats = net.session(1).stats();
    assert_eq!(stats.stalled.as_secs(), 20);
    assert_eq!(stats.late_turns, 1);
}

#[test]
fn the_others_go_on_without_a_silent_peer() {
    let mut net = Net::new(3, Plan::default(), Some(60));
    net.run(Duration::from_secs(3));
    net.links.silent.push(1);
    net.run(Duration::from_secs(30));
    let (survivor, other) = (&net.peers[0], &net.peers[2]);
    assert_eq!(survivor.turns.len(), 60);
    assert_eq!(survivor.turns, other.turns);
    let stalled = net.session(0).stats().stalled;
    assert!(stalled < Duration::from_millis(3_600), "{stalled:?}");
    let change = survivor
        .recording
        .records
        .iter()
        .find_map(|record| match record {
            Record::Roster(change) => Some(change),
            _ => None,
        });
    let change = change.expect("the decision is in the log");
    let first = &survivor.turns[change.value.cut as usize];
    let idle = LogEntry {
        seat: Seat(1),
        what: What::Seat(SeatState::Idle),
    };
    assert!(first.entries.contains(&idle), "{first:?}");
    // A silent peer is not deaf: it has learned that it is out.
    let Some(Event::Ended(ended)) = net.peers[1].events.last() else {
        panic!("the silent one goes on alone");
    };
    assert_eq!(ended.reason, EndReason::Removed);
    let most = change.value.cut + u32::from(Plan::default().delay_turns);
    assert!(ended.turns <= most, "{} turns, cut {most}", ended.turns);
}

#[test]
fn late_and_superfluous_joiners_are_refused_by_name() {
    let mut net = Net::new(2, Plan::default(), Some(40));
    net.add(guest());
    net.run(Duration::from_secs(3));
    assert!(matches!(
        net.ends()[0].reason,
        EndReason::Refused(JoinRefused::Full { .. } | JoinRefused::Started)
    ));
    let mut stranger = guest();
    if let Role::Join { secret, .. } = &mut stranger {
        *secret = [0; 16];
    }
    net.add(stranger);
    net.run(Duration::from_secs(4));
    assert_eq!(
        net.ends()[1].reason,
        EndReason::Refused(JoinRefused::Started)
    );
}
