//! In which ways the server may have us recognized.

/// A way, as libpq's `require_auth` calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Login {
    /// Nothing is asked for.
    None,
    /// The password itself.
    Password,
    /// A sum of it, of which it can be guessed, and by which others may log in.
    Md5,
    /// A proof that says nothing of it, and is proven in return.
    Scram,
}

const ALL: [(Login, &str); 4] = [
    (Login::None, "none"),
    (Login::Password, "password"),
    (Login::Md5, "md5"),
    (Login::Scram, "scram-sha-256"),
];

impl Login {
    /// What the server wants by it.
    pub(crate) const fn what(self) -> &'static str {
        match self {
            Self::None => "no proof of who we are, and gives none of what it is",
            Self::Password => "the password in the clear",
            Self::Md5 => "the password as a sum by MD5",
            Self::Scram => "a proof of the password by SCRAM",
        }
    }

    /// As a URL has it.
    pub(crate) fn name(self) -> &'static str {
        ALL.iter().find(|(login, _)| *login == self).map_or("", |(_, name)| name)
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// Those that are accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Logins(u8);

impl Logins {
    /// Where a URL says nothing: over TLS it is known who the server is.
    pub(crate) const fn usual(encrypted: bool) -> Self {
        if encrypted { Self(u8::MAX) } else { Self(Login::None.bit() | Login::Scram.bit()) }
    }

    /// A list as libpq has it, or what is wrong with it.
    pub(crate) fn read(list: &str) -> Result<Self, String> {
        let mut accepted = 0;
        for name in list.split(',') {
            let Some((login, _)) = ALL.iter().find(|(_, known)| *known == name.trim()) else {
                let names = ALL.map(|(_, name)| name).join(", ");
                return Err(format!("require_auth is a list of some of {names}"));
            };
            accepted |= login.bit();
        }
        Ok(Self(accepted))
    }

    pub(crate) const fn accept(self, login: Login) -> bool {
        self.0 & login.bit() != 0
    }
}
