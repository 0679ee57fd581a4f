//! S1 and S2: one bundle for each turn, one decision for each epoch, and every log a prefix of one history.

use super::{Checked, Invariant, Judge, Log, signed};
use crate::simulator::Playable;
use lockstep::log::{Bundle, Record, RosterChange, Start};
use lockstep::{LogHash, PeerId};
use sim::Checksum;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What honest peers have agreed on.
#[derive(Default)]
pub(super) struct History {
    start: Option<Arc<Start>>,
    /// By the log's hash before a turn: the hash after it.
    turns: BTreeMap<LogHash, LogHash>,
    /// By the log's hash at a cut: the hash with the decision.
    decisions: BTreeMap<LogHash, LogHash>,
    /// By the log's hash after a turn: the checksum of the world.
    worlds: BTreeMap<LogHash, Checksum>,
}

impl History {
    pub(super) fn begins(&mut self, start: &Arc<Start>) -> &Arc<Start> {
        self.start.get_or_insert_with(|| start.clone())
    }

    pub(super) fn place(&self, id: PeerId) -> Option<u8> {
        let roster = &self.start.as_ref()?.roster;
        let place = roster.iter().position(|peer| peer.peer == id)?;
        Some(place as u8)
    }

    /// The checksum that others have after the turn with this hash, where it is another one.
    pub(super) fn differs(&mut self, hash: LogHash, checksum: Checksum) -> Option<Checksum> {
        let first = *self.worlds.entry(hash).or_insert(checksum);
        (first != checksum).then_some(first)
    }

    pub(super) fn world_after(&self, hash: LogHash) -> Option<Checksum> {
        self.worlds.get(&hash).copied()
    }
}

impl<W: Playable> Judge<W> {
    /// A record stands where it may, and is what the others have.
    pub(super) fn check_record(&mut self, peer: usize, record: &Record) -> Checked {
        let (log, durable) = (&self.peers[peer].log, Invariant::Durable);
        if log.ended || log.start.is_none() != matches!(record, Record::Start(_)) {
            return Err((durable, "a record before the start or after the end".into()));
        }
        match record {
            Record::Start(start) => self.check_start(start),
            Record::Bundle(bundle) if bundle.turn.0 != log.turns() => Err((
                durable,
                format!("turn {} logged, not the next", bundle.turn),
            )),
            Record::Bundle(bundle) => {
                let (tip, two_faced) = (log.tip(), self.has_two_faced());
                let hash = signed::after_turn(tip, bundle);
                let known = *self.history.turns.entry(tip).or_insert(hash);
                if known != hash && !two_faced {
                    let seen = format!("turn {} differs from the others' turn", bundle.turn);
                    return Err((Invariant::Agreement, seen));
                }
                Ok(())
            }
            Record::Keyframe(keyframe) if keyframe.turns != log.turns() => {
                Err((durable, format!("a keyframe of {} turns", keyframe.turns)))
            }
            Record::Roster(change) => {
                let seen = match self.unfounded(peer, change) {
                    None => return Ok(()),
                    Some(seen) => format!("{seen}: {:?}", change.value),
                };
                Err((Invariant::Agreement, seen))
            }
            Record::Continued(_) => Err((durable, "is played on by one player".into())),
            _ => Ok(()),
        }
    }

    fn check_start(&mut self, start: &Arc<Start>) -> Checked {
        let same = Start {
            build: self.history.begins(start).build.clone(),
            ..(**start).clone()
        };
        let known = |id: PeerId| self.peers.iter().any(|file| file.id == id);
        let wanted: u8 = self.peers.iter().map(|file| file.wanted_seats).sum();
        let seats: Vec<u8> = start.seats().iter().map(|seat| seat.0).collect();
        let seen = if self.history.start.as_deref() != Some(&same) {
            "starts another match than the others"
        } else if seats != (0..wanted).collect::<Vec<_>>() {
            "a start of which seats are missing, or there are two of one"
        } else if !start.roster.iter().all(|peer| known(peer.peer)) {
            "a roster of other peers"
        } else if !signed::start_is_signed(start) {
            "a start that not all have signed"
        } else {
            return Ok(());
        };
        Err((Invariant::Agreement, seen.to_owned()))
    }

    /// What is wrong with a roster change that a peer logs, if anything.
    fn unfounded(&mut self, peer: usize, change: &RosterChange) -> Option<String> {
        let log = &self.peers[peer].log;
        let (start, epoch) = (log.start.as_ref()?, log.epochs.last()?);
        let value = &change.value;
        let accepts = signed::accepted_by(start, &epoch.runs, change);
        let votes = accepts
            .iter()
            .filter(|peer| epoch.roster.contains(peer))
            .count();
        let first = epoch
            .roster
            .first()
            .is_some_and(|first| accepts.contains(first));
        let is_in = |peer: &u8| epoch.roster.contains(peer);
        let proofs = change.proofs.iter();
        let cheats: Vec<u8> = proofs
            .filter_map(|proof| {
                let mut runs = log.epochs.iter().rev().map(|epoch| &epoch.runs);
                runs.find_map(|runs| signed::proved(start, runs, proof))
            })
            .collect();
        let anew = |peer: &u8| {
            value.joins.is_some_and(|joins| joins.peer == *peer)
                && self
                    .peer_at(*peer)
                    .is_some_and(|peer| self.peers[peer].run > 0)
        };
        let is_sound = |peer: &u8| {
            let peer = self.peer_at(*peer);
            peer.is_none_or(|peer| {
                !self.is_hostile(peer) && self.scenario.peers[peer].flaw.is_none()
            })
        };
        if value.cut != log.turns() {
            return Some(format!("logged after {} turns", log.turns()));
        }
        if change.epoch as usize + 1 != log.epochs.len() {
            return Some(format!("epoch {} was the last", log.epochs.len() - 1));
        }
        if 2 * votes < epoch.roster.len() || 2 * votes == epoch.roster.len() && !first {
            return Some("decided by no quorum of the roster before".to_owned());
        }
        if let Some(peer) = value.roster.iter().find(|peer| !is_in(peer) && !anew(peer)) {
            return Some(format!("place {peer} comes back for no reason"));
        }
        if let Some(peer) = value.odd.iter().find(is_sound) {
            return Some(format!("place {peer} goes for its world, which is sound"));
        }
        if value.cheats.iter().any(|peer| !cheats.contains(&peer)) {
            return Some("a peer goes for cheating without a proof".to_owned());
        }
        if change.reopening.is_some() {
            return self.unfounded_reopening(peer, change);
        }
        let (tip, hash) = (log.tip(), signed::after_change(log.tip(), change));
        let known = *self.history.decisions.entry(tip).or_insert(hash);
        (known != hash).then(|| "decided otherwise elsewhere".to_owned())
    }

    /// A match is reopened where a quorum's disks say, and no sooner.
    fn unfounded_reopening(&self, peer: usize, change: &RosterChange) -> Option<String> {
        let (log, reopening) = (&self.peers[peer].log, change.reopening.as_ref()?);
        let epoch = log.epochs.last()?;
        let cut = change.value.cut;
        let mut disks = Vec::new();
        for run in &reopening.runs {
            let file = &self.peers[self.peer_at(run.peer)?];
            if file.run == 0 {
                return Some(format!("place {} goes on and has not come", run.peer));
            }
            // What a joiner has followed of peers that stand still counts as recorded.
            let followed = self.scenario.reopening.as_ref()?.some_live();
            let holds = file.given.hashes.get(cut as usize) == log.hashes.last();
            if run.held && !holds && !followed {
                return Some(format!("{run:?} has not recorded turn {cut}"));
            }
            disks.push((run.peer, &file.given));
        }
        let longest = disks.iter().map(|(_, disk)| disk.turns()).max()?;
        for turns in cut + 1..=longest {
            for (_, disk) in &disks {
                let at = |disk: &Log| disk.hashes.get(turns as usize).copied();
                let alike = disks
                    .iter()
                    .filter(|(_, other)| at(other).is_some() && at(other) == at(disk));
                let alike: Vec<u8> = alike.map(|(peer, _)| *peer).collect();
                let votes = alike
                    .iter()
                    .filter(|peer| epoch.roster.contains(peer))
                    .count();
                if 2 * votes > epoch.roster.len() {
                    return Some(format!("a quorum has recorded {turns} turns"));
                }
            }
        }
        None
    }

    /// A turn is logged before it is handed out, and as it was logged.
    pub(super) fn check_handed_out(&self, peer: usize, bundle: &Bundle) -> Checked {
        let file = &self.peers[peer];
        let (turn, (next, anew)) = (bundle.turn.0, file.next);
        // One of few may have decided alone that it belongs.
        let fenced = self.now < file.fenced_until && turn >= anew && file.log.roster().len() > 2;
        if turn != next {
            return Err((
                Invariant::Durable,
                format!("turn {turn} handed out, {next} was next"),
            ));
        }
        if file.log.bundle(turn) != Some(bundle) {
            return Err((
                Invariant::Durable,
                format!("turn {turn} handed out, and not so logged"),
            ));
        }
        if fenced {
            let seen = format!("turn {turn} handed out before a quorum confirmed its incarnation");
            return Err((Invariant::Agreement, seen));
        }
        Ok(())
    }

    /// The log of the core; without one the longest of the newest epoch.
    pub(super) fn canonical(&self) -> Option<Log> {
        let honest = (0..self.peers.len()).filter(|peer| !self.is_hostile(*peer));
        let by_core = honest.max_by_key(|peer| {
            let log = &self.peers[*peer].log;
            (self.is_core(*peer), log.epochs.len(), log.turns())
        });
        let log = &self.peers[by_core?].log;
        log.start.is_some().then(|| log.clone())
    }

    /// Every log is a prefix of the canonical one, but for provisional turns at its end.
    pub(super) fn check_prefixes(&mut self, canonical: &Log) {
        let reopened = canonical
            .records
            .iter()
            .any(|record| matches!(record, Record::Roster(change) if change.reopening.is_some()));
        let lost = self.scenario.reopening.is_some();
        for peer in (0..self.peers.len()).filter(|peer| !self.is_hostile(*peer)) {
            let (file, is_member) = (&self.peers[peer], self.is_core(peer));
            let logs = file
                .past
                .iter()
                .map(|log| (log, false))
                .chain([(&file.log, true)]);
            let beyond = logs.map(|(log, newest)| {
                // The disks of runs that died before a reopening are held against it on their own.
                let is_member = is_member && newest;
                let excused = lost && (reopened || !newest) && !is_member;
                let most = if is_member { 0 } else { self.provisional() };
                let more = log.turns() - log.common(canonical).min(log.turns());
                if excused {
                    0
                } else {
                    more.saturating_sub(most)
                }
            });
            let beyond = beyond.max().unwrap_or(0);
            if beyond > 0 {
                let seen = format!("{beyond} turns more than it may have beyond the history");
                return self.fail(peer, Invariant::Agreement, seen);
            }
        }
    }

    pub(super) fn peer_at(&self, place: u8) -> Option<usize> {
        let start = self.history.start.as_ref()?;
        let id = start.roster.get(usize::from(place))?.peer;
        self.peers.iter().position(|file| file.id == id)
    }
}
