//! A host, or a guest, that plays foul before the match.

use super::*;
use crate::session::wire::{Control, LobbyEntry, Offer};

/// A host with one guest, and one more that never comes.
fn in_the_lobby() -> Net {
    let mut net = Net::new(3, Plan::default(), Some(30));
    net.links.silent = vec![2];
    net.run(Duration::from_secs(2));
    net
}

fn entry(at: usize, seats: &[u8]) -> LobbyEntry {
    LobbyEntry {
        peer: id(at),
        name: "Ada\u{200b}\u{202e}".to_owned(),
        build: format!("demo\u{202e} {}", "9".repeat(100)),
        seats: seats.iter().copied().map(Seat).collect(),
        ready: true,
    }
}

fn lobbies(net: &Net, at: usize) -> Vec<Vec<crate::LobbyPeer>> {
    let events = net.peers[at].events.iter();
    let lobbies = events.filter_map(|event| match event {
        Event::Lobby { peers, .. } => Some(peers.clone()),
        _ => None,
    });
    lobbies.collect()
}

#[test]
fn lobby_tells_all_peers_each_build() {
    let net = in_the_lobby();
    for at in 0..2 {
        let here = lobbies(&net, at).pop().expect("a lobby");
        let builds: Vec<&str> = here.iter().map(|peer| peer.build.as_str()).collect();
        assert_eq!(builds, ["one build"; 2], "as peer {at} is told");
    }
}

#[test]
fn lobby_tells_all_peers_the_seats_and_the_plan() {
    let net = in_the_lobby();
    for at in 0..2 {
        let told = net.peers[at].events.iter().find_map(|event| match event {
            Event::Lobby { terms, .. } => Some((terms.seats, terms.plan)),
            _ => None,
        });
        assert_eq!(told, Some((3, Plan::default())), "as peer {at} is told");
    }
}

fn pings(net: &Net, at: usize) -> Vec<(PeerId, Duration)> {
    net.session(at).stats().pings
}

#[test]
fn lobby_tells_all_peers_the_round_trips_to_the_host() {
    let mut net = in_the_lobby();
    net.run(net.now() + Duration::from_secs(1));
    let told = [(id(1), DELAY * 2)];
    assert_eq!([pings(&net, 0), pings(&net, 1)], [told, told]);
    // A list that is too long is not kept.
    let list = Control::Pings(vec![(id(2), 1); 100]);
    net.tell(0, 1, Channel::Control, &list.encode());
    assert_eq!(pings(&net, 1), told);
    assert_eq!(faults(&net, 1), [Fault::OutOfPlace]);
    // The leaver's round trip is told no more.
    net.input(1, Input::Leave);
    net.run(net.now() + Duration::from_secs(2));
    assert_eq!(pings(&net, 0), []);
}

fn faults(net: &Net, at: usize) -> Vec<Fault> {
    let events = net.peers[at].events.iter();
    let faults = events.filter_map(|event| match event {
        Event::PeerFault { fault, .. } => Some(*fault),
        _ => None,
    });
    faults.collect()
}

#[test]
fn a_guest_believes_no_lobby_with_seats_that_are_not_there() {
    let hosts_lists = [
        vec![entry(0, &[0]), entry(1, &[255])],
        vec![entry(0, &[3])],
        vec![entry(0, &[1]), entry(1, &[1])],
        vec![entry(0, &[0, 0])],
        (0..100).map(|_| entry(0, &[])).collect(),
    ];
    for list in hosts_lists {
        let mut net = in_the_lobby();
        let before = lobbies(&net, 1);
        assert!(!before.is_empty(), "it is in the lobby");
        net.tell(0, 1, Channel::Control, &Control::Lobby(list).encode());
        assert_eq!(lobbies(&net, 1), before);
        assert_eq!(faults(&net, 1), [Fault::OutOfPlace]);
    }
    let mut net = in_the_lobby();
    let list = vec![entry(0, &[0]), entry(1, &[1, 2])];
    net.tell(0, 1, Channel::Control, &Control::Lobby(list).encode());
    let told = lobbies(&net, 1).pop().expect("a lobby");
    assert_eq!(told[0].name, "Ada", "what is not seen is left out");
    assert_eq!(told[0].build, format!("demo {}", "9".repeat(59)));
    assert_eq!(told[1].seats, [Seat(1), Seat(2)]);
    assert_eq!(faults(&net, 1), []);
}

fn chats(net: &Net, at: usize) -> Vec<(String, String)> {
    let events = net.peers[at].events.iter();
    let chats = events.filter_map(|event| match event {
        Event::Chat { from, text, .. } => Some((from.clone(), text.clone())),
        _ => None,
    });
    chats.collect()
}

#[test]
fn what_a_peer_says_in_a_lobby_is_its_own_word() {
    let mut net = in_the_lobby();
    let said = [0, 1].map(|at| {
        net.input(at, Input::Chat(format!("by {at}")));
        (format!("peer {at}"), format!("by {at}"))
    });
    net.run(net.now() + Duration::from_secs(1));
    assert_eq!([chats(&net, 0), chats(&net, 1)], [&said[..], &said[..]]);
    let forged = |from: usize| Control::Chat {
        from: id(from),
        text: "I give up".to_owned(),
        signature: [7; 64].into(),
    };
    for (from, by, to, fault) in [
        (1, 0, 1, Fault::Signature),
        (1, 1, 0, Fault::Signature),
        (2, 0, 1, Fault::Signature),
    ] {
        net.tell(by, to, Channel::Control, &forged(from).encode());
        assert_eq!(faults(&net, to).pop(), Some(fault));
        assert_eq!(chats(&net, to), said, "from {from}, by {by}");
    }
}

#[test]
fn once_the_match_runs_its_host_may_flood_as_little_as_others() {
    let mut net = Net::new(3, Plan::default(), None);
    net.run(Duration::from_secs(5));
    for _ in 0..20_000 {
        let harmless = Control::Ready { commit: None };
        net.tell(0, 1, Channel::Control, &harmless.encode());
    }
    let flood = faults(&net, 1);
    assert!(!flood.is_empty() && flood.iter().all(|fault| *fault == Fault::Flood));
    assert!(
        flood.len() < 1_000,
        "{} messages too many were taken",
        flood.len()
    );
}

#[test]
fn a_guest_that_wavers_all_the_time_is_out() {
    let mut net = in_the_lobby();
    let before = lobbies(&net, 0).len();
    for change in 0..200_u8 {
        let commit = (change % 2 == 0).then_some([change; 32]);
        net.tell(1, 0, Channel::Control, &Control::Ready { commit }.encode());
    }
    assert!(faults(&net, 0).contains(&Fault::Flood));
    let told = lobbies(&net, 0).len() - before;
    assert!(told <= 41, "{told} times told to all");
    net.run(net.now() + Duration::from_secs(1));
    let here = lobbies(&net, 0).pop().expect("a lobby");
    assert_eq!(here.len(), 1, "its link is closed: {here:?}");
}

/// Another run of this peer, from now on.
fn joins(net: &mut Net, at: usize, run: u8) {
    net.links.silent.retain(|silent| *silent != at);
    net.begin(at, at, run, guest());
}

#[test]
fn guest_that_comes_after_a_failed_start_begins_with_the_others() {
    let mut net = in_the_lobby();
    // One guest dies; another one fills the lobby, and the start fails for want of the first one's answer.
    net.links.silent = vec![1];
    joins(&mut net, 2, 20);
    net.run(net.now() + Duration::from_secs(15));
    assert_eq!(lobbies(&net, 2).pop().map(|here| here.len()), Some(2));
    joins(&mut net, 3, 30);
    net.run(net.now() + Duration::from_secs(20));
    for at in [0, 2, 3] {
        assert_eq!(faults(&net, at), [], "peer {at}");
        assert_eq!(net.peers[at].turns.len(), 30, "peer {at}");
    }
}

#[test]
fn host_that_is_not_ready_any_more_stays_so_after_a_failed_start() {
    let mut net = in_the_lobby();
    net.links.silent = vec![1];
    joins(&mut net, 2, 20);
    net.run(net.now() + Duration::from_secs(1));
    net.input(0, Input::Ready(false));
    net.run(net.now() + Duration::from_secs(14));
    let host_is_ready = |net: &Net| {
        let here = lobbies(net, 0).pop().expect("a lobby");
        here.iter().any(|peer| peer.peer == id(0) && peer.ready)
    };
    assert!(!host_is_ready(&net));
    joins(&mut net, 3, 30);
    net.run(net.now() + Duration::from_secs(20));
    assert_eq!(net.peers[0].turns.len(), 0);
    net.input(0, Input::Ready(true));
    net.run(net.now() + Duration::from_secs(20));
    assert_eq!(net.peers[0].turns.len(), 30);
}

#[test]
fn host_that_stands_still_turns_no_guest_away_that_was_in_time() {
    // While guests reveal their shares, and while they sign.
    for (after_ms, stops_s) in [(0, 20), (40, 20), (80, 61)] {
        let mut net = Net::new(3, Plan::default(), Some(30));
        let ready = |event: &Event| match event {
            Event::Lobby { peers, .. } => peers.len() == 3 && peers.iter().all(|peer| peer.ready),
            _ => false,
        };
        while !net.peers[0].events.iter().any(ready) {
            net.run(net.now() + Duration::from_millis(1));
        }
        let told = lobbies(&net, 0).len();
        net.run(net.now() + Duration::from_millis(after_ms));
        net.stop(0, Duration::from_secs(stops_s));
        net.run(net.now() + Duration::from_secs(20));
        let mut since = lobbies(&net, 0).into_iter().skip(told);
        assert!(since.all(|here| here.len() == 3), "after {after_ms} ms");
        for (at, peer) in net.peers.iter().enumerate() {
            assert_eq!(peer.turns.len(), 30, "peer {at}, after {after_ms} ms");
        }
    }
}

/// A guest that is admitted to this attempt.
fn admitted_to(attempt: u32) -> Net {
    let mut net = Net::new(2, Plan::default(), None);
    net.run(DELAY * 4);
    let offer = Offer {
        rules: RulesId([9; 16]),
        setup: Vec::new(),
        terms: Terms::default(),
    };
    let welcome = Control::Welcome { offer, attempt };
    net.tell(0, 1, Channel::Control, &welcome.encode());
    net
}

/// A guest enters by this link. At its other end the test speaks for the host from then on. Returns the commitment of the
/// guest's first attempt.
fn commits_by(net: &mut Net, link: LinkId) -> [u8; 32] {
    let until = net.now() + Duration::from_secs(5);
    while net.session(1).core.trusted != Some(link) {
        assert!(net.now() < until, "{link:?} is not proved");
        net.run(net.now() + Duration::from_millis(1));
    }
    net.links.by_hand.push(link);
    let offer = Offer {
        rules: RulesId([9; 16]),
        setup: Vec::new(),
        terms: Terms::default(),
    };
    let bytes = Control::Welcome { offer, attempt: 0 }.encode();
    let channel = Channel::Control;
    net.input(
        1,
        Input::Received {
            link,
            channel,
            bytes: &bytes,
        },
    );
    let mut heard = net.links.heard.iter().rev();
    let commit =
        heard.find_map(
            |(of, _, bytes)| match Control::decode(bytes, &Limits::default()) {
                Ok(Control::Ready { commit }) if *of == link => commit,
                _ => None,
            },
        );
    commit.expect("it is ready")
}

#[test]
fn a_guest_that_enters_again_has_another_share_and_gives_up_some_time() {
    let mut net = Net::new(2, Plan::default(), None);
    let mut commitments = Vec::new();
    for entry in 0..17 {
        assert_eq!(net.end_of(1), None, "entry {entry}");
        let link = LinkId(entry);
        commitments.push(commits_by(&mut net, link));
        let why = LinkError::Closed;
        net.input(1, Input::LinkDown { link, why });
    }
    commitments.sort_unstable();
    commitments.dedup();
    assert_eq!(commitments.len(), 17, "the host knows none of them");
    assert_eq!(net.end_of(1), Some(&EndReason::LobbyClosed));
}

#[test]
fn a_lobby_that_lasts_forgets_no_attempt_that_may_have_shown_a_share() {
    let mut net = Net::new(2, Plan::default(), None);
    for (entry, attempts) in [(0, 10), (1, 0), (2, 6), (3, 1)] {
        assert_eq!(net.end_of(1), None, "entry {entry}");
        let link = LinkId(entry);
        commits_by(&mut net, link);
        net.run(net.now() + Duration::from_secs(61));
        for attempt in 0..attempts {
            let bytes = Control::Unlock { attempt }.encode();
            let channel = Channel::Control;
            let input = Input::Received {
                link,
                channel,
                bytes: &bytes,
            };
            net.input(1, input);
        }
        let why = LinkError::Closed;
        net.input(1, Input::LinkDown { link, why });
    }
    assert_eq!(net.end_of(1), Some(&EndReason::LobbyClosed));
}

#[test]
fn attempts_are_counted_from_the_one_at_which_a_guest_came() {
    let unlock = |net: &mut Net, attempt| {
        let unlock = Control::Unlock { attempt };
        net.tell(0, 1, Channel::Control, &unlock.encode());
    };
    let mut net = admitted_to(1_000);
    for attempt in 1_000..1_016 {
        unlock(&mut net, attempt);
        assert_eq!(net.end_of(1), None, "attempt {attempt}");
    }
    unlock(&mut net, 1_016);
    assert_eq!(net.end_of(1), Some(&EndReason::LobbyClosed));
    // No attempt comes after the last one that there is.
    let mut net = admitted_to(u32::MAX);
    unlock(&mut net, u32::MAX);
    assert_eq!(net.end_of(1), Some(&EndReason::LobbyClosed));
}

/// The process dies, and whatever is on the way from it is lost.
fn dies(net: &mut Net, at: usize) {
    net.lose_links(|(one, other)| [one, other].contains(&at));
}

fn refused(why: JoinRefused) -> EndReason {
    EndReason::Refused(why)
}

#[test]
fn a_guest_that_died_in_the_lobby_comes_again_at_once() {
    let mut net = in_the_lobby();
    dies(&mut net, 1);
    joins(&mut net, 1, 20);
    net.run(net.now() + Duration::from_secs(4));
    assert_eq!(net.end_of(1), None);
    for at in 0..2 {
        let here = lobbies(&net, at).pop().expect("a lobby");
        assert_eq!(here.len(), 2, "as peer {at} is told: {here:?}");
    }
    joins(&mut net, 2, 30);
    net.run(net.now() + Duration::from_secs(20));
    assert!(net.peers.iter().all(|peer| peer.turns.len() == 30));
}

#[test]
fn a_guest_that_is_heard_keeps_its_place_from_a_copy_of_its_key() {
    let mut net = in_the_lobby();
    let before = lobbies(&net, 0).len();
    for _ in 0..3 {
        net.begin(3, 1, 40, guest());
        net.run(net.now() + Duration::from_secs(2));
        assert_eq!(
            net.end_of(3),
            None,
            "it waits whether the other one is dead"
        );
        net.run(net.now() + Duration::from_secs(3));
        assert_eq!(net.end_of(3), Some(&refused(JoinRefused::AlreadyIn)));
    }
    assert_eq!(net.end_of(1), None);
    assert_eq!(lobbies(&net, 0).len(), before);
    // A sleeper that was taken for dead is told why it is out.
    net.suspend(1);
    net.begin(3, 1, 50, guest());
    net.run(net.now() + Duration::from_secs(4));
    assert_eq!(net.end_of(3), None);
    net.resume();
    net.run(net.now() + Duration::from_secs(1));
    assert_eq!(net.end_of(1), Some(&refused(JoinRefused::AlreadyIn)));
}

#[test]
fn a_start_fails_at_once_where_a_guest_that_died_comes_again() {
    let mut net = in_the_lobby();
    dies(&mut net, 1);
    joins(&mut net, 2, 20);
    net.run(net.now() + Duration::from_secs(1));
    joins(&mut net, 1, 30);
    net.run(net.now() + Duration::from_secs(14));
    assert!(net.peers.iter().all(|peer| peer.turns.len() == 30));
}

#[test]
fn a_key_may_fail_few_starts() {
    let mut net = Net::new(2, Plan::default(), Some(30));
    for run in 10..13 {
        joins(&mut net, 1, run);
        net.run(net.now() + DELAY * 7);
        let here = lobbies(&net, 1).pop().expect("it is admitted");
        assert_eq!(here.len(), 2, "run {run}: {here:?}");
        dies(&mut net, 1);
        net.run(net.now() + Duration::from_secs(11));
    }
    joins(&mut net, 1, 13);
    net.run(net.now() + Duration::from_secs(1));
    assert_eq!(net.end_of(1), Some(&refused(JoinRefused::TooSlow)));
}

/// The first message of a peer that speaks another version.
fn foreign_hello() -> Vec<u8> {
    let hello = Control::Hello {
        protocol: crate::PROTOCOL + 1,
        nonce: [5; 32],
    };
    hello.encode()
}

fn up(link: LinkId, dialled: bool) -> Input<'static> {
    Input::LinkUp {
        link,
        peer: None,
        dialled,
        address: "elsewhere".to_owned(),
        binding: [6; 32],
    }
}

#[test]
fn another_protocol_version_is_named_on_both_sides() {
    let (ours, theirs) = (crate::PROTOCOL, crate::PROTOCOL + 1);
    let mut net = Net::new(2, Plan::default(), None);
    let link = LinkId(77);
    let hello = foreign_hello();
    let received = || Input::Received {
        link,
        channel: Channel::Control,
        bytes: &hello,
    };
    let host = net.session_mut(0);
    let _ = host.handle(Duration::ZERO, up(link, false));
    let answer = host.handle(Duration::ZERO, received());
    let refusal = Control::Refused(JoinRefused::Protocol {
        host: ours,
        ours: theirs,
    });
    let told = |output: &Output| matches!(output, Output::Send { bytes, .. } if **bytes == refusal.encode());
    assert!(answer.iter().any(told), "{answer:?}");
    assert!(answer.contains(&Output::Close { link }));

    let joiner = net.session_mut(1);
    let _ = joiner.handle(Duration::ZERO, up(link, true));
    let answer = joiner.handle(Duration::ZERO, received());
    let reason = EndReason::Refused(JoinRefused::Protocol { host: theirs, ours });
    let ended = |output: &Output| matches!(output, Output::Event(Event::Ended(end)) if end.reason == reason);
    assert!(answer.iter().any(ended), "{answer:?}");
}

fn refusal(net: &Net, at: usize) -> Option<&JoinRefused> {
    match net.peers[at].events.last() {
        Some(Event::Ended(Ended {
            reason: EndReason::Refused(why),
            ..
        })) => Some(why),
        _ => None,
    }
}

fn names(net: &Net) -> Vec<String> {
    let here = lobbies(net, 0).pop().expect("a lobby");
    here.into_iter().map(|peer| peer.name).collect()
}

#[test]
fn a_removed_guest_does_not_come_back_with_its_key() {
    let mut net = in_the_lobby();
    // Neither the host itself, nor a guest's word, counts.
    net.input(0, Input::RemoveGuest(id(0)));
    net.input(1, Input::RemoveGuest(id(0)));
    assert_eq!(names(&net), ["peer 0", "peer 1"]);
    net.input(0, Input::RemoveGuest(id(1)));
    assert_eq!(names(&net), ["peer 0"]);
    net.run(net.now() + Duration::from_secs(1));
    assert_eq!(refusal(&net, 1), Some(&JoinRefused::Removed));
    net.begin(1, 1, 77, guest());
    net.run(net.now() + Duration::from_secs(1));
    assert_eq!(refusal(&net, 1), Some(&JoinRefused::Removed));
    assert_eq!(names(&net), ["peer 0"]);
    // Another key is another guest.
    net.begin(1, 5, 78, guest());
    net.run(net.now() + Duration::from_secs(1));
    assert_eq!(refusal(&net, 1), None);
    assert_eq!(names(&net), ["peer 0", "peer 5"]);
}

#[test]
fn removing_a_guest_that_has_to_sign_begins_the_lobby_anew() {
    let mut net = Net::new(2, Plan::default(), Some(30));
    net.links.slow_to_load = Some(1);
    net.run(Duration::from_secs(2));
    assert_eq!(net.session(0).status(), Status::Loading);
    net.input(0, Input::RemoveGuest(id(1)));
    net.run(net.now() + Duration::from_secs(1));
    assert_eq!(refusal(&net, 1), Some(&JoinRefused::Removed));
    assert_eq!(net.session(0).status(), Status::Lobby);
    net.links.slow_to_load = None;
    net.add(guest());
    net.run(net.now() + Duration::from_secs(10));
    let (first, second) = (net.ends()[0], net.ends()[2]);
    assert_eq!(first.reason, EndReason::TurnLimit);
    assert_eq!(second.reason, EndReason::TurnLimit);
}

#[test]
fn a_lobby_and_its_match_have_no_names_that_look_alike() {
    let mut net = Net::under(0, Terms::default());
    let config = SessionConfig {
        name: " Ada\u{200b}".to_owned(),
        ..Net::config(0, 0, Role::Host(hosted(3)))
    };
    net.begin_as(0, 0, config);
    for (at, told) in [(1, "A\u{34f}da"), (2, "\u{202e}ada ")] {
        net.add(guest());
        // A peer's own session would tell a tidy name.
        let mut join = net.intercept(0, |message| matches!(message, Control::Join { .. }));
        if let Control::Join { name, .. } = &mut join {
            *name = told.to_owned();
        }
        net.tell(at, 0, Channel::Control, &join.encode());
    }
    net.run(net.now() + Duration::from_secs(5));
    let expected = ["Ada", "Ada (2)", "ada (3)"];
    assert_eq!(names(&net), expected);
    let start = net.start();
    let of_the_match: Vec<&str> = start.roster.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(of_the_match, expected);
}
