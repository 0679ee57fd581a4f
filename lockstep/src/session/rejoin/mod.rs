//! Rejoining: a peer that comes back fetches what it lacks of the match, follows it, and asks for admission.
//!
//! 1. It dials peers of the match and proves its key, as on every link. On a link of its own, where no turn can wait
//!    behind it, it asks one of them, its **source** ([`Sources`]), for an outline: the start, and the newest snapshot that
//!    a quorum has signed.
//! 2. It asks for the log, page by page, from where its own replay ends, and verifies it ([`Follow`]): the hashes must
//!    chain, every roster change must be decided by the roster before. What a quorum's signed batches attest is confirmed;
//!    the world is given nothing else.
//! 3. It asks for the snapshot, piece by piece, and loads it if its hash is the signed one ([`Fetch`]); the log behind it
//!    runs as fast as the world steps ([`World`]).
//! 4. Once its world is within the command delay of the other side, it asks all peers for admission ([`Admission`]). The
//!    roster's decision names it; at the cut its part begins.
//!
//! The source may be waiting, too, for the others to come back: then all of them reopen the match
//! (`session::lobby`). So they do where joiners are a quorum and no peer plays: the first of them hosts ([`Gathering`]).
//! Where too few members are left, it tells so ([`QuorumLoss`]) and looks on; where the match ends
//! before it is admitted, it learns the end from members that sign it ([`MatchEnd`]).
//!
//! Where players have gone on without a quorum it is told of their [branch](Branches), and enters by its player's word. A
//! player in its match keeps the branches that it [meets](MetBranches).
//!
//! A lie names the peer that told it, and another peer is asked. The other side is [`Serve`].
//!
//! Each file is a component with state of its own; `session::joiner` assembles them.

mod admission;
mod branches;
mod context;
mod fetch;
mod follow;
mod gathering;
mod links;
mod match_end;
pub(super) mod message;
mod met;
mod quorum_loss;
mod serve;
mod sources;
mod start_check;
mod testimony;
mod world;

pub(crate) use admission::Returned;
pub(crate) use admission::{Admission, head_at, members_after, takes_decision};
pub(crate) use branches::{Branch, Branches, DECIDE, FinalTurns};
pub(crate) use context::RejoinContext;
pub(crate) use context::Reopened;
pub(crate) use fetch::Fetch;
pub(crate) use follow::{Confirmed, Follow, Mistrust, Page};
pub(crate) use gathering::{Gathering, GatheringFacts};
pub(crate) use links::{DialledLink, ProvedLink};
pub(crate) use match_end::{MatchEnd, Settled};
pub(crate) use message::{
    AROUND, Answer, Ask, MESSAGE, Offer, PART, decode, decode_answer, encode,
};
pub(crate) use met::MetBranches;
pub(crate) use quorum_loss::{QuorumLoss, in_reach, is_new_run, seats_of};
pub(crate) use serve::{Serve, is_behind};
pub(crate) use sources::{Answered, Checked, GIVE_UP, Sources, SourcesFacts};
pub(crate) use start_check::{Unfit, place_in};
pub(crate) use testimony::{Contradiction, Testimony, attesting};
pub(crate) use world::{DetachedWorld, World};
