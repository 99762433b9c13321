//! The classes of characters that pre-tokenizers tell apart, taken from the library's own regular
//! expressions, so that both are of one version of Unicode. Immutable after creation.

use std::sync::OnceLock;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::SplitDelimiterBehavior;

pub const LETTER: u8 = 1; // \p{L}
pub const NUMBER: u8 = 2; // \p{N}
pub const BLANK: u8 = 4; // \s

const PAGE: usize = 256;

/// No character beyond is in any of the classes.
const LAST: char = '\u{3ffff}';

pub struct Classes {
    page_of: Vec<u16>, // character / PAGE -> index of its page
    pages: Vec<[u8; PAGE]>,
}

impl Classes {
    /// Made once (in about 50 ms) for all tokenizers. None if the library cannot read these expressions.
    pub fn shared() -> Option<&'static Self> {
        static CLASSES: OnceLock<Option<Classes>> = OnceLock::new();
        CLASSES.get_or_init(Self::new).as_ref()
    }

    fn new() -> Option<Self> {
        let mut flat = vec![0u8; char::MAX as usize + 1];
        let all: String = ('\0'..=LAST).collect();
        for (pattern, class) in [(r"\p{L}+", LETTER), (r"\p{N}+", NUMBER), (r"\s+", BLANK)] {
            let pattern = SplitPattern::Regex(pattern.to_string());
            let expression = Split::new(pattern, SplitDelimiterBehavior::Isolated, false).ok()?.regex;
            for (begin, end) in expression.find_iter(&all) {
                all[begin..end].chars().for_each(|character| flat[character as usize] |= class);
            }
        }
        let mut classes = Classes { page_of: Vec::new(), pages: Vec::new() };
        for page in flat.chunks_exact(PAGE) {
            let known = classes.pages.iter().position(|other| other == page);
            classes.page_of.push(known.unwrap_or(classes.pages.len()) as u16);
            if known.is_none() {
                classes.pages.push(page.try_into().ok()?);
            }
        }
        Some(classes)
    }

    pub fn of(&self, character: char) -> u8 {
        let index = character as usize;
        self.pages[self.page_of[index / PAGE] as usize][index % PAGE]
    }

    /// The class of the character at a byte offset, and how many bytes it has; None at the end.
    #[inline]
    pub fn at(&self, text: &str, offset: usize) -> Option<(u8, usize)> {
        let byte = *text.as_bytes().get(offset)?;
        if byte < 0x80 {
            return Some((self.pages[self.page_of[0] as usize][byte as usize], 1));
        }
        let character = text[offset..].chars().next()?;
        Some((self.of(character), character.len_utf8()))
    }

    /// Where the run of characters that `belongs` takes ends, from a byte offset on.
    #[inline]
    pub fn run(&self, text: &str, mut offset: usize, belongs: impl Fn(u8) -> bool) -> usize {
        while let Some((class, size)) = self.at(text, offset) {
            if !belongs(class) {
                break;
            }
            offset += size;
        }
        offset
    }
}
