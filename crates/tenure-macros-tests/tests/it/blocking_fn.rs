//! Functions without `async`.

use tenure::{Error, Tenure, locked, locked::current};

use crate::scene::{Done, free, holders, name, open};

fn opened() -> Tenure {
    tenure::blocking::Tenure::open("memory:").unwrap().as_async().clone()
}

#[locked(key = "count:{id}", store = tenure)]
fn count(tenure: &Tenure, id: u32, list: &mut Vec<u32>) -> Result<usize, Error> {
    let hold = current().ok_or(std::fmt::Error).unwrap();
    assert_eq!(hold.name().as_str(), format!("count:{id}"));
    hold.check()?;
    list.push(id);
    Ok(list.len())
}

#[test]
fn a_function_without_async_runs_under_the_lock() {
    let (tenure, mut list) = (opened(), Vec::new());
    assert_eq!(count(&tenure, 7, &mut list).unwrap(), 1);
    assert_eq!(count(&tenure, 7, &mut list).unwrap(), 2);
    assert!(current().is_none());
}

#[tokio::test]
async fn it_can_be_called_inside_a_runtime() {
    let tenure = open().await;
    assert_eq!(count(&tenure, 8, &mut Vec::new()).unwrap(), 1);
    assert_eq!(holders(&tenure, "count:8").await, 0);
}

#[locked(name = "largest", store = tenure)]
fn largest<'a>(tenure: &Tenure, list: &'a mut [u32]) -> Result<&'a mut u32, Error> {
    let Some(at) = (0..list.len()).max_by_key(|&at| list[at]) else { panic!("nothing") };
    Ok(&mut list[at])
}

#[test]
fn what_is_borrowed_can_be_given_back() {
    let (tenure, mut list) = (opened(), vec![1, 3, 2]);
    *largest(&tenure, &mut list).unwrap() = 0;
    assert_eq!(list, [1, 0, 2]);
}

#[tokio::test]
async fn a_panic_in_it_lets_go() {
    let tenure = open().await;
    let on_a_thread = tenure.clone();
    let thread = std::thread::spawn(move || largest(&on_a_thread, &mut []).map(|_| ()));
    assert!(thread.join().is_err());
    free(&tenure, "largest").await;
}

#[locked(name = "outer", store = tenure)]
fn outer(tenure: &Tenure) -> Result<bool, Error> {
    let token = current().map(|hold| hold.token());
    Ok(token == inner(tenure)?)
}

#[locked(name = "outer", store = tenure, wait = "1s")]
fn inner(tenure: &Tenure) -> Result<Option<tenure::Token>, Error> {
    Ok(current().map(|hold| hold.token()))
}

#[test]
fn a_nested_blocking_call_enters_again() {
    assert!(outer(&opened()).unwrap());
}

#[locked(name = "evicted", ttl = "300ms", store = tenure)]
fn evicted(tenure: &Tenure, evict: impl FnOnce()) -> Done<&'static str> {
    evict();
    while current().is_some_and(|hold| hold.check().is_ok()) {
        std::thread::yield_now();
    }
    Ok("done")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_lost_midway_is_an_error_at_the_end() {
    let tenure = open().await;
    let runtime = tokio::runtime::Handle::current();
    let call = tokio::task::spawn_blocking(move || {
        evicted(&tenure, || {
            runtime.block_on(tenure.store().evict(&name("evicted"))).unwrap();
        })
    });
    assert!(matches!(call.await.unwrap(), Err(Error::Lost(_))));
}
