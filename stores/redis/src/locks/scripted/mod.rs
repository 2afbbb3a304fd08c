//! Locking by scripts that run inside the server.

mod acquire;
mod renewal;
mod together;
