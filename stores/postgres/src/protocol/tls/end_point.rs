//! What a login is bound to: the certificate that the server has shown, as `tls-server-end-point` (RFC 5929) has it. Pure.

use sha2::{Digest, Sha256, Sha384, Sha512};

const SEQUENCE: u8 = 0x30;
const IDENTIFIER: u8 = 0x06;

/// By what a certificate is signed, and the sum that goes with it.
const SIGNATURES: [(&[u8], HashFunction); 8] = [
    // By RSA, PKCS#1, with MD5, SHA-1, SHA-256, SHA-384 and SHA-512: the first two are replaced.
    (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x04], sum::<Sha256>),
    (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x05], sum::<Sha256>),
    (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0b], sum::<Sha256>),
    (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0c], sum::<Sha384>),
    (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0d], sum::<Sha512>),
    // By ECDSA with SHA-256, SHA-384 and SHA-512.
    (&[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02], sum::<Sha256>),
    (&[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x03], sum::<Sha384>),
    (&[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x04], sum::<Sha512>),
];

type HashFunction = fn(&[u8]) -> Vec<u8>;

fn sum<D: Digest>(bytes: &[u8]) -> Vec<u8> {
    D::digest(bytes).to_vec()
}

/// The sum of a certificate in DER; none where its signature has no sum of its own, as Ed25519 has not.
pub(super) fn end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    let (whole, _) = part(certificate, SEQUENCE)?;
    let (_, behind) = part(whole, SEQUENCE)?;
    let (algorithm, _) = part(behind, SEQUENCE)?;
    let (identifier, _) = part(algorithm, IDENTIFIER)?;
    let (_, sum) = SIGNATURES.iter().find(|(known, _)| *known == identifier)?;
    Some(sum(certificate))
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
        0x81..=0x84 => {
            let (bytes, rest) = rest.split_at_checked(usize::from(*length & 0x0f))?;
            (bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest)
        }
        _ => return None,
    };
    rest.split_at_checked(length)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panics")]
mod tests {
    use std::fs;

    use rustls::pki_types::{CertificateDer, pem::PemObject};
    use tenure_servers::Certificates;

    use super::*;

    #[test]
    fn a_certificate_has_a_sum_and_whatever_is_none_has_not() {
        let certificates = Certificates::new();
        let pem = fs::read(certificates.file("server.pem")).unwrap();
        let der = CertificateDer::from_pem_slice(&pem).unwrap();
        assert_eq!(end_point(&der).unwrap(), Sha256::digest(&der).to_vec());
        assert_eq!(end_point(b""), None);
        tenure_testkit::fuzz(20_000, &[&der], |bytes| end_point(bytes).is_some());
    }
}
