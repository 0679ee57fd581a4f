//! Members of a match that do harm when it is reopened.

use super::*;
use crate::Incarnation;
use crate::log::{Document, start_hash};
use crate::session::core::Introduction;
use crate::session::lobby::{Claim, Said};
use crate::session::rejoin::message::{Answer, Ask, decode, encode};

/// A member that says whatever it likes, on a link that it has dialled.
struct Hostile {
    key: usize,
    to: usize,
    link: LinkId,
}

impl Hostile {
    /// It dials, and proves that it is a run of its process.
    fn dials(net: &mut Net, key: usize, to: usize, run: Incarnation) -> Hostile {
        let link = net.mesh.number(OUTSIDE, to);
        net.links.by_hand.push(link);
        let hostile = Hostile { key, to, link };
        let binding = [3; 32];
        let (dialled, address) = (false, "elsewhere".to_owned());
        let up = Input::LinkUp {
            link,
            peer: None,
            dialled,
            address,
            binding,
        };
        net.input(to, up);
        let heard = hostile.hears(net);
        let Some(Control::Hello { nonce, .. }) = heard.first() else {
            panic!("{heard:?}");
        };
        let own = [7; 32];
        let protocol = crate::PROTOCOL;
        hostile.says(
            net,
            &Control::Hello {
                protocol,
                nonce: own,
            },
        );
        let introduction = Introduction {
            dialled: true,
            binding: &binding,
            own_nonce: &own,
            their_nonce: nonce,
            run,
        };
        let proof = Control::Proof {
            peer: id(key),
            incarnation: run,
            signature: introduction.sign(&KeyedHash::new(id(key))).into(),
        };
        hostile.says(net, &proof);
        hostile
    }

    /// It comes to the host of the reopening, and claims so much.
    fn comes(net: &mut Net, key: usize, to: usize, run: u8, claim: Claim) -> Hostile {
        let hostile = Hostile::dials(net, key, to, Incarnation([run; 16]));
        hostile.claims(net, claim);
        hostile
    }

    fn claims(&self, net: &mut Net, claim: Claim) {
        let addresses = Vec::new().into();
        self.says(
            net,
            &Control::Reopen(Said::Come {
                claim,
                accepted: None,
                signed: None,
                addresses,
            }),
        );
    }

    fn sends(&self, net: &mut Net, channel: Channel, bytes: &[u8]) {
        let link = self.link;
        let input = Input::Received {
            link,
            channel,
            bytes,
        };
        net.input(self.to, input);
    }

    fn says(&self, net: &mut Net, message: &Control) {
        self.sends(net, Channel::Control, &message.encode());
    }

    fn took(&self, net: &mut Net, on: Channel) -> Vec<Arc<[u8]>> {
        let mut took = Vec::new();
        net.links.heard.retain(|(link, channel, bytes)| {
            let ours = (*link, *channel) == (self.link, on);
            if ours {
                took.push(bytes.clone());
            }
            !ours
        });
        took
    }

    /// What was said to it since it last listened.
    fn hears(&self, net: &mut Net) -> Vec<Control> {
        let took = self.took(net, Channel::Control);
        let decoded = took
            .iter()
            .map(|bytes| Control::decode(bytes, &Limits::default()));
        decoded.map(|control| control.expect("a message")).collect()
    }

    fn is_asked(&self, net: &mut Net) -> Vec<Ask> {
        let took = self.took(net, Channel::Bulk);
        let asks = took.iter().filter_map(|bytes| decode(bytes).ok());
        asks.collect()
    }

    /// Answers with turns in which nothing happens.
    fn feeds(&self, net: &mut Net, from: u32, turns: usize) {
        let answer = Answer::Log {
            from,
            records: vec![1; turns],
            turns: u32::MAX,
            due_in_ms: 0,
            batches: Vec::new(),
        };
        self.sends(net, Channel::Bulk, &encode(&answer));
    }

    fn signs(&self, net: &mut Net, start: &crate::log::Start) -> bool {
        let heard = self.hears(net);
        let proposal = heard.into_iter().find_map(|said| match said {
            Control::Reopen(Said::Propose(proposal)) => Some(proposal),
            _ => None,
        });
        let Some(proposal) = proposal else {
            return false;
        };
        let reopening = proposal.reopening();
        let document = reopening.at(start, proposal.epoch, proposal.cut);
        let signature = document.sign(&KeyedHash::new(id(self.key))).into();
        let attempt = proposal.attempt;
        self.says(
            net,
            &Control::Reopen(Said::Sign {
                attempt,
                signature,
                accept: None,
            }),
        );
        true
    }
}

fn start_of(disk: &Disk) -> &Arc<crate::log::Start> {
    match disk.log.first() {
        Some(Record::Start(start)) => start,
        _ => panic!("a log begins with its start"),
    }
}

/// What an honest peer with this disk claims.
fn claim_of(disk: &Disk) -> Claim {
    let start = start_of(disk);
    let mut head = crate::log::Head::new(start.clone());
    let signer = KeyedHash::new(id(0));
    for record in &disk.log[1..] {
        head.take(record, &signer).expect("a log that follows");
    }
    Claim {
        start: start_hash(start),
        epoch: head.epoch(),
        turns: head.turns(),
        hash: head.hash(),
    }
}

/// All have the same turns.
fn dead_alike() -> (Net, Vec<Disk>) {
    let (net, disks) = dead(15);
    let shortest = disks.iter().map(Disk::turns).min().unwrap();
    let cut = |disk: Disk| {
        let more = disk.turns() - shortest;
        disk.without_last(more)
    };
    (net, disks.into_iter().map(cut).collect())
}

#[test]
fn guest_with_a_run_of_the_log_is_refused() {
    let (mut net, disks) = dead_alike();
    let start = start_of(&disks[0]);
    net.reopens(0, 90, &disks[0], Duration::from_secs(1));
    net.run(net.now() + Duration::from_millis(100));
    let old = start.roster[1].incarnation;
    let hostile = Hostile::dials(&mut net, 1, 0, old);
    hostile.claims(&mut net, claim_of(&disks[1]));
    net.comes(2, 92, &disks[2], 0);
    net.run(net.now() + Duration::from_millis(1_200));
    hostile.signs(&mut net, start);
    net.run(net.now() + Duration::from_secs(5));
    // An honest peer comes so that was admitted just before the others died.
    assert!(net.faults(0).is_empty(), "{:?}", net.faults(0));
    assert!(net.reopened_at(0).is_some() && net.reopened_at(2) == net.reopened_at(0));
}

#[test]
fn guest_with_a_run_of_a_newer_log_is_refused() {
    let (mut net, old) = dead_alike();
    net.reopens(1, 91, &old[1], NEVER);
    net.comes(0, 90, &old[0], 1);
    net.comes(2, 92, &old[2], 1);
    net.run(net.now() + Duration::from_secs(10));
    let run = net.session(1).core.incarnation;
    let disks = net.all_die();
    // The host has lost all since: it hears of that run from peer 2.
    net.reopens(0, 93, &old[0], Duration::from_secs(1));
    net.run(net.now() + Duration::from_millis(100));
    let hostile = Hostile::dials(&mut net, 1, 0, run);
    let mut claim = claim_of(&disks[2]);
    claim.turns += 1;
    hostile.claims(&mut net, claim);
    net.comes(2, 95, &disks[2], 0);
    net.run(net.now() + Duration::from_millis(1_200));
    hostile.signs(&mut net, start_of(&old[0]));
    net.run(net.now() + Duration::from_secs(6));
    // One of the two that are left has lost what came after, so it does not count; the epoch does.
    let of_epoch = |event: &Event| matches!(event, Event::RosterChanged { epoch: 2, .. });
    assert!(net.peers[0].events.iter().any(of_epoch));
    assert_eq!(net.reopened_at(0), Some(old[0].turns()));
    assert!(net.faults(0).is_empty(), "{:?}", net.faults(0));
    assert_eq!(net.reopened_at(0), net.reopened_at(2));
}

#[test]
fn guest_that_claims_too_many_turns_is_refused() {
    let (mut net, disks) = dead_alike();
    let honest = claim_of(&disks[2]);
    let claims = [
        (
            0,
            Claim {
                turns: u32::MAX,
                ..honest
            },
        ),
        // A newer epoch: no peer here knows how many turns count.
        (
            0,
            Claim {
                turns: u32::MAX,
                epoch: 1,
                ..honest
            },
        ),
        (
            u32::MAX,
            Claim {
                turns: honest.turns + 200_000,
                epoch: 1,
                ..honest
            },
        ),
    ];
    for (pages, claim) in claims {
        net.all_die();
        net.reopens(0, 90, &disks[0], Duration::from_secs(2));
        net.run(net.now() + Duration::from_millis(100));
        let hostile = Hostile::comes(&mut net, 2, 0, 92, claim);
        net.comes(1, 91, &disks[1], 0);
        let mut fed = 0;
        let until = net.now() + Duration::from_secs(8);
        while net.now() < until {
            net.run(net.now() + Duration::from_millis(20));
            for ask in hostile.is_asked(&mut net) {
                if let Ask::Log { from, .. } = ask {
                    hostile.feeds(&mut net, from, 30_000);
                    fed += 1;
                }
            }
        }
        assert!(fed <= pages.min(16), "{fed} pages of 30,000 turns");
        assert!(fed > 0 || pages == 0, "{claim:?} is asked for");
        assert_eq!(net.reopened_at(0), Some(honest.turns), "{claim:?}");
        assert_eq!(net.reopened_at(1), Some(honest.turns));
    }
}

#[test]
fn guest_that_gives_turns_one_by_one_is_refused_in_time() {
    let (mut net, disks) = dead_alike();
    let honest = claim_of(&disks[2]);
    net.reopens(0, 90, &disks[0], Duration::from_secs(2));
    net.run(net.now() + Duration::from_millis(100));
    let claim = Claim {
        turns: honest.turns + 1_000,
        epoch: 1,
        ..honest
    };
    let hostile = Hostile::comes(&mut net, 2, 0, 92, claim);
    net.comes(1, 91, &disks[1], 0);
    for _ in 0..45 {
        net.run(net.now() + Duration::from_secs(1));
        for ask in hostile.is_asked(&mut net) {
            if let Ask::Log { from, .. } = ask {
                hostile.feeds(&mut net, from, 1);
            }
        }
    }
    let refused = hostile.hears(&mut net);
    let too_slow = Control::Refused(JoinRefused::TooSlow);
    assert!(refused.contains(&too_slow), "{refused:?}");
    assert_eq!(net.reopened_at(0), Some(honest.turns));
    assert_eq!(net.reopened_at(1), Some(honest.turns));
}

#[test]
fn host_that_proposes_too_many_turns_fills_no_memory() {
    let (mut net, disks) = dead_alike();
    // The host is not there: an impostor speaks in its place.
    net.comes(1, 91, &disks[1], 0);
    net.comes(0, 90, &disks[0], 2);
    fn reopens(bytes: Vec<u8>) -> Vec<u8> {
        match decode(&bytes) {
            Ok(Answer::Nothing) => encode(&Answer::Reopens),
            _ => bytes,
        }
    }
    net.links.lie = Some(reopens);
    while !matches!(net.session(1).phase, Phase::Lobby(_)) {
        net.run(net.now() + Duration::from_millis(1));
    }
    let link = *between(&net, 1, 0).last().expect("it has dialled");
    net.links.by_hand.push(link);
    let (key, to) = (0, 1);
    let hostile = Hostile { key, to, link };
    let honest = claim_of(&disks[1]);
    let proposal = crate::session::lobby::Proposal {
        attempt: 1,
        epoch: 0,
        cut: u32::MAX,
        log_hash: honest.hash,
        runs: Vec::new(),
        decided: None,
    };
    hostile.says(&mut net, &Control::Reopen(Said::Propose(proposal)));
    let mut fed = 0;
    loop {
        let asks = hostile.is_asked(&mut net);
        let from = asks.iter().find_map(|ask| match ask {
            Ask::Log { from, .. } => Some(*from),
            _ => None,
        });
        let Some(from) = from else { break };
        fed += 1;
        assert!(fed <= 16, "{fed} pages of 30,000 turns");
        hostile.feeds(&mut net, from, 30_000);
    }
    let refused = EndReason::Refused(JoinRefused::OtherHistory);
    assert_eq!(net.end_of(1), Some(&refused));
}

#[test]
fn guest_that_comes_and_goes_holds_up_no_reopening() {
    // It takes its leave as soon as it is proposed to go on, or comes late every time.
    for late in [false, true] {
        let (mut net, disks) = dead_alike();
        let claim = claim_of(&disks[2]);
        net.reopens(0, 90, &disks[0], Duration::from_secs(1));
        net.comes(1, 91, &disks[1], 0);
        if late {
            net.run(net.now() + Duration::from_millis(1_010));
        }
        let mut run = 92;
        let mut hostile = None;
        let begin = net.now();
        while net.reopened_at(1).is_none() && net.now() < begin + Duration::from_secs(20) {
            let at: Hostile = hostile
                .take()
                .unwrap_or_else(|| Hostile::comes(&mut net, 2, 0, run, claim));
            net.run(net.now() + Duration::from_millis(20));
            let proposed = |said: &Control| matches!(said, Control::Reopen(Said::Propose(_)));
            if late || at.hears(&mut net).iter().any(proposed) {
                at.says(&mut net, &Control::Bye);
                run += 1;
            } else {
                hostile = Some(at);
            }
        }
        assert_eq!(net.reopened_at(1), Some(claim.turns), "late: {late}");
        let took = net.now() - begin;
        assert!(took < Duration::from_secs(5), "late: {late}, {took:?}");
    }
}

#[test]
fn late_guest_of_a_reopening_is_back_at_once() {
    let (mut net, disks) = dead_alike();
    net.reopens(0, 90, &disks[0], Duration::from_secs(1));
    net.comes(1, 91, &disks[1], 0);
    // It asks before the others have signed.
    net.run(net.now() + Duration::from_millis(980));
    net.comes(2, 92, &disks[2], 0);
    net.run(net.now() + Duration::from_secs(15));
    assert!(net.reopened_at(0).is_some());
    let causes = net.causes(2);
    assert!(
        causes == [RosterCause::Rejoined] || causes == [RosterCause::Reopened],
        "{causes:?}, {:?}",
        net.end_of(2)
    );
    net.is_one_of_them(2, 0);
}

#[test]
fn stalled_peer_does_not_keep_the_others_from_reopening() {
    // Its process lives, without a quorum, and the host finds it: it has the match to give, and no peer plays it.
    let mut net = Net::new(3, Plan::default(), None);
    net.run(Duration::from_secs(15));
    let disk = |net: &Net, at: usize| {
        let mut log = net.peers[at].recording.records.clone();
        log.retain(|record| matches!(record, Record::Start(_) | Record::Bundle(_)));
        let keyframes = Vec::new();
        Disk {
            log,
            keyframes,
            accepted: None,
            signed: None,
        }
    };
    let disks = [disk(&net, 0), disk(&net, 1)];
    net.kill(0);
    net.kill(1);
    net.links.silent.retain(|at| *at == 1);
    net.reopens_near(0, 90, &disks[0], NEVER, &[2]);
    net.run(net.now() + Duration::from_secs(6));
    assert_eq!(net.end_of(0), None, "no peer plays");
}

#[test]
fn false_word_of_a_reopening_keeps_no_joiner_out() {
    fn reopens(bytes: Vec<u8>) -> Vec<u8> {
        match decode(&bytes) {
            Ok(Answer::Outline { .. } | Answer::Log { .. }) => encode(&Answer::Reopens),
            _ => bytes,
        }
    }
    // The other one is reached at once, or only when this peer waits at the liar's already.
    for later in [false, true] {
        let mut net = Net::new(3, Plan::default(), None);
        net.run(Duration::from_secs(15));
        let mut log = net.peers[2].recording.records.clone();
        log.retain(|record| matches!(record, Record::Start(_) | Record::Bundle(_)));
        net.kill(2);
        net.links.lie = Some(reopens);
        net.links.deaf_between = Vec::from_iter(later.then_some((1, 2)));
        net.run(net.now() + Duration::from_secs(8));
        net.restart(2, 92, log, &[0, 1]);
        net.run(net.now() + Duration::from_secs(6));
        if later {
            assert!(matches!(net.session(2).phase, Phase::Lobby(_)));
        }
        net.links.deaf_between.clear();
        net.run(net.now() + Duration::from_secs(25));
        assert_eq!(
            net.causes(2),
            [RosterCause::Rejoined],
            "later: {later}, {:?}",
            net.end_of(2)
        );
        assert_eq!(net.session(2).status(), Status::Running);
    }
}

#[test]
fn joiner_refused_at_a_false_reopening_looks_further() {
    fn reopens(bytes: Vec<u8>) -> Vec<u8> {
        match decode(&bytes) {
            Ok(Answer::Outline { .. } | Answer::Log { .. }) => encode(&Answer::Reopens),
            _ => bytes,
        }
    }
    let ends = [
        Control::Bye,
        Control::Refused(JoinRefused::OtherHistory),
        Control::Refused(JoinRefused::GoesOn),
    ];
    for says in ends {
        let mut net = Net::new(3, Plan::default(), None);
        net.run(Duration::from_secs(15));
        let mut log = net.peers[2].recording.records.clone();
        log.retain(|record| matches!(record, Record::Start(_) | Record::Bundle(_)));
        net.kill(2);
        net.links.lie = Some(reopens);
        net.links.deaf_between = vec![(1, 2)];
        net.run(net.now() + Duration::from_secs(8));
        net.restart(2, 92, log, &[0, 1]);
        let gathers = |net: &Net| matches!(net.session(2).phase, Phase::Lobby(_));
        let until = net.now() + Duration::from_secs(8);
        while !gathers(&net) && net.now() < until {
            net.run(net.now() + Duration::from_millis(10));
        }
        assert!(gathers(&net));
        // The liar says so on whatever link there is between them.
        let links = net.session(2).core.links_to(id(0));
        for link in links.map(|link| link.id).collect::<Vec<_>>() {
            let (key, to) = (0, 2);
            Hostile { key, to, link }.says(&mut net, &says);
        }
        assert!(!gathers(&net) && net.end_of(2).is_none(), "{says:?}");
        net.links.lie = None;
        net.links.deaf_between.clear();
        net.run(net.now() + Duration::from_secs(20));
        assert_eq!(
            net.causes(2),
            [RosterCause::Rejoined],
            "{says:?}: {:?}",
            net.end_of(2)
        );
    }
}
