"""How the programs in ``contenders`` are started."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from conftest import answers, eventually, free_port

CONTENDERS = Path(__file__).parent / "contenders"
ROOT = Path(__file__).parents[3]
RUST = ROOT / "target/debug/contender"
WORKER = [sys.executable, "-m", "celery", "-A", "jobs", "worker", "--pool", "prefork", "-c", "2", "-l", "WARNING"]


def command() -> str | None:
    """The command: that of the installed wheel, or of a build."""
    built = [ROOT / "bindings/python/target/command/release/tenure", ROOT / "target/debug/tenure"]
    found = [shutil.which("tenure", path=str(Path(sys.executable).parent)), *map(str, built)]
    return next((path for path in found if path and os.access(path, os.X_OK)), None)


def client(language: str, folder: Path) -> list[str] | None:
    """How to start the client of examples/hold in this language, which goes on as its contender here does."""
    name, end = {"node": ("hold.mjs", "\nconst [lock"), "go": ("hold.go", "\nfunc main()")}[language]
    if shutil.which(language) is None:
        return None
    shipped = (ROOT / "examples/hold" / name).read_text()
    shipped = shipped[: shipped.index(end) + 1]
    if language == "node":
        (folder / "contender.mjs").write_text(shipped + (CONTENDERS / "contender.mjs").read_text())
        return ["node", str(folder / "contender.mjs")]
    (folder / "hold.go").write_text(shipped)
    shutil.copy(CONTENDERS / "contender.go", folder)
    subprocess.run(["go", "build", "-o", "contender", "hold.go", "contender.go"], check=True, cwd=folder)
    return [str(folder / "contender")]


@contextlib.contextmanager
def started(command, **options):
    """A program that is ended with the block."""
    options = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True} | options
    program = subprocess.Popen(command, **options)
    try:
        yield program
    finally:
        program.kill()
        program.communicate()


def python(kind: str) -> list[str]:
    """How to start the contender in Python of this kind."""
    return [sys.executable, str(CONTENDERS / "contender.py"), kind]


@contextlib.contextmanager
def gunicorn(env):
    """Two workers of gunicorn, which take a turn in each request to this URL."""
    port = free_port()
    command = [sys.executable, "-m", "gunicorn", "--preload", "-w", "2", "-b", f"127.0.0.1:{port}", "-t", "0", "web:app"]
    server = subprocess.Popen(command, env=env, cwd=CONTENDERS, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        eventually(lambda: answers(port), what="gunicorn")
        yield f"http://127.0.0.1:{port}/"
    finally:
        server.terminate()
        server.wait()
