//! A match in the window: a person plays, or watches bots play.

pub mod camera;
pub mod effects;
pub mod hand;
pub mod land;
pub mod motion;
pub mod scene;
pub mod shapes;

use super::canvas::{Canvas, Rect};
use super::input::{Input, KeyCode};
use super::letters::Weight;
use super::settings::Shared;
use super::{Next, Screen, theme, words};
use crate::exit::{self, Problem};
use crate::facts::Facts;
use crate::output::{EndLine, Line};
use crate::peer::Peer;
use crate::plain;
use crate::terminal::controls::look_at_first;
use crate::world::{Effect, World};
use camera::{Camera, place_of};
use hand::{Hand, Sight, Wish};
use land::Eye;
use lockstep::{Ended, Event, Seat};
use scene::{Overlay, Scene};
use std::cell::RefCell;
use std::process::ExitCode;
use std::rc::Rc;
use std::time::Duration;

/// What is told after the window has closed.
#[derive(Debug, Default)]
pub struct Farewell {
    lines: Vec<String>,
    code: Option<u8>,
}

impl Farewell {
    /// Prints it.
    ///
    /// # Errors
    /// [`Problem::Terminal`].
    pub fn say(&self) -> Result<ExitCode, Problem> {
        for line in &self.lines {
            plain::print(line).map_err(Problem::Terminal)?;
        }
        Ok(ExitCode::from(self.code.unwrap_or(exit::GOOD)))
    }
}

/// A match that is played or watched.
pub struct Game {
    peer: Peer,
    facts: Facts,
    settings: Shared,
    farewell: Rc<RefCell<Farewell>>,
    scene: Option<Scene>,
    camera: Option<Camera>,
    hand: Option<Hand>,
    /// Seats are given: before, nobody knows whose eyes to look with.
    started: bool,
    ended: Option<Ended>,
    /// What is said above the panels, and until when.
    flash: Option<(String, Duration)>,
    closing_since: Option<Duration>,
    now: Duration,
}

impl Game {
    /// Of this peer; `notes` stand at the beginning of the log.
    pub fn new(
        peer: Peer,
        title: &str,
        notes: &[String],
        settings: Shared,
        farewell: Rc<RefCell<Farewell>>,
    ) -> Game {
        let mut facts = Facts::new(title);
        notes.iter().for_each(|note| facts.note(note));
        Game {
            peer,
            facts,
            settings,
            farewell,
            scene: None,
            camera: None,
            hand: None,
            started: false,
            ended: None,
            flash: None,
            closing_since: None,
            now: Duration::ZERO,
        }
    }

    /// Steps the world and takes in what happened.
    fn follow(&mut self) {
        let person = self.peer.person();
        let mut refused = None;
        let scene = &mut self.scene;
        let events = self.peer.poll(|world, effects| {
            for effect in effects {
                if let Effect::Refused { seat, reason } = effect
                    && Some(*seat) == person
                {
                    refused = Some(*reason);
                }
            }
            if let Some(scene) = scene {
                scene.step(world, effects);
            }
        });
        for event in &events {
            self.facts.take(event);
            match event {
                Event::Started { own, .. } => {
                    self.started = true;
                    self.name_bots(own);
                }
                Event::Ended(ended) => self.end(ended),
                _ => {}
            }
        }
        if let Some(reason) = refused {
            self.say(words::refusal(reason));
        }
        self.facts.status = Some(self.peer.game().status());
        self.settle();
    }

    /// Sits down at the match, as soon as there is a world.
    fn settle(&mut self) {
        let person = self.peer.person();
        let Some(world) = self.peer.world().filter(|_| self.started) else {
            return;
        };
        if self.scene.is_none() {
            let eye = person.map_or(Eye::All, Eye::Seat);
            let mut scene = Scene::new(eye);
            scene.restart(world);
            self.scene = Some(scene);
            let first = world.seats().next().map_or(Seat(0), |seat| seat.seat);
            let home = look_at_first(person.unwrap_or(first), world);
            self.camera = Some(Camera::new(place_of(home.centre()), world.map().size()));
            self.hand = person.map(Hand::new);
        }
        let eye = self.scene.as_ref().map_or(Eye::All, Scene::eye);
        if let Some(hand) = &mut self.hand {
            hand.forget(world, eye);
        }
    }

    /// A peer has one name; its bots shall not carry that of the person.
    fn name_bots(&mut self, own: &[Seat]) {
        if own.len() < 2 {
            return;
        }
        let person = self.peer.person();
        for seat in own {
            let name = match Some(*seat) == person {
                true => words::YOU.to_owned(),
                false => words::bot(*seat),
            };
            self.facts.names.insert(*seat, name);
        }
    }

    fn end(&mut self, ended: &Ended) {
        self.ended = Some(ended.clone());
        let summary = self.peer.summary();
        let end = Line::End(EndLine::new(ended, &summary));
        let mut farewell = self.farewell.borrow_mut();
        farewell.code = Some(exit::of_end(&ended.reason));
        farewell.lines = vec![plain::text(&end).unwrap_or_default()];
        let way_back = self.peer.way_back(&ended.reason);
        let lines = &mut farewell.lines;
        lines.extend(way_back.map(|command| format!("  come back with: {command}")));
        let replay = summary.replay;
        lines.extend(replay.map(|path| format!("  watch it: demo-rts watch {}", path.display())));
    }

    fn say(&mut self, text: String) {
        self.flash = Some((text, self.now + FLASH));
    }

    fn wish(&mut self, wish: Wish) {
        match wish {
            Wish::Say(text) => self.say(text),
            Wish::Look(at) => {
                if let Some(camera) = &mut self.camera {
                    camera.centre = at;
                }
            }
            Wish::Issue(order) => {
                if let Err(why) = self.peer.issue(order.command) {
                    self.say(words::title_of(&why.to_string()));
                    return;
                }
                if let (Some(scene), Some(to)) = (&mut self.scene, order.to) {
                    scene.effects.mark(order.sign, to);
                    scene.motion.face(&order.who, to);
                }
            }
        }
    }

    fn play(&mut self, input: &Input, canvas: &mut Canvas) {
        let alpha = self.peer.game().alpha();
        let settings = self.settings.borrow().clone();
        let view = canvas.whole();
        let scale = canvas.scale();
        let (Some(world), Some(scene), Some(camera)) =
            (self.peer.world(), &mut self.scene, &mut self.camera)
        else {
            return;
        };
        camera.fit(view, scale);
        camera.steer(input, &settings, false, true);
        scene.pass(input.seconds);
        let mut wishes = Vec::new();
        if let Some(hand) = &mut self.hand {
            let sight = Sight {
                world,
                scene,
                camera,
                alpha,
            };
            wishes = hand.mouse(input, sight, false);
            if input.hit(KeyCode::Escape) {
                hand.select(Vec::new());
            }
        }
        let under = input.mouse.and_then(|at| scene.at(at, camera, alpha));
        let overlay = Overlay {
            selected: self.hand.as_ref().map_or(&[], Hand::selection),
            under,
            alpha,
            all_bars: input.with.alt,
        };
        scene.draw(world, camera, &overlay, canvas);
        if let Some(hand) = &self.hand
            && let Some(area) = hand.drawn_box(camera, input)
        {
            canvas.rect(area, theme::alpha(theme::GOOD, 0.12));
            canvas.frame(area, scale.max(1.0), theme::GOOD);
        }
        for wish in wishes {
            self.wish(wish);
        }
    }

    fn draw_store(&self, world: &World, canvas: &mut Canvas) {
        let Some(seat) = self.hand.as_ref().and_then(|hand| world.seat(hand.seat())) else {
            return;
        };
        let size = canvas.units(theme::BODY);
        let text = format!(
            "{} {}   {} {}   {}/{}   {}",
            seat.gold,
            words::GOLD,
            seat.wood,
            words::WOOD,
            seat.population,
            seat.population_limit,
            self.facts.clock()
        );
        let wide = canvas.measure(&text, size, Weight::Bold);
        let gap = canvas.units(8.0);
        let area = Rect::new(0.0, 0.0, wide + 2.0 * gap, canvas.line_height(size) + gap);
        canvas.shade(area, theme::PANEL_TOP, theme::PANEL);
        canvas.text((gap, gap / 2.0), &text, size, Weight::Bold, theme::TEXT);
    }
}

impl Screen for Game {
    fn frame(&mut self, input: &Input, canvas: &mut Canvas) -> Next {
        self.now = input.now;
        if input.closing && self.closing_since.is_none() {
            self.peer.leave();
            self.closing_since = Some(input.now);
        }
        self.follow();
        self.play(input, canvas);
        if let Some(world) = self.peer.world() {
            self.draw_store(world, canvas);
        }
        let now = self.now;
        if let Some((text, _)) = self.flash.as_ref().filter(|(_, until)| now < *until) {
            let size = canvas.units(theme::HEADING);
            let wide = canvas.measure(text, size, Weight::Bold);
            let (width, height) = canvas.size();
            let at = ((width - wide) / 2.0, height * 0.72);
            canvas.text(at, text, size, Weight::Bold, theme::ACCENT);
        }
        Next::Stay
    }

    fn may_close(&mut self) -> bool {
        let waited = self
            .closing_since
            .map(|since| self.now.saturating_sub(since));
        self.ended.is_some() || waited.is_some_and(|waited| waited > LEAVING)
    }
}

/// How long something said stays.
const FLASH: Duration = Duration::from_secs(3);
/// How long leaving may take.
const LEAVING: Duration = Duration::from_secs(3);
