//! Matches whose processes all die, and that go on.

mod accepts;
mod attacks;
mod branch;
mod contradicted;
mod joiners;
mod signatures;

use super::lost::between;
use super::rejoin::seats_of;
use super::*;
use crate::log::{Accepted, EncodedLog, Keyframe, SignedReopening};
use crate::session::lobby::Said;
use crate::session::rejoin::{Answer, decode, encode};
use crate::session::wire::Control;
use crate::{Contact, JoinRefused, Rejoin, RosterCause};

/// What a peer has on disk.
#[derive(Clone)]
struct Disk {
    log: Vec<Record>,
    keyframes: Vec<Keyframe>,
    accepted: Option<Accepted>,
    signed: Option<SignedReopening>,
}

impl Disk {
    fn turns(&self) -> u32 {
        let bundles = self.log.iter();
        bundles
            .filter(|record| matches!(record, Record::Bundle(_)))
            .count() as u32
    }

    /// Its last turns were not written.
    fn without_last(mut self, turns: u32) -> Disk {
        let until = self.turns() - turns;
        let first =
            |record: &Record| matches!(record, Record::Bundle(bundle) if bundle.turn.0 == until);
        let end = self.log.iter().position(first).unwrap_or(self.log.len());
        self.log.truncate(end);
        self.keyframes.retain(|keyframe| keyframe.turns <= until);
        self
    }

    /// With added turns in which nothing happens.
    fn with_invented(mut self, turns: u32) -> Disk {
        for _ in 0..turns {
            let Some(Record::Bundle(last)) = self.log.last().cloned() else {
                panic!("a log that ends with a turn");
            };
            let turn = last.turn.next();
            let entries = Vec::new();
            let next = Bundle {
                turn,
                entries,
                ..last
            };
            self.log.push(Record::Bundle(next));
        }
        self
    }
}

const NEVER: Duration = Duration::from_secs(1_000);

impl Net {
    /// All processes die at once, and all links with them. What each has on disk.
    fn all_die(&mut self) -> Vec<Disk> {
        (0..self.peers.len()).for_each(|at| self.kill(at));
        self.links.silent.clear();
        let disk = |peer: &mut Peer| {
            let recording = std::mem::take(&mut peer.recording);
            let (accepted, signed) = (recording.accepted(), recording.signed());
            let mut log = recording.records;
            let keyframes = log.iter().filter_map(|record| match record {
                Record::Keyframe(keyframe) => Some(keyframe.clone()),
                _ => None,
            });
            let keyframes = keyframes.collect();
            log.retain(|record| {
                matches!(
                    record,
                    Record::Start(_) | Record::Bundle(_) | Record::Roster(_)
                )
            });
            Disk {
                log,
                keyframes,
                accepted,
                signed,
            }
        };
        self.peers.iter_mut().map(disk).collect()
    }

    fn known(disk: &Disk, contacts: &[usize]) -> Rejoin {
        let contact = |other: &usize| Contact {
            peer: id(*other),
            addresses: vec![other.to_string()],
        };
        Rejoin {
            match_id: MatchId([7; 16]),
            player: None,
            contacts: contacts.iter().map(contact).collect(),
            log: EncodedLog::of(&disk.log),
            keyframe: disk.keyframes.last().cloned(),
            accepted: disk.accepted.clone(),
            signed: disk.signed,
            attests: Vec::new(),
            accepts_other_history: false,
        }
    }

    fn wait(&mut self, seconds: u64) {
        self.run(self.now() + Duration::from_secs(seconds));
    }

    /// Another run of this peer's process hosts, and has found no other peer.
    fn reopens(&mut self, at: usize, run: u8, disk: &Disk, wait: Duration) {
        self.reopens_near(at, run, disk, wait, &[]);
    }

    fn reopens_near(&mut self, at: usize, run: u8, disk: &Disk, wait: Duration, near: &[usize]) {
        let role = Role::Reopen {
            from: Net::known(disk, near),
            rules: Box::new(|_| Some(RulesId([9; 16]))),
            wait,
        };
        self.begin(at, at, run, role);
    }

    /// Another run of its process comes to the host.
    fn comes(&mut self, at: usize, run: u8, disk: &Disk, host: usize) {
        let role = Role::Rejoin {
            from: Net::known(disk, &[host]),
            rules: Box::new(|_| Some(RulesId([9; 16]))),
        };
        self.begin(at, at, run, role);
    }

    /// The first turn of the epoch that a reopening began, as this peer tells.
    fn reopened_at(&self, at: usize) -> Option<u32> {
        let events = self.peers[at].events.iter();
        let mut reopened = events.filter_map(|event| match event {
            Event::RosterChanged {
                turn,
                cause: RosterCause::Reopened,
                ..
            } => Some(turn.0),
            _ => None,
        });
        reopened.next()
    }

    pub(super) fn end_of(&self, at: usize) -> Option<&EndReason> {
        match self.peers[at].events.last() {
            Some(Event::Ended(ended)) => Some(&ended.reason),
            _ => None,
        }
    }

    /// Its new recording holds from turn 0 on, and continues that prefix of the one before.
    fn verifies(&self, at: usize, before: &Disk, cut: u32) {
        let records = &self.peers[at].recording.records;
        let Some(Record::Start(start)) = records.first() else {
            panic!("a log begins with its start");
        };
        let mut head = crate::log::Head::new(start.clone());
        let signer = KeyedHash::new(id(at));
        for record in &records[1..] {
            let walked = match record {
                Record::Bundle(_) | Record::Roster(_) => head.take(record, &signer),
                _ => Ok(()),
            };
            assert_eq!(walked, Ok(()), "peer {at}, after {} turns", head.turns());
        }
        assert!(
            head.turns() > cut + 20,
            "it goes on: {} of {cut}",
            head.turns()
        );
        let bundles = |log: &[Record]| -> Vec<Bundle> {
            let bundles = log.iter().filter_map(|record| match record {
                Record::Bundle(bundle) if bundle.turn.0 < cut => Some(bundle.clone()),
                _ => None,
            });
            bundles.collect()
        };
        let (ours, theirs) = (bundles(records), bundles(&before.log));
        assert_eq!(ours.len(), cut as usize);
        assert_eq!(ours[..theirs.len()], theirs);
    }
}

/// Three peers that play for a while with a command now and then.
fn played(seconds: u64) -> Net {
    let mut net = Net::new(3, Plan::default(), None);
    for step in 0..seconds as u8 {
        net.run(Duration::from_secs(u64::from(step)));
        let at = usize::from(step % 3);
        let seat = Seat(at as u8);
        let command = command(step);
        net.input(at, Input::Issue { seat, command });
    }
    net.run(Duration::from_secs(seconds));
    net
}

/// The same, and all die.
fn dead(seconds: u64) -> (Net, Vec<Disk>) {
    let mut net = played(seconds);
    let disks = net.all_die();
    (net, disks)
}

#[test]
fn reopening_goes_on_from_the_newest_turn_of_a_quorum() {
    // The host has the fewest turns, the most, or as many as count; turns that only one peer has do not count.
    for host in 0..3 {
        let (mut net, disks) = dead(15);
        let longest = disks.iter().map(Disk::turns).max().unwrap();
        let short_of = [4, 0, 2];
        let disks: Vec<Disk> = (0..3)
            .map(|at| {
                let more = disks[at].turns() - (longest - 4);
                disks[at].clone().without_last(short_of[at] + more - 4)
            })
            .collect();
        let lengths: Vec<u32> = disks.iter().map(Disk::turns).collect();
        assert_eq!(lengths, [longest - 4, longest, longest - 2]);
        let cut = longest - 2;
        net.reopens(host, 90, &disks[host], NEVER);
        for at in (0..3).filter(|at| *at != host) {
            net.run(net.now() + Duration::from_millis(500));
            net.comes(at, 91 + at as u8, &disks[at], host);
        }
        net.run(net.now() + Duration::from_secs(3));
        let seat = Seat(1);
        let last = command(77);
        net.input(
            1,
            Input::Issue {
                seat,
                command: last,
            },
        );
        net.run(net.now() + Duration::from_secs(12));
        for (at, disk) in disks.iter().enumerate() {
            assert_eq!(net.reopened_at(at), Some(cut), "peer {at}, host {host}");
            assert_eq!(net.session(at).status(), Status::Running);
            assert!(net.faults(at).is_empty(), "{:?}", net.faults(at));
            net.is_one_of_them(at, (at + 1) % 3);
            net.verifies(at, disk, cut);
            let newest = disk.keyframes.last().map_or(0, |keyframe| keyframe.turns);
            let kept = if newest <= cut { newest } else { 0 };
            assert_eq!(net.peers[at].loaded, kept, "its own keyframe");
        }
        let played: Vec<&What> = net.peers[1]
            .turns
            .iter()
            .flat_map(seats_of)
            .map(|(_, what)| what)
            .collect();
        let command = What::Command(command(77).into());
        assert!(played.contains(&&command));
    }
}

#[test]
fn two_of_three_reopen_after_waiting_and_the_third_rejoins() {
    let (mut net, disks) = dead(15);
    net.reopens(2, 90, &disks[2], Duration::from_secs(4));
    net.comes(1, 91, &disks[1], 2);
    net.run(net.now() + Duration::from_secs(3));
    assert_eq!(net.reopened_at(2), None, "it waits");
    let here = net.peers[2]
        .events
        .iter()
        .rev()
        .find_map(|event| match event {
            Event::Lobby { peers, .. } => Some(peers.iter().map(|peer| peer.seats[0]).collect()),
            _ => None,
        });
    assert_eq!(here, Some(vec![Seat(1), Seat(2)]));
    net.run(net.now() + Duration::from_secs(8));
    let cut = net.reopened_at(2).expect("two of three are a quorum");
    assert_eq!(net.reopened_at(1), Some(cut));
    let idle: Vec<(Seat, SeatState)> = net.peers[1]
        .turns
        .iter()
        .flat_map(seats_of)
        .filter_map(|(seat, what)| match what {
            What::Seat(state) => Some((seat, *state)),
            _ => None,
        })
        .collect();
    assert_eq!(idle, [(Seat(0), SeatState::Idle)]);
    net.comes(0, 92, &disks[0], 2);
    net.run(net.now() + Duration::from_secs(15));
    assert_eq!(net.causes(0), [RosterCause::Rejoined]);
    assert_eq!(
        net.causes(2),
        [RosterCause::Reopened, RosterCause::Rejoined]
    );
    for at in 0..3 {
        net.is_one_of_them(at, (at + 1) % 3);
        assert!(net.faults(at).is_empty(), "{:?}", net.faults(at));
        assert_eq!(net.session(at).status(), Status::Running);
    }
}

#[test]
fn reopening_without_a_quorum_ends_and_names_missing_players() {
    let (mut net, disks) = dead(15);
    net.reopens(1, 90, &disks[1], Duration::from_secs(2));
    net.run(net.now() + Duration::from_secs(3));
    let Some(EndReason::NoQuorum { missing }) = net.end_of(1) else {
        panic!("{:?}", net.end_of(1));
    };
    let missing: Vec<(Seat, &str)> = missing
        .iter()
        .map(|info| (info.seat, info.name.as_str()))
        .collect();
    assert_eq!(missing, [(Seat(0), "peer 0"), (Seat(2), "peer 2")]);
    assert!(net.peers[1].recording.records.is_empty() && net.peers[1].turns.is_empty());
}

#[test]
fn invented_turns_do_not_count_and_an_edited_log_is_refused() {
    // Whether it hosts or comes as a guest.
    for host in [0, 1] {
        let (mut net, disks) = dead(15);
        let cut = disks.iter().map(Disk::turns).max().unwrap();
        let forged = disks[1].clone().with_invented(7);
        net.reopens(host, 90, if host == 1 { &forged } else { &disks[0] }, NEVER);
        net.comes(
            1 - host,
            91,
            if host == 1 { &disks[0] } else { &forged },
            host,
        );
        net.comes(2, 92, &disks[2], host);
        net.run(net.now() + Duration::from_secs(8));
        for at in 0..3 {
            assert_eq!(
                net.reopened_at(at),
                Some(cut),
                "peer {at}, host {host}: {:?}",
                net.end_of(at)
            );
        }
    }
    let (mut net, disks) = dead(15);
    let mut edited = disks[1].clone();
    for record in edited.log.iter_mut().rev().take(30) {
        if let Record::Bundle(bundle) = record {
            bundle.entries.clear();
        }
    }
    net.reopens(0, 90, &disks[0], Duration::from_secs(4));
    net.comes(1, 91, &edited, 0);
    net.comes(2, 92, &disks[2], 0);
    net.run(net.now() + Duration::from_secs(10));
    let refused = EndReason::Refused(JoinRefused::OtherHistory);
    assert_eq!(net.end_of(1), Some(&refused));
    assert!(net.reopened_at(0).is_some() && net.reopened_at(0) == net.reopened_at(2));
}

#[test]
fn a_host_that_proposes_a_false_history_gets_no_signature() {
    // It claims of a guest what the guest has not: then a quorum would attest turns that the host invented.
    let (mut net, disks) = dead(15);
    let forged = disks[0].clone().with_invented(5);
    net.reopens(0, 90, &forged, NEVER);
    net.comes(1, 91, &disks[1], 0);
    net.comes(2, 92, &disks[2], 0);
    let mut proposed = None;
    while proposed.is_none() {
        net.run(net.now() + DELAY / 3);
        assert!(net.reopened_at(1).is_none(), "it was proposed to before");
        if let Phase::Lobby(lobby) = &net.session(1).phase {
            proposed = lobby.proposal().cloned();
        }
    }
    let mut proposal = proposed.expect("just seen");
    assert_eq!(proposal.cut, disks[1].turns());
    for run in &mut proposal.runs {
        run.held = !run.held;
    }
    let link = *between(&net, 1, 0).last().expect("it has dialled the host");
    let bytes = Control::Reopen(Said::Propose(proposal)).encode();
    let channel = Channel::Control;
    let bytes = &bytes[..];
    net.input(
        1,
        Input::Received {
            link,
            channel,
            bytes,
        },
    );
    let refused = EndReason::Refused(JoinRefused::OtherHistory);
    assert_eq!(net.end_of(1), Some(&refused));
}

#[test]
fn guest_that_dies_at_a_reopening_comes_again_at_once() {
    let (mut net, disks) = dead(15);
    net.reopens(0, 90, &disks[0], NEVER);
    net.comes(1, 91, &disks[1], 0);
    net.run(net.now() + Duration::from_secs(5));
    net.kill(1);
    net.links.silent.clear();
    net.comes(1, 92, &disks[1], 0);
    net.run(net.now() + Duration::from_secs(3));
    net.comes(2, 93, &disks[2], 0);
    net.run(net.now() + Duration::from_secs(3));
    for at in 0..3 {
        let end = net.end_of(at);
        assert!(net.reopened_at(at).is_some(), "peer {at}: {end:?}");
    }
}

#[test]
fn a_seat_is_taken_once_and_by_its_own_key() {
    let (mut net, disks) = dead(15);
    net.reopens(0, 90, &disks[0], NEVER);
    net.comes(1, 91, &disks[1], 0);
    net.run(net.now() + Duration::from_secs(1));
    // The same key once more, while the first run is there.
    let rejoins = || Role::Rejoin {
        from: Net::known(&disks[1], &[0]),
        rules: Box::new(|_| Some(RulesId([9; 16]))),
    };
    net.begin(3, 1, 99, rejoins());
    net.run(net.now() + Duration::from_secs(2));
    assert_eq!(
        net.end_of(3),
        None,
        "it waits whether the first run is dead"
    );
    net.run(net.now() + Duration::from_secs(2));
    let twice = EndReason::Refused(JoinRefused::AlreadyIn);
    assert_eq!(net.end_of(3), Some(&twice));
    // A key without a place.
    net.begin(3, 3, 98, rejoins());
    net.run(net.now() + Duration::from_secs(1));
    let stranger = EndReason::Refused(JoinRefused::NoSeat);
    assert_eq!(net.end_of(3), Some(&stranger));
    net.comes(2, 92, &disks[2], 0);
    net.run(net.now() + Duration::from_secs(6));
    for at in 0..3 {
        assert!(
            net.reopened_at(at).is_some(),
            "peer {at}: {:?}",
            net.end_of(at)
        );
    }
}

#[test]
fn removed_peer_has_no_vote_and_a_lagging_peer_gets_the_epoch() {
    let mut net = Net::new(3, Plan::default(), None);
    net.run(Duration::from_secs(15));
    net.kill(2);
    net.run(Duration::from_secs(25));
    assert_eq!(net.causes(0), [RosterCause::Lost]);
    let disks = net.all_die();
    let change = |record: &Record| matches!(record, Record::Roster(_));
    let at = disks[1].log.iter().position(change).expect("a change");
    // What peer 1 had of the new epoch was not written: its file ends two turns before the change.
    let mut short = disks[1].clone();
    short.log.truncate(at - 2);
    short
        .keyframes
        .retain(|keyframe| keyframe.turns < at as u32 - 3);
    let began = at as u32 - 1;
    for host in [0, 1] {
        let disk = |at: usize| if at == 1 { &short } else { &disks[at] };
        net.all_die();
        net.reopens(host, 90 + host as u8, disk(host), Duration::from_secs(5));
        net.comes(1 - host, 95 + host as u8, disk(1 - host), host);
        net.comes(2, 97 + host as u8, disk(2), host);
        net.run(net.now() + Duration::from_secs(20));
        // One of the two alone is a quorum by the tie-break: all that it has counts.
        let cut = disks[0].turns();
        assert!(cut > began + 10);
        for at in 0..2 {
            assert_eq!(
                net.reopened_at(at),
                Some(cut),
                "peer {at}: {:?}",
                net.end_of(at)
            );
            net.verifies(at, disk(at), cut);
        }
        assert_eq!(net.causes(2), [RosterCause::Rejoined], "host {host}");
        net.is_one_of_them(2, 0);
    }
    net.all_die();
    net.reopens(2, 99, &disks[2], Duration::from_secs(2));
    net.run(net.now() + Duration::from_secs(3));
    assert!(
        matches!(net.end_of(2), Some(EndReason::NoQuorum { .. })),
        "its file knows of no change"
    );
}

#[test]
fn removed_peer_at_a_reopening_is_admitted_when_it_goes_on() {
    for lacks in 0..4 {
        let mut net = Net::new(3, Plan::default(), None);
        net.run(Duration::from_secs(8));
        net.kill(2);
        net.run(Duration::from_secs(40));
        let disks = net.all_die();
        net.reopens(0, 90, &disks[0], NEVER);
        net.comes(2, 92, &disks[2], 0);
        net.run(net.now() + Duration::from_secs(2));
        net.comes(1, 91, &disks[1].clone().without_last(lacks), 0);
        net.run(net.now() + Duration::from_secs(15));
        assert_eq!(net.end_of(2), None, "{lacks} turns");
        assert_eq!(net.causes(2), [RosterCause::Rejoined], "{lacks} turns");
        for at in 0..3 {
            assert!(net.faults(at).is_empty(), "{:?}", net.faults(at));
        }
    }
}

/// Gives the log without what attests it: as members do whose worlds step anew what was before the match went on.
fn attests_nothing(bytes: Vec<u8>) -> Vec<u8> {
    match decode(&bytes) {
        Ok(Answer::Log {
            from,
            records,
            turns,
            due_in_ms,
            batches: _,
        }) => encode(&Answer::Log {
            from,
            records,
            turns,
            due_in_ms,
            batches: Vec::new(),
        }),
        _ => bytes,
    }
}

#[test]
fn no_peer_is_blamed_for_unattested_turns_after_a_reopening() {
    for gone in [true, false] {
        let mut net = Net::new(3, Plan::default(), None);
        net.run(Duration::from_secs(8));
        if gone {
            net.kill(2);
        }
        net.run(Duration::from_secs(40));
        let disks = net.all_die();
        net.reopens(0, 90, &disks[0], Duration::from_secs(1));
        net.comes(1, 91, &disks[1], 0);
        net.run(net.now() + Duration::from_secs(2));
        assert!(net.reopened_at(0).is_some());
        net.links.lie = Some(attests_nothing);
        net.comes(2, 92, &disks[2], 0);
        net.run(net.now() + Duration::from_secs(4));
        assert!(net.faults(2).is_empty(), "{gone}: {:?}", net.faults(2));
        net.links.lie = None;
        net.run(net.now() + Duration::from_secs(15));
        assert!(net.faults(2).is_empty(), "{gone}: {:?}", net.faults(2));
        assert_eq!(net.causes(2), [RosterCause::Rejoined], "{gone}");
    }
}

#[test]
fn a_match_that_goes_on_is_rejoined_and_not_reopened() {
    let mut net = Net::new(3, Plan::default(), None);
    net.run(Duration::from_secs(15));
    let mut log = net.peers[2].recording.records.clone();
    log.retain(|record| matches!(record, Record::Start(_) | Record::Bundle(_)));
    let keyframes = Vec::new();
    let disk = Disk {
        log,
        keyframes,
        accepted: None,
        signed: None,
    };
    net.kill(2);
    net.links.silent.clear();
    net.reopens_near(2, 90, &disk, NEVER, &[0, 1]);
    net.run(net.now() + Duration::from_secs(15));
    assert_eq!(net.end_of(2), None);
    assert_eq!(net.causes(2), [RosterCause::Rejoined]);
}

#[test]
fn a_run_that_is_left_hears_that_the_match_was_reopened() {
    // It was cut off and waits; the others die, reopen the match, and it finds one of them. Its own peer does not take
    // part, or does by a new run.
    for takes_part in [false, true] {
        let mut net = played(15);
        let cut_off = net.mesh.driver.remove(2).expect("it plays");
        let disks = net.all_die();
        let left = if takes_part { 3 } else { 2 };
        if takes_part {
            net.peers.push(Peer::new(cut_off.core.incarnation));
            net.peers.swap(2, left);
            net.mesh.driver.add(cut_off, Clock::default());
            net.comes(2, 92, &disks[2], 0);
        } else {
            net.mesh.driver.restart(2, cut_off, Clock::default());
        }
        net.reopens(0, 90, &disks[0], Duration::from_secs(1));
        net.comes(1, 91, &disks[1], 0);
        net.run(net.now() + Duration::from_secs(8));
        assert_eq!(net.end_of(left), Some(&EndReason::Removed), "{takes_part}");
        for at in 0..left {
            assert!(net.reopened_at(at).is_some());
            assert!(net.faults(at).is_empty(), "{:?}", net.faults(at));
            assert_eq!(net.session(at).status(), Status::Running);
        }
    }
}

#[test]
fn a_reopened_match_is_reopened_again() {
    let (mut net, mut disks) = dead(10);
    for round in 1..4u8 {
        let host = usize::from(round % 3);
        net.reopens(host, 90 + round, &disks[host], NEVER);
        for at in (0..3).filter(|at| *at != host) {
            net.comes(at, 100 + 10 * round + at as u8, &disks[at], host);
        }
        net.run(net.now() + Duration::from_secs(10));
        for (at, disk) in disks.iter().enumerate() {
            let cut = net.reopened_at(at).expect("it goes on");
            net.verifies(at, disk, cut);
            assert!(net.faults(at).is_empty(), "{:?}", net.faults(at));
        }
        disks = net.all_die();
    }
}

#[test]
fn a_host_puts_no_match_off_that_it_reopens() {
    let (mut net, disks) = dead(8);
    net.reopens(0, 90, &disks[0], NEVER);
    net.comes(1, 91, &disks[1], 0);
    net.comes(2, 92, &disks[2], 0);
    for at in [1, 2] {
        let begins = |message: &Control| matches!(message, Control::Reopen(Said::Begin { .. }));
        let mut begin = net.intercept(at, begins);
        if let Control::Reopen(Said::Begin { in_ms, .. }) = &mut begin {
            *in_ms = u32::MAX;
        }
        net.tell(0, at, Channel::Control, &begin.encode());
    }
    net.wait(15);
    for at in [1, 2] {
        let turns = net.peers[at].loaded as usize + net.peers[at].turns.len();
        let before = disks[at].turns() as usize;
        assert!(turns > before + 20, "peer {at}: {turns}, {before} before");
        assert_eq!(net.session(at).status(), Status::Running, "peer {at}");
    }
}
