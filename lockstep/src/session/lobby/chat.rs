//! Chat in a lobby. The host passes on what a peer says, signed by that peer: it can make up no words of its key. It can
//! leave words out and say them twice, and the name that it tells of a key is its word.

use crate::limits::MAX_CHAT;
use crate::log::{Document, Kind};
use crate::session::core::Core;
use crate::session::wire::Control;
use crate::text::tidy_text;
use crate::{Fault, MatchId, PeerId};

/// What a peer says in the lobby of a match.
struct Words<'a> {
    match_id: MatchId,
    text: &'a str,
}

impl Document for Words<'_> {
    const KIND: Kind = Kind::Chat;

    fn put_content(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.match_id.0);
        out.extend_from_slice(self.text.as_bytes());
    }
}

/// This peer says it.
pub(super) fn say(core: &Core, match_id: MatchId, text: &str) -> Control {
    let text = tidy_text(text, core.limits.chat_bytes);
    let words = Words {
        match_id,
        text: &text,
    };
    let signature = words.sign(core.signer.as_ref()).into();
    Control::Chat {
        from: core.id(),
        text,
        signature,
    }
}

/// What a peer says in the lobby of this match, and which peer says it.
///
/// # Errors
/// That peer does not say it.
pub(super) fn heard(
    core: &Core,
    match_id: Option<MatchId>,
    said: &Control,
) -> Result<(PeerId, String), Fault> {
    let (
        Some(match_id),
        Control::Chat {
            from,
            text,
            signature,
        },
    ) = (match_id, said)
    else {
        return Err(Fault::OutOfPlace);
    };
    if text.len() > MAX_CHAT {
        return Err(Fault::Oversize);
    }
    let signed = Words { match_id, text }.with((*signature).into());
    let is_said = signed.is_by(*from, |peer, bytes, signature| {
        core.signer.verify(peer, bytes, signature)
    });
    match is_said {
        true => Ok((*from, tidy_text(text, MAX_CHAT as u32))),
        false => Err(Fault::Signature),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::fixture::signer;
    use crate::sign::Signer;

    #[test]
    fn what_is_said_in_one_lobby_was_not_said_in_another() {
        let words = |of: u8| Words {
            match_id: MatchId([of; 16]),
            text: "I give up",
        };
        let signature = words(1).sign(&signer(1));
        let is_said = |of: u8| {
            let said = words(of).with(signature);
            said.is_by(signer(1).id(), |peer, bytes, signature| {
                signer(0).verify(peer, bytes, signature)
            })
        };
        assert!(is_said(1) && !is_said(2));
    }
}
