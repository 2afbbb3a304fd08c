//! What `{:?}` shows of a public value: a line of bounded size, whatever else is held.

use std::{fmt, time::Duration};

use tenure::{Error, LockName, Tenure, blocking, reentrant::scope};

/// The longest line. Names in these tests are short.
const MOST: usize = 400;

/// Words of what no user has to do with.
const INTERNALS: [&str; 9] =
    ["Arc", "Mutex {", "Notify", "Agenda", "Slot", "poisoned", "Semaphore {", "Weak", "context"];

#[track_caller]
fn is_a_line(value: &dyn fmt::Debug) {
    let text = format!("{value:?}");
    assert!(text.len() <= MOST, "{} bytes: {text:.600}", text.len());
    assert!(!text.contains('\n'), "{text}");
    let own = text.split([' ', '(']).next().unwrap_or_default();
    for word in INTERNALS {
        assert!(!text.contains(word) || own == "Mutex" || own == "Semaphore", "{word}: {text}");
    }
}

#[tokio::test]
async fn a_value_is_a_line_however_much_is_held() {
    let tenure = Tenure::open("memory:").await.unwrap();
    let mut held = Vec::new();
    for number in 0..100 {
        held.push(tenure.mutex(format!("held {number}")).lock().await.unwrap());
    }
    let guard = tenure.mutex("a").lock().await.unwrap();
    is_a_line(&tenure);
    is_a_line(tenure.store());
    is_a_line(&guard);
    is_a_line(&Some(&guard));
    is_a_line(&tenure.mutex("a"));
    is_a_line(&tenure.mutex("a").lock());
    is_a_line(&tenure.mutex("a").try_lock());
    let writer = tenure.rwlock("b").write().await.unwrap();
    is_a_line(&tenure.rwlock("b"));
    is_a_line(&writer);
    let permits = tenure.semaphore("c", 3).acquire_many(2).await.unwrap();
    is_a_line(&tenure.semaphore("c", 3));
    is_a_line(&permits);
    let all = tenure.all(["d", "e"]);
    is_a_line(&all);
    is_a_line(&all.lock());
    is_a_line(&all.lock().await.unwrap());
    let latch = tenure.latch("f", 2);
    is_a_line(&latch);
    is_a_line(&latch.wait());
    let election = tenure.election("g");
    is_a_line(&election);
    is_a_line(&election.campaign().await.unwrap());
    is_a_line(&election.leaders());
    scope(async {
        let reentrant = tenure.mutex("h").reentrant();
        is_a_line(&reentrant);
        is_a_line(&reentrant.lock());
        is_a_line(&reentrant.lock().await.unwrap());
    })
    .await;
    let detach = guard.detach().lease(Duration::from_secs(60));
    is_a_line(&detach);
    let detached = detach.await.unwrap();
    is_a_line(&detached);
    is_a_line(&detached.handle);
    is_a_line(&tenure.attach(&detached.handle));
    is_a_line(&Tenure::builder(tenure.store().clone()));
    let refused = tenure.mutex("held 1").try_lock().await;
    is_a_line(&refused);
}

#[test]
fn a_blocking_value_is_a_line_however_much_is_held() {
    let tenure = blocking::Tenure::open("memory:").unwrap();
    let hold = |number| tenure.mutex(format!("held {number}")).lock().unwrap();
    let _held: Vec<_> = (0..100).map(hold).collect();
    is_a_line(&tenure);
    is_a_line(&tenure.mutex("a"));
    is_a_line(&tenure.mutex("a").lock().unwrap());
    is_a_line(&tenure.rwlock("b"));
    is_a_line(&tenure.rwlock("b").write().unwrap());
    is_a_line(&tenure.semaphore("c", 3));
    is_a_line(&tenure.all(["d", "e"]));
    is_a_line(&tenure.all(["d", "e"]).lock().unwrap());
    is_a_line(&tenure.latch("f", 2));
    is_a_line(&tenure.election("g"));
    is_a_line(&tenure.election("g").campaign().unwrap());
    is_a_line(&tenure.election("g").leaders());
    blocking::reentrant::scope(|| {
        let reentrant = tenure.mutex("h").reentrant();
        is_a_line(&reentrant);
        is_a_line(&reentrant.lock().unwrap());
    });
}

/// What `main` prints that gives an error back.
#[tokio::test]
async fn an_error_is_shown_as_its_parts_and_on_demand_as_its_structure() {
    async fn opens() -> Result<Tenure, Error> {
        Ok(Tenure::open("file:/proc/nowhere").await?)
    }
    let error = opens().await.unwrap_err();
    assert!(!error.is_transient() && !error.is_busy() && !error.is_lost(), "{error}");
    assert!(error.to_string().starts_with("the store cannot be opened: "), "{error}");
    assert_eq!(error.store(), Some("file:/proc/nowhere"));
    let shown = format!("{error:?}");
    let lines: Vec<_> = shown.lines().collect();
    assert!(shown.starts_with(&error.to_string()), "{shown}");
    assert!(lines.len() == 2 && lines[1].starts_with("help: name a directory"), "{shown}");
    let tenure = Tenure::open("memory:").await.unwrap();
    let _held = tenure.mutex("a").lock().await.unwrap();
    let busy = tenure.mutex("a").wait(Duration::from_millis(1)).lock().await.unwrap_err();
    let lines = format!("{busy:?}");
    assert!(lines.starts_with(&format!("{busy}\nhelp: ")), "{busy:?}");
    assert!(format!("{busy:#?}").starts_with("AcquireError {\n"), "{busy:#?}");
    let boxed: Box<dyn std::error::Error> = Box::new(busy);
    assert_eq!(format!("{boxed:?}"), lines, "what a main prints that boxes its errors");
    let busy = Error::from(*boxed.downcast::<tenure::AcquireError>().unwrap());
    assert_eq!(format!("{busy:?}"), lines);
    assert_eq!(busy.lock().map(LockName::as_str), Some("a"));
}
