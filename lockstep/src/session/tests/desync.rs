//! Worlds that differ, by accident or by a peer's lie, and what becomes of the match.

use super::lost::part;
use super::*;
use crate::log::{RosterChange, SignedBatch, Start};
use crate::{Desync, RosterCause};

pub(super) fn match_of(peers: usize, on_desync: OnDesync) -> Net {
    let terms = Terms {
        on_desync,
        ..Terms::default()
    };
    Net::under(peers, terms)
}

/// What is sent, with what `change` makes of the batches of the peer that sends it.
pub(super) fn saying(
    start: &Start,
    me: usize,
    (channel, bytes): (Channel, &[u8]),
    change: impl Fn(&mut Batch),
) -> Option<Vec<u8>> {
    let changed = |signed: SignedBatch| {
        let mut batch = Batch::decode(&signed.content).expect("an honest batch until here");
        change(&mut batch);
        let run = start.roster[me].incarnation;
        Some(batch.seal(me as u8, start.match_id, run, &KeyedHash::new(id(me))))
    };
    Some(change_batches(channel, bytes, me as u8, changed))
}

/// Tells of another world after this many turns, and of the right one ever after.
const LIE: u32 = 21;

fn lies_once(start: &Start, me: usize, channel: Channel, bytes: &[u8]) -> Option<Vec<u8>> {
    saying(start, me, (channel, bytes), |batch| {
        let place = LIE.checked_sub(batch.executed).map(|at| at as usize);
        if let Some(checksum) = place.and_then(|at| batch.checksums.get_mut(at)) {
            checksum.0 ^= 1;
        }
    })
}

fn lies_about_its_log(start: &Start, me: usize, channel: Channel, bytes: &[u8]) -> Option<Vec<u8>> {
    saying(start, me, (channel, bytes), |batch| {
        batch.log_hash.0[0] ^= u8::from(batch.complete >= LIE);
    })
}

/// Tells of its world so late that no peer waits for it any more.
fn reports_nothing(start: &Start, me: usize, channel: Channel, bytes: &[u8]) -> Option<Vec<u8>> {
    saying(start, me, (channel, bytes), |batch| {
        if batch.executed + batch.checksums.len() as u32 > LIE && batch.executed < 400 {
            batch
                .checksums
                .truncate(LIE.saturating_sub(batch.executed) as usize);
            batch.executed = batch.executed.min(LIE);
        }
    })
}

impl Net {
    fn desyncs(&self, at: usize) -> Vec<&Desync> {
        let events = self.peers[at].events.iter();
        let desyncs = events.filter_map(|event| match event {
            Event::Desync(desync) => Some(desync),
            _ => None,
        });
        desyncs.collect()
    }

    fn changes_of(&self, at: usize) -> Vec<&RosterChange> {
        let records = self.peers[at].recording.records.iter();
        let changes = records.filter_map(|record| match record {
            Record::Roster(change) => Some(change),
            _ => None,
        });
        changes.collect()
    }

    /// What this peer's log says of worlds that differed, and the turn of the last checksum that was agreed on.
    fn logged(&self, at: usize) -> (Vec<(u32, usize)>, u32) {
        let records = &self.peers[at].recording.records;
        let mismatches = records.iter().filter_map(|record| match record {
            Record::Mismatch { turns, checksums } => Some((*turns, checksums.len())),
            _ => None,
        });
        let agreed = records.iter().rev().find_map(|record| match record {
            Record::Checksum { turns, .. } => Some(*turns),
            _ => None,
        });
        (mismatches.collect(), agreed.unwrap_or(0))
    }

    /// Honest peers go on without the minority, which they have named once and together.
    fn go_on_without(&self, honest: &[usize], minority: &[usize], turn: u32) {
        let ids: Vec<PeerId> = minority.iter().map(|at| id(*at)).collect();
        let seats: Vec<Seat> = minority.iter().map(|at| Seat(*at as u8)).collect();
        for at in honest {
            let desyncs = self.desyncs(*at);
            assert_eq!(desyncs.len(), 1, "peer {at}");
            assert_eq!(
                (desyncs[0].turn, &desyncs[0].minority),
                (TurnNumber(turn), &ids)
            );
            assert_eq!(self.causes(*at), [RosterCause::Desynced], "peer {at}");
            let [change] = self.changes_of(*at)[..] else {
                panic!("peer {at} logs one change");
            };
            let named: Vec<usize> = change.value.minority.iter().map(usize::from).collect();
            assert_eq!(named, minority);
            assert_eq!(self.end_of(*at), None, "peer {at} plays on");
            let peer = &self.peers[*at];
            let turns = peer.executed as u32;
            assert!(turns > change.value.cut + 20, "peer {at}: {turns} turns");
            let closed = &peer.turns[change.value.cut as usize..];
            let idle = closed.iter().flat_map(|bundle| &bundle.entries);
            let idle = idle.filter_map(|entry| match entry.what {
                What::Seat(state) if state == Absent::default().state() => Some(entry.seat),
                _ => None,
            });
            assert_eq!(idle.collect::<Vec<Seat>>(), seats);
            let (mismatches, agreed) = self.logged(*at);
            let told = (honest.len() + minority.len()).min(self.peers.len());
            assert_eq!(mismatches, [(turn + 1, told)], "peer {at}");
            assert!(agreed + 10 > turns, "peer {at}: agreed up to {agreed}");
            assert_eq!(peer.turns, self.peers[honest[0]].turns);
        }
    }
}

#[test]
fn quorum_goes_on_without_a_peer_whose_world_differs() {
    for (peers, strayed) in [(3, 2), (3, 0), (4, 1)] {
        let mut net = match_of(peers, OnDesync::RemoveMinority);
        net.peers[strayed].diverges_at = Some(10);
        net.run(Duration::from_secs(20));
        let honest: Vec<usize> = (0..peers).filter(|at| *at != strayed).collect();
        net.go_on_without(&honest, &[strayed], 10);
        let own = net.desyncs(strayed);
        assert_eq!((own.len(), &own[0].minority), (1, &vec![id(strayed)]));
        assert_eq!(own[0].reports.len(), peers);
        assert_eq!(net.end_of(strayed), Some(&EndReason::Desync));
        let executed = net.peers[strayed].executed;
        assert!(executed < 20, "it stops: {executed} turns");
    }
}

#[test]
fn one_false_checksum_costs_the_liar_its_place() {
    let mut net = match_of(4, OnDesync::RemoveMinority);
    net.links.attack = Some((3, lies_once));
    net.run(Duration::from_secs(20));
    net.go_on_without(&[0, 1, 2], &[3], LIE - 1);
}

#[test]
fn false_log_hash_costs_the_liar_its_place() {
    let mut net = match_of(4, OnDesync::RemoveMinority);
    net.links.attack = Some((1, lies_about_its_log));
    net.run(Duration::from_secs(30));
    for at in [0, 2, 3] {
        assert_eq!(net.causes(at), [RosterCause::Desynced]);
        assert_eq!(net.desyncs(at).len(), 1);
        assert_eq!(net.desyncs(at)[0].minority, [id(1)]);
        assert!(net.peers[at].executed > 80);
        assert_eq!(net.end_of(at), None);
        // What it signed of the log is not shown as if it were true.
        let attested = net.peers[at].recording.records.iter();
        let attested = attested.filter_map(|record| match record {
            Record::Attest(signed) if signed.peer == 1 => Batch::decode(&signed.content).ok(),
            _ => None,
        });
        assert!(attested.clone().count() > 0);
        assert!(attested.into_iter().all(|batch| batch.complete < LIE));
    }
}

/// A match of `peers`, the last of which lies about its log. The links between these break before.
fn parted_from_a_liar<const PEERS: usize>(parted: &[(usize, usize)], lasts: Duration) -> Net {
    let mut net = match_of(PEERS, OnDesync::RemoveMinority);
    net.links.attack = Some((PEERS - 1, lies_about_its_log));
    while net.peers[1].executed + 4 < u64::from(LIE) {
        net.run(net.now() + Duration::from_millis(10));
    }
    for (one, other) in parted {
        net.links.deaf_between.push((*one, *other));
        part(&mut net, *one, *other);
    }
    net.run(net.now() + lasts);
    net
}

fn go_on_without_the_liar(net: &Net) {
    let liar = net.peers.len() - 1;
    for at in 0..liar {
        assert_eq!(net.causes(at), [RosterCause::Desynced], "peer {at}");
        assert_eq!(net.desyncs(at).len(), 1, "peer {at}");
        assert_eq!(net.desyncs(at)[0].minority, [id(liar)], "peer {at}");
        assert!(net.desyncs(at)[0].goes_on, "peer {at}");
        assert_eq!(net.end_of(at), None, "peer {at}");
    }
}

/// A peer out of reach would be judged only later.
const BEFORE: Duration = Duration::from_secs(12);

#[test]
fn liar_is_in_reach_where_two_others_hear_it() {
    // Two alone are no quorum.
    let parted = [(0, 5), (1, 5), (2, 5)];
    go_on_without_the_liar(&parted_from_a_liar::<6>(&parted, BEFORE));
}

#[test]
fn peer_that_hears_of_a_liar_by_the_decision_is_told_too() {
    // A single peer that hears the liar may lie itself, and is not enough.
    let parted = [(1, 4), (1, 0), (1, 2)];
    go_on_without_the_liar(&parted_from_a_liar::<5>(&parted, BEFORE));
}

#[test]
fn liar_out_of_reach_of_most_ends_nothing() {
    for parted in [[(1, 3), (2, 3)], [(0, 3), (1, 3)]] {
        let net = parted_from_a_liar::<4>(&parted, Duration::from_secs(45));
        for at in 0..3 {
            assert_eq!(net.end_of(at), None, "peer {at}");
            assert_eq!(net.causes(at).len(), 1, "peer {at}");
            assert!(net.peers[at].executed > 100, "peer {at}");
        }
        assert!(net.end_of(3).is_some());
    }
}

#[test]
fn two_peers_that_stray_differently_at_once_both_go() {
    let mut net = match_of(5, OnDesync::RemoveMinority);
    net.peers[1].diverges_at = Some(10);
    net.links.attack = Some((4, |start, me, channel, bytes| {
        saying(start, me, (channel, bytes), |batch| {
            let place = 11u32.checked_sub(batch.executed).map(|at| at as usize);
            if let Some(checksum) = place.and_then(|at| batch.checksums.get_mut(at)) {
                checksum.0 ^= 0xff00;
            }
        })
    }));
    net.run(Duration::from_secs(20));
    net.go_on_without(&[0, 2, 3], &[1, 4], 10);
}

#[test]
fn two_peers_that_stray_one_after_the_other_both_go() {
    let mut net = match_of(5, OnDesync::RemoveMinority);
    net.peers[1].diverges_at = Some(10);
    net.peers[4].diverges_at = Some(11);
    net.run(Duration::from_secs(25));
    for at in [0, 2, 3] {
        let named: Vec<&PeerId> = net
            .desyncs(at)
            .iter()
            .flat_map(|each| &each.minority)
            .collect();
        assert_eq!(named, [&id(1), &id(4)], "peer {at}");
        let gone: Vec<usize> = net
            .changes_of(at)
            .iter()
            .flat_map(|change| change.value.minority.iter())
            .map(usize::from)
            .collect();
        assert_eq!(gone, [1, 4], "peer {at}");
        assert!(net.peers[at].executed > 70);
        assert!(net.logged(at).1 > 60);
    }
}

/// All stop, and name the same minority.
fn all_stop(net: &Net, minority: &[PeerId]) {
    for at in 0..net.peers.len() {
        assert_eq!(net.desyncs(at).len(), 1, "peer {at}");
        assert_eq!(net.desyncs(at)[0].minority, minority, "peer {at}");
        assert_eq!(net.end_of(at), Some(&EndReason::Desync), "peer {at}");
        assert_eq!(net.changes_of(at), Vec::<&RosterChange>::new());
    }
}

#[test]
fn two_peers_that_differ_both_stop() {
    for strayed in 0..2 {
        let mut net = match_of(2, OnDesync::RemoveMinority);
        net.peers[strayed].diverges_at = Some(10);
        net.run(Duration::from_secs(20));
        all_stop(&net, &[]);
    }
}

#[test]
fn the_tie_break_does_not_say_which_half_is_right() {
    let mut net = match_of(4, OnDesync::RemoveMinority);
    for at in [1, 2] {
        net.peers[at].diverges_at = Some(10);
    }
    net.run(Duration::from_secs(20));
    all_stop(&net, &[]);
}

#[test]
fn pause_on_desync_stops_all_and_names_the_minority() {
    let mut net = match_of(3, OnDesync::Pause);
    net.peers[2].diverges_at = Some(10);
    net.run(Duration::from_secs(10));
    all_stop(&net, &[id(2)]);
    assert!(net.peers.iter().all(|peer| peer.executed < 20));
}

#[test]
fn verdict_waits_for_a_report_that_could_decide() {
    let mut net = match_of(4, OnDesync::RemoveMinority);
    net.run(Duration::from_secs(3));
    // Of the three survivors two have one world: no quorum, until the dead peer is out.
    net.kill(0);
    net.peers[3].diverges_at = Some(net.peers[3].executed);
    net.run(Duration::from_secs(20));
    for at in [1, 2] {
        assert_eq!(net.desyncs(at).len(), 1);
        assert_eq!(net.desyncs(at)[0].minority, [id(3)]);
        assert_eq!(net.causes(at), [RosterCause::Lost, RosterCause::Desynced]);
        assert_eq!(net.end_of(at), None);
    }
}

/// As [`lies_once`], but each packet tells the truth, too.
fn tells_both(start: &Start, me: usize, channel: Channel, bytes: &[u8]) -> Option<Vec<u8>> {
    let lie = lies_once(start, me, channel, bytes)?;
    let (Ok(Datagram::Turns(lie)), Ok(Datagram::Turns(mut packet))) =
        (Datagram::decode(&lie), Datagram::decode(bytes))
    else {
        return None;
    };
    packet.batches.extend(lie.batches);
    packet.copies.extend(lie.copies);
    Some(Datagram::Turns(packet).encode())
}

#[test]
fn two_faced_checksum_is_equivocation() {
    for liar in [0, 3] {
        let mut net = match_of(4, OnDesync::RemoveMinority);
        net.links.attack = Some((liar, tells_both));
        net.run(Duration::from_secs(20));
        for at in (0..4).filter(|at| *at != liar) {
            let cheated = Event::PeerFault {
                peer: id(liar),
                fault: Fault::Equivocation,
            };
            assert!(net.peers[at].events.contains(&cheated), "peer {at}");
            assert_eq!(net.causes(at), [RosterCause::Cheated], "peer {at}");
            assert_eq!(net.end_of(at), None);
            assert!(net.peers[at].executed > 60);
        }
    }
}

#[test]
fn report_of_turns_long_past_removes_no_peer() {
    let mut net = match_of(3, OnDesync::RemoveMinority);
    net.links.attack = Some((2, reports_nothing));
    net.run(Duration::from_secs(90));
    for at in [0, 1] {
        let faults = net.faults(at);
        let late = Event::PeerFault {
            peer: id(2),
            fault: Fault::OutOfPlace,
        };
        assert_eq!(faults, [&late], "peer {at}");
        assert_eq!(net.causes(at), []);
        assert!(net.peers[at].executed > 420);
    }
}

#[test]
fn false_checksum_in_the_last_turns_keeps_no_peer_from_the_end() {
    for turn in [56, 58, 59] {
        let mut net = Net::new(3, Plan::default(), Some(60));
        net.peers[1].diverges_at = Some(turn);
        net.run(Duration::from_secs(30));
        for at in [0, 2] {
            let Some(Event::Ended(ended)) = net.peers[at].events.last() else {
                panic!("turn {turn}: peer {at} never ended");
            };
            assert_eq!(ended.reason, EndReason::TurnLimit, "turn {turn}, peer {at}");
            assert_eq!((ended.turns, ended.agreed, ended.of), (60, 2, 2));
            assert_eq!(net.desyncs(at).len(), 1);
            assert_eq!(net.desyncs(at)[0].minority, [id(1)]);
            assert_eq!(net.logged(at).0.len(), 1);
        }
        assert_eq!(net.end_of(1), Some(&EndReason::Desync), "turn {turn}");
    }
}

#[test]
fn peer_that_strayed_comes_back_only_once() {
    let mut net = match_of(3, OnDesync::RemoveMinority);
    net.peers[2].diverges_at = Some(10);
    net.run(Duration::from_secs(15));
    assert_eq!(net.end_of(2), Some(&EndReason::Desync));
    let kept = net.peers[2].recording.records.clone();
    net.kill(2);
    net.restart(2, 90, kept, &[0, 1]);
    net.run(Duration::from_secs(30));
    assert_eq!(net.causes(2), [RosterCause::Rejoined]);
    let other = net.causes(0);
    assert_eq!(other, [RosterCause::Desynced, RosterCause::Rejoined]);

    net.peers[2].diverges_at = Some(net.peers[2].executed + 5);
    net.run(Duration::from_secs(45));
    assert_eq!(net.end_of(2), Some(&EndReason::Desync));
    net.kill(2);
    net.restart(2, 91, Vec::new(), &[0, 1]);
    net.run(Duration::from_secs(70));
    let refused = EndReason::Refused(JoinRefused::Desynced);
    assert_eq!(net.end_of(2), Some(&refused));
    for at in [0, 1] {
        let desynced = net.causes(at);
        let desynced = desynced
            .iter()
            .filter(|cause| **cause == RosterCause::Desynced);
        assert_eq!(desynced.count(), 2, "peer {at}");
        assert_eq!(net.causes(at).len(), 3, "peer {at}: it is not readmitted");
        assert_eq!(net.end_of(at), None);
    }
}
