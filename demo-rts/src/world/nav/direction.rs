//! Eight ways, and none.

/// Which way to go from a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Direction {
    /// +x.
    East = 0,
    /// +x +y.
    SouthEast = 1,
    /// +y.
    South = 2,
    /// -x +y.
    SouthWest = 3,
    /// -x.
    West = 4,
    /// -x -y.
    NorthWest = 5,
    /// -y.
    North = 6,
    /// +x -y.
    NorthEast = 7,
    /// Nowhere: the way ends here.
    Here = 8,
}

impl Direction {
    pub(super) const HERE: u8 = Direction::Here as u8;
    pub(super) const NONE: u8 = 15;
    pub(super) const STEPS: [(i32, i32); 9] = [
        (1, 0),
        (1, 1),
        (0, 1),
        (-1, 1),
        (-1, 0),
        (-1, -1),
        (0, -1),
        (1, -1),
        (0, 0),
    ];

    /// What a step adds to column and row.
    #[inline]
    pub fn step(self) -> (i32, i32) {
        Self::STEPS[self as usize]
    }

    #[inline]
    pub(super) fn from_code(code: u8) -> Option<Direction> {
        const ALL: [Direction; 9] = [
            Direction::East,
            Direction::SouthEast,
            Direction::South,
            Direction::SouthWest,
            Direction::West,
            Direction::NorthWest,
            Direction::North,
            Direction::NorthEast,
            Direction::Here,
        ];
        ALL.get(usize::from(code)).copied()
    }
}
