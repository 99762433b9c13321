//! One tokenizer.json: text to ids, with or without recognising special tokens in the text.
//! Immutable but for a cache of words; any thread. Never truncates, pads or adds tokens of its own.

use crate::abi::Failure;
use crate::added_tokens::{AddedTokens, Finder};
use crate::byte_level::ByteLevelEncoder;
use crate::literals::Literals;
use crate::vocabulary::Vocabulary;
use tokenizers::tokenizer::pre_tokenizer::{OffsetType, PreTokenizedString, Split};
use tokenizers::tokenizer::normalizer::Range;
use tokenizers::{Model, NormalizedString, Normalizer, PreTokenizer, Token};

pub struct Tokenizer {
    library: tokenizers::Tokenizer,
    added: AddedTokens,
    byte_level: Option<ByteLevelEncoder>,
    vocabulary: Vocabulary,
    own_prefix: Vec<i32>,
}

impl Tokenizer {
    pub fn from_json(json: &[u8]) -> Result<Self, Failure> {
        let mut library = tokenizers::Tokenizer::from_bytes(json)
            .map_err(|error| Failure::new(format!("it is not a tokenizer that can be read: {error}")))?;
        library.with_padding(None);
        library
            .with_truncation(None)
            .map_err(|error| Failure::new(format!("its truncation cannot be turned off: {error}")))?;
        let vocabulary = Vocabulary::of(&library)?;
        let own_prefix = own_prefix_of(&library).unwrap_or_default();
        let added = AddedTokens::of(&library);
        let byte_level = ByteLevelEncoder::of(&library);
        Ok(Tokenizer { library, added, byte_level, vocabulary, own_prefix })
    }

    /// In the literal parts of the text special tokens are not recognised: the ids are those of any
    /// other text there, also across their borders.
    pub fn encode(&self, text: &str, literals: Literals) -> Result<Vec<i32>, Failure> {
        // Where the normalizer moved the text, the ranges would not say which part is which.
        let is_clear = !matches!(literals, Literals::These(ranges) if !ranges.is_empty())
            || !self.added.normalized.has_special();
        match &self.byte_level {
            Some(encoder) if is_clear => encoder.encode(&self.library, &self.added, text, literals),
            _ if literals.is_none() => ids_of(&self.library, text, false),
            _ => self.encode_by_steps(text, literals).map_err(not_encoded),
        }
    }

    /// The library's own steps, but for the special tokens that are literal.
    fn encode_by_steps(&self, text: &str, literals: Literals) -> tokenizers::Result<Vec<i32>> {
        let mut pieces = PreTokenizedString::from(text);
        pieces.split(|_, part| Ok(split_at(&self.added.raw, part, literals)))?;
        pieces.split(|_, mut part| {
            if let Some(normalizer) = self.library.get_normalizer() {
                normalizer.normalize(&mut part)?;
            }
            Ok(split_at(&self.added.normalized, part, literals))
        })?;
        if let Some(pre_tokenizer) = self.library.get_pre_tokenizer() {
            pre_tokenizer.pre_tokenize(&mut pieces)?;
        }
        pieces.tokenize(|part| self.library.get_model().tokenize(part.get()))?;
        let encoding = pieces.into_encoding(None, 0, OffsetType::None)?;
        Ok(encoding.get_ids().iter().map(|id| *id as i32).collect())
    }

    /// What the tokenizer's post-processor puts before a text, such as <s>.
    pub fn own_prefix(&self) -> &[i32] {
        &self.own_prefix
    }

    pub fn id_of(&self, token: &str) -> Option<i32> {
        self.library.token_to_id(token).map(|id| id as i32)
    }

    pub fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }
}

fn split_at(finder: &Finder, part: NormalizedString, literals: Literals) -> Vec<Split> {
    let slice = |range: std::ops::Range<usize>| part.slice(Range::Normalized(range));
    let is_literal = |range: std::ops::Range<usize>| {
        slice(range).is_some_and(|found| {
            let (begin, end) = found.offsets_original();
            literals.touch(&(begin..end))
        })
    };
    let pieces = finder.split(part.get(), is_literal).into_iter().filter_map(|piece| {
        let token = piece.id.map(|id| vec![Token::new(id, String::new(), (0, piece.range.len()))]);
        slice(piece.range).map(|piece| Split::from((piece, token)))
    });
    pieces.collect()
}

fn not_encoded(error: impl std::fmt::Display) -> Failure {
    Failure::new(format!("the text could not be encoded: {error}"))
}

fn ids_of(library: &tokenizers::Tokenizer, text: &str, adds_own: bool) -> Result<Vec<i32>, Failure> {
    let encoding = library.encode_fast(text, adds_own).map_err(not_encoded)?;
    Ok(encoding.get_ids().iter().map(|id| *id as i32).collect())
}

/// Fails where the vocabulary has no letter a.
fn own_prefix_of(library: &tokenizers::Tokenizer) -> Result<Vec<i32>, Failure> {
    let bare = ids_of(library, "a", false)?;
    let mut whole = ids_of(library, "a", true)?;
    let begin = whole.windows(bare.len().max(1)).position(|ids| ids == bare).unwrap_or(0);
    whole.truncate(begin);
    Ok(whole)
}
