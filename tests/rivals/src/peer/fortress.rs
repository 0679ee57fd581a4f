//! fortress-rollback, a fork of ggrs, as it is meant: the game runs ahead on predictions, and is corrected. A step counts
//! once its frame is confirmed and was simulated with the confirmed inputs.
//!
//! A game that advances on confirmed frames alone, as with ggrs, stands still with three players and more: frames are
//! confirmed by what the others have told, and they tell it with inputs, which a frame that waits does not send.

use super::cadence::{Cadence, Slots};
use super::player::World;
use super::{Order, SILENCE, Session, Shared, WINDOW, lock, meet, on_free_port};
use crate::contestant::Contestant;
use crate::trace::Command;
use fortress_rollback::{
    DesyncDetection, FortressError, FortressEvent, FortressRequest, Frame, InputStatus, P2PSession,
    PlayerHandle, PlayerType, SessionBuilder, SessionState, UdpNonBlockingSocket,
};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::mpsc::Receiver;
use std::time::Duration;

/// The types of this game.
struct Game;

impl fortress_rollback::Config for Game {
    type Input = Slots;
    type State = World;
    type Address = SocketAddr;
}

struct Fortress {
    session: P2PSession<Game>,
    cadence: Cadence,
    me: PlayerHandle,
    /// The game as it runs ahead.
    world: World,
    /// Inputs of frames that are not confirmed yet, as they were simulated last.
    simulated: BTreeMap<i32, Vec<Slots>>,
    /// The frame behind which a bit of the state flips.
    flips_at: Option<i32>,
}

/// Opens a session of this contestant.
pub fn open(
    contestant: Contestant,
    player: &Shared,
    orders: &Receiver<Order>,
) -> Result<Box<dyn Session>, String> {
    let (socket, address) = on_free_port(UdpNonBlockingSocket::bind_to_port)?;
    let (through, ..) = meet(Some(address), orders)?;
    let me = lock(player).me;
    let session = session(contestant, me, &through, socket);
    Ok(Box::new(Fortress {
        session: session.map_err(|error| error.to_string())?,
        cadence: Cadence::new(contestant.cadence_ms),
        me: PlayerHandle::new(me),
        world: lock(player).world.clone(),
        simulated: BTreeMap::new(),
        flips_at: None,
    }))
}

fn session(
    contestant: Contestant,
    me: usize,
    through: &[SocketAddr],
    socket: UdpNonBlockingSocket,
) -> Result<P2PSession<Game>, FortressError> {
    let mut builder = SessionBuilder::<Game>::new()
        .with_num_players(through.len())?
        .with_fps((1_000 / contestant.cadence_ms).max(1) as usize)?
        .with_input_delay(contestant.budget_turns as usize)?
        .with_max_prediction_window(WINDOW)
        .with_desync_detection_mode(DesyncDetection::On { interval: 1 })
        .with_disconnect_timeout(SILENCE);
    for (player, address) in through.iter().enumerate() {
        let which = if player == me {
            PlayerType::Local
        } else {
            PlayerType::Remote(*address)
        };
        builder = builder.add_player(which, PlayerHandle::new(player))?;
    }
    builder.start_p2p_session(socket)
}

impl Fortress {
    fn fulfil(&mut self, request: FortressRequest<Game>, player: &Shared) -> Result<(), String> {
        match request {
            FortressRequest::SaveGameState { cell, frame } => {
                let checksum = self.world.checksum().into();
                cell.save(frame, Some(self.world.clone()), Some(checksum));
            }
            FortressRequest::LoadGameState { cell, .. } => {
                self.world = cell.load().ok_or("no state to load")?;
            }
            FortressRequest::AdvanceFrame { inputs } => {
                if inputs
                    .iter()
                    .any(|(_, of)| *of == InputStatus::Disconnected)
                {
                    return Err("a peer counts as disconnected".to_owned());
                }
                let frame = self.world.steps() as i32;
                let inputs: Vec<Slots> = inputs.iter().map(|(slots, _)| *slots).collect();
                let commands: Vec<Command> = inputs.iter().flat_map(Slots::commands).collect();
                self.world.step(&commands);
                self.simulated.insert(frame, inputs);
                let mut player = lock(player);
                if std::mem::take(&mut player.flips) {
                    self.flips_at = Some(frame);
                    player.flipped = Some(self.world.steps());
                }
                // A frame that is simulated again flips again.
                if self.flips_at == Some(frame) {
                    self.world.flip();
                }
            }
        }
        Ok(())
    }

    /// Notes the frames that are confirmed, and were simulated with the confirmed inputs.
    fn confirm(&mut self, player: &Shared) {
        loop {
            let next = lock(player).steps() as i32;
            let Some(simulated) = self.simulated.get(&next) else {
                return;
            };
            let confirmed = self.session.confirmed_inputs_for_frame(Frame::new(next));
            // A wrong prediction is simulated again when the next frame is due.
            if confirmed.ok().as_ref() != Some(simulated) {
                return;
            }
            lock(player).step(simulated.iter().flat_map(Slots::commands));
            self.simulated.remove(&next);
        }
    }
}

impl Session for Fortress {
    fn poll(&mut self, player: &Shared) -> Result<bool, String> {
        self.session.poll_remote_clients();
        let mut differs = false;
        for event in self.session.events() {
            differs |= matches!(event, FortressEvent::DesyncDetected { .. });
        }
        self.confirm(player);
        let frame = self.cadence.frame(self.session.frames_ahead() > 0);
        while self.cadence.is_due(frame) {
            if !self.is_running() {
                self.cadence.advanced(frame);
                continue;
            }
            let input = self.cadence.input(player);
            let added = self.session.add_local_input(self.me, input);
            added.map_err(|error| error.to_string())?;
            let before = self.session.current_frame();
            let requests = match self.session.advance_frame() {
                Ok(requests) => requests,
                Err(FortressError::PredictionThreshold) => break,
                Err(error) => return Err(error.to_string()),
            };
            for request in requests {
                self.fulfil(request, player)?;
            }
            self.confirm(player);
            // A full window lets no frame begin.
            if self.session.current_frame() == before {
                break;
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
