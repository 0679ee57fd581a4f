//! The ways out of one socket, made worse on purpose: all alike or by address, and changed at run time.

use super::impairment::{Impairment, ImpairmentError};
use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What is wrong with which way out. As text: the [`Impairment`] of all in one line, and a line `to ADDRESS ...` for
/// each address that has one of its own. Empty lines and what follows a `#` count for nothing.
///
/// ```
/// let cut: lockstep::quic::Ways = "delay=20ms\nto 127.0.0.1:4001 loss=100%  # cut".parse()?;
/// assert_eq!(cut.to.values().next().map(|way| way.loss_ppm), Some(1_000_000));
/// # Ok::<(), lockstep::quic::ImpairmentError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ways {
    /// For all addresses without one of their own.
    pub all: Impairment,
    /// By address.
    pub to: BTreeMap<SocketAddr, Impairment>,
}

impl Ways {
    /// The way to this address, and under which address it has one of its own.
    pub(super) fn to(&self, address: SocketAddr) -> (Option<SocketAddr>, Impairment) {
        let known = SocketAddr::new(address.ip().to_canonical(), address.port());
        match self.to.get(&known) {
            Some(own) => (Some(known), *own),
            None => (None, self.all),
        }
    }
}

impl From<Impairment> for Ways {
    fn from(all: Impairment) -> Ways {
        Ways {
            all,
            to: BTreeMap::new(),
        }
    }
}

impl FromStr for Ways {
    type Err = ImpairmentError;

    fn from_str(text: &str) -> Result<Ways, ImpairmentError> {
        let mut all = None;
        let mut to = BTreeMap::new();
        for line in text.lines() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            let Some(rest) = line.strip_prefix("to ") else {
                if all.replace(line.parse()?).is_some() {
                    return Err(ImpairmentError::TwoForAll);
                }
                continue;
            };
            let (address, what) = rest.trim().split_once(' ').unwrap_or((rest.trim(), ""));
            let no_address = |_| ImpairmentError::Address {
                address: address.to_owned(),
            };
            let at: SocketAddr = address.parse().map_err(no_address)?;
            let at = SocketAddr::new(at.ip().to_canonical(), at.port());
            let before = to.insert(at, what.parse()?);
            if before.is_some() || to.len() > MOST_ADDRESSES {
                return Err(ImpairmentError::Addresses {
                    address: at,
                    most: MOST_ADDRESSES,
                });
            }
        }
        Ok(Ways {
            all: all.unwrap_or_default(),
            to,
        })
    }
}

impl fmt::Display for Ways {
    /// In the form that can be parsed again.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.all)?;
        for (address, impairment) in &self.to {
            write!(f, "\nto {address} {impairment}")?;
        }
        Ok(())
    }
}

/// Current impairments of the ways out of one socket. Clones share one state: a clone can
/// [`set`](Self::set) it while the match goes on.
#[derive(Clone, Debug, Default)]
pub struct Impairments(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    version: AtomicU64,
    ways: Mutex<Ways>,
}

impl Impairments {
    /// With these ways out.
    pub fn new(ways: impl Into<Ways>) -> Impairments {
        Impairments(Arc::new(Shared {
            version: AtomicU64::new(0),
            ways: Mutex::new(ways.into()),
        }))
    }

    /// Changes the ways out from now on. What is on its way arrives as it would have.
    pub fn set(&self, ways: impl Into<Ways>) {
        *self.0.ways.lock().unwrap_or_else(PoisonError::into_inner) = ways.into();
        self.0.version.fetch_add(1, Ordering::Release);
    }

    /// The ways out as they are now.
    pub fn get(&self) -> Ways {
        let ways = self.0.ways.lock().unwrap_or_else(PoisonError::into_inner);
        ways.clone()
    }

    /// Whether another clone exists, in a socket or in a caller that sets it.
    pub fn is_shared(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    /// Counts the calls of [`set`](Self::set).
    pub(super) fn version(&self) -> u64 {
        self.0.version.load(Ordering::Acquire)
    }
}

impl FromStr for Impairments {
    type Err = ImpairmentError;

    fn from_str(text: &str) -> Result<Impairments, ImpairmentError> {
        Ok(Impairments::new(text.parse::<Ways>()?))
    }
}

/// Addresses with an impairment of their own, at most.
const MOST_ADDRESSES: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_and_written() {
        let text = "delay=20ms,loss=1%\nto 127.0.0.1:4001 loss=100%\nto [::1]:9 ";
        let ways: Ways = text.parse().unwrap();
        assert_eq!(ways.to_string().parse(), Ok(ways.clone()));
        let to = |address: &str| ways.to(address.parse().unwrap()).1;
        assert_eq!(to("127.0.0.1:4001").loss_ppm, 1_000_000);
        assert_eq!(to("[::ffff:127.0.0.1]:4001").loss_ppm, 1_000_000);
        assert_eq!(to("[::1]:9"), Impairment::default());
        assert_eq!(to("127.0.0.1:4002").loss_ppm, 10_000);
        let commented: Ways = "# all is well\n\nto 1.2.3.4:5 loss=2% # but for this"
            .parse()
            .unwrap();
        assert_eq!(
            (commented.all, commented.to.len()),
            (Impairment::default(), 1)
        );
    }

    #[test]
    fn bad_lines_are_named() {
        let many: String = (0..65)
            .map(|at| format!("to 10.0.0.1:{at} loss=1%\n"))
            .collect();
        for (text, message) in [
            ("to nowhere loss=1%", "`nowhere` is no address"),
            ("to 127.0.0.1 loss=1%", "`127.0.0.1` is no address"),
            ("loss=1%\ndelay=2ms", "two lines are for all"),
            (
                "to 1.2.3.4:5 loss=1%\nto 1.2.3.4:5 loss=2%",
                "1.2.3.4:5 is one too many",
            ),
            ("to 1.2.3.4:5 speed=1", "`speed` is unknown"),
            (&many, "10.0.0.1:64 is one too many"),
        ] {
            let error = text.parse::<Ways>().unwrap_err().to_string();
            assert!(error.starts_with(message), "{text}: {error}");
        }
    }
}
