"""The native part of tenure. Use the package `tenure`."""

import os
from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping
from datetime import timedelta
from types import TracebackType
from typing import Any, Generic, Literal, TypeVar, final

__all__ = [
    "Acquisition",
    "Call",
    "Clock",
    "Contender",
    "Delivered",
    "Hold",
    "Leader",
    "Scope",
    "Snapshot",
    "Store",
    "_check_settings",
    "_ending",
    "_finish",
    "_forked",
    "_forking",
    "_has_forked",
]

_T = TypeVar("_T")
_Length = float | timedelta

@final
class Acquisition:
    """An acquisition of a lock. Nothing is asked before `with`, `async with`, `await` or `acquire()`."""

    def acquire(self) -> Hold:
        """Acquires the lock, and blocks until it is free. Release the returned hold yourself."""

    def acquiring(self) -> Call[Hold]: ...
    def __enter__(self) -> Hold: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> Literal[False]: ...
    def __await__(self) -> Generator[Any, None, Hold]: ...
    def __aenter__(self) -> Coroutine[Any, Any, Hold]: ...
    def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> Coroutine[Any, Any, Literal[False]]: ...
    def _begin(self) -> None: ...
    def _entered(self, hold: Hold | None) -> None: ...
    def _leave(self) -> Hold | None: ...

@final
class Hold:
    """One hold of a lock. While it exists, tenure renews its lease in the background."""

    @property
    def name(self) -> str:
        """The name of the lock; of a multi-lock, the first."""
    @property
    def token(self) -> int:
        """The fencing token: greater than that of every earlier exclusive hold of this lock."""
    @property
    def tokens(self) -> dict[str, int]:
        """The token of each name."""
    @property
    def store(self) -> str:
        """The store, without its password."""
    @property
    def held(self) -> bool:
        """Whether you may count on the hold at this very moment: whether `check()` returns."""
    @property
    def lost(self) -> bool:
        """Whether the hold ended before it was released."""
    @property
    def remaining(self) -> float:
        """How many seconds you may still count on the hold if it is not renewed."""
    @property
    def at_risk(self) -> bool:
        """Whether the hold will soon be lost unless a renewal succeeds, or is no longer held."""
    @property
    def release_requested(self) -> bool:
        """Whether another program asks this holder to release the lock."""
    @property
    def release_requested_by(self) -> str | None:
        """Who asks for the release and why, as they say."""

    def check(self) -> int:
        """Returns the token if you may count on the hold at this very moment, or raises `Lost`."""

    def wait_lost(self, timeout: _Length | None = None) -> bool:
        """Blocks until the hold is lost, or for `timeout`. Returns whether it is lost."""

    def wait_lost_async(self, timeout: _Length | None = None) -> Coroutine[Any, Any, bool]:
        """Waits until the hold is lost, in asyncio."""

    def wait_release_requested(self, timeout: _Length | None = None) -> bool:
        """Blocks until another program asks for the release, or for `timeout`. Returns whether one does."""

    def wait_release_requested_async(self, timeout: _Length | None = None) -> Coroutine[Any, Any, bool]:
        """Waits until another program asks for the release, in asyncio."""

    def run_async(self, work: Awaitable[_T]) -> Coroutine[Any, Any, _T]:
        """Awaits `work` for as long as the hold lasts. If the hold is lost, cancels it and raises `Lost`."""

    def release(self) -> None:
        """Releases the hold, and waits for the store's answer."""

    def release_async(self) -> Coroutine[Any, Any, None]:
        """Releases the hold, in asyncio."""

    def leave_to_expire(self) -> float:
        """Stops renewals without releasing. Returns how many seconds longer you may count on the lock."""

    def cancel_hold_at_least(self) -> None:
        """Cancels `hold_at_least`, so that the name is free as soon as this hold is released."""

    def downgrade(self) -> Hold:
        """Turns the hold of a writer into that of a reader, which is returned."""

    def downgrade_async(self) -> Coroutine[Any, Any, Hold]:
        """Turns the hold of a writer into that of a reader, in asyncio."""

    def releasing(self) -> Call[None]: ...
    def downgrading(self) -> Call[Hold]: ...
    def __enter__(self) -> Hold: ...
    def __exit__(self, kind: object, error: object, traceback: object) -> Literal[False]: ...
    def __aenter__(self) -> Coroutine[Any, Any, Hold]: ...
    def __aexit__(self, kind: object, error: object, traceback: object) -> Coroutine[Any, Any, Literal[False]]: ...
    def _is_of_parent(self) -> bool: ...
    def _after_block(self, error: BaseException, raised: bool) -> None: ...

@final
class Snapshot:
    """The holders and the waiters of a lock, at one moment."""

    @property
    def holders(self) -> list[Contender]:
        """The holders."""
    @property
    def waiters(self) -> list[Contender]:
        """The waiters, the next one first."""
    @property
    def is_held(self) -> bool:
        """Whether the name is held, or stays taken after a release."""

@final
class Contender:
    """A holder or a waiter of a lock."""

    @property
    def label(self) -> str:
        """What the contender calls itself."""
    @property
    def details(self) -> str | None:
        """What the label does not tell: user, host, process, operation and reason."""
    @property
    def token(self) -> int | None:
        """The token of its hold; `None` for a waiter."""
    @property
    def since(self) -> float | None:
        """Since when it holds or waits, in seconds since the epoch, if the store knows."""
    @property
    def left(self) -> float | None:
        """What is left of its lease, in seconds, if the store knows; `None` for a waiter."""
    @property
    def mode(self) -> Literal["exclusive", "shared", "permits"]:
        """The mode in which it holds the name, or wants to."""
    @property
    def lingering(self) -> bool:
        """Whether it released the name, which only stays taken for a while."""

@final
class Leader:
    """The leader of an election."""

    @property
    def label(self) -> str:
        """The label of the candidate: its address, for example."""
    @property
    def term(self) -> int:
        """The term, which is greater than that of every leader before it."""
    @property
    def since(self) -> float | None:
        """When the term began, in seconds since the epoch, if the store knows."""

@final
class Clock:
    """A clock for tests. It runs as usual, and `advance` moves it forward."""

    def __new__(cls) -> Clock: ...
    def advance(self, by: _Length) -> None:
        """Moves the clock forward by this time: seconds, or a `timedelta`."""
    @property
    def now(self) -> float:
        """The time of the clock, in seconds."""

@final
class Scope:
    def __new__(cls) -> Scope: ...
    def is_current(self) -> bool: ...

@final
class Call(Generic[_T]):
    def block(self) -> _T: ...
    def begin(self, key: int) -> None: ...
    def cancel(self) -> None: ...

@final
class Delivered(Generic[_T]):
    def take(self) -> _T: ...
    def discard(self) -> None: ...

@final
class Store:
    def __new__(
        cls,
        url: str | None = None,
        *,
        directory: str | os.PathLike[str] | None = None,
        clock: Clock | None = None,
    ) -> Store: ...
    @property
    def kind(self) -> str | None: ...
    @property
    def location(self) -> str | None: ...
    def opening(self) -> Call[None]: ...
    def closing(self, within: _Length) -> Call[None]: ...
    def acquisition(
        self,
        kind: str,
        names: list[str],
        settings: dict[str, Any],
        take: int = 1,
        of: int = 1,
        scope: Callable[[], Scope] | None = None,
    ) -> Acquisition: ...
    def inspecting(self, name: str) -> Call[Snapshot]: ...
    def breaking(self, name: str, reason: str | None = None) -> Call[list[Contender]]: ...
    def asking_release(
        self, name: str, reason: str | None = None, wait: _Length | None = None
    ) -> Call[bool]: ...
    def leader(self, name: str) -> Call[Leader | None]: ...
    def arriving(self, name: str, count: int, who: str, keep: _Length | None = None) -> Call[int]: ...
    def passing(self, name: str, count: int, wait: _Length | None = None) -> Call[None]: ...
    def arrived(self, name: str, count: int) -> Call[list[str]]: ...
    def resetting(self, name: str, count: int) -> Call[None]: ...

def _check_settings(settings: Mapping[str, object]) -> None: ...
def _ending() -> None: ...
def _finish(stores: list[Store]) -> None: ...
def _forked() -> None: ...
def _forking() -> None: ...
def _has_forked() -> None: ...
