//! What stands between the parentheses of `#[locked(…)]`.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::{
    Error, Expr, Ident, LitStr, Result, Token, parenthesized,
    parse::{Parse, ParseStream},
    token,
};

use crate::length;

/// The arguments, each as it is written and already known to make sense by itself.
pub(crate) struct Args {
    pub(crate) name: Option<LitStr>,
    pub(crate) key: Option<LitStr>,
    pub(crate) kind: Kind,
    /// Whether a busy lock is left to whoever has it.
    pub(crate) skips: bool,
    /// Whether it is done once per slot.
    pub(crate) once: bool,
    pub(crate) store: Option<Expr>,
    /// Calls of setters, to be put behind one another.
    pub(crate) setters: TokenStream,
}

/// Which kind of lock.
pub(crate) enum Kind {
    Reentrant,
    Mutex,
    Read,
    Write,
    Semaphore(Box<Expr>),
}

const KNOWN: &str = "name, key, kind, ttl, wait, max_hold, hold_at_least, grace, label, fair, \
     on_busy, once_per, store";
const KINDS: &str = "reentrant, mutex, read, write, semaphore(permits)";

impl Parse for Args {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut args = Self {
            name: None,
            key: None,
            kind: Kind::Reentrant,
            skips: false,
            once: false,
            store: None,
            setters: TokenStream::new(),
        };
        let mut seen: Vec<Ident> = Vec::new();
        while !input.is_empty() {
            if input.peek(LitStr) {
                let what = "name the argument: name = \"…\" for one lock, key = \"…{parameter}…\" for \
                     one per parameter";
                return Err(input.error(what));
            }
            let argument: Ident = input.parse()?;
            if seen.contains(&argument) {
                let what = format!("`{argument}` is given twice: remove one");
                return Err(Error::new(argument.span(), what));
            }
            args.take(&argument, input)?;
            seen.push(argument);
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        if args.once && !matches!(args.kind, Kind::Reentrant | Kind::Mutex) {
            let what = "once_per needs a mutex: leave `kind` out";
            return Err(Error::new(Span::call_site(), what));
        }
        if args.once {
            args.kind = Kind::Mutex;
        }
        if args.name.is_none() && args.key.is_none() {
            let what = "say which lock: #[locked(name = \"nightly\")] for one lock, or \
                 #[locked(key = \"order:{order_id}\")] for one per parameter";
            return Err(Error::new(Span::call_site(), what));
        }
        Ok(args)
    }
}

impl Args {
    fn take(&mut self, argument: &Ident, input: ParseStream<'_>) -> Result<()> {
        let word = argument.to_string();
        match word.as_str() {
            "name" => self.name = Some(fixed_name(text(argument, input)?)?),
            "key" => self.key = Some(text(argument, input)?),
            "kind" => self.kind = kind(argument, input)?,
            "wait" if is_endless(input) => {
                let _forever: Ident = value(argument, input)?;
                self.setters.extend(quote!(.wait(::core::time::Duration::MAX)));
            }
            "ttl" | "wait" | "max_hold" | "hold_at_least" | "grace" => {
                let length = length::parse(&word, &text(argument, input)?)?;
                self.setters.extend(quote!(.#argument(#length)));
            }
            "label" => {
                let label = text(argument, input)?;
                self.setters.extend(quote!(.label(#label)));
            }
            "fair" => {
                if input.peek(Token![=]) {
                    return Err(input.error("`fair` has no value: write it alone, or leave it out"));
                }
                self.setters.extend(quote!(.fair()));
            }
            "once_per" => {
                let length = length::parse(&word, &text(argument, input)?)?;
                self.setters.extend(quote!(.once_per(#length)));
                self.once = true;
            }
            "on_busy" => self.skips = on_busy(argument, input)?,
            "store" => self.store = Some(value(argument, input)?),
            _ => {
                let what = format!("#[locked] has no argument `{word}`: use {KNOWN}");
                return Err(Error::new(argument.span(), what));
            }
        }
        Ok(())
    }
}

fn is_endless(input: ParseStream<'_>) -> bool {
    let given = input.fork();
    given.parse::<Token![=]>().is_ok() && given.parse::<Ident>().is_ok_and(|word| word == "forever")
}

fn value<T: Parse>(argument: &Ident, input: ParseStream<'_>) -> Result<T> {
    if !input.peek(Token![=]) {
        let what = format!("`{argument}` needs a value: {argument} = …");
        return Err(Error::new(argument.span(), what));
    }
    input.parse::<Token![=]>()?;
    input.parse()
}

fn text(argument: &Ident, input: ParseStream<'_>) -> Result<LitStr> {
    let given: Expr = value(argument, input)?;
    if let Expr::Lit(literal) = &given
        && let syn::Lit::Str(text) = &literal.lit
    {
        return Ok(text.clone());
    }
    let example = match argument.to_string().as_str() {
        "name" => "nightly",
        "key" => "order:{order_id}",
        "label" => "worker-7",
        _ => "30s",
    };
    let what = format!("`{argument}` needs text in quotes, as in {argument} = \"{example}\"");
    Err(Error::new_spanned(given, what))
}

fn fixed_name(name: LitStr) -> Result<LitStr> {
    let text = name.value();
    let wrong = if text.is_empty() {
        "a lock's name cannot be empty: choose 1 to 512 bytes"
    } else if text.len() > 512 {
        "this name is too long: choose 1 to 512 bytes"
    } else if text.chars().any(char::is_control) {
        "a lock's name cannot have control characters: remove them"
    } else if text.contains('{') {
        "a name is the same for every call: write key = \"…\" to have parameters in it"
    } else {
        return Ok(name);
    };
    Err(Error::new(name.span(), wrong))
}

fn kind(argument: &Ident, input: ParseStream<'_>) -> Result<Kind> {
    let kind: Ident = value(argument, input)?;
    let permits = if input.peek(token::Paren) {
        let inside;
        parenthesized!(inside in input);
        Some(inside.parse::<Expr>()?)
    } else {
        None
    };
    match (kind.to_string().as_str(), permits) {
        ("reentrant", None) => Ok(Kind::Reentrant),
        ("mutex", None) => Ok(Kind::Mutex),
        ("read", None) => Ok(Kind::Read),
        ("write", None) => Ok(Kind::Write),
        ("semaphore", Some(permits)) => Ok(Kind::Semaphore(Box::new(permits))),
        ("semaphore", None) => {
            let what = "say how many may hold it at a time: kind = semaphore(3)";
            Err(Error::new(kind.span(), what))
        }
        ("reentrant" | "mutex" | "read" | "write", Some(permits)) => {
            let what = format!("`{kind}` has no permits: write kind = {kind}");
            Err(Error::new_spanned(permits, what))
        }
        (other, _) => {
            let what = format!("there is no kind of lock called `{other}`: use one of {KINDS}");
            Err(Error::new(kind.span(), what))
        }
    }
}

fn on_busy(argument: &Ident, input: ParseStream<'_>) -> Result<bool> {
    let choice: Ident = value(argument, input)?;
    match choice.to_string().as_str() {
        "error" => Ok(false),
        "skip" => Ok(true),
        other => {
            let what = format!(
                "`{other}` is not a value of `on_busy`: use on_busy = error, the \
                 default, or on_busy = skip"
            );
            Err(Error::new(choice.span(), what))
        }
    }
}
