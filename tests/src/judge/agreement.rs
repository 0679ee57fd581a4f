//! S1 and S2: one bundle for each turn, one decision for each epoch, and every log a prefix of one history.

use super::*;

/// The number of turns before a change's cut that a peer may know of it.
const CUT_AHEAD: u32 = 16;
/// No plan is for a longer way.
const LONGEST_WAY: Duration = Duration::from_secs(6);
/// What a plan leaves beyond a way.
const MARGIN: Duration = Duration::from_millis(25);

impl Judge {
    /// A session appended a record. It stands in its place, has a reason, and is what others logged there.
    pub fn appended(&mut self, peer: usize, record: &Record) {
        if let Record::Start(start) = record {
            let peer = |of: &RosterPeer| self.ids.iter().position(|id| *id == of.peer);
            self.places = start.roster.iter().filter_map(peer).collect();
        }
        if self.scenario.is_hostile(peer) {
            return;
        }
        let file = &mut self.peers[peer];
        if let Record::Bundle(bundle) = record {
            file.finals += 1;
            if let Some(provisional) = file.log.turns.get(file.finals as usize - 1) {
                let alike = provisional == bundle;
                return self.must(peer, Agreement, record)(alike, "is not the turn of its tail");
            }
        }
        self.put(peer, record);
    }

    fn put(&mut self, peer: usize, record: &Record) {
        let PeerFile { log, finals, .. } = &self.peers[peer];
        let in_place = match (record, &log.start) {
            (Record::Start(_), _) => log.records.is_empty(),
            (_, None) | (Record::Continued(_), _) => false,
            (Record::Bundle(bundle), _) => bundle.turn.0 == log.len(),
            (Record::Keyframe(keyframe), _) => keyframe.turns <= *finals,
            (Record::Roster(change), _) => change.value.cut == log.len(),
            _ => true,
        };
        let ended = matches!(log.records.last(), Some(Record::End(_)));
        self.must(peer, Durable, record)(in_place && !ended, "is out of place");
        if let Record::Roster(change) = record {
            self.check_change(peer, change);
        }
        let (before, is_change) = (log.tip, matches!(record, Record::Roster(_)));
        self.peers[peer].log.put(&self.places, record);
        let after = self.peers[peer].log.tip;
        if before != after {
            let known = *self.next.entry((before, is_change)).or_insert(after);
            let may_differ = self.scenario.has_two_faced() && matches!(record, Record::Bundle(_));
            let alike = known == after || may_differ;
            self.must(peer, Agreement, record)(alike, "is not what others logged");
        }
        if is_change && self.is_core(peer) {
            let epoch = self.peers[peer].log.epochs.len();
            self.core.changes.entry(epoch).or_insert(self.now);
            // A peer from outside may come back, with the tie-break.
            let admits = matches!(record, Record::Roster(of) if of.value.joins.is_some());
            let votes = |of: &usize| self.is_core(*of) || !admits;
            let stays = core::is_quorum(self.peers[peer].log.roster(u32::MAX), votes);
            self.core.members.retain(|_| stays);
            self.note_tenures();
        }
    }

    /// A match begins as planned, with these own seats, and all of its peers have signed that.
    pub(super) fn check_start(&self, peer: usize, own: &[Seat], plan: Plan) {
        let log = &self.peers[peer].log;
        let Some(start) = &log.start else {
            return self.must(peer, Durable, own)(false, "starts without a log");
        };
        let must = self.must(peer, Agreement, start);
        let wanted = |peer: &usize| usize::from(self.scenario.peers[*peer].seats);
        let (each, seats) = (start.roster.iter().map(|of| of.seats.len()), start.seats());
        let all = seats.iter().zip(0..).all(|(seat, of)| seat.0 == of);
        let mine = |of: &RosterPeer| of.peer == self.ids[peer] && of.seats == own;
        let all = all && start.roster.iter().any(mine) && each.eq(self.places.iter().map(wanted));
        must(all, "starts with other peers or seats");
        let [least, most] = self.ways_of_lobby().map(|way| way.as_millis() as u64);
        let mut ways = (least..=most).map(|way| plan_for(way, self.scenario.plan.tick_ms));
        // A lobby that measured no way keeps the plan that was asked for.
        let settled =
            plan == self.scenario.plan || self.scenario.adaptive && ways.any(|of| of == plan);
        must(
            settled && plan == start.terms.plan,
            "starts with another plan",
        );
        let signed = formats::start_signers(log, start).len() == self.places.len();
        must(signed, "starts what not all have signed");
    }

    /// The least and the most that the plan of turn 0 may be for: half of the longest round trip of all. That may be the way of
    /// two guests by their host.
    fn ways_of_lobby(&self) -> [Duration; 2] {
        if !self.knows_ways() {
            return [Duration::ZERO, LONGEST_WAY];
        }
        let takes = |from, to, at: usize| self.passages[&(from, to)][at];
        let trip = |one, other, at| takes(one, other, at) + takes(other, one, at);
        let guests = 1..self.peers.len();
        let pairs = guests
            .clone()
            .flat_map(|one| (0..one).map(move |other| trip(one, other, 1)));
        let least = guests.clone().map(|guest| trip(0, guest, 0)).max();
        let mut by_host = Vec::from_iter(guests.map(|guest| trip(0, guest, 1)));
        by_host.sort_unstable();
        let most = pairs.fold(by_host.iter().rev().take(2).sum(), Duration::max);
        [least.unwrap_or_default(), most].map(|trip| trip / 2 + MARGIN)
    }

    /// The next roster change has a quorum behind it, and a reason for each peer that comes or goes.
    fn check_change(&self, peer: usize, change: &RosterChange) {
        let (log, value) = (&self.peers[peer].log, &change.value);
        let (voters, must) = (log.roster(u32::MAX), self.must(peer, Agreement, change));
        let next = change.epoch as usize + 1 == log.epochs.len();
        must(next, "changes another epoch");
        let accepts = formats::accepted_by(log, change).unwrap_or_default();
        let decided = core::is_quorum(voters, |voter| accepts.contains(voter));
        must(decided, "changes its roster without a quorum");
        let (accept, reopening) = ((change.epoch, change.ballot), (change.epoch, value.roster));
        let is_durable = |notes: &Notes| match change.reopening {
            None => notes.accepts.contains(&accept),
            Some(_) => notes.reopenings.contains(&reopening),
        };
        let mut honest = accepts.iter().filter(|of| !self.scenario.is_hostile(**of));
        let durable = honest.all(|of| is_durable(&self.peers[*of].notes));
        must(durable, "counts a vote that its peer's disk may lose");
        let joins = value.joins.map(|joins| joins.peer);
        let file = |place| &self.peers[self.at(place)];
        let came = |place| file(place).notes.run > 0;
        let votes = |place| voters.contains(&self.at(place));
        let stays = |place| votes(place) || joins == Some(place) && came(place);
        must(value.roster.iter().all(stays), "lets in what never came");
        let just = |peer| !self.scenario.is_sound(peer) || self.named.contains(&peer);
        let just = |place| just(self.at(place));
        must(value.minority.iter().all(just), "removes a sound world");
        let leaves = |of: &PeerFile| of.notes.leaves || of.notes.has_left;
        let left = |place| leaves(file(place)) || self.scenario.is_hostile(self.at(place));
        must(value.left.iter().all(left), "lets go what never left");
        let proofs = change.proofs.iter();
        let proved: BTreeSet<u8> = proofs.filter_map(|of| formats::proved(log, of)).collect();
        let just = value.cheats.iter().all(|cheat| proved.contains(&cheat));
        must(just, "removes a cheat unproved");
        // A match is reopened at the last turn of a quorum's disks, as they are when the first peer logs it. Turns that a
        // joiner has followed of stalled peers count as recorded.
        let mut logs = self.peers.iter().flat_map(|file| file.logs());
        let is_first = !logs.any(|log| log.changes.contains(change));
        // Nor does a change cost the core a peer. A reopening goes on with the peers that came in time.
        let mut core = self.core.members.iter().filter(|of| voters.contains(of));
        let keeps = |of: &usize| value.roster.iter().any(|place| self.at(place) == *of);
        let keeps = !is_first || change.reopening.is_some() || core.all(keeps);
        must(keeps, "removes a core peer");
        let reopening = change.reopening.as_ref().filter(|_| is_first);
        let runs = reopening.into_iter().flat_map(|of| &of.runs);
        for run in runs.clone() {
            let of = file(run.peer);
            let holds = [&of.given, &of.log]
                .iter()
                .any(|of| of.common(log) == log.len());
            let voted = runs.clone().filter(|run| votes(run.peer));
            let more = voted.filter(|run| file(run.peer).given.common(&of.given) > log.len());
            must(came(run.peer), "reopens with a peer that never came");
            must(holds || !run.held, "says of a disk that it holds more");
            must(2 * more.count() <= voters.len(), "reopens too early a turn");
        }
    }

    /// A session handed out a turn to execute: the next one of its log.
    pub fn handed_out(&mut self, peer: usize, bundle: &Bundle) {
        let (file, turn) = (&self.peers[peer], bundle.turn.0);
        let logged = file.log.turns.get(turn as usize) == Some(bundle) && turn == file.next;
        let alone = file.log.roster(u32::MAX) == [peer];
        // Turns that it knew before it stood still, it may hand out anew.
        let again = file.handed.iter().any(|(before, ..)| *before >= turn);
        let fenced = self.now < file.notes.unsure_until && !alone && !again;
        self.must(peer, Durable, bundle)(logged, "hands out what is not logged");
        if fenced {
            self.unsure.push((peer, turn, self.now));
        }
        let file = &mut self.peers[peer];
        let hash = file.log.hashes.get(turn as usize + 1);
        file.executing.push_back(hash.copied());
        file.handed.push((turn, self.now, bundle.plan));
        file.next = turn + 1;
    }

    /// A peer that slept hands out no turn before a quorum knows of it, but those up to a change that it stays in.
    pub(super) fn check_unsure(&self, canonical: &Log) {
        for (peer, turn, at) in &self.unsure {
            let next = canonical.epochs.iter().find(|(from, _)| from > turn);
            let near = next.filter(|(from, _)| from - turn <= CUT_AHEAD);
            let stays = near.is_some_and(|(_, roster)| roster.contains(peer));
            self.must(*peer, Agreement, (turn, at))(stays, "goes on before a quorum knows it");
        }
    }

    /// A world executed a turn.
    pub fn executed(&mut self, peer: usize, turn: u32, checksum: Checksum) {
        let file = &mut self.peers[peer];
        if file.taken_back == 0 {
            file.executed = (turn + 1, Some(checksum));
        }
        file.taken_back = file.taken_back.saturating_sub(1);
        let hash = file.executing.pop_front().flatten();
        let flaw = self.scenario.peers[peer].flaw;
        if let Some(hash) = hash.filter(|_| flaw.is_none_or(|flaw| turn < flaw)) {
            let known = *self.worlds.entry(hash).or_insert(checksum);
            let must = self.must(peer, Agreement, (turn, checksum, known));
            must(known == checksum, "has another world than others");
        }
    }

    /// A session replaced the turns behind its log. The number of those that it took back.
    pub fn tail(&mut self, peer: usize, turns: &[Bundle]) -> u32 {
        if self.scenario.is_hostile(peer) {
            return 0;
        }
        let file = &self.peers[peer];
        let pairs = file.log.turns[file.finals as usize..].iter().zip(turns);
        let alike = pairs.take_while(|(old, new)| old == new).count();
        let kept = file.finals + alike as u32;
        let retracted = file.log.len() - kept;
        // A recording that is begun anew has all turns of the one before.
        let most = LONGEST_TAIL.max(file.given.len().saturating_sub(file.finals) as usize);
        self.must(peer, Bounded, turns)(turns.len() <= most, "has too long a tail");
        // A joiner gives up turns that it has followed of stalled peers.
        let follows = self.scenario.reopening.is_some() && file.notes.run > 0;
        // A liar signs another batch where it shows what others do not have.
        let two_faced = self.scenario.has_two_faced() || file.told_of_proof;
        let few = two_faced && retracted <= 2 * self.scenario.delay();
        self.must(peer, Agreement, retracted)(retracted == 0 || follows || few, "takes turns back");
        self.peers[peer].log.retract(&self.places, kept);
        self.peers[peer].has_retracted |= retracted > 0;
        (turns[alike..].iter()).for_each(|of| self.put(peer, &Record::Bundle(of.clone())));
        retracted
    }

    /// The log of the core. Without a core it is the longest one of the newest epoch, even if only a run had it that
    /// died.
    pub(super) fn canonical(&self) -> Option<&Log> {
        let of = |peer: usize| self.peers[peer].logs().map(move |log| (peer, log));
        let logs = self.scenario.honest().flat_map(of);
        let best = logs.max_by_key(|(of, log)| (self.is_core(*of), log.epochs.len(), log.len()));
        best.map(|(_, log)| log)
    }

    /// Every log is a prefix of the canonical one, but for provisional turns at its end.
    pub(super) fn check_prefixes(&self, canonical: &Log) {
        let reopened = canonical.changes.iter().any(|of| of.reopening.is_some());
        for peer in self.scenario.honest() {
            for log in self.peers[peer].logs() {
                let newest = std::ptr::eq(log, &self.peers[peer].log);
                let stopped = self.peers[peer].stopped() && self.scenario.has_two_faced();
                let most = match newest && self.is_core(peer) {
                    true => self.scenario.delay() * u32::from(stopped),
                    // A reopening itself is compared with the disks of runs that died before it.
                    false if reopened => u32::MAX,
                    false => self.scenario.delay(),
                };
                let beyond = log.len() - log.common(canonical);
                self.must(peer, Agreement, (beyond, most))(beyond <= most, "leaves the history");
                // What is final at a peer outside is final for all.
                let contradicts =
                    newest && !reopened && self.peers[peer].finals > log.common(canonical);
                let must = self.must(
                    peer,
                    Agreement,
                    (self.peers[peer].finals, log.common(canonical)),
                );
                must(!contradicts, "has final turns of another history");
            }
        }
    }
}
