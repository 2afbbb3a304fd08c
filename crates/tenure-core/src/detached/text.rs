//! A handle as text: one line without spaces, so that it fits a file, a variable and a message.
//!
//! `tenure-handle:1:STORE:KIND:MODE:MILLISECONDS:OWNER:CHECKSUM:NAME`. The checksum covers all other parts. It detects
//! text that was cut or mistyped, but proves nothing: the owner is the proof.

use std::{str::FromStr, time::Duration};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use tenure_proto::{
    Owner, Ttl,
    queue::{Kind, Mode},
};

use super::Handle;
use crate::{
    LockName,
    error::handle::{BadHandle, MARK, VERSION},
};

/// The characters of a name that are escaped.
const ESCAPED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'/').remove(b':').remove(b'@');
/// Longer than the longest handle: a name of 512 bytes, each escaped, and the parts before it.
const LONGEST: usize = 4_096;

impl Handle {
    /// Returns the handle as text. The text is all that a program needs to attach, renew or release the hold, so keep
    /// it out of command-line arguments, logs, and files that others can read.
    #[must_use]
    pub fn expose(&self) -> String {
        let Self { name, owner, kind, mode, lease, store } = self;
        let mode = match mode {
            Mode::Exclusive => "exclusive".to_owned(),
            Mode::Shared => "shared".to_owned(),
            Mode::Permits { take, of } => format!("permits.{take}.{of}"),
        };
        let (lease, owner) = (lease.as_millis(), owner.to_hex());
        let name = utf8_percent_encode(name.as_str(), ESCAPED);
        let (before, name) = (format!("{store}:{kind}:{mode}:{lease}:{owner}"), name.to_string());
        format!("{MARK}:{VERSION}:{before}:{:08x}:{name}", checksum(&before, &name))
    }
}

impl FromStr for Handle {
    type Err = BadHandle;

    /// Reads the text that [`Handle::expose`] returned. Spaces and line ends around it are ignored.
    fn from_str(text: &str) -> Result<Self, BadHandle> {
        let text = text.trim();
        if text.is_empty() {
            return Err(BadHandle::Empty);
        }
        let rest = text.strip_prefix(MARK).and_then(|rest| rest.strip_prefix(':'));
        let rest = rest.ok_or(BadHandle::NoHandle)?;
        let (version, rest) = rest.split_once(':').ok_or(BadHandle::Damaged)?;
        if version != VERSION {
            // Only a number is shown: anything else may be part of a secret.
            let number = version.len() <= 4 && version.bytes().all(|byte| byte.is_ascii_digit());
            let version = version.to_owned();
            let known = number && !version.is_empty();
            return Err(if known { BadHandle::Version { version } } else { BadHandle::Damaged });
        }
        if text.len() > LONGEST {
            return Err(BadHandle::Damaged);
        }
        parse(rest).ok_or(BadHandle::Damaged)
    }
}

fn parse(rest: &str) -> Option<Handle> {
    let mut parts = rest.splitn(7, ':');
    let (store, kind, mode) = (parts.next()?, parts.next()?, parts.next()?);
    let (lease, owner) = (parts.next()?, parts.next()?);
    let (sum, name) = (parts.next()?, parts.next()?);
    let before = rest.get(..rest.len() - sum.len() - name.len() - 2)?;
    if sum != format!("{:08x}", checksum(before, name)) {
        return None;
    }
    let name = percent_decode_str(name).decode_utf8().ok()?;
    Some(Handle {
        name: LockName::new(name).ok()?,
        owner: owner_of(owner)?,
        kind: kind.parse::<Kind>().ok()?,
        mode: mode_of(mode)?,
        lease: Ttl::new(Duration::from_millis(lease.parse().ok()?)).ok()?.get(),
        store: store.to_owned(),
    })
}

fn mode_of(text: &str) -> Option<Mode> {
    match text {
        "exclusive" => Some(Mode::Exclusive),
        "shared" => Some(Mode::Shared),
        _ => {
            let (take, of) = text.strip_prefix("permits.")?.split_once('.')?;
            Some(Mode::Permits { take: take.parse().ok()?, of: of.parse().ok()? })
        }
    }
}

fn owner_of(hex: &str) -> Option<Owner> {
    if hex.len() != 32 || !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    u128::from_str_radix(hex, 16).ok().map(|bits| Owner::from_bytes(bits.to_be_bytes()))
}

fn checksum(before: &str, name: &str) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    for part in [MARK, VERSION, before, name] {
        sum.update(part.as_bytes());
        sum.update(b":");
    }
    sum.finalize()
}
