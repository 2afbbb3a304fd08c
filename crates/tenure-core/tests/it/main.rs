//! What the core promises, on the memory store and the machine's clock.

mod handover;
mod mutex;
