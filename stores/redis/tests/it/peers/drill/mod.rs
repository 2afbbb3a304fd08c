//! Processes of a library and of tenure on one lock for minutes, stopped and killed: `scripts/drill peers`.

#![allow(clippy::print_stdout, reason = "the figures")]

mod events;
mod resource;
mod tests;
mod worker;

use std::{
    fs,
    hash::{BuildHasher, RandomState},
    time::{Duration, Instant},
};

use tenure_servers::RedisServer;

pub(crate) use self::worker::beside_peers;
use self::{
    events::Leases,
    resource::{Figures, Resource, Side},
};
use super::{
    KEY,
    library::{Kind, Library, Version},
    program::Peer,
};

const TTL: Duration = Duration::from_secs(2);

/// How many processes each side has.
const PROCESSES: usize = 4;

/// How often each process counts.
const TURNS: usize = 250;

/// How long both sides share the lock without trouble.
const SHARED: Duration = Duration::from_secs(60);

/// How long processes are stopped and killed.
const DISTURBED: Duration = Duration::from_secs(60);

/// One lock, and how processes of both sides come to it.
struct Place {
    library: Library,
    server: RedisServer,
    resource: Resource,
}

impl Place {
    fn new(library: Library) -> Self {
        Self { library, server: RedisServer::start(), resource: Resource::start() }
    }

    fn start(&self, side: Side) -> Peer {
        let peer = match side {
            Side::Theirs => Peer::start(self.library, self.server.address().port(), TTL, KEY),
            Side::Ours => Peer::ours(self.library, &self.server.url(), TTL, KEY),
        };
        self.resource.judge(|judgement| judgement.expect(peer.id(), side));
        peer
    }

    /// One that writes until it is killed.
    async fn writer(&self, side: Side) -> Peer {
        let mut peer = self.start(side);
        peer.tell(&format!("write 10000 {}", self.resource.port)).await;
        peer
    }
}

/// Turns per second of each side, until its last process is done.
async fn count(place: &Place) -> [f64; 2] {
    let file = place.server.folder().join("counter");
    fs::write(&file, "0").unwrap();
    let mut peers = [Side::Theirs, Side::Ours]
        .map(|side| (0..PROCESSES).map(|_| place.start(side)).collect::<Vec<_>>());
    // Not while machines start.
    for peer in peers.iter_mut().flatten() {
        peer.asked(&format!("count 1 {}", file.display()), "done").await;
    }
    let began = Instant::now();
    for peer in peers.iter_mut().flatten() {
        peer.tell(&format!("count {TURNS} {}", file.display())).await;
    }
    let done = async |peers: &mut Vec<Peer>| {
        for peer in peers {
            peer.says("done").await;
        }
        (PROCESSES * TURNS) as f64 / began.elapsed().as_secs_f64()
    };
    let [theirs, ours] = &mut peers;
    let rates = tokio::join!(done(theirs), done(ours)).into();
    let counted: usize = fs::read_to_string(file).unwrap().parse().unwrap();
    assert_eq!(counted, 2 * PROCESSES * (TURNS + 1), "{:?} and tenure lost some", place.library);
    rates
}

/// How often each side has its turn while all of them want it.
async fn share(library: Library) -> [u64; 2] {
    let place = Place::new(library);
    let mut peers = Vec::new();
    for side in [Side::Theirs, Side::Ours] {
        for _ in 0..PROCESSES {
            let mut peer = place.start(side);
            peer.asked(&format!("write 1 {}", place.resource.port), "done").await;
            peers.push(peer);
        }
    }
    let written = || {
        let told = place.resource.judge(|judgement| judgement.figures);
        told.map(|figures| figures.written)
    };
    for peer in &mut peers {
        peer.tell(&format!("write 10000 {}", place.resource.port)).await;
    }
    let [theirs, ours] = written();
    tokio::time::sleep(SHARED).await;
    let [theirs_then, ours_then] = written();
    place.resource.judge(|judgement| {
        assert_eq!(judgement.violations, [] as [&str; 0], "{library:?}");
    });
    [theirs_then - theirs, ours_then - ours]
}

fn random(below: usize) -> usize {
    usize::try_from(RandomState::new().hash_one(()) >> 33).unwrap() % below
}

/// How often processes were stopped and killed.
type Disturbances = [usize; 2];

/// Stops processes of one side for longer than their leases, and kills some, most of them in their turn.
async fn disturb(place: &Place, side: Side) -> Disturbances {
    let mut peers = Vec::new();
    for _ in 0..PROCESSES {
        peers.push(place.writer(side).await);
    }
    let (began, mut disturbances) = (Instant::now(), [0, 0]);
    while began.elapsed() < DISTURBED {
        tokio::time::sleep(Duration::from_millis(200)).await;
        let (aimed, aims) = (Instant::now(), random(4) > 0);
        let mut victim = random(PROCESSES);
        while aims && aimed.elapsed() < TTL {
            let inside = place.resource.judge(|judgement| judgement.inside(side));
            if let Some(index) = peers.iter().position(|peer| Some(peer.id()) == inside) {
                victim = index;
                break;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let id = peers[victim].id();
        place.resource.judge(|judgement| judgement.stop(id));
        if random(4) == 0 {
            peers[victim].kill().await;
            peers[victim] = place.writer(side).await;
            disturbances[1] += 1;
        } else {
            peers[victim].signal("-STOP").await;
            tokio::time::sleep(TTL * 5 / 4).await;
            place.resource.judge(|judgement| judgement.go_on(id));
            peers[victim].signal("-CONT").await;
            disturbances[0] += 1;
        }
    }
    // The last ones have their late turn, too.
    tokio::time::sleep(TTL).await;
    disturbances
}

/// From three processes of theirs to three of ours and back, while all of them write.
async fn migrate(place: &Place) {
    let mut peers: Vec<(Side, Peer)> = Vec::new();
    let order = format!("write 20 {}", place.resource.port);
    for (theirs, ours) in [(3, 0), (2, 1), (1, 2), (0, 3), (1, 2), (2, 1), (3, 0)] {
        for (side, wanted) in [(Side::Theirs, theirs), (Side::Ours, ours)] {
            while peers.iter().filter(|peer| peer.0 == side).count() > wanted {
                let leaving = peers.iter().position(|peer| peer.0 == side).unwrap();
                peers.remove(leaving);
            }
            while peers.iter().filter(|peer| peer.0 == side).count() < wanted {
                peers.push((side, place.start(side)));
            }
        }
        for (_, peer) in &mut peers {
            peer.tell(&order).await;
        }
        for (_, peer) in &mut peers {
            peer.says("done").await;
        }
    }
}

fn told(figures: Figures) -> String {
    let Figures { written, refused, noticed, let_through } = figures;
    format!("{written} written, late: {refused} refused, {noticed} noticed, {let_through} through")
}

async fn drill(library: Library) {
    let rates = count(&Place::new(library)).await;
    let shared = share(library).await;
    let migrated = Place::new(library);
    let leases = Leases::watch(&migrated.server, KEY);
    migrate(&migrated).await;
    assert_eq!(leases.lock().unwrap().overlapping, 0);
    migrated.resource.judge(|judgement| {
        assert_eq!(judgement.violations, [] as [&str; 0], "{library:?}");
        let [theirs, ours] = judgement.figures.map(|figures| figures.written);
        assert_eq!((theirs, ours, judgement.number), (12 * 20, 9 * 20, 21 * 20));
    });
    let place = Place::new(library);
    let leases = Leases::watch(&place.server, KEY);
    let disturbances = tokio::join!(disturb(&place, Side::Theirs), disturb(&place, Side::Ours));
    let leases = *leases.lock().unwrap();
    place.resource.judge(|judgement| {
        let [theirs, ours] = judgement.figures;
        println!(
            "{library:?}: theirs {:.0}/s, ours {:.0}/s; in {} s {} and {} turns of 20 ms; stopped and killed {:?} of theirs, {:?} of ours; \
             {} leases, {} expired, {} overlapping; theirs {}; ours {}",
            rates[0],
            rates[1],
            SHARED.as_secs(),
            shared[0],
            shared[1],
            disturbances.0,
            disturbances.1,
            leases.begun,
            leases.expired,
            leases.overlapping,
            told(theirs),
            told(ours),
        );
        assert_eq!(judgement.violations, [] as [&str; 0], "{library:?}");
        assert_eq!(leases.overlapping, 0);
        if library.has_tokens() {
            assert_eq!(theirs.let_through + ours.let_through, 0);
        }
    });
}

macro_rules! drills {
    ($($name:ident: $library:expr;)+) => {$(
        #[tokio::test(flavor = "multi_thread")]
        #[ignore = "takes minutes: scripts/drill peers"]
        async fn $name() {
            drill($library).await;
        }
    )+};
}

drills! {
    redis_py: Library::RedisPy;
    redsync: Library::Redsync;
    bsm_redislock: Library::BsmRedislock;
    node_redlock: Library::NodeRedlock;
    spring_spin: Library::SpringSpin;
    spring_pub_sub: Library::SpringPubSub;
    redisson_3_52: Library::Redisson(Version::V3_52, Kind::Lock);
    redisson: Library::Redisson(Version::V4_7, Kind::Lock);
    redisson_spin: Library::Redisson(Version::V4_7, Kind::Spin);
    redisson_non_reentrant: Library::Redisson(Version::V4_7, Kind::NonReentrant);
    redisson_fenced: Library::Redisson(Version::V4_7, Kind::Fenced);
    redisson_write: Library::Redisson(Version::V4_7, Kind::Write);
}
