//! The attribute `#[locked]` of tenure. This crate is internal: users reach it as `tenure::locked`, and
//! what it writes fits the `tenure` of the same version alone.

mod args;
mod expand;
mod function;
mod hold;
mod key;
mod length;

use proc_macro::TokenStream;
use quote::quote;

use self::function::Function;

// Its examples need `tenure`, whose tests compile them.
#[cfg_attr(not(doctest), doc = include_str!("locked.md"))]
#[proc_macro_attribute]
pub fn locked(args: TokenStream, item: TokenStream) -> TokenStream {
    let item = proc_macro2::TokenStream::from(item);
    let expanded = syn::parse(args).and_then(|args| {
        let function = Function::parse(item.clone())?;
        expand::expand(&args, function)
    });
    expanded
        .unwrap_or_else(|error| {
            // With the function, so that there is one error for one mistake.
            let (error, item) = (error.into_compile_error(), hold::unmarked(item));
            quote!(#error #item)
        })
        .into()
}
