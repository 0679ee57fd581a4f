//! Messages on a stream: four bytes of length, least significant first, and as many bytes.

/// The length in front of a message does not fit the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Oversized;

/// Puts a message into its frame; `None` if it is longer than `limit`.
pub fn encode(message: &[u8], limit: u32) -> Option<Vec<u8>> {
    let len = u32::try_from(message.len())
        .ok()
        .filter(|len| *len <= limit)?;
    let mut frame = Vec::with_capacity(HEADER + message.len());
    frame.extend_from_slice(&len.to_le_bytes());
    frame.extend_from_slice(message);
    Some(frame)
}

/// Takes a stream apart into its messages, however it was cut. Holds at most one unfinished message and what was
/// pushed last.
pub struct Decoder {
    limit: u32,
    buffer: Vec<u8>,
    taken: usize,
}

impl Decoder {
    /// A decoder of messages of at most `limit` bytes.
    pub fn new(limit: u32) -> Decoder {
        Decoder {
            limit,
            buffer: Vec::new(),
            taken: 0,
        }
    }

    /// Takes the next bytes of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.drain(..self.taken);
        self.taken = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// Whether a stream that ends here has lost no part of a message, once
    /// [`next_message`](Self::next_message) has given them all.
    pub fn is_between_messages(&self) -> bool {
        self.taken == self.buffer.len()
    }

    /// The next whole message, if there is one.
    ///
    /// # Errors
    /// [`Oversized`] as soon as the length of a message is known to be above the limit.
    pub fn next_message(&mut self) -> Result<Option<Vec<u8>>, Oversized> {
        let Some((header, rest)) = self.buffer[self.taken..].split_first_chunk::<HEADER>() else {
            return Ok(None);
        };
        let len = u32::from_le_bytes(*header);
        if len > self.limit {
            return Err(Oversized);
        }
        let len = usize::try_from(len).map_err(|_| Oversized)?;
        let message = rest.get(..len).map(<[u8]>::to_vec);
        if message.is_some() {
            self.taken += HEADER + len;
        }
        Ok(message)
    }
}

/// Bytes in front of every message.
pub const HEADER: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn messages_of(decoder: &mut Decoder) -> Result<Vec<Vec<u8>>, Oversized> {
        let mut messages = Vec::new();
        while let Some(message) = decoder.next_message()? {
            messages.push(message);
        }
        Ok(messages)
    }

    #[test]
    fn the_limit_is_the_last_length_that_passes() {
        assert_eq!(
            encode(&[1; 8], 8).map(|frame| frame.len()),
            Some(8 + HEADER)
        );
        assert_eq!(encode(&[1; 9], 8), None);
        let mut decoder = Decoder::new(8);
        decoder.push(&9u32.to_le_bytes());
        assert_eq!(decoder.next_message(), Err(Oversized));
    }

    proptest! {
        #[test]
        fn messages_survive_any_cutting(
            messages in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..10),
            cuts in prop::collection::vec(1usize..50, 1..10),
        ) {
            let stream: Vec<u8> = messages.iter().flat_map(|m| encode(m, 40).unwrap()).collect();
            let mut decoder = Decoder::new(40);
            let mut decoded = Vec::new();
            let mut rest = &stream[..];
            for cut in cuts.iter().cycle() {
                let (piece, later) = rest.split_at(rest.len().min(*cut));
                decoder.push(piece);
                decoded.extend(messages_of(&mut decoder).unwrap());
                rest = later;
                if rest.is_empty() {
                    break;
                }
            }
            prop_assert_eq!(decoded, messages);
            prop_assert!(decoder.is_between_messages());
        }

        #[test]
        fn no_bytes_make_it_hold_more_than_the_limit(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..30), 0..30)) {
            let mut decoder = Decoder::new(50);
            for piece in pieces {
                decoder.push(&piece);
                if messages_of(&mut decoder).is_err() {
                    return Ok(());
                }
                prop_assert!(decoder.buffer.len() - decoder.taken <= 50 + HEADER);
            }
        }
    }
}
