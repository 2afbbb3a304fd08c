//! Percent-encoding, decoded strictly.

use percent_encoding::percent_decode_str;

/// The decoded text, or why it cannot be decoded. The reason shows no part of the text.
pub(crate) fn decode(text: &str) -> Result<String, &'static str> {
    // It would otherwise be taken as written, and a password would be a different one.
    let is_whole = |digits: &str| {
        digits
            .as_bytes()
            .first_chunk::<2>()
            .is_some_and(|two| two.iter().all(u8::is_ascii_hexdigit))
    };
    if !text.split('%').skip(1).all(is_whole) {
        return Err("two hexadecimal digits follow a %; write a plain % as %25");
    }
    let decoded =
        percent_decode_str(text).decode_utf8().map_err(|_| "it has bytes that are not UTF-8")?;
    if decoded.contains('\0') {
        return Err("it has a zero byte");
    }
    Ok(decoded.into_owned())
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn what_is_encoded_is_read_strictly() {
        assert_eq!(decode("pa%40ss%2F%c3%A4+").as_deref(), Ok("pa@ss/ä+"));
        for wrong in ["%", "a%4", "%zz", "%ff", "%é0", "%00"] {
            assert!(decode(wrong).is_err(), "{wrong}");
        }
    }
}
