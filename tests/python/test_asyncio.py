"""Programs in asyncio: asyncio.to_thread(fd.execute, ...) runs them beside an event loop, which stays responsive."""
import asyncio
import random
import time

import numpy as np

from tokamak import BindError, FusionDefinition, fuse


def scaled(number):
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], contiguity=True)
        fd.add_output(fd.ops.sum(x * number, 1))
    return fd


def long_program(rounds=8):
    """One that takes a while to compile, as nobody has compiled it before."""
    number = random.random()
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], contiguity=True)
        for i in range(rounds):
            x = fd.ops.softmax(fd.ops.sin(x) * (number + i), i % 2)
        fd.add_output(x)
    return fd


class Ticks:
    """Counts how often the loop comes round while something else is awaited, and how long it once took."""

    def __init__(self):
        self.count, self.longest = 0, 0.0

    async def __aenter__(self):
        self._task = asyncio.create_task(self._tick())
        self._started = time.perf_counter()
        return self

    async def __aexit__(self, *_):
        self.taken = time.perf_counter() - self._started
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _tick(self):
        last = time.perf_counter()
        while True:
            await asyncio.sleep(0.002)
            now = time.perf_counter()
            self.count, self.longest, last = self.count + 1, max(self.longest, now - last), now


def test_many_coroutines_call_programs():
    programs = [scaled(float(number)) for number in range(4)]
    halved = fuse(lambda x: x / 2)

    async def one(number):
        x = np.full((2 + number % 5, 8), number, np.float32)
        y, = await asyncio.to_thread(programs[number % 4].execute, [x])
        half = await asyncio.to_thread(halved, x)
        return (y == 8 * number * (number % 4)).all() and (half == number / 2).all()

    async def main():
        return await asyncio.gather(*(one(number) for number in range(200)))

    assert all(asyncio.run(main()))


def test_the_loop_goes_on_while_programs_compile():
    async def main():
        async with Ticks() as ticks:
            await asyncio.gather(*(asyncio.to_thread(long_program().execute, [np.ones((4, 8), np.float32)])
                                   for _ in range(3)))
        return ticks

    ticks = asyncio.run(main())
    assert ticks.taken > 0.05  # else it shows nothing
    assert ticks.count >= max(5, ticks.taken / 0.1) and ticks.longest < max(0.5, ticks.taken / 2)


def test_the_loop_goes_on_while_a_program_runs():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], contiguity=True)
        fd.add_output(fd.ops.sum(fd.ops.exp(fd.ops.sin(fd.ops.exp(fd.ops.cos(x)))), 1))
    x = np.ones((2000, 2000), np.float32)
    fd.execute([x])

    async def main():
        async with Ticks() as ticks:
            for _ in range(5):
                await asyncio.to_thread(fd.execute, [x])
        return ticks

    ticks = asyncio.run(main())
    assert ticks.count >= ticks.taken / 0.1 and ticks.longest < max(0.5, ticks.taken / 2)


def test_errors_come_to_who_awaits():
    async def one(fd, x):
        try:
            await asyncio.to_thread(fd.execute, [x])
        except BindError as error:
            return str(error)

    async def main():
        fd = scaled(1.0)
        good, bad = np.ones((2, 2), np.float32), np.ones((2, 2), np.int32)
        return await asyncio.gather(*(one(fd, each) for each in (good, bad, good, bad)))

    told = asyncio.run(main())
    assert told[0] is None and told[2] is None and all("i32" in each for each in (told[1], told[3]))


def test_whoever_stops_waiting_leaves_a_program_that_works():
    fd = long_program()
    x = np.ones((4, 8), np.float32)

    async def main():
        try:
            await asyncio.wait_for(asyncio.to_thread(fd.execute, [x]), timeout=0.01)
        except TimeoutError:
            return True

    is_late = asyncio.run(main())  # waits for the thread
    y, = fd.execute([x])
    assert y.shape == x.shape and is_late is True


