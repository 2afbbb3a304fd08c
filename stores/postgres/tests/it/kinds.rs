//! Every kind.

use crate::places::Place;

tenure_testkit::kinds!("postgres", Place::fresh());
