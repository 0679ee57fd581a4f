//! The values that worlds are made of, for visitors.

use crate::{Angle, Field, Id, Num, Vec2};

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl Field for $number {
            fn bytes(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }

            fn text(&self) -> String {
                self.to_string()
            }
        }
    )*};
}

numbers!(
    u8, i8, u16, i16, u32, i32, u64, i64, u128, i128, f32, f64, Num
);

impl Field for bool {
    fn bytes(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }

    fn text(&self) -> String {
        self.to_string()
    }
}

impl Field for char {
    fn bytes(&self, out: &mut Vec<u8>) {
        u32::from(*self).bytes(out);
    }

    fn text(&self) -> String {
        format!("{self:?}")
    }
}

impl Field for &str {
    fn bytes(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.as_bytes());
    }

    fn text(&self) -> String {
        (*self).to_owned()
    }
}

impl Field for String {
    fn bytes(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.as_bytes());
    }

    fn text(&self) -> String {
        format!("{self:?}")
    }
}

impl Field for Angle {
    fn bytes(&self, out: &mut Vec<u8>) {
        self.0.bytes(out);
    }

    fn text(&self) -> String {
        format!("{}/65536 turn", self.0)
    }
}

impl Field for Vec2 {
    fn bytes(&self, out: &mut Vec<u8>) {
        self.x.bytes(out);
        self.y.bytes(out);
    }

    fn text(&self) -> String {
        format!("({}, {})", self.x, self.y)
    }
}

impl Field for Id {
    fn bytes(&self, out: &mut Vec<u8>) {
        self.slot.bytes(out);
        self.generation.bytes(out);
    }

    fn text(&self) -> String {
        self.to_string()
    }
}

impl<T: Field> Field for &[T] {
    fn bytes(&self, out: &mut Vec<u8>) {
        self.iter().for_each(|value| value.bytes(out));
    }

    fn text(&self) -> String {
        let texts: Vec<String> = self.iter().map(Field::text).collect();
        texts.join(" ")
    }
}

impl<T: Field, const N: usize> Field for [T; N] {
    fn bytes(&self, out: &mut Vec<u8>) {
        self.as_slice().bytes(out);
    }

    fn text(&self) -> String {
        self.as_slice().text()
    }
}

impl<T: Field> Field for Option<T> {
    fn bytes(&self, out: &mut Vec<u8>) {
        self.is_some().bytes(out);
        if let Some(value) = self {
            value.bytes(out);
        }
    }

    fn text(&self) -> String {
        self.as_ref().map_or_else(|| "none".to_owned(), Field::text)
    }
}
