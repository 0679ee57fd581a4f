//! What the pages of the menu share: settings, places, the local network, and beginning matches.

use super::preview::{Preview, Wanted};
use crate::cli::Common;
use crate::exit::Problem;
use crate::pacing::any_seed;
use crate::peer::{Bots, KeyChoice, Launch, Part, Peer, user_name};
use crate::window::canvas::{Canvas, Rect};
use crate::window::game::{ExitReport, Game};
use crate::window::input::Input;
use crate::window::lan::{Announcement, Lan};
use crate::window::letters::Weight;
use crate::window::places::{Named, Places};
use crate::window::settings::{Settings, Shared};
use crate::window::ui::Ui;
use crate::window::viewer::{MatchContext, Opened, Viewer};
use crate::window::words::menu as words;
use crate::window::{Screen, theme};
use crate::world::MapKind;
use chrono::{DateTime, TimeZone};
use lockstep::Contact;
use std::cell::{Cell, RefCell};
use std::fmt::Display;
use std::rc::Rc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub struct Front {
    pub settings: Shared,
    /// What the program prints after the window has closed.
    pub exit_report: Rc<RefCell<ExitReport>>,
    pub places: Places,
    /// The options of the command line.
    pub common: Common,
    /// A command began the match: no menu is below its screens.
    pub by_command: Cell<bool>,
    network: RefCell<Network>,
    preview: RefCell<Preview>,
    ground: RefCell<Preview>,
    ground_seed: u64,
    kept: RefCell<Settings>,
    notes: RefCell<Vec<String>>,
}

enum Network {
    Off,
    On(Box<Lan>),
    Refused(String),
}

impl Network {
    /// Announcements of other peers, for new players or for those of a match.
    fn announced(&self, open: bool) -> impl Iterator<Item = &Announcement> {
        let lan = match self {
            Network::On(lan) => Some(lan),
            Network::Off | Network::Refused(_) => None,
        };
        let all = lan.into_iter().flat_map(|lan| lan.matches());
        all.filter(move |announcement| announcement.is_open == open)
    }
}

/// A match that has begun.
pub struct Begun {
    pub peer: Peer,
    /// Lines for the user.
    pub notes: Vec<String>,
}

impl Front {
    pub fn of_user(common: &Common) -> Front {
        Front::at(Places::of_user(), common)
    }

    pub fn at(places: Places, common: &Common) -> Front {
        let mut notes = Vec::new();
        let read = match places.settings() {
            Some(path) => Settings::read(&path),
            None => Ok(Settings::default()),
        };
        let mut settings = read.unwrap_or_else(|why| {
            notes.push(words::settings_unread(&why.to_string()));
            Settings::default()
        });
        if settings.name.is_empty() {
            settings.name = user_name();
        }
        if let Some(name) = &common.name {
            settings.name.clone_from(name);
        }
        // A name of the command line, or of the operating system, is for this run alone.
        let kept = settings.clone();
        Front {
            settings: Rc::new(RefCell::new(settings)),
            exit_report: Rc::default(),
            places,
            common: common.clone(),
            by_command: Cell::new(false),
            network: RefCell::new(Network::Off),
            preview: RefCell::default(),
            ground: RefCell::default(),
            ground_seed: any_seed(),
            kept: RefCell::new(kept),
            notes: RefCell::new(notes),
        }
    }

    /// Checks that matches can be recorded, and notes why if not.
    pub fn try_recording(&self) {
        if self.common.record.is_none()
            && let Err(why) = self.places.try_replays()
        {
            self.notes.borrow_mut().push(words::unrecorded(&why));
        }
    }

    /// Lines for the first page.
    pub fn notes(&self) -> Vec<String> {
        self.notes.borrow().clone()
    }

    /// Saves the settings that differ from the saved ones.
    pub fn keep_settings(&self) {
        let settings = self.settings.borrow().clone();
        let kept = self.kept.replace(settings.clone());
        if kept == settings {
            return;
        }
        let written = match self.places.settings() {
            Some(path) => settings
                .write_changes(&kept, &path)
                .map_err(|why| why.to_string()),
            None => Err(words::NO_FOLDER.to_owned()),
        };
        if let Err(why) = written {
            let note = words::not_kept(&why);
            let mut notes = self.notes.borrow_mut();
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }

    /// The user's name.
    pub fn name(&self) -> String {
        let name = self.settings.borrow().name.trim().to_owned();
        match name.is_empty() {
            true => user_name(),
            false => name,
        }
    }

    /// The map behind every page.
    pub fn draw_ground(&self, input: &Input, canvas: &mut Canvas) {
        let place = (self.ground_seed % MapKind::ALL.len() as u64) as usize;
        let wanted = Wanted::new(MapKind::ALL[place], self.ground_seed, 4);
        let whole = canvas.whole();
        let slow = input.now.as_secs_f32() / GROUND_SECONDS;
        let at = 0.5 + 0.5 * (slow * std::f32::consts::TAU).sin();
        self.ground.borrow_mut().fill(&wanted, whole, at, canvas);
        let (above, below) = ([14, 18, 24, 130], [14, 18, 24, 200]);
        canvas.shade(whole, above, below);
    }

    /// Draws a map into a square, or a text until it is drawn.
    pub fn draw_map(&self, wanted: &Wanted, area: Rect, ui: &mut Ui<'_>) {
        let edge = ui.units(1.0).max(1.0);
        ui.canvas.rect(area, theme::FIELD);
        let there = self.preview.borrow_mut().show(wanted, area, ui.canvas);
        if !there {
            ui.centred(
                area,
                words::DRAWING,
                theme::BODY,
                Weight::Regular,
                theme::FAINT,
            );
        }
        ui.canvas.frame(area, edge, theme::EDGE);
    }

    /// Listens to the local network if the user wants that, and handles announcements.
    pub fn listen(&self) {
        let wanted = self.settings.borrow().local_network;
        let mut network = self.network.borrow_mut();
        match (&mut *network, wanted) {
            (Network::Off, true) => {
                *network = match Lan::open() {
                    Ok(lan) => Network::On(Box::new(lan)),
                    Err(why) => Network::Refused(why),
                };
            }
            (Network::On(lan), true) => lan.poll(),
            (_, false) => *network = Network::Off,
            (Network::Refused(_), true) => {}
        }
    }

    /// Leaves the local network until the next [`listen`](Self::listen).
    pub fn stop_listening(&self) {
        *self.network.borrow_mut() = Network::Off;
    }

    /// Announces a match, if the user wants that.
    pub fn announce(&self, announcement: &Announcement) {
        if let Network::On(lan) = &mut *self.network.borrow_mut() {
            lan.announce(announcement);
        }
    }

    pub fn withdraw(&self) {
        if let Network::On(lan) = &mut *self.network.borrow_mut() {
            lan.withdraw();
        }
    }

    /// Matches found on the local network that new players may join.
    pub fn found(&self) -> Vec<Announcement> {
        self.network.borrow().announced(true).cloned().collect()
    }

    /// Players found on the local network that reopen a match, or play a branch.
    pub fn players_found(&self) -> Vec<Contact> {
        let network = self.network.borrow();
        let found = network.announced(false);
        found.map(Announcement::contact).collect()
    }

    /// Lines about the local network.
    pub fn network_news(&self) -> Vec<String> {
        match &*self.network.borrow() {
            Network::Off => vec![words::NETWORK_OFF.to_owned()],
            Network::Refused(why) => vec![words::network_trouble(why)],
            Network::On(lan) => {
                let mut news = Vec::new();
                let none = !lan.matches().any(|found| found.is_open);
                match lan.trouble().filter(|_| none) {
                    Some(why) => news.push(words::network_trouble(why)),
                    None if none => news.push(words::NONE_FOUND.to_owned()),
                    None => {}
                }
                match lan.unreadable() {
                    0 => {}
                    many => news.push(words::ignored_announcements(many)),
                }
                news
            }
        }
    }

    /// Begins a match. `common` are the options of the command line, as changed by the page.
    ///
    /// # Errors
    /// The cause, as text.
    pub fn begin(
        &self,
        part: &Part<'_>,
        bots: Bots,
        mut common: Common,
        ready: bool,
    ) -> Result<Begun, String> {
        common.name = Some(self.name());
        let mut notes = Vec::new();
        match self.try_begin(part, bots, &common, ready, KeyChoice::Kept, &mut notes) {
            Ok(peer) => Ok(Begun { peer, notes }),
            // Without a saved key a player can play a new match, but not come back to one.
            Err(Problem::Identity(why)) if part.from().is_none() => {
                notes.clear();
                notes.push(words::no_identity(&why.to_string()));
                let key = KeyChoice::Ephemeral;
                let peer = self.try_begin(part, bots, &common, ready, key, &mut notes);
                peer.map(|peer| Begun { peer, notes })
                    .map_err(|why| sentence(&why.to_string()))
            }
            Err(why) => Err(sentence(&why.to_string())),
        }
    }

    fn try_begin(
        &self,
        part: &Part<'_>,
        bots: Bots,
        common: &Common,
        ready: bool,
        key: KeyChoice,
        notes: &mut Vec<String>,
    ) -> Result<Peer, Problem> {
        let mut recording = None;
        if common.record.is_none() {
            match self.places.try_replays() {
                Ok(folder) => {
                    let named = Named::new(folder, date(now_unix()));
                    let path = named.path();
                    let store: Box<dyn lockstep::log::LogStore> = Box::new(named);
                    recording = Some((store, path));
                }
                Err(why) => notes.push(words::unrecorded(&why)),
            }
        }
        let launch = Launch {
            ready,
            recording,
            takes_askers: true,
        };
        Peer::begin(part, bots, common, key, launch)
    }

    /// Bots of this level on the other seats, if there are others.
    pub fn bots(&self, level: crate::bot::Level, others: bool) -> Bots {
        match (self.common.bot, others) {
            (Some(first), _) => Bots::FirstAndOthers(first, level),
            (None, true) => Bots::AllButFirst(level),
            (None, false) => Bots::None,
        }
    }

    /// The screen of a match that has begun; the menu is below it.
    pub fn game(self: &Rc<Front>, title: &str, peer: Peer, notes: &[String]) -> Box<dyn Screen> {
        self.stop_listening();
        let (settings, exit_report) = (self.settings.clone(), self.exit_report.clone());
        let game = Game::new(peer, title, notes, settings, exit_report);
        Box::new(game.with_front(self.clone()))
    }

    /// The screen of a replay.
    pub fn viewer(&self, opened: Opened) -> Box<dyn Screen> {
        let viewer = Viewer::new(opened, self.settings.clone());
        let viewer = viewer.with(MatchContext {
            places: self.places.clone(),
            common: self.common.clone(),
            exit_report: self.exit_report.clone(),
        });
        self.stop_listening();
        Box::new(viewer)
    }
}

/// With a capital letter and a full stop.
pub fn sentence(text: &str) -> String {
    let mut text = crate::window::words::title_of(text.trim());
    if !text.ends_with(['.', '!', '?']) {
        text.push('.');
    }
    text
}

/// Since 1970.
pub fn now_unix() -> Duration {
    #[expect(
        clippy::disallowed_methods,
        reason = "the edge of the program: file names carry the date"
    )]
    let now = SystemTime::now();
    now.duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// `2026-11-21 21.40`, in local time.
pub fn date(since_1970: Duration) -> String {
    date_in(since_1970, &chrono::Local)
}

fn date_in<Zone: TimeZone>(since_1970: Duration, zone: &Zone) -> String
where
    Zone::Offset: Display,
{
    let seconds = i64::try_from(since_1970.as_secs()).unwrap_or_default();
    // A year beyond the range of chrono shows as 1970.
    let universal = DateTime::from_timestamp(seconds, 0).unwrap_or_default();
    let here = universal.with_timezone(zone);
    here.format("%Y-%m-%d %H.%M").to_string()
}

/// Seconds that the map behind the pages takes to move there and back.
const GROUND_SECONDS: f32 = 180.0;

/// A random map number, short enough to say aloud.
pub fn any_map() -> u64 {
    any_seed() % 1_000_000
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::{FixedOffset, Utc};

    #[test]
    fn dates_follow_the_time_zone() {
        let east = FixedOffset::east_opt(5 * 3_600 + 1_800).expect("an hour of a day");
        let on = |seconds| date_in(Duration::from_secs(seconds), &Utc);
        let there = |seconds| date_in(Duration::from_secs(seconds), &east);
        assert_eq!(on(0), "1970-01-01 00.00");
        assert_eq!(on(951_782_399), "2000-02-28 23.59");
        assert_eq!(on(951_782_400), "2000-02-29 00.00");
        assert_eq!(on(1_795_297_200), "2026-11-21 21.40");
        assert_eq!(there(1_795_297_200), "2026-11-22 03.10");
        assert_eq!(on(u64::MAX), "1970-01-01 00.00");
    }
}
