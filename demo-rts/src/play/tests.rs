use super::*;
use crate::bot::Level;
use crate::cli::Common;
use crate::peer::{Bots, KeyChoice, Part};
use lockstep::log::Terms;

/// A running match of a person against a bot, and the person's screen.
fn begun() -> (Peer, Table) {
    let common = Common {
        seed: Some(1),
        map_seed: Some(1),
        ..Common::default()
    };
    let bots = Bots::AllButFirst(Level::Easy);
    let alone = Part::Alone { seats: 2 };
    let mut peer = Peer::start(&alone, bots, &common, KeyChoice::Ephemeral).unwrap();
    let mut table = Table::new("skirmish", notice(None, false), true);
    // Before the match runs, nothing can be ordered, although the world exists.
    until(&mut peer, &mut table, |table| {
        table.hand.is_some() && table.facts.status == Some(Status::Running)
    });
    (peer, table)
}

fn until(peer: &mut Peer, table: &mut Table, mut done: impl FnMut(&Table) -> bool) {
    let began = now();
    while !done(table) {
        let prompt = table.prompt(peer.world());
        assert!(began.elapsed() < Duration::from_secs(30), "still: {prompt}");
        table.follow(peer);
        peer.wait(FRAME);
    }
}

fn press(table: &mut Table, peer: &mut Peer, key: char) -> String {
    let code = KeyCode::Char(key);
    table.press(KeyEvent::new(code, KeyModifiers::NONE), peer);
    table.prompt(peer.world())
}

#[test]
fn leaving_a_running_match_needs_a_second_key() {
    let (mut peer, mut table) = begun();
    assert!(press(&mut table, &mut peer, 'q').starts_with("leave the match?"));
    // Any other key means "stay" and nothing else.
    assert!(press(&mut table, &mut peer, 'w').starts_with("nothing selected"));
    assert!(press(&mut table, &mut peer, 'w').starts_with("5 workers"));
    assert!(!table.closing && !peer.is_leaving());
    press(&mut table, &mut peer, 'q');
    assert_eq!(press(&mut table, &mut peer, 'y'), "leaving ...");
    assert!(table.closing && peer.is_leaving());
    until(&mut peer, &mut table, |table| table.ended.is_some());
}

#[test]
fn a_refusal_is_shown_until_the_next_one() {
    let (mut peer, mut table) = begun();
    press(&mut table, &mut peer, 'w');
    // The cursor is on the town hall, where there is nothing to gather.
    press(&mut table, &mut peer, 'g');
    until(&mut peer, &mut table, |table| table.flash.is_some());
    let why = "nothing there to gather";
    assert_eq!(table.prompt(peer.world()), why);
    assert!(table.facts.log.iter().any(|note| note.text.ends_with(why)));
    assert!(press(&mut table, &mut peer, 'w').starts_with("5 workers"));
    assert!(press(&mut table, &mut peer, 'k').starts_with("no attack on you so far"));
    peer.leave();
}

#[test]
fn keys_reopen_the_match_or_go_on_alone_after_quorum_loss() {
    let folder = tempfile::tempdir().unwrap();
    let options = |name: &str| Common {
        identity: Some(folder.path().join(format!("{name}.key"))),
        record: Some(folder.path().join(format!("{name}.replay"))),
        ..Common::default()
    };
    let listen = "127.0.0.1:0".parse().unwrap();
    let part = Part::Host {
        terms: Terms {
            seats: 2,
            ..Terms::default()
        },
        bots: 0,
        listen,
    };
    let mut host = Peer::start(&part, Bots::None, &options("host"), KeyChoice::Kept).unwrap();
    let ticket = host.ticket().unwrap();
    let part = Part::Join {
        ticket: &ticket,
        listen,
    };
    let mut guest = Peer::start(&part, Bots::None, &options("guest"), KeyChoice::Kept).unwrap();
    let mut table = Table::of(&mut guest, "join");
    until(&mut guest, &mut table, |table| {
        host.poll(|_, _| {});
        table.facts.turn > Some(5)
    });
    // Like a crash: without leaving.
    drop(host);
    until(&mut guest, &mut table, |table| table.asks_way);
    assert!(table.prompt(guest.world()).contains("r = reopen"));
    assert!(press(&mut table, &mut guest, 'w').contains("R = reopen"));
    for (key, way) in [('R', Way::Reopen), ('A', Way::Alone)] {
        press(&mut table, &mut guest, key);
        assert_eq!(table.goes_on.take().map(|run| run.way()), Some(way));
    }
    // The host goes on alone, as it would where it cannot hear the guest.
    let recorded = folder.path().join("host.replay");
    let from = replay::reopen(&recorded).unwrap();
    let part = Part::Branch {
        from: &from,
        replay: &recorded,
        listen,
    };
    let common = Common {
        record: Some(folder.path().join("branch.replay")),
        ..options("host")
    };
    let mut host = Peer::start(&part, Bots::None, &common, KeyChoice::Kept).unwrap();
    until(&mut guest, &mut table, |table| {
        host.poll(|_, _| {});
        table.finds_branch
    });
    assert!(table.prompt(guest.world()).contains("B = enter"));
    let branch = guest.found_branch().unwrap();
    press(&mut table, &mut guest, 'B');
    let way = table.goes_on.take().map(|run| run.way());
    assert_eq!(way, Some(Way::Enter(branch)));
    drop(host);
    let [reopens, run] = [Way::Reopen, Way::Alone].map(|way| guest.new_run(way).unwrap());
    drop(guest);
    let mut gathers = reopens.begin().unwrap();
    let mut table_of_host = Table::of(&mut gathers, "host");
    assert!(table_of_host.notice.contains("n: go on without"));
    press(&mut table_of_host, &mut gathers, 'n');
    assert!(gathers.takes_first_comers());
    drop(gathers);
    let mut alone = run.begin().unwrap();
    let left = table.facts.turn.expect("it has played");
    let mut table = Table::of(&mut alone, "alone");
    until(&mut alone, &mut table, |table| {
        table.facts.turn > Some(left + 5)
    });
    assert!(alone.branch().is_some_and(|(turn, _)| turn.0 + 5 > left));
}

#[test]
fn a_host_removes_a_guest_with_two_keys() {
    let listen = "127.0.0.1:0".parse().unwrap();
    let terms = Terms {
        seats: 3,
        ..Terms::default()
    };
    let hosts = Part::Host {
        terms,
        bots: 0,
        listen,
    };
    let common = Common::default();
    let mut host = Peer::start(&hosts, Bots::None, &common, KeyChoice::Ephemeral).unwrap();
    let ticket = host.ticket().unwrap();
    let joins = Part::Join {
        ticket: &ticket,
        listen,
    };
    let mut guest = Peer::start(&joins, Bots::None, &common, KeyChoice::Ephemeral).unwrap();
    let mut table = Table::of(&mut host, "skirmish");
    let mut refused = false;
    let (mut here, mut removed) = (false, false);
    let began = now();
    while !refused {
        assert!(began.elapsed() < Duration::from_secs(30), "here: {here}");
        table.follow(&mut host);
        host.wait(SHORT);
        for event in guest.poll(|_, _| {}) {
            match event {
                Event::Lobby { peers, .. } => here = peers.len() == 2,
                Event::Ended(ended) => {
                    let why = lockstep::JoinRefused::Removed;
                    assert_eq!(ended.reason, lockstep::EndReason::Refused(why));
                    refused = true;
                }
                _ => {}
            }
        }
        if here && !std::mem::replace(&mut removed, here) {
            // The guest may hear of its place before the host's own screen does.
            host.wait(SHORT);
            table.follow(&mut host);
            assert_eq!(table.prompt(None), "x = remove a guest");
            assert!(press(&mut table, &mut host, 'x').starts_with("remove the guest"));
            assert_eq!(press(&mut table, &mut host, '0'), "no guest has seat 0");
            press(&mut table, &mut host, 'x');
            let done = press(&mut table, &mut host, '1');
            assert!(
                done.starts_with("the guest with seat 1 is removed"),
                "{done}"
            );
        }
    }
}

#[test]
fn addresses_that_cannot_be_saved_are_told_on_the_screen() {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("host.replay");
    // A folder stands where the file belongs.
    let taken = replay::WayBack::beside(&record).path().join("taken");
    std::fs::create_dir_all(taken).unwrap();
    let listen = "127.0.0.1:0".parse().unwrap();
    let hosts = Part::Host {
        terms: Terms {
            seats: 2,
            ..Terms::default()
        },
        bots: 0,
        listen,
    };
    let common = Common {
        record: Some(record),
        ..Common::default()
    };
    let mut host = Peer::start(&hosts, Bots::None, &common, KeyChoice::Ephemeral).unwrap();
    let ticket = host.ticket().unwrap();
    let joins = Part::Join {
        ticket: &ticket,
        listen,
    };
    let common = Common::default();
    let mut guest = Peer::start(&joins, Bots::None, &common, KeyChoice::Ephemeral).unwrap();
    let mut table = Table::of(&mut host, "host");
    until(&mut host, &mut table, |table| {
        guest.poll(|_, _| {});
        let mut log = table.facts.log.iter();
        log.any(|note| note.text.contains("cannot save the addresses"))
    });
}
