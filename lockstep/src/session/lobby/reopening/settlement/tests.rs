//! What is settled by the claims of those here.

use super::*;
use crate::LogHash;
use crate::log::fixture::{false_alarm, signer};
use crate::log::{Record, SignedReopening};
use crate::session::lobby::reopening::fixture::{context, log, log_with_accept, run, start};

const NOW: Duration = Duration::from_secs(5);
const WAIT: Duration = Duration::from_secs(60);

fn facts<'a>(signer: &'a dyn Signer, limits: &'a Limits) -> Facts<'a> {
    Facts {
        now: NOW,
        signer,
        limits,
        run: run(0),
        attempt: 0,
    }
}

/// Peer 0 hosts, and the others come with so many turns each.
fn settle(own: u32, guests: &[(u8, u32)], wait_until: Duration) -> (Settlement, Settling) {
    let (signer, limits) = (signer(0), Limits::default());
    let mut settlement = Settlement::new(log(0, own), wait_until);
    for (peer, turns) in guests {
        let claim = log(*peer, *turns).claim();
        let came = settlement.come(
            facts(&signer, &limits),
            *peer,
            run(*peer),
            Told::of(claim, None),
        );
        assert_eq!(came, Ok(()));
    }
    let settling = settlement.settle_if_due(facts(&signer, &limits));
    (settlement, settling)
}

#[test]
fn a_quorum_waits_for_the_rest_of_the_roster() {
    let (settlement, settling) = settle(20, &[(1, 20)], WAIT);
    assert!(matches!(settling.then, Then::Stay));
    assert_eq!(settlement.deadline(NOW), Some(WAIT));
    let (_, settling) = settle(20, &[(1, 20)], NOW);
    assert!(matches!(settling.then, Then::Propose(_)));
    let (_, settling) = settle(20, &[], NOW);
    let missing = Peers::first(3).without(Peers::first(1));
    assert!(matches!(settling.then, Then::NoQuorum(peers) if peers == missing));
}

#[test]
fn first_comers_that_are_a_quorum_go_on_at_once() {
    let (signer, limits) = (signer(0), Limits::default());
    let at = |now| Facts {
        now,
        ..facts(&signer, &limits)
    };
    let soon = NOW + Duration::from_secs(2);
    let (mut settlement, _) = settle(20, &[(1, 20)], WAIT);
    settlement.take_first_comers(soon);
    assert!(matches!(settlement.settle_if_due(at(NOW)).then, Then::Stay));
    assert_eq!(settlement.deadline(NOW), Some(soon), "others are asked");
    let then = settlement.settle_if_due(at(soon)).then;
    assert!(matches!(then, Then::Propose(proposal) if proposal.runs.len() == 2));
    // Fewer wait as long as without that word.
    let (mut settlement, _) = settle(20, &[], WAIT);
    settlement.take_first_comers(NOW);
    assert!(matches!(settlement.settle_if_due(at(NOW)).then, Then::Stay));
    assert_eq!(settlement.deadline(NOW), Some(WAIT));
    let claim = log(1, 20).claim();
    assert_eq!(
        settlement.come(at(soon), 1, run(1), Told::of(claim, None)),
        Ok(())
    );
    let then = settlement.settle_if_due(at(soon)).then;
    assert!(matches!(then, Then::Propose(_)));
}

#[test]
fn a_host_that_stands_still_waits_so_much_longer() {
    let away = Duration::from_secs(100);
    let (mut settlement, _) = settle(20, &[(1, 20)], WAIT);
    settlement.skip(away);
    assert_eq!(settlement.deadline(NOW), Some(WAIT + away));
    settlement.take_first_comers(NOW * 2);
    settlement.skip(away);
    assert_eq!(settlement.deadline(NOW), Some(NOW * 2 + away));
    let (mut settlement, _) = settle(10, &[(1, 20), (2, 19)], WAIT);
    let (from, until) = settlement.source().expect("it lacks turns");
    settlement.skip(away);
    assert_eq!(settlement.source(), Some((from, until + away)));
    let (mut settlement, _) = settle(20, &[], Duration::MAX);
    settlement.skip(away);
    assert_eq!(settlement.deadline(NOW), Some(Duration::MAX));
}

#[test]
fn the_cut_is_what_a_quorum_holds() {
    let (_, settling) = settle(20, &[(1, 18), (2, 17)], WAIT);
    let Then::Propose(proposal) = settling.then else {
        panic!("all are here");
    };
    assert_eq!((proposal.epoch, proposal.cut), (0, 18));
    assert_eq!(proposal.log_hash, log(0, 18).tip());
    let held: Vec<(u8, bool)> = proposal
        .runs
        .iter()
        .map(|run| (run.peer, run.held))
        .collect();
    assert_eq!(held, [(0, true), (1, true), (2, false)]);
    let runs: Vec<Incarnation> = proposal.runs.iter().map(|run| run.incarnation).collect();
    assert_eq!(runs, [run(0), run(1), run(2)]);
}

#[test]
fn what_the_host_lacks_is_fetched_from_a_guest() {
    let (mut settlement, settling) = settle(10, &[(1, 20), (2, 19)], WAIT);
    let ask = Ask::Log {
        from: 10,
        attested: 0,
    };
    assert!(matches!(&settling.then, Then::Fetch(2, asked) if *asked == ask));
    let limits = Limits::default();
    let (peer, until) = settlement.source().expect("it fetches");
    assert_eq!((peer, until), (2, NOW + limits.handshake));
    let Answer::Log { records, .. } = log(2, 19).page(10) else {
        panic!("a page");
    };
    let signer = signer(0);
    let settling = settlement.fetched(facts(&signer, &limits), 10, &records);
    let then = settling.expect("it follows").then;
    assert!(matches!(then, Then::Propose(proposal) if proposal.cut == 19));
    assert!(settlement.is_proposed() && settlement.source().is_none());
    assert!(settlement.begin_anew(&signer, &context(10), false));
    assert_eq!(settlement.log.turns(), 10, "one guest's word does not stay");
}

#[test]
fn a_page_that_is_not_what_was_claimed_names_its_guest() {
    let (signer, limits) = (signer(0), Limits::default());
    let page = |turns| {
        let Answer::Log { records, .. } = log(1, turns).page(10) else {
            panic!("a page");
        };
        records
    };
    let (mut settlement, _) = settle(10, &[(1, 20), (2, 20)], WAIT);
    let fetched = settlement.fetched(facts(&signer, &limits), 10, &page(10));
    assert!(matches!(fetched, Err(1)), "nothing new");
    assert!(settlement.go(NOW, 1, true), "the attempt fails by it");

    let mut settlement = Settlement::new(log(0, 10), WAIT);
    for (peer, hash) in [(1, LogHash([9; 16])), (2, log(2, 20).claim().hash)] {
        let claim = Claim {
            hash,
            ..log(peer, 20).claim()
        };
        let came = settlement.come(
            facts(&signer, &limits),
            peer,
            run(peer),
            Told::of(claim, None),
        );
        assert_eq!(came, Ok(()));
    }
    let settling = settlement.settle_if_due(facts(&signer, &limits));
    assert!(matches!(settling.then, Then::Fetch(1, _)));
    let fetched = settlement.fetched(facts(&signer, &limits), 10, &page(20));
    assert!(matches!(fetched, Err(1)), "another hash than it claimed");
}

#[test]
fn a_guest_with_another_history_is_refused() {
    let (signer, limits) = (signer(0), Limits::default());
    let mut settlement = Settlement::new(log(0, 20), NOW);
    for peer in [1, 2] {
        let mut claim = log(peer, 20).claim();
        if peer == 2 {
            claim.hash = LogHash([9; 16]);
        }
        let came = settlement.come(
            facts(&signer, &limits),
            peer,
            run(peer),
            Told::of(claim, None),
        );
        assert_eq!(came, Ok(()));
    }
    let settling = settlement.settle_if_due(facts(&signer, &limits));
    assert_eq!(settling.refused, [(2, JoinRefused::OtherHistory)]);
    assert!(matches!(settling.then, Then::Propose(_)));
}

#[test]
fn a_run_that_the_log_names_does_not_come_in() {
    let (signer, limits) = (signer(0), Limits::default());
    let mut settlement = Settlement::new(log(0, 20), NOW);
    let (old, claim) = (Incarnation([1; 16]), log(1, 20).claim());
    let came = settlement.come(facts(&signer, &limits), 1, old, Told::of(claim, None));
    assert_eq!(came, Err(JoinRefused::GoesOn));
    let far = Claim {
        turns: u32::MAX,
        ..claim
    };
    let came = settlement.come(facts(&signer, &limits), 1, run(1), Told::of(far, None));
    assert_eq!(came, Err(JoinRefused::OtherHistory), "too much to be given");
}

#[test]
fn a_claim_of_a_later_epoch_is_fetched_whatever_its_turns() {
    let (signer, limits) = (signer(0), Limits::default());
    let mut settlement = Settlement::new(log(0, 20), NOW);
    let claim = Claim {
        epoch: 1,
        turns: 20,
        ..log(1, 20).claim()
    };
    let came = settlement.come(facts(&signer, &limits), 1, run(1), Told::of(claim, None));
    assert_eq!(came, Ok(()));
    let settling = settlement.settle_if_due(facts(&signer, &limits));
    let Then::Fetch(1, Ask::Log { from, .. }) = settling.then else {
        panic!("its roster is not known here");
    };
    assert_eq!(from, 12, "the last turns may be this peer's alone");
    let mut records = crate::log::fixture::turns(20).split_off(12);
    let change = false_alarm(&start(), 0, 20, log(1, 20).head().hash());
    records.push(Record::Roster(change));
    let mut page = Vec::new();
    let mut codec = log(0, 12).head().codec().clone();
    records
        .iter()
        .for_each(|record| codec.encode(record, &mut page));
    let settling = settlement.fetched(facts(&signer, &limits), 12, &page);
    let then = settling.expect("a change proves itself").then;
    assert!(matches!(then, Then::Propose(proposal) if proposal.epoch == 1));
}

#[test]
fn an_open_change_is_decided_by_those_here_with_the_reopening() {
    let (host, limits) = (signer(0), Limits::default());
    let facts = facts(&host, &limits);
    let mut settlement = Settlement::new(log_with_accept(0, 18, 20), NOW);
    let guest = Told::of(log(1, 17).claim(), None);
    let came = settlement.come(facts, 1, run(1), guest);
    assert_eq!(came, Ok(()));
    let Then::Propose(proposal) = settlement.settle_if_due(facts).then else {
        panic!("the first two are a quorum of both rosters");
    };
    assert_eq!((proposal.epoch, proposal.cut), (1, 20));
    let decided = proposal.decided.expect("it may be decided");
    assert_eq!(decided.value.roster, Peers::first(2));
    assert_eq!(proposal.log_hash, log(1, 20).tip_behind(&decided));
    let guest = signer(1);
    let accept = log(1, 20).sign_accept(&guest, &decided);
    assert!(!settlement.take_accept(PeerId([2; 32]), None, &host));
    assert!(!settlement.take_accept(PeerId([2; 32]), Some([7; 64]), &host));
    assert!(settlement.take_accept(PeerId([2; 32]), accept, &host));
    let reopening = proposal.reopening();
    let document = reopening.at(settlement.newest_start(), proposal.epoch, proposal.cut);
    let places = [0, 1].map(|place| (place, settlement.id_of(place)));
    let mut signatures = SignatureSet::new(&document, places);
    for peer in [0, 1] {
        let own = document.sign(&signer(peer));
        assert!(signatures.add(peer, own, facts.signer.verifier()));
    }
    let (decided, change) = settlement.changes(&signatures, &host).expect("all signed");
    assert_eq!(decided.map(|decided| decided.accepts.len()), Some(2));
    assert_eq!((change.epoch, change.value.cut), (1, 20));
}

#[test]
fn an_open_change_far_ahead_is_no_word_of_one_guest() {
    let (host, limits) = (signer(1), Limits::default());
    let facts = facts(&host, &limits);
    let settled = |cut: u32| {
        let mut settlement = Settlement::new(log(1, 20), NOW);
        let guest = log_with_accept(0, cut, cut);
        let told = Told::of(guest.claim(), guest.accepted());
        assert_eq!(settlement.come(facts, 0, run(0), told), Ok(()));
        settlement.settle_if_due(facts).then
    };
    assert!(matches!(settled(36), Then::Fetch(0, _)));
    let absent = Peers::first(3).without(Peers::first(2));
    assert!(matches!(settled(37), Then::Undecided(peers) if peers == absent));
}

#[test]
fn another_reopening_stops_this_one_only_where_it_may_have_begun() {
    let (host, limits) = (signer(0), Limits::default());
    let facts = facts(&host, &limits);
    let settled = |epoch: u32, roster: u16| {
        let mut settlement = Settlement::new(log(0, 20), NOW);
        let guest = Told {
            signed: Some(SignedReopening {
                epoch,
                roster: Peers(roster),
                hash: log(0, 20).tip(),
            }),
            ..Told::of(log(2, 20).claim(), None)
        };
        assert_eq!(settlement.come(facts, 2, run(2), guest), Ok(()));
        settlement.settle_if_due(facts).then
    };
    let Then::Undecided(absent) = settled(0, 0b110) else {
        panic!("peer 1 may go on by it");
    };
    assert_eq!(absent, Peers(0b010));
    for (epoch, roster) in [
        // Of another epoch; not signed by this peer; no quorum; of a peer that is no voter.
        (1, 0b110),
        (0, 0b111),
        (0, 0b100),
        (0, 0b1_0000_0110),
    ] {
        let then = settled(epoch, roster);
        assert!(matches!(then, Then::Propose(_)), "{epoch} {roster:b}");
    }
}

#[test]
fn an_open_change_without_a_quorum_of_its_roster_stops_a_reopening() {
    let (host, limits) = (signer(2), Limits::default());
    let facts = facts(&host, &limits);
    let mut settlement = Settlement::new(log(2, 20), NOW);
    let guest = log_with_accept(1, 20, 20);
    let told = Told::of(guest.claim(), guest.accepted());
    assert_eq!(settlement.come(facts, 1, run(1), told), Ok(()));
    let then = settlement.settle_if_due(facts).then;
    assert!(matches!(then, Then::Undecided(absent) if absent == Peers::first(1)));
    // Once all are here, no peer goes on by it.
    let claim = log(0, 20).claim();
    assert_eq!(
        settlement.come(facts, 0, run(0), Told::of(claim, None)),
        Ok(())
    );
    let then = settlement.settle_if_due(facts).then;
    assert!(matches!(then, Then::Propose(proposal) if proposal.decided.is_none()));
}
