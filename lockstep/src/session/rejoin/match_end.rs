//! The end of a match that a joiner follows and has no part in: it learns it from members that sign it, before they go.

use crate::limits::MOST_ENDS;
use crate::log::{AttestedLog, Document, End, Head, Peers, RosterPeer};
use crate::sign::Signer;
use crate::{Desync, DesyncSide, Fault, TurnNumber};
use sim::Checksum;
use std::collections::BTreeMap;
use std::time::Duration;

/// Once a quorum has signed the end, the others have so long to: members wait for each other longer.
const SIGNED_WITHIN: Duration = Duration::from_secs(1);

/// What members have signed of the end.
pub(crate) struct MatchEnd {
    /// By place in the roster, the ends that each peer signed. One of turns that were taken back may come last: others pass
    /// them on in any order.
    signed: BTreeMap<u8, Vec<(End, [u8; 64])>>,
    /// Since when a quorum has signed an end that the log has come to.
    since: Option<Duration>,
}

/// How it stands with the end.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Settled {
    /// No quorum has signed it, or the log has not come to it.
    Open,
    /// Other members have time to sign it, too.
    Waits,
    /// It is over, with these signatures: only the world has to come to it.
    Over(End),
}

impl MatchEnd {
    pub(crate) fn new() -> Self {
        MatchEnd {
            signed: BTreeMap::new(),
            since: None,
        }
    }

    /// Takes what a member, at this place of the roster, has signed of the end, beside what it signed before. Whether that
    /// is new.
    ///
    /// # Errors
    /// There is no such place, or the signature is not its peer's.
    pub(crate) fn hear(
        &mut self,
        (at, end, signature): (u8, End, [u8; 64]),
        roster: &[RosterPeer],
        signer: &dyn Signer,
    ) -> Result<bool, Fault> {
        let place = roster.get(usize::from(at)).ok_or(Fault::OutOfPlace)?;
        let known = self.signed.get(&at).map_or(&[][..], Vec::as_slice);
        if known.len() == MOST_ENDS || known.iter().any(|(known, _)| *known == end) {
            return Ok(false);
        }
        let signed = (&end).with(signature);
        if !signed.is_by(place.peer, signer.verifier()) {
            return Err(Fault::Signature);
        }
        self.signed.entry(at).or_default().push((end, signature));
        Ok(true)
    }

    /// All that is signed. An end attests the log up to there: of the last turns no batch tells.
    pub(crate) fn signed(&self) -> impl Iterator<Item = (u8, &End)> {
        let signed = self.signed.iter();
        signed.flat_map(|(at, ends)| ends.iter().map(|(end, _)| (*at, end)))
    }

    /// The ends that a quorum of the log's last roster has signed alike.
    fn by_quorum<'a>(&'a self, head: &'a Head) -> impl Iterator<Item = &'a End> {
        let ends = self.signed().map(|(_, end)| end);
        ends.filter(|end| head.is_quorum(self.signers(end)))
    }

    /// The end that a quorum of the log's last roster has signed alike, where the log does not go on otherwise.
    pub(crate) fn of_quorum<'a>(&'a self, log: &'a AttestedLog) -> Option<&'a End> {
        let mut ends = self.by_quorum(log.ahead());
        ends.find(|end| {
            let here = log.verified().hash_after(end.turns);
            here.is_none_or(|here| here == end.log_hash)
        })
    }

    /// Whether a quorum has signed an end behind this cut: a joiner that is admitted there might not learn the end.
    pub(crate) fn is_behind(&self, cut: u32, log: &AttestedLog) -> bool {
        self.of_quorum(log).is_some_and(|end| end.turns > cut)
    }

    /// Looks whether the match is over, once the log is here up to an end that a quorum has signed. `alone`: there is no
    /// link by which another signature could come.
    pub(crate) fn settle(&mut self, now: Duration, log: &AttestedLog, alone: bool) -> Settled {
        let here = |end: &&End| {
            let same = log.verified().hash_after(end.turns) == Some(end.log_hash);
            same && log.confirmed().turns() >= end.turns
        };
        let head = log.ahead();
        let Some(end) = self.by_quorum(head).find(here).cloned() else {
            return Settled::Open;
        };
        let since = *self.since.get_or_insert(now);
        let all = head.roster().is_within(self.signers(&end));
        if !all && now < since + SIGNED_WITHIN && !alone {
            return Settled::Waits;
        }
        let signed = self.signed.iter().filter_map(|(at, ends)| {
            let (_, by) = ends.iter().find(|(told, _)| *told == end)?;
            Some((*at, *by))
        });
        let signatures = signed.collect();
        Settled::Over(End { signatures, ..end })
    }

    /// Until when other members have time to sign.
    pub(crate) fn deadline(&self, now: Duration) -> Option<Duration> {
        let at = self.since? + SIGNED_WITHIN;
        (at > now).then_some(at)
    }

    /// The joiner's world, at this place, differs from that of the peers that signed the end.
    pub(crate) fn desync(
        &self,
        end: &End,
        roster: &[RosterPeer],
        me: u8,
        checksum: Checksum,
    ) -> Desync {
        let side = |(at, place): (usize, &RosterPeer)| {
            let at = at as u8;
            let mut signed = self.signed.get(&at).into_iter().flatten();
            let signed = signed.find(|(told, _)| told.log_hash == end.log_hash);
            let signed = signed.map(|(told, _)| told.checksum);
            Some(DesyncSide {
                seat: place.seats.first().copied()?,
                peer: place.peer,
                own: at == me,
                checksum: if at == me { checksum } else { signed? },
                log_hash: None,
            })
        };
        let reports: Vec<DesyncSide> = roster.iter().enumerate().filter_map(side).collect();
        let minority = reports.iter().filter(|side| side.checksum != end.checksum);
        Desync {
            turn: TurnNumber(end.turns.saturating_sub(1)),
            minority: minority.map(|side| side.peer).collect(),
            reports,
            goes_on: false,
            report: None,
        }
    }

    fn signers(&self, end: &End) -> Peers {
        let alike = self.signed().filter(|(_, told)| *told == end);
        alike.map(|(at, _)| at).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LogHash;
    use crate::log::fixture::{signer, start, turns};

    const TURNS: u32 = 10;

    fn log(turns_here: u32) -> AttestedLog {
        AttestedLog::new(start(3), turns(turns_here), &signer(2))
    }

    fn end() -> End {
        End {
            turns: TURNS,
            log_hash: log(TURNS).ahead().hash(),
            checksum: Checksum(7),
            outcome: None,
            signatures: Vec::new(),
        }
    }

    fn hear(ends: &mut MatchEnd, peer: u8, end: End) -> Result<bool, Fault> {
        let signature = end.sign(&signer(peer));
        ends.hear((peer, end, signature), &start(3).roster, &signer(2))
    }

    #[test]
    fn an_end_counts_once_a_quorum_has_signed_it_and_the_log_is_here() {
        let mut ends = MatchEnd::new();
        let at = Duration::from_secs;
        assert_eq!(hear(&mut ends, 0, end()), Ok(true));
        assert_eq!(hear(&mut ends, 0, end()), Ok(false));
        assert_eq!(ends.settle(at(1), &log(TURNS), false), Settled::Open);
        assert_eq!(hear(&mut ends, 1, end()), Ok(true));
        let earlier = log(TURNS - 1);
        assert_eq!(ends.settle(at(1), &earlier, false), Settled::Open);
        assert!(ends.is_behind(TURNS - 1, &earlier));
        assert!(!ends.is_behind(TURNS, &earlier));
        assert_eq!(ends.settle(at(2), &log(TURNS), false), Settled::Waits);
        assert_eq!(ends.deadline(at(2)), Some(at(3)));
        let over = ends.settle(at(3), &log(TURNS), false);
        let Settled::Over(over) = over else {
            panic!("{over:?}");
        };
        let signers: Vec<u8> = over.signatures.iter().map(|(at, _)| *at).collect();
        assert_eq!(signers, [0, 1]);
    }

    #[test]
    fn an_end_counts_whichever_end_of_turns_taken_back_is_told_beside_it() {
        let stale = |turns| End {
            turns,
            log_hash: LogHash([8; 16]),
            ..end()
        };
        // The stale one is in the log's way, or behind it.
        for stale in [stale(TURNS - 1), stale(TURNS + 1)] {
            for told in [[&stale, &end()], [&end(), &stale]] {
                let mut ends = MatchEnd::new();
                for (peer, end) in (0..2).flat_map(|peer| told.map(|end| (peer, end))) {
                    assert_eq!(hear(&mut ends, peer, end.clone()), Ok(true));
                }
                let settled = ends.settle(Duration::ZERO, &log(TURNS), true);
                let Settled::Over(over) = settled else {
                    panic!("{settled:?}: {told:?}");
                };
                assert_eq!((over.turns, over.signatures.len()), (TURNS, 2));
                let desync = ends.desync(&end(), &start(3).roster, 2, Checksum(8));
                assert_eq!(desync.reports.len(), 3);
            }
        }
    }

    #[test]
    fn a_contradicted_end_keeps_no_joiner_out() {
        let mut ends = MatchEnd::new();
        let stale = End {
            log_hash: LogHash([8; 16]),
            ..end()
        };
        for peer in 0..2 {
            assert_eq!(hear(&mut ends, peer, stale.clone()), Ok(true));
        }
        assert!(ends.is_behind(TURNS - 1, &log(TURNS - 1)));
        assert!(!ends.is_behind(TURNS - 1, &log(TURNS)));
    }

    #[test]
    fn ends_of_a_peer_that_signs_ever_new_ones_fill_no_memory() {
        let mut ends = MatchEnd::new();
        for turns in 0..100 {
            let news = hear(&mut ends, 0, End { turns, ..end() });
            assert_eq!(news, Ok((turns as usize) < MOST_ENDS));
        }
        assert_eq!(ends.signed().count(), MOST_ENDS);
    }

    #[test]
    fn no_more_signatures_are_waited_for_where_none_can_come() {
        for (signers, alone) in [(3, false), (2, true)] {
            let mut ends = MatchEnd::new();
            for peer in 0..signers {
                hear(&mut ends, peer, end()).expect("a signature that holds");
            }
            let settled = ends.settle(Duration::ZERO, &log(TURNS), alone);
            assert!(matches!(settled, Settled::Over(_)), "{settled:?}");
        }
    }

    #[test]
    fn a_signature_of_another_peer_counts_for_none() {
        let mut ends = MatchEnd::new();
        let (roster, signature) = (&start(3).roster, end().sign(&signer(1)));
        let told = |at| (at, end(), signature);
        assert_eq!(
            ends.hear(told(0), roster, &signer(2)),
            Err(Fault::Signature)
        );
        assert_eq!(
            ends.hear(told(3), roster, &signer(2)),
            Err(Fault::OutOfPlace)
        );
        assert_eq!(ends.signed().count(), 0);
    }

    #[test]
    fn a_world_that_differs_at_the_end_is_told_with_those_of_others() {
        let mut ends = MatchEnd::new();
        hear(&mut ends, 0, end()).expect("a signature that holds");
        let desync = ends.desync(&end(), &start(3).roster, 2, Checksum(8));
        let told: Vec<(bool, Checksum)> = desync
            .reports
            .iter()
            .map(|side| (side.own, side.checksum))
            .collect();
        assert_eq!(told, [(false, Checksum(7)), (true, Checksum(8))]);
        assert_eq!(desync.minority, [start(3).roster[2].peer]);
    }
}
