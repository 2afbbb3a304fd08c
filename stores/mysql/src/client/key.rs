//! A public key that a server names, and what is encrypted by it.

use base64::{Engine, prelude::BASE64_STANDARD};

use super::{Error, rsa};

/// The numbers of bytes that the modulus of a key may have: 1,024 to 8,192 bits.
const MODULUS: std::ops::RangeInclusive<usize> = 128..=1024;

/// Encrypts a few bytes by the RSA key in this PEM.
pub(crate) fn encrypt(secret: &[u8], pem: &[u8]) -> Result<Vec<u8>, Error> {
    let key = std::str::from_utf8(pem).ok().and_then(read);
    let (modulus, exponent) = key.ok_or(Error::odd("its public key is none"))?;
    if secret.len() + rsa::PADDING > modulus.len() {
        return Err(Error::odd("its public key is too short for the password"));
    }
    let mut seed = [0; 20];
    getrandom::fill(&mut seed).map_err(std::io::Error::other)?;
    let padded = rsa::pad(secret, modulus.len(), seed);
    Ok(rsa::power(&padded, &exponent, &modulus))
}

/// The modulus and the exponent, without zeros before them.
fn read(pem: &str) -> Option<(Vec<u8>, Vec<u8>)> {
    let (_, behind) = pem.split_once("-----BEGIN ")?;
    let (kind, behind) = behind.split_once("-----")?;
    let (body, _) = behind.split_once("-----END ")?;
    let body: String = body.split_ascii_whitespace().collect();
    let der = BASE64_STANDARD.decode(body).ok()?;
    let (whole, _) = part(&der, 0x30)?;
    let numbers = match kind {
        "RSA PUBLIC KEY" => whole,
        "PUBLIC KEY" => {
            let (_, behind) = part(whole, 0x30)?;
            let (bits, _) = part(behind, 0x03)?;
            let (numbers, _) = part(bits.strip_prefix(&[0])?, 0x30)?;
            numbers
        }
        _ => return None,
    };
    let (modulus, behind) = part(numbers, 0x02)?;
    let (exponent, _) = part(behind, 0x02)?;
    let (modulus, exponent) = (strip_leading_zeros(modulus), strip_leading_zeros(exponent));
    let is_odd = |number: &[u8]| number.last().is_some_and(|last| last % 2 == 1);
    let is_sound = MODULUS.contains(&modulus.len())
        // Of whole bytes, as keys are: what is padded is less than it.
        && modulus.first().is_some_and(|first| *first >= 0x80)
        && (1..=8).contains(&exponent.len())
        && is_odd(modulus)
        && is_odd(exponent);
    is_sound.then(|| (modulus.to_vec(), exponent.to_vec()))
}

fn strip_leading_zeros(number: &[u8]) -> &[u8] {
    let from = number.iter().position(|byte| *byte != 0).unwrap_or(number.len());
    number.get(from..).unwrap_or_default()
}

/// What is in a part of this kind, and what is behind it.
fn part(der: &[u8], kind: u8) -> Option<(&[u8], &[u8])> {
    let (first, rest) = der.split_first()?;
    let (length, rest) = rest.split_first()?;
    if *first != kind {
        return None;
    }
    let (length, rest) = match length {
        0..=0x7f => (usize::from(*length), rest),
        0x81 => rest.split_first().map(|(length, rest)| (usize::from(*length), rest))?,
        0x82 => {
            let (length, rest) = rest.split_first_chunk()?;
            (usize::from(u16::from_be_bytes(*length)), rest)
        }
        _ => return None,
    };
    rest.split_at_checked(length)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panics")]
mod tests {
    use super::*;

    const KEY: &str = "-----BEGIN PUBLIC KEY-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAxSKOcxiet8lLMn8ImyUE
bGGKob5EdRz/4wdiw12ED0GfKKTKhVnodFCfm1mdy7bKOX5QxL9skrvYodpW43eR
R5bfOzIgy1qIB8RYb6qOXRBw1oA4snBDqtUjDv/lbHLJN+IbzM4oU+e3Lt9rXyLX
VY289ewONPweXHqSCnTL91w+wkU1peIFV2QhZ+upUCdCtwOn5hnJPNgxtbklFoya
C8W3Z7Xx7He2QDJsEWAqX197efw0L6j8X8Tyd8Uwb7zUB1tfMGhHfm9EwejPAtzx
4GztQNtNMtGS2oGZLQBLV9hib4dDL92iiZeckg2LAf4GsJofLLR8mcHCRoqVbQJ1
YQIDAQAB
-----END PUBLIC KEY-----";

    #[test]
    fn a_key_encrypts_and_whatever_is_none_is_refused() {
        assert_eq!(encrypt(b"secret\0", KEY.as_bytes()).unwrap().len(), 256);
        assert!(encrypt(&[7; 214], KEY.as_bytes()).is_ok());
        assert!(encrypt(&[7; 215], KEY.as_bytes()).is_err());
        for none in ["", "no PEM", "-----BEGIN PUBLIC KEY-----\n!\n-----END PUBLIC KEY-----"] {
            assert!(encrypt(b"secret\0", none.as_bytes()).is_err(), "{none}");
        }
        // Cut at each byte, and changed at each.
        for at in 0..KEY.len() {
            let _ = encrypt(b"secret\0", &KEY.as_bytes()[..at]);
            for change in [1, 4, 32] {
                let mut bytes = KEY.as_bytes().to_vec();
                bytes[at] ^= change;
                let _ = encrypt(b"secret\0", &bytes);
            }
        }
    }

    #[test]
    fn any_key_encrypts_or_is_refused() {
        let der = KEY.lines().filter(|line| !line.starts_with('-')).collect::<String>();
        let der = BASE64_STANDARD.decode(der).unwrap();
        tenure_testkit::fuzz(500, &[&der], |bytes| {
            let body = BASE64_STANDARD.encode(bytes);
            let pem = format!("-----BEGIN PUBLIC KEY-----\n{body}\n-----END PUBLIC KEY-----");
            encrypt(b"secret\0", pem.as_bytes()).is_ok()
        });
        tenure_testkit::fuzz(500, &[KEY.as_bytes()], |pem| encrypt(b"secret\0", pem).is_ok());
    }
}
