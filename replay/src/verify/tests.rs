use super::*;
use crate::fixture::{self, Coins, SLOW_FROM, SLOW_UNTIL, play_with};
use crate::format::{HEADER_BYTES, Window, header, header_crc};
use crate::segment::{self, Encoder, Kind, segment_at};
use lockstep::log::What;
use sim::State as _;
use std::io::Cursor;

fn verified(records: &[Record]) -> Verified {
    let mut reader = Reader::from_bytes(fixture::file_of(records)).unwrap();
    verify::<Coins>(&mut reader, &Options::default(), |_| {}).unwrap()
}

/// The records of a match with an edited log, in which everything unsigned is made to fit.
fn forged(change: impl Fn(&mut Record)) -> Verified {
    let mut records = fixture::play(120).records;
    records.iter_mut().for_each(change);
    verified(&records)
}

#[test]
fn an_unedited_replay_is_valid() {
    let played = fixture::play(120);
    let mut reader = Reader::from_bytes(fixture::file_of(&played.records)).unwrap();
    let options = Options {
        every_tick: true,
        ..Options::default()
    };
    let mut progress = 0;
    let result = verify::<Coins>(&mut reader, &options, |turns| progress = turns).unwrap();
    assert_eq!(result.wrong, None);
    assert_eq!((result.turns, result.of, progress), (120, 120, 120));
    assert_eq!(result.keyframes, 2);
    assert_eq!(result.attested_turns, Some(120));
    assert!(result.signatures >= 2 + 2 * 2 + 2);
    assert_eq!(result.checksum, played.worlds[120].checksum());
}

#[test]
fn an_edited_command_is_found() {
    let mut records = fixture::play(120).records;
    for record in &mut records {
        if let Record::Bundle(bundle) = record
            && bundle.turn.0 == 30
            && let Some(entry) = bundle.entries.first_mut()
        {
            let order = fixture::Order::Add(99_999);
            entry.what = What::Command(postcard::to_allocvec(&order).unwrap().into());
        }
    }
    let signed = verified(&records);
    assert!(
        matches!(signed.wrong, Some(Wrong::History { turns: 50, .. })),
        "{signed:?}"
    );
    records.retain(|record| !matches!(record, Record::Attest(_)));
    let unsigned = verified(&records);
    assert!(
        matches!(
            unsigned.wrong,
            Some(Wrong::Keyframe { turns: 50, .. } | Wrong::KeyframeFault { turns: 50, .. })
        ),
        "{unsigned:?}"
    );
    records.retain(|record| !matches!(record, Record::Keyframe(_)));
    let bare = verified(&records);
    assert!(
        matches!(
            bare.wrong,
            Some(Wrong::Checksum {
                turns: 53,
                agreed: 28,
                ..
            })
        ),
        "{bare:?}"
    );
}

#[test]
fn a_world_that_panics_is_told_with_its_turn() {
    let mut records = fixture::play(120).records;
    for record in &mut records {
        if let Record::Bundle(bundle) = record
            && bundle.turn.0 == 30
        {
            bundle.entries.push(fixture::panics());
        }
    }
    let wrong = Wrong::World {
        turn: TurnNumber(30),
        message: "no such coin".into(),
    };
    assert_eq!(verified(&records).wrong, Some(wrong));
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("panics.replay");
    std::fs::write(&path, fixture::file_of(&records)).expect("it is written");
    let moment = crate::WorldAt::<Coins>::open(&path, Some(40)).map(|_| ());
    assert!(
        matches!(moment, Err(Error::World { turn: 30, .. })),
        "{moment:?}"
    );
}

#[test]
fn a_snapshot_on_which_the_world_panics_is_told_with_its_turn() {
    let mut records = fixture::play(120).records;
    for record in &mut records {
        if let Record::Keyframe(keyframe) = record {
            keyframe.snapshot = fixture::bad_snapshot();
        }
    }
    let wrong = Wrong::World {
        turn: TurnNumber(50),
        message: "no heap".into(),
    };
    assert_eq!(verified(&records).wrong, Some(wrong));
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("panics.replay");
    std::fs::write(&path, fixture::file_of(&records)).expect("it is written");
    let moment = crate::WorldAt::<Coins>::open(&path, Some(80)).expect("without a keyframe");
    assert_eq!(moment.turns(), 80);
}

#[test]
fn an_edited_command_is_found_even_if_the_world_fits() {
    // Everything fits the edited command, except the history that the peers signed.
    let mut records = play_with(120, |bundle| {
        if bundle.turn.0 == 30 {
            bundle.entries.clear();
        }
    })
    .records;
    let real = fixture::play(120).records;
    for (forged, real) in records.iter_mut().zip(&real) {
        if let Record::Attest(_) = forged {
            forged.clone_from(real);
        }
    }
    let result = verified(&records);
    assert!(
        matches!(
            result.wrong,
            Some(Wrong::History { .. } | Wrong::Checksum { .. })
        ),
        "{result:?}"
    );
}

#[test]
fn an_edited_checksum_is_found() {
    let result = forged(|record| {
        if let Record::Checksum {
            turns: 78,
            checksum,
        } = record
        {
            checksum.0 ^= 1;
        }
    });
    assert!(matches!(
        result.wrong,
        Some(Wrong::Checksum {
            turns: 78,
            agreed: 53,
            ..
        })
    ));
}

#[test]
fn an_edited_keyframe_is_named_by_its_field() {
    let mut world = fixture::play(120).worlds[50].clone();
    world.step(&[], &mut Vec::new());
    let snapshot = saved(&world);
    let result = forged(|record| {
        if let Record::Keyframe(keyframe) = record
            && keyframe.turns == 50
        {
            keyframe.snapshot = snapshot.clone().into();
        }
    });
    let Some(Wrong::Keyframe {
        turns: 50,
        difference: Difference::Field(field),
    }) = result.wrong
    else {
        panic!("{result:?}");
    };
    assert_eq!(
        (&*field.section, field.row, field.field.as_deref()),
        ("world", Some(0), Some("mixed"))
    );
    let result = forged(|record| {
        if let Record::Keyframe(keyframe) = record {
            keyframe.log_hash.0[3] ^= 1;
        }
    });
    assert!(matches!(
        result.wrong,
        Some(Wrong::KeyframeFault { turns: 50, .. })
    ));
}

#[test]
fn forged_signatures_are_found() {
    let result = forged(|record| {
        if let Record::Attest(batch) = record {
            batch.signature[9] ^= 1;
        }
    });
    assert!(
        matches!(result.wrong, Some(Wrong::Signature { turns: 50, .. })),
        "{result:?}"
    );
    let result = forged(|record| {
        if let Record::End(end) = record {
            end.signatures[1].1[0] ^= 1;
        }
    });
    assert_eq!(result.wrong, Some(Wrong::EndSignature { peer: 1 }));
    let result = forged(|record| {
        if let Record::Start(start) = record {
            Arc::make_mut(start).signatures.swap(0, 1);
        }
    });
    assert_eq!(result.wrong, Some(Wrong::StartSignature { peer: 0 }));
}

#[test]
fn roster_changes_are_valid_and_forged_ones_are_found() {
    // Two before one turn, and one exactly at a keyframe.
    let cuts = [30, 30, fixture::KEYFRAME_TURNS];
    let records = fixture::play_changing(120, &cuts, |_| {}).records;
    let result = verified(&records);
    assert_eq!(result.wrong, None);
    assert_eq!(result.attested_turns, Some(120));
    let forged = |change: &dyn Fn(&mut RosterChange)| {
        let mut records = records.clone();
        for record in &mut records {
            if let Record::Roster(found) = record
                && found.epoch == 1
            {
                change(found);
            }
        }
        verified(&records).wrong
    };
    let wrong = Some(Wrong::Roster { epoch: 1 });
    assert_eq!(forged(&|change| change.accepts[1].1[5] ^= 1), wrong);
    assert_eq!(forged(&|change| change.accepts.truncate(0)), wrong);
    assert_eq!(forged(&|change| change.value.roster.0 = 1), wrong);
    assert_eq!(forged(&|change| change.value.log_hash = None), wrong);
    // Without it, the history that every peer signed is another one.
    let without: Vec<Record> = records
        .iter()
        .filter(|record| !matches!(record, Record::Roster(_)))
        .cloned()
        .collect();
    let result = verified(&without);
    assert!(
        matches!(result.wrong, Some(Wrong::History { .. })),
        "{result:?}"
    );
}

#[test]
fn a_proof_of_cheating_is_valid_and_a_spoiled_one_is_found() {
    let records = fixture::play_cheated(120, 40).records;
    let result = verified(&records);
    assert_eq!(result.wrong, None);
    assert_eq!(result.attested_turns, Some(120));
    let spoiled = |change: &dyn Fn(&mut RosterChange)| {
        let mut records = records.clone();
        for record in &mut records {
            if let Record::Roster(found) = record {
                change(found);
            }
        }
        verified(&records).wrong
    };
    let wrong = Some(Wrong::Roster { epoch: 0 });
    assert_eq!(spoiled(&|_| {}), None);
    assert_eq!(
        spoiled(&|change| change.proofs[0].0.signature[7] ^= 1),
        wrong
    );
    assert_eq!(
        spoiled(&|change| change.proofs[0].1.signature[63] ^= 1),
        wrong
    );
    // A batch twice, batches of two turns, and batches of another peer prove nothing.
    let twice = |change: &mut RosterChange| change.proofs[0].1 = change.proofs[0].0.clone();
    assert_eq!(spoiled(&twice), wrong);
    let attests = records.iter().filter_map(|record| match record {
        Record::Attest(batch) => Some(batch.clone()),
        _ => None,
    });
    let attests: Vec<_> = attests.collect();
    let of_bob = attests.iter().find(|batch| batch.peer == 1).unwrap();
    let two_turns = |change: &mut RosterChange| change.proofs[0].1 = of_bob.clone();
    assert_eq!(spoiled(&two_turns), wrong);
    let of_another = |change: &mut RosterChange| {
        change.proofs[0].0.peer = 0;
        change.proofs[0].1.peer = 0;
    };
    assert_eq!(spoiled(&of_another), wrong);
    assert_eq!(spoiled(&|change| change.proofs.clear()), wrong);
    // The decided value is signed.
    assert_eq!(
        spoiled(&|change| change.value.cheats = Peers::default()),
        wrong
    );
    let other_log = |change: &mut RosterChange| {
        let hash = change.value.log_hash.as_mut().unwrap();
        hash.0[0] ^= 1;
    };
    assert_eq!(spoiled(&other_log), wrong);
}

#[test]
fn a_wrong_end_and_a_recorded_desync_are_found() {
    let result = forged(|record| {
        if let Record::End(end) = record {
            end.log_hash.0[0] ^= 1;
        }
    });
    assert_eq!(result.wrong, Some(Wrong::End { turns: 120 }));
    let mut records = fixture::play(120).records;
    records.pop();
    records.push(Record::Mismatch {
        turns: 119,
        checksums: vec![(0, Checksum(1)), (1, Checksum(2))],
    });
    let result = verified(&records);
    assert!(matches!(
        result.wrong,
        Some(Wrong::Desync { turns: 119, .. })
    ));
}

#[test]
fn a_survived_desync_is_valid_if_the_majority_was_right() {
    let records = fixture::play_desynced(120, 40).records;
    let result = verified(&records);
    assert_eq!(result.wrong, None);
    assert_eq!(result.turns, 120);
    let (turns, peers) = (39, vec![1]);
    assert_eq!(result.desyncs, [Settled { turns, peers }]);
    let changed = |change: &dyn Fn(&mut Record)| {
        let mut records = records.clone();
        records.iter_mut().for_each(change);
        verified(&records).wrong
    };
    // The remaining peers' checksum must be the re-run's.
    let wrong = changed(&|record| {
        if let Record::Mismatch { checksums, .. } = record {
            checksums
                .iter_mut()
                .for_each(|(_, checksum)| checksum.0 ^= 1);
        }
    });
    assert!(matches!(wrong, Some(Wrong::Desync { turns: 39, .. })));
    // A decision must have excluded exactly the peer whose world differed.
    let wrong = changed(&|record| {
        if let Record::Mismatch { checksums, .. } = record {
            checksums.push((2, Checksum(9)));
        }
    });
    assert!(matches!(wrong, Some(Wrong::Desync { turns: 39, .. })));
    let wrong = changed(&|record| {
        if let Record::Roster(change) = record {
            change.value.minority = Peers::default();
        }
    });
    assert!(wrong.is_some());
    let unsettled = |record: &&Record| !matches!(record, Record::Roster(_));
    let cut: Vec<Record> = records.iter().take_while(unsettled).cloned().collect();
    let wrong = verified(&cut).wrong;
    assert!(
        matches!(wrong, Some(Wrong::Desync { turns: 39, .. })),
        "{wrong:?}"
    );
}

#[test]
fn a_cut_file_is_valid_up_to_its_cut() {
    let mut file = fixture::file_of(&fixture::play(120).records);
    file.truncate(file.len() / 2);
    let mut reader = Reader::from_bytes(file).unwrap();
    let result = verify::<Coins>(&mut reader, &Options::default(), |_| {}).unwrap();
    assert_eq!(result.wrong, None);
    assert!(result.turns > 0 && result.turns < 120 && result.turns == result.of);
}

#[test]
fn a_plan_that_no_turn_asked_for_is_found() {
    let played = fixture::play_slow(120).records;
    assert_eq!(verified(&played).wrong, None);
    let with_plan = |turn: u32, tick_ms: u16| {
        let mut records = played.clone();
        for record in &mut records {
            if let Record::Bundle(bundle) = record
                && bundle.turn.0 == turn
            {
                bundle.plan.tick_ms = tick_ms;
            }
        }
        verified(&records).wrong
    };
    let honest = |turn: u32| match turn {
        SLOW_FROM..SLOW_UNTIL => 100,
        _ => 50,
    };
    for (turn, tick_ms) in [
        (10, 51),
        (21, 50),
        (21, 88),
        (SLOW_UNTIL - 1, 50),
        (SLOW_UNTIL, 100),
        (90, 200),
    ] {
        let asked = Plan {
            tick_ms: honest(turn),
            ..Plan::default()
        };
        let wrong = Wrong::Plan {
            turn: TurnNumber(turn),
            plan: Plan { tick_ms, ..asked },
            asked,
        };
        assert_eq!(with_plan(turn, tick_ms), Some(wrong));
    }
}

/// What a file of these bytes comes to. `None` where it cannot be opened, or says of itself that something is lost.
fn whole(bytes: Vec<u8>) -> Option<Verified> {
    let mut reader = Reader::from_bytes(bytes).ok()?;
    let result = verify::<Coins>(&mut reader, &Options::default(), |_| {}).ok()?;
    matches!(result.tail, FileEnd::Complete).then_some(result)
}

/// The file with another byte in the place of each, one after the other, and the place.
fn edits(bytes: &[u8]) -> impl Iterator<Item = (usize, Vec<u8>)> + '_ {
    let places = (0..bytes.len()).flat_map(|at| [(at, 0x01), (at, 0x80), (at, 0xff)]);
    places.map(|(at, change)| {
        let mut edited = bytes.to_vec();
        edited[at] ^= change;
        (at, edited)
    })
}

#[test]
fn no_byte_of_a_file_can_be_edited_unnoticed() {
    let file = fixture::file_of(&fixture::play(20).records);
    assert!(whole(file.clone()).is_some_and(|result| result.holds()));
    for (at, edited) in edits(&file) {
        assert_eq!(whole(edited), None, "byte {at}");
    }
}

/// An item of a file, and whether a seal follows it.
struct Part {
    kind: Kind,
    content: Vec<u8>,
    is_last: bool,
}

fn parts(file: &[u8]) -> Vec<Part> {
    let mut window = Window::new(Box::new(Cursor::new(file.to_vec())));
    let (mut at, mut crc) = (HEADER_BYTES, header_crc());
    let mut parts = Vec::new();
    while let Ok(segment) = segment_at(&mut window, at, file.len() as u64, crc, 1 << 20)
        && let segment::Stop::Sealed(sealed) = segment.stop
    {
        for item in &segment.items {
            parts.push(Part {
                kind: item.kind,
                content: item.content(&mut window).unwrap().to_vec(),
                is_last: item == &segment.items[segment.items.len() - 1],
            });
        }
        (at, crc) = (segment.end, sealed);
    }
    assert_eq!(at, file.len() as u64);
    parts
}

/// A file with these items, in which every check is right.
fn file_with(parts: &[Part], content_of: impl Fn(usize) -> Option<Vec<u8>>) -> Vec<u8> {
    let mut file = header();
    let mut encoder = Encoder::new();
    for (at, part) in parts.iter().enumerate() {
        let edited = content_of(at);
        let content = edited.as_ref().unwrap_or(&part.content);
        encoder.item(part.kind, content, &mut file);
        if part.is_last {
            encoder.seal(&mut file);
        }
    }
    file
}

/// The match of a file: its records without what is only compared with them, which a forger may as well leave out, without
/// what one peer alone has measured, and without the name of the build that wrote it, which is for information.
fn match_of(file: Vec<u8>) -> Vec<Record> {
    let mut reader = Reader::from_bytes(file).expect("it was verified");
    let mut records: Vec<Record> = reader.records().map(Result::unwrap).collect();
    records.retain(|record| {
        let other = matches!(record, Record::Checksum { .. } | Record::Attest(_));
        !other && !matches!(record, Record::Leads { .. })
    });
    if let Some(Record::Start(start)) = records.first_mut() {
        Arc::make_mut(start).build.clear();
    }
    records
}

/// A forger makes all checks anew. What the players signed stands against it.
#[test]
fn no_byte_of_a_signed_match_can_be_edited_even_with_new_checks() {
    let file = fixture::file_of(&fixture::play(60).records);
    let (parts, records) = (parts(&file), match_of(file.clone()));
    assert_eq!(file_with(&parts, |_| None), file);
    let (mut edited_bytes, mut unnoticed) = (0, Vec::new());
    for (place, part) in parts.iter().enumerate() {
        for (at, edited) in edits(&part.content) {
            edited_bytes += 1;
            let forged = file_with(&parts, |of| (of == place).then(|| edited.clone()));
            let holds = whole(forged.clone()).is_some_and(|result| result.holds());
            if holds && match_of(forged) != records {
                unnoticed.push(format!("byte {at} of item {place}, {:?}", part.kind));
            }
        }
    }
    assert!(edited_bytes > 3 * 1_000, "{edited_bytes}");
    assert!(unnoticed.is_empty(), "{unnoticed:#?}");
}

#[test]
fn a_file_of_tiny_turns_takes_work_and_memory_by_its_length() {
    // Allocations stand for the work: time depends on the machine.
    let verified = |bytes: usize| {
        let file = fixture::file_of_many(fixture::idle_turn, bytes);
        let most = file.len() as u64 * 2 + (64 << 20);
        let taken = allocation_counter::measure(|| {
            let mut reader = Reader::from_bytes(file).expect("the file opens");
            let result = verify::<Coins>(&mut reader, &Options::default(), |_| {});
            let result = result.expect("this build runs the match");
            assert!(result.turns as usize >= bytes - 1_000, "{result:?}");
        });
        assert!(
            taken.bytes_max < most,
            "{} of {most} bytes",
            taken.bytes_max
        );
        taken.count_total
    };
    let (short, long) = (verified(256 << 10), verified(2 << 20));
    assert!(long < short * 12, "{short} for an eighth, {long} for all");
}

#[test]
fn a_keyframe_far_behind_its_turn_is_passed_over() {
    let mut records = fixture::play(1_200).records;
    let first = records
        .iter()
        .position(|record| matches!(record, Record::Keyframe(_)));
    let late = records.remove(first.unwrap());
    records.retain(|record| !matches!(record, Record::Keyframe(_)));
    records.insert(records.len() - 1, late);
    let result = verified(&records);
    assert_eq!(result.wrong, None);
    assert_eq!((result.keyframes, result.keyframes_unread), (0, 1));
}
