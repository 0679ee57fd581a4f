//! One link over a connection of quinn-proto, by the product's rules: the work of the product's tasks in one
//! function.

use bytes::Bytes;
use lockstep::quic::parts::{
    BULK_PRIORITY, CHUNK_BYTES, CLOSED, DIAL, Decoder, EXPORTER_LABEL, FLUSH, HANDSHAKE, VIOLATION,
    WELCOME, carries_turns, encode, not_up, peer_of, queue_bytes, went_down,
};
use lockstep::{Blocked, Channel, Limits, LinkError, MAX_DATAGRAM, PeerId};
use quinn_proto::{
    Connection, ConnectionError, Dir, Event, ReadError, StreamEvent, StreamId, VarInt,
};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A link, from the first packet of its handshake on.
pub struct Link {
    /// The connection below it.
    pub connection: Connection,
    dialled: Option<Dialled>,
    stage: Stage,
    limits: Limits,
    control: Way,
    bulk: Way,
    news: VecDeque<News>,
}

/// The target of a dial.
pub struct Dialled {
    /// Its address.
    pub address: String,
    /// The expected key.
    pub key: PeerId,
    /// Set once another key has answered.
    pub wrong_key: Arc<AtomicBool>,
}

/// News of a link.
pub enum News {
    /// It is up.
    Up {
        /// The key that the other side has proved to hold.
        peer: PeerId,
        /// The channel binding.
        binding: [u8; 32],
    },
    /// The dial has failed.
    Failed(LinkError),
    /// It is down.
    Down(LinkError),
    /// A datagram or a message.
    Received(Channel, Vec<u8>),
}

/// The stage of a link.
enum Stage {
    /// TLS handshake, or the dialler's wait for the welcome.
    Opening { until: Duration },
    /// It carries bytes.
    Open,
    /// The session has closed it; queued bytes still leave.
    Closing { until: Duration },
    /// Nothing more comes from it.
    Over,
}

/// The stream of a channel: bidirectional for control messages, one stream each way for bulk.
struct Way {
    out: Option<StreamId>,
    into: Option<StreamId>,
    /// The rest of the message being written.
    current: Bytes,
    waiting: VecDeque<Bytes>,
    waiting_bytes: usize,
    capacity: usize,
    decoder: Decoder,
    finishing: bool,
    /// The other side has everything, or wants no more.
    delivered: bool,
}

/// The other side broke a rule.
struct Violation;

impl Link {
    /// A link that this side has just dialled.
    pub fn dialling(
        connection: Connection,
        dialled: Dialled,
        limits: &Limits,
        now: Duration,
    ) -> Self {
        Link::new(connection, Some(dialled), limits, now + DIAL)
    }

    /// A link that the other side has dialled.
    pub fn accepting(connection: Connection, limits: &Limits, now: Duration) -> Self {
        Link::new(connection, None, limits, now + HANDSHAKE)
    }

    fn new(
        connection: Connection,
        dialled: Option<Dialled>,
        limits: &Limits,
        until: Duration,
    ) -> Self {
        Link {
            connection,
            dialled,
            stage: Stage::Opening { until },
            limits: limits.clone(),
            control: Way::new(Channel::Control, limits),
            bulk: Way::new(Channel::Bulk, limits),
            news: VecDeque::new(),
        }
    }

    /// The target, if this side has dialled.
    pub fn dialled(&self) -> Option<&Dialled> {
        self.dialled.as_ref()
    }

    /// Whether it counts towards the limit of incoming handshakes.
    pub fn is_pending(&self) -> bool {
        self.dialled.is_none() && matches!(self.stage, Stage::Opening { .. })
    }

    /// Whether it counts towards the limit of incoming links.
    pub fn has_place(&self) -> bool {
        self.dialled.is_none() && matches!(self.stage, Stage::Open | Stage::Closing { .. })
    }

    /// The next news.
    pub fn next_news(&mut self) -> Option<News> {
        self.news.pop_front()
    }

    /// When [`pass_time`](Self::pass_time) is due.
    pub fn deadline(&mut self, base: Instant) -> Option<Duration> {
        let rule = match self.stage {
            Stage::Opening { until } | Stage::Closing { until } => Some(until),
            Stage::Open | Stage::Over => None,
        };
        let quic = self.connection.poll_timeout();
        let quic = quic.map(|at| at.saturating_duration_since(base));
        rule.into_iter().chain(quic).min()
    }

    /// Advances its clock.
    pub fn pass_time(&mut self, base: Instant, now: Duration) {
        let at = base + now;
        if self.connection.poll_timeout().is_some_and(|due| due <= at) {
            self.connection.handle_timeout(at);
        }
        match self.stage {
            Stage::Opening { until } if until <= now => {
                self.fail(LinkError::Unanswered);
                self.hang_up(at, CLOSED);
            }
            Stage::Closing { until } if until <= now => self.hang_up(at, CLOSED),
            _ => {}
        }
    }

    /// Whether one more datagram of `len` bytes would push out an older one.
    pub fn datagrams_waiting(&mut self, len: usize) -> bool {
        self.connection.datagrams().send_buffer_space() < len
    }

    /// Sends or queues bytes, as the product's transport does.
    ///
    /// # Errors
    /// [`Blocked`] if nothing was sent.
    pub fn send(&mut self, channel: Channel, bytes: &[u8]) -> Result<(), Blocked> {
        let way = match channel {
            Channel::Turns if bytes.len() > MAX_DATAGRAM => return Err(Blocked),
            Channel::Turns => {
                let bytes = Bytes::copy_from_slice(bytes);
                let sent = self.connection.datagrams().send(bytes, true);
                return sent.map_err(|_| Blocked);
            }
            Channel::Control => &mut self.control,
            Channel::Bulk => &mut self.bulk,
        };
        way.push(encode(bytes, self.limits.message_bytes).ok_or(Blocked)?)
    }

    /// Closes the link once queued bytes have left. No news follows.
    pub fn close(&mut self, now: Duration) {
        self.stage = Stage::Closing { until: now + FLUSH };
        self.news.clear();
        self.control.finishing = true;
        self.bulk.finishing = true;
    }

    /// Closes the connection at once.
    pub fn hang_up(&mut self, at: Instant, code: VarInt) {
        self.stage = Stage::Over;
        self.connection.close(at, code, Bytes::new());
    }

    /// Handles all events of the connection, and writes queued bytes.
    pub fn advance(&mut self, at: Instant) {
        while let Some(event) = self.connection.poll() {
            match event {
                Event::Connected if self.dialled.is_none() => self.welcome(at),
                Event::ConnectionLost { reason } => {
                    self.take_in(at);
                    self.lose(&reason);
                }
                Event::Stream(StreamEvent::Finished { id } | StreamEvent::Stopped { id, .. }) => {
                    for way in [&mut self.control, &mut self.bulk] {
                        way.delivered |= way.out == Some(id);
                    }
                }
                _ => {}
            }
        }
        self.take_in(at);
        self.write(at);
    }

    /// Welcomes a dialler after its handshake.
    fn welcome(&mut self, at: Instant) {
        if !matches!(self.stage, Stage::Opening { .. }) {
            return;
        }
        let fits = carries_turns(self.connection.datagrams().max_size());
        let stream = match fits {
            true => self.connection.streams().open(Dir::Bi),
            false => None,
        };
        let welcomed = stream.is_some_and(|id| {
            self.control.out = stream;
            self.control.into = stream;
            matches!(self.connection.send_stream(id).write(&[WELCOME]), Ok(1))
        });
        match welcomed {
            true => self.come_up(at),
            false => self.hang_up(at, VIOLATION),
        }
    }

    fn come_up(&mut self, at: Instant) {
        let mut binding = [0; 32];
        let session = self.connection.crypto_session();
        let peer = peer_of(session.peer_identity());
        let bound = session.export_keying_material(&mut binding, EXPORTER_LABEL, &[]);
        match (peer, bound) {
            (Some(peer), Ok(())) => {
                self.stage = Stage::Open;
                self.news.push_back(News::Up { peer, binding });
            }
            _ => self.hang_up(at, VIOLATION),
        }
    }

    /// Receives what has arrived.
    fn take_in(&mut self, at: Instant) {
        if matches!(self.stage, Stage::Opening { .. })
            && self.dialled.is_some()
            && let Err(why) = self.await_welcome(at)
        {
            self.fail(why);
            self.hang_up(at, VIOLATION);
        }
        if !matches!(self.stage, Stage::Open) {
            return;
        }
        let violated = self.take_datagrams().is_err()
            || self.take_messages(Channel::Control).is_err()
            || self.take_messages(Channel::Bulk).is_err();
        if violated {
            self.news.push_back(News::Down(LinkError::Violation));
            self.hang_up(at, VIOLATION);
        }
    }

    /// The dialler's side: the first byte of the control stream is the welcome.
    fn await_welcome(&mut self, at: Instant) -> Result<(), LinkError> {
        if self.control.into.is_none() {
            let stream = self.connection.streams().accept(Dir::Bi);
            self.control.into = stream;
            self.control.out = stream;
        }
        let Some(id) = self.control.into else {
            return Ok(());
        };
        let mut stream = self.connection.recv_stream(id);
        let mut chunks = stream.read(true).map_err(|_| LinkError::Refused)?;
        let first = chunks.next(1);
        let _ = chunks.finalize();
        match first {
            Ok(Some(chunk)) if chunk.bytes[..] == [WELCOME] => {}
            Ok(Some(_)) => return Err(LinkError::Violation),
            Ok(None) | Err(ReadError::Reset(_)) => return Err(LinkError::Refused),
            Err(ReadError::Blocked) => return Ok(()),
        }
        if !carries_turns(self.connection.datagrams().max_size()) {
            return Err(LinkError::Violation);
        }
        self.come_up(at);
        Ok(())
    }

    fn take_datagrams(&mut self) -> Result<(), Violation> {
        while let Some(datagram) = self.connection.datagrams().recv() {
            if datagram.len() > MAX_DATAGRAM {
                return Err(Violation);
            }
            let news = News::Received(Channel::Turns, datagram.to_vec());
            self.news.push_back(news);
        }
        Ok(())
    }

    fn take_messages(&mut self, channel: Channel) -> Result<(), Violation> {
        let way = match channel {
            Channel::Bulk => &mut self.bulk,
            Channel::Control | Channel::Turns => &mut self.control,
        };
        if channel == Channel::Bulk && way.into.is_none() {
            way.into = self.connection.streams().accept(Dir::Uni);
        }
        let Some(id) = way.into else {
            return Ok(());
        };
        let mut stream = self.connection.recv_stream(id);
        // A stream that was read to its end is closed.
        let Ok(mut chunks) = stream.read(true) else {
            return Ok(());
        };
        let taken = loop {
            match chunks.next(CHUNK_BYTES) {
                Ok(Some(chunk)) => way.decoder.push(&chunk.bytes),
                // The other side closes the link once everything on it has arrived.
                Ok(None) if way.decoder.is_between_messages() => break Ok(()),
                Err(ReadError::Blocked) => break Ok(()),
                Ok(None) | Err(ReadError::Reset(_)) => break Err(Violation),
            }
            loop {
                match way.decoder.next_message() {
                    Ok(Some(message)) => self.news.push_back(News::Received(channel, message)),
                    Ok(None) => break,
                    Err(_) => {
                        let _ = chunks.finalize();
                        return Err(Violation);
                    }
                }
            }
        };
        let _ = chunks.finalize();
        taken
    }

    fn write(&mut self, at: Instant) {
        if !matches!(self.stage, Stage::Open | Stage::Closing { .. }) {
            return;
        }
        if self.bulk.out.is_none() && !self.bulk.waiting.is_empty() {
            self.bulk.out = self.connection.streams().open(Dir::Uni);
            if let Some(id) = self.bulk.out {
                // The stream was just opened, so it is not closed.
                let _ = self.connection.send_stream(id).set_priority(BULK_PRIORITY);
            }
        }
        let control = self.control.write(&mut self.connection);
        let bulk = self.bulk.write(&mut self.connection);
        if control && bulk && matches!(self.stage, Stage::Closing { .. }) {
            self.hang_up(at, CLOSED);
        }
    }

    fn lose(&mut self, reason: &ConnectionError) {
        match self.stage {
            Stage::Opening { .. } => self.fail(not_up(reason)),
            Stage::Open => self.news.push_back(News::Down(went_down(reason))),
            Stage::Closing { .. } | Stage::Over => {}
        }
        self.stage = Stage::Over;
    }

    fn fail(&mut self, why: LinkError) {
        if let Some(dialled) = &self.dialled {
            let wrong_key = dialled.wrong_key.load(Ordering::Relaxed);
            let why = if wrong_key { LinkError::WrongKey } else { why };
            self.news.push_back(News::Failed(why));
        }
    }
}

impl Way {
    fn new(channel: Channel, limits: &Limits) -> Self {
        Way {
            out: None,
            into: None,
            current: Bytes::new(),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            capacity: queue_bytes(channel, limits),
            decoder: Decoder::new(limits.message_bytes),
            finishing: false,
            delivered: false,
        }
    }

    fn push(&mut self, frame: Vec<u8>) -> Result<(), Blocked> {
        if self.waiting_bytes + frame.len() > self.capacity {
            return Err(Blocked);
        }
        self.waiting_bytes += frame.len();
        self.waiting.push_back(frame.into());
        Ok(())
    }

    /// Writes what the connection takes. Returns whether everything is delivered.
    fn write(&mut self, connection: &mut Connection) -> bool {
        let Some(id) = self.out else {
            return self.waiting.is_empty();
        };
        let mut stream = connection.send_stream(id);
        loop {
            if self.current.is_empty() {
                let Some(next) = self.waiting.pop_front() else {
                    break;
                };
                self.waiting_bytes -= next.len();
                self.current = next;
            }
            match stream.write(&self.current) {
                Ok(written) => drop(self.current.split_to(written)),
                Err(quinn_proto::WriteError::Blocked) => return false,
                Err(_) => {
                    self.delivered = true;
                    return true;
                }
            }
        }
        if std::mem::take(&mut self.finishing) && stream.finish().is_err() {
            self.delivered = true;
        }
        self.delivered
    }
}
