//! Programs as people write them. Each says when it holds its lock, and ends when its input does.

use std::{
    io::{Read, Write, stdin, stdout},
    process::ExitCode,
    sync::OnceLock,
    time::Duration,
};

use tenure::{Guard, Tenure, blocking};
use tokio::runtime::{Builder, Runtime};

type Outcome = Result<(), Box<dyn std::error::Error>>;

pub(crate) const AT_ITS_END: &str = "all dropped at the end of main";
pub(crate) const AS_THE_LAST: &str = "a guard is the last that is dropped";
pub(crate) const IN_A_STATIC: &str = "a tenure that is never dropped";
const ON_ONE_THREAD: &str = "all dropped at the end, on one thread";
const EARLY: &str = "an early return with an error";
const BY_PANIC: &str = "a panic of main";
const WITH_RUNTIME: &str = "held by a task of a runtime that ends";
const AFTER_RUNTIME: &str = "dropped after the runtime";
const BY_EXIT: &str = "exit after a guard was dropped";
const WAITS: &str = "a wait that is dropped";
const BLOCKING: &str = "without async";
const RELEASED: &str = "all of a multi-lock";

pub(crate) const ALL: [&str; 12] = [
    AT_ITS_END,
    ON_ONE_THREAD,
    AS_THE_LAST,
    IN_A_STATIC,
    EARLY,
    BY_PANIC,
    WITH_RUNTIME,
    AFTER_RUNTIME,
    BY_EXIT,
    WAITS,
    BLOCKING,
    RELEASED,
];

/// Those that end with an error.
pub(crate) const FAIL: [&str; 2] = [EARLY, BY_PANIC];

/// Those that end with a `Tenure` which they never drop.
pub(crate) const NEVER_DROP: [&str; 2] = [IN_A_STATIC, BY_EXIT];

const TTL: Duration = super::TTL;

static TENURE: OnceLock<Tenure> = OnceLock::new();

fn many() -> Runtime {
    Builder::new_multi_thread().enable_all().build().unwrap()
}

fn one() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// Says that it holds, and waits to be told to go on.
fn hold() {
    let mut out = stdout().lock();
    out.write_all(b"h").unwrap();
    out.flush().unwrap();
    let _ = stdin().read(&mut [0; 1]);
}

pub(crate) fn run(program: &str, store: String) -> ExitCode {
    let name = program.to_owned();
    let outcome = match program {
        AT_ITS_END => many().block_on(at_its_end(name, store)),
        ON_ONE_THREAD => one().block_on(at_its_end(name, store)),
        AS_THE_LAST => many().block_on(as_the_last(name, store)),
        IN_A_STATIC => many().block_on(in_a_static(name, store)),
        EARLY => one().block_on(early(name, store)),
        BY_PANIC => one().block_on(by_panic(name, store)),
        WITH_RUNTIME => with_runtime(name, store),
        AFTER_RUNTIME => after_runtime(name, store),
        BY_EXIT => many().block_on(by_exit(name, store)),
        WAITS => many().block_on(waits(name, store)),
        BLOCKING => without_async(name, store),
        RELEASED => one().block_on(several(name, store)),
        other => panic!("{other}"),
    };
    ExitCode::from(u8::from(outcome.is_err()))
}

async fn at_its_end(name: String, store: String) -> Outcome {
    let tenure = Tenure::open(store).await?;
    let _guard = tenure.mutex(name).ttl(TTL).lock().await?;
    hold();
    Ok(())
}

async fn early(name: String, store: String) -> Outcome {
    let tenure = Tenure::open(store).await?;
    let guard = tenure.mutex(name).ttl(TTL).lock().await?;
    hold();
    Err("something went wrong")?;
    guard.release().await?;
    Ok(())
}

async fn acquired(name: String, store: String) -> Result<Guard, Box<dyn std::error::Error>> {
    let tenure = Tenure::open(store).await?;
    Ok(tenure.mutex(name).ttl(TTL).lock().await?)
}

async fn as_the_last(name: String, store: String) -> Outcome {
    let _guard = acquired(name, store).await?;
    hold();
    Ok(())
}

async fn in_a_static(name: String, store: String) -> Outcome {
    let opened = Tenure::open(store).await?;
    let tenure = TENURE.get_or_init(|| opened);
    let _guard = tenure.mutex(name).ttl(TTL).lock().await?;
    hold();
    Ok(())
}

async fn by_panic(name: String, store: String) -> Outcome {
    let tenure = Tenure::open(store).await?;
    let _guard = tenure.mutex(name).ttl(TTL).lock().await?;
    hold();
    panic!("on purpose");
}

fn with_runtime(name: String, store: String) -> Outcome {
    let runtime = many();
    runtime.block_on(async {
        let tenure = Tenure::open(store).await?;
        let (held, holds) = tokio::sync::oneshot::channel();
        tokio::spawn(async move {
            let _guard = tenure.mutex(name).ttl(TTL).lock().await.unwrap();
            held.send(()).unwrap();
            std::future::pending::<()>().await;
        });
        holds.await?;
        hold();
        Ok(())
    })
}

fn after_runtime(name: String, store: String) -> Outcome {
    let runtime = one();
    let (tenure, guard) = runtime.block_on(async {
        let tenure = Tenure::open(store).await?;
        let guard = tenure.mutex(name).ttl(TTL).lock().await?;
        Ok::<_, Box<dyn std::error::Error>>((tenure, guard))
    })?;
    drop(runtime);
    hold();
    drop((guard, tenure));
    Ok(())
}

async fn by_exit(name: String, store: String) -> Outcome {
    let tenure = Tenure::open(store).await?;
    let guard = tenure.mutex(name).ttl(TTL).lock().await?;
    hold();
    drop(guard);
    std::process::exit(0);
}

/// The one that it waits for is its own: both leave.
async fn waits(name: String, store: String) -> Outcome {
    let (tenure, other) = (Tenure::open(&store).await?, Tenure::open(&store).await?);
    let _guard = tenure.mutex(&name).ttl(TTL).lock().await?;
    let lock = other.mutex(&name).ttl(TTL).lock().wait(Duration::from_millis(300));
    let _ = tokio::time::timeout(Duration::from_millis(200), lock).await;
    hold();
    Ok(())
}

fn without_async(name: String, store: String) -> Outcome {
    let tenure = blocking::Tenure::open(store)?;
    let _guard = tenure.mutex(name).ttl(TTL).lock()?;
    hold();
    Ok(())
}

async fn several(name: String, store: String) -> Outcome {
    let tenure = Tenure::open(store).await?;
    let _guard = tenure.all([name.as_str(), "another"]).ttl(TTL).lock().await?;
    hold();
    Ok(())
}
