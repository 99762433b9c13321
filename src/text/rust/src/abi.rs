//! What crosses the C boundary: owned buffers, error codes, and the guard that turns a failure or
//! a panic into a code and a message. Nothing here knows tokenizers or templates.

use std::panic::{catch_unwind, AssertUnwindSafe};

pub const OK: i32 = 0;
pub const INVALID: i32 = 1;
pub const INTERNAL: i32 = 2;

/// An operating error: the caller's input, or a model file, is wrong.
pub struct Failure(pub String);

impl Failure {
    pub fn new(message: impl Into<String>) -> Self {
        Failure(message.into())
    }
}

/// Bytes that this library allocated; given back with corisco_text_buffer_free.
#[repr(C)]
pub struct Buffer {
    pub data: *mut u8,
    pub size: usize,
}

/// Token ids that this library allocated; given back with corisco_text_ids_free.
#[repr(C)]
pub struct Ids {
    pub data: *mut i32,
    pub size: usize,
}

fn leak<T>(items: Vec<T>) -> (*mut T, usize) {
    let items = items.into_boxed_slice();
    let size = items.len();
    (Box::into_raw(items) as *mut T, size)
}

/// # Safety
/// data and size come from `leak`, once.
unsafe fn unleak<T>(data: *mut T, size: usize) {
    if !data.is_null() {
        drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(data, size)) });
    }
}

impl Buffer {
    pub fn from_text(text: String) -> Self {
        let (data, size) = leak(text.into_bytes());
        Buffer { data, size }
    }

    /// # Safety
    /// The buffer was made by `from_text` and is not used again.
    pub unsafe fn free(self) {
        unsafe { unleak(self.data, self.size) }
    }
}

impl Ids {
    pub fn from_vec(ids: Vec<i32>) -> Self {
        let (data, size) = leak(ids);
        Ids { data, size }
    }

    /// # Safety
    /// The ids were made by `from_vec` and are not used again.
    pub unsafe fn free(self) {
        unsafe { unleak(self.data, self.size) }
    }
}

/// # Safety
/// data points to size readable items, or size is 0.
pub unsafe fn items<'a, T>(data: *const T, size: usize) -> &'a [T] {
    if size == 0 {
        return &[];
    }
    unsafe { std::slice::from_raw_parts(data, size) }
}

/// # Safety
/// As for `items`.
pub unsafe fn bytes<'a>(data: *const u8, size: usize) -> &'a [u8] {
    unsafe { items(data, size) }
}

/// # Safety
/// As for `bytes`.
pub unsafe fn text<'a>(data: *const u8, size: usize, what: &str) -> Result<&'a str, Failure> {
    std::str::from_utf8(unsafe { bytes(data, size) }).map_err(|error| {
        Failure::new(format!("{what} is not valid UTF-8 at byte {}", error.valid_up_to()))
    })
}

/// Runs the body of one C function. A failure or a panic becomes a code, and its message goes to
/// `error`, which the caller frees.
///
/// # Safety
/// error points to writable storage for a Buffer.
pub unsafe fn guard(error: *mut Buffer, body: impl FnOnce() -> Result<(), Failure>) -> i32 {
    let (code, message) = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => return OK,
        Ok(Err(Failure(message))) => (INVALID, message),
        Err(panic) => (INTERNAL, format!("panic in the text library: {}", panic_text(&*panic))),
    };
    unsafe { error.write(Buffer::from_text(message)) };
    code
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    if let Some(text) = panic.downcast_ref::<&str>() {
        text
    } else if let Some(text) = panic.downcast_ref::<String>() {
        text
    } else {
        "without a message"
    }
}
