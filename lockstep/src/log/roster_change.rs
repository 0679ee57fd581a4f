//! Roster changes, and what proves their decision.

use super::batch::{Equivocation, SignedBatch};
use super::document::{Document, Kind, Rule, SignatureSet};
use super::peers::{Peers, Voters};
use super::reopening::{NewRun, Reopening};
use super::start::Start;
use super::value::{Ballot, Readmission, Value, decides};
use crate::encoding::{DecodeError, Reader, put_bytes, put_varint};
use crate::limits::MAX_PEERS;
use crate::{Incarnation, LogHash, MatchId, PeerId};
use sim::Seat;
use std::borrow::Cow;

/// What ended an epoch: a decided roster change, with the signed accepts that decided it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RosterChange {
    /// The epoch that it ends; the first is 0.
    pub epoch: u32,
    /// The ballot in which it was decided.
    pub ballot: Ballot,
    /// The new roster, and where its epoch begins.
    pub value: Value,
    /// The peers that accepted, ascending, by index in the start's roster, with their signatures of an [`Accept`].
    pub accepts: Vec<(u8, [u8; 64])>,
    /// Proofs that the peers which go for cheating did: one for each, ascending.
    pub proofs: Vec<Equivocation>,
    /// The match was reopened here after the processes of its peers had died. Then the accepts are signatures of the new
    /// runs under the reopening.
    pub reopening: Option<Reopening>,
}

/// Seats that a roster change left empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gone {
    /// Why their peers are out of the roster.
    pub cause: RosterCause,
    /// The seats, ascending.
    pub seats: Vec<Seat>,
}

impl Gone {
    /// The seats of all, ascending.
    pub fn seats(gone: &[Gone]) -> Vec<Seat> {
        let seats = gone.iter().flat_map(|gone| &gone.seats);
        let mut seats: Vec<Seat> = seats.copied().collect();
        seats.sort_unstable();
        seats
    }
}

/// Why a roster changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RosterCause {
    /// Peers left.
    Left,
    /// Peers fell silent, blocked turns for too long, or another incarnation of theirs asked for the place.
    Lost,
    /// Peers signed two different batches for one turn. The log holds the proof.
    Cheated,
    /// Peers had another world or log than a quorum: see [`OnDesync`](crate::log::OnDesync).
    Desynced,
    /// The suspected peers answered, so all stay.
    FalseAlarm,
    /// A joiner was admitted into its seats.
    Rejoined,
    /// The match was reopened after quorum loss, or after all processes had died. Its peers play on from the newest turn
    /// that a quorum recorded.
    Reopened,
    /// A branch began: its peers go on by their players' word and without a quorum, in a match of their own.
    Branched,
}

impl RosterCause {
    /// One word, for programs to read.
    pub fn name(self) -> &'static str {
        match self {
            RosterCause::Left => "left",
            RosterCause::Lost => "lost",
            RosterCause::Cheated => "cheated",
            RosterCause::Desynced => "desync",
            RosterCause::FalseAlarm => "false-alarm",
            RosterCause::Rejoined => "rejoined",
            RosterCause::Reopened => "reopened",
            RosterCause::Branched => "branched",
        }
    }
}

impl RosterChange {
    /// The peers `gone` from the roster, by cause. A peer that is not in `removed` had left by itself, as had the
    /// peers of `value.left`.
    pub fn gone(&self, gone: Peers, removed: Peers) -> Vec<(RosterCause, Peers)> {
        let value = &self.value;
        let removed = removed.without(value.left);
        let known = value.cheats.or(value.minority);
        let causes = match &self.reopening {
            Some(reopening) => vec![(cause_of(reopening), gone)],
            None => vec![
                (RosterCause::Cheated, value.cheats),
                (RosterCause::Desynced, value.minority.without(value.cheats)),
                (RosterCause::Lost, removed.without(known)),
                (RosterCause::Left, gone.without(removed.or(known))),
            ],
        };
        let causes = causes.into_iter();
        let causes = causes.map(|(cause, peers)| (cause, peers.and(gone)));
        causes.filter(|(_, peers)| !peers.is_empty()).collect()
    }

    /// Why the roster changed; [`gone`](Self::gone) tells which peers left it.
    pub fn cause(&self, gone: &[Gone]) -> RosterCause {
        if let Some(reopening) = &self.reopening {
            return cause_of(reopening);
        }
        match (gone.first(), self.value.joins) {
            (Some(gone), _) => gone.cause,
            (None, Some(_)) => RosterCause::Rejoined,
            (None, None) => RosterCause::FalseAlarm,
        }
    }

    /// Whether the accepts are of peers of the roster before, hold, and decide, and every peer that goes for cheating is
    /// proved to. `start` names the runs of their processes as [`apply`](Self::apply) left it; `verify` tells whether a
    /// signature is a peer's for some bytes. Of a reopening also [`follows_on`](Self::follows_on) must hold. A branch is
    /// decided by no roster: see [`begins_branch`](Self::begins_branch).
    pub fn is_decided_by(
        &self,
        start: &Start,
        roster_before: Peers,
        verify: impl Fn(PeerId, &[u8], &[u8; 64]) -> bool,
    ) -> bool {
        if let Some(reopening) = &self.reopening {
            return !reopening.branch
                && Voters::new(roster_before).is_quorum(reopening.roster())
                && self.is_signed_by_runs(reopening, start, roster_before, verify);
        }
        let holds = |(peer, signature): &(u8, [u8; 64])| {
            let accept = Accept::of(start, *peer, self.epoch, self.ballot, self.value);
            let place = start.roster.get(usize::from(*peer));
            let signed = accept.map(|accept| accept.with(*signature));
            signed
                .zip(place)
                .is_some_and(|(signed, place)| signed.is_by(place.peer, &verify))
        };
        let proved: Option<Peers> = self
            .proofs
            .iter()
            .map(|proof| proof.holds(start, &verify))
            .collect();
        let accepts: Peers = self.accepts.iter().map(|(peer, _)| *peer).collect();
        self.value.can_follow(roster_before)
            && accepts.is_within(roster_before)
            && decides(Voters::new(roster_before), self.value, accepts)
            && self.accepts.iter().all(holds)
            && proved == Some(self.value.cheats)
            && self
                .value
                .cheats
                .is_within(roster_before.without(self.value.roster))
            && self
                .value
                .minority
                .is_within(roster_before.without(self.value.roster))
            && self.value.log_hash.is_some()
    }

    /// Whether it begins a branch, and all peers have signed it that go on in it. Peers follow it by their players' word
    /// alone; for a log also [`follows_on`](Self::follows_on) must hold.
    pub fn begins_branch(
        &self,
        start: &Start,
        roster_before: Peers,
        verify: impl Fn(PeerId, &[u8], &[u8; 64]) -> bool,
    ) -> bool {
        self.branch().is_some_and(|branch| {
            !branch.runs.is_empty() && self.is_signed_by_runs(branch, start, roster_before, verify)
        })
    }

    /// The branch that it begins, if it is one.
    pub fn branch(&self) -> Option<&Reopening> {
        self.reopening.as_ref().filter(|reopening| reopening.branch)
    }

    /// The match that goes on behind it: that of `start`, or the branch that begins.
    pub fn match_behind(&self, start: &Start) -> MatchId {
        let branch = self.branch();
        branch.map_or(start.match_id, |branch| {
            branch.branch_id(start, self.value.cut)
        })
    }

    /// Puts the runs of processes that come back in the place of those before, and a branch in the place of its match:
    /// from now on `start` tells whose signatures hold in the new epoch, and for which match.
    pub fn apply(&self, start: &mut Start) {
        start.match_id = self.match_behind(start);
        for (peer, incarnation) in self.new_runs() {
            if let Some(place) = start.roster.get_mut(usize::from(peer)) {
                place.incarnation = incarnation;
            }
        }
    }
}

fn cause_of(reopening: &Reopening) -> RosterCause {
    match reopening.branch {
        true => RosterCause::Branched,
        false => RosterCause::Reopened,
    }
}

impl RosterChange {
    /// Whether all peers have signed this reopening that go on by it, each as another run than `start` names.
    fn is_signed_by_runs(
        &self,
        reopening: &Reopening,
        start: &Start,
        roster_before: Peers,
        verify: impl Fn(PeerId, &[u8], &[u8; 64]) -> bool,
    ) -> bool {
        let roster = reopening.roster();
        let document = reopening.at(start, self.epoch, self.value.cut);
        let value = Value::of(roster, self.value.cut);
        let in_order = reopening
            .runs
            .is_sorted_by(|one, next| one.peer < next.peer);
        let is_new = |run: &NewRun| {
            let place = start.roster.get(usize::from(run.peer));
            place.is_some_and(|place| place.incarnation != run.incarnation)
        };
        let signers = roster
            .iter()
            .filter_map(|peer| Some((peer, start.roster.get(usize::from(peer))?.peer)));
        let mut signatures = SignatureSet::new(&document, signers);
        in_order
            && self.value == value
            && self.proofs.is_empty()
            && roster.is_within(roster_before)
            && reopening.runs.iter().all(is_new)
            && signatures.add_all(self.accepts.iter().copied(), verify)
            && signatures.fulfils(Rule::All)
    }

    /// Whether it follows on a log of so many turns whose hash, with the changes chained in that wait for their first
    /// turn, is this one, and whose epoch began with turn `began`. Of an ordinary change only the turn is looked at: its
    /// accepts are worth nothing without the turns before it, and nothing else of them is signed.
    pub fn follows_on(&self, turns: u32, log_hash: LogHash, began: u32, roster: Peers) -> bool {
        let Some(reopening) = &self.reopening else {
            return self.value.cut == turns;
        };
        // Where the epoch has no turn, its decision is all there is to attest. A branch is attested by its signers alone.
        let attested = began == turns
            || reopening.branch
            || Voters::new(roster).is_quorum(reopening.holders());
        self.value.cut == turns && reopening.log_hash == log_hash && attested
    }

    /// Whether its signers signed what the log was at its cut.
    pub(crate) fn binds_log(&self) -> bool {
        self.reopening.is_some() || self.value.log_hash.is_some()
    }

    /// The runs of processes that speak for their peers from the next epoch on, and did not before.
    pub fn new_runs(&self) -> impl Iterator<Item = (u8, Incarnation)> {
        let reopened = self.reopening.iter().flat_map(|reopening| &reopening.runs);
        let joins = self
            .value
            .joins
            .map(|joins| (joins.peer, joins.incarnation));
        reopened.map(|run| (run.peer, run.incarnation)).chain(joins)
    }
}

/// What the peer at one place of the start's roster signs of a message about a roster change.
pub(crate) struct Vote<'a> {
    match_id: MatchId,
    incarnation: Incarnation,
    content: Cow<'a, [u8]>,
}

impl<'a> Vote<'a> {
    /// `None` where there is no such place.
    pub(crate) fn of(
        start: &Start,
        peer: u8,
        content: impl Into<Cow<'a, [u8]>>,
    ) -> Option<Vote<'a>> {
        let place = start.roster.get(usize::from(peer))?;
        Some(Vote {
            match_id: start.match_id,
            incarnation: place.incarnation,
            content: content.into(),
        })
    }
}

impl Document for Vote<'_> {
    const KIND: Kind = Kind::Vote;

    fn put_content(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.match_id.0);
        out.extend_from_slice(&self.incarnation.0);
        out.extend_from_slice(&self.content);
    }
}

/// The number of the accept among the messages about a roster change, as they travel.
const ACCEPT: u32 = 3;

/// What the peer at one place of the start's roster signs to accept a value.
pub struct Accept(Vote<'static>);

impl Accept {
    /// `None` where there is no such place.
    pub fn of(start: &Start, peer: u8, epoch: u32, ballot: Ballot, value: Value) -> Option<Accept> {
        let content = postcard::to_allocvec(&(epoch, ACCEPT, ballot, value));
        let content = content.expect("an accept always encodes");
        Vote::of(start, peer, content).map(Accept)
    }
}

impl Document for Accept {
    const KIND: Kind = Kind::Vote;

    fn put_content(&self, out: &mut Vec<u8>) {
        self.0.put_content(out);
    }
}

pub(crate) fn encode_change(change: &RosterChange) -> Vec<u8> {
    let mut out = Vec::new();
    put_change(&mut out, change);
    out
}

pub(super) fn put_change(out: &mut Vec<u8>, change: &RosterChange) {
    put_varint(out, u64::from(change.epoch));
    put_varint(out, u64::from(change.ballot.round));
    out.push(change.ballot.peer);
    out.extend_from_slice(&change.value.roster.0.to_le_bytes());
    put_varint(out, u64::from(change.value.cut));
    match (&change.reopening, change.value.joins) {
        (None, None) => out.push(0),
        (None, Some(joins)) => {
            out.extend_from_slice(&[1, joins.peer]);
            out.extend_from_slice(&joins.incarnation.0);
        }
        (Some(reopening), _) => {
            out.push(if reopening.branch { 3 } else { 2 });
            out.extend_from_slice(&reopening.log_hash.0);
            put_varint(out, reopening.runs.len() as u64);
            for run in &reopening.runs {
                out.extend_from_slice(&[run.peer, u8::from(run.held)]);
                out.extend_from_slice(&run.incarnation.0);
            }
        }
    }
    out.extend_from_slice(&change.value.minority.0.to_le_bytes());
    out.extend_from_slice(&change.value.left.0.to_le_bytes());
    put_varint(out, change.accepts.len() as u64);
    for (peer, signature) in &change.accepts {
        out.push(*peer);
        out.extend_from_slice(signature);
    }
    out.push(u8::from(change.value.log_hash.is_some()));
    if let Some(hash) = &change.value.log_hash {
        out.extend_from_slice(&hash.0);
    }
    out.extend_from_slice(&change.value.cheats.0.to_le_bytes());
    put_varint(out, change.proofs.len() as u64);
    for Equivocation(one, other) in &change.proofs {
        put_batch(out, one);
        put_batch(out, other);
    }
}

fn put_batch(out: &mut Vec<u8>, batch: &SignedBatch) {
    out.push(batch.peer);
    put_bytes(out, &batch.content);
    out.extend_from_slice(&batch.signature);
}

fn signed_batch(reader: &mut Reader<'_>) -> Result<SignedBatch, DecodeError> {
    let peer = reader.byte()?;
    SignedBatch::read(peer, reader)
}

pub(crate) fn decode_change(reader: &mut Reader<'_>) -> Result<RosterChange, DecodeError> {
    let epoch = reader.number()?;
    let ballot = Ballot {
        round: reader.number()?,
        peer: reader.byte()?,
    };
    let mut value = Value::of(Peers(u16::from_le_bytes(reader.array()?)), reader.number()?);
    let reopening = match reader.byte()? {
        0 => None,
        1 => {
            value.joins = Some(Readmission {
                peer: reader.byte()?,
                incarnation: Incarnation(reader.array()?),
            });
            None
        }
        kind @ (2 | 3) => Some(reopening(reader, kind == 3)?),
        _ => return Err(reader.fail("no such roster change")),
    };
    value.minority = Peers(u16::from_le_bytes(reader.array()?));
    value.left = Peers(u16::from_le_bytes(reader.array()?));
    let count = reader.count(MAX_PEERS, "more peers than allowed")?;
    let accepts: Vec<(u8, [u8; 64])> = (0..count)
        .map(|_| Ok((reader.byte()?, reader.array()?)))
        .collect::<Result<_, DecodeError>>()?;
    if value.roster.is_empty() || !accepts.is_sorted_by(|one, next| one.0 < next.0) {
        return Err(reader.fail("no roster, or accepts out of order"));
    }
    if reader.flag()? {
        value.log_hash = Some(LogHash(reader.array()?));
    }
    value.cheats = Peers(u16::from_le_bytes(reader.array()?));
    let count = reader.count(MAX_PEERS, "more proofs than peers")?;
    let proofs = (0..count)
        .map(|_| Ok(Equivocation(signed_batch(reader)?, signed_batch(reader)?)))
        .collect::<Result<_, DecodeError>>()?;
    Ok(RosterChange {
        epoch,
        ballot,
        value,
        accepts,
        reopening,
        proofs,
    })
}

fn reopening(reader: &mut Reader<'_>, branch: bool) -> Result<Reopening, DecodeError> {
    let log_hash = LogHash(reader.array()?);
    let count = reader.count(MAX_PEERS, "more peers than allowed")?;
    let runs = (0..count)
        .map(|_| {
            Ok(NewRun {
                peer: reader.byte()?,
                held: reader.flag()?,
                incarnation: Incarnation(reader.array()?),
            })
        })
        .collect::<Result<_, DecodeError>>()?;
    Ok(Reopening {
        log_hash,
        runs,
        branch,
    })
}
