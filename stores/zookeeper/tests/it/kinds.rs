//! Every kind, on one server and on an ensemble of three.

mod one {
    use crate::places::Place;

    tenure_testkit::kinds!("zookeeper", Place::on_one_for_long());
}

mod three {
    use crate::places::Place;

    tenure_testkit::kinds!("zookeeper 3", Place::on_three_for_long());
}
