//! Catching up: a peer that comes back fetches what it lacks of the match, follows it, and asks to be let in.
//!
//! 1. It dials peers of the match and proves its key, as on every link. On a link of its own, where no turn can wait
//!    behind it, it asks one of them for an outline: the start, and the newest snapshot that a quorum has signed.
//! 2. It asks for the log, page by page, from where its own replay ends, and walks it ([`Head`](crate::log::Head)): the hashes must chain,
//!    every roster change must be decided by the roster before. What a quorum's signed batches attest is confirmed; the
//!    world is given nothing else.
//! 3. It asks for the snapshot, piece by piece, and loads it if its hash is the signed one; the log behind it runs as
//!    fast as the world steps.
//! 4. Once its world is within the command delay of the other side, it asks all peers to be let in. The roster's
//!    decision names it; at the cut its part begins.
//!
//! Whom it asks may be waiting, too, for the others to come back: then all of them reopen the match
//! (`session::reopen`).
//!
//! What does not hold names the peer that sent it, and is asked of another.

pub(super) mod message;
mod returning;
mod server;

pub(in crate::session) use message::{Answer, Ask, PART, decode, encode};
#[cfg(test)]
pub(in crate::session) use returning::JoinerLog;
pub(in crate::session) use returning::{GIVE_UP, Reopened, Unfit, place_in};
pub(crate) use returning::{Returning, Whole};
pub(crate) use server::Server;
