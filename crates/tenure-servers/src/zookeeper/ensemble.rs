//! Three ZooKeeper servers that vote.

use std::{
    io,
    net::SocketAddr,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use super::{
    network::{Network, Ports, free_ports},
    node::{ANSWER, FrozenZookeeper, GLANCE, Node, PATIENCE, is_taken},
    way::COUNT,
};

/// What each member has unless it is told otherwise: a follower that hears nothing for four ticks, two
/// seconds, gives its leader up.
const SETTINGS: [(&str, &str); 2] = [("initLimit", "10"), ("syncLimit", "4")];

/// An ensemble of three voters, with the numbers 0 to 2. Dropping it ends them all.
#[derive(Debug)]
pub struct ZookeeperEnsemble {
    members: Vec<Node>,
    /// What is between the members, if that can be parted.
    network: Option<Network>,
}

impl ZookeeperEnsemble {
    /// One whose network can be parted. It returns when there is a leader, and two followers that serve.
    ///
    /// # Panics
    /// When there is no `java` or no ZooKeeper, or it does not start.
    #[must_use]
    pub fn start() -> Self {
        Self::with(&[])
    }

    /// The same with these lines in the `zoo.cfg` of each, which go before the usual ones.
    ///
    /// # Panics
    /// As [`ZookeeperEnsemble::start`].
    #[must_use]
    pub fn with(settings: &[(&str, &str)]) -> Self {
        Self::with_java(settings, &[])
    }

    /// The same with these words for `java`.
    ///
    /// # Panics
    /// As [`ZookeeperEnsemble::start`].
    #[must_use]
    pub fn with_java(settings: &[(&str, &str)], java: &[&str]) -> Self {
        Self::formed(settings, java, true)
    }

    /// The same without a network that can be parted: its members reach each other directly, for figures.
    ///
    /// # Panics
    /// As [`ZookeeperEnsemble::start`].
    #[must_use]
    pub fn direct(settings: &[(&str, &str)], java: &[&str]) -> Self {
        Self::formed(settings, java, false)
    }

    #[allow(clippy::panic, reason = "a test without its servers fails")]
    fn formed(settings: &[(&str, &str)], java: &[&str], parts: bool) -> Self {
        let mut tries = 1;
        loop {
            match Self::try_form(settings, java, parts) {
                Ok(ensemble) => return ensemble,
                // Somebody else may take a port between its choice and its use.
                Err(said) if is_taken(&said) && tries < 10 => tries += 1,
                Err(said) => panic!(
                    "ZooKeeper does not start; install it with: apt-get install zookeeper\n{said}"
                ),
            }
        }
    }

    fn try_form(settings: &[(&str, &str)], java: &[&str], parts: bool) -> Result<Self, String> {
        let mut ensemble =
            Self::unstarted(settings, java, parts).map_err(|error| error.to_string())?;
        for member in &mut ensemble.members {
            member.spawn().map_err(|error| error.to_string())?;
        }
        for member in &mut ensemble.members {
            member.until(true)?;
        }
        ensemble.settle();
        Ok(ensemble)
    }

    fn unstarted(settings: &[(&str, &str)], java: &[&str], parts: bool) -> io::Result<Self> {
        let [clients, quorum, election] = free_ports();
        let ports = |number: usize| Ports { quorum: quorum[number], election: election[number] };
        let ports = [ports(0), ports(1), ports(2)];
        let network = if parts { Some(Network::start(ports)?) } else { None };
        let settings = [&SETTINGS, settings].concat();
        let member = |number: usize| {
            let mut node = Node::new(&settings, java)?;
            node.write("data/myid", &(number + 1).to_string())?;
            node.set_port(clients[number]);
            // It needs not know how the others reach it.
            let ways = network.as_ref().map_or(ports, |network| network.ways(number));
            for (other, Ports { quorum, election }) in ways.iter().enumerate() {
                let place = format!("127.0.0.1:{quorum}:{election}");
                node.set(&format!("server.{}", other + 1), place);
            }
            Ok(node)
        };
        let members = (0..COUNT).map(member).collect::<io::Result<_>>()?;
        Ok(Self { members, network })
    }

    /// A URL of all three.
    #[must_use]
    pub fn url(&self) -> String {
        let places: Vec<_> =
            self.members.iter().map(|member| member.address().to_string()).collect();
        format!("zookeeper://{}", places.join(","))
    }

    /// A URL of one member alone.
    #[must_use]
    pub fn url_of(&self, member: usize) -> String {
        format!("zookeeper://{}", self.address_of(member))
    }

    /// Where clients reach a member.
    #[must_use]
    pub fn address_of(&self, member: usize) -> SocketAddr {
        self.members[member].address()
    }

    /// The folder of a member, with `zookeeper.log` in it.
    #[must_use]
    pub fn folder_of(&self, member: usize) -> &Path {
        self.members[member].folder()
    }

    /// The process number of a member; `None` when it does not run.
    #[must_use]
    pub fn pid_of(&self, member: usize) -> Option<u32> {
        self.members[member].pid()
    }

    /// Who says that it leads, and if two do the later one; it waits for one. A leader that is cut off says so
    /// for some time.
    ///
    /// # Panics
    /// When there is none for long.
    #[must_use]
    pub fn leader(&self) -> usize {
        self.leader_but(None)
    }

    /// Waits until another member than this one, which is not asked, says that it leads.
    ///
    /// # Panics
    /// When that does not happen.
    #[must_use]
    pub fn another_leader_than(&self, before: usize) -> usize {
        self.leader_but(Some(before))
    }

    fn leader_but(&self, but: Option<usize>) -> usize {
        let mut leader = None;
        self.until("there is a leader", || {
            let asked = (0..COUNT).filter(|number| Some(*number) != but);
            let leads = |number: usize| {
                let state = self.members[number].state(GLANCE)?;
                (state.mode == "leader").then_some((state.epoch, number))
            };
            leader = asked.filter_map(leads).max();
            leader.is_some()
        });
        leader.map_or(0, |(_, number)| number)
    }

    /// Who says that it follows.
    #[must_use]
    pub fn followers(&self) -> Vec<usize> {
        (0..COUNT).filter(|number| self.mode_of(*number).as_deref() == Some("follower")).collect()
    }

    /// What a member is by its own words, `leader` or `follower`, if it serves.
    #[must_use]
    pub fn mode_of(&self, member: usize) -> Option<String> {
        self.members[member].state(ANSWER).map(|state| state.mode)
    }

    /// Waits until all members that run serve, and one of them leads.
    ///
    /// # Panics
    /// When that does not happen.
    pub fn settle(&self) {
        self.until("the ensemble serves", || {
            let running = self.members.iter().filter(|member| member.pid().is_some());
            let modes: Option<Vec<_>> =
                running.map(|member| Some(member.state(GLANCE)?.mode)).collect();
            modes.is_some_and(|modes| modes.iter().filter(|mode| *mode == "leader").count() == 1)
        });
    }

    /// Ends the process of a member as `kill -9` does.
    pub fn kill(&mut self, member: usize) {
        self.members[member].kill();
    }

    /// Starts the process of a member again, in the same folder and on the same ports. It returns when the
    /// member answers; that it serves is a matter of [`ZookeeperEnsemble::settle`].
    ///
    /// # Panics
    /// When it does not start.
    pub fn restart(&mut self, member: usize) {
        self.members[member].restart(false);
    }

    /// Stops the process of a member, which keeps its connections and answers nothing, until what this returns
    /// is dropped.
    ///
    /// # Panics
    /// When it gets no signal.
    pub fn freeze(&self, member: usize) -> FrozenZookeeper<'_> {
        self.members[member].freeze()
    }

    /// Parts a member from both others, while clients go on to reach it. What it has sent stays on its way.
    ///
    /// # Panics
    /// When the network cannot be parted.
    pub fn part(&self, member: usize) {
        for other in (0..COUNT).filter(|other| *other != member) {
            self.part_one_way(member, other);
            self.part_one_way(other, member);
        }
    }

    /// Nothing arrives any more of what the first sends to the second, which itself goes on to reach the first.
    /// New connections need both ways.
    ///
    /// # Panics
    /// When the network cannot be parted.
    pub fn part_one_way(&self, from: usize, to: usize) {
        assert!(self.network.is_some(), "the members reach each other directly");
        self.network.iter().for_each(|network| network.cut(from, to));
    }

    /// All members reach each other again.
    pub fn heal(&self) {
        self.network.iter().for_each(Network::heal);
    }

    /// Kills all members, removes their data, and starts them again on the same ports: an ensemble that was made
    /// anew. It returns when there are a leader and two followers.
    ///
    /// # Panics
    /// When it does not start.
    pub fn wipe(&mut self) {
        // None of them may tell the others what was.
        self.members.iter_mut().for_each(Node::kill);
        self.members.iter().for_each(Node::forget);
        for member in &mut self.members {
            let _ = member.spawn();
        }
        for member in &mut self.members {
            if member.until(false).is_err() {
                member.restart(false);
            }
        }
        self.settle();
    }

    /// What a member answers to a word of four letters, such as `srvr` or `mntr`; nothing if it does not answer
    /// within five seconds.
    #[must_use]
    pub fn four_letters(&self, member: usize, word: &str) -> String {
        self.members[member].four_letters(word)
    }

    /// # Panics
    /// When it does not come true.
    fn until(&self, what: &str, mut is_so: impl FnMut() -> bool) {
        let since = Instant::now();
        while !is_so() {
            let said = || self.members.iter().map(Node::said).collect::<String>();
            assert!(since.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}\n{}", said());
            thread::sleep(Duration::from_millis(20));
        }
    }
}
