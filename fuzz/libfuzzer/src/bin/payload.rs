#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| commitlog_fuzz::payload(data));
