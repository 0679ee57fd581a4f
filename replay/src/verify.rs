//! Re-running a match and checking all that its file claims.

mod expected;

use crate::error::KeyframeFault;
use crate::{Error, KeyframeAt, Reader, Tail};
use expected::{Claim, Expected, Runs, collect};
use lockstep::log::{
    AgreedStart, Bundle, Continuation, Document, Metering, OnSlow, Record, RosterChange, Start,
    continued_hash, roster_hash, start_hash, turn_hash,
};
use lockstep::session::roster::Peers;
use lockstep::sign::Ed25519;
use lockstep::{LogHash, PeerId, Plan, TurnNumber, world_entries};
use sim::{Checksum, Outcome, Simulation};
use std::sync::Arc;

/// How to verify.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Also saves, loads and compares the world after every tick: finds state that a snapshot misses. Slow.
    pub every_tick: bool,
    /// Whether `signature` is a peer's for some bytes. Default: [`Ed25519::verify`].
    pub signature: fn(PeerId, &[u8], &[u8; 64]) -> bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            every_tick: false,
            signature: Ed25519::verify,
        }
    }
}

/// What a re-run found.
#[derive(Clone, Debug, PartialEq)]
pub struct Verified {
    /// Turns that were re-run.
    pub turns: u32,
    /// Turns that the file holds.
    pub of: u32,
    /// Ticks stepped.
    pub ticks: u64,
    /// Recorded checksums that the re-run reached.
    pub checksums: u32,
    /// Keyframes that are the world of their turn.
    pub keyframes: u32,
    /// Signatures that hold: under the start, the history and the end.
    pub signatures: u32,
    /// Up to which turn a signature of some peer attests the history, if one does.
    pub attested_turns: Option<u32>,
    /// Where one player went on alone, by turn: what was played by those whom the start names ends with the first.
    pub continued: Vec<Continued>,
    /// Turns after which worlds differed, where the others went on without those whose worlds are not the re-run's.
    pub desyncs: Vec<Settled>,
    /// How the match ended, where the end was agreed.
    pub outcome: Option<Outcome>,
    /// Checksum of the world after the last turn re-run.
    pub checksum: Checksum,
    /// How the file ends.
    pub tail: Tail,
    /// The first thing that is wrong; the re-run stopped there.
    pub wrong: Option<Wrong>,
}

/// That one player went on alone, as its signature says.
#[derive(Clone, Debug, PartialEq)]
pub struct Continued {
    /// Where, and who.
    pub continuation: Arc<Continuation>,
    /// Up to which turn those who played until then attest what is before it, if one of them does.
    pub attested_turns: Option<u32>,
}

/// A desync that the match went on from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settled {
    /// Turns executed.
    pub turns: u32,
    /// Whom the others went on without, by index in the roster.
    pub peers: Vec<u8>,
}

/// What is wrong with a replay.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Wrong {
    /// A signature under the start, by index in the roster, does not hold.
    #[error("the signature of peer {peer} under the start does not hold")]
    StartSignature {
        /// The peer.
        peer: u8,
    },
    /// The world of the re-run is another than the recorded one.
    #[error(
        "after {turns} turns the world has checksum {ours}, recorded is {recorded}; checksums agreed up to {agreed} turns"
    )]
    Checksum {
        /// Turns executed.
        turns: u32,
        /// Turns up to which recorded checksums agreed.
        agreed: u32,
        /// The recorded checksum.
        recorded: Checksum,
        /// The re-run's.
        ours: Checksum,
    },
    /// The peers themselves disagreed during the match, and it did not go on without those whose world was not the
    /// re-run's.
    #[error(
        "the peers' worlds differed after {turns} turns, and this file tells of nobody who was removed for it; the re-run has checksum {ours}"
    )]
    Desync {
        /// Turns executed.
        turns: u32,
        /// What each peer reported, by index in the roster.
        checksums: Vec<(u8, Checksum)>,
        /// The re-run's.
        ours: Checksum,
    },
    /// A roster change does not follow the one before it, or its signed accepts do not decide it.
    #[error("the roster change that ends epoch {epoch} was not decided so")]
    Roster {
        /// The epoch.
        epoch: u32,
    },
    /// That one player went on alone does not follow on the turns before it, or is not signed by the key that it names.
    #[error("that the match is continued from turn {turns} on is not signed so")]
    Continued {
        /// Turns before it.
        turns: u32,
    },
    /// A turn has another plan than the turns before it ask for.
    #[error("turn {turn} has ticks of {} ms ({plan}); by the turns before it they take {} ms ({asked})", plan.tick_ms, asked.tick_ms)]
    Plan {
        /// The turn.
        turn: TurnNumber,
        /// Its plan.
        plan: Plan,
        /// The plan that it should have.
        asked: Plan,
    },
    /// A signature under the history does not hold, or its batch is no batch.
    #[error("the signature of peer {peer} at {turns} turns does not hold")]
    Signature {
        /// The peer.
        peer: u8,
        /// Turns that it had logged; 0 where the batch cannot be read.
        turns: u32,
    },
    /// A peer signed another history than the file holds.
    #[error("peer {peer} signed another history of the first {turns} turns than the file holds")]
    History {
        /// The peer.
        peer: u8,
        /// Turns of that history.
        turns: u32,
    },
    /// A keyframe does not unpack, or belongs to another log.
    #[error("the keyframe of turn {turns} cannot be used: {what}")]
    KeyframeFault {
        /// Turns executed.
        turns: u32,
        /// What is wrong.
        what: KeyframeFault,
    },
    /// A keyframe is not the world of its turn.
    #[error("the keyframe of turn {turns} is not the world of that turn: {difference}")]
    Keyframe {
        /// Turns executed.
        turns: u32,
        /// The first difference, the file's value first.
        difference: Difference,
    },
    /// The recorded end is not where the log ends, or not how.
    #[error("the recorded end after {turns} turns does not fit the log")]
    End {
        /// Turns that it names.
        turns: u32,
    },
    /// A signature under the end does not hold.
    #[error("the signature of peer {peer} under the end does not hold")]
    EndSignature {
        /// The peer.
        peer: u8,
    },
    /// A world that was saved and loaded is another world.
    #[error(
        "saved and loaded after {ticks} ticks (turn {turn}), the world is another: {difference}"
    )]
    Snapshot {
        /// The turn.
        turn: TurnNumber,
        /// Ticks stepped.
        ticks: u64,
        /// The first difference, the loaded value first.
        difference: Difference,
    },
}

/// The first field in which two worlds differ.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Difference {
    /// A field, row or section: what is in question on the left, what it should be on the right.
    #[error("{0}")]
    Field(sim::Difference),
    /// No field differs that the world shows.
    #[error("their bytes differ, but no field that the world shows")]
    Hidden,
    /// The snapshot does not load.
    #[error("it does not load")]
    Unloadable,
}

impl Verified {
    /// Whether everything that was re-run holds. The [`tail`](Self::tail) says whether that is the whole match.
    pub fn holds(&self) -> bool {
        self.wrong.is_none()
    }
}

/// Re-runs every turn and compares with what the file claims: checksums, the history that peers signed, keyframes, and
/// the end. Stops at the first that is wrong. `progress` is told the turns executed, after each.
///
/// # Errors
/// [`Error`] where this build cannot run the match (setup, other rules), and the disk's errors. What is wrong with the
/// match itself is [`Verified::wrong`].
pub fn verify<S: Simulation>(
    reader: &mut Reader,
    options: &Options,
    mut progress: impl FnMut(u32),
) -> Result<Verified, Error> {
    let setup = reader.setup::<S>()?;
    let start = reader.start().clone();
    let (expected, runs) = collect(reader)?;
    let mut run = Run::<S> {
        world: S::new(&sim::Start {
            setup,
            seed: start.seed,
            seats: start.seats(),
        }),
        log_hash: start_hash(&start),
        turn_hash: start_hash(&start),
        speaking: (*start).clone(),
        runs,
        roster: Peers::first(start.roster.len()),
        epoch: 0,
        plan: start.terms.plan,
        metering: Metering::new(start.terms.plan.tick_ms, start.terms.on_slow),
        began: 0,
        options,
        agreed: 0,
        result: Verified {
            turns: 0,
            of: reader.turns(),
            ticks: 0,
            checksums: 0,
            keyframes: 0,
            signatures: 0,
            attested_turns: None,
            continued: Vec::new(),
            desyncs: Vec::new(),
            outcome: None,
            checksum: Checksum(0),
            tail: reader.tail(),
            wrong: None,
        },
        effects: Vec::new(),
    };
    let result = run.all(reader, &expected, &mut progress);
    match result {
        Ok(()) => {}
        Err(Stop::Wrong(wrong)) => run.result.wrong = Some(*wrong),
        Err(Stop::Error(error)) => return Err(error),
    }
    run.result.checksum = run.world.checksum();
    Ok(run.result)
}

/// The checksums that the peers' worlds had, by the number of turns executed. Where they differed, each is among them, but for those
/// of worlds that the others went on without.
pub(crate) fn checksums(reader: &mut Reader) -> Result<Vec<(u32, Checksum)>, Error> {
    let (expected, _) = collect(reader)?;
    let mut checksums = Vec::new();
    for Expected { turns, claim } in expected {
        match claim {
            Claim::Checksum(checksum) => checksums.push((turns, checksum)),
            Claim::Desync {
                checksums: each,
                without,
            } => {
                let odd = without.unwrap_or_default();
                let others = each.into_iter().filter(|(peer, _)| !odd.contains(*peer));
                checksums.extend(others.map(|(_, checksum)| (turns, checksum)));
            }
            Claim::History { .. } | Claim::Unreadable { .. } | Claim::Keyframe(_) => {}
        }
    }
    Ok(checksums)
}

struct Run<'a, S: Simulation> {
    world: S,
    log_hash: LogHash,
    /// The same without roster changes that wait for their first turn.
    turn_hash: LogHash,
    /// The start, with the runs of their processes that speak for the peers now.
    speaking: Start,
    runs: Runs,
    /// The peers that vote, and in which epoch.
    roster: Peers,
    epoch: u32,
    /// Of the next turn.
    plan: Plan,
    metering: Metering,
    /// The first turn of that epoch.
    began: u32,
    options: &'a Options,
    /// Turns up to which recorded checksums agreed.
    agreed: u32,
    result: Verified,
    effects: Vec<S::Effect>,
}

/// Why a re-run does not go on.
enum Stop {
    Wrong(Box<Wrong>),
    Error(Error),
}

impl From<Wrong> for Stop {
    fn from(wrong: Wrong) -> Self {
        Stop::Wrong(Box::new(wrong))
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Stop::Error(error)
    }
}

impl<S: Simulation> Run<'_, S> {
    fn all(
        &mut self,
        reader: &mut Reader,
        expected: &[Expected],
        progress: &mut dyn FnMut(u32),
    ) -> Result<(), Stop> {
        self.check_start(reader)?;
        let mut expected = expected.iter().peekable();
        let mut cursor = reader.cursor(TurnNumber(0));
        loop {
            while let Some(next) = expected.next_if(|next| next.turns <= self.result.turns) {
                self.check(reader, next)?;
            }
            if self.result.turns == self.result.of {
                break;
            }
            let bundle = loop {
                match reader.next_record(&mut cursor)? {
                    Some(Record::Bundle(bundle)) => break bundle,
                    Some(Record::Roster(change)) => self.check_change(&change)?,
                    Some(Record::Continued(continuation)) => self.go_on(continuation)?,
                    Some(_) => {}
                    None => {
                        let at = reader.valid_bytes();
                        return Err(Error::Changed { at }.into());
                    }
                }
            };
            self.execute(&bundle)?;
            progress(self.result.turns);
        }
        // What was decided behind the last turn.
        while let Some(record) = reader.next_record(&mut cursor)? {
            match record {
                Record::Roster(change) => self.check_change(&change)?,
                Record::Continued(continuation) => self.go_on(continuation)?,
                _ => {}
            }
        }
        self.check_end(reader)
    }

    fn execute(&mut self, bundle: &Bundle) -> Result<(), Stop> {
        if bundle.plan != self.plan {
            let wrong = Wrong::Plan {
                turn: bundle.turn,
                plan: bundle.plan,
                asked: self.plan,
            };
            return Err(wrong.into());
        }
        if let Some(metered) = self.metering.take(bundle) {
            self.plan = metered.plan;
        }
        self.log_hash = turn_hash(self.log_hash, bundle);
        self.turn_hash = self.log_hash;
        let (mut entries, _) = world_entries(bundle);
        for _ in 0..bundle.ticks() {
            self.effects.clear();
            self.world.step(&entries, &mut self.effects);
            entries.clear();
            self.result.ticks += 1;
            if self.options.every_tick {
                self.check_snapshot(bundle.turn)?;
            }
        }
        self.result.turns += 1;
        Ok(())
    }

    fn check_snapshot(&self, turn: TurnNumber) -> Result<(), Wrong> {
        let saved = saved(&self.world);
        match difference(&self.world, &saved) {
            None if self.world.checksum() == Checksum(crc32fast::hash(&saved)) => Ok(()),
            found => Err(Wrong::Snapshot {
                turn,
                ticks: self.result.ticks,
                difference: found.unwrap_or(Difference::Hidden),
            }),
        }
    }

    /// A roster change was decided by a quorum of the roster before it.
    fn check_change(&mut self, change: &RosterChange) -> Result<(), Wrong> {
        let epoch = change.epoch;
        let turns = self.result.turns;
        let follows = self.result.continued.is_empty()
            && epoch == self.epoch
            && change.follows_on(turns, self.log_hash, self.began, self.roster);
        let signature = self.options.signature;
        let alike = change
            .value
            .log_hash
            .is_none_or(|hash| hash == self.turn_hash);
        if !follows || !alike || !change.is_decided_by(&self.speaking, self.roster, signature) {
            return Err(Wrong::Roster { epoch });
        }
        self.log_hash = roster_hash(self.log_hash, change);
        change.apply(&mut self.speaking);
        (self.roster, self.epoch) = (change.value.roster, epoch + 1);
        self.metering.begin_epoch();
        self.began = turns;
        self.result.signatures += change.accepts.len() as u32;
        Ok(())
    }

    /// One player goes on alone: from here on only its signatures count.
    fn go_on(&mut self, continuation: Arc<Continuation>) -> Result<(), Wrong> {
        let turns = self.result.turns;
        let follows = (continuation.epoch, continuation.turns) == (self.epoch, turns)
            && continuation.log_hash == self.log_hash;
        if !follows || !continuation.is_signed(&self.speaking, self.options.signature) {
            return Err(Wrong::Continued { turns });
        }
        self.log_hash = continued_hash(self.log_hash, &continuation);
        self.speaking = continuation.start(&self.speaking);
        (self.roster, self.epoch) = (Peers::first(1), self.epoch + 1);
        self.plan = continuation.plan;
        self.metering = Metering::new(continuation.plan.tick_ms, OnSlow::Meter);
        self.began = turns;
        self.result.signatures += 1;
        self.result.continued.push(Continued {
            continuation,
            attested_turns: self.result.attested_turns,
        });
        Ok(())
    }

    fn check_start(&mut self, reader: &Reader) -> Result<(), Wrong> {
        let start = reader.start();
        let agreed = AgreedStart(self.log_hash);
        for (peer, (place, signature)) in start.roster.iter().zip(&start.signatures).enumerate() {
            let signed = agreed.with(*signature);
            if !signed.is_by(place.peer, self.options.signature) {
                return Err(Wrong::StartSignature { peer: peer as u8 });
            }
            self.result.signatures += 1;
        }
        Ok(())
    }

    fn check(&mut self, reader: &mut Reader, expected: &Expected) -> Result<(), Stop> {
        let turns = expected.turns;
        match &expected.claim {
            Claim::History {
                batch,
                epoch,
                log_hash,
            } => {
                let peer = batch.peer;
                let signature = self.options.signature;
                if !self.runs.signed(batch, *epoch, signature) {
                    return Err(Wrong::Signature { peer, turns }.into());
                }
                if *log_hash != self.log_hash {
                    return Err(Wrong::History { peer, turns }.into());
                }
                self.result.signatures += 1;
                self.result.attested_turns = Some(turns);
            }
            Claim::Unreadable { peer } => {
                return Err(Wrong::Signature { peer: *peer, turns }.into());
            }
            Claim::Checksum(recorded) => {
                let ours = self.world.checksum();
                if ours != *recorded {
                    return Err(Wrong::Checksum {
                        turns,
                        agreed: self.agreed,
                        recorded: *recorded,
                        ours,
                    }
                    .into());
                }
                self.agreed = turns;
                self.result.checksums += 1;
            }
            Claim::Desync { checksums, without } => {
                let ours = self.world.checksum();
                let odd = without.unwrap_or_default();
                let mut others = checksums.iter().filter(|(peer, _)| !odd.contains(*peer));
                if without.is_some() && others.all(|(_, checksum)| *checksum == ours) {
                    self.agreed = turns;
                    let peers = odd.iter().collect();
                    self.result.desyncs.push(Settled { turns, peers });
                    return Ok(());
                }
                return Err(Wrong::Desync {
                    turns,
                    checksums: checksums.clone(),
                    ours,
                }
                .into());
            }
            Claim::Keyframe(keyframe) => self.check_keyframe(reader, keyframe)?,
        }
        Ok(())
    }

    fn check_keyframe(&mut self, reader: &mut Reader, at: &KeyframeAt) -> Result<(), Stop> {
        let turns = at.turns;
        let keyframe = match reader.keyframe(at) {
            Ok(keyframe) => keyframe,
            Err(Error::Keyframe { what, .. }) => {
                return Err(Wrong::KeyframeFault { turns, what }.into());
            }
            Err(error) => return Err(error.into()),
        };
        if let Some(difference) = difference(&self.world, &keyframe.snapshot) {
            return Err(Wrong::Keyframe { turns, difference }.into());
        }
        self.result.keyframes += 1;
        Ok(())
    }

    fn check_end(&mut self, reader: &Reader) -> Result<(), Stop> {
        let Some(end) = reader.end() else {
            return Ok(());
        };
        let turns = end.turns;
        let fits = turns == self.result.turns
            && end.log_hash == self.turn_hash
            && end.outcome == self.world.outcome();
        if !fits {
            return Err(Wrong::End { turns }.into());
        }
        let ours = self.world.checksum();
        if end.checksum != ours {
            return Err(Wrong::Checksum {
                turns,
                agreed: self.agreed,
                recorded: end.checksum,
                ours,
            }
            .into());
        }
        self.result.checksums += 1;
        for (peer, signature) in &end.signatures {
            let place = self.speaking.roster.get(usize::from(*peer));
            let signed = end.with(*signature);
            if !place.is_some_and(|place| signed.is_by(place.peer, self.options.signature)) {
                return Err(Wrong::EndSignature { peer: *peer }.into());
            }
            self.result.signatures += 1;
            self.result.attested_turns = Some(turns);
        }
        self.result.outcome = end.outcome;
        Ok(())
    }
}

/// How the world in `snapshot` differs from `world`, if it does.
fn difference<S: Simulation>(world: &S, snapshot: &[u8]) -> Option<Difference> {
    if saved(world) == snapshot {
        let again = S::load(snapshot).ok().map(|loaded| saved(&loaded));
        return match again {
            Some(again) if again == snapshot => None,
            Some(_) => Some(Difference::Hidden),
            None => Some(Difference::Unloadable),
        };
    }
    let Ok(other) = S::load(snapshot) else {
        return Some(Difference::Unloadable);
    };
    Some(sim::diff(&other, world).map_or(Difference::Hidden, Difference::Field))
}

fn saved(world: &impl sim::State) -> Vec<u8> {
    let mut bytes = Vec::new();
    world.save(&mut bytes);
    bytes
}

#[cfg(test)]
mod tests;
