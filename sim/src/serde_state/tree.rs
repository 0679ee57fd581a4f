//! serde's data model as a tree.

use crate::Field;
use serde::ser::{
    Error as _, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant,
    SerializeTuple, SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

/// A serialized value.
pub(super) enum Tree {
    Leaf(Leaf),
    Sequence(Vec<Tree>),
    Map(Vec<(Tree, Tree)>),
    Struct(Vec<(&'static str, Tree)>),
    Variant(&'static str, Box<Tree>),
}

impl Tree {
    /// The value as a row's number, if it is one.
    pub(super) fn whole_number(&self) -> Option<u64> {
        match self {
            Self::Leaf(Leaf::U8(n)) => Some(u64::from(*n)),
            Self::Leaf(Leaf::U16(n)) => Some(u64::from(*n)),
            Self::Leaf(Leaf::U32(n)) => Some(u64::from(*n)),
            Self::Leaf(Leaf::U64(n)) => Some(*n),
            _ => None,
        }
    }
}

/// The tree of a value.
pub(super) fn tree<T: Serialize + ?Sized>(value: &T) -> Result<Tree, Refused> {
    value.serialize(Planter)
}

/// A type's own serde implementation refused.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Refused(String);

impl serde::ser::Error for Refused {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

macro_rules! leaves {
    ($($variant:ident($type:ty) $method:ident;)*) => {
        /// A value without parts.
        pub(super) enum Leaf {
            $($variant($type),)*
            Name(&'static str),
            Text(String),
            Bytes(Vec<u8>),
        }

        impl Field for Leaf {
            fn bytes(&self, out: &mut Vec<u8>) {
                match self {
                    $(Self::$variant(value) => value.bytes(out),)*
                    Self::Name(name) => name.bytes(out),
                    Self::Text(text) => text.bytes(out),
                    Self::Bytes(bytes) => out.extend_from_slice(bytes),
                }
            }

            fn text(&self) -> String {
                match self {
                    $(Self::$variant(value) => value.text(),)*
                    Self::Name(name) => (*name).to_owned(),
                    Self::Text(text) => text.text(),
                    Self::Bytes(bytes) => format!("{bytes:02x?}"),
                }
            }
        }

        impl Serializer for Planter {
            type Ok = Tree;
            type Error = Refused;
            type SerializeSeq = Sequence;
            type SerializeTuple = Sequence;
            type SerializeTupleStruct = Sequence;
            type SerializeTupleVariant = Sequence;
            type SerializeMap = Map;
            type SerializeStruct = Struct;
            type SerializeStructVariant = Struct;

            $(fn $method(self, value: $type) -> Result<Tree, Refused> {
                Ok(Tree::Leaf(Leaf::$variant(value)))
            })*

            fn serialize_str(self, text: &str) -> Result<Tree, Refused> {
                Ok(Tree::Leaf(Leaf::Text(text.to_owned())))
            }

            fn serialize_bytes(self, bytes: &[u8]) -> Result<Tree, Refused> {
                Ok(Tree::Leaf(Leaf::Bytes(bytes.to_owned())))
            }

            fn serialize_none(self) -> Result<Tree, Refused> {
                Ok(Tree::Leaf(Leaf::Name("none")))
            }

            fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Tree, Refused> {
                tree(value)
            }

            fn serialize_unit(self) -> Result<Tree, Refused> {
                Ok(Tree::Leaf(Leaf::Name("()")))
            }

            fn serialize_unit_struct(self, name: &'static str) -> Result<Tree, Refused> {
                Ok(Tree::Leaf(Leaf::Name(name)))
            }

            fn serialize_unit_variant(
                self,
                _: &'static str,
                _: u32,
                variant: &'static str,
            ) -> Result<Tree, Refused> {
                Ok(Tree::Leaf(Leaf::Name(variant)))
            }

            fn serialize_newtype_struct<T: Serialize + ?Sized>(
                self,
                _: &'static str,
                value: &T,
            ) -> Result<Tree, Refused> {
                tree(value)
            }

            fn serialize_newtype_variant<T: Serialize + ?Sized>(
                self,
                _: &'static str,
                _: u32,
                variant: &'static str,
                value: &T,
            ) -> Result<Tree, Refused> {
                Ok(Tree::Variant(variant, Box::new(tree(value)?)))
            }

            fn serialize_seq(self, _: Option<usize>) -> Result<Sequence, Refused> {
                Ok(Sequence::default())
            }

            fn serialize_tuple(self, _: usize) -> Result<Sequence, Refused> {
                Ok(Sequence::default())
            }

            fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Sequence, Refused> {
                Ok(Sequence::default())
            }

            fn serialize_tuple_variant(
                self,
                _: &'static str,
                _: u32,
                variant: &'static str,
                _: usize,
            ) -> Result<Sequence, Refused> {
                Ok(Sequence { variant: Some(variant), items: Vec::new() })
            }

            fn serialize_map(self, _: Option<usize>) -> Result<Map, Refused> {
                Ok(Map::default())
            }

            fn serialize_struct(self, _: &'static str, _: usize) -> Result<Struct, Refused> {
                Ok(Struct::default())
            }

            fn serialize_struct_variant(
                self,
                _: &'static str,
                _: u32,
                variant: &'static str,
                _: usize,
            ) -> Result<Struct, Refused> {
                Ok(Struct { variant: Some(variant), fields: Vec::new() })
            }

            fn is_human_readable(&self) -> bool {
                false
            }
        }
    };
}

leaves! {
    Bool(bool) serialize_bool;
    U8(u8) serialize_u8;
    I8(i8) serialize_i8;
    U16(u16) serialize_u16;
    I16(i16) serialize_i16;
    U32(u32) serialize_u32;
    I32(i32) serialize_i32;
    U64(u64) serialize_u64;
    I64(i64) serialize_i64;
    U128(u128) serialize_u128;
    I128(i128) serialize_i128;
    F32(f32) serialize_f32;
    F64(f64) serialize_f64;
    Char(char) serialize_char;
}

struct Planter;

#[derive(Default)]
pub(super) struct Sequence {
    variant: Option<&'static str>,
    items: Vec<Tree>,
}

impl Sequence {
    fn add<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Refused> {
        self.items.push(tree(value)?);
        Ok(())
    }

    fn tree(self) -> Result<Tree, Refused> {
        Ok(within(self.variant, Tree::Sequence(self.items)))
    }
}

#[derive(Default)]
pub(super) struct Map {
    key: Option<Tree>,
    entries: Vec<(Tree, Tree)>,
}

#[derive(Default)]
pub(super) struct Struct {
    variant: Option<&'static str>,
    fields: Vec<(&'static str, Tree)>,
}

impl Struct {
    fn add<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Refused> {
        self.fields.push((name, tree(value)?));
        Ok(())
    }

    fn tree(self) -> Result<Tree, Refused> {
        Ok(within(self.variant, Tree::Struct(self.fields)))
    }
}

fn within(variant: Option<&'static str>, tree: Tree) -> Tree {
    match variant {
        Some(name) => Tree::Variant(name, Box::new(tree)),
        None => tree,
    }
}

impl SerializeMap for Map {
    type Ok = Tree;
    type Error = Refused;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Refused> {
        self.key = Some(tree(key)?);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Refused> {
        let key = self
            .key
            .take()
            .ok_or_else(|| Refused::custom("a map's value without its key"))?;
        self.entries.push((key, tree(value)?));
        Ok(())
    }

    fn end(self) -> Result<Tree, Refused> {
        Ok(Tree::Map(self.entries))
    }
}

macro_rules! parts {
    ($($compound:ident: $trait:ident $method:ident($($name:ident)?);)*) => {$(
        impl $trait for $compound {
            type Ok = Tree;
            type Error = Refused;

            fn $method<T: Serialize + ?Sized>(
                &mut self,
                $($name: &'static str,)?
                value: &T,
            ) -> Result<(), Refused> {
                self.add($($name,)? value)
            }

            fn end(self) -> Result<Tree, Refused> {
                self.tree()
            }
        }
    )*};
}

parts! {
    Sequence: SerializeSeq serialize_element();
    Sequence: SerializeTuple serialize_element();
    Sequence: SerializeTupleStruct serialize_field();
    Sequence: SerializeTupleVariant serialize_field();
    Struct: SerializeStruct serialize_field(name);
    Struct: SerializeStructVariant serialize_field(name);
}
