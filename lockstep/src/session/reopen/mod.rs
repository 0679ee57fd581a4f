//! Reopening: a match goes on whose processes have all died, or so many of them that those who are left stand still.
//!
//! One peer hosts, the others come, each with what it has recorded. Their logs are not equally long: of one epoch, two
//! peers are at most the command delay apart, and each may lack what its disk had not written.
//!
//! 1. Who comes proves its key, as on every link, and tells the last epoch of its log, its turns, and their hash
//!    ([`Claim`](message::Claim)).
//! 2. Once all of the last roster are here, or the host has waited long enough, the host looks who has the newest epoch,
//!    and the most turns of it, and **fetches** what it lacks itself. A change of the roster proves itself, by its
//!    accepts; so the newest epoch that anybody here knows of is the last one, and its roster decides.
//! 3. The **newest common turn** is the last that a quorum of that roster holds, by its own files. The cut lies behind it.
//!    A turn that fewer hold cannot be told from one that was invented: a replay keeps no signed batches but the newest
//!    at a keyframe. So it does not count, not even for those who have it.
//! 4. The host proposes epoch, cut, the log's hash there, and the runs of the processes that go on. Everybody fetches
//!    what it lacks up to the cut **before** it signs: then the hash over all is the proposed one, or it refuses.
//! 5. With all signatures the host makes the roster change that ends the epoch ([`Reopening`]) and tells it. Each world
//!    begins with its own newest keyframe, or where it has followed a match to that stood still (but where it has followed
//!    farther than the cut, it begins anew, and what is behind the cut leaves its log), runs the log up to the cut, and the
//!    next epoch begins: with turns that are empty by rule until the command delay has passed, as for a peer
//!    that comes back.
//!
//! # Why that is sound
//!
//! - Only new runs of processes speak, each in the place of the one before: no batch or vote of a past run counts in the
//!   new epoch. They vote about the end of an epoch in which they had no part, which is allowed nowhere else. So what
//!   they may decide is narrow, and what decides it is not their memory, but what a quorum has on disk.
//! - It takes a quorum of the last roster, by the rule of every other change ([`Voters`]): no two groups can reopen one
//!   epoch, if each peer comes with its newest recording: an older one is a past that others have gone on from. Who does
//!   not come is not in the new roster, its seats are idle, and it may come back later, as anybody.
//! - What a quorum has reported complete, it has logged. Any two quorums have a peer in common; if all who held a turn
//!   come, and their disks have kept it, a quorum of those here holds it. It is lost only with the files that held it.
//! - One case shows in no file here: a change that others decided and went on from, while the processes of those who are
//!   here died after they had accepted it and before they had logged it. The others are then a quorum of the next
//!   roster, and may still play. The
//!   host asks whomever it finds at the addresses that were kept beside its replay, and does not reopen a match that
//!   somebody plays; and a run that is still there ends as removed when it hears of the reopening.
//!
//! [`Reopening`]: crate::log::Reopening
//! [`Voters`]: crate::session::roster::Voters

mod book;
mod guest;
mod host;
mod lookout;
mod message;

pub(crate) use guest::Guest;
pub(crate) use host::Host;
pub(crate) use message::Said;
#[cfg(test)]
pub(crate) use message::{Claim, Proposal};
