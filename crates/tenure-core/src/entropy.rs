//! Sources of randomness.

use std::{
    fmt,
    sync::atomic::{AtomicU64, Ordering},
};

use tenure_proto::Owner;

use crate::{Fault, FaultKind};

/// A source of owners and of jitter.
pub trait Entropy: fmt::Debug + Send + Sync + 'static {
    /// Returns a fresh owner that cannot be guessed.
    ///
    /// # Errors
    /// A [`Fault`] if the system has no randomness. Then nothing is acquired.
    fn owner(&self) -> Result<Owner, Fault>;

    /// Returns a number that spreads pauses. It need not be secret.
    fn jitter(&self) -> u64;
}

/// The operating system's randomness, which [`Tenure`](crate::Tenure) uses by default.
///
/// Each owner is read from the system anew, so that a forked process cannot repeat one.
#[derive(Debug, Default)]
pub struct OsEntropy {
    steps: AtomicU64,
}

impl Entropy for OsEntropy {
    fn owner(&self) -> Result<Owner, Fault> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(|error| {
            let what = "the system provides no random bytes for an owner";
            Fault::new(FaultKind::Misconfigured, what, "check that /dev/urandom can be read")
                .because(error)
        })?;
        Ok(Owner::from_bytes(bytes))
    }

    fn jitter(&self) -> u64 {
        scramble(self.steps.fetch_add(1, Ordering::Relaxed) ^ u64::from(std::process::id()) << 32)
    }
}

/// Reproducible randomness, for tests and simulations only: its owners can be guessed.
///
/// ```
/// use tenure_core::{Entropy, SeededEntropy};
///
/// let (one, same) = (SeededEntropy::new(7), SeededEntropy::new(7));
/// assert_eq!(one.owner()?, same.owner()?);
/// # Ok::<(), tenure_core::Fault>(())
/// ```
#[derive(Debug)]
pub struct SeededEntropy {
    state: AtomicU64,
}

impl SeededEntropy {
    /// Makes a source from `seed`.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self { state: AtomicU64::new(seed) }
    }

    fn next(&self) -> u64 {
        scramble(self.state.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed))
    }
}

impl Entropy for SeededEntropy {
    fn owner(&self) -> Result<Owner, Fault> {
        let mut bytes = [0; 16];
        let (low, high) = bytes.split_at_mut(8);
        low.copy_from_slice(&self.next().to_le_bytes());
        high.copy_from_slice(&self.next().to_le_bytes());
        Ok(Owner::from_bytes(bytes))
    }

    fn jitter(&self) -> u64 {
        self.next()
    }
}

/// The finishing step of the SplitMix64 generator.
const fn scramble(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
