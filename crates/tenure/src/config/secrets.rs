//! `${NAME}` in a store's URL: a variable, so that no password need stand in a file.

use super::{error::SettingError, variables::VariableLookup};

/// `url` with the values of the variables it names.
///
/// A variable that is all of it may hold a whole URL. Within a URL of a server its value is
/// percent-encoded, so that a password may hold any character.
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
