//! What is tried when nothing goes wrong any more, with processes of its own.

pub(super) mod election;
pub(super) mod latch;
pub(super) mod slots;
