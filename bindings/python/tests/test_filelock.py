"""The calls of the package filelock. Where it is installed, both answer alike."""

import asyncio
import os
import pickle
import shutil
import threading

import pytest

import tenure
from tenure.filelock import AsyncFileLock, FileLock, Timeout

THEIRS = pytest.importorskip("filelock")


@pytest.fixture(params=["tenure", "filelock"])
def both(request):
    """This module, and the package that it replaces."""
    import tenure.filelock

    return tenure.filelock if request.param == "tenure" else THEIRS


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "x.lock")


def test_a_block_has_the_lock(both, path):
    lock = both.FileLock(path)
    assert not lock.is_locked
    with lock as entered:
        assert entered is lock and lock.is_locked and lock.lock_counter == 1
        with pytest.raises(both.Timeout) as late:
            both.FileLock(path).acquire(timeout=0.01)
        assert late.value.lock_file == path and isinstance(late.value, TimeoutError)
        assert path in str(late.value)
        assert pickle.loads(pickle.dumps(late.value)).lock_file == path
    assert not lock.is_locked
    with both.FileLock(path, timeout=0):
        pass


def test_it_is_entered_again(both, path):
    lock = both.FileLock(path)
    with lock:
        with lock.acquire() as again:
            assert again is lock and lock.lock_counter == 2
        assert lock.is_locked and lock.lock_counter == 1
        lock.acquire()
        lock.release(force=True)
        assert not lock.is_locked and lock.lock_counter == 0
    lock.release()


def test_the_ways_to_wait(both, path):
    lock, other = both.FileLock(path, timeout=0.01), both.FileLock(path)
    with other:
        for options in ({}, {"timeout": 0}, {"blocking": False}, {"timeout": 5, "cancel_check": lambda: True}):
            with pytest.raises(both.Timeout):
                lock.acquire(**options)
    assert lock.timeout == 0.01
    lock.timeout = 3
    assert lock.timeout == 3.0


def test_threads_exclude_each_other_unless_they_share(both, path):
    def tries(lock, found):
        try:
            lock.acquire(timeout=0.01)
            lock.release()
            found.append(True)
        except both.Timeout:
            found.append(False)

    for thread_local in (True, False):
        lock, found = both.FileLock(path, thread_local=thread_local), []
        assert lock.is_thread_local() is thread_local
        with lock:
            thread = threading.Thread(target=tries, args=(lock, found))
            thread.start()
            thread.join(30)
        assert found == [not thread_local]


def test_it_decorates_functions(both, path):
    lock = both.FileLock(path)

    @lock
    def work(value):
        assert lock.is_locked
        return value

    assert work(7) == 7 and not lock.is_locked


def test_a_decorated_function_does_its_work_under_the_lock(path):
    lock, ran = FileLock(path), []

    @lock
    async def work():
        ran.append(True)

    with pytest.raises(tenure.UsageError, match="without the lock"):
        work()
    assert ran == [] and not lock.is_locked


def test_a_singleton_is_one_object(both, path):
    one, two = both.FileLock(path, is_singleton=True), both.FileLock(path, is_singleton=True)
    assert one is two and one.is_singleton
    with one:
        assert two.is_locked


def test_a_singleton_with_other_arguments_is_refused(both, path):
    one = both.FileLock(path, is_singleton=True)
    for other in ({"timeout": 5}, {"mode": 0o600}, {"blocking": False}, {"thread_local": False}):
        with pytest.raises(ValueError):
            both.FileLock(path, is_singleton=True, **other)
    assert both.FileLock(path, is_singleton=True) is one and one.timeout == -1


def test_a_directory_that_was_removed_is_used_anew(both, tmp_path):
    directory = tmp_path / "d"
    lock = both.FileLock(directory / "x.lock", timeout=30)
    for _ in range(3):
        with lock:
            with pytest.raises(both.Timeout):
                both.FileLock(directory / "x.lock").acquire(timeout=0)
        shutil.rmtree(directory)
        directory.mkdir()


def test_errors_are_those_of_the_operating_system_too(both, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError):
        both.FileLock(tmp_path / "file" / "x.lock").acquire()


def test_asyncio(both, path):
    async def work():
        lock = both.AsyncFileLock(path)
        async with lock:
            assert lock.is_locked
            with pytest.raises(both.Timeout):
                await both.AsyncFileLock(path, timeout=0.01).acquire()
        assert not lock.is_locked
        async with await lock.acquire():
            assert lock.is_locked
        await lock.release()

    asyncio.run(work())


def test_one_path_is_one_lock_whatever_it_is_called(path, tmp_path, monkeypatch):
    (tmp_path / "link").symlink_to(tmp_path)
    monkeypatch.chdir(tmp_path)
    with FileLock(path):
        for other in ("x.lock", "./x.lock", tmp_path / "x.lock", tmp_path / "link" / "x.lock"):
            with pytest.raises(Timeout):
                FileLock(other).acquire(timeout=0)
        with FileLock(tmp_path / "y.lock", timeout=0):
            pass
    with FileLock(tmp_path / "new" / "directory" / "x.lock"):
        pass


def test_other_programs_of_tenure_meet_there(path, tmp_path):
    with FileLock(path) as lock:
        assert lock.hold.check() > 0
        with tenure.open(f"file:{tmp_path}/.tenure") as locks:
            with pytest.raises(tenure.Busy):
                locks.mutex("x.lock").lock(wait=0).acquire()


def test_a_lock_that_was_lost_is_not_entered_again(path):
    lock = FileLock(path, lifetime=0.2)
    with pytest.raises(tenure.Lost):
        with lock:
            assert lock.hold.wait_lost(timeout=30)
            assert not lock.is_locked
            with pytest.raises(tenure.Lost):
                lock.acquire()
    with lock:
        pass


def test_errors_of_tenure_are_caught_as_those_of_the_operating_system(path):
    lock = FileLock(path, lifetime=0.2)
    with pytest.raises(OSError) as lost:
        with lock:
            assert lock.hold.wait_lost(timeout=30)
    assert isinstance(lost.value, tenure.Lost) and lost.value.reason == "max_hold" and lost.value.help
    again = pickle.loads(pickle.dumps(lost.value))
    assert type(again) is type(lost.value) and again.token == lost.value.token and str(again) == str(lost.value)
    with pytest.raises(OSError) as wrong:
        FileLock(os.path.join(os.path.dirname(path), "a" * 2000)).acquire()
    assert isinstance(wrong.value, tenure.UsageError)


def test_stores_of_which_nothing_is_held_are_closed(program, tmp_path):
    run = program(
        """
        import gc, os, sys
        from tenure.filelock import FileLock

        def counted():
            gc.collect()
            return len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))

        def use(numbers):
            for number in numbers:
                with FileLock(f"{sys.argv[1]}/{number}/x.lock", timeout=30) as lock:
                    lock.hold.check()

        kept = FileLock(f"{sys.argv[1]}/kept/x.lock")
        kept.acquire()
        use(range(20))
        before = counted()
        use(range(20, 60))
        after = counted()
        assert all(many <= few + 15 for few, many in zip(before, after)), (before, after)
        # What is held stays, however many came later.
        kept.hold.check()
        again = FileLock(f"{sys.argv[1]}/kept/x.lock")
        try:
            again.acquire(timeout=0)
        except TimeoutError:
            print("held")
        kept.release()
        """,
        str(tmp_path),
    )
    code, out, error = run.end(90)
    assert (code, out) == (0, "held\n"), error


def test_a_forked_child_has_no_lock_and_acquires_its_own(program, path):
    run = program(
        """
        import os, sys
        from tenure.filelock import FileLock, Timeout

        lock = FileLock(sys.argv[1])
        lock.acquire()
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                assert not lock.is_locked
                try:
                    lock.acquire(timeout=0)
                except Timeout:
                    lock.release()
                    code = 0
            finally:
                os._exit(code)
        assert os.waitpid(pid, 0)[1] == 0
        assert lock.is_locked
        lock.release()
        print("done")
        """,
        path,
    )
    assert run.line() == "done"


def test_a_lock_that_is_forgotten_is_released(path):
    FileLock(path).acquire()
    with FileLock(path, timeout=30):
        pass


def test_options_without_an_effect_are_accepted_and_others_refused(path):
    FileLock(path, mode=0o600, poll_interval=1, preserve_lock_file=True, fallback_to_soft=False)
    with pytest.raises(ValueError, match="on_acquired"):
        FileLock(path, on_acquired=print)
    assert not os.path.exists(path)


def test_the_async_lock_is_shared_by_tasks(path):
    async def work():
        lock = AsyncFileLock(path)
        async with lock:
            async with lock:
                assert lock.lock_counter == 2
        assert lock.lock_counter == 0

    asyncio.run(work())
