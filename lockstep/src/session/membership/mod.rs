//! Membership: who is of the match, and how that changes.

pub mod paxos;
