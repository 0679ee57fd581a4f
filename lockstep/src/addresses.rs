//! Addresses that a peer, or a ticket, tells.

use serde::{Deserialize, Serialize};

/// Addresses of one peer.
pub(crate) const MAX_ADDRESSES: usize = 8;
const MAX_BYTES: usize = 64;

/// What a transport may be handed to dial: a short word.
pub(crate) fn is_address(text: &[u8]) -> bool {
    (1..=MAX_BYTES).contains(&text.len()) && text.iter().all(u8::is_ascii_graphic)
}

/// Where a peer can be dialled, as a message tells it. More addresses, and what is none, are left out wherever a message
/// is read or written: peers pass on what they hear, and a peer that tells too much must not make others do so.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Vec<String>")]
pub(crate) struct Addresses(Vec<String>);

impl Addresses {
    /// Where other peers may dial a peer: as it is seen from here first, then where it believes to be.
    pub(crate) fn behind(self, seen: &str) -> Vec<String> {
        let told = self.0.into_iter().filter(|address| address != seen);
        let all = std::iter::once(seen.to_owned()).chain(told);
        all.take(MAX_ADDRESSES).collect()
    }
}

impl std::ops::Deref for Addresses {
    type Target = Vec<String>;

    fn deref(&self) -> &Vec<String> {
        &self.0
    }
}

impl From<Vec<String>> for Addresses {
    fn from(told: Vec<String>) -> Self {
        let usable = told.into_iter();
        let usable = usable.filter(|address| is_address(address.as_bytes()));
        Addresses(usable.take(MAX_ADDRESSES).collect())
    }
}

impl From<Addresses> for Vec<String> {
    fn from(told: Addresses) -> Self {
        told.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_tells_few_and_short_addresses() {
        let told = |addresses: &[String]| -> Vec<String> {
            let bytes = postcard::to_allocvec(addresses).expect("it encodes");
            let read: Addresses = postcard::from_bytes(&bytes).expect("it is a list of texts");
            let again = postcard::to_allocvec(&read).expect("it encodes");
            assert_eq!(
                postcard::from_bytes::<Addresses>(&again).as_ref(),
                Ok(&read)
            );
            read.into()
        };
        let longest = "x".repeat(MAX_BYTES);
        let none = [String::new(), format!("{longest}x"), "a b".to_owned()];
        assert_eq!(told(&none), [""; 0]);
        let mixed = [&none[..], std::slice::from_ref(&longest)].concat();
        assert_eq!(told(&mixed), [longest]);
        let many: Vec<String> = (0..20).map(|at| format!("at:{at}")).collect();
        assert_eq!(told(&many), many[..MAX_ADDRESSES]);
    }
}
