//! Who may do what with a node.

use std::{borrow::Cow, ops::BitOr};

use super::wire::Writer;

/// What somebody may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Permission(i32);

impl Permission {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const READ: Self = Self(1);
    pub(crate) const WRITE: Self = Self(2);
    pub(crate) const CREATE: Self = Self(4);
    pub(crate) const DELETE: Self = Self(8);
    pub(crate) const ADMIN: Self = Self(16);
    pub(crate) const ALL: Self = Self(31);
}

impl BitOr for Permission {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Somebody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AuthId {
    scheme: Cow<'static, str>,
    id: Cow<'static, str>,
}

impl AuthId {
    pub(crate) fn new(scheme: &str, id: &str) -> Self {
        Self { scheme: scheme.to_owned().into(), id: id.to_owned().into() }
    }
}

/// What one may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Acl {
    permission: Permission,
    who: AuthId,
}

impl Acl {
    pub(crate) const fn new(permission: Permission, who: AuthId) -> Self {
        Self { permission, who }
    }

    const fn all(scheme: &'static str, id: &'static str) -> Self {
        let who = AuthId { scheme: Cow::Borrowed(scheme), id: Cow::Borrowed(id) };
        Self { permission: Permission::ALL, who }
    }

    #[cfg(test)]
    pub(crate) const fn permission(&self) -> Permission {
        self.permission
    }

    #[cfg(test)]
    pub(crate) fn scheme(&self) -> &str {
        &self.who.scheme
    }

    #[cfg(test)]
    pub(crate) fn id(&self) -> &str {
        &self.who.id
    }
}

static ANYONE: [Acl; 1] = [Acl::all("world", "anyone")];
static CREATOR: [Acl; 1] = [Acl::all("auth", "")];

/// What each may do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acls<'a>(&'a [Acl]);

impl Acls<'_> {
    pub(crate) fn anyone_all() -> Acls<'static> {
        Acls(&ANYONE)
    }

    pub(crate) fn creator_all() -> Acls<'static> {
        Acls(&CREATOR)
    }

    pub(super) fn write(self, to: &mut Writer) {
        to.count(self.0.len());
        for acl in self.0 {
            to.int(acl.permission.0);
            to.text(&acl.who.scheme);
            to.text(&acl.who.id);
        }
    }
}

impl<'a> From<&'a [Acl]> for Acls<'a> {
    fn from(acls: &'a [Acl]) -> Self {
        Self(acls)
    }
}
