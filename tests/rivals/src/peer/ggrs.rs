//! ggrs as its guide has it: its lockstep, or its rollback behind a game that advances on confirmed frames alone.

use super::cadence::{Cadence, Slots};
use super::player::World;
use super::{Order, SILENCE, Session, Shared, WINDOW, lock, meet, on_free_port};
use crate::contestant::{Contestant, Kind};
use ggrs::{
    DesyncDetection, GgrsError, GgrsEvent, GgrsRequest, InputStatus, P2PSession, PlayerType,
    PredictDefault, SessionBuilder, SessionState, UdpNonBlockingSocket,
};
use std::net::SocketAddr;
use std::sync::mpsc::Receiver;
use std::time::Duration;

/// The types of this game.
struct Game;

impl ggrs::Config for Game {
    type Input = Slots;
    type InputPredictor = PredictDefault;
    type State = World;
    type Address = SocketAddr;
}

struct Ggrs {
    session: P2PSession<Game>,
    cadence: Cadence,
    is_gated: bool,
    me: usize,
}

/// Opens a session of this contestant.
pub fn open(
    contestant: Contestant,
    player: &Shared,
    orders: &Receiver<Order>,
) -> Result<Box<dyn Session>, String> {
    let (socket, address) = on_free_port(UdpNonBlockingSocket::bind_to_port)?;
    let (through, ..) = meet(Some(address), orders)?;
    let is_gated = contestant.kind == Kind::GgrsGated;
    let me = lock(player).me;
    let session = session(contestant, is_gated, me, &through, socket);
    Ok(Box::new(Ggrs {
        session: session.map_err(|error| error.to_string())?,
        cadence: Cadence::new(contestant.cadence_ms),
        is_gated,
        me,
    }))
}

fn session(
    contestant: Contestant,
    is_gated: bool,
    me: usize,
    through: &[SocketAddr],
    socket: UdpNonBlockingSocket,
) -> Result<P2PSession<Game>, GgrsError> {
    let mut builder = SessionBuilder::<Game>::new()
        .with_num_players(through.len())?
        .with_fps((1_000 / contestant.cadence_ms).max(1) as usize)?
        .with_input_delay(contestant.budget_turns as usize)
        .with_max_prediction_window(if is_gated { WINDOW } else { 0 })
        .with_desync_detection_mode(DesyncDetection::On { interval: 1 })
        .with_disconnect_timeout(SILENCE);
    for (player, address) in through.iter().enumerate() {
        let which = if player == me {
            PlayerType::Local
        } else {
            PlayerType::Remote(*address)
        };
        builder = builder.add_player(which, player)?;
    }
    builder.start_p2p_session(socket)
}

impl Ggrs {
    /// Whether the game may advance: all inputs of the next frame are there. The first frame has none, and sends the
    /// first input.
    fn may_advance(&self) -> bool {
        let frame = self.session.current_frame();
        !self.is_gated || frame == 0 || frame <= self.session.confirmed_frame()
    }

    fn fulfil(&self, requests: Vec<GgrsRequest<Game>>, player: &Shared) -> Result<(), String> {
        let mut player = lock(player);
        for request in requests {
            match request {
                GgrsRequest::SaveGameState { cell, frame } => {
                    let checksum = player.world.checksum().into();
                    cell.save(frame, Some(player.world.clone()), Some(checksum));
                }
                GgrsRequest::LoadGameState { cell, .. } => {
                    player.load(cell.load().ok_or("no state to load")?);
                }
                GgrsRequest::AdvanceFrame { inputs } => {
                    let is_first = player.steps() == 0;
                    if inputs
                        .iter()
                        .any(|(_, of)| *of == InputStatus::Disconnected)
                    {
                        return Err("a peer counts as disconnected".to_owned());
                    }
                    // The inputs of the first frame are blank, behind the input delay.
                    if !is_first && inputs.iter().any(|(_, of)| *of == InputStatus::Predicted) {
                        return Err("a step with a predicted input".to_owned());
                    }
                    player.step(inputs.iter().flat_map(|(slots, _)| slots.commands()));
                }
            }
        }
        Ok(())
    }
}

impl Session for Ggrs {
    fn poll(&mut self, player: &Shared) -> Result<bool, String> {
        self.session.poll_remote_clients();
        let mut differs = false;
        for event in self.session.events() {
            differs |= matches!(event, GgrsEvent::DesyncDetected { .. });
        }
        let frame = self.cadence.frame(self.session.frames_ahead() > 0);
        while self.cadence.is_due(frame) {
            if !self.is_running() {
                self.cadence.advanced(frame);
                continue;
            }
            if !self.may_advance() {
                break;
            }
            let input = self.cadence.input(player);
            let added = self.session.add_local_input(self.me, input);
            added.map_err(|error| error.to_string())?;
            match self.session.advance_frame() {
                Ok(requests) if requests.is_empty() => break,
                Ok(requests) => self.fulfil(requests, player)?,
                Err(GgrsError::PredictionThreshold) => break,
                Err(error) => return Err(error.to_string()),
            }
            self.cadence.advanced(frame);
        }
        Ok(differs)
    }

    fn is_running(&self) -> bool {
        self.session.current_state() == SessionState::Running
    }

    fn wait(&mut self, most: Duration) {
        self.cadence.wait(most);
    }
}
