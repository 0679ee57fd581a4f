//! S4: logs re-run to their claims, from the start and from every keyframe, and their signatures hold.

use super::*;

/// The number of turns re-run from a keyframe.
const FROM_KEYFRAME: usize = 20;

impl Judge {
    /// The history re-runs to the live worlds, and the claims of logs about it are true.
    pub(super) fn check_reruns<W: Playable>(&self, canonical: &Log) {
        let start = canonical.start.as_ref();
        let Some(mut world) = start.and_then(|start| build::<W>(start)) else {
            return self.must(RUN, Durable, start)(false, "a start without a world");
        };
        let mut worlds = vec![world.checksum()];
        for (bundle, hash) in canonical.turns.iter().zip(&canonical.hashes[1..]) {
            execute(&mut world, bundle);
            worlds.push(world.checksum());
            let alike = |live: &Checksum| *live == world.checksum();
            let holds = self.worlds.get(hash).is_none_or(alike);
            self.must(RUN, Durable, bundle)(holds, "a fresh world differs");
        }
        for peer in self.scenario.honest() {
            for log in self.peers[peer].logs() {
                self.check_claims::<W>(peer, log, canonical, &worlds);
            }
        }
    }

    /// The log of a core peer that played to the end has checksums up to there, a batch of each core peer, and the keyframes
    /// that its peer wants.
    pub(super) fn check_marks(&self, canonical: &Log) {
        let (limit, delay) = (self.scenario.turn_limit, self.scenario.delay());
        // Where plans are adaptive, a keyframe counts turns of twice the shortest length.
        let first = canonical
            .turns
            .first()
            .map_or(self.scenario.plan, |of| of.plan);
        let turn = match self.scenario.adaptive {
            true => 2 * first.turn().min(plan_for(0, first.tick_ms).turn()),
            false => first.turn(),
        };
        let turn = turn.as_millis();
        let mut newest = canonical.roster(u32::MAX).iter();
        let is_core_alone = newest.all(|peer| self.is_core(*peer));
        let members = self.core.members.iter().copied();
        let by_limit = |peer: &usize| self.peers[*peer].ended_by() == Some(&EndReason::TurnLimit);
        for peer in members.filter(by_limit) {
            let file = &self.peers[peer];
            let (mut checked, mut keyframes, mut attests) = (0, BTreeSet::new(), BTreeSet::new());
            for record in &file.log.records {
                match record {
                    Record::Checksum { turns, .. } => checked = *turns,
                    Record::Keyframe(of) => _ = keyframes.insert(of.turns),
                    Record::Attest(of) => _ = attests.insert(self.at(of.peer)),
                    _ => {}
                }
            }
            let every = self.scenario.peers[peer].keyframe_every;
            let every = every.map_or(u128::MAX, |every| every.as_millis() / turn);
            let every = u32::try_from(every.max(1)).unwrap_or(u32::MAX);
            let handed = file.handed.iter();
            let since = handed.filter(|(_, at, _)| Some(*at) > self.core.due);
            let mut wanted = since
                .map(|(turn, ..)| turn + 1)
                .filter(|of| of % every == 0);
            let has_all = wanted.all(|of| of >= limit || keyframes.contains(&of));
            let must = self.must(peer, Durable, (checked, &keyframes, &attests));
            // A peer outside may not tell what its world is.
            let is_checked = checked + 3 * delay >= limit || !is_core_alone;
            must(is_checked, "has too few checksums");
            let is_attested = self.core.members.iter().all(|of| attests.contains(of));
            must(is_attested, "has no batch of a core peer");
            must(has_all, "has too few keyframes");
        }
    }

    /// The claims about turns of the history in the log of one of a peer's runs.
    fn check_claims<W: Playable>(
        &self,
        peer: usize,
        log: &Log,
        canonical: &Log,
        worlds: &[Checksum],
    ) {
        let common = log.common(canonical);
        let sound = common.min(self.scenario.peers[peer].flaw.unwrap_or(u32::MAX));
        let is_world = |turns: u32, of: &Checksum| turns > sound || worlds[turns as usize] == *of;
        let is_log = |turns: u32, of| turns > common || log.hashes[turns as usize] == of;
        for record in &log.records {
            let must = self.must(peer, Durable, record);
            match record {
                Record::Checksum { turns, checksum } => {
                    must(is_world(*turns, checksum), "claims another world");
                }
                Record::Mismatch { .. } => must(self.scenario.differs(), "claims a mismatch"),
                Record::Keyframe(of) if of.turns <= sound => {
                    must(is_true::<W>(of, canonical, worlds), "is no keyframe");
                }
                Record::Attest(batch) => {
                    let said = formats::batch_of(log, batch);
                    let alike = said.is_some_and(|(_, of)| is_log(of.complete, of.log_hash.0));
                    must(alike, "keeps a batch unsigned, or of another log");
                }
                Record::End(end) => {
                    let signers = formats::end_signers(log, end);
                    let signed = self.core.members.iter().all(|of| signers.contains(of));
                    must(signed || !self.is_core(peer), "ends without the core");
                    must(is_world(end.turns, &end.checksum), "ends elsewhere");
                    must(is_log(end.turns, end.log_hash.0), "ends another log");
                }
                _ => {}
            }
        }
    }
}

/// Whether a keyframe holds the history's world, and re-runs like it.
fn is_true<W: Playable>(keyframe: &Keyframe, canonical: &Log, worlds: &[Checksum]) -> bool {
    let (at, turns) = (keyframe.turns as usize, &canonical.turns);
    let Ok(mut world) = W::load(&keyframe.snapshot) else {
        return false;
    };
    let ticks = turns[..at].iter().map(|bundle| u64::from(bundle.ticks()));
    let plan = (keyframe.plan, keyframe.paused);
    let next = turns.get(at).map_or(plan, |of| (of.plan, of.paused));
    let names = keyframe.ticks == ticks.sum::<u64>() && keyframe.log_hash.0 == canonical.hashes[at];
    let mut rerun = (at..worlds.len()).take(FROM_KEYFRAME);
    let goes_on = rerun.all(|at| {
        let alike = world.checksum() == worlds[at];
        turns.get(at).iter().for_each(|of| execute(&mut world, of));
        alike
    });
    next == plan && names && goes_on
}
