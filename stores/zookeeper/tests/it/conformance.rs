//! The suite on one server, and on an ensemble of three; and with settings that change what a lock is.

mod one {
    use crate::places::Place;

    tenure_testkit::conformance!(Place::on_one());
}

mod kazoo {
    use crate::places::Place;

    tenure_testkit::conformance!(Place::on_one_with("&layout=kazoo"));
}

mod bare_tokens {
    use crate::places::Place;

    tenure_testkit::conformance!(Place::on_one_with("&tokens=czxid"));
}

mod three {
    use crate::places::Place;

    tenure_testkit::conformance!(Place::on_three());
}
