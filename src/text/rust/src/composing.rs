//! Normalization form C where a text needs it: most text is in that form already, and what is not is
//! handed to the library in small segments.

use crate::abi::Failure;
use std::borrow::Cow;
use tokenizers::{NormalizedString, Normalizer, NormalizerWrapper};

/// A character that the form leaves as it is and never joins with one before it: a text may be cut in
/// front of it. Some of them, those that texts are made of.
fn is_settled(character: char) -> bool {
    matches!(character as u32,
        0..=0x2ff | 0x388..=0x482 | 0x48a..=0x590 | 0x1e00..=0x1eff
        | 0x2010..=0x2027 | 0x2030..=0x205f | 0x20a0..=0x20c0 | 0x2190..=0x2328 | 0x232b..=0x2adb
        | 0x3000..=0x3029 | 0x3041..=0x3098 | 0x309b..=0x30ff | 0x3400..=0x4dbf | 0x4e00..=0x9fff
        | 0xac00..=0xd7a3 | 0xfe00..=0xfe0f | 0xff00..=0xffef | 0x1f000..=0x1faff)
}

/// composer: the library's normalizer of this form.
pub fn composed<'a>(text: &'a str, composer: &NormalizerWrapper) -> Result<Cow<'a, str>, Failure> {
    let mut out = String::new();
    let (mut done, mut previous) = (0, 0);
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        if is_settled(character) {
            previous = at;
            continue;
        }
        while characters.next_if(|(_, next)| !is_settled(*next)).is_some() {}
        let end = characters.peek().map_or(text.len(), |(next, _)| *next);
        out.push_str(&text[done..previous]);
        let mut segment = NormalizedString::from(&text[previous..end]);
        composer
            .normalize(&mut segment)
            .map_err(|error| Failure::new(format!("the text could not be normalized: {error}")))?;
        out.push_str(segment.get());
        done = end;
        previous = end;
    }
    if done == 0 {
        return Ok(Cow::Borrowed(text));
    }
    out.push_str(&text[done..]);
    Ok(Cow::Owned(out))
}
