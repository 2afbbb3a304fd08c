//! `${NAME}` in a store's URL: a variable, so that no password need stand in a file.

use tenure_url::SECRETS;

use super::{error::Wrong, variables::Variables};

/// `url` with the values of the variables it names.
///
/// A variable that is all of it may hold a whole URL. Within a URL of a server its value is
/// percent-encoded, so that a password may hold any character.
pub(super) fn expand(url: &str, variables: Variables<'_>) -> Result<String, Wrong> {
    let mut expanded = String::new();
    let mut rest = url;
    while let Some((before, behind)) = rest.split_once("${") {
        let Some((name, behind)) = behind.split_once('}') else {
            return Err(Wrong::new("a ${ without its }", "write ${NAME}"));
        };
        let Some(value) = variables(name) else {
            let what = format!("the variable {name} is not set");
            return Err(Wrong::new(what, format!("set it, or write no ${{{name}}} here")));
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

/// Whether a password stands in `url` itself, and not in a variable that it names.
pub(super) fn has_password(url: &str) -> bool {
    let is_written = |password: &str| !password.is_empty() && !password.starts_with("${");
    let credentials = url.split_once("://").and_then(|(_, behind)| behind.rsplit_once('@'));
    let in_front = credentials.and_then(|(credentials, _)| credentials.split_once(':'));
    let settings = url.split(['?', '&']).filter_map(|setting| setting.split_once('='));
    let mut settings = settings.filter(|(name, _)| {
        let name = name.to_ascii_lowercase();
        SECRETS.iter().any(|secret| name.ends_with(secret))
    });
    in_front.is_some_and(|(_, password)| is_written(password))
        || settings.any(|(_, password)| is_written(password))
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

#[cfg(test)]
mod tests {
    use super::has_password;

    #[test]
    fn a_password_that_stands_in_the_url_is_noticed() {
        for url in
            ["redis://:secret@host", "postgres://me:secret@host/db", "unix:/x?password=secret&db=1"]
        {
            assert!(has_password(url), "{url}");
        }
        for url in [
            "redis://:${PASSWORD}@host",
            "redis://host?prefix=a",
            "unix:/x?password=${P}",
            "file:/a@b",
            "redis://me:@h",
        ] {
            assert!(!has_password(url), "{url}");
        }
    }
}
