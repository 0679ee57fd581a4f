//! What leaves by ways out that carry little.

use super::*;

const MS: Duration = Duration::from_millis(1);
const DELAY: Duration = Duration::from_millis(50);
/// Bytes of IP, UDP and QUIC around a message.
const AROUND: u64 = 67;
/// A datagram that would wait longer is lost.
const LONGEST_WAIT: Duration = Duration::from_millis(500);
/// Of so many datagrams one is lost on its way.
const ONE_LOST_OF: u64 = 97;
const SECONDS: u32 = 60;

/// By peer, its way out: all that leaves waits there for what has left before.
struct WaysOut {
    bytes_per_s: u64,
    /// When all that has left is out.
    free_at: Vec<Duration>,
    bytes: Vec<u64>,
    datagrams: u64,
    carried: Vec<(Duration, Arrival)>,
}

impl WaysOut {
    /// Has what left within the last millisecond wait for its way out.
    fn carry(&mut self, net: &mut Net) {
        for (at, arrival) in net.mesh.driver.take_events(|_| true) {
            let left = at.saturating_sub(DELAY);
            let is_new = at > net.now() + MS;
            let at = match (is_new, &arrival.what) {
                (true, Arrives::Bytes(channel, bytes)) => {
                    let (dialler, acceptor) = net.mesh.ends(arrival.link);
                    let from = dialler + acceptor - arrival.to;
                    let bytes = bytes.len() as u64 + AROUND;
                    self.bytes[from] += bytes;
                    let from_now = self.free_at[from].max(left);
                    let is_datagram = *channel == Channel::Turns;
                    self.datagrams += u64::from(is_datagram);
                    let is_lost = from_now > left + LONGEST_WAIT
                        || self.datagrams.is_multiple_of(ONE_LOST_OF);
                    if is_datagram && is_lost {
                        continue;
                    }
                    let out_in = Duration::from_secs(bytes) / self.bytes_per_s as u32;
                    self.free_at[from] = from_now + out_in;
                    self.free_at[from] + DELAY
                }
                _ => at,
            };
            self.carried.push((at, arrival));
        }
        let soon = net.now() + MS;
        for (at, arrival) in self.carried.extract_if(.., |(at, _)| *at <= soon) {
            net.mesh.driver.schedule(at, arrival);
        }
    }
}

/// Has four peers play by ways out that carry so many bytes a second, after nothing has left for a while. Returns how long
/// the peer that waited longest did so, and the bytes a second that left the peer from which most did.
fn play(bytes_per_s: u64, blocked: Duration) -> (Duration, u64) {
    let mut net = Net::new(4, Plan::default(), None);
    net.mesh.delay = DELAY;
    net.run(Duration::from_secs(10));
    let begun = net.now();
    let stalled = |net: &Net| [0, 1, 2, 3].map(|at| net.session(at).stats().stalled);
    let before = stalled(&net);
    let mut ways_out = WaysOut {
        bytes_per_s,
        free_at: vec![begun + blocked; 4],
        bytes: vec![0; 4],
        datagrams: 0,
        carried: Vec::new(),
    };
    while net.now() < begun + Duration::from_secs(SECONDS.into()) {
        net.run(net.now() + MS);
        ways_out.carry(&mut net);
    }
    assert!(net.ends().is_empty(), "{:?}", net.ends());
    let stalled = stalled(&net).into_iter().zip(before);
    let longest = stalled.map(|(after, before)| after - before).max();
    let most = ways_out.bytes.into_iter().max();
    (longest.unwrap(), most.unwrap() / u64::from(SECONDS))
}

#[test]
fn copies_do_not_fill_a_way_out_that_an_outage_has_blocked() {
    let (stalled, bytes) = play(20_000, MS * 1_500);
    assert!(stalled < MS * 5_000, "{stalled:?}");
    assert!(bytes < 13_000, "{bytes} bytes a second of 20,000");
}

#[test]
fn copies_leave_room_on_a_narrow_way_out() {
    // Batches that leave once are 2,700 bytes a second.
    for (bytes_per_s, most, longest) in [(8_000, 6_100, 3), (6_000, 5_200, 13)] {
        let (stalled, bytes) = play(bytes_per_s, Duration::ZERO);
        let case = format!("{bytes} bytes a second of {bytes_per_s}: {stalled:?}");
        assert!(bytes < most && stalled < MS * 1_000 * longest, "{case}");
    }
}
