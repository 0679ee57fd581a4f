//! Joiners on a bad way to the host.

use super::*;

/// Link 0 leads from the joiner to the host.
fn break_first_link(at: Duration) -> Net {
    let mut net = Net::new(2, Plan::default(), Some(30));
    net.run(at);
    net.links.dead.push(LinkId(0));
    let (link, why) = (LinkId(0), LinkError::Closed);
    net.input(1, Input::LinkDown { link, why });
    net
}

#[test]
fn joiner_whose_link_breaks_before_admission_asks_again() {
    // Before either has proved its key, after one has, and when the host has admitted it and it has not heard so.
    for ms in [40, 70, 100, 125, 145] {
        let mut net = break_first_link(Duration::from_millis(ms));
        net.run(Duration::from_secs(20));
        assert_eq!(net.ends().len(), 2, "broken after {ms} ms");
        for peer in &net.peers {
            assert_eq!(peer.turns.len(), 30, "broken after {ms} ms");
            let fault = |event: &Event| matches!(event, Event::PeerFault { .. });
            assert!(!peer.events.iter().any(fault), "{:?}", peer.events);
        }
    }
}

#[test]
fn link_that_tells_a_joiner_of_the_start_stays() {
    // The host has heard by it the joiner's key, and not that it is broken.
    let mut net = break_first_link(Duration::from_millis(100));
    while net.session(0).status() != Status::Running {
        assert!(net.now() < Duration::from_secs(5), "it never begins");
        net.run(net.now() + Duration::from_millis(1));
    }
    let links = net.session(0).core.links.keys();
    assert_eq!(links.copied().collect::<Vec<_>>(), [LinkId(1)]);
}

#[test]
fn admitted_joiner_that_lost_its_link_enters_again() {
    for ms in [160, 200, 240] {
        let mut net = break_first_link(Duration::from_millis(ms));
        net.run(Duration::from_secs(60));
        let lobbies = net.peers[1].events.iter().filter_map(|event| match event {
            Event::Lobby { peers, .. } => Some(peers.len()),
            _ => None,
        });
        let lobbies: Vec<usize> = lobbies.collect();
        assert!(lobbies.contains(&0), "{lobbies:?} after {ms} ms");
        assert_eq!(net.ends().len(), 2, "after {ms} ms");
        for peer in &net.peers {
            assert_eq!(peer.turns.len(), 30, "after {ms} ms");
        }
    }
}

#[test]
fn a_guest_whose_share_is_late_enters_again() {
    let mut net = Net::new(2, Plan::default(), Some(30));
    let is_ready = |event: &Event| match event {
        Event::Lobby { peers, .. } => peers.len() == 2 && peers.iter().all(|peer| peer.ready),
        _ => false,
    };
    while !net.peers[0].events.iter().any(is_ready) {
        net.run(net.now() + Duration::from_millis(1));
    }
    net.links.silent = vec![1];
    net.run(net.now() + Duration::from_secs(9));
    assert_eq!(net.peers[1].events.len(), 2, "it is in the lobby");
    net.run(net.now() + Duration::from_secs(2));
    net.links.silent.clear();
    net.run(net.now() + Duration::from_secs(20));
    for peer in &net.peers {
        assert_eq!(peer.turns.len(), 30);
    }
}

#[test]
fn a_joiner_gives_a_host_up_that_never_answers() {
    let mut net = Net::new(2, Plan::default(), None);
    net.links.silent = vec![0];
    net.run(Duration::from_secs(50));
    assert!(net.ends().is_empty());
    assert!(
        net.mesh.links().len() > 3,
        "it has dialled {} times",
        net.mesh.links().len()
    );
    net.run(Duration::from_secs(90));
    let why = EndReason::Unreachable(LinkError::TimedOut);
    assert_eq!(net.ends()[0].reason, why);
    assert!(
        net.mesh.links().len() < 10,
        "it has dialled {} times",
        net.mesh.links().len()
    );
}

#[test]
fn a_host_whose_answers_are_lost_is_dialled_anew_each_second() {
    let mut net = Net::new(2, Plan::default(), Some(10));
    net.links.lost_dials = 7;
    net.run(Duration::from_millis(6_950));
    assert!(net.mesh.links().is_empty());
    net.run(Duration::from_secs(20));
    assert_eq!(net.mesh.links().len(), 1);
    assert_eq!(net.ends().len(), 2);
    assert!(net.peers.iter().all(|peer| peer.turns.len() == 10));
}

/// A joiner at these addresses of the host.
fn joiner(addresses: &[&str]) -> Net {
    let mut net = Net::new(0, Plan::default(), None);
    net.add(Role::Join {
        match_id: MatchId([7; 16]),
        secret: [8; 16],
        host: id(1),
        addresses: addresses.iter().map(|text| (*text).to_owned()).collect(),
        rules: Box::new(|_| None),
    });
    net
}

fn fails(net: &mut Net, address: &str, why: LinkError) {
    let (address, key) = (address.to_owned(), id(1));
    net.input(0, Input::DialFailed { address, key, why });
}

#[test]
fn failed_dials_are_repeated_until_the_host_is_given_up() {
    let mut net = joiner(&[NOWHERE]);
    for second in 5..20 {
        net.run(Duration::from_secs(second));
        fails(&mut net, NOWHERE, LinkError::Unanswered);
        assert!(net.ends().is_empty(), "after {second} s");
    }
    net.run(Duration::from_secs(20));
    let why = EndReason::Unreachable(LinkError::Unanswered);
    assert_eq!(net.ends()[0].reason, why);
}

#[test]
fn an_address_where_another_key_answers_is_not_dialled_again() {
    let mut net = joiner(&[NOWHERE]);
    net.run(Duration::from_secs(1));
    fails(&mut net, NOWHERE, LinkError::WrongKey);
    let why = EndReason::Unreachable(LinkError::WrongKey);
    assert_eq!(net.ends()[0].reason, why);

    // The host may be at another one.
    let mut net = joiner(&["here", NOWHERE]);
    net.run(Duration::from_millis(500));
    fails(&mut net, "here", LinkError::WrongKey);
    net.run(Duration::from_secs(15));
    fails(&mut net, NOWHERE, LinkError::Unanswered);
    assert!(net.ends().is_empty());
    net.run(Duration::from_secs(20));
    assert_eq!(net.ends()[0].reason, why);
}

#[test]
fn a_ticket_of_ones_own_key_is_refused_at_once() {
    let role = Role::Join {
        match_id: MatchId([7; 16]),
        secret: [0; 16],
        host: id(2),
        addresses: vec!["here".to_owned()],
        rules: Box::new(|_| Some(RulesId([9; 16]))),
    };
    let begun = Session::new(Net::config(2, 99, role), Box::new(KeyedHash::new(id(2))));
    let refused = begun.map(|_| ()).expect_err("it cannot be reached");
    assert_eq!(refused, ConfigError::OwnKey);
    assert!(refused.to_string().ends_with("join with another identity"));
}
