//! strftime_now: the caller's frozen moment in local time, formatted by the C library, which is
//! also what Python's datetime.strftime does.

use std::ffi::CString;

/// None if the format holds a zero byte or the moment is out of range.
pub fn format_local(unix_seconds: f64, format: &str) -> Option<String> {
    let time = local_time(unix_seconds.floor() as libc::time_t)?;
    let micros = ((unix_seconds - unix_seconds.floor()) * 1e6) as u32;
    // A leading mark tells an empty result from a buffer that is too small.
    let format = CString::new(format!("x{}", without_python_only(format, micros))).ok()?;
    let mut text = vec![0u8; 256];
    loop {
        // SAFETY: text is writable for its length, format and time are valid for the call.
        let size = unsafe {
            libc::strftime(text.as_mut_ptr().cast(), text.len(), format.as_ptr(), &time)
        };
        if size > 0 {
            return Some(String::from_utf8_lossy(&text[1..size]).into_owned());
        }
        if text.len() > 1 << 20 {
            return None;
        }
        text.resize(text.len() * 4, 0);
    }
}

fn local_time(seconds: libc::time_t) -> Option<libc::tm> {
    // SAFETY: tm is plain data for which zeros are valid; localtime_r fills it or returns null.
    unsafe {
        let mut time: libc::tm = std::mem::zeroed();
        (!libc::localtime_r(&seconds, &mut time).is_null()).then_some(time)
    }
}

/// Python formats %f itself, and a time without a zone has empty %z and %Z.
fn without_python_only(format: &str, micros: u32) -> String {
    let mut out = String::new();
    let mut rest = format.chars();
    while let Some(character) = rest.next() {
        if character != '%' {
            out.push(character);
            continue;
        }
        match rest.next() {
            Some('f') => out.push_str(&format!("{micros:06}")),
            Some('z' | 'Z') => {}
            Some(other) => out.extend(['%', other]),
            None => out.push('%'),
        }
    }
    out
}
