//! Addresses as text: where others may dial, and where to dial them.

use super::lookups::Lookups;
use crate::{LinkError, PeerId};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// Addresses at which a socket bound to `local` may be dialled, best first.
pub(super) fn reachable(local: SocketAddr) -> Vec<SocketAddr> {
    if !local.ip().is_unspecified() {
        return vec![local];
    }
    let mut found = Vec::new();
    // A socket for every IPv6 address takes IPv4 too, except on Windows.
    let ipv4 = local.is_ipv4() || !cfg!(windows);
    if ipv4 {
        found.extend(own(Ipv4Addr::UNSPECIFIED.into(), FAR_IPV4.into()));
    }
    if local.is_ipv6() {
        found.extend(own(Ipv6Addr::UNSPECIFIED.into(), FAR_IPV6.into()));
    }
    if ipv4 {
        found.push(Ipv4Addr::LOCALHOST.into());
    }
    if local.is_ipv6() {
        found.push(Ipv6Addr::LOCALHOST.into());
    }
    found
        .into_iter()
        .map(|ip| SocketAddr::new(ip, local.port()))
        .collect()
}

/// The address that `text`, `host:port`, stands for. It is dialled for this key.
///
/// # Errors
/// [`LinkError::Address`]: a socket of the given family cannot reach it. [`LinkError::Name`]: the name was not found, which
/// may pass.
pub(super) async fn resolve(
    text: &str,
    ipv6: bool,
    key: PeerId,
    lookups: &Lookups,
) -> Result<SocketAddr, LinkError> {
    let usable = |address: &SocketAddr| {
        address.port() != 0 && !address.ip().is_unspecified() && (ipv6 || address.is_ipv4())
    };
    if let Ok(address) = text.parse::<SocketAddr>() {
        return Some(address).filter(usable).ok_or(LinkError::Address);
    }
    let (host, port) = text.rsplit_once(':').ok_or(LinkError::Address)?;
    port.parse::<u16>().map_err(|_| LinkError::Address)?;
    let is_name = (1..=MAX_NAME_BYTES).contains(&host.len())
        && host
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.'));
    if !is_name {
        return Err(LinkError::Address);
    }
    let found = lookups.find(key, text).await;
    if found.is_empty() {
        return Err(LinkError::Name);
    }
    found.into_iter().find(usable).ok_or(LinkError::Address)
}

/// An IPv4 address that a socket for both families wraps into IPv6 is shown as what it is.
pub(super) fn plain(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

/// This machine's own address on the way to `far`; those of its interfaces where no way leads there, as on a switch of its
/// own.
fn own(any: IpAddr, far: IpAddr) -> Vec<IpAddr> {
    if let Some(ip) = outward(any, far) {
        return vec![ip];
    }
    let interfaces = if_addrs::get_if_addrs().unwrap_or_default();
    let interfaces = interfaces.iter().map(|of| (of.ip(), of.is_oper_up()));
    let alike = interfaces.filter(|(ip, _)| ip.is_ipv6() == any.is_ipv6());
    best(alike.collect())
}

/// The addresses that others are most likely to reach, of interfaces that are up or are not.
fn best(mut interfaces: Vec<(IpAddr, bool)>) -> Vec<IpAddr> {
    interfaces.retain(|(ip, _)| match ip {
        IpAddr::V4(ip) => !ip.is_unspecified() && !ip.is_loopback(),
        // Addresses of one link mean nothing without the name of its interface, which is another one on each machine.
        IpAddr::V6(ip) => !ip.is_unspecified() && !ip.is_loopback() && !ip.is_unicast_link_local(),
    });
    interfaces.sort_by_key(|(ip, up)| {
        let automatic = matches!(ip, IpAddr::V4(ip) if ip.is_link_local());
        (!up, automatic)
    });
    interfaces.truncate(MOST_INTERFACES);
    interfaces.into_iter().map(|(ip, _)| ip).collect()
}

/// This machine's own address on the way to `far`. Connecting a UDP socket only asks the routing table.
fn outward(any: IpAddr, far: IpAddr) -> Option<IpAddr> {
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect((far, DISCARD_PORT)).ok()?;
    let own = socket.local_addr().ok()?.ip();
    Some(own).filter(|ip| !ip.is_unspecified() && !ip.is_loopback())
}

/// Addresses of the documentation ranges: behind the default route, and in no machine's use.
const FAR_IPV4: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const FAR_IPV6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
const DISCARD_PORT: u16 = 9;
/// Addresses of either family where no route tells which one counts: with loopback as many as a ticket holds.
const MOST_INTERFACES: usize = 3;
/// The longest name that the domain name system knows.
const MAX_NAME_BYTES: usize = 253;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_for_one_address_is_reached_only_there() {
        let local = "127.0.0.1:4000".parse().unwrap();
        assert_eq!(reachable(local), [local]);
    }

    #[test]
    fn address_comes_from_the_interfaces_without_a_route() {
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        let of =
            |all: &[(&str, bool)]| best(all.iter().map(|(text, up)| (ip(text), *up)).collect());
        let none = of(&[("127.0.0.1", true), ("::1", true), ("fe80::1", true)]);
        assert_eq!(none, [] as [IpAddr; 0]);
        let some = of(&[
            ("172.17.0.1", false),
            ("127.0.0.1", true),
            ("169.254.3.4", true),
            ("10.9.0.1", true),
            ("192.168.7.1", false),
        ]);
        assert_eq!(some, [ip("10.9.0.1"), ip("169.254.3.4"), ip("172.17.0.1")]);
        assert_eq!(of(&[("fd00::7", true)]), [ip("fd00::7")]);
        // The default route of the machine that runs this does not count.
        let nowhere = own(Ipv4Addr::UNSPECIFIED.into(), Ipv4Addr::BROADCAST.into());
        let theirs = if_addrs::get_if_addrs().unwrap();
        let outer = theirs
            .iter()
            .filter(|of| of.ip().is_ipv4() && !of.is_loopback());
        assert_eq!(nowhere.is_empty(), outer.count() == 0, "{nowhere:?}");
    }

    #[test]
    fn a_socket_for_all_addresses_is_reached_on_loopback_last() {
        let found = reachable("0.0.0.0:4000".parse().unwrap());
        assert_eq!(found.last(), Some(&"127.0.0.1:4000".parse().unwrap()));
        assert!(
            found
                .iter()
                .all(|address| address.port() == 4_000 && !address.ip().is_unspecified())
        );
    }
}
