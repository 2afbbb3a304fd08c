"""Forks: by hand, by multiprocessing, by gunicorn and by Celery."""

import os
import signal
import sys
import textwrap
import time

import pytest
from conftest import eventually, free_port

import tenure

#: What every program here begins with: a child whose exit code is known.
BEGIN = """
import gc, os, sys, threading, time, traceback
import tenure

def child(work):
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        work()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(code)

def ended(pid):
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert code == 0, code
"""


@pytest.fixture
def forks(program):
    def run(source: str, *args: str):
        it = program(BEGIN + textwrap.dedent(source), *args)
        code, out, error = it.end(120)
        assert code == 0, (out, error)
        return out.split()

    return run


@pytest.fixture(params=["files", "redis", "postgres"])
def url(request):
    return request.getfixturevalue({"files": "files"}.get(request.param, f"{request.param}_url"))


def test_a_child_refuses_the_holds_of_its_parent_and_opens_anew(forks, url):
    forks(
        """
        locks = tenure.open(sys.argv[1])
        with locks.mutex("fork-a").lock() as hold:
            def work():
                for ask in (hold.check, hold.release, hold.leave_to_expire, hold.cancel_hold_at_least):
                    try:
                        ask()
                    except tenure.Lost as lost:
                        assert lost.reason == "forked", lost
                        assert "forked from" in str(lost)
                    else:
                        raise AssertionError(ask)
                assert hold.lost and not hold.held and hold.remaining == 0
                assert hold.wait_lost()
                # The child is a contender like any other.
                try:
                    locks.mutex("fork-a").lock(wait=0).acquire()
                except tenure.Busy:
                    pass
                else:
                    raise AssertionError("two holders")
                with locks.mutex("fork-b").lock(wait=10) as own:
                    own.check()
            for _ in range(3):
                ended(child(work))
            hold.check()
        ended(child(lambda: locks.mutex("fork-a").lock(wait=10).acquire().release()))
        with locks.mutex("fork-a").lock(wait=10):
            pass
        """,
        url,
    )


def test_a_child_that_ends_as_usual_releases_nothing_of_its_parent(forks, url):
    forks(
        """
        locks = tenure.open(sys.argv[1])
        other = tenure.open(sys.argv[1])
        hold = locks.mutex("fork-a").lock().acquire()
        acquisition = locks.mutex("fork-c").lock()
        acquisition.__enter__()
        pid = os.fork()
        if pid == 0:
            # Collected, and the interpreter is torn down.
            del hold, acquisition, other
            gc.collect()
            with locks.mutex("fork-b").lock(wait=10):
                pass
            locks.close()
            sys.exit(0)
        ended(pid)
        assert locks.inspect("fork-a").holders[0].token == hold.check()
        hold.release()
        acquisition.__exit__(None, None, None)
        """,
        url,
    )


def test_a_block_that_a_child_leaves_raises(forks, files):
    forks(
        """
        locks = tenure.open(sys.argv[1])
        pid = None
        try:
            with locks.mutex("a").lock() as hold:
                pid = os.fork()
        except tenure.Lost as lost:
            assert pid == 0 and lost.reason == "forked"
            os._exit(0)
        assert pid > 0
        ended(pid)
        """,
        files,
    )


def test_children_of_a_busy_parent_hang_nowhere(forks, files):
    out = forks(
        """
        locks = tenure.open(sys.argv[1])
        stop = threading.Event()

        def busy(name):
            while not stop.is_set():
                with locks.mutex(name).lock() as hold:
                    hold.check()
                locks.mutex(name).lock(wait=0.001)

        threads = [threading.Thread(target=busy, args=(f"busy-{number % 2}",)) for number in range(4)]
        for thread in threads:
            thread.start()

        def work():
            for number in range(2):
                with locks.mutex(f"busy-{number}").lock(wait=60) as hold:
                    hold.check()
            # A grandchild opens anew too.
            ended(child(lambda: locks.mutex("busy-0").lock(wait=60).acquire().release()))

        for _ in range(40):
            ended(child(work))
        stop.set()
        for thread in threads:
            thread.join(60)
        print("done")
        """,
        files,
    )
    assert out == ["done"]


def test_a_child_of_an_event_loop_runs_its_own(forks, files):
    forks(
        """
        import asyncio
        locks = tenure.open(sys.argv[1])

        async def own():
            async with locks.mutex("a").lock(wait=30) as hold:
                hold.check()

        async def parent():
            waiting = asyncio.ensure_future(locks.mutex("b").lock().__aenter__())
            hold = await waiting
            pid = child(lambda: None)
            await asyncio.to_thread(ended, pid)
            await hold.release_async()

        asyncio.run(parent())
        ended(child(lambda: asyncio.run(own())))
        asyncio.run(own())
        """,
        files,
    )


def test_a_memory_store_is_refused_in_a_child(forks):
    forks(
        """
        locks = tenure.memory()
        locks.mutex("a").lock().acquire().release()

        def work():
            try:
                locks.mutex("a").lock().acquire()
            except tenure.UsageError as error:
                assert "not shared" in str(error)
            else:
                raise AssertionError("acquired")

        ended(child(work))
        locks.mutex("a").lock(wait=0).acquire().release()
        """
    )


def test_a_reentrant_hold_of_the_parent_is_not_entered(forks, files):
    forks(
        """
        locks = tenure.open(sys.argv[1])
        with locks.reentrant("a").lock() as hold:
            def work():
                try:
                    locks.reentrant("a").lock(wait=0).acquire()
                except tenure.Busy:
                    pass
                else:
                    raise AssertionError("entered")
            ended(child(work))
            with locks.reentrant("a").lock(wait=0) as again:
                assert again.token == hold.token
        """,
        files,
    )


def test_a_child_logs_while_its_parent_logs_much(forks, files, tmp_path):
    forks(
        """
        import asyncio, faulthandler, logging

        logging.basicConfig(filename=sys.argv[2], level=5)
        locks = tenure.open(sys.argv[1])

        async def acquire():
            async with locks.mutex("a").lock(wait=60):
                pass

        def work():
            faulthandler.dump_traceback_later(20, exit=True)
            logging.info("in the child")
            with locks.mutex("a").lock(wait=60):
                pass
            asyncio.run(acquire())

        for _ in range(150):
            for _ in range(3):
                with locks.mutex("a").lock(wait=60):
                    pass
            ended(child(work))
        """,
        files,
        str(tmp_path / "log"),
    )


def test_a_fork_waits_until_the_thread_that_logs_is_outside(forks, files):
    out = forks(
        """
        import logging

        # What a handler of the log locks, as a file does.
        lock, inside = threading.Lock(), threading.Event()

        class Locks(logging.Handler):
            def emit(self, record):
                with lock:
                    inside.set()
                    time.sleep(0.05)

        logger = logging.getLogger("tenure")
        logger.addHandler(Locks())
        logger.setLevel(5)
        logger.propagate = False
        locks = tenure.open(sys.argv[1])

        def work():
            assert lock.acquire(timeout=5)

        for _ in range(5):
            inside.clear()
            with locks.mutex("a").lock(wait=60):
                pass
            assert inside.wait(30)
            ended(child(work))
        # It goes on in the parent.
        inside.clear()
        with locks.mutex("a").lock(wait=60):
            pass
        assert inside.wait(30)
        print("done")
        """,
        files,
    )
    assert out == ["done"]


def test_a_grant_on_its_way_at_a_fork_is_not_the_childs(forks, files):
    forks(
        """
        import asyncio

        locks = tenure.open(sys.argv[1])
        is_child = False

        async def take():
            hold = await locks.mutex("a").lock()
            assert not is_child, "the child has a hold"
            return hold

        async def later():
            global is_child
            task = asyncio.ensure_future(take())
            await asyncio.sleep(0)
            while not locks.inspect("a").is_held:
                time.sleep(0.001)
            # Delivered, and not yet received.
            time.sleep(0.1)
            pid = os.fork()
            if pid == 0:
                is_child, code = True, 1
                try:
                    await task
                except tenure.Lost as lost:
                    code = 0 if lost.reason == "forked" else 2
                finally:
                    os._exit(code)
            hold = await task
            ended(pid)
            assert hold.check()
            assert (await locks.inspect_async("a")).is_held
            await hold.release_async()

        asyncio.run(later())
        """,
        files,
    )


def test_a_child_that_drops_what_its_parent_watches_does_not_hang(forks, files):
    forks(
        """
        import faulthandler

        sys.setswitchinterval(1e-5)
        locks = tenure.open(sys.argv[1])
        holds = [locks.mutex(f"a-{number}").lock().acquire() for number in range(4)]
        stop = False

        def watches(hold):
            while not stop:
                hold.wait_lost(0.00001)

        threads = [threading.Thread(target=watches, args=(hold,)) for hold in holds for _ in range(3)]
        for thread in threads:
            thread.start()

        def work():
            faulthandler.dump_traceback_later(10, exit=True)
            holds.clear()
            threads.clear()
            gc.collect()

        for _ in range(100):
            ended(child(work))
        stop = True
        for thread in threads:
            thread.join()
        for hold in holds:
            hold.release()
        """,
        files,
    )


def test_a_wait_that_a_signals_handler_forks_out_of_is_the_parents(forks, files):
    forks(
        """
        import signal

        locks = tenure.open(sys.argv[1])
        other = locks.mutex("a").lock().acquire()
        pid = None

        def forks(*_):
            global pid
            pid = os.fork()
            if pid:
                other.release()

        signal.signal(signal.SIGUSR1, forks)

        def waits_then_signals():
            while not locks.inspect("a").waiters:
                time.sleep(0.001)
            os.kill(os.getpid(), signal.SIGUSR1)

        threading.Thread(target=waits_then_signals).start()
        code = 1
        try:
            hold = locks.mutex("a", fair=True).lock().acquire()
        except tenure.Lost as lost:
            assert pid == 0 and lost.reason == "forked"
            os._exit(0)
        finally:
            if pid == 0:
                os._exit(1)
        ended(pid)
        hold.check()
        hold.release()
        """,
        files,
    )


COUNTS = """
import multiprocessing, os, sys
from pathlib import Path
import tenure

def work(locks, url, path, turns):
    locks = locks or tenure.open(url)
    for _ in range(turns):
        with locks.mutex("count").lock(wait=120) as hold:
            count = int(path.read_text())
            hold.check()
            path.write_text(str(count + 1))

if __name__ == "__main__":
    method, url, path = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    context = multiprocessing.get_context(method)
    locks = tenure.open(url)
    given = locks if method == "fork" else None
    with locks.mutex("count").lock():
        path.write_text("0")
        processes = [context.Process(target=work, args=(given, url, path, 25)) for _ in range(4)]
        for process in processes:
            process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0, process.exitcode
    print(path.read_text())
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing_loses_no_increment(program, url, method, tmp_path):
    script = tmp_path / "counts.py"
    script.write_text(COUNTS)
    run = program(
        "import runpy, sys; sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')",
        str(script), method, url, str(tmp_path / "count"),
    ) if method == "fork" else None
    if run is None:
        import subprocess

        done = subprocess.run(
            [sys.executable, str(script), method, url, str(tmp_path / "count")],
            capture_output=True, text=True, timeout=120,
        )
        code, out, error = done.returncode, done.stdout, done.stderr
    else:
        code, out, error = run.end(120)
    assert code == 0, error
    assert out.strip() == "100"


APP = """
import os
from pathlib import Path
import tenure

# Opened before the workers are forked.
locks = tenure.open(os.environ["LOCKS"])
with locks.mutex("warm-up").lock():
    pass
path = Path(os.environ["COUNT"])

def app(environ, start_response):
    with locks.mutex("count").lock(wait=60) as hold:
        count = int(path.read_text()) + 1
        hold.check()
        path.write_text(str(count))
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [f"{os.getpid()} {count}".encode()]
"""


def test_gunicorn_with_preload(files, tmp_path):
    pytest.importorskip("gunicorn")
    import subprocess
    import urllib.request
    from concurrent.futures import ThreadPoolExecutor

    (tmp_path / "shop.py").write_text(APP)
    (tmp_path / "count").write_text("0")
    port = free_port()
    env = dict(os.environ, LOCKS=files, COUNT=str(tmp_path / "count"))
    command = [sys.executable, "-m", "gunicorn", "--preload", "--workers", "3", "--bind", f"127.0.0.1:{port}"]
    server = subprocess.Popen(
        [*command, "--no-control-socket", "shop:app"] if _has_control_socket() else [*command, "shop:app"],
        cwd=tmp_path, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )

    def ask(_=None):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=60) as answer:
            return answer.read().decode().split()

    def first():
        assert server.poll() is None, server.stderr.read()
        try:
            return ask()
        except OSError:
            return None

    try:
        eventually(first, within=60)
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(ask, range(60)))
        counts = sorted(int(count) for _, count in answers)
        assert counts == list(range(2, 62)) or counts == list(range(counts[0], counts[0] + 60))
        assert str(server.pid) not in {pid for pid, _ in answers}
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=60)


def _has_control_socket():
    import gunicorn.config

    return "no_control_socket" in gunicorn.config.make_settings() or hasattr(gunicorn.config, "NoControlSocket")


TASKS = """
import os
from pathlib import Path
from celery import Celery
import tenure

app = Celery("shop", broker=os.environ["BROKER"], backend=os.environ["BROKER"])
# Opened before the pool is forked.
locks = tenure.open(os.environ["LOCKS"])
with locks.mutex("warm-up").lock():
    pass
path = Path(os.environ["COUNT"])

@app.task
@tenure.locked("count", tenure=locks, wait=60)
def work(hold):
    count = int(path.read_text()) + 1
    hold.check()
    path.write_text(str(count))
    return os.getpid()
"""


def test_celery_with_prefork(files, redis_url, tmp_path, monkeypatch):
    pytest.importorskip("celery")
    import subprocess

    (tmp_path / "shop.py").write_text(TASKS)
    (tmp_path / "count").write_text("0")
    env = dict(os.environ, LOCKS=files, COUNT=str(tmp_path / "count"), BROKER=f"{redis_url}/3")
    command = [sys.executable, "-m", "celery", "-A", "shop", "worker", "--pool", "prefork", "-c", "3"]
    worker = subprocess.Popen(
        [*command, "-l", "ERROR", "--without-gossip", "--without-mingle"],
        cwd=tmp_path, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )
    client = """
import shop
results = [shop.work.delay() for _ in range(40)]
pids = {result.get(timeout=100) for result in results}
print(len(pids), shop.path.read_text())
"""
    try:
        done = subprocess.run(
            [sys.executable, "-c", client], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, (done.stderr, worker.poll())
        pids, count = done.stdout.split()
        assert int(pids) >= 2 and count == "40"
    finally:
        worker.send_signal(signal.SIGTERM)
        worker.communicate(timeout=60)
