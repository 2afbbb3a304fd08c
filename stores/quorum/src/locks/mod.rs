//! What is done with a name at all members, and what their answers come to.

mod acquire;
mod asking;
mod gate;
mod late;
mod listing;
mod release;
mod renewal;
mod repair;
mod take_over;
mod verdict;
