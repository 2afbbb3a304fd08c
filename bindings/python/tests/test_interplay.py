"""One name, many programs: the library and the command in Rust, ``tenure hold``, and Python in all its forms."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import answers, eventually, free_port

#: Of each program. If it is set, a program that is missing fails the drill.
TURNS = int(os.environ.get("TENURE_TURNS", "10"))
TTL = "30"

CONTENDERS = Path(__file__).parent / "contenders"
ROOT = Path(__file__).parents[3]

#: Counts in a file under the lock. Each turn notes its token, in the order of the holds.
RUN = """
i=0
while [ $i -lt "$2" ]; do
    i=$((i + 1))
    tenure run --wait 600s count -- sh -c '
        printf %s $(($(cat "$0/count") + 1)) >"$0/new-$$" && mv "$0/new-$$" "$0/count" && echo "$TENURE_TOKEN" >>"$0/tokens"
    ' "$1" || exit
done
"""
#: Sends the tasks, and waits for their ends.
TASKS = "import jobs, sys; [task.get() for task in [jobs.take_turn.delay() for _ in range(int(sys.argv[1]))]]"


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
    program = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, **options)
    try:
        yield program
    finally:
        program.kill()
        program.communicate()


@contextlib.contextmanager
def web(env, turns: int):
    """Sends so many requests to workers of gunicorn, and yields a function that waits for them."""
    port = free_port()
    command = [sys.executable, "-m", "gunicorn", "--preload", "-w", "2", "-b", f"127.0.0.1:{port}", "-t", "0", "web:app"]
    server = subprocess.Popen(command, env=env, cwd=CONTENDERS, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    request = lambda _: urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=600).read()  # noqa: E731
    try:
        eventually(lambda: answers(port), what="gunicorn")
        with ThreadPoolExecutor(2) as pool:
            sent = pool.map(request, range(turns))
            yield lambda: list(sent)
    finally:
        server.terminate()
        server.wait()


@pytest.mark.parametrize("store", ["files", "redis", "postgres"])
def test_programs_of_all_kinds_lose_nothing_and_tokens_rise(request, store, redis_url, tmp_path):
    pytest.importorskip("celery")
    pytest.importorskip("gunicorn")
    url = request.getfixturevalue("files" if store == "files" else f"{store}_url")
    (tmp_path / "count").write_text("0")
    (tmp_path / "tokens").touch()
    words = [str(tmp_path), str(TURNS), TTL]
    python = [sys.executable, str(CONTENDERS / "contender.py")]
    programs = {kind: [*python, kind] for kind in ("threads", "asyncio", "multiprocessing")}
    programs["celery"] = [sys.executable, "-c", TASKS, str(TURNS)]
    path, rust = os.environ["PATH"], ROOT / "target/debug/contender"
    if rust.exists():
        programs["rust"] = [str(rust), *words]
    if tenure := command():
        path = f"{Path(tenure).parent}{os.pathsep}{path}"
        programs["run"] = ["sh", "-c", RUN, "turns", *words]
        for language in ("node", "go"):
            if starts := client(language, tmp_path):
                programs[language] = [*starts, *words]
    if "TENURE_TURNS" in os.environ:
        assert len(programs) == 8, f"some are missing: {list(programs)}"
    env = dict(os.environ, PATH=path, TENURE_STORE=url, DRILL_STORE=url, DRILL_PLACE=str(tmp_path), DRILL_TTL=TTL)
    env |= {"DRILL_TURNS": str(TURNS), "DRILL_BROKER": f"{redis_url}/1", "PYTHONPATH": str(CONTENDERS)}
    worker = [sys.executable, "-m", "celery", "-A", "jobs", "worker", "--pool", "prefork", "-c", "2", "-l", "WARNING"]
    with contextlib.ExitStack() as all_of_them:
        all_of_them.enter_context(started(worker, env=env, cwd=CONTENDERS))
        answered = all_of_them.enter_context(web(env, TURNS))
        running = {kind: all_of_them.enter_context(started(it, env=env)) for kind, it in programs.items()}
        for kind, program in running.items():
            _, error = program.communicate(timeout=100 + 2 * TURNS)
            assert program.returncode == 0, f"{kind}: {error}"
        answered()
    all_turns = TURNS * (len(programs) + 1)
    assert int((tmp_path / "count").read_text()) == all_turns
    tokens = [int(token) for token in (tmp_path / "tokens").read_text().split()]
    assert len(tokens) == all_turns
    assert tokens == sorted(set(tokens))
