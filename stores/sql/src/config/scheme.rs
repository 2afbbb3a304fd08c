//! The drivers that other libraries name in a database's URL.

use std::borrow::Cow;

/// Returns the URL without the name of a driver: without `jdbc:` in front, as in Java, and without `+driver` after the
/// scheme, as in SQLAlchemy.
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
