//! One link from its handshake to its end, as tasks over quinn; by the [`rules`].

use super::frame::{self, Decoder};
use super::handshakes::{Handshakes, Pending};
use super::lookups::Lookups;
use super::outgoing::{Queue, write, write_bulk};
use super::rules::{
    CHUNK_BYTES, CLOSED, DIAL, EXPORTER_LABEL, FLUSH, HANDSHAKE, MESSAGES_PER_S, SERVER_NAME,
    VIOLATION, WELCOME,
};
use super::{address, rules, settings, tls};
use crate::{Blocked, Channel, Limits, LinkError, LinkId, MAX_DATAGRAM, PeerId};
use bytes::Bytes;
use quinn::{Connection, Endpoint, Incoming, ReadError, RecvStream, SendStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::sync::{Semaphore, SemaphorePermit, mpsc, oneshot};
use tokio::time::{Instant, sleep_until, timeout};

/// What the tasks of all links share.
pub(super) struct Shared {
    pub(super) endpoint: Endpoint,
    pub(super) key: tls::OwnKey,
    pub(super) limits: Limits,
    pub(super) happenings: mpsc::Sender<Happening>,
    next_link: AtomicU32,
    /// Places for links that others dialled.
    places: Semaphore,
    /// Handshakes that others began.
    pub(super) handshakes: Arc<Handshakes>,
    lookups: Lookups,
}

impl Shared {
    pub(super) fn new(
        endpoint: Endpoint,
        key: tls::OwnKey,
        limits: Limits,
        happenings: mpsc::Sender<Happening>,
    ) -> Shared {
        Shared {
            endpoint,
            key,
            happenings,
            next_link: AtomicU32::new(0),
            places: Semaphore::new(rules::places(&limits)),
            handshakes: Handshakes::new(),
            lookups: Lookups::default(),
            limits,
        }
    }
}

/// What the tasks of links report.
pub(super) enum Happening {
    /// A link is up.
    Up(LinkHandle),
    /// A dial came to nothing.
    DialFailed {
        address: String,
        key: PeerId,
        why: LinkError,
    },
    /// A link is gone.
    Down { link: LinkId, why: LinkError },
    /// A datagram or a message.
    Received {
        link: LinkId,
        channel: Channel,
        bytes: Vec<u8>,
    },
}

/// A link that is up. Dropping it closes the link, after what was sent on it.
pub(super) struct LinkHandle {
    pub(super) link: LinkId,
    pub(super) peer: PeerId,
    pub(super) dialled: bool,
    pub(super) address: String,
    pub(super) binding: [u8; 32],
    pub(super) connection: Connection,
    control: Queue,
    bulk: Queue,
    _closing: oneshot::Sender<()>,
}

impl LinkHandle {
    /// Whether one more datagram of `len` bytes would push out an older one.
    pub(super) fn datagrams_waiting(&self, len: usize) -> bool {
        self.connection.datagram_send_buffer_space() < len
    }

    pub(super) fn send_datagram(&self, bytes: &[u8]) -> Result<(), Blocked> {
        if bytes.len() > MAX_DATAGRAM {
            return Err(Blocked);
        }
        self.connection
            .send_datagram(Bytes::copy_from_slice(bytes))
            .map_err(|_| Blocked)
    }

    pub(super) fn send_message(
        &self,
        channel: Channel,
        bytes: &[u8],
        limits: &Limits,
    ) -> Result<(), Blocked> {
        let frame = frame::encode(bytes, limits.message_bytes).ok_or(Blocked)?;
        match channel {
            Channel::Bulk => self.bulk.push(frame),
            Channel::Control | Channel::Turns => self.control.push(frame),
        }
    }
}

/// Takes in links until the endpoint closes.
pub(super) async fn accept(shared: Arc<Shared>) {
    while let Some(incoming) = shared.endpoint.accept().await {
        let from = incoming.remote_address().ip();
        // One packet with a forged sender gets this far.
        if !incoming.remote_address_validated() && shared.handshakes.must_show(from) {
            let _ = incoming.retry();
            continue;
        }
        if shared.places.available_permits() == 0 {
            incoming.refuse();
            continue;
        }
        match shared.handshakes.begin(from) {
            Some(pending) => {
                tokio::spawn(welcome(shared.clone(), incoming, pending));
            }
            // A dialler that hears nothing repeats its first packet, and may find a place then.
            None => incoming.ignore(),
        }
    }
}

/// Dials `address` and expects `key` there.
pub(super) async fn dial(shared: Arc<Shared>, address: String, key: PeerId) {
    match timeout(DIAL, connect(&shared, &address, key)).await {
        Ok(Ok((connection, streams))) => run(&shared, connection, streams, None).await,
        failed => {
            let why = match failed {
                Ok(Err(why)) => why,
                _ => LinkError::Unanswered,
            };
            let _ = shared
                .happenings
                .send(Happening::DialFailed { address, key, why })
                .await;
        }
    }
}

async fn connect(
    shared: &Shared,
    text: &str,
    key: PeerId,
) -> Result<(Connection, (SendStream, RecvStream)), LinkError> {
    let local = shared
        .endpoint
        .local_addr()
        .map_err(|_| LinkError::Address)?;
    let address = address::resolve(text, local.is_ipv6(), key, &shared.lookups).await?;
    let (tls, wrong_key) = tls::dialling(&shared.key, key);
    let connecting = shared
        .endpoint
        .connect_with(settings::client(tls), address, SERVER_NAME)
        .map_err(|_| LinkError::Address)?;
    let connection = connecting.await.map_err(|error| {
        if wrong_key.load(Ordering::Relaxed) {
            LinkError::WrongKey
        } else {
            rules::not_up(&error)
        }
    })?;
    let (send, mut receive) = connection
        .accept_bi()
        .await
        .map_err(|error| rules::not_up(&error))?;
    let mut byte = [0];
    match receive.read_exact(&mut byte).await {
        Ok(()) if byte == [WELCOME] => {}
        Ok(()) => {
            connection.close(VIOLATION, &[]);
            return Err(LinkError::Violation);
        }
        Err(_) => {
            return Err(connection
                .close_reason()
                .map_or(LinkError::Refused, |why| rules::not_up(&why)));
        }
    }
    check_datagrams(&connection)?;
    Ok((connection, (send, receive)))
}

async fn welcome(shared: Arc<Shared>, incoming: Incoming, mut pending: Pending) {
    let opening = async {
        let connection = incoming.await.ok()?;
        check_datagrams(&connection).ok()?;
        let place = shared.places.try_acquire().ok()?;
        let (mut send, receive) = connection.open_bi().await.ok()?;
        send.write_all(&[WELCOME]).await.ok()?;
        Some((connection, (send, receive), place))
    };
    let opened = tokio::select! {
        opened = timeout(HANDSHAKE, opening) => opened.ok().flatten(),
        _ = &mut pending.displaced => None,
    };
    drop(pending);
    if let Some((connection, streams, place)) = opened {
        run(&shared, connection, streams, Some(place)).await;
    }
}

/// Reports the link, carries what arrives, and reports its end. A link that the other side dialled has a place until it is
/// closed.
async fn run(
    shared: &Shared,
    connection: Connection,
    (control_out, control_in): (SendStream, RecvStream),
    place: Option<SemaphorePermit<'_>>,
) {
    let mut binding = [0; 32];
    let (Some(peer), Ok(())) = (
        rules::peer_of(connection.peer_identity()),
        connection.export_keying_material(&mut binding, EXPORTER_LABEL, &[]),
    ) else {
        connection.close(VIOLATION, &[]);
        return;
    };
    let link = LinkId(shared.next_link.fetch_add(1, Ordering::Relaxed));
    let queue = |channel| Queue::new(rules::queue_bytes(channel, &shared.limits));
    let (control, control_queue) = queue(Channel::Control);
    let (bulk, bulk_queue) = queue(Channel::Bulk);
    let (closing, closed) = oneshot::channel();
    let up = Happening::Up(LinkHandle {
        link,
        peer,
        dialled: place.is_none(),
        address: address::plain(connection.remote_address()).to_string(),
        binding,
        connection: connection.clone(),
        control,
        bulk,
        _closing: closing,
    });
    if shared.happenings.send(up).await.is_err() {
        return;
    }

    let writers = {
        let connection = connection.clone();
        tokio::spawn(async move {
            tokio::join!(
                write(control_out, control_queue),
                write_bulk(&connection, bulk_queue)
            );
        })
    };
    let reader = Reader {
        shared,
        connection: &connection,
        link,
    };
    tokio::select! {
        why = reader.run(control_in) => {
            let _ = shared.happenings.send(Happening::Down { link, why }).await;
        }
        _ = closed => {
            drop(place);
            let _ = timeout(FLUSH, writers).await;
            connection.close(CLOSED, &[]);
        }
    }
}

/// Reads all that arrives on a link.
struct Reader<'a> {
    shared: &'a Shared,
    connection: &'a Connection,
    link: LinkId,
}

impl Reader<'_> {
    /// Ends with the link. Every channel is read to its own end, so what came before a close is not lost to it.
    async fn run(&self, control: RecvStream) -> LinkError {
        let (turns, control, bulk) = tokio::join!(
            self.turns(),
            self.messages(Channel::Control, control),
            self.bulk()
        );
        if [turns, control, bulk].contains(&Err(Violation)) {
            return LinkError::Violation;
        }
        rules::went_down(&self.connection.closed().await)
    }

    async fn turns(&self) -> Result<(), Violation> {
        let mut meter = Meter::new();
        while let Ok(datagram) = self.connection.read_datagram().await {
            if datagram.len() > MAX_DATAGRAM {
                return Err(self.violated());
            }
            // A packet holds hundreds of tiny datagrams, and each of them costs a step of the session.
            if meter.full_until().is_some() {
                continue;
            }
            self.received(Channel::Turns, datagram.to_vec()).await;
        }
        Ok(())
    }

    async fn bulk(&self) -> Result<(), Violation> {
        match self.connection.accept_uni().await {
            Ok(stream) => self.messages(Channel::Bulk, stream).await,
            Err(_) => Ok(()),
        }
    }

    async fn messages(&self, channel: Channel, mut stream: RecvStream) -> Result<(), Violation> {
        let mut decoder = Decoder::new(self.shared.limits.message_bytes);
        let mut meter = Meter::new();
        loop {
            match stream.read_chunk(CHUNK_BYTES, true).await {
                Ok(Some(chunk)) => decoder.push(&chunk.bytes),
                // The other side closes the link once everything on it has arrived.
                Ok(None) if decoder.is_between_messages() => return Ok(()),
                Err(ReadError::ConnectionLost(_)) => return Ok(()),
                Ok(None) | Err(_) => return Err(self.violated()),
            }
            loop {
                match decoder.next_message() {
                    Ok(Some(message)) => {
                        if let Some(until) = meter.full_until() {
                            tokio::select! {
                                () = sleep_until(until) => {}
                                _ = self.connection.closed() => return Ok(()),
                            }
                        }
                        self.received(channel, message).await;
                    }
                    Ok(None) => break,
                    Err(frame::Oversized) => return Err(self.violated()),
                }
            }
        }
    }

    async fn received(&self, channel: Channel, bytes: Vec<u8>) {
        let link = self.link;
        let _ = self
            .shared
            .happenings
            .send(Happening::Received {
                link,
                channel,
                bytes,
            })
            .await;
    }

    fn violated(&self) -> Violation {
        self.connection.close(VIOLATION, &[]);
        Violation
    }
}

/// How much came on a channel within a second.
struct Meter {
    since: Instant,
    taken: u32,
}

impl Meter {
    fn new() -> Self {
        Meter {
            since: Instant::now(),
            taken: 0,
        }
    }

    /// One more message has come. Until when no more are taken, if there were too many.
    fn full_until(&mut self) -> Option<Instant> {
        const SECOND: Duration = Duration::from_secs(1);
        if self.since.elapsed() >= SECOND {
            *self = Meter::new();
        }
        self.taken += 1;
        (self.taken > MESSAGES_PER_S).then(|| self.since + SECOND)
    }
}

/// The other side broke a rule; the connection is closed already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Violation;

fn check_datagrams(connection: &Connection) -> Result<(), LinkError> {
    if rules::carries_turns(connection.max_datagram_size()) {
        Ok(())
    } else {
        connection.close(VIOLATION, &[]);
        Err(LinkError::Violation)
    }
}
