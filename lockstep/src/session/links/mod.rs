//! Links: which there are, where they lead, how well they carry, and what is said on them.

pub(crate) mod asking;
pub(crate) mod board;
pub(crate) mod copies;
pub(crate) mod dialling;
pub(crate) mod link;
pub(crate) mod uplink;
