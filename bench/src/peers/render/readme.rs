//! What the README says of the figures.

use std::fmt::Write;

use super::{
    super::{
        roster::Keeps,
        run::{Run, Taking},
    },
    number, plot,
};
use crate::failure::Failure;

const BEGIN: &str = "<!-- figures -->\n";
const END: &str = "<!-- /figures -->";

/// Of how many hand-offs a quantile says something.
const ENOUGH: f64 = 20.0;

/// The README with what lies between the marks made anew.
pub(super) fn filled(readme: &str, run: &Run) -> Result<String, Failure> {
    let marks = readme.split_once(BEGIN).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(END)?;
        Some((before, after))
    });
    let (before, after) = marks.ok_or("README.md has no marks for the figures")?;
    Ok(format!("{before}{BEGIN}{}{END}{after}", block(run)))
}

fn block(run: &Run) -> String {
    let mut text = String::new();
    if run.quick {
        text.push_str("*From a quick run, which means little:*\n\n");
    }
    let _ =
        write!(text, "![tenure beside its peers on Redis](docs/figures/{}.svg)\n\n", plot::README);
    let sentences = [crowd(run), pair(run), handoff(run), slower(run)];
    let said: Vec<_> = sentences.into_iter().flatten().collect();
    let _ = write!(
        text,
        "{}\n\nMeasured in {} rounds on {} cores over loopback, {}, by `scripts/bench-peers`.\n\
         [Figures](docs/figures.md) has every workload and every peer.\n",
        said.join("\n"),
        run.rounds,
        run.machine.cores,
        run.machine.server,
    );
    text
}

/// The best of the peers, by a value of which more, or less, is better.
fn best<'a>(run: &'a Run, work: &str, key: &str, more: bool) -> Option<(&'a Taking, f64)> {
    let peers = run.at(Keeps::Redis).filter(|taking| !taking.ours());
    // Who polls hands off seldom, and once may be by chance.
    let seldom = |peer: &&Taking| {
        run.value(work, &peer.name, "handoffs").is_some_and(|count| count.median < ENOUGH)
    };
    let peers = peers.filter(|peer| !seldom(peer));
    let known = peers.filter_map(|peer| Some((peer, run.value(work, &peer.name, key)?.median)));
    known.max_by(|(_, one), (_, other)| {
        let order = one.total_cmp(other);
        if more { order } else { order.reverse() }
    })
}

fn crowd(run: &Run) -> Option<String> {
    let ours = run.value("hot-256", "tenure", "per_second")?.median;
    let (peer, theirs) = best(run, "hot-256", "per_second", true)?;
    let fair = run.value("hot-256", "tenure fair", "per_second")?.median;
    let without = |peer: &&Taking| {
        run.value("hot-256", &peer.name, "never").is_some_and(|never| never.least > 0.0)
    };
    let peers: Vec<_> =
        run.at(Keeps::Redis).filter(|taking| !taking.ours() && taking.missing.is_none()).collect();
    Some(format!(
        "- **256 tasks that contend for one lock:** {} acquisitions a second, as the tasks of one process pass the lock on\n  \
         ({} with `fair()`). The fastest peer, {}, makes {}. With {} of the {} peers, some\n  \
         tasks acquired nothing in the {} that a measurement took.",
        number(ours),
        number(fair),
        peer.name,
        number(theirs),
        peers.iter().filter(|peer| without(peer)).count(),
        peers.len(),
        if run.quick { "moment" } else { "one second" },
    ))
}

fn pair(run: &Run) -> Option<String> {
    let ours = run.value("pair-256", "tenure", "per_second")?.median;
    let (peer, theirs) = best(run, "pair-256", "per_second", true)?;
    let token = if peer.token { "with a token" } else { "without a token" };
    Some(format!(
        "- **256 tasks, each with its own lock:** {} pairs of acquire and release a second; {} makes {},\n  {token}.",
        number(ours),
        peer.name,
        number(theirs),
    ))
}

/// Where a peer is quicker, but for what is said of 256 tasks.
fn slower(run: &Run) -> Option<String> {
    let works = [("pair-1", "one task"), ("pair-16", "16 tasks"), ("pair-2048", "2,048 tasks")];
    let lost: Vec<_> = works
        .into_iter()
        .filter_map(|(work, what)| {
            let ours = run.value(work, "tenure", "per_second")?.median;
            let (peer, theirs) = best(run, work, "per_second", true)?;
            let (ours_said, theirs_said) = (number(ours), number(theirs));
            let said = format!("{what} ({} {theirs_said}, tenure {ours_said})", peer.name);
            (theirs > ours).then_some(said)
        })
        .collect();
    (!lost.is_empty()).then(|| {
        format!("- **Where a peer is faster:** pairs a second with {}.", lost.join(" and with "))
    })
}

fn handoff(run: &Run) -> Option<String> {
    let p50 = run.value("handoff", "tenure", "p50_us")?.median;
    let p99 = run.value("handoff", "tenure", "p99_us")?.median;
    let (peer, theirs) = best(run, "handoff", "p50_us", false)?;
    let tail = run.value("handoff", &peer.name, "p99_us")?.median;
    Some(format!(
        "- **From a release to the grant in another process:** {} µs (p99 {}); {} takes {} µs (p99 {}).",
        number(p50),
        number(p99),
        peer.name,
        number(theirs),
        number(tail),
    ))
}
