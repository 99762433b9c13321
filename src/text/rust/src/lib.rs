//! Tokenizer, chat templates and grammars behind a C ABI; the declarations that C++ sees, with their
//! contract, are in include/corisco_text.h and are kept equal to the signatures here by hand.
//! No global state but a constant table: every handle is independent, immutable after creation but
//! for a tokenizer's cache of words, usable from any thread.

mod abi;
mod added_tokens;
mod arguments;
mod byte_level;
mod characters;
mod clock;
mod composing;
mod grammar;
mod grammar_abi;
mod id_cache;
mod literals;
mod messages;
mod methods;
mod numbers;
mod python_json;
mod render;
mod tests_of_jinja;
mod tokenizer;
mod vocabulary;
mod word_patterns;

use abi::{guard, Buffer, Failure, Ids, INVALID, OK};
use literals::{Literals, TextRange};
use render::{ChatInput, Template};
use tokenizer::Tokenizer;
use vocabulary::VocabularyView;

/// # Safety
/// The buffer came from this library and is not used again.
#[no_mangle]
pub unsafe extern "C" fn corisco_text_buffer_free(buffer: Buffer) {
    unsafe { buffer.free() }
}

/// # Safety
/// The ids came from this library and are not used again.
#[no_mangle]
pub unsafe extern "C" fn corisco_text_ids_free(ids: Ids) {
    unsafe { ids.free() }
}

/// # Safety
/// json points to size bytes; out and error to writable storage.
#[no_mangle]
pub unsafe extern "C" fn corisco_text_tokenizer_new(
    json: *const u8,
    size: usize,
    out: *mut *mut Tokenizer,
    error: *mut Buffer,
) -> i32 {
    unsafe {
        guard(error, || {
            let tokenizer = Tokenizer::from_json(abi::bytes(json, size))?;
            out.write(Box::into_raw(Box::new(tokenizer)));
            Ok(())
        })
    }
}

/// # Safety
/// The handle came from corisco_text_tokenizer_new and is not used again.
#[no_mangle]
pub unsafe extern "C" fn corisco_text_tokenizer_free(tokenizer: *mut Tokenizer) {
    if !tokenizer.is_null() {
        drop(unsafe { Box::from_raw(tokenizer) });
    }
}

/// # Safety
/// The handle is alive, and stays so while the view is used.
#[no_mangle]
pub unsafe extern "C" fn corisco_text_tokenizer_vocabulary(
    tokenizer: *const Tokenizer,
) -> VocabularyView {
    unsafe { (*tokenizer).vocabulary().view() }
}

/// # Safety
/// The handle is alive; text points to size bytes; out and error to writable storage.
#[no_mangle]
pub unsafe extern "C" fn corisco_text_tokenizer_encode(
    tokenizer: *const Tokenizer,
    text: *const u8,
    size: usize,
    with_special: bool,
    out: *mut Ids,
    error: *mut Buffer,
) -> i32 {
    unsafe {
        guard(error, || {
            let text = abi::text(text, size, "the text to encode")?;
            let literals = if with_special { Literals::These(&[]) } else { Literals::All };
            out.write(Ids::from_vec((*tokenizer).encode(text, literals)?));
            Ok(())
        })
    }
}

/// # Safety
/// As for corisco_text_tokenizer_encode; literals points to num_literals ranges.
#[no_mangle]
pub unsafe extern "C" fn corisco_text_tokenizer_encode_literals(
    tokenizer: *const Tokenizer,
    text: *const u8,
    size: usize,
    literals: *const TextRange,
    num_literals: usize,
    out: *mut Ids,
    error: *mut Buffer,
) -> i32 {
    unsafe {
        guard(error, || {
            let text = abi::text(text, size, "the text to encode")?;
            let literals = Literals::checked(abi::items(literals, num_literals), text.len())?;
            out.write(Ids::from_vec((*tokenizer).encode(text, literals)?));
            Ok(())
        })
    }
}

/// # Safety
/// The handle is alive; the ids are freed with corisco_text_ids_free.
#[no_mangle]
pub unsafe extern "C" fn corisco_text_tokenizer_own_prefix(tokenizer: *const Tokenizer) -> Ids {
    Ids::from_vec(unsafe { (*tokenizer).own_prefix().to_vec() })
}

/// # Safety
/// The handle is alive; token points to size bytes; out to writable storage.
#[no_mangle]
pub unsafe extern "C" fn corisco_text_tokenizer_id_of(
    tokenizer: *const Tokenizer,
    token: *const u8,
    size: usize,
    out: *mut i32,
) -> i32 {
    let found = unsafe { abi::text(token, size, "the token") }
        .ok()
        .and_then(|token| unsafe { (*tokenizer).id_of(token) });
    match found {
        Some(id) => {
            unsafe { out.write(id) };
            OK
        }
        None => INVALID,
    }
}

/// # Safety
/// source and special_tokens_json point to their sizes' bytes; out and error to writable storage.
#[no_mangle]
pub unsafe extern "C" fn corisco_text_template_new(
    source: *const u8,
    source_size: usize,
    special_tokens_json: *const u8,
    special_tokens_size: usize,
    out: *mut *mut Template,
    error: *mut Buffer,
) -> i32 {
    unsafe {
        guard(error, || {
            let source = abi::text(source, source_size, "the chat template")?;
            let special = abi::text(special_tokens_json, special_tokens_size, "special tokens")?;
            out.write(Box::into_raw(Box::new(Template::new(source, special)?)));
            Ok(())
        })
    }
}

/// # Safety
/// The handle came from corisco_text_template_new and is not used again.
#[no_mangle]
pub unsafe extern "C" fn corisco_text_template_free(template: *mut Template) {
    if !template.is_null() {
        drop(unsafe { Box::from_raw(template) });
    }
}

/// The C form of `ChatInput`: borrowed text, empty for none.
#[repr(C)]
pub struct CChatInput {
    messages_json: *const u8,
    messages_size: usize,
    tools_json: *const u8,
    tools_size: usize,
    kwargs_json: *const u8,
    kwargs_size: usize,
    add_generation_prompt: bool,
    now_unix_seconds: f64,
}

/// # Safety
/// The handle is alive; input's pointers hold their sizes' bytes; out and error are writable.
#[no_mangle]
pub unsafe extern "C" fn corisco_text_template_render(
    template: *const Template,
    input: *const CChatInput,
    out: *mut Buffer,
    error: *mut Buffer,
) -> i32 {
    unsafe {
        guard(error, || {
            let input = chat_input(&*input)?;
            out.write(Buffer::from_text((*template).render(&input)?));
            Ok(())
        })
    }
}

unsafe fn chat_input(input: &CChatInput) -> Result<ChatInput<'_>, Failure> {
    unsafe {
        Ok(ChatInput {
            messages_json: abi::text(input.messages_json, input.messages_size, "messages")?,
            tools_json: abi::text(input.tools_json, input.tools_size, "tools")?,
            kwargs_json: abi::text(input.kwargs_json, input.kwargs_size, "template arguments")?,
            add_generation_prompt: input.add_generation_prompt,
            now_unix_seconds: input.now_unix_seconds,
        })
    }
}
