"""A mutex, blocking."""

import gc
import pickle
import threading
from datetime import timedelta

import pytest
from conftest import eventually

import tenure


def test_a_block_holds_the_lock_and_its_end_releases_it(locks):
    with locks.mutex("order:42").lock(wait=5) as hold:
        assert hold.check() == hold.token > 0
        assert (hold.held, hold.lost, hold.at_risk) == (True, False, False)
        assert 20 < hold.remaining <= 30
        assert hold.name == "order:42"
        assert locks.inspect("order:42").holders[0].token == hold.token
    assert (hold.held, hold.lost, hold.remaining) == (False, False, 0)
    assert not locks.inspect("order:42").is_held


def test_tokens_rise(locks):
    mutex = locks.mutex("a")
    tokens = []
    for _ in range(5):
        with mutex.lock() as hold:
            tokens.append(hold.token)
    assert tokens == sorted(set(tokens))


def test_a_lock_that_is_held_is_busy(locks):
    mutex = locks.mutex("a")
    with mutex.lock():
        for wait in (0, 0.05, timedelta(milliseconds=50)):
            with pytest.raises(tenure.Busy) as busy:
                mutex.lock(wait=wait).acquire()
            assert busy.value.lock == "a"
            assert busy.value.store.startswith("file:")
            assert busy.value.is_busy and busy.value.is_transient
            assert busy.value.help


def test_an_acquisition_asks_nothing_before_it_is_used(locks):
    locks.mutex("a").lock()
    assert not locks.inspect("a").is_held


def test_a_hold_without_a_block_is_released_by_hand(locks):
    hold = locks.mutex("a").lock().acquire()
    hold.release()
    with pytest.raises(tenure.Lost) as lost:
        hold.check()
    assert lost.value.reason == "released"
    with pytest.raises(tenure.Lost):
        hold.release()
    with locks.mutex("a").lock(wait=0):
        pass


def test_a_block_may_release_its_hold_early(locks):
    with locks.mutex("a").lock() as hold:
        hold.release()
        with locks.mutex("a").lock(wait=0):
            pass


def test_an_error_of_the_body_releases_the_lock(locks):
    for error in (ValueError, KeyboardInterrupt, SystemExit):
        with pytest.raises(error):
            with locks.mutex("a").lock():
                raise error
        assert not locks.inspect("a").is_held


def test_a_thread_that_waits_gets_the_lock_and_others_run_meanwhile(locks):
    mutex, got = locks.mutex("a"), threading.Event()

    def wait():
        with mutex.lock(wait=30):
            got.set()

    thread = threading.Thread(target=wait)
    with mutex.lock():
        thread.start()
        # It waits without the interpreter lock, or this would never end.
        eventually(lambda: thread.is_alive() and locks.inspect("a").waiters or not got.is_set())
        assert not got.is_set()
    thread.join(30)
    assert got.is_set()


def test_threads_lose_no_increment(locks):
    mutex, count = locks.mutex("count"), [0]

    def work():
        for _ in range(50):
            with mutex.lock(wait=60) as hold:
                value = count[0]
                hold.check()
                count[0] = value + 1

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert count == [400]


def test_one_acquisition_is_for_one_block_at_a_time(locks):
    acquisition = locks.mutex("a").lock(wait=5)
    with acquisition:
        with pytest.raises(tenure.UsageError, match="in use already"):
            acquisition.__enter__()
    with acquisition:
        pass


def test_a_hold_that_is_collected_is_released_with_a_warning(locks):
    hold = locks.mutex("a").lock().acquire()
    with pytest.warns(ResourceWarning, match="was not released"):
        del hold
        gc.collect()
    locks.mutex("a").lock(wait=30).acquire().release()


def test_a_hold_on_a_clock_is_lost_at_its_deadline():
    clock = tenure.Clock()
    locks = tenure.memory(clock)
    with pytest.raises(tenure.Lost) as lost:
        with locks.mutex("a", max_hold=10).lock() as hold:
            clock.advance(11)
            assert hold.lost and not hold.held
            assert hold.wait_lost(timeout=0)
    assert lost.value.reason in ("max_hold", "deadline", "taken")
    assert lost.value.token == hold.token
    assert lost.value.help


def test_an_error_of_the_body_comes_before_a_loss():
    clock = tenure.Clock()
    locks = tenure.memory(clock)
    with pytest.raises(KeyError):
        with locks.mutex("a", max_hold=10).lock():
            clock.advance(11)
            raise KeyError


def test_a_loss_is_heard(locks):
    with pytest.raises(tenure.Lost):
        with locks.mutex("a", max_hold=0.2).lock() as hold:
            assert hold.wait_lost(timeout=30)
            assert hold.lost


def test_a_release_ends_the_wait_for_a_loss(locks):
    heard = []
    hold = locks.mutex("a").lock().acquire()
    thread = threading.Thread(target=lambda: heard.append(hold.wait_lost()))
    thread.start()
    hold.release()
    thread.join(30)
    assert heard == [False] or heard == []


def test_a_holder_learns_that_its_release_is_requested(locks):
    free = []
    with locks.mutex("a").lock() as hold:
        thread = threading.Thread(
            target=lambda: free.append(locks.ask_release("a", reason="a deployment", wait=30))
        )
        thread.start()
        assert hold.wait_release_requested(timeout=30)
        assert hold.release_requested
        assert "a deployment" in (hold.release_requested_by or "")
    thread.join(30)
    assert free == [True]


def test_errors_say_what_is_wrong():
    with pytest.raises(tenure.Misconfigured):
        tenure.open("floppy:/a")
    with pytest.raises(tenure.Unreachable) as away:
        tenure.open("redis://:secret@127.0.0.1:1")
    assert away.value.is_transient and not away.value.is_busy
    assert "secret" not in str(away.value) + str(away.value.store) + str(away.value.help)
    locks = tenure.memory()
    with pytest.raises(ValueError, match="ttl"):
        locks.mutex("a", ttl=0).lock().acquire()
    with pytest.raises(tenure.UsageError):
        locks.mutex("a", ttl=-1).lock()
    with pytest.raises(tenure.UsageError):
        locks.mutex("").lock().acquire()
    with pytest.raises(tenure.UsageError, match="wait is a number of seconds or a timedelta"):
        locks.mutex("a").lock(wait="soon")


def test_errors_travel_between_processes():
    lost = tenure.Lost("gone", token=7, reason="taken", help="stop", lock="a", store="file:/x", is_transient=True)
    copy = pickle.loads(pickle.dumps(lost))
    assert type(copy) is tenure.Lost
    assert (str(copy), copy.token, copy.reason, copy.lock) == ("gone", 7, "taken", "a")
    assert (copy.store, copy.help, copy.is_transient) == ("file:/x", "stop", True)


def test_a_closed_tenure_acquires_nothing(files):
    with tenure.open(files) as locks:
        pass
    with pytest.raises(tenure.UsageError, match="closed"):
        locks.mutex("a").lock().acquire()


def test_a_tenure_that_is_collected_leaves_its_holds(files):
    hold = tenure.open(files).mutex("a").lock().acquire()
    gc.collect()
    assert hold.held
    hold.release()


def test_the_environment_chooses_the_store(program, tmp_path):
    run = program(
        "import tenure; print(tenure.open().location); print(tenure.default().mutex('a').lock().acquire().release())",
        env={"TENURE_STORE": f"file:{tmp_path}/chosen"},
    )
    assert run.line().endswith("/chosen")
    assert run.end()[0] == 0


def test_wrong_settings_are_refused_where_the_lock_is_made():
    locks = tenure.memory()
    wrong = {
        "ttl": ("30s", True, -1, float("nan")),
        "max_hold": ([],),
        "label": (7,),
        "fair": ("yes",),
        "tll": (30,),
    }
    for name, values in wrong.items():
        for value in values:
            makes = (
                lambda: locks.mutex("a", **{name: value}),
                lambda: locks.semaphore("a", 3, **{name: value}),
                lambda: tenure.locked("a", **{name: value}),
            )
            for make in makes:
                with pytest.raises(tenure.UsageError, match=name):
                    make()


def test_threads_that_misuse_one_acquisition_do_not_deadlock(program):
    run = program(
        """
        import faulthandler, sys, threading
        import tenure

        faulthandler.dump_traceback_later(60, exit=True)
        sys.setswitchinterval(1e-6)
        shared, refused = tenure.memory().mutex("a").lock(), []

        def work():
            for _ in range(3000):
                try:
                    with shared:
                        pass
                except tenure.UsageError:
                    refused.append(1)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print(bool(refused))
        """
    )
    code, out, error = run.end(90)
    assert (code, out) == (0, "True\n"), error


def test_an_exception_of_a_shared_acquisition_is_made_without_its_lock(program):
    # A profiler runs Python code while the exception is made, as a switch of threads does.
    run = program(
        """
        import faulthandler, sys
        import tenure

        faulthandler.dump_traceback_later(30, exit=True)
        shared = tenure.memory().mutex("a").lock()

        def profile(frame, event, _):
            if event == "call" and "_errors" in frame.f_code.co_filename:
                sys.setprofile(None)
                try:
                    with shared:
                        pass
                except tenure.UsageError:
                    print("refused")

        with shared:
            sys.setprofile(profile)
            try:
                with shared:
                    pass
            except tenure.UsageError:
                print("refused")
        """
    )
    code, out, error = run.end(60)
    assert (code, out) == (0, "refused\n" * 2), error
