//! The replay viewer for a browser's page; `web/build` builds it.

#[cfg(not(target_arch = "wasm32"))]
compile_error!("the page is a program for wasm32: demo-rts/web/build builds it");

fn main() {
    #[cfg(target_arch = "wasm32")]
    demo_rts::window::page::open();
}
