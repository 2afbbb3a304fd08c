//! Files and directories, whatever is in them.

pub(crate) mod access;
pub(crate) mod age;
pub(crate) mod create;
pub(crate) mod dir;
pub(crate) mod links;
pub(crate) mod patience;
pub(crate) mod short_path;
pub(crate) mod slots;
