//! Presence: a peer that stood still, or whose machine slept, does nothing until others have told it that it still
//! belongs.
//!
//! Each peer says of itself one **word** at a time, signed, and passed on by whoever hears it; its newest one counts. In
//! it the peer asks, after a gap, with a number that nobody could foresee, and it answers what others ask. Who is frozen
//! answers nothing: it may have accepted that who asks goes. So when a quorum has answered, nobody had removed who asks
//! when it asked: of those who decide, one would be among those who answered.

use super::Playing;
use super::patience::Votes;
use super::watch::GIVEN_BACK;
use crate::encoding::DecodeError;
use crate::session::clock_gap::{GAP, LOOK_AT_TIME};
use crate::session::core::Core;
use crate::session::link::Link;
use crate::session::roster::{Peers, Voters};
use crate::session::wire::{Control, SignedNote};
use crate::{Event, Fault, Incarnation, LinkId, MatchId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// Time between two messages with words on one link.
const WORDS_EVERY: Duration = Duration::from_millis(100);

/// What a peer says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Word {
    /// The run of its process that says so.
    run: Incarnation,
    /// Counts the words of one run of its process, from 1.
    number: u32,
    /// The epoch that it is in.
    pub(super) epoch: u32,
    /// The number that it asked with after its last gap; 0 before any.
    asks: u64,
    /// By index in the start's roster: the newest number of each peer that it has answered; 0 for none.
    answers: Vec<u64>,
    /// Whether its players want to wait longer.
    pub(super) votes: Votes,
}

impl Word {
    fn encode(&self) -> Vec<u8> {
        postcard::to_allocvec(self).expect("a word always encodes")
    }

    fn decode(bytes: &[u8]) -> Result<Word, DecodeError> {
        match postcard::take_from_bytes(bytes) {
            Ok((word, [])) => Ok(word),
            _ => Err(DecodeError {
                what: "no such word",
                at: 0,
            }),
        }
    }
}

/// Which run of a peer's process said which of its words.
pub(crate) type WordKey = (Incarnation, u32);

/// What peers have said of themselves, and what this one asks.
pub(super) struct Presence {
    seen_at: Duration,
    /// What this peer asks and is not answered yet.
    asking: Option<u64>,
    /// What the players of this peer want.
    pub(super) votes: Votes,
    own: Word,
    words: BTreeMap<u8, Heard>,
}

pub(super) struct Heard {
    key: WordKey,
    pub(super) word: Word,
    note: SignedNote,
}

impl Presence {
    pub(super) fn new(run: Incarnation, peers: usize, now: Duration) -> Self {
        Presence {
            seen_at: now,
            asking: None,
            votes: Votes::default(),
            own: Word {
                run,
                number: 0,
                epoch: 0,
                asks: 0,
                answers: vec![0; peers],
                votes: Votes::default(),
            },
            words: BTreeMap::new(),
        }
    }

    /// Whether nothing may be sealed, completed or handed out until others have answered.
    pub(super) fn is_unsure(&self) -> bool {
        self.asking.is_some()
    }

    pub(super) fn deadline(&self) -> Duration {
        self.seen_at + LOOK_AT_TIME
    }

    /// Another run of a peer's process takes the place of the one before, whose word is no more.
    pub(super) fn readmit(&mut self, at: u8, run: Incarnation) {
        self.words
            .retain(|of, heard| *of != at || heard.key.0 == run);
    }
}

impl Playing {
    /// Comes before anything else is done with a new time.
    pub(crate) fn look_at_time(&mut self, core: &mut Core) {
        let away = core.now.saturating_sub(self.presence.seen_at);
        self.presence.seen_at = core.now;
        if away <= GAP || self.over {
            return;
        }
        for member in &mut self.members {
            member.heard_at = core.now;
            // The others have waited for this peer, and have some of their own time back.
            member.blocked = member.blocked.saturating_sub(away / GIVEN_BACK);
        }
        self.watch.skip(core.now);
        // What was not lived through was not waited for.
        self.due = self.due.max(core.now);
        if let Some(stall) = &mut self.stall {
            stall.since += away;
            stall.told_at = None;
        }
        // Why logs or worlds differ may be what it was shown meanwhile.
        self.wait_anew_for_proof(core.now);
        self.ending.skip(away);
        self.others.skip(away);
        if let Some(leaving) = &mut self.leaving {
            leaving.since += away;
        }
        // Who is alone may have decided to let another one in, who could then have removed it.
        let deciding = self.epochs.voters().members().or(self.next_members());
        if deciding.len() == 1 || self.ending.holds_turns() {
            return;
        }
        let mut number = [0; 8];
        number.copy_from_slice(&core.draw()[..8]);
        let number = u64::from_le_bytes(number).max(1);
        self.presence.asking = Some(number);
        core.event(Event::Slept { away });
    }

    /// The others whose newest word answers what this peer asks.
    fn answered(&self) -> Peers {
        let Some(asked) = self.presence.asking else {
            return Peers::default();
        };
        // Where it is decided that this peer stays, the others may be in the next epoch already. Who is in a later one
        // than that may have seen this peer go; its decision is on its way.
        let epoch = self.epochs.epoch() + u32::from(self.epochs.stays_for_next());
        let answering = self.words().filter(|(_, heard)| {
            heard.word.epoch <= epoch && heard.word.answers.get(self.me) == Some(&asked)
        });
        let answering: Peers = answering.map(|(at, _)| at).collect();
        answering.and(self.next_members())
    }

    /// The words of the runs that are of the match, as far as this peer has come.
    pub(super) fn words(&self) -> impl Iterator<Item = (u8, &Heard)> {
        let words = self.presence.words.iter().map(|(at, heard)| (*at, heard));
        words.filter(|(at, heard)| {
            let member = self.members.get(usize::from(*at));
            member.is_some_and(|member| member.peer.incarnation == heard.key.0)
        })
    }

    /// The others who have not answered what this peer asks.
    pub(super) fn unanswering(&self) -> Peers {
        if !self.presence.is_unsure() {
            return Peers::default();
        }
        let me: Peers = std::iter::once(self.me as u8).collect();
        let others = self.epochs.voters().members().without(me);
        others.without(self.answered())
    }

    /// True where this peer has become sure that it belongs.
    pub(super) fn advance_presence(&mut self, core: &mut Core) -> bool {
        self.speak(core);
        self.send_words(core);
        if !self.presence.is_unsure() {
            return false;
        }
        let voters = Voters::new(self.next_members());
        let me: Peers = std::iter::once(self.me as u8).collect();
        let answered = self.answered();
        let alone = self.stays_next(self.me) && voters.members().len() == 1;
        let sure = alone || !answered.is_empty() && voters.is_quorum(answered.or(me));
        if sure {
            self.presence.asking = None;
            if !self.ending.holds_turns() {
                self.hand_out(core);
            }
        }
        sure
    }

    /// Who votes once what is decided is done.
    fn next_members(&self) -> Peers {
        match self.epochs.pending() {
            Some(change) => change.value.roster,
            None => self.epochs.voters().members(),
        }
    }

    fn stays_next(&self, at: usize) -> bool {
        self.next_members().contains(at as u8)
    }

    /// Says what is new about this peer.
    fn speak(&mut self, core: &Core) {
        let presence = &self.presence;
        let mut word = Word {
            epoch: self.epochs.epoch(),
            asks: presence.asking.unwrap_or(presence.own.asks),
            votes: presence.votes,
            ..presence.own.clone()
        };
        // What this peer has accepted and does not know to be decided may be that who asks goes.
        if !self.epochs.is_frozen() {
            for (at, heard) in self.words() {
                let at = usize::from(at);
                if at != self.me && heard.word.asks != 0 && self.stays_next(at) {
                    word.answers[at] = heard.word.asks;
                }
            }
        }
        let own = &presence.own;
        if (word.asks, &word.answers, word.votes) == (own.asks, &own.answers, own.votes) {
            return;
        }
        word.number += 1;
        let content = word.encode();
        let bytes = signed_bytes(self.start.match_id, &content);
        let note = SignedNote {
            peer: self.me as u8,
            content,
            signature: core.signer.sign(&bytes).into(),
        };
        let heard = Heard {
            key: (word.run, word.number),
            word: word.clone(),
            note,
        };
        self.presence.own = word;
        self.presence.words.insert(self.me as u8, heard);
    }

    pub(super) fn receive_words(&mut self, core: &mut Core, id: LinkId, notes: Vec<SignedNote>) {
        if notes.len() > self.members.len() {
            return core.fault(id, Fault::Oversize);
        }
        for note in notes {
            let at = usize::from(note.peer);
            let Some(member) = self.members.get(at) else {
                return core.fault(id, Fault::OutOfPlace);
            };
            let word = Word::decode(&note.content);
            let Some(word) = word
                .ok()
                .filter(|word| word.answers.len() == self.members.len())
            else {
                return core.fault(id, Fault::Garbage);
            };
            // An earlier run may be quoted by who has not heard that it is over; a later one speaks in epochs to come.
            let current = member.peer.incarnation == word.run;
            let of_the_match = current || word.epoch > self.epochs.epoch();
            let newer = |known: &Heard| match known.key.0 == word.run {
                true => known.word.number < word.number,
                false => known.word.epoch < word.epoch,
            };
            let news = self.presence.words.get(&note.peer).is_none_or(newer);
            if at == self.me || !of_the_match || !news {
                continue;
            }
            let bytes = signed_bytes(self.start.match_id, &note.content);
            let signature = note.signature.into();
            if !core.signer.verify(member.peer.peer, &bytes, &signature) {
                return core.fault(id, Fault::Signature);
            }
            let key = (word.run, word.number);
            if let Some(link) = core.links.get_mut(&id) {
                link.words_known.insert(note.peer, key);
            }
            let heard = Heard { key, word, note };
            self.presence.words.insert(at as u8, heard);
        }
    }

    fn send_words(&self, core: &mut Core) {
        let links: Vec<LinkId> = core.links.keys().copied().collect();
        for id in links {
            let leads_to = self.member_of(core, id);
            if leads_to.is_none_or(|at| at == self.me || !self.epochs.has(at)) {
                continue;
            }
            let Some(link) = core.links.get_mut(&id) else {
                continue;
            };
            // A peer that comes back hears words only once it has its part, and tells its epoch then.
            if link.epoch.is_none() || link.words_at + WORDS_EVERY > core.now {
                continue;
            }
            let untold: Vec<&Heard> = self.untold(link).collect();
            if untold.is_empty() {
                continue;
            }
            link.words_at = core.now;
            link.words_known
                .extend(untold.iter().map(|heard| (heard.note.peer, heard.key)));
            let notes = untold.into_iter().map(|heard| heard.note.clone()).collect();
            core.send(id, &Control::Words(notes));
        }
    }

    fn untold(&self, link: &Link) -> impl Iterator<Item = &Heard> {
        let words = self.presence.words.iter();
        let untold = words.filter(|(at, heard)| link.words_known.get(at) != Some(&heard.key));
        untold.map(|(_, heard)| heard)
    }

    /// When the next message with words may leave on a link that waits for one.
    pub(super) fn words_deadline(&self, core: &Core) -> Option<Duration> {
        let waiting = core.links.values().filter(|link| {
            let leads_to = self.member_at(link);
            let other = leads_to.is_some_and(|at| at != self.me && self.epochs.has(at));
            other && link.epoch.is_some() && self.untold(link).next().is_some()
        });
        waiting.map(|link| link.words_at + WORDS_EVERY).min()
    }
}

fn signed_bytes(MatchId(match_id): MatchId, content: &[u8]) -> Vec<u8> {
    let mut bytes = b"lockstep word".to_vec();
    bytes.extend_from_slice(&crate::PROTOCOL.to_le_bytes());
    bytes.extend_from_slice(&match_id);
    bytes.extend_from_slice(content);
    bytes
}
