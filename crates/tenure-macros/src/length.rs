//! Lengths of time as people write them.

use std::time::Duration;

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, LitStr, Result};
use tenure_proto::{Grace, OutOfRange, Ttl, schedule::Period, time::in_range};

/// The code of the length that `text` says, if it is in the range of `setting`.
pub(crate) fn parse(setting: &str, text: &LitStr) -> Result<TokenStream> {
    let length = humantime::parse_duration(&text.value()).map_err(|_| {
        let what = format!(
            "{:?} is not a length of time: write a number and its unit, as in \"500ms\", \"30s\" \
             or \"1m 30s\"",
            text.value()
        );
        Error::new(text.span(), what)
    })?;
    in_its_range(setting, length).map_err(|error| Error::new(text.span(), error))?;
    let (seconds, nanos) = (length.as_secs(), length.subsec_nanos());
    Ok(quote!(::core::time::Duration::new(#seconds, #nanos)))
}

fn in_its_range(setting: &str, length: Duration) -> std::result::Result<(), OutOfRange> {
    match setting {
        "ttl" => Ttl::new(length).map(drop),
        "grace" => Grace::new(length).map(drop),
        "max_hold" => in_range("max_hold", length, Ttl::MIN, Ttl::MAX).map(drop),
        "hold_at_least" => in_range("hold_at_least", length, Ttl::MIN, Ttl::MAX).map(drop),
        "once_per" => Period::new(length).map(drop),
        _ => Ok(()),
    }
}
