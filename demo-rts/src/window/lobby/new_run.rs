//! The screen between two runs of a peer after quorum loss. The screen of the earlier run is gone by its first frame.

use super::draw::notice;
use super::{Kind, Lobby, Pressed};
use crate::exit::Problem;
use crate::peer::{NewRun, Way};
use crate::window::canvas::Canvas;
use crate::window::input::{Input, KeyCode};
use crate::window::menu::{self, Begun, Front};
use crate::window::ui::{Memory, Ui};
use crate::window::words::menu as words;
use crate::window::{Next, Screen};
use std::rc::Rc;

pub struct Between {
    front: Rc<Front>,
    run: Option<NewRun>,
    /// Why the run did not begin.
    problem: String,
    memory: Memory,
}

impl Between {
    pub fn new(front: Rc<Front>, run: NewRun) -> Between {
        Between {
            front,
            run: Some(run),
            problem: String::new(),
            memory: Memory::default(),
        }
    }

    fn begin(&self, run: NewRun) -> Result<Box<dyn Screen>, Problem> {
        let front = self.front.clone();
        let (way, path) = (run.way(), run.path().to_owned());
        let note = match run.accepts_other_history() {
            true => words::BY_THEIR_HISTORY,
            false => words::going_on(way),
        };
        let notes = vec![note.to_owned()];
        let peer = run.begin()?;
        let kind = match way {
            Way::Alone => return Ok(front.game(words::ALONE, peer, &notes)),
            Way::Reopen => Kind::reopen_of(&path),
            Way::Rejoin | Way::Enter(_) => Kind::Rejoin { old: Some(path) },
        };
        let begun = Begun { peer, notes };
        Ok(Box::new(match front.by_command.get() {
            true => Lobby::of_command(front, begun, kind),
            false => Lobby::new(front, begun, kind),
        }))
    }
}

impl Screen for Between {
    fn frame(&mut self, input: &Input, canvas: &mut Canvas) -> Next {
        if let Some(run) = self.run.take() {
            match self.begin(run) {
                Ok(screen) => return Next::Replace(screen),
                Err(why) => {
                    self.problem = menu::sentence(&why.to_string());
                    self.front.exit_report.borrow_mut().fail(why);
                }
            }
        }
        self.front.draw_ground(input, canvas);
        let label = match self.front.by_command.get() {
            true => crate::window::words::CLOSE,
            false => words::BACK,
        };
        let mut ui = Ui::new(canvas, input, &mut self.memory);
        let back = (label, Pressed::Leave);
        let pressed = notice(&mut ui, words::NOT_GOING_ON, &self.problem, &[back]);
        ui.finish();
        match pressed.is_some() || input.hit(KeyCode::Escape) {
            true => Next::Back,
            false => Next::Stay,
        }
    }
}
