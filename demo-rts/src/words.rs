//! Kinds, their numbers and match time, as people say them.

use crate::world::Kind;
use std::time::Duration;

/// `1 archer`, `2 swordsmen`, `1 barracks`.
#[cfg(any(feature = "play", test))]
pub(crate) fn kinds(many: usize, kind: Kind) -> String {
    let name = kind.stats().name;
    match (many, kind) {
        (1, _) | (_, Kind::Barracks) => format!("{many} {name}"),
        (_, Kind::Swordsman) => format!("{many} swordsmen"),
        _ => format!("{many} {name}s"),
    }
}

/// `a worker`, `an archer`, `a barracks`.
pub(crate) fn one(kind: Kind) -> String {
    let name = kind.stats().name;
    let article = if name.starts_with(['a', 'e', 'i', 'o', 'u']) {
        "an"
    } else {
        "a"
    };
    format!("{article} {name}")
}

/// Match time: `4:05`, or `1:04:05`.
pub(crate) fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        _ => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_and_many() {
        assert_eq!(kinds(1, Kind::Worker), "1 worker");
        assert_eq!(kinds(2, Kind::Archer), "2 archers");
        assert_eq!(kinds(3, Kind::Swordsman), "3 swordsmen");
        assert_eq!(kinds(1, Kind::Barracks), "1 barracks");
        assert_eq!(kinds(2, Kind::Barracks), "2 barracks");
        assert_eq!(kinds(12, Kind::TownHall), "12 town halls");
        assert_eq!(one(Kind::Archer), "an archer");
        assert_eq!(one(Kind::Barracks), "a barracks");
    }

    #[test]
    fn match_time() {
        let seconds = |seconds| clock(Duration::from_secs(seconds));
        assert_eq!(seconds(0), "0:00");
        assert_eq!(seconds(1_104), "18:24");
        assert_eq!(seconds(3_845), "1:04:05");
        let most = clock(Duration::from_millis(u64::MAX));
        assert_eq!(most, "5124095576030:25:51");
    }
}
