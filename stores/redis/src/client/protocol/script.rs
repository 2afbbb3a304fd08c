//! A script that runs inside the server.

use sha1_smol::Sha1;

/// One script: its text, and the digest by which the server knows it.
#[derive(Debug)]
pub(crate) struct Script {
    pub(crate) text: String,
    pub(crate) digest: String,
    /// Whether it makes tokens, so that it is told how far they are ahead of the server's time.
    pub(crate) makes_tokens: bool,
    /// Whether it may write what counts only when replicas have it, where that is wanted.
    pub(crate) counts: bool,
}

impl Script {
    pub(crate) fn new(text: String, makes_tokens: bool, counts: bool) -> Self {
        let digest = Sha1::from(&text).digest().to_string();
        Self { text, digest, makes_tokens, counts }
    }
}
