//! Of somebody who signs two histories: the others end with one, and it is as if the other had never been.

use super::{Invariant, Judge};
use crate::simulator::{Playable, build, execute};
use lockstep::log::{Bundle, Codec, Record, RosterChange, What};
use lockstep::sign::{Ed25519, KeyedHash, Signer};
use lockstep::{EndReason, Limits};
use sim::Seat;
use std::collections::BTreeMap;

impl<W: Playable> Judge<W> {
    pub(super) fn check_two_faced(&mut self) {
        let Some(from) = self.two_faced.filter(|_| self.start.is_some()) else {
            return;
        };
        // Turns go no further than this before everybody knows that logs differ.
        let at_the_end = from + self.command_delay + 2 > self.turn_limit;
        if let Err((peer, invariant, seen)) = self.one_history(at_the_end) {
            self.fail(Some(peer), invariant, seen);
        }
    }

    /// Where it comes to light as the match ends, somebody may have ended it before, with fewer signatures than it asked
    /// for: that one's result is not agreed on, it need not have heard of the proof, and the others may lack its vote.
    fn one_history(&self, at_the_end: bool) -> Result<(), (usize, Invariant, String)> {
        // Who died, or stood still until the others went on without it, has no part in how they end.
        let plays = |peer: &usize| {
            let file = &self.peers[*peer];
            let is_dead = file.is_dead();
            let ended = file.ended.as_ref().map(|(_, ended)| &ended.reason);
            let is_out = file.froze && ended == Some(&EndReason::Removed);
            self.hostile != Some(*peer) && !is_dead && !is_out
        };
        let honest: Vec<usize> = (0..self.peers.len()).filter(plays).collect();
        let mut first: Option<(Vec<Bundle>, Vec<RosterChange>)> = None;
        let end_of = |peer: usize| self.peers[peer].ended.as_ref().map(|(_, ended)| ended);
        let is_unsure = |peer: usize| end_of(peer).is_some_and(|ended| ended.agreed < ended.of);
        let went = |peer: &usize| {
            let reason = end_of(*peer).map(|ended| &ended.reason);
            is_unsure(*peer) && reason == Some(&EndReason::TurnLimit)
        };
        let excused = at_the_end && honest.iter().any(went);
        for peer in &honest {
            let (file, ended) = (&self.peers[*peer], end_of(*peer));
            if excused && is_unsure(*peer) {
                continue;
            }
            let at = |invariant| move |seen: String| (*peer, invariant, seen);
            // Who comes back may find the proof in the log alone; who alone was told otherwise may have died with it.
            let proved = !self.named_by.is_empty();
            let named = proved && (self.named_by.contains(peer) || file.returned.is_some());
            if named != proved && !at_the_end {
                return Err(at(Invariant::Blame)("never heard of the proof".to_owned()));
            }
            let reason = ended.map(|ended| ended.reason.clone());
            if reason != Some(EndReason::TurnLimit) || file.appended != self.turn_limit {
                let seen = format!("ended as {reason:?} after {} turns", file.appended);
                return Err(at(Invariant::Progress)(seen));
            }
            if file.undone > 2 * self.command_delay {
                let seen = format!("took back {} turns", file.undone);
                return Err(at(Invariant::Agreement)(seen));
            }
            let log = self.read(*peer).map_err(at(Invariant::Durable))?;
            if named && !at_the_end {
                self.proved(&log.1).map_err(at(Invariant::Agreement))?;
            }
            let known = first.get_or_insert_with(|| log.clone());
            let values = |changes: &[RosterChange]| -> Vec<_> {
                let values = changes.iter().map(|change| change.value);
                // What is decided behind the last turn not everybody waits for.
                values.filter(|value| value.cut < self.turn_limit).collect()
            };
            if known.0 != log.0 || values(&known.1) != values(&log.1) {
                let seen = "ends with another history than the others".to_owned();
                return Err(at(Invariant::Agreement)(seen));
            }
            self.executed_alike(*peer, &log.0)
                .map_err(at(Invariant::Durable))?;
        }
        let Some((bundles, _)) = first else {
            return Ok(());
        };
        // What a run that died had issued may be lost with it.
        for peer in honest {
            if self.peers[peer].returned.is_some() {
                continue;
            }
            let lost = |seen| (peer, Invariant::NoLoss, seen);
            self.holds_commands(peer, &bundles).map_err(lost)?;
        }
        Ok(())
    }

    fn read(&self, peer: usize) -> Result<(Vec<Bundle>, Vec<RosterChange>), String> {
        let records = Codec::default()
            .decode_all(&self.peers[peer].log, &Limits::default())
            .map_err(|error| format!("its log does not read: {error}"))?;
        let mut bundles = Vec::new();
        let mut changes = Vec::new();
        for record in records {
            match record {
                Record::Bundle(bundle) => bundles.push(bundle),
                Record::Roster(change) => changes.push(change),
                Record::Mismatch { turns, .. } => {
                    return Err(format!("a mismatch after {turns} turns"));
                }
                _ => {}
            }
        }
        Ok((bundles, changes))
    }

    /// The log says who goes, and proves why.
    fn proved(&self, changes: &[RosterChange]) -> Result<(), String> {
        let start = self.start.as_ref().ok_or("no start")?;
        let hostile = self.hostile.map(|peer| self.peers[peer].id);
        let verify = |peer, bytes: &[u8], signature: &[u8; 64]| {
            Ed25519::new(&[0; 32]).verify(peer, bytes, signature)
                || KeyedHash::new(peer).verify(peer, bytes, signature)
        };
        let mut proofs = changes.iter().flat_map(|change| &change.proofs);
        let proved = proofs.any(|proof| {
            let who = proof.holds(start, verify);
            let who = who.and_then(|place| start.roster.get(usize::from(place)));
            who.is_some_and(|who| Some(who.peer) == hostile)
        });
        let out = changes.last().is_some_and(|change| {
            let mut stay = change.value.roster.iter();
            stay.all(|place| Some(start.roster[usize::from(place)].peer) != hostile)
        });
        match proved && out {
            true => Ok(()),
            false => Err(format!("its log proves nothing: {changes:?}")),
        }
    }

    /// A fresh world that executes the log is the one that this peer ended with.
    fn executed_alike(&self, peer: usize, bundles: &[Bundle]) -> Result<(), String> {
        let start = self.start.as_ref().ok_or("no start")?;
        let mut world = build::<W>(start).ok_or("a start without a world")?;
        bundles
            .iter()
            .for_each(|bundle| execute(&mut world, bundle));
        let ended = self.peers[peer].checksum;
        match Some(world.checksum()) == ended {
            true => Ok(()),
            false => Err(format!(
                "ended with world {ended:?}, not {}",
                world.checksum()
            )),
        }
    }

    /// All that its players issued is there, in order and once, but for what came too late.
    fn holds_commands(&self, peer: usize, bundles: &[Bundle]) -> Result<(), String> {
        let mut found: BTreeMap<Seat, Vec<&[u8]>> = BTreeMap::new();
        for entry in bundles.iter().flat_map(|bundle| &bundle.entries) {
            if let What::Command(bytes) = &entry.what {
                found.entry(entry.seat).or_default().push(bytes);
            }
        }
        for seat in &self.peers[peer].own {
            let issued = self.issued.get(seat).map_or(&[][..], Vec::as_slice);
            let found = found.get(seat).map_or(&[][..], Vec::as_slice);
            let alike = found.len() <= issued.len()
                && found
                    .iter()
                    .zip(issued)
                    .all(|(found, issued)| **found == issued.bytes);
            if !alike {
                return Err(format!("commands of {seat:?} are not as issued"));
            }
            let late = |handed: u32| handed + 2 * self.command_delay + 40 >= self.turn_limit;
            let vanished = issued[found.len()..]
                .iter()
                .any(|issued| !late(issued.handed_turns));
            // Here each ends its own pause: that of somebody who goes lasts as long as its budget.
            let paused = bundles.last().is_some_and(|bundle| bundle.paused);
            if vanished && !paused && !self.is_busy_in(peer, bundles) {
                return Err(format!("a command of {seat:?} vanished"));
            }
        }
        Ok(())
    }

    /// Whether a peer still worked off its commands when the match ended.
    fn is_busy_in(&self, peer: usize, bundles: &[Bundle]) -> bool {
        let last = bundles
            .iter()
            .rev()
            .take(2 * self.command_delay as usize + 6);
        let mut entries = last.flat_map(|bundle| &bundle.entries);
        entries.any(|entry| {
            matches!(entry.what, What::Command(_)) && self.peers[peer].own.contains(&entry.seat)
        })
    }
}
