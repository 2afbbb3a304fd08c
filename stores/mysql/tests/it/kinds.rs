//! Every kind.

use crate::places::Place;

tenure_testkit::kinds!("mysql", Place::fresh());
