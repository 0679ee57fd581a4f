//! Sessions over real QUIC links, real processes and real windows. They mostly wait, so they run in parallel, in
//! the order of their names: the longest come first.

mod chaos;
mod cuts;
mod desktop;
mod desync;
mod matches;
mod play_on;
mod refusals;
mod reopen;
mod stopped;
mod two;
