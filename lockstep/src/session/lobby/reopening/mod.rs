//! The base of a reopening: a log, and a quorum of its roster. A match goes on whose processes have all died, or so many
//! of them that the rest is no quorum.
//!
//! One peer hosts, the others come, each with what it has recorded. Their logs are not equally long: of one epoch, two
//! peers are at most the command delay apart, and each may lack what its disk had not written.
//!
//! 1. A guest proves its key, as on every link, and tells the last epoch of its log, its turns, and their hash
//!    ([`Claim`](message::Claim)).
//! 2. Once all of the last roster are here, or the host has waited long enough, the host looks for the newest epoch, and
//!    the most turns of it, and **fetches** what it lacks itself ([`Settlement`](settlement::Settlement)). A change of the
//!    roster proves itself, by its accepts; so the newest epoch that a peer here knows of is the last one, and its roster
//!    decides.
//! 3. The **newest common turn** is the last that a quorum of that roster holds, by its own files. The cut lies behind it.
//!    A turn that fewer hold cannot be told from one that was invented: a replay keeps one signed batch of each
//!    peer every 90 s. So it does not count, not even for the peers that have it.
//! 4. The host proposes epoch, cut, the log's hash there, and the runs of the processes that go on. Every guest fetches
//!    what it lacks up to the cut **before** it signs: then the hash over all is the proposed one, or the guest refuses.
//!    Its store keeps what its earlier run has recorded, and that it signs, before the signature leaves.
//! 5. With all signatures the host makes the roster change that ends the epoch ([`Reopening`]) and tells it. Each world
//!    begins with its own newest keyframe, or where it has followed a match that stood still. A world beyond the cut begins
//!    anew, and its log loses those turns. It runs the log up to the cut. Then the next epoch begins, with turns that are
//!    empty by rule until the command delay has passed, as for a joiner.
//!
//! # Why that is sound
//!
//! - Only new runs of processes speak, each in the place of the one before: no batch or vote of a past run counts in the
//!   new epoch. They vote about the end of an epoch in which they had no part, which is allowed nowhere else. So what
//!   they may decide is narrow, and what decides it is not their memory, but what a quorum has on disk.
//! - It takes a quorum of the last roster, by the rule of every other change ([`Voters`]): no two groups can reopen one
//!   epoch, if each peer comes with its newest recording: an older one is a past that others have gone on from. A peer
//!   that does not come is not in the new roster, its seats are idle, and it may come back later, as any peer.
//! - What a quorum has reported complete, it has logged. Any two quorums have a peer in common; if all peers come that held
//!   a turn, and their disks have kept it, a quorum of those here holds it. It is lost only with the files that held it.
//! - A change may be decided that no log here tells of: the processes of peers here died after they had accepted it, and the
//!   others went on by it. An accept is in its peer's recording before another peer hears of it, and each peer here tells of
//!   its newest one. A claim so is a promise above all ballots of its epoch: the run that makes it never accepts there for
//!   its own sake. Where the change of the highest ballot may be decided, those here decide it by their accepts, and reopen
//!   the epoch that it begins: they must be a quorum of both rosters. Else the match is not reopened
//!   ([`OpenChange`](open_change::OpenChange)).
//! - All may have signed a reopening, and its host have begun it, and no log here tells of that: the other processes died.
//!   A signature is in its peer's recording before it leaves, the host's own too, and each peer here tells of its newest
//!   one. Where all peers here of that reopening's roster have signed it, and are no quorum of that roster, the others may
//!   go on by it: the match is not reopened. A process that has signed at one host tells another one of it in the same way.
//! - A peer that kept no file tells of no accept, as one whose file is lost. The host asks every peer that it finds at the
//!   addresses that were kept beside its replay, and does not reopen a match that is still played; and a run that is still
//!   there ends as removed when it hears of the reopening.
//!
//! [`Reopening`]: crate::log::Reopening
//! [`Voters`]: crate::log::Voters

mod activity_probe;
mod branch;
mod claims;
mod consent;
mod cut;
#[cfg(test)]
mod fixture;
mod guest;
mod host;
mod message;
mod open_change;
mod recovered_log;
mod settlement;

pub(super) use branch::Branching;
pub(super) use guest::Returner;
pub(super) use host::ReopeningHost;
pub(crate) use message::Said;
#[cfg(test)]
pub(crate) use message::{Claim, Proposal};
pub use open_change::OpenChange;

use self::activity_probe::{ActivityProbe, Finding, Probe};
use self::recovered_log::RecoveredLog;
use crate::log::{Accepted, Record, SignedReopening, Start};
use crate::session::Output;
use crate::session::core::Core;
use crate::session::lobby::room::Occupant;
use crate::session::rejoin::{RejoinContext, encode};
use crate::{Contact, Fault, Incarnation, JoinRefused, LinkId, PeerId};

/// Looks for a match that goes on, at peers that are not `here`.
fn probe_others(
    core: &mut Core,
    probe: &mut ActivityProbe,
    context: &RejoinContext,
    here: impl Fn(PeerId) -> bool,
) {
    let own = core.id();
    let elsewhere = context.from.contacts.iter().filter(|contact| {
        contact.peer != own && !here(contact.peer) && !contact.addresses.is_empty()
    });
    let linked = elsewhere.map(|contact| {
        let mut links = core.links_to(contact.peer);
        (contact, links.next().map(|link| link.id))
    });
    let is_up = |link: LinkId| core.links.contains_key(&link);
    let finding = probe.advance(core.now, context.from.match_id, linked, is_up);
    carry_out(core, finding);
}

/// A peer that this one has dialled is asked at once whether it still plays.
fn probe_proved(core: &mut Core, probe: &mut ActivityProbe, context: &RejoinContext, link: LinkId) {
    if core.links.get(&link).is_some_and(|link| link.dialled) {
        let ask = probe.ask(context.from.match_id, link);
        carry_out(core, Finding::Probes(vec![ask]));
    }
}

/// Does what a finding asks for. Whether it is that the match goes on.
fn carry_out(core: &mut Core, finding: Finding) -> bool {
    match finding {
        Finding::Probes(probes) => {
            for probe in probes {
                match probe {
                    Probe::Dial { address, key } => core.out.push(Output::Dial { address, key }),
                    Probe::Ask(link, ask) => {
                        if let Some(link) = core.links.get_mut(&link) {
                            link.asked = true;
                        }
                        core.send_bulk(link, encode(&ask));
                    }
                }
            }
        }
        Finding::Forged(link) => {
            core.fault(link, Fault::Signature);
            core.close(link);
        }
        Finding::GoesOn => return true,
    }
    false
}

/// The store is to keep the signature of a reopening that ends this log here, and the accept that goes with it.
/// The log that an earlier run has recorded comes before both. The number by which the store says that it is done.
///
/// # Errors
/// Why this peer cannot go on with what it has recorded.
fn keep(
    core: &mut Core,
    context: &mut RejoinContext,
    log: &RecoveredLog,
    signed: SignedReopening,
    accepts: Option<Accepted>,
) -> Result<u64, JoinRefused> {
    if context.held.is_none() {
        let recorded = RecoveredLog::open(core.signer.as_ref(), context)?;
        let (held, out) = recorded.store(context.from.keyframe.clone(), log.turns());
        core.out.extend(out);
        let accepted = context.from.accepted.clone().filter(|_| accepts.is_none());
        core.out
            .extend(accepted.map(Record::Accept).map(Output::Append));
        context.held = Some(Box::new(held));
        // A later run that comes back by this recording finds the others.
        let own = Contact {
            peer: core.id(),
            addresses: context.addresses.clone(),
        };
        let mut contacts = context.from.contacts.clone();
        contacts.retain(|contact| contact.peer != own.peer);
        contacts.push(own);
        core.tell_contacts(contacts);
    }
    let accepts = accepts.inspect(|accepts| context.from.accepted = Some(accepts.clone()));
    core.out
        .extend(accepts.map(Record::Accept).map(Output::Append));
    context.from.signed = Some(signed);
    core.out.push(Output::Append(Record::Signed(signed)));
    let number = core.next_sync();
    core.out.push(Output::Sync(number));
    Ok(number)
}

/// The peer at a place of a roster, as an occupant.
fn occupant(start: &Start, place: u8, run: Incarnation, addresses: Vec<String>) -> Occupant {
    let known = &start.roster[usize::from(place)];
    Occupant {
        order: u32::from(place),
        peer: known.peer,
        incarnation: run,
        name: known.name.clone(),
        build: String::new(),
        seats: known.seats.clone(),
        addresses,
        ready: true,
    }
}
