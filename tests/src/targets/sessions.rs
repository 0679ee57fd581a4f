//! Sessions under hostile bytes: in the lobby, during the start of a match, in a match, and on the way back into one.

use crate::simulator::{Asked, Bounds};
use lockstep::harness::{
    Arrival, Arrives, Call, Clock, Mesh, Recording, Sent, Surroundings, guest, hosted, peer_id,
    settings,
};
use lockstep::log::Record;
use lockstep::session::{HostConfig, Input, Output, Role, RulesOf, Session, SessionConfig};
use lockstep::sign::{KeyedHash, Signer};
use lockstep::{Channel, Contact, Event, LinkId, PeerId, Rejoin};
use sim::{Checksum, Seat};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The stage of two sessions when the hostile bytes arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scene {
    /// The link is up, before any proof of identity.
    Stranger,
    /// The joiner is in the lobby, not ready.
    Lobby,
    /// The world is being built.
    Loading,
    /// Turns advance.
    Match,
    /// The second peer comes back with its recording. The hostile bytes stand in for the answers of its source.
    Rejoin,
    /// The same by a ticket alone, without a recording: it fetches a snapshot, too.
    RejoinByTicket,
    /// Both processes have died. The first peer reopens the match, and the second one comes. The hostile bytes stand in
    /// for what they say of the reopening.
    Reopen,
}

impl Scene {
    /// All scenes. An input names one by its place.
    pub const ALL: [Scene; 7] = [
        Scene::Stranger,
        Scene::Lobby,
        Scene::Loading,
        Scene::Match,
        Scene::Rejoin,
        Scene::RejoinByTicket,
        Scene::Reopen,
    ];
}

/// Whether a session takes signatures of the other peer for what they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signatures {
    /// It checks them.
    Checked,
    /// Each counts as made by the other peer, which is hostile and may sign anything.
    OfHostilePeer,
}

/// Feeds an input to two sessions: a byte that names the scene, and parts. The first byte of each part selects channel,
/// receiver and link, the next two the length.
///
/// # Panics
/// If a session panics or crosses a bound: a bug.
pub fn session(bytes: &[u8]) {
    let Some((first, rest)) = bytes.split_first() else {
        return;
    };
    let first = usize::from(*first);
    let scenes = Scene::ALL.len();
    let signatures = match first / scenes % 2 {
        0 => Signatures::Checked,
        _ => Signatures::OfHostilePeer,
    };
    let mut pair = Pair::new(Scene::ALL[first % scenes], signatures);
    pair.feed(rest);
}

/// The first byte of an input.
pub fn first_byte(scene: Scene, signatures: Signatures) -> u8 {
    let scenes = Scene::ALL;
    let place = scenes.iter().position(|other| *other == scene);
    let place = place.expect("all scenes are listed") as u8;
    place + scenes.len() as u8 * u8::from(signatures == Signatures::OfHostilePeer)
}

/// Bytes that arrive at peers on a channel of a link, as if from the other end.
struct Part<'a> {
    channel: Channel,
    /// The receiver; both where there is none.
    to: Option<usize>,
    /// The link, by its place among those that are up, the newest first.
    link: usize,
    bytes: &'a [u8],
}

/// Takes an input apart.
fn parts(mut bytes: &[u8]) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    while let [kind, low, high, rest @ ..] = bytes {
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(rest.len());
        let (part, after) = rest.split_at(length);
        let channel = match kind % 4 {
            0 | 1 => Channel::Turns,
            2 => Channel::Control,
            _ => Channel::Bulk,
        };
        // The transport refuses larger ones.
        if channel != Channel::Turns || part.len() <= 1_200 {
            parts.push(Part {
                channel,
                to: usize::from(kind / 4 % 3).checked_sub(1),
                link: usize::from(kind / 12),
                bytes: part,
            });
        }
        bytes = after;
    }
    parts
}

/// Appends a part to an input; leaves it out where no part can hold it.
fn put_part(part: &Part<'_>, input: &mut Vec<u8>) {
    let channel = match part.channel {
        Channel::Turns => 0,
        Channel::Control => 2,
        Channel::Bulk => 3,
    };
    let to = part.to.map_or(0, |to| to + 1);
    let kind = u8::try_from(channel + 4 * to + 12 * part.link);
    if let (Ok(kind), Ok(length)) = (kind, u16::try_from(part.bytes.len())) {
        input.push(kind);
        input.extend_from_slice(&length.to_le_bytes());
        input.extend_from_slice(part.bytes);
    }
}

/// The input of all that two honest peers say to each other for this time after the scene has begun, or of what the
/// hostile bytes stand in for.
///
/// # Panics
/// Never: what peers say is recorded from the beginning of the scene.
pub fn conversation(scene: Scene, signatures: Signatures, lasts: Duration) -> Vec<u8> {
    let mut pair = Pair::begun(scene, signatures);
    pair.around.recorded = Some(vec![first_byte(scene, signatures)]);
    pair.set(scene);
    let checksum = CHECKSUM;
    pair.around.loads = true;
    match scene {
        Scene::Lobby => {
            pair.input(1, Input::Chat("hello".to_owned()));
            pair.input(1, Input::Ready(true));
        }
        Scene::Loading => (0..2).for_each(|at| pair.input(at, Input::Loaded { checksum })),
        Scene::Match => (0..2).for_each(|at| pair.issue(at)),
        Scene::Stranger | Scene::Rejoin | Scene::RejoinByTicket | Scene::Reopen => {}
    }
    pair.run(lasts);
    pair.around.recorded.expect("it is recorded")
}

/// The records of a short match, and a keyframe among them.
pub fn recording() -> Vec<Record> {
    let mut pair = Pair::new(Scene::Match, Signatures::Checked);
    for second in 0..3 {
        pair.issue(second % 2);
        pair.run(Duration::from_secs(1));
    }
    std::mem::take(&mut pair.around.disks[0].records)
}

/// A host and a joiner on perfect links, without a world: all checksums are equal.
struct Pair {
    mesh: Mesh,
    around: Around,
    signatures: Signatures,
    made: [Made; 2],
}

struct Around {
    bounds: [Bounds; 2],
    disks: [Recording; 2],
    /// Links that no end has closed.
    open: Vec<LinkId>,
    /// Links before this number belong to processes that have died.
    dead: u32,
    /// Whether worlds are ever built.
    loads: bool,
    /// What is lost: hostile bytes stand in for it.
    lost: Lost,
    /// What would have been lost is recorded instead, as an input.
    recorded: Option<Vec<u8>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lost {
    Nothing,
    All,
    /// What peer 0 answers to a joiner.
    Answers,
    /// What peers say of a reopening.
    Reopening,
}

const DELAY: Duration = Duration::from_millis(10);

/// Every world.
const CHECKSUM: Checksum = Checksum(8);
const SNAPSHOT: [u8; 100] = [9; 100];

/// The place of `Control::Reopen` among the control messages, which is the first byte of one.
const REOPEN: u8 = 20;

impl Pair {
    /// Two sessions at this scene.
    fn new(scene: Scene, signatures: Signatures) -> Self {
        let mut pair = Pair::begun(scene, signatures);
        pair.set(scene);
        pair
    }

    /// Two sessions right before what belongs to the scene.
    fn begun(scene: Scene, signatures: Signatures) -> Self {
        let host = Role::Host(HostConfig {
            setup: vec![5; 10],
            ..hosted(2)
        });
        let stops = matches!(scene, Scene::Stranger | Scene::Lobby | Scene::Loading);
        let around = Around {
            bounds: [Bounds::default(), Bounds::default()],
            disks: [Recording::default(), Recording::default()],
            open: Vec::new(),
            dead: 0,
            loads: !stops,
            lost: Lost::Nothing,
            recorded: None,
        };
        let mut pair = Pair {
            mesh: Mesh::new(DELAY),
            around,
            signatures,
            made: Default::default(),
        };
        let waits = matches!(scene, Scene::Stranger | Scene::Lobby);
        for (at, role) in [(0, host), (1, guest())] {
            let ready = at == 0 || !waits;
            let config = SessionConfig {
                ready,
                ..config(at, at as u8, role)
            };
            let session = pair.session(at, config);
            pair.mesh.driver.add(session, Clock::default());
        }
        pair.run(match scene {
            Scene::Stranger => Duration::ZERO,
            // Until turns are final,
            Scene::Rejoin => Duration::from_secs(4),
            // and until both have signed a snapshot.
            Scene::RejoinByTicket => Duration::from_secs(12),
            _ => Duration::from_secs(2),
        });
        pair
    }

    /// Begins what belongs to the scene. What is lost then is lost from here on.
    fn set(&mut self, scene: Scene) {
        let contact = Contact {
            peer: peer_id(0),
            addresses: vec!["0".to_owned()],
        };
        match scene {
            Scene::Stranger => {
                self.around.lost = Lost::All;
                self.run(DELAY);
                self.around.lost = Lost::Nothing;
            }
            Scene::Lobby | Scene::Loading | Scene::Match => {}
            Scene::Rejoin | Scene::RejoinByTicket => {
                self.quit(1);
                self.around.lost = Lost::Answers;
                if scene == Scene::RejoinByTicket {
                    self.around.disks[1] = Recording::default();
                }
                let comes = self.rejoin(contact);
                self.begin(1, comes);
                self.run(DELAY * 10);
            }
            Scene::Reopen => {
                self.quit(1);
                self.quit(0);
                self.around.lost = Lost::Reopening;
                let hosts = Role::Reopen {
                    from: self.known(0, Vec::new()),
                    rules: rules(),
                    wait: Duration::from_secs(5),
                };
                self.begin(0, hosts);
                let comes = self.rejoin(contact);
                self.begin(1, comes);
                self.run(DELAY * 10);
            }
        }
    }

    /// What a peer knows of the match by its recording.
    fn known(&self, at: usize, contacts: Vec<Contact>) -> Rejoin {
        self.around.disks[at].rejoin(hosted(2).match_id, contacts)
    }

    fn rejoin(&self, contact: Contact) -> Role {
        Role::Rejoin {
            from: self.known(1, vec![contact]),
            rules: rules(),
        }
    }

    fn session(&self, at: usize, config: SessionConfig) -> Session {
        let signer: Box<dyn Signer> = Box::new(Key {
            own: KeyedHash::new(peer_id(at)),
            signatures: self.signatures,
            made: self.made[at].clone(),
        });
        Session::new(config, signer).expect("valid settings")
    }

    /// A process ends, and its links with it.
    fn quit(&mut self, at: usize) {
        let recorded = self.around.recorded.take();
        self.input(at, Input::Quit);
        self.mesh.driver.remove(at);
        self.run(DELAY * 2);
        self.around.recorded = recorded;
        self.around.dead = self.mesh.links().len() as u32;
        self.around.open.clear();
    }

    /// Another run of the process begins.
    fn begin(&mut self, at: usize, role: Role) {
        let session = self.session(at, config(at, 100 + at as u8, role));
        self.around.bounds[at] = Bounds::default();
        let clock = Clock::from(self.mesh.driver.now());
        self.mesh.driver.restart(at, session, clock);
    }

    /// Delivers the parts of an input, one after the other.
    fn feed(&mut self, input: &[u8]) {
        for part in parts(input) {
            match part.to {
                Some(to) => self.receive(to, &part),
                None => (0..2).for_each(|to| self.receive(to, &part)),
            }
            self.run(DELAY * 2);
        }
        self.run(Duration::from_secs(1));
    }

    /// Delivers these bytes to a session, if the link is up.
    fn receive(&mut self, to: usize, part: &Part<'_>) {
        let mut open = self.around.open.iter().rev();
        if let Some(link) = open.nth(part.link).copied() {
            let input = Input::Received {
                link,
                channel: part.channel,
                bytes: part.bytes,
            };
            self.input(to, input);
        }
    }

    fn input(&mut self, to: usize, input: Input<'_>) {
        self.mesh.input(&mut self.around, to, input);
    }

    fn issue(&mut self, peer: usize) {
        let (seat, command) = (Seat(peer as u8), vec![1, 2, 3]);
        self.input(peer, Input::Issue { seat, command });
    }

    fn run(&mut self, time: Duration) {
        let until = self.mesh.driver.now() + time;
        self.mesh.run(&mut self.around, until);
    }
}

fn config(at: usize, run: u8, role: Role) -> SessionConfig {
    SessionConfig {
        entropy: [run; 32],
        keyframe_every: Some(Duration::from_secs(1)),
        build: "fuzzed".to_owned(),
        ..settings(at, role)
    }
}

fn rules() -> RulesOf {
    let of_the_match = hosted(2).rules;
    Box::new(move |_| Some(of_the_match))
}

/// A peer's key, which no other peer has: a signature that it has not made in any of its runs is not its own, though
/// [`KeyedHash`] needs no secret.
struct Key {
    own: KeyedHash,
    signatures: Signatures,
    made: Made,
}

/// The signatures that a peer has made.
type Made = Arc<Mutex<BTreeSet<[u8; 64]>>>;

impl Signer for Key {
    fn id(&self) -> PeerId {
        self.own.id()
    }

    fn sign(&self, bytes: &[u8]) -> [u8; 64] {
        let signature = self.own.sign(bytes);
        self.made.lock().expect("one thread").insert(signature);
        signature
    }

    fn verify(&self, peer: PeerId, bytes: &[u8], signature: &[u8; 64]) -> bool {
        let holds = || self.own.verify(peer, bytes, signature);
        if peer == self.id() {
            self.made.lock().expect("one thread").contains(signature) && holds()
        } else {
            self.signatures == Signatures::OfHostilePeer || holds()
        }
    }
}

impl Around {
    fn is_lost(&self, from: usize, what: &Arrives) -> bool {
        match self.lost {
            Lost::Nothing => false,
            Lost::All => true,
            Lost::Answers => from == 0 && matches!(what, Arrives::Bytes(Channel::Bulk, _)),
            Lost::Reopening => {
                matches!(what, Arrives::Bytes(Channel::Control, bytes) if bytes.first() == Some(&REOPEN))
            }
        }
    }
}

impl Surroundings for Around {
    fn perform(&mut self, peer: usize, output: Output) -> Option<Input<'static>> {
        let checksum = CHECKSUM;
        match output {
            Output::New { .. } | Output::Load { .. } if self.loads => {
                Some(Input::Loaded { checksum })
            }
            Output::Execute(_) => Some(Input::Executed {
                checksum,
                outcome: None,
                step: Duration::from_millis(1),
            }),
            Output::Save { turns } => Some(Input::Snapshot {
                turns,
                bytes: SNAPSHOT.into(),
            }),
            Output::Event(Event::PeerFault { peer: of, .. }) => {
                assert_ne!(of, peer_id(peer), "blames itself");
                None
            }
            output => {
                self.disks[peer].take(&output);
                None
            }
        }
    }

    fn called(&mut self, call: Call<'_>) {
        let bounds = &mut self.bounds[call.peer];
        let mut asks = |asked, size| {
            let crossed = bounds.are_crossed(call.now, asked, size);
            assert!(!crossed, "{asked:?}, {size}");
        };
        if call.timeout {
            asks(Asked::Timeout, 1);
        }
        asks(Asked::Outputs, call.outputs.len());
        for output in call.outputs {
            if let Output::Send {
                link,
                channel,
                bytes,
            } = output
            {
                let asked = match channel {
                    Channel::Turns => Asked::Datagram(*link),
                    _ => Asked::Message(*link),
                };
                asks(asked, bytes.len());
            }
        }
    }

    fn carry(&mut self, sent: Sent, what: Arrives) -> Option<Arrives> {
        if sent.link.0 < self.dead {
            return None;
        }
        if matches!(what, Arrives::Down) {
            self.open.retain(|link| *link != sent.link);
        }
        let is_lost = self.is_lost(sent.from, &what);
        let records = is_lost || self.lost == Lost::Nothing;
        if let (Some(input), Arrives::Bytes(channel, bytes)) = (&mut self.recorded, &what)
            && records
        {
            let mut open = self.open.iter().rev();
            let part = Part {
                channel: *channel,
                to: Some(sent.to),
                link: open.position(|link| *link == sent.link).unwrap_or(0),
                bytes,
            };
            put_part(&part, input);
            return Some(what);
        }
        (!is_lost).then_some(what)
    }

    fn arrives(&mut self, arrival: Arrival) -> Option<Arrival> {
        if arrival.link.0 < self.dead {
            return None;
        }
        if matches!(arrival.what, Arrives::Up) && !self.open.contains(&arrival.link) {
            self.open.push(arrival.link);
        }
        Some(arrival)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstep::Status;

    const BOTH: [Signatures; 2] = [Signatures::Checked, Signatures::OfHostilePeer];

    fn statuses(pair: &Pair) -> [Status; 2] {
        [0, 1].map(|at| pair.mesh.driver.session(at).expect("it runs").status())
    }

    #[test]
    fn every_scene_is_reached() {
        for (scene, status) in [
            (Scene::Stranger, Status::Lobby),
            (Scene::Lobby, Status::Lobby),
            (Scene::Loading, Status::Loading),
            (Scene::Match, Status::Running),
        ] {
            let pair = Pair::new(scene, Signatures::Checked);
            assert_eq!(statuses(&pair)[0], status, "{scene:?}");
            assert_eq!(pair.around.open.len(), 1);
        }
        for scene in [Scene::Rejoin, Scene::RejoinByTicket, Scene::Reopen] {
            let pair = Pair::new(scene, Signatures::Checked);
            assert!(!pair.around.open.is_empty(), "{scene:?}");
            assert_ne!(statuses(&pair)[1], Status::Running, "{scene:?}");
            assert_ne!(statuses(&pair)[1], Status::Ended, "{scene:?}");
        }
    }

    #[test]
    fn a_joiner_by_ticket_fetches_a_snapshot_and_the_other_one_goes_on() {
        let answers = |scene| {
            let said = conversation(scene, Signatures::Checked, Duration::from_secs(3));
            let kinds = parts(&said[1..]).into_iter().map(|part| part.bytes[0]);
            kinds.collect::<Vec<u8>>()
        };
        let (with, by_ticket) = (answers(Scene::Rejoin), answers(Scene::RejoinByTicket));
        assert!(with.starts_with(&[OUTLINE, PAGE]), "{with:?}");
        assert!(by_ticket.contains(&SNAPSHOT_PIECE), "{by_ticket:?}");
    }

    /// The first bytes of answers, which tell their kind.
    const OUTLINE: u8 = 0;
    const PAGE: u8 = 1;
    const SNAPSHOT_PIECE: u8 = 2;

    /// Hostile bytes get as far as a session goes: what honest peers have said comes back as an input.
    #[test]
    fn a_recorded_conversation_brings_both_into_the_match() {
        for scene in [Scene::Rejoin, Scene::RejoinByTicket, Scene::Reopen] {
            for signatures in BOTH {
                let said = conversation(scene, signatures, Duration::from_secs(5));
                let mut pair = Pair::new(scene, signatures);
                pair.feed(&said[1..]);
                let statuses = statuses(&pair);
                assert_eq!(statuses, [Status::Running, Status::Running], "{scene:?}");
            }
        }
    }
}
