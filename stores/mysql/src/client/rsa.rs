//! RSA as far as a login needs it: a few bytes are padded, and raised to a power. Pure but for the padding.

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

/// `base` to the power of `exponent`, modulo an odd `modulus` that is greater than `base` and begins with a one. All of
/// them with the highest byte first, and the result as long as the modulus.
pub(crate) fn power(base: &[u8], exponent: &[u8], modulus: &[u8]) -> Vec<u8> {
    let by = Modulus::new(modulus);
    let one = by.montgomery(&[1]);
    let base = by.montgomery(base);
    let bits = exponent.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1 == 1));
    let power = bits.fold(one, |power, is_set| {
        let square = by.product(&power, &power);
        if is_set { by.product(&square, &base) } else { square }
    });
    let power = by.product(&power, &by.limbs(&[1]));
    let bytes = power.iter().rev().flat_map(|limb| limb.to_be_bytes());
    bytes.skip(power.len() * 4 - modulus.len()).collect()
}

/// Numbers are kept lowest limb first, and multiplied in Montgomery's way: none is divided.
struct Modulus {
    limbs: Vec<u32>,
    /// What takes the lowest limb of a product away.
    inverse: u32,
}

impl Modulus {
    fn new(modulus: &[u8]) -> Self {
        let limbs = limbs(modulus, modulus.len().div_ceil(4));
        let lowest = limbs.first().copied().unwrap_or(1);
        // Each step doubles the number of bits that are right; three are to begin with.
        let step = |inverse: u32, _| {
            inverse.wrapping_mul(2_u32.wrapping_sub(lowest.wrapping_mul(inverse)))
        };
        let inverse = (0..4).fold(lowest, step).wrapping_neg();
        Self { limbs, inverse }
    }

    fn limbs(&self, bytes: &[u8]) -> Vec<u32> {
        limbs(bytes, self.limbs.len())
    }

    /// The number times two to the power of 32 for each limb, which a product takes away.
    fn montgomery(&self, bytes: &[u8]) -> Vec<u32> {
        let double = |number: Vec<u32>, _| {
            let mut carry = 0;
            let double = |limb: &u32| {
                let doubled = limb << 1 | carry;
                carry = limb >> 31;
                doubled
            };
            let doubled = number.iter().map(double).collect();
            self.reduced(doubled, carry)
        };
        (0..self.limbs.len() * 32).fold(self.limbs(bytes), double)
    }

    fn product(&self, one: &[u32], other: &[u32]) -> Vec<u32> {
        let mut sum = vec![0; self.limbs.len()];
        let mut over = 0;
        for limb in one {
            let carry = add_product(&mut sum, other, *limb);
            let (highest, overflows) = carry.overflowing_add(over);
            let factor = sum.first().map_or(0, |lowest| lowest.wrapping_mul(self.inverse));
            let carry = add_product(&mut sum, &self.limbs, factor);
            let (highest, overflows_too) = highest.overflowing_add(carry);
            // The lowest is zero now.
            sum.rotate_left(1);
            if let Some(last) = sum.last_mut() {
                *last = highest;
            }
            over = u32::from(overflows) + u32::from(overflows_too);
        }
        self.reduced(sum, over)
    }

    /// A number of less than twice the modulus, with a limb more than that has.
    fn reduced(&self, number: Vec<u32>, over: u32) -> Vec<u32> {
        if over == 0 && number.iter().rev().lt(self.limbs.iter().rev()) {
            return number;
        }
        let mut borrows = false;
        let less = |(limb, by): (&u32, &u32)| {
            let (limb, first) = limb.overflowing_sub(*by);
            let (limb, second) = limb.overflowing_sub(u32::from(borrows));
            borrows = first || second;
            limb
        };
        number.iter().zip(&self.limbs).map(less).collect()
    }
}

/// Adds a number times a limb. What is beyond the highest limb.
fn add_product(sum: &mut [u32], number: &[u32], factor: u32) -> u32 {
    let mut carry = 0;
    for (to, limb) in sum.iter_mut().zip(number) {
        // No more than 64 bits have: (2^32 - 1)^2 + 2 * (2^32 - 1) is 2^64 - 1.
        let all = u64::from(*limb) * u64::from(factor) + u64::from(*to) + carry;
        *to = low(all);
        carry = all >> 32;
    }
    low(carry)
}

fn low(number: u64) -> u32 {
    let [a, b, c, d, ..] = number.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

fn limbs(bytes: &[u8], count: usize) -> Vec<u32> {
    let limb = |bytes: &[u8]| bytes.iter().fold(0, |limb: u32, byte| limb << 8 | u32::from(*byte));
    let mut limbs: Vec<_> = bytes.rchunks(4).map(limb).collect();
    limbs.resize(count, 0);
    limbs
}

#[cfg(test)]
mod tests;
