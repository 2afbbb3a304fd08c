//! Tasks that listen at a socket of this store: on tenure's own thread, or in the runtimes in which its waiters
//! wait. There a hint wakes the thread that goes on by it, and no other one first.

use std::{
    collections::HashMap,
    io,
    os::unix::net::UnixDatagram,
    pin::pin,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use tenure_core::{
    HintBoard, in_background,
    threads::{DirectHints, is_polled_directly},
};
use tokio::{
    net,
    runtime::{Handle, Id, RuntimeFlavor},
    sync::Notify,
};

use crate::{
    hints::{direct::BlockingHintSource, ear::HintSocket, hint},
    members::Members,
};

/// A runtime in which nobody waited for so long is woken by one hint more at most. Who waits asks again sooner.
const IDLE: Duration = Duration::from_secs(10);

/// A socket, and who listens there. Dropping it ends that.
#[derive(Debug)]
pub(crate) struct HintListener {
    ear: Arc<HintSocket>,
    members: Arc<Members>,
    /// What tenure's own thread listens with first.
    spare: Mutex<Option<UnixDatagram>>,
    /// Where a task listens, and when somebody last began to wait there.
    places: Mutex<HashMap<ListenerThread, Instant>>,
    /// Whether tenure's own thread does.
    own_thread: AtomicBool,
    /// A caller's runtime has no I/O: from then on tenure's own thread listens for all.
    without_io: AtomicBool,
    /// For a thread that blocks, made when the first one does.
    direct: OnceLock<Option<Arc<DirectHints>>>,
}

/// Where a task listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum ListenerThread {
    OwnThread,
    Runtime(Id),
}

impl HintListener {
    /// Nobody listens yet. What is said until somebody does is kept by the system. With a `spare` of the
    /// same socket tenure's own thread listens also when there are no more files.
    ///
    /// # Errors
    /// The socket cannot be made one that never blocks.
    pub(crate) fn new(
        socket: UnixDatagram,
        spare: Option<UnixDatagram>,
        board: &HintBoard,
        members: &Arc<Members>,
    ) -> io::Result<Arc<Self>> {
        socket.set_nonblocking(true)?;
        let (over, ended) = (AtomicBool::new(false), Notify::new());
        Ok(Arc::new(Self {
            ear: Arc::new(HintSocket { socket, board: board.clone(), over, ended }),
            members: members.clone(),
            spare: Mutex::new(spare),
            places: Mutex::default(),
            own_thread: AtomicBool::new(false),
            without_io: AtomicBool::new(false),
            direct: OnceLock::new(),
        }))
    }

    /// Sees that somebody listens in the runtime that this is called in, if it has one, or that the thread
    /// does so itself that is about to block.
    pub(crate) fn ensure_listener(self: &Arc<Self>) {
        if is_polled_directly() && self.direct().is_some_and(DirectHints::take_for_this_thread) {
            return;
        }
        let runtime = match Handle::try_current() {
            Ok(runtime) if !self.without_io.load(Ordering::Relaxed) => runtime,
            Ok(_) | Err(_) => return self.ensure_thread_listener(),
        };
        let Some(task) = self.register_task(ListenerThread::Runtime(runtime.id())) else { return };
        match runtime.runtime_flavor() {
            RuntimeFlavor::CurrentThread => drop(runtime.spawn(task.listen())),
            // What a worker spawns first may wait for that very worker, however long it is busy.
            _ => drop(in_background(async move { drop(runtime.spawn(task.listen())) })),
        }
    }

    fn direct(&self) -> Option<&Arc<DirectHints>> {
        let make = || BlockingHintSource::new(&self.ear, &self.members).map(DirectHints::new);
        let made = self.direct.get_or_init(|| {
            make().inspect_err(|error| tracing::debug!(%error, "no blocked thread can listen")).ok()
        });
        made.as_ref()
    }

    /// Sees that tenure's own thread listens, if there is one.
    pub(crate) fn ensure_thread_listener(self: &Arc<Self>) {
        if !self.is_heard_on_own_thread()
            && let Some(task) = self.register_task(ListenerThread::OwnThread)
        {
            let _ = in_background(task.listen());
        }
    }

    pub(crate) fn is_heard_on_own_thread(&self) -> bool {
        self.own_thread.load(Ordering::Relaxed)
    }

    /// What is to listen there, unless something does. The child of a fork has the parent's very socket, and
    /// would take its hints.
    fn register_task(self: &Arc<Self>, place: ListenerThread) -> Option<ListeningTask> {
        let mut places = self.places();
        if let Some(waits) = places.get_mut(&place) {
            *waits = Instant::now();
            return None;
        }
        if !self.members.are_ours() {
            return None;
        }
        places.insert(place, Instant::now());
        self.own_thread.fetch_or(place == ListenerThread::OwnThread, Ordering::Relaxed);
        let (ear, listening) = (self.ear.clone(), Arc::downgrade(self));
        Some(ListeningTask { ear, listening, place, is_opening: false, has_left: false })
    }

    /// The socket as the current runtime sees it.
    fn open(&self, place: ListenerThread) -> io::Result<net::UnixDatagram> {
        let spare = || self.spare.lock().unwrap_or_else(PoisonError::into_inner).take();
        let socket = if place == ListenerThread::OwnThread { spare() } else { None };
        net::UnixDatagram::from_std(socket.map_or_else(|| self.ear.socket.try_clone(), Ok)?)
    }

    /// Frees a place.
    fn leave(&self, places: &mut HashMap<ListenerThread, Instant>, place: ListenerThread) {
        places.remove(&place);
        self.own_thread.fetch_and(place != ListenerThread::OwnThread, Ordering::Relaxed);
    }

    fn places(&self) -> MutexGuard<'_, HashMap<ListenerThread, Instant>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for HintListener {
    fn drop(&mut self) {
        if self.members.are_ours() {
            self.ear.over.store(true, Ordering::Release);
            // A socket that is shut down would wake them too, but tokio asks one over and over again.
            self.ear.ended.notify_waiters();
        }
    }
}

/// One that listens. Its place is free again when it is dropped, however that comes about.
struct ListeningTask {
    ear: Arc<HintSocket>,
    listening: Weak<HintListener>,
    place: ListenerThread,
    is_opening: bool,
    has_left: bool,
}

impl ListeningTask {
    async fn listen(mut self) {
        let Some(listening) = self.listening.upgrade() else { return };
        // tokio panics in a runtime without I/O, and offers no way to ask.
        self.is_opening = true;
        let socket = listening.open(self.place);
        self.is_opening = false;
        drop(listening);
        match socket {
            Ok(socket) => self.receive_hints(&socket).await,
            Err(error) => {
                tracing::debug!(%error, "no hints in this runtime");
                self.listen_on_own_thread();
            }
        }
    }

    /// Passes on what is said until all is over, or nobody waits here any more.
    async fn receive_hints(&mut self, socket: &net::UnixDatagram) {
        let ear = self.ear.clone();
        let mut message = [0; hint::LONGEST];
        let mut ended = pin!(ear.ended.notified());
        while !ear.over.load(Ordering::Acquire) {
            let received = tokio::select! {
                biased;
                () = &mut ended => return,
                received = socket.recv(&mut message) => received,
            };
            match received {
                Ok(length) => {
                    hint::dispatch_hint(&ear.board, message.get(..length).unwrap_or_default())
                }
                Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                    tracing::warn!(%error, "hints have stopped here: waiters ask on their own");
                    return;
                }
                Err(_) => {}
            }
            if self.try_leave() {
                return;
            }
        }
    }

    /// Leaves a runtime in which nobody waits.
    fn try_leave(&mut self) -> bool {
        let Some(listening) = self.listening.upgrade() else { return true };
        let mut places = listening.places();
        let last = places.get(&self.place).copied();
        let is_idle = last.is_none_or(|last| last.elapsed() > IDLE);
        if is_idle && self.place != ListenerThread::OwnThread {
            listening.leave(&mut places, self.place);
            self.has_left = true;
        }
        self.has_left
    }

    /// Lets tenure's own thread listen instead, unless this is it: its waiters look by themselves then.
    fn listen_on_own_thread(&self) {
        if self.place != ListenerThread::OwnThread
            && let Some(listening) = self.listening.upgrade()
        {
            listening.ensure_thread_listener();
        }
    }
}

impl Drop for ListeningTask {
    fn drop(&mut self) {
        let Some(listening) = self.listening.upgrade() else { return };
        if !self.has_left {
            listening.leave(&mut listening.places(), self.place);
        }
        if self.is_opening && thread::panicking() {
            listening.without_io.store(true, Ordering::Relaxed);
            self.listen_on_own_thread();
        }
    }
}
