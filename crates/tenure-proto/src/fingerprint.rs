//! One number for several texts, the same in every process and version.

/// FNV-1a of 128 bits over `parts`, which contain no zero byte: a zero byte separates them.
pub(crate) fn fingerprint(parts: &[&[u8]]) -> u128 {
    let step = |hash: u128, byte| (hash ^ u128::from(byte)).wrapping_mul((1 << 88) + 0x13b);
    parts.join(&0).into_iter().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, step)
}
