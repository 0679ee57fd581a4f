//! A deserializer around another that bounds what hostile bytes can cost: elements that take no bytes,
//! nesting, and memory reserved in advance.

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};
use std::cell::Cell;

/// What is left to spend.
pub(super) struct Bounds {
    elements: Cell<usize>,
    depth: Cell<u32>,
    broken: Cell<Option<&'static str>>,
}

impl Bounds {
    pub(super) const fn new(bytes: usize) -> Self {
        Self {
            elements: Cell::new(bytes.saturating_mul(8).saturating_add(1024)),
            depth: Cell::new(MOST_NESTED),
            broken: Cell::new(None),
        }
    }

    pub(super) fn read<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
        &self,
        inner: D,
    ) -> Result<T, D::Error> {
        T::deserialize(Bounded {
            inner,
            bounds: self,
        })
    }

    /// Which bound the bytes broke.
    pub(super) const fn broken(&self) -> Option<&'static str> {
        self.broken.get()
    }

    fn take_element<E: Error>(&self) -> Result<(), E> {
        match self.elements.get().checked_sub(1) {
            Some(left) => {
                self.elements.set(left);
                Ok(())
            }
            None => Err(self.refuse("it holds too many elements for its size")),
        }
    }

    fn nested<T, E: Error>(&self, read: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let Some(deeper) = self.depth.get().checked_sub(1) else {
            return Err(self.refuse("it is nested too deeply"));
        };
        self.depth.set(deeper);
        let result = read();
        self.depth.set(deeper + 1);
        result
    }

    fn refuse<E: Error>(&self, what: &'static str) -> E {
        self.broken.set(Some(what));
        E::custom(what)
    }
}

const MOST_NESTED: u32 = 128;

struct Bounded<'b, T> {
    inner: T,
    bounds: &'b Bounds,
}

macro_rules! forward {
    ($($method:ident($($argument:ident: $type:ty),*);)*) => {$(
        fn $method<V: Visitor<'de>>(self, $($argument: $type,)* visitor: V) -> Result<V::Value, D::Error> {
            let bounds = self.bounds;
            bounds.nested(|| self.inner.$method($($argument,)* Bounded { inner: visitor, bounds }))
        }
    )*};
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Bounded<'_, D> {
    type Error = D::Error;

    forward! {
        deserialize_any();
        deserialize_bool();
        deserialize_i8();
        deserialize_i16();
        deserialize_i32();
        deserialize_i64();
        deserialize_i128();
        deserialize_u8();
        deserialize_u16();
        deserialize_u32();
        deserialize_u64();
        deserialize_u128();
        deserialize_f32();
        deserialize_f64();
        deserialize_char();
        deserialize_str();
        deserialize_string();
        deserialize_bytes();
        deserialize_byte_buf();
        deserialize_option();
        deserialize_unit();
        deserialize_unit_struct(name: &'static str);
        deserialize_newtype_struct(name: &'static str);
        deserialize_seq();
        deserialize_tuple(len: usize);
        deserialize_tuple_struct(name: &'static str, len: usize);
        deserialize_map();
        deserialize_struct(name: &'static str, fields: &'static [&'static str]);
        deserialize_enum(name: &'static str, variants: &'static [&'static str]);
        deserialize_identifier();
        deserialize_ignored_any();
    }

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

macro_rules! pass {
    ($($method:ident($type:ty);)*) => {$(
        fn $method<E: Error>(self, value: $type) -> Result<V::Value, E> {
            self.inner.$method(value)
        }
    )*};
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Bounded<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.inner.expecting(f)
    }

    pass! {
        visit_bool(bool);
        visit_i8(i8);
        visit_i16(i16);
        visit_i32(i32);
        visit_i64(i64);
        visit_i128(i128);
        visit_u8(u8);
        visit_u16(u16);
        visit_u32(u32);
        visit_u64(u64);
        visit_u128(u128);
        visit_f32(f32);
        visit_f64(f64);
        visit_char(char);
        visit_str(&str);
        visit_borrowed_str(&'de str);
        visit_string(String);
        visit_bytes(&[u8]);
        visit_borrowed_bytes(&'de [u8]);
        visit_byte_buf(Vec<u8>);
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_none()
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        let bounds = self.bounds;
        self.inner.visit_some(Bounded { inner, bounds })
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        let bounds = self.bounds;
        self.inner.visit_newtype_struct(Bounded { inner, bounds })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        let bounds = self.bounds;
        self.inner.visit_seq(Bounded { inner, bounds })
    }

    fn visit_map<A: MapAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        let bounds = self.bounds;
        self.inner.visit_map(Bounded { inner, bounds })
    }

    fn visit_enum<A: EnumAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        let bounds = self.bounds;
        self.inner.visit_enum(Bounded { inner, bounds })
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Bounded<'_, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, inner: D) -> Result<S::Value, D::Error> {
        let bounds = self.bounds;
        self.inner.deserialize(Bounded { inner, bounds })
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Bounded<'_, A> {
    type Error = A::Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        inner: T,
    ) -> Result<Option<T::Value>, A::Error> {
        let bounds = self.bounds;
        let element = self.inner.next_element_seed(Bounded { inner, bounds })?;
        if element.is_some() {
            bounds.take_element()?;
        }
        Ok(element)
    }

    fn size_hint(&self) -> Option<usize> {
        let elements = self.bounds.elements.get();
        self.inner.size_hint().map(|hint| hint.min(elements / 8))
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Bounded<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        inner: K,
    ) -> Result<Option<K::Value>, A::Error> {
        let bounds = self.bounds;
        let key = self.inner.next_key_seed(Bounded { inner, bounds })?;
        if key.is_some() {
            bounds.take_element()?;
        }
        Ok(key)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, inner: S) -> Result<S::Value, A::Error> {
        let bounds = self.bounds;
        self.inner.next_value_seed(Bounded { inner, bounds })
    }

    fn size_hint(&self) -> Option<usize> {
        let elements = self.bounds.elements.get();
        self.inner.size_hint().map(|hint| hint.min(elements / 8))
    }
}

impl<'b, 'de, A: EnumAccess<'de>> EnumAccess<'de> for Bounded<'b, A> {
    type Error = A::Error;
    type Variant = Bounded<'b, A::Variant>;

    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        inner: S,
    ) -> Result<(S::Value, Self::Variant), A::Error> {
        let bounds = self.bounds;
        let (value, inner) = self.inner.variant_seed(Bounded { inner, bounds })?;
        Ok((value, Bounded { inner, bounds }))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for Bounded<'_, A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        self.inner.unit_variant()
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, inner: S) -> Result<S::Value, A::Error> {
        let bounds = self.bounds;
        self.inner.newtype_variant_seed(Bounded { inner, bounds })
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, inner: V) -> Result<V::Value, A::Error> {
        let bounds = self.bounds;
        self.inner.tuple_variant(len, Bounded { inner, bounds })
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        inner: V,
    ) -> Result<V::Value, A::Error> {
        let bounds = self.bounds;
        self.inner.struct_variant(fields, Bounded { inner, bounds })
    }
}
