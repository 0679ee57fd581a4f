//! The session: one match's protocol state on one peer.
//!
//! Pure. Time and bytes come in as arguments, what is to be done comes out. It knows no socket, clock, thread or
//! unseeded randomness, and nothing of the world but checksums: commands are opaque bytes.
//!
//! [`Session::handle`] takes one [`Input`] and returns what to do, in order; [`Session::deadline`] says when it wants
//! [`Input::Timeout`]. Nothing else: it cannot be called in a wrong order.

mod clock_gap;
mod contract;
mod core;
mod ending;
mod facts;
mod joiner;
mod leaving;
mod ledger;
mod links;
mod lobby;
mod membership;
mod player;
mod reading;
mod rejoin;
mod serving;
mod timers;
mod turns;
mod verify;
mod wire;

// For the crates of this repository. It may change at any time.
#[doc(hidden)]
pub use self::lobby::OpenChange;
// For the crates of this repository. It may change at any time.
#[doc(hidden)]
pub use self::membership::paxos as roster;
// For the crates of this repository. It may change at any time.
#[doc(hidden)]
pub use crate::log::{Batch, Lead, MAX_LOAD, NO_WAY, SnapshotHash};
pub use contract::{
    Agreed, ConfigError, HostConfig, Input, LinkStats, Output, PeerStats, Role, RulesOf,
    SessionConfig, Stats,
};
pub use reading::Outlook;
#[cfg(any(test, feature = "harness"))]
pub(crate) use wire::{Control, SignedStatement, WireBatch};

use self::core::{Core, Introduced};
use self::joiner::Joiner;
use self::links::link::Link;
use self::lobby::{Continued, Exit, Gathers, Invitation, Lobby, OwnPeer, Settled};
use self::player::{Player, Settings};
use self::rejoin::{RejoinContext, Returned, Serve};
use self::timers::{Timer, Timers};
pub(crate) use self::wire::Datagram;
use crate::log::{Archive, SignatureSet, What};
use crate::sign::Signer;
use crate::text::{MAX_BUILD, tidy_name, tidy_text};
use crate::{Channel, EndReason, Ended, Event, Fault, JoinRefused, LinkError, LinkId};
use sim::Checksum;
use std::time::Duration;

/// One match's protocol state on one peer.
pub struct Session {
    core: Core,
    phase: Phase,
    initial: Option<Checksum>,
    /// Worlds asked for that have not been built: only the last one counts.
    worlds_awaited: u32,
    settings: Settings,
    begun: bool,
    /// The log, for joiners, and the peers that ask for it.
    archive: Archive,
    serve: Serve,
    /// What the match had measured when it ended.
    ended_stats: Stats,
}

enum Phase {
    /// It agrees with others on what begins.
    Lobby(Box<Lobby>),
    /// It comes back to a match.
    Rejoin(Box<Joiner>),
    Playing(Box<Player>),
    Over,
}

/// What a lobby, or a rejoin, comes to.
pub(crate) enum Step {
    /// It goes on.
    Stay,
    /// All participants have signed: the host closes its lobby.
    Agreed(SignatureSet),
    /// A guest leaves the lobby for the match.
    Exit(Exit),
    /// The match begins.
    Begin(Box<Settled>),
    /// A player goes on alone.
    PlayOn(Box<Continued>),
    /// The match goes on: this peer runs the log up to the cut.
    Reopened(Box<Joiner>),
    /// This peer looks elsewhere for the match.
    Search(Box<Joiner>),
    /// A joiner begins its part.
    Return(Box<Returned>),
    /// The peer at the other end of this link waits for the others, to reopen the match.
    Gather(LinkId),
    /// Joiners are a quorum: this one hosts a reopening.
    Reopen,
    /// The reopening that a joiner hosts came to this: it looks elsewhere for the match.
    SearchOn(EndReason),
    /// It is over for this peer.
    End(EndReason),
}

impl Session {
    /// A session at time zero. It asks to be called at once by [`deadline`](Self::deadline).
    ///
    /// # Errors
    /// [`ConfigError`] for a setting out of range.
    pub fn new(config: SessionConfig, signer: Box<dyn Signer>) -> Result<Session, ConfigError> {
        let config = config.bounded();
        config.check()?;
        let mut core = Core::new(config.limits, signer, config.entropy);
        let mut archive = Archive::new(core.limits.catch_up_bytes);
        let own = OwnPeer {
            name: tidy_name(&config.name),
            seats: config.own_seats,
            ready: config.ready,
            addresses: config.addresses,
            share: config.share.unwrap_or_else(|| core.draw()),
            build: tidy_text(&config.build, MAX_BUILD),
        };
        let phase = match config.role {
            Role::Host(host) => Phase::Lobby(Box::new(Lobby::host(&core, own, host))),
            Role::Join {
                match_id,
                secret,
                host,
                addresses,
                rules,
            } => {
                // No link proves the key of its own other end.
                if host == core.id() {
                    return Err(ConfigError::OwnKey);
                }
                let invitation = Invitation {
                    match_id,
                    secret,
                    host,
                    addresses,
                };
                Phase::Lobby(Box::new(Lobby::join(&mut core, own, invitation, rules)))
            }
            Role::Rejoin { from, rules } => {
                let mut known = from.contacts.iter();
                if known.all(|contact| contact.peer == core.id()) {
                    return Err(ConfigError::OnlySelf);
                }
                Phase::Rejoin(Box::new(Joiner::new(&core, from, own.addresses, rules)))
            }
            Role::Reopen { from, rules, wait } => {
                let context = RejoinContext::of(from, own.addresses, rules);
                let gathers = Gathers::Players(wait);
                Phase::Lobby(Box::new(Lobby::reopen(&core, context, gathers)))
            }
            Role::Branch { from, rules } => {
                let context = RejoinContext::of(from, own.addresses, rules);
                Phase::Lobby(Box::new(Lobby::branch(&core, context)))
            }
            Role::PlayOn {
                from,
                plan,
                turn_limit,
            } => {
                // No peer comes back into it, nor comes to have its first turns here.
                archive = Archive::new(0);
                let lobby = Lobby::play_on(&core, own, from, plan, turn_limit)?;
                Phase::Lobby(Box::new(lobby))
            }
        };
        Ok(Session {
            core,
            archive,
            serve: Serve::default(),
            phase,
            initial: None,
            worlds_awaited: 0,
            settings: Settings {
                keyframe_every: config.keyframe_every,
                stall_limit: config.stall_limit,
                suspicion: config.suspicion,
            },
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
            if let Phase::Lobby(lobby) = &mut self.phase {
                let step = lobby.open(&mut self.core);
                self.step(step);
            }
        }
        match &mut self.phase {
            Phase::Playing(playing) => playing.detect_clock_gap(&mut self.core),
            Phase::Rejoin(joiner) => joiner.detect_clock_gap(&self.core),
            Phase::Lobby(lobby) => lobby.detect_clock_gap(&self.core),
            Phase::Over => {}
        }
        self.take(input);
        self.drain_closed_links();
        self.pass_time();
        self.drain_closed_links();
        self.serve();
        let outputs = std::mem::take(&mut self.core.out);
        let worlds = outputs
            .iter()
            .filter(|output| matches!(output, Output::New { .. } | Output::Load { .. }));
        self.worlds_awaited += worlds.count() as u32;
        outputs
    }

    /// When the session wants [`Input::Timeout`] if nothing else comes before; `None` once it is over.
    pub fn deadline(&self) -> Option<Duration> {
        if !self.begun {
            return Some(self.core.now);
        }
        let mut timers = Timers::default();
        self.core.timers(&mut timers);
        match &self.phase {
            Phase::Lobby(lobby) => timers.set(Timer::Gathering, lobby.deadline(&self.core)),
            Phase::Rejoin(joiner) => timers.set(Timer::Gathering, joiner.deadline(&self.core)),
            Phase::Playing(playing) => playing.timers(&self.core, &mut timers),
            Phase::Over => return None,
        }
        timers.first()
    }

    fn take(&mut self, input: Input<'_>) {
        let built = matches!(input, Input::Loaded { .. } | Input::LoadFailed);
        if built && self.answers_earlier_world() {
            return;
        }
        let core = &mut self.core;
        match input {
            Input::LinkUp {
                link,
                peer,
                dialled,
                address,
                binding,
            } => {
                let takes_links = match &self.phase {
                    Phase::Lobby(lobby) => lobby.takes_links(),
                    // Once it knows the end, there is nothing left to be said.
                    Phase::Rejoin(joiner) => !joiner.knows_end(),
                    Phase::Playing(_) => true,
                    Phase::Over => false,
                };
                match takes_links {
                    true => core.link_up(link, peer, dialled, address, binding),
                    false => core.out.push(Output::Close { link }),
                }
            }
            Input::DialFailed { address, key, why } => {
                if let Phase::Lobby(lobby) = &mut self.phase {
                    lobby.dial_failed(&address, key, why);
                }
            }
            Input::LinkDown { link, why } => self.link_down(link, why),
            Input::Received {
                link,
                channel,
                bytes,
            } => self.received(link, channel, bytes),
            Input::Ready(ready) => {
                if let Phase::Lobby(lobby) = &mut self.phase {
                    let step = lobby.set_ready(core, ready);
                    self.step(step);
                }
            }
            Input::Loaded { checksum } => {
                self.initial = Some(checksum);
                match &mut self.phase {
                    Phase::Lobby(lobby) => {
                        let step = lobby.loaded(core, checksum);
                        self.step(step);
                    }
                    Phase::Rejoin(joiner) => joiner.loaded(checksum),
                    Phase::Playing(playing) => playing.world_loaded(checksum),
                    Phase::Over => {}
                }
            }
            Input::LoadFailed => self.lose_world(EndReason::World),
            Input::WorldFaulted { turn, message } => self.lose_world(EndReason::WorldFault {
                turn,
                message,
                report: None,
            }),
            Input::Issue { seat, command } => {
                if let Phase::Playing(playing) = &mut self.phase {
                    playing.issue(seat, command);
                }
            }
            Input::Chat(text) => match &mut self.phase {
                Phase::Lobby(lobby) => lobby.chat(core, &text),
                Phase::Playing(playing) => playing.chat(core, &text),
                Phase::Rejoin(_) | Phase::Over => {}
            },
            Input::Pause => self.note(What::Pause),
            Input::Resume => self.note(What::Resume),
            Input::WaitLonger => {
                if let Phase::Playing(playing) = &mut self.phase {
                    playing.wait_longer();
                }
            }
            Input::EnterBranch(branch) => {
                if let Phase::Rejoin(joiner) = &mut self.phase {
                    joiner.enter_branch(branch);
                }
            }
            Input::RemoveGuest(guest) => {
                if let Phase::Lobby(lobby) = &mut self.phase {
                    let step = lobby.remove_guest(core, guest);
                    self.step(step);
                }
            }
            Input::AdmitGuest(guest) => {
                if let Phase::Lobby(lobby) = &mut self.phase {
                    lobby.admit_guest(core, guest);
                }
            }
            Input::BeginNow => {
                if let Phase::Lobby(lobby) = &mut self.phase {
                    lobby.begin_now(core);
                }
            }
            Input::Contact(contact) => {
                if let Phase::Rejoin(joiner) = &mut self.phase {
                    joiner.find(core, contact);
                }
            }
            Input::Executed {
                checksum,
                outcome,
                step,
            } => match &mut self.phase {
                Phase::Playing(playing) => playing.world_executed(core, checksum, outcome, step),
                Phase::Rejoin(joiner) => joiner.executed(checksum),
                _ => {}
            },
            Input::Snapshot { turns, bytes } => {
                if let Phase::Playing(playing) = &mut self.phase {
                    playing.snapshot(core, turns, bytes);
                }
            }
            Input::Synced(id) => match &mut self.phase {
                Phase::Playing(playing) => playing.synced(core, id),
                Phase::Lobby(lobby) => {
                    let step = lobby.synced(core, id);
                    self.step(step);
                }
                _ => {}
            },
            Input::Leave => match &mut self.phase {
                Phase::Playing(playing) => playing.leave(core),
                _ => {
                    let step = self.leave();
                    self.step(step);
                }
            },
            Input::Quit => {
                if let Phase::Playing(playing) = &mut self.phase {
                    playing.say_goodbye(core);
                    self.ended_stats = playing.stats(core.now);
                    self.phase = Phase::Over;
                }
            }
            Input::Timeout => {}
        }
    }

    fn received(&mut self, link: LinkId, channel: Channel, bytes: &[u8]) {
        match channel {
            Channel::Control => self.control(link, bytes),
            Channel::Turns => self.datagram(link, bytes),
            Channel::Bulk => self.bulk(link, bytes),
        }
    }

    /// What a peer that comes back asks, or is answered.
    fn bulk(&mut self, link: LinkId, bytes: &[u8]) {
        let core = &mut self.core;
        let proved = core.links.get(&link).and_then(|link| link.proved);
        let step = match &mut self.phase {
            Phase::Playing(playing) => {
                playing.note_return(core, link, true);
                if let Some(mut serving) = self.serving() {
                    serving.received(link, bytes);
                }
                Step::Stay
            }
            Phase::Rejoin(joiner) if proved.is_some() => joiner.answered(core, link, bytes),
            Phase::Lobby(lobby) if proved.is_some() => lobby.bulk(core, link, bytes),
            Phase::Over => Step::Stay,
            _ => {
                core.fault(link, Fault::OutOfPlace);
                Step::Stay
            }
        };
        self.step(step);
    }

    fn control(&mut self, link: LinkId, bytes: &[u8]) {
        let core = &mut self.core;
        let step = match (core.introduce(link, bytes), &mut self.phase) {
            (Introduced::No, _) | (_, Phase::Over) => Step::Stay,
            (Introduced::Protocol(theirs), phase) => {
                let refused = match phase {
                    Phase::Lobby(lobby) => lobby.protocol_refusal(core, link, theirs),
                    _ => None,
                };
                match refused {
                    Some(why) => Step::End(EndReason::Refused(why)),
                    None => {
                        let why = JoinRefused::Protocol {
                            host: crate::PROTOCOL,
                            ours: theirs,
                        };
                        core.refuse(link, why);
                        Step::Stay
                    }
                }
            }
            (Introduced::Proved, Phase::Lobby(lobby)) => {
                lobby.proved(core, link);
                Step::Stay
            }
            (Introduced::Proved, Phase::Rejoin(joiner)) => {
                joiner.tell_of_branch(core, link);
                Step::Stay
            }
            (Introduced::Proved, Phase::Playing(playing)) => {
                playing.proved(core, link);
                Step::Stay
            }
            (Introduced::Other(message), Phase::Lobby(lobby)) => {
                lobby.received(core, link, message)
            }
            (Introduced::Other(message), Phase::Rejoin(joiner)) => {
                joiner.received(core, link, message)
            }
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
        match Datagram::decode(bytes) {
            Err(_) => core.fault(link, Fault::Garbage),
            Ok(Datagram::Probe { sent_us }) => {
                // A peer that missed the start, or comes back, is there all the same.
                core.hears(link);
                let clock_us = core.now.as_micros() as u64;
                core.send_datagram(link, &Datagram::ProbeAnswer { sent_us, clock_us });
            }
            Ok(Datagram::ProbeAnswer { sent_us, clock_us }) => {
                let took = core.now.checked_sub(Duration::from_micros(sent_us));
                if let Some(link) = core.links.get_mut(&link) {
                    link.probed = took.or(link.probed);
                }
                match &mut self.phase {
                    Phase::Lobby(lobby) => lobby.probe_answered(core, link, sent_us, clock_us),
                    Phase::Rejoin(joiner) => joiner.probe_answered(core, link, sent_us),
                    _ => {}
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
        if let Some(gone) = self.core.links.remove(&link) {
            self.link_gone(gone, why);
        }
    }

    fn link_gone(&mut self, gone: Link, why: LinkError) {
        let core = &mut self.core;
        let link = gone.id;
        self.serve.forget(link);
        let step = match &mut self.phase {
            Phase::Lobby(lobby) => lobby.link_down(core, &gone, why),
            Phase::Rejoin(joiner) => {
                joiner.link_down(link);
                Step::Stay
            }
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

    /// Whether a world was built whose place another one has taken since.
    fn answers_earlier_world(&mut self) -> bool {
        self.worlds_awaited = self.worlds_awaited.saturating_sub(1);
        self.worlds_awaited > 0
    }

    /// A link that was closed from here is gone for the lobby or the match as much as one that broke.
    fn drain_closed_links(&mut self) {
        while let Some((gone, why)) = self.core.closed.pop() {
            self.link_gone(gone, why);
        }
    }

    fn note(&mut self, what: What) {
        if let Phase::Playing(playing) = &mut self.phase {
            playing.note(what);
        }
    }

    fn pass_time(&mut self) {
        let core = &mut self.core;
        core.close_unproved();
        let step = match &mut self.phase {
            Phase::Lobby(lobby) => lobby.advance(core),
            Phase::Rejoin(joiner) => joiner.advance(core),
            _ => Step::Stay,
        };
        self.step(step);
        if let Phase::Playing(playing) = &mut self.phase {
            playing.advance(&mut self.core);
            if playing.is_over() {
                self.ended_stats = playing.stats(self.core.now);
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
                let playing = Player::new(&mut self.core, *settled, initial, self.settings);
                self.phase = Phase::Playing(Box::new(playing));
            }
            Step::Return(returned) => {
                let playing = Player::returned(&mut self.core, *returned, self.settings);
                self.phase = Phase::Playing(Box::new(playing));
            }
            Step::PlayOn(continued) => {
                let playing = Player::continued(&mut self.core, *continued, self.settings);
                self.phase = Phase::Playing(Box::new(playing));
            }
            Step::Agreed(signatures) => {
                self.leave_lobby(|lobby, core| lobby.close(core, &signatures));
            }
            Step::Exit(exit) => self.leave_lobby(|lobby, core| lobby.exit(core, exit)),
            Step::Reopened(mut joiner) => {
                let step = joiner.advance(&mut self.core);
                self.phase = Phase::Rejoin(joiner);
                self.step(step);
            }
            Step::Search(joiner) => self.phase = Phase::Rejoin(joiner),
            Step::Reopen => {
                let context = self.take_context();
                let mut lobby = Lobby::reopen(&self.core, context, Gathers::Joiners);
                let step = lobby.open(&mut self.core);
                self.phase = Phase::Lobby(Box::new(lobby));
                self.step(step);
            }
            Step::SearchOn(why) => {
                let context = self.take_context();
                let joiner = Joiner::resumed(&self.core, context, why);
                self.phase = Phase::Rejoin(Box::new(joiner));
            }
            Step::Gather(link) => {
                let context = self.take_context();
                let executed = context.executed();
                match Lobby::gather(&mut self.core, context, link) {
                    Ok(lobby) => self.phase = Phase::Lobby(Box::new(lobby)),
                    Err(reason) => self.end_as(Ended::outside(reason, executed)),
                }
            }
            Step::End(reason) => {
                if matches!(self.phase, Phase::Over) {
                    return;
                }
                self.end(reason);
            }
        }
    }

    /// What this peer goes on from in a reopening, or looks on with.
    fn take_context(&mut self) -> RejoinContext {
        let context = match std::mem::replace(&mut self.phase, Phase::Over) {
            Phase::Rejoin(joiner) => Some(joiner.into_context()),
            Phase::Lobby(lobby) => lobby.into_context(),
            Phase::Playing(_) | Phase::Over => None,
        };
        context.expect("a log to gather with")
    }

    /// The lobby gives way to what it has come to.
    fn leave_lobby(&mut self, come_to: impl FnOnce(Lobby, &mut Core) -> Step) {
        if let Phase::Lobby(lobby) = std::mem::replace(&mut self.phase, Phase::Over) {
            let executed = lobby.executed();
            match come_to(*lobby, &mut self.core) {
                Step::End(reason) => self.end_as(Ended::outside(reason, executed)),
                step => self.step(step),
            }
        }
    }

    /// It is over before this peer has a part in it.
    fn end(&mut self, reason: EndReason) {
        self.end_as(match &self.phase {
            Phase::Rejoin(joiner) => joiner.ended(reason),
            Phase::Lobby(lobby) => Ended::outside(reason, lobby.executed()),
            Phase::Playing(_) | Phase::Over => Ended::without_world(reason),
        });
    }

    fn end_as(&mut self, ended: Ended) {
        for link in self.core.links.keys().copied().collect::<Vec<_>>() {
            self.core.close(link);
        }
        self.core.event(Event::Ended(ended));
        self.phase = Phase::Over;
    }
}

#[cfg(test)]
mod tests;
