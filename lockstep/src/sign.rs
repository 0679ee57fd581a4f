//! Signatures: what proves which peer sealed a batch.

use crate::PeerId;
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};

/// Signs for one peer and verifies for all.
pub trait Signer: Send {
    /// Whose signatures [`sign`](Self::sign) makes.
    fn id(&self) -> PeerId;
    /// Signs `bytes`.
    fn sign(&self, bytes: &[u8]) -> [u8; 64];
    /// Whether `signature` is `peer`'s for `bytes`.
    fn verify(&self, peer: PeerId, bytes: &[u8], signature: &[u8; 64]) -> bool;
}

impl dyn Signer + '_ {
    /// Its [`verify`](Signer::verify) as a function.
    pub fn verifier(&self) -> impl Fn(PeerId, &[u8], &[u8; 64]) -> bool + '_ {
        |peer, bytes, signature| self.verify(peer, bytes, signature)
    }
}

/// Ed25519 (RFC 8032), as in every match over a network.
pub struct Ed25519(SigningKey);

impl Ed25519 {
    /// The signer of this secret key.
    pub fn new(secret: &[u8; 32]) -> Self {
        Ed25519(SigningKey::from_bytes(secret))
    }

    /// Whether `signature` is `peer`'s for `bytes`; needs no secret.
    pub fn verify(peer: PeerId, bytes: &[u8], signature: &[u8; 64]) -> bool {
        VerifyingKey::from_bytes(&peer.0).is_ok_and(|key| {
            key.verify_strict(bytes, &Signature::from_bytes(signature))
                .is_ok()
        })
    }
}

impl Signer for Ed25519 {
    fn id(&self) -> PeerId {
        PeerId(self.0.verifying_key().to_bytes())
    }

    fn sign(&self, bytes: &[u8]) -> [u8; 64] {
        self.0.sign(bytes).to_bytes()
    }

    fn verify(&self, peer: PeerId, bytes: &[u8], signature: &[u8; 64]) -> bool {
        Ed25519::verify(peer, bytes, signature)
    }
}

/// A keyed hash (BLAKE3) that stands in for signatures where every peer is simulated in one process.
/// A peer's id is all that it takes to sign for it: never for a network.
pub struct KeyedHash(PeerId);

impl KeyedHash {
    /// The stand-in signer of `peer`.
    pub fn new(peer: PeerId) -> Self {
        KeyedHash(peer)
    }
}

impl Signer for KeyedHash {
    fn id(&self) -> PeerId {
        self.0
    }

    fn sign(&self, bytes: &[u8]) -> [u8; 64] {
        let mut signature = [0; 64];
        signature[..32].copy_from_slice(blake3::keyed_hash(&self.0.0, bytes).as_bytes());
        signature
    }

    fn verify(&self, peer: PeerId, bytes: &[u8], signature: &[u8; 64]) -> bool {
        let expected = blake3::keyed_hash(&peer.0, bytes);
        signature[..32] == *expected.as_bytes() && signature[32..] == [0; 32]
    }
}
