//! A service of which one replica works and the others stand by, and a client that finds the worker.
//!
//! Each replica campaigns with its address as label. The term of the leader goes along with all that
//! it does, so that the resource refuses a leader that was deposed and does not know it yet.
//!
//! Run it with `cargo run -p tenure-examples --bin leader`.

#![allow(clippy::print_stdout, reason = "an example shows what happens")]

use std::error::Error;

use tenure::{Tenure, Token};

/// What leaders write to. It refuses a term that is over.
#[derive(Debug, Default)]
struct Journal {
    greatest: Option<Token>,
}

impl Journal {
    fn write(&mut self, term: Token, line: &str) -> bool {
        let accepted = self.greatest <= Some(term);
        if accepted {
            self.greatest = Some(term);
        }
        println!("journal: {} {line:?} of term {term}", if accepted { "took" } else { "refused" });
        accepted
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // Three programs of one machine would open the same directory.
    let dir = tempfile::tempdir()?;
    let tenure = Tenure::open(format!("file:{}", dir.path().display())).await?;
    let mut journal = Journal::default();
    let mut leaders = tenure.election("scheduler").leaders();
    assert!(leaders.next().await?.is_none(), "nobody leads yet");

    let mut deposed = None;
    for address in ["10.0.0.1:9000", "10.0.0.2:9000"] {
        let candidate = tenure.election("scheduler").label(address);
        let leadership = candidate.campaign().await?;
        let leader = leaders.next().await?.ok_or("somebody leads")?;
        println!("client: the leader is at {}", leader.label);
        assert_eq!((leader.label.as_str(), leader.term), (address, leadership.term()));

        // Ends early if the lead is lost; then the candidate would campaign again.
        let work = async { journal.write(leadership.term(), "scheduled") };
        assert!(leadership.run(work).await?);
        deposed = deposed.or(Some(leadership.term()));
        leadership.resign().await?;
        assert!(leaders.next().await?.is_none(), "the seat is free");
    }

    let late = deposed.ok_or("somebody led")?;
    assert!(!journal.write(late, "what the first leader still had in its hands"));
    Ok(())
}
