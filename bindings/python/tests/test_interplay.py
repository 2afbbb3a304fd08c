"""One name, many programs: the library and the command in Rust, ``tenure hold``, and Python in all its forms."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from contending import CONTENDERS, RUST, WORKER, client, command, gunicorn, python, started

#: Of each program. If it is set, a program that is missing fails the drill.
TURNS = int(os.environ.get("TENURE_TURNS", "10"))
TTL = "30"

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


@pytest.mark.parametrize("store", ["files", "redis", "postgres"])
def test_programs_of_all_kinds_lose_nothing_and_tokens_rise(request, store, redis_url, tmp_path):
    pytest.importorskip("celery")
    pytest.importorskip("gunicorn")
    url = request.getfixturevalue("files" if store == "files" else f"{store}_url")
    (tmp_path / "count").write_text("0")
    (tmp_path / "tokens").touch()
    words = [str(tmp_path), str(TURNS), TTL]
    programs = {kind: python(kind) for kind in ("threads", "asyncio", "multiprocessing")}
    programs["celery"] = [sys.executable, "-c", TASKS, str(TURNS)]
    path = os.environ["PATH"]
    if RUST.exists():
        programs["rust"] = [str(RUST), *words]
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
    with contextlib.ExitStack() as all_of_them:
        all_of_them.enter_context(started(WORKER, env=env, cwd=CONTENDERS, stderr=subprocess.DEVNULL))
        site = all_of_them.enter_context(gunicorn(env))
        pool = all_of_them.enter_context(ThreadPoolExecutor(2))
        answers = pool.map(lambda _: urllib.request.urlopen(site, timeout=600).read(), range(TURNS))
        running = {kind: all_of_them.enter_context(started(it, env=env)) for kind, it in programs.items()}
        for kind, program in running.items():
            _, error = program.communicate(timeout=100 + 2 * TURNS)
            assert program.returncode == 0, f"{kind}: {error}"
        assert list(answers) == [b"done"] * TURNS
    all_turns = TURNS * (len(programs) + 1)
    assert int((tmp_path / "count").read_text()) == all_turns
    tokens = [int(token) for token in (tmp_path / "tokens").read_text().split()]
    assert len(tokens) == all_turns
    assert tokens == sorted(set(tokens))
