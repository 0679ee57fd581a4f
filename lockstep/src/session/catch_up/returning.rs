//! The side that comes back.

mod answers;
mod log;
mod over;
mod reopened;
mod stands;
mod steps;
mod whom;

use super::message::Offer;
use crate::encoding::Reader;
use crate::log::{End, Keyframe, Record, RosterChange, decode_change};
use crate::session::RulesOf;
use crate::session::core::Core;
use crate::session::lobby::Step;
use crate::session::membership::{DETECT_EVERY, GAP};
use crate::session::roster::RECENT;
use crate::session::wire::Control;
use crate::{EndReason, Fault, JoinRefused, LinkId, MatchId, PeerId, Rejoin, Status};
pub(in crate::session) use answers::{Unfit, place_in};
pub(in crate::session) use log::Log;
pub(in crate::session) use reopened::Reopened;
pub(crate) use reopened::Whole;
use sim::{Checksum, Seat};
use stands::Progress;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Pieces of a snapshot that are asked for at a time.
const WINDOW: u64 = 8;
/// A peer that is not reached is dialled this often.
const DIAL_EVERY: Duration = Duration::from_secs(1);
/// Another peer is asked where one does not answer for so long.
const ANSWER: Duration = Duration::from_secs(10);
/// Who is asked is probed this often,
const PROBE_EVERY: Duration = Duration::from_millis(300);
/// and another one asked where it is not heard for so long.
const UNHEARD: Duration = Duration::from_secs(3);
/// A log that goes on for so long and that no quorum attests is not the match's.
const CONFIRM: Duration = Duration::from_secs(5);
/// Nobody who has the match was reached for so long: there is nothing to come back to.
pub(in crate::session) const GIVE_UP: Duration = Duration::from_secs(30);
/// A peer that did not have the match may have it so much later: it may have come back itself.
const NO_HELP: Duration = Duration::from_secs(2);
/// Who was asked in vain is passed over for longer each time, up to so many times as long as the first.
const LONGER: u32 = 8;
/// How often a peer that follows says so.
const REQUEST_EVERY: Duration = Duration::from_millis(200);
/// The last turns of an own replay may be ones that only this peer had, as many as the longest command delay, or ones
/// that were taken back since.
const PROVISIONAL: usize = RECENT;
/// Messages about the next roster change that are kept until this peer has a part in it, each within the limit of a
/// message: more than members send in a second.
const EARLY: usize = 256;

pub(crate) struct Returning {
    match_id: MatchId,
    contacts: BTreeMap<PeerId, Known>,
    /// Others who have dialled this peer and were asked, and until when they are not asked again.
    strangers: BTreeMap<PeerId, Duration>,
    /// Of both, who itself looks for a match, for which, and when it asked last.
    searching: BTreeMap<PeerId, (MatchId, Duration)>,
    addresses: Vec<String>,
    rules: RulesOf,
    /// What an earlier run of the process has logged, and how many of these records are sure to count.
    own: Vec<Record>,
    sure: usize,
    keyframe: Option<Keyframe>,
    log: Option<Log>,
    /// The newest that was told of the next change and of cheats: whoever let this peer in says it once.
    early: VecDeque<(LinkId, Control)>,
    /// What was given last did not follow on the log, and a quorum tells of changes that are not in it.
    doubts: bool,
    /// The world has executed turns that were taken back since: only another run can come back.
    has_strayed: bool,
    /// The match was seen to stand still.
    stood: bool,
    /// Records of the log that are appended, or were before.
    appended: usize,
    /// Records that were appended before: the world has to step their turns again.
    logged: usize,
    /// It does so, and so many turns of what was appended stay.
    again: Option<u32>,
    /// The game is to be told where the others are.
    tells_contacts: bool,
    progress: Progress,
    snapshot: Snapshot,
    server: Option<Server>,
    world: World,
    me: usize,
    /// Turns that the other side has, as it told last, and when the next one is due here.
    told: Option<(u32, Duration)>,
    rtt: Option<Duration>,
    /// The decision that lets this peer in.
    decided: Option<RosterChange>,
    /// That decision has reopened the match: nothing is fetched any more.
    reopened: bool,
    /// What peers of the match have signed of its end, by place.
    ends: BTreeMap<u8, (End, [u8; 64])>,
    /// Since when that is what a quorum of them has signed.
    ends_since: Option<Duration>,
    /// The same, once the log up to there is here, and the others had time to sign: only the world has to come to it.
    end: Option<End>,
    /// Who says that nobody plays and that it waits for the others, and since when somebody says so.
    reopens: Option<(LinkId, Duration)>,
    /// How it ends where it has found nobody until then.
    otherwise: Option<(EndReason, Duration)>,
    next_request: Duration,
    confirmed_at: Duration,
    /// When more of the log last came, or nobody said that there is more.
    moved_at: Duration,
    offered_at: Duration,
    /// Turns that the other side had, as it told first after it had offered a snapshot.
    offered_with: Option<u32>,
    /// When somebody last answered who has found the match, or reopens it,
    reached_at: Duration,
    /// and who had something to answer with.
    helped_at: Duration,
    seen_at: Duration,
}

struct Known {
    addresses: Vec<String>,
    next_dial: Duration,
    dials: usize,
    /// It was asked, and is not heard since then.
    unheard_since: Option<Duration>,
    /// Until then it is not asked: it lied, or does not have the match.
    no_help_until: Duration,
    /// How often of late it was asked in vain.
    in_vain: u32,
    /// It says that it speaks another version.
    refused: Option<JoinRefused>,
}

impl Known {
    /// It may be found at these addresses.
    fn at(addresses: Vec<String>) -> Self {
        Known {
            addresses,
            next_dial: Duration::ZERO,
            dials: 0,
            unheard_since: None,
            no_help_until: Duration::ZERO,
            in_vain: 0,
            refused: None,
        }
    }
}

/// Who is asked.
struct Server {
    link: LinkId,
    outlined: bool,
    /// It has its time from then on, though it was not heard since.
    chosen_at: Duration,
    asked_at: Duration,
    probed_at: Duration,
    log_asked: bool,
    /// Turns that it says to have.
    has: u32,
}

enum Snapshot {
    Unknown,
    /// The world begins with the start.
    Start,
    /// Not yet proved: the log does not reach it.
    Offered(Offer),
    Fetching {
        offer: Offer,
        bytes: Vec<u8>,
        asked: u64,
    },
    Here(Keyframe),
}

enum World {
    None,
    Loading,
    Ready {
        handed_out: u32,
        executed: u32,
        checksum: Checksum,
    },
}

impl Returning {
    pub(crate) fn new(core: &Core, from: Rejoin, addresses: Vec<String>, rules: RulesOf) -> Self {
        let Rejoin {
            match_id,
            contacts,
            log: own,
            keyframe,
        } = from;
        let turns = own.iter().rev();
        let whole = turns
            .enumerate()
            .filter(|(_, record)| matches!(record, Record::Bundle(_)))
            .nth(PROVISIONAL)
            .map_or(0, |(from_end, _)| own.len() - from_end);
        let known = |contact: crate::Contact| (contact.peer, Known::at(contact.addresses));
        let others = contacts
            .into_iter()
            .filter(|contact| contact.peer != core.id());
        Returning {
            match_id,
            contacts: others.map(known).collect(),
            strangers: BTreeMap::new(),
            searching: BTreeMap::new(),
            addresses,
            rules,
            own,
            sure: whole,
            keyframe,
            log: None,
            doubts: false,
            has_strayed: false,
            stood: false,
            appended: 0,
            logged: 0,
            again: None,
            tells_contacts: false,
            progress: Progress::new(core.now),
            snapshot: Snapshot::Unknown,
            server: None,
            world: World::None,
            me: 0,
            told: None,
            rtt: None,
            decided: None,
            reopened: false,
            ends: BTreeMap::new(),
            ends_since: None,
            end: None,
            reopens: None,
            otherwise: None,
            early: VecDeque::new(),
            next_request: core.now,
            confirmed_at: core.now,
            moved_at: core.now,
            offered_at: core.now,
            offered_with: None,
            reached_at: core.now,
            helped_at: core.now,
            seen_at: core.now,
        }
    }

    /// Comes before anything else is done with a new time. While its machine slept this peer has waited for nobody.
    pub(crate) fn look_at_time(&mut self, core: &mut Core) {
        let away = core.now.saturating_sub(self.seen_at);
        self.seen_at = core.now;
        if away <= GAP {
            return;
        }
        for at in [
            &mut self.reached_at,
            &mut self.helped_at,
            &mut self.confirmed_at,
            &mut self.moved_at,
            &mut self.offered_at,
        ] {
            *at += away;
        }
        self.progress.skip(away);
        if let Some(server) = &mut self.server {
            server.asked_at += away;
            server.chosen_at = core.now;
        }
    }

    pub(crate) fn own_seats(&self) -> &[Seat] {
        match &self.log {
            Some(log) if !matches!(self.world, World::None) => &log.start.roster[self.me].seats,
            _ => &[],
        }
    }

    pub(crate) fn status(&self) -> Status {
        match (&self.world, self.told) {
            (World::Ready { executed, .. }, Some((turns, _))) => Status::CatchingUp {
                behind: turns.saturating_sub(*executed),
            },
            _ => Status::Loading,
        }
    }

    pub(crate) fn deadline(&self, core: &Core) -> Option<Duration> {
        if self.knows_end() {
            return None;
        }
        let dials = self.unreached(core).map(|(_, known)| known.next_dial).min();
        let answer = self.server.as_ref().map(|server| {
            let answer = server.asked_at + self.progress.patience();
            answer.min(server.probed_at + PROBE_EVERY)
        });
        let request = self.follows().then_some(self.next_request);
        let confirm = self
            .log
            .as_ref()
            .filter(|log| !log.pending.is_empty())
            .map(|_| self.confirmed_at + CONFIRM);
        let idle = self.owes_more().then_some(self.moved_at + ANSWER);
        let idle = idle.filter(|_| self.server.is_some());
        let offer = matches!(self.snapshot, Snapshot::Offered(_));
        let offer = offer
            .then_some(self.offered_at + CONFIRM)
            .filter(|at| *at > core.now);
        let searches = self.server.is_none() && !self.reopened;
        let helper = searches.then(|| self.helper(core, None)).flatten();
        let next = helper.map(|_| core.now);
        let give_up = self.has_nobody(core);
        let give_up = give_up.then_some(self.reached_at + GIVE_UP);
        let helps = self.contacts.values().map(|known| known.no_help_until);
        let strange = self.strangers.values().copied();
        let helps = helps.chain(strange).chain([self.helped_at + UNHEARD]);
        let helps = helps.filter(|until| searches && *until > core.now).min();
        let waits = matches!(self.world, World::None);
        let otherwise = self.otherwise.as_ref().filter(|_| waits);
        let otherwise = otherwise.map(|(_, by)| *by);
        let gathers = self.gathers_at(core).filter(|_| self.may_gather());
        let look = Some(self.seen_at + DETECT_EVERY);
        let times = [
            dials,
            answer,
            request,
            confirm,
            idle,
            offer,
            next,
            give_up,
            helps,
            otherwise,
            gathers,
            look,
            self.stands_at(core),
            self.end_deadline(core),
        ];
        times.into_iter().flatten().min()
    }

    pub(crate) fn link_down(&mut self, link: LinkId) {
        if self
            .server
            .as_ref()
            .is_some_and(|server| server.link == link)
        {
            self.server = None;
        }
    }

    pub(crate) fn probe_answered(&mut self, core: &mut Core, link: LinkId, sent_us: u64) {
        if let Some(link) = core.links.get_mut(&link) {
            link.heard_at = core.now;
        }
        let rtt = core.now.checked_sub(Duration::from_micros(sent_us));
        self.rtt = [self.rtt, rtt].into_iter().flatten().min();
    }

    /// Takes what is said on a link's control stream.
    pub(crate) fn received(&mut self, core: &mut Core, link: LinkId, message: Control) -> Step {
        match message {
            Control::Decided(bytes) => {
                let mut reader = Reader::new(&bytes);
                let change = decode_change(&mut reader).ok();
                match change.filter(|_| reader.end().is_ok()) {
                    Some(change) => self.hear_decision(core, change),
                    None => core.fault(link, Fault::Garbage),
                }
            }
            Control::Refused(
                why
                @ (JoinRefused::Protocol { .. } | JoinRefused::NoSeat | JoinRefused::OtherMatch),
            ) => {
                return self.refused(core, link, why);
            }
            // It is on its way out, or says what the roster says: none of it is for this peer yet.
            Control::Refused(_) | Control::Bye => core.close(link),
            Control::End { .. } => self.hear_end(core, link, message),
            Control::Words(_)
            | Control::Lobby(_)
            | Control::Pings(_)
            | Control::Reopen(_)
            | Control::Rejoin { .. } => {}
            Control::Roster(_) | Control::Evidence(_) => {
                let from = core.links.get(&link).and_then(|link| link.proved);
                if from.is_none_or(|(peer, _)| !self.contacts.contains_key(&peer)) {
                    return Step::Stay;
                }
                self.keep_early(link, message);
            }
            _ => core.fault(link, Fault::OutOfPlace),
        }
        Step::Stay
    }

    /// Keeps what was said until this peer has a part in the match.
    fn keep_early(&mut self, link: LinkId, message: Control) {
        if self.early.len() == EARLY {
            // What is said of a change is said again in the next attempt.
            let is_note = |(_, early): &(_, Control)| matches!(early, Control::Roster(_));
            let oldest = self.early.iter().position(is_note);
            self.early.remove(oldest.unwrap_or(0));
        }
        self.early.push_back((link, message));
    }

    pub(crate) fn loaded(&mut self, checksum: Checksum) {
        if let (World::Loading, Some(log)) = (&self.world, &self.log) {
            let turns = match &self.snapshot {
                Snapshot::Here(keyframe) => keyframe.turns,
                _ => 0,
            };
            debug_assert!(log.confirmed.turns >= turns);
            self.world = World::Ready {
                handed_out: turns,
                executed: turns,
                checksum,
            };
        }
    }

    pub(crate) fn executed(&mut self, told: Checksum) {
        if let World::Ready {
            executed, checksum, ..
        } = &mut self.world
        {
            (*executed, *checksum) = (*executed + 1, told);
        }
    }

    /// Does what is due.
    pub(crate) fn advance(&mut self, core: &mut Core) -> Step {
        if self.knows_end() {
            return self.come_to_end(core);
        }
        self.dial(core);
        self.look_whether_it_stands(core);
        self.look_after_server(core);
        if self.has_nobody(core) && core.now >= self.reached_at + GIVE_UP {
            return Step::End(self.nobody(core));
        }
        let waits = matches!(self.world, World::None);
        if let Some((why, _)) = self.otherwise.take_if(|(_, by)| waits && *by <= core.now) {
            return Step::End(why);
        }
        if let Some(link) = self.gathers(core) {
            return Step::Gather(link);
        }
        self.take_ends();
        self.confirm(core);
        if self.has_strayed {
            return Step::End(EndReason::Removed);
        }
        if self.has_cheated() {
            return Step::End(EndReason::Refused(JoinRefused::Cheated));
        }
        if self.is_barred() {
            return Step::End(EndReason::Refused(JoinRefused::Desynced));
        }
        self.settle_end(core);
        if self.knows_end() {
            return self.come_to_end(core);
        }
        self.settle_snapshot(core);
        self.load(core);
        self.tell_contacts(core);
        self.hand_out(core);
        self.ask(core);
        self.request(core);
        self.tell_of_decision(core);
        self.come_back(core)
    }
}
