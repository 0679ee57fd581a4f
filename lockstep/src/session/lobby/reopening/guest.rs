//! A guest of a reopening: it tells its host what it has recorded, and signs where the match goes on.

use super::activity_probe::ActivityProbe;
use super::consent::{Answered, Consent};
use super::message::Said;
use super::recovered_log::RecoveredLog;
use super::{carry_out, keep, probe_others, probe_proved};
use crate::addresses::{Addresses, MAX_ADDRESSES};
use crate::log::RosterChange;
use crate::session::Step;
use crate::session::core::Core;
use crate::session::joiner::Joiner;
use crate::session::links::link::Link;
use crate::session::lobby::guest::{Exit, GuestBase};
use crate::session::rejoin::{Answer, Ask, RejoinContext, decode, decode_answer, encode, seats_of};
use crate::session::wire::Control;
use crate::{Contact, EndReason, Event, Fault, JoinRefused, LinkError, LinkId, LobbyPeer, PeerId};
use sim::{Checksum, Seat};
use std::time::Duration;

/// A host cannot put the beginning off for longer.
const BEGIN_WITHIN: Duration = Duration::from_secs(10);

pub(in crate::session::lobby) struct Returner {
    context: RejoinContext,
    /// The peer that hosts, at the other end of this link.
    host: PeerId,
    link: LinkId,
    consent: Consent,
    /// The number by which the store says that it keeps what this peer is ready to sign.
    keeps: Option<u64>,
    probe: ActivityProbe,
}

impl Returner {
    /// The host is at the other end of `link`.
    pub(in crate::session::lobby) fn new(
        core: &mut Core,
        context: RejoinContext,
        link: LinkId,
    ) -> Result<Self, EndReason> {
        let log = RecoveredLog::open(core.signer.as_ref(), &context);
        let log = log.map_err(EndReason::Refused)?;
        let consent = Consent::new(log, core.incarnation, core.limits.catch_up_bytes);
        let come = Said::Come {
            claim: consent.claim(),
            accepted: consent.accepted(),
            signed: context.from.signed,
            addresses: context.addresses.clone().into(),
        };
        core.send(link, &Control::Reopen(come));
        let proved = core.links.get(&link).and_then(|link| link.proved);
        let (host, _) = proved.ok_or(EndReason::LobbyClosed)?;
        Ok(Returner {
            context,
            host,
            link,
            consent,
            keeps: None,
            probe: ActivityProbe::new(core.now),
        })
    }

    /// It does not go on with the host: another peer may have the match, where any other is known. By its player's word a
    /// guest of another history waits until the match goes on, and follows that from the beginning.
    fn turned_away(&self, core: &Core, why: EndReason) -> Step {
        let differs = why == EndReason::Refused(JoinRefused::OtherHistory);
        if differs && self.context.from.accepts_other_history {
            return Step::Exit(Exit::Search(why));
        }
        let mut contacts = self.context.from.contacts.iter();
        let others = contacts.any(|contact| {
            let other = contact.peer != self.host && contact.peer != core.id();
            other && !contact.addresses.is_empty()
        });
        match others {
            true => Step::Exit(Exit::Search(why)),
            false => Step::End(why),
        }
    }

    fn answered(&mut self, core: &mut Core, answered: Answered) -> Step {
        match answered {
            Answered::Stay => {}
            Answered::Ask(ask) => core.send_bulk(self.link, encode(&ask)),
            Answered::Record(signed, accepts) => {
                let kept = keep(core, &mut self.context, self.consent.log(), signed, accepts);
                match kept {
                    Ok(number) => self.keeps = Some(number),
                    Err(why) => return Step::End(EndReason::Refused(why)),
                }
            }
            Answered::Sign(attempt, signature, accept) => {
                let sign = Said::Sign {
                    attempt,
                    signature: signature.into(),
                    accept: accept.map(Into::into),
                };
                core.send(self.link, &Control::Reopen(sign));
            }
            Answered::Contradicted(found) => {
                core.refuse(self.link, JoinRefused::OtherHistory);
                let signers = seats_of(self.consent.log().start(), found.peers);
                return self.turned_away(core, found.reason(signers));
            }
            Answered::OtherHistory => {
                let why = JoinRefused::OtherHistory;
                core.refuse(self.link, why.clone());
                return self.turned_away(core, EndReason::Refused(why));
            }
        }
        Step::Stay
    }

    fn begin(
        &mut self,
        core: &mut Core,
        (decided, change): (Option<&[u8]>, &[u8]),
        told: Vec<(PeerId, Addresses)>,
        in_ms: u32,
    ) -> Step {
        let signer = core.signer.as_ref();
        let change = self.consent.reopened_by(signer, decided, change);
        let Some(change) = change else {
            core.fault(self.link, Fault::Signature);
            core.close(self.link);
            return self.turned_away(core, EndReason::LobbyClosed);
        };
        for (peer, addresses) in told {
            self.learn(peer, addresses.into());
        }
        let due = core.now + goes_on_in(in_ms);
        Step::Exit(Exit::Reopened(Box::new(change), due))
    }

    /// The host tells where a peer of the match can be dialled. Without an address it is where it was before.
    fn learn(&mut self, peer: PeerId, addresses: Vec<String>) {
        let mut roster = self.consent.log().start().roster.iter();
        if !roster.any(|place| place.peer == peer) {
            return;
        }
        let contacts = &mut self.context.from.contacts;
        contacts.retain(|known| known.peer != peer || addresses.is_empty());
        if contacts.iter().all(|known| known.peer != peer) {
            contacts.push(Contact { peer, addresses });
        }
    }

    /// A host, which may lie, tells where else another peer can be dialled.
    fn seek_at(&mut self, peer: PeerId, addresses: Vec<String>) {
        let mut contacts = self.context.from.contacts.iter_mut();
        let Some(known) = contacts.find(|known| known.peer == peer) else {
            return self.learn(peer, addresses);
        };
        for address in addresses {
            if known.addresses.len() < MAX_ADDRESSES && !known.addresses.contains(&address) {
                known.addresses.push(address);
            }
        }
    }

    fn reopened(self, core: &mut Core, change: RosterChange, due: Duration) -> Step {
        let reopened = self.consent.into_reopened(change, due);
        Step::Reopened(Box::new(Joiner::reopened(core, self.context, reopened)))
    }
}

impl GuestBase for Returner {
    fn link(&self) -> Option<LinkId> {
        Some(self.link)
    }

    fn own_seats(&self) -> &[Seat] {
        let log = self.consent.log();
        &log.start().roster[usize::from(log.me())].seats
    }

    fn proved(&mut self, core: &mut Core, link: LinkId) {
        probe_proved(core, &mut self.probe, &self.context, link);
    }

    fn link_down(&mut self, _: &mut Core, gone: &Link, _: LinkError) -> Step {
        match gone.id == self.link {
            true => Step::Exit(Exit::Search(EndReason::LobbyClosed)),
            false => Step::Stay,
        }
    }

    fn refused(&mut self, core: &mut Core, _: LinkId, why: JoinRefused) -> Step {
        match why {
            // Perhaps it goes on right here.
            JoinRefused::GoesOn => Step::Exit(Exit::Search(EndReason::Refused(why))),
            why => self.turned_away(core, EndReason::Refused(why)),
        }
    }

    fn host_left(&mut self, core: &mut Core) -> Step {
        self.turned_away(core, EndReason::LobbyClosed)
    }

    fn received(&mut self, core: &mut Core, link: LinkId, message: Control) -> Step {
        match message {
            Control::Lobby(entries) => {
                let most = usize::from(core.limits.peers);
                let peers = entries.into_iter().take(most);
                let peers = peers.map(|entry| LobbyPeer::from(entry.tidied()));
                let start = self.consent.log().start();
                core.event(Event::Lobby {
                    peers: peers.collect(),
                    terms: start.terms,
                });
            }
            Control::Reopen(Said::Propose(proposal)) => {
                let signer = core.signer.as_ref();
                let answered = self.consent.propose(signer, &self.context, proposal);
                return match answered {
                    Ok(answered) => self.answered(core, answered),
                    Err(why) => Step::End(EndReason::Refused(why)),
                };
            }
            Control::Reopen(Said::Withdraw { attempt }) => self.consent.withdraw(attempt),
            Control::Reopen(Said::HostedBy { host, addresses }) => {
                self.seek_at(host, addresses.into());
                return Step::Exit(Exit::Search(EndReason::LobbyClosed));
            }
            Control::Reopen(Said::Begin {
                decided,
                change,
                contacts,
                in_ms,
            }) => {
                let changes = (decided.as_deref(), &change[..]);
                return self.begin(core, changes, contacts, in_ms);
            }
            _ => core.fault(link, Fault::OutOfPlace),
        }
        Step::Stay
    }

    /// Others may be in the match already, and lack this peer. Or they take it for a host, which it was before.
    fn received_elsewhere(&mut self, core: &mut Core, link: LinkId, message: Control) -> Step {
        if message.comes_to_host() {
            core.close(link);
        }
        Step::Stay
    }

    /// The host may lack turns, or give them.
    fn bulk(&mut self, core: &mut Core, link: LinkId, bytes: &[u8]) -> Step {
        let hosts = link == self.link;
        if let Ok(ask) = decode::<Ask>(bytes) {
            let answer = match ask {
                Ask::Log { from, .. } if hosts => self.consent.page(from),
                _ => Answer::Nothing,
            };
            core.send_bulk(link, encode(&answer));
            return Step::Stay;
        }
        match decode_answer(bytes, &core.limits) {
            Ok(Answer::Log { from, records, .. }) if hosts => {
                let (signer, limits) = (core.signer.as_ref(), &core.limits);
                let consent = &mut self.consent;
                let answered = consent.fetched(signer, limits, from, &records);
                self.answered(core, answered)
            }
            Ok(_) if hosts => Step::Stay,
            Ok(answer) => {
                let (signer, limits) = (core.signer.as_ref(), &core.limits);
                let context = &self.context;
                let finding = self.probe.answered(signer, limits, context, link, answer);
                let goes_on = carry_out(core, finding);
                // Others may have begun what this peer has signed, and its host's word be on its way.
                if !goes_on || self.consent.may_have_begun(core.now) {
                    return Step::Stay;
                }
                core.send(self.link, &Control::Bye);
                Step::Exit(Exit::Search(EndReason::Refused(JoinRefused::GoesOn)))
            }
            Err(_) => {
                core.fault(link, Fault::Garbage);
                Step::Stay
            }
        }
    }

    /// Its recording tells what it is ready to sign.
    fn synced(&mut self, core: &mut Core, number: u64) -> Step {
        match self.keeps.take_if(|keeps| *keeps == number) {
            Some(_) => {
                let answered = self.consent.recorded(core.now);
                self.answered(core, answered)
            }
            None => Step::Stay,
        }
    }

    /// Looks whether the match is played elsewhere: the host may be wrong, or lie.
    fn advance(&mut self, core: &mut Core) -> Step {
        let host = self.host;
        probe_others(core, &mut self.probe, &self.context, |peer| peer == host);
        Step::Stay
    }

    fn deadline(&self, _: &Core) -> Option<Duration> {
        Some(self.probe.deadline())
    }

    fn executed(&self) -> Option<(u32, Checksum)> {
        self.context.executed()
    }

    fn exit(self: Box<Self>, core: &mut Core, exit: Exit) -> Step {
        match exit {
            Exit::Reopened(change, due) => self.reopened(core, *change, due),
            Exit::Search(why) => {
                // It may have signed that it goes on as the run that it was, and the others may have begun.
                core.begin_another_run();
                let joiner = Joiner::turned_away(core, self.context, self.host, why);
                Step::Search(Box::new(joiner))
            }
        }
    }

    #[cfg(test)]
    fn proposal(&self) -> Option<&super::Proposal> {
        self.consent.wanted()
    }
}

/// How long the match waits before it goes on, where its host says so many milliseconds.
fn goes_on_in(in_ms: u32) -> Duration {
    Duration::from_millis(in_ms.into()).min(BEGIN_WITHIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_cannot_put_the_beginning_off() {
        assert_eq!(goes_on_in(400), Duration::from_millis(400));
        assert_eq!(goes_on_in(u32::MAX), BEGIN_WITHIN);
    }
}
