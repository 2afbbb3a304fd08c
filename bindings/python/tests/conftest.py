"""What the tests share: servers on free ports, and programs in processes of their own."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

import tenure


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def eventually(condition, within: float = 30.0, what: str = "the condition"):
    """Returns the first true answer of ``condition``, within this time."""
    until = time.monotonic() + within
    while True:
        answer = condition()
        if answer:
            return answer
        assert time.monotonic() < until, f"{what} did not come within {within} s"
        time.sleep(0.005)


class Program:
    """A Python program in a process of its own, which prints lines."""

    def __init__(self, source: str, *args: str, **options):
        env = dict(os.environ, PYTHONUNBUFFERED="1", **options.pop("env", {}))
        self.process = subprocess.Popen(
            [sys.executable, "-W", "error", "-c", textwrap.dedent(source), *args],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=env,
            **options,
        )

    def line(self) -> str:
        """The next line that it prints."""
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(f"the program ended: {self.process.communicate()}")
        return line.strip()

    def say(self, line: str) -> None:
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def end(self, within: float = 30.0) -> tuple[int, str, str]:
        """Its exit code and what else it printed."""
        out, err = self.process.communicate(timeout=within)
        return self.process.returncode, out, err


@pytest.fixture
def program():
    """Starts programs, and ends those that are left."""
    with contextlib.ExitStack() as programs:

        def start(source: str, *args: str, **options) -> Program:
            it = Program(source, *args, **options)

            def end():
                if it.process.poll() is None:
                    it.process.kill()
                it.process.communicate()

            programs.callback(end)
            return it

        yield start


@pytest.fixture
def files(tmp_path) -> str:
    """The URL of a store in files of its own."""
    return f"file:{tmp_path}/locks"


@pytest.fixture
def locks(files):
    with tenure.open(files) as opened:
        yield opened


@contextlib.contextmanager
def running(command, ready, **options):
    """A server, from when it answers to the end of the block."""
    server = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options
    )
    try:
        eventually(lambda: server.poll() is not None or ready(), what=f"the server {command[0]}")
        assert server.poll() is None, f"{command} ended with {server.returncode}"
        yield server
    finally:
        server.terminate()
        server.wait()


def answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory):
    server = shutil.which(os.environ.get("TENURE_REDIS_SERVER", "redis-server"))
    if server is None:
        pytest.skip("no redis-server is installed")
    port, dir = free_port(), tmp_path_factory.mktemp("redis")
    command = [server, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "yes"]
    command += ["--appendfsync", "always", "--dir", str(dir)]
    with running(command, lambda: answers(port)):
        yield f"redis://127.0.0.1:{port}"


@pytest.fixture(scope="session")
def postgres_url(tmp_path_factory):
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    if not found:
        pytest.skip("no PostgreSQL is installed")
    bin, dir, port = found[-1].parent, tmp_path_factory.mktemp("postgres"), free_port()
    options = {}
    if os.geteuid() == 0:
        # It refuses to run as root.
        user = pwd.getpwnam("postgres")
        options = {"user": user.pw_uid, "group": user.pw_gid}
        # pytest lets no other user into its directories.
        base = tmp_path_factory.getbasetemp()
        for own in (base, base.parent) if base.parent.name.startswith("pytest-of-") else (base,):
            own.chmod(0o755)
        os.chown(dir, user.pw_uid, user.pw_gid)
    data = dir / "data"
    init = [bin / "initdb", "-D", data, "-U", "tenure", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C"]
    subprocess.run(init, check=True, capture_output=True, cwd=dir, **options)
    command = [bin / "postgres", "-D", data, "-p", str(port), "-c", "listen_addresses=127.0.0.1"]
    command += ["-c", f"unix_socket_directories={dir}", "-c", "fsync=off", "-c", "max_connections=200"]
    ready = [bin / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(port)]
    up = lambda: subprocess.run(ready).returncode == 0  # noqa: E731
    with running([str(word) for word in command], up, cwd=dir, **options) as server:
        yield f"postgres://tenure@127.0.0.1:{port}/postgres"
        # A fast shutdown, which does not wait for clients.
        server.send_signal(2)
