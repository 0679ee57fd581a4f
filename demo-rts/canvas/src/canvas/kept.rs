//! Pictures and meshes that are kept from frame to frame while a handle exists.

use super::Vertex;
use std::rc::Rc;

/// A kept picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PictureId(pub(super) usize);

impl PictureId {
    /// Its index among the kept pictures.
    pub fn place(self) -> usize {
        self.0
    }
}

/// A kept mesh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MeshId(pub(super) usize);

impl MeshId {
    /// Its index among the kept meshes.
    pub fn place(self) -> usize {
        self.0
    }
}

/// A handle to a picture or mesh. Dropping it frees the picture or mesh.
#[derive(Debug)]
pub struct Kept<T> {
    id: T,
    _held: Rc<()>,
}

impl<T: Copy> Kept<T> {
    /// The id for drawing it.
    pub fn id(&self) -> T {
        self.id
    }
}

/// Pixels for the graphics card.
#[derive(Clone, Debug, Default)]
pub struct Picture {
    /// Pixels per row. 0 if the card must keep none.
    pub width: u16,
    /// Rows.
    pub height: u16,
    /// Red, green, blue, alpha of each pixel.
    pub rgba: Vec<u8>,
    /// Whether it is interpolated when enlarged.
    pub smooth: bool,
    /// Whether it has changed since the last upload.
    pub changed: bool,
}

/// Triangles for the graphics card.
#[derive(Clone, Debug, Default)]
pub struct Mesh {
    /// The vertices.
    pub vertices: Vec<Vertex>,
    /// Three per triangle. Empty if the card must keep none.
    pub indices: Vec<u32>,
    /// Whether it has changed since the last upload.
    pub changed: bool,
}

/// A kept resource with an empty state.
pub(super) trait Clear {
    /// The state in which the card keeps nothing.
    fn cleared() -> Self;
}

impl Clear for Picture {
    fn cleared() -> Picture {
        Picture {
            changed: true,
            ..Picture::default()
        }
    }
}

impl Clear for Mesh {
    fn cleared() -> Mesh {
        Mesh {
            changed: true,
            ..Mesh::default()
        }
    }
}

/// All kept resources of a kind.
pub(super) struct Shelf<T> {
    all: Vec<T>,
    /// The handle of the resource with the same index; `None` for a free index.
    held: Vec<Option<Rc<()>>>,
    free: Vec<usize>,
}

impl<T> Default for Shelf<T> {
    fn default() -> Shelf<T> {
        Shelf {
            all: Vec::new(),
            held: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T: Clear> Shelf<T> {
    pub(super) fn keep<Id>(&mut self, id: impl Fn(usize) -> Id) -> Kept<Id> {
        let place = self.free.pop().unwrap_or_else(|| {
            self.all.push(T::cleared());
            self.held.push(None);
            self.all.len() - 1
        });
        let held = Rc::new(());
        self.held[place] = Some(Rc::clone(&held));
        Kept {
            id: id(place),
            _held: held,
        }
    }

    /// Empties resources without a handle.
    pub(super) fn free_unused(&mut self) {
        for (place, held) in self.held.iter_mut().enumerate() {
            if held.take_if(|held| Rc::strong_count(held) == 1).is_some() {
                self.all[place] = T::cleared();
                self.free.push(place);
            }
        }
    }

    pub(super) fn at(&mut self, place: usize) -> &mut T {
        &mut self.all[place]
    }

    pub(super) fn all(&mut self) -> &mut [T] {
        &mut self.all
    }
}
