//! Holding locks for the program that started this command.
//!
//! That program reads what happens from standard output, a line for each event, and writes commands to standard input.
//! A hold ends when the program releases it, closes standard input or ends: never by a signal, as the program may
//! count on the lock for as long as the last answer to a `check` said.

pub(crate) mod command;
pub(crate) mod input;
pub(crate) mod parent;
pub(crate) mod signals;
pub(crate) mod store;
pub(crate) mod table;
pub(crate) mod task;
