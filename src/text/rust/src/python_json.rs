//! The filter tojson as transformers defines it: Python's json.dumps with ensure_ascii off, keys in
//! insertion order, ", " and ": " between items, and the keyword arguments that templates pass.

use crate::numbers::{as_float, float_repr};
use minijinja::value::{from_args, Kwargs, Rest, ValueKind, ValueOrKwargs};
use minijinja::{Error, ErrorKind, Value};

struct Style {
    ensure_ascii: bool,
    indent: Option<String>,
    item_separator: String,
    key_separator: String,
    sort_keys: bool,
}

/// tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False)
pub fn tojson(value: &Value, options: Rest<ValueOrKwargs>) -> Result<Value, Error> {
    type Options = (Option<bool>, Option<Value>, Option<Value>, Option<bool>, Kwargs);
    let options = options.into_values();
    let (ensure_ascii, indent, separators, sort_keys, kwargs): Options = from_args(&options)?;
    let ensure_ascii = either(ensure_ascii, kwargs.get("ensure_ascii")?);
    let sort_keys = either(sort_keys, kwargs.get("sort_keys")?);
    let indent = indent_text(either(indent, kwargs.get("indent")?))?;
    let separators = either(separators, kwargs.get("separators")?);
    kwargs.assert_all_used()?;
    let (item_separator, key_separator) = separator_texts(separators, indent.is_some())?;
    let style = Style {
        ensure_ascii: ensure_ascii.unwrap_or(false),
        indent,
        item_separator,
        key_separator,
        sort_keys: sort_keys.unwrap_or(false),
    };
    let mut out = String::new();
    write(value, &style, 0, &mut out)?;
    Ok(Value::from(out))
}

fn either<T>(positional: Option<T>, keyword: Option<T>) -> Option<T> {
    positional.or(keyword)
}

fn wrong(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidOperation, format!("tojson: {}", message.into()))
}

fn indent_text(indent: Option<Value>) -> Result<Option<String>, Error> {
    let Some(indent) = indent.filter(|indent| !indent.is_none()) else {
        return Ok(None);
    };
    if let Some(text) = indent.as_str() {
        return Ok(Some(text.to_string()));
    }
    match indent.as_i64() {
        Some(blanks) if blanks <= 64 => Ok(Some(" ".repeat(blanks.max(0) as usize))),
        _ => Err(wrong("indent must be a string or a number up to 64")),
    }
}

fn separator_texts(separators: Option<Value>, is_indented: bool) -> Result<(String, String), Error> {
    let Some(separators) = separators.filter(|separators| !separators.is_none()) else {
        let item = if is_indented { "," } else { ", " };
        return Ok((item.to_string(), ": ".to_string()));
    };
    let items: Vec<Value> = separators.try_iter()?.collect();
    match items.as_slice() {
        [item, key] => match (item.as_str(), key.as_str()) {
            (Some(item), Some(key)) => Ok((item.to_string(), key.to_string())),
            _ => Err(wrong("separators must be two strings")),
        },
        _ => Err(wrong("separators must be two strings")),
    }
}

fn write(value: &Value, style: &Style, depth: usize, out: &mut String) -> Result<(), Error> {
    match value.kind() {
        ValueKind::None => out.push_str("null"),
        ValueKind::Bool => out.push_str(if value.is_true() { "true" } else { "false" }),
        ValueKind::Number => out.push_str(&number_text(value)),
        ValueKind::String => write_string(value.as_str().unwrap_or_default(), style, out),
        ValueKind::Seq | ValueKind::Iterable => write_list(value, style, depth, out)?,
        ValueKind::Map => write_map(value, style, depth, out)?,
        kind => return Err(wrong(format!("a value of type {kind} is not JSON serializable"))),
    }
    Ok(())
}

fn number_text(value: &Value) -> String {
    match as_float(value) {
        None => value.to_string(),
        Some(number) if number.is_nan() => "NaN".into(),
        Some(number) if number.is_infinite() => {
            if number > 0.0 { "Infinity".into() } else { "-Infinity".into() }
        }
        Some(number) => float_repr(number),
    }
}

fn write_list(value: &Value, style: &Style, depth: usize, out: &mut String) -> Result<(), Error> {
    let items: Vec<Value> = value.try_iter()?.collect();
    if items.is_empty() {
        out.push_str("[]");
        return Ok(());
    }
    out.push('[');
    for (index, item) in items.iter().enumerate() {
        start_item(index, style, depth + 1, out);
        write(item, style, depth + 1, out)?;
    }
    start_line(style, depth, out);
    out.push(']');
    Ok(())
}

fn write_map(value: &Value, style: &Style, depth: usize, out: &mut String) -> Result<(), Error> {
    let mut fields = Vec::new();
    for key in value.try_iter()? {
        let text = key_text(&key)?;
        fields.push((text, value.get_item(&key)?));
    }
    if style.sort_keys {
        fields.sort_by(|left, right| left.0.cmp(&right.0));
    }
    if fields.is_empty() {
        out.push_str("{}");
        return Ok(());
    }
    out.push('{');
    for (index, (key, item)) in fields.iter().enumerate() {
        start_item(index, style, depth + 1, out);
        write_string(key, style, out);
        out.push_str(&style.key_separator);
        write(item, style, depth + 1, out)?;
    }
    start_line(style, depth, out);
    out.push('}');
    Ok(())
}

fn key_text(key: &Value) -> Result<String, Error> {
    match key.kind() {
        ValueKind::String => Ok(key.as_str().unwrap_or_default().to_string()),
        ValueKind::None => Ok("null".into()),
        ValueKind::Bool => Ok(if key.is_true() { "true" } else { "false" }.into()),
        ValueKind::Number => Ok(number_text(key)),
        kind => Err(wrong(format!("a key of type {kind} is not JSON serializable"))),
    }
}

fn start_item(index: usize, style: &Style, depth: usize, out: &mut String) {
    if index > 0 {
        out.push_str(&style.item_separator);
    }
    start_line(style, depth, out);
}

fn start_line(style: &Style, depth: usize, out: &mut String) {
    if let Some(indent) = &style.indent {
        out.push('\n');
        for _ in 0..depth {
            out.push_str(indent);
        }
    }
}

fn write_string(text: &str, style: &Style, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            control if control < ' ' => write_escape(control, out),
            other if style.ensure_ascii && !(' '..='~').contains(&other) => write_escape(other, out),
            other => out.push(other),
        }
    }
    out.push('"');
}

fn write_escape(character: char, out: &mut String) {
    let mut units = [0u16; 2];
    for unit in character.encode_utf16(&mut units) {
        out.push_str(&format!("\\u{unit:04x}"));
    }
}
