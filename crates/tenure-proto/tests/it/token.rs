//! Fencing tokens and the clock that they come from.

use tenure_proto::{Token, token::next_time};

const LIMIT: u64 = 1 << 53;

#[test]
fn the_next_time_is_now_or_one_more_than_the_last() {
    let cases = [
        (1_000, 0, Ok(1_000)),
        (1_000, 999, Ok(1_000)),
        (1_000, 1_000, Ok(1_001)),
        (10, 1_000, Ok(1_001)),
        (0, 0, Ok(1)),
        (LIMIT - 1, 0, Ok(LIMIT - 1)),
        (LIMIT, 0, Err(LIMIT)),
        (0, LIMIT - 1, Err(LIMIT)),
        (u64::MAX, u64::MAX, Err(u64::MAX)),
    ];
    for (now, last, expected) in cases {
        assert_eq!(
            next_time(now, last).map_err(|error| error.micros),
            expected,
            "now {now}, last {last}"
        );
    }
}

#[test]
fn a_token_is_a_positive_i64() {
    let greatest = Token::from_time(LIMIT - 1).unwrap();
    assert!(greatest.as_i64() > 0);
    assert_eq!(Token::from_time(0), None);
    assert_eq!(Token::from_time(LIMIT), None);
    assert_eq!(Token::from_raw(0), None);
    assert_eq!(Token::from_raw(1 << 63), None);
    assert_eq!(Token::from_raw(i64::MAX as u64).unwrap().as_i64(), i64::MAX);
}

#[test]
fn passes_rise_and_end_before_the_next_token_of_the_store() {
    let mut token = Token::from_time(7).unwrap();
    for pass in 1..=Token::MAX_PASS {
        let next = token.next_pass().unwrap();
        assert!(next > token);
        assert_eq!((next.time(), next.pass()), (7, pass));
        token = next;
    }
    assert_eq!(token.next_pass(), None);
    assert!(token < Token::from_time(8).unwrap());
}

#[test]
fn a_token_is_shown_as_a_plain_number() {
    let token = Token::from_raw(1_740_800_000).unwrap();
    assert_eq!(token.to_string(), "1740800000");
}

#[test]
fn a_token_is_read_back_as_it_was_written_and_as_nothing_else() {
    let greatest = Token::from_raw(i64::MAX as u64).unwrap();
    for token in [Token::from_raw(1).unwrap(), Token::from_time(7).unwrap(), greatest] {
        assert_eq!(token.to_string().parse(), Ok(token));
        assert_eq!(Token::try_from(token.get()), Ok(token));
        assert_eq!(Token::try_from(i64::from(token)), Ok(token));
        assert_eq!(u64::from(token), token.get());
    }
    for text in ["", "0", "+7", "-7", " 7", "7 ", "7.0", "0x7", "seven", "9223372036854775808"] {
        assert!(text.parse::<Token>().is_err(), "{text:?}");
    }
    assert!(Token::try_from(0_u64).is_err());
    assert!(Token::try_from(1_u64 << 63).is_err());
    assert!(Token::try_from(0_i64).is_err());
    assert!(Token::try_from(-7_i64).is_err());
}
