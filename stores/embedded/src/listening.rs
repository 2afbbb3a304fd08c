//! Tasks that listen at a socket of this store: on tenure's own thread, or in the runtimes in which its waiters
//! wait. There a hint wakes the thread that goes on by it, and no other one first.

use std::{
    collections::HashSet,
    io,
    os::unix::net::UnixDatagram,
    pin::pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use tenure_core::{HintBoard, in_background};
use tokio::{
    net,
    runtime::{Handle, Id},
    sync::Notify,
};

use crate::hint;

/// A socket, and who listens there.
#[derive(Debug)]
pub(crate) struct Listening {
    ear: Arc<Ear>,
    /// One task each, and none for those that have ended.
    places: Mutex<HashSet<Place>>,
    /// A caller's runtime has no I/O: from then on tenure's own thread listens for all.
    without_io: AtomicBool,
}

/// Where a task listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Place {
    OwnThread,
    Runtime(Id),
}

#[derive(Debug)]
struct Ear {
    socket: UnixDatagram,
    board: HintBoard,
    /// No hint is to be heard any more.
    over: AtomicBool,
    ended: Notify,
}

impl Listening {
    /// Nobody listens yet. What is said until somebody does is kept by the system.
    ///
    /// # Errors
    /// The socket cannot be made one that never blocks.
    pub(crate) fn new(socket: UnixDatagram, board: &HintBoard) -> io::Result<Arc<Self>> {
        socket.set_nonblocking(true)?;
        let (over, ended) = (AtomicBool::new(false), Notify::new());
        let ear = Arc::new(Ear { socket, board: board.clone(), over, ended });
        let (places, without_io) = (Mutex::default(), AtomicBool::new(false));
        Ok(Arc::new(Self { ear, places, without_io }))
    }

    /// Sees that somebody listens in the runtime that this is called in, if it has one.
    pub(crate) fn here(self: &Arc<Self>) {
        match Handle::try_current() {
            Ok(runtime) if !self.without_io.load(Ordering::Relaxed) => {
                if let Some(task) = self.task(Place::Runtime(runtime.id())) {
                    runtime.spawn(task.listen());
                }
            }
            Ok(_) | Err(_) => drop(self.on_own_thread()),
        }
    }

    /// Sees that tenure's own thread listens.
    ///
    /// # Errors
    /// There is no such thread.
    pub(crate) fn on_own_thread(self: &Arc<Self>) -> io::Result<()> {
        match self.task(Place::OwnThread) {
            Some(task) => in_background(task.listen()).map(drop),
            None => Ok(()),
        }
    }

    /// Ends all listening.
    pub(crate) fn end(&self) {
        self.ear.over.store(true, Ordering::Release);
        // A socket that is shut down would wake them too, but tokio asks one over and over again.
        self.ear.ended.notify_waiters();
    }

    /// What is to listen there, unless something does.
    fn task(self: &Arc<Self>, place: Place) -> Option<Task> {
        let is_new = !self.ear.over.load(Ordering::Acquire) && self.places().insert(place);
        is_new.then(|| Task { ear: self.ear.clone(), listening: Arc::downgrade(self), place })
    }

    fn places(&self) -> MutexGuard<'_, HashSet<Place>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One that listens. Its place is free again when it is dropped, however that comes about.
struct Task {
    ear: Arc<Ear>,
    listening: Weak<Listening>,
    place: Place,
}

impl Task {
    async fn listen(self) {
        match self.ear.open() {
            Ok(socket) => self.ear.hear(&socket).await,
            Err(error) => {
                tracing::debug!(%error, "no hints in this runtime");
                self.elsewhere();
            }
        }
    }

    /// Lets tenure's own thread listen instead, unless this is it: its waiters look by themselves then.
    fn elsewhere(&self) {
        if self.place != Place::OwnThread
            && let Some(listening) = self.listening.upgrade()
        {
            let _ = listening.on_own_thread();
        }
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        let Some(listening) = self.listening.upgrade() else { return };
        listening.places().remove(&self.place);
        // tokio panics in a runtime without I/O, and offers no way to ask.
        if thread::panicking() {
            listening.without_io.store(true, Ordering::Relaxed);
            self.elsewhere();
        }
    }
}

impl Ear {
    /// The socket as the current runtime sees it.
    fn open(&self) -> io::Result<net::UnixDatagram> {
        net::UnixDatagram::from_std(self.socket.try_clone()?)
    }

    /// Passes on what is said until all is over.
    async fn hear(&self, socket: &net::UnixDatagram) {
        let mut message = [0; hint::LONGEST];
        let mut ended = pin!(self.ended.notified());
        while !self.over.load(Ordering::Acquire) {
            let received = tokio::select! {
                biased;
                () = &mut ended => return,
                received = socket.recv(&mut message) => received,
            };
            match received {
                Ok(length) => hint::hear(&self.board, message.get(..length).unwrap_or_default()),
                Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                    tracing::warn!(%error, "hints have stopped: waiters look by themselves");
                    self.over.store(true, Ordering::Release);
                }
                Err(_) => {}
            }
        }
    }
}
