//! The keys of a lock, and the records in them.
//!
//! ```text
//! {tag}lock:NAME   while one has it alone: a string, the record of the hold
//!                      OWNER [s] [use] TIME [!] [;take/of] " " LABEL      ! = written without scripts
//!                  else: a hash
//!                      x         who has it exclusively or is offered it: h (holds), l (lingers) or o, OWNER, record
//!                      end due till        when the first hold ends, the first position ends, the keys end
//!                      next present places the next position, waiters that are in line, positions that are kept
//!                      n s p               how many share it, of them readers, permits that are taken
//!                      hOWNER    a hold:   MODE TAKE OF GRANT "" LINGERS LABEL USE
//!                      wOWNER    a waiter: MODE TAKE OF PLACE CHANNEL SINCE LABEL USE ASKS_AT PASSED
//! {tag}line:NAME   a sorted set: qMODE OWNER CHANNEL by its position, below zero; kOWNER by when that ends
//! {tag}ends:NAME   a sorted set: hOWNER and oOWNER by when the hold or the offer ends
//! {tag}clock       the time of the last token, of all names with this tag
//! {tag}slots:NAME  a string, the record of the slots that were run: it stays when the others go
//! {tag}history:NAME  a list, the events of the history: the time of each, a space, and its text; it stays likewise
//! {tag}turns:NAME  in the plain layout, where another library was seen: ours for a second, or theirs for 100 ms and a second
//! ```

pub(crate) mod fields;
pub(crate) mod keys;
pub(crate) mod lone_record;
pub(crate) mod records;
pub(crate) mod redisson;
pub(crate) mod reply;
pub(crate) mod wire;
