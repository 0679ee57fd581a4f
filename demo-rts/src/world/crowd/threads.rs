//! Work on slices, in as many parts as there are threads.

use std::{num::NonZeroUsize, ops::Range};

/// How many threads a world may use. Never state: no result depends on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Threads {
    /// One for few units, else as many as the machine has cores.
    #[default]
    Fitting,
    /// So many.
    Given(NonZeroUsize),
}

impl Threads {
    /// Threads for so many units.
    pub fn for_units(self, units: usize) -> usize {
        match self {
            Threads::Given(threads) => threads.get().min(MOST_THREADS),
            Threads::Fitting if units < ENOUGH => 1,
            Threads::Fitting => {
                let cores = std::thread::available_parallelism();
                cores.map_or(1, NonZeroUsize::get).min(MOST_THREADS)
            }
        }
    }
}

/// Something that can be cut in two at a place.
pub trait Parts: Sized + Send {
    fn cut(self, at: usize) -> (Self, Self);
}

impl<T: Send> Parts for &mut [T] {
    fn cut(self, at: usize) -> (Self, Self) {
        self.split_at_mut(at)
    }
}

/// Runs `work` on `threads` parts of `whole`, which is `len` long; it is told where its part begins.
pub fn in_parts<P: Parts>(threads: usize, len: usize, whole: P, work: impl Fn(usize, P) + Sync) {
    let part = len.div_ceil(threads.max(1)).max(1);
    if len <= part {
        work(0, whole);
        return;
    }
    std::thread::scope(|scope| {
        let work = &work;
        let mut rest = whole;
        let mut from = 0;
        while len - from > part {
            let (first, others) = rest.cut(part);
            scope.spawn(move || work(from, first));
            rest = others;
            from += part;
        }
        work(from, rest);
    });
}

/// What `work` finds in `threads` parts of `0..len`, in their order.
pub fn of_parts<R: Send>(
    threads: usize,
    len: usize,
    work: impl Fn(Range<usize>) -> R + Sync,
) -> Vec<R> {
    let part = len.div_ceil(threads.max(1)).max(1);
    if len <= part {
        return vec![work(0..len)];
    }
    std::thread::scope(|scope| {
        let work = &work;
        let begins = (part..len).step_by(part);
        let others: Vec<_> = begins
            .map(|from| scope.spawn(move || work(from..len.min(from + part))))
            .collect();
        let first = work(0..part);
        let others = others.into_iter().map(|other| match other.join() {
            Ok(found) => found,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        std::iter::once(first).chain(others).collect()
    })
}

/// Units from which on more threads than one pay for being started.
const ENOUGH: usize = 6_000;
/// More threads than this only wait for memory.
const MOST_THREADS: usize = 16;
