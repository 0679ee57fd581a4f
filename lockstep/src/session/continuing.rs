//! Before a player goes on alone from a moment of a recorded match: the log is walked, and the world loaded.

use super::catch_up::Walk;
use super::core::Core;
use super::lobby::Step;
use super::player::Continued;
use super::{ConfigError, Output};
use crate::log::{Continuation, Record, continued_hash};
use crate::text::tidy_name;
use crate::{Moment, Plan};
use sim::Checksum;
use std::sync::Arc;

pub(crate) struct Continuing {
    continued: Continued,
}

impl Continuing {
    /// Walks the log up to the moment, and signs that this peer goes on from there.
    pub(crate) fn new(
        core: &Core,
        from: Moment,
        name: &str,
        plan: Plan,
        turn_limit: Option<u32>,
        build: String,
    ) -> Result<Self, ConfigError> {
        let signer = core.signer.as_ref();
        let Some((Record::Start(start), records)) = from.log.split_first() else {
            return Err(ConfigError::Moment);
        };
        let mut walk = Walk::new(start.clone());
        for record in records {
            let taken = match record {
                Record::Continued(continuation) => walk.continued(continuation, signer),
                record => walk.take(record, signer),
            };
            taken.map_err(|_| ConfigError::Moment)?;
        }
        // No number is left for a turn behind it, or the batches that are sealed ahead.
        if walk.turns >= u32::MAX - 64 {
            return Err(ConfigError::Moment);
        }
        let turn_limit = turn_limit.map(|turns| turns.saturating_add(walk.turns));
        let mut continuation = Continuation {
            epoch: walk.epoch,
            turns: walk.turns,
            log_hash: walk.tip(),
            peer: core.id(),
            incarnation: core.incarnation,
            name: tidy_name(name),
            seat: from.seat,
            plan,
            turn_limit,
            build,
            signature: [0; 64],
        };
        continuation.signature = signer.sign(&continuation.signed_bytes(&walk.start));
        let (hash, ticks) = (walk.hash, walk.ticks);
        let chained = continued_hash(walk.tip(), &continuation);
        walk.continued(&continuation, signer)
            .map_err(|_| ConfigError::Moment)?;
        Ok(Continuing {
            continued: Continued {
                start: walk.start,
                continuation: Arc::new(continuation),
                course: walk.course,
                hash,
                chained,
                ticks,
                snapshot: from.snapshot,
                checksum: Checksum(0),
            },
        })
    }

    /// Asks for the world.
    pub(crate) fn begin(&self, core: &mut Core) -> Step {
        let Continued {
            continuation,
            ticks,
            snapshot,
            ..
        } = &self.continued;
        core.out.push(Output::Load {
            turns: continuation.turns,
            ticks: *ticks,
            snapshot: snapshot.clone(),
        });
        Step::Stay
    }

    /// The world is loaded: what is to be played from here on.
    pub(crate) fn loaded(self, checksum: Checksum) -> Continued {
        Continued {
            checksum,
            ..self.continued
        }
    }
}
