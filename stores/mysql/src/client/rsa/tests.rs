//! Numbers here are those of OpenSSL and Python.
#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

use super::*;

const MODULUS: &str = "b3d853e4fb1779acd960cba808636a310ca6fa9d50f4eb288108bccf0eb7e8bf1d55860a0876d014dbb40716bc16b7dd6665\
     772d417ad64b2ed376dc9ee1618b16f641cd0a9f78d584acc26a2e7f19bc1f0d5c73b38ac48a4504d1131a73c09835714331\
     f7b88d9624aa6edd7ab1931eb4befc872baac571acb9d7db8ad338ff";
const PRIVATE: &str = "8fc4715c6d3518f98a548cb968eb402ab1b892434c425df265243cfb3102e7b64f96dcae0c921e496e507e12388dd8b1ce77\
     724be53a73306ae074f66cb4332a8ba748ce658a54ec9275fbe921db7d536b22545fed61e2b1020eb10b582d4eaad6139b02\
     e1cc29d2a571b93b6c2ec357561a49ecbb25485b2d5664f7420cfd11";
/// `secret` and a zero, padded by a seed of 0 to 19 and encrypted, as OpenSSL decrypts it.
const ENCRYPTED: &str = "9d414bdf2eddd5a3634ae503c1ab2b046e3d58557de4b844ec4227e7da96f33a3f88d4a06b154eb3ebc9d3e4691673d45843\
     cc8561a094f7d90b6bfc15e96b7bfaf66f9ba7a880997f8db97aada84169ec70fc61a05d60e4cdf198e976b836c3f7f4688f\
     b5043bc16f0b52691bc7b210e903f20fa12b78884701b3c68a2a0138";

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<_> = hex.bytes().map(|digit| char::from(digit).to_digit(16).unwrap()).collect();
    digits.chunks(2).map(|pair| u8::try_from(pair[0] * 16 + pair[1]).unwrap()).collect()
}

#[test]
fn what_is_encrypted_is_decrypted_by_the_other_key() {
    let modulus = bytes(MODULUS);
    let seed = std::array::from_fn(|at| u8::try_from(at).unwrap());
    let padded = pad(b"secret\0", modulus.len(), seed);
    assert_eq!(padded.len(), modulus.len());
    let encrypted = power(&padded, &[1, 0, 1], &modulus);
    assert_eq!(encrypted, bytes(ENCRYPTED));
    assert_eq!(power(&encrypted, &bytes(PRIVATE), &modulus), padded);
}

#[test]
fn as_much_as_fits_is_padded_to_the_length_of_the_modulus() {
    for length in 0..=128 - PADDING {
        assert_eq!(pad(&vec![7; length], 128, [9; 20]).len(), 128, "{length}");
    }
}

#[test]
fn a_power_is_as_long_as_the_modulus() {
    assert_eq!(power(&[0, 2], &[3], &[2, 0, 1]), [0, 0, 8]);
    assert_eq!(power(&[0], &[3], &[0x80, 1]), [0, 0]);
}
