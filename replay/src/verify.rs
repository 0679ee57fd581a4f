//! Re-runs a match and checks all claims of its file.

mod expected;

use crate::error::KeyframeFault;
use crate::{Error, FileEnd, KeyframeAt, Reader};
use expected::{Claim, Claims, Expected, Runs, collect};
use lockstep::log::{
    AgreedStart, Bundle, Continuation, Document, Plans, Record, RosterChange, Start,
    continued_hash, roster_hash, start_hash, turn_hash,
};
use lockstep::session::roster::Peers;
use lockstep::sign::Ed25519;
use lockstep::{LogHash, PeerId, Plan, TurnNumber, guard, world_entries};
use sim::{Checksum, Outcome, Simulation};
use std::sync::Arc;

/// Options of a verification.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Also saves, loads and compares the world after every tick, which finds state that a snapshot misses. Slow.
    pub every_tick: bool,
    /// Whether a peer's signature is valid for some bytes. Default: [`Ed25519::verify`].
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

/// The result of a re-run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Verified {
    /// Turns re-run.
    pub turns: u32,
    /// Turns of the file.
    pub of: u32,
    /// Ticks stepped.
    pub ticks: u64,
    /// Recorded checksums that agreed.
    pub checksums: u32,
    /// Keyframes that equal the world of their turn.
    pub keyframes: u32,
    /// Keyframes that were compared with no world: [`KeyframeFault::TooLong`] and [`KeyframeFault::FarBehind`].
    pub keyframes_unread: u32,
    /// Valid signatures: under the start, the history and the end.
    pub signatures: u32,
    /// The turn up to which a peer's signature attests the history, if any.
    pub attested_turns: Option<u32>,
    /// Where players went on alone, by turn. The first one ends the part of the peers in the start record.
    pub continued: Vec<Continued>,
    /// Desyncs after which the match went on without the peers whose worlds differ from the re-run's.
    pub desyncs: Vec<Settled>,
    /// The agreed outcome, if any.
    pub outcome: Option<Outcome>,
    /// Checksum of the world after the last turn re-run.
    pub checksum: Checksum,
    /// How the file ends.
    pub tail: FileEnd,
    /// The first fault, where the re-run stopped.
    pub wrong: Option<Wrong>,
}

/// A player that went on alone, with a valid signature.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Continued {
    /// The record of it.
    pub continuation: Arc<Continuation>,
    /// The turn up to which a former peer's signature attests the part before it, if any.
    pub attested_turns: Option<u32>,
}

/// A desync that the match survived.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settled {
    /// Turns executed.
    pub turns: u32,
    /// The excluded peers, by index in the roster.
    pub peers: Vec<u8>,
}

/// A fault of a replay.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Wrong {
    /// A signature under the start is invalid.
    #[error("the signature of peer {peer} under the start does not hold")]
    StartSignature {
        /// The peer, by index in the roster.
        peer: u8,
    },
    /// The world of the re-run differs from the recorded one.
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
    /// The peers disagreed during the match, and the differing peers were not excluded.
    #[error(
        "the peers' worlds differed after {turns} turns, and no peer was removed for it; the re-run has checksum {ours}"
    )]
    Desync {
        /// Turns executed.
        turns: u32,
        /// The reported checksums, by index in the roster.
        checksums: Vec<(u8, Checksum)>,
        /// The re-run's.
        ours: Checksum,
    },
    /// A roster change does not follow its predecessor, or its accepts are not a quorum.
    #[error("the accepts do not decide the roster change that ends epoch {epoch}")]
    Roster {
        /// The epoch.
        epoch: u32,
    },
    /// A continuation does not follow the turns before it, or its named key did not sign it.
    #[error("the signature under the continuation from turn {turns} on does not hold")]
    Continued {
        /// Turns before it.
        turns: u32,
    },
    /// A turn's plan is not the one that the turns before it ask for.
    #[error("turn {turn} has ticks of {} ms ({plan}); the turns before it ask for {} ms ({asked})", plan.tick_ms, asked.tick_ms)]
    Plan {
        /// The turn.
        turn: TurnNumber,
        /// Its plan.
        plan: Plan,
        /// The required plan.
        asked: Plan,
    },
    /// A signature under the history is invalid, or its batch does not decode.
    #[error("the signature of peer {peer} at {turns} turns does not hold")]
    Signature {
        /// The peer.
        peer: u8,
        /// Turns that it had logged; 0 if the batch does not decode.
        turns: u32,
    },
    /// A peer signed another history.
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
        /// The fault.
        what: KeyframeFault,
    },
    /// A keyframe differs from the world of its turn.
    #[error("the keyframe of turn {turns} is not the world of that turn: {difference}")]
    Keyframe {
        /// Turns executed.
        turns: u32,
        /// The first difference; the file's value is on the left.
        difference: Difference,
    },
    /// The recorded end does not match the log.
    #[error("the recorded end after {turns} turns does not fit the log")]
    End {
        /// Turns that it names.
        turns: u32,
    },
    /// A signature under the end is invalid.
    #[error("the signature of peer {peer} under the end does not hold")]
    EndSignature {
        /// The peer.
        peer: u8,
    },
    /// The world panicked in a turn: the game's own fault, as in the match itself.
    #[error("the world panicked in turn {turn}: {message}")]
    World {
        /// The turn.
        turn: TurnNumber,
        /// The words of the panic.
        message: String,
    },
    /// A world differs after saving and loading.
    #[error("saved and loaded after {ticks} ticks (turn {turn}), the world differs: {difference}")]
    Snapshot {
        /// The turn.
        turn: TurnNumber,
        /// Ticks stepped.
        ticks: u64,
        /// The first difference; the loaded value is on the left.
        difference: Difference,
    },
}

/// The first field in which two worlds differ.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Difference {
    /// A field, row or section: the checked value on the left, the right value on the right.
    #[error("{0}")]
    Field(sim::Difference),
    /// The bytes differ, but no visited field does.
    #[error("the bytes differ, but no visited field does")]
    Hidden,
    /// The snapshot does not load.
    #[error("it does not load")]
    Unloadable,
}

impl Verified {
    /// Whether everything re-run is valid. See [`tail`](Self::tail) for whether that is the whole match.
    pub fn holds(&self) -> bool {
        self.wrong.is_none()
    }
}

/// Re-runs every turn and checks the claims of the file: checksums, signed history, keyframes, and the end. Stops
/// at the first fault. `progress` gets the executed turns after each turn.
///
/// # Errors
/// [`Error`] if this build cannot run the match (setup, other rules), and errors of the disk. A fault of the match
/// itself is [`Verified::wrong`].
pub fn verify<S: Simulation>(
    reader: &mut Reader,
    options: &Options,
    mut progress: impl FnMut(u32),
) -> Result<Verified, Error> {
    let setup = reader.setup::<S>()?;
    let start = reader.start().clone();
    let (mut claims, runs) = collect(reader)?;
    let begin = sim::Start {
        setup,
        seed: start.seed,
        seats: start.seats(),
    };
    let world = guard(|| S::new(&begin)).map_err(|message| Error::World { turn: 0, message })?;
    let mut run = Run::<S> {
        world,
        log_hash: start_hash(&start),
        turn_hash: start_hash(&start),
        speaking: (*start).clone(),
        runs,
        roster: Peers::first(start.roster.len()),
        epoch: 0,
        plan: start.terms.plan,
        plans: Plans::of(&start),
        began: 0,
        options,
        agreed: 0,
        result: Verified {
            turns: 0,
            of: reader.turns(),
            ticks: 0,
            checksums: 0,
            keyframes: 0,
            keyframes_unread: 0,
            signatures: 0,
            attested_turns: None,
            continued: Vec::new(),
            desyncs: Vec::new(),
            outcome: None,
            checksum: Checksum(0),
            tail: reader.file_end(),
            wrong: None,
        },
        effects: Vec::new(),
    };
    let result = run.all(reader, &mut claims, &mut progress);
    match result {
        Ok(()) => {}
        Err(Stop::Wrong(wrong)) => run.result.wrong = Some(*wrong),
        Err(Stop::Error(error)) => return Err(error),
    }
    run.result.checksum = run.world.checksum();
    Ok(run.result)
}

/// Checksums of the peers' worlds, by turns executed. Where they differed, each is among them, except those of
/// excluded peers.
pub(crate) fn checksums(reader: &mut Reader) -> Result<Vec<(u32, Checksum)>, Error> {
    let (mut claims, _) = collect(reader)?;
    let mut checksums = Vec::new();
    while checksums.len() < MOST_CHECKSUMS
        && let Some(Expected { turns, claim }) = claims.next(reader, u32::MAX)?
    {
        match claim {
            Claim::Checksum(checksum) => checksums.push((turns, checksum)),
            Claim::Desync {
                checksums: each,
                without,
            } => {
                let minority = without.unwrap_or_default();
                let others = each
                    .into_iter()
                    .filter(|(peer, _)| !minority.contains(*peer));
                checksums.extend(others.map(|(_, checksum)| (turns, checksum)));
            }
            Claim::History { .. } | Claim::Unreadable { .. } | Claim::Keyframe(_) => {}
        }
    }
    Ok(checksums)
}

/// The most checksums of a file that [`checksums`] gives: more than five days have.
pub(crate) const MOST_CHECKSUMS: usize = 1 << 20;

struct Run<'a, S: Simulation> {
    world: S,
    log_hash: LogHash,
    /// Like `log_hash`, but without roster changes whose first turn is yet to come.
    turn_hash: LogHash,
    /// The start, with the current incarnations of its peers.
    speaking: Start,
    runs: Runs,
    /// The peers that vote in the current epoch.
    roster: Peers,
    epoch: u32,
    /// The next turn's plan.
    plan: Plan,
    plans: Plans,
    /// The first turn of the epoch.
    began: u32,
    options: &'a Options,
    /// Turns up to which recorded checksums agreed.
    agreed: u32,
    result: Verified,
    effects: Vec<S::Effect>,
}

/// Why a re-run stops.
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
        claims: &mut Claims,
        progress: &mut dyn FnMut(u32),
    ) -> Result<(), Stop> {
        self.check_start(reader)?;
        let mut cursor = reader.cursor(TurnNumber(0));
        loop {
            while let Some(next) = claims.next(reader, self.result.turns)? {
                self.check(reader, &next)?;
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
        // Changes decided after the last turn.
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
        if let Some(change) = self.plans.take(bundle) {
            self.plan = change.plan;
        }
        self.log_hash = turn_hash(self.log_hash, bundle);
        self.turn_hash = self.log_hash;
        let (mut entries, _) = world_entries(bundle);
        for _ in 0..bundle.ticks() {
            self.effects.clear();
            let stepped = guard(|| self.world.step(&entries, &mut self.effects));
            stepped.map_err(|message| Wrong::World {
                turn: bundle.turn,
                message,
            })?;
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

    /// Checks that a quorum of the previous roster decided a roster change, or that its players signed their branch.
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
        let holds = change.is_decided_by(&self.speaking, self.roster, signature)
            || change.begins_branch(&self.speaking, self.roster, signature);
        if !follows || !alike || !holds {
            return Err(Wrong::Roster { epoch });
        }
        self.log_hash = roster_hash(self.log_hash, change);
        change.apply(&mut self.speaking);
        (self.roster, self.epoch) = (change.value.roster, epoch + 1);
        self.plans.begin_epoch(self.roster.len() as usize);
        self.began = turns;
        self.result.signatures += change.accepts.len() as u32;
        Ok(())
    }

    /// A player goes on alone: from here on, only that key's signatures count.
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
        self.plans = Plans::of(&self.speaking);
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
                let minority = without.unwrap_or_default();
                let mut others = checksums
                    .iter()
                    .filter(|(peer, _)| !minority.contains(*peer));
                if without.is_some() && others.all(|(_, checksum)| *checksum == ours) {
                    self.agreed = turns;
                    let peers = minority.iter().collect();
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
            Err(Error::Keyframe {
                what: KeyframeFault::TooLong { .. } | KeyframeFault::FarBehind,
                ..
            }) => {
                self.result.keyframes_unread += 1;
                return Ok(());
            }
            Err(Error::Keyframe { what, .. }) => {
                return Err(Wrong::KeyframeFault { turns, what }.into());
            }
            Err(error) => return Err(error.into()),
        };
        let differs = guard(|| difference(&self.world, &keyframe.snapshot));
        let turn = TurnNumber(turns);
        if let Some(difference) = differs.map_err(|message| Wrong::World { turn, message })? {
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

/// The difference between `world` and the world in `snapshot`, if any.
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
