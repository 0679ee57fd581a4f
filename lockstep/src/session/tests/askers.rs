//! Players that ask a lobby's host to let them in, without the ticket's secret.

use super::*;
use crate::Asker;
use crate::session::wire::Control;

/// A host of so many seats that answers askers, alone so far.
fn hosts(seats: u8) -> Net {
    let mut net = Net::under(0, Terms::default());
    net.add(Role::Host(HostConfig {
        takes_askers: true,
        terms: Terms {
            turn_limit: Some(10),
            ..hosted(seats).terms
        },
        ..hosted(seats)
    }));
    net
}

fn asks() -> Role {
    let mut asks = guest();
    if let Role::Join { secret, .. } = &mut asks {
        *secret = [0; 16];
    }
    asks
}

fn pass(net: &mut Net, seconds: u64) {
    net.run(net.now() + Duration::from_secs(seconds));
}

fn askers(net: &Net) -> Vec<PeerId> {
    let events = net.peers[0].events.iter().rev();
    let mut told = events.filter_map(|event| match event {
        Event::Askers(askers) => Some(askers.iter().map(|asker| asker.peer).collect()),
        _ => None,
    });
    told.next().unwrap_or_default()
}

fn reason(net: &Net, at: usize) -> Option<&EndReason> {
    match net.peers[at].events.last() {
        Some(Event::Ended(ended)) => Some(&ended.reason),
        _ => None,
    }
}

#[test]
fn the_hosts_word_lets_in_a_player_without_the_secret() {
    let mut net = hosts(2);
    net.add(asks());
    pass(&mut net, 100);
    let told = Event::Askers(vec![Asker {
        peer: id(1),
        name: "peer 1".to_owned(),
        build: "one build".to_owned(),
        address: "1".to_owned(),
    }]);
    assert!(net.peers[0].events.contains(&told), "it waits for long");
    let asked = net.peers[1]
        .events
        .iter()
        .filter(|event| **event == Event::Asked);
    assert_eq!(asked.count(), 1, "by one link");
    assert_eq!(net.session(0).status(), Status::Lobby);
    net.input(0, Input::AdmitGuest(id(9)));
    assert_eq!(askers(&net), [id(1)]);
    net.input(0, Input::AdmitGuest(id(1)));
    assert_eq!(askers(&net), []);
    pass(&mut net, 10);
    assert_eq!(reason(&net, 0), Some(&EndReason::TurnLimit));
    assert_eq!(reason(&net, 1), Some(&EndReason::TurnLimit));
}

#[test]
fn a_player_that_is_turned_away_asks_no_more() {
    let mut net = hosts(2);
    net.add(asks());
    pass(&mut net, 5);
    net.input(0, Input::RemoveGuest(id(1)));
    pass(&mut net, 1);
    let refused = |why| Some(EndReason::Refused(why));
    assert_eq!(reason(&net, 1).cloned(), refused(JoinRefused::TurnedAway));
    net.begin(1, 1, 77, asks());
    pass(&mut net, 1);
    assert_eq!(reason(&net, 1).cloned(), refused(JoinRefused::Removed));
    assert_eq!(askers(&net), []);
}

#[test]
fn a_host_that_takes_no_askers_refuses_them() {
    let mut net = Net::under(0, Terms::default());
    net.add(Role::Host(hosted(2)));
    net.add(asks());
    pass(&mut net, 1);
    let invite = EndReason::Refused(JoinRefused::Invite);
    assert_eq!(reason(&net, 1), Some(&invite));
}

#[test]
fn askers_hear_that_the_lobby_is_full_or_closed() {
    let mut net = hosts(2);
    for role in [asks(), asks(), asks()] {
        net.add(role);
    }
    pass(&mut net, 2);
    assert_eq!(askers(&net).len(), 3);
    // One goes by itself, and would have said something first.
    net.input(3, Input::Chat("hello".to_owned()));
    net.input(3, Input::Leave);
    pass(&mut net, 1);
    assert_eq!(askers(&net).len(), 2);
    assert_eq!(net.faults(0), Vec::<&Event>::new(), "it broke no rule");
    net.input(0, Input::AdmitGuest(id(1)));
    pass(&mut net, 5);
    let started = EndReason::Refused(JoinRefused::Started);
    assert_eq!(reason(&net, 2), Some(&started));
    let mut net = hosts(3);
    net.add(asks());
    pass(&mut net, 2);
    net.input(0, Input::Leave);
    pass(&mut net, 2);
    assert_eq!(reason(&net, 1), Some(&EndReason::LobbyClosed));
}

#[test]
fn an_asker_that_has_waited_long_dials_again_where_its_link_breaks() {
    let mut net = hosts(2);
    net.add(asks());
    pass(&mut net, 300);
    let (link, why) = (LinkId(0), LinkError::TimedOut);
    for at in [0, 1] {
        net.input(at, Input::LinkDown { link, why });
    }
    pass(&mut net, 3);
    assert_eq!(askers(&net), [id(1)], "it asks again");
    net.input(0, Input::AdmitGuest(id(1)));
    pass(&mut net, 20);
    assert_eq!(net.peers[1].turns.len(), 10, "they have played");
}

#[test]
fn a_guest_that_was_let_in_comes_back_without_asking_again() {
    let mut net = hosts(3);
    net.add(asks());
    pass(&mut net, 2);
    net.input(0, Input::AdmitGuest(id(1)));
    pass(&mut net, 2);
    net.input(1, Input::Leave);
    pass(&mut net, 1);
    net.begin(1, 1, 77, asks());
    pass(&mut net, 2);
    let is_in = |event: &Event| matches!(event, Event::Lobby { peers, .. } if peers.len() == 2);
    assert!(net.peers[1].events.iter().any(is_in));
    assert!(!net.peers[1].events.contains(&Event::Asked));
}

#[test]
fn the_name_of_an_asker_is_shown_without_what_hides() {
    let mut net = hosts(2);
    net.add(asks());
    let mut join = net.intercept(0, |message| matches!(message, Control::Join { .. }));
    if let Control::Join { name, build, .. } = &mut join {
        *name = "\u{1b}[2JA\u{202e}da".to_owned();
        *build = "\u{7}build".to_owned();
    }
    net.tell(1, 0, Channel::Control, &join.encode());
    let shown = net.peers[0].events.iter().find_map(|event| match event {
        Event::Askers(askers) => Some((askers[0].name.as_str(), askers[0].build.as_str())),
        _ => None,
    });
    assert_eq!(shown, Some(("[2JAda", "build")));
}
