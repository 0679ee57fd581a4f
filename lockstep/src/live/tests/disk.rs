//! A disk that hangs while the match goes on.

use super::peers::{config, now, run};
use super::*;
use crate::log::{Bundle, OnDesync, Record, StoreError};
use crate::{EndReason, RosterCause};
use sim::Checksum;
use std::cell::Cell;
use std::sync::{Condvar, Mutex};

const RULES: RulesId = RulesId(*b"rules of a test!");
/// The fourth peer's world differs after this turn.
const STRAYS_AFTER: u32 = 12;

/// Whether the disk hangs. A call that waits for it goes on once it does not.
#[derive(Clone, Default)]
struct Disk(Arc<(Mutex<bool>, Condvar)>);

impl Disk {
    fn set(&self, hangs: bool) {
        *self.0.0.lock().unwrap() = hangs;
        self.0.1.notify_all();
    }

    fn wait(&self) {
        let hangs = self.0.0.lock().unwrap();
        let waited = self
            .0
            .1
            .wait_timeout_while(hangs, HANGS_FOR, |hangs| *hangs);
        drop(waited.unwrap());
    }
}

/// The calls of a store that wait for the disk.
#[derive(Clone, Copy, PartialEq)]
enum Waits {
    ToWrite,
    ToRead,
}

struct OnDisk {
    log: crate::log::Memory,
    waits: Waits,
    disk: Disk,
}

impl OnDisk {
    fn write(&self) {
        if self.waits == Waits::ToWrite {
            self.disk.wait();
        }
    }
}

impl LogStore for OnDisk {
    fn append(&mut self, record: &Record) -> Result<(), StoreError> {
        self.write();
        self.log.append(record)
    }

    fn tail(&mut self, turns: &[Bundle]) -> Result<(), StoreError> {
        self.write();
        self.log.tail(turns)
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        self.write();
        self.log.sync()
    }

    fn keyframe_every(&self) -> Option<Duration> {
        None
    }

    fn read(&mut self, from: TurnNumber, max_bytes: usize) -> Result<Vec<Record>, StoreError> {
        self.disk.wait();
        self.log.read(from, max_bytes)
    }

    fn close(&mut self) -> Result<(), StoreError> {
        self.write();
        self.log.close()
    }
}

/// Four peers, of which the second has a disk that hangs from turn 6 on, and the fourth another world. The others remove
/// the fourth alone, and no peer suspects the second.
fn others_never_suspect(waits: Waits) {
    let folder = tempfile::tempdir().expect("a folder");
    let disk = Disk::default();
    let config_of = |at: usize| {
        let own = OnDisk {
            log: crate::log::Memory::new(LOG_BYTES),
            waits,
            disk: disk.clone(),
        };
        let log: Option<Box<dyn LogStore>> = (at == 1).then(|| Box::new(own) as _);
        Config {
            host: Hosting {
                terms: Terms {
                    seats: 4,
                    on_desync: OnDesync::RemoveMinority,
                    ..Terms::default()
                },
                ..Hosting::default()
            },
            suspicion: Duration::from_secs(2),
            reports: folder.path().join(at.to_string()),
            log,
            ..config(60 + at as u8)
        }
    };
    let mut host = Live::host(vec![1], RULES, config_of(0)).expect("the config is in range");
    let ticket = host.ticket().expect("a host has a ticket").clone();
    let id_of = |config: &Config| config.network.as_ref().map(|network| network.signer.id());
    let second_config = config_of(1);
    let second_id = id_of(&second_config);
    let join = |config| Live::join(&ticket, Box::new(|_| Some(RULES)), config).expect("in range");
    let mut second = join(second_config);
    let (mut third, mut fourth) = (join(config_of(2)), join(config_of(3)));
    let hung_at = Cell::new(None);
    let strays = |at: usize, turn: u32| {
        if at == 1 && turn == 6 {
            disk.set(true);
            hung_at.set(Some(now()));
        }
        Checksum(turn ^ u32::from(at == 3 && turn >= STRAYS_AFTER))
    };
    let mut desyncs = [None; 3];
    let mut removed = 0;
    run(
        &mut [&mut host, &mut second, &mut third, &mut fourth],
        strays,
        |at, events| {
            for event in events {
                match event {
                    Event::Suspected { peer, .. } => assert_ne!(Some(*peer), second_id, "by {at}"),
                    Event::RosterChanged { cause, .. } => {
                        assert_eq!(*cause, RosterCause::Desynced, "peer {at}");
                        removed += 1;
                    }
                    Event::Desync(desync) if at < 3 => desyncs[at] = Some(desync.report.is_some()),
                    Event::Ended(ended) => assert_eq!((at, &ended.reason), (3, &EndReason::Desync)),
                    _ => {}
                }
            }
            let hangs_for = hung_at.get().map_or(Duration::ZERO, |at| now() - at);
            let told = desyncs.iter().all(Option::is_some);
            (told && removed >= 3 && hangs_for > PLAYS_ON_FOR).then_some(())
        },
    );
    assert_eq!(desyncs, [Some(true), Some(false), Some(true)]);
    disk.set(false);
    drop(second);
    let reports = std::fs::read_dir(folder.path().join("1")).expect("a folder of reports");
    let report = reports.flatten().next().expect("one report").path();
    let log = std::fs::read(report.join("match.log")).expect("the log");
    assert!(
        !log.is_empty(),
        "what the disk held up is written after all"
    );
}

#[test]
fn a_disk_that_hangs_in_writing_silences_no_peer() {
    others_never_suspect(Waits::ToWrite);
}

#[test]
fn a_disk_that_hangs_in_a_desync_report_silences_no_peer() {
    others_never_suspect(Waits::ToRead);
}

/// The longest that a call waits for the disk.
const HANGS_FOR: Duration = Duration::from_secs(20);
/// Three times the suspicion time.
const PLAYS_ON_FOR: Duration = Duration::from_secs(6);
