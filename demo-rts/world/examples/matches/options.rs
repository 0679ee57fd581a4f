//! What to play.

use demo_world::bot::Level;
use std::num::NonZero;

pub struct Options {
    pub first: u64,
    pub matches: u64,
    pub seats: u8,
    pub pairs: Vec<[Level; 2]>,
    pub map_seed: Option<u64>,
    pub size: Option<u16>,
    pub threads: usize,
    pub each: bool,
}

impl Options {
    pub fn last(&self) -> u64 {
        self.first.saturating_add(self.matches).saturating_sub(1)
    }

    pub fn seeds(&self) -> std::ops::RangeInclusive<u64> {
        self.first..=self.last()
    }
}

/// Reads the arguments. `None`: help is wanted.
///
/// # Errors
/// A text that names the fault.
pub fn read(mut arguments: impl Iterator<Item = String>) -> Result<Option<Options>, String> {
    let mut options = Options {
        first: 1,
        matches: 100,
        seats: 2,
        pairs: vec![[Level::Hard, Level::Normal], [Level::Normal, Level::Easy]],
        map_seed: None,
        size: None,
        threads: std::thread::available_parallelism().map_or(1, NonZero::get),
        each: false,
    };
    while let Some(flag) = arguments.next() {
        if flag == "--help" || flag == "-h" {
            return Ok(None);
        }
        if flag == "--each" {
            options.each = true;
            continue;
        }
        let mut value = || arguments.next().ok_or(format!("{flag} wants a value"));
        match flag.as_str() {
            "--first" => options.first = number(&flag, &value()?, 0, u64::MAX)?,
            "--matches" => options.matches = number(&flag, &value()?, 1, 100_000)?,
            "--seats" => options.seats = number(&flag, &value()?, 2, 8)? as u8,
            "--threads" => options.threads = number(&flag, &value()?, 1, 64)? as usize,
            "--map" => options.map_seed = Some(number(&flag, &value()?, 0, u64::MAX)?),
            "--size" => options.size = Some(number(&flag, &value()?, 48, 256)? as u16),
            "--levels" => options.pairs = pairs(&value()?)?,
            _ => return Err(format!("unknown: {flag}")),
        }
    }
    Ok(Some(options))
}

fn number(flag: &str, text: &str, least: u64, most: u64) -> Result<u64, String> {
    text.parse()
        .ok()
        .filter(|number| (least..=most).contains(number))
        .ok_or(format!(
            "{flag} wants a number, {least} to {most}, not {text}"
        ))
}

fn pairs(text: &str) -> Result<Vec<[Level; 2]>, String> {
    let level = |name: &str| name.parse::<Level>().map_err(|error| error.to_string());
    text.split(',')
        .map(|pair| {
            let (a, b) = pair.split_once(':').ok_or(format!("{pair} is no pair"))?;
            Ok([level(a)?, level(b)?])
        })
        .collect()
}

pub const HELP: &str = "\
matches [FLAGS]
  --levels A:B[,A:B]  pairings; usual: hard:normal,normal:easy
  --first N           first seed; usual: 1
  --matches N         seeds of each pairing; usual: 100
  --seats N           2 to 8; the two levels take turns around the map, and swap with every seed
  --map N             one map for all seeds
  --size N            tiles along an edge of the map, 48 to 256
  --threads N         usual: as many as there are cores
  --each              a line for every match";
