//! After quorum loss a peer goes on in a new run of the same process: it reopens the match, rejoins it, or goes on
//! alone.

use super::{Bots, KeyChoice, Launch, Part, Peer};
use crate::cli::Common;
use crate::exit::Problem;
use crate::options::OnQuorumLoss;
use crate::plain;
use crate::recording::beside;
use lockstep::{EndReason, Event, JoinRefused, MatchId, Network, Ticket, TurnNumber};
use replay::WayBack;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How a peer goes on after quorum loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Way {
    /// It hosts a reopening, on the port of its earlier run.
    Reopen,
    /// It looks for the peer that reopens the match.
    Rejoin,
    /// It goes on alone in a branch; the result counts as unagreed with the match.
    Alone,
    /// It enters this branch.
    Enter(MatchId),
}

/// What a new run of the same peer needs.
#[derive(Clone)]
pub(super) struct Again {
    common: Common,
    /// The address of the earlier run: kept contacts and tickets lead to it.
    listen: SocketAddr,
}

impl Again {
    pub(super) fn listen(&self) -> SocketAddr {
        self.listen
    }

    /// `None` for a key that no file keeps: a new run would have another one.
    pub(super) fn new(
        common: &Common,
        key: KeyChoice,
        listen: SocketAddr,
        network: &Network,
    ) -> Option<Again> {
        let addresses = network.transport.addresses();
        // All addresses are of one socket.
        let port = addresses.iter().find_map(|address| {
            let (_, port) = address.rsplit_once(':')?;
            port.parse().ok()
        });
        let port = port.unwrap_or(listen.port());
        // The player's word for one history is no word for the next one.
        let common = Common {
            accept_other_history: false,
            ..common.clone()
        };
        (key == KeyChoice::Kept).then(|| Again {
            common,
            listen: SocketAddr::new(listen.ip(), port),
        })
    }
}

impl Peer {
    /// What this peer may do after quorum loss: without a recording it can only wait.
    pub fn choices(&self) -> &'static [&'static str] {
        match self.can_go_on() {
            true => &["wait", "reopen", "branch"],
            false => &["wait"],
        }
    }

    /// Whether this peer can go on in a new run.
    pub fn can_go_on(&self) -> bool {
        self.again.is_some() && self.newest_recording().is_some()
    }

    /// Whether quorum loss was told, and has not passed.
    pub fn has_lost_quorum(&self) -> bool {
        self.quorum_lost.is_some()
    }

    /// The command that reopens the match from its newest recording, if any.
    pub fn reopen_command(&self) -> Option<String> {
        let recording = self.newest_recording()?;
        let identity = self.identity.as_deref();
        Some(plain::reopen_command(Some(recording), identity))
    }

    /// The recording that holds most of the match: until a joiner has caught up, that is the one it came with.
    pub(super) fn newest_recording(&self) -> Option<&Path> {
        let begun = self.match_id.is_some() || self.records_anew;
        let replay = self.replay.as_deref().filter(|_| begun);
        let came_from = self.came_from.as_deref();
        let lacks = self.rejoining && self.executed < self.recorded;
        match lacks && !self.records_anew {
            true => came_from.or(replay),
            false => replay.or(came_from),
        }
    }

    /// Whether it hosts a reopening that is begun again until its player leaves.
    pub fn reopens_again(&self) -> bool {
        self.reopens_again
    }

    /// The branch that its player may enter.
    pub fn found_branch(&self) -> Option<MatchId> {
        let waits = self.has_lost_quorum() && self.can_go_on();
        self.found_branch.filter(|_| self.seeks_match() || waits)
    }

    /// Enters the branch that was found, by its player's word. A peer that is in its match goes on this way.
    pub fn enter_branch(&mut self) -> Option<Way> {
        let branch = self.found_branch()?;
        if !self.seeks_match() {
            return Some(Way::Enter(branch));
        }
        self.found_branch = None;
        self.game.source().enter_branch(branch);
        None
    }

    /// As the host of a reopening it goes on as soon as the players that came are a quorum.
    pub fn begin_now(&mut self) {
        self.first_comers = true;
        self.game.source().begin_now();
    }

    /// Whether it hosts a reopening that has not begun.
    pub fn gathers(&self) -> bool {
        self.reopening && self.rejoining
    }

    /// Whether it goes on as soon as the players that came are a quorum.
    pub fn takes_first_comers(&self) -> bool {
        self.first_comers
    }

    /// The ticket by which players of its match find it, where it reopens the match or plays a branch.
    pub fn way_for_players(&mut self) -> Option<Ticket> {
        let leads = self.gathers() || self.branch.is_some();
        self.ticket().filter(|_| leads)
    }

    /// The branch that it plays, and its first turn.
    pub fn branch(&self) -> Option<(TurnNumber, MatchId)> {
        self.branch
    }

    /// Whether its player is to choose how to go on.
    pub fn asks_way(&self) -> bool {
        let asks = |again: &Again| again.common.on_quorum_loss() == OnQuorumLoss::Ask;
        self.has_lost_quorum() && self.can_go_on() && self.again.as_ref().is_some_and(asks)
    }

    /// What this peer does by itself after an event, where its player has not chosen.
    pub fn way_after(&self, event: &Event) -> Option<Way> {
        let choice = self.again.as_ref()?.common.on_quorum_loss();
        if self.leaving || !self.can_go_on() {
            return None;
        }
        // The quorum may be back: a later event of the same poll tells so.
        let is_lost = self.has_lost_quorum();
        match (event, choice) {
            (
                Event::BranchFound {
                    match_id,
                    may_enter: true,
                    ..
                },
                _,
            ) if self.into_branch && !self.seeks_match() => Some(Way::Enter(*match_id)),
            (Event::NoQuorum { .. } | Event::JoinerWaits { .. }, _) if !is_lost => None,
            (Event::NoQuorum { .. }, OnQuorumLoss::Reopen) => Some(Way::Reopen),
            (Event::NoQuorum { .. } | Event::JoinerWaits { .. }, OnQuorumLoss::Branch) => {
                Some(Way::Alone)
            }
            (Event::JoinerWaits { .. }, _) => Some(match self.is_first_in_reach() {
                true => Way::Reopen,
                false => Way::Rejoin,
            }),
            (Event::Ended(ended), _) => {
                let waits = match ended.reason {
                    EndReason::NoQuorum { .. } | EndReason::Undecided { .. } => self.reopens_again,
                    // Others may come that have not signed what the host lacks. In a window its player chooses.
                    EndReason::Contradicted { .. } => {
                        self.reopens_again && choice == OnQuorumLoss::Reopen
                    }
                    // A player may come back to the window later.
                    EndReason::StallLimit { .. } => is_lost && choice == OnQuorumLoss::Ask,
                    _ => false,
                };
                waits.then_some(Way::Reopen)
            }
            _ => None,
        }
    }

    /// How to get back into a match that goes on, or may go on, without this peer.
    pub fn rejoin_hint(&self, reason: &EndReason) -> Option<String> {
        let is_over = match reason {
            EndReason::OnlyJoiners => true,
            // A new run of this program has no vote in the change that the others wait for: no peer could admit it.
            EndReason::StallLimit { .. } | EndReason::Left => {
                self.has_lost_quorum() && self.replay.is_some()
            }
            EndReason::NoQuorum { .. } | EndReason::Undecided { .. } => self.seeks_match(),
            _ => false,
        };
        let by = || plain::reopen_hint(self.newest_recording(), self.identity.as_deref());
        if is_over {
            return Some(by());
        }
        if let EndReason::NoPeerFound | EndReason::OthersWent { .. } = reason {
            return Some(format!("if no peer runs this match any more, {}", by()));
        }
        if let EndReason::Contradicted { .. } = reason {
            return Some(plain::OTHER_HISTORY_HINT.to_owned());
        }
        if *reason == EndReason::Refused(JoinRefused::Started) {
            return Some(plain::REJOIN_HINT.to_owned());
        }
        let goes_on = matches!(reason, EndReason::Removed | EndReason::StallLimit { .. });
        if !goes_on {
            return None;
        }
        let leads_back = |path: &&PathBuf| WayBack::beside(path).path().exists();
        let replay = self.replay.as_ref().filter(leads_back);
        // The ticket leads back only the key that has joined.
        let ticket = self.invitation.as_ref().filter(|_| self.again.is_some());
        let what = match replay {
            Some(replay) => plain::quoted(replay),
            None => ticket?.to_string(),
        };
        let key = self.identity.as_deref().map(plain::quoted);
        let key = key.map_or_else(String::new, |key| format!(" --identity {key}"));
        Some(format!("rejoin with: demo-rts rejoin {what}{key}"))
    }

    /// Of the peers that are still heard, the one with the lowest seat reopens the match.
    fn is_first_in_reach(&self) -> bool {
        let missing = self.quorum_lost.as_deref().unwrap_or_default();
        let heard = self.seats.iter().filter(|seat| !missing.contains(seat));
        let own = self.game.own_seats();
        heard.min().is_none_or(|first| own.contains(first))
    }

    /// The new run that goes on this way. This peer must be dropped, without leaving, before that run begins.
    ///
    /// # Errors
    /// [`Problem`]: there is no recording, or it is unreadable. This peer goes on then.
    pub fn new_run(&self, way: Way) -> Result<NewRun, Problem> {
        let (Some(path), Some(again)) = (self.newest_recording(), &self.again) else {
            return Err(Problem::NotRecorded);
        };
        replay::Reader::open(path).map_err(unread(path))?;
        let others = [&self.replay, &self.came_from];
        let others = others.into_iter().flatten().filter(|other| *other != path);
        Ok(NewRun {
            way,
            path: path.to_owned(),
            others: others.cloned().collect(),
            again: again.clone(),
            bots: self.bots,
        })
    }
}

/// A new run of a peer in the same process.
pub struct NewRun {
    way: Way,
    path: PathBuf,
    /// The peer's other recordings of this match.
    others: Vec<PathBuf>,
    again: Again,
    bots: Bots,
}

impl NewRun {
    pub fn way(&self) -> Way {
        self.way
    }

    /// By its player's word it goes on by the others' history, which its recording contradicts.
    pub fn accept_other_history(mut self) -> NewRun {
        self.again.common.accept_other_history = true;
        self
    }

    pub fn accepts_other_history(&self) -> bool {
        self.again.common.accept_other_history
    }

    /// The recording that it goes on from.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Begins it, once the earlier run was dropped: that frees the port, the identity and the recording.
    ///
    /// # Errors
    /// [`Problem`].
    pub fn begin(self) -> Result<Peer, Problem> {
        move_contacts(&self.others, &self.path);
        self.again.begin(&self.path, self.bots, self.way)
    }
}

fn unread(path: &Path) -> impl FnOnce(replay::Error) -> Problem + '_ {
    |source| Problem::Rejoin {
        path: path.to_owned(),
        source,
    }
}

/// The kept addresses move from the other recordings to this one.
fn move_contacts(others: &[PathBuf], path: &Path) {
    let here = WayBack::beside(path);
    for other in others {
        let there = WayBack::beside(other);
        match here.path().exists() {
            true => there.forget(),
            // Addresses that cannot be moved stay beside the other recording.
            false => drop(std::fs::rename(there.path(), here.path())),
        }
    }
}

impl Again {
    fn begin(self, path: &Path, bots: Bots, way: Way) -> Result<Peer, Problem> {
        let from = match way {
            Way::Reopen | Way::Alone => replay::reopen(path),
            Way::Rejoin | Way::Enter(_) => replay::rejoin(path),
        };
        let mut from = from.map_err(unread(path))?;
        from.accepts_other_history = self.common.accept_other_history;
        let common = Common {
            record: Some(beside(path)),
            ..self.common
        };
        let listen = self.listen;
        let part = match way {
            Way::Reopen => Part::Reopen {
                from: &from,
                replay: path,
                wait: REOPENS_FOR,
                first_comers: common.on_quorum_loss() == OnQuorumLoss::Reopen,
                listen,
            },
            Way::Rejoin | Way::Enter(_) => Part::Rejoin {
                from: &from,
                replay: Some(path),
                listen,
            },
            Way::Alone => Part::Branch {
                from: &from,
                replay: path,
                listen,
            },
        };
        let mut peer = Peer::begin(&part, bots, &common, KeyChoice::Kept, Launch::default())?;
        peer.reopens_again = way == Way::Reopen;
        if let Way::Enter(branch) = way {
            peer.game.source().enter_branch(branch);
        }
        Ok(peer)
    }
}

/// How long a reopening waits for missing players before it goes on with a quorum.
pub const REOPENS_FOR: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;
    use lockstep::log::Terms;

    #[test]
    fn a_removed_guest_without_a_recording_comes_back_by_its_ticket() {
        let folder = tempfile::tempdir().unwrap();
        let listen = "127.0.0.1:0".parse().unwrap();
        let hosts = Part::Host {
            terms: Terms::default(),
            bots: 0,
            listen,
        };
        let common = Common::default();
        let mut host = Peer::start(&hosts, Bots::None, &common, KeyChoice::Ephemeral).unwrap();
        let ticket = host.ticket().unwrap();
        let common = Common {
            identity: Some(folder.path().join("key")),
            ..Common::default()
        };
        let joins = Part::Join {
            ticket: &ticket,
            listen,
        };
        let guest = |key| Peer::start(&joins, Bots::None, &common, key).unwrap();
        let kept = guest(KeyChoice::Kept).rejoin_hint(&EndReason::Removed);
        let key = plain::quoted(&folder.path().join("key"));
        let command = format!("demo-rts rejoin {ticket} --identity {key}");
        assert_eq!(kept, Some(format!("rejoin with: {command}")));
        let unkept = guest(KeyChoice::Ephemeral).rejoin_hint(&EndReason::Removed);
        assert_eq!(unkept, None);
    }
}
