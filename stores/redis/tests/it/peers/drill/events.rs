//! What happens to the key of a lock at the server, as it tells by itself: each lease begins with a new key.

use std::{
    io::{BufRead, BufReader, Write},
    net::TcpStream,
    sync::{Arc, Mutex},
    thread,
};

use tenure_servers::RedisServer;

/// The leases of one key.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Leases {
    pub(super) begun: u64,
    /// Those that ended by their time.
    pub(super) expired: u64,
    /// Holders that were written while there was one.
    pub(super) overlapping: u64,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Free,
    /// It is new; its holder is being written.
    Begun,
    /// It has its time.
    Held,
    /// Redisson counts down before it deletes.
    Counted,
}

impl Leases {
    /// Follows them from now on.
    pub(super) fn watch(server: &RedisServer, key: &str) -> Arc<Mutex<Self>> {
        server.command(&["CONFIG", "SET", "notify-keyspace-events", "KAn"]);
        let mut connection = TcpStream::connect(server.address()).unwrap();
        let channel = format!("__keyspace@0__:{key}");
        write!(connection, "SUBSCRIBE {channel}\r\n").unwrap();
        let mut lines = BufReader::new(connection).lines();
        // Until it is heard, which ends with how many channels there are.
        lines.by_ref().find(|line| line.as_ref().unwrap() == ":1").unwrap().unwrap();
        let leases = Arc::new(Mutex::new(Self::default()));
        let told = Arc::clone(&leases);
        thread::spawn(move || {
            // Each is the word `message`, the channel and the event; their lengths stand between.
            let words = lines.map_while(Result::ok).filter(|line| !line.starts_with(['*', '$']));
            let mut words = words.skip_while(|word| word != "message");
            while let (Some(_), Some(_), Some(event)) = (words.next(), words.next(), words.next()) {
                told.lock().unwrap().follow(&event);
            }
        });
        leases
    }

    pub(super) fn follow(&mut self, event: &str) {
        match (event, self.stage) {
            ("new", _) => {
                self.begun += 1;
                self.stage = Stage::Begun;
            }
            ("hincrby", Stage::Held) => self.stage = Stage::Counted,
            // Else it counted up: for one more.
            ("set" | "hset" | "hincrby", Stage::Held | Stage::Free)
            | ("expire", Stage::Counted) => {
                self.overlapping += 1;
            }
            ("expire", Stage::Begun) => self.stage = Stage::Held,
            ("del" | "expired", _) => {
                self.expired += u64::from(event == "expired");
                self.stage = Stage::Free;
            }
            _ => {}
        }
    }
}
