//! The function with its work under a lock.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::{
    Error, Result, Type, TypeInfer, parse_quote,
    visit_mut::{VisitMut, visit_type_mut},
};

use crate::{
    args::{Args, Kind},
    function::{Function, FunctionForm, output_span},
    hold, key,
};

/// Locks `function` as `args` say.
pub(crate) fn expand(args: &Args, mut function: Function) -> Result<TokenStream> {
    let Some(output) = function.output() else {
        let what = "this function cannot report that the lock was not acquired: return \
             Result<(), E> with an E: From<tenure::LockedError>";
        return Err(Error::new(function.item.sig.ident.span(), what));
    };
    let named = nameable(output.clone());
    // What the function gives back is where most errors about it belong.
    let span = Span::mixed_site().located_at(output_span(&function));
    let blocking = matches!(function.form, FunctionForm::Blocking);
    let runner = match (args.skips || args.once, blocking) {
        (false, false) => quote_spanned!(span=> or_fail),
        (false, true) => quote_spanned!(span=> or_fail_blocking),
        (true, false) => quote_spanned!(span=> or_skip),
        (true, true) => quote_spanned!(span=> or_skip_blocking),
    };
    let hold = hold::take_hold_parameter(&mut function.item)?;
    let plan = plan(args, &function.parameters())?;
    let work = function.body_block()?;
    let body = std::mem::take(&mut work.stmts);
    // Of mixed site, so that the body does not see it.
    let never = syn::Ident::new("never", Span::mixed_site());
    let work_done = if blocking {
        quote_spanned!(span=> move || -> #named { #hold #(#body)* })
    } else {
        // The type is said, for `?` and `return` to know it.
        quote_spanned!(span=> async move {
            if let ::core::option::Option::Some(#never) = ::core::option::Option::None::<#named> {
                return #never;
            }
            #hold
            #(#body)*
        })
    };
    // One span for the whole call, so that there is one error for one mistake.
    let call = quote_spanned!(span=> ::tenure::locked::expanded::#runner(#plan, #work_done));
    let call = if blocking { call } else { quote_spanned!(span=> #call.await) };
    work.stmts = parse_quote!(#call);
    Ok(function.item.into_token_stream())
}

/// The code of a `tenure::locked::expanded::Plan`.
fn plan(args: &Args, parameters: &[String]) -> Result<TokenStream> {
    let name = key::name(args.name.as_ref(), args.key.as_ref(), parameters)?;
    let kind = match &args.kind {
        Kind::Reentrant => quote!(Reentrant),
        Kind::Mutex => quote!(Mutex),
        Kind::Read => quote!(Read),
        Kind::Write => quote!(Write),
        Kind::Semaphore(permits) => quote!(Semaphore(#permits)),
    };
    let store = args.store.as_ref().map(|store| {
        // Any reference that leads to a `Tenure` will do.
        let span = syn::spanned::Spanned::span(store);
        quote_spanned!(span=> .store(&(#store)))
    });
    let mut setters = args.setters.clone();
    if args.once && args.skips {
        setters.extend(quote!(.skip_busy()));
    }
    Ok(
        quote!(::tenure::locked::expanded::Plan::new(::tenure::locked::expanded::Kind::#kind, #name) #store #setters),
    )
}

/// The type with `_` for each `impl Trait`, which has no name inside the function.
fn nameable(mut output: Type) -> Type {
    struct Infer;
    impl VisitMut for Infer {
        fn visit_type_mut(&mut self, node: &mut Type) {
            if let Type::ImplTrait(opaque) = node {
                let underscore_token = syn::Token![_](opaque.impl_token.span);
                *node = Type::Infer(TypeInfer { attrs: Vec::new(), underscore_token });
            }
            visit_type_mut(self, node);
        }
    }
    Infer.visit_type_mut(&mut output);
    output
}
