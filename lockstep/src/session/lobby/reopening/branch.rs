//! The base of a branch: a log alone. The lobby is one of this peer only, and its signature is enough: the branch decides
//! nothing in the match that it leaves.

use super::recovered_log::RecoveredLog;
use crate::log::{Ballot, Document, Reopening, RosterChange, SignatureSet, Value};
use crate::session::Step;
use crate::session::core::Core;
use crate::session::joiner::Joiner;
use crate::session::lobby::base::{Agreed, Base, Customs, Next, Patience, Standing};
use crate::session::lobby::room::Occupant;
use crate::session::rejoin::RejoinContext;
use crate::{EndReason, JoinRefused};
use std::time::Duration;

pub(in crate::session::lobby) struct Branching {
    context: RejoinContext,
    log: RecoveredLog,
    branch: Reopening,
}

impl Branching {
    /// The base, this peer as an occupant, and how the lobby is kept.
    pub(in crate::session::lobby) fn new(
        core: &Core,
        context: RejoinContext,
    ) -> Result<(Occupant, Customs, Self), JoinRefused> {
        let log = RecoveredLog::open(core.signer.as_ref(), &context)?;
        if !log.roster().contains(log.me()) {
            return Err(JoinRefused::NotOfRoster);
        }
        let customs = Customs {
            terms: log.start().terms,
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
            loads: false,
            takes_links: false,
        };
        let occupant = super::occupant(log.start(), log.me(), core.incarnation, Vec::new());
        let branch = log.branch(core.incarnation);
        let base = Branching {
            context,
            log,
            branch,
        };
        Ok((occupant, customs, base))
    }

    /// The roster change that begins the branch.
    fn change(&self, signatures: &SignatureSet) -> RosterChange {
        RosterChange {
            epoch: self.log.epoch(),
            ballot: Ballot {
                round: 0,
                peer: self.log.me(),
            },
            value: Value::of(self.branch.roster(), self.log.turns()),
            accepts: signatures.signatures().collect(),
            proofs: Vec::new(),
            reopening: Some(self.branch.clone()),
        }
    }
}

impl Base for Branching {
    fn open(&mut self, core: &mut Core) -> Next {
        let start = self.log.head().start();
        let document = self.branch.at(start, self.log.epoch(), self.log.turns());
        let mut signatures = SignatureSet::new(&document, [(self.log.me(), core.id())]);
        let own = document.sign(core.signer.as_ref());
        let added = signatures.add(self.log.me(), own, core.signer.verifier());
        assert!(added, "this peer is the signer");
        Next::Sign(signatures)
    }

    fn agreed(
        self: Box<Self>,
        core: &mut Core,
        _: Standing<'_>,
        signatures: &SignatureSet,
    ) -> Result<Agreed, EndReason> {
        let change = self.change(signatures);
        let match_id = change.match_behind(self.log.head().start());
        let mut context = self.context;
        context.from.match_id = match_id;
        let reopened = self.log.reopened(change, core.now);
        let joiner = Joiner::reopened(core, context, reopened);
        Ok(Agreed {
            late: Vec::new(),
            message: None,
            one_link_each: false,
            step: Step::Reopened(Box::new(joiner)),
        })
    }
}
