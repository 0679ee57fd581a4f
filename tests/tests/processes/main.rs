//! Sessions over real QUIC links, real processes and real windows. They mostly wait, and so they run beside each other,
//! in the order of their names: those that take longest come first.

mod chaos;
mod cuts;
mod desktop;
mod desync;
mod matches;
mod play_on;
mod refusals;
mod reopen;
mod stopped;
