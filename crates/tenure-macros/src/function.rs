//! The functions that can be locked, and where in them the work is.

use proc_macro2::{Span, TokenStream};
use syn::{
    Block, Error, Expr, GenericArgument, Item, ItemFn, PatIdent, PathArguments, Result, ReturnType,
    Safety, Stmt, TraitItemFn, Type, TypeParamBound, parse2, spanned::Spanned, visit_mut::VisitMut,
};

/// A function, taken apart as far as locking it needs.
pub(crate) struct Function {
    pub(crate) item: ItemFn,
    pub(crate) form: FunctionForm,
}

/// How the work of a function comes to be done.
pub(crate) enum FunctionForm {
    /// `async fn`.
    Async,
    /// `fn`, on the thread of the caller.
    Blocking,
    /// A `fn` that does nothing but give back a future, as `async_trait` makes it, or as it is
    /// written by hand for a future that is `Send`.
    Future {
        /// What the future gives.
        output: Box<Type>,
    },
}

impl Function {
    pub(crate) fn parse(tokens: TokenStream) -> Result<Self> {
        let whole = tokens.clone();
        let item: ItemFn = parse2(tokens).map_err(|error| {
            if parse2::<TraitItemFn>(whole.clone()).is_ok_and(|item| item.default.is_none()) {
                let what = "there is nothing to lock here: put #[locked] on the functions that \
                     implement this one";
                return Error::new_spanned(&whole, what);
            }
            if parse2::<Item>(whole).is_ok() {
                let what = "#[locked] goes on a function with a body";
                return Error::new(Span::call_site(), what);
            }
            error
        })?;
        refuse(&item)?;
        let form = form(&item);
        Ok(Self { item, form })
    }

    /// The names that its parameters have.
    pub(crate) fn parameters(&self) -> Vec<String> {
        struct NameVisitor(Vec<String>);
        impl VisitMut for NameVisitor {
            fn visit_pat_ident_mut(&mut self, name: &mut PatIdent) {
                self.0.push(name.ident.to_string());
            }
        }
        let mut names = NameVisitor(Vec::new());
        self.item.sig.inputs.clone().iter_mut().for_each(|input| names.visit_fn_arg_mut(input));
        names.0
    }

    /// What the function gives back.
    pub(crate) fn output(&self) -> Option<&Type> {
        match &self.form {
            FunctionForm::Future { output } => Some(output),
            FunctionForm::Async | FunctionForm::Blocking => output_type(&self.item.sig.output),
        }
    }

    /// The block that does the work.
    pub(crate) fn body_block(&mut self) -> Result<&mut Block> {
        let FunctionForm::Future { .. } = self.form else { return Ok(&mut self.item.block) };
        let output = &self.item.sig.output;
        async_tail_block(&mut self.item.block).ok_or_else(|| {
            let what = "the future that is created here runs later, without the lock: write \
                 `async fn`, or only `async move { … }` in the body";
            Error::new(output_type(output).map_or_else(Span::call_site, Spanned::span), what)
        })
    }
}

fn output_type(output: &ReturnType) -> Option<&Type> {
    match output {
        ReturnType::Type(_, output) => Some(output),
        ReturnType::Default => None,
    }
}

fn refuse(item: &ItemFn) -> Result<()> {
    let sig = &item.sig;
    if let Some(token) = &sig.constness {
        let what = "a `const fn` cannot be locked: nothing can be awaited or asked at compile time; \
             remove `const`";
        return Err(Error::new_spanned(token, what));
    }
    if let Safety::Unsafe(token) = &sig.safety {
        let what = "an `unsafe fn` cannot be locked: lock a safe function that calls it";
        return Err(Error::new_spanned(token, what));
    }
    if let Some(abi) = &sig.abi {
        let what = "a function with another ABI cannot be locked: lock one that it calls";
        return Err(Error::new_spanned(abi, what));
    }
    Ok(())
}

fn form(item: &ItemFn) -> FunctionForm {
    if item.sig.asyncness.is_some() {
        return FunctionForm::Async;
    }
    match output_type(&item.sig.output).and_then(future_of) {
        Some(output) => FunctionForm::Future { output: Box::new(output) },
        None => FunctionForm::Blocking,
    }
}

/// `T` of `impl Future<Output = T>` and of `Pin<Box<dyn Future<Output = T>>>`.
fn future_of(given: &Type) -> Option<Type> {
    match given {
        Type::ImplTrait(given) => given.bounds.iter().find_map(output_of),
        Type::TraitObject(given) => given.bounds.iter().find_map(output_of),
        Type::Path(given) => {
            let last = given.path.segments.last()?;
            if last.ident != "Pin" && last.ident != "Box" {
                return None;
            }
            let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
            arguments.args.iter().find_map(|argument| match argument {
                GenericArgument::Type(inner) => future_of(inner),
                _ => None,
            })
        }
        _ => None,
    }
}

fn output_of(bound: &TypeParamBound) -> Option<Type> {
    let TypeParamBound::Trait(bound) = bound else { return None };
    let last = bound.path.segments.last()?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    if last.ident != "Future" {
        return None;
    }
    arguments.args.iter().find_map(|argument| match argument {
        GenericArgument::AssocType(assigned) if assigned.ident == "Output" => {
            Some(assigned.ty.clone())
        }
        _ => None,
    })
}

/// The block of `async move { … }` or `Box::pin(async move { … })`, if there is nothing else.
fn async_tail_block(block: &mut Block) -> Option<&mut Block> {
    let [Stmt::Expr(expression, None)] = block.stmts.as_mut_slice() else { return None };
    match expression {
        Expr::Async(future) => Some(&mut future.block),
        Expr::Call(call) if ends_in_pin(&call.func) && call.args.len() == 1 => {
            match call.args.first_mut() {
                Some(Expr::Async(future)) => Some(&mut future.block),
                _ => None,
            }
        }
        _ => None,
    }
}

fn ends_in_pin(function: &Expr) -> bool {
    let Expr::Path(function) = function else { return false };
    function.path.segments.last().is_some_and(|last| last.ident == "pin")
}

/// Where an error about what the function gives back is shown.
pub(crate) fn output_span(function: &Function) -> Span {
    function.output().map_or_else(|| function.item.sig.ident.span(), Spanned::span)
}
