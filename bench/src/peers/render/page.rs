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
        "Each task has a name of its own, so nobody waits for anybody. Client and server share the machine: what \
         counts on another one is the CPU of a pair on both sides. One task waits for the network and for being \
         woken; client and server are pinned to one core there, or it would show how fast that machine wakes \
         another one.",
    ),
    section(
        "What a pair asks of the server",
        "commands",
        "One task, counted by `MONITOR` and by the server's own bytes.",
    ),
    section(
        "Hand-off between two processes",
        "handoff",
        "Two processes take turns holding one name for 2 to 3 ms, so that one always waits when the other releases. \
         *A message* is `PUBLISH` in one process until it has arrived in another: no lock on this server can hand \
         off in less. Whoever polls waits for its next look.",
    ),
    section(
        "One name that many want",
        "hot",
        "Everyone wants the same name, over and over. More acquisitions a second are no merit where some of those \
         who wait never get it: see the longest wait, who was never granted during the whole measurement, and who \
         hung, still waiting seconds after everyone else had stopped. Tasks of one process pass tenure's lock on \
         among themselves for a bounded turn, which is why it needs so few commands; `fair()` asks the server each \
         time.",
    ),
    section(
        "Many holds, renewed",
        "hold",
        "One process holds so many names for longer than a ttl of 30 s. Lapsed are those whose key was gone in the \
         end. Who renews only at the end of a ttl does it once in this time; who renews after a third of it, three \
         times, and is sure of its lock after a lost answer. A JVM has its memory in advance; its bytes are what it \
         took from the system.",
    ),
    section(
        "When a holder is killed",
        "kill",
        "From `kill -9` of the holder until another process, which was waiting, has the lock. Each has its own \
         default ttl here, or 30 s where it has none: that is what bounds it.",
    ),
    Section {
        title: "On files",
        keeps: Keeps::Files,
        works: "file-",
        text: "On one machine, without a server. Those that stand beside tenure are the kernel's own lock and little \
               else: no token, no order, nobody to ask who holds it.",
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
         tenure beside other locks, on the same work, in one run of `scripts/bench-peers`. Every figure in the \
         tables and plots comes from [figures.json](figures.json), and none was typed.\n\n{}",
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
            "**This was a quick run**: each was measured for a moment, to see that it works. Its figures mean little.\n\n",
        );
    }
    let machine = &run.machine;
    let loads: Vec<_> =
        run.loads.iter().map(|load| format!("{:.1} → {:.1}", load.before, load.after)).collect();
    let _ = write!(
        text,
        "| | |\n|---|---|\n| when | {} (UTC), {} min |\n| machine | {} cores, {}, {} |\n| server | {}, nothing written \
         to disk, over loopback |\n| tools | {} |\n| rounds | {}, the order drawn anew for each work from the seed {} |\n\
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
    text.push_str("\n## Who takes part\n\n");
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
        "\nEach has one client or manager for each process, as its documentation shows, and its defaults, but for a \
         ttl of 30 s. *Token*: each hold has a number that rises, which the protected resource can check. *Renews*: \
         by itself, while it is held. Those marked *not installed* were to be measured and could not be.\n\n",
    );
    text
}

const CAVEATS: &str = "\
Read them so:

- **Compare within a table.** Everyone did the same work in the same run, in another order each round, with a server
  of its own each time. Figures are medians of the rounds; in parentheses are the least and the greatest. Who was
  *never granted*, *hung* or met *errors* is counted in the worst round. What a pair asks of the server, many holds and
  what follows a kill are measured once, the last by all at the same time.
- **Commands carry over to other machines**, bytes but for the host's name, and CPU for each operation better than
  times and throughput: here clients and server share the cores, and there is no network.
- **Warm**: pairs are made before they are measured, and a JVM works for four seconds before anything but holds; in
  the other works everyone else makes one acquisition first.
- **They do not promise the same.** A lock without a token, without an order or without renewal does less, and may be
  quicker for it. [why-not.md](why-not.md) says who promises what.
- **Whoever made this page made tenure.** The programs are in `bench/peers`, and `scripts/bench-peers` runs them on
  your machine.
";
