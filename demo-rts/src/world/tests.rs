//! Rules of the world, each by itself.
