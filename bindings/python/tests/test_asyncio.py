"""A mutex in asyncio."""

import asyncio
import gc

import pytest

import tenure


def run(work):
    return asyncio.run(work)


def test_a_block_holds_the_lock_and_its_end_releases_it(locks):
    async def work():
        async with locks.mutex("a").lock(wait=5) as hold:
            assert hold.check() == hold.token
            with pytest.raises(tenure.Busy):
                await locks.mutex("a").lock(wait=0)
        hold = await locks.mutex("a").lock(wait=5)
        await hold.release_async()
        assert not (await locks.inspect_async("a")).is_held

    run(work())


def test_tasks_lose_no_increment_and_the_loop_runs_meanwhile(locks):
    count = [0]

    async def work():
        for _ in range(20):
            async with locks.mutex("count").lock(wait=60) as hold:
                value = count[0]
                await asyncio.sleep(0)
                hold.check()
                count[0] = value + 1

    async def all_of_them():
        await asyncio.gather(*(work() for _ in range(10)))

    run(all_of_them())
    assert count == [200]


async def waiters(locks, name):
    return (await locks.inspect_async(name)).waiters


async def until(condition):
    async def looks():
        while not await condition():
            await asyncio.sleep(0.002)

    await asyncio.wait_for(looks(), 30)


def test_a_cancelled_task_leaves_no_place(locks):
    async def work():
        mutex = locks.mutex("a", fair=True)
        async with mutex.lock():
            task = asyncio.ensure_future(mutex.lock().__aenter__())

            async def waits():
                return await waiters(locks, "a")

            async def is_gone():
                return not await waiters(locks, "a")

            await until(waits)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await until(is_gone)
        async with mutex.lock(wait=30):
            pass

    run(work())


def test_a_grant_that_races_with_a_cancel_is_released(locks):
    async def work():
        mutex = locks.mutex("a")
        for turn in range(100):
            task = asyncio.ensure_future(mutex.lock().__aenter__())
            for _ in range(turn % 20):
                await asyncio.sleep(0)
            task.cancel()
            try:
                hold = await task
            except asyncio.CancelledError:
                pass
            else:
                await hold.release_async()
        await (await mutex.lock(wait=30)).release_async()

    run(work())
    gc.collect()


def test_a_timeout_of_asyncio_ends_the_wait(locks):
    async def work():
        async with locks.mutex("a").lock():
            # This name, as Python 3.10 has two.
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(locks.mutex("a").lock().__aenter__(), 0.05)
        await (await locks.mutex("a").lock(wait=30)).release_async()

    run(work())


# Where the lock was granted before the loop was closed, its hold is collected.
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_loop_that_is_closed_leaves_nothing(locks):
    loop = asyncio.new_event_loop()

    async def begin():
        return asyncio.ensure_future(locks.mutex("a").lock().__aenter__())

    task = loop.run_until_complete(begin())
    # It takes the step that begins the call, and no other.
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    task._log_destroy_pending = False
    del task
    gc.collect()
    locks.mutex("a").lock(wait=30).acquire().release()


def test_work_is_cancelled_when_its_hold_is_lost(locks):
    async def work():
        ended = []

        async def slow():
            try:
                await asyncio.sleep(600)
            finally:
                ended.append(True)

        with pytest.raises(tenure.Lost):
            async with locks.mutex("a", max_hold=0.2).lock() as hold:
                await hold.run_async(slow())
        assert ended == [True]

        async def quick():
            return 7

        async with locks.mutex("b").lock() as hold:
            assert await hold.run_async(quick()) == 7

        async def releases(hold):
            await hold.release_async()
            return 8

        hold = await locks.mutex("b").lock()
        assert await hold.run_async(releases(hold)) == 8

    run(work())


def test_a_loss_is_raised_at_the_end_of_a_block(locks):
    async def work():
        with pytest.raises(tenure.Lost):
            async with locks.mutex("a", max_hold=0.2).lock() as hold:
                assert await hold.wait_lost_async(timeout=30)
        with pytest.raises(KeyError):
            async with locks.mutex("a", max_hold=0.2).lock() as hold:
                assert await hold.wait_lost_async(timeout=30)
                raise KeyError

    run(work())


def test_a_store_is_opened_in_asyncio(files):
    async def work():
        async with await tenure.open_async(files) as locks:
            async with locks.mutex("a").lock():
                pass
        with pytest.raises(tenure.UsageError):
            await locks.mutex("a").lock()

    run(work())


def test_several_loops_share_one_tenure(locks):
    async def work():
        async with locks.mutex("a").lock(wait=5):
            pass

    for _ in range(3):
        run(work())
