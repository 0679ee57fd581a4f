//! S4: what logs hold re-runs to what they claim, from the start and from any keyframe, and what is signed there holds.

use super::{Checked, Invariant, Judge, Log, signed};
use crate::simulator::{Playable, build, execute};
use lockstep::log::{Keyframe, Record};
use sim::Checksum;

/// Turns that are re-run from a keyframe.
const FROM_KEYFRAME: u32 = 40;

impl<W: Playable> Judge<W> {
    pub(super) fn check_reruns(&mut self, canonical: &Log) {
        let start = canonical.start.as_ref();
        let Some(mut world) = start.and_then(|start| build::<W>(start)) else {
            return self.fail_of(
                None,
                Invariant::Durable,
                "a start without a world".to_owned(),
            );
        };
        let mut checksums = vec![world.checksum()];
        for turn in 0..canonical.turns() {
            let hash = canonical.hashes[turn as usize + 1];
            if let Some(bundle) = canonical.bundle(turn) {
                execute(&mut world, bundle);
            }
            checksums.push(world.checksum());
            let live = self.history.world_after(hash);
            if live.is_some_and(|live| live != world.checksum()) {
                let seen = format!("a fresh world differs after turn {turn}");
                return self.fail_of(None, Invariant::Durable, seen);
            }
        }
        for peer in (0..self.peers.len()).filter(|peer| !self.is_hostile(*peer)) {
            if let Err((invariant, seen)) = self.check_log(peer, canonical, &checksums) {
                return self.fail(peer, invariant, seen);
            }
        }
    }

    /// What a peer's log claims of turns that are in the history.
    fn check_log(&self, peer: usize, canonical: &Log, checksums: &[Checksum]) -> Checked {
        let log = &self.peers[peer].log;
        let durable = |seen| Err((Invariant::Durable, seen));
        let sound = self.scenario.peers[peer].flaw.unwrap_or(u32::MAX);
        let common = log.common(canonical);
        let mut keyframes = 0;
        for record in &log.records {
            match record {
                Record::Checksum { turns, checksum }
                    if *turns <= common.min(sound) && checksums[*turns as usize] != *checksum =>
                {
                    return durable(format!("claims {checksum} after {turns} turns"));
                }
                Record::Mismatch { turns, .. } if !self.differs() => {
                    return durable(format!("a mismatch after {turns} turns"));
                }
                Record::Keyframe(keyframe) if keyframe.turns <= common.min(sound) => {
                    keyframes += 1;
                    if keyframes < 3 || keyframes % 8 == 0 {
                        self.check_keyframe(keyframe, canonical, checksums)?;
                    }
                }
                Record::Attest(batch) => {
                    let hostile = self
                        .peer_at(batch.peer)
                        .is_some_and(|peer| self.is_hostile(peer));
                    let mut runs = log.epochs.iter().rev().map(|epoch| &epoch.runs);
                    let start = log.start.as_ref();
                    let batch = start.and_then(|start| {
                        runs.find_map(|runs| signed::batch_of(start, runs, batch))
                    });
                    let Some(batch) = batch else {
                        return durable("holds a batch whose signature does not hold".to_owned());
                    };
                    let hash = log.hashes.get(batch.complete as usize);
                    let known = batch.complete <= common && !hostile;
                    if known && hash != Some(&batch.log_hash) && batch.complete < log.turns() {
                        return durable(format!("holds a batch of another history: {batch:?}"));
                    }
                }
                Record::End(end) if end.turns <= common.min(sound) => {
                    let at = end.turns as usize;
                    let of_log = (checksums[at], log.hashes[at]);
                    let start = log.start.as_ref();
                    let signers = start.map_or(0, |start| signed::end_signers(start, end));
                    let missing = self.is_core(peer) && signers < self.core().len();
                    if (end.checksum, end.log_hash) != of_log || missing {
                        return durable(format!("ends with {end:?} after {} turns", log.turns()));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// A keyframe's world is the world, and goes on like it.
    fn check_keyframe(
        &self,
        keyframe: &Keyframe,
        canonical: &Log,
        checksums: &[Checksum],
    ) -> Checked {
        let (turns, at) = (keyframe.turns, keyframe.turns as usize);
        let failed = |seen: String| {
            Err((
                Invariant::Durable,
                format!("keyframe of {turns} turns {seen}"),
            ))
        };
        let Ok(mut world) = W::load(&keyframe.snapshot) else {
            return failed("does not load".to_owned());
        };
        let played = (0..turns).filter_map(|turn| canonical.bundle(turn));
        let ticks: u64 = played.map(|bundle| u64::from(bundle.ticks())).sum();
        if world.checksum() != checksums[at] || keyframe.log_hash != canonical.hashes[at] {
            return failed("holds another world or names another log".to_owned());
        }
        if keyframe.ticks != ticks {
            return failed(format!("says {} ticks of {ticks}", keyframe.ticks));
        }
        for turn in turns..canonical.turns().min(turns + FROM_KEYFRAME) {
            if let Some(bundle) = canonical.bundle(turn) {
                execute(&mut world, bundle);
            }
            if world.checksum() != checksums[turn as usize + 1] {
                return failed(format!("goes another way in turn {turn}"));
            }
        }
        Ok(())
    }
}
