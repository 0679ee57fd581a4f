//! Sessions under hostile bytes: in the lobby, during the start of a match, and in a match.

use crate::judge::{Asked, Bounds};
use lockstep::harness::{
    Arrival, Arrives, Call, Clock, Mesh, Sent, Surroundings, guest, hosted, peer_id, settings,
};
use lockstep::session::{HostConfig, Input, Output, Role, Session, SessionConfig};
use lockstep::sign::{KeyedHash, Signer};
use lockstep::{Channel, Event, LinkId};
use sim::Checksum;
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
}

/// Feeds `bytes` to a host as if from its joiner, and to the joiner as if from its host. The first byte of each
/// part selects the channel, the next two the length.
///
/// # Panics
/// If a session panics or crosses a bound: a bug.
pub fn session(scene: Scene, bytes: &[u8]) {
    let mut pair = Pair::new(scene);
    for (channel, part) in parts(bytes) {
        for to in 0..2 {
            pair.receive(to, channel, part);
        }
        pair.run(DELAY * 2);
    }
    pair.run(Duration::from_secs(1));
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

/// A host and a joiner on perfect links, without a world: all checksums are equal.
struct Pair {
    mesh: Mesh,
    around: Around,
}

struct Around {
    bounds: [Bounds; 2],
    /// Links that no end has closed.
    open: Vec<LinkId>,
    /// Whether worlds are ever built.
    loads: bool,
    /// Whether all traffic is lost.
    silent: bool,
}

const DELAY: Duration = Duration::from_millis(10);

impl Pair {
    fn new(scene: Scene) -> Self {
        let config = |at: usize, role| SessionConfig {
            ready: at == 0 || matches!(scene, Scene::Loading | Scene::Match),
            keyframe_every: Some(Duration::from_secs(1)),
            build: "fuzzed".to_owned(),
            ..settings(at, role)
        };
        let host = Role::Host(HostConfig {
            setup: vec![5; 10],
            ..hosted(2)
        });
        let open = |at, role| {
            let signer: Box<dyn Signer> = Box::new(KeyedHash::new(peer_id(at)));
            Session::new(config(at, role), signer).expect("valid settings")
        };
        let mut mesh = Mesh::new(DELAY);
        mesh.driver.add(open(0, host), Clock::default());
        mesh.driver.add(open(1, guest()), Clock::default());
        let around = Around {
            bounds: [Bounds::default(), Bounds::default()],
            open: Vec::new(),
            loads: scene == Scene::Match,
            silent: scene == Scene::Stranger,
        };
        let mut pair = Pair { mesh, around };
        pair.run(if scene == Scene::Stranger {
            DELAY
        } else {
            Duration::from_secs(2)
        });
        pair.around.silent = false;
        pair
    }

    /// Delivers these bytes to a session on the newest link, if that is open.
    fn receive(&mut self, to: usize, channel: Channel, bytes: &[u8]) {
        if let Some(link) = self.around.open.last().copied() {
            let input = Input::Received {
                link,
                channel,
                bytes,
            };
            self.mesh.input(&mut self.around, to, input);
        }
    }

    fn run(&mut self, time: Duration) {
        let until = self.mesh.driver.now() + time;
        self.mesh.run(&mut self.around, until);
    }
}

impl Surroundings for Around {
    fn perform(&mut self, peer: usize, output: Output) -> Option<Input<'static>> {
        let checksum = Checksum(8);
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
                bytes: vec![9; 100].into(),
            }),
            Output::Event(Event::PeerFault { peer: of, .. }) => {
                assert_ne!(of, peer_id(peer), "blames itself");
                None
            }
            _ => None,
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
        if matches!(what, Arrives::Down) {
            self.open.retain(|link| *link != sent.link);
        }
        (!self.silent).then_some(what)
    }

    fn arrives(&mut self, arrival: Arrival) -> Option<Arrival> {
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

    #[test]
    fn every_scene_is_reached() {
        for (scene, status) in [
            (Scene::Stranger, Status::Lobby),
            (Scene::Lobby, Status::Lobby),
            (Scene::Loading, Status::Loading),
            (Scene::Match, Status::Running),
        ] {
            let pair = Pair::new(scene);
            let host = pair.mesh.driver.session(0).expect("it runs");
            assert_eq!(host.status(), status, "{scene:?}");
            assert_eq!(pair.around.open.len(), 1);
        }
    }
}
