//! Grammars over a tokenizer's vocabulary, through llguidance: which tokens may come next.
//! A vocabulary and a compiled grammar are immutable; a matcher has one owner. Nothing is printed.

use crate::abi::Failure;
use llguidance::api::{GrammarWithLexer, TopLevelGrammar};
use llguidance::{Matcher as LibraryMatcher, ParserFactory};
use serde_json::{json, Value};
use std::sync::Arc;
use toktrie::{InferenceCapabilities, SimpleVob, TokEnv, TokRxInfo, TokTrie, TokenizerEnv};

/// Texts that tokens are classed by at load, so that a mask looks at whole classes. Those without "<" are
/// for text that goes on until a tag.
const SLICES: [&str; 5] = [
    r"[\x20\x0A\x0D\x09]+",
    r#"[^"\\\x00-\x1F\x7F<]{1,10}"#,
    r#"[^"\\\x00-\x1F\x7F<]{1,30}"#,
    r#"[^"\\\x00-\x1F\x7F<]+"#,
    r#"[^"\\\x00-\x1F\x7F]+"#,
];
/// Between JSON's parts: room for an indented line, but no end of blanks.
const JSON_BLANKS: &str = r"[\x20\x0A\x0D\x09]{1,40}";
const MESSAGE_CHARACTERS_MAX: usize = 600;

/// Token i stands for bytes[offsets[i]..offsets[i + 1]], or has this name if it is special.
pub struct VocabularyParts<'a> {
    pub bytes: &'a [u8],
    pub offsets: &'a [u32],
    pub is_special: &'a [u8],
    pub end_ids: &'a [i32],
    pub strips_first_space: bool,
}

pub struct Vocabulary {
    factory: ParserFactory,
    strips_first_space: bool,
    num_words: usize,
}

struct Environment(TokTrie);

impl TokenizerEnv for Environment {
    fn tok_trie(&self) -> &TokTrie {
        &self.0
    }
    fn tokenize_bytes(&self, bytes: &[u8]) -> Vec<toktrie::TokenId> {
        self.0.greedy_tokenize(bytes)
    }
    /// Every way to write what the grammar forces is allowed: which one is the model's choice.
    fn tokenize_is_canonical(&self) -> bool {
        false
    }
}

/// A text cannot begin with the byte that marks special tokens here, since UTF-8 does not have it; a token
/// that does is never allowed, as one without bytes.
fn word_of(bytes: &[u8], is_special: bool) -> Vec<u8> {
    let marker = TokTrie::SPECIAL_TOKEN_MARKER;
    match (is_special, bytes.first()) {
        (true, _) => [&[marker], bytes].concat(),
        (false, Some(first)) if *first == marker => Vec::new(),
        _ => bytes.to_vec(),
    }
}

impl Vocabulary {
    pub fn new(parts: &VocabularyParts) -> Result<Self, Failure> {
        let size = parts.is_special.len();
        let ranges = parts.offsets.windows(2).zip(parts.is_special);
        let words = ranges
            .map(|(range, is_special)| {
                let bytes = parts.bytes.get(range[0] as usize..range[1] as usize);
                bytes.map(|bytes| word_of(bytes, *is_special != 0))
            })
            .collect::<Option<Vec<_>>>()
            .filter(|words| words.len() == size)
            .ok_or_else(|| Failure::new("the vocabulary's offsets are not those of its bytes"))?;
        let end_ids: Vec<u32> = parts.end_ids.iter().map(|id| *id as u32).collect();
        if end_ids.is_empty() || end_ids.iter().any(|id| *id as usize >= size) {
            return Err(Failure::new("the model's end tokens are not in the vocabulary"));
        }
        let trie = TokTrie::from(&TokRxInfo::new(size as u32, end_ids[0]), &words);
        let environment: TokEnv = Arc::new(Environment(trie.with_eos_tokens(&end_ids)));
        let slices = SLICES.map(String::from);
        let mut factory = ParserFactory::new(&environment, InferenceCapabilities::default(), &slices)
            .map_err(|error| Failure::new(format!("the vocabulary cannot be used: {error}")))?;
        factory.quiet().limits_mut().verbose_errors = false;
        Ok(Vocabulary {
            factory,
            strips_first_space: parts.strips_first_space,
            num_words: size.div_ceil(32),
        })
    }

    /// The first part is what a reply must be; parts refer to others as @name.
    pub fn compile(&self, parts: &[Part]) -> Result<Grammar, Failure> {
        let first = parts.first().ok_or_else(|| Failure::new("the grammar is empty"))?;
        let mut grammars = Vec::new();
        if self.strips_first_space {
            let start = format!("start: \" \"? @{}", first.name);
            grammars.push(named("whole_reply", GrammarWithLexer::from_lark(start)));
        }
        for part in parts {
            grammars.push(named(part.name, part.grammar()?));
        }
        let parser = self.factory.create_parser(TopLevelGrammar { grammars, max_tokens: None });
        let matcher = LibraryMatcher::new(parser);
        match matcher.get_error() {
            Some(error) => Err(Failure::new(shortened(&error))),
            None => Ok(Grammar { matcher, num_words: self.num_words }),
        }
    }
}

/// The library appends the grammar's own text after its reason.
fn shortened(message: &str) -> String {
    let end = message.char_indices().nth(MESSAGE_CHARACTERS_MAX).map_or(message.len(), |(at, _)| at);
    message[..end].trim().to_string()
}

fn named(name: &str, mut grammar: GrammarWithLexer) -> GrammarWithLexer {
    grammar.name = Some(name.to_string());
    grammar
}

#[derive(Clone, Copy)]
pub enum Kind {
    JsonSchema,
    LenientJsonSchema,
    Regex,
    Lark,
}

pub struct Part<'a> {
    pub name: &'a str,
    pub kind: Kind,
    pub text: &'a str,
}

impl Part<'_> {
    fn grammar(&self) -> Result<GrammarWithLexer, Failure> {
        match self.kind {
            Kind::JsonSchema => Ok(GrammarWithLexer::from_json_schema(self.schema(false)?)),
            Kind::LenientJsonSchema => Ok(GrammarWithLexer::from_json_schema(self.schema(true)?)),
            Kind::Regex => Ok(GrammarWithLexer::from_regex(self.text)),
            Kind::Lark => Ok(GrammarWithLexer::from_lark(self.text.to_string())),
        }
    }

    /// With the options that the library reads from the schema itself; the client's own don't count.
    fn schema(&self, is_lenient: bool) -> Result<Value, Failure> {
        let schema: Value = serde_json::from_str(self.text)
            .map_err(|error| Failure::new(format!("the schema is not valid JSON: {error}")))?;
        let mut object = match schema {
            Value::Object(object) => object,
            Value::Bool(true) => serde_json::Map::new(),
            _ => return Err(Failure::new("the schema is no object")),
        };
        let options = json!({"whitespace_flexible": true, "whitespace_pattern": JSON_BLANKS, "lenient": is_lenient});
        object.insert("x-guidance".to_string(), options);
        Ok(Value::Object(object))
    }
}

pub struct Grammar {
    matcher: LibraryMatcher,             // that nothing has consumed
    num_words: usize,
}

impl Grammar {
    /// With caches of its own, so that matchers of one grammar never wait for each other.
    pub fn start(&self) -> Matcher {
        Matcher { matcher: self.matcher.deep_clone(), mask: SimpleVob::new(), num_words: self.num_words }
    }
}

pub struct Matcher {
    matcher: LibraryMatcher,
    mask: SimpleVob,
    num_words: usize,
}

/// What the C++ side does with the handles needs these.
const _: fn() = || {
    fn is_shared<T: Send + Sync>() {}
    fn is_handed_over<T: Send>() {}
    is_shared::<Vocabulary>();
    is_shared::<Grammar>();
    is_handed_over::<Matcher>();
};

fn cannot_go_on(error: impl std::fmt::Display) -> Failure {
    Failure::new(shortened(&error.to_string()))
}

impl Matcher {
    /// Bit i % 32 of word i / 32: token i may come next. End tokens may where the reply may end.
    pub fn mask(&mut self) -> Result<&[u32], Failure> {
        self.mask = self.matcher.compute_mask_or_eos().map_err(cannot_go_on)?;
        self.mask
            .as_slice()
            .get(..self.num_words)
            .ok_or_else(|| Failure::new("the mask is shorter than the vocabulary"))
    }

    /// Whether nothing but an end can follow.
    pub fn consume(&mut self, id: i32) -> Result<bool, Failure> {
        self.matcher.consume_token(id as u32).map_err(cannot_go_on)?;
        Ok(self.matcher.is_stopped())
    }

    pub fn may_end(&mut self) -> Result<bool, Failure> {
        if self.matcher.is_stopped() {
            return Ok(true);
        }
        self.matcher.is_accepting().map_err(cannot_go_on)
    }
}
