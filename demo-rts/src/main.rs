//! The demo's program. All of it is in the library, where tests reach it.

fn main() -> std::process::ExitCode {
    demo_rts::run(std::env::args_os())
}
