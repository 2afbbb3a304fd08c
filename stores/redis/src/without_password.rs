//! URLs for people and logs.

/// The URL with its password left out, for people and logs.
///
/// ```
/// let shown = tenure_redis::without_password("redis://me:secret@host/1?prefix=a:");
/// assert_eq!(shown, "redis://me:***@host/1?prefix=a:");
/// ```
#[must_use]
pub fn without_password(url: &str) -> String {
    const PASSWORD: &str = "password=";
    // What stands behind one that was not encoded may be a piece of it.
    let (url, rest) = match url.split_once(PASSWORD) {
        // Perhaps these letters are a piece of one before the host.
        Some((_, after)) if after.contains('@') => {
            return format!("{}:***", url.split(':').next().unwrap_or_default());
        }
        Some((before, _)) => (before, format!("{PASSWORD}***")),
        None => (url, String::new()),
    };
    // One before the host may hold any of `/`, `@` and `?`: too much is left out then.
    let Some((before, after)) = url.rsplit_once('@') else { return format!("{url}{rest}") };
    let (scheme, credentials) = before.split_once("://").unwrap_or(("", before));
    let user = credentials.split(':').next().unwrap_or_default();
    format!("{scheme}://{user}:***@{after}{rest}")
}
