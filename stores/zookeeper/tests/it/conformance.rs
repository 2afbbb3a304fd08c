//! The suite on one server, and on an ensemble of three.

mod one {
    use crate::places::Place;

    tenure_testkit::conformance!(Place::on_one());
}

mod three {
    use crate::places::Place;

    tenure_testkit::conformance!(Place::on_three());
}
