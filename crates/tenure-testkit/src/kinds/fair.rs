//! The fair lock: first come, first served.

use super::{
    Kind,
    scene::{NAME, PATIENCE, Scene, queue},
};

/// The kind, which needs a queue.
pub const KIND: Kind = Kind {
    name: "fair",
    lacks: |can| (!can.fifo).then_some("the store keeps no queue"),
    attempt: |tenure| {
        let lock = tenure.mutex(NAME).fair().lock();
        Box::pin(async move { lock.await.err().map(|error| format!("{error:#}")) })
    },
};

/// S8: across processes.
pub async fn processes_are_served_in_the_order_of_asking(scene: Scene) {
    let processes: [_; 5] = scene.processes().await;
    let mut guard = processes[0].mutex(NAME).fair().lock().await.unwrap();
    let mut line = Vec::new();
    for (ahead, tenure) in processes.iter().enumerate().skip(1) {
        let lock = tenure.mutex(NAME).fair().lock().wait(PATIENCE);
        line.push(queue(tenure, lock, ahead).await);
    }
    for next in line {
        let token = guard.token();
        assert!(!next.is_finished(), "it was not its turn");
        guard.release().await.unwrap();
        guard = next.await.unwrap().unwrap();
        assert!(guard.token() > token);
    }
}

/// S8: a task of the process that lets go has no advantage.
pub async fn tasks_of_one_process_are_served_in_the_order_of_asking(scene: Scene) {
    let [one, other] = scene.processes().await;
    let guard = one.mutex(NAME).fair().lock().await.unwrap();
    let lock = other.mutex(NAME).fair().lock().wait(PATIENCE);
    let first = queue(&one, lock, 1).await;
    let lock = one.mutex(NAME).fair().lock().wait(PATIENCE);
    let second = queue(&one, lock, 2).await;
    guard.release().await.unwrap();
    let first = first.await.unwrap().unwrap();
    assert!(!second.is_finished());
    first.release().await.unwrap();
    second.await.unwrap().unwrap().check().unwrap();
}
