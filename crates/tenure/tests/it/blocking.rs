//! The blocking API: from plain threads and from inside runtimes, alone and by the hundred.

use std::{
    fs,
    path::Path,
    sync::{
        Arc, Barrier,
        atomic::{AtomicU32, Ordering},
    },
    thread,
    time::Duration,
};

use tempfile::tempdir;
use tenure::{AcquireError, blocking::Tenure};

use crate::child::PATIENCE;

const THREADS: usize = 200;

/// Two holds of one name and a refusal between them: everything a caller does.
fn hold_twice(tenure: &Tenure, name: &str) {
    let mutex = tenure.mutex(name).wait(PATIENCE);
    let first = mutex.lock().unwrap();
    assert_eq!(first.check().unwrap(), first.token());
    assert!(mutex.try_lock().unwrap().is_none(), "two hold it");
    let token = first.token();
    first.release().unwrap();
    let second = mutex.try_lock().unwrap().expect("it was released");
    assert!(second.token() > token);
}

/// That nothing is held or waited for any more.
pub(crate) fn assert_all_released(tenure: &Tenure) {
    tenure.shutdown(PATIENCE).unwrap();
}

#[test]
fn a_plain_thread_holds_and_releases() {
    let dir = tempdir().unwrap();
    for url in ["memory:".to_owned(), format!("file:{}", dir.path().display())] {
        let tenure = Tenure::open(url).unwrap();
        hold_twice(&tenure, "job");
        assert_all_released(&tenure);
    }
}

/// What the members of an embedded store have there.
fn of_members(dir: &Path) -> usize {
    let boots = fs::read_dir(dir.join("boots")).unwrap();
    boots.map(|boot| fs::read_dir(boot.unwrap().path().join("members")).unwrap().count()).sum()
}

#[test]
fn a_program_may_end_as_soon_as_it_has_dropped_the_last_one() {
    let dir = tempdir().unwrap();
    for _ in 0..50 {
        let tenure = Tenure::open(format!("file:{}", dir.path().display())).unwrap();
        let clone = tenure.clone();
        tenure.mutex("job").lock().unwrap().release().unwrap();
        drop(tenure);
        assert_ne!(of_members(dir.path()), 0, "the other one is open");
        drop(clone);
        assert_eq!(of_members(dir.path()), 0);
    }
}

#[test]
fn what_was_made_from_the_last_one_outlives_it() {
    let tenure = Tenure::open("memory:").unwrap();
    let mutex = tenure.mutex("a");
    drop(tenure);
    let guard = mutex.lock().unwrap();
    drop(mutex);
    guard.check().unwrap();
    guard.release().unwrap();
}

#[tokio::test]
async fn it_works_inside_a_current_thread_runtime() {
    let tenure = Tenure::open("memory:").unwrap();
    hold_twice(&tenure, "job");
    let other = tenure.clone();
    tokio::spawn(async move { hold_twice(&other, "job") }).await.unwrap();
    assert_all_released(&tenure);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_works_inside_a_multi_thread_runtime() {
    let tenure = Tenure::open("memory:").unwrap();
    hold_twice(&tenure, "job");
    let other = tenure.clone();
    tokio::spawn(async move { hold_twice(&other, "job") }).await.unwrap();
    let other = tenure.clone();
    tokio::task::spawn_blocking(move || hold_twice(&other, "job")).await.unwrap();
    assert_all_released(&tenure);
}

#[test]
fn it_works_inside_a_local_set_of_a_multi_thread_runtime() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, async {
        let tenure = Tenure::open("memory:").unwrap();
        let held = tenure.mutex("job").lock().unwrap();
        let waiter = tenure.mutex("job").wait(Duration::from_millis(20));
        let refused = tokio::task::spawn_local(async move { waiter.lock() }).await.unwrap();
        assert!(matches!(refused, Err(AcquireError::TimedOut(_))), "{refused:?}");
        held.release().unwrap();
        assert_all_released(&tenure);
    });
}

/// The holder is a task, and more tasks than the runtime has threads block for its lock.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_that_block_do_not_keep_the_holder_from_running() {
    let tenure = Tenure::open("memory:").unwrap();
    let held = tenure.as_async().mutex("job").lock().await.unwrap();
    let waiting = Arc::new(AtomicU32::new(0));
    let waiters: Vec<_> = (0..4)
        .map(|_| {
            let (mutex, waiting) = (tenure.mutex("job").wait(PATIENCE), waiting.clone());
            tokio::spawn(async move {
                waiting.fetch_add(1, Ordering::SeqCst);
                mutex.lock().map(drop)
            })
        })
        .collect();
    let holder = tokio::spawn(async move {
        while waiting.load(Ordering::SeqCst) < 4 {
            tokio::task::yield_now().await;
        }
        held.release().await
    });
    holder.await.unwrap().unwrap();
    for waiter in waiters {
        waiter.await.unwrap().unwrap();
    }
    assert_all_released(&tenure);
}

/// Each thread adds one to a counter in two steps that only the lock keeps together.
fn count_from_many_threads(url: &str) {
    let tenure = Tenure::open(url).unwrap();
    let (counter, start) = (Arc::new(AtomicU32::new(0)), Arc::new(Barrier::new(THREADS)));
    let threads: Vec<_> = (0..THREADS)
        .map(|at| {
            let (tenure, counter, start) = (tenure.clone(), counter.clone(), start.clone());
            thread::spawn(move || {
                start.wait();
                let guard = tenure.mutex("counter").wait(PATIENCE).lock().unwrap();
                let seen = counter.load(Ordering::SeqCst);
                thread::yield_now();
                counter.store(seen + 1, Ordering::SeqCst);
                let token = guard.check().unwrap();
                // Half of them release, the others drop.
                if at % 2 == 0 {
                    guard.release().unwrap();
                }
                token
            })
        })
        .collect();
    let mut tokens: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    assert_eq!(counter.load(Ordering::SeqCst), u32::try_from(THREADS).unwrap());
    tokens.sort_unstable();
    tokens.dedup();
    assert_eq!(tokens.len(), THREADS, "a token was given twice");
    assert_all_released(&tenure);
}

#[test]
fn two_hundred_threads_get_in_one_by_one() {
    count_from_many_threads("memory:");
    let dir = tempdir().unwrap();
    count_from_many_threads(&format!("file:{}", dir.path().display()));
}

#[cfg(target_os = "linux")]
#[test]
fn two_hundred_waiters_cost_one_thread_of_ours() {
    let tenure = Tenure::open("memory:").unwrap();
    let held = tenure.mutex("job").lock().unwrap();
    let names = || {
        let tasks = fs::read_dir("/proc/self/task").unwrap();
        tasks.filter_map(|task| fs::read_to_string(task.unwrap().path().join("comm")).ok())
    };
    let start = Barrier::new(THREADS + 1);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                start.wait();
                tenure.mutex("job").wait(PATIENCE).lock().unwrap().release().unwrap();
            });
        }
        start.wait();
        let ours = names().filter(|name| name.trim() == "tenure-blocking").count();
        assert!(ours <= 2, "{ours} threads wait");
        held.release().unwrap();
    });
    assert_all_released(&tenure);
}

#[test]
fn a_wait_ends_when_it_was_told_to() {
    let tenure = Tenure::open("memory:").unwrap();
    let held = tenure.mutex("job").lock().unwrap();
    let refused = tenure.mutex("job").wait(Duration::from_millis(20)).lock();
    assert!(matches!(refused, Err(AcquireError::TimedOut(_))), "{refused:?}");
    held.release().unwrap();
    assert_all_released(&tenure);
}

#[test]
fn a_wrong_name_and_a_wrong_url_are_errors() {
    let tenure = Tenure::open("memory:").unwrap();
    assert!(matches!(tenure.mutex("").lock(), Err(AcquireError::Name(_))));
    assert!(Tenure::open("nowhere:").is_err());
}

#[test]
fn a_hold_leaves_one_store_and_comes_back_in_another() {
    let dir = tempdir().unwrap();
    let url = format!("file:{}", dir.path().display());
    let (one, other) = (Tenure::open(&url).unwrap(), Tenure::open(&url).unwrap());
    let guard = one.rwlock("job").write().unwrap();
    let first = guard.token();
    let told = Arc::new(AtomicU32::new(0));
    let count = told.clone();
    guard.on_lost(move |_| {
        count.fetch_add(1, Ordering::Relaxed);
    });
    let detached = guard.detach_with(|detach| detach.lease(PATIENCE)).unwrap();
    // The store that held it ends, and frees what it holds itself.
    drop(one);
    assert!(other.mutex("job").try_lock().unwrap().is_none());
    other.renew_detached(&detached.handle, PATIENCE * 2).unwrap();
    let label = "heir";
    let guard = other.attach_with(&detached.handle, |attach| attach.label(label)).unwrap();
    assert!(first < detached.token && detached.token < guard.token());
    assert_eq!(other.rwlock("job").inspect().unwrap().holders[0].label, label);
    let lost = other.release_detached(&detached.handle).unwrap_err();
    assert!(matches!(lost, tenure::HandleError::Lost(_)), "{lost:#}");
    let handle = guard.detach().unwrap().handle;
    other.release_detached(&handle).unwrap();
    assert!(other.mutex("job").try_lock().unwrap().is_some());
    assert_eq!(told.load(Ordering::Relaxed), 0, "a loss was told of what was detached");
    assert_all_released(&other);
}
