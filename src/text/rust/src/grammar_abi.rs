//! The C functions of grammars; their contract is in include/corisco_text.h.

use crate::abi::{self, guard, Buffer, Failure};
use crate::grammar::{Grammar, Kind, Matcher, Part, Vocabulary, VocabularyParts};

#[repr(C)]
pub struct CVocabularyParts {
    bytes: *const u8,
    num_bytes: usize,
    offsets: *const u32,
    is_special: *const u8,
    size: usize,
    end_ids: *const i32,
    num_end_ids: usize,
    strips_first_space: bool,
}

/// # Safety
/// parts' pointers hold their sizes' items; out and error point to writable storage.
#[no_mangle]
pub unsafe extern "C" fn corisco_text_grammar_vocabulary_new(
    parts: *const CVocabularyParts,
    out: *mut *mut Vocabulary,
    error: *mut Buffer,
) -> i32 {
    unsafe {
        guard(error, || {
            let parts = &*parts;
            let vocabulary = Vocabulary::new(&VocabularyParts {
                bytes: abi::items(parts.bytes, parts.num_bytes),
                offsets: abi::items(parts.offsets, parts.size + 1),
                is_special: abi::items(parts.is_special, parts.size),
                end_ids: abi::items(parts.end_ids, parts.num_end_ids),
                strips_first_space: parts.strips_first_space,
            })?;
            out.write(Box::into_raw(Box::new(vocabulary)));
            Ok(())
        })
    }
}

/// # Safety
/// The handle came from corisco_text_grammar_vocabulary_new and is not used again.
#[no_mangle]
pub unsafe extern "C" fn corisco_text_grammar_vocabulary_free(vocabulary: *mut Vocabulary) {
    if !vocabulary.is_null() {
        drop(unsafe { Box::from_raw(vocabulary) });
    }
}

#[repr(C)]
pub struct CGrammarPart {
    kind: i32,
    name: *const u8,
    name_size: usize,
    text: *const u8,
    text_size: usize,
}

unsafe fn part_of(part: &CGrammarPart) -> Result<Part<'_>, Failure> {
    let kind = match part.kind {
        0 => Kind::JsonSchema,
        1 => Kind::LenientJsonSchema,
        2 => Kind::Regex,
        3 => Kind::Lark,
        _ => return Err(Failure::new("no such kind of grammar")),
    };
    unsafe {
        Ok(Part {
            name: abi::text(part.name, part.name_size, "the grammar's name")?,
            kind,
            text: abi::text(part.text, part.text_size, "the grammar")?,
        })
    }
}

/// # Safety
/// The handle is alive; parts points to num_parts of them; out and error to writable storage.
#[no_mangle]
pub unsafe extern "C" fn corisco_text_grammar_new(
    vocabulary: *const Vocabulary,
    parts: *const CGrammarPart,
    num_parts: usize,
    out: *mut *mut Grammar,
    error: *mut Buffer,
) -> i32 {
    unsafe {
        guard(error, || {
            let parts = abi::items(parts, num_parts).iter().map(|part| part_of(part));
            let grammar = (*vocabulary).compile(&parts.collect::<Result<Vec<_>, _>>()?)?;
            out.write(Box::into_raw(Box::new(grammar)));
            Ok(())
        })
    }
}

/// # Safety
/// The handle came from corisco_text_grammar_new and is not used again.
#[no_mangle]
pub unsafe extern "C" fn corisco_text_grammar_free(grammar: *mut Grammar) {
    if !grammar.is_null() {
        drop(unsafe { Box::from_raw(grammar) });
    }
}

/// # Safety
/// The handle is alive; out and error point to writable storage.
#[no_mangle]
pub unsafe extern "C" fn corisco_text_matcher_new(
    grammar: *const Grammar,
    out: *mut *mut Matcher,
    error: *mut Buffer,
) -> i32 {
    unsafe {
        guard(error, || {
            out.write(Box::into_raw(Box::new((*grammar).start())));
            Ok(())
        })
    }
}

/// # Safety
/// The handle came from this library and is not used again.
#[no_mangle]
pub unsafe extern "C" fn corisco_text_matcher_free(matcher: *mut Matcher) {
    if !matcher.is_null() {
        drop(unsafe { Box::from_raw(matcher) });
    }
}

#[repr(C)]
pub struct CMask {
    words: *const u32,
    size: usize,
}

/// # Safety
/// The handle is alive and used by nobody else now; out and error point to writable storage.
#[no_mangle]
pub unsafe extern "C" fn corisco_text_matcher_mask(
    matcher: *mut Matcher,
    out: *mut CMask,
    error: *mut Buffer,
) -> i32 {
    unsafe {
        guard(error, || {
            let mask = (*matcher).mask()?;
            out.write(CMask { words: mask.as_ptr(), size: mask.len() });
            Ok(())
        })
    }
}

/// # Safety
/// As for corisco_text_matcher_mask.
#[no_mangle]
pub unsafe extern "C" fn corisco_text_matcher_consume(
    matcher: *mut Matcher,
    id: i32,
    is_complete: *mut bool,
    error: *mut Buffer,
) -> i32 {
    unsafe {
        guard(error, || {
            is_complete.write((*matcher).consume(id)?);
            Ok(())
        })
    }
}

/// # Safety
/// As for corisco_text_matcher_mask.
#[no_mangle]
pub unsafe extern "C" fn corisco_text_matcher_may_end(
    matcher: *mut Matcher,
    may_end: *mut bool,
    error: *mut Buffer,
) -> i32 {
    unsafe {
        guard(error, || {
            may_end.write((*matcher).may_end()?);
            Ok(())
        })
    }
}
