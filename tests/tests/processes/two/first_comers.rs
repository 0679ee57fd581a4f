//! A reopening whose first comers do not wait for the rest: two of three play on.

use super::*;

/// All of three have crashed, and seat 1 reopens the match with these options, and asks this of it.
fn first_comers_play_on(options: &[&str], request: Option<&str>) {
    let folder = tempfile::tempdir().expect("a folder for the match");
    let folder = folder.path();
    let mut peers = playing_of(3, &[], folder);
    for (peer, _) in &mut peers {
        peer.kill();
    }
    let [_, host, guest] = [0, 1, 2].map(|seat| peers[seat].1.clone());
    let (replay, key) = (format!("{host}.replay"), format!("{host}.key"));
    let own = ["host", "--from", &replay, "--identity", &key, "--record"];
    let more = ["host.replay", "--headless", "--bot", "normal", "--json"];
    let mut hosting = start_demo(&[&own[..], &more, options].concat(), folder);
    assert!(hosting.wait_for("ticket", AWAITED).is_some());
    if let Some(request) = request {
        hosting.write_line(request);
    }
    let since = Instant::now();
    let mut joiner = rejoin(&guest, folder);
    for peer in [&mut hosting, &mut joiner] {
        assert_eq!(plays_on(peer, since), "reopened");
    }
    end((hosting, "host.replay"), joiner, folder);
}

#[test]
fn first_comers_play_on_by_an_option() {
    first_comers_play_on(&["--first-comers"], None);
}

#[test]
fn first_comers_play_on_by_a_request() {
    first_comers_play_on(&[], Some("{\"request\":\"begin_now\"}"));
}

#[test]
fn a_survivor_reopens_with_its_first_comers() {
    let folder = tempfile::tempdir().expect("a folder for the match");
    let folder = folder.path();
    let mut peers = playing_of(3, &["--on-quorum-loss", "reopen"], folder);
    for (peer, _) in &mut peers[..2] {
        peer.kill();
    }
    let lost = peers[1].1.clone();
    let (mut survivor, kept) = peers.pop().expect("seat 2");
    assert!(survivor.wait_for("reopen", AWAITED).is_some());
    let since = Instant::now();
    let mut joiner = rejoin(&lost, folder);
    for peer in [&mut survivor, &mut joiner] {
        assert_eq!(plays_on(peer, since), "reopened");
    }
    end((survivor, &format!("{kept}-2.replay")), joiner, folder);
}
