//! The loop of the network thread, and what it shares with the game thread.

use super::clock::Clock;
use super::doors::Queue;
use super::log_thread::{LogThread, Told};
use super::report::{Request, Untold};
use crate::limits::room_of;
use crate::session::{Input, Output, Session, Stats};
use crate::source::{Answer, Work};
use crate::{
    Channel, EndReason, Ended, Event, LinkError, LinkEvent, LinkId, Status, Traffic, Transport,
};
use sim::Seat;
use std::collections::VecDeque;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What the game thread tells the network thread.
pub(super) enum ToNetwork {
    Answer(Answer),
    /// What the player does.
    Input(Input<'static>),
    /// The game has dropped the match.
    Stop,
}

/// What both threads see.
pub(super) struct Shared {
    clock: Clock,
    state: Mutex<Sharing>,
    changed: Condvar,
}

/// The part behind the lock.
pub(super) struct Sharing {
    /// Bounded: a session completes no more than `Limits::unexecuted_turns` ahead of its world.
    pub work: VecDeque<Work>,
    /// Bounded by [`EVENTS`]; the oldest give way.
    pub events: VecDeque<Event>,
    pub started: Option<Event>,
    /// The last event.
    ended: Option<Event>,
    pub status: Status,
    queue: Queue,
    pub stats: Stats,
    pub traffic: Traffic,
}

/// Events that wait for a game that does not take them.
const EVENTS: usize = 4_096;
/// How often measurements are shared.
const MEASURE_EVERY: Duration = Duration::from_millis(100);

impl Default for Shared {
    fn default() -> Self {
        Shared {
            clock: Clock::start(),
            state: Mutex::new(Sharing {
                work: VecDeque::new(),
                events: VecDeque::new(),
                started: None,
                ended: None,
                status: Status::Lobby,
                queue: Queue::default(),
                stats: Stats::default(),
                traffic: Traffic::default(),
            }),
            changed: Condvar::new(),
        }
    }
}

impl Shared {
    pub(super) fn now(&self) -> Duration {
        self.clock.elapsed()
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Sharing> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn wait(&self, timeout: Duration) {
        let idle = |state: &mut Sharing| {
            state.work.is_empty() && state.events.is_empty() && state.ended.is_none()
        };
        let waited = self.changed.wait_timeout_while(self.lock(), timeout, idle);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}

impl Sharing {
    pub(super) fn turns_waiting(&self) -> u32 {
        self.work
            .iter()
            .filter(|work| matches!(work, Work::Execute(_)))
            .count() as u32
    }

    /// Where commands are taken, what stands before them.
    pub(super) fn queue(&self) -> Option<Queue> {
        let none = matches!(
            self.status,
            Status::Lobby
                | Status::Loading
                | Status::CatchingUp { .. }
                | Status::Desynced
                | Status::Ended
        );
        (!none).then_some(self.queue)
    }

    /// Hands out the last event. Work that is left belongs to turns that do not count any more.
    pub(super) fn take_end(&mut self) {
        if self.ended.is_some() {
            self.work.clear();
            self.events.extend(self.ended.take());
        }
    }

    fn fail(&mut self) {
        self.status = Status::Ended;
        self.ended = Some(Event::Ended(Ended::without_world(EndReason::Internal)));
    }

    fn push(&mut self, event: Event) {
        if self.events.len() >= EVENTS {
            self.events.pop_front();
        }
        if let Event::Started { .. } = event {
            self.started = Some(event.clone());
        }
        self.events.push_back(event);
    }
}

/// What the network thread owns.
pub(super) struct Network {
    session: Session,
    transport: Box<dyn Transport>,
    log: LogThread,
    from_game: Receiver<ToNetwork>,
    shared: Arc<Shared>,
    /// Turns of the saves that the world has not answered.
    saves: VecDeque<u32>,
    /// Links that took no more messages.
    blocked: Vec<LinkId>,
    desyncs: Untold,
    /// The folder of the report of the world's fault, once it is written.
    fault_report: Option<std::path::PathBuf>,
    /// This peer's lowest seat, once it is known.
    own: Seat,
    ended: Option<Event>,
    measured_at: Duration,
}

impl Network {
    pub(super) fn new(
        session: Session,
        transport: Box<dyn Transport>,
        log: LogThread,
        from_game: Receiver<ToNetwork>,
        shared: Arc<Shared>,
    ) -> Self {
        Network {
            session,
            transport,
            log,
            from_game,
            shared,
            saves: VecDeque::new(),
            blocked: Vec::new(),
            desyncs: Untold::default(),
            fault_report: None,
            own: Seat(0),
            ended: None,
            measured_at: Duration::ZERO,
        }
    }

    /// A panic is a bug of this crate; the game hears that its match is over all the same.
    pub(super) fn run_to_the_end(self) {
        let shared = self.shared.clone();
        let run = std::panic::AssertUnwindSafe(|| self.run());
        if std::panic::catch_unwind(run).is_err() {
            shared.lock().fail();
            shared.changed.notify_all();
        }
    }

    fn run(mut self) {
        while self.ended.is_none() {
            if !self.take_from_game() {
                self.handle(Input::Quit);
                break;
            }
            self.take_from_log();
            let now = self.shared.now();
            if self.session.deadline().is_some_and(|at| at <= now) {
                self.handle(Input::Timeout);
            }
            if self.ended.is_some() {
                break;
            }
            let wait = self
                .session
                .deadline()
                .map_or(MEASURE_EVERY, |at| at.saturating_sub(self.shared.now()));
            if let Some(event) = self.transport.poll(wait.min(MEASURE_EVERY)) {
                self.link_event(event);
            }
            self.measure();
        }
        self.close();
    }

    /// False once the game has dropped the match.
    fn take_from_game(&mut self) -> bool {
        use std::sync::mpsc::TryRecvError;
        loop {
            let message = match self.from_game.try_recv() {
                Ok(message) => message,
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => return false,
            };
            match message {
                ToNetwork::Answer(answer) => self.answered(answer),
                ToNetwork::Input(input) => self.handle(input),
                ToNetwork::Stop => return false,
            }
        }
    }

    fn answered(&mut self, answer: Answer) {
        match answer {
            Answer::Ready { checksum } => self.handle(Input::Loaded { checksum }),
            Answer::Failed => self.handle(Input::LoadFailed),
            Answer::Faulted { turn, message } => {
                let request = Request::Fault {
                    own: self.own,
                    turn,
                    message: message.clone(),
                };
                self.handle(Input::WorldFaulted { turn, message });
                self.log.report(request);
            }
            Answer::Executed {
                checksum,
                outcome,
                step,
            } => self.handle(Input::Executed {
                checksum,
                outcome,
                step,
            }),
            Answer::Saved(bytes) => {
                let Some(turns) = self.saves.pop_front() else {
                    return;
                };
                let bytes: Arc<[u8]> = bytes.into();
                self.report(Some((turns, bytes.clone())));
                self.handle(Input::Snapshot { turns, bytes });
            }
        }
    }

    fn link_event(&mut self, event: LinkEvent) {
        match event {
            LinkEvent::Up {
                link,
                peer,
                dialled,
                address,
                binding,
            } => {
                self.handle(Input::LinkUp {
                    link,
                    peer,
                    dialled,
                    address,
                    binding,
                });
            }
            LinkEvent::DialFailed { address, key, why } => {
                self.handle(Input::DialFailed { address, key, why })
            }
            LinkEvent::Down { link, why } => self.handle(Input::LinkDown { link, why }),
            LinkEvent::Received {
                link,
                channel,
                bytes,
            } => {
                self.handle(Input::Received {
                    link,
                    channel,
                    bytes: &bytes,
                });
            }
        }
    }

    fn handle(&mut self, input: Input<'_>) {
        let taken = match &input {
            Input::Issue { command, .. } => room_of(command.len()),
            _ => 0,
        };
        for output in self.session.handle(self.shared.now(), input) {
            self.carry_out(output);
        }
        while let Some(link) = self.blocked.pop() {
            self.transport.close(link);
            let down = Input::LinkDown {
                link,
                why: LinkError::Closed,
            };
            for output in self.session.handle(self.shared.now(), down) {
                self.carry_out(output);
            }
        }
        let mut shared = self.shared.lock();
        shared.status = self.session.status();
        shared.queue.outlook = self.session.outlook();
        shared.queue.taken += u64::from(taken);
    }

    fn take_from_log(&mut self) {
        for told in self.log.told() {
            match told {
                Told::Failed(why) => self.push(Event::RecordingStopped { why }),
                Told::Synced(id) => self.handle(Input::Synced(id)),
                Told::Reported {
                    number: None,
                    folder,
                } => self.fault_report = folder,
                Told::Reported {
                    number: Some(number),
                    folder,
                } => {
                    if let Some(event) = self.desyncs.written(number, folder) {
                        self.push(event);
                    }
                }
            }
        }
        while let Some(event) = self.desyncs.overdue(self.shared.now()) {
            self.push(event);
        }
    }

    /// Has the report of a pending desync written, with a snapshot where there is one.
    fn report(&mut self, snapshot: Option<(u32, Arc<[u8]>)>) {
        if let Some(request) = self.desyncs.request(self.shared.now(), snapshot) {
            self.log.report(request);
        }
    }

    fn carry_out(&mut self, output: Output) {
        match output {
            Output::Dial { address, key } => self.transport.dial(&address, key),
            Output::Close { link } => self.transport.close(link),
            Output::Send {
                link,
                channel,
                bytes,
            } => {
                // A lost datagram is sent again; a lost message would leave a hole in what the link promises, where a smaller
                // one behind it still found room.
                if !self.blocked.contains(&link)
                    && self.transport.send(link, channel, &bytes).is_err()
                    && channel != Channel::Turns
                {
                    self.blocked.push(link);
                }
            }
            Output::Append(record) => self.log.append(self.shared.now(), record),
            Output::AppendAll(part) => self.log.append_all(self.shared.now(), part),
            Output::New { start, retracted } => self.work(Work::New { start, retracted }),
            Output::Execute(bundle) => self.work(Work::Execute(bundle)),
            Output::Tail(turns) => self.log.tail(self.shared.now(), turns),
            Output::Sync(id) => self.log.sync(id),
            Output::Load {
                turns,
                ticks,
                snapshot,
                retracted,
            } => self.work(Work::Load {
                turns,
                ticks,
                snapshot,
                retracted,
            }),
            Output::Save { turns } => {
                self.saves.push_back(turns);
                self.work(Work::Save { turns });
            }
            Output::Event(Event::Desync(desync)) => {
                // Of two at once the first is told without a snapshot.
                self.report(None);
                self.desyncs.begin(desync);
            }
            Output::Event(event @ Event::Ended(_)) => self.ended = Some(event),
            Output::Event(event) => {
                if let Event::Started { own, .. } = &event {
                    self.own = own.first().copied().unwrap_or(self.own);
                }
                self.push(event);
            }
        }
    }

    fn work(&self, work: Work) {
        self.shared.lock().work.push_back(work);
        self.shared.changed.notify_all();
    }

    fn push(&self, event: Event) {
        self.shared.lock().push(event);
        self.shared.changed.notify_all();
    }

    fn measure(&mut self) {
        let now = self.shared.now();
        if now < self.measured_at + MEASURE_EVERY {
            return;
        }
        self.measured_at = now;
        self.transport.keep_places(&self.session.member_addresses());
        let (stats, traffic, status) = (
            self.session.stats(),
            self.transport.traffic(),
            self.session.status(),
        );
        let mut shared = self.shared.lock();
        (shared.stats, shared.traffic, shared.status) = (stats, traffic, status);
    }

    /// Every goodbye has left, and the log is closed unless the disk hangs, before the game hears the last event.
    fn close(mut self) {
        self.report(None);
        self.log.close();
        let Network {
            session,
            shared,
            transport,
            log,
            mut desyncs,
            mut fault_report,
            mut ended,
            ..
        } = self;
        let traffic = transport.traffic();
        drop(transport);
        log.finish();
        let mut state = shared.lock();
        for told in log.told() {
            match told {
                Told::Failed(why) => state.push(Event::RecordingStopped { why }),
                Told::Reported {
                    number: None,
                    folder,
                } => fault_report = folder,
                Told::Reported {
                    number: Some(number),
                    folder,
                } => {
                    if let Some(event) = desyncs.written(number, folder) {
                        state.push(event);
                    }
                }
                Told::Synced(_) => {}
            }
        }
        tell_report(&mut ended, fault_report);
        while let Some(event) = desyncs.overdue(Duration::MAX) {
            state.push(event);
        }
        state.traffic = traffic;
        state.stats = session.stats();
        state.status = Status::Ended;
        state.ended = ended;
        drop(state);
        shared.changed.notify_all();
    }
}

/// The end that a fault of the world has brought names the folder of its report.
fn tell_report(ended: &mut Option<Event>, folder: Option<std::path::PathBuf>) {
    if let Some(Event::Ended(ended)) = ended
        && let EndReason::WorldFault { report, .. } = &mut ended.reason
    {
        *report = folder;
    }
}
