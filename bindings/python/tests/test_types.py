"""The types of the package, as mypy sees them."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy")
SOURCES = Path(__file__).parent.parent / "python" / "tenure"


def mypy(*args: str, cwd: Path) -> None:
    done = subprocess.run([sys.executable, "-m", *args], capture_output=True, text=True, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_package_is_typed(tmp_path):
    mypy("mypy", "--strict", "--cache-dir", str(tmp_path), str(SOURCES), cwd=tmp_path)


def test_the_stub_is_that_of_the_native_module(tmp_path):
    mypy("mypy.stubtest", "tenure._tenure", cwd=tmp_path)


def test_a_program_that_uses_it_is_checked(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        """
import tenure
from typing import reveal_type

def work() -> int:
    with tenure.open().mutex("a", ttl=5).lock(wait=5) as hold:
        return hold.check()

async def later() -> int:
    async with tenure.memory().semaphore("a", 3).lock(2, wait=5) as hold:
        return hold.token

@tenure.locked("job:{id}")
def job(id: int) -> str:
    return str(id)

@tenure.locked("job:{id}", on_busy="skip")
def skips(id: int, hold: tenure.Hold | None = None) -> str:
    return str(id)

@tenure.locked("job:{id}", on_busy="skip", ttl=5)
async def later_skips(id: int) -> str:
    return str(id)

text: str = job(7)
perhaps: str | None = skips(7)
# Each of these is wrong; if it is not found, the comment is an error itself.
text = skips(7)  # type: ignore[assignment]
job("7")  # type: ignore[arg-type]
job()  # type: ignore[call-arg]

async def awaits() -> None:
    perhaps: str | None = await later_skips(7)
    text: str = await later_skips(7)  # type: ignore[assignment]
"""
    )
    mypy("mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), str(program), cwd=tmp_path)
