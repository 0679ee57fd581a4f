//! Pictures and meshes that are kept from frame to frame, for as long as somebody holds them.

use super::Vertex;
use std::rc::Rc;

/// A picture that is kept from frame to frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PictureId(pub(super) usize);

impl PictureId {
    /// Its place among the kept pictures.
    pub fn place(self) -> usize {
        self.0
    }
}

/// Triangles that are kept from frame to frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MeshId(pub(super) usize);

impl MeshId {
    /// Its place among the kept meshes.
    pub fn place(self) -> usize {
        self.0
    }
}

/// Keeps a picture or a mesh. Once this is dropped it is drawn no more, and its place goes to another one.
#[derive(Debug)]
pub struct Kept<T> {
    id: T,
    _held: Rc<()>,
}

impl<T: Copy> Kept<T> {
    /// What is kept.
    pub fn id(&self) -> T {
        self.id
    }
}

/// Pixels as they shall be on the graphics card.
#[derive(Clone, Debug, Default)]
pub struct Picture {
    /// Pixels in a line. 0 where the card shall keep nothing.
    pub width: u16,
    /// Lines.
    pub height: u16,
    /// Red, green, blue, alpha of each pixel.
    pub rgba: Vec<u8>,
    /// Whether its pixels run into each other where it is drawn larger.
    pub smooth: bool,
    /// Whether it was changed since the card last had it.
    pub changed: bool,
}

/// Triangles as they shall be on the graphics card.
#[derive(Clone, Debug, Default)]
pub struct Mesh {
    /// Corners.
    pub vertices: Vec<Vertex>,
    /// Three for each triangle. None where the card shall keep nothing.
    pub indices: Vec<u32>,
    /// Whether it was changed since the card last had it.
    pub changed: bool,
}

/// What can be given back.
pub(super) trait Emptied {
    /// As it is when nothing shall be kept.
    fn emptied() -> Self;
}

impl Emptied for Picture {
    fn emptied() -> Picture {
        Picture {
            changed: true,
            ..Picture::default()
        }
    }
}

impl Emptied for Mesh {
    fn emptied() -> Mesh {
        Mesh {
            changed: true,
            ..Mesh::default()
        }
    }
}

/// All that is kept of a kind.
pub(super) struct Shelf<T> {
    all: Vec<T>,
    /// Who holds the one at the same place; `None` where the place is free.
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

impl<T: Emptied> Shelf<T> {
    pub(super) fn keep<Id>(&mut self, id: impl Fn(usize) -> Id) -> Kept<Id> {
        let place = self.free.pop().unwrap_or_else(|| {
            self.all.push(T::emptied());
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

    /// Empties what nobody holds any more.
    pub(super) fn take_back(&mut self) {
        for (place, held) in self.held.iter_mut().enumerate() {
            if held.take_if(|held| Rc::strong_count(held) == 1).is_some() {
                self.all[place] = T::emptied();
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
