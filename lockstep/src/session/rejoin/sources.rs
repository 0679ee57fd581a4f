//! Sources: the peers that a joiner can fetch the match from, the one that it asks, and those that it passes over for a
//! while because they lied, lack the match, or are silent.

use super::links::{DialledLink, ProvedLink};
use crate::addresses::MAX_ADDRESSES;
use crate::session::Output;
use crate::{Contact, JoinRefused, LinkId, MatchId, PeerId};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// A peer that is not reached is dialled this often.
const DIAL_EVERY: Duration = Duration::from_secs(1);
/// Another peer is asked where the source does not answer for so long.
const ANSWER: Duration = Duration::from_secs(10);
/// The source is probed this often,
const PROBE_EVERY: Duration = Duration::from_millis(300);
/// and another peer is asked where the source is not heard for so long. Of a match that stands still a source has nothing
/// more to say: then it answers within this time, or has gone.
const UNHEARD: Duration = Duration::from_secs(3);
/// Probes that may be on their way: an earlier one is answered too late to tell of the way.
const PROBES: usize = 8;
/// The joiner gives up where no peer that has the match was reached for so long.
pub(crate) const GIVE_UP: Duration = Duration::from_secs(30);
/// A peer that does not look for the match, and has nothing of it, puts that off for so long: it may have it soon, or never.
const NOTHING_YET: Duration = Duration::from_secs(60);
/// A peer that lacks the match may have it so much later: it may be a joiner itself.
pub(super) const NO_HELP: Duration = Duration::from_secs(2);
/// A peer is passed over for longer after each failure, up to so many times as long as after the first.
const LONGER: u32 = 8;
/// Strangers that are asked, each until it has shown that it does not help: ever new keys give a peer no more.
const STRANGERS: usize = 64;
/// Addresses of one peer that are kept: of what one source tells, and of the others before it.
const ADDRESSES: usize = 2 * MAX_ADDRESSES;

/// Peers to ask, and the one that is asked.
pub(crate) struct Sources {
    contacts: BTreeMap<PeerId, Known>,
    /// Other peers that dialled this one and were asked, and until when they are not asked again.
    strangers: BTreeMap<PeerId, Duration>,
    /// Of both, peers that look for a match themselves, for which, and when they asked last.
    joiners: BTreeMap<PeerId, (MatchId, Duration)>,
    source: Option<Source>,
    /// When a peer that has found the match, or reopens it, last answered,
    reached_at: Duration,
    /// and one that had something to answer with.
    helped_at: Duration,
    /// Since when sources have answered that they have nothing.
    nothing_since: Option<Duration>,
}

struct Known {
    addresses: Vec<String>,
    next_dial: Duration,
    dials: usize,
    /// When it was heard last, where it fell silent while it was asked.
    unheard_since: Option<Duration>,
    /// Until then it is not asked: it lied, or does not have the match.
    no_help_until: Duration,
    /// How often in a row nothing came of asking it.
    failures: u32,
    /// It refused this peer.
    refused: Option<JoinRefused>,
}

/// The peer that is asked.
struct Source {
    link: LinkId,
    peer: PeerId,
    /// It has told how the match began.
    outlined: bool,
    /// It has its time from then on, though it was not heard since.
    chosen_at: Duration,
    asked_at: Duration,
    probed_at: Duration,
    /// When the last probes were sent that it has not answered.
    probes: VecDeque<Duration>,
    /// The shortest round trip that a probe took.
    rtt: Option<Duration>,
    /// A page of the log is on its way.
    log_asked: bool,
    /// Turns that it says to have.
    has: u32,
    /// When a page brought something, or the source had no more.
    moved_at: Duration,
}

/// What an answer is, as far as it matters which peer gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answered {
    Outline,
    /// A page from this turn on, of a log of so many turns.
    Page {
        from: u32,
        turns: u32,
    },
    /// The match is not there.
    Nothing,
    /// A branch is played there, which is no source.
    Branch,
    Other,
}

/// How it stands with the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Checked {
    NoSource,
    Answers,
    /// It is to be probed on this link.
    ToProbe(LinkId),
    /// It is the source no more: it was not heard, and its link may lead nowhere.
    Silent(LinkId),
    /// It is the source no more: it was heard, and did not answer.
    Unanswered(LinkId),
}

/// What a deadline of the sources depends on.
pub(crate) struct SourcesFacts<'a> {
    pub now: Duration,
    pub links: &'a [ProvedLink],
    /// The match stands still for want of a quorum.
    pub stands_still: bool,
    /// Another source is looked for where there is none.
    pub searches: bool,
    /// The source says that it has more of the log than it has given.
    pub source_is_ahead: bool,
}

impl Known {
    fn at(addresses: Vec<String>) -> Self {
        Known {
            addresses,
            next_dial: Duration::ZERO,
            dials: 0,
            unheard_since: None,
            no_help_until: Duration::ZERO,
            failures: 0,
            refused: None,
        }
    }
}

impl Source {
    fn probed(&mut self, now: Duration) {
        self.probed_at = now;
        self.probes.push_back(now);
        if self.probes.len() > PROBES {
            self.probes.pop_front();
        }
    }
}

impl Sources {
    pub(crate) fn new(now: Duration, contacts: Vec<Contact>) -> Self {
        let known = |contact: Contact| (contact.peer, Known::at(contact.addresses));
        Sources {
            contacts: contacts.into_iter().map(known).collect(),
            strangers: BTreeMap::new(),
            joiners: BTreeMap::new(),
            source: None,
            reached_at: now,
            helped_at: now,
            nothing_since: None,
        }
    }

    /// While its machine slept this peer has waited for no answer.
    pub(crate) fn skip(&mut self, now: Duration, away: Duration) {
        self.reached_at += away;
        self.helped_at += away;
        if let Some(since) = &mut self.nothing_since {
            *since += away;
        }
        if let Some(source) = &mut self.source {
            source.moved_at += away;
            source.asked_at += away;
            source.chosen_at = now;
        }
    }

    /// Dials that are due.
    pub(crate) fn dials(&mut self, now: Duration, links: &[ProvedLink]) -> Vec<Output> {
        let due = self
            .contacts
            .iter_mut()
            .filter(|(peer, known)| is_unreached(**peer, known, links) && known.next_dial <= now);
        let dial = |(peer, known): (&PeerId, &mut Known)| {
            known.next_dial = now + DIAL_EVERY;
            let address = known.addresses[known.dials % known.addresses.len()].clone();
            known.dials += 1;
            Output::Dial {
                address,
                key: *peer,
            }
        };
        due.map(dial).collect()
    }

    /// Looks whether the source is heard and answers, and drops it where it does not.
    pub(crate) fn check(
        &mut self,
        now: Duration,
        links: &[ProvedLink],
        stands_still: bool,
    ) -> Checked {
        let Some(source) = &mut self.source else {
            return Checked::NoSource;
        };
        let link = links.iter().find(|link| link.link == source.link);
        let heard_at = link.map(|link| link.heard_at.max(source.chosen_at));
        let unheard = heard_at.is_none_or(|at| at + UNHEARD <= now);
        let link = source.link;
        if !unheard && source.asked_at + patience(stands_still) > now {
            if source.probed_at + PROBE_EVERY > now {
                return Checked::Answers;
            }
            source.probed(now);
            return Checked::ToProbe(link);
        }
        let peer = source.peer;
        self.source = None;
        if !unheard {
            return Checked::Unanswered(link);
        }
        if let Some(known) = self.contacts.get_mut(&peer).filter(|_| heard_at.is_some()) {
            known.unheard_since = heard_at;
        }
        // Its address may have changed, or this peer's.
        Checked::Silent(link)
    }

    /// Chooses the link to ask on, and to probe: of several one other than `last`, which just failed, and rather one of
    /// those that are `preferred`.
    pub(crate) fn choose(
        &mut self,
        now: Duration,
        links: &[ProvedLink],
        last: Option<LinkId>,
        preferred: impl Fn(&ProvedLink) -> bool,
    ) -> Option<LinkId> {
        let helping = links.iter().filter(|link| self.helps(now, link.peer));
        let next = helping
            .max_by_key(|link| (preferred(link), Some(link.link) != last, link.heard_at))
            .copied()?;
        self.source = Some(Source {
            link: next.link,
            peer: next.peer,
            outlined: false,
            chosen_at: now,
            asked_at: now,
            probed_at: now,
            probes: VecDeque::from([now]),
            rtt: None,
            log_asked: false,
            has: 0,
            moved_at: now,
        });
        Some(next.link)
    }

    /// Whether a peer is asked now. Where for a while no known peer helps, any peer that dialled this one is asked too: of
    /// a joiner that knows only the host, the host may have died since. An answer proves itself, or not, like any other.
    fn helps(&self, now: Duration, peer: PeerId) -> bool {
        let alone = now >= self.helped_at + UNHEARD;
        match (self.contacts.get(&peer), self.strangers.get(&peer)) {
            (Some(known), _) => known.no_help_until <= now,
            (None, Some(until)) => alone && *until <= now,
            (None, None) => alone && self.strangers.len() < STRANGERS,
        }
    }

    /// The link to the source.
    pub(crate) fn link(&self) -> Option<LinkId> {
        self.source.as_ref().map(|source| source.link)
    }

    /// Whether the source has told how the match began.
    pub(crate) fn is_outlined(&self) -> bool {
        self.source.as_ref().is_some_and(|source| source.outlined)
    }

    /// Turns that the source says to have.
    pub(crate) fn source_has(&self) -> Option<u32> {
        self.source.as_ref().map(|source| source.has)
    }

    /// Half of the shortest round trip to the source.
    pub(crate) fn one_way(&self) -> Duration {
        let rtt = self.source.as_ref().and_then(|source| source.rtt);
        rtt.unwrap_or_default() / 2
    }

    /// A probe was answered on this link. It counts where the source was probed at that time.
    pub(crate) fn probe_answered(&mut self, now: Duration, link: LinkId, sent_us: u64) {
        let source = self.source.as_mut().filter(|source| source.link == link);
        let Some(source) = source else {
            return;
        };
        let mut probes = source.probes.iter();
        let answered = probes.position(|at| at.as_micros() == u128::from(sent_us));
        let sent = answered.and_then(|at| source.probes.remove(at));
        let rtt = sent.map(|sent| now.saturating_sub(sent));
        source.rtt = [source.rtt, rtt].into_iter().flatten().min();
    }

    /// Takes note of an answer of the source, to a joiner that is to be given turn `next`. False where it answers what is
    /// not asked any more, as before another peer was asked for a while.
    pub(crate) fn answered(&mut self, now: Duration, answer: Answered, next: Option<u32>) -> bool {
        let Some(source) = &mut self.source else {
            return false;
        };
        // Two that look for the match have not found it. A peer that does not look for it, and has nothing yet, has.
        let helps = !matches!(answer, Answered::Nothing | Answered::Branch);
        if helps {
            (self.helped_at, self.nothing_since) = (now, None);
        }
        let is_branch = answer == Answered::Branch;
        let may_have = helps || !is_branch && !is_joiner(&self.joiners, source.peer, now);
        if may_have && (helps || now < *self.nothing_since.get_or_insert(now) + NOTHING_YET) {
            self.reached_at = self.reached_at.max(now);
        }
        match answer {
            Answered::Outline if source.outlined => return false,
            Answered::Outline => source.outlined = true,
            Answered::Page { from, turns } if source.log_asked && next == Some(from) => {
                (source.log_asked, source.has) = (false, turns);
            }
            Answered::Page { .. } => return false,
            Answered::Nothing | Answered::Branch | Answered::Other => {}
        }
        source.asked_at = now;
        true
    }

    /// A page brought something, or the source has no more.
    pub(crate) fn moved(&mut self, now: Duration) {
        if let Some(source) = &mut self.source {
            source.moved_at = now;
        }
    }

    /// Whether the source, which is ahead, has brought nothing for too long.
    pub(crate) fn brings_nothing(&self, now: Duration) -> bool {
        let mut source = self.source.iter();
        source.any(|source| now >= source.moved_at + ANSWER)
    }

    /// Whether the source is to be asked for the next page of the log.
    pub(crate) fn may_ask_log(&self) -> bool {
        let mut source = self.source.iter();
        source.any(|source| source.outlined && !source.log_asked)
    }

    pub(crate) fn log_asked(&mut self, now: Duration) {
        if let Some(source) = &mut self.source {
            (source.log_asked, source.asked_at) = (true, now);
        }
    }

    /// The page on its way is of no use: the log is to be asked from an earlier turn.
    pub(crate) fn ask_log_again(&mut self) {
        if let Some(source) = &mut self.source {
            source.log_asked = false;
        }
    }

    /// What the source gave counts: it starts with a clean slate.
    pub(crate) fn reset_failures(&mut self) {
        let peer = self.source.as_ref().map(|source| source.peer);
        let known = peer.and_then(|peer| self.contacts.get_mut(&peer));
        known.into_iter().for_each(|known| known.failures = 0);
    }

    /// Forgets the source, of which nothing bad is known. Its link.
    pub(crate) fn drop_source(&mut self) -> Option<LinkId> {
        self.source.take().map(|source| source.link)
    }

    /// Does not give up so soon: the player has so long to decide.
    pub(crate) fn wait_for_player(&mut self, now: Duration, decides: Duration) {
        let later = now + decides.saturating_sub(GIVE_UP);
        self.reached_at = self.reached_at.max(later);
    }

    /// Asks this peer, whatever it could not do before.
    pub(crate) fn prefer(&mut self, now: Duration, peer: PeerId) {
        (self.source, self.reached_at) = (None, now);
        self.strangers.remove(&peer);
        if let Some(known) = self.contacts.get_mut(&peer) {
            (known.no_help_until, known.failures) = (now, 0);
        }
    }

    /// Asks another peer: the source does not have what is needed.
    pub(crate) fn pass_over(&mut self, now: Duration) {
        self.pass_over_until(now + NO_HELP);
    }

    /// Asks another peer: nothing came of what the source said. The more often, the longer it is passed over.
    pub(crate) fn back_off(&mut self, now: Duration) {
        let peer = self.source.as_ref().map(|source| source.peer);
        let known = peer.and_then(|peer| self.contacts.get_mut(&peer));
        let times = known.map_or(1, |known| {
            let times = 1 << known.failures.min(31);
            known.failures += 1;
            LONGER.min(times)
        });
        self.pass_over_until(now + NO_HELP * times);
    }

    /// Asks another peer for good: the source has lied.
    pub(crate) fn distrust(&mut self) {
        self.pass_over_until(Duration::MAX);
    }

    fn pass_over_until(&mut self, until: Duration) {
        if let Some(source) = self.source.take() {
            match self.contacts.get_mut(&source.peer) {
                Some(known) => known.no_help_until = until,
                None => {
                    self.strangers.insert(source.peer, until);
                }
            }
        }
    }

    /// This peer, at which the match seemed to be reopened, turned the joiner away.
    pub(crate) fn turned_away(
        &mut self,
        now: Duration,
        host: PeerId,
        refused: Option<JoinRefused>,
    ) {
        if let Some(known) = self.contacts.get_mut(&host) {
            known.no_help_until = now + NO_HELP;
            known.refused = refused.or(known.refused.take());
        }
    }

    /// A peer refuses this one, on a link that was dialled to one of the contacts. True once all contacts have refused.
    pub(crate) fn refused(&mut self, on: DialledLink<'_>, why: JoinRefused) -> bool {
        let mut contacts = self.contacts.iter_mut();
        let known = contacts.find(|(peer, known)| match on.expected {
            Some(expected) => expected == **peer,
            None => known.addresses.iter().any(|known| known == on.address),
        });
        let Some((_, known)) = known else {
            return false;
        };
        known.refused = Some(why);
        self.contacts.values().all(|known| known.refused.is_some())
    }

    /// Why a contact refused this peer, if one did.
    pub(crate) fn refusal(&self) -> Option<&JoinRefused> {
        let mut contacts = self.contacts.values();
        contacts.find_map(|known| known.refused.as_ref())
    }

    /// Whether this contact refused this peer; `None` where it is no contact.
    pub(crate) fn has_refused(&self, peer: PeerId) -> Option<bool> {
        let known = self.contacts.get(&peer)?;
        Some(known.refused.is_some())
    }

    /// Whether all contacts but this one are passed over.
    pub(crate) fn passes_over_others(&self, now: Duration, but: PeerId) -> bool {
        let mut others = self.contacts.iter().filter(|(peer, _)| **peer != but);
        others.all(|(_, known)| known.no_help_until > now)
    }

    /// Whether all contacts are passed over.
    pub(crate) fn passes_over_all(&self, now: Duration) -> bool {
        let mut contacts = self.contacts.values();
        contacts.all(|known| known.no_help_until > now)
    }

    /// Takes note of a peer that looks for a match itself.
    pub(crate) fn note_joiner(&mut self, now: Duration, peer: PeerId, of: MatchId) {
        if self.contacts.contains_key(&peer) || self.strangers.contains_key(&peer) {
            self.joiners.insert(peer, (of, now));
        }
    }

    /// Other peers that look for this match, too.
    pub(crate) fn joiners(&self, now: Duration, of: MatchId) -> impl Iterator<Item = PeerId> {
        let looking = self.joiners.iter();
        let looking = looking.filter(move |(_, (other, at))| *other == of && now < *at + ANSWER);
        looking.map(|(peer, _)| *peer)
    }

    /// Whether no contact is left to ask that does not look for this match itself. A host that reopens it asks as joiners
    /// do: what a peer is that is asked, its answer tells.
    pub(crate) fn asks_joiners_only(&self, now: Duration, of: MatchId) -> bool {
        let asked = self.source.as_ref().filter(|source| !source.outlined);
        let asked = asked.map(|source| source.peer);
        let mut contacts = self.contacts.iter();
        contacts.all(|(peer, known)| {
            let joins = || self.joiners(now, of).any(|joiner| joiner == *peer);
            known.no_help_until > now || asked != Some(*peer) && joins()
        })
    }

    /// Whether no peer is known to have the match: the source, if there is one, looks for it.
    pub(crate) fn no_source_left(&self, now: Duration) -> bool {
        let has = |source: &Source| source.outlined || !is_joiner(&self.joiners, source.peer, now);
        !self.source.as_ref().is_some_and(has)
    }

    /// Whether that was so for too long.
    pub(crate) fn gives_up(&self, now: Duration) -> bool {
        now >= self.reached_at + GIVE_UP
    }

    pub(crate) fn is_contact(&self, peer: PeerId) -> bool {
        self.contacts.contains_key(&peer)
    }

    /// Takes addresses of another peer of the match that the source tells.
    pub(crate) fn learn(&mut self, peer: PeerId, addresses: Vec<String>) {
        let new = || Known::at(Vec::new());
        let known = self.contacts.entry(peer).or_insert_with(new);
        for address in addresses {
            if known.addresses.len() < ADDRESSES && !known.addresses.contains(&address) {
                known.addresses.push(address);
            }
        }
    }

    /// A peer may be found at these addresses by now: those that are new are dialled next.
    pub(crate) fn find(&mut self, now: Duration, contact: Contact) {
        let new = || Known::at(Vec::new());
        let known = self.contacts.entry(contact.peer).or_insert_with(new);
        let told = contact.addresses.into_iter();
        let mut fresh: Vec<String> = told
            .filter(|told| !known.addresses.contains(told))
            .collect();
        if fresh.is_empty() {
            return;
        }
        fresh.append(&mut known.addresses);
        fresh.truncate(ADDRESSES);
        (known.addresses, known.dials) = (fresh, 0);
        (known.next_dial, known.no_help_until) = (now, known.no_help_until.min(now));
    }

    /// All contacts, by key.
    pub(crate) fn contacts(&self) -> impl Iterator<Item = Contact> {
        self.contacts.iter().map(|(peer, known)| Contact {
            peer: *peer,
            addresses: known.addresses.clone(),
        })
    }

    /// Where a peer can be dialled.
    pub(crate) fn addresses(&self, peer: PeerId) -> Vec<String> {
        let known = self.contacts.get(&peer);
        known.map_or(Vec::new(), |known| known.addresses.clone())
    }

    /// When a peer was heard last that fell silent while it was asked.
    pub(crate) fn unheard_since(&self, peer: PeerId) -> Option<Duration> {
        self.contacts.get(&peer)?.unheard_since
    }

    /// When the sources are to be looked at again.
    pub(crate) fn deadline(&self, facts: &SourcesFacts<'_>) -> Option<Duration> {
        let SourcesFacts { now, links, .. } = *facts;
        let unreached = self.contacts.iter();
        let unreached = unreached.filter(|(peer, known)| is_unreached(**peer, known, links));
        let dial = unreached.map(|(_, known)| known.next_dial).min();
        let answer = self.source.as_ref().map(|source| {
            let answer = source.asked_at + patience(facts.stands_still);
            answer.min(source.probed_at + PROBE_EVERY)
        });
        let idle = self.source.as_ref().filter(|_| facts.source_is_ahead);
        let idle = idle.map(|source| source.moved_at + ANSWER);
        let searches = self.source.is_none() && facts.searches;
        let found = searches && links.iter().any(|link| self.helps(now, link.peer));
        let helps = self.contacts.values().map(|known| known.no_help_until);
        let helps = helps
            .chain(self.strangers.values().copied())
            .chain([self.helped_at + UNHEARD])
            .filter(|until| searches && *until > now);
        let give_up = facts.searches && self.no_source_left(now);
        let times = [
            dial,
            answer,
            idle,
            found.then_some(now),
            helps.min(),
            give_up.then_some(self.reached_at + GIVE_UP),
        ];
        times.into_iter().flatten().min()
    }
}

/// How long the source may take for an answer.
fn patience(stands_still: bool) -> Duration {
    match stands_still {
        true => UNHEARD,
        false => ANSWER,
    }
}

fn is_unreached(peer: PeerId, known: &Known, links: &[ProvedLink]) -> bool {
    !known.addresses.is_empty() && links.iter().all(|link| link.peer != peer)
}

fn is_joiner(joiners: &BTreeMap<PeerId, (MatchId, Duration)>, peer: PeerId, now: Duration) -> bool {
    let asked = joiners.get(&peer);
    asked.is_some_and(|(_, at)| now < *at + ANSWER)
}

#[cfg(test)]
mod tests;
