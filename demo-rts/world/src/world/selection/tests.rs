use super::*;
use proptest::{collection::btree_set, prelude::*};

fn bytes(selection: &Selection) -> Vec<u8> {
    postcard::to_allocvec(selection).expect("selections encode")
}

fn back(bytes: &[u8]) -> Result<Selection, postcard::Error> {
    postcard::from_bytes(bytes)
}

/// What the numbers take on the wire, without the length before them.
fn size(numbers: impl IntoIterator<Item = u16>) -> usize {
    bytes(&Selection::new(numbers)).len() - 1
}

#[test]
fn each_kind_of_group_takes_its_shortest_form() {
    assert_eq!(size([]), 0);
    assert_eq!(bytes(&Selection::recent(9)), [1, 9]);
    // One byte would be a reference.
    assert_eq!(size([0]), 2);
    assert_eq!(size([1_000]), 2);
    assert!(size(0..250) <= 3, "a run");
    assert!(size((0..50).chain(100..150)) <= 6, "two runs");
    assert!(size((0..64).filter(|n| n % 3 != 1)) <= 9, "a bitmap");
    assert!(size((0..20).map(|n| n * 25)) <= 16, "gaps");
    assert!(size((0..250).map(|n| n * 262)) <= MOST_BYTES);
    assert!(size([NAMELESS - 1]) <= 4);
}

#[test]
fn the_cheapest_parameter_is_found() {
    for spread in 1..=262_u16 {
        for count in [1, 2, 7, 20, 249] {
            let numbers: Vec<u16> = (0..count).map(|n| n * spread + n * n % spread).collect();
            let numbers = Selection::new(numbers).numbers().unwrap().to_vec();
            let least = (0..=MOST_LOW_BITS)
                .map(|k| gaps(&numbers).map(|gap| (gap >> k) + k + 1).sum::<u32>())
                .min();
            assert_eq!(Some(Plan::rice(&numbers).bits - HEADER_BITS), least);
        }
    }
}

#[test]
fn too_many_and_the_nameless_are_left_out() {
    let all = Selection::new((0..=u16::MAX).rev());
    assert_eq!(all.numbers().unwrap().len(), Selection::MOST);
    assert_eq!(all.numbers().unwrap()[0], 0);
    assert!(Selection::new([NAMELESS]).is_empty());
    assert!(!Selection::recent(0).is_empty());
}

#[test]
fn hostile_bytes_do_not_decode() {
    let run_of_251 = [0xd8, 0x07, 0xd8];
    let longer_than_any = [0x0f; MOST_BYTES + 1];
    for hostile in [
        &[0, 0][..],
        &[0xe8, 0],
        &[0xf8, 0],
        &[0xff; 40],
        &[0; 300],
        &[0xff, 0xff],
        &run_of_251,
        &longer_than_any,
    ] {
        let written = postcard::to_allocvec(&hostile.to_vec()).unwrap();
        assert!(back(&written).is_err(), "{hostile:x?}");
    }
}

proptest! {
    #[test]
    fn a_selection_comes_back(numbers in btree_set(0..NAMELESS, 0..=SELECTION), near in 1..9_u16) {
        for divisor in [1, near, 1 << near] {
            let selection: Selection = numbers.iter().map(|number| number / divisor).collect();
            prop_assert_eq!(back(&bytes(&selection)).unwrap(), selection);
        }
    }

    /// What decodes is what is written: a selection has one encoding, and no byte may be changed.
    #[test]
    fn a_selection_has_one_encoding(header in 0..16_u8, mut body in prop::collection::vec(any::<u8>(), 1..40)) {
        body[0] = header << 4 | body[0] & 15;
        let written = postcard::to_allocvec(&body).unwrap();
        if let Ok(selection) = back(&written) {
            prop_assert_eq!(bytes(&selection), written);
        }
    }

    #[test]
    fn a_changed_bit_changes_the_selection(numbers in btree_set(0..600_u16, 1..60), bit in 0..4_000_usize) {
        let selection: Selection = numbers.into_iter().collect();
        let mut written = bytes(&selection);
        let bit = 8 + bit % (8 * (written.len() - 1));
        written[bit / 8] ^= 1 << (bit % 8);
        if let Ok(other) = back(&written) {
            prop_assert_ne!(&other, &selection);
            prop_assert_eq!(bytes(&other), written);
        }
    }
}
