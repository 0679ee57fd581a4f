//! Where two worlds differ.

use crate::{Field, State, Visit};

/// The first difference between two worlds, in the order in which they describe themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Difference {
    /// The section it lies in.
    pub section: String,
    /// The row, unless whole sections differ.
    pub row: Option<u64>,
    /// The field, unless whole rows differ.
    pub field: Option<String>,
    /// What the left world has there.
    pub left: String,
    /// What the right world has there.
    pub right: String,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.section)?;
        if let Some(row) = self.row {
            write!(f, "[{row}]")?;
        }
        if let Some(field) = &self.field {
            write!(f, ".{field}")?;
        }
        write!(
            f,
            ": {} on the left, {} on the right",
            self.left, self.right
        )
    }
}

/// The first field in which two worlds differ, with both values; `None` if they describe themselves alike.
///
/// ```
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct World {
///     gold: Vec<u32>,
/// }
/// sim::state_by_serde!(World);
///
/// let difference = sim::diff(&World { gold: vec![5, 7] }, &World { gold: vec![5, 9] }).unwrap();
/// assert_eq!(difference.to_string(), "gold[1].value: 7 on the left, 9 on the right");
/// ```
#[must_use]
pub fn diff<L: State, R: State>(left: &L, right: &R) -> Option<Difference> {
    let mut record = Record::default();
    left.visit(&mut record);
    let mut compare = Compare {
        expected: &record.bytes,
        steps: 0,
        buffer: Vec::new(),
        place: Place::default(),
        found: None,
    };
    right.visit(&mut compare);
    if compare.found.is_none() && compare.expected.is_empty() {
        return None;
    }
    let theirs = compare.found.unwrap_or_else(Found::end);
    let mut find = Find {
        steps_left: compare.steps,
        place: Place::default(),
        found: None,
    };
    left.visit(&mut find);
    let ours = find.found.unwrap_or_else(Found::end);
    Some(difference(ours, theirs))
}

/// Both worlds agree up to here, so the deeper of the two steps says what is missing in the other.
fn difference(ours: Found, theirs: Found) -> Difference {
    let same_place = ours.place == theirs.place;
    let (section, row, field) = if same_place || ours.place.depth() >= theirs.place.depth() {
        ours.place.parts()
    } else {
        theirs.place.parts()
    };
    let show = |found: Found| {
        if same_place {
            found.text
        } else {
            found.place.describe(found.text)
        }
    };
    Difference {
        section,
        row,
        field,
        left: show(ours),
        right: show(theirs),
    }
}

#[derive(Clone, Default, PartialEq, Eq)]
struct Place {
    section: String,
    row: Option<u64>,
    field: Option<String>,
}

impl Place {
    fn enter_section(&mut self, name: &str) {
        *self = Self {
            section: name.to_owned(),
            row: None,
            field: None,
        };
    }

    fn depth(&self) -> u8 {
        u8::from(!self.section.is_empty())
            + u8::from(self.row.is_some())
            + u8::from(self.field.is_some())
    }

    fn parts(&self) -> (String, Option<u64>, Option<String>) {
        (self.section.clone(), self.row, self.field.clone())
    }

    fn describe(&self, text: String) -> String {
        match (&self.field, self.row) {
            (Some(field), _) => format!("{field} = {text}"),
            (None, Some(row)) => format!("row {row}"),
            (None, None) if self.section.is_empty() => text,
            (None, None) => format!("section {}", self.section),
        }
    }
}

struct Found {
    place: Place,
    text: String,
}

impl Found {
    fn end() -> Self {
        Self {
            place: Place::default(),
            text: "its end".to_owned(),
        }
    }
}

/// The left world's description as bytes: of each step its kind, the length of the rest, and the rest.
#[derive(Default)]
struct Record {
    bytes: Vec<u8>,
}

const SECTION: u8 = 0;
const ROW: u8 = 1;
const FIELD: u8 = 2;

fn step(out: &mut Vec<u8>, kind: u8, write: impl FnOnce(&mut Vec<u8>)) {
    out.push(kind);
    let length_at = out.len();
    out.extend_from_slice(&[0; 4]);
    write(out);
    let length = (out.len() - length_at - 4) as u32;
    out[length_at..length_at + 4].copy_from_slice(&length.to_le_bytes());
}

fn section_step(out: &mut Vec<u8>, name: &str) {
    step(out, SECTION, |out| out.extend_from_slice(name.as_bytes()));
}

fn row_step(out: &mut Vec<u8>, id: u64) {
    step(out, ROW, |out| out.extend_from_slice(&id.to_le_bytes()));
}

fn field_step(out: &mut Vec<u8>, name: &str, value: &dyn Field) {
    step(out, FIELD, |out| {
        out.extend_from_slice(name.as_bytes());
        out.push(0);
        value.bytes(out);
    });
}

impl Visit for Record {
    fn section(&mut self, name: &str, _: usize) -> bool {
        section_step(&mut self.bytes, name);
        true
    }

    fn row(&mut self, id: u64) -> bool {
        row_step(&mut self.bytes, id);
        true
    }

    fn field(&mut self, name: &str, value: &dyn Field) {
        field_step(&mut self.bytes, name, value);
    }
}

/// Walks the right world along the left one's record, up to the first step that differs.
struct Compare<'a> {
    expected: &'a [u8],
    /// How many steps were alike.
    steps: u64,
    buffer: Vec<u8>,
    place: Place,
    found: Option<Found>,
}

impl Compare<'_> {
    fn check(&mut self, text: impl FnOnce() -> String) -> bool {
        if let Some(rest) = self.expected.strip_prefix(self.buffer.as_slice()) {
            self.expected = rest;
            self.steps += 1;
            true
        } else {
            self.found = Some(Found {
                place: self.place.clone(),
                text: text(),
            });
            false
        }
    }
}

impl Visit for Compare<'_> {
    fn section(&mut self, name: &str, _: usize) -> bool {
        if self.found.is_some() {
            return false;
        }
        self.place.enter_section(name);
        self.buffer.clear();
        section_step(&mut self.buffer, name);
        self.check(String::new)
    }

    fn row(&mut self, id: u64) -> bool {
        if self.found.is_some() {
            return false;
        }
        self.place.row = Some(id);
        self.place.field = None;
        self.buffer.clear();
        row_step(&mut self.buffer, id);
        self.check(String::new)
    }

    fn field(&mut self, name: &str, value: &dyn Field) {
        if self.found.is_some() {
            return;
        }
        self.place.field = Some(name.to_owned());
        self.buffer.clear();
        field_step(&mut self.buffer, name, value);
        self.check(|| value.text());
    }
}

/// Finds the left world's step of this number.
struct Find {
    steps_left: u64,
    place: Place,
    found: Option<Found>,
}

impl Find {
    fn check(&mut self, text: impl FnOnce() -> String) -> bool {
        if let Some(left) = self.steps_left.checked_sub(1) {
            self.steps_left = left;
            true
        } else {
            self.found = Some(Found {
                place: self.place.clone(),
                text: text(),
            });
            false
        }
    }
}

impl Visit for Find {
    fn section(&mut self, name: &str, _: usize) -> bool {
        if self.found.is_some() {
            return false;
        }
        self.place.enter_section(name);
        self.check(String::new)
    }

    fn row(&mut self, id: u64) -> bool {
        if self.found.is_some() {
            return false;
        }
        self.place.row = Some(id);
        self.place.field = None;
        self.check(String::new)
    }

    fn field(&mut self, name: &str, value: &dyn Field) {
        if self.found.is_some() {
            return;
        }
        self.place.field = Some(name.to_owned());
        self.check(|| value.text());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde::{Deserialize, Serialize};
    use std::collections::BTreeMap;

    #[derive(Clone, Default, Debug, Serialize, Deserialize)]
    struct World {
        units: BTreeMap<u32, (u8, i16)>,
        gold: Vec<u32>,
    }
    crate::state_by_serde!(World);

    fn world(units: &[(u32, (u8, i16))], gold: &[u32]) -> World {
        World {
            units: units.iter().copied().collect(),
            gold: gold.to_vec(),
        }
    }

    fn text(left: &World, right: &World) -> String {
        diff(left, right).unwrap().to_string()
    }

    #[test]
    fn a_field_is_named_with_both_values() {
        let left = world(&[(3, (1, 2)), (8, (5, -6))], &[1]);
        let right = world(&[(3, (1, 2)), (8, (5, 6))], &[2]);
        assert_eq!(
            text(&left, &right),
            "units[8].1: -6 on the left, 6 on the right"
        );
        assert_eq!(diff(&left, &left.clone()), None);
    }

    #[test]
    fn a_row_too_many_is_named() {
        let left = world(&[(3, (1, 2))], &[1]);
        let right = world(&[(3, (1, 2)), (8, (5, 6))], &[1]);
        assert_eq!(
            text(&left, &right),
            "units[8]: section gold on the left, row 8 on the right"
        );
        assert_eq!(
            text(&right, &left),
            "units[8]: row 8 on the left, section gold on the right"
        );
        let longer = world(&[(3, (1, 2))], &[1, 4]);
        assert_eq!(
            text(&left, &longer),
            "gold[1]: its end on the left, row 1 on the right"
        );
        assert_eq!(
            text(&longer, &left),
            "gold[1]: row 1 on the left, its end on the right"
        );
    }

    #[test]
    fn other_rows_are_named() {
        let left = world(&[(3, (1, 2))], &[]);
        let right = world(&[(4, (1, 2))], &[]);
        assert_eq!(
            text(&left, &right),
            "units[3]: row 3 on the left, row 4 on the right"
        );
    }

    proptest! {
        #[test]
        fn worlds_differ_where_their_bytes_do(
            left in prop::collection::btree_map(0..6_u32, (0..2_u8, 0..2_i16), 0..4),
            right in prop::collection::btree_map(0..6_u32, (0..2_u8, 0..2_i16), 0..4),
        ) {
            let left = World { units: left, gold: vec![] };
            let right = World { units: right, gold: vec![] };
            let (mut a, mut b) = (Vec::new(), Vec::new());
            left.save(&mut a);
            right.save(&mut b);
            prop_assert_eq!(diff(&left, &right).is_some(), a != b);
        }
    }
}
