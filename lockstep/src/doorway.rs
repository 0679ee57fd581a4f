//! The strangers at a peer's door: how many of them wait there, and which of them goes where there are too many.
//!
//! A stranger costs memory before it has shown anything, and one machine can send thousands. So strangers are counted by
//! the place that they come from, a [`Crowd`]. Each crowd has few places, and beyond all places the oldest stranger of the
//! largest crowd goes. A stranger from elsewhere thus gets in beside any crowd. Crowds that members come from have
//! places of their own, which no stranger takes.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// Where a stranger comes from. One host can easily take any address of one crowd.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Crowd {
    /// An IPv4 address.
    V4([u8; 4]),
    /// The first 64 bits of an IPv6 address: a host chooses the rest.
    V6([u8; 8]),
    /// A place that a transport other than QUIC calls so.
    Named(String),
}

impl Crowd {
    /// The crowd of an address as a link has it: one of IP with its port, or a name with or without one.
    pub fn of(address: &str) -> Crowd {
        match address.parse::<SocketAddr>() {
            Ok(socket) => socket.ip().into(),
            Err(_) => {
                let name = address.rsplit_once(':').map_or(address, |(name, _)| name);
                Crowd::Named(name.to_owned())
            }
        }
    }
}

impl From<IpAddr> for Crowd {
    fn from(address: IpAddr) -> Crowd {
        match address.to_canonical() {
            IpAddr::V4(address) => Crowd::V4(address.octets()),
            IpAddr::V6(address) => {
                let mut network = [0; 8];
                network.copy_from_slice(&address.octets()[..8]);
                Crowd::V6(network)
            }
        }
    }
}

/// The places of a [`Doorway`].
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Places for all strangers.
    pub all: usize,
    /// Places for strangers of one crowd.
    pub each: usize,
    /// Places beside those for each crowd that members come from.
    pub kept: usize,
    /// For so long a stranger gives way only to one of a smaller crowd: no crowd drives its own members out before they
    /// can finish.
    pub stay: Duration,
}

/// Strangers that wait, known by keys.
#[derive(Debug)]
pub struct Doorway<K> {
    bounds: Bounds,
    /// In the order in which they came.
    waiting: Vec<Stranger<K>>,
    kept: BTreeSet<Crowd>,
}

#[derive(Debug)]
struct Stranger<K> {
    key: K,
    crowd: Crowd,
    since: Duration,
    /// It is on a place for members.
    kept: bool,
}

/// What a stranger's arrival comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival<K> {
    /// It waits.
    Waits,
    /// It waits, and the stranger with this key goes.
    Displaces(K),
    /// It has no place.
    TurnedAway,
}

/// Crowds that places are kept for at most.
#[cfg(any(test, feature = "quic"))]
const KEPT_CROWDS: usize = 64;

impl<K: Copy + PartialEq> Doorway<K> {
    /// An empty doorway.
    pub fn new(bounds: Bounds) -> Self {
        Doorway {
            bounds,
            waiting: Vec::new(),
            kept: BTreeSet::new(),
        }
    }

    /// A doorway in which these strangers wait, in the order in which they came: with their keys, their crowds, and since
    /// when.
    pub fn with(bounds: Bounds, waiting: impl Iterator<Item = (K, Crowd, Duration)>) -> Self {
        let stranger = |(key, crowd, since)| Stranger {
            key,
            crowd,
            since,
            kept: false,
        };
        Doorway {
            waiting: waiting.map(stranger).collect(),
            ..Doorway::new(bounds)
        }
    }

    /// Keeps places for these crowds, the first 64 of them, and for no others any more.
    #[cfg(any(test, feature = "quic"))]
    pub fn keep(&mut self, crowds: impl IntoIterator<Item = Crowd>) {
        self.kept.clear();
        for crowd in crowds {
            if self.kept.len() == KEPT_CROWDS {
                break;
            }
            self.kept.insert(crowd);
        }
    }

    /// Whether places are kept for this crowd.
    #[cfg(any(test, feature = "quic"))]
    pub fn keeps(&self, crowd: &Crowd) -> bool {
        self.kept.contains(crowd)
    }

    /// Strangers that wait.
    #[cfg(any(test, feature = "quic"))]
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether no stranger waits.
    #[cfg(any(test, feature = "quic"))]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// A stranger with a key of its own arrives.
    pub fn arrive(&mut self, now: Duration, key: K, crowd: Crowd) -> Arrival<K> {
        let kept = self.kept.contains(&crowd) && self.members(&crowd) < self.bounds.kept;
        let arrival = match kept {
            true => Arrival::Waits,
            false => self.make_room(now, &crowd),
        };
        if arrival != Arrival::TurnedAway {
            self.waiting.push(Stranger {
                key,
                crowd,
                since: now,
                kept,
            });
        }
        arrival
    }

    /// A stranger goes, or is none any more.
    pub fn leave(&mut self, key: K) {
        self.waiting.retain(|stranger| stranger.key != key);
    }

    fn members(&self, crowd: &Crowd) -> usize {
        let of = self.waiting.iter();
        of.filter(|one| one.kept && one.crowd == *crowd).count()
    }

    /// Makes room for a stranger of this crowd.
    fn make_room(&mut self, now: Duration, crowd: &Crowd) -> Arrival<K> {
        let mut sizes = BTreeMap::from([(crowd, 1)]);
        let waiting = self.waiting.iter().filter(|one| !one.kept);
        for one in waiting.clone() {
            *sizes.entry(&one.crowd).or_default() += 1;
        }
        let own = sizes[crowd];
        let crowded = own > self.bounds.each;
        if !crowded && waiting.clone().count() < self.bounds.all {
            return Arrival::Waits;
        }
        // Of equals the first is the oldest.
        let oldest = waiting
            .filter(|one| !crowded || one.crowd == *crowd)
            .min_by_key(|one| Reverse(sizes[&one.crowd]));
        let goes = oldest.filter(|oldest| {
            let smaller = own < sizes[&oldest.crowd];
            smaller || oldest.since + self.bounds.stay <= now
        });
        match goes.map(|goes| goes.key) {
            Some(key) => {
                self.leave(key);
                Arrival::Displaces(key)
            }
            None => Arrival::TurnedAway,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Arrival::{Displaces, TurnedAway, Waits};
    use super::*;

    const BOUNDS: Bounds = Bounds {
        all: 8,
        each: 4,
        kept: 2,
        stay: Duration::from_millis(500),
    };

    fn at(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn v4(last: u8) -> Crowd {
        IpAddr::from([10, 0, 0, last]).into()
    }

    fn doorway() -> Doorway<u32> {
        Doorway::new(BOUNDS)
    }

    fn keys(doorway: &Doorway<u32>) -> Vec<u32> {
        doorway.waiting.iter().map(|one| one.key).collect()
    }

    #[test]
    fn one_network_of_ipv6_is_one_crowd() {
        let crowd = |text: &str| Crowd::from(text.parse::<IpAddr>().unwrap());
        assert_eq!(crowd("2001:db8:1:2::1"), crowd("2001:db8:1:2:ffff::9"));
        assert_ne!(crowd("2001:db8:1:2::1"), crowd("2001:db8:1:3::1"));
        assert_eq!(crowd("::ffff:10.0.0.1"), crowd("10.0.0.1"));
        assert_ne!(crowd("10.0.0.1"), crowd("10.0.0.2"));
    }

    #[test]
    fn a_crowd_has_few_places_and_its_oldest_stranger_goes() {
        let mut doorway = doorway();
        for key in 0..4 {
            assert_eq!(doorway.arrive(at(0), key, v4(1)), Waits);
        }
        assert_eq!(doorway.arrive(at(499), 4, v4(1)), TurnedAway);
        assert_eq!(doorway.arrive(at(500), 5, v4(1)), Displaces(0));
        assert_eq!(keys(&doorway), [1, 2, 3, 5]);
        assert_eq!(doorway.arrive(at(500), 6, v4(2)), Waits, "another crowd");
    }

    #[test]
    fn the_oldest_of_the_largest_crowd_goes_first() {
        let mut doorway = doorway();
        for (key, crowd) in [1, 2, 2, 3, 2, 3, 2, 4].into_iter().enumerate() {
            assert_eq!(doorway.arrive(at(0), key as u32, v4(crowd)), Waits);
        }
        assert_eq!(doorway.arrive(at(0), 10, v4(5)), Displaces(1));
        assert_eq!(doorway.arrive(at(0), 11, v4(4)), Displaces(2));
        assert_eq!(doorway.arrive(at(0), 12, v4(2)), TurnedAway, "as large");
        assert_eq!(doorway.arrive(at(0), 13, v4(6)), Displaces(3));
        // All crowds have one or two by now.
        assert_eq!(doorway.arrive(at(499), 14, v4(5)), TurnedAway);
        assert_eq!(doorway.arrive(at(500), 14, v4(5)), Displaces(4));
        assert_eq!(doorway.len(), BOUNDS.all);
    }

    #[test]
    fn ten_of_ten_get_in_beside_ten_thousand_of_fifty_addresses() {
        let bounds = Bounds {
            all: 256,
            each: 16,
            ..BOUNDS
        };
        let mut doorway = Doorway::new(bounds);
        let (mut most, mut out) = (0, Vec::new());
        for key in 0..10_000_u32 {
            let now = at(u64::from(key) / 10);
            if let Displaces(key) = doorway.arrive(now, key, v4((key % 50) as u8)) {
                out.push(key);
            }
            if key % 1_000 == 999 {
                let honest = 20_000 + key;
                assert_ne!(doorway.arrive(now, honest, v4(200)), TurnedAway);
            }
            // An honest handshake takes 50 ms.
            if key % 1_000 == 500 && key > 1_000 {
                doorway.leave(20_000 + key - 501);
            }
            most = most.max(doorway.len());
        }
        assert!(out.iter().all(|key| *key < 20_000), "an honest one is out");
        assert_eq!(most, bounds.all);
        let stays = 10_000 / 10 / bounds.stay.as_millis() as usize + 1;
        assert!(out.len() <= bounds.all * stays, "{}", out.len());
    }

    #[test]
    fn members_have_places_that_no_stranger_takes() {
        let mut doorway = doorway();
        doorway.keep([v4(100)]);
        for key in 0..8 {
            assert_eq!(doorway.arrive(at(0), key, v4(key as u8)), Waits);
        }
        assert_eq!(doorway.arrive(at(0), 8, v4(100)), Waits);
        assert_eq!(doorway.arrive(at(0), 9, v4(100)), Waits);
        assert_eq!(doorway.arrive(at(0), 10, v4(100)), TurnedAway);
        for key in 11..1_000 {
            doorway.arrive(at(u64::from(key) * 100), key, v4(key as u8));
        }
        assert!([8, 9].iter().all(|key| keys(&doorway).contains(key)));
        assert_eq!(doorway.len(), BOUNDS.all + BOUNDS.kept);
        doorway.leave(8);
        assert_eq!(doorway.arrive(at(0), 8, v4(100)), Waits);
        doorway.keep([]);
        doorway.leave(8);
        assert_eq!(doorway.arrive(at(0), 8, v4(100)), TurnedAway);
    }

    #[test]
    fn kept_crowds_are_few() {
        let mut doorway = doorway();
        doorway.keep((0..=255).map(v4));
        assert_eq!(doorway.kept.len(), KEPT_CROWDS);
    }
}
