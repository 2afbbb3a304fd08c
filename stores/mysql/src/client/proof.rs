//! What proves that a password is known, and does not say it.

use sha1_smol::Sha1;
use sha2::{Digest, Sha256};

/// By `mysql_native_password`: `SHA1(password) xor SHA1(nonce, SHA1(SHA1(password)))`.
pub(crate) fn native(nonce: &[u8], password: &[u8]) -> Vec<u8> {
    let hash = |bytes: &[u8]| Sha1::from(bytes).digest().bytes();
    let known = hash(password);
    xor(&known, &hash(&[nonce, &hash(&known)].concat()))
}

/// By `caching_sha2_password`: `SHA256(password) xor SHA256(SHA256(SHA256(password)), nonce)`.
pub(crate) fn sha2(nonce: &[u8], password: &[u8]) -> Vec<u8> {
    let known = Sha256::digest(password);
    let stored = Sha256::digest(known);
    xor(&known, &Sha256::digest([&stored[..], nonce].concat()))
}

pub(crate) fn xor(bytes: &[u8], mask: &[u8]) -> Vec<u8> {
    bytes.iter().zip(mask).map(|(byte, mask)| byte ^ mask).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn proofs_are_those_that_servers_expect() {
        let nonce = b"abcdefghijklmnopqrst";
        assert_eq!(hex(&native(nonce, b"secret")), "8817c50fa779daef010ee7577825b0847df9842e");
        assert_eq!(
            hex(&sha2(nonce, b"secret")),
            "c76e2898612a4cf042c77fa8c4702c4c64c0c2c557c53c4d75595aaa6abae809"
        );
    }
}
