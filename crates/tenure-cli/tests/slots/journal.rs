//! What the job writes: a line when it begins, and one when it ends.

use std::{fs, path::Path};

/// The job. It says also to its host, by empty files, how far it has come, and stays a moment after its last line.
pub(crate) const JOB: &str = r#"
line() { echo "${TENURE_SLOT:--} $TENURE_TOKEN $1 $CALL" >> journal; : > "$CALL.$1"; }
line begin
sleep "$WORK"
[ -z "$FAILS" ] || exit 1
line end
sleep 0.03
"#;

/// A line of the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) slot: String,
    pub(crate) token: u64,
    pub(crate) is_end: bool,
    /// The number of the call that ran the job.
    pub(crate) call: usize,
}

pub(crate) fn read(dir: &Path) -> Vec<Line> {
    let text = fs::read_to_string(dir.join("journal")).unwrap_or_default();
    text.lines().map(|line| parsed(line).unwrap_or_else(|| panic!("{line:?}"))).collect()
}

fn parsed(line: &str) -> Option<Line> {
    let [slot, token, what, call] = line.split(' ').collect::<Vec<_>>().try_into().ok()?;
    let is_end = match what {
        "begin" => false,
        "end" => true,
        _ => return None,
    };
    let slot = slot.to_owned();
    Some(Line { slot, token: token.parse().ok()?, is_end, call: call.parse().ok()? })
}
