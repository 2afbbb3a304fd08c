//! Processes of a run: children that play a part, programs of others, and what each uses.

pub(crate) mod child;
pub(crate) mod cpu;
pub(crate) mod maven;
pub(crate) mod memory;
pub(crate) mod orphan;
