"""Threads: long work lets other threads run, callbacks do not deadlock, and what is shared stays whole."""

import sys
import threading
import time

import neura
import pytest

LONG = 60  # seconds: far beyond any of these; only a deadlock gets there


def run(functions):
    """Each in a thread of its own; an error in one is an error here."""
    errors = []

    def guarded(function):
        try:
            function()
        except BaseException as e:
            errors.append(e)

    threads = [threading.Thread(target=guarded, args=(f,), daemon=True) for f in functions]
    [t.start() for t in threads]
    [t.join(LONG) for t in threads]
    assert not any(t.is_alive() for t in threads), "deadlock"
    if errors:
        raise errors[0]


@pytest.fixture
def by_turns():
    """Python takes the lock from nobody: a thread runs on until it waits or lets go of the lock by itself."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    yield
    sys.setswitchinterval(before)


class Clock:
    """Counts whenever the lock is free."""

    def __init__(self):
        self.ticks, self.stop = 0, False

    def __enter__(self):
        self.thread = threading.Thread(target=self.count, daemon=True)
        self.thread.start()
        while not self.ticks:
            time.sleep(0.001)
        return self

    def count(self):
        while not self.stop:
            self.ticks += 1
            time.sleep(0)

    def __exit__(self, *error):
        self.stop = True
        self.thread.join()


def advances(clock, work, tries=500):
    """Does the clock advance within one call of `work`?"""
    for _ in range(tries):
        before = clock.ticks
        work()
        if clock.ticks > before:
            return True
    return False


def long_work():
    a = neura.rand(1 << 22)
    m = neura.rand(400, 400)
    image, kernel = neura.rand(8, 16, 64, 64), neura.rand(32, 16, 3, 3)
    leaf = neura.rand(1 << 20, requires_grad=True)
    out = neura.empty(1 << 22)
    return {
        "add": lambda: a + a,
        "out": lambda: neura.mul(a, 2, out=out),
        "in place": lambda: out.add_(1),
        "matmul": lambda: m @ m,
        "sum": lambda: a.sum(),
        "sort": lambda: a.sort(),
        "copy": lambda: a.clone(),
        "convert": lambda: a.to(neura.float64),
        "random": lambda: neura.rand(1 << 22),
        "fill": lambda: neura.zeros(1 << 22).fill_(3),
        "conv2d": lambda: neura.nn.functional.conv2d(image, kernel),
        "backward": lambda: (leaf * leaf).sum().backward(),
    }


def test_long_work_frees_the_lock(by_turns):
    with Clock() as clock:
        kept = [name for name, work in long_work().items() if not advances(clock, work)]
    assert not kept


def test_small_work_keeps_the_lock(by_turns):
    a, x = neura.ones(8), neura.ones(8, requires_grad=True)
    m = neura.ones(4, 4)
    with Clock() as clock:
        before = clock.ticks
        for _ in range(5000):
            a + a, a * 2, a.sum(), m @ m, x + a, neura.softmax(a, 0), a[2:4], a.add_(1)
        assert clock.ticks == before


def found_at_once(work, calls=1000):
    """Two threads call `work`. Does a third, which runs while nobody holds the lock, find both of them inside a
    call?"""
    inside, running, found = [False, False], [True, True], threading.Event()

    def worker(i):
        for _ in range(calls):
            inside[i] = True
            work()
            inside[i] = False
            if found.is_set():
                break
            time.sleep(0)
        running[i] = False

    def watcher():
        while any(running) and not found.is_set():
            if all(inside):
                found.set()
            time.sleep(0)

    run([lambda: worker(0), lambda: worker(1), watcher])
    return found.is_set()


def test_two_threads_compute_at_once(by_turns):
    m, small = neura.rand(600, 600), neura.ones(8)
    assert found_at_once(lambda: m @ m)
    assert not found_at_once(lambda: small + small)  # it keeps the lock


def test_callbacks_from_many_threads():
    shared = neura.ones(64, requires_grad=True)
    calls = []

    def worker():
        for _ in range(50):
            y = shared * 2
            y.register_hook(lambda g: calls.append(1) or g * 1)
            z = (y * y).sum()
            z.backward()

    run([worker] * 4)
    assert len(calls) == 200
    assert shared.grad.tolist() == [8.0 * 200] * 64


def test_a_hook_may_start_another_backward():
    x = neura.ones(8, requires_grad=True)
    inner = []

    def hook(g):
        y = neura.ones(8, requires_grad=True)
        with neura.enable_grad():
            (y * g).sum().backward()
        inner.append(y.grad)

    def worker():
        for _ in range(20):
            y = x * 3
            y.register_hook(hook)
            y.sum().backward()

    run([worker] * 3)
    assert len(inner) == 60 and inner[0].tolist() == [1] * 8


def test_objects_come_and_go_in_threads():
    base = neura.arange(1000.0)

    def worker():
        for i in range(300):
            views = [base.narrow(0, j, 2) for j in range(20)]
            views[0].tag = i
            assert all(v._base is base for v in views)
            assert (base + 1 - base).sum().item() == 1000

    run([worker] * 4)


def test_errors_come_back_with_the_lock():
    a = neura.rand(1 << 20)
    for _ in range(20):
        try:
            neura.gather(a, 0, neura.full((1 << 20,), 1 << 21))
        except IndexError:
            pass
        else:
            raise AssertionError("no error")
    assert (a + 1).shape == a.shape
