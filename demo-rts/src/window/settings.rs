//! The user's settings, kept from run to run.

use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The user's settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// The user's name; empty for that of the operating system.
    pub name: String,
    /// Scale of the interface: [`ZOOMS`].
    pub zoom: f32,
    /// The palette of seats.
    pub colours: Colours,
    /// 0 to 1.
    pub volume: f32,
    /// Mutes all sounds; the volume is kept.
    pub muted: bool,
    /// Whether the map scrolls when the mouse touches the window's edge.
    pub edge_scroll: bool,
    /// Maximum frames per second, 5 to 1,000; the display may impose fewer.
    pub most_frames: u32,
    /// Scroll speed in tiles per second at the default zoom: [`SCROLL_SPEEDS`].
    pub scroll_speed: f32,
    /// Whether the window fills the display.
    pub full_screen: bool,
    /// Whether to announce and find matches on the local network.
    pub local_network: bool,
}

/// The palette of seats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Colours {
    /// Distinct under every kind of colour vision.
    #[default]
    Safe,
    /// Stronger, for full colour vision.
    Vivid,
}

/// Range of [`Settings::zoom`].
pub const ZOOMS: (f32, f32) = (0.75, 1.4);
/// Range of [`Settings::scroll_speed`].
pub const SCROLL_SPEEDS: (f32, f32) = (8.0, 60.0);
/// Longest name, in bytes, that the network takes.
pub const NAME_BYTES: usize = 32;

impl Default for Settings {
    fn default() -> Self {
        Settings {
            name: String::new(),
            zoom: 1.0,
            colours: Colours::default(),
            volume: 0.7,
            muted: false,
            edge_scroll: true,
            most_frames: 144,
            scroll_speed: 26.0,
            full_screen: false,
            local_network: true,
        }
    }
}

impl Settings {
    /// Clamps every number: the file may hold anything.
    fn in_range(mut self) -> Settings {
        let usual = Settings::default();
        let within = |value: f32, (least, most): (f32, f32), usual: f32| match value.is_finite() {
            true => value.clamp(least, most),
            false => usual,
        };
        self.zoom = within(self.zoom, ZOOMS, usual.zoom);
        self.most_frames = self.most_frames.clamp(5, 1_000);
        self.volume = within(self.volume, (0.0, 1.0), usual.volume);
        self.scroll_speed = within(self.scroll_speed, SCROLL_SPEEDS, usual.scroll_speed);
        let mut end = self.name.len().min(NAME_BYTES);
        while !self.name.is_char_boundary(end) {
            end -= 1;
        }
        self.name.truncate(end);
        self.name.retain(lockstep::is_shown);
        self
    }

    /// The effective volume, from 0 to 1.
    pub fn effective_volume(&self) -> f32 {
        match self.muted {
            true => 0.0,
            // Loudness is perceived in steps: the middle of the slider must sound half as loud.
            false => self.volume * self.volume,
        }
    }

    /// Reads settings from a file. A missing file gives the defaults.
    ///
    /// # Errors
    /// The error of the disk; [`io::ErrorKind::InvalidData`] for a file without settings.
    pub fn read(path: &Path) -> io::Result<Settings> {
        let file = match fs::File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(error),
        };
        let mut text = String::new();
        file.take(MOST_BYTES).read_to_string(&mut text)?;
        let settings: Settings = serde_json::from_str(&text).map_err(io::Error::from)?;
        Ok(settings.in_range())
    }

    /// Writes what differs from `before` to a file. All else stays as another window may have written it meanwhile.
    ///
    /// # Errors
    /// The error of the disk.
    pub fn write_changes(&self, before: &Settings, path: &Path) -> io::Result<()> {
        if self == before {
            return Ok(());
        }
        let file = Self::read(path).unwrap_or_else(|_| before.clone());
        let fields = |settings: &Settings| serde_json::to_value(settings).map_err(io::Error::from);
        let (new, before, mut merged) = (fields(self)?, fields(before)?, fields(&file)?);
        for (name, value) in new.as_object().into_iter().flatten() {
            if before[name] != *value {
                merged[name] = value.clone();
            }
        }
        let merged: Settings = serde_json::from_value(merged).map_err(io::Error::from)?;
        merged.write(path)
    }

    /// Writes settings to a file atomically. A file without settings is kept under another name.
    ///
    /// # Errors
    /// The error of the disk.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        // An unreadable file may be of value to the user.
        if Self::read(path).is_err() {
            fs::rename(path, with(path, ".unread"))?;
        }
        let text = serde_json::to_string_pretty(self).map_err(io::Error::from)?;
        let new = with(path, ".new");
        fs::write(&new, text + "\n")?;
        fs::rename(&new, path)
    }
}

fn with(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// Settings shared by several screens.
pub type Shared = Rc<RefCell<Settings>>;

const MOST_BYTES: u64 = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_round_trip_and_default_without_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/settings.json");
        assert_eq!(Settings::read(&path).unwrap(), Settings::default());
        let settings = Settings {
            name: "Ada".to_owned(),
            colours: Colours::Vivid,
            zoom: 1.25,
            full_screen: true,
            ..Settings::default()
        };
        settings.write(&path).unwrap();
        assert_eq!(Settings::read(&path).unwrap(), settings);
    }

    #[test]
    fn muting_silences_and_keeps_the_volume() {
        let mut settings = Settings::default();
        assert!(settings.effective_volume() > 0.0);
        settings.muted = true;
        assert_eq!((settings.effective_volume(), settings.volume), (0.0, 0.7));
    }

    #[test]
    fn numbers_are_clamped_and_unknown_fields_skipped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings.json");
        let name = "é".repeat(40);
        let text = format!(r#"{{"zoom": 1e9, "volume": -3, "name": "{name}", "later": 7}}"#);
        fs::write(&path, text).unwrap();
        let settings = Settings::read(&path).unwrap();
        assert_eq!((settings.zoom, settings.volume), (ZOOMS.1, 0.0));
        assert_eq!(settings.name, "é".repeat(16));
    }

    #[test]
    fn a_foreign_settings_file_is_an_error_and_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings.json");
        for nonsense in ["{\"zoom\": ", "nonsense", ""] {
            fs::write(&path, nonsense).unwrap();
            assert!(Settings::read(&path).is_err(), "{nonsense}");
            Settings::default().write(&path).unwrap();
            assert_eq!(Settings::read(&path).unwrap(), Settings::default());
            let kept = fs::read_to_string(with(&path, ".unread")).unwrap();
            assert_eq!(kept, nonsense);
        }
    }

    #[test]
    fn an_unwritable_settings_file_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(
            Settings::default()
                .write(&file.join("settings.json"))
                .is_err()
        );
    }
}
