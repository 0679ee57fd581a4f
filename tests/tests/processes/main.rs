//! Sessions over real QUIC links, real processes and real windows. They mostly wait, and so they run beside each other.

mod chaos;
mod cuts;
mod desync;
mod matches;
mod play_on;
mod refusals;
mod reopen;
mod stopped;
mod window;
