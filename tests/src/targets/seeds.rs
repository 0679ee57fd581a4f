//! Inputs that fuzzing begins with: real messages, files, snapshots and texts.

use super::sessions::{Scene, Signatures, conversation, recording};
use super::worlds::{of_commands, of_snapshot, small};
use demo_rts::bot::{Bot, Level};
use demo_rts::window::Announcement;
use demo_rts::world::{Command, MapKind, World};
use lockstep::log::{Codec, Record};
use lockstep::quic::parts::encode;
use lockstep::{Contact, MatchId, PeerId, Ticket};
use replay::parts::lines;
use sim::{Entry, Seat, Simulation};
use std::collections::BTreeMap;
use std::time::Duration;

/// For each target some inputs, each with a name of its own.
///
/// # Panics
/// Never: what is encoded here is in range.
pub fn seeds() -> Vec<(&'static str, String, Vec<u8>)> {
    let mut seeds = Vec::new();
    for scene in Scene::ALL {
        for signatures in [Signatures::Checked, Signatures::OfHostilePeer] {
            let lasts = match scene {
                Scene::Stranger => 60,
                Scene::Lobby | Scene::Match => 600,
                Scene::Loading => 300,
                Scene::Rejoin | Scene::RejoinByTicket | Scene::Reopen => 3_000,
            };
            let said = conversation(scene, signatures, Duration::from_millis(lasts));
            let name = format!("{scene:?}-{signatures:?}").to_lowercase();
            seeds.push(("session", name, said));
        }
    }
    let mut add = |target, name: &str, bytes| seeds.push((target, name.to_owned(), bytes));
    add("items", "recording", items_of(&recording()));
    let stream: Vec<u8> = [0, 1, 7, 300]
        .iter()
        .flat_map(|length| encode(&vec![5; *length], 1_000).expect("short enough"))
        .collect();
    add("frame", "messages", [&[9], &stream[..]].concat());
    add(
        "frame",
        "too-long",
        [&[1], &1_001_u32.to_le_bytes()[..]].concat(),
    );
    for is_open in [true, false] {
        let texts = announced(is_open).to_texts();
        let text = texts.iter().map(|(key, value)| format!("{key}={value}\n"));
        let name = if is_open { "lobby" } else { "reopening" };
        add("announcement", name, text.collect::<String>().into_bytes());
    }
    add("contacts", "three", lines(MATCH, &kept()).into_bytes());
    let mut world = small();
    add("world", "snapshot", of_snapshot(&world));
    for (kind, commands) in commands(&mut world) {
        add("world", &kind, of_commands(&commands));
    }
    seeds
}

const MATCH: MatchId = MatchId([3; 16]);

fn kept() -> Vec<Contact> {
    let contact = |at: u8| Contact {
        peer: PeerId([at; 32]),
        addresses: vec![format!("10.0.0.{at}:4000"), format!("[fe80::{at}]:4000")],
    };
    (1..4).map(contact).collect()
}

fn announced(is_open: bool) -> Announcement {
    let [host, ..] = &kept()[..] else {
        unreachable!("there are three")
    };
    Announcement {
        host: "Alice".to_owned(),
        seats: 4,
        taken: 2,
        build: "demo 1.0".to_owned(),
        map: is_open.then_some(MapKind::ALL[0]),
        is_open,
        ticket: Ticket {
            match_id: MATCH,
            secret: [0; 16],
            host: host.peer,
            addresses: host.addresses.clone(),
            expires_unix_s: 0,
        },
    }
}

/// By kind, the first commands that two bots issue.
fn commands(world: &mut World) -> BTreeMap<String, Vec<(Seat, Command)>> {
    let mut commands: BTreeMap<String, Vec<(Seat, Command)>> = BTreeMap::new();
    let mut bots = [0, 1].map(|seat| Bot::new(Seat(seat), Level::Hard));
    for _ in 0..TICKS {
        let mut entries = Vec::new();
        for bot in &mut bots {
            let seat = bot.seat();
            for command in bot.think(world) {
                let text = format!("{command:?}");
                let kind = text.split([' ', '(', '{']).next().unwrap_or_default();
                let alike = commands.entry(kind.to_lowercase()).or_default();
                if alike.len() < ALIKE {
                    alike.push((seat, command.clone()));
                }
                entries.push(Entry::Command { seat, command });
            }
        }
        world.step(&entries, &mut Vec::new());
    }
    commands
}

/// Ticks that the bots play.
const TICKS: u32 = 6_000;
/// Commands of one kind that are kept.
const ALIKE: usize = 4;

/// The records of a log, each as an item.
fn items_of(records: &[Record]) -> Vec<u8> {
    let mut input = Vec::new();
    let mut codec = Codec::default();
    for record in records {
        let mut content = Vec::new();
        let kind = match record {
            Record::Keyframe(keyframe) => {
                content.extend((keyframe.turns as u16).to_le_bytes());
                Codec::default().encode(record, &mut content);
                2
            }
            _ => {
                codec.encode(record, &mut content);
                3
            }
        };
        input.push(kind);
        input.extend((content.len() as u16).to_le_bytes());
        input.extend(content);
    }
    input
}
