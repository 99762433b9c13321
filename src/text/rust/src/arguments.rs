//! JSON that came from outside, as template values: the order of keys is kept, and an integer
//! stays an integer.

use crate::abi::Failure;
use minijinja::Value;
use serde_json::Value as Json;

/// None for empty text.
pub fn parse(text: &str, what: &str) -> Result<Option<Json>, Failure> {
    if text.is_empty() {
        return Ok(None);
    }
    serde_json::from_str(text)
        .map(Some)
        .map_err(|error| Failure::new(format!("{what} is not valid JSON: {error}")))
}

pub fn to_value(json: &Json) -> Value {
    match json {
        Json::Null => Value::from(()),
        Json::Bool(flag) => Value::from(*flag),
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => items.iter().map(to_value).collect(),
        Json::Object(fields) => {
            Value::from_pairs(fields.iter().map(|(key, value)| (key.as_str(), to_value(value))))
        }
        Json::Number(number) => {
            if let Some(integer) = number.as_i64() {
                Value::from(integer)
            } else if let Some(integer) = number.as_u64() {
                Value::from(integer)
            } else {
                Value::from(number.as_f64().unwrap_or(f64::NAN))
            }
        }
    }
}
