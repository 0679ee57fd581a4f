//! The base of a lobby: which peers enter, on which document they agree, and what begins then. It is nothing (a new
//! match), a log (to play on from), or a log and a quorum of its roster (to reopen).

use super::room::{Occupant, Room};
use crate::log::{SignatureSet, Terms};
use crate::session::Step;
use crate::session::core::Core;
use crate::session::rejoin::RejoinContext;
use crate::session::wire::Control;
use crate::{EndReason, Fault, Incarnation, JoinRefused, Limits, LinkId, MatchId, PeerId};
use sim::Checksum;
use std::time::Duration;

/// How long a guest is silent that another run of its process replaces, and how long that run waits for it.
#[derive(Clone, Copy)]
pub(super) struct Patience {
    pub(super) quiet: Duration,
    pub(super) wait: Duration,
}

/// How a lobby is kept on its host's side.
#[derive(Clone, Copy)]
pub(super) struct Customs {
    /// The terms of the match, as they are announced.
    pub(super) terms: Terms,
    /// Time between two announcements of the occupants, if they are announced. Where it is zero, each change is
    /// announced, and may settle the lobby, at once.
    pub(super) announce_every: Option<Duration>,
    /// For keys that come twice.
    pub(super) duplicates: Patience,
    /// A run that asks again by another link, and is not ready, has never heard that it is in: it enters anew.
    pub(super) same_run_enters_again: bool,
    /// Guests are pinged while they agree, too.
    pub(super) pings_while_agreeing: bool,
    /// A guest that answers a ping was heard.
    pub(super) hears_by_pings: bool,
    /// The match of a lobby in which players chat.
    pub(super) chats: Option<MatchId>,
    /// How many limits of a handshake the participants have to sign. For ever where there is none.
    pub(super) sign_within: Option<u32>,
    /// Worlds are built before their peers sign.
    pub(super) loads: bool,
    /// Other peers may come.
    pub(super) takes_links: bool,
}

impl Customs {
    /// Whether each change is announced, and may settle the lobby, at once.
    pub(super) fn acts_at_once(&self) -> bool {
        self.announce_every == Some(Duration::ZERO)
    }
}

/// A peer asks to enter.
pub(super) struct Request {
    pub(super) link: LinkId,
    pub(super) peer: PeerId,
    pub(super) incarnation: Incarnation,
    /// By this message.
    pub(super) message: Control,
}

/// By what a request gets in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// By what it shows.
    Proven,
    /// By the word of the host's player.
    Asked,
}

/// What a message is to a lobby.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    /// Its sender asks to enter.
    Request,
    /// No more than it says, where no guest sent it.
    Harmless,
    /// It is for a guest to say.
    Guests,
}

/// Where a lobby stands.
pub(super) struct Standing<'a> {
    pub(super) room: &'a mut Room,
    /// Attempts to agree that have failed.
    pub(super) attempt: u32,
    /// No attempt is under way.
    pub(super) gathers: bool,
}

impl Standing<'_> {
    /// Sends to all guests.
    pub(super) fn broadcast(&self, core: &mut Core, message: &Control) {
        for (_, link) in self.room.guests() {
            core.send(link, message);
        }
    }
}

/// What follows for the host's side.
pub(super) enum Next {
    Stay,
    /// The sender has done what no correct peer does.
    Fault(Fault),
    /// The occupants, or what they say of themselves, have changed.
    Changed,
    /// Participants are to give what the document needs.
    Prepare,
    /// Participants are to sign.
    Sign(SignatureSet),
    /// A participant has signed.
    Signed(PeerId, [u8; 64]),
    /// A guest is expelled, and the attempt fails.
    Expel(PeerId, JoinRefused),
    /// The attempt fails.
    Fail,
    /// The host leaves.
    Leave(EndReason),
    /// The match goes on elsewhere: all guests are told, and this peer looks for it.
    GoesOn,
    /// The host at the other end of this link gathers all instead.
    Yield(LinkId),
}

/// What begins.
pub(super) struct Agreed {
    /// Guests without a part in it: they may come back once it goes on.
    pub(super) late: Vec<PeerId>,
    /// Tells the guests.
    pub(super) message: Option<Control>,
    /// Of several links to a guest, the one by which it was told stays: the message would be lost with it.
    pub(super) one_link_each: bool,
    pub(super) step: Step,
}

/// What depends on the base, on the host's side.
pub(super) trait Base: Send {
    /// The lobby opens.
    fn open(&mut self, core: &mut Core) -> Next;

    /// What this host would join another host's lobby with, where it may.
    fn into_context(self: Box<Self>) -> Option<RejoinContext> {
        None
    }

    /// Turns that the host's world has executed before it hosted, and its checksum.
    fn executed(&self) -> Option<(u32, Checksum)> {
        None
    }

    /// Whether the host goes on as a joiner where the lobby comes to nothing.
    fn searches_on(&self) -> bool {
        false
    }

    /// What a message is to this lobby.
    fn sort(&self, _message: &Control, _by_guest: bool) -> Sort {
        Sort::Guests
    }

    /// The admission rule, first: whether a request has to do with this lobby, and by what it gets in.
    fn may_ask(&self, _core: &Core, _request: &Request) -> Result<Entry, JoinRefused> {
        Err(JoinRefused::NoSeat)
    }

    /// The admission rule, second: whether a peer that may ask, and is not here, enters. What it is told then.
    fn admit(
        &mut self,
        _core: &Core,
        _standing: Standing<'_>,
        _request: Request,
    ) -> Result<(Occupant, Option<Control>), JoinRefused> {
        Err(JoinRefused::NoSeat)
    }

    /// A guest says what only a lobby of this base knows.
    fn received(
        &mut self,
        _core: &mut Core,
        _standing: Standing<'_>,
        _from: PeerId,
        _message: Control,
    ) -> Next {
        Next::Fault(Fault::OutOfPlace)
    }

    /// Bytes came on the bulk channel, not only from guests.
    fn bulk(
        &mut self,
        _core: &mut Core,
        _standing: Standing<'_>,
        _link: LinkId,
        _bytes: &[u8],
    ) -> Next {
        Next::Fault(Fault::OutOfPlace)
    }

    /// A link has proved its peer.
    fn proved(&mut self, _core: &mut Core, _link: LinkId) {}

    /// The host is ready, or no longer.
    fn set_ready(&mut self, _standing: Standing<'_>, _ready: bool) -> Next {
        Next::Stay
    }

    /// The host's player takes those that are here, as soon as they are enough.
    fn begin_now(&mut self, _core: &Core) {}

    /// The host's player bars a key from this lobby. Whether that is for the host to say: the players of a match that has
    /// begun are settled.
    fn bar(&mut self, _peer: PeerId) -> bool {
        false
    }

    /// How long a link may be up before its peer asks for a place.
    fn asks_within(&self, limits: &Limits) -> Duration {
        limits.handshake
    }

    /// The host's world is built.
    fn loaded(&mut self, _core: &Core, _checksum: Checksum) -> Next {
        Next::Stay
    }

    /// The store keeps all that it was given up to [`Output::Sync`](crate::session::Output::Sync) with this number.
    fn synced(&mut self, _core: &Core, _number: u64) -> Next {
        Next::Stay
    }

    /// While its process stood still this peer has waited for no guest.
    fn skip(&mut self, _away: Duration) {}

    /// Does what is due, whether or not an attempt is under way.
    fn advance(&mut self, _core: &mut Core, _room: &Room) {}

    /// Begins an attempt where the occupants can agree now.
    fn settle(&mut self, _core: &mut Core, _standing: Standing<'_>) -> Next {
        Next::Stay
    }

    /// Until when participants are to give what the document needs, and those that have not.
    fn preparation(&self) -> Option<(Duration, Vec<PeerId>)> {
        None
    }

    /// A guest is gone: by itself, or for a reason. Whether the attempt fails by that; `agrees` where one is under way.
    fn lost(
        &mut self,
        _now: Duration,
        _peer: PeerId,
        _why: Option<&JoinRefused>,
        _agrees: bool,
    ) -> bool {
        false
    }

    /// The attempt has failed, and the next one begins with what there was before. What guests are told of it.
    fn fail(&mut self, _core: &Core, _standing: Standing<'_>) -> Option<Control> {
        None
    }

    /// All participants have signed.
    ///
    /// # Errors
    /// Why nothing begins all the same.
    fn agreed(
        self: Box<Self>,
        core: &mut Core,
        standing: Standing<'_>,
        signatures: &SignatureSet,
    ) -> Result<Agreed, EndReason>;

    /// When it is to [`advance`](Self::advance) or to [`settle`](Self::settle).
    fn deadline(&self, _now: Duration, _gathers: bool) -> Option<Duration> {
        None
    }
}
