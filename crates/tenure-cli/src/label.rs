//! Who holds a lock, for people: `alice@web3/4711 backup.sh`, and what such a label says.
//!
//! A label is what its owner says of itself, and no proof of anything.

use std::{
    ffi::OsString,
    fmt::{self, Display, Formatter},
    os::unix::ffi::OsStringExt,
    path::Path,
    process,
};

use nix::unistd::{Uid, User, gethostname};
use tenure::inspect::Identity;
use tenure_core::proto::queue::Label;

/// What is written behind the label of a lock that stays held. There has to be room for it.
const DETACHED: &str = " (detached)";

/// This user on this host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UserAtHost {
    user: String,
    host: String,
}

impl UserAtHost {
    /// As the system knows them: the number of a user without a name, as in many containers.
    pub(crate) fn from_system() -> Self {
        let uid = Uid::effective();
        let user = User::from_uid(uid).ok().flatten().map(|user| user.name);
        let host = gethostname().ok().and_then(|host| host.into_string().ok());
        Self {
            user: user.filter(|name| !name.is_empty()).unwrap_or_else(|| uid.to_string()),
            host: host.unwrap_or_else(|| "localhost".to_owned()),
        }
    }

    /// The name of this user.
    pub(crate) fn user(&self) -> &str {
        &self.user
    }

    /// The name of this host.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }
}

impl Display for UserAtHost {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { user, host } = self;
        write!(f, "{user}@{host}")
    }
}

/// The label of this process if nobody chose one, for what it runs. The command's arguments may hold
/// secrets, so its name alone is shown.
pub(crate) fn of_this_process(command: &[OsString]) -> String {
    label(&UserAtHost::from_system(), process::id(), command)
}

/// The program that started this command.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pid: u32,
    program: Vec<OsString>,
}

impl Caller {
    /// As far as the system knows it.
    pub(crate) fn from_system() -> Self {
        let pid = std::os::unix::process::parent_id();
        let name = std::fs::read(format!("/proc/{pid}/comm")).unwrap_or_default();
        let name = name.trim_ascii_end();
        let program = if name.is_empty() { None } else { Some(OsString::from_vec(name.to_vec())) };
        Self { pid, program: Vec::from_iter(program) }
    }

    /// The label of what is held for it, if nobody chose one.
    pub(crate) fn label(&self) -> String {
        label(&UserAtHost::from_system(), self.pid, &self.program)
    }

    /// What it is called.
    pub(crate) fn operation(&self) -> Option<String> {
        operation(&self.program)
    }
}

/// What a command is called.
pub(crate) fn operation(command: &[OsString]) -> Option<String> {
    let program = command.first().map(Path::new);
    // What stands where the command belongs may be a URL, or a handle: everybody reads labels.
    let is_name = |program: &&Path| !program.to_string_lossy().contains(['@', ':']);
    let name = program.filter(is_name).and_then(Path::file_name);
    name.map(|name| Label::from(&*name.to_string_lossy()).to_string())
}

fn label(me: &UserAtHost, process: u32, command: &[OsString]) -> String {
    let name = operation(command).map(|name| format!(" {name}")).unwrap_or_default();
    let mut label = Label::from(format!("{me}/{process}{name}")).to_string();
    while label.len() > Label::MAX - DETACHED.len() {
        label.pop();
    }
    label
}

/// Which holders and waiters are asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct LabelFilter {
    pub(crate) mine: Option<UserAtHost>,
    pub(crate) host: Option<String>,
    pub(crate) part: Option<String>,
}

impl LabelFilter {
    /// Whether all are.
    pub(crate) fn is_all(&self) -> bool {
        self.mine.is_none() && self.host.is_none() && self.part.is_none()
    }

    /// Whether this one is.
    pub(crate) fn has(&self, label: &str, identity: &Identity) -> bool {
        let Identity { host, user, .. } = identity;
        self.mine
            .as_ref()
            .is_none_or(|me| user.as_ref() == Some(&me.user) && host.as_ref() == Some(&me.host))
            && self.host.as_ref().is_none_or(|wanted| {
                host.as_ref().is_some_and(|host| host.eq_ignore_ascii_case(wanted))
            })
            && self.part.as_ref().is_none_or(|part| label.contains(part))
    }
}

#[cfg(test)]
mod tests {
    use tenure::inspect::{Contender, Mode};

    use super::*;

    fn me() -> UserAtHost {
        UserAtHost { user: "alice".to_owned(), host: "web3".to_owned() }
    }

    fn of(words: &[&str]) -> String {
        label(&me(), 4711, &words.iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn a_label_tells_user_host_process_and_the_commands_name_alone() {
        assert_eq!(of(&["backup.sh"]), "alice@web3/4711 backup.sh");
        assert_eq!(of(&["/opt/app/backup.sh", "--password", "x"]), "alice@web3/4711 backup.sh");
        assert_eq!(of(&["a\u{1b}[2Jb\n"]), "alice@web3/4711 a [2Jb ");
        assert_eq!(of(&[]), "alice@web3/4711");
        assert_eq!(of(&["/"]), "alice@web3/4711");
    }

    #[test]
    fn of_a_long_label_the_commands_name_is_cut_and_what_comes_behind_has_room() {
        let long = of(&[&"ü".repeat(400)]);
        assert!(long.starts_with("alice@web3/4711 üüü"), "{long}");
        assert!((243..=245).contains(&long.len()), "{}", long.len());
    }

    #[test]
    fn what_is_wanted_of_a_holder_has_to_hold_together() {
        let has = |filter: &LabelFilter, label: &str| {
            let holder = Contender::new(label, Mode::Exclusive);
            filter.has(&holder.label, &holder.identity())
        };
        let mine = LabelFilter { mine: Some(me()), ..LabelFilter::default() };
        assert!(has(&mine, "alice@web3/4711 backup.sh") && has(&mine, "alice@web3/4 (detached)"));
        assert!(has(&mine, "10.0.0.7 {host=web3 user=alice pid=3}"));
        assert!(!has(&mine, "alice@web30/4711") && !has(&mine, "malice@web3/4711"));
        assert!(!has(&mine, "web3/4711"), "a program that says no user");

        let at = |host: &str| LabelFilter { host: Some(host.to_owned()), ..LabelFilter::default() };
        assert!(has(&at("web3"), "alice@web3/4711 x") && has(&at("WEB3"), "web3/1"));
        assert!(has(&at("web3"), "leader {host=web3 pid=1}"));
        assert!(!has(&at("web3"), "web3") && !has(&at("web3"), "web3/x"));
        assert!(!has(&at("web"), "web3/1"));

        let both = LabelFilter { part: Some("backup".to_owned()), ..mine };
        assert!(has(&both, "alice@web3/4711 backup.sh"));
        assert!(!has(&both, "alice@web3/4711 report.sh") && !has(&both, "bob@web3/1 backup.sh"));
        assert!(LabelFilter::default().is_all() && has(&LabelFilter::default(), ""));
        assert!(!both.is_all());
    }
}
