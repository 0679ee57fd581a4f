//! Tickets: the short text that invites into a match.

use crate::addresses::{MAX_ADDRESSES, is_address};
use crate::{MatchId, PeerId};
use data_encoding::BASE32_NOPAD_NOCASE;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

/// An invitation: the match, its host's addresses, and the host's key.
///
/// Its text is one word of at most 600 lower-case letters, digits and dashes, fit for a chat window; the usual one has
/// about 150. It is read in either case and with the spaces and line breaks that a window may have put into it.
///
/// ```
/// use lockstep::{MatchId, PeerId, Ticket};
///
/// let ticket = Ticket {
///     match_id: MatchId([1; 16]),
///     secret: [2; 16],
///     host: PeerId([3; 32]),
///     addresses: vec!["192.168.1.7:4000".to_owned()],
///     expires_unix_s: 1_900_000_000,
/// };
/// assert_eq!(ticket.to_string().parse(), Ok(ticket));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ticket {
    /// The match.
    pub match_id: MatchId,
    /// What a guest must know to be admitted. Zeros where the ticket admits no player by itself, as one that was announced
    /// to all: the host's player is asked then, where the host takes that.
    pub secret: [u8; 16],
    /// The host's key.
    pub host: PeerId,
    /// Where the host may be dialled, best first; at most 8, each of 1 to 64 visible ASCII characters. The text leaves
    /// out others, and the last ones where all together are too long.
    pub addresses: Vec<String>,
    /// Seconds since 1970 on the issuer's clock after which the lobby turns it away.
    pub expires_unix_s: u64,
}

/// A text that is no ticket of this version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TicketError {
    /// There is no text.
    #[error("the ticket is empty: paste the word that the host gave you, it begins with ls1-")]
    Empty,
    /// It does not begin as tickets do.
    #[error("this is no ticket: paste the word that the host gave you, it begins with ls1-")]
    NotATicket,
    /// A ticket of another version of this program.
    #[error(
        "this ticket is of version {found} and this program reads version 1: use the same version as the host"
    )]
    Version {
        /// The ticket's version.
        found: u32,
    },
    /// Longer than any ticket.
    #[error("this is longer than any ticket: paste only the word that begins with ls1-")]
    TooLong,
    /// Its end is missing.
    #[error("the end of the ticket is missing: paste the whole word")]
    Truncated,
    /// A character was changed, lost or added.
    #[error("a character of the ticket is wrong or missing: copy it again instead of typing it")]
    Typo,
    /// It is whole, but one of its addresses cannot be one.
    #[error("the ticket holds an address that cannot be dialled: ask the host for a new one")]
    Address,
}

impl Ticket {
    /// The way to the host alone, which is no secret.
    pub fn without_secret(&self) -> Ticket {
        Ticket {
            secret: NO_SECRET,
            ..self.clone()
        }
    }

    /// Whether it has expired at `now_unix_s`, seconds since 1970.
    pub fn is_expired(&self, now_unix_s: u64) -> bool {
        now_unix_s > self.expires_unix_s
    }
}

impl fmt::Display for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = encode(self);
        bytes.extend_from_slice(&checksum(&bytes));
        let text = BASE32_NOPAD_NOCASE.encode(&bytes).to_ascii_lowercase();
        write!(f, "{PREFIX}{VERSION}-{text}")
    }
}

impl FromStr for Ticket {
    type Err = TicketError;

    fn from_str(text: &str) -> Result<Ticket, TicketError> {
        if text.len() > MAX_PASTED_BYTES {
            return Err(TicketError::TooLong);
        }
        let text: String = text
            .chars()
            .filter(|char| !char.is_whitespace())
            .map(|char| char.to_ascii_lowercase())
            .collect();
        if text.is_empty() {
            return Err(TicketError::Empty);
        }
        let (version, word) = text
            .strip_prefix(PREFIX)
            .and_then(|rest| rest.split_once('-'))
            .ok_or(TicketError::NotATicket)?;
        let version: u32 = version.parse().map_err(|_| TicketError::NotATicket)?;
        if version != VERSION {
            return Err(TicketError::Version { found: version });
        }
        if text.len() > MAX_TEXT_BYTES {
            return Err(TicketError::TooLong);
        }
        // A length that no bytes encode to is most often a cut; a character outside of the alphabet is a slip.
        let bytes = BASE32_NOPAD_NOCASE
            .decode(word.as_bytes())
            .map_err(|error| match error.kind {
                data_encoding::DecodeKind::Length | data_encoding::DecodeKind::Trailing => {
                    TicketError::Truncated
                }
                _ => TicketError::Typo,
            })?;
        let (body, sum) = bytes
            .split_last_chunk::<CHECKSUM_BYTES>()
            .ok_or(TicketError::Truncated)?;
        match (decode(body), *sum == checksum(body)) {
            (result, true) => result,
            (Err(TicketError::Truncated), false) => Err(TicketError::Truncated),
            (_, false) => Err(TicketError::Typo),
        }
    }
}

/// The ticket without its checksum: match, secret, host, expiry, number of addresses, addresses. An address is a kind,
/// 4 or 6 with IP and port, or 0 with a length and text. Numbers are least significant byte first.
fn encode(ticket: &Ticket) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(MAX_BODY_BYTES);
    bytes.extend_from_slice(&ticket.match_id.0);
    bytes.extend_from_slice(&ticket.secret);
    bytes.extend_from_slice(&ticket.host.0);
    bytes.extend_from_slice(&ticket.expires_unix_s.to_le_bytes());
    let count_at = bytes.len();
    bytes.push(0);
    let usable = ticket
        .addresses
        .iter()
        .filter(|address| is_address(address.as_bytes()));
    for address in usable.take(MAX_ADDRESSES) {
        let encoded = encode_address(address);
        if bytes.len() + encoded.len() > MAX_BODY_BYTES {
            break;
        }
        bytes.extend_from_slice(&encoded);
        bytes[count_at] += 1;
    }
    bytes
}

fn encode_address(address: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    match address.parse::<SocketAddr>() {
        // Only what comes back as the same text may be shortened to its numbers.
        Ok(socket) if socket.to_string() == address && !has_scope(&socket) => {
            match socket.ip() {
                IpAddr::V4(ip) => {
                    bytes.push(IPV4);
                    bytes.extend_from_slice(&ip.octets());
                }
                IpAddr::V6(ip) => {
                    bytes.push(IPV6);
                    bytes.extend_from_slice(&ip.octets());
                }
            }
            bytes.extend_from_slice(&socket.port().to_le_bytes());
        }
        _ => {
            bytes.push(TEXT);
            let len = u8::try_from(address.len()).expect("an address has at most 64 bytes");
            bytes.push(len);
            bytes.extend_from_slice(address.as_bytes());
        }
    }
    bytes
}

fn decode(body: &[u8]) -> Result<Ticket, TicketError> {
    let mut rest = body;
    let match_id = MatchId(take(&mut rest)?);
    let secret = take(&mut rest)?;
    let host = PeerId(take(&mut rest)?);
    let expires_unix_s = u64::from_le_bytes(take(&mut rest)?);
    let [count] = take(&mut rest)?;
    if usize::from(count) > MAX_ADDRESSES {
        return Err(TicketError::Address);
    }
    let addresses = (0..count)
        .map(|_| decode_address(&mut rest))
        .collect::<Result<_, _>>()?;
    if !rest.is_empty() {
        return Err(TicketError::Typo);
    }
    Ok(Ticket {
        match_id,
        secret,
        host,
        addresses,
        expires_unix_s,
    })
}

fn decode_address(rest: &mut &[u8]) -> Result<String, TicketError> {
    let [kind] = take(rest)?;
    let ip: IpAddr = match kind {
        IPV4 => take::<4>(rest)?.into(),
        IPV6 => take::<16>(rest)?.into(),
        TEXT => {
            let [len] = take(rest)?;
            let (text, after) = rest
                .split_at_checked(usize::from(len))
                .ok_or(TicketError::Truncated)?;
            *rest = after;
            let text = Some(text).filter(|text| is_address(text));
            return text
                .and_then(|text| String::from_utf8(text.to_vec()).ok())
                .ok_or(TicketError::Address);
        }
        _ => return Err(TicketError::Address),
    };
    let port = u16::from_le_bytes(take(rest)?);
    Ok(SocketAddr::new(ip, port).to_string())
}

fn take<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], TicketError> {
    let (taken, after) = rest
        .split_first_chunk::<N>()
        .ok_or(TicketError::Truncated)?;
    *rest = after;
    Ok(*taken)
}

fn has_scope(socket: &SocketAddr) -> bool {
    matches!(socket, SocketAddr::V6(v6) if v6.scope_id() != 0 || v6.flowinfo() != 0)
}

fn checksum(body: &[u8]) -> [u8; CHECKSUM_BYTES] {
    let mut hasher = blake3::Hasher::new_derive_key("lockstep ticket 1");
    hasher.update(body);
    let mut sum = [0; CHECKSUM_BYTES];
    hasher.finalize_xof().fill(&mut sum);
    sum
}

/// The secret of a ticket that admits no player by itself.
pub(crate) const NO_SECRET: [u8; 16] = [0; 16];
const PREFIX: &str = "ls";
const VERSION: u32 = 1;
const MAX_TEXT_BYTES: usize = 600;
/// A whole ticket and what a window may have put between its lines.
const MAX_PASTED_BYTES: usize = 4 * MAX_TEXT_BYTES;
const CHECKSUM_BYTES: usize = 4;
/// What fits the text at five bits a character, after `ls1-`.
const MAX_BODY_BYTES: usize = (MAX_TEXT_BYTES - 4) * 5 / 8 - CHECKSUM_BYTES;

const TEXT: u8 = 0;
const IPV4: u8 = 4;
const IPV6: u8 = 6;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ticket(addresses: &[&str]) -> Ticket {
        Ticket {
            match_id: MatchId(*b"a match, sixteen"),
            secret: [2; 16],
            host: PeerId([3; 32]),
            addresses: addresses
                .iter()
                .map(|address| (*address).to_owned())
                .collect(),
            expires_unix_s: 1_900_000_000,
        }
    }

    fn parse(text: &str) -> Result<Ticket, TicketError> {
        text.parse()
    }

    #[test]
    fn the_text_is_golden() {
        let text = ticket(&[
            "192.168.1.7:4000",
            "[2001:db8::1]:4000",
            "host.example:4000",
        ])
        .to_string();
        assert_eq!(
            text,
            "ls1-meqg2ylumnucyidtnf4hizlfnybaeaqcaibaeaqcaibaeaqcaibagaydambqgaydambqgaydambqgaydambqgaydambqgaydambqgayawm7xcaaaaaaagbgavaaqpiapayqacdnyaaaaaaaaaaaaaaaaaaa2adyacfug643ufzsxqylnobwgkorugaydah2fkgda"
        );
    }

    #[test]
    fn every_cut_is_noticed() {
        let text = ticket(&["192.168.1.7:4000", "host.example:4000"]).to_string();
        for len in 4..text.len() {
            assert_eq!(
                parse(&text[..len]),
                Err(TicketError::Truncated),
                "cut to {len} characters"
            );
        }
    }

    #[test]
    fn every_slip_is_noticed() {
        let text = ticket(&["192.168.1.7:4000", "host.example:4000"]).to_string();
        for at in 4..text.len() {
            for other in ["a", "7", "1", "!", "é", ""] {
                let slip = format!("{}{other}{}", &text[..at], &text[at + 1..]);
                if slip != text {
                    assert!(
                        matches!(
                            parse(&slip),
                            Err(TicketError::Typo | TicketError::Truncated)
                        ),
                        "{slip}"
                    );
                }
            }
        }
    }

    #[test]
    fn ticket_survives_capitals_and_line_breaks() {
        let ticket = ticket(&["192.168.1.7:4000"]);
        let text = ticket.to_string().to_ascii_uppercase();
        let (a, b) = text.split_at(60);
        assert_eq!(parse(&format!("  {a}\r\n    {b}\n")), Ok(ticket));
    }

    #[test]
    fn other_texts_are_told_apart() {
        assert_eq!(parse(" \n"), Err(TicketError::Empty));
        assert_eq!(parse("hello"), Err(TicketError::NotATicket));
        assert_eq!(parse("ls-"), Err(TicketError::NotATicket));
        assert_eq!(parse("lsx-abc"), Err(TicketError::NotATicket));
        assert_eq!(parse("ls2-abc"), Err(TicketError::Version { found: 2 }));
        assert_eq!(parse("ls1-"), Err(TicketError::Truncated));
        assert_eq!(
            parse(&format!("ls1-{}", "a".repeat(600))),
            Err(TicketError::TooLong)
        );
        assert_eq!(parse(&"a".repeat(1 << 20)), Err(TicketError::TooLong));
    }

    #[test]
    fn a_whole_ticket_with_a_bad_address_is_named_so() {
        let with_address = |address: &[u8]| {
            let mut bytes = encode(&ticket(&[]));
            *bytes.last_mut().unwrap() = 1;
            bytes.extend_from_slice(address);
            bytes.extend_from_slice(&checksum(&bytes));
            parse(&format!("ls1-{}", BASE32_NOPAD_NOCASE.encode(&bytes)))
        };
        assert!(with_address(&[TEXT, 3, b'a', b':', b'1']).is_ok());
        for bad in [
            &[TEXT, 3, b'a', b' ', b'1'][..],
            &[TEXT, 2, 0xff, 0xff],
            &[TEXT, 0],
            &[9, 1, 1],
        ] {
            assert_eq!(with_address(bad), Err(TicketError::Address));
        }
    }

    #[test]
    fn addresses_that_do_not_fit_are_left_out_from_the_end() {
        let long: Vec<String> = (0..9)
            .map(|n| format!("{n}{}:4000", "x".repeat(58)))
            .collect();
        let mut given = ticket(&["", "with space:1", &"y".repeat(65)]);
        given.addresses.extend(long.clone());
        let text = given.to_string();
        assert!(text.len() <= MAX_TEXT_BYTES);
        assert_eq!(parse(&text).unwrap().addresses, long[..4]);
        let short: Vec<String> = (0..9).map(|n| format!("10.0.0.{n}:4000")).collect();
        given.addresses = short.clone();
        assert_eq!(
            parse(&given.to_string()).unwrap().addresses,
            short[..MAX_ADDRESSES]
        );
    }

    #[test]
    fn ticket_expires_after_its_second() {
        let ticket = ticket(&[]);
        assert!(!ticket.is_expired(1_900_000_000));
        assert!(ticket.is_expired(1_900_000_001));
    }

    fn any_ticket() -> impl Strategy<Value = Ticket> {
        let address = prop_oneof![
            any::<SocketAddr>().prop_map(|address| address.to_string()),
            "[!-~]{1,40}"
        ];
        (
            any::<[u8; 16]>(),
            any::<[u8; 16]>(),
            any::<[u8; 32]>(),
            prop::collection::vec(address, 0..7),
            any::<u64>(),
        )
            .prop_map(
                |(match_id, secret, host, addresses, expires_unix_s)| Ticket {
                    match_id: MatchId(match_id),
                    secret,
                    host: PeerId(host),
                    addresses,
                    expires_unix_s,
                },
            )
    }

    proptest! {
        #[test]
        fn text_round_trips(ticket in any_ticket()) {
            let text = ticket.to_string();
            prop_assert!(text.len() <= MAX_TEXT_BYTES);
            prop_assert!(text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'));
            let read: Ticket = text.parse().expect("a ticket");
            let (told, left_out) = ticket.addresses.split_at(read.addresses.len());
            // The next one would not have fitted.
            let head = encode(&Ticket { addresses: Vec::new(), ..ticket.clone() }).len();
            let more = told.iter().chain(left_out.first());
            let with_next = head + more.map(|address| encode_address(address).len()).sum::<usize>();
            prop_assert!(left_out.is_empty() || with_next > MAX_BODY_BYTES);
            prop_assert_eq!(read, Ticket { addresses: told.to_vec(), ..ticket });
        }

        #[test]
        fn any_text_gets_an_answer(text in ".{0,80}|ls[0-9]{1,12}-[a-z0-9]{0,300}") {
            let _ = parse(&text);
        }

        #[test]
        fn any_body_gets_an_answer(body in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&body);
        }
    }
}
