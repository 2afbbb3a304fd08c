//! Every kind, on a real server.

mod one {
    use crate::places::Place;

    tenure_testkit::kinds!("redis", Place::plain());
}

mod sentinel {
    use crate::places::Served;

    tenure_testkit::kinds!("sentinel", Served::by_sentinels());
}

mod cluster {
    use crate::places::Served;

    tenure_testkit::kinds!("cluster", Served::by_cluster());
}

mod redisson {
    use crate::places::Place;

    tenure_testkit::kinds!("redisson", Place::redisson_layout());
}

mod without_scripts {
    use crate::places::Place;

    tenure_testkit::kinds!("without scripts", Place::without_scripts());
}
