#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tests::targets::world(bytes));
