//! A history that lacks what its member has signed, and the recording that proves it.

use super::*;

#[test]
fn a_guest_goes_on_by_a_shortened_history_at_its_players_word_only() {
    let folder = tempfile::tempdir().expect("a folder for the match");
    let folder = folder.path();
    let [(mut host, host_files), (mut guest, guest_files)] = playing(&[], folder);
    let (replay, key) = (format!("{host_files}.replay"), format!("{host_files}.key"));
    let older = std::fs::read(folder.join(&replay)).expect("the host records");
    for peer in [&mut host, &mut guest] {
        let reached = |event: &Value| event["event"] == "turn" && event["turn"] == 70;
        assert!(peer.wait_until(AWAITED, reached).is_some());
        peer.kill();
    }
    std::fs::write(folder.join(&replay), older).expect("its newest turns are gone");
    let own = ["host", "--from", &replay, "--identity", &key, "--record"];
    let more = [
        "host.replay",
        "--wait",
        "1",
        "--headless",
        "--bot",
        "normal",
        "--json",
    ];
    let mut hosting = start_demo(&[&own[..], &more].concat(), folder);
    assert_eq!(plays_on(&mut hosting, Instant::now()), "reopened");

    let mut refuses = rejoin_to("refuses.replay", &guest_files, folder, &[]);
    let end = refuses.wait_for("end", AWAITED).expect("it ends");
    assert_eq!(end["reason"], "contradicted", "{end}");
    let detail = end["detail"].as_str().expect("a sentence");
    assert!(detail.contains("up to turn"), "{detail}");
    let refused = refuses.finish(AWAITED);
    assert_eq!(refused.status.code(), Some(4));
    let flag = "--accept-other-history";
    assert!(refused.errors.contains(flag), "{}", refused.errors);

    let mut joiner = rejoin_with(&guest_files, folder, &[flag]);
    assert_eq!(plays_on(&mut joiner, Instant::now()), "rejoined");
    super::end((hosting, "host.replay"), joiner, folder);
}
