//! The authentication methods that tenure accepts, and how expensive it must be to guess a password from a proof.

/// An authentication method, as libpq's `require_auth` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AuthenticationMethod {
    /// The server asks for nothing.
    None,
    /// The password in clear text.
    Password,
    /// A hash of the password. The password can be guessed from it, and others may log in with it.
    Md5,
    /// A proof that reveals nothing of the password. The server proves its own knowledge in return.
    Scram,
}

const ALL: [(AuthenticationMethod, &str); 4] = [
    (AuthenticationMethod::None, "none"),
    (AuthenticationMethod::Password, "password"),
    (AuthenticationMethod::Md5, "md5"),
    (AuthenticationMethod::Scram, "scram-sha-256"),
];

impl AuthenticationMethod {
    /// What the server asks for with this method.
    pub(crate) const fn what(self) -> &'static str {
        match self {
            Self::None => "no proof of this client's identity, and gives none of its own",
            Self::Password => "the password in the clear",
            Self::Md5 => "the password as an MD5 hash",
            Self::Scram => "a SCRAM proof of the password",
        }
    }

    /// The name in a URL.
    pub(crate) fn name(self) -> &'static str {
        ALL.iter().find(|(login, _)| *login == self).map_or("", |(_, name)| name)
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// The fewest rounds of a SCRAM proof on a connection to an unknown server: RFC 7677 names no fewer.
pub(crate) const FEWEST: u32 = 4096;
/// The most rounds worked through for a password, here and by the driver.
const MOST: u32 = 100_000;

/// The methods that are accepted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AuthenticationPolicy {
    accepted: u8,
    fewest: u32,
}

impl AuthenticationPolicy {
    /// The methods accepted on a connection: those that the URL names. Without any, all methods if the server is known,
    /// as over TLS and by a socket in the file system.
    pub(crate) fn of(named: Option<Self>, is_known: bool) -> Self {
        let usual = if is_known {
            u8::MAX
        } else {
            AuthenticationMethod::None.bit() | AuthenticationMethod::Scram.bit()
        };
        let accepted = named.map_or(usual, |named| named.accepted);
        let mut logins = Self { accepted, fewest: FEWEST };
        // A policy that accepts a method that is as cheap to guess from, or the clear text, accepts few rounds too.
        if is_known
            || logins.accept(AuthenticationMethod::Md5)
            || logins.accept(AuthenticationMethod::Password)
        {
            logins.fewest = 0;
        }
        logins
    }

    /// Parses a list as in libpq, or returns what is wrong with it.
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

    /// Whether tenure gives a proof with this many rounds.
    pub(crate) const fn accept_rounds(self, rounds: u32) -> bool {
        self.fewest <= rounds && rounds <= MOST
    }
}
