//! The short way from text to ids for byte-level tokenizers (GPT-2's kind): words are found without
//! regular expressions where the expression is a known one, and encoded by the library once each, and a
//! message's text that many calls begin with is encoded once as a whole. The ids are the library's.
//! Immutable but for its caches; any thread.

use crate::abi::Failure;
use crate::added_tokens::AddedTokens;
use crate::characters::Classes;
use crate::composing::composed;
use crate::id_cache::{IdCache, Limits};
use crate::literals::Literals;
use crate::vocabulary::character_of_byte;
use crate::word_patterns::{end_of_gpt2_word, end_of_gpt4_word, GPT2, GPT4};
use std::borrow::Cow;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::{
    Model, ModelWrapper, NormalizerWrapper, PreTokenizerWrapper, SplitDelimiterBehavior, Tokenizer,
};

const WORDS: Limits = Limits { texts: 32768, bytes: 2 << 20, text_bytes: 64 };
/// What lies between two added tokens: system prompts, and the tasks of a group's rollouts.
const PARTS: Limits = Limits { texts: 4096, bytes: 16 << 20, text_bytes: 1 << 20 };

/// Cuts a text into words, or words into smaller ones.
enum Step {
    Digits,
    Gpt2,
    Gpt4 { digits_max: usize },
    Expression(Split),
}

pub struct ByteLevelEncoder {
    steps: Vec<Step>,
    classes: &'static Classes,
    composes: bool,
    character_of_byte: [char; 256],
    words: IdCache,
    parts: IdCache,
}

impl ByteLevelEncoder {
    /// None for a tokenizer of another kind.
    pub fn of(tokenizer: &Tokenizer) -> Option<Self> {
        let composes = match tokenizer.get_normalizer() {
            None => false,
            Some(NormalizerWrapper::NFC(_)) => true,
            Some(_) => return None,
        };
        match tokenizer.get_model() {
            ModelWrapper::BPE(model) if model.dropout.unwrap_or(0.0) == 0.0 => {}
            _ => return None,
        }
        Some(ByteLevelEncoder {
            steps: steps_of(tokenizer.get_pre_tokenizer()?)?,
            classes: Classes::shared()?,
            composes,
            character_of_byte: character_of_byte(),
            words: IdCache::new(WORDS),
            parts: IdCache::new(PARTS),
        })
    }

    pub fn encode(
        &self,
        tokenizer: &Tokenizer,
        added: &AddedTokens,
        text: &str,
        literals: Literals,
    ) -> Result<Vec<i32>, Failure> {
        let mut ids = Vec::with_capacity(text.len() / 3 + 1);
        let mut words = self.words.session();
        let mut parts = self.parts.session();
        let mut written = String::new();
        let model = tokenizer.get_model();
        let mut append_word = |word: &str, ids: &mut Vec<i32>| {
            words.append(word, ids, |ids| self.encode_word(model, word, &mut written, ids))
        };
        // Special tokens among the normalized ones are all meant, or none: see tokenizer.rs.
        let is_plain = literals.is_none() || !added.normalized.has_special();
        let mut append_part = |part: &str, ids: &mut Vec<i32>| -> Result<(), Failure> {
            let part = self.normalized(tokenizer, part)?;
            for inner in added.normalized.split(&part, |_| !literals.is_none()) {
                match inner.id {
                    Some(id) => ids.push(id as i32),
                    None => self.each_word(&self.steps, &part[inner.range], &mut |word| append_word(word, ids))?,
                }
            }
            Ok(())
        };
        for piece in added.raw.split(text, |range| literals.touch(&range)) {
            let part = &text[piece.range];
            match piece.id {
                Some(id) => ids.push(id as i32),
                None if is_plain => parts.append(part, &mut ids, |ids| append_part(part, ids))?,
                None => append_part(part, &mut ids)?,
            }
        }
        words.finish();
        parts.finish();
        Ok(ids)
    }

    fn normalized<'a>(&self, tokenizer: &Tokenizer, text: &'a str) -> Result<Cow<'a, str>, Failure> {
        match tokenizer.get_normalizer() {
            Some(composer) if self.composes && !text.is_ascii() => composed(text, composer),
            _ => Ok(Cow::Borrowed(text)),
        }
    }

    fn encode_word(
        &self,
        model: &ModelWrapper,
        word: &str,
        written: &mut String,
        ids: &mut Vec<i32>,
    ) -> Result<(), Failure> {
        written.clear();
        written.extend(word.bytes().map(|byte| self.character_of_byte[byte as usize]));
        let tokens = model
            .tokenize(written)
            .map_err(|error| Failure::new(format!("the text could not be encoded: {error}")))?;
        ids.extend(tokens.iter().map(|token| token.id as i32));
        Ok(())
    }

    fn each_word(
        &self,
        steps: &[Step],
        text: &str,
        take: &mut dyn FnMut(&str) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let Some((step, finer)) = steps.split_first() else { return take(text) };
        let mut begin = 0;
        while begin < text.len() {
            let end = match step {
                Step::Digits => end_of_digit_or_rest(text, begin),
                Step::Gpt2 => end_of_gpt2_word(self.classes, text, begin),
                Step::Gpt4 { digits_max } => end_of_gpt4_word(self.classes, text, begin, *digits_max),
                Step::Expression(split) => return self.each_match(split, finer, text, take),
            };
            self.each_word(finer, &text[begin..end], take)?;
            begin = end;
        }
        Ok(())
    }

    fn each_match(
        &self,
        split: &Split,
        finer: &[Step],
        text: &str,
        take: &mut dyn FnMut(&str) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut done = 0;
        for (begin, end) in split.regex.find_iter(text).chain([(text.len(), text.len())]) {
            for part in [&text[done..begin], &text[begin..end]] {
                if !part.is_empty() {
                    self.each_word(finer, part, take)?;
                }
            }
            done = end;
        }
        Ok(())
    }
}

fn end_of_digit_or_rest(text: &str, begin: usize) -> usize {
    let rest = &text[begin..];
    match rest.char_indices().find(|(_, character)| character.is_numeric()) {
        Some((0, digit)) => begin + digit.len_utf8(),
        Some((offset, _)) => begin + offset,
        None => text.len(),
    }
}

/// None if a step is of a kind that is not known here, or the last does not make bytes of the words.
fn steps_of(pre_tokenizer: &PreTokenizerWrapper) -> Option<Vec<Step>> {
    let parts = match pre_tokenizer {
        PreTokenizerWrapper::Sequence(sequence) => sequence.as_ref(),
        one => std::slice::from_ref(one),
    };
    let (last, others) = parts.split_last()?;
    let mut steps = others.iter().map(step_of).collect::<Option<Vec<_>>>()?;
    match last {
        PreTokenizerWrapper::ByteLevel(bytes) if !bytes.add_prefix_space => {
            steps.extend(bytes.use_regex.then_some(Step::Gpt2));
            Some(steps)
        }
        _ => None,
    }
}

fn step_of(pre_tokenizer: &PreTokenizerWrapper) -> Option<Step> {
    use SplitDelimiterBehavior::{Isolated, Removed};
    match pre_tokenizer {
        PreTokenizerWrapper::Digits(digits) if digits.individual_digits => Some(Step::Digits),
        PreTokenizerWrapper::Split(split) => match (known_step(&split.pattern), split.behavior, split.invert) {
            // Nothing lies between the matches of a known expression, so nothing would be removed.
            (Some(step), Isolated, _) | (Some(step), Removed, true) => Some(step),
            (None, Isolated, _) => Some(Step::Expression(split.clone())),
            _ => None,
        },
        _ => None,
    }
}

fn known_step(pattern: &SplitPattern) -> Option<Step> {
    let SplitPattern::Regex(expression) = pattern else { return None };
    if expression == GPT2 {
        return Some(Step::Gpt2);
    }
    let (_, digits_max) = GPT4.iter().find(|(known, _)| expression == known)?;
    Some(Step::Gpt4 { digits_max: *digits_max })
}
