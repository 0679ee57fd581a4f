use super::*;
use crate::session::ledger::fixture::ledger;

const SECOND: Duration = Duration::from_secs(1);
const TIME: Duration = Duration::from_secs(3);

fn seen(peers: usize, now: Duration) -> Seen {
    Seen {
        now,
        voters: Voters::new(Peers::first(peers)),
        only_end: None,
        blockers: Peers::default(),
        unproved: Peers::default(),
        held: Peers::default(),
        owing: Peers::default(),
        coordinator: None,
        stalled_since: None,
        extension: Duration::ZERO,
        has_cause: false,
        going: Peers::default(),
        is_leaving: false,
        minority: Peers::default(),
        to_remove: Peers::default(),
    }
}

/// Peer 1 blocks turns since the beginning; what is told within so many seconds.
fn block(suspicion: &mut Suspicion, peers: usize, seconds: u32, heard: bool) -> Vec<Event> {
    let ledger = ledger(peers as u8);
    let mut events = Vec::new();
    for tenth in 1..=seconds * 10 {
        let now = SECOND / 10 * tenth;
        for at in (0..peers).filter(|at| *at != 1 || heard) {
            suspicion.note_heard(at, now);
        }
        let seen = Seen {
            blockers: Peers(0b10),
            stalled_since: Some(Duration::ZERO),
            ..seen(peers, now)
        };
        events.extend(suspicion.watch(&seen, &ledger));
    }
    events
}

#[test]
fn a_silent_peer_that_blocks_is_suspected_after_the_suspicion_time() {
    let mut suspicion = Suspicion::new(TIME, 3, Duration::ZERO);
    assert!(block(&mut suspicion, 3, 2, false).is_empty());
    let events = block(&mut suspicion, 3, 4, false);
    assert!(matches!(events.as_slice(), [Event::Suspected { .. }]));
    assert_eq!(suspicion.suspects, Peers(0b10));
}

#[test]
fn silence_alone_is_no_reason() {
    let mut suspicion = Suspicion::new(TIME, 3, Duration::ZERO);
    let events = suspicion.watch(&seen(3, SECOND * 60), &ledger(3));
    assert!(events.is_empty() && suspicion.suspects.is_empty());
}

#[test]
fn the_guest_of_two_says_that_the_quorum_is_lost() {
    let mut ledger = ledger(2);
    ledger.places =
        crate::session::ledger::Places::new(ledger.places.start().clone(), 1, Vec::new());
    let mut suspicion = Suspicion::new(TIME, 2, Duration::ZERO);
    let seen = Seen {
        blockers: Peers(0b01),
        ..seen(2, TIME)
    };
    let events = suspicion.watch(&seen, &ledger);
    assert!(matches!(events.last(), Some(Event::NoQuorum { .. })));
    assert!(suspicion.lost_quorum);
    let again = suspicion.watch(
        &Seen {
            now: TIME * 2,
            ..seen
        },
        &ledger,
    );
    assert!(again.is_empty(), "it is said once");
}

#[test]
fn a_lost_quorum_is_told_once_while_a_turn_waits() {
    let mut suspicion = Suspicion::new(TIME, 5, Duration::ZERO);
    let mut watch = |tenth: u32, blockers: Peers, to_remove: Peers| {
        let now = TIME * 2 + SECOND / 10 * tenth;
        suspicion.note_heard(1, now);
        let seen = Seen {
            blockers,
            to_remove,
            stalled_since: Some(Duration::ZERO),
            ..seen(5, now)
        };
        let events = suspicion.watch(&seen, &ledger(5));
        (suspicion.lost_quorum, events.len())
    };
    // Peers 2 to 4 are silent; peer 1 withholds, and no reason to go without it stays for long.
    let (none, withholder) = (Peers::default(), Peers(0b10));
    assert_eq!(watch(0, withholder, withholder), (false, 1));
    assert_eq!(watch(1, withholder, withholder), (true, 4));
    assert_eq!(watch(2, withholder, none), (true, 0));
    assert_eq!(watch(3, withholder, none), (true, 0));
    assert_eq!(watch(4, none, none), (false, 0), "no turn waits any more");
}

#[test]
fn a_heard_peer_that_blocks_uses_up_its_budget_and_gets_a_tenth_back() {
    let mut suspicion = Suspicion::new(TIME, 3, Duration::ZERO);
    assert!(block(&mut suspicion, 3, 9, true).is_empty());
    assert_eq!(
        suspicion.agreed,
        Peers(0b10),
        "gone without, not begun without"
    );
    let events = block(&mut suspicion, 3, 11, true);
    assert!(matches!(events.as_slice(), [Event::Suspected { .. }]));
    assert_eq!(suspicion.to_remove, Peers(0b10));
    let used = suspicion.blocked_by(1);
    suspicion.watch(&seen(3, SECOND * 21), &ledger(3));
    assert_eq!(used - suspicion.blocked_by(1), SECOND);
}

/// Peer 1 holds the others up from then on for so long, as the coordinator or not.
fn hold_up(suspicion: &mut Suspicion, from: Duration, lasts: Duration, coordinates: bool) {
    suspicion.watch(&seen(3, from), &ledger(3));
    let mut now = from;
    while now < from + lasts {
        now = (now + AT_ONCE).min(from + lasts);
        (0..3).for_each(|at| suspicion.note_heard(at, now));
        let seen = Seen {
            blockers: Peers(0b10),
            coordinator: coordinates.then_some(1),
            stalled_since: Some(from),
            ..seen(3, now)
        };
        suspicion.watch(&seen, &ledger(3));
    }
}

#[test]
fn a_coordinator_has_back_what_its_change_took_over_slow_links() {
    let mut suspicion = Suspicion::new(TIME, 3, Duration::ZERO);
    let (half, none) = (SECOND / 2, Peers::default());
    hold_up(&mut suspicion, SECOND, half, false);
    hold_up(&mut suspicion, SECOND * 2, half, true);
    let charged = suspicion.blocked_by(1);
    assert!(charged > half);
    suspicion.carry_stall_budget(none, Some(1), SECOND * 3);
    let left = suspicion.blocked_by(1);
    assert_eq!(left, charged - half, "not for turns that it held up before");
    // Nor what it was charged in an epoch before, nor soon again.
    suspicion.carry_stall_budget(none, Some(1), SECOND * 20);
    assert_eq!(suspicion.blocked_by(1), left);
}

#[test]
fn a_coordinator_of_change_after_change_has_little_back() {
    let mut suspicion = Suspicion::new(TIME, 3, Duration::ZERO);
    for change in 0..20 {
        let from = SECOND * change;
        hold_up(&mut suspicion, from, SECOND / 10 * 9, true);
        // A change that keeps all gives nothing back.
        let coordinator = (change % 2 == 0).then_some(1);
        suspicion.carry_stall_budget(Peers::default(), coordinator, from + SECOND);
    }
    assert!(suspicion.blocked_by(1) >= STALL_BUDGET);
}

#[test]
fn a_process_that_stands_still_in_a_stall_charges_little_for_it() {
    let mut suspicion = Suspicion::new(TIME, 3, Duration::ZERO);
    suspicion.watch(&seen(3, SECOND), &ledger(3));
    let woken = SECOND + SECOND / 20 * 19;
    (0..3).for_each(|at| suspicion.note_heard(at, woken));
    let seen = Seen {
        blockers: Peers(0b10),
        stalled_since: Some(SECOND),
        ..seen(3, woken)
    };
    suspicion.watch(&seen, &ledger(3));
    assert_eq!(suspicion.blocked_by(1), AT_ONCE);
}

#[test]
fn a_peer_that_the_others_keep_is_left_alone_for_a_while() {
    let mut suspicion = Suspicion::new(TIME, 3, Duration::ZERO);
    block(&mut suspicion, 3, 11, true);
    suspicion.carry_stall_budget(Peers::default(), None, SECOND * 11);
    assert!(suspicion.is_kept(1, SECOND * 12) && !suspicion.is_kept(2, SECOND * 12));
    assert!(suspicion.has_held_up(1));
    suspicion.watch(&seen(3, SECOND * 11), &ledger(3));
    assert!(suspicion.to_remove.is_empty());
}

#[test]
fn a_peer_that_was_kept_after_a_long_stall_goes_for_new_stalls_only() {
    let mut suspicion = Suspicion::new(TIME, 3, Duration::ZERO);
    block(&mut suspicion, 3, 30, true);
    let kept = SECOND * 30;
    suspicion.carry_stall_budget(Peers::default(), None, kept);
    suspicion.watch(&seen(3, kept + KEPT_FOR), &ledger(3));
    assert!(suspicion.to_remove.is_empty());
    for look in 1..=5 {
        let later = kept + KEPT_FOR + AT_ONCE * look;
        (1..3).for_each(|at| suspicion.note_heard(at, later));
        let blocks = Seen {
            blockers: Peers(0b10),
            stalled_since: Some(kept),
            ..seen(3, later)
        };
        suspicion.watch(&blocks, &ledger(3));
    }
    assert_eq!(suspicion.to_remove, Peers(0b10));
}

#[test]
fn a_peer_that_was_kept_is_not_removed_while_no_turn_waits_for_it() {
    let mut suspicion = Suspicion::new(TIME, 3, Duration::ZERO);
    block(&mut suspicion, 3, 30, true);
    let kept = SECOND * 30;
    suspicion.carry_stall_budget(Peers::default(), None, kept);
    // It has held up a few turns since.
    let later = kept + KEPT_FOR;
    suspicion.watch(&seen(3, later - SECOND), &ledger(3));
    suspicion.of[1].blocked = MOST_CHARGED;
    (1..3).for_each(|at| suspicion.note_heard(at, later));
    suspicion.watch(&seen(3, later), &ledger(3));
    assert!(suspicion.to_remove.is_empty());
    suspicion.of[1].blocked = STALL_BUDGET;
    let blocks = Seen {
        blockers: Peers(0b10),
        stalled_since: Some(later),
        ..seen(3, later + SECOND)
    };
    suspicion.watch(&blocks, &ledger(3));
    assert_eq!(suspicion.to_remove, Peers(0b10));
}

#[test]
fn peers_that_fell_silent_together_have_time_to_be_heard_again() {
    let mut suspicion = Suspicion::new(TIME, 5, Duration::ZERO);
    let ledger = ledger(5);
    let mut suspects = |heard: Peers, seconds: u32| {
        let now = SECOND * seconds;
        heard
            .iter()
            .for_each(|at| suspicion.note_heard(at.into(), now));
        let seen = Seen {
            blockers: Peers(0b11110),
            stalled_since: Some(Duration::ZERO),
            ..seen(5, now)
        };
        suspicion.watch(&seen, &ledger);
        suspicion.suspects
    };
    assert_eq!(suspects(Peers(0b00010), 20), Peers(0b11100));
    assert_eq!(suspects(Peers(0b00110), 21), Peers::default());
    assert_eq!(suspects(Peers(0b01110), 22), Peers::default());
    assert_eq!(suspects(Peers(0b01110), 23), Peers(0b10000));
}

#[test]
fn an_extension_is_waited_out_and_charges_no_peer() {
    let mut suspicion = Suspicion::new(TIME, 3, Duration::ZERO);
    let ledger = ledger(3);
    for second in 1..=12 {
        let seen = Seen {
            blockers: Peers(0b10),
            stalled_since: Some(Duration::ZERO),
            extension: SECOND * 30,
            ..seen(3, SECOND * second)
        };
        assert!(suspicion.watch(&seen, &ledger).is_empty());
    }
    assert_eq!(suspicion.blocked_by(1), Duration::ZERO);
}

#[test]
fn a_peer_that_an_attempt_holds_is_charged_to_its_coordinator() {
    let mut suspicion = Suspicion::new(TIME, 3, Duration::ZERO);
    let ledger = ledger(3);
    let (held, both) = (Peers(0b010), Peers(0b110));
    for tenth in 1..=20 {
        let now = SECOND / 10 * tenth;
        (1..3).for_each(|at| suspicion.note_heard(at, now));
        let seen = Seen {
            blockers: both,
            held,
            stalled_since: Some(Duration::ZERO),
            ..seen(3, now)
        };
        assert!(suspicion.watch(&seen, &ledger).is_empty());
    }
    let blocked = [1, 2].map(|at| suspicion.blocked_by(at));
    assert_eq!(blocked, [Duration::ZERO, SECOND * 2]);
    // A held peer that falls silent is suspected all the same.
    let seen = Seen {
        blockers: both,
        held,
        ..seen(3, SECOND * 2 + TIME)
    };
    suspicion.watch(&seen, &ledger);
    assert!(held.is_within(suspicion.suspects));
}

#[test]
fn another_run_of_a_process_is_a_reason_to_suspect_the_one_before() {
    let mut suspicion = Suspicion::new(TIME, 3, Duration::ZERO);
    let link = |up_at: u32, is_new: bool| HeardLink {
        run: Incarnation([9; 16]),
        at: 1,
        is_current: !is_new,
        plays_branch: false,
        is_new,
        up_at: SECOND * up_at,
        heard_at: SECOND * 2,
    };
    let blocked = Seen {
        blockers: Peers(0b10),
        ..seen(3, SECOND * 2)
    };
    suspicion.note_links(&[link(1, false), link(0, true)]);
    suspicion.watch(&blocked, &ledger(3));
    assert!(
        suspicion.suspects.is_empty(),
        "the link is of an earlier run"
    );
    suspicion.note_links(&[link(1, false), link(2, true)]);
    suspicion.watch(&blocked, &ledger(3));
    assert_eq!(suspicion.suspects, Peers(0b10));
}

#[test]
fn a_peer_that_holds_up_no_turn_any_more_is_not_removed_for_earlier_ones() {
    let mut suspicion = Suspicion::new(TIME, 3, Duration::ZERO);
    block(&mut suspicion, 3, 12, true);
    assert_eq!(suspicion.to_remove, Peers(0b10));
    // A turn waits for it now and then, for less than it is given back.
    let millis = |ms: u32| SECOND * 12 + SECOND / 1_000 * ms;
    let mut dropped_at = None;
    for turn in (0..2_000).step_by(50) {
        hold_up(&mut suspicion, millis(turn), SECOND / 500, false);
        let is_dropped = suspicion.to_remove.is_empty();
        dropped_at = dropped_at.or(is_dropped.then_some(turn));
    }
    assert!(
        dropped_at.is_some_and(|at| (1_000..=2_000).contains(&at)),
        "{dropped_at:?}"
    );
    assert!(suspicion.to_remove.is_empty());
    assert!(suspicion.blocked_by(1) >= STALL_BUDGET);
    assert_eq!(suspicion.agreed, Peers(0b10), "where another peer begins");
    hold_up(&mut suspicion, SECOND * 15, SECOND / 10, false);
    assert_eq!(suspicion.to_remove, Peers(0b10));
    // Turns may stand still for the change that has begun.
    let changing = |at| Seen {
        has_cause: true,
        ..seen(3, SECOND * at)
    };
    for second in 16..19 {
        (0..3).for_each(|at| suspicion.note_heard(at, SECOND * second));
        suspicion.watch(&changing(second), &ledger(3));
        assert_eq!(suspicion.to_remove, Peers(0b10), "{second} s");
    }
    suspicion.watch(&seen(3, SECOND * 20), &ledger(3));
    assert!(suspicion.to_remove.is_empty());
}

#[test]
fn a_reason_that_comes_and_goes_passes_its_coordinator_over_as_well() {
    let mut suspicion = Suspicion::new(TIME, 3, Duration::ZERO);
    let mut now = Duration::ZERO;
    let mut lasts = |suspicion: &mut Suspicion, of: Option<u8>, has_begun: bool, tenths: u32| {
        for _ in 0..tenths {
            now += SECOND / 10;
            suspicion.watch(&seen(3, now), &ledger(3));
            suspicion.note_turn(of, has_begun);
        }
    };
    lasts(&mut suspicion, Some(0), false, 29);
    lasts(&mut suspicion, None, false, 100);
    lasts(&mut suspicion, Some(0), false, 10);
    assert!(suspicion.passed_over.is_empty(), "a tenth is given back");
    lasts(&mut suspicion, Some(0), false, 4);
    assert_eq!(suspicion.passed_over, Peers(0b1));
    // The coordinator that begins has all of its time again.
    suspicion.carry_stall_budget(Peers::default(), None, SECOND * 15);
    lasts(&mut suspicion, Some(0), false, 29);
    lasts(&mut suspicion, None, true, 1);
    lasts(&mut suspicion, Some(0), false, 29);
    assert!(suspicion.passed_over.is_empty());
}

#[test]
fn a_withholder_that_has_delivered_is_no_longer_done_without() {
    let mut suspicion = Suspicion::new(TIME, 4, Duration::ZERO);
    let (ledger, staller) = (ledger(4), Peers(0b1000));
    let mut look = |tenth: u32, unproved, owing| {
        let now = SECOND / 10 * tenth;
        (0..4).for_each(|at| suspicion.note_heard(at, now));
        let seen = Seen {
            unproved,
            owing,
            has_cause: true,
            ..seen(4, now)
        };
        suspicion.watch(&seen, &ledger);
        assert_eq!(suspicion.withholding, suspicion.to_remove);
        suspicion.withholding
    };
    let until = 10 * PROVED_WITHIN.as_secs() as u32;
    (1..until).for_each(|tenth| assert!(look(tenth, staller, staller).is_empty()));
    assert_eq!(look(until, staller, staller), staller);
    let none = Peers::default();
    assert_eq!(look(until + 1, none, none), none, "it has delivered");
    assert_eq!(look(until + 2, staller, none), none, "links take so long");
    assert_eq!(look(until + 12, staller, staller), staller, "it owes more");
}
