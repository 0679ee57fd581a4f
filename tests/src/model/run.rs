//! Exploration of the model: every state within its bound, or random steps.

use super::{RosterModel, properties};
use crate::random::Stream;
use stateright::{Checker, HasDiscoveries, Model};
use std::time::Duration;

/// The result of an exploration.
#[derive(Debug)]
pub struct Checked {
    /// Distinct states.
    pub states: usize,
    /// Whether every state within the bound was seen.
    pub complete: bool,
    /// The violated property, with the steps that lead there.
    pub violation: Option<(&'static str, Vec<String>)>,
    /// States that should have been reached.
    pub unreached: Vec<&'static str>,
    /// The time that it took.
    pub took: Duration,
}

impl RosterModel {
    /// Explores every state within the bound, on all cores, or until the first violation.
    pub fn check(&self, at_most: Duration) -> Checked {
        let begun = std::time::Instant::now();
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let checker = self
            .clone()
            .checker()
            .threads(threads)
            .timeout(at_most)
            .finish_when(HasDiscoveries::AnyFailures)
            .spawn_dfs()
            .join();
        let found = checker.discoveries();
        let is_safety = |name: &&str| properties::SAFETY.iter().any(|(safety, _)| safety == name);
        let violation = found
            .iter()
            .find(|(name, _)| is_safety(name))
            .map(|(name, path)| {
                let steps = path.clone().into_actions();
                (
                    *name,
                    steps.iter().map(|step| format!("{step:?}")).collect(),
                )
            });
        let wanted = self.reachable();
        Checked {
            states: checker.unique_state_count(),
            complete: checker.is_done() && begun.elapsed() < at_most,
            violation,
            unreached: wanted
                .into_iter()
                .filter(|name| !found.contains_key(name))
                .collect(),
            took: begun.elapsed(),
        }
    }

    /// Takes random steps from the start until none is left, repeatedly. Returns a violated property with its
    /// steps, if any. Reaches further than [`check`](Self::check), and proves nothing.
    pub fn walk(&self, seed: u64, walks: u32) -> Option<(&'static str, Vec<String>)> {
        let mut random = Stream::new(seed, "model", 0);
        let begin = self.init_states();
        for _ in 0..walks {
            let mut state = begin[0].clone();
            let mut steps = Vec::new();
            loop {
                let mut actions = Vec::new();
                self.actions(&state, &mut actions);
                let next = loop {
                    if actions.is_empty() {
                        break None;
                    }
                    let at = random.below(actions.len() as u64) as usize;
                    let action = actions.swap_remove(at);
                    let step = format!("{action:?}");
                    if let Some(next) = self.next_state(&state, action) {
                        steps.push(step);
                        break Some(next);
                    }
                };
                let Some(next) = next else { break };
                state = next;
                let broken = properties::SAFETY
                    .iter()
                    .find(|(_, holds)| !holds(self, &state));
                if let Some((name, _)) = broken {
                    return Some((name, steps));
                }
            }
        }
        None
    }

    /// States that must be reached for the proof to be meaningful.
    pub(super) fn reachable(&self) -> Vec<&'static str> {
        let back = !self.joiners.is_empty();
        let fits = |name: &str| match name {
            properties::REMOVED => self.first_roster().len() > 1,
            properties::TAIL => self.turns > 0 && self.first_roster().len() > 1,
            properties::FALSE_ALARM => self.turns > 0,
            properties::LEFT => !self.leavers.is_empty(),
            properties::AGAIN => self.attempts > 1 && self.first_roster().len() > 1,
            properties::SECOND => self.epochs > 1,
            properties::REJOINED => back,
            properties::COUNTS => back && self.goes_on && self.turns > self.delay,
            properties::BESIDE => back && !self.joiners.without(self.out).is_empty(),
            properties::ADOPTED | properties::UNBOUND => self.reopens,
            properties::BOTH => self.out.len() > 1 && self.joiners.len() > 1,
            _ => true,
        };
        let names = properties::REACHED.iter().map(|(name, _)| *name);
        names.filter(|name| fits(name)).collect()
    }
}
