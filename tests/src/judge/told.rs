//! What a game is told follows from the log: texts, plans, pauses and rosters, each once and in order.

use super::*;

/// A suspect is named so often in a while at most: a reason may go and come again.
const SUSPECTED: u32 = 3;
const A_WHILE: Duration = Duration::from_secs(1);

/// What was told or is due, as text; each kind keeps its order.
pub(super) type Told = (u8, String);

impl Judge {
    /// A session told the game something that follows from the log, or that a stall is over.
    pub(super) fn check_news(&mut self, peer: usize, event: &Event) {
        let (now, file) = (self.now, &mut self.peers[peer]);
        let told = match event {
            Event::Chat { seat, text, .. } if seat.is_some() => (0, said(*seat, text)),
            Event::PlanChanged { turn, plan, .. } => (1, format!("{turn:?} {plan:?}")),
            Event::Paused { turn, .. } => (2, format!("paused in {turn:?}")),
            Event::Resumed { turn, .. } => (2, format!("resumed in {turn:?}")),
            Event::RosterChanged { turn, epoch, .. } => (3, format!("{turn:?} {epoch}")),
            Event::StallEnded { .. } => {
                let began = !file.stall.0.is_empty();
                return self.must(peer, Progress, event)(began, "a stall ends that was not told");
            }
            Event::Suspected { peer: suspect, .. } => {
                let of = file.suspected.entry(*suspect).or_default();
                *of = match now < of.0 + A_WHILE {
                    true => (of.0, of.1 + 1),
                    false => (now, 1),
                };
                let few = of.1 <= SUSPECTED;
                return self.must(peer, Bounded, event)(few, "names a suspect again and again");
            }
            _ => return,
        };
        let once = file.told.insert(told.clone(), now).is_none();
        let may_again = told.0 == 2 || file.has_retracted;
        self.must(peer, Bounded, event)(once || may_again, "tells it twice");
    }

    /// The first run of a peer that has taken no turns back was told all that the turns say which it handed out.
    pub(super) fn check_told(&self) {
        for peer in self.scenario.honest() {
            let file = &self.peers[peer];
            let (mut due, last) = (Vec::<Told>::new(), file.handed.last());
            let Some((last, ..)) = last.filter(|_| file.notes.run == 0 && !file.has_retracted)
            else {
                continue;
            };
            let turns = &file.log.turns[..=*last as usize];
            for pair in turns.windows(2) {
                let (before, turn) = (&pair[0], &pair[1]);
                if turn.plan != before.plan {
                    due.push((1, format!("{:?} {:?}", turn.turn, turn.plan)));
                }
                let what = ["resumed", "paused"][usize::from(turn.paused)];
                if turn.paused != before.paused {
                    due.push((2, format!("{what} in {:?}", before.turn)));
                }
            }
            for entry in turns.iter().flat_map(|turn| &turn.entries) {
                if let What::Chat(text) = &entry.what {
                    due.push((0, said(Some(entry.seat), text)));
                }
            }
            for (epoch, (begins, _)) in file.log.epochs.iter().enumerate().skip(1) {
                if begins <= last {
                    due.push((3, format!("{:?} {epoch}", lockstep::TurnNumber(*begins))));
                }
            }
            let mut before = [Duration::ZERO; 4];
            for (kind, text) in due {
                let at = file.told.get(&(kind, text.clone()));
                let in_order = at.is_some_and(|at| *at >= before[usize::from(kind)]);
                self.must(peer, Agreement, (kind, &text))(in_order, "is not told of it in order");
                before[usize::from(kind)] = at.copied().unwrap_or_default();
            }
        }
    }
}

fn said(seat: Option<Seat>, text: &str) -> String {
    format!("{seat:?} {text}")
}
