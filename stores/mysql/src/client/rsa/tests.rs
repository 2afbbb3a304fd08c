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
fn powers_are_right_for_moduli_of_any_length() {
    for (base, exponent, modulus, expected) in [
        ("26", "65", "d3", "1f"),
        ("0c5c7f", "128b", "a6a3a5", "449a28"),
        ("5d1818e811", "0ed904759531985d", "89d23f0825", "3adbd701de"),
        (
            "95e77731af10506bf2efc6f877186d76b07e881ed162ae2eb1547f15052434b9b5df9e7769b10f4205b4907a70c31012f037\
             b64ce4228c38fb2918f135d25f557203301850c5a38fd547923a736994e3bf911a61dbe22e44158bae97ba94d0eda82f8f6d\
             05584ef8aa38922766581e27a1c08a6a63ec24ede6a46b4cb2424a23d596",
            "7403e430ec66a787",
            "a217dbc496cb8e81973e0becd7b03898d190f9ebdacc0cb1e29c658cda1495e60af593bd04cf0fd630f1f29d0da9953f48f1\
             a09f76b5a170b33839263059f28c105d1fb17c2390c192cfd3ac94af0f21ddb66cad4a268d116ece1738f7d93d9c172411e2\
             0b8f6b0d549b6f03675a1600a35a099950d836f675cc81e74ef5e8e25d95",
            "328484d1d29e64899e01c888826b27be5753a361c4cb091631261b969eaaae82044e0aeea6a7f387d7676699e56a7c7bc2b8\
             2da99dfbb4c20cdb3c4452669348e215fdb47c76ee18c85c4d8e54011d41dded451d0b1006c550a818f42dcb06757198873a\
             c34b62b233ab9301c1b57a89a553a29a7df3bd4a9ae01f5b5cf8db941d51",
        ),
        (
            "6672fdf2022a96fb1a14a0f9e77f1b103cdf1582b0eab477d26415479c65dc9f503f63af83bd0561e6211c70cf49952399c4\
             aaeac137dc76fb0f17a3007e62aa0a1df9fd789c6539382b0537e65affb2297631a992f0ce583505c6af0758d5563dab2cd3\
             1ee315128862c33a4fb774eb5248db40af72158370d269a9a5ae658f33",
            "8ca818",
            "f60a097c976bf46c697d2caf82eeeacbe226e875555790f82ec1d3fcff2a3af4d46b0a18e8830e07bc1e398f1012bd4acefa\
             ecbd389be4bcfc49b64a0872e6cc3ababced2057ee05cde00902c77ebff206867347214cdd2055930d6eaf14f4733f3e7d1b\
             fbc7a2ea20b2f14c942e05319acb5c74273f98e2774cbd87ad5c90a959",
            "e85fad8e26a7c5b83f04e5593714ddc4148b8524745d988730824dc2e83ec223b930fa3a389b7bf1a0164ee96d154000b31b\
             fae973cf4e521703117463ea07101b4188e925f0e738edab00ce3acd167dbb4efbffa1b8a6e31052348e724564f732f6cdc2\
             79d4920b2da833979c38acafd58e45115753a44d470dcdfb427d450cf4",
        ),
        ("fffffffe", "010001", "ffffffff", "fffffffe"),
        ("80000000", "03", "80000001", "80000000"),
        ("fffffffffffffffe", "010001", "ffffffffffffffff", "fffffffffffffffe"),
        ("8000000000000000", "03", "8000000000000001", "8000000000000000"),
        (
            "fffffffffffffffffffffffffffffffe",
            "010001",
            "ffffffffffffffffffffffffffffffff",
            "fffffffffffffffffffffffffffffffe",
        ),
        (
            "80000000000000000000000000000000",
            "03",
            "80000000000000000000000000000001",
            "80000000000000000000000000000000",
        ),
    ] {
        let power = power(&bytes(base), &bytes(exponent), &bytes(modulus));
        assert_eq!(power, bytes(expected), "{base} {exponent} {modulus}");
    }
}
