//! Work on slices, in parts that several threads take.

use rayon_core::ThreadPool;
use std::{num::NonZeroUsize, ops::Range, sync::OnceLock};

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

/// Runs `work` on parts of `whole`, which is `len` long, with the place where each part begins. There are
/// more parts than threads, so that an early thread takes work from a delayed one.
pub fn in_parts<P: Parts>(threads: usize, len: usize, whole: P, work: impl Fn(usize, P) + Sync) {
    share(0..len, part_of(threads, len), whole, &work);
}

fn share<P: Parts>(rows: Range<usize>, part: usize, whole: P, work: &(impl Fn(usize, P) + Sync)) {
    if rows.len() <= part {
        work(rows.start, whole);
        return;
    }
    let half = rows.len().div_ceil(part) / 2 * part;
    let (first, second) = whole.cut(half);
    let middle = rows.start + half;
    rayon_core::join(
        || share(rows.start..middle, part, first, work),
        || share(middle..rows.end, part, second, work),
    );
}

/// What `work` finds in parts of `0..len`, in their order.
pub fn of_parts<R: Send>(
    threads: usize,
    len: usize,
    work: impl Fn(Range<usize>) -> R + Sync,
) -> Vec<R> {
    let part = part_of(threads, len);
    let mut found: Vec<Option<R>> = Vec::new();
    found.resize_with(len.div_ceil(part), || None);
    share(0..found.len(), 1, found.as_mut_slice(), &|at, found| {
        for (at, found) in (at..).zip(found) {
            *found = Some(work(at * part..len.min((at + 1) * part)));
        }
    });
    found.into_iter().flatten().collect()
}

fn part_of(threads: usize, len: usize) -> usize {
    let parts = if threads > 1 { threads * PARTS_EACH } else { 1 };
    len.div_ceil(parts).max(1)
}

/// Runs a step on so many threads, which share its parts. The threads are kept for the next step.
pub fn on_threads<R: Send>(threads: usize, step: impl FnOnce() -> R + Send) -> R {
    static POOLS: [OnceLock<Option<ThreadPool>>; MOST_THREADS + 1] =
        [const { OnceLock::new() }; MOST_THREADS + 1];
    let make = || {
        let builder = rayon_core::ThreadPoolBuilder::new().num_threads(threads);
        builder.thread_name(|_| "step".to_owned()).build().ok()
    };
    match POOLS.get(threads).filter(|_| threads > 1) {
        // Without a pool this thread does all the work.
        Some(pool) => match pool.get_or_init(make) {
            Some(pool) => pool.install(step),
            None => step(),
        },
        None => step(),
    }
}

/// Units from which on more threads than one pay for being started.
const ENOUGH: usize = 6_000;
/// More threads than this only wait for memory.
const MOST_THREADS: usize = 16;
/// Parts of a phase's work for each thread.
const PARTS_EACH: usize = 4;
