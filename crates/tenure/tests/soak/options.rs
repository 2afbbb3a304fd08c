//! What it is told to do.

use std::time::Duration;

use crate::place::Kind;

const USAGE: &str =
    "usage: scripts/soak [STORE...] [--minutes N] [--rate N] [--holds N] [--together] [--json]
  STORE       embedded, redis, zookeeper, postgres, mysql, quorum: all of them unless some are named
  --minutes   how long each store is used [30]
  --rate      about how many grants a second on each [150]
  --holds     how many locks a process of its own keeps throughout [2000]
  --together  all stores side by side, not one after the other
  --json      the figures for machines";

#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) stores: Vec<Kind>,
    pub(crate) length: Duration,
    /// Grants a second.
    pub(crate) rate: u32,
    /// Locks that are kept throughout.
    pub(crate) holds: usize,
    pub(crate) together: bool,
    pub(crate) json: bool,
    /// Slopes are looked at, not only maxima.
    pub(crate) is_long: bool,
    pub(crate) between_samples: Duration,
    pub(crate) between_kills: Duration,
    pub(crate) between_restarts: Duration,
}

impl Options {
    /// A test of a few seconds.
    fn short() -> Self {
        Self {
            stores: Kind::ALL.to_vec(),
            length: Duration::from_secs(8),
            rate: 60,
            holds: 200,
            together: true,
            json: false,
            is_long: false,
            between_samples: Duration::from_secs(2),
            between_kills: Duration::from_secs(2),
            between_restarts: Duration::from_secs(3),
        }
    }

    fn long() -> Self {
        Self {
            length: Duration::from_secs(30 * 60),
            rate: 150,
            holds: 2_000,
            together: false,
            is_long: true,
            between_samples: Duration::from_secs(15),
            between_kills: Duration::from_secs(20),
            between_restarts: Duration::from_secs(90),
            ..Self::short()
        }
    }

    pub(crate) fn parse(words: impl Iterator<Item = String>) -> Result<Self, String> {
        let words: Vec<_> = words.collect();
        let mut options =
            if words.iter().any(|word| word == "--long") { Self::long() } else { Self::short() };
        let mut named = Vec::new();
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let mut number = || {
                let number = words.next().and_then(|word| word.parse::<u32>().ok());
                let number = number.filter(|number| *number > 0);
                number.ok_or_else(|| format!("{word} wants a whole number\n{USAGE}"))
            };
            match word.as_str() {
                "--long" => {}
                "--minutes" => options.length = Duration::from_secs(u64::from(number()?) * 60),
                "--rate" => options.rate = number()?,
                "--holds" => options.holds = number()? as usize,
                "--together" => options.together = true,
                "--json" => options.json = true,
                "--help" => return Err(USAGE.to_owned()),
                // The options of a test harness mean nothing here.
                _ if word.starts_with('-') && !options.is_long => {}
                _ => named.push(word),
            }
        }
        options.choose(&named)?;
        Ok(options)
    }

    /// In the short form the words are filters, as for each other program of tests.
    fn choose(&mut self, named: &[String]) -> Result<(), String> {
        if self.is_long {
            let known = |word: &String| Kind::ALL.iter().any(|kind| kind.name() == word);
            if let Some(unknown) = named.iter().find(|word| !known(word)) {
                return Err(format!("{unknown}: no such store or option\n{USAGE}"));
            }
        }
        if !named.is_empty() {
            let title = |kind: &Kind| format!("a_short_soak_of_{}", kind.name());
            let wanted = |word: &String, kind: &Kind| {
                if self.is_long { kind.name() == word } else { title(kind).contains(word.as_str()) }
            };
            self.stores.retain(|kind| named.iter().any(|word| wanted(word, kind)));
        }
        Ok(())
    }
}
