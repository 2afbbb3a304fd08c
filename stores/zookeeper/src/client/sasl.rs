//! A login by SASL with DIGEST-MD5, as ZooKeeper has it.

use std::fmt::Write;

use md5::{Digest, Md5};

use super::{
    Error, Result,
    live::LiveConnection,
    wire::{Reader, Writer, op},
};

const ODD: Error = Error::Odd("its login by SASL is none");

/// Logs in over a connection on which nothing else is under way.
pub(super) async fn log_in(live: &mut LiveConnection, user: &str, password: &str) -> Result<()> {
    let mut nonce = [0; 16];
    getrandom::fill(&mut nonce).map_err(|_| Error::AuthFailed)?;
    let challenge = step(live, b"").await?;
    if challenge.is_empty() {
        return Err(Error::NoSasl);
    }
    let proof = DigestResponse::of(&challenge, user, password, &hex(&nonce)).ok_or(ODD)?;
    let answer = step(live, proof.text.as_bytes()).await?;
    // Who knows the password proves it, too.
    let answer = std::str::from_utf8(&answer).map_err(|_| Error::Unproven)?;
    if value(answer, "rspauth") == Some(&proof.expects) { Ok(()) } else { Err(Error::Unproven) }
}

async fn step(live: &mut LiveConnection, token: &[u8]) -> Result<Vec<u8>> {
    let mut body = Writer::default();
    body.bytes(token);
    let answer = live.asked_alone(op::SASL, &body).await?;
    Reader(&answer).bytes().map(<[u8]>::to_vec)
}

/// What proves that the password is known, and what the server proves it by.
pub(super) struct DigestResponse {
    text: String,
    pub(super) expects: String,
}

impl DigestResponse {
    pub(super) fn of(challenge: &[u8], user: &str, password: &str, own: &str) -> Option<Self> {
        let challenge = std::str::from_utf8(challenge).ok()?;
        let (realm, nonce) = (value(challenge, "realm").unwrap_or(""), value(challenge, "nonce")?);
        let known = value(challenge, "algorithm") == Some("md5-sess")
            && value(challenge, "qop").is_none_or(|qop| qop.split(',').any(|way| way == "auth"));
        // They go back between quotes as they stand.
        let is_plain =
            |text: &str| !text.contains(['"', '\\']) && !text.chars().any(char::is_control);
        if !known || ![realm, nonce, user].iter().all(|text| is_plain(text)) {
            return None;
        }
        let secret = md5(&[user.as_bytes(), b":", realm.as_bytes(), b":", password.as_bytes()]);
        let session = hex(&md5(&[&secret, b":", nonce.as_bytes(), b":", own.as_bytes()]));
        let digest = |method: &str| {
            let what = hex(&md5(&[method.as_bytes(), b":zookeeper/zk-sasl-md5"]));
            hex(&md5(&[format!("{session}:{nonce}:00000001:{own}:auth:{what}").as_bytes()]))
        };
        let response = digest("AUTHENTICATE");
        let text = format!(
            "username=\"{user}\",realm=\"{realm}\",nonce=\"{nonce}\",cnonce=\"{own}\",nc=00000001,qop=auth,\
             digest-uri=\"zookeeper/zk-sasl-md5\",response={response},charset=\"utf-8\""
        );
        Some(Self { text, expects: digest("") })
    }
}

fn md5(parts: &[&[u8]]) -> [u8; 16] {
    let mut digest = Md5::new();
    parts.iter().for_each(|part| digest.update(part));
    digest.finalize().into()
}

fn hex(bytes: &[u8; 16]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// What stands behind this word, in quotes or without.
pub(super) fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let mut rest = text;
    loop {
        let (found, behind) = rest.split_once('=')?;
        let (value, behind) = match behind.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"')?,
            None => behind.split_at(behind.find(',').unwrap_or(behind.len())),
        };
        if found.trim() == key {
            return Some(value);
        }
        rest = behind.trim_start_matches([',', ' ']);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panics")]
mod tests {
    use super::*;

    const CHALLENGE: &str = "realm=\"zk-sasl-md5\",nonce=\"OA6MG9tEQGm2hh\",qop=\"auth\",charset=utf-8,algorithm=md5-sess";

    #[test]
    fn a_challenge_is_answered_and_whatever_is_none_is_refused() {
        let proof = DigestResponse::of(CHALLENGE.as_bytes(), "me", "secret", "abcdef").unwrap();
        assert!(!proof.text.contains("secret"));
        assert_ne!(value(&proof.text, "response"), Some(&*proof.expects));
        for at in 0..CHALLENGE.len() {
            let _ = DigestResponse::of(&CHALLENGE.as_bytes()[..at], "me", "secret", "abcdef");
            for byte in [0, b'"', b',', b'=', b'\\', 0x80, 0xff] {
                let mut bytes = CHALLENGE.as_bytes().to_vec();
                bytes[at] = byte;
                let _ = DigestResponse::of(&bytes, "me", "secret", "abcdef");
            }
        }
    }

    #[test]
    fn any_challenge_is_answered_or_refused() {
        tenure_testkit::fuzz(20_000, &[CHALLENGE.as_bytes()], |bytes| {
            DigestResponse::of(bytes, "me", "secret", "abcdef").is_some()
        });
    }
}
