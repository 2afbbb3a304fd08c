"""Every program on the page on Python runs."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "python.md"


def programs() -> list[tuple[str, str]]:
    """The programs of the page, each with its heading."""
    found, heading, lines = [], "", None
    for line in PAGE.read_text().splitlines():
        if lines is not None and line == "```":
            found.append((heading, "\n".join(lines) + "\n"))
            lines = None
        elif lines is not None:
            lines.append(line)
        elif line == "```python":
            lines = []
        elif line.startswith("#"):
            heading = line.lstrip("# ")
    return found


PROGRAMS = programs()
#: Those that a driver below runs.
DRIVEN = {"Django", "FastAPI", "Celery", "Tests with pytest"}


def test_the_page_has_its_programs():
    assert len(PROGRAMS) >= 15
    assert DRIVEN <= {heading for heading, _ in PROGRAMS}


@pytest.fixture
def run(request, files, tmp_path):
    """Runs a program with files in a new directory, and returns what it prints."""

    def run(source: str, *args: str, **env: str) -> str:
        if "localhost/shop" in source:
            url = request.getfixturevalue("postgres_url")
            source = source.replace("://localhost/shop", url.removeprefix("postgres"))
        (tmp_path / "program.py").write_text(source)
        command = [sys.executable, *(args or ["program.py"])]
        whole = dict(os.environ, TENURE_STORE=files, **env)
        done = subprocess.run(command, cwd=tmp_path, env=whole, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


def numbered(heading: str, source: str) -> str:
    nth = [found for found in PROGRAMS if found[0] == heading].index((heading, source))
    return f"{heading}-{nth + 1}"


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(source, id=numbered(heading, source))
        for heading, source in PROGRAMS
        if heading not in DRIVEN
    ],
)
def test_a_program_runs(run, source):
    for library in ("psycopg", "sqlalchemy"):
        if f"import {library}" in source or f"from {library}" in source:
            pytest.importorskip(library)
    out = run(source)
    if "late write" in source:
        assert "refused" in out
    if "stopped:" in source:
        assert "one more page" in out and "stopped: lock" in out


def source_of(heading: str) -> str:
    return next(source for found, source in PROGRAMS if found == heading)


def test_the_tests_pass(run, tmp_path):
    (tmp_path / "test_shop.py").write_text(source_of("Tests with pytest"))
    # The plugin is found without being named where the package is installed.
    named = [] if installed() else ["-p", "tenure.pytest"]
    out = run("", "-m", "pytest", "-q", *named, "test_shop.py")
    assert "3 passed" in out


def installed() -> bool:
    from importlib.metadata import entry_points

    return any(entry.value == "tenure.pytest" for entry in entry_points(group="pytest11"))


def test_django(run, files, tmp_path):
    pytest.importorskip("django")
    (tmp_path / "shop.py").write_text(source_of("Django"))
    out = run(
        """
import shop
from django.test import Client

client = Client()
first = client.get("/pay/7")
assert first.status_code == 200 and first.json()["order"] == 7, first.content
with shop.locks.mutex("order:pay:7").lock():
    assert client.get("/pay/7").status_code == 423
print(first.json()["token"])
""",
        SHOP_LOCKS=files,
    )
    assert int(out) > 2**53


def test_fastapi(run, tmp_path):
    pytest.importorskip("fastapi")
    pytest.importorskip("httpx")
    (tmp_path / "shop.py").write_text(source_of("FastAPI"))
    out = run(
        """
import warnings
warnings.simplefilter("ignore")
import shop
from fastapi.testclient import TestClient

with TestClient(shop.app) as client:
    first = client.post("/pay/7")
    assert first.status_code == 200 and first.json()["order"] == 7, first.text
    with shop.app.state.locks.mutex("order:pay:7").lock():
        assert client.post("/pay/7").status_code == 423
    print(first.json()["token"])
"""
    )
    assert int(out) > 2**53


def test_celery(run, files, redis_url, tmp_path):
    pytest.importorskip("celery")
    (tmp_path / "shop.py").write_text(source_of("Celery"))
    env = {"BROKER": f"{redis_url}/4"}
    command = [sys.executable, "-m", "celery", "-A", "shop", "worker", "--pool", "prefork", "-c", "2", "-l", "ERROR"]
    worker = subprocess.Popen(
        command, cwd=tmp_path, env=dict(os.environ, TENURE_STORE=files, **env),
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )
    try:
        out = run(
            """
import shop

with shop.locks.mutex("report").lock():
    assert shop.report.delay().get(timeout=90) is None
assert shop.report.delay().get(timeout=90) == "reported"
with shop.locks.mutex("order:pay:7").lock():
    late = shop.pay.delay(7)
    tokens = [shop.pay.delay(8).get(timeout=90) for _ in range(3)]
tokens.append(late.get(timeout=90))
print(*tokens)
""",
            **env,
        )
        assert len(set(out.split())) == 4
    finally:
        worker.send_signal(signal.SIGTERM)
        worker.communicate(timeout=60)


def test_the_table_of_errors_is_that_of_the_package():
    import tenure

    rows = re.findall(r"^\| `(\w+)`.*\| (yes)? *\| (yes)? *\|$", PAGE.read_text(), re.MULTILINE)
    classes = {name: getattr(tenure, name) for name, _, _ in rows}
    exported = {
        name for name in tenure.__all__
        if isinstance(getattr(tenure, name), type) and issubclass(getattr(tenure, name), tenure.Error)
    }
    assert set(classes) == exported - {"Error"}
    for name, busy, _ in rows:
        assert classes[name].is_busy is bool(busy)


