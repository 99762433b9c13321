//! One tokenizer.json: text to ids, with or without recognising special tokens in the text.
//! Immutable after creation; any thread. Never truncates, pads or adds tokens of its own.

use crate::abi::Failure;
use crate::vocabulary::Vocabulary;

pub struct Tokenizer {
    with_special: tokenizers::Tokenizer,
    // The crate keeps the choice inside the tokenizer, so there are two of them.
    plain: tokenizers::Tokenizer,
    vocabulary: Vocabulary,
    own_prefix: Vec<i32>,
}

impl Tokenizer {
    pub fn from_json(json: &[u8]) -> Result<Self, Failure> {
        let mut with_special = tokenizers::Tokenizer::from_bytes(json)
            .map_err(|error| Failure::new(format!("it is not a tokenizer that can be read: {error}")))?;
        with_special.with_padding(None);
        with_special
            .with_truncation(None)
            .map_err(|error| Failure::new(format!("its truncation cannot be turned off: {error}")))?;
        let vocabulary = Vocabulary::of(&with_special)?;
        let own_prefix = own_prefix_of(&with_special).unwrap_or_default();
        let mut plain = with_special.clone();
        plain.set_encode_special_tokens(true);
        Ok(Tokenizer { with_special, plain, vocabulary, own_prefix })
    }

    pub fn encode(&self, text: &str, with_special: bool) -> Result<Vec<i32>, Failure> {
        let tokenizer = if with_special { &self.with_special } else { &self.plain };
        ids_of(tokenizer, text, false)
    }

    /// What the tokenizer's post-processor puts before a text, such as <s>.
    pub fn own_prefix(&self) -> &[i32] {
        &self.own_prefix
    }

    pub fn id_of(&self, token: &str) -> Option<i32> {
        self.with_special.token_to_id(token).map(|id| id as i32)
    }

    pub fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }
}

fn ids_of(tokenizer: &tokenizers::Tokenizer, text: &str, adds_own: bool) -> Result<Vec<i32>, Failure> {
    let encoding = tokenizer
        .encode_fast(text, adds_own)
        .map_err(|error| Failure::new(format!("the text could not be encoded: {error}")))?;
    Ok(encoding.get_ids().iter().map(|id| *id as i32).collect())
}

/// Fails where the vocabulary has no letter a.
fn own_prefix_of(tokenizer: &tokenizers::Tokenizer) -> Result<Vec<i32>, Failure> {
    let bare = ids_of(tokenizer, "a", false)?;
    let mut whole = ids_of(tokenizer, "a", true)?;
    let begin = whole.windows(bare.len().max(1)).position(|ids| ids == bare).unwrap_or(0);
    whole.truncate(begin);
    Ok(whole)
}
