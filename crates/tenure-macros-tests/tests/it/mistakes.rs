//! What the compiler says of mistakes: each has a file in `tests/mistakes`, named after it.

#[test]
fn every_mistake_is_shown_where_it_is_with_its_cure() {
    trybuild::TestCases::new().compile_fail("tests/mistakes/*.rs");
}
