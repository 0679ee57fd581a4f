//! Hostile peers and a stranger: they send garbage, sign forbidden content, and withhold batches and votes.

use super::event::Event;
use super::network::Node;
use super::{Hostile, Over, Playable, Scenario, Simulator};
use crate::random::Stream;
use lockstep::harness::{change_batches, change_votes, false_report, held_back, without_votes};
use lockstep::log::{LogEntry, SignedBatch, What};
use lockstep::session::Batch;
use lockstep::session::roster::{Message, Peers};
use lockstep::sign::Signer;
use lockstep::{Channel, Limits, PeerId};
use sim::Seat;
use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Knowledge and plans of the hostile peers of a run.
pub struct Hostility {
    random: Stream,
    /// Whether any node tampers or sends garbage.
    any: bool,
    /// Real traffic to derive garbage from.
    sampled: VecDeque<(Channel, Vec<u8>)>,
    /// By hostile peer.
    keys: BTreeMap<usize, Key>,
    /// By node that sends garbage: messages left.
    garbage: BTreeMap<Node, u32>,
    /// By peer that looks ahead, and turn: when its session had a batch leave.
    sealed: BTreeMap<(usize, u32), Duration>,
}

/// The key of a hostile peer, and what its session has recently signed with it.
struct Key {
    signer: Box<dyn Signer>,
    signed: Signed,
}

/// Messages that a recorded signer has recently signed.
#[derive(Clone, Default)]
pub struct Signed(Arc<Mutex<VecDeque<Vec<u8>>>>);

/// A signer that records what it signs.
struct RecordedSigner {
    signer: Box<dyn Signer>,
    signed: Signed,
}

/// Recorded messages: more than the batches of a packet.
const REMEMBERED: usize = 64;

impl Signed {
    /// Wraps a signer so that its messages are recorded.
    pub fn record(&self, signer: Box<dyn Signer>) -> Box<dyn Signer> {
        let signed = self.clone();
        Box::new(RecordedSigner { signer, signed })
    }

    /// The newest message that ends with this content.
    fn message_of(&self, content: &[u8]) -> Option<Vec<u8>> {
        let signed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut newest = signed.iter().rev();
        newest.find(|message| message.ends_with(content)).cloned()
    }
}

impl Signer for RecordedSigner {
    fn id(&self) -> PeerId {
        self.signer.id()
    }

    fn sign(&self, bytes: &[u8]) -> [u8; 64] {
        let mut signed = self.signed.0.lock().unwrap_or_else(PoisonError::into_inner);
        signed.push_back(bytes.to_vec());
        if signed.len() > REMEMBERED {
            signed.pop_front();
        }
        self.signer.sign(bytes)
    }

    fn verify(&self, peer: PeerId, bytes: &[u8], signature: &[u8; 64]) -> bool {
        self.signer.verify(peer, bytes, signature)
    }
}

impl Hostility {
    /// For a scenario; `secrets` are those of its peers.
    pub fn new(scenario: &Scenario, secrets: &[[u8; 32]]) -> Self {
        let key = |(peer, _): (usize, Hostile)| {
            let signer = super::signer(scenario, &secrets[peer]);
            let signed = Signed::default();
            (peer, Key { signer, signed })
        };
        let garbage = scenario
            .hostile()
            .filter_map(|(peer, hostile)| match hostile {
                Hostile::Garbage { messages, .. } => Some((peer, messages)),
                _ => None,
            });
        let stranger = scenario.stranger.then_some((scenario.peers.len(), 300));
        let keys: BTreeMap<usize, Key> = scenario.hostile().map(key).collect();
        Hostility {
            random: Stream::new(scenario.seed, "mischief", 0),
            any: scenario.stranger || !keys.is_empty(),
            sampled: VecDeque::new(),
            keys,
            garbage: garbage.chain(stranger).collect(),
            sealed: BTreeMap::new(),
        }
    }

    /// Whether this run has any.
    pub fn is_any(&self) -> bool {
        self.any
    }

    /// The recorder for the signatures of a hostile peer's session.
    pub fn listen(&self, peer: usize) -> Signed {
        self.keys[&peer].signed.clone()
    }

    /// Keeps some real traffic.
    pub fn sample_traffic(&mut self, channel: Channel, bytes: &[u8]) {
        if self.garbage.is_empty() {
            return;
        }
        self.sampled.push_back((channel, bytes.to_vec()));
        if self.sampled.len() > 100 {
            self.sampled.pop_front();
        }
    }

    /// Bytes that a correct peer would not send now.
    fn craft_garbage(&mut self) -> (Channel, Vec<u8>) {
        let channels = [Channel::Turns, Channel::Control, Channel::Bulk];
        let noise = self.random.chance(250) || self.sampled.is_empty();
        if noise {
            let most = self.random.pick(&[3, 40, 1_000, 70_000]);
            let length = self.random.below(most) as usize;
            return (self.random.pick(&channels), self.random.bytes(length));
        }
        let at = self.random.below(self.sampled.len() as u64) as usize;
        let (channel, mut bytes) = self.sampled[at].clone();
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

impl Key {
    /// The batch with changed content, signed by the same run of the peer's process.
    fn resign(&self, batch: SignedBatch, change: impl FnOnce(&mut Batch) -> bool) -> SignedBatch {
        let Ok(mut content) = Batch::decode(&batch.content) else {
            return batch;
        };
        let Some(mut message) = self.signed.message_of(&batch.content) else {
            return batch;
        };
        if !change(&mut content) {
            return batch;
        }
        message.truncate(message.len() - batch.content.len());
        let head = message.len();
        content.encode(&mut message);
        SignedBatch {
            signature: self.signer.sign(&message),
            content: message[head..].into(),
            ..batch
        }
    }

    /// The proposal and the accept of this coordinator, both without the victim, in place of one of them with it.
    fn evict(&self, me: u8, victim: u8, vote: &[u8]) -> Option<Vec<(Vec<u8>, [u8; 64])>> {
        let (epoch, message): (u32, Message) = postcard::from_bytes(vote).ok()?;
        let (Message::Propose(ballot, mut value) | Message::Accept(ballot, mut value)) = message
        else {
            return None;
        };
        if ballot.peer != me || !value.roster.contains(victim) {
            return None;
        }
        value.roster = value.roster.without(Peers(1 << victim));
        let mut head = self.signed.message_of(vote).unwrap_or_default();
        head.truncate(head.len().saturating_sub(vote.len()));
        let votes = [
            Message::Propose(ballot, value),
            Message::Accept(ballot, value),
        ];
        let sign = |message| {
            let content = super::to_bytes(&(epoch, message));
            let signature = self.signer.sign(&[&head[..], &content].concat());
            (content, signature)
        };
        Some(votes.map(sign).into())
    }

    /// The batch with one flipped bit, signed or not.
    fn forge(&self, random: &mut Stream, batch: SignedBatch) -> SignedBatch {
        let Some(mut message) = self.signed.message_of(&batch.content) else {
            return batch;
        };
        let head = message.len() - batch.content.len();
        let at = head + random.below(batch.content.len() as u64) as usize;
        message[at] ^= 1 << random.below(7);
        SignedBatch {
            signature: match random.chance(800) {
                true => self.signer.sign(&message),
                false => batch.signature,
            },
            content: message[head..].into(),
            ..batch
        }
    }
}

impl<W: Playable> Simulator<W> {
    /// How much later a packet of a peer that looks ahead leaves, and what leaves then.
    pub(super) fn held_back(
        &mut self,
        peer: usize,
        channel: Channel,
        bytes: &[u8],
    ) -> Option<(Duration, Vec<u8>)> {
        let hostile = self.scenario.peers[peer].hostile;
        let Some(Hostile::LooksAhead(later)) = hostile.filter(|_| channel == Channel::Turns) else {
            return None;
        };
        let now = self.now();
        let place = self.judge.places.iter().position(|of| *of == peer)?;
        let mut leaves = now;
        change_batches(channel, bytes, place as u8, |batch| {
            let turn = Batch::decode(&batch.content).map_or(0, |batch| batch.turn.0);
            let first = *self.hostility.sealed.entry((peer, turn)).or_insert(now);
            leaves = leaves.max(first + later);
            Some(batch)
        });
        let by = leaves - now;
        (!by.is_zero()).then(|| (by, held_back(bytes, by)))
    }

    /// What leaves a peer in place of what its session sends; `None` for nothing.
    pub(super) fn tamper<'a>(
        &mut self,
        peer: usize,
        to: Node,
        channel: Channel,
        bytes: &'a [u8],
    ) -> Option<Cow<'a, [u8]>> {
        let same = Some(Cow::Borrowed(bytes));
        let (Some(hostile), Some(begun_at)) = (self.scenario.peers[peer].hostile, self.begun_at)
        else {
            return same;
        };
        let since = self.now() - begun_at;
        if matches!(hostile, Hostile::Mute { from } if since >= from) {
            return None;
        }
        // Before the match it has no index.
        let mut places = (0_u8..).zip(&self.judge.places);
        let Some((me, _)) = places.find(|(_, of)| **of == peer) else {
            return same;
        };
        let key = &self.hostility.keys[&peer];
        let random = &mut self.hostility.random;
        let odd = to % 2 == 1;
        let changed = |change: &mut dyn FnMut(SignedBatch) -> SignedBatch| {
            let change = |batch| Some(change(batch));
            Some(Cow::Owned(change_batches(channel, bytes, me, change)))
        };
        match hostile {
            Hostile::Equivocator { from, turns } if odd => {
                let seat = *self.peers[peer].own.first()?;
                let two = from..from + turns;
                changed(&mut |batch| {
                    key.resign(batch, |batch| {
                        two.contains(&batch.turn.0) && second_batch(batch, seat)
                    })
                })
            }
            Hostile::LiesOfWorld(turns) => {
                changed(&mut |batch| key.resign(batch, |batch| falsify_checksum(batch, turns)))
            }
            Hostile::LiesOfLog(turns) => changed(&mut |batch| {
                key.resign(batch, |batch| {
                    batch.log_hash.0[0] ^= 1;
                    batch.complete >= turns
                })
            }),
            Hostile::Forger if odd && since > Duration::from_secs(2) => match random.chance(300) {
                true => changed(&mut |batch| key.forge(random, batch)),
                false => same,
            },
            Hostile::LiesOfLinks { acknowledges } => {
                Some(Cow::Owned(false_report(channel, bytes, acknowledges)))
            }
            Hostile::Evictor { victim } if channel == Channel::Control => {
                let mut places = (0_u8..).zip(&self.judge.places);
                let Some((victim, _)) = places.find(|(_, of)| **of == victim) else {
                    return same;
                };
                let evict = |vote: &[u8]| key.evict(me, victim, vote);
                Some(Cow::Owned(change_votes(bytes, me, evict)))
            }
            Hostile::Withholder(keeps) if keeps.is_at_it(since) && (odd || !keeps.from_odd) => {
                let bytes = match keeps.votes && channel == Channel::Control {
                    true => without_votes(bytes, me)?,
                    false => bytes.to_vec(),
                };
                Some(Cow::Owned(match keeps.batches {
                    true => change_batches(channel, &bytes, me, |_| None),
                    false => bytes,
                }))
            }
            _ => same,
        }
    }

    /// Sends garbage once, and plans the next time.
    pub(super) fn disturb(&mut self, node: Node) {
        let burst = self.hostility.random.pick(&[1, 1, 3, 60]);
        for _ in 0..burst {
            self.disturb_once(node);
        }
        let pause = self.hostility.random.millis(5, 400);
        if self.hostility.garbage[&node] > 0 {
            self.driver
                .schedule(self.now() + pause, Event::Disturb(node));
        }
    }

    fn disturb_once(&mut self, node: Node) {
        let left = self.hostility.garbage.entry(node).or_default();
        *left = left.saturating_sub(1);
        let links = self.links_of(node);
        let stranger = node == self.peers.len();
        if stranger && (links.is_empty() || self.hostility.random.chance(100)) {
            let to = self.hostility.random.below(self.peers.len() as u64) as Node;
            let (address, key) = (self.address(to), self.ids[to]);
            return self.dial(node, address, key);
        }
        if links.is_empty() {
            return;
        }
        let link = self.hostility.random.pick(&links);
        let (channel, bytes) = self.hostility.craft_garbage();
        // A real transport refuses to carry larger ones.
        let most = match (channel, self.scenario.over) {
            (Channel::Turns, _) => 1_200,
            (_, Over::Messages) => usize::MAX,
            (_, Over::Quic) => Limits::default().message_bytes as usize,
        };
        if bytes.len() <= most {
            self.carry(node, link, channel, &bytes);
        }
    }

    /// Plans the garbage: a stranger's begins at any time, a member's mostly with the match.
    pub(super) fn plan_garbage(&mut self) {
        for node in self.hostility.garbage.keys().copied().collect::<Vec<_>>() {
            let plan = self.scenario.peers.get(node);
            let early = match plan.and_then(|plan| plan.hostile) {
                Some(Hostile::Garbage { early, .. }) => early,
                _ => true,
            };
            if early == self.begun_at.is_none() {
                let at = self.now() + self.hostility.random.millis(0, 6_000);
                self.driver.schedule(at, Event::Disturb(node));
            }
        }
    }
}

/// Makes the second of two batches for one turn.
fn second_batch(batch: &mut Batch, seat: Seat) -> bool {
    if batch.entries.is_empty() {
        let what = What::Chat(format!("only some peers hear of {}", batch.turn));
        batch.entries.push(LogEntry { seat, what });
    } else {
        batch.entries.clear();
        batch.first_numbers.clear();
    }
    true
}

/// Replaces the checksum after this many turns, if the batch reports it.
fn falsify_checksum(batch: &mut Batch, turns: u32) -> bool {
    let at = turns.checked_sub(batch.executed);
    let reported = at.and_then(|at| batch.checksums.get_mut(at as usize));
    reported.is_some_and(|checksum| {
        checksum.0 ^= 1;
        true
    })
}
