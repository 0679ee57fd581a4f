//! The trace for a host that calls WebAssembly, which has neither arguments nor output of its own.

use std::sync::OnceLock;

static TRACE: OnceLock<String> = OnceLock::new();

/// Computes the trace (the toolkit's alone unless `only_toolkit` is 0) and gives its address in this module's memory.
#[allow(unsafe_code, reason = "a name that the host can call")]
#[unsafe(no_mangle)]
pub extern "C" fn trace(only_toolkit: u32) -> *const u8 {
    let compute = || {
        if only_toolkit == 0 {
            crate::everything(crate::How::default())
        } else {
            crate::toolkit()
        }
    };
    TRACE.get_or_init(|| compute().text().to_owned()).as_ptr()
}

/// How many bytes the trace has that was computed.
#[allow(unsafe_code, reason = "a name that the host can call")]
#[unsafe(no_mangle)]
pub extern "C" fn trace_length() -> usize {
    TRACE.get().map_or(0, String::len)
}
