//! The suite on a real server, reached in good and in bad ways.

mod plain {
    use crate::places::Place;

    tenure_testkit::conformance!(Place::plain());
}

mod least_privilege {
    use crate::places::Place;

    tenure_testkit::conformance!(Place::least_privilege());
}

mod bad_network {
    use crate::places::Place;

    tenure_testkit::conformance!(Place::bad_network(1));
}

mod forgotten_scripts {
    use crate::places::Place;

    tenure_testkit::conformance!(Place::with_nuisance(&[&["SCRIPT", "FLUSH"]]));
}

mod killed_clients {
    use crate::places::Place;

    tenure_testkit::conformance!(Place::killing_clients());
}

mod replicated {
    use crate::places::Place;

    tenure_testkit::conformance!(Place::replicated());
}

mod sentinel {
    use crate::places::Served;

    tenure_testkit::conformance!(Served::by_sentinels());
}

mod cluster {
    use crate::places::Served;

    tenure_testkit::conformance!(Served::by_cluster());
}

mod without_scripts {
    use crate::places::Place;

    tenure_testkit::conformance!(Place::without_scripts());
}

mod plain_layout {
    use crate::places::Place;

    tenure_testkit::conformance!(Place::plain_layout());
}

mod plain_layout_in_cluster {
    use crate::places::Served;

    tenure_testkit::conformance!(Served::plain_by_cluster());
}

mod redisson_layout {
    use crate::places::Place;

    tenure_testkit::conformance!(Place::redisson_layout());
}

mod fenced_redisson_layout {
    use crate::places::Place;

    tenure_testkit::conformance!(Place::fenced_redisson_layout());
}

mod redisson_layout_in_cluster {
    use crate::places::Served;

    tenure_testkit::conformance!(Served::redisson_by_cluster());
}
