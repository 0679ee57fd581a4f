//! Sessions in virtual time, for tests: of this kit, and of a game that wants to see its world in a whole match.
//!
//! A [`Driver`] owns sessions, their clocks and one queue of events, and says what is due next. A [`Mesh`] puts links in
//! memory between its sessions. What surrounds the sessions, their worlds above all, is the caller's: [`Surroundings`].
//!
//! Nothing here waits: an hour of a match takes seconds. The same calls give the same run.
//!
//! # Two peers play for a minute
//!
//! Their worlds count the commands of each seat. After a minute on links that take 40 ms, both have seen the same.
//!
//! ```
//! use lockstep::harness::{Mesh, Surroundings, guest, hosted};
//! use lockstep::session::{Input, Output, Role};
//! use lockstep::{Checksum, Seat, log::What};
//! use std::time::Duration;
//!
//! /// For each peer its world: commands so far, by seat.
//! struct Worlds([[u32; 2]; 2]);
//!
//! impl Surroundings for Worlds {
//!     fn perform(&mut self, peer: usize, output: Output) -> Option<Input<'static>> {
//!         let world = &mut self.0[peer];
//!         match output {
//!             Output::New { .. } => Some(Input::Loaded { checksum: Checksum(0) }),
//!             Output::Execute(turn) => {
//!                 for entry in &turn.entries {
//!                     let is_command = matches!(entry.what, What::Command(_));
//!                     world[usize::from(entry.seat.0)] += u32::from(is_command);
//!                 }
//!                 let checksum = Checksum(world[0] * 1_000 + world[1]);
//!                 Some(Input::Executed { checksum, outcome: None, step: Duration::ZERO })
//!             }
//!             Output::Save { turns } => {
//!                 let bytes = world.iter().flat_map(|count| count.to_le_bytes()).collect();
//!                 Some(Input::Snapshot { turns, bytes })
//!             }
//!             _ => None,
//!         }
//!     }
//! }
//!
//! let mut worlds = Worlds([[0; 2]; 2]);
//! let mut mesh = Mesh::new(Duration::from_millis(40));
//! mesh.add(Role::Host(hosted(2)));
//! mesh.add(guest());
//! for second in 1..=60 {
//!     mesh.run(&mut worlds, Duration::from_secs(second));
//!     for (peer, seat) in [(0, Seat(0)), (1, Seat(1))] {
//!         mesh.input(&mut worlds, peer, Input::Issue { seat, command: vec![1, 2, 3] });
//!     }
//! }
//! mesh.run(&mut worlds, Duration::from_secs(61));
//! assert_eq!(worlds.0, [[60, 60]; 2]);
//! ```

mod recording;
mod settings;
mod tamper;

pub use recording::Recording;
pub use settings::{guest, hosted, peer_id, settings};
pub use tamper::{change_batches, change_votes, false_report, held_back, without_votes};

use crate::session::{Input, Output, Role, Session};
use crate::sign::KeyedHash;
use crate::{Channel, LinkError, LinkId};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// Sessions with their clocks, and what is to happen. Peers are numbered in the order of [`add`](Self::add).
pub struct Driver<E> {
    now: Duration,
    peers: Vec<Driven>,
    /// By time. At one time, events come in the order of scheduling, and after them deadlines in the order of peers.
    queue: BTreeMap<(Duration, bool, u64), Queued<E>>,
    scheduled: u64,
}

/// What is due.
#[derive(Debug)]
pub enum Due<E> {
    /// The deadline of this peer's session: hand it [`Input::Timeout`].
    Timeout(usize),
    /// An event that was scheduled.
    Event(E),
}

/// A peer's clock. It shows zero when its process begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    /// When the process begins, on the driver's clock.
    pub begins_at: Duration,
    /// How fast it runs, in millionths too fast.
    pub drift_ppm: i32,
    /// How far it has jumped ahead in all.
    pub jumped: Duration,
}

struct Driven {
    session: Option<Session>,
    /// The session's deadline after it was last called.
    deadline: Option<Duration>,
    clock: Clock,
    /// The earliest wake-up in the queue.
    wakes_at: Option<Duration>,
    suspended: bool,
}

impl Driven {
    fn new(session: Session, clock: Clock) -> Self {
        Driven {
            deadline: session.deadline(),
            session: Some(session),
            clock,
            wakes_at: None,
            suspended: false,
        }
    }

    /// When it wants to be called, on its own clock.
    fn due(&self) -> Option<Duration> {
        let runs = self.session.is_some() && !self.suspended;
        self.deadline.filter(|_| runs)
    }
}

enum Queued<E> {
    Wake(usize),
    Event(E),
}

impl<E> Default for Driver<E> {
    fn default() -> Self {
        Driver {
            now: Duration::ZERO,
            peers: Vec::new(),
            queue: BTreeMap::new(),
            scheduled: 0,
        }
    }
}

impl<E> Driver<E> {
    /// The time.
    pub fn now(&self) -> Duration {
        self.now
    }

    /// Adds a peer whose process begins when its clock says so. Its number.
    pub fn add(&mut self, session: Session, clock: Clock) -> usize {
        self.peers.push(Driven::new(session, clock));
        let peer = self.peers.len() - 1;
        self.schedule_wake(peer);
        peer
    }

    /// Another run of a peer's process takes the place of the one before.
    pub fn restart(&mut self, peer: usize, session: Session, clock: Clock) {
        self.peers[peer] = Driven::new(session, clock);
        self.schedule_wake(peer);
    }

    /// Ends a peer's process. Its session, if it had one.
    pub fn remove(&mut self, peer: usize) -> Option<Session> {
        self.peers[peer].session.take()
    }

    /// The session of a peer whose process runs.
    pub fn session(&self, peer: usize) -> Option<&Session> {
        self.peers[peer].session.as_ref()
    }

    /// The session of a peer whose process runs, for a test to look into its state or to change it.
    #[cfg(test)]
    pub(crate) fn session_mut(&mut self, peer: usize) -> Option<&mut Session> {
        self.wake(self.now, peer);
        let driven = &mut self.peers[peer];
        // The test may change when the session is due.
        driven.deadline = Some(Duration::ZERO);
        driven.session.as_mut()
    }

    /// Whether a peer's process has begun and runs, and is not suspended.
    pub fn is_awake(&self, peer: usize) -> bool {
        let driven = &self.peers[peer];
        driven.session.is_some() && driven.clock.begins_at <= self.now && !driven.suspended
    }

    /// Peers, whether their processes run or not.
    pub fn len(&self) -> usize {
        self.peers.len()
    }

    /// Whether there is no peer.
    pub fn is_empty(&self) -> bool {
        self.peers.is_empty()
    }

    /// No deadline of this peer is due until [`resume`](Self::resume). Events go on.
    pub fn suspend(&mut self, peer: usize) {
        self.peers[peer].suspended = true;
    }

    /// Ends [`suspend`](Self::suspend).
    pub fn resume(&mut self, peer: usize) {
        self.peers[peer].suspended = false;
        self.peers[peer].wakes_at = None;
        self.schedule_wake(peer);
    }

    /// A peer's clock jumps ahead.
    pub fn jump(&mut self, peer: usize, by: Duration) {
        self.peers[peer].clock.jumped += by;
        self.peers[peer].wakes_at = None;
        self.schedule_wake(peer);
    }

    /// Schedules an event.
    pub fn schedule(&mut self, at: Duration, event: E) {
        let key = (at.max(self.now), false, self.scheduled);
        self.queue.insert(key, Queued::Event(event));
        self.scheduled += 1;
    }

    /// The events in the queue, in order.
    pub fn events(&self) -> impl Iterator<Item = &E> {
        self.queue.values().filter_map(|queued| match queued {
            Queued::Event(event) => Some(event),
            Queued::Wake(_) => None,
        })
    }

    /// Takes all events out of the queue that `wanted` accepts, in order.
    pub fn take_events(&mut self, wanted: impl Fn(&E) -> bool) -> Vec<(Duration, E)> {
        let is_wanted =
            |queued: &mut Queued<E>| matches!(queued, Queued::Event(event) if wanted(event));
        let taken = self.queue.extract_if(.., |_, queued| is_wanted(queued));
        let events = taken.filter_map(|((at, ..), queued)| match queued {
            Queued::Event(event) => Some((at, event)),
            Queued::Wake(_) => None,
        });
        events.collect()
    }

    /// Goes on to what is due next, and returns it; `None` where nothing is due up to `until`, which is the time then.
    pub fn next(&mut self, until: Duration) -> Option<Due<E>> {
        loop {
            let first = self
                .queue
                .first_entry()
                .filter(|entry| entry.key().0 <= until);
            let Some(first) = first else {
                self.now = self.now.max(until);
                return None;
            };
            let ((at, ..), queued) = first.remove_entry();
            match queued {
                Queued::Event(event) => {
                    self.now = at;
                    return Some(Due::Event(event));
                }
                Queued::Wake(peer) => {
                    if self.is_due(peer, at) {
                        self.now = at;
                        return Some(Due::Timeout(peer));
                    }
                }
            }
        }
    }

    /// Hands an input to a peer's session. What it wants done; nothing where its process does not run.
    pub fn handle(&mut self, peer: usize, input: Input<'_>) -> Vec<Output> {
        let driven = &mut self.peers[peer];
        let now = driven.clock.reading(self.now);
        let Some(session) = &mut driven.session else {
            return Vec::new();
        };
        let outputs = session.handle(now, input);
        driven.deadline = session.deadline();
        self.schedule_wake(peer);
        outputs
    }

    /// Whether a wake-up that was scheduled for `at` is still one; schedules the right one where it is not.
    fn is_due(&mut self, peer: usize, at: Duration) -> bool {
        let driven = &mut self.peers[peer];
        if driven.wakes_at == Some(at) {
            driven.wakes_at = None;
        }
        let reading = driven.clock.reading(at);
        let due = driven.due().is_some_and(|due| due <= reading);
        if !due {
            self.schedule_wake(peer);
        }
        due
    }

    fn schedule_wake(&mut self, peer: usize) {
        let driven = &self.peers[peer];
        let Some(due) = driven.due() else {
            return;
        };
        let at = driven.clock.when(due).max(self.now);
        if driven.wakes_at.is_none_or(|wakes_at| at < wakes_at) {
            self.peers[peer].wakes_at = Some(at);
            self.wake(at, peer);
        }
    }

    fn wake(&mut self, at: Duration, peer: usize) {
        let key = (at, true, peer as u64);
        self.queue.insert(key, Queued::Wake(peer));
    }
}

impl Clock {
    /// A clock that is right, of a process that begins now.
    pub fn from(begins_at: Duration) -> Self {
        Clock {
            begins_at,
            ..Clock::default()
        }
    }

    /// What it shows at this time of the driver.
    pub fn reading(&self, now: Duration) -> Duration {
        let passed = now.saturating_sub(self.begins_at);
        self.scaled(passed, 1_000_000 + i128::from(self.drift_ppm), 1_000_000) + self.jumped
    }

    /// The first moment, in whole microseconds where it drifts, at which it shows `reading`.
    fn when(&self, reading: Duration) -> Duration {
        let reading = reading.saturating_sub(self.jumped);
        if self.drift_ppm == 0 {
            return self.begins_at + reading;
        }
        let passed = self.scaled(reading, 1_000_000, 1_000_000 + i128::from(self.drift_ppm));
        self.begins_at + Duration::from_micros(passed.as_micros() as u64 + 1)
    }

    fn scaled(&self, time: Duration, times: i128, by: i128) -> Duration {
        if self.drift_ppm == 0 {
            return time;
        }
        Duration::from_nanos((time.as_nanos() as i128 * times / by) as u64)
    }
}

/// Sessions on links in memory: up after one delay, and every byte arrives after one delay more.
pub struct Mesh {
    /// The sessions.
    pub driver: Driver<Arrival>,
    /// One way of every link.
    pub delay: Duration,
    /// By link: the peers at its ends, the dialler first.
    links: Vec<(usize, usize)>,
}

/// Something comes up to a peer on a link.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// The peer.
    pub to: usize,
    /// The link.
    pub link: LinkId,
    /// What it is.
    pub what: Arrives,
}

/// What comes up to a peer on a link.
#[derive(Clone, Debug)]
pub enum Arrives {
    /// The link itself.
    Up,
    /// Bytes.
    Bytes(Channel, Arc<[u8]>),
    /// The other end has closed it.
    Down,
}

/// What surrounds the sessions of a [`Mesh`].
pub trait Surroundings {
    /// What a session wants done that concerns no link: its world is to be built, to step, to be saved, its log grows, its
    /// game is told something. Answers for its world, in order.
    fn perform(&mut self, peer: usize, output: Output) -> Option<Input<'static>>;

    /// What a session has logged is to be durable: the answer, where that takes no time.
    fn sync(&mut self, peer: usize, id: u64) -> Option<Input<'static>> {
        let _ = peer;
        Some(Input::Synced(id))
    }

    /// A session has been called, and nothing of what it wants is done yet.
    fn called(&mut self, call: Call<'_>) {
        let _ = call;
    }

    /// A peer dials another one: whether anything comes of it.
    fn connects(&mut self, from: usize, to: usize) -> bool {
        let _ = (from, to);
        true
    }

    /// A peer sends bytes, or closes a link: what comes up at the other end, if anything does.
    fn carry(&mut self, sent: Sent, what: Arrives) -> Option<Arrives> {
        let _ = sent;
        Some(what)
    }

    /// Something arrives at a peer. Gives it back, unless it is lost or kept for later.
    fn arrives(&mut self, arrival: Arrival) -> Option<Arrival> {
        Some(arrival)
    }
}

/// One call of a session.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The time of the driver.
    pub now: Duration,
    /// The peer.
    pub peer: usize,
    /// Whether its deadline was due.
    pub timeout: bool,
    /// What it wants done.
    pub outputs: &'a [Output],
}

/// From where to where something is sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// The sender.
    pub from: usize,
    /// The receiver.
    pub to: usize,
    /// The link.
    pub link: LinkId,
}

impl Mesh {
    /// Without a peer.
    pub fn new(delay: Duration) -> Self {
        Mesh {
            driver: Driver::default(),
            delay,
            links: Vec::new(),
        }
    }

    /// Adds a peer with the common [`settings`], whose process begins now. Its number.
    ///
    /// # Panics
    /// Where a setting of its role is out of range.
    pub fn add(&mut self, role: Role) -> usize {
        let peer = self.driver.len();
        let signer = Box::new(KeyedHash::new(peer_id(peer)));
        let session = Session::new(settings(peer, role), signer).expect("the role is in range");
        self.driver.add(session, Clock::from(self.driver.now()))
    }

    /// Hands an input to a peer's session, and does what it wants done, in order; then hands it the answers. Links that it
    /// closes are closed last: its world may answer, and the session close a link, before all is sent that the session
    /// wanted sent before.
    pub fn input(&mut self, around: &mut impl Surroundings, peer: usize, input: Input<'_>) {
        let (mut closed, mut inputs) = (Vec::new(), VecDeque::from([input]));
        while let Some(input) = inputs.pop_front() {
            let timeout = matches!(input, Input::Timeout);
            let outputs = self.driver.handle(peer, input);
            around.called(Call {
                now: self.driver.now(),
                peer,
                timeout,
                outputs: &outputs,
            });
            for output in outputs {
                match output {
                    Output::Dial { address, .. } => {
                        let to = address.parse().ok();
                        let to = to.filter(|to| *to < self.driver.len());
                        if let Some(to) = to.filter(|to| around.connects(peer, *to)) {
                            self.link(peer, to);
                        }
                    }
                    Output::Send {
                        link,
                        channel,
                        bytes,
                    } => self.send(around, peer, link, Arrives::Bytes(channel, bytes)),
                    Output::Close { link } => closed.push(link),
                    Output::Sync(id) => inputs.extend(around.sync(peer, id)),
                    output => inputs.extend(around.perform(peer, output)),
                }
            }
        }
        for link in closed {
            self.send(around, peer, link, Arrives::Down);
        }
    }

    /// Runs up to this time.
    pub fn run(&mut self, around: &mut impl Surroundings, until: Duration) {
        while self.step(around, until) {}
    }

    /// Does what is due next; false where nothing is up to `until`.
    pub fn step(&mut self, around: &mut impl Surroundings, until: Duration) -> bool {
        let Some(due) = self.driver.next(until) else {
            return false;
        };
        match due {
            Due::Timeout(peer) => self.input(around, peer, Input::Timeout),
            Due::Event(arrival) => {
                if let Some(arrival) = around.arrives(arrival) {
                    self.deliver(around, &arrival);
                }
            }
        }
        true
    }

    /// A new link between two peers, which is up at both ends after the delay. Its number.
    pub fn link(&mut self, dialler: usize, acceptor: usize) -> LinkId {
        let link = self.number(dialler, acceptor);
        self.post(dialler, link, Arrives::Up);
        self.post(acceptor, link, Arrives::Up);
        link
    }

    /// The number of a link that comes up when the caller says so. An end may be no peer's number: then the caller's
    /// [`Surroundings`] keep what is for it.
    pub fn number(&mut self, dialler: usize, acceptor: usize) -> LinkId {
        self.links.push((dialler, acceptor));
        LinkId(self.links.len() as u32 - 1)
    }

    /// The peers at the ends of a link, the dialler first.
    ///
    /// # Panics
    /// Where there is no such link.
    pub fn ends(&self, link: LinkId) -> (usize, usize) {
        self.links[link.0 as usize]
    }

    /// The ends of all links so far, by number.
    pub fn links(&self) -> &[(usize, usize)] {
        &self.links
    }

    /// Something arrives at a peer after the delay.
    pub fn post(&mut self, to: usize, link: LinkId, what: Arrives) {
        let at = self.driver.now() + self.delay;
        self.driver.schedule(at, Arrival { to, link, what });
    }

    fn send(&mut self, around: &mut impl Surroundings, from: usize, link: LinkId, what: Arrives) {
        let (dialler, acceptor) = self.ends(link);
        let to = if dialler == from { acceptor } else { dialler };
        if let Some(what) = around.carry(Sent { from, to, link }, what) {
            self.post(to, link, what);
        }
    }

    fn deliver(&mut self, around: &mut impl Surroundings, arrival: &Arrival) {
        let Arrival { to, link, what } = arrival;
        let (dialler, acceptor) = self.ends(*link);
        let dialled = *to == dialler;
        let input = match what {
            Arrives::Up => Input::LinkUp {
                link: *link,
                peer: None,
                dialled,
                address: if dialled { acceptor } else { dialler }.to_string(),
                binding: [3; 32],
            },
            Arrives::Bytes(channel, bytes) => Input::Received {
                link: *link,
                channel: *channel,
                bytes,
            },
            Arrives::Down => Input::LinkDown {
                link: *link,
                why: LinkError::Closed,
            },
        };
        self.input(around, *to, input);
    }
}
