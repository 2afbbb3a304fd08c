//! What is measured in a run.

use std::sync::Mutex;

use crate::{
    child::{Heard, Player, locked},
    place::{Kind, Place},
    series::{Bound, Series},
};

/// What each lock that a caller was failed or that was lost is told by: as many lines as there are of these.
const OF_CALLERS: [&str; 2] = ["not acquired", "lost"];

pub(crate) struct Measures {
    pub(crate) all: Vec<Series>,
}

impl Measures {
    /// Of these processes, which live as long as the run.
    pub(crate) fn new(kind: Kind, players: &[Player]) -> Self {
        let mut all = Vec::new();
        for player in players {
            let of = |what| format!("{}: {what}", player.name);
            let flat = |most, by, part| Bound::Flat { most, by, part };
            all.push(Series::new(of("memory, MiB"), flat(256.0, 3.0, 0.06)));
            all.push(Series::new(of("threads"), flat(80.0, 2.0, 0.1)));
            all.push(Series::new(of("descriptors"), flat(700.0, 4.0, 0.05)));
        }
        let flat = Bound::Flat { most: 100.0, by: 3.0, part: 0.05 };
        all.push(Series::new("connections at the server", flat));
        all.push(Series::new(kind.things(), Bound::Told));
        all.push(Series::new("log lines", Bound::Told));
        all.push(Series::new("grants", Bound::Told));
        Self { all }
    }

    pub(crate) fn take(
        &mut self,
        at: f64,
        players: &[Player],
        place: &Place,
        heard: &Mutex<Heard>,
    ) {
        let of_players =
            players.iter().flat_map(|one| [one.memory(), one.threads(), one.descriptors()]);
        // Before it is locked, for all that the processes say waits for it.
        let of_server = [place.connections(), place.things()];
        let heard = locked(heard);
        let of_all = [Some(lines(&heard) as f64), Some(heard.done().grants as f64)];
        let values: Vec<_> = of_players.chain(of_server).chain(of_all).collect();
        for (series, value) in self.all.iter_mut().zip(values) {
            series.add(at, value);
        }
    }
}

/// Lines that no caller was told the like of.
pub(crate) fn lines(heard: &Heard) -> u64 {
    let logged = heard.logged();
    let own = logged.iter().filter(|(message, _)| !OF_CALLERS.contains(&message.as_str()));
    own.map(|(_, count)| count).sum()
}
