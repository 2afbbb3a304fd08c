//! tenure as a contestant: a child that does what `bench/peers/README.md` says.

#[path = "../../peers/rust/src/play.rs"]
mod play;

use std::{future::Future, time::Duration};

use tenure::{Guard, Mutex, Semaphore, Tenure, TenureBuilder};

use self::play::{Contestant, Lock, Words, play};
use crate::failure::Failure;

/// How tenure takes part.
#[derive(Clone, Copy, Debug)]
enum Way {
    Mutex,
    Fair,
    Permit,
}

struct Ours {
    tenure: Tenure,
    way: Way,
    ttl: Option<Duration>,
}

/// A lock of ours.
enum Name {
    Mutex(Mutex),
    Permit(Semaphore),
}

/// Does the work that the words say, in a child.
pub(crate) fn contest(words: Vec<String>) -> Result<(), Failure> {
    let words = Words::new(words);
    let way = match words.text("who")? {
        "fair" => Way::Fair,
        "permit" => Way::Permit,
        _ => Way::Mutex,
    };
    // Nothing said is the default.
    let ttl = Some(Duration::from_millis(words.number("ttl")?)).filter(|ttl| !ttl.is_zero());
    crate::contestants::runtime()?.block_on(async {
        let store = Tenure::open(words.text("url")?).await?.store().clone();
        // By itself a program holds 65,536 at most.
        let most = TenureBuilder::MAX_HOLDS.max(2 * words.number("tasks")? as usize);
        let tenure = Tenure::builder(store).max_holds(most).build();
        play(Ours { tenure, way, ttl }, &words).await
    })
}

impl Contestant for Ours {
    type Lock = Name;

    fn lock(&self, name: String) -> Result<Name, Failure> {
        let mutex = |name| match self.ttl {
            Some(ttl) => self.tenure.mutex(name).ttl(ttl),
            None => self.tenure.mutex(name),
        };
        Ok(match self.way {
            Way::Mutex => Name::Mutex(mutex(name)),
            Way::Fair => Name::Mutex(mutex(name).fair()),
            Way::Permit => Name::Permit(match self.ttl {
                Some(ttl) => self.tenure.semaphore(name, 1).ttl(ttl),
                None => self.tenure.semaphore(name, 1),
            }),
        })
    }
}

impl Lock for Name {
    type Kept = Guard;

    async fn hold<T: Send>(
        &mut self,
        inside: impl Future<Output = T> + Send,
    ) -> Result<T, Failure> {
        let guard = self.keep().await?;
        let value = inside.await;
        guard.release().await?;
        Ok(value)
    }

    async fn keep(&mut self) -> Result<Guard, Failure> {
        Ok(match self {
            Self::Mutex(mutex) => mutex.lock().await?,
            Self::Permit(semaphore) => semaphore.acquire().await?,
        })
    }
}
