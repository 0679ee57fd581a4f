//! Dialling: where the peers of a match are found, and which of them are dialled when.

use crate::addresses::MAX_ADDRESSES;
use std::time::Duration;

/// A peer without a link is dialled this often.
const DIAL_EVERY: Duration = Duration::from_secs(1);
/// A player of the match that a branch has left is looked for this often.
const SEEK_EVERY: Duration = Duration::from_secs(5);
/// The first dial leaves links that are coming up so much time.
const FIRST_AFTER: Duration = Duration::from_secs(2);
/// A removed peer is dialled for so long to hear of it. Its own dials lead nowhere where this peer has moved.
const TELL_GONE: Duration = Duration::from_secs(10);

/// All addresses of these peers: the best one of each, then the second, and so on.
pub(crate) fn best_first<'a>(peers: impl Iterator<Item = &'a Vec<String>>) -> Vec<String> {
    let peers: Vec<_> = peers.collect();
    let of = |rank: usize| peers.iter().filter_map(move |peer| peer.get(rank));
    (0..MAX_ADDRESSES).flat_map(of).cloned().collect()
}

pub(crate) struct Dialling {
    /// By place.
    ways: Vec<Way>,
}

/// How one peer is reached.
struct Way {
    addresses: Vec<String>,
    /// The peer is out of the roster, and may be coming back.
    returns: Option<Returns>,
    /// The peer may not know that it is out: where no link leads to it, it is dialled until then.
    tell_until: Duration,
    /// The peer is looked for, wherever it plays.
    sought: bool,
    next_at: Duration,
    dials: usize,
}

/// What was last seen of a peer that may be coming back.
struct Returns {
    from: String,
    /// Until then it goes on trying.
    until: Duration,
    /// It asks this peer: their link falls silent only where it does not carry any more.
    asks: bool,
}

impl Way {
    fn new(addresses: Vec<String>, now: Duration) -> Self {
        Way {
            addresses,
            returns: None,
            tell_until: Duration::ZERO,
            sought: false,
            next_at: now + FIRST_AFTER,
            dials: 0,
        }
    }

    /// Whether the peer is of the roster, or is to hear that it is out.
    fn is_urgent(&self, outside: bool, now: Duration) -> bool {
        !outside || self.tell_until > now
    }

    /// Where the peer may be dialled; nowhere, where it is of no use. It is of the roster, or `outside` of it.
    fn found_at(&self, outside: bool, now: Duration) -> impl Iterator<Item = &String> {
        let returns = self.returns.as_ref();
        let returns = returns.filter(|returns| outside && returns.until > now);
        let wanted = returns.is_some() || self.sought || self.is_urgent(outside, now);
        let known = self.addresses.iter().filter(move |_| wanted);
        let from = returns.map(|returns| &returns.from);
        from.into_iter().chain(known)
    }
}

impl Dialling {
    /// A peer of the match that this branch has left is looked for.
    pub(crate) fn seek(&mut self, at: usize) {
        self.ways[at].sought = true;
    }

    pub(crate) fn new(addresses: Vec<Vec<String>>, now: Duration) -> Self {
        let ways = addresses.into_iter();
        Dialling {
            ways: ways.map(|addresses| Way::new(addresses, now)).collect(),
        }
    }

    /// Where all peers are found.
    pub(crate) fn all_addresses(&self) -> Vec<String> {
        best_first(self.ways.iter().map(|way| &way.addresses))
    }

    pub(crate) fn addresses(&self, at: usize) -> &[String] {
        &self.ways[at].addresses
    }

    /// A peer is found at this address by now. Whether that is new.
    pub(crate) fn note_address(&mut self, at: usize, address: &str) -> bool {
        let known = &mut self.ways[at].addresses;
        let new = !known.iter().any(|known| known == address);
        if new {
            known.insert(0, address.to_owned());
            known.truncate(MAX_ADDRESSES);
        }
        new
    }

    /// A peer says where it is found. Whether that is new.
    pub(crate) fn note_addresses(&mut self, at: usize, told: Vec<String>) -> bool {
        let known = &mut self.ways[at].addresses;
        let new = !told.is_empty() && *known != told;
        if new {
            *known = told;
        }
        new
    }

    /// A peer out of the roster was seen at this address and goes on trying until then, or `asks` this one for what it
    /// lacks. Should this one move meanwhile, the other cannot find it: then this peer dials.
    pub(crate) fn note_return(&mut self, at: usize, from: &str, until: Duration, asks: bool) {
        self.ways[at].returns = Some(Returns {
            from: from.to_owned(),
            until,
            asks,
        });
    }

    /// A peer is removed; it is to hear of that, unless it `knows`.
    pub(crate) fn note_removal(&mut self, at: usize, knows: bool, now: Duration) {
        self.ways[at].tell_until = match knows {
            true => Duration::ZERO,
            false => now + TELL_GONE,
        };
    }

    /// Another run of a peer's process has its place.
    pub(crate) fn readmit(&mut self, at: usize, now: Duration) {
        let addresses = std::mem::take(&mut self.ways[at].addresses);
        self.ways[at] = Way::new(addresses, now);
    }

    /// Whether dialling a peer is of use, where no link leads to it.
    pub(crate) fn is_wanted(&self, at: usize, outside: bool, now: Duration) -> bool {
        self.ways[at].found_at(outside, now).next().is_some()
    }

    /// Whether a link to a peer falls silent only where it carries no more. A joiner says nothing on a link on which it
    /// does not ask.
    pub(crate) fn speaks(&self, at: usize, outside: bool) -> bool {
        let returns = self.ways[at].returns.as_ref();
        !outside || returns.is_some_and(|returns| returns.asks)
    }

    /// When a peer is dialled next.
    pub(crate) fn next_at(&self, at: usize) -> Duration {
        self.ways[at].next_at
    }

    /// Dials a peer, if it is time. Where.
    pub(crate) fn dial(&mut self, at: usize, outside: bool, now: Duration) -> Option<String> {
        let way = &mut self.ways[at];
        if way.next_at > now {
            return None;
        }
        let found_at: Vec<&String> = way.found_at(outside, now).collect();
        let address = found_at[way.dials % found_at.len()].clone();
        let returns = way.returns.iter().any(|returns| returns.until > now);
        way.next_at = now
            + match returns || way.is_urgent(outside, now) {
                true => DIAL_EVERY,
                false => SEEK_EVERY,
            };
        way.dials += 1;
        Some(address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn dialling() -> Dialling {
        let addresses = vec!["here:1".to_owned(), "there:2".to_owned()];
        Dialling::new(vec![addresses], Duration::ZERO)
    }

    #[test]
    fn a_peer_of_the_roster_is_dialled_each_second_at_all_its_addresses_in_turn() {
        let mut dialling = dialling();
        let mut dials = Vec::new();
        for tenth in 0..45 {
            dials.extend(dialling.dial(0, false, SECOND / 10 * tenth));
        }
        assert_eq!(dials, ["here:1", "there:2", "here:1"]);
    }

    #[test]
    fn a_peer_outside_is_dialled_while_it_comes_back_or_does_not_know() {
        let mut dialling = dialling();
        assert!(!dialling.is_wanted(0, true, SECOND));
        dialling.note_removal(0, false, SECOND);
        assert!(dialling.is_wanted(0, true, SECOND * 10));
        assert!(!dialling.is_wanted(0, true, SECOND * 11));
        dialling.note_return(0, "new:3", SECOND * 20, false);
        assert!(!dialling.speaks(0, true) && dialling.speaks(0, false));
        assert_eq!(
            dialling.dial(0, true, SECOND * 15),
            Some("new:3".to_owned())
        );
        assert!(!dialling.is_wanted(0, true, SECOND * 20));
    }

    #[test]
    fn a_peer_that_is_sought_is_dialled_every_five_seconds() {
        let mut dialling = dialling();
        dialling.seek(0);
        let dials = (0..20).filter(|second| dialling.dial(0, true, SECOND * *second).is_some());
        assert_eq!(dials.collect::<Vec<_>>(), [2, 7, 12, 17]);
    }

    #[test]
    fn the_best_address_of_each_peer_comes_first() {
        let addresses = [["a:1", "a:2"].as_slice(), &[], &["c:1", "c:2"]];
        let addresses = addresses.map(|of| of.iter().map(|one| (*one).to_owned()).collect());
        let dialling = Dialling::new(addresses.to_vec(), Duration::ZERO);
        assert_eq!(dialling.all_addresses(), ["a:1", "c:1", "a:2", "c:2"]);
    }

    #[test]
    fn addresses_are_few() {
        let mut dialling = dialling();
        assert!(!dialling.note_address(0, "here:1"));
        assert!(dialling.note_address(0, "new:3"));
        assert_eq!(dialling.addresses(0)[0], "new:3");
        (0..20).for_each(|at| assert!(dialling.note_address(0, &format!("at:{at}"))));
        assert_eq!(dialling.addresses(0).len(), MAX_ADDRESSES);
        assert!(!dialling.note_addresses(0, Vec::new()));
        let told = vec!["other:1".to_owned()];
        assert!(dialling.note_addresses(0, told.clone()));
        assert!(!dialling.note_addresses(0, told.clone()));
        assert_eq!(dialling.addresses(0), told);
    }
}
