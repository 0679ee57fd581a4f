//! What the user wants of the window, kept from run to run.

use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Settings that all screens share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// What the user is called; empty: as the system calls them.
    pub name: String,
    /// How much larger than usual everything is: [`ZOOMS`].
    pub zoom: f32,
    /// Which colours seats have.
    pub colours: Colours,
    /// How loud sounds are: 0 to 1.
    pub volume: f32,
    /// Whether nothing is heard, however loud it would be.
    pub muted: bool,
    /// Whether the map scrolls where the mouse touches the window's edge.
    pub edge_scroll: bool,
    /// Frames a second at most; the display may ask for fewer. 5 to 1,000.
    pub most_frames: u32,
    /// Tiles a second that keys and edges scroll at the usual zoom: [`SCROLL_SPEEDS`].
    pub scroll_speed: f32,
    /// Whether the window fills the display.
    pub full_screen: bool,
    /// Whether matches are announced to the local network, and looked for there.
    pub local_network: bool,
}

/// Which colours seats have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Colours {
    /// Told apart with every kind of colour vision.
    #[default]
    Safe,
    /// Stronger, for eyes that see all colours.
    Vivid,
}

/// The least and the most that [`Settings::zoom`] may be.
pub const ZOOMS: (f32, f32) = (0.75, 1.4);
/// The least and the most that [`Settings::scroll_speed`] may be.
pub const SCROLL_SPEEDS: (f32, f32) = (8.0, 60.0);
/// The most bytes of a name, as the network takes it.
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
    /// With every number in its range: the file may say anything.
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

    /// How loud sounds are heard: 0 to 1.
    pub fn heard(&self) -> f32 {
        match self.muted {
            true => 0.0,
            // The ear counts in steps: halfway along the slider is half as loud to it.
            false => self.volume * self.volume,
        }
    }

    /// Reads them from a file. Where there is none they are the usual ones.
    ///
    /// # Errors
    /// The disk's; [`io::ErrorKind::InvalidData`] where the file holds no settings.
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

    /// Writes them to a file, whole or not at all. What is there and holds no settings is kept under another name.
    ///
    /// # Errors
    /// The disk's.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        // What cannot be read may be somebody's work: it is put aside, not lost.
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

/// Settings in the hands of several screens.
pub type Shared = Rc<RefCell<Settings>>;

const MOST_BYTES: u64 = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again_and_a_missing_file_means_the_usual_ones() {
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
    fn what_is_muted_is_not_heard_and_keeps_its_volume() {
        let mut settings = Settings::default();
        assert!(settings.heard() > 0.0);
        settings.muted = true;
        assert_eq!((settings.heard(), settings.volume), (0.0, 0.7));
    }

    #[test]
    fn numbers_out_of_range_are_brought_into_it_and_unknown_words_are_skipped() {
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
    fn a_file_of_another_kind_is_told_and_kept() {
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
    fn where_nothing_can_be_written_that_is_an_error() {
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
