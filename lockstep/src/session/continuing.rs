//! Before a player goes on alone from a moment of a recorded match: the log is walked, and the world loaded.

use super::core::Core;
use super::lobby::Step;
use super::playing::Continued;
use super::{ConfigError, Output};
use crate::log::{Continuation, Head, Record, continued_hash};
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
        let mut head = Head::new(start.clone());
        for record in records {
            let taken = match record {
                Record::Continued(continuation) => head.continued(continuation, signer),
                record => head.take(record, signer),
            };
            taken.map_err(|_| ConfigError::Moment)?;
        }
        // No number is left for a turn behind it, or the batches that are sealed ahead.
        if head.turns() >= u32::MAX - 64 {
            return Err(ConfigError::Moment);
        }
        let turn_limit = turn_limit.map(|turns| turns.saturating_add(head.turns()));
        let mut continuation = Continuation {
            epoch: head.epoch(),
            turns: head.turns(),
            log_hash: head.tip(),
            peer: core.id(),
            incarnation: core.incarnation,
            name: tidy_name(name),
            seat: from.seat,
            plan,
            turn_limit,
            build,
            signature: [0; 64],
        };
        continuation.signature = signer.sign(&continuation.signed_bytes(head.start()));
        let (hash, ticks) = (head.hash(), head.ticks());
        let chained = continued_hash(head.tip(), &continuation);
        head.continued(&continuation, signer)
            .map_err(|_| ConfigError::Moment)?;
        Ok(Continuing {
            continued: Continued {
                start: head.start().clone(),
                continuation: Arc::new(continuation),
                course: head.fold().clone(),
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
