//! What is over, or was taken, counts no more; and tokens rise past what the server's clock says.

use std::time::Duration;

use tenure_core::{
    FaultKind, Store, Token,
    proto::queue::{Answer, Ask, Intent, Mode, Released, TakenOver, Together},
};

use crate::{
    ends::{ends, head_is_right, is_over},
    scenes::{Lock, ME, ME_NEXT, OTHER, WAIT, ask, owner, taking_over},
    support::{lock_keys, micros, scripts, until},
};

impl Lock {
    async fn asks(&self, number: u8, intent: Intent) -> Answer {
        let ask = ask(number, Mode::Exclusive, intent);
        self.store.acquire(&self.name, &ask).await.unwrap()
    }

    /// Who asks to wait; the first of them gets the lock.
    async fn line(&self, numbers: &[u8]) {
        for number in numbers {
            self.asks(*number, WAIT).await;
        }
    }

    async fn releases(&self, number: u8) -> Released {
        self.store.release(&self.name, &owner(number), Duration::ZERO).await.unwrap()
    }

    fn is_offered_to(&self, number: u8) -> bool {
        ends(&self.server).contains(&format!("o{}", owner(number).to_hex()))
    }

    /// Lets the end of a hold (`h`), an offer (`o`) or a place (`k`) be over.
    fn is_over(&self, kind: &str, number: u8) {
        is_over(&self.server, &format!("{kind}{}", owner(number).to_hex()));
    }
}

fn granted(answer: &Answer) -> Token {
    let Answer::Granted { token, .. } = answer else { panic!("{answer:?}") };
    *token
}

fn is_busy(answer: &Answer) -> bool {
    matches!(answer, Answer::Busy { .. })
}

/// The holder was granted the lock among others, so the whole script releases it.
#[tokio::test]
async fn a_late_release_leaves_a_successor_that_is_alone() {
    let lock = Lock::new();
    lock.line(&[OTHER, ME]).await;
    lock.releases(OTHER).await;
    granted(&lock.asks(ME, WAIT).await);
    lock.store.evict(&lock.name).await.unwrap();
    let token = granted(&lock.asks(OTHER + 1, Intent::Try).await);
    assert_eq!(lock.releases(ME).await, Released::NotHeld);
    let kept = lock.store.release(&lock.name, &owner(ME), Duration::from_secs(9)).await.unwrap();
    assert_eq!(kept, Released::NotHeld);
    assert_eq!(granted(&lock.asks(OTHER + 1, Intent::Try).await), token, "it still has it");
}

#[tokio::test]
async fn a_release_that_comes_after_the_lease_is_told_so() {
    let lock = Lock::new();
    lock.line(&[ME, OTHER]).await;
    lock.is_over("h", ME);
    assert_eq!(lock.releases(ME).await, Released::NotHeld);
    granted(&lock.asks(OTHER, WAIT).await);
}

/// More of them than the script reads at once.
#[tokio::test]
async fn holds_that_are_over_are_in_nobodys_way_however_many_they_are() {
    let lock = Lock::new();
    let readers = OTHER..OTHER + 40;
    for reader in readers.clone() {
        let ask = ask(reader, Mode::Shared, Intent::Try);
        granted(&lock.store.acquire(&lock.name, &ask).await.unwrap());
    }
    readers.for_each(|reader| lock.is_over("h", reader));
    granted(&lock.asks(ME, Intent::Try).await);
}

/// Those who are left are more than the script had read.
#[tokio::test]
async fn after_many_ends_at_once_the_next_one_is_known() {
    let lock = Lock::new();
    for reader in 0..40 {
        let ttl = if reader < 20 { Duration::from_millis(300) } else { Duration::from_secs(60) };
        let ask = Ask { ttl, ..ask(OTHER + reader, Mode::Shared, Intent::Try) };
        granted(&lock.store.acquire(&lock.name, &ask).await.unwrap());
    }
    until("the short ones are over", async || {
        lock.store.inspect(&lock.name).await.unwrap().holders.len() == 20
    })
    .await;
    granted(&lock.store.acquire(&lock.name, &ask(ME, Mode::Shared, Intent::Try)).await.unwrap());
    head_is_right(&lock.server);
    let busy = lock.asks(ME_NEXT, Intent::Try).await;
    assert!(matches!(busy, Answer::Busy { holder: Some(_), .. }), "{busy:?}");
}

#[tokio::test]
async fn a_release_offers_nothing_to_one_whose_place_is_over() {
    let lock = Lock::new();
    lock.line(&[ME, OTHER, OTHER + 1]).await;
    lock.is_over("k", OTHER);
    assert_eq!(lock.releases(ME).await, Released::Released);
    // Else it would not be told, and find the lock free at its next look only.
    assert!(lock.is_offered_to(OTHER + 1) && !lock.is_offered_to(OTHER));
    granted(&lock.asks(OTHER + 1, WAIT).await);
}

#[tokio::test]
async fn an_offer_that_is_over_goes_to_who_came_first() {
    let lock = Lock::new();
    lock.line(&[OTHER, OTHER + 1, ME]).await;
    lock.releases(OTHER).await;
    lock.is_over("o", OTHER + 1);
    // Anybody's ask finds that the first in line is absent, and offers the lock to the next.
    assert!(is_busy(&lock.asks(OTHER + 2, Intent::Try).await));
    assert!(is_busy(&lock.asks(OTHER + 1, WAIT).await), "it comes back, and waits for the offer");
    lock.is_over("o", ME);
    assert!(is_busy(&lock.asks(ME, WAIT).await));
    granted(&lock.asks(OTHER + 1, WAIT).await);
}

/// Else its keys would end before it.
#[tokio::test]
async fn a_claim_for_longer_than_all_before_it_keeps_the_keys_for_as_long() {
    let lock = Lock::new();
    let brief = Ask { ttl: Duration::from_secs(5), ..ask(OTHER, Mode::Exclusive, Intent::Try) };
    granted(&lock.store.acquire(&lock.name, &brief).await.unwrap());
    lock.line(&[ME]).await;
    lock.releases(OTHER).await;
    granted(&lock.asks(ME, WAIT).await);
    head_is_right(&lock.server);
}

/// As when somebody else has removed it.
#[tokio::test]
async fn without_the_moment_of_the_first_end_it_is_looked_up() {
    let lock = Lock::new();
    lock.line(&[OTHER, ME, OTHER + 1]).await;
    lock.releases(OTHER).await;
    lock.is_over("k", OTHER + 1);
    lock.server.command(&["HDEL", &lock.stage().key("lock:"), "due"]);
    let claimed = lock.asks(ME, WAIT).await;
    assert!(matches!(claimed, Answer::Granted { others_waiting: false, .. }), "{claimed:?}");
}

#[tokio::test]
async fn a_claim_does_not_count_those_whose_places_are_over() {
    let lock = Lock::new();
    lock.line(&[OTHER, ME, OTHER + 1]).await;
    lock.releases(OTHER).await;
    lock.is_over("k", OTHER + 1);
    let claimed = lock.asks(ME, WAIT).await;
    assert!(matches!(claimed, Answer::Granted { others_waiting: false, .. }), "{claimed:?}");
}

/// As after a step back of its clock: all that counts is the last token.
#[tokio::test]
async fn tokens_rise_by_every_way_of_granting_while_the_clock_is_behind() {
    let lock = Lock::new();
    granted(&lock.asks(ME, Intent::Try).await);
    lock.releases(ME).await;
    let clock = lock.server.keys().into_iter().find(|key| key.ends_with("}clock")).unwrap();
    let ahead = micros() + 3_600_000_000;
    lock.server.command(&["SET", &clock, &ahead.to_string()]);
    let mut last = Token::from_time(ahead).unwrap();
    let mut rises = |way: &str, token: Token| {
        assert!(token > last, "{way}: {token:?} after {last:?}");
        last = token;
    };
    let turn = async |from, to| {
        let next = ask(to, Mode::Exclusive, WAIT);
        granted(&lock.store.turn(&lock.name, &owner(from), &next).await.unwrap())
    };
    let take_over = async |from, to| {
        let over = taking_over(from, to, Mode::Exclusive);
        match lock.store.take_over(&lock.name, &over).await.unwrap() {
            TakenOver::Granted(grant) => grant.token,
            TakenOver::NotHeld => panic!("it is held"),
        }
    };
    // Each way twice: what one leaves, the next has to exceed.
    for _ in 0..2 {
        let alone = granted(&lock.asks(ME, Intent::Try).await);
        rises("alone", alone);
        assert_eq!(granted(&lock.asks(ME, Intent::Try).await), alone, "it is asked again");
        rises("a turn alone", turn(ME, ME_NEXT).await);
        rises("another turn alone", turn(ME_NEXT, ME).await);
        rises("a take-over alone", take_over(ME, ME_NEXT).await);
        rises("another take-over alone", take_over(ME_NEXT, ME).await);
        lock.line(&[OTHER, OTHER + 1]).await;
        rises("a take-over among others", take_over(ME, ME_NEXT).await);
        rises("another take-over among others", take_over(ME_NEXT, ME).await);
        lock.releases(ME).await;
        rises("a claim", granted(&lock.asks(OTHER, WAIT).await));
        lock.releases(OTHER).await;
        lock.line(&[ME]).await;
        rises("another claim", granted(&lock.asks(OTHER + 1, WAIT).await));
        lock.releases(OTHER + 1).await;
        rises("a claim by the last", granted(&lock.asks(ME, WAIT).await));
        lock.line(&[OTHER]).await;
        lock.is_over("k", OTHER);
        rises("a turn among others", turn(ME, ME_NEXT).await);
        lock.line(&[OTHER]).await;
        lock.releases(OTHER).await;
        lock.releases(ME_NEXT).await;
        let asks = [(lock.name.clone(), ask(ME, Mode::Exclusive, Intent::Try))];
        let Together::Granted(grants) = lock.store.acquire_together(&asks).await.unwrap() else {
            panic!("the lock is free")
        };
        rises("together", grants[0].token);
        lock.line(&[OTHER]).await;
        lock.is_over("h", ME);
        rises("after an end", granted(&lock.asks(OTHER, WAIT).await));
        lock.releases(OTHER).await;
    }
}

/// As after the eviction of one key of several, or a write of somebody else.
#[tokio::test]
async fn what_makes_no_sense_is_granted_to_nobody() {
    for words in [
        &["HDEL", "lock:", "x"][..],
        &["HSET", "lock:", "x", "none"],
        &["HDEL", "lock:", "end"],
        &["HSET", "lock:", "end", "none"],
        &["HDEL", "lock:", "till"],
        &["HDEL", "lock:", "next"],
        &["HDEL", "lock:", "present"],
        &["HSET", "lock:", "places", "none"],
        &["HDEL", "lock:", "n"],
        &["HSET", "lock:", "n", "none"],
        &["HDEL", "lock:", "s"],
        &["HSET", "lock:", "p", "none"],
        &["SET", "lock:", "no record"],
        &["LIST", "lock:"],
    ] {
        let lock = Lock::new();
        lock.line(&[OTHER, OTHER + 1]).await;
        let mut words: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
        words[1] = lock.stage().key(&words[1]);
        if words[0] == "LIST" {
            lock.server.command(&["DEL", words[1].as_str()]);
            lock.server.command(&["RPUSH", words[1].as_str(), "one"]);
        } else {
            lock.server.command(&words);
        }
        for intent in [WAIT, Intent::Try] {
            let ask = ask(ME, Mode::Exclusive, intent);
            let fault = lock.store.acquire(&lock.name, &ask).await.unwrap_err();
            assert_eq!(fault.kind(), FaultKind::Corrupt, "{words:?}: {fault:#}");
        }
        let over = taking_over(OTHER, ME, Mode::Exclusive);
        match lock.store.take_over(&lock.name, &over).await {
            // A record that is there and has no owner is not of this one.
            Ok(taken) => assert_eq!((words[0].as_str(), taken), ("SET", TakenOver::NotHeld)),
            Err(fault) => assert_eq!(fault.kind(), FaultKind::Corrupt, "{words:?}: {fault:#}"),
        }
        if words[0] == "SET" {
            let fault = lock.store.inspect(&lock.name).await.unwrap_err();
            assert_eq!(fault.kind(), FaultKind::Corrupt, "{fault:#}");
        }
    }
}

const BESIDE: [Mode; 2] = [Mode::Shared, Mode::Permits { take: 1, of: 9 }];

#[tokio::test]
async fn beside_others_who_lapsed_has_nothing_to_let_go() {
    for mode in BESIDE {
        let lock = Lock::new();
        for number in [ME, OTHER, OTHER + 1] {
            granted(&lock.store.acquire(&lock.name, &ask(number, mode, WAIT)).await.unwrap());
        }
        lock.is_over("h", ME);
        assert_eq!(lock.releases(ME).await, Released::NotHeld, "{mode:?}");
        assert_eq!(lock.releases(OTHER).await, Released::Released, "{mode:?}");
    }
}

#[tokio::test]
async fn beside_others_whose_ends_are_gone_nobody_comes_in_or_goes() {
    for mode in BESIDE {
        let lock = Lock::new();
        for number in [ME, OTHER, OTHER + 1] {
            granted(&lock.store.acquire(&lock.name, &ask(number, mode, WAIT)).await.unwrap());
        }
        lock.server.command(&["DEL", &lock.stage().key("ends:")]);
        let refused = lock.store.acquire(&lock.name, &ask(ME_NEXT, mode, WAIT)).await.unwrap_err();
        assert_eq!(refused.kind(), FaultKind::Corrupt, "{mode:?}");
        let kept = lock.store.release(&lock.name, &owner(ME), Duration::ZERO).await.unwrap_err();
        assert_eq!(kept.kind(), FaultKind::Corrupt, "{mode:?}");
    }
}

#[tokio::test]
async fn beside_others_who_only_keeps_it_taken_has_nothing_to_let_go() {
    for mode in BESIDE {
        let lock = Lock::new();
        for number in [ME, OTHER, OTHER + 1] {
            granted(&lock.store.acquire(&lock.name, &ask(number, mode, WAIT)).await.unwrap());
        }
        let keeps = lock.store.release(&lock.name, &owner(ME), Duration::from_secs(60)).await;
        assert_eq!(keeps.unwrap(), Released::Released, "{mode:?}");
        assert_eq!(lock.releases(ME).await, Released::NotHeld, "{mode:?}");
        assert_eq!(lock.store.inspect(&lock.name).await.unwrap().holders.len(), 3, "{mode:?}");
    }
}

#[tokio::test]
async fn the_last_who_goes_leaves_no_key_and_before_each_call_was_one_script() {
    for mode in BESIDE {
        let lock = Lock::new();
        let others = [OTHER, OTHER + 1, OTHER + 2];
        for number in others {
            granted(&lock.store.acquire(&lock.name, &ask(number, mode, WAIT)).await.unwrap());
        }
        for _ in 0..3 {
            let before = scripts(&lock.server);
            granted(&lock.store.acquire(&lock.name, &ask(ME, mode, WAIT)).await.unwrap());
            assert_eq!(lock.releases(ME).await, Released::Released);
            assert_eq!(scripts(&lock.server), before + 2, "{mode:?}");
        }
        for number in others {
            assert_eq!(lock.releases(number).await, Released::Released);
        }
        assert_eq!(lock_keys(&lock.server), [""; 0], "{mode:?}");
    }
}
