"""``FileLock`` and ``AsyncFileLock`` with the calls of the package ``filelock``.

A lock at ``dir/name`` is the mutex ``name`` of tenure's store in the directory ``dir/.tenure``. All programs that use this
module exclude each other there, and so does ``tenure run --store file:dir/.tenure name``. Programs that use the package
``filelock`` on the same path do not.
"""

from __future__ import annotations

import contextlib
import functools
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from . import _bridge, _stores, _tenure
from ._decorator import refuse_unfinished
from ._errors import Busy, Error, InDoubt, Lost, Misconfigured, Unreachable, UsageError

if TYPE_CHECKING:
    from typing_extensions import Self

    from . import _locks

__all__ = [
    "AcquireReturnProxy",
    "AsyncFileLock",
    "BaseFileLock",
    "FileLock",
    "LockError",
    "LockInDoubt",
    "LockLost",
    "LockMisconfigured",
    "LockUnreachable",
    "LockUsageError",
    "Timeout",
    "UnixFileLock",
]

L = TypeVar("L", bound="FileLock")


class Timeout(TimeoutError):
    """The lock was not acquired in time."""

    def __init__(self, lock_file: str, holder: str | None = None) -> None:
        super().__init__()
        self._lock_file, self._holder = lock_file, holder

    def __reduce__(self) -> Any:
        return type(self), (self._lock_file, self._holder)

    def __str__(self) -> str:
        text = f"The file lock '{self._lock_file}' could not be acquired."
        return text if self._holder is None else f"{text} {self._holder}"

    @property
    def lock_file(self) -> str:
        """The path of the lock."""
        return self._lock_file


class AcquireReturnProxy(Generic[L]):
    """What ``acquire`` returns: a block that releases at its end what was acquired before it began."""

    def __init__(self, lock: L) -> None:
        self.lock = lock

    def __enter__(self) -> L:
        return self.lock

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        self.lock.__exit__(kind, error, traceback)


class _State:
    """What a lock object holds: for all threads, or for one."""

    hold: _tenure.Hold | None = None
    #: Where it is held, which is not forgotten meanwhile.
    store: _locks.Tenure | None = None
    count = 0


class _ThreadState(threading.local, _State):
    """The same for each thread."""


class LockError(Error, OSError):
    """An error of tenure, for programs that catch ``OSError`` where they lock files."""


class LockLost(LockError, Lost):
    """``tenure.Lost`` as an ``OSError``."""


class LockUnreachable(LockError, Unreachable):
    """``tenure.Unreachable`` as an ``OSError``."""


class LockInDoubt(LockError, InDoubt):
    """``tenure.InDoubt`` as an ``OSError``."""


class LockMisconfigured(LockError, Misconfigured):
    """``tenure.Misconfigured`` as an ``OSError``."""


class LockUsageError(LockError, UsageError):
    """``tenure.UsageError`` as an ``OSError``."""


_OS_ERRORS: dict[type[Error], type[LockError]] = {
    Lost: LockLost,
    Unreachable: LockUnreachable,
    InDoubt: LockInDoubt,
    Misconfigured: LockMisconfigured,
    UsageError: LockUsageError,
}


@contextlib.contextmanager
def _os_errors() -> Iterator[None]:
    """Raises an error of tenure as one that is an ``OSError`` too."""
    try:
        yield
    except (Busy, LockError):
        raise
    except Error as error:
        raise error._as(_OS_ERRORS.get(type(error), LockError)) from error.__cause__


def _place(lock_file: str | os.PathLike[str]) -> tuple[str, str]:
    """The directory and the name of a lock."""
    # The file need not exist, and a link to it may come and go. So only the directory is resolved.
    directory, name = os.path.split(os.path.abspath(os.fspath(lock_file)))
    return os.path.realpath(directory), name


class BaseFileLock:
    """What ``FileLock`` and ``AsyncFileLock`` have in common."""

    _instances: ClassVar[weakref.WeakValueDictionary[tuple[type, str], Any]] = weakref.WeakValueDictionary()

    def __new__(cls, lock_file: str | os.PathLike[str], *_args: Any, **options: Any) -> Self:
        if not options.get("is_singleton"):
            return super().__new__(cls)
        instance: Self = cls._instances.setdefault((cls, os.path.join(*_place(lock_file))), super().__new__(cls))
        return instance

    def __init__(
        self,
        lock_file: str | os.PathLike[str],
        timeout: float = -1,
        mode: int = -1,
        thread_local: bool = True,
        *,
        blocking: bool = True,
        is_singleton: bool = False,
        poll_interval: float = 0.05,
        lifetime: float | None = None,
        **unused: Any,
    ) -> None:
        known = {"context_error_policy", "close_error_policy", "fallback_to_soft", "preserve_lock_file"}
        known |= {"loop", "run_in_executor", "executor"}
        if unknown := set(unused) - known:
            raise UsageError(f"{min(unknown)!r} is not an option of tenure's FileLock")
        if is_singleton and getattr(self, "is_singleton", False):
            asked = (float(timeout), mode, thread_local, blocking, poll_interval, lifetime)
            known_as = ("timeout", "mode", "thread_local", "blocking", "poll_interval", "lifetime")
            for name, value, has in zip(known_as, asked, self._options(), strict=True):
                if value != has:
                    raise UsageError(f"the singleton for {os.fspath(lock_file)!r} has {name}={has!r}, not {value!r}")
            return
        #: The path, as it was given.
        self.lock_file: str = os.fspath(lock_file)
        #: How long to wait, in seconds. Below 0, without a limit.
        self.timeout = float(timeout)
        #: Has no effect: the store in the directory decides who may use it.
        self.mode = mode
        #: Whether ``acquire`` waits.
        self.blocking = blocking
        #: Whether each path has one object.
        self.is_singleton = is_singleton
        #: Has no effect: a waiter is woken.
        self.poll_interval = poll_interval
        #: The time after which a hold is lost, even if the program still runs.
        self.lifetime = lifetime
        self._is_thread_local = thread_local
        self._state: _State = _ThreadState() if thread_local else _State()
        self._directory, self._name = _place(lock_file)

    def _options(self) -> tuple[Any, ...]:
        """What two singletons of one path must have in common."""
        thread_local = self._is_thread_local
        return self.timeout, self.mode, thread_local, self.blocking, self.poll_interval, self.lifetime

    def is_thread_local(self) -> bool:
        """Whether each thread acquires the lock for itself."""
        return self._is_thread_local

    @property
    def hold(self) -> _tenure.Hold | None:
        """The hold, with its token, if this thread has the lock."""
        return self._state.hold

    @property
    def is_locked(self) -> bool:
        """Whether this object has the lock, at this very moment."""
        return self._state.hold is not None and self._state.hold.held

    @property
    def lock_counter(self) -> int:
        """How many times this object acquired the lock and did not release it."""
        return self._state.count

    def _enter_again(self) -> bool:
        """Counts one more acquisition if this object has the lock."""
        state = self._state
        if state.hold is None:
            return False
        try:
            state.hold.check()
        except Lost as lost:
            if lost.reason != "forked":
                raise
            # It is the parent's, and the child acquires the lock itself.
            state.hold, state.store, state.count = None, None, 0
            return False
        state.count += 1
        return True

    def _entered(self, hold: _tenure.Hold, store: _locks.Tenure) -> None:
        self._state.hold, self._state.store, self._state.count = hold, store, 1

    def _left(self, force: bool) -> _tenure.Hold | None:
        """Counts one acquisition less, and returns the hold that is to be released now."""
        state = self._state
        if state.hold is None:
            return None
        state.count = 0 if force else state.count - 1
        if state.count > 0:
            return None
        hold, state.hold, state.store = state.hold, None, None
        return None if hold._is_of_parent() else hold

    def _acquisition(self, store: _locks.Tenure, wait: float | None) -> _tenure.Acquisition:
        settings: Any = {} if self.lifetime is None else {"max_hold": self.lifetime}
        return store.mutex(self._name, **settings).lock(wait)

    def _wait(self, timeout: float | None, blocking: bool | None) -> float | None:
        timeout = self.timeout if timeout is None else timeout
        if not (self.blocking if blocking is None else blocking):
            return 0.0
        return None if timeout < 0 else timeout

    def _timeout(self, busy: Busy) -> Timeout:
        return Timeout(self.lock_file, str(busy))

    def __repr__(self) -> str:
        return f"<tenure.filelock.{type(self).__name__} {self.lock_file!r}>"


class FileLock(BaseFileLock):
    """A lock at a path, which one thread of one process has at a time. The thread that has it can acquire it again.

    ``hold`` is the hold, with ``token`` and ``check()``. A lock that was lost raises ``tenure.Lost`` where it is acquired
    again or released.
    """

    def acquire(
        self,
        timeout: float | None = None,
        poll_interval: float | None = None,
        *,
        poll_intervall: float | None = None,
        blocking: bool | None = None,
        cancel_check: Callable[[], bool] | None = None,
    ) -> AcquireReturnProxy[Self]:
        """Acquires the lock, and blocks until it is free or ``timeout`` is up. Raises ``Timeout`` then."""
        wait = self._wait(timeout, blocking)
        with _os_errors():
            if not self._enter_again():
                store = _stores.at(self._directory)
                if cancel_check is None:
                    hold = self._acquire(store, wait)
                else:
                    hold = self._acquire_unless(cancel_check, store, wait, poll_interval or self.poll_interval)
                self._entered(hold, store)
        return AcquireReturnProxy(self)

    def _acquire(self, store: _locks.Tenure, wait: float | None) -> _tenure.Hold:
        try:
            return self._acquisition(store, wait).acquire()
        except Busy as busy:
            raise self._timeout(busy) from None

    def _acquire_unless(
        self, cancelled: Callable[[], bool], store: _locks.Tenure, wait: float | None, pause: float
    ) -> _tenure.Hold:
        until = None if wait is None else time.monotonic() + wait
        while True:
            left = pause if until is None else min(pause, max(until - time.monotonic(), 0))
            try:
                return self._acquire(store, left)
            except Timeout:
                if cancelled() or (until is not None and time.monotonic() >= until):
                    raise

    def release(self, force: bool = False) -> None:
        """Releases the lock if this was the last acquisition, or with ``force``. Does nothing if it is not held."""
        hold = self._left(force)
        if hold is not None:
            with _os_errors():
                hold.release()

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        hold = self._left(force=False)
        if hold is not None:
            with _os_errors():
                hold.__exit__(kind, error, traceback)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Makes a function that runs only under this lock."""

        @functools.wraps(function)
        def runs(*args: Any, **given: Any) -> Any:
            with self:
                result = function(*args, **given)
                refuse_unfinished(result, function)
                return result

        return runs

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.release(force=True)


#: The name that it has in ``filelock`` on Unix.
UnixFileLock = FileLock


class AsyncFileLock(BaseFileLock):
    """The same in asyncio. All tasks that use one object share it: the first acquires, the others count."""

    def __init__(
        self,
        lock_file: str | os.PathLike[str],
        timeout: float = -1,
        mode: int = -1,
        thread_local: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(lock_file, timeout, mode, thread_local, **options)

    async def acquire(
        self,
        timeout: float | None = None,
        poll_interval: float | None = None,
        *,
        blocking: bool | None = None,
    ) -> AsyncAcquireReturnProxy:
        """Acquires the lock, and waits until it is free or ``timeout`` is up. Raises ``Timeout`` then."""
        with _os_errors():
            if not self._enter_again():
                store = _stores.at(self._directory)
                try:
                    hold = await self._acquisition(store, self._wait(timeout, blocking))
                except Busy as busy:
                    raise self._timeout(busy) from None
                self._entered(hold, store)
        return AsyncAcquireReturnProxy(self)

    async def release(self, force: bool = False) -> None:
        """Releases the lock if this was the last acquisition, or with ``force``."""
        hold = self._left(force)
        if hold is not None:
            with _os_errors():
                await hold.release_async()

    async def __aenter__(self) -> Self:
        await self.acquire()
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        hold = self._left(force=False)
        if hold is not None:
            with _os_errors():
                await _bridge.leave(hold, error)


class AsyncAcquireReturnProxy:
    """What ``AsyncFileLock.acquire`` returns."""

    def __init__(self, lock: AsyncFileLock) -> None:
        self.lock = lock

    async def __aenter__(self) -> AsyncFileLock:
        return self.lock

    async def __aexit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        await self.lock.__aexit__(kind, error, traceback)
