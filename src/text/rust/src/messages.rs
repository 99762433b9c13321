//! Messages as the OpenAI API has them, in the form that one template reads: no nulls, tool
//! arguments as objects, text parts joined where the template takes strings only.

use crate::abi::Failure;
use serde_json::{json, Map, Value};

/// How a template reads the content of a message.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum ContentForm {
    Strings,
    Parts,
    Both,
}

/// How a template reads the arguments of a tool call.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum ArgumentForm {
    Objects,
    Strings,
}

#[derive(Clone, Copy, Debug)]
pub struct Forms {
    pub content: ContentForm,
    pub arguments: ArgumentForm,
}

/// The names under which clients send a model's reasoning; templates read the first.
const REASONING_FIELDS: [&str; 3] = ["reasoning_content", "thinking", "reasoning"];

pub fn normalise(messages: Value, forms: Forms) -> Result<Value, Failure> {
    let Value::Array(messages) = messages else {
        return Err(Failure::new("messages must be an array of objects"));
    };
    let messages = messages.into_iter().enumerate().map(|(index, message)| match message {
        Value::Object(message) => normalise_message(index, message, forms),
        _ => Err(Failure::new(format!("messages[{index}] must be an object"))),
    });
    Ok(Value::Array(messages.collect::<Result<_, _>>()?))
}

fn normalise_message(
    index: usize,
    mut message: Map<String, Value>,
    forms: Forms,
) -> Result<Value, Failure> {
    if let Some(content @ Value::Null) = message.get_mut("content") {
        *content = json!("");
    } else if message.get("role") == Some(&json!("assistant")) && !message.contains_key("content") {
        message.insert("content".into(), json!(""));
    }
    message.retain(|_, value| !value.is_null());
    if let Some(content) = message.get_mut("content") {
        *content = normalise_content(index, content.take(), forms.content)?;
    }
    if let Some(Value::Array(tool_calls)) = message.get_mut("tool_calls") {
        tool_calls.iter_mut().for_each(|call| normalise_tool_call(call, forms.arguments));
    }
    name_reasoning(&mut message);
    Ok(Value::Object(message))
}

fn normalise_content(index: usize, content: Value, form: ContentForm) -> Result<Value, Failure> {
    match (content, form) {
        (Value::Array(parts), ContentForm::Strings) => join_parts(index, &parts).map(Value::String),
        (Value::String(text), ContentForm::Parts) => Ok(json!([{"type": "text", "text": text}])),
        (content, _) => Ok(content),
    }
}

/// Parts become lines of one text.
fn join_parts(index: usize, parts: &[Value]) -> Result<String, Failure> {
    let texts = parts.iter().map(|part| match (part, part["text"].as_str()) {
        (Value::String(text), _) => Ok(text.as_str()),
        (_, Some(text)) => Ok(text),
        _ => Err(Failure::new(format!(
            "messages[{index}].content has a part of type {}; this model's chat template takes text only",
            part["type"]
        ))),
    });
    Ok(texts.collect::<Result<Vec<_>, _>>()?.join("\n"))
}

fn normalise_tool_call(call: &mut Value, form: ArgumentForm) {
    let function = if call["function"].is_object() { &mut call["function"] } else { call };
    let Some(arguments) = function.get_mut("arguments") else { return };
    match (&*arguments, form) {
        (Value::String(text), ArgumentForm::Objects) if text.trim().is_empty() => *arguments = json!({}),
        (Value::String(text), ArgumentForm::Objects) => {
            if let Ok(object @ Value::Object(_)) = serde_json::from_str(text) {
                *arguments = object;
            }
        }
        (Value::Object(_), ArgumentForm::Strings) => *arguments = json!(arguments.to_string()),
        _ => {}
    }
}

fn name_reasoning(message: &mut Map<String, Value>) {
    let reasoning = REASONING_FIELDS.iter().find_map(|name| message.get(*name)).cloned();
    if let Some(reasoning) = reasoning {
        message.entry("thinking").or_insert_with(|| reasoning.clone());
        message.insert("reasoning_content".into(), reasoning);
    }
}

const PROBE_TEXT: &str = "corisco probe text";
const PROBE_VALUE: &str = "corisco probe value";

/// Finds out how a template reads content and arguments by rendering small conversations.
pub fn forms_of(render: impl Fn(&Value) -> Option<String>) -> Forms {
    let shows = |content: Value| {
        render(&json!([{"role": "user", "content": content}])).filter(|out| out.contains(PROBE_TEXT))
    };
    let takes_strings = shows(json!(PROBE_TEXT)).is_some();
    // A list that is printed as a whole shows its keys as well.
    let takes_parts = shows(json!([{"type": "text", "text": PROBE_TEXT}]))
        .is_some_and(|out| !out.contains("'type'") && !out.contains("\"type\""));
    let content = match (takes_strings, takes_parts) {
        (true, true) => ContentForm::Both,
        (false, true) => ContentForm::Parts,
        _ => ContentForm::Strings,
    };
    let shows_arguments = |arguments: Value| {
        render(&probe_tool_call(arguments, content)).filter(|out| out.contains(PROBE_VALUE))
    };
    let takes_objects = shows_arguments(json!({"probe": PROBE_VALUE}))
        .is_some_and(|out| !out.contains("{'probe'"));
    let takes_text = || shows_arguments(json!(json!({"probe": PROBE_VALUE}).to_string())).is_some();
    let arguments = if !takes_objects && takes_text() {
        ArgumentForm::Strings
    } else {
        ArgumentForm::Objects
    };
    Forms { content, arguments }
}

/// The id has nine letters and digits, which is what the strictest templates ask for.
fn probe_tool_call(arguments: Value, content: ContentForm) -> Value {
    let text = |text: &str| match content {
        ContentForm::Parts => json!([{"type": "text", "text": text}]),
        _ => json!(text),
    };
    let call = json!({"id": "probe0001", "type": "function",
                      "function": {"name": "probe", "arguments": arguments}});
    json!([
        {"role": "user", "content": text(PROBE_TEXT)},
        {"role": "assistant", "content": text(""), "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "probe0001", "name": "probe", "content": text(PROBE_TEXT)},
    ])
}
