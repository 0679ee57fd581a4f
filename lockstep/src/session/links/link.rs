//! One link: the peer at its other end, and how well it carries.

use super::asking::Asking;
use super::board::Neighbour;
use super::copies::{APART, Copies, LONGEST, Measured, backed_off};
use super::uplink::{Trips, Uplink};
use crate::session::wire::TurnPacket;
use crate::{Incarnation, LinkId, PeerId, TurnNumber};
use std::time::Duration;

/// One link of a session.
pub(crate) struct Link {
    pub id: LinkId,
    /// The peer that the transport says it leads to.
    pub expected: Option<PeerId>,
    pub dialled: bool,
    /// The other side's address as seen from here.
    pub address: String,
    pub binding: [u8; 32],
    pub own_nonce: [u8; 32],
    pub their_nonce: Option<[u8; 32]>,
    /// The peer that proved to be at the other end, with its run.
    pub proved: Option<(PeerId, Incarnation)>,
    /// Where that peer stands in the match's roster, once it was looked up.
    pub place: Option<usize>,
    pub up_at: Duration,
    /// The round trip of the newest probe, before there are turns to measure it by.
    pub probed: Option<Duration>,
    pub heard_at: Duration,
    /// This peer has asked for the match on it.
    pub asked: bool,
    /// It leads to a guest of this peer's lobby.
    pub admitted: bool,
    /// Its other end has told of a branch that it plays.
    pub plays_branch: bool,
    /// Control messages taken so far.
    pub messages: u64,
    /// Signatures that came on it and do not hold for any run of a peer's process that this peer knows of.
    pub strange: u32,
    /// The epoch that the other end was last heard to be in, once it has told.
    pub epoch: Option<u32>,
    /// What both ends know of the board.
    pub board: Neighbour,
    pub quality: Quality,
}

impl Link {
    /// Whether one more control message now is within what any correct peer sends.
    pub(crate) fn takes_message(&mut self, now: Duration) -> bool {
        self.messages += 1;
        let allowed = MESSAGES_AT_ONCE + now.saturating_sub(self.up_at).as_secs() * MESSAGES_PER_S;
        self.messages <= allowed
    }

    /// Whether a signature that does not hold may still be that of a run that only the other end knows.
    pub(crate) fn takes_strange(&mut self) -> bool {
        self.strange += 1;
        self.strange <= STRANGE
    }
}

/// Signatures on one link that may be of runs of processes that this peer does not know: of epochs before or to come.
const STRANGE: u32 = 64;
/// Bounds on the control messages of one link.
const MESSAGES_AT_ONCE: u64 = 256;
const MESSAGES_PER_S: u64 = 16;

/// How well a link carries turn packets, both ways.
pub(crate) struct Quality {
    /// Smoothed round trip; `None` before the first echo.
    pub rtt: Option<Duration>,
    /// Its mean deviation.
    jitter: Duration,
    pub trips: Trips,
    /// When the newest echo came.
    echoed_at: Duration,
    /// Number of the next packet to send.
    pub sequence: u32,
    /// Apart: links are gone through with every input, and this is most of what is known of one.
    sent_at: Box<[Option<Sent>; SENT]>,
    newest: Option<(u32, Duration)>,
    received: u64,
    /// Packets that the other side reported missing among its last 64.
    pub reported_missing: u8,
    /// The same over a longer time, in [`LOST_PARTS`] of a packet.
    reported_lost: u32,
    /// Packets that reported it.
    reports: u32,
    /// What the other side holds, by roster index.
    pub held: Vec<TurnNumber>,
    /// What this side holds, as the last packet told that left here.
    pub told: Vec<TurnNumber>,
    /// The peers that the other side hears directly.
    pub heard: u16,
    /// Own batches on their way.
    pub copies: Copies,
    /// Batches of the peer at the other end that should have come.
    pub asking: Asking,
    /// By roster index, what has left here of each peer's batches.
    passed: Vec<Passed>,
    pub last_sent: Option<Duration>,
    /// When an acknowledgement must have left.
    pub acknowledge_by: Option<Duration>,
    /// Nothing leaves before: more was to leave than may.
    pub blocked_until: Duration,
    /// Bytes that have left.
    pub bytes: u64,
    /// Bytes that may be sent now.
    pub allowance: u32,
    pub allowance_at: Duration,
    pub lossy_since: Option<Duration>,
}

/// A packet that has left.
#[derive(Clone, Copy)]
struct Sent {
    sequence: u32,
    at: Duration,
    /// The bytes that it waited for, in its peer's way out.
    ahead: u32,
}

/// What has left on a link of one peer's batches.
#[derive(Clone, Copy, Default)]
struct Passed {
    /// The batch of this turn, and those of later ones, have never left here.
    until: TurnNumber,
    /// When the batch before that first left.
    left_at: Duration,
    /// When one last left.
    last: Duration,
    /// How often what had left has left again since the other side told of more.
    again: u32,
    /// The other side had no quicker way to that batch: it was acknowledged no sooner than by what left here.
    is_needed: bool,
}

const SENT: usize = 64;
/// Losses are a mean of about so many reports: more and more of them, so that chance does not hide them for a while.
const FEWEST_REPORTS: u64 = 256;
const MOST_REPORTS: u64 = 1_024;
/// Losses over a longer time are kept in such parts of a packet.
const LOST_PARTS: u32 = 1 << 16;
/// So many packets of 64 may be missing on a link that seldom loses one.
const MISSING_BY_CHANCE: u8 = 3;
/// Time between two copies of what is late.
pub(crate) const PULSE: Duration = Duration::from_millis(25);
/// Packets of 64 that are taken to be lost until more is known.
const UNKNOWN_LOST: u32 = 2;
/// The round trip until one is measured.
const UNKNOWN: Duration = Duration::from_millis(30);
/// A round trip of longer ago says nothing of a link: it may carry packets one way alone.
const FRESH: Duration = Duration::from_secs(1);

/// Where more packets of 64 are missing, copies may feed what they fight.
const LOSSY: u8 = 12;
/// Packets that wait for each other take at least so much longer, and half as long again.
const CONGESTED: Duration = Duration::from_millis(100);
/// Packets that leave before the first echo as on any link.
const UNKNOWN_FOR: u32 = 8;

/// Sustained and burst bounds on turn packets of one link.
const BYTES_PER_S: u64 = 48_000;
const BURST_BYTES: u32 = 16_000;

impl Quality {
    pub(crate) fn new(now: Duration) -> Self {
        Quality {
            rtt: None,
            jitter: Duration::ZERO,
            trips: Trips::default(),
            echoed_at: now,
            sequence: 0,
            sent_at: Box::new([None; SENT]),
            newest: None,
            received: 0,
            reported_missing: 0,
            reported_lost: UNKNOWN_LOST * LOST_PARTS,
            reports: 0,
            held: Vec::new(),
            told: Vec::new(),
            heard: 0,
            copies: Copies::default(),
            asking: Asking::default(),
            passed: Vec::new(),
            last_sent: None,
            acknowledge_by: None,
            blocked_until: Duration::ZERO,
            bytes: 0,
            allowance: BURST_BYTES,
            allowance_at: now,
            lossy_since: None,
        }
    }

    /// The round trip, where the other side still hears this one by the link.
    pub(crate) fn fresh_rtt(&self, now: Duration) -> Option<Duration> {
        self.rtt.filter(|_| now <= self.echoed_at + FRESH)
    }

    /// Takes note of a packet; false where it is a duplicate or older than 64 packets.
    pub(crate) fn received(&mut self, now: Duration, packet: &TurnPacket) -> bool {
        match self.newest {
            None => self.received = 1,
            Some((newest, _)) if packet.sequence > newest => {
                let step = packet.sequence - newest;
                self.received = self.received.checked_shl(step).unwrap_or(0) | 1;
            }
            Some((newest, _)) => {
                let bit = 1u64.checked_shl(newest - packet.sequence).unwrap_or(0);
                if bit == 0 || self.received & bit != 0 {
                    return false;
                }
                self.received |= bit;
            }
        }
        if self
            .newest
            .is_none_or(|(newest, _)| packet.sequence > newest)
        {
            self.newest = Some((packet.sequence, now));
        }
        if let Some((sequence, age_ms)) = packet.echo {
            let sent = self.sent_at[sequence as usize % SENT];
            if let Some(sent) = sent.filter(|sent| sent.sequence == sequence) {
                let sample = now
                    .saturating_sub(sent.at)
                    .saturating_sub(Duration::from_millis(u64::from(age_ms)));
                let before = self.rtt.unwrap_or(sample);
                self.jitter = (self.jitter * 3 + before.abs_diff(sample)) / 4;
                self.rtt = Some((before * 7 + sample) / 8);
                self.trips.note(now, sent.ahead, sample);
                self.echoed_at = now;
            }
        }
        self.reported_missing = packet.missing;
        let missing = u32::from(packet.missing) * LOST_PARTS;
        self.reports = self.reports.saturating_add(1);
        let of = u64::from(self.reports).clamp(FEWEST_REPORTS, MOST_REPORTS);
        let lost = (u64::from(self.reported_lost) * (of - 1) + u64::from(missing)) / of;
        self.reported_lost = lost as u32;
        if self.held.len() != packet.held.len() {
            self.held = packet.held.clone();
        }
        // A packet that was overtaken must not take back what a newer one acknowledged.
        let return_trip = self.rtt.unwrap_or_default() * 3 / 4;
        for (at, told) in packet.held.iter().enumerate() {
            let before = self.held[at];
            self.held[at] = before.max(*told);
            if let Some(passed) = self.passed.get_mut(at) {
                if before < *told {
                    passed.again = 0;
                }
                let is_news = before < passed.until && *told >= passed.until;
                let sooner = now < passed.left_at + return_trip;
                passed.is_needed = match is_news {
                    true => *told == passed.until && !sooner,
                    false => passed.is_needed && *told <= passed.until,
                };
            }
        }
        self.heard = packet.heard;
        let lossy = self.loss_per_64() > LOSSY;
        self.lossy_since = if lossy {
            self.lossy_since.or(Some(now))
        } else {
            None
        };
        true
    }

    /// When the other side last told what it holds.
    pub(crate) fn told_at(&self) -> Option<Duration> {
        Some(self.newest?.1)
    }

    /// Packets missing among the last 64 of the other side, the newest 4 left out: they may still come.
    pub(crate) fn missing(&self) -> u8 {
        let Some((newest, _)) = self.newest else {
            return 0;
        };
        let known = u64::from(newest).min(63);
        let window = (u64::MAX >> (63 - known)) & !0xf;
        (window & !self.received).count_ones() as u8
    }

    /// Packets that do not arrive at the other side, of 64, in 256ths of one: over a while, or more where many are missing
    /// of late.
    fn lost(&self) -> u32 {
        let of_late = u32::from(self.reported_missing.saturating_sub(MISSING_BY_CHANCE));
        let for_a_while = self.reported_lost / (LOST_PARTS / 256);
        for_a_while.max(of_late * 256)
    }

    /// The worse of what both sides miss.
    pub(crate) fn loss_per_64(&self) -> u8 {
        self.missing().max(self.reported_missing)
    }

    pub(crate) fn echo(&self, now: Duration) -> Option<(u32, u16)> {
        let (sequence, at) = self.newest?;
        let age = u16::try_from(now.saturating_sub(at).as_millis()).ok()?;
        Some((sequence, age))
    }

    /// Numbers a packet of `bytes` bytes that leaves now.
    pub(crate) fn sent(&mut self, now: Duration, bytes: usize, uplink: &mut Uplink) {
        self.sent_at[self.sequence as usize % SENT] = Some(Sent {
            sequence: self.sequence,
            at: now,
            ahead: uplink.sent(now, bytes),
        });
        self.sequence += 1;
        self.last_sent = Some(now);
        self.acknowledge_by = None;
        self.bytes += bytes as u64;
        self.allowance = self.allowance.saturating_sub(bytes as u32);
    }

    /// Whether `bytes` more may be sent now.
    pub(crate) fn allows(&mut self, now: Duration, bytes: usize) -> bool {
        if self.earned(now) > 0 {
            self.allowance = self.allowance_now(now);
            self.allowance_at = now;
        }
        self.allowance as usize >= bytes
    }

    fn earned(&self, now: Duration) -> u64 {
        let passed_us = now.saturating_sub(self.allowance_at).as_micros() as u64;
        passed_us.saturating_mul(BYTES_PER_S) / 1_000_000
    }

    fn allowance_now(&self, now: Duration) -> u32 {
        let total = u64::from(self.allowance).saturating_add(self.earned(now));
        total.min(u64::from(BURST_BYTES)) as u32
    }

    /// Whether so little may be sent that copies wait for an acknowledgement.
    pub(crate) fn is_short(&self, now: Duration) -> bool {
        self.allowance_now(now) < BURST_BYTES / 2 || self.is_congested()
    }

    /// Whether many packets are lost because they wait for each other: those that come take much longer than they could.
    fn is_congested(&self) -> bool {
        let Some((rtt, least)) = self.rtt.zip(self.trips.least()) else {
            return self.sequence > UNKNOWN_FOR;
        };
        self.reported_missing > LOSSY && rtt > least * 3 / 2 + CONGESTED
    }

    /// The first turn of the peer at this place in the roster of which the other side was not told that it has come.
    pub(crate) fn told_of(&self, at: usize) -> u32 {
        self.told.get(at).map_or(0, |told| told.0)
    }

    /// The first turn of the peer at this place in the roster whose batch has never left here.
    pub(crate) fn sent_until(&self, at: usize) -> u32 {
        self.passed.get(at).map_or(0, |passed| passed.until.0)
    }

    /// When batches of the peer at this place in the roster that have left here leave again, if none is acknowledged. Where
    /// losses are not seldom, that is sooner than one could be. Each time it is after twice as long.
    pub(crate) fn passed_again_at(&self, at: usize, measured: &Measured) -> Duration {
        let first = match measured.loses_seldom() || measured.is_short {
            true => measured.acknowledged_within().max(PULSE),
            false => measured.pulse,
        };
        let of = self.passed.get(at).copied().unwrap_or_default();
        of.last + backed_off(first, of.again, LONGEST)
    }

    /// Whether the other side had no quicker way than this link to what left here last of that peer.
    pub(crate) fn is_needed_for(&self, at: usize) -> bool {
        self.passed.get(at).is_some_and(|passed| passed.is_needed)
    }

    /// The other side is heard again: what left in the meantime may be lost.
    pub(crate) fn returned(&mut self, now: Duration, measured: &Measured) {
        self.copies.returned(now, measured);
        self.passed.iter_mut().for_each(|passed| passed.again = 0);
    }

    /// The batch of a turn of the peer at this place in the roster of `peers` leaves.
    pub(crate) fn note_sent(&mut self, at: usize, turn: TurnNumber, peers: usize, now: Duration) {
        self.passed.resize(peers, Passed::default());
        let passed = &mut self.passed[at];
        let is_again = passed.until > turn;
        // What leaves for the first time puts nothing off that is to leave again.
        let held = self.held.get(at).copied().unwrap_or_default();
        if is_again || held >= passed.until {
            passed.again += u32::from(is_again && passed.last < now);
            passed.last = now;
        }
        if passed.until <= turn {
            (passed.until, passed.left_at) = (turn.next(), now);
        }
    }

    /// Whether the last packet from here may be lost, where the other side waits for what it would tell: it left long ago.
    pub(crate) fn may_have_lost_an_answer(&self, now: Duration) -> bool {
        let rtt = self.rtt.unwrap_or_default();
        self.last_sent.is_none_or(|at| at + rtt <= now)
    }

    /// What copies follow.
    pub(crate) fn measured(&self, now: Duration, turn: Duration) -> Measured {
        let pulse = self.pulse(now);
        Measured {
            rtt: self.rtt.unwrap_or(UNKNOWN),
            jitter: self.jitter,
            lost: self.lost(),
            pulse,
            apart: if pulse > PULSE { pulse } else { APART },
            turn,
            is_short: self.is_short(now),
        }
    }

    /// Time from one copy of a late batch to the next. Loss above 20 % for 5 s widens it, so that copies do not feed what
    /// they fight.
    fn pulse(&self, now: Duration) -> Duration {
        match self.lossy_since {
            Some(since) if now.saturating_sub(since) > Duration::from_secs(15) => PULSE * 3,
            Some(since) if now.saturating_sub(since) > Duration::from_secs(5) => PULSE * 2,
            _ => PULSE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(sequence: u32) -> TurnPacket {
        TurnPacket {
            sequence,
            ..TurnPacket::default()
        }
    }

    #[test]
    fn loss_is_counted_and_duplicates_are_not_fresh() {
        let mut quality = Quality::new(Duration::ZERO);
        for sequence in (0..60).filter(|sequence| sequence % 10 != 3) {
            assert!(quality.received(Duration::ZERO, &packet(sequence)));
        }
        assert_eq!(quality.missing(), 6);
        assert!(!quality.received(Duration::ZERO, &packet(59)));
        assert!(
            quality.received(Duration::ZERO, &packet(53)),
            "overtaken, not doubled"
        );
        assert_eq!(quality.missing(), 5);
    }

    #[test]
    fn losses_that_go_on_are_measured_and_chance_is_not_taken_for_them() {
        let lost_percent = |missing: &dyn Fn(u32) -> u8| {
            let mut quality = Quality::new(Duration::ZERO);
            for sequence in 0..8_000 {
                let packet = TurnPacket {
                    missing: missing(sequence),
                    ..packet(sequence)
                };
                quality.received(Duration::ZERO, &packet);
            }
            quality.lost() * 100 / (64 * 256)
        };
        assert_eq!(lost_percent(&|at| u8::from(at % 3 > 0) * 2), 2);
        assert_eq!(lost_percent(&|at| u8::from(at % 3 > 0) * 4), 4);
        assert_eq!(lost_percent(&|at| u8::from(at > 7_990) * 3), 0);
        assert_eq!(lost_percent(&|at| u8::from(at > 7_990) * 13), 15, "of late");
    }

    #[test]
    fn an_overtaken_packet_takes_nothing_back() {
        let mut quality = Quality::new(Duration::ZERO);
        let held = |turn| vec![TurnNumber(turn)];
        quality.received(
            Duration::ZERO,
            &TurnPacket {
                held: held(9),
                ..packet(5)
            },
        );
        quality.received(
            Duration::ZERO,
            &TurnPacket {
                held: held(7),
                ..packet(4)
            },
        );
        assert_eq!(quality.held, held(9));
    }

    #[test]
    fn a_round_trip_is_known_while_the_other_side_hears_this_one() {
        let mut quality = Quality::new(Duration::ZERO);
        let ms = Duration::from_millis;
        assert_eq!(quality.fresh_rtt(ms(0)), None);
        quality.sequence = 7;
        quality.sent(ms(0), 100, &mut Uplink::default());
        let echo = TurnPacket {
            echo: Some((7, 20)),
            ..packet(1)
        };
        assert!(quality.received(ms(100), &echo));
        assert_eq!(quality.fresh_rtt(ms(1_100)), Some(ms(80)));
        assert_eq!(quality.fresh_rtt(ms(1_101)), None);
    }

    #[test]
    fn a_link_is_needed_while_no_other_way_is_quicker() {
        let mut quality = Quality::new(Duration::ZERO);
        quality.rtt = Some(Duration::from_millis(100));
        let ms = Duration::from_millis;
        let acknowledge = |quality: &mut Quality, turn, at| {
            let held = vec![TurnNumber(0), TurnNumber(turn)];
            let sequence = turn * 10 + 1;
            quality.received(
                ms(at),
                &TurnPacket {
                    held,
                    ..packet(sequence)
                },
            );
            quality.is_needed_for(1)
        };
        assert!(!acknowledge(&mut quality, 5, 0), "nothing has left here");
        quality.note_sent(1, TurnNumber(5), 2, ms(1_000));
        assert!(acknowledge(&mut quality, 6, 1_100));
        quality.note_sent(1, TurnNumber(6), 2, ms(2_000));
        assert!(quality.is_needed_for(1), "until more is known");
        assert!(
            !acknowledge(&mut quality, 7, 2_070),
            "sooner than by this link"
        );
        quality.note_sent(1, TurnNumber(7), 2, ms(3_000));
        assert!(acknowledge(&mut quality, 8, 3_100));
        assert!(
            !acknowledge(&mut quality, 9, 3_200),
            "a batch that has not left here"
        );
    }

    #[test]
    fn copies_wait_for_an_acknowledgement_on_a_narrow_link() {
        let mut quality = Quality::new(Duration::ZERO);
        let lossy = TurnPacket {
            missing: 20,
            ..packet(1)
        };
        assert!(quality.received(Duration::ZERO, &lossy));
        quality.rtt = Some(Duration::from_millis(80));
        quality
            .trips
            .note(Duration::ZERO, 0, Duration::from_millis(80));
        let (now, later) = (Duration::from_secs(1), Duration::from_secs(2));
        let again = |quality: &Quality, at| {
            quality.passed_again_at(0, &quality.measured(at, Duration::ZERO))
        };
        assert_eq!(again(&quality, now), PULSE);
        while quality.allows(now, 1_000) && !quality.is_short(now) {
            quality.sent(now, 1_000, &mut Uplink::default());
        }
        assert!(quality.is_short(now));
        assert_eq!(again(&quality, now), Duration::from_millis(86));
        assert!(!quality.is_short(later));
        assert_eq!(again(&quality, later), PULSE);
    }

    #[test]
    fn bytes_are_bounded() {
        let mut quality = Quality::new(Duration::ZERO);
        let mut sent = 0;
        for ms in 0..10_000 {
            let now = Duration::from_millis(ms);
            while quality.allows(now, 1_000) {
                quality.sent(now, 1_000, &mut Uplink::default());
                sent += 1_000;
            }
        }
        assert!(sent <= 10 * BYTES_PER_S + u64::from(BURST_BYTES), "{sent}");
    }
}
