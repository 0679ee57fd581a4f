//! Documents that peers sign, and their signatures.

use super::peers::Voters;
use crate::PeerId;
use crate::sign::Signer;
use std::collections::BTreeMap;

/// What a peer signs.
///
/// The signed bytes name the kind of the document and the version of the protocol before the content. So a signature
/// under one kind says nothing about another.
pub trait Document {
    /// Its kind.
    const KIND: Kind;

    /// Appends all that a signature binds.
    fn put_content(&self, out: &mut Vec<u8>);

    /// The bytes under a signature.
    fn signed_bytes(&self) -> Vec<u8> {
        let mut bytes = Self::KIND.name().as_bytes().to_vec();
        bytes.extend_from_slice(&crate::PROTOCOL.to_le_bytes());
        self.put_content(&mut bytes);
        bytes
    }

    /// Signs it.
    fn sign(&self, signer: &dyn Signer) -> [u8; 64] {
        signer.sign(&self.signed_bytes())
    }

    /// The document with a signature that is said to be under it.
    fn with(self, signature: [u8; 64]) -> Signed<Self>
    where
        Self: Sized,
    {
        Signed {
            document: self,
            signature,
        }
    }
}

impl<D: Document> Document for &D {
    const KIND: Kind = D::KIND;

    fn put_content(&self, out: &mut Vec<u8>) {
        D::put_content(self, out);
    }
}

/// All kinds of documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The key and the run of a process at one end of a link.
    Introduction,
    /// The start of a match.
    Start,
    /// A peer's commands of one turn.
    Batch,
    /// A message about a roster change.
    Vote,
    /// What a peer publishes of itself.
    PeerStatus,
    /// A joiner's request to be admitted.
    JoinRequest,
    /// How a match goes on whose processes have died.
    Reopening,
    /// How one player goes on from a moment of a match.
    Continuation,
    /// The end of a match.
    End,
    /// What a peer says in a lobby.
    Chat,
}

impl Kind {
    /// How the signed bytes begin. No name is the beginning of another.
    const fn name(self) -> &'static str {
        match self {
            Kind::Introduction => "lockstep hello",
            Kind::Start => "lockstep start",
            Kind::Batch => "lockstep batch",
            Kind::Vote => "lockstep roster",
            Kind::PeerStatus => "lockstep word",
            Kind::JoinRequest => "lockstep rejoin",
            Kind::Reopening => "lockstep reopen",
            Kind::Continuation => "lockstep continue",
            Kind::End => "lockstep end",
            Kind::Chat => "lockstep chat",
        }
    }
}

/// A document with one signature under it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signed<D> {
    /// The document.
    pub document: D,
    /// The signature.
    pub signature: [u8; 64],
}

impl<D: Document> Signed<D> {
    /// Signs the document.
    pub fn by(signer: &dyn Signer, document: D) -> Self {
        let signature = document.sign(signer);
        document.with(signature)
    }

    /// Whether the signature is `peer`'s. `verify` tells whether a signature is a peer's for some bytes.
    pub fn is_by(
        &self,
        peer: PeerId,
        verify: impl FnOnce(PeerId, &[u8], &[u8; 64]) -> bool,
    ) -> bool {
        verify(peer, &self.document.signed_bytes(), &self.signature)
    }
}

/// How many of its signers a document needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Every one.
    All,
    /// A quorum of these voters.
    Quorum(Voters),
}

/// The signatures of several peers under one document. Peers are named by their place in the roster of the start.
#[derive(Clone, Debug)]
pub struct SignatureSet {
    signed_bytes: Vec<u8>,
    signers: BTreeMap<u8, PeerId>,
    signatures: BTreeMap<u8, [u8; 64]>,
}

impl SignatureSet {
    /// No signatures yet, of these signers.
    pub fn new(document: &impl Document, signers: impl IntoIterator<Item = (u8, PeerId)>) -> Self {
        SignatureSet {
            signed_bytes: document.signed_bytes(),
            signers: signers.into_iter().collect(),
            signatures: BTreeMap::new(),
        }
    }

    /// Takes one signature. Returns false, and takes none, where it is not that of the signer at this place.
    #[must_use]
    pub fn add(
        &mut self,
        place: u8,
        signature: [u8; 64],
        verify: impl FnOnce(PeerId, &[u8], &[u8; 64]) -> bool,
    ) -> bool {
        let signer = self.signers.get(&place);
        let holds = signer.is_some_and(|signer| verify(*signer, &self.signed_bytes, &signature));
        if holds {
            self.signatures.insert(place, signature);
        }
        holds
    }

    /// Takes all of these. Returns false where one does not hold, or a place comes twice.
    #[must_use]
    pub fn add_all(
        &mut self,
        signatures: impl IntoIterator<Item = (u8, [u8; 64])>,
        verify: impl Fn(PeerId, &[u8], &[u8; 64]) -> bool,
    ) -> bool {
        signatures.into_iter().all(|(place, signature)| {
            !self.signatures.contains_key(&place) && self.add(place, signature, &verify)
        })
    }

    /// The place at which a peer is to sign.
    pub fn place_of(&self, signer: PeerId) -> Option<u8> {
        let mut signers = self.signers.iter();
        signers.find_map(|(place, peer)| (*peer == signer).then_some(*place))
    }

    /// Signers without a signature, by place.
    pub fn missing(&self) -> impl Iterator<Item = (u8, PeerId)> + '_ {
        let signers = self.signers.iter();
        let missing = signers.filter(|(place, _)| !self.signatures.contains_key(place));
        missing.map(|(place, signer)| (*place, *signer))
    }

    /// Whether the signatures are enough.
    pub fn fulfils(&self, rule: Rule) -> bool {
        match rule {
            Rule::All => self.signatures.len() == self.signers.len(),
            Rule::Quorum(voters) => voters.is_quorum(self.signatures.keys().copied().collect()),
        }
    }

    /// The signatures by place, ascending.
    pub fn signatures(&self) -> impl Iterator<Item = (u8, [u8; 64])> + '_ {
        self.signatures
            .iter()
            .map(|(place, signature)| (*place, *signature))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::Peers;
    use crate::log::fixture::signer;

    struct Text(&'static str);

    impl Document for Text {
        const KIND: Kind = Kind::Vote;

        fn put_content(&self, out: &mut Vec<u8>) {
            out.extend_from_slice(self.0.as_bytes());
        }
    }

    /// The same text as another kind of document.
    struct Other(&'static str);

    impl Document for Other {
        const KIND: Kind = Kind::Batch;

        fn put_content(&self, out: &mut Vec<u8>) {
            out.extend_from_slice(self.0.as_bytes());
        }
    }

    fn verify(peer: PeerId, bytes: &[u8], signature: &[u8; 64]) -> bool {
        signer(0).verify(peer, bytes, signature)
    }

    #[test]
    fn no_kind_begins_with_the_name_of_another() {
        let all = [
            Kind::Introduction,
            Kind::Start,
            Kind::Batch,
            Kind::Vote,
            Kind::PeerStatus,
            Kind::JoinRequest,
            Kind::Reopening,
            Kind::Continuation,
            Kind::End,
            Kind::Chat,
        ];
        for one in all {
            let begins = |other: &Kind| other.name().starts_with(one.name());
            let alike: Vec<Kind> = all.iter().copied().filter(begins).collect();
            assert_eq!(alike, [one]);
        }
    }

    #[test]
    fn a_signature_binds_signer_content_and_kind() {
        let signed = Signed::by(&signer(1), Text("one"));
        assert!(signed.is_by(signer(1).id(), verify));
        assert!(!signed.is_by(signer(2).id(), verify), "another signer");
        let signature = signed.signature;
        let content = Signed {
            document: Text("two"),
            signature,
        };
        assert!(!content.is_by(signer(1).id(), verify), "other content");
        let kind = Signed {
            document: Other("one"),
            signature,
        };
        assert!(!kind.is_by(signer(1).id(), verify), "another kind");
    }

    fn set(signers: u8) -> SignatureSet {
        SignatureSet::new(
            &Text("one"),
            (0..signers).map(|place| (place, signer(place).id())),
        )
    }

    fn signature(place: u8) -> [u8; 64] {
        Signed::by(&signer(place), Text("one")).signature
    }

    #[test]
    fn a_set_is_complete_once_all_have_signed() {
        let mut set = set(3);
        for place in 0..3 {
            assert!(!set.fulfils(Rule::All));
            assert_eq!(set.missing().next(), Some((place, signer(place).id())));
            assert_eq!(set.place_of(signer(place).id()), Some(place));
            assert!(set.add(place, signature(place), verify));
        }
        assert!(set.fulfils(Rule::All));
        assert_eq!(set.missing().count(), 0);
        assert_eq!(set.signatures().count(), 3);
    }

    #[test]
    fn a_quorum_of_the_voters_is_enough_where_the_rule_says_so() {
        let mut set = set(3);
        let rule = Rule::Quorum(Voters::new(Peers::first(3)));
        assert!(set.add(2, signature(2), verify));
        assert!(!set.fulfils(rule));
        assert!(set.add(1, signature(1), verify));
        assert!(set.fulfils(rule) && !set.fulfils(Rule::All));
    }

    #[test]
    fn a_signature_of_another_peer_or_document_is_not_taken() {
        let mut set = set(2);
        assert!(!set.add(0, signature(1), verify), "another peer's");
        assert!(!set.add(7, signature(7), verify), "no signer");
        let other = Signed::by(&signer(0), Text("two")).signature;
        assert!(!set.add(0, other, verify), "another document");
        assert_eq!(set.missing().count(), 2);
        let twice = [(0, signature(0)), (0, signature(0))];
        assert!(!set.add_all(twice, verify), "a place comes twice");
    }
}
