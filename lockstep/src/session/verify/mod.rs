//! Verification: do all peers have the same world and the same log, and which of them are in the wrong?
//!
//! A checksum says that worlds differ, a log hash that logs do; neither says which peer is right. Two signed batches of one
//! peer for one turn convict it. Without a proof a quorum judges (`minority`), and where there is none either, the match
//! stops.

mod checksums;
mod dispute;
mod equivocation;
mod finality;
mod finding;
mod logs;
mod minority;
mod reconcile;
mod reports;
#[cfg(test)]
mod tests;

pub(crate) use equivocation::Weighed;
pub(crate) use finding::{Finding, minority_of, show_from, side};
pub(crate) use reconcile::{Reconciled, Wanted};

use super::Agreed;
use super::ledger::{Ledger, Places};
use super::timers::{Timer, Timers};
use super::wire::WireBatch;
use crate::log::{
    Batch, End, Equivocation, OnDesync, Peers, Record, RosterChange, TurnFold, Value, Voters,
};
use crate::sign::Signer;
use crate::{Desync, DesyncSide, Fault, LogHash, TurnNumber};
use checksums::{Checksums, Compared};
use dispute::{Dispute, Disputes};
use equivocation::Proofs;
use finding::{desync_sides, log_mismatch, show_reports, sides_of_worlds};
use minority::{Minority, Verdict};
use reconcile::Search;
use reports::{Report, Reports};
use sim::Checksum;
use std::time::Duration;

/// A peer that has another world and tells of a later log than this one may have another log: soon it can be compared.
const EXPLAINED_WITHIN: Duration = Duration::from_secs(2);

/// What verification is told of the rest of the match.
#[derive(Clone, Copy)]
pub(crate) struct Surroundings {
    pub now: Duration,
    pub voters: Voters,
    pub epoch_began: Duration,
    /// The match has stopped for a difference already.
    pub desynced: bool,
    /// Turns that this peer's world has executed, and its checksum.
    pub executed: u32,
    pub checksum: Checksum,
    /// How much longer players wait for a silent peer.
    pub extension: Duration,
}

pub(crate) struct Verify {
    on_desync: OnDesync,
    delay: u32,
    /// By place.
    reports: Vec<Reports>,
    checksums: Checksums,
    mismatch: Option<Mismatch>,
    proofs: Proofs,
    disputes: Disputes,
    minority: Minority,
    search: Search,
    /// Voters whose promises in this epoch have shown another history.
    differing: Peers,
}

/// Worlds differ, and perhaps only because logs do.
struct Mismatch {
    turns: u32,
    since: Duration,
}

impl Verify {
    /// This peer reports worlds of at least `from` turns. What others report begins there, or anywhere in `joined_late`.
    pub(crate) fn new(places: &Places, from: u32, joined_late: Peers) -> Self {
        let start = places.start();
        let reports = places.all();
        let reports = reports.map(|at| Reports::new(from, joined_late.contains(at as u8)));
        Verify {
            on_desync: start.terms.on_desync,
            delay: start.terms.longest_delay(),
            reports: reports.collect(),
            checksums: Checksums::new(places.len(), from, start.terms.on_desync == OnDesync::Pause),
            mismatch: None,
            proofs: Proofs::new(places.len()),
            disputes: Disputes::new(places.len()),
            minority: Minority::new(places.len()),
            search: Search::default(),
            differing: Peers::default(),
        }
    }

    /// Takes note of a change before this peer's part: the peers that it convicts, and removes for their world.
    pub(crate) fn note_earlier(&mut self, change: &RosterChange) {
        for proof in &change.proofs {
            self.proofs.take(proof.clone());
        }
        self.minority.count(change.value.minority);
    }

    /// The peers of which two different batches for one turn are known.
    pub(crate) fn cheats(&self) -> Peers {
        self.proofs.cheats()
    }

    pub(crate) fn convicts(&self, at: usize) -> bool {
        self.proofs.convict(at)
    }

    /// The proofs against these peers.
    pub(crate) fn proofs_against(&self, cheats: Peers) -> Vec<Equivocation> {
        self.proofs.against(cheats)
    }

    /// The peers that are to go for their worlds, or logs.
    pub(crate) fn minority(&self) -> Peers {
        self.minority.peers()
    }

    /// Peers of it that a change may remove now.
    pub(crate) fn minority_due(&self, ledger: &Ledger, around: &Surroundings) -> Peers {
        let own = ledger.batches.newest(ledger.places.me());
        let reported = own.map_or(0, |own| own.batch.reported().end);
        let due = self.minority.due(reported, around.epoch_began, around.now);
        due.and(around.voters.members())
    }

    /// Peers that may know of no reason to remove the minority: they have joined behind the worlds that differ.
    pub(crate) fn unaware_of_minority(&self) -> Peers {
        let turns = self.minority.differs_after();
        let late = |at: &usize| turns.is_some_and(|turns| self.reports[*at].begin_behind(turns));
        let late = (0..self.reports.len()).filter(late);
        late.map(|at| at as u8).collect()
    }

    /// The minority with all of which the reports at hand say the same: the others may have come to that already.
    /// In a change no turn is completed any more: logs are compared `ahead` of those that are.
    pub(crate) fn evident_minority(
        &self,
        ledger: &Ledger,
        ahead: impl FnOnce() -> Vec<LogHash>,
        voters: Voters,
    ) -> Peers {
        let known = self.minority.peers().and(voters.members());
        let pending = self.mismatch.as_ref().filter(|_| self.excludes());
        let Some(turns) = pending.map(|mismatch| mismatch.turns) else {
            return known;
        };
        let row = self.checksums.row(turns);
        let told = self.proofs.leave_out(Peers::default(), row);
        match Verdict::of(&told, Peers::default(), voters) {
            Verdict::Minority(minority) if self.are_alike(&told, turns, ledger, &ahead()) => {
                known.or(minority).without(ledger.places.own())
            }
            _ => known,
        }
    }

    /// Whether a peer has strayed too often to come back.
    pub(crate) fn is_barred(&self, at: usize) -> bool {
        self.minority.is_barred(at)
    }

    /// Whether logs differ, and it is not known why.
    pub(crate) fn is_disputed(&self) -> bool {
        self.disputes.open().is_some()
    }

    /// The peer of that log, until it is judged even where it was out of reach.
    pub(crate) fn disputed(&self, now: Duration) -> Peers {
        self.disputes.unjudged(now).into_iter().collect()
    }

    /// Turns after which a peer's log is known to be this one.
    pub(crate) fn alike(&self, at: usize) -> u32 {
        self.reports[at].alike()
    }

    /// The newest world that all were found to have.
    pub(crate) fn agreed(&self, now: Duration) -> Option<Agreed> {
        let newest = self.checksums.newest_agreed();
        newest.map(|(turns, at)| Agreed {
            turns,
            ago: now.saturating_sub(at),
        })
    }

    /// When the difference of worlds, or of logs, is looked at again.
    pub(crate) fn timers(&self, around: &Surroundings, timers: &mut Timers) {
        timers.set(Timer::Mismatch, self.mismatch_due(around));
        if !around.desynced {
            let convicted = self.convicted(around.voters);
            let dispute = self.disputes.next_at(convicted, around.extension);
            timers.set(Timer::Dispute, dispute);
            timers.set(Timer::Search, self.search.show_at());
        }
    }

    /// What was slept through is no time in which a proof was shown, or batches.
    pub(crate) fn skip(&mut self, away: Duration, now: Duration) {
        self.disputes.skip(away, now);
        if let Some(mismatch) = &mut self.mismatch {
            mismatch.since = now;
        }
        self.search.skip(away);
    }

    /// A peer has executed the world after so many turns with this checksum.
    pub(crate) fn report(
        &mut self,
        (at, turns, checksum): (usize, u32, Checksum),
        ledger: &Ledger,
        around: &Surroundings,
    ) -> Vec<Finding> {
        if self.minority.contains(at) {
            return Vec::new();
        }
        match self.checksums.report(at, turns, checksum) {
            Compared::Waiting => self.agree(ledger, around.now),
            Compared::Differs => {
                let known = self.mismatch.as_ref().map(|mismatch| mismatch.turns);
                let earlier = known.is_none_or(|known| turns < known);
                let mut findings = Vec::new();
                if earlier {
                    findings.push(show_reports(turns, ledger));
                }
                let since = around.now;
                let mismatch = self.mismatch.get_or_insert(Mismatch { turns, since });
                mismatch.turns = mismatch.turns.min(turns);
                findings.extend(self.check_mismatch(ledger, around));
                findings
            }
        }
    }

    /// Takes what the next batch of a peer reports; a peer whose reports have a hole is named, once.
    pub(crate) fn take_reports(
        &mut self,
        at: usize,
        batch: &Batch,
        ledger: &Ledger,
    ) -> Result<Report, Vec<Finding>> {
        let report = self.reports[at].take(batch, &ledger.window);
        report.ok_or_else(|| self.end_reports(at))
    }

    /// A peer whose reports have a hole cannot be compared any more: it is named, once, and not waited for.
    fn end_reports(&mut self, at: usize) -> Vec<Finding> {
        let news = self.reports[at].end();
        let named = news.then_some(Finding::Fault(at, Fault::OutOfPlace));
        named.into_iter().collect()
    }

    /// Names the peers whose reports are `lag` turns behind.
    pub(crate) fn end_late_reports(&mut self, lag: u32, ledger: &Ledger) -> Vec<Finding> {
        let complete = ledger.window.complete();
        let mut findings = Vec::new();
        for at in ledger.places.all() {
            let silent = self.reports[at].lag(complete) > lag;
            if silent && at != ledger.places.me() && !ledger.batches.is_gone(at) {
                findings.extend(self.end_reports(at));
            }
        }
        findings
    }

    /// A peer tells of its log's hash after so many turns.
    pub(crate) fn expect_hash(&mut self, at: usize, turns: u32, hash: LogHash) {
        self.reports[at].expect(turns, hash);
    }

    /// Logs the checksums of worlds that all peers have by now.
    pub(crate) fn agree(&mut self, ledger: &Ledger, now: Duration) -> Vec<Finding> {
        let (reports, minority, batches) = (&self.reports, &self.minority, &ledger.batches);
        let must = |at: usize, turns: u32| {
            !minority.contains(at) && !batches.is_gone(at) && reports[at].includes(turns)
        };
        let mut findings = Vec::new();
        while let Some((turns, checksum)) = self.checksums.next_agreed(now, must) {
            findings.push(Finding::Log(turns, Record::Checksum { turns, checksum }));
        }
        findings
    }

    /// Compares the log hashes that peers told of turns which are complete here by now.
    pub(crate) fn check_hashes(&mut self, ledger: &Ledger, around: &Surroundings) -> Vec<Finding> {
        let mut findings = Vec::new();
        for at in ledger.places.all() {
            let complete = ledger.window.complete();
            while let Some((turns, hash)) = self.reports[at].next_hash(complete) {
                if self.proofs.convict(at) || self.minority.contains(at) {
                    continue;
                }
                match ledger.window.after(turns) {
                    Some(own) if own == hash => self.reports[at].agree(turns),
                    // Two signed batches of one peer may be behind it: the holder of the other one can prove that.
                    Some(_) => {
                        let from = turns.saturating_sub(self.delay + 2);
                        if self.disputes.begin((at, hash), turns, from, around.now) {
                            findings.push(Finding::ShowDispute);
                        }
                    }
                    None => {}
                }
            }
        }
        findings.extend(self.check_mismatch(ledger, around));
        findings
    }

    /// Worlds differ. Where the logs do not, it is a desync; that they do not is known a little later at times.
    pub(crate) fn check_mismatch(
        &mut self,
        ledger: &Ledger,
        around: &Surroundings,
    ) -> Vec<Finding> {
        let Some(Mismatch { turns, since }) = self.mismatch else {
            return Vec::new();
        };
        if self.mismatch_due(around).is_none() {
            return Vec::new();
        }
        let told = self.checksums.row(turns);
        let alike = self.are_alike(&told, turns, ledger, &[]);
        // The minority is known once all have reported.
        let reports = |at: u8| {
            let at = usize::from(at);
            self.reports[at].includes(turns) && !ledger.batches.is_gone(at)
        };
        let heard: Peers = told.iter().map(|(peer, _)| *peer).collect();
        let silent = around.voters.members().without(heard).iter();
        let silent: Peers = silent.filter(|at| reports(*at)).collect();
        if !(alike && silent.is_empty()) && around.now < since + EXPLAINED_WITHIN {
            return Vec::new();
        }
        let verdict = match self.excludes() {
            true => Verdict::of(&told, silent, around.voters),
            false => Verdict::NoMinority,
        };
        let waits = match &verdict {
            Verdict::Minority(_) => !alike,
            Verdict::Open => true,
            Verdict::NoMinority => false,
        };
        if waits {
            // A silent peer is heard of or goes, and turns go on until then.
            let since = around.now;
            self.mismatch = Some(Mismatch { turns, since });
            return Vec::new();
        }
        self.mismatch = None;
        let me = ledger.places.me() as u8;
        let sides = sides_of_worlds(&told, &ledger.places);
        let turn = turns.saturating_sub(1);
        let has_own = told.iter().any(|(peer, _)| *peer == me);
        let mut findings = vec![log_mismatch(turns, told)];
        match verdict {
            Verdict::Minority(minority) if !minority.contains(me) => {
                if has_own {
                    self.minority.judge_with_own(turns);
                }
                findings.extend(self.exclude(minority, (turns, sides), ledger, around.now));
            }
            _ => findings.push(Finding::Desync(turn, sides)),
        }
        findings
    }

    /// The first promise of a voter in this epoch that shows another history shows all batches behind this turn.
    pub(crate) fn show_difference(&mut self, from: u8, turn: u32, ledger: &Ledger) -> Vec<Finding> {
        if self.differing.contains(from) {
            return Vec::new();
        }
        self.differing.insert(from);
        vec![show_from(turn, ledger)]
    }

    /// Whether both signatures hold of two batches that differ.
    pub(crate) fn weigh(
        &self,
        proof: &Equivocation,
        ledger: &Ledger,
        signer: &dyn Signer,
    ) -> Weighed {
        self.proofs.weigh(proof, ledger, signer)
    }

    /// A proof holds: its peer is named, once.
    pub(crate) fn convict(&mut self, proof: Equivocation) -> Option<Finding> {
        let at = usize::from(proof.0.peer);
        let news = self.proofs.take(proof);
        news.then_some(Finding::Fault(at, Fault::Equivocation))
    }

    /// The proof against a peer, first the batch that this peer holds.
    pub(crate) fn evidence(&self, at: usize, ledger: &Ledger) -> Option<Vec<WireBatch>> {
        let proof = self.proofs.get(at)?;
        Some(equivocation::own_batch_first(proof, ledger))
    }

    /// Peers have signed different ends after so many turns: those that differ from a quorum have no part in it. Whether
    /// the others end without them. Where logs differ, a dispute comes first: it may bring the proof that a peer cheated.
    pub(crate) fn judge_ends(
        &mut self,
        turns: u32,
        told: &[(u8, End)],
        ledger: &Ledger,
        around: &Surroundings,
    ) -> (Vec<Finding>, bool) {
        for (at, end) in told {
            self.expect_hash(usize::from(*at), turns, end.log_hash);
        }
        let disputed = self.check_hashes(ledger, around);
        if self.is_disputed() {
            return (disputed, false);
        }
        let turn = turns.saturating_sub(1);
        let sides = told.iter();
        let sides = sides.map(|(at, end)| {
            let log_hash = Some(end.log_hash);
            side(*at, end.checksum, log_hash, &ledger.places)
        });
        let sides = sides.collect();
        let verdict = match self.excludes() {
            true => Verdict::of(told, Peers::default(), around.voters),
            false => Verdict::NoMinority,
        };
        match verdict {
            Verdict::Minority(minority) if !minority.contains(ledger.places.me() as u8) => {
                let checksums = told.iter().map(|(at, end)| (*at, end.checksum));
                let mut findings = vec![log_mismatch(turns, checksums.collect())];
                findings.extend(self.exclude(minority, (turns, sides), ledger, around.now));
                (findings, true)
            }
            _ => (vec![Finding::Desync(turn, sides)], false),
        }
    }

    /// Goes over to the log that a roster change wants, as far as others hold what leads to it.
    pub(crate) fn reconcile(
        &mut self,
        ledger: &mut Ledger,
        fold: &TurnFold,
        wanted: Wanted,
        now: Duration,
    ) -> Reconciled {
        self.search.reconcile(ledger, fold, wanted, now)
    }

    /// It is decided which log counts, and which peers have another world, or log: this one may not have come to that yet.
    pub(crate) fn note_decision(
        &mut self,
        value: Value,
        ledger: &Ledger,
        around: &Surroundings,
    ) -> Vec<Finding> {
        self.search.reset();
        let me = ledger.places.me() as u8;
        // A peer that is lost to the others has found out for itself what differs.
        let concerns = value.roster.contains(me) || value.minority.contains(me);
        if value.minority.is_empty() || !concerns {
            return Vec::new();
        }
        let news = value.minority.without(self.minority.peers());
        let named_in_dispute = |open: &Dispute| value.minority.contains(open.other as u8);
        let in_dispute = self.disputes.open().is_some_and(named_in_dispute);
        let disputed = in_dispute.then(|| self.disputes.settle()).flatten();
        let pending = self.mismatch.as_ref().map(|mismatch| mismatch.turns);
        let row = pending.map_or(Vec::new(), |turns| self.checksums.row(turns));
        let named = row.iter().any(|(peer, _)| news.contains(*peer));
        if value.minority.contains(me) {
            let own = vec![(me, around.checksum)];
            let told = if row.is_empty() { own } else { row };
            let turn = pending.unwrap_or(around.executed).saturating_sub(1);
            let sides = sides_of_worlds(&told, &ledger.places);
            vec![Finding::Desync(turn, sides)]
        } else if let Some(turns) = pending.filter(|_| named) {
            let told = self.proofs.leave_out(value.cheats, row.clone());
            let sides = sides_of_worlds(&told, &ledger.places);
            let mut findings = vec![log_mismatch(turns, row)];
            findings.extend(self.exclude(news, (turns, sides), ledger, around.now));
            findings
        } else if let Some(dispute) = disputed.filter(|_| !news.is_empty()) {
            let sides = self.sides_of_logs(&dispute, ledger);
            let sides = desync_sides(&sides, around.checksum, &ledger.places);
            self.exclude(news, (dispute.turns, sides), ledger, around.now)
        } else {
            Vec::new()
        }
    }

    /// An epoch begins, by whose change some peers go.
    pub(crate) fn begin_epoch(
        &mut self,
        change: &RosterChange,
        goes: Peers,
        ledger: &Ledger,
        around: &Surroundings,
    ) -> Vec<Finding> {
        let value = change.value;
        if value.log_hash.is_some() {
            // All that begin it have one log.
            self.disputes.settle();
        }
        if !value.cheats.is_empty() {
            self.disputes.forget();
        }
        self.search.reset();
        self.differing = Peers::default();
        for at in goes.iter().map(usize::from) {
            // What such a peer said of turns that it is not known to have had alike is not about this log.
            let alike = self.reports[at].forget_hashes();
            self.checksums.forget_after(at, alike.min(value.cut));
        }
        self.minority.count(value.minority);
        for at in value.minority.iter() {
            self.disputes.forget_of(usize::from(at));
        }
        // What peers reported that are gone is compared with nothing any more.
        if let Some(turns) = self.mismatch.take().map(|mismatch| mismatch.turns) {
            for at in goes.iter() {
                self.checksums.forget_from(usize::from(at), turns);
            }
            self.look_for_mismatch(around.now);
        }
        if self.minority.begin_epoch(goes, around.voters) {
            return Vec::new();
        }
        // No match goes on beside a peer whose world is another.
        let told = self.minority.peers().and(around.voters.members()).iter();
        let told: Vec<_> = told.map(|at| (at, around.checksum)).collect();
        let sides = sides_of_worlds(&told, &ledger.places);
        vec![Finding::Desync(value.cut.saturating_sub(1), sides)]
    }

    /// Another run of a peer's process has its place from this epoch on, after `cut` turns.
    pub(crate) fn readmit(&mut self, at: usize, cut: u32, epoch: u32) {
        self.reports[at] = Reports::since(cut + 1, epoch);
        self.proofs.forget(at);
        self.disputes.forget_of(at);
    }

    /// Turns from `cut` on are taken back.
    pub(crate) fn retract(&mut self, cut: u32) {
        self.checksums.forget_all_after(cut);
        self.mismatch.take_if(|mismatch| mismatch.turns > cut);
        for reports in &mut self.reports {
            reports.retract(cut);
        }
        self.disputes.forget();
    }

    /// Names peers that differ from a quorum that this one belongs to, after so many turns: the others go on without them.
    fn exclude(
        &mut self,
        minority: Peers,
        (turns, reports): (u32, Vec<DesyncSide>),
        ledger: &Ledger,
        now: Duration,
    ) -> Vec<Finding> {
        self.minority.add(minority, turns);
        // What they report from here on is known to be theirs alone.
        for at in minority.iter().map(usize::from) {
            self.checksums.forget_from(at, turns);
            self.reports[at].forget_hashes();
        }
        self.look_for_mismatch(now);
        let minority = minority.iter().map(usize::from);
        let mut findings = vec![Finding::Excluded(Desync {
            turn: TurnNumber(turns.saturating_sub(1)),
            reports,
            minority: minority.map(|at| ledger.places.key(at)).collect(),
            goes_on: true,
            report: None,
        })];
        findings.extend(self.agree(ledger, now));
        findings
    }

    /// Reports were forgotten: others may still differ.
    fn look_for_mismatch(&mut self, now: Duration) {
        let difference = self.checksums.first_difference();
        self.mismatch = difference.map(|turns| Mismatch { turns, since: now });
    }

    fn mismatch_due(&self, around: &Surroundings) -> Option<Duration> {
        // What logs that differ come to says what becomes of it.
        let waits = self.is_disputed() || around.desynced || self.convicted(around.voters);
        let mismatch = self.mismatch.as_ref().filter(|_| !waits);
        mismatch.map(|mismatch| mismatch.since + EXPLAINED_WITHIN)
    }

    /// Whether a voter is convicted of cheating.
    fn convicted(&self, voters: Voters) -> bool {
        !self.cheats().and(voters.members()).is_empty()
    }

    /// Whether the others go on without those that differ from a quorum.
    fn excludes(&self) -> bool {
        self.on_desync == OnDesync::RemoveMinority
    }

    /// Whether all that reported are known to have this log up to then.
    fn are_alike(
        &self,
        told: &[(u8, Checksum)],
        turns: u32,
        ledger: &Ledger,
        ahead: &[LogHash],
    ) -> bool {
        let own = |turns: u32| ledger.hash_at(turns, ahead);
        told.iter().all(|(peer, _)| match usize::from(*peer) {
            at if at == ledger.places.me() => ledger.window.complete() >= turns,
            at => self.reports[at].is_alike(turns, own),
        })
    }
}
