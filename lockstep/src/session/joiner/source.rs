//! How a joiner hears of sources, leaves one for another, and ends where none is left.

use super::{Joiner, Known, Stage, proved};
use crate::session::core::Core;
use crate::session::rejoin::{Follow, Mistrust, in_reach, seats_of};
use crate::{Contact, EndReason, Fault, JoinRefused, LinkId, TurnNumber};

impl Joiner {
    /// A peer may be found at these addresses, where it is one of the match.
    pub(crate) fn find(&mut self, core: &Core, contact: Contact) {
        let starts = self.from.log.iter().map(|own| own.start().as_ref());
        let starts = starts.chain(self.known.as_ref().map(|known| known.start()));
        let mut places = starts.flat_map(|start| &start.roster);
        let of_the_match =
            self.sources.is_contact(contact.peer) || places.any(|place| place.peer == contact.peer);
        if of_the_match && contact.peer != core.id() {
            self.sources.find(core.now, contact);
        }
    }

    /// Why it ends now for want of a source, if it does.
    pub(crate) fn give_up(&mut self, core: &Core) -> Option<EndReason> {
        let (now, sources) = (core.now, &self.sources);
        if self.searches() && sources.no_source_left(now) && sources.gives_up(now) {
            return Some(self.why_no_source(core));
        }
        let waits = !self.world.exists();
        waits.then(|| self.gathering.end(now)).flatten()
    }

    fn why_no_source(&self, core: &Core) -> EndReason {
        if let Some(why) = self.sources.refusal() {
            return EndReason::Refused(why.clone());
        }
        if self.branches.any_told() {
            return EndReason::OnlyBranches;
        }
        let mut joiners = self.sources.joiners(core.now, self.from.match_id);
        if joiners.next().is_some() {
            return EndReason::OnlyJoiners;
        }
        if let Some(known) = &self.known {
            let head = known.log.ahead();
            if self.quorum.is_lost() {
                let own = std::iter::once(known.me).collect();
                let here = in_reach(head, &proved(core)).or(own);
                let missing = seats_of(known.start(), head.roster().without(here));
                return EndReason::NoQuorum { missing };
            }
            // The newest turn of the others' that is here, where a source has told of turns.
            let told = self.follow.behind(0).is_some();
            if let Some(after) = head.turns().checked_sub(1).filter(|_| told) {
                let after = TurnNumber(after);
                return EndReason::OthersWent { after };
            }
        }
        match self.sources.passes_over_all(core.now) {
            true => EndReason::Refused(JoinRefused::OtherMatch),
            false => EndReason::NoPeerFound,
        }
    }

    /// The link to the peer at which it waits for the others, once it does.
    pub(crate) fn gather(&mut self, core: &Core) -> Option<LinkId> {
        let links = proved(core);
        let facts = self.gathering_facts(core.now, &links);
        let sources = &self.sources;
        self.gathering
            .join(&facts, |host| sources.passes_over_others(core.now, host))
    }

    /// Asks another peer, as the source does not have what is needed.
    pub(crate) fn pass_over(&mut self, core: &Core) {
        if self.sources.link().is_some() {
            self.sources.pass_over(core.now);
            self.reset_fetch();
        }
    }

    /// The same, for longer each time.
    pub(crate) fn back_off(&mut self, core: &Core) {
        if self.sources.link().is_some() {
            self.sources.back_off(core.now);
            self.reset_fetch();
        }
    }

    /// The source has said what is not so: it is named, and another peer asked.
    pub(crate) fn distrust(&mut self, core: &mut Core, fault: Fault) {
        if let Some(link) = self.sources.link() {
            core.fault(link, fault);
            self.sources.distrust();
            self.reset_fetch();
            core.close(link);
        }
    }

    /// Forgets what was given and is not sure, as another source may give something else.
    fn reset_fetch(&mut self) {
        if let Some(known) = &mut self.known {
            known.log.forget_unconfirmed();
        }
        if let Stage::Fetching(fetch) = &mut self.stage {
            fetch.reset();
        }
    }

    /// The source's log does not follow, perhaps `on_unconfirmed` turns, or no quorum attests it.
    pub(crate) fn mistrust_log(&mut self, core: &mut Core, on_unconfirmed: bool) {
        let has_world = self.world.exists();
        let was_lost = self.quorum.was_lost();
        let Some(known) = &self.known else {
            return;
        };
        let facts = (has_world, was_lost, on_unconfirmed);
        let mistrust = self.follow.mistrust(&known.log, facts, core.now);
        self.mistrust(core, mistrust);
    }

    pub(crate) fn mistrust(&mut self, core: &mut Core, mistrust: Mistrust) {
        match mistrust {
            Mistrust::Source => self.pass_over(core),
            Mistrust::Unconfirmed => {
                self.sources.ask_log_again();
                self.known
                    .iter_mut()
                    .for_each(|known| known.log.forget_unconfirmed());
            }
            Mistrust::Liar => self.distrust(core, Fault::Signature),
            Mistrust::World if !self.world.is_idle() => self.pass_over(core),
            Mistrust::World => {
                if let Some(Known { me, log }) = self.known.take() {
                    self.world.begin_again(me, log);
                }
                self.begin_log_again(core);
            }
            Mistrust::Log => self.begin_log_again(core),
        }
    }

    fn begin_log_again(&mut self, core: &mut Core) {
        self.from.log = None;
        self.known = None;
        self.follow = Follow::new(core.now);
        self.stage = Stage::Seeking;
        if let Some(link) = self.sources.drop_source() {
            core.close(link);
        }
    }
}
