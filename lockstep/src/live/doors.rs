//! The doors through which commands go from the game to the network thread: one for each own seat.

use crate::limits::room_of;
use crate::session::Outlook;
use crate::{CommandId, Issued, Limits, Refused};
use sim::Seat;
use std::collections::BTreeMap;
use std::time::Duration;

/// A seat may issue the commands of so many seconds at once.
const BURST: u64 = 2;
/// A thousandth of a command is what allowances are counted in.
const COMMAND: u64 = 1_000;
/// Commands may wait for so many batches: for the next one, and a backlog for one more.
const BATCHES: u32 = 2;

#[derive(Default)]
pub(super) struct Doors {
    of: BTreeMap<Seat, Door>,
    /// Bytes that the network thread was told of, of all commands, in batches.
    told: u64,
}

/// What one own seat has issued of late.
#[derive(Default)]
struct Door {
    issued: u32,
    waiting: u32,
    /// Commands that may be issued now, in thousandths.
    allowance: u64,
    refilled: Duration,
}

/// What the network thread tells of the commands that it was told of.
#[derive(Clone, Copy, Default)]
pub(super) struct Queue {
    pub outlook: Outlook,
    /// Bytes of the commands that its session has taken.
    pub taken: u64,
}

impl Doors {
    /// A part in a match begins, with these seats.
    pub(super) fn open(&mut self, seats: &[Seat]) {
        self.of = seats.iter().map(|seat| (*seat, Door::default())).collect();
    }

    /// Whether, and when, a command of so many bytes would be executed.
    ///
    /// # Errors
    /// It is not to be issued.
    pub(super) fn admit(
        &mut self,
        (seat, bytes): (Seat, usize),
        now: Duration,
        queue: Queue,
        limits: &Limits,
    ) -> Result<Issued, Refused> {
        let Some(door) = self.of.get_mut(&seat) else {
            return Err(Refused::NotOwnSeat);
        };
        if bytes > limits.command_bytes as usize {
            return Err(Refused::TooLarge {
                bytes: bytes as u32,
                limit: limits.command_bytes,
            });
        }
        door.refill(now, u64::from(limits.commands_per_s));
        if door.waiting >= limits.waiting_commands || door.allowance < COMMAND {
            return Err(Refused::RateLimited);
        }
        let room = limits.turn_bytes();
        let (outlook, limit) = (queue.outlook, BATCHES * room);
        let waiting = u64::from(outlook.waiting) + self.told.saturating_sub(queue.taken);
        let waiting = u32::try_from(waiting).unwrap_or(u32::MAX);
        let with_this = waiting.saturating_add(room_of(bytes));
        if with_this > limit {
            return Err(Refused::Backlog {
                bytes: waiting,
                limit,
            });
        }
        Ok(Issued {
            id: CommandId {
                seat,
                number: door.issued,
            },
            turn: outlook.turn_of(with_this, room),
        })
    }

    /// The network thread was told of an admitted command of a seat.
    pub(super) fn pass(&mut self, (seat, bytes): (Seat, usize)) {
        if let Some(door) = self.of.get_mut(&seat) {
            door.allowance -= COMMAND;
            door.issued += 1;
            door.waiting += 1;
        }
        self.told += u64::from(room_of(bytes));
    }

    /// A command of a seat is executed.
    pub(super) fn executed(&mut self, seat: Seat) {
        if let Some(door) = self.of.get_mut(&seat) {
            door.waiting = door.waiting.saturating_sub(1);
        }
    }
}

impl Door {
    fn refill(&mut self, now: Duration, per_s: u64) {
        let most = BURST * COMMAND * per_s;
        // Longer than a burst lasts earns no more. A limit may be any number.
        let span = (now - self.refilled).min(Duration::from_secs(BURST));
        let earned = span.as_micros() * u128::from(COMMAND * per_s) / 1_000_000;
        self.allowance = match self.issued {
            0 => most,
            _ => (self.allowance + earned as u64).min(most),
        };
        self.refilled = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TurnNumber;

    const SEAT: Seat = Seat(3);

    fn doors() -> Doors {
        let mut doors = Doors::default();
        doors.open(&[SEAT]);
        doors
    }

    fn queue(next: u32, waiting: u32, taken: u64) -> Queue {
        let next = TurnNumber(next);
        let outlook = Outlook { next, waiting };
        Queue { outlook, taken }
    }

    #[test]
    fn commands_beyond_the_next_two_turns_are_refused_by_name() {
        let (mut doors, limits) = (doors(), Limits::default());
        let mut issue = |queue: Queue| {
            let issued = doors.admit((SEAT, 247), Duration::ZERO, queue, &limits);
            if issued.is_ok() {
                doors.pass((SEAT, 247));
            }
            issued.map(|issued| (issued.id.number, issued.turn.0))
        };
        // The network thread has not seen any of them yet.
        let turns: Vec<_> = (0..4).map(|_| issue(queue(10, 0, 0))).collect();
        assert_eq!(turns, [Ok((0, 10)), Ok((1, 10)), Ok((2, 11)), Ok((3, 11))]);
        let refused = Err(Refused::Backlog {
            bytes: 1_000,
            limit: 1_000,
        });
        assert_eq!(issue(queue(10, 0, 0)), refused);
        assert_eq!(issue(queue(10, 1_000, 1_000)), refused, "it has seen all");
        // A batch holds the first two.
        assert_eq!(issue(queue(11, 500, 1_000)), Ok((4, 12)));
    }

    #[test]
    fn any_number_of_commands_a_second_is_a_limit() {
        let mut doors = doors();
        let limits = Limits {
            commands_per_s: u32::MAX,
            ..Limits::default()
        };
        for second in 1..4 {
            let now = Duration::from_secs(second << 30);
            let issued = doors.admit((SEAT, 9), now, queue(4, 0, 0), &limits);
            assert_eq!(issued.map(|issued| issued.turn), Ok(TurnNumber(4)));
            doors.pass((SEAT, 9));
        }
    }

    #[test]
    fn the_largest_command_fits_an_empty_turn() {
        let (mut doors, limits) = (doors(), Limits::default());
        let largest = limits.command_bytes as usize;
        let issued = doors.admit((SEAT, largest), Duration::ZERO, queue(4, 0, 0), &limits);
        assert_eq!(issued.map(|issued| issued.turn), Ok(TurnNumber(4)));
        let large = doors.admit((SEAT, largest + 1), Duration::ZERO, queue(4, 0, 0), &limits);
        assert!(matches!(large, Err(Refused::TooLarge { .. })));
        let other = doors.admit((Seat(1), 1), Duration::ZERO, queue(4, 0, 0), &limits);
        assert_eq!(other, Err(Refused::NotOwnSeat));
    }
}
