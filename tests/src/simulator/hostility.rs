//! Those who disturb: a stranger at the door, a member that sends garbage, a member that signs what it must not.

use super::network::Node;
use super::scenario::{Equivocator, Lie};
use super::schedule::Happening;
use super::{Hostile, Over, Playable, Scenario, Simulator};
use crate::random::Stream;
use lockstep::log::{LogEntry, What};
use lockstep::session::Batch;
use lockstep::sign::Signer;
use lockstep::{Channel, Limits, PeerId};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What the hostile one knows and wants.
pub struct Mischief {
    kind: Option<Hostile>,
    random: Stream,
    /// Real traffic to start from.
    overheard: VecDeque<(Channel, Vec<u8>)>,
    signed: Signed,
    /// The key of the one who forges.
    key: Option<Box<dyn Signer>>,
    left: u32,
}

/// What a listened-to signer has signed of late, with the signatures.
#[derive(Clone, Default)]
pub struct Signed(Arc<Mutex<VecDeque<SignedBytes>>>);

/// What was signed, and the signature.
type SignedBytes = (Vec<u8>, [u8; 64]);

/// A signer that tells what it signs.
struct Listened {
    signer: Box<dyn Signer>,
    signed: Signed,
}

/// Bytes in front of a batch's content in what is signed: context, version, match and incarnation.
const SIGNED_HEAD: usize = 14 + 2 + 16 + 16;

impl Signed {
    /// A signer that is the given one, and is listened to.
    pub fn listen_to(&self, signer: Box<dyn Signer>) -> Box<dyn Signer> {
        let signed = self.clone();
        Box::new(Listened { signer, signed })
    }
}

impl Signer for Listened {
    fn id(&self) -> PeerId {
        self.signer.id()
    }

    fn sign(&self, bytes: &[u8]) -> [u8; 64] {
        let signature = self.signer.sign(bytes);
        let mut signed = self.signed.0.lock().unwrap_or_else(PoisonError::into_inner);
        signed.push_back((bytes.to_vec(), signature));
        if signed.len() > 64 {
            signed.pop_front();
        }
        signature
    }

    fn verify(&self, peer: PeerId, bytes: &[u8], signature: &[u8; 64]) -> bool {
        self.signer.verify(peer, bytes, signature)
    }
}

impl Mischief {
    /// Of a scenario; `secret` is that of the hostile member.
    pub fn new(scenario: &Scenario, signed: Signed, secret: Option<[u8; 32]>) -> Self {
        let mut random = Stream::new(scenario.seed, "mischief", 0);
        let key = secret.map(|secret| super::signer(scenario, &secret));
        let left = random.pick(&[20, 200, 3_000]);
        Mischief {
            kind: scenario.hostile,
            random,
            overheard: VecDeque::new(),
            signed,
            key,
            left,
        }
    }

    /// Real bytes pass by.
    pub fn overhear(&mut self, channel: Channel, bytes: &[u8]) {
        if self.kind.is_none() {
            return;
        }
        self.overheard.push_back((channel, bytes.to_vec()));
        if self.overheard.len() > 100 {
            self.overheard.pop_front();
        }
    }

    /// Bytes that a correct peer would not send now.
    fn concoct(&mut self) -> (Channel, Vec<u8>) {
        let channels = [Channel::Turns, Channel::Control, Channel::Bulk];
        let noise = self.random.chance(250) || self.overheard.is_empty();
        if noise {
            let most = self.random.pick(&[3, 40, 1_000, 70_000]);
            let length = self.random.below(most) as usize;
            return (self.random.pick(&channels), self.random.bytes(length));
        }
        let at = self.random.below(self.overheard.len() as u64) as usize;
        let (channel, mut bytes) = self.overheard[at].clone();
        for _ in 0..self.random.below(4) {
            self.spoil(&mut bytes);
        }
        let elsewhere = self.random.chance(100);
        let channel = match elsewhere {
            true => self.random.pick(&channels),
            false => channel,
        };
        (channel, bytes)
    }

    fn spoil(&mut self, bytes: &mut Vec<u8>) {
        let at = self.random.below(bytes.len() as u64 + 1) as usize;
        match self.random.below(4) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, self.random.below(256) as u8),
            2 => bytes.extend_from_slice(&self.random.array::<9>()),
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << self.random.below(8);
                }
            }
        }
    }
}

impl<W: Playable> Simulator<W> {
    /// One disturbance, and the plan for the next.
    pub(super) fn disturb(&mut self) {
        let burst = self.mischief.random.pick(&[1, 1, 3, 60]);
        for _ in 0..burst {
            self.disturb_once();
        }
        let pause = self.mischief.random.millis(5, 400);
        if self.mischief.left > 0 {
            self.schedule.add(self.now + pause, Happening::Disturb);
        }
    }

    fn disturb_once(&mut self) {
        self.mischief.left = self.mischief.left.saturating_sub(1);
        let node = self.hostile_node();
        let links = self.links_of(node);
        let stranger = self.scenario.hostile == Some(Hostile::Stranger);
        if stranger && (links.is_empty() || self.mischief.random.chance(100)) {
            let to = self.mischief.random.below(self.peers.len() as u64) as Node;
            let (address, key) = (self.address(to), self.ids[to]);
            return self.dial(node, address, key);
        }
        if links.is_empty() || self.scenario.hostile == Some(Hostile::Forger) {
            return;
        }
        let link = self.mischief.random.pick(&links);
        let (channel, bytes) = self.mischief.concoct();
        // A real transport refuses to carry these.
        let most = match (channel, self.scenario.over) {
            (Channel::Turns, _) => 1_200,
            (_, Over::Messages) => usize::MAX,
            (_, Over::Quic) => Limits::default().message_bytes as usize,
        };
        if bytes.len() <= most {
            self.carry(node, link, channel, &bytes);
        }
    }

    fn hostile_node(&self) -> Node {
        match self.scenario.hostile {
            Some(Hostile::Stranger) | None => self.peers.len(),
            Some(_) => self.peers.len() - 1,
        }
    }

    /// Begins the disturbance, if this run has one: a stranger comes at any time, a member mostly waits for the match.
    pub(super) fn plan_mischief(&mut self) {
        let early = match self.scenario.hostile {
            Some(Hostile::Stranger) => true,
            Some(Hostile::Equivocator(_) | Hostile::Liar(_)) => return,
            Some(_) => self.scenario.seed % 50 == 7,
            None => return,
        };
        if early == self.begun_at.is_none() {
            let after = self.mischief.random.millis(0, 6_000);
            self.schedule.add(self.now + after, Happening::Disturb);
        }
    }

    /// What the hostile member sends in place of these bytes: other signed batches, mostly for half of the peers.
    pub(super) fn forge(&mut self, to: Node, bytes: &[u8]) -> Option<Vec<u8>> {
        match self.scenario.hostile {
            Some(Hostile::Equivocator(when)) => {
                return (to % 2 == 1).then(|| self.other_face(when, bytes))?;
            }
            Some(Hostile::Liar(lie)) => return self.lie(lie, bytes),
            _ => {}
        }
        let now = self.begun_at? + Duration::from_secs(2);
        if self.now < now || to.is_multiple_of(2) || !self.mischief.random.chance(300) {
            return None;
        }
        let key = self.mischief.key.as_ref()?;
        let signed = &self.mischief.signed.0;
        let signed = signed.lock().unwrap_or_else(PoisonError::into_inner);
        for (message, signature) in signed.iter().rev() {
            let content = message.get(SIGNED_HEAD..)?;
            let Some(at) = position(bytes, content) else {
                continue;
            };
            let signature_at = at + content.len();
            if bytes.get(signature_at..signature_at + 64)? != signature {
                continue;
            }
            let mut forged = message.clone();
            let random = &mut self.mischief.random;
            let flipped = SIGNED_HEAD + random.below(content.len() as u64) as usize;
            forged[flipped] ^= 1 << random.below(7);
            let signature = match random.chance(800) {
                true => key.sign(&forged),
                false => *signature,
            };
            let mut packet = bytes.to_vec();
            packet[at..signature_at].copy_from_slice(&forged[SIGNED_HEAD..]);
            packet[signature_at..signature_at + 64].copy_from_slice(&signature);
            return Some(packet);
        }
        None
    }
}

impl<W: Playable> Simulator<W> {
    /// The packet with the other batches for the turns of which there are two.
    fn other_face(&self, when: Equivocator, bytes: &[u8]) -> Option<Vec<u8>> {
        let seat = *self.peers[self.peers.len() - 1].own.first()?;
        self.with_other_batches(bytes, |batch| {
            let two = when.from..when.from + when.turns;
            if !two.contains(&batch.turn.0) {
                return false;
            }
            if batch.entries.is_empty() {
                let what = What::Chat("somebody else hears nothing of this".to_owned());
                batch.entries.push(LogEntry { seat, what });
            } else {
                batch.entries.clear();
                batch.first_numbers.clear();
            }
            true
        })
    }

    /// The packet with batches that say what is not so.
    fn lie(&self, lie: Lie, bytes: &[u8]) -> Option<Vec<u8>> {
        self.with_other_batches(bytes, |batch| match lie {
            Lie::World(turns) => {
                let at = turns.checked_sub(batch.executed);
                let told = at.and_then(|at| batch.checksums.get_mut(at as usize));
                told.is_some_and(|checksum| {
                    checksum.0 ^= 1;
                    true
                })
            }
            Lie::Log(turns) => {
                batch.log_hash.0[0] ^= 1;
                batch.complete >= turns
            }
        })
    }

    /// The packet with other batches of the hostile member, where `change` changes them.
    fn with_other_batches(
        &self,
        bytes: &[u8],
        change: impl Fn(&mut Batch) -> bool,
    ) -> Option<Vec<u8>> {
        let key = self.mischief.key.as_ref()?;
        let signed = &self.mischief.signed.0;
        let signed = signed.lock().unwrap_or_else(PoisonError::into_inner);
        let mut packet = bytes.to_vec();
        for (message, signature) in signed.iter() {
            let content = message.get(SIGNED_HEAD..).unwrap_or_default();
            let Ok(mut batch) = Batch::decode(content) else {
                continue;
            };
            // Two peers may have sealed the same.
            let whole = [content, signature.as_slice()].concat();
            let Some(at) = position(&packet, &whole) else {
                continue;
            };
            let behind = at + content.len();
            if !change(&mut batch) {
                continue;
            }
            let mut other = message[..SIGNED_HEAD].to_vec();
            batch.encode(&mut other);
            let signature = key.sign(&other);
            let head = at - length(content.len()).len();
            let rest = packet.split_off(behind + 64);
            packet.truncate(head);
            packet.extend(length(other.len() - SIGNED_HEAD));
            packet.extend_from_slice(&other[SIGNED_HEAD..]);
            packet.extend_from_slice(&signature);
            packet.extend(rest);
        }
        (packet != bytes).then_some(packet)
    }
}

/// A length as it stands before bytes.
fn length(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 128 {
        bytes.push(number as u8 | 128);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

fn position(bytes: &[u8], part: &[u8]) -> Option<usize> {
    if part.is_empty() {
        return None;
    }
    bytes.windows(part.len()).position(|window| window == part)
}
