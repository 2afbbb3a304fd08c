"""Contenders in Python, for the drills: python contender.py KIND

They find in the environment the store, the ttl, and what they use under the lock: a file that they count in, for so many
turns; or a resource that refuses late writes, until it tells them to stop.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import socket
import sys
import threading
import time
from pathlib import Path

import tenure

URL = os.environ["DRILL_STORE"]
PLACE = os.environ["DRILL_PLACE"]
TTL = float(os.environ["DRILL_TTL"])
TURNS = int(os.environ.get("DRILL_TURNS", "0"))
#: Longer than anything is expected to take.
WAIT = 120

locks = None if "--without-store" in sys.argv else tenure.open(URL)


class Resource:
    """A connection to the resource, which answers each line with one."""

    def __init__(self) -> None:
        host, port = PLACE.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)))
        self.lines = self.socket.makefile("rw")

    def ask(self, *words: object) -> str:
        print(*words, file=self.lines, flush=True)
        answer = self.lines.readline()
        if not answer:
            # The drill is over.
            os._exit(0)
        return answer.strip()

    def __enter__(self) -> Resource:
        return self

    def __exit__(self, *_: object) -> None:
        self.lines.close()
        self.socket.close()


def count(token: int) -> None:
    """Reads, changes and writes the file. Each turn notes its token, in the order of the holds."""
    dir = Path(PLACE)
    counted = int((dir / "count").read_text())
    (dir / "count").write_text(str(counted + 1))
    with (dir / "tokens").open("a") as tokens:
        tokens.write(f"{token}\n")


def use(kind: str, token: int, check, pids: list[int]) -> bool:
    """Uses the resource, and returns whether to go on. ``check`` returns between which times it was held, or ``None``."""
    with Resource() as resource:
        held = check()
        if held is not None:
            counted = resource.ask("held", kind, token, *held, *pids)
            if counted != "late":
                # Deliberately without another check: a program may be frozen at this very moment.
                resource.ask("write", kind, token, int(counted) + 1)
            held = check()
        if held is None:
            return resource.ask("lost", kind, token) == "go"
        return resource.ask("still", kind, token, *held) == "go"


def turn(kind: str, hold: tenure.Hold) -> bool:
    """One turn under the lock; returns whether to take another."""
    if PLACE.startswith("/"):
        count(hold.check())
        return True

    def check() -> tuple[int, int] | None:
        before = time.monotonic_ns()
        return (before, time.monotonic_ns()) if hold.held else None

    return use(kind, hold.token, check, [os.getpid()])


def failed(kind: str, error: tenure.Error) -> bool:
    """An acquisition failed, or the hold was lost. Returns whether to go on."""
    if PLACE.startswith("/"):
        raise error
    if isinstance(error, tenure.Lost):
        return True
    with Resource() as resource:
        return resource.ask("failed", kind, type(error).__name__, str(error)) == "go"


def mutex() -> tenure.Mutex:
    return locks.mutex("count", ttl=TTL)


def take_turns(kind: str, turns: int) -> None:
    goes_on, taken = True, 0
    while goes_on and (taken < turns or not turns):
        taken += 1
        try:
            with mutex().lock(wait=WAIT) as hold:
                goes_on = turn(kind, hold)
        except tenure.Error as error:
            goes_on = failed(kind, error) and goes_on


async def take_turns_async(kind: str, turns: int) -> None:
    goes_on, taken = True, 0
    while goes_on and (taken < turns or not turns):
        taken += 1
        try:
            async with mutex().lock(wait=WAIT) as hold:
                goes_on = turn(kind, hold)
        except tenure.Error as error:
            goes_on = failed(kind, error) and goes_on


def shares(parts: int) -> list[int]:
    """How many turns each of so many takes; at least one, as none means no end."""
    return [share for share in (TURNS // parts + (part < TURNS % parts) for part in range(parts)) if share or not TURNS]


def threads() -> None:
    started = [threading.Thread(target=take_turns, args=("threads", share)) for share in shares(3)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()


async def tasks() -> None:
    await asyncio.gather(*(take_turns_async("asyncio", share) for share in shares(3)))


def processes() -> None:
    """A child that is killed is followed by another."""
    context = multiprocessing.get_context("fork")

    def keep(share: int) -> None:
        while True:
            child = context.Process(target=take_turns, args=("multiprocessing", share))
            child.start()
            child.join()
            if child.exitcode == 0:
                return
            assert PLACE[0] != "/", child.exitcode

    keepers = [threading.Thread(target=keep, args=(share,)) for share in shares(2)]
    for keeper in keepers:
        keeper.start()
    for keeper in keepers:
        keeper.join()


def command() -> None:
    """What ``tenure run`` runs. It looks at nothing: that it runs at all says that the lock is held."""
    token = int(os.environ["TENURE_TOKEN"])
    if PLACE.startswith("/"):
        count(token)
        return

    def runs() -> tuple[int, int]:
        now = time.monotonic_ns()
        return now, now

    with contextlib.suppress(BrokenPipeError):
        use("run", token, runs, [os.getpid(), int(os.environ["DRILL_RUN"])])


if __name__ == "__main__":
    {
        "threads": threads,
        "asyncio": lambda: asyncio.run(tasks()),
        "multiprocessing": processes,
        "run": command,
    }[sys.argv[1]]()
