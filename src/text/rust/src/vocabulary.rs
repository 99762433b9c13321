//! The bytes that each token stands for, worked out once from the tokenizer's decoder, so that
//! detokenising is a table look-up on the C++ side. Immutable after creation.
//!
//! Byte-level BPE writes each byte as one printable character (the alphabet of GPT-2);
//! SentencePiece style writes a blank as U+2581 and single bytes as tokens such as <0xE4>.

use crate::abi::Failure;
use serde_json::Value;
use tokenizers::Tokenizer;

/// Borrowed arrays over the whole vocabulary. Token i is bytes[offsets[i]..offsets[i + 1]];
/// for a special token these are its name.
#[repr(C)]
pub struct VocabularyView {
    pub bytes: *const u8,
    pub offsets: *const u32,
    pub is_special: *const u8,
    pub size: usize,
    pub strips_first_space: bool,
}

pub struct Vocabulary {
    bytes: Vec<u8>,
    offsets: Vec<u32>,
    is_special: Vec<u8>,
    strips_first_space: bool,
}

enum Alphabet {
    ByteLevel(Box<[Option<u8>]>),
    SentencePiece { blank: char, has_byte_tokens: bool },
}

impl Vocabulary {
    pub fn of(tokenizer: &Tokenizer) -> Result<Self, Failure> {
        let decoder = serde_json::to_value(tokenizer.get_decoder())
            .map_err(|error| Failure::new(format!("its decoder cannot be read: {error}")))?;
        let alphabet = Alphabet::of(&decoder)?;
        let added = tokenizer.get_added_tokens_decoder();
        let last = tokenizer.get_vocab(true).values().copied().max();
        let size = last.map_or(0, |id| id as usize + 1);
        let mut vocabulary = Vocabulary {
            bytes: Vec::new(),
            offsets: vec![0],
            is_special: vec![0; size],
            strips_first_space: strips_first_space(&decoder),
        };
        for id in 0..size as u32 {
            if let Some(token) = added.get(&id) {
                vocabulary.bytes.extend_from_slice(token.content.as_bytes());
                vocabulary.is_special[id as usize] = u8::from(token.special);
            } else if let Some(token) = tokenizer.id_to_token(id) {
                alphabet.append_bytes(&token, &mut vocabulary.bytes);
            }
            vocabulary.offsets.push(vocabulary.bytes.len() as u32);
        }
        Ok(vocabulary)
    }

    pub fn view(&self) -> VocabularyView {
        VocabularyView {
            bytes: self.bytes.as_ptr(),
            offsets: self.offsets.as_ptr(),
            is_special: self.is_special.as_ptr(),
            size: self.is_special.len(),
            strips_first_space: self.strips_first_space,
        }
    }
}

impl Alphabet {
    fn of(decoder: &Value) -> Result<Self, Failure> {
        let steps = steps(decoder);
        let find = |kind: &str| steps.iter().find(|step| step["type"] == kind);
        if find("ByteLevel").is_some() {
            return Ok(Alphabet::ByteLevel(byte_of_character()));
        }
        let has_byte_tokens = find("ByteFallback").is_some();
        if let Some(metaspace) = find("Metaspace") {
            let blank = metaspace["replacement"].as_str().and_then(|text| text.chars().next());
            return Ok(Alphabet::SentencePiece { blank: blank.unwrap_or('\u{2581}'), has_byte_tokens });
        }
        if let Some(replace) = steps.iter().find(|step| is_blank_replacement(step)) {
            let blank = replace["pattern"]["String"].as_str().and_then(|text| text.chars().next());
            return Ok(Alphabet::SentencePiece { blank: blank.unwrap_or('\u{2581}'), has_byte_tokens });
        }
        Err(Failure::new(format!(
            "its decoder ({}) is neither byte-level nor SentencePiece style, the two that causal \
             language models use",
            decoder["type"].as_str().unwrap_or("none")
        )))
    }

    fn append_bytes(&self, token: &str, out: &mut Vec<u8>) {
        match self {
            Alphabet::ByteLevel(table) => append_byte_level(table, token, out),
            Alphabet::SentencePiece { blank, has_byte_tokens } => {
                match byte_token(token).filter(|_| *has_byte_tokens) {
                    Some(byte) => out.push(byte),
                    None => out.extend_from_slice(token.replace(*blank, " ").as_bytes()),
                }
            }
        }
    }
}

/// A decoder is one step or a sequence of them.
fn steps(decoder: &Value) -> Vec<&Value> {
    match decoder["decoders"].as_array() {
        Some(decoders) => decoders.iter().flat_map(steps).collect(),
        None => vec![decoder],
    }
}

fn is_blank_replacement(step: &Value) -> bool {
    step["type"] == "Replace" && step["content"] == " " && step["pattern"]["String"].is_string()
}

/// SentencePiece puts a blank before the first word, and its decoders take one away again.
fn strips_first_space(decoder: &Value) -> bool {
    steps(decoder).iter().any(|step| match step["type"].as_str() {
        Some("Metaspace") => step["prepend_scheme"] != "never",
        Some("Strip") => step["content"] == " " && step["start"].as_u64().unwrap_or(0) > 0,
        _ => false,
    })
}

/// A token with a character outside the alphabet stands for its own text.
fn append_byte_level(table: &[Option<u8>], token: &str, out: &mut Vec<u8>) {
    let start = out.len();
    for character in token.chars() {
        match table.get(character as usize).copied().flatten() {
            Some(byte) => out.push(byte),
            None => {
                out.truncate(start);
                out.extend_from_slice(token.as_bytes());
                return;
            }
        }
    }
}

/// "<0xE4>" is the byte 0xE4.
fn byte_token(token: &str) -> Option<u8> {
    let digits = token.strip_prefix("<0x")?.strip_suffix('>')?;
    (digits.len() == 2).then(|| u8::from_str_radix(digits, 16).ok()).flatten()
}

/// GPT-2's alphabet: printable Latin-1 bytes are themselves; the other 68, in order, are the
/// characters from U+0100 on.
pub fn character_of_byte() -> [char; 256] {
    let mut next = 0x100;
    std::array::from_fn(|byte| {
        let is_printable = matches!(byte, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff);
        next += u32::from(!is_printable);
        let character = if is_printable { byte as u32 } else { next - 1 };
        char::from_u32(character).unwrap_or(char::REPLACEMENT_CHARACTER)
    })
}

fn byte_of_character() -> Box<[Option<u8>]> {
    let mut table = vec![None; 0x100 + 68];
    for (byte, character) in character_of_byte().into_iter().enumerate() {
        table[character as usize] = Some(byte as u8);
    }
    table.into_boxed_slice()
}
