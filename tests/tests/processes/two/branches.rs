//! Half of four players is left without a quorum: branches that a waiting player, or another branch, meets.

use super::*;

/// Seats 2 and 3 are left of four. What they do follows from these options.
fn two_of_four(all: &[&str], folder: &Path) -> [(Process, String); 2] {
    let mut peers = playing_of(4, all, folder);
    let left = peers.split_off(2);
    for (lost, _) in &mut peers {
        lost.kill();
    }
    let mut left = left.into_iter();
    [(); 2].map(|()| left.next().expect("two peers"))
}

#[test]
fn a_waiting_player_is_told_of_a_branch_and_enters_it_by_a_request() {
    let folder = tempfile::tempdir().expect("a folder for the match");
    let folder = folder.path();
    let [(mut second, lost), (mut waits, _)] = two_of_four(&["--on-quorum-loss", "wait"], folder);
    let missing = waits.wait_for("no_quorum", AWAITED);
    assert_eq!(missing.expect("half is none")["missing"], json!([0, 1]));
    second.kill();
    // It comes back, finds too few players, and goes on alone.
    let mut alone = rejoin_with(&lost, folder, &["--on-quorum-loss", "branch"]);
    let branch = branches(&mut alone);
    let since = Instant::now();
    let found = waits.wait_for("branch_found", WITHIN);
    let found = found.unwrap_or_else(|| panic!("{:?}\n{}", tail(&waits), waits.errors_now()));
    assert_eq!(
        (&found["match_id"], &found["turn"], &found["seats"]),
        (&branch["match_id"], &branch["turn"], &json!([2]))
    );
    assert_eq!(found["may_enter"], true);
    waits.write_line("{\"request\":\"enter_branch\"}");
    assert_eq!(branches(&mut waits), branch);
    assert_eq!(plays_on(&mut waits, since), "rejoined");
    let back = |event: &Value| event["event"] == "roster" && event["back"] == json!([3]);
    assert!(alone.wait_until(AWAITED, back).is_some());
    for peer in [waits, alone] {
        peer.leave();
        let peer = peer.finish(AWAITED);
        assert_eq!(peer.status.code(), Some(0), "{}", peer.errors);
        let end = peer.last("end").expect("it has ended");
        assert_eq!(end["branch"], branch["match_id"]);
        assert_eq!(
            (&end["branch_of"], &end["unagreed"]),
            (&branch["of"], &json!(true))
        );
    }
}

#[test]
fn two_branches_that_meet_are_told_of_each_other() {
    let folder = tempfile::tempdir().expect("a folder for the match");
    let folder = folder.path();
    let mut peers = two_of_four(&["--on-quorum-loss", "branch"], folder);
    let played = peers.each_mut().map(|(peer, _)| branches(peer));
    assert_ne!(played[0]["match_id"], played[1]["match_id"]);
    for (at, (peer, _)) in peers.iter_mut().enumerate() {
        let met = peer.wait_for("branch_met", AWAITED);
        let met = met.unwrap_or_else(|| panic!("{:?}\n{}", tail(peer), peer.errors_now()));
        let other = &played[1 - at];
        assert_eq!(
            (&met["match_id"], &met["turn"], &met["seats"]),
            (&other["match_id"], &other["turn"], &json!([3 - at]))
        );
    }
    for (at, (peer, _)) in peers.into_iter().enumerate() {
        peer.leave();
        let peer = peer.finish(AWAITED);
        assert_eq!(peer.status.code(), Some(0), "{}", peer.errors);
        let end = peer.last("end").expect("it has ended");
        assert_eq!(end["branch"], played[at]["match_id"], "they never merge");
    }
}
