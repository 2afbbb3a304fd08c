//! Passwords that cut a URL in pieces, as they are not encoded.

use tenure_core::Fault;

/// `fault`, which a server's `url` led to, with what may be the reason: a password that is not
/// encoded.
pub(crate) fn hinted(url: &str, fault: Fault) -> Fault {
    if !has_bare_password(url) {
        return fault;
    }
    Fault::new(fault.kind(), fault.message_and_cause(), help(url, fault.help()))
}

/// `help`, and how to write a password if that may be the reason.
pub(crate) fn help(url: &str, help: &str) -> String {
    if !has_bare_password(url) {
        return help.to_owned();
    }
    format!(
        "{help}; in a user and a password write what is special percent-encoded: %40 for @, %2F for /, \
         %3A for :, %3F for ?, %23 for #, %26 for &, %25 for %"
    )
}

/// Whether something in the user or the password may have cut the URL in pieces.
fn has_bare_password(url: &str) -> bool {
    let encoded = |text: &str| {
        let mut escapes = text.split('%').skip(1);
        escapes.all(|behind| {
            behind.get(..2).is_some_and(|two| two.bytes().all(|byte| byte.is_ascii_hexdigit()))
        })
    };
    if let Some((_, password)) = url.split_once("password=") {
        let (password, settings) = password.split_once('&').unwrap_or((password, ""));
        let cut = settings.split('&').any(|one| !one.is_empty() && !one.contains('='));
        return cut || password.contains(['/', '@', '?', '#', ':']) || !encoded(password);
    }
    let Some((before, _)) = url.rsplit_once('@') else { return false };
    let before = before.split_once("//").map_or(before, |(_, user)| user);
    let colons = before.matches(':').count();
    before.contains(['/', '@', '?', '#']) || colons > 1 || !encoded(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_that_is_not_encoded_is_noticed() {
        for url in [
            "redis://:p@ss@host",
            "redis://:p/ss@host",
            "redis://:p?ss@host",
            "redis://:p#ss@host",
            "redis://:p%ss@host",
            "redis://me:p:ss@host",
            "unix:/run/redis.sock?password=p&ss",
        ] {
            assert!(has_bare_password(url), "{url}");
        }
        for url in [
            "redis://host/1?prefix=a",
            "redis://me:p%40ss@host/1",
            "redis://:p-ss@[::1]:6379",
            "unix:/run/redis.sock?user=me&password=p%26ss",
            "redis-sentinel://a,b/0?sentinel_password=p-ss&service=mymaster",
        ] {
            assert!(!has_bare_password(url), "{url}");
        }
    }
}
