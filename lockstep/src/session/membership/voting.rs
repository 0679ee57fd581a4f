//! Votes and decisions, as this peer casts them and takes those of others.

use super::epochs::Told;
use super::paxos::{EpochVote, Message};
use super::{Membership, vote_log};
use crate::log::{Document, RosterChange, Vote};
use crate::session::facts::{Body, Fact, Topic, Version};
use crate::session::ledger::Places;
use crate::session::wire::SignedStatement;
use crate::sign::Signer;
use crate::{Fault, PeerId};

impl Membership {
    /// What this peer has accepted under this number is durable: it casts the accept, where no newer one and no other epoch
    /// has taken its place.
    pub(crate) fn synced(
        &mut self,
        number: u64,
        places: &Places,
        signer: &dyn Signer,
    ) -> Option<Fact> {
        let accepted = self.epochs.paxos.accepted();
        let (ballot, value) = accepted.filter(|_| number == self.accepts)?;
        Some(self.cast(Message::Accept(ballot, value), places, signer))
    }

    /// Casts a vote of this peer: signs it, and keeps it among the others.
    pub(super) fn cast(&mut self, message: Message, places: &Places, signer: &dyn Signer) -> Fact {
        let epoch = self.epochs.epoch();
        let epoch_vote = EpochVote { epoch, message };
        let content = epoch_vote.encode();
        let vote = Vote::of(places.start(), self.me, &content[..]);
        let vote = vote.expect("this peer is in the start's roster");
        let signature = vote.sign(signer).into();
        let signed = SignedStatement {
            peer: self.me,
            content,
            signature,
        };
        self.keep_vote(epoch_vote, signed)
    }

    fn keep_vote(&mut self, epoch_vote: EpochVote, signed: SignedStatement) -> Fact {
        let EpochVote { epoch, message } = epoch_vote;
        let fact = Fact {
            topic: vote_log::topic(epoch, signed.peer, &message),
            version: vote_log::version(&message),
            body: Body::Vote(signed.clone()),
        };
        let signature = signed.signature.into();
        self.votes.post(epoch, signed.peer, message, signature);
        fact
    }

    /// Reads a vote that came by a link: what it is about, and which version of that. None where votes of its epoch are not
    /// kept now.
    ///
    /// # Errors
    /// What its link is at fault for.
    pub(crate) fn read_vote(
        &self,
        signed: &SignedStatement,
        places: &Places,
    ) -> Result<(EpochVote, Option<(Topic, Version)>), Fault> {
        if usize::from(signed.peer) >= places.len() {
            return Err(Fault::OutOfPlace);
        }
        let Ok(epoch_vote) = EpochVote::decode(&signed.content) else {
            return Err(Fault::Garbage);
        };
        if !epoch_vote.message.may_come_from(signed.peer) {
            return Err(Fault::OutOfPlace);
        }
        let topic = vote_log::topic(epoch_vote.epoch, signed.peer, &epoch_vote.message);
        let version = vote_log::version(&epoch_vote.message);
        let kept = self
            .votes
            .keeps(epoch_vote.epoch)
            .then_some((topic, version));
        Ok((epoch_vote, kept))
    }

    /// Takes a vote that came by a link.
    ///
    /// # Errors
    /// Where its signature does not hold: whether it may be that of a run that this peer does not know of, being of an
    /// epoch to come.
    pub(crate) fn take_vote(
        &mut self,
        epoch_vote: EpochVote,
        signed: SignedStatement,
        places: &Places,
        signer: &dyn Signer,
    ) -> Result<Option<Fact>, bool> {
        if !self
            .votes
            .is_news(epoch_vote.epoch, signed.peer, &epoch_vote.message)
        {
            return Ok(None);
        }
        let vote = Vote::of(places.start(), signed.peer, &signed.content[..]);
        let author = places.key(usize::from(signed.peer));
        let vote = vote.map(|vote| vote.with(signed.signature.into()));
        if !vote.is_some_and(|vote| vote.is_by(author, signer.verifier())) {
            return Err(epoch_vote.epoch > self.epochs.epoch());
        }
        Ok(Some(self.keep_vote(epoch_vote, signed)))
    }

    /// Takes a decision that a peer tells: the change, where it ends this epoch. A decision of a later epoch waits for it.
    ///
    /// # Errors
    /// Where it does not hold.
    pub(crate) fn take_decision(
        &mut self,
        change: RosterChange,
        from: Option<PeerId>,
        places: &Places,
        signer: &dyn Signer,
    ) -> Result<Option<RosterChange>, Fault> {
        match self.epochs.note_told(change, from) {
            Told::Nothing => Ok(None),
            Told::Now(change) if self.holds(&change, places, signer) => Ok(Some(change)),
            Told::Now(_) => Err(Fault::Signature),
        }
    }

    /// A decision on this epoch that a peer told before it began.
    pub(crate) fn take_earlier_decision(
        &mut self,
        places: &Places,
        signer: &dyn Signer,
    ) -> Option<RosterChange> {
        let told = self.epochs.take_told();
        told.into_iter()
            .find(|change| self.holds(change, places, signer))
    }

    fn holds(&self, change: &RosterChange, places: &Places, signer: &dyn Signer) -> bool {
        let voters = self.epochs.voters().members();
        change.is_decided_by(places.start(), voters, |peer, bytes, signature| {
            signer.verify(peer, bytes, signature)
        })
    }
}
