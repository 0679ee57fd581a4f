//! Sessions on links in memory, with a fixed delay and no loss: worse is the business of the simulator in `tests`.

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
mod rejoin;
mod reopen;
mod returning;
mod sleep;
mod slow;
mod stands;
mod stats;

use super::*;
use crate::log::{Absent, Bundle, LogEntry, OnDesync, OnSlow, PauseBudget, Record};
use crate::sign::KeyedHash;
use crate::{Limits, MatchId, PeerId, Plan, TurnNumber};
use sim::{Outcome, RulesId, SeatState};
use std::collections::BTreeMap;
use std::sync::Arc;

const DELAY: Duration = Duration::from_millis(30);

struct Peer {
    session: Session,
    turns: Vec<Bundle>,
    events: Vec<Event>,
    records: Vec<Record>,
    /// When its session began.
    begun: Duration,
    /// Turns that were left each time that some were taken back.
    undone: Vec<u32>,
    /// Turns of the snapshot that its world began with.
    loaded: u32,
    executed: u64,
    diverges_at: Option<u64>,
    /// Time that its machine takes for a tick.
    step: Duration,
}

/// To whom, on which link, what (a message, or the link itself), and whether the receiver dialled it.
type Arrival = (usize, LinkId, Option<(Channel, Arc<[u8]>)>, bool);

/// What a peer sends in the place of these bytes.
type Lie = fn(Vec<u8>) -> Vec<u8>;

/// Changes what a peer, of this match, at this place, says; `None` where it says what is so.
type Attack = fn(&crate::log::Start, usize, Channel, &[u8]) -> Option<Vec<u8>>;

struct Net {
    now: Duration,
    peers: Vec<Peer>,
    /// By link: the two ends, dialler first.
    links: Vec<(usize, usize)>,
    queue: BTreeMap<(Duration, u64), Arrival>,
    count: u64,
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
    /// Dials that nobody hears of, the next ones first.
    lost_dials: u32,
    /// Changes what peer 0 answers to a peer that comes back.
    lie: Option<Lie>,
    /// Links at whose other end a test speaks, and what it was told there.
    by_hand: Vec<LinkId>,
    heard: Vec<(LinkId, Channel, Arc<[u8]>)>,
    /// Two between whom nothing comes through for now, neither links nor messages.
    deaf_between: Vec<(usize, usize)>,
    /// A peer that has moved: nobody knows its new address.
    moved: Option<usize>,
    /// After so many turns the world is decided.
    decided_after: Option<u64>,
    /// Who says what is not so.
    attack: Option<(usize, Attack)>,
}

const NOWHERE: &str = "nowhere";

fn id(at: usize) -> PeerId {
    PeerId([at as u8 + 1; 32])
}

/// A guest with the lobby's ticket, or with one of this other secret.
fn invited(secret: [u8; 16]) -> Role {
    Role::Join {
        match_id: MatchId([7; 16]),
        secret,
        host: id(0),
        addresses: vec!["0".to_owned()],
        rules: Box::new(|_| Some(RulesId([9; 16]))),
    }
}

impl Net {
    fn new(peers: usize, plan: Plan, turn_limit: Option<u32>) -> Net {
        Net::with(peers, plan, turn_limit, OnSlow::Meter)
    }

    fn with(peers: usize, plan: Plan, turn_limit: Option<u32>, on_slow: OnSlow) -> Net {
        let policies = (on_slow, OnDesync::default(), Absent::default());
        Net::under(peers, plan, turn_limit, policies)
    }

    fn under(
        peers: usize,
        plan: Plan,
        turn_limit: Option<u32>,
        (on_slow, on_desync, absent): (OnSlow, OnDesync, Absent),
    ) -> Net {
        let mut net = Net {
            now: Duration::ZERO,
            peers: Vec::new(),
            links: Vec::new(),
            queue: BTreeMap::new(),
            count: 0,
            two_faced: None,
            other_face_leaves: false,
            silent: Vec::new(),
            stopped: None,
            waiting: Vec::new(),
            dead: Vec::new(),
            lost_dials: 0,
            lie: None,
            by_hand: Vec::new(),
            heard: Vec::new(),
            deaf_between: Vec::new(),
            moved: None,
            decided_after: None,
            attack: None,
        };
        for at in 0..peers {
            let role = if at == 0 {
                Role::Host(HostConfig {
                    match_id: MatchId([7; 16]),
                    secret: [8; 16],
                    expires: None,
                    setup: vec![1, 2, 3],
                    rules: RulesId([9; 16]),
                    seats: peers as u8,
                    plan,
                    turn_limit,
                    pauses: PauseBudget::default(),
                    on_slow,
                    on_desync,
                    absent,
                })
            } else {
                invited([8; 16])
            };
            net.add(role);
        }
        net
    }

    fn add(&mut self, role: Role) {
        let peer = Net::peer(self.peers.len(), self.peers.len() as u8, role);
        self.peers.push(peer);
    }

    fn config(at: usize, run: u8, role: Role) -> SessionConfig {
        SessionConfig {
            name: format!("peer {at}"),
            own_seats: 1,
            ready: true,
            addresses: vec![at.to_string()],
            entropy: [run; 32],
            share: None,
            keyframe_every: Some(Duration::from_secs(2)),
            limits: Limits::default(),
            stall_limit: Some(Duration::from_secs(20)),
            suspicion: Duration::from_secs(3),
            build: "one build".to_owned(),
            role,
        }
    }

    fn peer(at: usize, run: u8, role: Role) -> Peer {
        Net::peer_as(at, Net::config(at, run, role))
    }

    fn peer_as(at: usize, config: SessionConfig) -> Peer {
        let session =
            Session::new(config, Box::new(KeyedHash::new(id(at)))).expect("the config is in range");
        Peer {
            session,
            begun: Duration::ZERO,
            turns: Vec::new(),
            events: Vec::new(),
            records: Vec::new(),
            loaded: 0,
            executed: 0,
            undone: Vec::new(),
            diverges_at: None,
            step: Duration::from_millis(2),
        }
    }

    fn input(&mut self, at: usize, input: Input<'_>) {
        let peer = &mut self.peers[at];
        let outputs = peer.session.handle(self.now - peer.begun, input);
        for output in outputs {
            self.output(at, output);
        }
    }

    fn post(&mut self, to: usize, link: LinkId, what: Option<(Channel, Arc<[u8]>)>, dialled: bool) {
        self.count += 1;
        self.queue
            .insert((self.now + DELAY, self.count), (to, link, what, dialled));
    }

    fn output(&mut self, at: usize, output: Output) {
        match output {
            Output::Dial { address, .. } if address == NOWHERE => {}
            Output::Dial { address, .. } if self.are_deaf(at, &address) => {}
            Output::Dial { address, .. } if self.has_moved(&address) => {}
            Output::Dial { .. } if self.lost_dials > 0 => self.lost_dials -= 1,
            Output::Dial { address, key } => {
                let to: usize = address.parse().expect("addresses are indices here");
                assert_eq!(key, id(to));
                self.links.push((at, to));
                let link = LinkId(self.links.len() as u32 - 1);
                self.post(at, link, None, true);
                self.post(to, link, None, false);
            }
            Output::Send { .. } if self.silent.contains(&at) => {}
            Output::Send { link, .. } if self.dead.contains(&link) => {}
            Output::Send {
                link,
                channel,
                bytes,
            } if self.by_hand.contains(&link) => self.heard.push((link, channel, bytes)),
            Output::Send {
                link,
                channel,
                bytes,
            } => {
                let (one, other) = self.links[link.0 as usize];
                let to = if one == at { other } else { one };
                let bytes = match self.two_faced {
                    Some(turn) if (at, to, channel) == (2, 1, Channel::Turns) => {
                        self.other_face(turn, &bytes)
                    }
                    _ => bytes,
                };
                let bytes = match self.lie.filter(|_| at == 0 && channel == Channel::Bulk) {
                    Some(lie) => lie(bytes.to_vec()).into(),
                    None => bytes,
                };
                let attack = self.attack.filter(|(by, _)| *by == at);
                let bytes = match (attack, self.peers[at].records.first()) {
                    (Some((_, attack)), Some(Record::Start(start))) => {
                        attack(start, at, channel, &bytes).map_or(bytes, Arc::from)
                    }
                    _ => bytes,
                };
                self.post(to, link, Some((channel, bytes)), false);
            }
            Output::New(_) => {
                let peer = &mut self.peers[at];
                peer.turns.clear();
                (peer.loaded, peer.executed) = (0, 0);
                let checksum = Checksum(1);
                self.input(at, Input::Loaded { checksum });
            }
            Output::Undo { turns } => {
                let peer = &mut self.peers[at];
                peer.undone.push(turns);
                let gone = |record: &Record| matches!(record, Record::Bundle(bundle) if bundle.turn.0 >= turns);
                let stay = peer.records.iter().position(gone);
                peer.records.truncate(stay.unwrap_or(usize::MAX));
            }
            Output::Load { turns, .. } => {
                let peer = &mut self.peers[at];
                if peer.turns.is_empty() {
                    peer.loaded = turns;
                }
                peer.turns.truncate((turns - peer.loaded) as usize);
                peer.executed = u64::from(turns);
                let checksum = Checksum(turns * 3);
                self.input(at, Input::Loaded { checksum });
            }
            Output::Execute(bundle) => {
                let peer = &mut self.peers[at];
                assert_eq!(
                    bundle.turn,
                    TurnNumber(peer.loaded + peer.turns.len() as u32),
                    "turns come without a hole"
                );
                let step = peer.step * u32::from(bundle.ticks());
                peer.turns.push(bundle);
                peer.executed += 1;
                let lie = peer.diverges_at.is_some_and(|turn| turn < peer.executed);
                let checksum = Checksum(peer.executed as u32 * 3 + u32::from(lie));
                let decided = self.decided_after == Some(peer.executed);
                let winner = Some(Seat(0));
                self.input(
                    at,
                    Input::Executed {
                        checksum,
                        outcome: decided.then_some(Outcome { winner }),
                        step,
                    },
                );
            }
            Output::Save { turns } => self.input(
                at,
                Input::Snapshot {
                    turns,
                    bytes: Arc::from([1, 2, 3]),
                },
            ),
            Output::Append(record) => self.peers[at].records.push(record),
            Output::Event(event) => self.peers[at].events.push(event),
            Output::Close { .. } => {}
        }
    }

    fn are_deaf(&self, at: usize, address: &str) -> bool {
        let between = |(one, other): (usize, usize)| {
            let leads = |from: usize, to: usize| at == from && address == to.to_string();
            leads(one, other) || leads(other, one)
        };
        self.deaf_between.iter().copied().any(between)
    }

    fn has_moved(&self, address: &str) -> bool {
        self.moved.is_some_and(|peer| address == peer.to_string())
    }

    fn other_face(&self, turn: u32, bytes: &[u8]) -> Arc<[u8]> {
        let Ok(Datagram::Turns(mut packet)) = Datagram::decode(bytes) else {
            return bytes.into();
        };
        let Some(Record::Start(start)) = self.peers[2].records.first() else {
            return bytes.into();
        };
        for signed in packet.batches.iter_mut().filter(|signed| signed.peer == 2) {
            let mut batch = Batch::decode(&signed.content).expect("an honest batch until here");
            if batch.turn == TurnNumber(turn) {
                match self.other_face_leaves {
                    true => batch.leaving = true,
                    false => batch.entries.push(LogEntry {
                        seat: Seat(2),
                        what: What::Chat("for you alone".to_owned()),
                    }),
                }
                let signer = KeyedHash::new(id(2));
                let run = self.peers[2].session.core.incarnation;
                *signed = batch.seal(2, start.match_id, run, &signer);
            }
        }
        Datagram::Turns(packet).encode().into()
    }

    fn run(&mut self, until: Duration) {
        loop {
            let timer = (0..self.peers.len())
                .filter(|at| self.stopped != Some(*at))
                .filter_map(|at| {
                    let peer = &self.peers[at];
                    Some((peer.begun + peer.session.deadline()?, at))
                })
                .min();
            let next = self.queue.first_key_value().map(|((at, _), _)| *at);
            match (next, timer) {
                (Some(next), timer) if timer.is_none_or(|(at, _)| next <= at) && next <= until => {
                    self.now = self.now.max(next);
                    let (_, (to, link, what, dialled)) = self.queue.pop_first().expect("just seen");
                    if self.dead.contains(&link) {
                        continue;
                    }
                    if self.stopped == Some(to) {
                        self.waiting.push((to, link, what, dialled));
                        continue;
                    }
                    let input = match &what {
                        None => {
                            let (one, other) = self.links[link.0 as usize];
                            let address = if dialled { other } else { one }.to_string();
                            Input::LinkUp {
                                link,
                                peer: None,
                                dialled,
                                address,
                                binding: [3; 32],
                            }
                        }
                        Some((channel, bytes)) => Input::Received {
                            link,
                            channel: *channel,
                            bytes,
                        },
                    };
                    self.input(to, input);
                }
                (_, Some((at, peer))) if at <= until => {
                    self.now = self.now.max(at);
                    self.input(peer, Input::Timeout);
                }
                _ => break,
            }
        }
        self.now = until;
    }

    /// The peer stands still for so long, and then is given all that came in the meantime.
    fn stop(&mut self, at: usize, lasts: Duration) {
        self.stopped = Some(at);
        self.run(self.now + lasts);
        self.stopped = None;
        for arrival in std::mem::take(&mut self.waiting) {
            self.count += 1;
            self.queue.insert((self.now, self.count), arrival);
        }
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
    for peer in &net.peers {
        assert_eq!(peer.turns, first);
        assert_eq!(peer.session.stats().late_turns, 0);
        let faults = peer
            .events
            .iter()
            .filter(|event| matches!(event, Event::PeerFault { .. }))
            .count();
        assert_eq!(faults, 0, "{:?}", peer.events);
        let agreed = peer
            .records
            .iter()
            .filter(|record| matches!(record, Record::Checksum { .. }))
            .count();
        assert!(agreed > 55, "{agreed}");
        assert!(matches!(peer.records.last(), Some(Record::End(end)) if end.signatures.len() == 4));
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
    net.silent.push(0);
    net.run(Duration::from_secs(13));
    let so_far = net.peers[1].session.stats().stalled;
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
    let stats = net.peers[1].session.stats();
    assert_eq!(stats.stalled.as_secs(), 20);
    assert_eq!(stats.late_turns, 1);
}

#[test]
fn the_others_go_on_without_a_silent_peer() {
    let mut net = Net::new(3, Plan::default(), Some(60));
    net.run(Duration::from_secs(3));
    net.silent.push(1);
    net.run(Duration::from_secs(30));
    let (survivor, other) = (&net.peers[0], &net.peers[2]);
    assert_eq!(survivor.turns.len(), 60);
    assert_eq!(survivor.turns, other.turns);
    let stalled = survivor.session.stats().stalled;
    assert!(stalled < Duration::from_millis(3_600), "{stalled:?}");
    let change = survivor.records.iter().find_map(|record| match record {
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
    // Who is silent is not deaf: it has learned that it is out.
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
    net.add(invited([8; 16]));
    net.run(Duration::from_secs(3));
    assert!(matches!(
        net.ends()[0].reason,
        EndReason::Refused(JoinRefused::Full { .. } | JoinRefused::Started)
    ));
    net.add(invited([0; 16]));
    net.run(Duration::from_secs(4));
    assert_eq!(
        net.ends()[1].reason,
        EndReason::Refused(JoinRefused::Started)
    );
}
