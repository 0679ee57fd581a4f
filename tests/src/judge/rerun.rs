//! S4: what the logs hold re-runs to what they claim, from the start and from any keyframe.

use super::{Invariant, Judge};
use crate::simulator::{Playable, build, execute};
use lockstep::Limits;
use lockstep::log::{Codec, Keyframe, Record, start_hash};
use lockstep::session::Batch;
use sim::Checksum;

/// Turns re-run from a keyframe.
const FROM_KEYFRAME: usize = 40;

impl<W: Playable> Judge<W> {
    pub(super) fn check_logs(&mut self) {
        if self.forged || self.start.is_none() {
            return;
        }
        let Some(checksums) = self.rerun() else {
            return;
        };
        for peer in 0..self.peers.len() {
            if self.hostile == Some(peer) {
                continue;
            }
            if let Err(seen) = self.check_log(peer, &checksums) {
                self.fail(Some(peer), Invariant::Durable, seen);
                return;
            }
        }
    }

    /// Checksums of a fresh world: before turn 0, and after each turn.
    fn rerun(&mut self) -> Option<Vec<Checksum>> {
        let start = self.start.as_ref()?;
        let Some(mut world) = build::<W>(start) else {
            self.fail(None, Invariant::Durable, "a start without a world".into());
            return None;
        };
        let mut checksums = vec![world.checksum()];
        for turn in &self.history {
            execute(&mut world, &turn.bundle);
            checksums.push(world.checksum());
        }
        let differs = self
            .history
            .iter()
            .zip(&checksums[1..])
            .find(|(turn, checksum)| turn.checksum.is_some_and(|live| live != **checksum))
            .map(|(turn, _)| turn.bundle.turn);
        if let Some(turn) = differs {
            let seen = format!("a fresh world differs after turn {turn}");
            self.fail(None, Invariant::Durable, seen);
            return None;
        }
        Some(checksums)
    }

    fn check_log(&self, peer: usize, checksums: &[Checksum]) -> Result<(), String> {
        let file = &self.peers[peer];
        let flawed_from = match self.flaw {
            Some((flawed, turn)) if flawed == peer => turn,
            _ => u32::MAX,
        };
        let records = Codec::default()
            .decode_all(&file.log, &Limits::default())
            .map_err(|error| format!("its log does not read: {error}"))?;
        let mut turns = 0;
        let mut keyframes = 0;
        // What a peer that is out has after the cut is nobody's history; nor what one has followed elsewhere beyond where
        // the match was reopened.
        let cut = match file.was_in() {
            true => self.cut_of(peer),
            false => self.reopened_after.filter(|_| self.some_stand),
        };
        let cut = cut.unwrap_or(u32::MAX);
        for record in &records {
            match record {
                Record::Bundle(_) if turns as u32 >= cut => turns += 1,
                Record::Checksum { turns, .. } if *turns > cut.min(flawed_from) => {}
                Record::Keyframe(keyframe) if keyframe.turns > cut => {}
                Record::End(end) if end.turns > cut && end.signatures.len() == 1 => {}
                Record::Roster(change) if self.is_same_change(change) => {}
                // Decided, and lost with those who had it on disk.
                Record::Roster(_) if turns as u32 >= cut && self.reopened_at.is_some() => {}
                Record::Roster(change) => return Err(format!("holds another change: {change:?}")),
                Record::Continued(_) => return Err("is continued by one player".to_owned()),
                // Held against the others' when it was appended; the turns after it read only by its plan.
                Record::Start(_) => {}
                Record::Bundle(bundle) => {
                    if *bundle != self.history[turns].bundle {
                        return Err(format!("turn {turns} reads otherwise than written"));
                    }
                    turns += 1;
                }
                Record::Checksum { turns, checksum } => {
                    if checksums.get(*turns as usize) != Some(checksum) {
                        return Err(format!("claims {checksum} after {turns} turns"));
                    }
                }
                Record::Mismatch { turns, .. } => {
                    let planted = self.flaw.map(|(_, turn)| turn + 1);
                    if self.hostile.is_none() && planted.is_none_or(|planted| *turns < planted) {
                        return Err(format!("a mismatch after {turns} turns"));
                    }
                }
                Record::Keyframe(keyframe) => {
                    keyframes += 1;
                    if keyframe.turns <= flawed_from && (keyframes < 3 || keyframes % 8 == 0) {
                        self.check_keyframe(keyframe, checksums)?;
                    }
                }
                Record::Attest(batch) => self.check_attest(batch, cut)?,
                Record::End(end) => {
                    let at = end.turns as usize;
                    let checksum = match end.turns > flawed_from {
                        true => Some(end.checksum),
                        false => checksums.get(at).copied(),
                    };
                    let known = (checksum, self.hash_after(at));
                    if at > turns || known != (Some(end.checksum), Some(end.log_hash)) {
                        return Err(format!("the log ends with {end:?}, after {turns} turns"));
                    }
                }
            }
        }
        if turns as u32 != file.appended {
            return Err(format!("{turns} turns of {} read", file.appended));
        }
        Ok(())
    }

    /// A keyframe's world is the world, and goes on like it.
    fn check_keyframe(&self, keyframe: &Keyframe, checksums: &[Checksum]) -> Result<(), String> {
        let at = keyframe.turns as usize;
        let mut world = W::load(&keyframe.snapshot)
            .map_err(|error| format!("keyframe of turn {at} does not load: {error}"))?;
        if Some(&world.checksum()) != checksums.get(at) {
            return Err(format!("keyframe of turn {at} holds another world"));
        }
        if Some(keyframe.log_hash) != self.hash_after(at) {
            return Err(format!("keyframe of turn {at} names another log"));
        }
        let ticks: u64 = self.history[..at]
            .iter()
            .map(|turn| u64::from(turn.bundle.ticks()))
            .sum();
        if keyframe.ticks != ticks {
            return Err(format!("keyframe of turn {at}: {} ticks", keyframe.ticks));
        }
        for (turn, after) in self.history[at..]
            .iter()
            .zip(&checksums[at + 1..])
            .take(FROM_KEYFRAME)
        {
            execute(&mut world, &turn.bundle);
            if world.checksum() != *after {
                let turn = turn.bundle.turn;
                return Err(format!(
                    "from the keyframe of turn {at}, turn {turn} differs"
                ));
            }
        }
        Ok(())
    }

    /// A batch that attests names the history that there is, as far as its log is part of it. A slow world's log has
    /// fewer turns than are complete.
    fn check_attest(&self, batch: &lockstep::log::SignedBatch, cut: u32) -> Result<(), String> {
        let content = Batch::decode(&batch.content)
            .map_err(|error| format!("an attesting batch does not read: {error}"))?;
        let of_hostile = self.hostile.is_some_and(|hostile| {
            let id = self.peers[hostile].id;
            let start = self.start.as_ref();
            start.is_some_and(|start| start.roster[usize::from(batch.peer)].peer == id)
        });
        match self.hash_after(content.complete as usize) {
            Some(hash) if hash == content.log_hash || of_hostile => Ok(()),
            _ if content.complete > cut => Ok(()),
            _ => Err(format!("peer {} attests another history", batch.peer)),
        }
    }

    fn hash_after(&self, turns: usize) -> Option<lockstep::LogHash> {
        match turns {
            0 => self.start.as_ref().map(|start| start_hash(start)),
            _ => self.history.get(turns - 1).map(|turn| turn.hash),
        }
    }
}
