//! Sessions under hostile bytes: in the lobby, while a match starts, and in a match.

use crate::judge::Bounds;
use lockstep::session::{HostConfig, Input, Output, Role, Session, SessionConfig};
use lockstep::sign::{KeyedHash, Signer};
use lockstep::{Channel, Event, Limits, LinkId, MatchId, PeerId, Plan};
use sim::{Checksum, RulesId};
use std::collections::VecDeque;
use std::time::Duration;

/// How far two sessions have come when the hostile bytes arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scene {
    /// The link is up; nobody has proved anything.
    Stranger,
    /// The joiner is in the lobby, not ready.
    Lobby,
    /// The world is being built.
    Loading,
    /// Turns advance.
    Match,
}

/// Feeds `bytes` to a host as sent by its joiner, and as much to the joiner as sent by its host. The first byte of
/// each part chooses the channel, the next two its length.
///
/// # Panics
/// When a session does, or crosses a bound; that is, when there is a bug.
pub fn session(scene: Scene, bytes: &[u8]) {
    let mut pair = Pair::new(scene);
    pair.settle();
    for (channel, part) in parts(bytes) {
        for to in 0..2 {
            pair.receive(to, channel, part);
        }
        pair.settle();
    }
    for _ in 0..20 {
        pair.pass(Duration::from_millis(50));
    }
}

fn parts(mut bytes: &[u8]) -> Vec<(Channel, &[u8])> {
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
            parts.push((channel, part));
        }
        bytes = after;
    }
    parts
}

/// A host and a joiner on a perfect link, without a world: every checksum is the same.
struct Pair {
    now: Duration,
    sessions: [Session; 2],
    bounds: [Bounds; 2],
    linked: bool,
    loads: bool,
    /// Bytes under way: to whom.
    under_way: VecDeque<(usize, Channel, Vec<u8>)>,
}

const LINK: LinkId = LinkId(0);

impl Pair {
    fn new(scene: Scene) -> Self {
        let ids = [PeerId([1; 32]), PeerId([2; 32])];
        let config = |at: usize, role| SessionConfig {
            name: format!("peer {at}"),
            own_seats: 1,
            ready: at == 0 || matches!(scene, Scene::Loading | Scene::Match),
            addresses: vec![format!("address {at}")],
            entropy: [at as u8; 32],
            share: None,
            keyframe_every: Some(Duration::from_secs(1)),
            limits: Limits::default(),
            stall_limit: None,
            suspicion: Duration::from_secs(3),
            build: "fuzzed".to_owned(),
            role,
        };
        let secret = [3; 16];
        let match_id = MatchId([4; 16]);
        let host = Role::Host(HostConfig {
            match_id,
            secret,
            expires: None,
            setup: vec![5; 10],
            rules: RulesId([6; 16]),
            seats: 2,
            plan: Plan::default(),
            turn_limit: None,
            pauses: lockstep::log::PauseBudget::default(),
            on_slow: lockstep::log::OnSlow::default(),
            on_desync: lockstep::log::OnDesync::default(),
            absent: lockstep::log::Absent::default(),
        });
        let join = Role::Join {
            match_id,
            secret,
            host: ids[0],
            addresses: vec!["address 0".to_owned()],
            rules: Box::new(|_| Some(RulesId([6; 16]))),
        };
        let open = |at, role| {
            let signer: Box<dyn Signer> = Box::new(KeyedHash::new(ids[at]));
            Session::new(config(at, role), signer).expect("valid settings")
        };
        let mut pair = Pair {
            now: Duration::ZERO,
            sessions: [open(0, host), open(1, join)],
            bounds: [Bounds::default(), Bounds::default()],
            linked: false,
            loads: scene == Scene::Match,
            under_way: VecDeque::new(),
        };
        pair.feed(0, Input::Timeout);
        pair.feed(1, Input::Timeout);
        pair.linked = true;
        for at in 0..2 {
            let input = Input::LinkUp {
                link: LINK,
                peer: (at == 1).then_some(ids[0]),
                dialled: at == 1,
                address: format!("address {}", 1 - at),
                binding: [7; 32],
            };
            pair.feed(at, input);
        }
        if scene == Scene::Stranger {
            pair.under_way.clear();
        } else {
            for _ in 0..40 {
                pair.settle();
                pair.pass(Duration::from_millis(50));
            }
        }
        pair
    }

    fn receive(&mut self, to: usize, channel: Channel, bytes: &[u8]) {
        if self.linked {
            let link = LINK;
            self.feed(
                to,
                Input::Received {
                    link,
                    channel,
                    bytes,
                },
            );
        }
    }

    /// Delivers everything that is under way, within reason: answers to answers may go on for ever.
    fn settle(&mut self) {
        for _ in 0..200 {
            let Some((to, channel, bytes)) = self.under_way.pop_front() else {
                return;
            };
            self.receive(to, channel, &bytes);
        }
    }

    fn pass(&mut self, time: Duration) {
        self.now += time;
        for at in 0..2 {
            if let Some(crossed) = self.bounds[at].timeout(self.now) {
                panic!("{crossed}");
            }
            self.feed(at, Input::Timeout);
        }
        self.settle();
    }

    fn feed(&mut self, at: usize, input: Input<'_>) {
        let mut inputs = vec![input];
        while let Some(input) = inputs.pop() {
            let outputs = self.sessions[at].handle(self.now, input);
            if let Some(crossed) = self.bounds[at].outputs(self.now, &outputs) {
                panic!("{crossed}");
            }
            for output in outputs {
                match output {
                    Output::Send { channel, bytes, .. } if self.linked => {
                        self.under_way.push_back((1 - at, channel, bytes.to_vec()));
                    }
                    Output::Close { .. } => self.linked = false,
                    Output::New(_) | Output::Load { .. } if self.loads => {
                        inputs.push(Input::Loaded {
                            checksum: Checksum(8),
                        })
                    }
                    Output::Execute(_) => inputs.insert(
                        0,
                        Input::Executed {
                            checksum: Checksum(8),
                            outcome: None,
                            step: Duration::from_millis(1),
                        },
                    ),
                    Output::Save { turns } => inputs.insert(
                        0,
                        Input::Snapshot {
                            turns,
                            bytes: vec![9; 100].into(),
                        },
                    ),
                    Output::Event(Event::PeerFault { peer, .. }) => {
                        assert_ne!(
                            peer,
                            [PeerId([1; 32]), PeerId([2; 32])][at],
                            "blames itself"
                        );
                    }
                    _ => {}
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstep::Status;

    #[test]
    fn every_scene_is_reached() {
        for (scene, status) in [
            (Scene::Stranger, Status::Lobby),
            (Scene::Lobby, Status::Lobby),
            (Scene::Loading, Status::Loading),
            (Scene::Match, Status::Running),
        ] {
            let pair = Pair::new(scene);
            assert_eq!(pair.sessions[0].status(), status, "{scene:?}");
            assert!(pair.linked);
        }
    }
}
