//! Both decoders, held to the same.

use super::{MOST_WINDOW, in_rust, library};
use proptest::prelude::*;
use std::io::Write as _;

type Unpack = fn(&[u8], u64) -> Option<Vec<u8>>;

const WAYS: [(&str, Unpack); 2] = [
    ("library", |packed, length| {
        let mut bytes = Vec::new();
        library::unpack(packed, length, &mut bytes).map(|()| bytes)
    }),
    ("rust", |packed, length| {
        let mut bytes = Vec::new();
        in_rust::unpack(packed, length, &mut bytes).map(|()| bytes)
    }),
];

fn packed(bytes: &[u8], level: i32, checked: bool) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), level).expect("in memory");
    encoder.include_checksum(checked).expect("in memory");
    encoder.write_all(bytes).expect("in memory");
    encoder.finish().expect("in memory")
}

#[test]
fn a_wrong_unpacked_length_is_refused() {
    let packed = packed(b"world", 0, false);
    for (name, unpack) in WAYS {
        assert_eq!(unpack(&packed, 5).as_deref(), Some(&b"world"[..]), "{name}");
        for lie in [0, 4, 6, u64::MAX] {
            assert_eq!(unpack(&packed, lie), None, "{name}, {lie}");
        }
    }
}

#[test]
fn cut_extended_or_damaged_frames_are_refused() {
    let world: Vec<u8> = (0..9_000_u32)
        .flat_map(|at| (at / 7).to_le_bytes())
        .collect();
    let length = world.len() as u64;
    for (name, unpack) in WAYS {
        let good = packed(&world, 3, true);
        assert_eq!(unpack(&good, length).as_ref(), Some(&world), "{name}");
        assert_eq!(unpack(&good[..good.len() - 1], length), None, "{name}: cut");
        let mut other = good.clone();
        *other.last_mut().expect("a checksum") ^= 1;
        assert_eq!(unpack(&other, length), None, "{name}: checksum");
        let mut more = good.clone();
        more.push(0);
        assert_eq!(unpack(&more, length), None, "{name}: more");
        let twice = [good.clone(), good].concat();
        assert_eq!(unpack(&twice, length), None, "{name}: two frames");
        assert_eq!(unpack(&twice, 2 * length), None, "{name}: two frames");
        assert_eq!(unpack(&[], 0), None, "{name}: nothing");
    }
}

/// A few bytes that ask for much memory.
#[test]
fn oversized_windows_and_lengths_are_refused() {
    let zeros = vec![0_u8; 300_000];
    for (name, unpack) in WAYS {
        for (window, is_good) in [(MOST_WINDOW, true), (MOST_WINDOW + 1, false)] {
            let mut encoder = zstd::Encoder::new(Vec::new(), 3).expect("in memory");
            encoder.window_log(window).expect("in range");
            encoder.write_all(&zeros).expect("in memory");
            let packed = encoder.finish().expect("in memory");
            let unpacked = unpack(&packed, zeros.len() as u64);
            assert_eq!(unpacked.is_some(), is_good, "{name}, {window}");
        }
        let bomb = packed(&vec![0; 64 << 20], 19, false);
        assert!(bomb.len() < 10_000, "{}", bomb.len());
        assert_eq!(unpack(&bomb, 1_000), None, "{name}");
    }
}

/// Columns of numbers like those of a world's snapshot: ascending, few distinct, and random.
fn columns() -> Vec<u8> {
    let ids = (0..700_u32).flat_map(|at| (at * 3).to_le_bytes());
    let kinds = (0..700_u32).map(|at| (at / 90 % 5) as u8);
    let mut random = 1_u32;
    let places = (0..700).flat_map(|_| {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (random >> 12).to_le_bytes()
    });
    ids.chain(kinds).chain(places).collect()
}

proptest! {
    #[test]
    fn both_decoders_return_the_packed_bytes(
        runs in proptest::collection::vec((any::<u8>(), 1_usize..400), 0..200),
        noise in proptest::collection::vec(any::<u8>(), 0..3_000),
        level in 1..12,
        checked: bool,
    ) {
        let runs = runs.into_iter().flat_map(|(byte, many)| std::iter::repeat_n(byte, many));
        let bytes: Vec<u8> = runs.chain(noise).collect();
        let packed = packed(&bytes, level, checked);
        for (name, unpack) in WAYS {
            prop_assert_eq!(unpack(&packed, bytes.len() as u64), Some(bytes.clone()), "{}", name);
        }
    }

    /// Some bytes changed, or cut. Without a checksum the two decoders may return different bytes, but never more
    /// than asked for. With a checksum neither returns anything else than the original.
    #[test]
    fn damaged_bytes_unpack_to_the_original_or_to_nothing(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        kept in any::<prop::sample::Index>(),
        cut: bool,
        checked: bool,
    ) {
        let bytes = columns();
        let mut packed = packed(&bytes, 3, checked);
        for (at, byte) in changes {
            let at = at.index(packed.len());
            packed[at] = byte;
        }
        if cut {
            packed.truncate(kept.index(packed.len()));
        }
        for (name, unpack) in WAYS {
            if let Some(unpacked) = unpack(&packed, bytes.len() as u64) {
                prop_assert_eq!(unpacked.len(), bytes.len(), "{}", name);
                prop_assert!(!checked || packed[4] & 4 == 0 || unpacked == bytes, "{}", name);
            }
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..600), length in 0..9_000_u64) {
        let mut framed = vec![0x28, 0xb5, 0x2f, 0xfd];
        framed.extend(&bytes);
        for (_, unpack) in WAYS {
            unpack(&bytes, length);
            unpack(&framed, length);
        }
    }
}
