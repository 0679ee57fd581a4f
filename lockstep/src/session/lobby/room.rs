//! The room of a lobby: its host and its guests.

use super::rate_limiter::RateLimiter;
use crate::session::wire::LobbyEntry;
use crate::text::numbered_name;
use crate::{Incarnation, LinkId, PeerId};
use sim::Seat;
use std::time::Duration;

/// How often a guest may change in ten seconds whether it is ready.
const READY_CHANGES: usize = 40;

/// A peer in the room.
pub(super) struct Occupant {
    /// Occupants stand in this order, and those of the same as they came.
    pub(super) order: u32,
    pub(super) peer: PeerId,
    pub(super) incarnation: Incarnation,
    pub(super) name: String,
    pub(super) build: String,
    pub(super) seats: Vec<Seat>,
    /// Where other peers may dial it, best first.
    pub(super) addresses: Vec<String>,
    pub(super) ready: bool,
}

struct Guest {
    link: LinkId,
    occupant: Occupant,
    chats: RateLimiter,
    changes: RateLimiter,
}

pub(super) struct Room {
    own: Occupant,
    guests: Vec<Guest>,
    /// Time between two announcements, where there are any.
    announce_every: Option<Duration>,
    /// Guests do not know of each other what is so now.
    unannounced: bool,
    announce_at: Duration,
}

impl Room {
    /// The room of this host, without guests.
    pub(super) fn new(own: Occupant, announce_every: Option<Duration>) -> Self {
        Room {
            own,
            guests: Vec::new(),
            announce_every,
            unannounced: announce_every.is_some(),
            announce_at: Duration::ZERO,
        }
    }

    pub(super) fn own(&self) -> &Occupant {
        &self.own
    }

    /// A guest enters.
    pub(super) fn enter(&mut self, link: LinkId, occupant: Occupant) {
        let before = |guest: &Guest| guest.occupant.order <= occupant.order;
        let at = self.guests.partition_point(before);
        let guest = Guest {
            link,
            occupant,
            chats: RateLimiter::default(),
            changes: RateLimiter::default(),
        };
        self.guests.insert(at, guest);
    }

    /// A guest goes. Its link, where it was here.
    pub(super) fn leave(&mut self, peer: PeerId) -> Option<LinkId> {
        let mut guests = self.guests.iter();
        let at = guests.position(|guest| guest.occupant.peer == peer)?;
        Some(self.guests.remove(at).link)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.guests.is_empty()
    }

    /// The guests, with their links.
    pub(super) fn guests(&self) -> impl Iterator<Item = (&Occupant, LinkId)> {
        self.guests
            .iter()
            .map(|guest| (&guest.occupant, guest.link))
    }

    /// The host, and then its guests.
    pub(super) fn occupants(&self) -> impl Iterator<Item = &Occupant> {
        let guests = self.guests.iter().map(|guest| &guest.occupant);
        std::iter::once(&self.own).chain(guests)
    }

    /// The guest at the other end of a link.
    pub(super) fn guest_on(&self, link: LinkId) -> Option<&Occupant> {
        let mut guests = self.guests();
        guests.find_map(|(guest, on)| (on == link).then_some(guest))
    }

    /// The name of an occupant.
    pub(super) fn name_of(&self, peer: PeerId) -> &str {
        let guests = self.guests().map(|(guest, _)| guest);
        let mut all = guests.chain([&self.own]);
        all.find(|of| of.peer == peer).map_or("", |of| &of.name)
    }

    /// The guest with this key, and its link.
    pub(super) fn guest(&self, peer: PeerId) -> Option<(&Occupant, LinkId)> {
        self.guests().find(|(guest, _)| guest.peer == peer)
    }

    /// Sets whether an occupant is ready.
    pub(super) fn set_ready(&mut self, peer: PeerId, ready: bool) {
        if self.own.peer == peer {
            self.own.ready = ready;
        } else if let Some(guest) = self.guest_mut(peer) {
            guest.occupant.ready = ready;
        }
    }

    /// No guest is ready any more.
    pub(super) fn unready_guests(&mut self) {
        for guest in &mut self.guests {
            guest.occupant.ready = false;
        }
    }

    pub(super) fn all_are_ready(&self) -> bool {
        self.occupants().all(|occupant| occupant.ready)
    }

    /// Seats of so many that no occupant has, ascending.
    pub(super) fn free_seats(&self, seats: u8) -> Vec<Seat> {
        let is_free = |seat: &Seat| self.occupants().all(|one| !one.seats.contains(seat));
        (0..seats).map(Seat).filter(is_free).collect()
    }

    /// This name, with a number where an occupant's name looks like it.
    pub(super) fn free_name(&self, name: &str) -> String {
        let names: Vec<String> = self
            .occupants()
            .map(|one| one.name.to_lowercase())
            .collect();
        let numbered = (1..).map(|number| numbered_name(name, number));
        let mut free = numbered.filter(|name| !names.contains(&name.to_lowercase()));
        free.next().expect("numbers do not end")
    }

    /// Whether a guest may change now whether it is ready: each change is announced to all.
    pub(super) fn takes_change(&mut self, peer: PeerId, now: Duration) -> bool {
        let guest = self.guest_mut(peer);
        guest.is_some_and(|guest| guest.changes.takes(now, READY_CHANGES))
    }

    /// Whether a guest may chat now, `most` times in ten seconds.
    pub(super) fn takes_chat(&mut self, peer: PeerId, now: Duration, most: usize) -> bool {
        let guest = self.guest_mut(peer);
        guest.is_some_and(|guest| guest.chats.takes(now, most))
    }

    /// Links that are up for longer than the time to ask for a place, and are no guest's. A key that asks for nothing
    /// keeps no place.
    pub(super) fn strangers(
        &self,
        links: impl Iterator<Item = (LinkId, Duration)>,
        now: Duration,
        within: Duration,
    ) -> Vec<LinkId> {
        let strange = links.filter(|(link, up_at)| {
            *up_at + within <= now && self.guests.iter().all(|guest| guest.link != *link)
        });
        strange.map(|(link, _)| link).collect()
    }

    /// What guests are told of each other is not so any more.
    pub(super) fn change(&mut self) {
        self.unannounced = self.announce_every.is_some();
    }

    /// When the occupants are to be announced, if they are not.
    pub(super) fn announce_deadline(&self, now: Duration) -> Option<Duration> {
        self.unannounced.then_some(self.announce_at.max(now))
    }

    /// What to announce now: the occupants in the order of their seats.
    pub(super) fn announcement(&mut self, now: Duration) -> Vec<LobbyEntry> {
        self.unannounced = false;
        self.announce_at = now + self.announce_every.unwrap_or_default();
        let entry = |occupant: &Occupant| LobbyEntry {
            peer: occupant.peer,
            name: occupant.name.clone(),
            build: occupant.build.clone(),
            seats: occupant.seats.clone(),
            ready: occupant.ready,
        };
        let mut entries: Vec<LobbyEntry> = self.occupants().map(entry).collect();
        entries.sort_by_key(|entry| entry.seats.first().copied());
        entries
    }

    fn guest_mut(&mut self, peer: PeerId) -> Option<&mut Guest> {
        let mut guests = self.guests.iter_mut();
        guests.find(|guest| guest.occupant.peer == peer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn occupant(number: u8, order: u32, seats: &[u8]) -> Occupant {
        Occupant {
            order,
            peer: PeerId([number; 32]),
            incarnation: Incarnation([number; 16]),
            name: format!("peer {number}"),
            build: String::new(),
            seats: seats.iter().copied().map(Seat).collect(),
            addresses: Vec::new(),
            ready: true,
        }
    }

    /// A host with seat 0, and these guests: link, order, seats.
    fn room(guests: &[(u32, u32, &[u8])]) -> Room {
        let mut room = Room::new(occupant(0, 0, &[0]), Some(Duration::from_millis(250)));
        for (link, order, seats) in guests {
            room.enter(LinkId(*link), occupant(*link as u8, *order, seats));
        }
        room
    }

    fn order(room: &Room) -> Vec<u32> {
        room.guests().map(|(_, link)| link.0).collect()
    }

    #[test]
    fn guests_stand_in_their_order_and_then_as_they_came() {
        let room = room(&[(1, 7, &[3]), (2, 5, &[1]), (3, 7, &[2])]);
        assert_eq!(order(&room), [2, 1, 3]);
    }

    #[test]
    fn a_guest_that_leaves_frees_its_seats() {
        let mut room = room(&[(1, 0, &[1, 2])]);
        assert_eq!(room.free_seats(4), [Seat(3)]);
        assert_eq!(room.leave(PeerId([1; 32])), Some(LinkId(1)));
        assert_eq!(room.leave(PeerId([1; 32])), None);
        assert_eq!(room.free_seats(4), [Seat(1), Seat(2), Seat(3)]);
        assert!(room.is_empty());
    }

    #[test]
    fn equal_names_are_told_apart() {
        let mut room = room(&[]);
        for (link, name) in ["Ada", "Bob", "ada", "Ada"].into_iter().enumerate() {
            let link = link as u8 + 1;
            let mut guest = occupant(link, 0, &[link]);
            guest.name = room.free_name(name);
            room.enter(LinkId(link.into()), guest);
        }
        let names: Vec<&str> = room.guests().map(|(one, _)| one.name.as_str()).collect();
        assert_eq!(names, ["Ada", "Bob", "ada (2)", "Ada (3)"]);
    }

    #[test]
    fn an_announcement_lists_all_by_seat_and_waits_for_its_time() {
        let mut room = room(&[(1, 0, &[2]), (2, 0, &[1])]);
        let now = Duration::from_secs(1);
        assert_eq!(room.announce_deadline(now), Some(now));
        let seats: Vec<Seat> = room
            .announcement(now)
            .iter()
            .map(|entry| entry.seats[0])
            .collect();
        assert_eq!(seats, [Seat(0), Seat(1), Seat(2)]);
        assert_eq!(room.announce_deadline(now), None);
        room.change();
        let next = now + Duration::from_millis(250);
        assert_eq!(room.announce_deadline(now), Some(next));
    }

    #[test]
    fn a_link_that_is_no_guests_is_strange_after_its_time() {
        let room = room(&[(1, 0, &[1])]);
        let links = [(LinkId(1), 0), (LinkId(8), 0), (LinkId(9), 3)];
        let links = links.map(|(link, up_at)| (link, Duration::from_secs(up_at)));
        let within = Duration::from_secs(2);
        let strange = |now| room.strangers(links.into_iter(), Duration::from_secs(now), within);
        assert_eq!(strange(1), []);
        assert_eq!(strange(2), [LinkId(8)]);
        assert_eq!(strange(5), [LinkId(8), LinkId(9)]);
    }

    #[test]
    fn room_is_ready_only_with_the_host() {
        let mut room = room(&[(1, 0, &[1])]);
        assert!(room.all_are_ready());
        room.set_ready(PeerId([0; 32]), false);
        assert!(!room.all_are_ready());
        room.set_ready(PeerId([0; 32]), true);
        room.unready_guests();
        assert!(!room.all_are_ready());
    }
}
