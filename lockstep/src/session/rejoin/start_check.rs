//! Whether a peer can go on with a match that began so.

use crate::log::Start;
use crate::session::RulesOf;
use crate::sign::Signer;
use crate::{JoinRefused, MatchId};

/// Why a start is none to go on from.
pub(crate) enum Unfit {
    /// It is of another match, or not signed by all its peers.
    Forged,
    /// This peer cannot go on with it.
    Refused(JoinRefused),
}

/// This peer's place in the roster of a start that all its peers have signed, and by whose rules it can play.
pub(crate) fn place_in(
    signer: &dyn Signer,
    start: &Start,
    match_id: MatchId,
    rules: &RulesOf,
) -> Result<usize, Unfit> {
    if start.match_id != match_id || !start.is_signed(signer.verifier()) {
        return Err(Unfit::Forged);
    }
    let mut places = start.roster.iter();
    let me = places.position(|place| place.peer == signer.id());
    let me = me.ok_or(Unfit::Refused(JoinRefused::NoSeat))?;
    match rules(&start.setup) {
        None => Err(Unfit::Refused(JoinRefused::Setup)),
        Some(rules) if rules != start.rules => Err(Unfit::Refused(JoinRefused::Rules)),
        Some(_) => Ok(me),
    }
}
