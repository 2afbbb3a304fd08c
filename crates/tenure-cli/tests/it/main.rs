//! The command as its users meet it: real processes, real signals, real terminals.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test may fail")]

mod all;
mod away;
mod bench;
mod chosen_codes;
mod completing;
mod counter;
mod deployments;
mod detached;
mod doctor;
mod elect;
mod exit_codes;
mod guardian;
mod handle_files;
mod handle_secrets;
mod inherited;
mod keyboard;
mod kinds;
mod labels;
mod lock_output;
mod looking;
mod lost_before;
mod manual;
mod names;
mod partitions;
mod pass_through;
mod passwords;
mod places;
mod process;
mod redis;
mod requested;
mod roles;
mod scarce;
mod scene;
mod screen;
mod settings;
mod shell_help;
mod signals;
mod stores;
mod terminal;
mod tutorial;
mod two_faults;
mod waiting;
mod words;
mod zookeeper;
