//! What the processes tell: a line each, written by one side and read by the other.

use std::fmt;

/// How a name is held, and with whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// By nobody else.
    Alone,
    /// With others that read.
    Reading,
    /// With others, up to so many.
    Permit(u32),
}

/// A line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// A hold that it counts on began; one that is kept goes on until it is said to have ended.
    Began { id: u64, name: String, token: u64, mode: Mode, from: u64, kept: bool },
    /// It counted on it until then.
    Ended { id: u64, until: u64 },
    /// A hold was lost.
    Lost { name: String, why: String },
    /// The store failed a caller.
    Failed { why: String },
    /// What it has done so far.
    Done(Done),
    /// What it logged so far: how often a message.
    Logged { count: u64, message: String },
    /// Its holds are there.
    Ready,
    /// It has let go of everything.
    Over,
}

/// What a process has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Done {
    pub(crate) grants: u64,
    pub(crate) timed_out: u64,
    pub(crate) dropped: u64,
    pub(crate) lost: u64,
    pub(crate) failed: u64,
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Began { id, name, token, mode, from, kept } => {
                let mode = match mode {
                    Mode::Alone => "alone".to_owned(),
                    Mode::Reading => "reading".to_owned(),
                    Mode::Permit(of) => of.to_string(),
                };
                write!(f, "began {id} {name} {token} {mode} {from} {kept}")
            }
            Self::Ended { id, until } => write!(f, "ended {id} {until}"),
            Self::Lost { name, why } => write!(f, "lost {name} {}", one_line(why)),
            Self::Failed { why } => write!(f, "failed {}", one_line(why)),
            Self::Done(Done { grants, timed_out, dropped, lost, failed }) => {
                write!(f, "done {grants} {timed_out} {dropped} {lost:#} {failed}")
            }
            Self::Logged { count, message } => write!(f, "logged {count} {}", one_line(message)),
            Self::Ready => write!(f, "ready"),
            Self::Over => write!(f, "over"),
        }
    }
}

fn one_line(text: &str) -> String {
    text.replace('\n', " ")
}

impl Told {
    pub(crate) fn read(line: &str) -> Option<Self> {
        let (what, rest) = line.split_once(' ').unwrap_or((line, ""));
        let words: Vec<_> = rest.split(' ').collect();
        Some(match (what, &*words) {
            ("began", [id, name, token, mode, from, kept]) => Self::Began {
                id: id.parse().ok()?,
                name: (*name).to_owned(),
                token: token.parse().ok()?,
                mode: match *mode {
                    "alone" => Mode::Alone,
                    "reading" => Mode::Reading,
                    of => Mode::Permit(of.parse().ok()?),
                },
                from: from.parse().ok()?,
                kept: kept.parse().ok()?,
            },
            ("ended", [id, until]) => {
                Self::Ended { id: id.parse().ok()?, until: until.parse().ok()? }
            }
            ("lost", [name, why @ ..]) => {
                Self::Lost { name: (*name).to_owned(), why: why.join(" ") }
            }
            ("failed", _) => Self::Failed { why: rest.to_owned() },
            ("done", [grants, timed_out, dropped, lost, failed]) => Self::Done(Done {
                grants: grants.parse().ok()?,
                timed_out: timed_out.parse().ok()?,
                dropped: dropped.parse().ok()?,
                lost: lost.parse().ok()?,
                failed: failed.parse().ok()?,
            }),
            ("logged", [count, message @ ..]) => {
                Self::Logged { count: count.parse().ok()?, message: message.join(" ") }
            }
            ("ready", _) => Self::Ready,
            ("over", _) => Self::Over,
            _ => return None,
        })
    }
}
