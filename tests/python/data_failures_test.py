"""What goes wrong in a loader's workers comes out in the loop, at once and by name."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import neura
import pytest
from neura.utils.data import DataLoader, Dataset, IterableDataset

THREADS = {"num_workers": 2, "worker_type": "thread"}
PROCESSES = {"num_workers": 2, "worker_type": "process"}
workers = pytest.mark.parametrize("kind", [THREADS, PROCESSES], ids=["threads", "processes"])
LIMIT = 60  # seconds, far beyond what anything here takes


class Odd(Exception):
    def __init__(self, a, b):
        super().__init__(a, b)


class Failing(Dataset):
    """Does `what` at index 5."""

    def __init__(self, what):
        self.what = what

    def __getitem__(self, i):
        if i == 5:
            self.what()
        return i

    def __len__(self):
        return 12


def value_error():
    raise ValueError("five is bad")


def key_error():
    return {}["five"]


def odd():
    raise Odd(1, 2)


def stop():
    raise StopIteration


def shape_error():
    return neura.ones(2) @ neura.ones(3)


def leave():
    os._exit(7)


def sys_exit():
    sys.exit(8)


def kill():
    os.kill(os.getpid(), signal.SIGKILL)


def crash():
    os.kill(os.getpid(), signal.SIGSEGV)


def close():
    os.closerange(3, 256)


@workers
@pytest.mark.parametrize(
    "what, kinds, text",
    [
        (value_error, (ValueError,), "ValueError: five is bad"),
        (key_error, (KeyError,), "KeyError: 'five'"),
        (odd, (RuntimeError,), "Odd: "),
        (stop, (RuntimeError,), "StopIteration"),
        (shape_error, (RuntimeError, ValueError), "ShapeError: "),
    ],
    ids=lambda v: getattr(v, "__name__", None),
)
def test_an_error_keeps_its_type_and_says_where(kind, what, kinds, text):
    loader = iter(DataLoader(Failing(what), batch_size=2, **kind))
    assert [next(loader).tolist() for _ in range(2)] == [[0, 1], [2, 3]]
    with pytest.raises(kinds[0]) as caught:
        next(loader)
    assert all(isinstance(caught.value, k) for k in kinds)
    shown = str(caught.value)
    assert f"DataLoader: worker 0 failed at index 5 of batch 2: {text}" in shown
    if kind is PROCESSES:
        assert f"in {what.__name__}" in shown and "data_failures_test.py" in shown and "\n" in shown
    else:
        names = []
        trace = caught.value.__cause__.__traceback__
        while trace:
            names.append(trace.tb_frame.f_code.co_name)
            trace = trace.tb_next
        assert what.__name__ in names
    assert [b.tolist() for b in loader] == [[6, 7], [8, 9], [10, 11]]  # the others are as they were


def test_an_error_without_workers_is_itself():
    with pytest.raises(ValueError, match="^five is bad$"):
        list(DataLoader(Failing(value_error)))
    with pytest.raises(RuntimeError, match="StopIteration"):
        list(DataLoader(Failing(stop)))


@pytest.mark.parametrize(
    "what, text",
    [
        (leave, "exited with code 7"),
        (sys_exit, "exited with code 8"),
        (
            kill,
            "was killed by SIGKILL while it was at index 5 of batch 2; the system kills processes when memory runs out",
        ),
        (crash, "was killed by SIGSEGV while it was at index 5 of batch 2"),
        (close, "while it was making batch 2"),
    ],
    ids=lambda v: getattr(v, "__name__", None),
)
def test_the_end_of_a_worker_is_told(what, text):
    start = time.monotonic()
    loader = iter(DataLoader(Failing(what), batch_size=2, **PROCESSES))
    got = []
    with pytest.raises(RuntimeError) as caught:
        for batch in loader:
            got.append(batch.tolist())
    assert got == [[0, 1], [2, 3]]
    shown = str(caught.value)
    assert shown.startswith(
        f"DataLoader: expected batch 2, got the end of worker 0 (process {loader.crew.processes[0].pid})"
    )
    assert text in shown and (what is close or "while it was at index 5 of batch 2" in shown)
    assert not any(p.is_alive() for p in loader.crew.processes)
    assert list(loader) == []
    assert time.monotonic() - start < LIMIT


class Slow:
    """Items that take long enough for a worker to be killed before its first one."""

    def __len__(self):
        return 4

    def __getitem__(self, index):
        time.sleep(1)
        return index


def test_a_worker_killed_at_its_start_is_told():
    loader = iter(DataLoader(Slow(), **PROCESSES))
    os.kill(loader.crew.processes[0].pid, signal.SIGKILL)
    with pytest.raises(RuntimeError, match="the end of worker 0 .*SIGKILL"):
        list(loader)


def test_a_loader_whose_worker_died_starts_again():
    loader = DataLoader(Failing(kill), batch_size=2, persistent_workers=True, **PROCESSES)
    for _ in range(2):
        batches = iter(loader)
        assert next(batches).tolist() == [0, 1]
        with pytest.raises(RuntimeError, match="SIGKILL"):
            list(batches)


class Endless(Dataset):
    def __getitem__(self, i):
        time.sleep(1000 if i == 2 else 0)
        return i

    def __len__(self):
        return 4


def test_a_worker_that_is_stuck_is_told(monkeypatch):
    import neura.utils.data.processes as processes

    monkeypatch.setattr(processes, "_GRACE", 0.2)
    loader = iter(DataLoader(Endless(), batch_size=1, timeout=LIMIT, **PROCESSES))
    assert [next(loader).item(), next(loader).item()] == [0, 1]
    loader.loader.timeout = 1
    with pytest.raises(RuntimeError, match="timed out: expected batch 2 within 1 s; worker 0 is at index 2 of batch 2"):
        next(loader)
    crew = loader.crew
    del loader
    assert not any(p.is_alive() for p in crew.processes)


def test_a_thread_that_is_stuck_is_told():
    import threading

    release = threading.Event()

    class Waiting(Dataset):
        def __getitem__(self, i):
            if i == 2:
                release.wait(LIMIT)
            return i

        def __len__(self):
            return 4

    loader = iter(DataLoader(Waiting(), timeout=0.5, **THREADS))
    assert [next(loader).item(), next(loader).item()] == [0, 1]
    with pytest.raises(
        RuntimeError, match="timed out: expected batch 2 within 0.5 s; worker 0 is at index 2 of batch 2"
    ):
        next(loader)
    release.set()
    assert [b.item() for b in loader] == [2, 3]


def fail_at_start(worker):
    if worker == 1:
        raise OSError("no such disk")


@workers
def test_an_error_at_the_start_is_told(kind):
    loader = iter(DataLoader(Failing(stop), worker_init_fn=fail_at_start, **kind))
    assert next(loader).item() == 0
    with pytest.raises(OSError, match="worker 1 failed in worker_init_fn: OSError: no such disk"):
        next(loader)


class Broken(IterableDataset):
    def __iter__(self):
        yield 1
        raise ValueError("dry")


@workers
def test_an_error_in_a_stream_is_told(kind):
    loader = iter(DataLoader(Broken(), batch_size=3, **kind))
    with pytest.raises(ValueError, match="worker 0 failed at item 1 of batch 0 of its stream: ValueError: dry"):
        next(loader)


@workers
def test_an_error_in_collation_is_told(kind):
    loader = iter(DataLoader([[1], [1, 2]], batch_size=2, **kind))
    with pytest.raises(
        RuntimeError, match="worker 0 failed making batch 0: RuntimeError: default_collate: expected items"
    ):
        next(loader)


def keep(items):
    return lambda: items


def recorded(items):
    return neura.ones(2, requires_grad=True) * 2


def test_a_batch_that_cannot_cross_is_told():
    with pytest.raises(Exception, match="worker 0 failed sending batch 0"):
        next(iter(DataLoader([1], collate_fn=keep, **PROCESSES)))
    with pytest.raises(RuntimeError, match=r"got a tensor that other tensors lead to.*detach\(\)"):
        next(iter(DataLoader([1], collate_fn=recorded, **PROCESSES)))
    assert next(iter(DataLoader([1], collate_fn=keep, **THREADS)))() == [1]


def program(text, **options):
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(text)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


PRELUDE = """
import os, sys, time, warnings, neura
from neura.utils.data import DataLoader, Dataset
warnings.filterwarnings("ignore", "DataLoader: 2 worker processes on 1 processors")
class Slow(Dataset):
    def __getitem__(self, i):
        time.sleep(0.01)
        return i
    def __len__(self):
        return 10**6
loader = iter(DataLoader(Slow(), num_workers=2, worker_type="process"))
next(loader)
print(*[p.pid for p in loader.crew.processes], flush=True)
"""


def gone(pids):
    for _ in range(LIMIT * 20):
        left = [
            p for p in pids if os.path.exists(f"/proc/{p}") and "Z" not in open(f"/proc/{p}/stat").read().split()[2]
        ]
        if not left:
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("end", ["", "os._exit(0)"])
def test_the_end_of_the_interpreter_leaves_no_process(end):
    child = program(PRELUDE + end)
    out, err = child.communicate(timeout=LIMIT)
    assert child.returncode == 0 and err == ""
    assert gone(out.split())


def test_the_death_of_the_loaders_process_ends_the_workers():
    child = program(PRELUDE + "time.sleep(1000)")
    pids = child.stdout.readline().split()
    assert len(pids) == 2
    child.kill()
    child.communicate(timeout=LIMIT)
    assert gone(pids)


def test_ctrl_c_ends_cleanly():
    child = program(PRELUDE + "for batch in loader: pass", start_new_session=True)
    pids = child.stdout.readline().split()
    os.killpg(child.pid, signal.SIGINT)  # as a terminal does: to the workers too
    _, err = child.communicate(timeout=LIMIT)
    assert child.returncode in (1, -signal.SIGINT, 128 + signal.SIGINT)
    assert err.count("Traceback") == 1 and err.rstrip().endswith("KeyboardInterrupt")
    assert gone(pids)


def test_sigterm_handlers_of_the_program_do_not_run_in_workers():
    text = "import signal\nsignal.signal(signal.SIGTERM, lambda *a: print('handled', flush=True))\n" + PRELUDE
    child = program(text + "loader.crew.processes[0].terminate()\nloader.crew.processes[0].join()\nloader.crew.close()")
    out, err = child.communicate(timeout=LIMIT)
    assert "handled" not in out and err == ""


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_other_ways_to_start_processes(method):
    loader = DataLoader(range(6), batch_size=2, multiprocessing_context=method, **PROCESSES)
    assert [b.tolist() for b in loader] == [[0, 1], [2, 3], [4, 5]]


def test_a_forked_child_may_compute_and_load():
    neura.set_num_threads(2)
    x = neura.ones(1 << 20)
    assert (x + x).sum().item() == 1 << 21  # the pool has threads now
    loader = DataLoader(range(8), batch_size=4, **PROCESSES)
    batches = iter(loader)
    next(batches)
    pid = os.fork()
    if pid == 0:
        ok = (x + x).sum().item() == 1 << 21 and len(neura.rand(3)) == 3
        ok = ok and [b.tolist() for b in DataLoader(range(4), batch_size=2, **PROCESSES)] == [[0, 1], [2, 3]]
        del batches  # the parent's, whose workers continue
        os._exit(0 if ok else 1)
    _, status = os.waitpid(pid, 0)
    assert status == 0
    assert next(batches).tolist() == [4, 5, 6, 7]
