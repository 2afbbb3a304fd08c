//! The election: who leads, and what is news.

use tenure_proto::{
    Token,
    election::{Leader, Observed, leader},
    queue::{Contender, Mode, Snapshot},
};

fn term(number: u64) -> Token {
    Token::from_raw(number << 10).expect("a token")
}

fn holder(mode: Mode, lingering: bool, token: Option<Token>) -> Contender {
    let mut holder = Contender::new("host:1", mode);
    (holder.token, holder.since, holder.lingering) = (token, Some(7), lingering);
    holder
}

fn led_by(holder: Contender) -> Option<Leader> {
    leader(&Snapshot::new(vec![holder], Vec::new()))
}

#[test]
fn the_exclusive_holder_leads() {
    let leader = led_by(holder(Mode::Exclusive, false, Some(term(3)))).expect("a leader");
    assert_eq!((&*leader.label, leader.term, leader.since), ("host:1", term(3), Some(7)));
}

#[test]
fn what_is_kept_shared_or_without_a_term_leads_nobody() {
    assert_eq!(leader(&Snapshot::default()), None);
    assert_eq!(led_by(holder(Mode::Exclusive, true, Some(term(3)))), None);
    assert_eq!(led_by(holder(Mode::Shared, false, Some(term(3)))), None);
    assert_eq!(led_by(holder(Mode::Exclusive, false, None)), None);
}

#[test]
fn the_first_look_is_news_and_then_every_change_is() {
    let leader = |number| led_by(holder(Mode::Exclusive, false, Some(term(number))));
    let mut observed = Observed::default();
    let looks = [
        (None, true),
        (None, false),
        (leader(1), true),
        (leader(1), false),
        (leader(2), true),
        (None, true),
        (None, false),
        (leader(3), true),
    ];
    for (index, (found, news)) in looks.iter().enumerate() {
        assert_eq!(observed.is_news(found.as_ref()), *news, "look {index}");
    }
}
