//! Randomness of QUIC and TLS from the seed of the run.
//!
//! TLS asks a global for randomness, so the stream belongs to the thread, and a run to one thread.

use crate::random::Stream;
use curve25519_dalek::MontgomeryPoint;
use lockstep::quic::parts::ID_BYTES;
use quinn_proto::crypto::{AeadKey, CryptoError, HandshakeTokenKey, HmacKey};
use quinn_proto::{ConnectionId, ConnectionIdGenerator, TimeSource};
use rustls::crypto::{
    ActiveKeyExchange, CryptoProvider, GetRandomFailed, SecureRandom, SharedSecret,
    SupportedKxGroup,
};
use rustls::{Error, NamedGroup, PeerMisbehaved};
use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

thread_local! {
    static RANDOM: RefCell<Option<Stream>> = const { RefCell::new(None) };
}

/// Bytes of the mark of a token.
const TOKEN_MARK: usize = 16;

/// Seeds all randomness on this thread from now on.
pub fn begin(seed: u64) {
    RANDOM.set(Some(Stream::new(seed, "quic", 0)));
}

/// Random bytes.
///
/// # Panics
/// Before [`begin`] on this thread.
pub fn array<const N: usize>() -> [u8; N] {
    RANDOM.with_borrow_mut(|random| random.as_mut().expect("the run has begun").array())
}

/// The product's cryptography, with seeded randomness.
pub fn provider() -> CryptoProvider {
    CryptoProvider {
        kx_groups: vec![&X25519 as &dyn SupportedKxGroup],
        secure_random: &Random,
        ..rustls::crypto::ring::default_provider()
    }
}

/// A fresh connection id.
pub fn connection_id() -> ConnectionId {
    ConnectionId::new(&array::<20>())
}

/// An endpoint's key to recognise what it has made: stateless resets, and tokens of retries.
#[derive(Clone, Copy)]
pub struct OwnMark([u8; 32]);

impl OwnMark {
    /// A fresh key.
    pub fn new() -> Self {
        OwnMark(array())
    }

    fn of(&self, bytes: &[u8]) -> [u8; 32] {
        *blake3::keyed_hash(&self.0, bytes).as_bytes()
    }
}

/// Signs stateless resets.
impl HmacKey for OwnMark {
    fn sign(&self, data: &[u8], signature_out: &mut [u8]) {
        signature_out.copy_from_slice(&self.of(data));
    }

    fn signature_len(&self) -> usize {
        32
    }

    fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), CryptoError> {
        match self.of(data) == signature {
            true => Ok(()),
            false => Err(CryptoError),
        }
    }
}

/// A token's content matters where its packet is damaged and then taken for another one.
impl HandshakeTokenKey for OwnMark {
    fn aead_from_hkdf(&self, random_bytes: &[u8]) -> Box<dyn AeadKey> {
        Box::new(OwnMark(self.of(random_bytes)))
    }
}

/// Marks tokens, as long as sealed ones, and does not hide what they say.
impl AeadKey for OwnMark {
    fn seal(&self, data: &mut Vec<u8>, _: &[u8]) -> Result<(), CryptoError> {
        let mark = self.of(data);
        data.extend_from_slice(&mark[..TOKEN_MARK]);
        Ok(())
    }

    fn open<'a>(&self, data: &'a mut [u8], _: &[u8]) -> Result<&'a mut [u8], CryptoError> {
        let content = data.len().checked_sub(TOKEN_MARK).ok_or(CryptoError)?;
        let (content, mark) = data.split_at_mut(content);
        match self.of(content).starts_with(mark) {
            true => Ok(content),
            false => Err(CryptoError),
        }
    }
}

/// As quinn's own generator of random ids.
impl ConnectionIdGenerator for OwnMark {
    fn generate_cid(&mut self) -> ConnectionId {
        ConnectionId::new(&array::<ID_BYTES>())
    }

    fn cid_len(&self) -> usize {
        ID_BYTES
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

/// The time of day on the simulated clock, for the age of retry tokens.
#[derive(Default)]
pub struct TimeOfDay(AtomicU64);

impl TimeOfDay {
    /// Sets the time since the run began.
    pub fn set(&self, now: Duration) {
        let micros = u64::try_from(now.as_micros()).expect("a run is shorter than 500,000 years");
        self.0.store(micros, Ordering::Relaxed);
    }
}

impl TimeSource for TimeOfDay {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_micros(self.0.load(Ordering::Relaxed))
    }
}

#[derive(Debug)]
struct Random;

impl SecureRandom for Random {
    fn fill(&self, buf: &mut [u8]) -> Result<(), GetRandomFailed> {
        for part in buf.chunks_mut(8) {
            part.copy_from_slice(&array::<8>()[..part.len()]);
        }
        Ok(())
    }
}

/// The product's preferred key exchange, with a seeded secret.
#[derive(Debug)]
struct X25519;

struct Exchange {
    secret: [u8; 32],
    public: [u8; 32],
}

impl SupportedKxGroup for X25519 {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let secret = array();
        let public = MontgomeryPoint::mul_base_clamped(secret).to_bytes();
        Ok(Box::new(Exchange { secret, public }))
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

impl ActiveKeyExchange for Exchange {
    fn complete(self: Box<Self>, peer_pub_key: &[u8]) -> Result<SharedSecret, Error> {
        let point = peer_pub_key.try_into().map(MontgomeryPoint);
        let shared = point.map(|point| point.mul_clamped(self.secret).to_bytes());
        match shared {
            Ok(shared) if shared != [0; 32] => Ok(SharedSecret::from(&shared[..])),
            _ => Err(PeerMisbehaved::InvalidKeyShare.into()),
        }
    }

    fn pub_key(&self) -> &[u8] {
        &self.public
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}
