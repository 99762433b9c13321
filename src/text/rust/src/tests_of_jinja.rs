//! Jinja's `is` tests where the engine's own differ: in Jinja a string and a mapping are sequences
//! too, and an undefined value counts as an empty one.

use minijinja::value::ValueKind;
use minijinja::{Environment, Value};

pub fn register(environment: &mut Environment<'_>) {
    environment.add_test("sequence", is_sequence);
    environment.add_test("iterable", is_iterable);
}

fn is_sequence(value: &Value) -> bool {
    matches!(
        value.kind(),
        ValueKind::Undefined | ValueKind::Seq | ValueKind::Map | ValueKind::String
    )
}

fn is_iterable(value: &Value) -> bool {
    is_sequence(value) || value.kind() == ValueKind::Iterable
}
