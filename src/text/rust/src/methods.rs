//! Python methods that templates call on strings and lists and that minijinja's own set lacks or
//! answers otherwise; everything else goes on to that set.

use minijinja::value::{from_args, Kwargs, ValueKind};
use minijinja::{Error, ErrorKind, State, Value};

pub fn call(state: &mut State, value: &Value, name: &str, args: &[Value]) -> Result<Value, Error> {
    let own = match (value.kind(), value.as_str()) {
        (_, Some(text)) => string_method(text, name, args)?,
        (ValueKind::Seq, _) => list_method(value, name, args)?,
        _ => None,
    };
    match own {
        Some(result) => Ok(result),
        None => minijinja_contrib::pycompat::unknown_method_callback(state, value, name, args),
    }
}

fn string_method(text: &str, name: &str, args: &[Value]) -> Result<Option<Value>, Error> {
    let result = match name {
        "split" => split_method(text, args, false)?,
        "rsplit" => split_method(text, args, true)?,
        "strip" => strip_method(text, args, true, true)?,
        "lstrip" => strip_method(text, args, true, false)?,
        "rstrip" => strip_method(text, args, false, true)?,
        "splitlines" => splitlines_method(text, args)?,
        "removeprefix" => {
            let (prefix,): (&str,) = from_args(args)?;
            Value::from(text.strip_prefix(prefix).unwrap_or(text))
        }
        "removesuffix" => {
            let (suffix,): (&str,) = from_args(args)?;
            Value::from(text.strip_suffix(suffix).unwrap_or(text))
        }
        "partition" => partition_method(text, args, false)?,
        "rpartition" => partition_method(text, args, true)?,
        "title" => Value::from(title(text)),
        "index" => {
            let (part,): (&str,) = from_args(args)?;
            let byte = text.find(part).ok_or_else(|| wrong("substring not found"))?;
            Value::from(text[..byte].chars().count())
        }
        "zfill" => {
            let (width,): (usize,) = from_args(args)?;
            Value::from(zero_filled(text, width)?)
        }
        "ljust" | "rjust" => {
            let (width, fill): (usize, Option<char>) = from_args(args)?;
            Value::from(justified(text, width, fill.unwrap_or(' '), name == "rjust")?)
        }
        _ => return Ok(None),
    };
    Ok(Some(result))
}

fn list_method(value: &Value, name: &str, args: &[Value]) -> Result<Option<Value>, Error> {
    if name != "index" {
        return Ok(None);
    }
    let (wanted,): (Value,) = from_args(args)?;
    let position = value.try_iter()?.position(|item| item == wanted);
    Ok(Some(Value::from(position.ok_or_else(|| wrong("value is not in the list"))?)))
}

fn wrong(message: &'static str) -> Error {
    Error::new(ErrorKind::InvalidOperation, message)
}

/// What Python's str.isspace counts: Unicode's blanks and the four information separators.
fn is_space(character: char) -> bool {
    character.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&character)
}

fn strip_method(text: &str, args: &[Value], at_start: bool, at_end: bool) -> Result<Value, Error> {
    let (characters,): (Option<&str>,) = from_args(args)?;
    let is_cut = |character: char| match characters {
        Some(characters) => characters.contains(character),
        None => is_space(character),
    };
    let mut rest = text;
    if at_start {
        rest = rest.trim_start_matches(is_cut);
    }
    if at_end {
        rest = rest.trim_end_matches(is_cut);
    }
    Ok(Value::from(rest))
}

fn split_method(text: &str, args: &[Value], from_right: bool) -> Result<Value, Error> {
    let (separator, limit, kwargs): (Option<String>, Option<i64>, Kwargs) = from_args(args)?;
    let separator = separator.or(kwargs.get("sep")?);
    let limit = limit.or(kwargs.get("maxsplit")?).unwrap_or(-1);
    kwargs.assert_all_used()?;
    let limit = usize::try_from(limit).unwrap_or(usize::MAX - 1);
    let parts = match separator.as_deref() {
        Some("") => return Err(wrong("empty separator")),
        Some(separator) => split_at(text, separator, limit, from_right),
        None if from_right => split_blanks_from_right(text, limit),
        None => split_blanks(text, limit),
    };
    Ok(parts.into_iter().map(Value::from).collect())
}

fn split_at<'a>(text: &'a str, separator: &str, limit: usize, from_right: bool) -> Vec<&'a str> {
    if !from_right {
        return text.splitn(limit + 1, separator).collect();
    }
    let mut parts: Vec<&str> = text.rsplitn(limit + 1, separator).collect();
    parts.reverse();
    parts
}

fn split_blanks(text: &str, limit: usize) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text.trim_start_matches(is_space);
    while !rest.is_empty() {
        if parts.len() == limit {
            parts.push(rest);
            break;
        }
        let end = rest.find(is_space).unwrap_or(rest.len());
        parts.push(&rest[..end]);
        rest = rest[end..].trim_start_matches(is_space);
    }
    parts
}

fn split_blanks_from_right(text: &str, limit: usize) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text.trim_end_matches(is_space);
    while !rest.is_empty() {
        if parts.len() == limit {
            parts.push(rest);
            break;
        }
        let blank = rest.char_indices().rev().find(|(_, character)| is_space(*character));
        let start = blank.map_or(0, |(byte, character)| byte + character.len_utf8());
        parts.push(&rest[start..]);
        rest = rest[..start].trim_end_matches(is_space);
    }
    parts.reverse();
    parts
}

/// Where Python's str.splitlines ends a line.
fn is_line_end(character: char) -> bool {
    matches!(character, '\n'..='\r' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn splitlines_method(text: &str, args: &[Value]) -> Result<Value, Error> {
    let (keep_ends, kwargs): (Option<bool>, Kwargs) = from_args(args)?;
    let keep_ends = keep_ends.or(kwargs.get("keepends")?).unwrap_or(false);
    kwargs.assert_all_used()?;
    let mut lines = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(is_line_end) {
        let tail = &rest[at..];
        let end_size = match tail.strip_prefix("\r\n") {
            Some(_) => 2,
            None => tail.chars().next().map_or(0, char::len_utf8),
        };
        lines.push(&rest[..if keep_ends { at + end_size } else { at }]);
        rest = &rest[at + end_size..];
    }
    if !rest.is_empty() {
        lines.push(rest);
    }
    Ok(lines.into_iter().map(Value::from).collect())
}

fn partition_method(text: &str, args: &[Value], from_right: bool) -> Result<Value, Error> {
    let (separator,): (&str,) = from_args(args)?;
    if separator.is_empty() {
        return Err(wrong("empty separator"));
    }
    let found = if from_right { text.rsplit_once(separator) } else { text.split_once(separator) };
    let parts = match found {
        Some((before, after)) => [before, separator, after],
        None if from_right => ["", "", text],
        None => [text, "", ""],
    };
    Ok(parts.into_iter().map(Value::from).collect())
}

/// str.title: a letter is a capital where no letter stands before it, so "they're" is "They'Re".
fn title(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut is_in_word = false;
    for character in text.chars() {
        if is_in_word {
            out.extend(character.to_lowercase());
        } else {
            out.extend(character.to_uppercase());
        }
        is_in_word = character.is_alphabetic();
    }
    out
}

fn padding(text: &str, width: usize, fill: char) -> Result<String, Error> {
    if width > 1 << 16 {
        return Err(wrong("width is above 65536"));
    }
    Ok(fill.to_string().repeat(width.saturating_sub(text.chars().count())))
}

fn zero_filled(text: &str, width: usize) -> Result<String, Error> {
    let sign_size = usize::from(text.starts_with(['+', '-']));
    let (sign, digits) = text.split_at(sign_size);
    Ok(format!("{sign}{}{digits}", padding(text, width, '0')?))
}

fn justified(text: &str, width: usize, fill: char, to_right: bool) -> Result<String, Error> {
    let padding = padding(text, width, fill)?;
    Ok(if to_right { padding + text } else { text.to_string() + &padding })
}
