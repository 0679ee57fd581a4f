//! S3: what the history holds is what players issued: every command once, in order, and without delay.

use super::{Invariant, Judge, Log};
use crate::simulator::Playable;
use lockstep::log::{Bundle, Record, What};
use sim::{Seat, SeatState};
use std::collections::BTreeMap;

/// A command, when its player issued it.
pub(super) struct Issued {
    peer: usize,
    run: u32,
    /// The turn that its peer's session was to hand out next.
    next: u32,
    /// Its peer had been in the core for a while.
    prompt: bool,
    bytes: Vec<u8>,
}

/// Bytes of a peer's commands in a turn up to which a batch certainly has room: 700 less signature, checksums of a
/// catch-up, slack and heads.
const ROOMY: usize = 300;

/// Commands of a seat in a log.
pub(super) fn commands_of(log: &Log, seat: Seat) -> u32 {
    let bundles = log.records.iter().filter_map(|record| match record {
        Record::Bundle(bundle) => Some(bundle),
        _ => None,
    });
    let entries = bundles.flat_map(|bundle| &bundle.entries);
    let own = entries.filter(|entry| entry.seat == seat && matches!(entry.what, What::Command(_)));
    own.count() as u32
}

/// The walk over a history.
#[derive(Default)]
struct Walk {
    /// By seat: commands issued that are passed, and the turn of each that was executed.
    passed: BTreeMap<Seat, usize>,
    executed: BTreeMap<(Seat, usize), u32>,
    /// By turn and peer: bytes of commands.
    used: BTreeMap<(u32, usize), usize>,
    texts: BTreeMap<usize, usize>,
    asks: BTreeMap<usize, u32>,
    paused: bool,
}

impl<W: Playable> Judge<W> {
    /// A player issued a command, which the session has been given.
    pub fn issued(&mut self, peer: usize, seat: Seat, bytes: Vec<u8>) {
        let file = &self.peers[peer];
        let since = self.core.as_ref().map(|core| core.due);
        let issued = Issued {
            peer,
            run: file.run,
            next: file.next.0,
            prompt: self.is_core(peer) && since.is_some_and(|due| self.now > due),
            bytes,
        };
        self.issued.entry(seat).or_default().push(issued);
    }

    /// The history holds exactly what players issued.
    pub(super) fn check_commands(&mut self, canonical: &Log) {
        let mut walk = Walk::default();
        let mut epochs = canonical.epochs.iter().peekable();
        let mut roster: &[u8] = &[];
        for turn in 0..canonical.turns() {
            let Some(bundle) = canonical.bundle(turn) else {
                return;
            };
            while let Some(epoch) = epochs.next_if(|epoch| epoch.begins <= turn) {
                roster = &epoch.roster;
            }
            if let Err(seen) = self.check_bundle(&mut walk, bundle, roster) {
                let seen = format!("turn {turn}: {seen}");
                return self.fail_of(None, Invariant::NoLoss, seen);
            }
        }
        self.check_promptness(&walk, canonical);
    }

    fn check_bundle(&self, walk: &mut Walk, bundle: &Bundle, roster: &[u8]) -> Result<(), String> {
        let delay = u32::from(self.scenario.plan.delay_turns);
        let said = bundle
            .entries
            .iter()
            .any(|entry| !matches!(entry.what, What::Seat(_)));
        if bundle.turn.0 < delay && said {
            return Err("it is not empty".to_owned());
        }
        if !bundle.entries.is_sorted_by_key(|entry| entry.seat) {
            return Err("it is out of seat order".to_owned());
        }
        if bundle.paused != walk.paused {
            return Err(format!("paused is {}", bundle.paused));
        }
        for entry in &bundle.entries {
            let Some(owner) = self.owner(entry.seat) else {
                return Err(format!("{:?} has no owner", entry.seat));
            };
            let (file, hostile) = (&self.peers[owner], self.is_hostile(owner));
            let is_in = self
                .index_of(owner)
                .is_some_and(|place| roster.contains(&place));
            match &entry.what {
                What::Command(_) if bundle.paused => {
                    return Err("a paused turn has commands".to_owned());
                }
                What::Command(bytes) => {
                    *walk.used.entry((bundle.turn.0, owner)).or_default() += bytes.len() + 3;
                    self.pass_command(walk, bundle.turn.0, entry.seat, bytes, hostile)?;
                }
                What::Seat(state) => {
                    let founded = match state {
                        SeatState::Played => is_in && file.run > 0,
                        SeatState::Idle | SeatState::Ai => {
                            *state == self.scenario.absent.state()
                                && (!is_in || file.left || hostile)
                        }
                        SeatState::Resigned => false,
                    };
                    if !founded {
                        return Err(format!("{state:?} for {:?}", entry.seat));
                    }
                }
                What::Pause | What::Resume => {
                    walk.paused = entry.what == What::Pause;
                    let asks = walk.asks.entry(owner).or_default();
                    *asks += 1;
                    if *asks > file.pause_asks && !hostile {
                        return Err("no player asked to pause".to_owned());
                    }
                }
                What::Chat(text) => {
                    let next = walk.texts.entry(owner).or_default();
                    let texts = file.texts.iter().skip(*next);
                    let skipped = texts.take_while(|other| *other != text).count();
                    *next += skipped + 1;
                    if *next > file.texts.len() && !hostile {
                        return Err(format!("no player wrote {text:?}, or it was there before"));
                    }
                }
                What::Load(_) if hostile || file.slow_until.is_some() => {}
                What::Load(load) => return Err(format!("load {load} for {:?}", entry.seat)),
            }
        }
        Ok(())
    }

    /// A command is the next that its player issued. What a run that died had issued may be lost with it.
    fn pass_command(
        &self,
        walk: &mut Walk,
        turn: u32,
        seat: Seat,
        bytes: &[u8],
        hostile: bool,
    ) -> Result<(), String> {
        if hostile {
            return Ok(());
        }
        let next = walk.passed.entry(seat).or_default();
        let issued = self.issued.get(&seat).map_or(&[][..], Vec::as_slice);
        let rest = issued.get(*next..).unwrap_or_default();
        let Some(at) = rest.iter().position(|issued| issued.bytes == bytes) else {
            return Err(format!(
                "{seat:?} never issued that command, or it was there before"
            ));
        };
        if rest[..at].iter().any(|skipped| skipped.run >= rest[at].run) {
            return Err(format!("command {next} of {seat:?} was passed over"));
        }
        walk.executed.insert((seat, *next + at), turn);
        *next += at + 1;
        Ok(())
    }

    /// No command of a core peer waits beside a batch that has room for it.
    fn check_promptness(&mut self, walk: &Walk, canonical: &Log) {
        let delay = u32::from(self.scenario.plan.delay_turns);
        // What is issued in a pause is sealed behind it.
        let is_paused = |turn: u32| {
            let mut before = turn.saturating_sub(delay)..=turn;
            before.any(|turn| canonical.bundle(turn).is_none_or(|bundle| bundle.paused))
        };
        let mut found = None;
        for (seat, issued) in &self.issued {
            for (number, issued) in issued
                .iter()
                .enumerate()
                .filter(|(_, issued)| issued.prompt)
            {
                let executed = walk.executed.get(&(*seat, number)).copied();
                let until = executed.unwrap_or(canonical.turns());
                let room = (issued.next + delay + 2..until).find(|turn| {
                    let used = walk.used.get(&(*turn, issued.peer)).copied().unwrap_or(0);
                    !is_paused(*turn) && (used == 0 || used + issued.bytes.len() <= ROOMY)
                });
                if let Some(turn) = room {
                    found = found.or(Some((issued.peer, *seat, number, turn)));
                }
            }
        }
        if let Some((peer, seat, number, turn)) = found {
            let seen =
                format!("command {number} of {seat:?} is not in turn {turn}, which has room");
            self.fail(peer, Invariant::NoLoss, seen);
        }
    }

    fn owner(&self, seat: Seat) -> Option<usize> {
        let log = self.peers.iter().find_map(|file| file.log.start.as_ref());
        let place = log?.peer_with(seat)?.peer;
        self.peers.iter().position(|file| file.id == place)
    }
}
