//! Players that ask to enter without the ticket's secret, and wait for the word of the host's player.

use super::base::Request;
use crate::doorway::Crowd;
use crate::session::core::Core;
use crate::session::wire::Control;
use crate::text::{MAX_BUILD, tidy_name, tidy_text};
use crate::{Asker, LinkId, PeerId};

/// Players that wait at a time.
const MOST: usize = 8;

/// At most one request for each key. A crowd does not keep out a player of another one.
#[derive(Default)]
pub(super) struct Askers {
    /// In the order of their arrival, with the crowd that each belongs to.
    waiting: Vec<(Request, Crowd)>,
    /// Keys that the host's player has said yes to.
    welcome: Vec<PeerId>,
}

impl Askers {
    /// Whether the host's player has let this key in.
    pub(super) fn is_welcome(&self, peer: PeerId) -> bool {
        self.welcome.contains(&peer)
    }

    /// Takes a request, by a link to this address. The link of the request that has to go for it, where one has.
    pub(super) fn arrive(&mut self, request: Request, address: &str) -> Option<LinkId> {
        let of = Crowd::of(address);
        let before = self.take(|before| before.peer == request.peer);
        if let Some(before) = before {
            let other = (before.link != request.link).then_some(before.link);
            self.waiting.push((request, of));
            return other;
        }
        self.waiting.push((request, of));
        if self.waiting.len() <= MOST {
            return None;
        }
        let size = |crowd: &Crowd| self.waiting.iter().filter(|(_, of)| of == crowd).count();
        let largest = self.waiting.iter().map(|(_, of)| size(of)).max()?;
        let mut waiting = self.waiting.iter();
        let at = waiting.rposition(|(_, of)| size(of) == largest)?;
        Some(self.waiting.remove(at).0.link)
    }

    /// The host's player lets this key in. Its request, where one waits.
    pub(super) fn welcome(&mut self, peer: PeerId) -> Option<Request> {
        let request = self.take(|request| request.peer == peer)?;
        self.welcome.push(peer);
        Some(request)
    }

    /// The host's player turns this key away. The link of its request, where one waits.
    pub(super) fn turn_away(&mut self, peer: PeerId) -> Option<LinkId> {
        let request = self.take(|request| request.peer == peer);
        request.map(|request| request.link)
    }

    /// The request on this link is taken back. Whether there was one.
    pub(super) fn forget(&mut self, link: LinkId) -> bool {
        self.take(|request| request.link == link).is_some()
    }

    pub(super) fn waits_on(&self, link: LinkId) -> bool {
        self.links().any(|waiting| waiting == link)
    }

    pub(super) fn links(&self) -> impl Iterator<Item = LinkId> {
        self.waiting.iter().map(|(request, _)| request.link)
    }

    /// What the host's player is shown.
    pub(super) fn shown(&self, core: &Core) -> Vec<Asker> {
        let shown = self.waiting.iter().filter_map(|(request, _)| {
            let Control::Join { name, build, .. } = &request.message else {
                return None;
            };
            Some(Asker {
                peer: request.peer,
                name: tidy_name(name),
                build: tidy_text(build, MAX_BUILD),
                address: core.links.get(&request.link)?.address.clone(),
            })
        });
        shown.collect()
    }

    fn take(&mut self, is_meant: impl Fn(&Request) -> bool) -> Option<Request> {
        let mut waiting = self.waiting.iter();
        let at = waiting.position(|(request, _)| is_meant(request))?;
        Some(self.waiting.remove(at).0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Incarnation;

    fn request(number: u8) -> Request {
        Request {
            link: LinkId(u32::from(number)),
            peer: PeerId([number; 32]),
            incarnation: Incarnation([number; 16]),
            message: Control::Bye,
        }
    }

    #[test]
    fn a_crowd_keeps_out_no_player_of_another() {
        let ports = |number| format!("10.0.0.9:{number}");
        let addresses = |number| format!("[2001:db8::{number}]:7");
        assert_crowd_keeps_out_none("10.0.0.1:7", "10.0.0.2:7", ports);
        assert_crowd_keeps_out_none("10.0.0.1:7", "[2001:db8:0:1::1]:7", addresses);
    }

    fn assert_crowd_keeps_out_none(first: &str, last: &str, of_crowd: fn(u8) -> String) {
        let mut askers = Askers::default();
        assert_eq!(askers.arrive(request(0), first), None);
        for number in 1..100 {
            let gone = askers.arrive(request(number), &of_crowd(number));
            let newest = (number >= MOST as u8).then_some(LinkId(u32::from(number)));
            assert_eq!(gone, newest, "the newest of the crowd goes");
        }
        let gone = askers.arrive(request(100), last);
        assert_eq!(gone, Some(LinkId(MOST as u32 - 1)));
        assert!(askers.waits_on(LinkId(0)) && askers.waits_on(LinkId(100)));
        assert_eq!(askers.links().count(), MOST);
    }

    #[test]
    fn a_key_asks_once() {
        let mut askers = Askers::default();
        assert_eq!(askers.arrive(request(1), "a"), None);
        assert_eq!(askers.arrive(request(1), "a"), None, "by the same link");
        let again = Request {
            link: LinkId(9),
            ..request(1)
        };
        assert_eq!(askers.arrive(again, "a"), Some(LinkId(1)));
        assert_eq!(askers.links().collect::<Vec<_>>(), [LinkId(9)]);
        assert!(!askers.forget(LinkId(1)) && askers.forget(LinkId(9)));
        assert!(askers.welcome(PeerId([1; 32])).is_none());
        assert!(!askers.is_welcome(PeerId([1; 32])), "it has gone");
    }

    #[test]
    fn a_welcome_key_may_come_again() {
        let mut askers = Askers::default();
        let _ = askers.arrive(request(1), "a");
        let taken = askers.welcome(PeerId([1; 32]));
        assert_eq!(taken.map(|request| request.link), Some(LinkId(1)));
        assert!(askers.is_welcome(PeerId([1; 32])));
        let _ = askers.arrive(request(2), "a");
        assert_eq!(askers.turn_away(PeerId([2; 32])), Some(LinkId(2)));
        assert!(!askers.is_welcome(PeerId([2; 32])));
    }
}
