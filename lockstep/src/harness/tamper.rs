//! What a hostile peer changes in the bytes that its session sends: for tests of what the others make of it.

use crate::log::SignedBatch;
use crate::session::{Control, Datagram, SignedStatement, WireBatch};
use crate::{Channel, Limits};
use std::time::Duration;

/// The bytes with every batch of this peer, by index in the roster, in the place of which `change` gives another one;
/// batches for which it gives none are left out. Nothing else changes.
pub fn change_batches(
    channel: Channel,
    bytes: &[u8],
    peer: u8,
    mut change: impl FnMut(SignedBatch) -> Option<SignedBatch>,
) -> Vec<u8> {
    let mut change = |batch: SignedBatch| match batch.peer == peer {
        true => change(batch),
        false => Some(batch),
    };
    match channel {
        Channel::Turns => match Datagram::decode(bytes) {
            Ok(Datagram::Turns(mut packet)) => {
                let batches = packet.batches.into_iter().zip(packet.copies);
                let changed =
                    batches.filter_map(|(batch, is_copy)| Some((change(batch)?, is_copy)));
                (packet.batches, packet.copies) = changed.unzip();
                Datagram::Turns(packet).encode()
            }
            _ => bytes.to_vec(),
        },
        Channel::Control => match Control::decode(bytes, &Limits::default()) {
            Ok(Control::Evidence(batches)) => {
                let batches = batches.into_iter().map(SignedBatch::from);
                let batches = batches.filter_map(&mut change);
                Control::Evidence(batches.map(|batch| WireBatch::of(&batch)).collect()).encode()
            }
            _ => bytes.to_vec(),
        },
        Channel::Bulk => bytes.to_vec(),
    }
}

/// A datagram as it is where it leaves so much later than its session sent it, and no round trip shows that.
pub fn held_back(bytes: &[u8], by: Duration) -> Vec<u8> {
    match Datagram::decode(bytes) {
        Ok(Datagram::Turns(mut packet)) => {
            let by = u16::try_from(by.as_millis()).unwrap_or(u16::MAX);
            packet.echo = packet.echo.map(|(of, age)| (of, age.saturating_add(by)));
            Datagram::Turns(packet).encode()
        }
        _ => bytes.to_vec(),
    }
}

/// A turn packet that asks for a batch and for an acknowledgement, and says that all packets are lost, and that it answers
/// one that came long ago; where it `acknowledges`, also that it holds three more batches of each peer.
pub fn false_report(channel: Channel, bytes: &[u8], acknowledges: bool) -> Vec<u8> {
    match (channel, Datagram::decode(bytes)) {
        (Channel::Turns, Ok(Datagram::Turns(mut packet))) => {
            (packet.lacks, packet.acknowledge, packet.missing) = (true, true, 64);
            packet.echo = packet.echo.map(|(of, _)| (of, u16::MAX));
            if acknowledges {
                packet.held.iter_mut().for_each(|held| held.0 += 3);
            }
            Datagram::Turns(packet).encode()
        }
        _ => bytes.to_vec(),
    }
}

/// A message without the votes of this peer, by index in the roster, and without decisions. `None` where nothing is left
/// of it.
pub fn without_votes(bytes: &[u8], peer: u8) -> Option<Vec<u8>> {
    match Control::decode(bytes, &Limits::default()) {
        Ok(Control::Roster(mut votes)) => {
            votes.retain(|vote| vote.peer != peer);
            (!votes.is_empty()).then(|| Control::Roster(votes).encode())
        }
        Ok(Control::Decided(_)) => None,
        _ => Some(bytes.to_vec()),
    }
}

/// The message with other votes in the place of each vote of this peer, by index in the roster. `change` gives their
/// contents and signatures; a vote for which it gives none stays as it is.
pub fn change_votes(
    bytes: &[u8],
    peer: u8,
    mut change: impl FnMut(&[u8]) -> Option<Vec<(Vec<u8>, [u8; 64])>>,
) -> Vec<u8> {
    let Ok(Control::Roster(votes)) = Control::decode(bytes, &Limits::default()) else {
        return bytes.to_vec();
    };
    let signed = |(content, signature): (_, [u8; 64])| SignedStatement {
        peer,
        content,
        signature: signature.into(),
    };
    let votes = votes.into_iter().flat_map(|vote| {
        let own = vote.peer == peer;
        match own.then(|| change(&vote.content)).flatten() {
            Some(others) => others.into_iter().map(signed).collect(),
            None => vec![vote],
        }
    });
    Control::Roster(votes.collect()).encode()
}
