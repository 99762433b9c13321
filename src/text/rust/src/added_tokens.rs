//! The tokens that a tokenizer has beside its model's: finds them in a text as the library does, the
//! leftmost first and of those the longest, but for special ones where the text is meant literally.
//! Immutable after creation.

use std::ops::Range;
use tokenizers::{AddedToken, NormalizedString, Normalizer, NormalizerWrapper, Tokenizer};

pub struct AddedTokens {
    /// Matched against the text as it came.
    pub raw: Finder,
    /// Matched against what the normalizer made of the rest.
    pub normalized: Finder,
}

/// A part of a text: one added token, or what lies between two.
pub struct Piece {
    pub range: Range<usize>,
    pub id: Option<u32>,
}

impl AddedTokens {
    pub fn of(tokenizer: &Tokenizer) -> Self {
        let normalizer = tokenizer.get_normalizer();
        let mut tokens = AddedTokens { raw: Finder::new(), normalized: Finder::new() };
        for (id, token) in tokenizer.get_added_tokens_decoder() {
            if token.normalized {
                tokens.normalized.add(&normalized(&token.content, normalizer), id, &token);
            } else {
                tokens.raw.add(&token.content, id, &token);
            }
        }
        tokens
    }
}

fn normalized(text: &str, normalizer: Option<&NormalizerWrapper>) -> String {
    let mut string = NormalizedString::from(text);
    match normalizer.map(|normalizer| normalizer.normalize(&mut string)) {
        Some(Err(_)) => text.to_string(),
        _ => string.get().to_string(),
    }
}

#[derive(Default)]
struct Node {
    next: Vec<(u8, u32)>,
    entry: Option<u32>,
}

struct Entry {
    id: u32,
    size: usize,
    is_special: bool,
    is_single_word: bool,
    takes_left_blanks: bool,
    takes_right_blanks: bool,
}

pub struct Finder {
    nodes: Vec<Node>, // a tree of bytes from node 0
    entries: Vec<Entry>,
    begins_here: Box<[bool; 256]>,
}

impl Finder {
    fn new() -> Self {
        Finder { nodes: vec![Node::default()], entries: Vec::new(), begins_here: Box::new([false; 256]) }
    }

    fn add(&mut self, content: &str, id: u32, token: &AddedToken) {
        let mut at = 0;
        for byte in content.bytes() {
            at = match self.step(at, byte) {
                Some(next) => next,
                None => {
                    self.nodes.push(Node::default());
                    let next = self.nodes.len() - 1;
                    self.nodes[at].next.push((byte, next as u32));
                    next
                }
            };
        }
        let Some(first) = content.bytes().next() else { return };
        self.begins_here[first as usize] = true;
        self.nodes[at].entry = Some(self.entries.len() as u32);
        self.entries.push(Entry {
            id,
            size: content.len(),
            is_special: token.special,
            is_single_word: token.single_word,
            takes_left_blanks: token.lstrip,
            takes_right_blanks: token.rstrip,
        });
    }

    fn step(&self, node: usize, byte: u8) -> Option<usize> {
        let found = self.nodes[node].next.iter().find(|(key, _)| *key == byte);
        found.map(|(_, next)| *next as usize)
    }

    pub fn has_special(&self) -> bool {
        self.entries.iter().any(|entry| entry.is_special)
    }

    fn longest_at(&self, bytes: &[u8]) -> Option<&Entry> {
        let (mut node, mut longest) = (0, None);
        for byte in bytes {
            match self.step(node, *byte) {
                Some(next) => node = next,
                None => break,
            }
            longest = self.nodes[node].entry.or(longest);
        }
        longest.map(|index| &self.entries[index as usize])
    }

    /// Covers the text. is_literal: whether this range is meant as text, so that a special token there
    /// is none.
    pub fn split(&self, text: &str, is_literal: impl Fn(Range<usize>) -> bool) -> Vec<Piece> {
        let (mut pieces, mut done, mut at) = (Vec::new(), 0, 0);
        let bytes = text.as_bytes();
        while at < bytes.len() {
            let Some(skipped) = bytes[at..].iter().position(|byte| self.begins_here[*byte as usize]) else { break };
            at += skipped;
            let Some(entry) = self.longest_at(&bytes[at..]) else {
                at += 1;
                continue;
            };
            let found = at..at + entry.size;
            at = found.end;
            if entry.is_special && is_literal(found.clone()) || !entry.stands_free(text, &found) {
                continue;
            }
            let range = entry.with_blanks(text, found, done);
            if done < range.start {
                pieces.push(Piece { range: done..range.start, id: None });
            }
            done = range.end;
            pieces.push(Piece { range, id: Some(entry.id) });
        }
        if done < text.len() {
            pieces.push(Piece { range: done..text.len(), id: None });
        }
        pieces
    }
}

fn is_of_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

impl Entry {
    fn stands_free(&self, text: &str, found: &Range<usize>) -> bool {
        !self.is_single_word
            || !(text[..found.start].ends_with(is_of_word) || text[found.end..].starts_with(is_of_word))
    }

    /// Blanks before `done` belong to the token before.
    fn with_blanks(&self, text: &str, mut found: Range<usize>, done: usize) -> Range<usize> {
        if self.takes_left_blanks {
            found.start = text[..found.start].trim_end().len().max(done);
        }
        if self.takes_right_blanks {
            let rest = &text[found.end..];
            found.end += rest.len() - rest.trim_start().len();
        }
        found
    }
}
