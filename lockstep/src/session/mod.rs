//! The session: one match's protocol state on one peer.
//!
//! Pure. Time and bytes come in as arguments, what is to be done comes out. It knows no socket, clock, thread or
//! unseeded randomness, and nothing of the world but checksums: commands are opaque bytes.
//!
//! [`Session::handle`] takes one [`Input`] and returns what to do, in order; [`Session::deadline`] says when it wants
//! [`Input::Timeout`]. Nothing else: it cannot be called in a wrong order.

mod batch;
mod core;
mod link;
mod lobby;
mod playing;
mod wire;

pub use batch::{Batch, NO_SLACK};

use self::core::{Core, Introduced, tidy_name};
use self::lobby::{Host, Invitation, Joiner, OwnPeer, Step};
use self::playing::Playing;
use self::wire::Datagram;
use crate::log::{Bundle, Record, Start, What};
use crate::sign::Signer;
use crate::{
    Channel, EndReason, Ended, Event, Fault, JoinRefused, LinkError, LinkId, PeerId, Plan, Status,
};
use crate::{Limits, MatchId};
use sim::{Checksum, Outcome, RulesId, Seat};
use std::sync::Arc;
use std::time::Duration;

/// What a session is told.
#[derive(Debug)]
pub enum Input<'a> {
    /// A link is up.
    LinkUp {
        /// Its number.
        link: LinkId,
        /// Whom the transport says it leads to, if it knows.
        peer: Option<PeerId>,
        /// True where this side dialled.
        dialled: bool,
        /// The other side's address as seen from here.
        address: String,
        /// What binds the link's channel.
        binding: [u8; 32],
    },
    /// A dial came to nothing.
    DialFailed {
        /// The address that was dialled.
        address: String,
        /// Who was expected there.
        key: PeerId,
        /// Why.
        why: LinkError,
    },
    /// A link is gone.
    LinkDown {
        /// Its number.
        link: LinkId,
        /// Why.
        why: LinkError,
    },
    /// Bytes arrived on a link.
    Received {
        /// The link.
        link: LinkId,
        /// The channel.
        channel: Channel,
        /// One datagram or one whole message.
        bytes: &'a [u8],
    },
    /// This peer is, or is no longer, ready to start.
    Ready(bool),
    /// The world of the start is built.
    Loaded {
        /// Checksum of the initial world.
        checksum: Checksum,
    },
    /// The world could not be built.
    LoadFailed,
    /// A command for one of this peer's seats, which the caller has checked against the limits.
    Issue {
        /// The seat.
        seat: Seat,
        /// The encoded command.
        command: Vec<u8>,
    },
    /// Public chat.
    Chat(String),
    /// Pause the match, for this peer's first seat.
    Pause,
    /// Let a paused match go on.
    Resume,
    /// The world has executed the next turn.
    Executed {
        /// Checksum of the world after it.
        checksum: Checksum,
        /// How the match ended, if it has.
        outcome: Option<Outcome>,
    },
    /// The snapshot that [`Output::Save`] asked for.
    Snapshot {
        /// Turns that the world had executed.
        turns: u32,
        /// What [`sim::State::save`] wrote.
        bytes: Arc<[u8]>,
    },
    /// Leave the match.
    Leave,
    /// Time has passed.
    Timeout,
}

/// What a session wants done, in this order.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// Dial a peer.
    Dial {
        /// Where.
        address: String,
        /// Who must answer.
        key: PeerId,
    },
    /// Close a link, after what was sent on it before.
    Close {
        /// Its number.
        link: LinkId,
    },
    /// Send bytes. That they are lost where the channel allows it, or that the link is gone, needs no answer.
    Send {
        /// On which link.
        link: LinkId,
        /// By which channel.
        channel: Channel,
        /// The bytes.
        bytes: Arc<[u8]>,
    },
    /// Append a record to the log. Comes before the turn it holds is executed.
    Append(Record),
    /// Build the world and answer [`Input::Loaded`] or [`Input::LoadFailed`].
    New(Arc<Start>),
    /// Execute a turn and answer [`Input::Executed`]. Turns come without a hole.
    Execute(Bundle),
    /// Save the world once every turn handed out so far is executed, and answer [`Input::Snapshot`].
    Save {
        /// Turns executed by then.
        turns: u32,
    },
    /// Tell the game.
    Event(Event),
}

/// How a session begins.
pub struct SessionConfig {
    /// What this peer calls itself; at most 32 bytes are kept.
    pub name: String,
    /// Seats that this peer asks for. At least 1.
    pub own_seats: u8,
    /// Whether this peer is ready from the beginning.
    pub ready: bool,
    /// Addresses at which others may try to dial this peer.
    pub addresses: Vec<String>,
    /// Secret randomness, drawn anew for every run of the process: nonces and the incarnation come from it.
    pub entropy: [u8; 32],
    /// This peer's share of the match seed; drawn from `entropy` where there is none.
    pub share: Option<[u8; 32]>,
    /// Match time between keyframes of the log, if any are wanted.
    pub keyframe_every: Option<Duration>,
    /// Bounds.
    pub limits: Limits,
    /// A turn that is waited for longer than this ends the match for this peer; `None` waits for ever.
    pub stall_limit: Option<Duration>,
    /// The build, for information in the log.
    pub build: String,
    /// What this peer is in its lobby.
    pub role: Role,
}

/// The rules that a build plays a given setup by; `None` for a setup it cannot read.
pub type RulesOf = Box<dyn Fn(&[u8]) -> Option<RulesId> + Send>;

/// What a peer is in its lobby.
pub enum Role {
    /// It opened the match and decides who comes in.
    Host(HostConfig),
    /// It comes with a ticket.
    Join {
        /// The match.
        match_id: MatchId,
        /// The ticket's secret.
        secret: [u8; 16],
        /// The host's key.
        host: PeerId,
        /// Where to dial the host, best first.
        addresses: Vec<String>,
        /// The rules that this build plays a given setup by; `None` for a setup it cannot read.
        rules: RulesOf,
    },
}

/// What the host settles for everybody.
pub struct HostConfig {
    /// The match.
    pub match_id: MatchId,
    /// What a joiner must know to be let in.
    pub secret: [u8; 16],
    /// When the invitation expires, on the session's clock; `None`: never.
    pub expires: Option<Duration>,
    /// The game's own setup, encoded.
    pub setup: Vec<u8>,
    /// The rules in force.
    pub rules: RulesId,
    /// Seats of the match.
    pub seats: u8,
    /// The plan.
    pub plan: Plan,
    /// Turns after which the match ends, if it is to end so.
    pub turn_limit: Option<u32>,
}

/// A setting that no session can begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// No seat, or more than the match has.
    #[error(
        "a peer takes at least one seat and at most all of the match's, of which there are 1 to 16"
    )]
    Seats,
    /// A plan out of range.
    #[error(
        "the plan is out of range: 1, 2, 4 or 8 ticks of 1 to 1000 ms, and a delay of 2 to 8 turns (1 alone)"
    )]
    Plan,
    /// A setup above its limit.
    #[error("the setup takes {bytes} bytes, the limit is {limit}")]
    Setup {
        /// Its size.
        bytes: u32,
        /// The limit.
        limit: u32,
    },
    /// A limit above what the protocol can carry.
    #[error("a limit is above what the protocol can carry")]
    Limits,
    /// A ticket without an address.
    #[error("there is no address to dial")]
    Addresses,
}

/// What a session has measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stats {
    /// Turns whose bundle was incomplete at the moment they were due.
    pub late_turns: u64,
    /// Time spent waiting for them.
    pub stalled: Duration,
    /// The links to other peers.
    pub links: Vec<LinkStats>,
}

/// What a session has measured of one link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkStats {
    /// Who is at the other end.
    pub peer: PeerId,
    /// Smoothed round trip, once known.
    pub rtt: Option<Duration>,
    /// Packets lost of the last 64, in the worse direction.
    pub lost_of_64: u8,
}

/// One match's protocol state on one peer.
pub struct Session {
    core: Core,
    phase: Phase,
    initial: Option<Checksum>,
    keyframe_every: Option<Duration>,
    stall_limit: Option<Duration>,
    begun: bool,
    /// What the match had measured when it ended.
    ended_stats: Stats,
}

enum Phase {
    Host(Box<Host>),
    Join(Box<Joiner>),
    Playing(Box<Playing>),
    Over,
}

impl Session {
    /// A session at time zero. It asks to be called at once by [`deadline`](Self::deadline).
    ///
    /// # Errors
    /// [`ConfigError`] for a setting out of range.
    pub fn new(config: SessionConfig, signer: Box<dyn Signer>) -> Result<Session, ConfigError> {
        check(&config)?;
        let mut core = Core::new(config.limits, signer, config.entropy);
        let own = OwnPeer {
            name: tidy_name(&config.name),
            seats: config.own_seats,
            ready: config.ready,
            addresses: config.addresses,
            share: config.share.unwrap_or_else(|| core.draw()),
            build: config.build,
        };
        let phase = match config.role {
            Role::Host(host) => Phase::Host(Box::new(Host::new(&core, own, host))),
            Role::Join {
                match_id,
                secret,
                host,
                addresses,
                rules,
            } => {
                let invitation = Invitation {
                    match_id,
                    secret,
                    host,
                    addresses,
                };
                Phase::Join(Box::new(Joiner::new(&mut core, own, invitation, rules)))
            }
        };
        Ok(Session {
            core,
            phase,
            initial: None,
            keyframe_every: config.keyframe_every,
            stall_limit: config.stall_limit,
            begun: false,
            ended_stats: Stats::default(),
        })
    }

    /// Takes one input and returns what to do, in order. `now` counts from the session's start and never goes back.
    ///
    /// # Panics
    /// When [`Input::Executed`] answers no turn that was handed out.
    #[must_use]
    pub fn handle(&mut self, now: Duration, input: Input<'_>) -> Vec<Output> {
        self.core.now = self.core.now.max(now);
        if !self.begun {
            self.begun = true;
            if let Phase::Host(host) = &mut self.phase {
                let step = host.begin(&mut self.core);
                self.step(step);
            }
        }
        self.take(input);
        self.pass_time();
        std::mem::take(&mut self.core.out)
    }

    /// When the session wants [`Input::Timeout`] if nothing else comes before; `None` once it is over.
    pub fn deadline(&self) -> Option<Duration> {
        if !self.begun {
            return Some(self.core.now);
        }
        let phase = match &self.phase {
            Phase::Host(host) => host.deadline(),
            Phase::Join(join) => join.deadline(),
            Phase::Playing(playing) => playing.deadline(&self.core),
            Phase::Over => return None,
        };
        [phase, self.core.prove_deadline()]
            .into_iter()
            .flatten()
            .min()
    }

    /// Where the match stands.
    pub fn status(&self) -> Status {
        match &self.phase {
            Phase::Host(host) if host.is_loading() => Status::Loading,
            Phase::Join(join) if join.is_loading() => Status::Loading,
            Phase::Host(_) | Phase::Join(_) => Status::Lobby,
            Phase::Playing(playing) => playing.status(self.core.now),
            Phase::Over => Status::Ended,
        }
    }

    /// Seats of this peer, once the lobby has given it some.
    pub fn own_seats(&self) -> &[Seat] {
        match &self.phase {
            Phase::Host(host) => host.own_seats(),
            Phase::Join(join) => join.own_seats(),
            Phase::Playing(playing) => playing.own_seats(),
            Phase::Over => &[],
        }
    }

    /// What has been measured so far; the links are those that are up now.
    pub fn stats(&self) -> Stats {
        let mut stats = match &self.phase {
            Phase::Playing(playing) => playing.stats.clone(),
            _ => self.ended_stats.clone(),
        };
        stats.links = self
            .core
            .links
            .values()
            .filter_map(|link| {
                let (peer, _) = link.proved?;
                Some(LinkStats {
                    peer,
                    rtt: link.quality.rtt,
                    lost_of_64: link.quality.loss_per_64(),
                })
            })
            .collect();
        stats
    }

    fn take(&mut self, input: Input<'_>) {
        let core = &mut self.core;
        match input {
            Input::LinkUp {
                link,
                peer,
                dialled,
                address,
                binding,
            } => match self.phase {
                Phase::Over => core.out.push(Output::Close { link }),
                _ => core.link_up(link, peer, dialled, address, binding),
            },
            Input::DialFailed { key, why, .. } => {
                if let Phase::Join(join) = &mut self.phase {
                    let step = join.dial_failed(key, why);
                    self.step(step);
                }
            }
            Input::LinkDown { link, why } => self.link_down(link, why),
            Input::Received {
                link,
                channel,
                bytes,
            } => self.received(link, channel, bytes),
            Input::Ready(ready) => match &mut self.phase {
                Phase::Host(host) => {
                    let step = host.set_ready(core, ready);
                    self.step(step);
                }
                Phase::Join(join) => join.set_ready(core, ready),
                _ => {}
            },
            Input::Loaded { checksum } => {
                self.initial = Some(checksum);
                let step = match &mut self.phase {
                    Phase::Host(host) => host.own_loaded(core),
                    Phase::Join(join) => join.own_loaded(core),
                    _ => Step::Stay,
                };
                self.step(step);
            }
            Input::LoadFailed => {
                let _ = self.leave_lobby();
                self.step(Step::End(EndReason::World));
            }
            Input::Issue { seat, command } => {
                if let Phase::Playing(playing) = &mut self.phase {
                    playing.issue(seat, command);
                }
            }
            Input::Chat(text) => match &mut self.phase {
                Phase::Host(host) => host.chat(core, &text),
                Phase::Join(join) => join.chat(core, &text),
                Phase::Playing(playing) => playing.chat(core, &text),
                Phase::Over => {}
            },
            Input::Pause => self.note(What::Pause),
            Input::Resume => self.note(What::Resume),
            Input::Executed { checksum, outcome } => {
                if let Phase::Playing(playing) = &mut self.phase {
                    playing.world_executed(core, checksum, outcome);
                }
            }
            Input::Snapshot { turns, bytes } => {
                if let Phase::Playing(playing) = &mut self.phase {
                    playing.snapshot(core, turns, bytes);
                }
            }
            Input::Leave => match &mut self.phase {
                Phase::Playing(playing) => playing.leave(core),
                _ => {
                    let step = self.leave_lobby();
                    self.step(step);
                }
            },
            Input::Timeout => {}
        }
    }

    fn received(&mut self, link: LinkId, channel: Channel, bytes: &[u8]) {
        match channel {
            Channel::Control => self.control(link, bytes),
            Channel::Turns => self.datagram(link, bytes),
            Channel::Bulk => self.core.fault(link, Fault::OutOfPlace),
        }
    }

    fn control(&mut self, link: LinkId, bytes: &[u8]) {
        let core = &mut self.core;
        let step = match (core.introduce(link, bytes), &mut self.phase) {
            (Introduced::No, _) | (_, Phase::Over) => Step::Stay,
            (Introduced::Protocol(host), Phase::Join(join)) if !join.is_in() => {
                Step::End(EndReason::Refused(JoinRefused::Protocol {
                    host,
                    ours: crate::PROTOCOL,
                }))
            }
            (Introduced::Protocol(ours), _) => {
                core.refuse(
                    link,
                    JoinRefused::Protocol {
                        host: crate::PROTOCOL,
                        ours,
                    },
                );
                Step::Stay
            }
            (Introduced::Proved, Phase::Host(_)) => Step::Stay,
            (Introduced::Proved, Phase::Join(join)) => {
                join.proved(core, link);
                Step::Stay
            }
            (Introduced::Proved, Phase::Playing(playing)) => {
                playing.close_doubles(core, link);
                Step::Stay
            }
            (Introduced::Other(message), Phase::Host(host)) => host.received(core, link, message),
            (Introduced::Other(message), Phase::Join(join)) => join.received(core, link, message),
            (Introduced::Other(message), Phase::Playing(playing)) => {
                playing.received(core, link, message);
                Step::Stay
            }
        };
        self.step(step);
    }

    fn datagram(&mut self, link: LinkId, bytes: &[u8]) {
        let core = &mut self.core;
        if core
            .links
            .get(&link)
            .is_none_or(|link| link.proved.is_none())
        {
            return;
        }
        match Datagram::decode(bytes, &core.limits) {
            Err(_) => core.fault(link, Fault::Garbage),
            Ok(Datagram::Probe { sent_us }) => {
                let clock_us = core.now.as_micros() as u64;
                core.send_datagram(link, &Datagram::ProbeAnswer { sent_us, clock_us });
            }
            Ok(Datagram::ProbeAnswer { sent_us, clock_us }) => {
                if let Phase::Join(join) = &mut self.phase {
                    join.probe_answered(core, link, sent_us, clock_us);
                }
            }
            Ok(turns) => {
                if let Phase::Playing(playing) = &mut self.phase {
                    playing.datagram(core, link, turns);
                }
            }
        }
    }

    fn link_down(&mut self, link: LinkId, why: LinkError) {
        let core = &mut self.core;
        let Some(gone) = core.links.remove(&link) else {
            return;
        };
        let step = match &mut self.phase {
            Phase::Host(host) => host.link_down(core, link),
            Phase::Join(join) => join.link_down(link, why),
            Phase::Playing(playing) => {
                if let Some((peer, _)) = gone.proved {
                    playing.link_down(core, peer, why);
                }
                Step::Stay
            }
            Phase::Over => Step::Stay,
        };
        self.step(step);
    }

    fn note(&mut self, what: What) {
        if let Phase::Playing(playing) = &mut self.phase {
            playing.note(what);
        }
    }

    fn leave_lobby(&mut self) -> Step {
        match &mut self.phase {
            Phase::Host(host) => host.leave(&mut self.core),
            Phase::Join(join) => join.leave(&mut self.core),
            Phase::Playing(_) | Phase::Over => Step::Stay,
        }
    }

    fn pass_time(&mut self) {
        let core = &mut self.core;
        core.close_unproved();
        let step = match &mut self.phase {
            Phase::Host(host) => host.timeout(core),
            Phase::Join(join) => join.timeout(core),
            Phase::Playing(_) | Phase::Over => Step::Stay,
        };
        self.step(step);
        if let Phase::Playing(playing) = &mut self.phase {
            playing.advance(&mut self.core);
            if playing.is_over() {
                self.ended_stats = playing.stats.clone();
                self.phase = Phase::Over;
            }
        }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Stay => {}
            Step::Begin(settled) => {
                let initial = self
                    .initial
                    .expect("a match begins once the world is loaded");
                let playing = Playing::new(
                    &mut self.core,
                    *settled,
                    initial,
                    self.keyframe_every,
                    self.stall_limit,
                );
                self.phase = Phase::Playing(Box::new(playing));
            }
            Step::End(reason) => {
                if matches!(self.phase, Phase::Over) {
                    return;
                }
                for link in self.core.links.keys().copied().collect::<Vec<_>>() {
                    self.core.close(link);
                }
                self.core.event(Event::Ended(Ended {
                    reason,
                    turns: 0,
                    checksum: None,
                    outcome: None,
                    agreed: 0,
                    of: 0,
                }));
                self.phase = Phase::Over;
            }
        }
    }
}

fn check(config: &SessionConfig) -> Result<(), ConfigError> {
    let limits = &config.limits;
    if limits.batch_bytes > 700
        || limits.peers > 16
        || limits.command_bytes + 200 > limits.batch_bytes
    {
        return Err(ConfigError::Limits);
    }
    match &config.role {
        Role::Host(host) => {
            let alone = host.seats == config.own_seats;
            if !(1..=16).contains(&host.seats) || !(1..=host.seats).contains(&config.own_seats) {
                return Err(ConfigError::Seats);
            }
            if !host.plan.is_valid(!alone) {
                return Err(ConfigError::Plan);
            }
            if host.setup.len() > limits.setup_bytes as usize {
                return Err(ConfigError::Setup {
                    bytes: host.setup.len() as u32,
                    limit: limits.setup_bytes,
                });
            }
        }
        Role::Join { addresses, .. } => {
            if addresses.is_empty() {
                return Err(ConfigError::Addresses);
            }
            if !(1..=16).contains(&config.own_seats) {
                return Err(ConfigError::Seats);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
