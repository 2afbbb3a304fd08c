use std::{collections::BTreeSet, fs};

use crate::{process::code, scene::Scene};

const PROCESSES: usize = 16;
const ROUNDS: usize = 10;

#[test]
fn an_unprotected_counter_loses_nothing_and_tokens_rise_in_the_order_of_the_holds() {
    let scene = Scene::new();
    fs::write(scene.path("counter"), "0\n").unwrap();
    let script = "read n < counter; echo $((n + 1)) > counter; echo $TENURE_TOKEN >> tokens";
    std::thread::scope(|threads| {
        for _ in 0..PROCESSES {
            threads.spawn(|| {
                for _ in 0..ROUNDS {
                    assert_eq!(code(&scene.run("counter", script)), 0);
                }
            });
        }
    });
    assert_eq!(scene.line("counter"), (PROCESSES * ROUNDS).to_string());
    let tokens: Vec<u64> =
        scene.line("tokens").lines().map(|token| token.parse().unwrap()).collect();
    assert_eq!(tokens.iter().collect::<BTreeSet<_>>().len(), PROCESSES * ROUNDS);
    assert!(tokens.is_sorted());
}
