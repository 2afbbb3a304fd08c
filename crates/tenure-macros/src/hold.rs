//! The parameter in which a function is given its hold.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::{
    Attribute, Error, FnArg, ItemFn, Meta, Pat, PatType, Result, Type, parse2, spanned::Spanned,
};

/// Takes the parameter marked `#[hold]` out of what callers give, and says how the body is given it.
pub(crate) fn take_hold_parameter(item: &mut ItemFn) -> Result<TokenStream> {
    let inputs = std::mem::take(&mut item.sig.inputs);
    let mut given = None;
    for mut input in inputs {
        let FnArg::Typed(parameter) = &mut input else {
            item.sig.inputs.push(input);
            continue;
        };
        if !unmark(parameter)? {
            item.sig.inputs.push(input);
        } else if given.is_none() {
            given = Some(binding(parameter)?);
        } else {
            return Err(Error::new_spanned(&input, "there is one hold: mark one parameter"));
        }
    }
    Ok(given.unwrap_or_default())
}

/// The function as it is, without the mark that the compiler does not know.
pub(crate) fn unmarked(function: TokenStream) -> TokenStream {
    let Ok(mut item) = parse2::<ItemFn>(function.clone()) else { return function };
    for input in &mut item.sig.inputs {
        if let FnArg::Typed(parameter) = input {
            parameter.attrs.retain(|attribute| !marks(attribute));
        }
    }
    item.into_token_stream()
}

/// Whether it is marked; it is no more then.
fn unmark(parameter: &mut PatType) -> Result<bool> {
    let before = parameter.attrs.len();
    let mut wrong = None;
    parameter.attrs.retain(|attribute| {
        let marks = marks(attribute);
        if marks && !matches!(attribute.meta, Meta::Path(_)) {
            wrong =
                Some(Error::new_spanned(attribute, "`#[hold]` has no arguments: write it alone"));
        }
        !marks
    });
    match wrong {
        Some(error) => Err(error),
        None => Ok(parameter.attrs.len() < before),
    }
}

fn marks(attribute: &Attribute) -> bool {
    attribute.path().is_ident("hold")
}

fn binding(parameter: &PatType) -> Result<TokenStream> {
    let PatType { attrs, pat, ty, .. } = parameter;
    let named = matches!(&**pat, Pat::Ident(_));
    if !named || !matches!(&**ty, Type::Reference(_)) {
        let what =
            "the hold is passed as a reference with a name: #[hold] hold: &tenure::locked::Current";
        return Err(Error::new_spanned(parameter, what));
    }
    let hold = quote_spanned!(ty.span()=> &::tenure::locked::expanded::hold());
    Ok(quote!(#(#attrs)* let #pat: #ty = #hold;))
}
