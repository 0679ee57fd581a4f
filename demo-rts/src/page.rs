//! The replay viewer for a browser's page; see `web/build`.

#[cfg(not(target_arch = "wasm32"))]
compile_error!("the page is a program for wasm32: demo-rts/web/build makes it");

fn main() {
    #[cfg(target_arch = "wasm32")]
    demo_rts::window::page::open();
}
