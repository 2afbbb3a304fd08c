//! What the lock protects in a drill: a number that each holder reads, and writes increased by one.
//!
//! It refuses whoever has a smaller token than one that it has seen, and hears of each turn when it begins and ends. So
//! it sees two holders at once, of whatever library.

use std::{
    collections::HashMap,
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
    time::Instant,
};

/// Whose process it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Theirs,
    Ours,
}

/// What happened to the writes of one side.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Figures {
    /// In time.
    pub(super) written: u64,
    /// Late, and refused by their token, as they began or as they wrote.
    pub(super) refused: u64,
    /// Late, as their process knew by itself.
    pub(super) noticed: u64,
    /// Late, and nothing refused them: their holder, or the one after it, had no token.
    pub(super) let_through: u64,
}

#[derive(Debug, Default)]
pub(super) struct Judgement {
    /// Smaller than how often it was written only where somebody wrote late.
    pub(super) number: u64,
    greatest: u64,
    processes: HashMap<u32, Process>,
    /// Of theirs and of ours.
    pub(super) figures: [Figures; 2],
    /// What must not happen.
    pub(super) violations: Vec<String>,
}

#[derive(Debug)]
struct Process {
    side: Side,
    /// Since when it may have had its turn.
    turn: Instant,
    /// Whether it is stopped or dead, or will be at any moment.
    is_stopped: bool,
    /// When it last went on.
    went_on: Option<Instant>,
    /// Whether it has read the number, and has not written yet.
    is_inside: bool,
    /// Whether somebody else had the lock since then.
    is_late: bool,
}

impl Process {
    /// Whether its lease may have ended in this turn without its knowing.
    fn may_be_late(&self) -> bool {
        self.is_stopped || self.went_on.is_some_and(|went_on| went_on >= self.turn)
    }
}

/// The number behind a port of this machine.
#[derive(Clone, Debug)]
pub(super) struct Resource {
    pub(super) port: u16,
    judgement: Arc<Mutex<Judgement>>,
}

impl Resource {
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let judgement = Arc::new(Mutex::new(Judgement::default()));
        let shared = Arc::clone(&judgement);
        thread::spawn(move || {
            for connection in listener.incoming() {
                let shared = Arc::clone(&shared);
                thread::spawn(move || serve(&connection.unwrap(), &shared));
            }
        });
        Self { port, judgement }
    }

    pub(super) fn judge<T>(&self, change: impl FnOnce(&mut Judgement) -> T) -> T {
        change(&mut self.judgement.lock().unwrap())
    }
}

/// Until the process ends, or its order is done.
fn serve(connection: &TcpStream, judgement: &Mutex<Judgement>) {
    connection.set_nodelay(true).unwrap();
    let mut out = connection;
    let mut who = None;
    for line in BufReader::new(connection).lines() {
        let Ok(line) = line else { break };
        let answer = {
            let mut judgement = judgement.lock().unwrap();
            let words: Vec<_> = line.split(' ').collect();
            let id = words[1].parse().unwrap();
            who = Some(id);
            let token = words[2].parse().ok();
            match words[0] {
                "open" => judgement.open(id, token),
                _ => {
                    let number = words[3].parse().unwrap();
                    judgement.write(id, token, number, words.get(4) == Some(&"lost"))
                }
            }
        };
        let answer = answer.map_or_else(|| "refused".to_owned(), |number| number.to_string());
        if out.write_all(format!("{answer}\n").as_bytes()).is_err() {
            break;
        }
    }
    // Dead in its turn, or between two orders.
    let Some(who) = who else { return };
    judgement.lock().unwrap().processes.entry(who).and_modify(|process| process.is_inside = false);
}

impl Judgement {
    /// A process that will come.
    pub(super) fn expect(&mut self, id: u32, side: Side) {
        let process = Process {
            side,
            turn: Instant::now(),
            is_stopped: false,
            went_on: None,
            is_inside: false,
            is_late: false,
        };
        self.processes.insert(id, process);
    }

    /// Somebody is about to stop or kill it.
    pub(super) fn stop(&mut self, id: u32) {
        self.processes.entry(id).and_modify(|process| process.is_stopped = true);
    }

    /// It is about to go on.
    pub(super) fn go_on(&mut self, id: u32) {
        self.processes.entry(id).and_modify(|process| {
            (process.is_stopped, process.went_on) = (false, Some(Instant::now()));
        });
    }

    /// Which process has its turn, of those of this side.
    pub(super) fn inside(&self, side: Side) -> Option<u32> {
        let inside = |(_, process): &(&u32, &Process)| process.is_inside && process.side == side;
        self.processes.iter().find(inside).map(|(id, _)| *id)
    }

    fn figures(&mut self, side: Side) -> &mut Figures {
        &mut self.figures[usize::from(side == Side::Ours)]
    }

    /// The number, unless the token is too small.
    pub(super) fn open(&mut self, id: u32, token: Option<u64>) -> Option<u64> {
        let may_be_late = self.processes[&id].may_be_late();
        let side = self.processes[&id].side;
        if token.is_some_and(|token| token <= self.greatest) {
            if !may_be_late {
                let greatest = self.greatest;
                self.violations.push(format!("{side:?} got {token:?} after {greatest}"));
            }
            self.figures(side).refused += 1;
            self.processes.get_mut(&id).unwrap().turn = Instant::now();
            return None;
        }
        self.greatest = self.greatest.max(token.unwrap_or(0));
        let mut is_late = false;
        let mut others = Vec::new();
        for (other, process) in &mut self.processes {
            if *other == id || !process.is_inside {
                continue;
            }
            if process.may_be_late() {
                process.is_late = true;
            } else if may_be_late {
                is_late = true;
            } else {
                others.push(process.side);
            }
        }
        for other in others {
            self.violations.push(format!("{side:?} had its turn while {other:?} still had one"));
        }
        let process = self.processes.get_mut(&id).unwrap();
        (process.is_inside, process.is_late) = (true, is_late);
        Some(self.number)
    }

    /// The number that is there now, unless the token is too small.
    pub(super) fn write(
        &mut self,
        id: u32,
        token: Option<u64>,
        next: u64,
        knows: bool,
    ) -> Option<u64> {
        let process = self.processes.get_mut(&id).unwrap();
        let (side, may_be_late) = (process.side, process.may_be_late());
        let is_late = process.is_late;
        (process.turn, process.is_inside) = (Instant::now(), false);
        if token.is_some_and(|token| token < self.greatest) {
            self.figures(side).refused += 1;
            return None;
        }
        if knows {
            self.figures(side).noticed += 1;
            return None;
        }
        if is_late {
            if !may_be_late {
                self.violations.push(format!("{side:?} wrote late, and was never stopped"));
            }
            self.figures(side).let_through += 1;
        } else {
            self.figures(side).written += 1;
        }
        self.number = next;
        Some(next)
    }
}
