//! Messages on their way out: bounded queues, and what empties them into streams.

use super::rules::BULK_PRIORITY;
use crate::Blocked;
use bytes::Bytes;
use quinn::{Connection, SendStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::mpsc;

/// The messages of one channel that wait for their stream, in order and bounded in bytes.
pub(super) struct Queue {
    sender: mpsc::UnboundedSender<Bytes>,
    waiting: Arc<AtomicUsize>,
    capacity: usize,
}

/// The other end of a [`Queue`].
pub(super) struct QueueEnd {
    receiver: mpsc::UnboundedReceiver<Bytes>,
    waiting: Arc<AtomicUsize>,
}

impl Queue {
    /// A queue of `capacity` bytes.
    pub(super) fn new(capacity: usize) -> (Queue, QueueEnd) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let queue = Queue {
            sender,
            waiting: waiting.clone(),
            capacity,
        };
        (queue, QueueEnd { receiver, waiting })
    }

    pub(super) fn push(&self, frame: Vec<u8>) -> Result<(), Blocked> {
        let len = frame.len();
        if self.waiting.load(Ordering::Relaxed) + len > self.capacity {
            return Err(Blocked);
        }
        self.waiting.fetch_add(len, Ordering::Relaxed);
        self.sender.send(frame.into()).map_err(|_| Blocked)
    }
}

impl QueueEnd {
    async fn next(&mut self) -> Option<Bytes> {
        let frame = self.receiver.recv().await?;
        self.waiting.fetch_sub(frame.len(), Ordering::Relaxed);
        Some(frame)
    }
}

/// Writes what is queued until the queue closes, and waits until the other side has it.
pub(super) async fn write(mut stream: SendStream, mut queue: QueueEnd) {
    while let Some(frame) = queue.next().await {
        if stream.write_chunk(frame).await.is_err() {
            return;
        }
    }
    if stream.finish().is_ok() {
        let _ = stream.stopped().await;
    }
}

/// The same for bulk messages, whose stream opens with the first of them.
pub(super) async fn write_bulk(connection: &Connection, mut queue: QueueEnd) {
    let Some(first) = queue.next().await else {
        return;
    };
    let Ok(mut stream) = connection.open_uni().await else {
        return;
    };
    if stream.set_priority(BULK_PRIORITY).is_ok() && stream.write_chunk(first).await.is_ok() {
        write(stream, queue).await;
    }
}
