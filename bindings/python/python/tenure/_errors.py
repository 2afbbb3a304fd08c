"""The exceptions of tenure."""

from __future__ import annotations

from typing import Any, TypeVar

E = TypeVar("E", bound="Error")


class Error(Exception):
    """Any error of tenure.

    ``str(error)`` names the lock and the store, and says what failed, without a password. ``error.help`` says what you
    can do.
    """

    #: Whether another holder has the lock, or its queue is full.
    is_busy = False

    def __init__(
        self,
        message: str = "",
        *,
        help: str | None = None,
        lock: str | None = None,
        store: str | None = None,
        is_transient: bool = False,
        **more: Any,
    ) -> None:
        super().__init__(message)
        #: What you can do about it.
        self.help = help
        #: The name of the lock, if the error concerns one.
        self.lock = lock
        #: The store, without its password.
        self.store = store
        #: Whether the same call may succeed later with nothing changed.
        self.is_transient = is_transient
        self._more = more
        if help is not None and hasattr(self, "add_note"):
            self.add_note(f"help: {help}")

    def _as(self, kind: type[E]) -> E:
        """The same error as another kind."""
        return kind(str(self), **self._parts()).with_traceback(self.__traceback__)

    def _parts(self) -> dict[str, Any]:
        parts = {"help": self.help, "lock": self.lock, "store": self.store, "is_transient": self.is_transient}
        return parts | self._more

    def __reduce__(self) -> Any:
        return _rebuilt, (type(self), str(self), self._parts())


def _rebuilt(kind: type[Error], message: str, parts: dict[str, Any]) -> Error:
    return kind(message, **parts)


class Busy(Error):
    """Another holder had the lock for the whole wait, or some arrivals at a latch were missing."""

    is_busy = True


class Full(Busy):
    """As many contenders wait for the lock as the store allows. Try again after a pause."""


class Unreachable(Error):
    """The store could not be asked. Nothing was acquired."""


class InDoubt(Error):
    """The store did not answer. The lock may have been acquired, and is being taken back, or not yet released."""


class Misconfigured(Error):
    """Something must be changed first: a URL, the configuration, a right, or the store's data."""


class UsageError(Error, ValueError):
    """The call is wrong: a name or a setting is invalid, or the tenure was closed."""


class Lost(Error):
    """The hold ended before it was released. Another holder may have the lock now. Stop the work."""

    def __init__(
        self, message: str = "", *, token: int | None = None, reason: str | None = None, **parts: Any
    ) -> None:
        super().__init__(message, token=token, reason=reason, **parts)
        #: The token of the hold.
        self.token = token
        #: ``deadline``, ``taken``, ``max_hold``, ``released`` or ``forked``.
        self.reason = reason
