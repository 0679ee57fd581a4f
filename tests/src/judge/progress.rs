//! L1 and the agreed end: what must have happened by the end of a run.

use super::{Invariant, Judge, PeerFile};
use crate::simulator::{Playable, SUSPICION};
use lockstep::log::{PauseBudget, What};
use lockstep::{EndReason, JoinRefused};
use std::collections::BTreeSet;
use std::time::Duration;

/// Time from the end of all faults until turns must advance again.
const RECOVERY: Duration = Duration::from_secs(2);

/// A roster change that was begun while faults went on, and came to nothing by them, is begun anew after so long.
const ANEW: Duration = Duration::from_secs(1);

/// Time within which a peer that begins anew is in the match again.
const RETURN: Duration = Duration::from_secs(6);

/// Who has held the others up for the second time may come back after so long.
const KEPT_OUT: Duration = Duration::from_secs(60);

/// What a quorum's votes add to the suspicion time.
const WAIT: Duration = Duration::from_secs(30);

/// Who leaves waits for so long, less what its clock may be too fast, for the others to agree to go on without it.
const LEAVE_WAIT: Duration = Duration::from_millis(4_990);

/// An agreement takes so many one-way delays, and pulses.
const AGREEMENT: u32 = 4;
const PULSES: Duration = Duration::from_millis(75);

/// Turns over which their rate is measured.
const MEASURED_TURNS: u32 = 20;

impl<W: Playable> Judge<W> {
    /// The run is over: checks what needs the whole of it.
    pub fn finish(&mut self) {
        self.check_reopened();
        self.check_progress();
        self.check_returns();
        self.check_ends();
        self.check_commands_accounted();
        self.check_logs();
        self.check_two_faced();
        self.check_liar();
    }

    fn check_progress(&mut self) {
        let Some(cleared_at) = self.healed_at else {
            return;
        };
        // Somebody who disturbs may hold the match up; the honest ones only promise not to be harmed.
        if self.hostile.is_some() || self.may_lose_quorum || self.was_abandoned() {
            return;
        }
        // Whoever comes back holds the others up once, for a moment.
        let backs = self.peers.iter().filter_map(|file| file.back);
        let healed_at = backs.fold(self.deaths_over_at(cleared_at), Duration::max);
        // So does whoever goes for its world.
        let desyncs = || self.peers.iter().filter_map(|file| file.desync.as_ref());
        let went_on = desyncs().filter(|(_, desync)| desync.goes_on);
        let healed_at = went_on.map(|(at, _)| *at).fold(healed_at, Duration::max);
        let due = healed_at + RECOVERY * self.links_between().saturating_sub(1).max(1);
        // What was begun just before the weather cleared may be lost. Or only who begins sees a reason, before it hears what
        // was sent since: the others do once they wait for it, after the command delay.
        let heard_at = cleared_at + self.one_way();
        let mut suspected = self.peers.iter().flat_map(|file| &file.suspected_at);
        let due = match suspected.any(|at| *at <= heard_at && cleared_at <= *at + ANEW) {
            true => due.max(cleared_at + RECOVERY.max(self.turn * self.command_delay) + ANEW),
            false => due,
        };
        let went_on_without = desyncs().filter(|(_, desync)| desync.goes_on).count();
        for peer in 0..self.peers.len() {
            let file = &self.peers[peer];
            let over_at = [
                file.ended.as_ref().map(|(at, _)| *at),
                file.handed.get(self.turn_limit as usize - 1).copied(),
            ];
            let over_at = over_at.into_iter().flatten().min().unwrap_or(self.now);
            let stopped = desyncs().filter(|(_, desync)| !desync.goes_on && went_on_without == 0);
            let over_at = stopped.map(|(at, _)| *at).fold(over_at, Duration::min);
            if over_at < due
                || self.is_forgotten(peer)
                || self.never_heard_of_beginning(peer)
                || file.left
                || file.crashed.is_some()
                || self.is_gone(peer)
            {
                continue;
            }
            let within = |from: Duration, to: Duration| {
                let turns = file.handed.iter().filter(|at| (from..to).contains(at));
                turns.count() as u32
            };
            // What a slow machine has left behind is worked off while the session waits to save the world.
            let works = self.plans.is_slow(peer)
                && file.stepped.iter().any(|at| (healed_at..due).contains(at));
            if within(healed_at, due) == 0 && !works {
                let seen = format!("no turn in time after {healed_at:.1?}");
                self.fail(Some(peer), Invariant::Progress, seen);
                return;
            }
            let until = over_at.min(due + self.turn * MEASURED_TURNS);
            let turns = within(due, until);
            let before = within(Duration::ZERO, due);
            // Turns go at the pace of the slowest: of who lags, by the command delay at most, whose turns may be longer.
            let played = (0..=self.command_delay).map(|lag| {
                let first = before.saturating_sub(lag);
                self.time_before(first + turns + 2) - self.time_before(first)
            });
            let played = played.max().unwrap_or_default();
            let least = (until - due).saturating_sub(self.held_up(due, until)) * 9 / 10;
            if played < least && self.history.len() as u32 >= before + turns + 2 {
                let seen = format!("{turns} turns in {:.1?} after healing", until - due);
                self.fail(Some(peer), Invariant::Progress, seen);
                return;
            }
        }
    }

    /// Links from one of the newest roster to another, the shortest way, for those who are farthest apart. Who is heard
    /// is told to the next peer and no further.
    fn links_between(&self) -> u32 {
        let roster = self.newest_roster();
        let linked = |one: usize, other: usize| one != other && !self.are_unlinked(one, other);
        let farthest = |from: usize| {
            let (mut reached, mut links) = (BTreeSet::from([from]), 0);
            while reached.len() < roster.len() {
                let next = roster.iter().copied();
                let next = next.filter(|to| reached.iter().any(|from| linked(*from, *to)));
                let next: BTreeSet<usize> = next.chain(reached.iter().copied()).collect();
                if next.len() == reached.len() {
                    break;
                }
                (reached, links) = (next, links + 1);
            }
            links
        };
        roster.iter().map(|from| farthest(*from)).max().unwrap_or(0)
    }

    /// Whether there is never a link between these two.
    pub(super) fn are_unlinked(&self, one: usize, other: usize) -> bool {
        let pair = (one.min(other), one.max(other));
        self.unreachable.contains(&pair)
    }

    /// For how long those have held the others up who left in this time, all links being good: until it is agreed to go on
    /// without one of them the others wait once.
    fn held_up(&self, from: Duration, to: Duration) -> Duration {
        let leaves = |file: &&PeerFile| {
            let gone_at = file.ended.as_ref().map_or(to, |(at, _)| *at);
            file.left_at.is_some_and(|at| at < to) && gone_at >= from
        };
        let leavers = self.peers.iter().filter(leaves).count() as u32;
        (self.one_way() * AGREEMENT + PULSES) * leavers
    }

    /// What a message takes at most when the weather has cleared.
    fn one_way(&self) -> Duration {
        self.turn * (self.command_delay - 1) / 4
    }

    /// Whether a peer stood still until the others had ended, and nobody was left to tell it anything.
    fn is_forgotten(&self, peer: usize) -> bool {
        let Some(thawed_at) = self.peers[peer].thawed_at else {
            return false;
        };
        let others = self.peers.iter().enumerate().filter(|(at, _)| *at != peer);
        let mut ends = others.filter_map(|(_, file)| Some(file.ended.as_ref()?.0));
        ends.any(|at| at < thawed_at + RECOVERY)
    }

    /// Whether nothing came through to a peer from when the others found a desync until they had ended by it. Nobody was
    /// left then to tell it anything.
    pub(super) fn was_cut_off(&self, peer: usize) -> bool {
        let begun = self.peers.iter().filter_map(|file| file.started_at).min();
        let begun = begun.unwrap_or_default();
        let dark = |from: usize, at: Duration| {
            let apart = self.are_unlinked(from, peer);
            apart
                || self.cuts.iter().any(|cut| {
                    let from_at = begun + cut.at;
                    cut.lanes.contains(&(from, peer))
                        && (from_at..from_at + cut.lasts).contains(&at)
                })
        };
        let others = self.peers.iter().enumerate().filter(|(at, _)| *at != peer);
        let playing = others.filter(|(_, file)| file.crashed.is_none() && !file.left);
        let mut unheard = playing.map(|(at, file)| match (&file.desync, &file.ended) {
            (Some((found_at, _)), Some((ended_at, _))) => {
                dark(at, *found_at) && dark(at, *ended_at)
            }
            _ => false,
        });
        unheard
            .next()
            .is_some_and(|first| first && unheard.all(|unheard| unheard))
    }

    /// Whether some left while faults went on, had waited for as long as who leaves does wait, and are missed: those who
    /// stayed are no quorum of the newest roster, and could not agree to go on before.
    fn was_abandoned(&self) -> bool {
        let roster = self.newest_roster();
        let gave_up = |file: &PeerFile| match (file.left_at, &file.ended) {
            (Some(left_at), Some((at, ended))) => {
                let disturbed = self.healed_at.is_none_or(|healed_at| *at < healed_at);
                // Where those who are left are no quorum it waits for nothing.
                let waits = LEAVE_WAIT + self.turn * self.command_delay;
                let waited = file.lacks_quorum || *at >= left_at + waits;
                ended.reason == EndReason::Left && waited && disturbed
            }
            _ => false,
        };
        let stays = |peer: &usize| {
            let file = &self.peers[*peer];
            file.ended
                .as_ref()
                .is_none_or(|(_, ended)| ended.reason != EndReason::Left)
                && file.crashed.is_none()
        };
        let stay = roster.iter().filter(|peer| stays(peer)).count();
        let first = roster.first().is_some_and(stays);
        roster.iter().any(|peer| gave_up(&self.peers[*peer]))
            && (2 * stay < roster.len() || 2 * stay == roster.len() && !first)
    }

    /// A death is a fault that ends when it must be suspected, and so is who gave the match up, or left while others stood
    /// still; who stands still is none any more when it goes on.
    fn deaths_over_at(&self, healed_at: Duration) -> Duration {
        let thawed = self.peers.iter().filter_map(|file| file.thawed_at);
        let healed_at = thawed.fold(healed_at, Duration::max);
        // That all die is a fault that ends when they go on.
        let healed_at = healed_at.max(self.reopened_at.unwrap_or_default());
        // Who did not live through the silence begins to wait anew, and may be the one that must begin.
        let waits_from = |at: Duration| {
            let noticed = at + SUSPICION + RECOVERY;
            let gaps = self.gaps.iter();
            let within = gaps.filter(|(from, to)| *from < noticed && *to >= at);
            within.fold(at, |at, (_, to)| at.max(*to))
        };
        let deaths = self.peers.iter().filter_map(|file| file.crashed);
        let files = self.peers.iter().enumerate();
        let ends = files.filter_map(|(peer, file)| Some((peer, file.ended.as_ref()?)));
        let went = ends.filter(|(peer, (at, ended))| match ended.reason {
            EndReason::Left => waits_from(*at) > *at || self.was_taken_for_lost(*peer),
            EndReason::StallLimit { .. } => true,
            _ => false,
        });
        let over = deaths.chain(went.map(|(_, (at, _))| *at));
        let over = over.map(|at| match self.patient {
            // Players may vote as late as when faults have ended.
            true => at.max(healed_at) + SUSPICION + WAIT,
            false => waits_from(at) + SUSPICION,
        });
        over.fold(healed_at, Duration::max)
    }

    /// Whether the others went on without a peer and did not know that it had left: no turn was complete after which it
    /// could have said so.
    fn was_taken_for_lost(&self, peer: usize) -> bool {
        let of = |place: u8| self.peer_at(place) == Some(peer);
        let mut changes = self.changes.iter();
        let gone = changes.find(|change| !change.value.roster.iter().any(of));
        gone.is_some_and(|change| !change.value.left.iter().any(of))
    }

    /// Who died and began anew is in the match again, where that went on for long enough.
    fn check_returns(&mut self) {
        let (Some(healed_at), None) = (self.healed_at, self.hostile) else {
            return;
        };
        let healed_at = self.deaths_over_at(healed_at);
        let until = self.peers.iter().filter(|file| file.crashed.is_none());
        let Some(until) = until.filter_map(|file| file.handed.last().copied()).max() else {
            return;
        };
        // The last batches are sealed so many turns before the end, and attest no decision that lets somebody in later.
        let last = self.turn_limit.saturating_sub(2 * self.command_delay);
        let handed = self.peers.iter();
        let handed = handed.filter_map(|file| file.handed.get(last as usize));
        // Who was given a snapshot was not handed the turns before it.
        let handed = handed.filter(|at| !at.is_zero());
        let last_let_in = handed.min().copied().unwrap_or(until);
        for peer in 0..self.peers.len() {
            let file = &self.peers[peer];
            let Some(returned) = file.returned.filter(|_| !file.left && !file.died_again()) else {
                continue;
            };
            // It gave up while all the others stood still, or were gone or out of its reach; or where they have other
            // addresses since it began, which only who is in the match is told of.
            let gave_up_at = file.ended.as_ref().and_then(|(at, ended)| {
                let found_nobody = matches!(
                    ended.reason,
                    EndReason::NobodyThere
                        | EndReason::OthersWent { .. }
                        | EndReason::NobodyPlays
                        | EndReason::NoQuorum { .. }
                );
                found_nobody.then_some(*at)
            });
            let others = self.peers.iter().enumerate().filter(|(at, _)| *at != peer);
            let mut absent = others.map(|(at, other)| {
                let apart = self.are_unlinked(at, peer);
                let gone = other.ended.as_ref().is_some_and(|(at, ended)| {
                    Some(*at) < gave_up_at && ended.reason != EndReason::TurnLimit
                });
                let gone = gone || other.left;
                let stood = other.froze || other.crashed.is_some();
                let stood = stood && gave_up_at.is_some_and(|at| at < healed_at);
                let moved = other.moved_at.is_some_and(|at| at > returned);
                moved || apart || gone || stood
            });
            if gave_up_at.is_some() && absent.all(|absent| absent) {
                continue;
            }
            // Whoever has held the others up twice is kept out for a while.
            let kept_out = match file.deaths {
                0 | 1 => Duration::ZERO,
                _ => KEPT_OUT,
            };
            let due = healed_at.max(returned) + kept_out + RETURN;
            if file.follows() && due < last_let_in {
                let seen =
                    format!("began anew at {returned:.1?} and was not let in by {last_let_in:.1?}");
                self.fail(Some(peer), Invariant::Progress, seen);
                return;
            }
            // Who went again later, for a reason, hears of that when it can.
            if file.follows() || self.is_gone(peer) {
                continue;
            }
            // How it ended is judged elsewhere.
            let ended_at = file.ended.as_ref().map(|(at, _)| *at);
            let until = ended_at.map_or(until, |at| at.min(until));
            let turns = file.handed.iter().filter(|at| **at > due).count() as u32;
            let least = (until.saturating_sub(due)) * 8 / 10;
            let all = file.handed.len() as u32;
            let played = self.time_before(all) - self.time_before(all - turns);
            if file.desync.is_none() && played + self.turn * 4 < least {
                let seen = format!("{turns} turns by {until:.1?}, though it was back by {due:.1?}");
                self.fail(Some(peer), Invariant::Progress, seen);
                return;
            }
        }
    }

    /// Whether the match is paused by somebody who has gone since. Here each ends its own pause: that one lasts as long as
    /// its budget, turn after turn.
    fn is_paused_by_who_went(&self) -> bool {
        let turns = self.history.iter().rev();
        let paused = turns.clone().take_while(|turn| turn.bundle.paused);
        let lasted: Duration = paused.map(|turn| turn.bundle.plan.turn()).sum();
        let mut entries = turns.flat_map(|turn| &turn.bundle.entries);
        let pause = entries.find(|entry| entry.what == What::Pause);
        let by = pause.and_then(|pause| {
            let mut files = self.peers.iter();
            files.find(|file| file.own.contains(&pause.seat))
        });
        let gone =
            by.is_some_and(|file| file.left || file.crashed.is_some() || file.back.is_some());
        let budget = Duration::from_secs(PauseBudget::default().seconds.into());
        self.paused && gone && lasted <= budget
    }

    /// Whether an honest peer ended as the scenario wants it to.
    fn ended_well(&self, peer: usize) -> Result<(), String> {
        let file = &self.peers[peer];
        if file.crashed.is_some() {
            return Ok(());
        }
        let Some((_, ended)) = &file.ended else {
            // Whom a member that disturbs keeps from filling the lobby waits there, and who lacks one that was too slow.
            let mut peers = 0..self.peers.len();
            let lacks = self.hostile.is_some() || peers.any(|peer| self.was_too_slow(peer));
            let lasts = file.handed.last() >= Some(&(self.now - RECOVERY));
            return match lacks && self.start.is_none() || lasts && self.is_paused_by_who_went() {
                true => Ok(()),
                false => Err("never ended".to_owned()),
            };
        };
        let wanted = match (file.left, &file.desync) {
            (_, Some((_, desync))) if !desync.goes_on => EndReason::Desync,
            (true, _) if ended.reason == EndReason::Left => EndReason::Left,
            // The others went on without who never heard that the match began.
            _ if self.is_gone(peer) && file.started_at.is_none() => EndReason::LobbyClosed,
            _ if self.is_gone(peer) => EndReason::Removed,
            _ if self.never_heard_of_beginning(peer) => EndReason::LobbyClosed,
            _ if self.was_too_slow(peer) => EndReason::Refused(JoinRefused::TooSlow),
            _ if self.was_removed_unlogged(peer) => EndReason::Removed,
            _ => EndReason::TurnLimit,
        };
        // A member that disturbs loses its links, and so its batches: the match may stand still and end.
        let disturbed =
            self.hostile.is_some() && matches!(ended.reason, EndReason::StallLimit { .. });
        // Who was cut off or stood still for so long that nobody was left to tell it.
        let waited = matches!(ended.reason, EndReason::StallLimit { .. });
        let cut_off = self.is_gone(peer) || self.was_cut_off(peer);
        // While the host stands still, some have no way to others.
        let parted = !self.unreachable.is_empty() && self.peers[0].froze;
        let forgotten = waited
            && (cut_off || parted || self.may_lose_quorum || file.froze || self.was_abandoned());
        // Some are removed by a decision of which those who stay heard only when they had waited for too long, or never.
        let told_alone = ended.reason == EndReason::Removed && self.may_lose_quorum && {
            let others = self.peers.iter().filter(|other| other.id != file.id);
            let playing = others.filter(|other| other.crashed.is_none() && !other.left);
            let ended = playing.map(|other| other.ended.as_ref().map(|(_, ended)| &ended.reason));
            let (waited, others): (Vec<_>, Vec<_>) =
                ended.partition(|reason| matches!(reason, Some(EndReason::StallLimit { .. })));
            let removed = |reason: &Option<&EndReason>| *reason == Some(&EndReason::Removed);
            (others.is_empty() || !waited.is_empty()) && others.iter().all(removed)
        };
        // Its last turns are provisional: it came to the limit before it heard, and says that nobody else signed that.
        let alone = self.is_gone(peer) && ended.reason == EndReason::TurnLimit && ended.agreed == 1;
        if ended.reason != wanted && !disturbed && !forgotten && !told_alone && !alone {
            return Err(format!("ended as {:?}, not {wanted:?}", ended.reason));
        }
        let executed = (file.executed, file.checksum);
        if file.checksum.is_some() && (ended.turns, ended.checksum) != executed {
            return Err(format!("ended as {ended:?} after {} turns", file.executed));
        }
        if ended.reason == EndReason::TurnLimit && ended.turns != self.turn_limit {
            return Err(format!("ended after {} turns", ended.turns));
        }
        Ok(())
    }

    /// Whether all who had heard that the match began, and had everybody's signatures, died before they could tell this
    /// peer or any other one.
    fn never_heard_of_beginning(&self, peer: usize) -> bool {
        let mut begun = self.peers.iter().filter(|file| file.started_at.is_some());
        self.peers[peer].started_at.is_none()
            && self.start.is_some()
            && begun.all(PeerFile::is_dead)
    }

    /// Who was told that a peer is out.
    pub(super) fn told_gone(&self, peer: usize) -> BTreeSet<usize> {
        let seats = self.peers[peer].own.iter();
        let told = seats.filter_map(|seat| self.told_gone.get(seat));
        told.flatten().copied().collect()
    }

    /// Whether a peer was removed by a decision that is in no honest peer's log: all who were told of it left before the
    /// next turn, or had a desync, or are hostile; and so did all others, or died, or were out before.
    pub(super) fn was_removed_unlogged(&self, peer: usize) -> bool {
        let told = self.told_gone(peer);
        let mut others = (0..self.peers.len()).filter(|other| *other != peer);
        let is_left = |other: usize| {
            let ended = self.peers[other].ended.as_ref();
            ended.is_some_and(|(_, ended)| {
                matches!(ended.reason, EndReason::Left | EndReason::Desync)
            })
        };
        let honest = |other: &usize| self.hostile != Some(*other);
        let is_dead = |other: usize| self.peers[other].crashed.is_some();
        !told.is_empty()
            && told.iter().copied().filter(honest).all(is_left)
            && others.all(|other| {
                is_left(other) || is_dead(other) || self.is_gone(other) || !honest(&other)
            })
    }

    /// Everybody ended as wanted, at the same turn, having signed the same end.
    fn check_ends(&mut self) {
        let disturbed = self.hostile.is_some();
        // Who died when all its batches were there held nobody up, and was not removed.
        let roster = self.newest_roster().into_iter();
        let dead = roster.filter(|peer| self.peers[*peer].is_dead()).count() as u8;
        for peer in 0..self.peers.len() {
            if self.forged || self.hostile == Some(peer) {
                continue;
            }
            if let Err(seen) = self.ended_well(peer) {
                self.fail(Some(peer), Invariant::Progress, seen);
                return;
            }
            let file = &self.peers[peer];
            let healed_at = self.healed_at.map(|at| self.deaths_over_at(at));
            // The last turn, too, may need until then to come through, and its signatures come after it.
            let healed_before =
                |at: Duration| healed_at.is_some_and(|healed| healed + RECOVERY < at);
            // Who has no part in the match does not know who left it in the last turns.
            if let Some((at, ended)) = &file.ended
                && ended.reason == EndReason::TurnLimit
                && healed_before(*at)
                && !disturbed
                && !file.follows()
                && ended.agreed + dead < ended.of
            {
                let seen = format!("only {} of {} signed the end", ended.agreed, ended.of);
                self.fail(Some(peer), Invariant::Progress, seen);
                return;
            }
        }
        // Somebody whose world is sound has executed the flawed turn together with whose is not, and stayed with it
        // until it could say so: its report comes in a batch that is sealed once the world has executed the turn, and
        // while it catches up it may have sealed those of so many turns more.
        let reached = self.flaw.is_some_and(|(flawed, turn)| {
            let said_by = turn + 2 * self.command_delay + 1;
            let mut others = (0..self.peers.len()).filter(|other| *other != flawed);
            let sound = |other: usize| !self.is_gone(other) && self.peers[other].executed > turn;
            !self.is_out(flawed, said_by) && others.any(sound)
        });
        if reached && !disturbed {
            for peer in 0..self.peers.len() {
                let gone = self.peers[peer].crashed.is_some() || self.is_gone(peer);
                let never_told = gone || self.was_cut_off(peer);
                if !self.knows_of_desync(peer) && !never_told {
                    let seen = "never heard of the desync".to_owned();
                    self.fail(Some(peer), Invariant::Desync, seen);
                    return;
                }
            }
        }
    }

    /// Every command is in the history, or refused, or was issued too late to be in it.
    fn check_commands_accounted(&mut self) {
        if self.forged {
            return;
        }
        let turns = self.history.len() as u32;
        // What is issued in a pause is sealed behind it, and executed as many turns later as commands take.
        let last = self.history.iter().rev();
        let mut last = last.take(2 * self.command_delay as usize + 1);
        let paused = self.paused || last.any(|turn| turn.bundle.paused);
        for (seat, issued) in &self.issued {
            let agreed = self.agreed.get(seat).copied().unwrap_or(0);
            for (number, command) in issued.iter().enumerate() {
                let file = &self.peers[command.peer];
                let id = lockstep::CommandId {
                    seat: *seat,
                    number: number as u32,
                };
                let refused = file.refused.contains(&id);
                let executed = number < agreed;
                let late = command.handed_turns + 2 * self.command_delay + 40 >= turns
                    || self.is_busy(command.peer);
                let gone = file.left
                    || file.crashed.is_some()
                    || self.is_gone(command.peer)
                    || self.is_forgotten(command.peer);
                let excused = gone || late || self.hostile == Some(command.peer);
                let seen = match (executed, refused) {
                    (true, true) => format!("command {number} of {seat:?} executed and refused"),
                    (false, false) if !excused && !paused => {
                        format!("command {number} of {seat:?} vanished")
                    }
                    _ => continue,
                };
                self.fail(Some(command.peer), Invariant::NoLoss, seen);
                return;
            }
        }
    }

    /// Whether a peer still worked off its commands when the match ended.
    fn is_busy(&self, peer: usize) -> bool {
        let last = self
            .history
            .iter()
            .rev()
            .take(2 * self.command_delay as usize + 6);
        let mut entries = last.flat_map(|turn| &turn.bundle.entries);
        entries.any(|entry| {
            matches!(entry.what, What::Command(_)) && self.peers[peer].own.contains(&entry.seat)
        })
    }
}
