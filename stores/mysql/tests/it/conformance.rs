//! The suite.

use crate::places::Place;

tenure_testkit::conformance!(Place::fresh());
