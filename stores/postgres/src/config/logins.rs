//! In which ways the server may have us recognized, and how cheap a proof may be to guess from.

/// A way, as libpq's `require_auth` calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AuthenticationMethod {
    /// Nothing is asked for.
    None,
    /// The password itself.
    Password,
    /// A sum of it, of which it can be guessed, and by which others may log in.
    Md5,
    /// A proof that says nothing of it, and is proven in return.
    Scram,
}

const ALL: [(AuthenticationMethod, &str); 4] = [
    (AuthenticationMethod::None, "none"),
    (AuthenticationMethod::Password, "password"),
    (AuthenticationMethod::Md5, "md5"),
    (AuthenticationMethod::Scram, "scram-sha-256"),
];

impl AuthenticationMethod {
    /// What the server wants by it.
    pub(crate) const fn what(self) -> &'static str {
        match self {
            Self::None => "no proof of this client's identity, and gives none of its own",
            Self::Password => "the password in the clear",
            Self::Md5 => "the password as an MD5 hash",
            Self::Scram => "a SCRAM proof of the password",
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

/// As few rounds as a proof by SCRAM has where anybody may ask for it: RFC 7677 names no less.
pub(crate) const FEWEST: u32 = 4096;
/// As many rounds as are worked through for a password, here and by the driver.
const MOST: u32 = 100_000;

/// Those that are accepted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AuthenticationPolicy {
    accepted: u8,
    fewest: u32,
}

impl AuthenticationPolicy {
    /// Those on a connection: what the URL says, or else all where it is known who the server is, as over TLS and by a
    /// socket in the file system.
    pub(crate) fn of(named: Option<Self>, is_known: bool) -> Self {
        let usual = if is_known {
            u8::MAX
        } else {
            AuthenticationMethod::None.bit() | AuthenticationMethod::Scram.bit()
        };
        let accepted = named.map_or(usual, |named| named.accepted);
        let mut logins = Self { accepted, fewest: FEWEST };
        // Who accepts what is as cheap to guess from, or the password itself, accepts few rounds, too.
        if is_known
            || logins.accept(AuthenticationMethod::Md5)
            || logins.accept(AuthenticationMethod::Password)
        {
            logins.fewest = 0;
        }
        logins
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
        Ok(Self { accepted, fewest: FEWEST })
    }

    pub(crate) const fn accept(self, login: AuthenticationMethod) -> bool {
        self.accepted & login.bit() != 0
    }

    /// Whether a proof by so many rounds is given.
    pub(crate) const fn accept_rounds(self, rounds: u32) -> bool {
        self.fewest <= rounds && rounds <= MOST
    }
}
