//! The suite on a real server.

mod mysql {
    use crate::places::Place;

    tenure_testkit::conformance!(Place::fresh());
}
