//! RSA as far as a login needs it: a few bytes are padded, and raised to a power. Pure but for the padding.

use num_bigint::BigUint;
use sha1_smol::{DIGEST_LENGTH, Sha1};

use super::proof::xor;

/// What padding takes, in bytes.
pub(crate) const PADDING: usize = 2 * DIGEST_LENGTH + 2;

/// Pads by OAEP with SHA-1 to as many bytes as a modulus has. There has to be room: see [`PADDING`].
pub(crate) fn pad(secret: &[u8], length: usize, seed: [u8; DIGEST_LENGTH]) -> Vec<u8> {
    let zeros = vec![0; length.saturating_sub(PADDING + secret.len())];
    let block = [&Sha1::new().digest().bytes()[..], &zeros, &[1], secret].concat();
    let block = xor(&block, &mask(&seed, block.len()));
    let seed = xor(&seed, &mask(&block, DIGEST_LENGTH));
    [&[0][..], &seed, &block].concat()
}

/// So many bytes that follow from a seed, by MGF1.
fn mask(seed: &[u8], length: usize) -> Vec<u8> {
    let parts = (0..u32::MAX).map(|number| Sha1::from([seed, &number.to_be_bytes()].concat()));
    parts.flat_map(|part| part.digest().bytes()).take(length).collect()
}

/// `base` to the power of `exponent`, modulo a `modulus` that is not zero. All of them with the highest byte first, and the
/// result as long as the modulus.
pub(crate) fn power(base: &[u8], exponent: &[u8], modulus: &[u8]) -> Vec<u8> {
    let [base, exponent, by] = [base, exponent, modulus].map(BigUint::from_bytes_be);
    let power = base.modpow(&exponent, &by).to_bytes_be();
    [vec![0; modulus.len().saturating_sub(power.len())], power].concat()
}

#[cfg(test)]
mod tests;
