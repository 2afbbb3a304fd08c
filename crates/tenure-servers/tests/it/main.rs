//! The servers do what tests want of them.

mod child;
mod zookeeper;
