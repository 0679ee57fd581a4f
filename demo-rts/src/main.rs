//! The program. All of it is in the library, within reach of tests.

fn main() -> std::process::ExitCode {
    demo_rts::run(std::env::args_os())
}
