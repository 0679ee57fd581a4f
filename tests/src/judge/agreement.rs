//! S1 and S2: one bundle for each turn, one decision for each epoch, and every log a prefix of one history.

use super::*;

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
        let log = &mut self.peers[peer].log;
        if let Record::Bundle(bundle) = record
            && let Some(provisional) = log.turns.get(log.finals as usize)
        {
            let alike = provisional == bundle;
            log.finals += 1;
            return self.must(peer, Agreement, record)(alike, "is not the turn of its tail");
        }
        log.finals += u32::from(matches!(record, Record::Bundle(_)));
        self.put(peer, record);
    }

    fn put(&mut self, peer: usize, record: &Record) {
        let before = self.peers[peer].log.tip;
        self.peers[peer].log.put(&self.places, record);
        let log = &self.peers[peer].log;
        let (after, turns) = (log.tip, log.len());
        let in_place = log.start.is_some()
            && match record {
                Record::Start(_) => log.records.len() == 1,
                Record::Bundle(bundle) => bundle.turn.0 + 1 == turns,
                Record::Keyframe(keyframe) => keyframe.turns <= log.finals,
                Record::Roster(change) => change.value.cut == turns,
                Record::Continued(_) => false,
                _ => true,
            };
        let ended = matches!(log.records[..], [.., Record::End(_), _]);
        self.must(peer, Durable, record)(in_place && !ended, "is out of place");
        match record {
            Record::Start(start) => self.check_start(peer, start),
            Record::Roster(change) => self.check_change(peer, change),
            _ => {}
        }
        let is_change = matches!(record, Record::Roster(_));
        if before != after {
            let known = *self.next.entry((before, is_change)).or_insert(after);
            let may_differ = self.scenario.has_two_faced() && matches!(record, Record::Bundle(_));
            let alike = known == after || may_differ;
            self.must(peer, Agreement, record)(alike, "is not what others logged");
        }
        if is_change && self.is_core(peer) {
            let epoch = self.peers[peer].log.epochs.len();
            self.core.changes.entry(epoch).or_insert(self.now);
            self.note_tenures();
        }
    }

    fn check_start(&self, peer: usize, start: &Start) {
        let must = self.must(peer, Agreement, start);
        let wanted = |peer: &usize| usize::from(self.scenario.peers[*peer].seats);
        let (own, seats) = (start.roster.iter().map(|of| of.seats.len()), start.seats());
        let all = seats.iter().zip(0..).all(|(seat, of)| seat.0 == of);
        let all = all && own.eq(self.places.iter().map(wanted));
        must(all, "starts with other peers or seats");
        let signed = signed::start_signers(start).len() == self.places.len();
        must(signed, "starts what not all have signed");
    }

    /// A roster change has a quorum behind it, and a reason for each peer that comes or goes.
    fn check_change(&self, peer: usize, change: &RosterChange) {
        let (log, value) = (&self.peers[peer].log, &change.value);
        let (Some(start), [.., (_, voters), _]) = (&log.start, &log.epochs[..]) else {
            return;
        };
        let must = self.must(peer, Agreement, change);
        let next = change.epoch as usize + 2 == log.epochs.len();
        must(next, "changes another epoch");
        let accepts = signed::accepted_by(log, start, change).into_iter();
        let accepts: Vec<usize> = accepts.map(|place| self.at(place)).collect();
        let decided = core::is_quorum(voters, |voter| accepts.contains(voter));
        must(decided, "changes its roster without a quorum");
        let joins = value.joins.map(|joins| joins.peer);
        let came = |place: u8| self.peers[self.at(place)].notes.run > 0;
        let stays = |place| voters.contains(&self.at(place)) || joins == Some(place) && came(place);
        must(value.roster.iter().all(stays), "lets in what never came");
        let sound = |place| self.scenario.is_sound(self.at(place));
        must(!value.minority.iter().any(sound), "removes a sound world");
        let proofs = change.proofs.iter();
        let proved: BTreeSet<u8> = proofs.filter_map(|of| signed::proved(log, of)).collect();
        let just = value.cheats.iter().all(|cheat| proved.contains(&cheat));
        must(just, "removes a cheat unproved");
        // A match is reopened at the last turn of a quorum's disks. Turns that a joiner has followed of stalled peers
        // count as recorded.
        let followed = self.scenario.reopening.iter().any(Reopening::some_live);
        let disk = |place| &self.peers[self.at(place)].given;
        let runs = change.reopening.iter().flat_map(|of| &of.runs);
        for run in runs.clone() {
            let own = disk(run.peer);
            let holds = own.common(log) == log.len() || followed;
            let mut more: Vec<_> = runs.clone().collect();
            more.retain(|run| voters.contains(&self.at(run.peer)));
            more.retain(|run| disk(run.peer).common(own) > log.len());
            must(came(run.peer), "reopens with a peer that never came");
            must(holds || !run.held, "says of a disk that it holds more");
            must(2 * more.len() <= voters.len(), "reopens too early a turn");
        }
    }

    /// A session handed out a turn to execute: the next one of its log.
    pub fn handed_out(&mut self, peer: usize, bundle: &Bundle) {
        let (file, turn) = (&self.peers[peer], bundle.turn.0);
        let logged = file.log.turns.get(turn as usize) == Some(bundle) && turn == file.next;
        // A peer among few may have decided alone that it belongs.
        let few = file.log.roster(u32::MAX).len() < 3;
        let again = file.handed.iter().any(|(before, _)| *before >= turn);
        let fenced = self.now < file.notes.unsure_until && !few && !again;
        let hostile = self.scenario.is_hostile(peer);
        self.must(peer, Durable, bundle)(hostile || logged, "hands out what is not logged");
        self.must(peer, Agreement, bundle)(hostile || !fenced, "goes on before a quorum knows it");
        let file = &mut self.peers[peer];
        let hash = file.log.hashes.get(turn as usize + 1);
        file.executing.push_back(hash.copied());
        file.handed.push((turn, self.now));
        file.next = turn + 1;
    }

    /// A world executed a turn.
    pub fn executed(&mut self, peer: usize, turn: u32, checksum: Checksum) {
        let file = &mut self.peers[peer];
        file.executed = (turn + 1, Some(checksum));
        let hash = file.executing.pop_front().flatten();
        let sound = self.scenario.is_sound(peer) || self.scenario.peers[peer].flaw > Some(turn);
        if let Some(hash) = hash.filter(|_| sound) {
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
        let log = &self.peers[peer].log;
        let finals = log.finals as usize;
        let pairs = log.turns[finals..].iter().zip(turns);
        let alike = pairs.take_while(|(old, new)| old == new).count();
        let (kept, had) = ((finals + alike) as u32, log.len());
        let bounded = turns.len() <= LONGEST_TAIL;
        self.must(peer, Bounded, turns)(bounded, "has too long a tail");
        if had > kept {
            self.take_back(peer, kept);
        }
        let new = turns[alike..].iter().cloned().map(Record::Bundle);
        new.for_each(|turn| self.put(peer, &turn));
        had - kept
    }

    fn take_back(&mut self, peer: usize, turns: u32) {
        let many = self.peers[peer].log.len().saturating_sub(turns);
        self.peers[peer].log.retract(&self.places, turns);
        // A joiner gives up turns that it has followed of stalled peers.
        let follows = self.scenario.reopening.is_some();
        let founded = self.scenario.has_two_faced() && many <= self.provisional();
        self.must(peer, Agreement, many)(follows || founded, "takes turns back");
    }

    /// Turns at a log's end that are not final yet.
    fn provisional(&self) -> u32 {
        self.scenario.delay() * if self.scenario.has_two_faced() { 2 } else { 1 }
    }

    /// The log of the core. Without a core it is the longest one of the newest epoch, even if only a run had it that
    /// died.
    pub(super) fn canonical(&self) -> Option<&Log> {
        let newest = !self.core.members.is_empty() || self.scenario.reopening.is_some();
        let runs = if newest { 1 } else { usize::MAX };
        let of = |peer: usize| self.peers[peer].logs().map(move |log| (peer, log));
        let logs = self.scenario.honest().flat_map(|peer| of(peer).take(runs));
        let best = logs.max_by_key(|(of, log)| (self.is_core(*of), log.epochs.len(), log.len()));
        best.map(|(_, log)| log)
    }

    /// Every log is a prefix of the canonical one, but for provisional turns at its end.
    pub(super) fn check_prefixes(&self, canonical: &Log) {
        let mut changes = canonical.changes.iter();
        let reopened = changes.any(|change| change.reopening.is_some());
        for peer in self.scenario.honest() {
            for log in self.peers[peer].logs() {
                let newest = std::ptr::eq(log, &self.peers[peer].log);
                let most = match self.scenario.reopening {
                    _ if newest && self.is_core(peer) => 0,
                    // A reopening itself is compared with the disks of runs that died before it.
                    Some(_) if reopened || !newest => u32::MAX,
                    _ => self.provisional(),
                };
                let beyond = log.len() - log.common(canonical);
                self.must(peer, Agreement, (beyond, most))(beyond <= most, "leaves the history");
            }
        }
    }
}
