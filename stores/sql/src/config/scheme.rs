//! What stands in front of a database's URL in other libraries.

use std::borrow::Cow;

/// The URL without what names a driver: `jdbc:` in front, as Java has it, and `+driver` behind the scheme, as SQLAlchemy
/// has it.
///
/// ```
/// use tenure_sql::without_driver;
///
/// assert_eq!(without_driver("jdbc:postgresql://db/shop"), "postgresql://db/shop");
/// assert_eq!(without_driver("mysql+pymysql://db/shop"), "mysql://db/shop");
/// ```
#[must_use]
pub fn without_driver(url: &str) -> Cow<'_, str> {
    let url = url.strip_prefix("jdbc:").unwrap_or(url);
    match url.split_once("://") {
        Some((scheme, rest)) if scheme.chars().all(is_of_scheme) => match scheme.split_once('+') {
            Some((scheme, _)) => Cow::Owned(format!("{scheme}://{rest}")),
            None => Cow::Borrowed(url),
        },
        _ => Cow::Borrowed(url),
    }
}

fn is_of_scheme(sign: char) -> bool {
    sign.is_ascii_alphanumeric() || matches!(sign, '+' | '-' | '.' | '_')
}
