//! Settings for the server's process in a URL: `options=-c name=value`. Pure.
//!
//! Of several values of a setting the server uses the last, and ours come last. So ours apply, as long as the server
//! reads them as separate words.

/// Checks that what follows `text` is still read as written. Otherwise returns what is wrong, and what to write
/// instead.
pub(crate) fn check(text: &str) -> Result<(), (String, &'static str)> {
    let ending = text.chars().rev().take_while(|sign| *sign == '\\').count();
    if ending % 2 == 1 {
        return Err((
            "options ends with a backslash, which would join it with the next word".to_owned(),
            "write two of them for one, or leave it out",
        ));
    }
    let last = text.split_ascii_whitespace().last().unwrap_or_default();
    if last == "-c" {
        return Err((
            "options ends with -c, and names no setting".to_owned(),
            "write options=-c name=value",
        ));
    }
    // After it, nothing is an option.
    if text.split_ascii_whitespace().any(|word| word == "--") {
        return Err((
            "options has a separate --, which ends them".to_owned(),
            "write options=-c name=value",
        ));
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panics")]
mod tests {
    use super::*;

    #[test]
    fn what_would_swallow_our_own_settings_is_refused() {
        for text in ["-c a=b\\", "-c a=b\\\\\\", "-c a=b -c", "--", "-c a=b -- x", "-c"] {
            check(text).unwrap_err();
        }
        for text in [
            "-c a=b",
            "-ca=b",
            "--a=b",
            "-c a=b\\ c",
            "-c a=b\\\\",
            "endpoint=ep-cool-1",
            "reference=abc",
        ] {
            check(text).unwrap();
        }
    }
}
