//! Every kind, on a real server.

use crate::places::Place;

tenure_testkit::kinds!("redis", Place::plain());
