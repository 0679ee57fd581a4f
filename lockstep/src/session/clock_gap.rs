//! Clock gaps: while this peer's machine slept, or its process stood still, it heard no other peer.

use std::time::Duration;

/// What is longer in this peer's own time is a gap: members may have removed it, and no peer is suspected for what was not
/// heard in it.
pub(crate) const GAP: Duration = Duration::from_secs(1);
/// This peer looks at the time this often, to find gaps.
pub(crate) const LOOK_AT_TIME: Duration = Duration::from_millis(500);
