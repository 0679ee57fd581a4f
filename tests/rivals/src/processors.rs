//! How busy the processors of the machine are. Where they are full, figures tell of the machine and not of a library.

/// Time of all processors since the machine began, in ticks of its kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Processors {
    busy: u64,
    all: u64,
}

impl Processors {
    /// As Linux tells; `None` on another system.
    pub fn now() -> Option<Processors> {
        parse(&std::fs::read_to_string("/proc/stat").ok()?)
    }

    /// The share of the time since `before` in which they were busy, in percent. Processes of a lower priority give way, so
    /// they do not count.
    pub fn busy_percent(self, before: Processors) -> f64 {
        let all = self.all.saturating_sub(before.all).max(1);
        self.busy.saturating_sub(before.busy) as f64 * 100.0 / all as f64
    }
}

/// Reads the first line of `/proc/stat`: user, lower priority, system, idle, waiting for a disk, and five more.
fn parse(text: &str) -> Option<Processors> {
    let line = text.lines().next()?.strip_prefix("cpu ")?;
    let ticks = line.split_whitespace().map(|ticks| ticks.parse().ok());
    let ticks: Vec<u64> = ticks.collect::<Option<_>>()?;
    // The last two are within the first two.
    let all = ticks.get(..8)?.iter().sum::<u64>();
    let free = ticks[1] + ticks[3] + ticks[4];
    Some(Processors {
        busy: all - free,
        all,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_gives_way_or_waits_is_not_busy() {
        let before = parse("cpu  100 50 30 800 10 0 10 0 7 0\ncpu0 1 2").expect("a line");
        assert_eq!((before.busy, before.all), (140, 1_000));
        let later = parse("cpu  150 90 50 880 10 0 20 0 7 0\n").expect("a line");
        assert_eq!(later.busy_percent(before), 40.0);
        assert_eq!(before.busy_percent(before), 0.0);
        assert_eq!(parse("cpu  1 2 3\n"), None);
        assert_eq!(parse("intr 5\n"), None);
    }
}
