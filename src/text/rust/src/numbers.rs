//! Numbers written as Python writes them: the shortest digits that read back the same, an exponent
//! of at least two digits outside 1e-4 to 1e16, and always a point or an exponent in a float.
//! Used by tojson and for what a template prints; a float inside a printed list, or joined by `~`,
//! is written by the engine, which differs in the exponent alone (1e16 for 1e+16).

use minijinja::value::ValueKind;
use minijinja::Value;

/// The value, if it is a float and not an integer.
pub fn as_float(value: &Value) -> Option<f64> {
    if value.kind() != ValueKind::Number || value.is_integer() {
        return None;
    }
    f64::try_from(value.clone()).ok()
}

/// repr(float): 100000.0, 1e+16, 1e-05, inf, nan.
pub fn float_repr(number: f64) -> String {
    if number.is_nan() {
        return "nan".into();
    }
    if number.is_infinite() {
        return if number > 0.0 { "inf".into() } else { "-inf".into() };
    }
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..16).contains(&exponent) {
        let plain = format!("{number}");
        return if plain.contains('.') { plain } else { plain + ".0" };
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}
