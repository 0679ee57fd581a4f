//! The hash under all chains, and how its input is formed.

use crate::LogHash;

/// Unambiguous input to BLAKE3: every part has a fixed width or its length before it.
pub(crate) struct Chain(blake3::Hasher);

impl Chain {
    pub(crate) fn new(context: &str) -> Self {
        Chain(blake3::Hasher::new_derive_key(context))
    }

    pub(crate) fn number(&mut self, number: u32) {
        self.0.update(&number.to_le_bytes());
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u32);
        self.0.update(bytes);
    }

    pub(crate) fn plan(&mut self, plan: &crate::Plan) {
        self.number(
            u32::from(plan.ticks)
                | u32::from(plan.delay_turns) << 8
                | u32::from(plan.tick_ms) << 16,
        );
    }

    pub(crate) fn turn_limit(&mut self, limit: Option<u32>) {
        self.number(limit.map_or(0, |turns| turns.saturating_add(1)));
    }

    pub(crate) fn end(&self) -> LogHash {
        let mut hash = LogHash([0; 16]);
        self.0.finalize_xof().fill(&mut hash.0);
        hash
    }

    pub(crate) fn end_256(&self) -> [u8; 32] {
        *self.0.finalize().as_bytes()
    }
}
