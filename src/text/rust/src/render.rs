//! One chat template, compiled once and rendered as transformers renders it. Immutable after
//! creation; any thread. It never reads a file or a clock: the moment comes with the input.

use crate::abi::Failure;
use crate::arguments::{parse, to_value};
use crate::messages::{forms_of, normalise, ArgumentForm, ContentForm, Forms};
use crate::{clock, methods, numbers, python_json, tests_of_jinja};
use minijinja::syntax::SyntaxConfig;
use minijinja::{escape_formatter, AutoEscape, Environment, Error, ErrorKind, UndefinedBehavior, Value};
use serde_json::Value as Json;

const NAME: &str = "chat_template";

/// Fields of the input that a caller must not also pass as template arguments.
const RESERVED: [&str; 5] =
    ["messages", "tools", "add_generation_prompt", "continue_final_message", "strftime_now"];

pub struct ChatInput<'a> {
    pub messages_json: &'a str,
    pub tools_json: &'a str,
    pub kwargs_json: &'a str,
    pub add_generation_prompt: bool,
    pub now_unix_seconds: f64,
}

pub struct Template {
    environment: Environment<'static>,
    special_tokens: Vec<(String, Value)>,
    forms: Forms,
}

/// What a template says through raise_exception.
#[derive(Debug)]
struct Raised(String);

impl std::fmt::Display for Raised {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for Raised {}

impl Template {
    /// special_tokens_json: an object of name to text, which the template sees as variables.
    pub fn new(source: &str, special_tokens_json: &str) -> Result<Self, Failure> {
        let special_tokens = match parse(special_tokens_json, "the special tokens")? {
            Some(Json::Object(fields)) => {
                fields.iter().map(|(name, text)| (name.clone(), to_value(text))).collect()
            }
            _ => Vec::new(),
        };
        let environment = environment_with(source)
            .map_err(|error| Failure::new(format!("it is not a valid template: {error}")))?;
        let plain = Forms { content: ContentForm::Both, arguments: ArgumentForm::Objects };
        let mut template = Template { environment, special_tokens, forms: plain };
        template.forms = forms_of(|messages| template.render_values(messages, &[], true, 0.0).ok());
        Ok(template)
    }

    pub fn render(&self, input: &ChatInput) -> Result<String, Failure> {
        let messages = parse(input.messages_json, "messages")?
            .ok_or_else(|| Failure::new("messages is empty; it must be an array"))?;
        let messages = normalise(messages, self.forms)?;
        let mut variables = template_arguments(input.kwargs_json)?;
        variables.push(("tools".into(), tools(input.tools_json)?));
        self.render_values(&messages, &variables, input.add_generation_prompt, input.now_unix_seconds)
            .map_err(|error| Failure::new(explain(&error)))
    }

    fn render_values(
        &self,
        messages: &Json,
        variables: &[(String, Value)],
        add_generation_prompt: bool,
        now_unix_seconds: f64,
    ) -> Result<String, Error> {
        let strftime_now = move |format: &str| {
            clock::format_local(now_unix_seconds, format)
                .ok_or_else(|| Error::new(ErrorKind::InvalidOperation, "strftime_now: unusable format"))
        };
        let own = [
            ("documents".to_string(), Value::from(())),
            ("tools".to_string(), Value::from(())),
        ];
        let fixed = [
            ("messages".to_string(), to_value(messages)),
            ("add_generation_prompt".to_string(), Value::from(add_generation_prompt)),
            ("strftime_now".to_string(), Value::from_function(strftime_now)),
        ];
        let all = own.iter().chain(&self.special_tokens).chain(variables).chain(&fixed).cloned();
        self.environment.get_template(NAME)?.render(Value::from_pairs(all))
    }
}

fn environment_with(source: &str) -> Result<Environment<'static>, Error> {
    let mut environment = environment()?;
    environment.add_template_owned(NAME, with_generation_blocks(source))?;
    Ok(environment)
}

/// Like the environment that transformers makes: blocks eat their line's blanks and end, nothing
/// is escaped, what is undefined prints as nothing.
fn environment() -> Result<Environment<'static>, Error> {
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?;
    let mut environment = Environment::new();
    environment.set_syntax(syntax);
    environment.set_undefined_behavior(UndefinedBehavior::Lenient);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_unknown_method_callback(methods::call);
    environment.set_formatter(|out, state, value| match numbers::as_float(value) {
        Some(number) => Ok(out.write_str(&numbers::float_repr(number))?),
        None => escape_formatter(out, state, value),
    });
    environment.add_filter("tojson", python_json::tojson);
    environment.add_function("raise_exception", raise_exception);
    tests_of_jinja::register(&mut environment);
    Ok(environment)
}

fn raise_exception(message: &Value) -> Result<Value, Error> {
    let raised = Raised(message.to_string());
    Err(Error::new(ErrorKind::InvalidOperation, "raise_exception").with_source(raised))
}

/// `{% generation %}` marks what an assistant said, for masks that we take from the sampled ids;
/// it prints its body, in a scope of its own.
fn with_generation_blocks(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(end) = rest.find("%}") {
        let (head, tail) = rest.split_at(end + 2);
        let (before, tag) = head.split_at(head.rfind("{%").unwrap_or(head.len()));
        out.push_str(before);
        match tag.trim_matches(|c: char| "{%}-+".contains(c) || c.is_whitespace()) {
            "generation" => out.push_str(&tag.replace("generation", "with")),
            "endgeneration" => out.push_str(&tag.replace("endgeneration", "endwith")),
            _ => out.push_str(tag),
        }
        rest = tail;
    }
    out + rest
}

fn template_arguments(kwargs_json: &str) -> Result<Vec<(String, Value)>, Failure> {
    match parse(kwargs_json, "the template arguments")? {
        None => Ok(Vec::new()),
        Some(Json::Object(fields)) => {
            if let Some(name) = fields.keys().find(|name| RESERVED.contains(&name.as_str())) {
                return Err(Failure::new(format!("{name} cannot be passed as a template argument")));
            }
            Ok(fields.iter().map(|(name, value)| (name.clone(), to_value(value))).collect())
        }
        Some(_) => Err(Failure::new("the template arguments must be an object")),
    }
}

fn tools(tools_json: &str) -> Result<Value, Failure> {
    match parse(tools_json, "tools")? {
        None => Ok(Value::from(())),
        Some(tools @ Json::Array(_)) => Ok(to_value(&tools)),
        Some(_) => Err(Failure::new("tools must be an array")),
    }
}

/// The template's own words if it raised; otherwise what went wrong, and in which line.
fn explain(error: &Error) -> String {
    let mut cause: Option<&dyn std::error::Error> = Some(error);
    while let Some(current) = cause {
        if let Some(Raised(message)) = current.downcast_ref::<Raised>() {
            return format!("the chat template refuses this conversation: {message}");
        }
        cause = current.source();
    }
    format!("the chat template failed on this conversation: {error}")
}
