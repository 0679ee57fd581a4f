//! The base of a match that one player goes on with alone: a log. The lobby is one of this peer only.

use super::OwnPeer;
use super::base::{Agreed, Base, Customs, Next, Patience, Standing};
use super::room::Occupant;
use crate::log::{
    Continuation, Head, Record, SignatureSet, Start, Terms, TurnFold, continued_hash,
};
use crate::session::core::Core;
use crate::session::{ConfigError, Output, Step};
use crate::{EndReason, LogHash, Moment, PeerId, Plan};
use sim::Checksum;
use std::sync::Arc;
use std::time::Duration;

/// What a player goes on alone from.
pub(crate) struct Continued {
    /// As it counts from here on: this peer has all seats.
    pub start: Arc<Start>,
    pub continuation: Arc<Continuation>,
    pub course: TurnFold,
    /// Hash of the log up to here, and the same with the continuation chained in.
    pub hash: LogHash,
    pub chained: LogHash,
    /// Ticks that the world has stepped, the world itself, and its checksum.
    pub ticks: u64,
    pub snapshot: Arc<[u8]>,
    pub checksum: Checksum,
}

pub(super) struct PlayOn {
    own: PeerId,
    continued: Continued,
}

impl PlayOn {
    /// The base, the player as an occupant, and how the lobby is kept: once the log is verified up to the moment.
    pub(super) fn new(
        core: &Core,
        own: OwnPeer,
        from: Moment,
        plan: Plan,
        turn_limit: Option<u32>,
    ) -> Result<(Occupant, Customs, Self), ConfigError> {
        let signer = core.signer.as_ref();
        let mut head = Head::new(from.log.start().clone());
        for record in from.log.records() {
            let taken = match &record {
                Record::Continued(continuation) => head.continued(continuation, signer),
                record => head.take(record, signer),
            };
            taken.map_err(|_| ConfigError::Moment)?;
        }
        // No number is left for a turn behind it, or the batches that are sealed ahead.
        if head.turns() >= u32::MAX - 64 {
            return Err(ConfigError::Moment);
        }
        let turn_limit = turn_limit.map(|turns| turns.saturating_add(head.turns()));
        let continuation = Continuation {
            epoch: head.epoch(),
            turns: head.turns(),
            log_hash: head.tip(),
            peer: core.id(),
            incarnation: core.incarnation,
            name: own.name,
            seat: from.seat,
            plan,
            turn_limit,
            build: own.build,
            signature: [0; 64],
        };
        let continuation = continuation.signed(head.start(), signer);
        let (hash, ticks) = (head.hash(), head.ticks());
        let chained = continued_hash(head.tip(), &continuation);
        let follows = head.continued(&continuation, signer);
        follows.map_err(|_| ConfigError::Moment)?;
        let customs = Customs {
            terms: Terms {
                plan,
                ..head.start().terms
            },
            announce_every: None,
            duplicates: Patience {
                quiet: Duration::MAX,
                wait: Duration::ZERO,
            },
            same_run_enters_again: false,
            pings_while_agreeing: false,
            hears_by_pings: false,
            chats: None,
            sign_within: None,
            loads: true,
            takes_links: false,
        };
        let occupant = Occupant {
            order: 0,
            peer: core.id(),
            incarnation: core.incarnation,
            name: String::new(),
            build: String::new(),
            seats: Vec::new(),
            addresses: Vec::new(),
            ready: true,
        };
        let continued = Continued {
            start: head.start().clone(),
            continuation: Arc::new(continuation),
            course: head.fold().clone(),
            hash,
            chained,
            ticks,
            snapshot: from.snapshot,
            checksum: Checksum(0),
        };
        let own = core.id();
        Ok((occupant, customs, PlayOn { own, continued }))
    }
}

impl Base for PlayOn {
    fn open(&mut self, core: &mut Core) -> Next {
        let Continued {
            start,
            continuation,
            ticks,
            snapshot,
            ..
        } = &self.continued;
        core.out.push(Output::Load {
            turns: continuation.turns,
            ticks: *ticks,
            snapshot: snapshot.clone(),
            retracted: None,
        });
        let document = continuation.of(start);
        Next::Sign(SignatureSet::new(&document, [(0, self.own)]))
    }

    fn loaded(&mut self, _: &Core, checksum: Checksum) -> Next {
        self.continued.checksum = checksum;
        Next::Signed(self.own, self.continued.continuation.signature)
    }

    fn agreed(
        self: Box<Self>,
        _: &mut Core,
        _: Standing<'_>,
        _: &SignatureSet,
    ) -> Result<Agreed, EndReason> {
        Ok(Agreed {
            late: Vec::new(),
            message: None,
            one_link_each: false,
            step: Step::PlayOn(Box::new(self.continued)),
        })
    }
}
