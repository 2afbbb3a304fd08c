"""Programs of all kinds on one name while they are killed and frozen: what they write, a resource checks."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import socketserver
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import pytest
from conftest import eventually
from contending import CONTENDERS, RUST, WORKER, client, command, gunicorn, python, started

import tenure

#: How long there are faults. If it is set, a program that is missing fails the drill, and so do faults that prove nothing.
SECONDS = float(os.environ.get("TENURE_FAULTS", "3"))
IS_LONG = "TENURE_FAULTS" in os.environ
TTL = 1.0

#: In a loop: `tenure run` is told to its command.
RUN = """exec tenure run --ttl 1s --wait 120s count -- env DRILL_RUN=$$ "$@" """
TASKS = "import jobs, time\nwhile True:\n    jobs.take_turn.delay()\n    time.sleep(0.3)"


class Resource:
    """What the lock protects: a count. It refuses tokens smaller than one that it has seen.

    Before it answers whoever says that it holds the lock, it may kill or freeze it.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.random = random.Random(7)
        self.faults = self.goes_on = True
        self.count = self.greatest = 0
        self.late: dict[str, int] = {}
        self.injected: dict[str, int] = {}
        self.written: dict[str, float] = {}
        self.wrong: list[str] = []
        #: By token: when it was held at the latest, and by when at the earliest.
        self.held: dict[int, tuple[int, int]] = {}
        self.timers: list[threading.Timer] = []

    def answer(self, line: str) -> str | None:
        what, kind, *words = line.split()
        if what == "failed":
            return self.go()
        token = int(words[0])
        if what in ("held", "still"):
            self.saw(token, int(words[1]), int(words[2]))
        if what == "held":
            return self.hold(kind, token, [int(pid) for pid in words[3:]])
        return self.write(kind, token, int(words[1])) if what == "write" else self.go()

    def go(self) -> str:
        return "go" if self.goes_on else "stop"

    def saw(self, token: int, begin: int, end: int) -> None:
        with self.lock:
            latest, earliest = self.held.get(token, (begin, end))
            self.held[token] = max(latest, begin), min(earliest, end)

    def hold(self, kind: str, token: int, pids: list[int]) -> str | None:
        with self.lock:
            if token < self.greatest:
                self.late[kind] = self.late.get(kind, 0) + 1
                return "late"
            self.greatest = token
            count = self.count
            fault = self.faults and self.random.random() < 0.3
        if fault and not self.inject(kind, pids):
            return None
        return str(count)

    def write(self, kind: str, token: int, value: int) -> str:
        with self.lock:
            if token < self.greatest:
                self.late[kind] = self.late.get(kind, 0) + 1
                return "late"
            if value != self.count + 1:
                self.wrong.append(f"{kind} wrote {value} after {self.count} under {token}")
            self.count = value
            self.written[kind] = time.monotonic()
            return "ok"

    def inject(self, kind: str, pids: list[int]) -> bool:
        """Whether the program that asked may be answered."""
        with self.lock:
            which = self.random.choice(["kill", "freeze all", "freeze"])
            long = TTL * self.random.uniform(1.5, 3)
            # Whoever kills `tenure hold` alone breaks what its page assumes.
            victims = {"kill": [self.random.choice(pids)] if kind == "run" else pids[:1], "freeze all": pids}
            victims = victims.get(which, [self.random.choice(pids)])
            self.injected[f"{which} {kind}"] = self.injected.get(f"{which} {kind}", 0) + 1
        number = signal.SIGKILL if which == "kill" else signal.SIGSTOP
        for pid in victims:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        if which == "kill":
            return victims != pids[:1]
        timer = threading.Timer(long, self.wake, [victims])
        timer.start()
        self.timers.append(timer)
        if pids[0] in victims:
            # Its answer waits for it.
            eventually(lambda: is_frozen(pids[0]), what="the freeze")
        else:
            timer.join()
        return True

    def wake(self, pids: list[int]) -> None:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def two_at_once(self) -> list[str]:
        """Each holder that still held, by its own check, when one with a greater token held already."""
        found, earliest = [], None
        for token in sorted(self.held, reverse=True):
            latest, end = self.held[token]
            if earliest is not None and latest > earliest:
                found.append(f"{token} was held {latest - earliest} ns after a later one was")
            earliest = end if earliest is None else min(earliest, end)
        return found


def is_frozen(pid: int) -> bool:
    """Whether it stands still, or is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] in "TZX"
    except OSError:
        return True


class Answering(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        with contextlib.suppress(ConnectionError):
            for line in self.rfile:
                answer = self.server.resource.answer(line.decode())
                if answer is None:
                    return
                self.wfile.write(f"{answer}\n".encode())


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 100


@contextlib.contextmanager
def kept(resource: Resource, act):
    """Does it again and again, in a thread, as long as the resource goes on."""

    def keep():
        while resource.goes_on:
            with contextlib.suppress(OSError):
                act()

    keeper = threading.Thread(target=keep)
    keeper.start()
    try:
        yield
    finally:
        resource.goes_on = False
        keeper.join()


@pytest.mark.parametrize("store", ["files", "redis", "postgres"] if IS_LONG else ["files"])
def test_two_never_hold_by_their_own_checks_though_programs_are_killed_and_frozen(request, store, redis_url, tmp_path):
    pytest.importorskip("celery")
    pytest.importorskip("gunicorn")
    url = request.getfixturevalue("files" if store == "files" else f"{store}_url")
    resource = Resource()
    server = Server(("127.0.0.1", 0), Answering)
    server.resource = resource
    threading.Thread(target=server.serve_forever, daemon=True).start()
    place = f"127.0.0.1:{server.server_address[1]}"
    words = [place, "0", "1"]
    programs = {kind: python(kind) for kind in ("threads", "asyncio", "multiprocessing")}
    path = os.environ["PATH"]
    if RUST.exists():
        programs["rust"] = [str(RUST), *words]
    if found := command():
        path = f"{Path(found).parent}{os.pathsep}{path}"
        programs["run"] = ["sh", "-c", RUN, "run", *python("run"), "--without-store"]
        for language in ("node", "go"):
            if starts := client(language, tmp_path):
                programs[language] = [*starts, *words]
    kinds = {*programs, "gunicorn", "celery"}
    if IS_LONG:
        assert len(kinds) == 9, f"some are missing: {kinds}"
    env = dict(os.environ, PATH=path, TENURE_STORE=url, DRILL_STORE=url, DRILL_PLACE=place, DRILL_TTL=str(TTL))
    env |= {"DRILL_BROKER": f"{redis_url}/2", "PYTHONPATH": str(CONTENDERS)}
    quiet = {"env": env, "stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with contextlib.ExitStack() as running:
        running.callback(server.server_close)
        running.callback(server.shutdown)
        running.enter_context(started(WORKER, cwd=CONTENDERS, **quiet))
        running.enter_context(started([sys.executable, "-c", TASKS], **quiet))
        site = running.enter_context(gunicorn(env))
        running.enter_context(kept(resource, lambda: urllib.request.urlopen(site, timeout=20).read()))
        for program in programs.values():
            running.enter_context(kept(resource, lambda program=program: subprocess.run(program, **quiet, timeout=90)))
        eventually(lambda: resource.written.keys() >= kinds, 60, f"a write of each of {kinds}")
        time.sleep(SECONDS)
        resource.faults = False
        for timer in resource.timers:
            timer.join()
        over = time.monotonic()
        wrote = lambda: all(resource.written[kind] > over for kind in kinds)  # noqa: E731
        eventually(wrote, 60, "a write of each program after the faults")
    print(store, resource.count, "writes;", resource.injected, "; late:", resource.late)
    assert not resource.wrong
    assert not resource.two_at_once()
    if IS_LONG:
        assert resource.late, "nothing was refused, so fencing was not tried"
    # Those of Celery may be gone with their lock.
    with tenure.open(url) as locks, locks.mutex("count").lock(wait=10 * TTL):
        pass
