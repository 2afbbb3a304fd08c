//! What becomes of a statement whose error may be about what another client of a pooler asked. Pure.
//!
//! Then the statement may have had its effect, or may have it yet.

use tenure_core::{Fault, FaultKind};

use crate::error::Failure;

/// How often a read is run at most whose errors differ.
const READS: u32 = 4;
const OTHERS: &str =
    "the database refused a statement, which may be one of another client of the pooler";

impl Failure {
    /// The same, where it may be about what another client of a pooler asked.
    pub(crate) fn doubted(self, writes: bool) -> Self {
        match self {
            // It is run again in any case.
            Self::Crossed | Self::Unprepared if !writes => self,
            failure => {
                let fault = failure.fault();
                if writes && fault.is_transient() {
                    Self::Fault(in_doubt(fault))
                } else {
                    Self::Doubtful(fault)
                }
            }
        }
    }
}

fn in_doubt(fault: Fault) -> Fault {
    if fault.kind() == FaultKind::InDoubt {
        return fault;
    }
    Fault::new(FaultKind::InDoubt, OTHERS, "try again").because(fault)
}

/// The runs of one statement, until it is known what became of it.
#[derive(Debug)]
pub(crate) struct StatementRuns {
    writes: bool,
    count: u32,
    /// The error of the last run, which may be about something else.
    refused: Option<Fault>,
}

impl StatementRuns {
    pub(crate) const fn new(writes: bool) -> Self {
        Self { writes, count: 0, refused: None }
    }

    /// What the statement came to, by what its next run did. None if it is to be run once more.
    pub(crate) fn outcome<T>(&mut self, done: Result<T, Failure>) -> Option<Result<T, Failure>> {
        self.count += 1;
        let Some(before) = self.refused.take() else {
            return match done {
                Err(Failure::Doubtful(fault)) => {
                    self.refused = Some(fault);
                    None
                }
                done => Some(done),
            };
        };
        match done {
            // What another client asked is hardly refused to us twice.
            Err(failure) if is_same(&failure, &before) => Some(Err(Failure::Fault(before))),
            // If the first run had its effect, the second finds it, and does nothing: it says nothing of the first.
            _ if self.writes => Some(Err(Failure::Fault(in_doubt(before)))),
            Err(Failure::Doubtful(fault)) if self.count < READS => {
                self.refused = Some(fault);
                None
            }
            Err(Failure::Doubtful(fault)) => {
                let unreachable = Fault::new(FaultKind::Unreachable, OTHERS, "try again");
                Some(Err(Failure::Fault(unreachable.because(fault))))
            }
            done => Some(done),
        }
    }
}

/// Whether it is about the same. The words of the server may name another table.
fn is_same(failure: &Failure, before: &Fault) -> bool {
    match failure {
        Failure::Crossed | Failure::Unprepared => false,
        Failure::ReadOnly(fault)
        | Failure::NoTables(fault)
        | Failure::Doubtful(fault)
        | Failure::Fault(fault) => {
            let parts = |of: &Fault| (of.kind(), of.message().to_owned(), of.help().to_owned());
            parts(fault) == parts(before)
        }
    }
}

#[cfg(test)]
mod tests;
