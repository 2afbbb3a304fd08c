//! `docs/figures.md`.

use std::fmt::Write;

use super::{
    super::{roster::Keeps, run::Run},
    plot, table,
};

/// A heading, what is under it, and which works.
struct Section {
    title: &'static str,
    keeps: Keeps,
    works: &'static str,
    text: &'static str,
}

const fn section(title: &'static str, works: &'static str, text: &'static str) -> Section {
    Section { title, keeps: Keeps::Redis, works, text }
}

const SECTIONS: &[Section] = &[
    section(
        "Acquire and release, uncontended",
        "pair",
        "Each task has its own name, so no task waits for another. Client and server share the machine; on separate \
         machines, the CPU of a pair on both sides is the figure that counts. One task alone waits for the network \
         and for wake-ups. In that work client and server are pinned to one core, because it would otherwise show how \
         fast the machine wakes another core.",
    ),
    section(
        "Commands and bytes of a pair",
        "commands",
        "One task. `MONITOR` counts the commands, and the server its own bytes.",
    ),
    section(
        "Hand-off between two processes",
        "handoff",
        "Two processes take turns holding one name for 2 to 3 ms, so one always waits when the other releases. *A \
         message* is the time from `PUBLISH` in one process until the message arrives in another: no lock on this \
         server can hand off in less. A lock that polls waits for its next poll.",
    ),
    section(
        "One contended name",
        "hot",
        "All waiters want the same name, over and over. More acquisitions a second are no advantage if some waiters \
         never get the lock. So see also the longest wait, the number of waiters that were *never granted* during the \
         whole measurement, and the number that *hung*: they still waited seconds after all others had stopped. Tasks \
         of one process hand tenure's lock over among themselves for a bounded time, so it needs few commands. \
         `fair()` asks the server each time.",
    ),
    section(
        "Many holds, renewed",
        "hold",
        "One process holds 10,000 or 100,000 names for longer than a ttl of 30 s. *Lapsed* counts the names with no \
         key left at the end. A lock that renews only at the end of a ttl does so once in this time. A lock that \
         renews after a third of the ttl does so three times, and after a lost answer still knows that it holds the \
         lock. A JVM allocates memory in advance, so its bytes are those that it took from the system.",
    ),
    section(
        "When a holder is killed",
        "kill",
        "The time from `kill -9` of the holder until another process, which was waiting, has the lock. The ttl bounds \
         it. Each lock uses its own default ttl here, or 30 s if it has none.",
    ),
    Section {
        title: "On files",
        keeps: Keeps::Files,
        works: "file-",
        text: "Locks on one machine, without a server. The others are the kernel's own lock and little else: they \
               have no token, no order, and no way to see the holder.",
    },
];

/// All tables of a run, for who reads them where they were made.
pub(crate) fn tables(run: &Run) -> String {
    let mut text = String::new();
    for section in SECTIONS {
        let _ = write!(text, "{}", tables_of(run, section).unwrap_or_default());
    }
    text
}

fn tables_of(run: &Run, section: &Section) -> Option<String> {
    let mut text = String::new();
    for work in table::works(section.keeps, section.works) {
        if let Some(table) = table::table(run, work) {
            let _ = write!(text, "### {}\n\n{table}\n\n", heading(work));
        }
    }
    Some(text).filter(|text| !text.is_empty())
}

fn heading(work: &super::super::work::Work) -> String {
    match work.keeps {
        Keeps::Redis => work.title.to_owned(),
        Keeps::Files => format!("Files: {}", work.title),
    }
}

/// The whole page.
pub(super) fn page(run: &Run) -> String {
    let mut page = format!(
        "# Figures\n\n<!-- Made by scripts/bench-peers from figures.json; a test compares. -->\n\n\
         This page compares the speed of tenure with that of other locks on the same work, in one run of \
         `scripts/bench-peers`. A program makes all tables and plots from [figures.json](figures.json).\n\n{}",
        about(run)
    );
    for section in SECTIONS {
        let Some(tables) = tables_of(run, section) else { continue };
        let _ = write!(page, "## {}\n\n{}\n\n", section.title, section.text);
        for plot in plot::ALL.iter().filter(|plot| plot.beside(section.works)) {
            if plot.has(run) {
                let _ = write!(page, "![{}](figures/{}.svg)\n\n", plot.title, plot.name);
            }
        }
        page.push_str(&tables);
    }
    page.truncate(page.trim_end().len());
    page.push('\n');
    page
}

fn about(run: &Run) -> String {
    let mut text = String::new();
    if run.quick {
        text.push_str(
            "**This was a quick run**: it only checks that each lock works. Its figures mean little.\n\n",
        );
    }
    let machine = &run.machine;
    let loads: Vec<_> =
        run.loads.iter().map(|load| format!("{:.1} → {:.1}", load.before, load.after)).collect();
    let _ = write!(
        text,
        "| | |\n|---|---|\n| when | {} (UTC), {} min |\n| machine | {} cores, {}, {} |\n| server | {}, nothing written \
         to disk, over loopback |\n| tools | {} |\n| rounds | {}, in an order drawn for each work from the seed {} |\n\
         | load before and after each round | {} |\n\n",
        run.made.trim_end_matches('Z').replace('T', " "),
        run.seconds.div_ceil(60),
        machine.cores,
        machine.cpu,
        machine.system,
        machine.server,
        machine.tools.join("; "),
        run.rounds,
        run.seed,
        loads.join(", "),
    );
    text.push_str(CAVEATS);
    text.push_str("\n## The locks\n\n");
    text.push_str("| | version | token | renews | how it is used |\n|---|---|---|---|---|\n");
    for taking in &run.contestants {
        let yes = |yes| if yes { "yes" } else { "no" };
        let name = if taking.ours() { format!("**{}**", taking.name) } else { taking.name.clone() };
        let used = match &taking.missing {
            None => taking.used.clone(),
            Some(why) => format!("**not installed**: {}", why.replace('|', "/")),
        };
        let _ = writeln!(
            text,
            "| {name} | {} | {} | {} | {used} |",
            taking.version,
            yes(taking.token),
            yes(taking.renews),
        );
    }
    text.push_str(
        "\nEach lock uses one client or manager for each process, as its documentation shows, and its defaults, \
         except for a ttl of 30 s. *Token*: each hold has a rising number that the protected resource can check. \
         *Renews*: the library renews a hold in the background. A lock marked *not installed* could not be \
         measured.\n\n",
    );
    text
}

const CAVEATS: &str = "\
How to read the figures:

- **Compare within a table.** All locks did the same work in the same run, in another order each round, each on its own
  server. Figures are medians of the rounds, with the least and the greatest in parentheses. *Never granted*, *hung* and
  *errors* are counted in the worst round. The commands of a pair, the many holds and the kill are measured once, the
  kill by all locks at the same time.
- **Commands carry over to other machines.** So do bytes, except for the host's name. CPU for each operation carries
  over better than times and throughput, because clients and server share the cores here, and there is no network.
- **Warm-up**: each lock makes pairs before pairs are measured. A JVM works for four seconds before every work except
  the holds. In works other than pairs, every other lock makes one acquisition first.
- **The locks do not promise the same.** A lock without a token, an order or renewals does less, and may be faster for
  it. [why-not.md](why-not.md) compares what they promise.
- **The author of this page is the author of tenure.** The programs are in `bench/peers`, and `scripts/bench-peers` runs
  them on your machine.
";
