//! Who was too slow for the lobby: its answer was under way for longer than the host waits.

use super::Judge;
use crate::simulator::Playable;
use lockstep::{EndReason, JoinRefused};
use std::time::Duration;

/// A host waits so long for an answer, less what its clock may be too fast.
const WAITS_FOR_ANSWER: Duration = Duration::from_millis(9_990);

/// A message between the host and a guest, before the match begins.
pub(super) struct Word {
    from: usize,
    to: usize,
    bytes: Vec<u8>,
    sent: Duration,
    arrived: Option<Duration>,
}

impl<W: Playable> Judge<W> {
    /// A peer sends another one a message.
    pub fn sends(&mut self, from: usize, to: usize, bytes: &[u8]) {
        let of_the_lobby = self.start.is_none() && (from == 0 || to == 0);
        if of_the_lobby {
            self.words.push(Word {
                from,
                to,
                bytes: bytes.to_vec(),
                sent: self.now,
                arrived: None,
            });
        }
    }

    /// It is there.
    pub fn hears(&mut self, from: usize, to: usize, bytes: &[u8]) {
        let mut words = self.words.iter_mut();
        let same = |word: &&mut Word| {
            let ends = (word.from, word.to) == (from, to);
            ends && word.arrived.is_none() && word.bytes == bytes
        };
        if let Some(word) = words.find(same) {
            word.arrived = Some(self.now);
        }
    }

    /// Whether a guest was turned away whose answer, given at once, came too late or never: the host's word and that
    /// answer were under way for as long as the host waits.
    pub(super) fn was_too_slow(&self, guest: usize) -> bool {
        let Some((told_at, ended)) = &self.peers[guest].ended else {
            return false;
        };
        let refused = ended.reason == EndReason::Refused(JoinRefused::TooSlow);
        let asked = self
            .words
            .iter()
            .filter(|word| (word.from, word.to) == (0, guest));
        let mut late = asked.filter(|word| {
            let until = word.sent + WAITS_FOR_ANSWER;
            let mut answers = self.words.iter().filter(|answer| {
                (answer.from, answer.to) == (guest, 0) && Some(answer.sent) == word.arrived
            });
            until <= *told_at && answers.any(|answer| answer.arrived.is_none_or(|at| at >= until))
        });
        refused && self.start.is_none() && late.next().is_some()
    }
}
