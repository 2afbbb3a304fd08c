"""Tenures, and the handles of each kind of lock."""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections.abc import Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypedDict

from . import _bridge, _tenure

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from ._tenure import Acquisition, Clock, Contender, Leader, Snapshot

#: A length of time: seconds, or a ``timedelta``.
Length = float | timedelta


class Settings(TypedDict, total=False):
    """The settings of a lock. What is not given comes from the configuration, or is the default.

    ``docs/ttl.md`` helps to choose ``ttl``, whose default is 30 seconds.
    """

    #: The length of the lease, which is renewed every third of it.
    ttl: Length
    #: The time after which a hold is lost even if it could be renewed.
    max_hold: Length
    #: For how long the lock stays taken, even if it is released earlier.
    hold_at_least: Length
    #: For how much longer the store keeps the lease after the holder no longer counts on it.
    grace: Length
    #: Text that tells people which program holds the lock.
    label: str
    #: What the holder does, for people.
    operation: str
    #: Why the lock is held, for people.
    reason: str
    #: Whether all contenders of all processes are served first come, first served.
    fair: bool


class Tenure:
    """An open store, from which you make locks. ``tenure.open`` returns one.

    Threads and tasks share it. After a fork, the child opens the store anew when it first uses it.
    """

    def __init__(self, store: _tenure.Store, clock: Clock | None = None) -> None:
        self._store = store
        #: The clock of a memory store for tests.
        self.clock = clock
        self._scopes = _Scopes()
        _bridge.stores.add(store)

    def mutex(self, name: str, **settings: Unpack[Settings]) -> Mutex:
        """Makes a lock for one holder at a time."""
        return Mutex(self, name, settings)

    def reentrant(self, name: str, **settings: Unpack[Settings]) -> Reentrant:
        """Makes a mutex that the thread or task that holds it can enter again."""
        return Reentrant(self, name, settings)

    def rwlock(self, name: str, **settings: Unpack[Settings]) -> RwLock:
        """Makes a lock for any number of readers or one writer."""
        return RwLock(self, name, settings)

    def semaphore(self, name: str, permits: int, **settings: Unpack[Settings]) -> Semaphore:
        """Makes a semaphore with this many permits. All its users give the same number."""
        return Semaphore(self, name, permits, settings)

    def all(self, names: Iterable[str], **settings: Unpack[Settings]) -> All:
        """Makes a lock of several names, which are held together or not at all."""
        return All(self, names, settings)

    def election(self, name: str, **settings: Unpack[Settings]) -> Election:
        """Makes an election, in which one candidate at a time leads."""
        return Election(self, name, settings)

    def latch(self, name: str, count: int) -> Latch:
        """Makes a latch, which opens after ``count`` different arrivals."""
        return Latch(self, name, count)

    def inspect(self, name: str) -> Snapshot:
        """Returns the holders and waiters of a lock, for people: it may be out of date when it arrives."""
        return self._store.inspecting(name).block()

    async def inspect_async(self, name: str) -> Snapshot:
        """Returns the holders and waiters of a lock, as ``inspect`` does."""
        return await _bridge.run(self._store.inspecting(name))

    def ask_release(self, name: str, *, reason: str | None = None, wait: Length | None = None) -> bool:
        """Asks the holder of a lock to release it, and blocks until it did, or for ``wait``.

        Returns whether the lock is free of those who were asked. A request ends nothing: the holder decides.
        """
        return self._store.asking_release(name, reason, wait).block()

    async def ask_release_async(
        self, name: str, *, reason: str | None = None, wait: Length | None = None
    ) -> bool:
        """Asks the holder of a lock to release it, as ``ask_release`` does."""
        return await _bridge.run(self._store.asking_release(name, reason, wait))

    def break_(self, name: str, *, reason: str | None = None) -> list[Contender]:
        """Takes a lock from all that hold it now, and returns them. Their holds are lost.

        The holders are not asked, and may still work for a moment: only a resource that checks tokens refuses that.
        ``reason`` is for the history of the lock. In a test, this is how a hold is lost.
        """
        return self._store.breaking(name, reason).block()

    async def break_async(self, name: str, *, reason: str | None = None) -> list[Contender]:
        """Takes a lock from all that hold it now, as ``break_`` does."""
        return await _bridge.run(self._store.breaking(name, reason))

    @property
    def kind(self) -> str | None:
        """The kind of the store: ``redis``, for example. ``None`` if this process has not opened it."""
        return self._store.kind

    @property
    def location(self) -> str | None:
        """The store without its password. ``None`` if this process has not opened it."""
        return self._store.location

    def close(self, within: Length = 5.0) -> None:
        """Refuses further acquisitions, and waits until what is held is released and the store has answered.

        Raises ``Error`` if ``within`` ran out. Leases end on their own.
        """
        self._store.closing(within).block()

    async def close_async(self, within: Length = 5.0) -> None:
        """Closes the tenure, as ``close`` does."""
        await _bridge.run(self._store.closing(within))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.close_async()

    def __repr__(self) -> str:
        return f"<tenure.Tenure of {self.location or 'a store that is not open'}>"


class _Handle:
    """A lock of one name. Making it asks nothing."""

    def __init__(self, tenure: Tenure, name: str, settings: Settings) -> None:
        #: The name of the lock.
        self.name = name
        self._tenure = tenure
        _tenure._check_settings(dict(settings))
        self._settings = settings

    def _acquisition(
        self, kind: str, wait: Length | None, names: list[str] | None = None, **more: Any
    ) -> Acquisition:
        settings = {**self._settings, "wait": wait}
        names = [self.name] if names is None else names
        return self._tenure._store.acquisition(kind, names, settings, **more)

    def inspect(self) -> Snapshot:
        """Returns the holders and waiters, for people."""
        return self._tenure.inspect(self.name)

    def __repr__(self) -> str:
        return f"<tenure.{type(self).__name__} {self.name!r}>"


class Mutex(_Handle):
    """A lock that one holder has at a time. It is not reentrant: see ``Tenure.reentrant``."""

    def lock(self, wait: Length | None = None) -> Acquisition:
        """Acquires the lock, and waits for it for as long as ``wait`` says.

        ``None`` waits without a limit, or as the configuration says. ``0`` tries once. ``Busy`` is raised when the time
        is up.
        """
        return self._acquisition("mutex", wait)


class _Scopes:
    """The scope of each thread and task, which may enter again what it holds."""

    def __init__(self) -> None:
        self._of_thread = threading.local()
        self._of_task: weakref.WeakKeyDictionary[asyncio.Task[Any], _tenure.Scope] = weakref.WeakKeyDictionary()

    def current(self) -> _tenure.Scope:
        try:
            task: asyncio.Task[Any] | None = asyncio.current_task()
        except RuntimeError:
            task = None
        if task is None:
            scope = getattr(self._of_thread, "scope", None)
        else:
            scope = self._of_task.get(task)
        if scope is None or not scope.is_current():
            scope = _tenure.Scope()
            if task is None:
                self._of_thread.scope = scope
            else:
                self._of_task[task] = scope
        return scope


class Reentrant(_Handle):
    """A mutex that a thread or an asyncio task can enter again while it holds it.

    Entering again asks nothing and keeps the token. The lock is released with the last hold. The owner is the thread or
    task that acquires. A task that it starts is another one.
    """

    def lock(self, wait: Length | None = None) -> Acquisition:
        """Acquires the lock, as ``Mutex.lock`` does, or enters it again."""
        return self._acquisition("reentrant", wait, scope=self._tenure._scopes.current)


class RwLock(_Handle):
    """A lock for any number of readers or one writer."""

    def read(self, wait: Length | None = None) -> Acquisition:
        """Acquires the lock together with other readers. ``wait`` is that of ``Mutex.lock``."""
        return self._acquisition("read", wait)

    def write(self, wait: Length | None = None) -> Acquisition:
        """Acquires the lock alone. ``wait`` is that of ``Mutex.lock``."""
        return self._acquisition("write", wait)


class Semaphore(_Handle):
    """A number of permits, of which each holder takes some. The token of a permit is no fencing token."""

    def __init__(self, tenure: Tenure, name: str, permits: int, settings: Settings) -> None:
        super().__init__(tenure, name, settings)
        #: The number of permits.
        self.permits = permits

    def lock(self, take: int = 1, *, wait: Length | None = None) -> Acquisition:
        """Takes this many permits at once. ``wait`` is that of ``Mutex.lock``."""
        return self._acquisition("permits", wait, take=take, of=self.permits)


class All(_Handle):
    """Several mutexes, which are held together or not at all. ``Hold.tokens`` has the token of each."""

    def __init__(self, tenure: Tenure, names: Iterable[str], settings: Settings) -> None:
        #: The names of the locks.
        self.names = [names] if isinstance(names, str) else list(names)
        super().__init__(tenure, ", ".join(self.names), settings)

    def lock(self, wait: Length | None = None) -> Acquisition:
        """Acquires all of them. ``wait`` is that of ``Mutex.lock``."""
        return self._acquisition("all", wait, self.names)


class Election(_Handle):
    """Candidates under one name, of which one at a time leads. The token of a hold is its term."""

    def campaign(self, wait: Length | None = None) -> Acquisition:
        """Campaigns until it is elected. ``wait`` is that of ``Mutex.lock``. Releasing the hold resigns."""
        return self._acquisition("term", wait)

    def leader(self) -> Leader | None:
        """Returns the leader, by the store's state at this moment."""
        return self._tenure._store.leader(self.name).block()

    async def leader_async(self) -> Leader | None:
        """Returns the leader, as ``leader`` does."""
        return await _bridge.run(self._tenure._store.leader(self.name))


class Latch:
    """A gate that opens when its count of arrivals is complete. An arrival has a name, and counts once."""

    def __init__(self, tenure: Tenure, name: str, count: int) -> None:
        #: The name of the latch.
        self.name = name
        #: The number of arrivals that open it.
        self.count = count
        self._store = tenure._store

    def arrive(self, who: str, *, keep: Length | None = None) -> int:
        """Arrives as ``who``, and returns how many arrivals are missing. ``keep`` is at most 24 hours, the default."""
        return self._store.arriving(self.name, self.count, who, keep).block()

    async def arrive_async(self, who: str, *, keep: Length | None = None) -> int:
        """Arrives, as ``arrive`` does."""
        return await _bridge.run(self._store.arriving(self.name, self.count, who, keep))

    def wait(self, wait: Length | None = None) -> None:
        """Blocks until the latch is open. Raises ``Busy`` if it is not within ``wait``."""
        self._store.passing(self.name, self.count, wait).block()

    async def wait_async(self, wait: Length | None = None) -> None:
        """Waits until the latch is open, as ``wait`` does."""
        await _bridge.run(self._store.passing(self.name, self.count, wait))

    def arrived(self) -> list[str]:
        """Returns the names of all arrivals, in alphabetical order."""
        return self._store.arrived(self.name, self.count).block()

    def reset(self) -> None:
        """Forgets all arrivals, so that the latch is closed again."""
        self._store.resetting(self.name, self.count).block()

    def __repr__(self) -> str:
        return f"<tenure.Latch {self.name!r}>"


def open(url: str | os.PathLike[str] | None = None) -> Tenure:
    """Opens the store at this URL, and blocks until it answers.

    Without a URL, opens the store that the variables ``TENURE_…`` and the configuration file name, with their settings:
    by default, files on this machine. A path is a directory for such files.

    Open a store once, where your program begins, and share it. A forked child opens it anew by itself.
    """
    opened = _unopened(url)
    opened._store.opening().block()
    return opened


async def open_async(url: str | os.PathLike[str] | None = None) -> Tenure:
    """Opens a store, as ``open`` does, in asyncio."""
    opened = _unopened(url)
    await _bridge.run(opened._store.opening())
    return opened


def _unopened(url: str | os.PathLike[str] | None) -> Tenure:
    if url is None or isinstance(url, str):
        return Tenure(_tenure.Store(url))
    return Tenure(_tenure.Store(directory=os.path.abspath(os.fspath(url))))


def memory(clock: Clock | None = None) -> Tenure:
    """Makes a store in the memory of this process, for tests. With a clock, time passes only when it is advanced."""
    store = _tenure.Store("memory:") if clock is None else _tenure.Store(clock=clock)
    opened = Tenure(store, clock)
    store.opening().block()
    return opened


_default: Tenure | None = None


def default() -> Tenure:
    """Returns the tenure that ``locked`` uses: that of ``set_default``, or ``open()``, opened when first used."""
    global _default
    if _default is None:
        _default = _unopened(None)
    return _default


def set_default(tenure: Tenure | None) -> Tenure | None:
    """Sets the tenure that ``locked`` uses, and returns the one before."""
    global _default
    before, _default = _default, tenure
    return before

