//! What the panels show about a match beside its world, gathered from events.

use crate::names::players;
use crate::output::LatencyLine;
use crate::words::{clock, count, match_time, remaining, waiting_commands};
use lockstep::{Checksum, Ended, Event, Gone, PeerId, RosterCause, Seat, SeatInfo, Status};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// What the events of a match have told so far.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// The kind of match, in a word or two.
    pub title: String,
    /// Names of players, by seat.
    pub names: BTreeMap<Seat, String>,
    /// Names of peers.
    peers: BTreeMap<PeerId, String>,
    /// Peers by seat, as the match began.
    owners: BTreeMap<Seat, PeerId>,
    /// Seats without a player.
    pub left: Vec<Seat>,
    /// The newest executed turn.
    pub turn: Option<u32>,
    /// Turns of the match, where that is known.
    pub turns: Option<u32>,
    /// Ticks stepped.
    pub tick: u64,
    /// Milliseconds in a tick at full speed.
    pub tick_ms: u16,
    /// The plan in force, as text.
    pub plan: String,
    /// The way that it is for, as text; empty where the fastest plan fits all.
    pub plan_for: String,
    /// Milliseconds in a tick now.
    tick_ms_now: u16,
    /// Checksum of the world after that turn.
    pub checksum: Option<Checksum>,
    /// From issue to execution on this peer.
    pub latency: LatencyLine,
    /// Turns that were late.
    pub late_turns: u64,
    /// What the session is doing.
    pub status: Option<Status>,
    /// Turns on which all peers agree; known only where one process runs all of them.
    pub agreed: Option<u32>,
    /// How it ended.
    pub ended: Option<Ended>,
    /// Newest last.
    pub log: VecDeque<Note>,
    /// Lines ever added to the log.
    pub notes_added: u64,
    stall_told: Option<u32>,
}

/// A line of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Match time in ticks.
    pub tick: u64,
    /// Match time and event.
    pub text: String,
}

impl Facts {
    /// An empty collection under this title.
    pub fn new(title: impl Into<String>) -> Facts {
        Facts {
            title: title.into(),
            tick_ms: 50,
            tick_ms_now: 50,
            ..Facts::default()
        }
    }

    /// Takes in an event.
    pub fn take(&mut self, event: &Event) {
        match event {
            Event::Turn {
                turn,
                tick,
                checksum,
                ..
            } => {
                self.turn = Some(turn.0);
                self.tick = *tick;
                self.checksum = Some(*checksum);
            }
            Event::Started {
                match_id,
                seats,
                plan,
                ..
            } => {
                let peers = seats.iter().map(|info| (info.peer, info.name.clone()));
                self.peers = peers.collect();
                self.owners = seats.iter().map(|info| (info.seat, info.peer)).collect();
                self.names = players(seats);
                self.plan = plan.to_string();
                self.plan_for.clear();
                (self.tick_ms, self.tick_ms_now) = (plan.tick_ms, plan.tick_ms);
                self.note(format!("match {match_id} begins"));
            }
            Event::PlanChanged {
                plan, slow, way, ..
            } => {
                self.plan = plan.to_string();
                self.plan_for = way.map_or_else(String::new, |way| {
                    let [from, to] = [way.from, way.to].map(|seat| self.name(seat));
                    format!("{} ms from {from} to {to}", way.ms)
                });
                if plan.tick_ms == std::mem::replace(&mut self.tick_ms_now, plan.tick_ms) {
                    let why = match self.plan_for.as_str() {
                        "" => String::new(),
                        way => format!(" for {way}"),
                    };
                    self.note(format!("turns are {plan} now{why}"));
                    return;
                }
                let percent = u32::from(self.tick_ms) * 100 / u32::from(plan.tick_ms);
                self.note(match (percent, slow.as_slice()) {
                    (100.., _) => "full speed again".to_owned(),
                    (_, []) => format!("{percent} % of full speed"),
                    (_, of) => {
                        let names = self.all_named(of);
                        format!("{percent} % of full speed: {names} has a slow machine")
                    }
                });
            }
            Event::Lobby { peers, .. } => {
                if peers.is_empty() {
                    self.note("the link to the host is gone; the host is dialled again");
                }
                for peer in peers {
                    let known = peer.seats.iter().all(|seat| self.names.contains_key(seat));
                    if !known {
                        self.note(format!("{} joined", peer.name));
                    }
                }
                let seats = peers.iter().flat_map(|peer| {
                    peer.seats.iter().map(|seat| SeatInfo {
                        seat: *seat,
                        peer: peer.peer,
                        name: peer.name.clone(),
                    })
                });
                self.names = players(&seats.collect::<Vec<_>>());
                let peers = peers.iter().map(|peer| (peer.peer, peer.name.clone()));
                self.peers = peers.collect();
            }
            Event::Retracted { from } => {
                self.note(format!(
                    "turns from {from} on are taken back, and played again"
                ));
            }
            Event::Stalled { turn, on, .. } if self.stall_told != Some(turn.0) => {
                self.stall_told = Some(turn.0);
                self.note(format!("turn {turn} is waiting for {}", self.all_named(on)));
            }
            Event::StallEnded { turn, late } => {
                let ms = late.as_millis();
                if self.stall_told == Some(turn.0) {
                    self.note(format!("turn {turn} was {ms} ms late"));
                }
            }
            Event::Backlog { seat, commands } => {
                let of = self.name(*seat);
                self.note(waiting_commands(*commands, &of));
            }
            Event::Paused { seat, .. } => self.note(format!("{} paused", self.name(*seat))),
            Event::Resumed { .. } => self.note("the match resumes"),
            Event::Chat { from, text, .. } => self.note(format!("{from}: {text}")),
            Event::Left { seats: gone, .. } => {
                self.left.extend(gone);
                self.note(format!("{} left", self.all_named(gone)));
            }
            Event::SeatResigned { seat, .. } => {
                self.note(format!("{} resigned: invalid commands", self.name(*seat)));
            }
            Event::Suspected { seats: of, .. } => {
                self.note(format!("no packets from {}", self.all_named(of)));
            }
            Event::Slept { away } => {
                let seconds = away.as_secs_f32();
                self.note(format!(
                    "this process stopped for {seconds:.1} s: checking with the other peers"
                ));
            }
            Event::Extension {
                seats, extension, ..
            } => {
                let names = self.all_named(seats);
                self.note(match extension.as_secs() {
                    0 => format!("{names} voted to wait longer: too few votes so far"),
                    seconds => format!("{names} voted: waiting {seconds} s longer"),
                });
            }
            Event::NoQuorum { missing, .. } => {
                self.note(format!(
                    "connection to {} lost, {}: wait, reopen the match, or go on alone",
                    self.all_named(missing),
                    remaining(self.peers_without(missing))
                ));
            }
            Event::BranchFound {
                turn,
                seats: of,
                may_enter,
                ..
            } => {
                let how = match may_enter {
                    true => "B enters it",
                    false => "it lacks turns of yours and cannot be entered",
                };
                self.note(format!(
                    "{} went on without a quorum, in a branch from turn {turn} on: {how}",
                    self.all_named(of)
                ));
            }
            Event::Branched { .. } => {
                self.note("this is a branch: its result counts as unagreed");
            }
            Event::BranchMet { seats: of, .. } => {
                self.note(format!(
                    "you and {} play two branches of one match, which never merge",
                    self.all_named(of)
                ));
            }
            Event::JoinerWaits { seats: of, .. } => {
                self.note(format!("{} came back", self.all_named(of)));
            }
            Event::RosterChanged {
                turn,
                seats,
                gone,
                back,
                cause,
                ..
            } => {
                if *cause == RosterCause::Branched {
                    self.note(format!("a branch begins at turn {turn}"));
                }
                if *cause == RosterCause::Reopened {
                    self.note(format!("the match resumes at turn {turn}"));
                }
                for gone in gone {
                    self.note_removed(gone);
                }
                self.note_rejoined(seats, !back.is_empty());
            }
            Event::Contacts(_) => {}
            Event::PeerFault { peer, fault } => {
                self.note(format!("{} {fault}", self.peer_name(*peer)));
            }
            Event::LinkLost { peer, why } => {
                self.note(format!("link to {}: {why}", self.peer_name(*peer)));
            }
            Event::RecordingStopped { why } => self.note(format!("recording: {why}")),
            Event::Desync(desync) => {
                let odd = desync.reports.iter();
                let odd = odd.filter(|side| desync.minority.contains(&side.peer));
                let odd: Vec<Seat> = odd.map(|side| side.seat).collect();
                let names = match odd.as_slice() {
                    [] => String::new(),
                    odd => format!(": {} differ from the majority", self.all_named(odd)),
                };
                self.note(format!("DESYNC after turn {}{names}", desync.turn));
            }
            Event::Ended(ended) => {
                let reason = ended.reason.to_string();
                // A replay ends again after every seek to its end.
                if self
                    .log
                    .back()
                    .is_none_or(|last| !last.text.ends_with(&reason))
                {
                    if ended.branch_of.is_some() {
                        self.note("this was a branch: its result counts as unagreed");
                    } else if ended.is_unagreed() {
                        self.note("too few players signed this end: the result counts as unagreed");
                    }
                    self.note(reason);
                }
                self.ended = Some(ended.clone());
            }
            _ => {}
        }
    }

    /// Notes which seats a roster change removed. `Event::Left` has already told of a leaver.
    fn note_removed(&mut self, Gone { cause, seats }: &Gone) {
        let names = self.all_named(seats);
        let line = match cause {
            RosterCause::Left => return,
            RosterCause::Cheated => {
                format!("{names} removed: two signed batches prove cheating")
            }
            RosterCause::Desynced => format!("{names} removed: world differed from the majority"),
            RosterCause::Reopened => format!("{names} did not return"),
            RosterCause::Branched => format!("{names} may enter the branch"),
            _ => format!("{names} removed: connection lost"),
        };
        self.left.extend(seats);
        self.note(line);
    }

    /// Notes which seats are played again; `rejoined` means by this peer itself.
    fn note_rejoined(&mut self, seats: &[Seat], rejoined: bool) {
        let back: Vec<Seat> = self.absent_among(seats);
        self.left.retain(|seat| !seats.contains(seat));
        match back.as_slice() {
            [] if rejoined => self.note("you rejoined the match"),
            [] => {}
            back => self.note(format!("{} rejoined the match", self.all_named(back))),
        }
    }

    /// How many peers still play if the peers of `missing` do not, and how many began.
    pub fn peers_without(&self, missing: &[Seat]) -> (usize, usize) {
        let plays = |seat: &Seat| !missing.contains(seat) && !self.left.contains(seat);
        let playing = self.owners.iter().filter(|(seat, _)| plays(seat));
        let playing: BTreeSet<PeerId> = playing.map(|(_, peer)| *peer).collect();
        let all: BTreeSet<PeerId> = self.owners.values().copied().collect();
        (playing.len(), all.len())
    }

    /// The seats among these that were without a player.
    pub fn absent_among(&self, seats: &[Seat]) -> Vec<Seat> {
        let left = self.left.iter().copied();
        left.filter(|seat| seats.contains(seat)).collect()
    }

    /// Adds a line to the log, with the match time before it.
    pub fn note(&mut self, line: impl Into<String>) {
        let line: String = line
            .into()
            .chars()
            .filter(|c| lockstep::is_shown(*c))
            .collect();
        self.notes_added += 1;
        self.log.push_back(Note {
            tick: self.tick,
            text: format!("{} {line}", self.clock()),
        });
        while self.log.len() > LOG_LINES {
            self.log.pop_front();
        }
    }

    /// Forgets log lines later than `tick`, when a replay seeks backward.
    pub fn rewind(&mut self, tick: u64) {
        self.log.retain(|note| note.tick <= tick);
    }

    /// Match time.
    pub fn clock(&self) -> String {
        clock(match_time(self.tick, self.tick_ms))
    }

    /// The state of the match, as text.
    pub fn standing(&self) -> String {
        if let Some(ended) = &self.ended {
            let winner = ended.outcome.and_then(|outcome| outcome.winner);
            let standing = match (ended.outcome, winner) {
                (_, Some(seat)) => format!("over: {} won", self.name(seat)),
                (Some(_), None) => "over: a draw".to_owned(),
                (None, None) => format!("over: {}", ended.reason),
            };
            return match ended.is_unagreed() {
                true => format!("{standing}, unagreed"),
                false => standing,
            };
        }
        match &self.status {
            None | Some(Status::Lobby) => "in the lobby".to_owned(),
            Some(Status::Loading) => "loading".to_owned(),
            Some(Status::Stalled { on, since }) => {
                let names = self.all_named(on);
                let seconds = since.as_millis() / 1_000;
                let tenths = since.as_millis() % 1_000 / 100;
                format!("waiting for {names} for {seconds}.{tenths} s, o: wait longer")
            }
            Some(Status::CatchingUp { behind }) => {
                format!("{} behind", count(u64::from(*behind), "turn"))
            }
            Some(Status::Paused) => "paused".to_owned(),
            Some(Status::Desynced) => "DESYNC".to_owned(),
            Some(Status::Ended) => "over".to_owned(),
            Some(_) => "running".to_owned(),
        }
    }

    /// The name of a seat's player.
    pub fn name(&self, seat: Seat) -> String {
        let name = self.names.get(&seat).filter(|name| !name.is_empty());
        name.map_or_else(|| format!("seat {}", seat.0), Clone::clone)
    }

    /// The name of a peer, or its key where it has none.
    fn peer_name(&self, peer: PeerId) -> String {
        let name = self.peers.get(&peer).filter(|name| !name.is_empty());
        name.map_or_else(|| peer.to_string(), Clone::clone)
    }

    fn all_named(&self, seats: &[Seat]) -> String {
        let names: Vec<String> = seats.iter().map(|seat| self.name(*seat)).collect();
        names.join(", ")
    }
}

const LOG_LINES: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;
    use lockstep::{LinkError, MatchId, Plan};

    fn started(own: &[u8], seats: &[(u8, u8, &str)]) -> Event {
        let seats = seats.iter().map(|(seat, peer, name)| SeatInfo {
            seat: Seat(*seat),
            peer: PeerId([*peer; 32]),
            name: (*name).to_owned(),
        });
        Event::Started {
            match_id: MatchId([0; 16]),
            own: own.iter().copied().map(Seat).collect(),
            seats: seats.collect(),
            plan: Plan::default(),
        }
    }

    #[test]
    fn bots_of_a_peer_do_not_carry_its_name() {
        let seats = [(0, 1, "Anna"), (1, 1, "Anna"), (2, 2, "Bo"), (3, 1, "Anna")];
        for own in [&[0, 1, 3][..], &[2]] {
            let mut facts = Facts::new("test");
            facts.take(&started(own, &seats));
            let names = [0, 1, 2, 3].map(|seat| facts.name(Seat(seat)));
            assert_eq!(names, ["Anna", "bot 1", "Bo", "bot 2"]);
            let seat = Seat(1);
            facts.take(&Event::SeatResigned {
                turn: lockstep::TurnNumber(9),
                seat,
            });
            let newest = facts.log.back().map(|note| note.text.as_str());
            assert_eq!(newest, Some("0:00 bot 1 resigned: invalid commands"));
        }
    }

    #[test]
    fn a_lost_link_names_the_peer_at_its_other_end() {
        let mut facts = Facts::new("test");
        facts.take(&started(&[1], &[(0, 1, "Anna"), (1, 2, "Bo")]));
        facts.take(&Event::LinkLost {
            peer: PeerId([1; 32]),
            why: LinkError::TimedOut,
        });
        let newest = facts.log.back().map(|note| note.text.as_str());
        assert!(newest.is_some_and(|text| text.contains("link to Anna: ")));
    }

    #[test]
    fn players_with_one_name_are_numbered() {
        let seats = [(0, 1, "ann"), (1, 2, "bob"), (2, 3, "ann"), (3, 3, "ann")];
        let mut facts = Facts::new("test");
        facts.take(&started(&[1], &seats));
        let names = [0, 1, 2, 3].map(|seat| facts.name(Seat(seat)));
        assert_eq!(names, ["ann 1", "bob", "ann 2", "bot 1"]);
    }
}
