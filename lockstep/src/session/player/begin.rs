//! How a player's part begins: with the match, with its return, or alone. What differs between these is [`Beginning`].

use super::Player;
use crate::Event;
use crate::log::{Keyframe, Peers, Record, RosterChange, TurnFold, start_hash};
use crate::session::Output;
use crate::session::core::Core;
use crate::session::ending::Ending;
use crate::session::ledger::{Batches, Ledger, LogWindow, Places, Tenure};
use crate::session::links::board::Board;
use crate::session::links::dialling::Dialling;
use crate::session::links::uplink::Uplink;
use crate::session::lobby::{Continued, Settled};
use crate::session::membership::{Membership, Since};
use crate::session::rejoin::Returned;
use crate::session::turns::{self, Turns, World};
use crate::session::verify::Verify;
use sim::{Checksum, Seat};
use std::sync::Arc;
use std::time::Duration;

/// What a session's settings say about the match itself; see [`SessionConfig`](crate::session::SessionConfig).
#[derive(Clone, Copy)]
pub(crate) struct Settings {
    pub keyframe_every: Option<Duration>,
    pub stall_limit: Option<Duration>,
    pub suspicion: Duration,
}

/// Where a part begins, and with which peers.
struct Beginning {
    ledger: Ledger,
    /// By place.
    addresses: Vec<Vec<String>>,
    since: Since,
    turns: turns::Beginning,
    /// Peers whose reports this peer has not taken from their beginning on.
    joined_late: Peers,
}

impl Player {
    /// From the first turn of a match on.
    pub(crate) fn new(
        core: &mut Core,
        settled: Settled,
        initial: Checksum,
        settings: Settings,
    ) -> Self {
        let start = Arc::new(settled.start);
        let own_id = core.id();
        let me = start.roster.iter().position(|peer| peer.peer == own_id);
        let me = me.expect("a settled roster holds this peer");
        let plan = start.terms.plan;
        core.out.push(Output::Append(Record::Start(start.clone())));
        core.event(Event::Started {
            match_id: start.match_id,
            own: start.roster[me].seats.clone(),
            seats: start.seat_infos(),
            plan,
        });
        let first = u32::from(plan.delay_turns);
        let tenures = start.roster.iter().map(|_| Tenure::new(0, first, None));
        let beginning = Beginning {
            turns: turns::Beginning {
                fold: TurnFold::new(&start),
                world: World {
                    turns: 0,
                    ticks: 0,
                    executed: 0,
                    checksum: initial,
                },
                reports_from: 0,
                most_unexecuted: core.limits.unexecuted_turns,
                due: settled.begin,
            },
            ledger: Ledger {
                batches: Batches::new(tenures.collect()),
                window: LogWindow::new(0, &[start_hash(&start)], kept(core)),
                places: Places::new(start, me, Vec::new()),
            },
            addresses: settled.addresses,
            since: Since::Start,
            joined_late: Peers::default(),
        };
        let mut player = Player::begin(core, settings, beginning);
        core.tell_contacts(player.contacts());
        player.report(core, me, 0, initial);
        core.out.extend(player.turns.first_world());
        for link in core.links.keys().copied().collect::<Vec<_>>() {
            player.close_older_links(core, link);
        }
        player
    }

    /// The part of a peer that comes back, from the first turn of its epoch on.
    pub(crate) fn returned(core: &mut Core, returned: Returned, settings: Settings) -> Self {
        let Returned { start, me, .. } = returned;
        let changes = &returned.changes;
        let change = changes.last().cloned();
        let change = change.expect("it comes back by a change");
        let (cut, roster) = (change.value.cut, change.value.roster);
        let (delay, first_plan) = (start.terms.longest_delay(), start.terms.plan);
        let all = Peers::first(start.roster.len());
        // Another peer may have come back so shortly before that its batches are still empty by rule.
        let tenures = all.iter().map(|at| {
            let speaks = |change: &&RosterChange| change.new_runs().any(|(peer, _)| peer == at);
            let change = changes.iter().rev().find(speaks);
            let from = change.map_or(0, |change| change.value.cut + delay);
            let left_from = (!roster.contains(at)).then_some(cut);
            Tenure::new(from, from.max(cut), left_from)
        });
        let mut window = LogWindow::new(cut, &returned.hashes, kept(core));
        window.chain(returned.chained);
        // What the others sealed before turns were taken back says nothing of those that took their place.
        changes
            .iter()
            .for_each(|change| window.note_retraction(change));
        let begins = match change.reopening {
            Some(_) => roster,
            None => Peers::default(),
        };
        let own = std::iter::once(me as u8).collect();
        let before = match changes.len().checked_sub(2) {
            Some(at) => changes[at].value.roster,
            None => all,
        };
        let beginning = Beginning {
            turns: turns::Beginning {
                fold: returned.course,
                world: World {
                    turns: cut,
                    ticks: returned.ticks,
                    executed: returned.executed,
                    checksum: returned.checksum,
                },
                reports_from: cut + 1,
                most_unexecuted: core.limits.unexecuted_turns,
                due: returned.due,
            },
            ledger: Ledger {
                batches: Batches::new(tenures.collect()),
                window,
                places: Places::new(start, me, returned.past),
            },
            addresses: returned.addresses,
            joined_late: all.without(begins.or(own)),
            since: Since::Change(change.epoch, change.value),
        };
        let mut player = Player::begin(core, settings, beginning);
        player.branches = returned.branches;
        if player.branch_of().is_some() {
            // Players of the match that was left may go on elsewhere, and neither side waits for the other.
            let others = all.without(roster).without(returned.left);
            others
                .iter()
                .for_each(|at| player.dialling.seek(usize::from(at)));
            for link in core.links.keys().copied().collect::<Vec<_>>() {
                player.tell_of_branch(core, link);
            }
        }
        for (at, since) in returned.unheard_since.into_iter().enumerate() {
            if let Some(since) = since {
                player.membership.note_silence(at, since, cut + delay + 1);
            }
        }
        for change in &returned.changes {
            player.verify.note_earlier(change);
            player.post_earlier(change);
        }
        player.turns.push_change(change.clone());
        let goes = before.without(roster);
        let removed = goes.without(returned.left);
        player.tell_roster(core, &change, before, (goes, removed));
        // It was told the plan of turn 0 alone.
        if player.turns.plan() != first_plan {
            core.event(player.turns.tell_plan(&player.ledger));
        }
        core.out.extend(player.turns.first_world());
        for (link, message) in returned.early {
            if core.links.contains_key(&link) {
                player.received(core, link, message);
            }
        }
        player
    }

    /// The part of a player that goes on alone, from the first turn of its epoch on.
    pub(crate) fn continued(core: &mut Core, continued: Continued, settings: Settings) -> Self {
        let Continued {
            start,
            continuation,
            ..
        } = continued;
        let (turns, plan) = (continuation.turns, start.terms.plan);
        let first = turns + u32::from(plan.delay_turns);
        core.out
            .push(Output::Append(Record::Continued(continuation.clone())));
        core.event(Event::Started {
            match_id: start.match_id,
            own: first_of(continuation.seat, &start.roster[0].seats),
            seats: start.seat_infos(),
            plan,
        });
        let mut window = LogWindow::new(turns, &[continued.hash], kept(core));
        window.chain(continued.chained);
        let beginning = Beginning {
            turns: turns::Beginning {
                fold: continued.course,
                world: World {
                    turns,
                    ticks: continued.ticks,
                    executed: turns,
                    checksum: continued.checksum,
                },
                reports_from: turns,
                most_unexecuted: core.limits.unexecuted_turns,
                due: core.now,
            },
            ledger: Ledger {
                batches: Batches::new(vec![Tenure::new(first, first, None)]),
                window,
                places: Places::new(start, 0, Vec::new()),
            },
            addresses: vec![Vec::new()],
            since: Since::Alone(continuation.epoch + 1),
            joined_late: Peers::default(),
        };
        let mut player = Player::begin(core, settings, beginning);
        let keyframe = Keyframe {
            snapshot: continued.snapshot,
            ..player.turns.keyframe(continued.hash)
        };
        core.out.push(Output::Append(Record::Keyframe(keyframe)));
        player.report(core, 0, turns, continued.checksum);
        player
    }

    fn begin(core: &mut Core, settings: Settings, beginning: Beginning) -> Self {
        let Beginning {
            ledger,
            addresses,
            since,
            turns,
            joined_late,
        } = beginning;
        let Settings {
            keyframe_every,
            stall_limit,
            suspicion,
        } = settings;
        let (places, now) = (&ledger.places, core.now);
        let membership = Membership::new(since, places, core.incarnation, suspicion, now);
        core.keys = places.keys();
        core.trusted = None;
        Player {
            verify: Verify::new(places, turns.reports_from, joined_late),
            board: Board::new(membership.epoch()),
            membership,
            ending: Ending::new(places.len()),
            dialling: Dialling::new(addresses, now),
            turns: Turns::new(turns, &ledger, keyframe_every, stall_limit, now),
            branches: Vec::new(),
            met: Default::default(),
            uplink: Uplink::default(),
            fresh_batch: false,
            next_packet: None,
            over: false,
            ledger,
        }
    }
}

/// Turns that a world may lie behind: their hashes are kept.
fn kept(core: &Core) -> u32 {
    core.limits.unexecuted_turns
}

/// All seats, the one that the player itself plays before the others.
fn first_of(seat: Seat, seats: &[Seat]) -> Vec<Seat> {
    let others = seats.iter().copied().filter(|other| *other != seat);
    std::iter::once(seat).chain(others).collect()
}
