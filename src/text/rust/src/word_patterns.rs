//! Where words end, for the two regular expressions that nearly all byte-level tokenizers use, read
//! without a regular expression: each function gives the end of the match that begins at an offset.
//! Every character belongs to some match, so a text is its matches in a row.

use crate::characters::{Classes, BLANK, LETTER, NUMBER};

macro_rules! gpt4 {
    ($digits:literal) => {
        concat!(
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|",
            $digits,
            r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
        )
    };
}

/// GPT-2's.
pub const GPT2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";

/// GPT-4's, with how many digits a word may have.
pub const GPT4: [(&str, usize); 2] = [(gpt4!(r"\p{N}"), 1), (gpt4!(r"\p{N}{1,3}"), 3)];

fn is_letter(class: u8) -> bool {
    class == LETTER
}
fn is_number(class: u8) -> bool {
    class == NUMBER
}
fn is_blank(class: u8) -> bool {
    class == BLANK
}
fn is_other(class: u8) -> bool {
    class == 0
}

pub fn end_of_gpt2_word(classes: &Classes, text: &str, begin: usize) -> usize {
    let bytes = text.as_bytes();
    if bytes[begin] == b'\'' {
        if let Some(size) = contraction(&bytes[begin + 1..]) {
            return begin + 1 + size;
        }
    }
    // One space may stand before letters, numbers or the rest.
    let first = begin + usize::from(bytes[begin] == b' ');
    match classes.at(text, first) {
        Some((LETTER, size)) => classes.run(text, first + size, is_letter),
        Some((NUMBER, size)) => classes.run(text, first + size, is_number),
        Some((0, size)) => classes.run(text, first + size, is_other),
        _ => end_of_blanks(text, begin, classes.run(text, begin, is_blank)),
    }
}

pub fn end_of_gpt4_word(classes: &Classes, text: &str, begin: usize, digits_max: usize) -> usize {
    let bytes = text.as_bytes();
    if bytes[begin] == b'\'' {
        if let Some(size) = contraction_in_any_case(&bytes[begin + 1..]) {
            return begin + 1 + size;
        }
    }
    let (class, size) = classes.at(text, begin).unwrap_or((0, 1));
    let second = begin + size;
    if class == LETTER {
        return classes.run(text, second, is_letter);
    }
    if class == NUMBER {
        return end_of_digits(classes, text, second, digits_max - 1);
    }
    if !is_line_end(bytes[begin]) {
        if let Some((LETTER, size)) = classes.at(text, second) {
            return classes.run(text, second + size, is_letter);
        }
    }
    let others = if bytes[begin] == b' ' { second } else { begin };
    let end = classes.run(text, others, is_other);
    if end > others {
        return end + bytes[end..].iter().take_while(|byte| is_line_end(**byte)).count();
    }
    let end = classes.run(text, begin, is_blank);
    match bytes[begin..end].iter().rposition(|byte| is_line_end(*byte)) {
        Some(last) => begin + last + 1,
        None => end_of_blanks(text, begin, end),
    }
}

fn is_line_end(byte: u8) -> bool {
    byte == b'\n' || byte == b'\r'
}

fn end_of_digits(classes: &Classes, text: &str, mut end: usize, more_max: usize) -> usize {
    for _ in 0..more_max {
        match classes.at(text, end) {
            Some((NUMBER, size)) => end += size,
            _ => break,
        }
    }
    end
}

/// The last blank before a word is left to it, unless it is the only one.
fn end_of_blanks(text: &str, begin: usize, end: usize) -> usize {
    if end == text.len() {
        return end;
    }
    let last = text[begin..end].char_indices().next_back().map_or(0, |(offset, _)| offset);
    if last == 0 {
        end
    } else {
        begin + last
    }
}

/// What may follow an apostrophe.
fn contraction(rest: &[u8]) -> Option<usize> {
    match rest {
        [b's' | b't' | b'm' | b'd', ..] => Some(1),
        [b'r' | b'v', b'e', ..] | [b'l', b'l', ..] => Some(2),
        _ => None,
    }
}

/// In any case; the long s is a case of s.
fn contraction_in_any_case(rest: &[u8]) -> Option<usize> {
    if rest.starts_with("\u{17f}".as_bytes()) {
        return Some(2);
    }
    let mut lower = [0; 2];
    for (to, from) in lower.iter_mut().zip(rest) {
        *to = from.to_ascii_lowercase();
    }
    contraction(&lower)
}
