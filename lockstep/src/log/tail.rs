//! The provisional turns behind a log.

use super::bundle::Bundle;
use std::collections::VecDeque;

/// The turns that a store has written behind its log, and that are not final yet: tells what changes in what is written.
#[derive(Clone, Debug, Default)]
pub struct Tail {
    turns: VecDeque<Bundle>,
}

/// What changes in what a store has written.
#[derive(Debug, PartialEq, Eq)]
pub struct TailChange<'a> {
    /// Every turn from this one on is taken back.
    pub take_back: Option<u32>,
    /// These turns are written.
    pub write: &'a [Bundle],
}

impl Tail {
    /// A turn is appended to the log. Nothing is to be written where it is the first of the tail.
    pub fn append<'a>(&mut self, turn: &'a Bundle) -> TailChange<'a> {
        match self.turns.front() {
            Some(first) if first == turn => {
                self.turns.pop_front();
                TailChange {
                    take_back: None,
                    write: &[],
                }
            }
            first => {
                let take_back = first.map(|first| first.turn.0);
                self.turns.clear();
                TailChange {
                    take_back,
                    write: std::slice::from_ref(turn),
                }
            }
        }
    }

    /// The tail is replaced by these turns.
    pub fn replace<'a>(&mut self, turns: &'a [Bundle]) -> TailChange<'a> {
        let pairs = self.turns.iter().zip(turns);
        let alike = pairs.take_while(|(old, new)| old == new).count();
        let take_back = self.turns.get(alike).map(|first| first.turn.0);
        self.turns.truncate(alike);
        self.turns.extend(turns[alike..].iter().cloned());
        TailChange {
            take_back,
            write: &turns[alike..],
        }
    }

    /// The turns, oldest first.
    pub fn turns(&self) -> impl Iterator<Item = &Bundle> {
        self.turns.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::fixture::bundle;

    #[test]
    fn a_turn_of_the_tail_is_written_once() {
        let mut tail = Tail::default();
        let turns = [bundle(4), bundle(5), bundle(6)];
        assert_eq!(tail.replace(&turns[..2]).write, &turns[..2]);
        assert_eq!(tail.append(&turns[0]).write, &[]);
        let change = tail.replace(&turns[1..]);
        assert_eq!((change.take_back, change.write), (None, &turns[2..]));
        assert_eq!(tail.turns().count(), 2);
    }

    #[test]
    fn tail_is_replaced_from_the_first_turn_that_differs() {
        let mut tail = Tail::default();
        let other = Bundle {
            paused: true,
            ..bundle(5)
        };
        tail.replace(&[bundle(4), bundle(5), bundle(6)]);
        let turns = [bundle(4), other.clone()];
        let change = tail.replace(&turns);
        assert_eq!((change.take_back, change.write), (Some(5), &turns[1..]));
        assert_eq!(tail.replace(&turns[..1]).take_back, Some(5));
        let change = tail.append(&other);
        assert_eq!(change.take_back, Some(4), "the log has another turn there");
        assert_eq!(change.write, std::slice::from_ref(&other));
        assert_eq!(tail.turns().count(), 0);
    }
}
