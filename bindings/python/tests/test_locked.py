"""Functions that run only under their lock, and the fixtures for pytest."""

import asyncio
import contextlib
import dataclasses
import functools

import pytest

import tenure


def test_a_function_runs_under_its_lock(tenure_memory):
    @tenure.locked("job:{id}")
    def work(id, hold=None):
        assert tenure_memory.mutex(f"job:{id}").inspect().holders[0].token == hold.check()
        return id

    assert work(7) == 7
    assert work(id=8) == 8
    assert not tenure_memory.inspect("job:7").is_held


def test_a_name_reads_attributes_and_defaults(tenure_memory):
    @dataclasses.dataclass
    class Order:
        id: int

    @tenure.locked("order:{order.id}:{step}")
    def work(order, step="pay", *, hold):
        return hold.name

    assert work(Order(7)) == "order:7:pay"
    assert work(Order(7), "ship") == "order:7:ship"
    with pytest.raises(tenure.UsageError, match="does not have"):
        tenure.locked("job:{idd}")(lambda id: None)
    with pytest.raises(tenure.UsageError):
        tenure.locked("job", on_busy="ignore")


def test_a_busy_call_raises_or_is_skipped(tenure_memory):
    @tenure.locked("job", wait=0)
    def raises():
        return 1

    @tenure.locked("job", wait=0.01, on_busy="skip")
    def skips():
        return 2

    with tenure_memory.mutex("job").lock():
        with pytest.raises(tenure.Busy):
            raises()
        assert skips() is None
    assert (raises(), skips()) == (1, 2)


def test_a_busy_lock_inside_the_function_is_not_skipped(tenure_memory):
    @tenure.locked("outer", wait=0, on_busy="skip")
    def work():
        with tenure_memory.mutex("inner").lock(wait=0):
            pass

    with tenure_memory.mutex("inner").lock():
        with pytest.raises(tenure.Busy) as busy:
            work()
    assert busy.value.lock == "inner"


def test_async_functions_are_locked_and_cancelled_when_the_lock_is_lost(tenure_memory, tenure_clock):
    ended = []

    @tenure.locked("job:{id}", wait=0, on_busy="skip", max_hold=10)
    async def work(id, hold):
        if id == 1:
            tenure_clock.advance(11)
            try:
                await asyncio.sleep(600)
            finally:
                ended.append(id)
        return hold.check()

    async def all_of_it():
        assert await work(2) > 0
        async with tenure_memory.mutex("job:2").lock():
            assert await work(2) is None
        with pytest.raises(tenure.Lost):
            await work(1)

    asyncio.run(all_of_it())
    assert ended == [1]


def test_a_function_whose_lock_was_lost_raises(tenure_memory, tenure_clock):
    @tenure.locked("job", max_hold=10)
    def work():
        tenure_clock.advance(11)

    with pytest.raises(tenure.Lost):
        work()


def test_a_body_that_would_run_without_the_lock_is_refused_where_it_is_defined():
    def generates(id):
        yield id

    async def generates_later(id):
        yield id

    class Later:
        async def __call__(self, id):
            return id

    class Works:
        @staticmethod
        async def later(id):
            return id

    for function in (generates, generates_later, Later(), vars(Works)["later"]):
        with pytest.raises(tenure.UsageError):
            tenure.locked("job:{id}")(function)


def test_a_result_whose_work_is_not_done_is_refused(tenure_memory):
    ran = []

    async def work(id):
        ran.append(id)

    @functools.wraps(work)
    def looks_plain(id):
        return work(id)

    @contextlib.contextmanager
    def block(id):
        ran.append(id)
        yield

    def generator(id):
        return (ran.append(each) for each in [id])

    async def values(id):
        ran.append(id)
        yield

    def async_generator(id):
        return values(id)

    for function in (looks_plain, block, generator, async_generator):
        with pytest.raises(tenure.UsageError, match="without the lock"):
            tenure.locked("job:{id}")(function)(7)
        assert not tenure_memory.inspect("job:7").is_held

    async def tasks():
        with pytest.raises(tenure.UsageError, match="without the lock"):
            tenure.locked("job")(lambda: asyncio.ensure_future(work(8)))()
        await asyncio.sleep(0)

    asyncio.run(tasks())
    assert ran == []


def test_arguments_are_those_of_the_function_without_its_hold(tenure_memory):
    @tenure.locked("job:{id}")
    def first(hold, id, *more, **named):
        return hold.name, id, more, named

    assert first(7, 8, a=9) == ("job:7", 7, (8,), {"a": 9})
    for wrong in (first, lambda: first(7, hold=8)):
        with pytest.raises(TypeError):
            wrong()
    assert not tenure_memory.inspect("job:7").is_held

    def positional(hold, /):
        return hold

    def collects(*hold):
        return hold

    for function in (positional, collects):
        with pytest.raises(tenure.UsageError, match="hold"):
            tenure.locked("job")(function)
    with pytest.raises(tenure.UsageError, match="does not have"):
        tenure.locked("{hold}")(lambda hold: hold)


def test_a_second_cancellation_does_not_release_under_work_that_still_runs(tenure_memory):
    held = []

    @tenure.locked("job")
    async def work(started):
        started.set()
        try:
            await asyncio.sleep(600)
        finally:
            for _ in range(3):
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.sleep(0.01)
                held.append(tenure_memory.inspect("job").is_held)

    async def all_of_it():
        started = asyncio.Event()
        task = asyncio.ensure_future(work(started))
        await started.wait()
        for _ in range(3):
            task.cancel()
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not (await tenure_memory.inspect_async("job")).is_held

    asyncio.run(all_of_it())
    assert held == [True] * 3


def test_work_does_not_begin_under_a_hold_that_is_not_held(tenure_memory, tenure_clock):
    ran = []

    async def work():
        ran.append(True)

    async def all_of_it():
        released = await tenure_memory.mutex("a").lock()
        await released.release_async()
        lost = await tenure_memory.mutex("b", max_hold=10).lock()
        tenure_clock.advance(11)
        for hold in (released, lost):
            with pytest.raises(tenure.Lost):
                await hold.run_async(work())
            begun = asyncio.ensure_future(asyncio.sleep(600))
            with pytest.raises(tenure.Lost):
                await hold.run_async(begun)
            await asyncio.sleep(0)
            assert begun.cancelled()
        with pytest.raises(tenure.Lost):
            await lost.release_async()

    asyncio.run(all_of_it())
    assert ran == []


def test_a_tenure_can_be_given(tenure_memory):
    other = tenure.memory()

    @tenure.locked("job", tenure=other, wait=0)
    def given(hold):
        return other.inspect("job").is_held

    @tenure.locked("job", tenure=lambda: other, wait=0)
    def found(hold):
        return other.inspect("job").is_held

    assert given() and found()


def test_the_clock_moves_only_for_its_tests(tenure_memory, tenure_clock):
    before = tenure_clock.now
    with pytest.raises(tenure.Lost):
        with tenure_memory.mutex("a", ttl=30).lock() as hold:
            tenure_clock.advance(60)
            assert hold.lost
    assert tenure_clock.now >= before + 60
    with tenure_memory.mutex("a").lock(wait=5):
        # Without a move, a wait ends as it does elsewhere.
        with pytest.raises(tenure.Busy):
            tenure_memory.mutex("a").lock(wait=0.05).acquire()


def test_the_default_is_put_back():
    first = tenure.memory()
    assert tenure.set_default(first) is None
    assert tenure.default() is first
    assert tenure.set_default(None) is first
