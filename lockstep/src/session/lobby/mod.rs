//! The lobby: one side hosts, the others are its guests, and they agree on one document that all of them sign.
//!
//! What the document is, which peers enter, and what begins depends on the [base](base::Base): nothing, for a
//! [new match](new_match); a log, to [play on](play_on) from; or a log and a quorum of its roster, to
//! [reopen](reopening) the match.

mod askers;
mod base;
mod chat;
mod duplicate_keys;
mod guest;
mod host;
mod new_match;
mod pings;
mod play_on;
mod rate_limiter;
mod reopening;
mod room;

pub(crate) use guest::Exit;
pub(crate) use play_on::Continued;
pub use reopening::OpenChange;
pub(crate) use reopening::Said;
#[cfg(test)]
pub(crate) use reopening::{Claim, Proposal};

use self::guest::GuestSide;
use self::host::HostSide;
use self::new_match::{NewMatch, Newcomer};
use self::play_on::PlayOn;
use self::reopening::{Branching, ReopeningHost, Returner};
use super::core::Core;
use super::links::link::Link;
use super::rejoin::{Answer, Ask, RejoinContext, decode, encode};
use super::wire::Control;
use super::{ConfigError, HostConfig, RulesOf, Step};
use crate::log::{SignatureSet, Start};
use crate::{EndReason, JoinRefused, LinkError, LinkId, MatchId, Moment, PeerId, Plan, Status};
use sim::{Checksum, Seat};
use std::time::Duration;

/// What this peer brings into the lobby.
pub(crate) struct OwnPeer {
    pub name: String,
    /// Seats that it takes or asks for.
    pub seats: u8,
    pub ready: bool,
    /// Where others may try to dial it.
    pub addresses: Vec<String>,
    /// Its share of the match seed comes from this, another one in every attempt.
    pub share: [u8; 32],
    pub build: String,
}

/// What a ticket says.
pub(crate) struct Invitation {
    pub match_id: MatchId,
    pub secret: [u8; 16],
    pub host: PeerId,
    pub addresses: Vec<String>,
}

/// How the host of a reopening waits for the other players.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gathers {
    /// Its player hosts. A quorum waits so long for the others.
    Players(Duration),
    /// It hosts because joiners have met that are a quorum.
    Joiners,
}

impl Gathers {
    /// How long a quorum waits for the others.
    fn wait(self) -> Duration {
        match self {
            Gathers::Players(wait) => wait,
            Gathers::Joiners => JOINERS_WAIT,
        }
    }
}

/// Joiners that are a quorum wait no longer for the others, which may come back into the match.
const JOINERS_WAIT: Duration = Duration::from_secs(5);

/// A match that is ready to begin.
pub(crate) struct Settled {
    /// Complete with the signatures of all.
    pub start: Start,
    /// Where each peer can be dialled, by roster index.
    pub addresses: Vec<Vec<String>>,
    /// When turn 0 is due, on this session's clock.
    pub begin: Duration,
}

/// A peer's part in a lobby.
pub(crate) enum Lobby {
    Host(Box<HostSide>),
    Guest(GuestSide),
    /// It cannot take part at all, which its first call tells, whatever its world has executed before.
    Refused(JoinRefused, Option<(u32, Checksum)>),
}

impl Lobby {
    /// The host of a new match.
    pub(crate) fn host(core: &Core, own: OwnPeer, config: HostConfig) -> Lobby {
        let (occupant, customs, base) = NewMatch::new(core, own, config);
        Lobby::Host(Box::new(HostSide::new(occupant, customs, Box::new(base))))
    }

    /// A guest of a new match.
    pub(crate) fn join(
        core: &mut Core,
        own: OwnPeer,
        invitation: Invitation,
        rules: RulesOf,
    ) -> Lobby {
        let base = Newcomer::new(core, own, invitation, rules);
        Lobby::Guest(GuestSide::new(Box::new(base)))
    }

    /// The host of a reopening.
    pub(crate) fn reopen(core: &Core, context: RejoinContext, gathers: Gathers) -> Lobby {
        let executed = context.executed();
        match ReopeningHost::new(core, context, gathers) {
            Ok((occupant, customs, base)) => {
                Lobby::Host(Box::new(HostSide::new(occupant, customs, Box::new(base))))
            }
            Err(why) => Lobby::Refused(why, executed),
        }
    }

    /// A lobby of one, to go on alone in a branch of a match.
    pub(crate) fn branch(core: &Core, context: RejoinContext) -> Lobby {
        let executed = context.executed();
        match Branching::new(core, context) {
            Ok((occupant, customs, base)) => {
                Lobby::Host(Box::new(HostSide::new(occupant, customs, Box::new(base))))
            }
            Err(why) => Lobby::Refused(why, executed),
        }
    }

    /// A guest of a reopening, whose host is at the other end of this link.
    ///
    /// # Errors
    /// Why it cannot take part.
    pub(crate) fn gather(
        core: &mut Core,
        context: RejoinContext,
        link: LinkId,
    ) -> Result<Lobby, EndReason> {
        let base = Returner::new(core, context, link)?;
        Ok(Lobby::Guest(GuestSide::new(Box::new(base))))
    }

    /// A lobby of one, to play on from a moment of a recorded match.
    ///
    /// # Errors
    /// [`ConfigError::Moment`].
    pub(crate) fn play_on(
        core: &Core,
        own: OwnPeer,
        from: Moment,
        plan: Plan,
        turn_limit: Option<u32>,
    ) -> Result<Lobby, ConfigError> {
        let (occupant, customs, base) = PlayOn::new(core, own, from, plan, turn_limit)?;
        Ok(Lobby::Host(Box::new(HostSide::new(
            occupant,
            customs,
            Box::new(base),
        ))))
    }

    /// The first call.
    pub(crate) fn open(&mut self, core: &mut Core) -> Step {
        match self {
            Lobby::Host(host) => host.open(core),
            Lobby::Guest(_) => Step::Stay,
            Lobby::Refused(why, _) => Step::End(EndReason::Refused(why.clone())),
        }
    }

    /// Comes before anything else is done with a new time.
    pub(crate) fn detect_clock_gap(&mut self, core: &Core) {
        if let Lobby::Host(host) = self {
            host.detect_clock_gap(core);
        }
    }

    /// Whether other peers may be linked with this one.
    pub(crate) fn takes_links(&self) -> bool {
        match self {
            Lobby::Host(host) => host.takes_links(),
            Lobby::Guest(_) => true,
            Lobby::Refused(..) => false,
        }
    }

    pub(crate) fn status(&self) -> Status {
        let is_loading = match self {
            Lobby::Host(host) => host.is_loading(),
            Lobby::Guest(guest) => guest.base().is_loading(),
            Lobby::Refused(..) => return Status::Ended,
        };
        match is_loading {
            true => Status::Loading,
            false => Status::Lobby,
        }
    }

    pub(crate) fn own_seats(&self) -> &[Seat] {
        match self {
            Lobby::Host(host) => host.own_seats(),
            Lobby::Guest(guest) => guest.base().own_seats(),
            Lobby::Refused(..) => &[],
        }
    }

    /// Where the members are found, as far as this peer knows.
    pub(crate) fn member_addresses(&self) -> Vec<String> {
        match self {
            Lobby::Host(host) => host.member_addresses(),
            Lobby::Guest(guest) => guest.base().member_addresses(),
            Lobby::Refused(..) => Vec::new(),
        }
    }

    /// Round trips between the host and its guests.
    pub(crate) fn pings(&self) -> &[(PeerId, u16)] {
        match self {
            Lobby::Host(host) => host.pings(),
            Lobby::Guest(guest) => guest.pings(),
            Lobby::Refused(..) => &[],
        }
    }

    pub(crate) fn proved(&mut self, core: &mut Core, link: LinkId) {
        match self {
            Lobby::Host(host) => host.proved(core, link),
            Lobby::Guest(guest) => guest.base_mut().proved(core, link),
            Lobby::Refused(..) => {}
        }
    }

    /// The refusal by a peer that speaks another version of the protocol, where it is the host of this lobby.
    pub(crate) fn protocol_refusal(
        &self,
        core: &Core,
        link: LinkId,
        host: u16,
    ) -> Option<JoinRefused> {
        match self {
            Lobby::Guest(guest) => guest.base().protocol_refusal(core, link, host),
            Lobby::Host(_) | Lobby::Refused(..) => None,
        }
    }

    pub(crate) fn dial_failed(&mut self, address: &str, key: PeerId, why: LinkError) {
        if let Lobby::Guest(guest) = self {
            guest.base_mut().dial_failed(address, key, why);
        }
    }

    pub(crate) fn link_down(&mut self, core: &mut Core, gone: &Link, why: LinkError) -> Step {
        match self {
            Lobby::Host(host) => host.link_down(core, gone.id),
            Lobby::Guest(guest) => guest.base_mut().link_down(core, gone, why),
            Lobby::Refused(..) => Step::Stay,
        }
    }

    pub(crate) fn received(&mut self, core: &mut Core, link: LinkId, message: Control) -> Step {
        match self {
            Lobby::Host(host) => host.received(core, link, message),
            Lobby::Guest(guest) => guest.received(core, link, message),
            Lobby::Refused(..) => Step::Stay,
        }
    }

    /// Takes what comes on the bulk channel of a link that has proved its peer.
    pub(crate) fn bulk(&mut self, core: &mut Core, link: LinkId, bytes: &[u8]) -> Step {
        match self {
            Lobby::Host(host) => host.bulk(core, link, bytes),
            Lobby::Guest(guest) => guest.base_mut().bulk(core, link, bytes),
            Lobby::Refused(..) => Step::Stay,
        }
    }

    pub(crate) fn probe_answered(
        &mut self,
        core: &mut Core,
        link: LinkId,
        sent_us: u64,
        clock_us: u64,
    ) {
        match self {
            Lobby::Host(host) => host.probe_answered(core, link),
            Lobby::Guest(guest) => {
                let sent = Duration::from_micros(sent_us);
                guest.base_mut().probe_answered(core, link, sent, clock_us);
            }
            Lobby::Refused(..) => {}
        }
    }

    pub(crate) fn set_ready(&mut self, core: &mut Core, ready: bool) -> Step {
        match self {
            Lobby::Host(host) => return host.set_ready(core, ready),
            Lobby::Guest(guest) => guest.base_mut().set_ready(core, ready),
            Lobby::Refused(..) => {}
        }
        Step::Stay
    }

    /// The host's player removes a guest, and bars its key.
    pub(crate) fn remove_guest(&mut self, core: &mut Core, guest: PeerId) -> Step {
        match self {
            Lobby::Host(host) => host.remove_guest(core, guest),
            Lobby::Guest(_) | Lobby::Refused(..) => Step::Stay,
        }
    }

    /// The host's player lets in a player that asks.
    pub(crate) fn admit_guest(&mut self, core: &mut Core, guest: PeerId) {
        if let Lobby::Host(host) = self {
            host.admit_guest(core, guest);
        }
    }

    /// The host's player takes those that are here, as soon as they are enough.
    pub(crate) fn begin_now(&mut self, core: &Core) {
        if let Lobby::Host(host) = self {
            host.begin_now(core);
        }
    }

    /// The world is built.
    pub(crate) fn loaded(&mut self, core: &mut Core, checksum: Checksum) -> Step {
        match self {
            Lobby::Host(host) => return host.loaded(core, checksum),
            Lobby::Guest(guest) => guest.base_mut().loaded(core),
            Lobby::Refused(..) => {}
        }
        Step::Stay
    }

    /// The store keeps what it was given up to then.
    pub(crate) fn synced(&mut self, core: &mut Core, number: u64) -> Step {
        match self {
            Lobby::Host(host) => host.synced(core, number),
            Lobby::Guest(guest) => guest.base_mut().synced(core, number),
            Lobby::Refused(..) => Step::Stay,
        }
    }

    pub(crate) fn chat(&mut self, core: &mut Core, text: &str) {
        match self {
            Lobby::Host(host) => host.chat(core, text),
            Lobby::Guest(guest) => guest.base_mut().chat(core, text),
            Lobby::Refused(..) => {}
        }
    }

    pub(crate) fn leave(&self, core: &mut Core) -> Step {
        match self {
            Lobby::Host(host) => host.leave(core),
            Lobby::Guest(guest) => guest.leave(core),
            Lobby::Refused(..) => Step::Stay,
        }
    }

    /// Does what is due.
    pub(crate) fn advance(&mut self, core: &mut Core) -> Step {
        match self {
            Lobby::Host(host) => host.advance(core),
            Lobby::Guest(guest) => guest.base_mut().advance(core),
            Lobby::Refused(..) => Step::Stay,
        }
    }

    pub(crate) fn deadline(&self, core: &Core) -> Option<Duration> {
        match self {
            Lobby::Host(host) => host.deadline(core),
            Lobby::Guest(guest) => guest.base().deadline(core),
            Lobby::Refused(..) => None,
        }
    }

    /// Turns that this peer's world has executed before it came into the lobby, and its checksum.
    pub(crate) fn executed(&self) -> Option<(u32, Checksum)> {
        match self {
            Lobby::Host(host) => host.executed(),
            Lobby::Guest(guest) => guest.base().executed(),
            Lobby::Refused(_, executed) => *executed,
        }
    }

    /// All participants have signed.
    pub(crate) fn close(self, core: &mut Core, signatures: &SignatureSet) -> Step {
        match self {
            Lobby::Host(host) => host.close(core, signatures),
            Lobby::Guest(_) | Lobby::Refused(..) => Step::Stay,
        }
    }

    /// What this peer joins another host's lobby with, where it hosts a reopening.
    pub(crate) fn into_context(self) -> Option<RejoinContext> {
        match self {
            Lobby::Host(host) => host.into_context(),
            Lobby::Guest(_) | Lobby::Refused(..) => None,
        }
    }

    /// A guest goes on in the match.
    pub(crate) fn exit(self, core: &mut Core, exit: Exit) -> Step {
        match self {
            Lobby::Guest(guest) => guest.exit(core, exit),
            Lobby::Host(_) | Lobby::Refused(..) => Step::Stay,
        }
    }

    #[cfg(test)]
    pub(crate) fn proposal(&self) -> Option<&Proposal> {
        match self {
            Lobby::Guest(guest) => guest.base().proposal(),
            Lobby::Host(_) | Lobby::Refused(..) => None,
        }
    }
}

/// A joiner may learn of the start before this peer does: it is told that there is nothing to fetch here. A joiner that
/// looks for another match is refused. Whether it asked for that.
fn decline(core: &mut Core, link: LinkId, match_id: MatchId, bytes: &[u8]) -> bool {
    match decode::<Ask>(bytes) {
        Ok(Ask::Outline { match_id: asked }) if asked != match_id => {
            core.refuse(link, JoinRefused::OtherMatch);
        }
        Ok(_) => core.send_bulk(link, encode(&Answer::Nothing)),
        Err(_) => return false,
    }
    true
}
