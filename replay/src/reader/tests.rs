use super::*;
use crate::fixture;
use crate::format;
use crate::segment::Encoder;
use lockstep::log::{LogEntry, What};
use proptest::prelude::*;

/// The records without keyframes and without thinning.
fn records(bytes: Vec<u8>) -> Vec<Record> {
    let mut reader = Reader::from_bytes(bytes).expect("the file opens");
    reader
        .records()
        .map(|record| record.expect("in memory"))
        .collect()
}

#[test]
fn a_whole_file_returns_all_records() {
    let played = fixture::play(120);
    let reader = Reader::from_bytes(fixture::file_of(&played.records)).unwrap();
    assert_eq!(reader.file_end(), FileEnd::Complete);
    assert_eq!(reader.turns(), 120);
    assert_eq!(reader.valid_bytes(), reader.file_bytes());
    let turns: Vec<u32> = reader.keyframes().iter().map(|k| k.turns).collect();
    assert_eq!(turns, [50, 100]);
    assert_eq!(reader.ticks_before(TurnNumber(120)), 117 * 4);
    assert_eq!(reader.time_of(TurnNumber(5)), Duration::from_secs(1));
    assert_eq!(
        reader.time_of(TurnNumber(120)),
        Duration::from_millis(117 * 200)
    );
}

#[test]
fn a_setup_above_the_default_limit_is_read() {
    let mut records = fixture::play(20).records;
    fixture::put_setup(&mut records, 20 << 10);
    let reader = Reader::from_bytes(fixture::file_of(&records)).unwrap();
    assert_eq!(reader.start().setup.len(), 20 << 10);
    assert_eq!(reader.turns(), 20);
}

#[test]
fn a_file_cut_anywhere_keeps_every_item_before_the_cut() {
    let file = fixture::file_of(&fixture::play(60).records);
    let whole = records(file.clone());
    let mut most = 0;
    for cut in 0..file.len() {
        match Reader::from_bytes(file[..cut].to_vec()) {
            Ok(mut reader) => {
                let kept: Vec<Record> = reader.records().map(|r| r.unwrap()).collect();
                assert_eq!(kept, whole[..kept.len()]);
                assert!(kept.len() >= most, "a longer file holds no less");
                most = kept.len();
                match reader.file_end() {
                    FileEnd::Cut { at, of } => {
                        assert!(at < cut as u64 && of == cut as u64);
                        assert_eq!(at, reader.valid_bytes());
                    }
                    FileEnd::Open => assert_eq!(reader.valid_bytes(), cut as u64),
                    FileEnd::Complete => assert!(reader.end().is_some()),
                    FileEnd::Damaged { .. } => panic!("cut at {cut}, not damaged"),
                }
            }
            Err(Error::Empty) => assert_eq!(cut, 0),
            Err(Error::NotBegun) => assert_eq!(cut, 12),
            Err(Error::Start { .. }) => assert_eq!(most, 0),
            Err(error) => panic!("cut at {cut}: {error}"),
        }
    }
    assert_eq!(most, whole.len());
}

#[test]
fn a_flipped_bit_ends_the_prefix_before_it() {
    let file = fixture::file_of(&fixture::play(60).records);
    let whole = records(file.clone());
    for bit in 0..file.len() * 8 {
        let mut flipped = file.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        match Reader::from_bytes(flipped) {
            Ok(mut reader) => {
                assert!(reader.valid_bytes() <= bit as u64 / 8, "bit {bit}");
                let kept: Vec<Record> = reader.records().map(|r| r.unwrap()).collect();
                assert_eq!(kept, whole[..kept.len()]);
                assert!(matches!(
                    reader.file_end(),
                    FileEnd::Cut { .. } | FileEnd::Damaged { .. }
                ));
            }
            Err(Error::Foreign) => assert!(bit < 64),
            Err(Error::Version { .. }) => assert!((64..96).contains(&bit)),
            Err(Error::Start { at: 12 }) => assert!(bit >= 96),
            Err(error) => panic!("bit {bit}: {error}"),
        }
    }
}

/// A crash leaves no last seal: the items' checks must suffice.
#[test]
fn a_flipped_bit_behind_the_last_seal_is_found() {
    let file = fixture::file_of(&fixture::play(40).records);
    let whole = records(file.clone());
    let mut tails = 0;
    for end in 500..file.len() {
        let mut window = Window::new(Box::new(io::Cursor::new(file[..end].to_vec())));
        let (mut at, mut crc) = (format::HEADER_BYTES, format::header_crc());
        let tail = loop {
            let segment = segment_at(&mut window, at, end as u64, crc, 1 << 20).unwrap();
            match segment.stop {
                Stop::Sealed(sealed) => (at, crc) = (segment.end, sealed),
                stop => break (stop == Stop::Nothing && segment.items.len() > 4).then_some(at),
            }
        };
        let Some(tail) = tail else {
            continue;
        };
        tails += 1;
        for bit in tail as usize * 8..end * 8 {
            let mut flipped = file[..end].to_vec();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let mut reader = Reader::from_bytes(flipped).expect("the start is whole");
            assert!(reader.valid_bytes() <= bit as u64 / 8, "bit {bit} of {end}");
            let kept: Vec<Record> = reader.records().map(|r| r.unwrap()).collect();
            assert_eq!(kept, whole[..kept.len()]);
            assert!(reader.file_end() != FileEnd::Open && reader.file_end() != FileEnd::Complete);
        }
    }
    assert!(tails > 20);
}

#[test]
fn a_segment_is_valid_only_in_its_place() {
    let file = fixture::file_of(&fixture::play(300).records);
    let mut window = Window::new(Box::new(io::Cursor::new(file.clone())));
    let mut segments = Vec::new();
    let (mut at, mut crc) = (format::HEADER_BYTES, format::header_crc());
    while let Ok(segment) = segment_at(&mut window, at, file.len() as u64, crc, 1 << 20)
        && let Stop::Sealed(sealed) = segment.stop
    {
        segments.push(&file[at as usize..segment.end as usize]);
        (at, crc) = (segment.end, sealed);
    }
    assert!(segments.len() > 4);
    for place in 1..segments.len() - 1 {
        let mut swapped = segments.clone();
        swapped.swap(place, place + 1);
        let mut bytes = format::header();
        bytes.extend(swapped.concat());
        let reader = Reader::from_bytes(bytes).unwrap();
        assert!(matches!(
            reader.file_end(),
            FileEnd::Damaged { .. } | FileEnd::Cut { .. }
        ));
    }
}

#[test]
fn a_turn_of_a_seat_that_is_not_there_is_damage() {
    let order = postcard::to_allocvec(&fixture::Order::Win).unwrap();
    let way = What::Way {
        from: Seat(4),
        ms: 100,
    };
    for (seat, what) in [(4, What::Command(order.into())), (1, way)] {
        let mut records = fixture::play(20).records;
        for record in &mut records {
            if let Record::Bundle(bundle) = record
                && bundle.turn.0 == 12
            {
                let (seat, what) = (Seat(seat), what.clone());
                bundle.entries.push(LogEntry { seat, what });
                bundle.entries.sort_by_key(|entry| entry.seat);
            }
        }
        let reader = Reader::from_bytes(fixture::file_of(&records)).unwrap();
        assert_eq!(reader.turns(), 12);
        assert!(matches!(reader.file_end(), FileEnd::Damaged { .. }));
    }
}

#[test]
fn foreign_files_are_named() {
    let empty = Reader::from_bytes(Vec::new());
    assert!(matches!(empty, Err(Error::Empty)));
    let foreign = Reader::from_bytes(b"GIF89a, or anything else".to_vec());
    assert!(matches!(foreign, Err(Error::Foreign)));
    let mut newer = format::header();
    newer[8] = 5;
    let newer = Reader::from_bytes(newer);
    assert!(matches!(newer, Err(Error::Version { format: 5, .. })));
    let bare = Reader::from_bytes(format::header());
    assert!(matches!(bare, Err(Error::NotBegun)));
    let missing = Reader::open(Path::new("no such file"));
    assert!(matches!(missing, Err(Error::Io(_))));
}

/// The format is a promise: other builds must read this one's files.
#[test]
fn the_bytes_of_a_file_are_pinned() {
    let mut records = fixture::play(2).records;
    records.retain(|record| matches!(record, Record::Start(_) | Record::Bundle(_)));
    let file = fixture::file_of(&records);
    assert_eq!(&file[..12], b"\x93replay\n\x04\x00\x01\x00");
    let tail: String = file[file.len() - 31..]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_eq!(
        (file.len(), crc32fast::hash(&file)),
        GOLDEN,
        "ends with {tail}"
    );
}

const GOLDEN: (usize, u32) = (429, 188_609_410);

proptest! {
    /// On failure proptest prints the seed and stores it in `proptest-regressions/`, to repeat it first.
    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..2_000)) {
        let _ = Reader::from_bytes(bytes.clone());
        let mut behind_header = format::header();
        behind_header.extend(&bytes);
        let _ = Reader::from_bytes(behind_header);
    }

    #[test]
    fn arbitrary_items_never_panic(contents in proptest::collection::vec(
        (0..4, proptest::collection::vec(any::<u8>(), 1..80)), 0..30,
    )) {
        let played = fixture::play(1);
        let mut start = Vec::new();
        Codec::default().encode(&played.records[0], &mut start);
        let mut bytes = format::header();
        let mut encoder = Encoder::new();
        encoder.item(Kind::Records, &start, &mut bytes);
        for (kind, content) in contents {
            match kind {
                0 => encoder.seal(&mut bytes),
                1 => encoder.item(Kind::Idle, &[], &mut bytes),
                2 => encoder.item(Kind::Turn, &content, &mut bytes),
                _ => encoder.item(Kind::Records, &content, &mut bytes),
            }
        }
        let mut reader = Reader::from_bytes(bytes).expect("the start holds");
        let turns = reader.records().filter(|r| matches!(r, Ok(Record::Bundle(_)))).count();
        prop_assert!(turns >= reader.turns() as usize);
        for keyframe in reader.keyframes().to_vec() {
            let _ = reader.keyframe(&keyframe);
        }
    }
}
