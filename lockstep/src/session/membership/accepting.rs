//! The accept of this peer that its recording may not hold yet: no other peer hears of it before.

use super::paxos::Message;

#[derive(Default)]
pub(super) struct Accepting {
    /// Accepts so far, each with a number of its own.
    number: u64,
    /// The newest one, and the epoch that it is to end.
    held: Option<(u32, Message)>,
}

impl Accepting {
    /// Holds an accept back, in the place of one before. Its number.
    pub(super) fn hold(&mut self, epoch: u32, accept: Message) -> u64 {
        self.number += 1;
        self.held = Some((epoch, accept));
        self.number
    }

    /// The accept of this number is durable. It may leave, where a newer one or another epoch has not taken its place.
    pub(super) fn release(&mut self, number: u64, epoch: u32) -> Option<Message> {
        let newest = self.held.take_if(|_| number == self.number)?;
        (newest.0 == epoch).then_some(newest.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::{Ballot, Peers, Value};

    fn accept(round: u32) -> Message {
        let ballot = Ballot { round, peer: 0 };
        Message::Accept(ballot, Value::of(Peers::first(2), 9))
    }

    #[test]
    fn the_newest_accept_leaves_once_and_within_its_epoch() {
        let mut accepting = Accepting::default();
        let first = accepting.hold(3, accept(1));
        let second = accepting.hold(3, accept(2));
        assert_eq!(accepting.release(first, 3), None, "a newer one waits");
        assert_eq!(accepting.release(second, 3), Some(accept(2)));
        assert_eq!(accepting.release(second, 3), None);
        let third = accepting.hold(3, accept(3));
        assert_eq!(accepting.release(third, 4), None, "its epoch is over");
    }
}
