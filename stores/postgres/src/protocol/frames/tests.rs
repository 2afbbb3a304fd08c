use super::*;

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).unwrap();
    [&[tag], &length.to_be_bytes()[..], body].concat()
}

fn ready() -> Vec<u8> {
    message(b'Z', b"I")
}

fn let_in(encrypted: bool) -> MessageFilter {
    let mut frames = MessageFilter::new(AuthenticationPolicy::of(None, encrypted));
    frames.inspect_bytes(&message(b'R', &[0; 4]), None).unwrap();
    frames.inspect_bytes(&ready(), None).unwrap();
    frames
}

/// How many of them are let through.
fn count(frames: &mut MessageFilter, bytes: &[u8]) -> usize {
    (0..100_000_000).take_while(|_| frames.inspect_bytes(bytes, None).is_ok()).count()
}

#[test]
fn a_message_is_no_longer_than_it_may_be_however_it_comes() {
    for (tag, length) in [(b'D', u32::MAX), (b'D', 1 << 27), (b'A', 1 << 17), (b'N', 1 << 17)] {
        let head = [&[tag], &length.to_be_bytes()[..]].concat();
        assert_eq!(let_in(false).inspect_bytes(&head, None), Err(TOO_LONG), "{tag} {length}");
        let mut frames = let_in(false);
        let each: Result<Vec<()>, _> =
            head.iter().map(|byte| frames.inspect_bytes(&[*byte], None)).collect();
        assert_eq!(each, Err(TOO_LONG));
    }
    for length in 0..4_u32 {
        let head = [&b"D"[..], &length.to_be_bytes()].concat();
        assert!(let_in(false).inspect_bytes(&head, None).is_err());
    }
    let mut frames = let_in(false);
    let row = message(b'D', &[&[0, 1, 0, 0, 0, 9][..], b"something"].concat());
    for byte in row.iter().chain(&ready()) {
        frames.inspect_bytes(&[*byte], None).unwrap();
    }
    assert_eq!(frames.room, OF_ANSWER);
}

#[test]
fn an_answer_is_bounded_and_each_has_its_own_room() {
    let empty = message(b'D', &[0, 0]);
    let most = count(&mut let_in(false), &empty);
    assert!((OF_ANSWER / 200..OF_ANSWER / EACH).contains(&most), "{most}");
    let nulls = message(b'D', &[&[3, 232][..], &[0xff; 4_000]].concat());
    let most = count(&mut let_in(false), &nulls);
    assert!(most * 1_000 * VALUE <= OF_ANSWER, "{most}");
    let mut frames = let_in(false);
    for _ in 0..10 {
        for _ in 0..OF_ANSWER / 10_000 {
            frames.inspect_bytes(&nulls[..0], None).unwrap();
            frames.inspect_bytes(&empty, None).unwrap();
        }
        frames.inspect_bytes(&ready(), None).unwrap();
    }
    // What nobody asked for has no end, and is not kept; what is kept has one.
    let notice = message(b'N', &[b'x'; 1_000]);
    (0..200_000).for_each(|_| frames.inspect_bytes(&notice, None).unwrap());
    let settings = count(&mut frames, &message(b'S', b"a\0b\0"));
    assert!(settings < OF_SETTINGS / EACH, "{settings}");
}

#[test]
fn little_comes_before_the_server_has_let_us_in() {
    for tag in [b'N', b'S', b'R', b'E', b'v'] {
        let mut frames = MessageFilter::new(AuthenticationPolicy::of(None, true));
        let most = count(&mut frames, &message(tag, &[9; 1_000]));
        assert!(most * 1_000 < OF_LOGIN, "{tag} {most}");
    }
}

#[test]
fn a_password_is_given_in_the_ways_alone_that_are_accepted() {
    let asks = |logins: AuthenticationPolicy, code: u32| {
        MessageFilter::new(logins).inspect_bytes(&message(b'R', &code.to_be_bytes()), None)
    };
    let (plain, encrypted) =
        (AuthenticationPolicy::of(None, false), AuthenticationPolicy::of(None, true));
    assert_eq!(asks(plain, 3), Err(ConnectionEndReason::Login(AuthenticationMethod::Password)));
    assert_eq!(asks(plain, 5), Err(ConnectionEndReason::Login(AuthenticationMethod::Md5)));
    for code in [0, 10, 12] {
        asks(plain, code).unwrap();
    }
    for code in [0, 3, 5, 10] {
        asks(encrypted, code).unwrap();
    }
    let named = AuthenticationPolicy::read("scram-sha-256,md5").unwrap();
    assert!(asks(named, 5).is_ok() && asks(named, 10).is_ok());
    assert!(asks(named, 3).is_err() && asks(named, 0).is_err());
    // The word that all is well comes after a proof.
    let mut frames = MessageFilter::new(named);
    let mut says = |code: u32, text: &str| {
        frames.inspect_bytes(&message(b'R', &[&code.to_be_bytes(), text.as_bytes()].concat()), None)
    };
    says(10, "").unwrap();
    assert_eq!(says(0, ""), Err(ConnectionEndReason::Unproven));
    says(11, "r=abc,s=QUI=,i=4096").unwrap();
    assert_eq!(says(0, ""), Err(ConnectionEndReason::Unproven));
    says(12, "v=QUI=").unwrap();
    says(0, "").unwrap();
    assert!(AuthenticationPolicy::read("scram").is_err());
}

#[test]
fn a_proof_has_neither_too_few_rounds_nor_more_than_anybody_needs() {
    let goes_on = |logins: AuthenticationPolicy, rounds: &str| {
        let text = format!("r=abc,s=QUI=,i={rounds}");
        let body = [&11_u32.to_be_bytes(), text.as_bytes()].concat();
        MessageFilter::new(logins).inspect_bytes(&message(b'R', &body), None)
    };
    let named = |list| Some(AuthenticationPolicy::read(list).unwrap());
    let strict = [
        AuthenticationPolicy::of(None, false),
        AuthenticationPolicy::of(named("scram-sha-256"), false),
        AuthenticationPolicy::of(named("none,scram-sha-256"), false),
    ];
    for logins in strict {
        goes_on(logins, "4096").unwrap();
        goes_on(logins, "100000").unwrap();
        assert_eq!(goes_on(logins, "1"), Err(ConnectionEndReason::Rounds(1)));
        assert_eq!(goes_on(logins, "4095"), Err(ConnectionEndReason::Rounds(4095)));
    }
    // It is known who the server is, or nobody can ask.
    let others = [
        AuthenticationPolicy::of(None, true),
        AuthenticationPolicy::of(named("scram-sha-256"), true),
        AuthenticationPolicy::of(named("scram-sha-256,md5"), false),
        AuthenticationPolicy::of(named("scram-sha-256,password"), false),
    ];
    for logins in others {
        goes_on(logins, "1").unwrap();
        for rounds in ["100001", "2147483647", "4294967295", "99999999999999999999"] {
            assert!(goes_on(logins, rounds).is_err(), "{rounds}");
        }
    }
}

#[test]
fn no_type_is_asked_for_that_the_driver_does_not_know() {
    let column = |id: u32| {
        let about = [&[0; 6], &id.to_be_bytes()[..], &[0; 8]].concat();
        [&[0, 1], &b"name\0"[..], &about].concat()
    };
    let prepared = |id| {
        let mut frames = let_in(false);
        frames.inspect_bytes(&message(b'1', b""), None).unwrap();
        frames.inspect_bytes(&message(b'T', &column(id)), None)
    };
    prepared(25).unwrap();
    assert!(prepared(999_999).is_err());
    // Texts have no types.
    let_in(false).inspect_bytes(&message(b'T', &column(999_999)), None).unwrap();
    let takes = |id: u32| {
        let_in(false)
            .inspect_bytes(&message(b't', &[&[0, 1], &id.to_be_bytes()[..]].concat()), None)
    };
    takes(17).unwrap();
    assert!(takes(999_999).is_err());
    let whole = column(25);
    for at in 0..whole.len() {
        assert_eq!(columns(&whole[..at]), None, "{at}");
    }
    assert_eq!(parameters(&[0, 2, 0, 0, 0, 25]), None);
}

#[test]
fn whatever_comes_is_let_through_or_refused() {
    let messages = [
        message(b'R', b"\0\0\0\x0br=abc,s=QUI=,i=4096"),
        message(b'1', b""),
        message(b't', &[0, 1, 0, 0, 0, 25]),
        message(b'D', &[0, 1, 0, 0, 0, 1, 9]),
        ready(),
    ];
    let all = messages.concat();
    tenure_testkit::fuzz(20_000, &[&all, &let_in_by()], |bytes| {
        let (mut whole, mut parts) = (let_in(true), let_in(true));
        let at_once = whole.inspect_bytes(bytes, None);
        let in_parts: Result<Vec<()>, _> =
            bytes.chunks(3).map(|part| parts.inspect_bytes(part, None)).collect();
        assert_eq!(at_once, in_parts.map(|_| ()));
        at_once.is_ok()
    });
}

fn let_in_by() -> Vec<u8> {
    [message(b'R', &[0; 4]), message(b'S', b"a\0b\0"), ready()].concat()
}

#[test]
fn what_answers_another_question_is_refused() {
    let (tag, other) = (QueryTag::of(7), QueryTag::of(8));
    let columns = |tag: QueryTag| {
        let about = [&[0; 6][..], &20_u32.to_be_bytes(), &[0; 8]].concat();
        message(b'T', &[&[0, 1], tag.to_string().as_bytes(), &[0], &about].concat())
    };
    let (parsed, row, done) =
        (message(b'1', b""), message(b'D', &[0, 0]), message(b'C', b"SELECT 1\0"));
    let failed = message(b'E', b"\0");
    let passes = |parts: &[&[u8]], expected: Option<QueryTag>| {
        let mut frames = let_in(false);
        let passed = frames.inspect_bytes(&parts.concat(), expected);
        passed.map(|()| (frames.answer_count(), frames.is_doubtful()))
    };
    let ours = columns(tag);
    assert_eq!(passes(&[&parsed, &ours, &row, &done, &ready()], Some(tag)), Ok((2, false)));
    assert_eq!(passes(&[&parsed, &ours, &done, &ready()], Some(tag)), Ok((2, false)));
    assert_eq!(passes(&[&parsed, &ours, &failed, &ready()], Some(tag)), Ok((2, false)));
    // Nothing says to what it is.
    assert_eq!(passes(&[&failed, &ready()], Some(tag)), Ok((2, true)));
    // What comes behind it does not tell either: it was to another question, and ours had an effect.
    assert_eq!(passes(&[&failed, &ready(), &ours], Some(tag)), Ok((2, true)));
    let mut frames = let_in(false);
    frames.inspect_bytes(&[&*failed, &ready()].concat(), Some(tag)).unwrap();
    frames.inspect_bytes(&ours, None).unwrap();
    assert!(frames.is_doubtful());
    frames.inspect_bytes(&columns(other), Some(other)).unwrap();
    assert!(!frames.is_doubtful(), "the next question is not in doubt for that");
    let others: [&[&[u8]]; 6] = [
        &[&parsed, &columns(other)],
        &[&row],
        &[&done],
        &[&message(b'n', b"")],
        &[&ready()],
        &[&ours, &done, &ready(), &done],
    ];
    for parts in others {
        assert_eq!(passes(parts, Some(tag)), Err(ConnectionEndReason::Others), "{parts:?}");
    }
    assert!(passes(&[&columns(other), &row, &done, &ready()], None).is_ok());
}
