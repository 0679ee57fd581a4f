//! The trace for a WebAssembly host, which has neither arguments nor output.

use std::sync::OnceLock;

static TRACE: OnceLock<String> = OnceLock::new();

/// Computes the trace (of the toolkit alone unless `only_toolkit` is 0) and returns its address in this module's
/// memory.
#[allow(unsafe_code, reason = "the host calls it by name")]
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

/// The length of the computed trace in bytes.
#[allow(unsafe_code, reason = "the host calls it by name")]
#[unsafe(no_mangle)]
pub extern "C" fn trace_length() -> usize {
    TRACE.get().map_or(0, String::len)
}
