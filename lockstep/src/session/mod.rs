//! The session: one match's protocol state on one peer.
//!
//! Pure. Time and bytes come in as arguments, what is to be done comes out. It knows no socket, clock, thread or
//! unseeded randomness, and nothing of the world but checksums: commands are opaque bytes.
//!
//! [`Session::handle`] takes one [`Input`] and returns what to do, in order; [`Session::deadline`] says when it wants
//! [`Input::Timeout`]. Nothing else: it cannot be called in a wrong order.

mod clock_gap;
mod continuing;
mod contract;
mod core;
mod joiner;
mod link;
mod lobby;
mod playing;
mod rejoin;
mod reopen;
pub mod roster;
mod serving;
mod wire;

pub use crate::log::{Batch, MAX_LOAD, NO_SLACK, SnapshotHash};
pub use contract::{
    Agreed, ConfigError, HostConfig, Input, LinkStats, Output, PeerStats, Role, RulesOf,
    SessionConfig, Stats,
};
#[cfg(any(test, feature = "harness"))]
pub(crate) use wire::{Control, WireBatch};

use self::continuing::Continuing;
use self::core::{Core, Introduced};
use self::joiner::Next;
use self::link::Link;
use self::lobby::{Host, Invitation, Joiner, OwnPeer, Step};
use self::playing::{Playing, Settings};
use self::rejoin::{Answer, Ask, Serve, decode, encode};
pub(crate) use self::wire::Datagram;
use crate::log::{Archive, What};
use crate::sign::Signer;
use crate::text::{MAX_BUILD, tidy_name, tidy_text};
use crate::{Channel, EndReason, Ended, Event, Fault, JoinRefused, LinkError, LinkId, Status};
use sim::{Checksum, Seat};
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
    /// The log, for peers that come back, and who asks for it.
    archive: Archive,
    serve: Serve,
    /// What the match had measured when it ended.
    ended_stats: Stats,
}

enum Phase {
    Host(Box<Host>),
    Join(Box<Joiner>),
    Return(Box<joiner::Joiner>),
    /// It hosts a match that is reopened, or has come to one.
    Reopen(Box<reopen::Host>),
    Gather(Box<reopen::Guest>),
    Continue(Box<Continuing>),
    Playing(Box<Playing>),
    /// It cannot begin at all, which its first call tells.
    Refused(JoinRefused),
    Over,
}

impl Session {
    /// A session at time zero. It asks to be called at once by [`deadline`](Self::deadline).
    ///
    /// # Errors
    /// [`ConfigError`] for a setting out of range.
    pub fn new(config: SessionConfig, signer: Box<dyn Signer>) -> Result<Session, ConfigError> {
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
            Role::Rejoin { from, rules } => {
                let mut known = from.contacts.iter();
                if known.all(|contact| contact.peer == core.id()) {
                    return Err(ConfigError::OnlySelf);
                }
                let joiner = joiner::Joiner::new(&core, from, own.addresses, rules);
                Phase::Return(Box::new(joiner))
            }
            Role::Reopen { from, rules, wait } => {
                match reopen::Host::new(&core, from, own.addresses, rules, wait) {
                    Ok(host) => Phase::Reopen(Box::new(host)),
                    Err(why) => Phase::Refused(why),
                }
            }
            Role::PlayOn {
                from,
                plan,
                turn_limit,
            } => {
                // Nobody comes back into it, nor comes to have its first turns here.
                archive = Archive::new(0);
                let OwnPeer { name, build, .. } = own;
                let continuing = Continuing::new(&core, from, &name, plan, turn_limit, build)?;
                Phase::Continue(Box::new(continuing))
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
            let step = match &mut self.phase {
                Phase::Host(host) => host.begin(&mut self.core),
                Phase::Continue(continuing) => continuing.begin(&mut self.core),
                Phase::Refused(why) => Step::End(EndReason::Refused(why.clone())),
                _ => Step::Stay,
            };
            self.step(step);
        }
        match &mut self.phase {
            Phase::Playing(playing) => playing.look_at_time(&mut self.core),
            Phase::Return(joiner) => joiner.detect_clock_gap(&self.core),
            _ => {}
        }
        self.take(input);
        self.tell_of_closed_links();
        self.pass_time();
        self.tell_of_closed_links();
        self.serve();
        let outputs = std::mem::take(&mut self.core.out);
        let worlds = outputs
            .iter()
            .filter(|output| matches!(output, Output::New(_) | Output::Load { .. }));
        self.worlds_awaited += worlds.count() as u32;
        outputs
    }

    /// When the session wants [`Input::Timeout`] if nothing else comes before; `None` once it is over.
    pub fn deadline(&self) -> Option<Duration> {
        if !self.begun {
            return Some(self.core.now);
        }
        let phase = match &self.phase {
            Phase::Host(host) => host.deadline(),
            Phase::Join(join) => join.deadline(&self.core),
            Phase::Return(joiner) => joiner.deadline(&self.core),
            Phase::Reopen(host) => host.deadline(&self.core),
            Phase::Playing(playing) => playing.deadline(&self.core),
            Phase::Gather(guest) => Some(guest.deadline()),
            Phase::Continue(_) | Phase::Refused(_) | Phase::Over => return None,
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
            Phase::Continue(_) => Status::Loading,
            Phase::Host(_) | Phase::Join(_) | Phase::Reopen(_) | Phase::Gather(_) => Status::Lobby,
            Phase::Return(joiner) => joiner.status(),
            Phase::Playing(playing) => playing.status(self.core.now),
            Phase::Refused(_) | Phase::Over => Status::Ended,
        }
    }

    /// Seats of this peer, once the lobby has given it some.
    pub fn own_seats(&self) -> &[Seat] {
        match &self.phase {
            Phase::Host(host) => host.own_seats(),
            Phase::Join(join) => join.own_seats(),
            Phase::Return(joiner) => joiner.own_seats(),
            Phase::Reopen(host) => host.own_seats(),
            Phase::Gather(guest) => guest.own_seats(),
            Phase::Playing(playing) => playing.own_seats(),
            Phase::Continue(_) | Phase::Refused(_) | Phase::Over => &[],
        }
    }

    /// What has been measured so far; the links are those that are up now.
    pub fn stats(&self) -> Stats {
        let mut stats = match &self.phase {
            Phase::Playing(playing) => playing.stats(self.core.now),
            _ => self.ended_stats.clone(),
        };
        let pings = match &self.phase {
            Phase::Host(host) => host.pings(),
            Phase::Join(join) => join.pings(),
            Phase::Reopen(host) => host.pings(),
            Phase::Gather(guest) => guest.pings(),
            _ => &[],
        };
        let in_full =
            |(peer, ms): &(crate::PeerId, u16)| (*peer, Duration::from_millis((*ms).into()));
        stats.pings = pings.iter().map(in_full).collect();
        stats.links = self
            .core
            .links
            .values()
            .filter_map(|link| {
                let (peer, _) = link.proved?;
                Some(LinkStats {
                    peer,
                    rtt: link.quality.rtt.or(link.probed),
                    lost_of_64: link.quality.loss_per_64(),
                })
            })
            .collect();
        stats
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
            } => match self.phase {
                Phase::Continue(_) | Phase::Refused(_) | Phase::Over => {
                    core.out.push(Output::Close { link });
                }
                // There is nothing left to be said.
                Phase::Return(ref joiner) if joiner.knows_end() => {
                    core.out.push(Output::Close { link });
                }
                _ => core.link_up(link, peer, dialled, address, binding),
            },
            Input::DialFailed { address, key, why } => {
                if let Phase::Join(join) = &mut self.phase {
                    join.dial_failed(&address, key, why);
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
                    Phase::Return(joiner) => {
                        joiner.loaded(checksum);
                        Step::Stay
                    }
                    Phase::Playing(playing) => {
                        playing.world_loaded();
                        Step::Stay
                    }
                    Phase::Continue(_) => Step::PlayOn(checksum),
                    // Nobody there has had a world built.
                    Phase::Reopen(_) | Phase::Gather(_) | Phase::Refused(_) | Phase::Over => {
                        Step::Stay
                    }
                };
                self.step(step);
            }
            Input::LoadFailed => {
                if let Phase::Playing(playing) = &mut self.phase {
                    playing.finish(core, EndReason::World);
                } else {
                    let _ = self.leave_lobby();
                    self.step(Step::End(EndReason::World));
                }
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
                _ => {}
            },
            Input::Pause => self.note(What::Pause),
            Input::Resume => self.note(What::Resume),
            Input::WaitLonger => {
                if let Phase::Playing(playing) = &mut self.phase {
                    playing.wait_longer();
                }
            }
            Input::Executed {
                checksum,
                outcome,
                step,
            } => match &mut self.phase {
                Phase::Playing(playing) => playing.world_executed(core, checksum, outcome, step),
                Phase::Return(joiner) => joiner.executed(checksum),
                _ => {}
            },
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
            Phase::Return(joiner) if proved.is_some() => joiner.answered(core, link, bytes).into(),
            Phase::Reopen(host) if proved.is_some() => host.bulk(core, link, bytes),
            Phase::Gather(guest) if proved.is_some() => guest.bulk(core, link, bytes),
            // Whoever comes back may have heard before this peer that the match has begun, or look for another match.
            Phase::Host(_) | Phase::Join(_) if proved.is_some() && decode::<Ask>(bytes).is_ok() => {
                core.send_bulk(link, encode(&Answer::Nothing));
                Step::Stay
            }
            Phase::Continue(_) | Phase::Refused(_) | Phase::Over => Step::Stay,
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
            (Introduced::No, _) | (_, Phase::Continue(_) | Phase::Refused(_) | Phase::Over) => {
                Step::Stay
            }
            (Introduced::Protocol(host), Phase::Join(join))
                if !join.is_in() && join.leads_to_host(core, link) =>
            {
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
            (Introduced::Proved, Phase::Return(_)) => Step::Stay,
            (Introduced::Proved, Phase::Gather(guest)) => {
                guest.proved(core, link);
                Step::Stay
            }
            (Introduced::Proved, Phase::Reopen(host)) => {
                host.proved(core, link);
                Step::Stay
            }
            (Introduced::Proved, Phase::Playing(playing)) => {
                playing.note_return(core, link, false);
                playing.note_address(core, link);
                playing.close_nobodies(core);
                playing.close_crowd(core, link);
                playing.close_doubles(core, link);
                playing.tell_ends(core, link);
                Step::Stay
            }
            (Introduced::Other(message), Phase::Host(host)) => host.received(core, link, message),
            (Introduced::Other(message), Phase::Join(join)) => join.received(core, link, message),
            (Introduced::Other(message), Phase::Return(joiner)) => {
                joiner.received(core, link, message).into()
            }
            (Introduced::Other(message), Phase::Reopen(host)) => host.received(core, link, message),
            (Introduced::Other(message), Phase::Gather(guest)) => {
                guest.received(core, link, message)
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
                // Who has not heard that the match began, or comes back, is there all the same.
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
                    Phase::Join(join) => join.probe_answered(core, link, sent_us, clock_us),
                    Phase::Return(joiner) => joiner.probe_answered(core, link, sent_us),
                    Phase::Reopen(_) => core.hears(link),
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
            Phase::Host(host) => host.link_down(core, link),
            Phase::Join(join) => join.link_down(core, &gone, why),
            Phase::Return(joiner) => {
                joiner.link_down(link);
                Step::Stay
            }
            Phase::Reopen(host) => {
                host.link_down(core, link);
                Step::Stay
            }
            Phase::Gather(guest) => guest.link_down(link),
            Phase::Playing(playing) => {
                if let Some((peer, _)) = gone.proved {
                    playing.link_down(core, peer, why);
                }
                Step::Stay
            }
            Phase::Continue(_) | Phase::Refused(_) | Phase::Over => Step::Stay,
        };
        self.step(step);
    }

    /// Whether a world was built whose place another one has taken since.
    fn answers_earlier_world(&mut self) -> bool {
        self.worlds_awaited = self.worlds_awaited.saturating_sub(1);
        self.worlds_awaited > 0
    }

    /// A link that was closed from here is gone for the lobby or the match as much as one that broke.
    fn tell_of_closed_links(&mut self) {
        while let Some(gone) = self.core.closed.pop() {
            self.link_gone(gone, LinkError::Violation);
        }
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
            Phase::Return(_) | Phase::Continue(_) => Step::End(EndReason::Left),
            Phase::Reopen(host) => host.leave(&mut self.core),
            Phase::Gather(guest) => guest.leave(&mut self.core),
            Phase::Playing(_) | Phase::Refused(_) | Phase::Over => Step::Stay,
        }
    }

    fn pass_time(&mut self) {
        let core = &mut self.core;
        core.close_unproved();
        let step = match &mut self.phase {
            Phase::Host(host) => host.timeout(core),
            Phase::Join(join) => join.timeout(core),
            Phase::Return(joiner) => joiner.advance(core).into(),
            Phase::Reopen(host) => host.advance(core),
            Phase::Gather(guest) => {
                guest.advance(core);
                Step::Stay
            }
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
                let mut playing = Playing::new(&mut self.core, *settled, initial, self.settings);
                for link in self.core.links.keys().copied().collect::<Vec<_>>() {
                    playing.close_doubles(&mut self.core, link);
                }
                self.phase = Phase::Playing(Box::new(playing));
            }
            Step::Return(returned) => {
                let playing = Playing::returned(&mut self.core, *returned, self.settings);
                self.phase = Phase::Playing(Box::new(playing));
            }
            Step::PlayOn(checksum) => {
                if let Phase::Continue(continuing) = std::mem::replace(&mut self.phase, Phase::Over)
                {
                    let playing = Playing::continued(
                        &mut self.core,
                        continuing.loaded(checksum),
                        self.settings,
                    );
                    self.phase = Phase::Playing(Box::new(playing));
                }
            }
            Step::Gather(link) => {
                let known = match std::mem::replace(&mut self.phase, Phase::Over) {
                    Phase::Return(joiner) => joiner.into_context(),
                    Phase::Reopen(host) => host.into_context(),
                    _ => return,
                };
                match reopen::Guest::new(&mut self.core, known, link) {
                    Ok(guest) => self.phase = Phase::Gather(Box::new(guest)),
                    Err(reason) => self.end(reason),
                }
            }
            Step::Search(why) => {
                if let Phase::Gather(guest) = std::mem::replace(&mut self.phase, Phase::Over) {
                    // It may have signed that it goes on as the run that it was, and the others may have begun.
                    self.core.begin_another_run();
                    let (known, host) = guest.into_context();
                    let joiner = joiner::Joiner::turned_away(&self.core, known, host, why);
                    self.phase = Phase::Return(Box::new(joiner));
                }
            }
            Step::Reopened(change, due) => {
                let core = &self.core;
                let joiner = match std::mem::replace(&mut self.phase, Phase::Over) {
                    Phase::Reopen(host) => host.into_joiner(core, *change, due),
                    Phase::Gather(guest) => guest.into_joiner(core, *change, due),
                    _ => return,
                };
                let mut joiner = Box::new(joiner);
                let next = joiner.advance(&mut self.core);
                self.phase = Phase::Return(joiner);
                self.step(next.into());
            }
            Step::End(_) if matches!(self.phase, Phase::Over) => {}
            Step::End(reason) => self.end(reason),
        }
    }

    /// It is over before this peer has a part in it.
    fn end(&mut self, reason: EndReason) {
        for link in self.core.links.keys().copied().collect::<Vec<_>>() {
            self.core.close(link);
        }
        let ended = match &self.phase {
            Phase::Return(joiner) => joiner.ended(reason),
            Phase::Gather(guest) => guest.ended(reason),
            _ => Ended::without_world(reason),
        };
        self.core.event(Event::Ended(ended));
        self.phase = Phase::Over;
    }
}

impl From<Next> for Step {
    fn from(next: Next) -> Step {
        match next {
            Next::Stay => Step::Stay,
            Next::Return(returned) => Step::Return(returned),
            Next::Gather(link) => Step::Gather(link),
            Next::End(reason) => Step::End(reason),
        }
    }
}

#[cfg(test)]
mod tests;
