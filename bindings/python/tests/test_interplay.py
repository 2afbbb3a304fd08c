"""One name, many programs: the command in Rust, and Python with threads, asyncio and processes."""

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

TURNS = int(os.environ.get("TENURE_TURNS", "25"))

#: Counts in a file under the lock. Each turn notes its token, in the order of the holds.
COUNT = """
import asyncio, multiprocessing, sys, threading
from pathlib import Path
import tenure

url, dir, turns = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
locks = tenure.open(url)

def turn(hold):
    count = int((dir / "count").read_text())
    (dir / "count").write_text(str(count + 1))
    with (dir / "tokens").open("a") as tokens:
        tokens.write(f"{hold.check()}\\n")

def work(turns):
    for _ in range(turns):
        with locks.mutex("count").lock(wait=600) as hold:
            turn(hold)

async def work_async(turns):
    for _ in range(turns):
        async with locks.mutex("count").lock(wait=600) as hold:
            turn(hold)

def shares(parts):
    return [turns // parts + (part < turns % parts) for part in range(parts)]
"""
THREADS = """
threads = [threading.Thread(target=work, args=(share,)) for share in shares(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""
TASKS = """
async def main():
    await asyncio.gather(*(work_async(share) for share in shares(4)))

asyncio.run(main())
"""
PROCESSES = """
processes = [multiprocessing.get_context("fork").Process(target=work, args=(share,)) for share in shares(2)]
[process.start() for process in processes]
[process.join() for process in processes]
assert all(process.exitcode == 0 for process in processes)
"""
COMMAND = """
i=0
while [ $i -lt "$3" ]; do
    i=$((i + 1))
    "$4" run --store "$1" --wait 600s count -- sh -c '
        echo $(($(cat "$0/count") + 1)) >"$0/new-$$" && mv "$0/new-$$" "$0/count" && echo "$TENURE_TOKEN" >>"$0/tokens"
    ' "$2" || exit
done
"""


def command() -> str | None:
    """The command: that of the installed wheel, or of a build."""
    root = Path(__file__).parents[3]
    built = [root / "bindings/python/target/command/release/tenure", root / "target/debug/tenure"]
    found = [shutil.which("tenure", path=str(Path(sys.executable).parent)), *map(str, built)]
    return next((path for path in found if path and os.access(path, os.X_OK)), None)


@pytest.mark.parametrize("store", ["files", "redis", "postgres"])
def test_eight_programs_lose_nothing_and_tokens_rise(request, store, tmp_path):
    url = request.getfixturevalue("files" if store == "files" else f"{store}_url")
    (tmp_path / "count").write_text("0")
    (tmp_path / "tokens").touch()
    args = [url, str(tmp_path), str(TURNS)]
    python = [[sys.executable, "-c", COUNT + textwrap.dedent(part), *args] for part in (THREADS, TASKS, PROCESSES)]
    rust = command()
    both = [["sh", "-c", COMMAND, "turns", *args, rust]] * 2 if rust else []
    programs = (python * 3)[: 8 - len(both)] + both
    running = [subprocess.Popen(program, stderr=subprocess.PIPE, text=True) for program in programs]
    try:
        for program in running:
            _, error = program.communicate(timeout=100 + 2 * TURNS)
            assert program.returncode == 0, error
    finally:
        for program in running:
            program.kill()
            program.communicate()
    assert int((tmp_path / "count").read_text()) == TURNS * 8
    tokens = [int(token) for token in (tmp_path / "tokens").read_text().split()]
    assert len(tokens) == TURNS * 8
    assert tokens == sorted(set(tokens))
