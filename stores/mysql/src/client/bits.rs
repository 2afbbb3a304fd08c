//! The bits by which both sides say what they can do, and a server how a session stands.

/// What a server or a client can do.
pub(crate) mod can {
    pub(crate) const LONG_PASSWORD: u32 = 1;
    pub(crate) const CONNECT_WITH_DB: u32 = 1 << 3;
    pub(crate) const PROTOCOL_41: u32 = 1 << 9;
    pub(crate) const SSL: u32 = 1 << 11;
    pub(crate) const TRANSACTIONS: u32 = 1 << 13;
    pub(crate) const SECURE_CONNECTION: u32 = 1 << 15;
    pub(crate) const MULTI_STATEMENTS: u32 = 1 << 16;
    pub(crate) const MULTI_RESULTS: u32 = 1 << 17;
    pub(crate) const PS_MULTI_RESULTS: u32 = 1 << 18;
    pub(crate) const PLUGIN_AUTH: u32 = 1 << 19;
    pub(crate) const CONNECT_ATTRS: u32 = 1 << 20;
    pub(crate) const DEPRECATE_EOF: u32 = 1 << 24;
}

/// What MariaDB can do beyond that.
pub(crate) const CACHE_METADATA: u32 = 1 << 4;

/// How a session stands after an answer.
pub(crate) mod status {
    pub(crate) const IN_TRANS: u16 = 1;
    pub(crate) const AUTOCOMMIT: u16 = 1 << 1;
    pub(crate) const MORE_RESULTS_EXISTS: u16 = 1 << 3;
}
