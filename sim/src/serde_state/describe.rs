//! Describes serde values to a [`Visit`]or.

use super::tree::{Tree, tree};
use crate::Visit;
use serde::Serialize;

/// Describes a value: the outermost struct's fields are sections, the elements of their sequences, arrays
/// and maps are rows, and everything within a row is a field with a dotted path.
///
/// Rows are numbered by position; those of a map with whole-number keys by their keys. A section
/// without rows of its own has one, numbered 0. A value that is not a struct is one section, `world`.
///
/// # Panics
/// For types whose serde implementation fails.
pub fn visit<T: Serialize + ?Sized>(value: &T, to: &mut dyn Visit) {
    let world = tree(value).expect("the world consists of types that serde can describe");
    match world {
        Tree::Struct(fields) => {
            for (name, field) in &fields {
                section(name, field, to);
            }
        }
        other => section("world", &other, to),
    }
}

fn section(name: &str, tree: &Tree, to: &mut dyn Visit) {
    match tree {
        Tree::Sequence(items) => {
            if to.section(name, items.len()) {
                for (id, item) in (0..).zip(items) {
                    row(id, &[("", item)], to);
                }
            }
        }
        Tree::Map(entries) => {
            if to.section(name, entries.len()) {
                for (index, (key, value)) in (0..).zip(entries) {
                    match key.whole_number() {
                        Some(id) => row(id, &[("", value)], to),
                        None => row(index, &[("key", key), ("value", value)], to),
                    }
                }
            }
        }
        other => {
            if to.section(name, 1) {
                row(0, &[("", other)], to);
            }
        }
    }
}

fn row(id: u64, parts: &[(&str, &Tree)], to: &mut dyn Visit) {
    if to.row(id) {
        let mut path = String::new();
        for (name, part) in parts {
            below(&mut path, name, |path| fields(path, part, to));
        }
    }
}

fn fields(path: &mut String, tree: &Tree, to: &mut dyn Visit) {
    match tree {
        Tree::Leaf(leaf) if path.is_empty() => to.field("value", leaf),
        Tree::Leaf(leaf) => to.field(path, leaf),
        Tree::Struct(parts) => {
            for (name, part) in parts {
                below(path, name, |path| fields(path, part, to));
            }
        }
        // Without their length, an item added at the end of a list would look like a field of its own.
        Tree::Sequence(items) => {
            below(path, "len", |path| to.field(path, &(items.len() as u64)));
            for (index, item) in items.iter().enumerate() {
                below(path, &index.to_string(), |path| fields(path, item, to));
            }
        }
        Tree::Map(entries) => {
            below(path, "len", |path| to.field(path, &(entries.len() as u64)));
            for (index, (key, value)) in entries.iter().enumerate() {
                if let Some(id) = key.whole_number() {
                    below(path, &id.to_string(), |path| fields(path, value, to));
                } else {
                    below(path, &format!("{index}.key"), |path| fields(path, key, to));
                    below(path, &format!("{index}.value"), |path| {
                        fields(path, value, to)
                    });
                }
            }
        }
        Tree::Variant(name, content) => {
            below(path, "variant", |path| to.field(path, name));
            below(path, name, |path| fields(path, content, to));
        }
    }
}

/// Goes on with this part added to the path.
fn below(path: &mut String, part: &str, walk: impl FnOnce(&mut String)) {
    let length = path.len();
    if !path.is_empty() && !part.is_empty() {
        path.push('.');
    }
    path.push_str(part);
    walk(path);
    path.truncate(length);
}
