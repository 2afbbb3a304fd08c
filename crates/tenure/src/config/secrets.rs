//! `${NAME}` in a store's URL: an environment variable, so that a file need not contain a password.

use super::{error::SettingError, variables::VariableLookup};

/// Returns `url` with the values of the variables that it names.
///
/// If a variable is the whole text, its value may be a whole URL. Inside a server's URL its value is percent-encoded,
/// so a password may contain any character.
pub(super) fn expand(url: &str, variables: VariableLookup<'_>) -> Result<String, SettingError> {
    let mut expanded = String::new();
    let mut rest = url;
    while let Some((before, behind)) = rest.split_once("${") {
        let Some((name, behind)) = behind.split_once('}') else {
            return Err(SettingError::new("a ${ without its }", "write ${NAME}"));
        };
        let Some(value) = variables(name) else {
            let what = format!("the variable {name} is not set");
            return Err(SettingError::new(what, format!("set it, or remove ${{{name}}} here")));
        };
        expanded.push_str(before);
        if expanded.contains("://") {
            encode(&value, &mut expanded);
        } else {
            expanded.push_str(&value);
        }
        rest = behind;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

fn encode(value: &str, url: &mut String) {
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            url.push(char::from(byte));
        } else {
            url.push_str(&format!("%{byte:02X}"));
        }
    }
}
