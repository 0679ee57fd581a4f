//! A live match has its transport keep places for dials of its members.

use super::peers::{config, run};
use super::*;
use crate::{Blocked, Channel, LinkEvent, LinkId, PeerId};
use sim::Checksum;
use std::sync::Mutex;

const RULES: RulesId = RulesId(*b"rules of a test!");

/// A transport that notes for which addresses it was last to keep places.
struct Noting {
    inner: Box<dyn Transport>,
    kept: Arc<Mutex<Vec<String>>>,
}

impl Transport for Noting {
    fn addresses(&self) -> Vec<String> {
        self.inner.addresses()
    }

    fn dial(&mut self, address: &str, key: PeerId) {
        self.inner.dial(address, key);
    }

    fn send(&mut self, link: LinkId, channel: Channel, bytes: &[u8]) -> Result<(), Blocked> {
        self.inner.send(link, channel, bytes)
    }

    fn close(&mut self, link: LinkId) {
        self.inner.close(link);
    }

    fn keep_places(&mut self, addresses: &[String]) {
        *self.kept.lock().unwrap() = addresses.to_vec();
    }

    fn poll(&mut self, timeout: Duration) -> Option<LinkEvent> {
        self.inner.poll(timeout)
    }

    fn waker(&self) -> Arc<dyn Fn() + Send + Sync> {
        self.inner.waker()
    }

    fn traffic(&self) -> Traffic {
        self.inner.traffic()
    }
}

#[test]
fn places_are_kept_for_the_members_of_a_live_match() {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let mut hosting = config(90);
    hosting.network = hosting.network.map(|network| Network {
        transport: Box::new(Noting {
            inner: network.transport,
            kept: kept.clone(),
        }),
        signer: network.signer,
    });
    let mut host = Live::host(vec![1], RULES, hosting).expect("the config is in range");
    let ticket = host.ticket().expect("a host has a ticket").clone();
    let joining = config(91);
    let network = joining.network.as_ref();
    let addresses = network.map(|network| network.transport.addresses());
    let own = addresses.unwrap_or_default().swap_remove(0);
    let mut guest = Live::join(&ticket, Box::new(|_| Some(RULES)), joining).expect("in range");
    run(
        &mut [&mut host, &mut guest],
        |_, turn| Checksum(turn),
        |_, _| kept.lock().unwrap().contains(&own).then_some(()),
    );
}
