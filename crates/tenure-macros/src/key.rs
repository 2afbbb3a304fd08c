//! A key: text with parameters of the function in it.

use proc_macro2::{Group, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{Error, Expr, LitStr, Result};

/// The code that makes the name of the lock: `name`, a colon and `key`, or one of them.
pub(crate) fn name(
    name: Option<&LitStr>,
    key: Option<&LitStr>,
    parameters: &[String],
) -> Result<TokenStream> {
    let Some(key) = key else {
        return Ok(name.map_or_else(TokenStream::new, |name| quote!(#name)));
    };
    let (mut format, arguments) = template(key, parameters)?;
    if let Some(name) = name {
        // `format!` reads the name too.
        format.insert_str(0, &format!("{}:", name.value().replace('}', "}}")));
    }
    let format = LitStr::new(&format, key.span());
    Ok(quote!(::std::format!(#format #(, #arguments)*)))
}

/// The key with `{}` for each placeholder, and what stands in them.
fn template(key: &LitStr, parameters: &[String]) -> Result<(String, Vec<TokenStream>)> {
    let wrong = |what: String| Error::new(key.span(), what);
    let text = key.value();
    let (mut format, mut arguments) = (String::new(), Vec::new());
    let mut rest = text.as_str();
    while let Some(at) = rest.find(['{', '}']) {
        let (before, from) = rest.split_at(at);
        format.push_str(before);
        if let Some(after) = from.strip_prefix("{{").or_else(|| from.strip_prefix("}}")) {
            format.push_str(&from[..2]);
            rest = after;
            continue;
        }
        let Some((inside, after)) = from.strip_prefix('{').and_then(|from| from.split_once('}'))
        else {
            let brace = &from[..1];
            let what = format!(
                "this `{brace}` is unmatched: write {{parameter}}, or `{brace}{brace}` for the \
                 character itself"
            );
            return Err(wrong(what));
        };
        let (expression, layout) = inside.split_once(':').unwrap_or((inside, ""));
        arguments.push(placeholder(expression.trim(), key.span(), parameters)?);
        format.push_str(&if layout.is_empty() {
            "{}".to_owned()
        } else {
            format!("{{:{layout}}}")
        });
        rest = after;
    }
    format.push_str(rest);
    if arguments.is_empty() {
        let what = "this key is the same for every call: write name = \"…\", or put a parameter in \
             it, as in \"order:{order_id}\"";
        return Err(wrong(what.to_owned()));
    }
    Ok((format, arguments))
}

/// A parameter, or what is reached from it by fields and methods.
fn placeholder(text: &str, span: Span, parameters: &[String]) -> Result<TokenStream> {
    let parsed = syn::parse_str::<Expr>(text).ok();
    let Some((expression, root)) = parsed.as_ref().and_then(|all| Some((all, root(all)?))) else {
        let what = format!(
            "{{{text}}} names no parameter: write {{order_id}}, {{order.id}} or {{order.id()}}"
        );
        return Err(Error::new(span, what));
    };
    let variable = root.starts_with(|first: char| first.is_lowercase()) && root != "self";
    if variable && !parameters.contains(&root) {
        let what = if parameters.is_empty() {
            format!("`{root}` is not a parameter: this function has none")
        } else {
            format!("`{root}` is not a parameter: this function has {}", parameters.join(", "))
        };
        return Err(Error::new(span, what));
    }
    Ok(respan(span, expression.to_token_stream()))
}

/// The name that an expression of fields and methods begins with.
fn root(expression: &Expr) -> Option<String> {
    match expression {
        Expr::Field(field) => root(&field.base),
        Expr::MethodCall(call) => root(&call.receiver),
        Expr::Path(path) if path.qself.is_none() => {
            path.path.segments.first().map(|first| first.ident.to_string())
        }
        _ => None,
    }
}

/// The same tokens, shown at `span`, and known to come from here: nothing is to be suggested in
/// their place.
fn respan(span: Span, tokens: TokenStream) -> TokenStream {
    let span = Span::call_site().located_at(span);
    let moved = tokens.into_iter().map(|mut token| {
        if let TokenTree::Group(group) = &token {
            token = Group::new(group.delimiter(), respan(span, group.stream())).into();
        }
        token.set_span(span);
        token
    });
    moved.collect()
}
