"""Workers of neura.utils.data.DataLoader: their seeds, their lives, their shares."""

import ast
import collections
import random
import subprocess
import sys
import threading

import neura
import numpy as np
import pytest
from neura.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info

COUNTING = threading.Lock()
THREADS = {"num_workers": 2, "worker_type": "thread"}
PROCESSES = {"num_workers": 2, "worker_type": "process"}
workers = pytest.mark.parametrize("kind", [THREADS, PROCESSES], ids=["threads", "processes"])


class Stream(IterableDataset):
    """0 … n - 1, shared among the workers."""

    def __init__(self, n):
        self.n = n

    def __iter__(self):
        info = get_worker_info()
        return iter(range(info.id, self.n, info.num_workers))


def lists(loader):
    return [b.tolist() for b in loader]


class Noise(Dataset):
    def __getitem__(self, i):
        return neura.rand(2), random.random(), float(np.random.rand()), get_worker_info().seed

    def __len__(self):
        return 12


def test_workers_draw_from_seeds_of_their_own():
    def epoch(seed):
        neura.manual_seed(seed)
        return list(DataLoader(Noise(), batch_size=3, **PROCESSES))

    def numbers(epoch):
        return [[column.tolist() for column in batch] for batch in epoch]

    first = epoch(5)
    assert numbers(first) == numbers(epoch(5)) != numbers(epoch(6))
    assert [b[3][0].item() - first[0][3][0].item() for b in first] == [0, 1, 0, 1]
    for column in range(3):
        assert len({str(row) for b in first for row in b[column].tolist()}) == 12
    seed = first[1][3][0].item()
    worker = random.Random(seed)
    assert [worker.random() for _ in range(3)] == first[1][1].tolist()
    base = seed - 1
    numpy = np.random.RandomState(np.random.SeedSequence([1, base & 0xFFFFFFFF, base >> 32, 0]).generate_state(4))
    assert [numpy.rand() for _ in range(3)] == first[1][2].tolist()


def test_numpy_is_seeded_whenever_a_worker_imports_it():
    program = """
import sys, neura
from neura.utils.data import DataLoader, get_worker_info
class Late:
    def __getitem__(self, i):
        assert i > 1 or "numpy" not in sys.modules
        import numpy
        return get_worker_info().seed, float(numpy.random.rand())
    def __len__(self):
        return 4
print([b for b in DataLoader(Late(), batch_size=1, collate_fn=list, num_workers=2, worker_type="process")])
assert "numpy" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    rows = [batch[0] for batch in ast.literal_eval(done.stdout)]
    base = rows[0][0]
    for worker in range(2):
        words = [worker, base & 0xFFFFFFFF, base >> 32, 0]
        numpy = np.random.RandomState(np.random.SeedSequence(words).generate_state(4))
        assert [r[1] for r in rows[worker::2]] == [numpy.rand(), numpy.rand()]


def test_threads_draw_the_same_tensors_as_processes():
    tensors = []
    for kind in (THREADS, PROCESSES):
        neura.manual_seed(5)
        state = neura.get_rng_state().tolist()
        tensors.append([b[0].tolist() for b in DataLoader(Noise(), batch_size=3, **kind)])
    assert tensors[0] == tensors[1]
    neura.manual_seed(5)
    assert neura.get_rng_state().tolist() == state


class Who(Dataset):
    def __init__(self):
        self.mark = None

    def __getitem__(self, i):
        info = get_worker_info()
        return info.id, info.num_workers, info.dataset is self, self.mark, threading.get_ident()

    def __len__(self):
        return 6


def mark(worker):
    get_worker_info().dataset.mark = f"made by {worker}"


def test_worker_init_sees_the_workers_data_set():
    loader = DataLoader(Who(), batch_size=1, collate_fn=list, worker_init_fn=mark, **PROCESSES)
    rows = [b[0] for b in loader]
    assert [r[:4] for r in rows] == [(i % 2, 2, True, f"made by {i % 2}") for i in range(6)]
    calls = collections.Counter()
    loader = DataLoader(Who(), batch_size=1, collate_fn=list, worker_init_fn=lambda w: calls.update([w]), **THREADS)
    assert [b[0][0] for b in loader] == [0, 1] * 3 and calls == {0: 1, 1: 1}
    assert get_worker_info() is None


@workers
def test_persistent_workers_stay(kind):
    counted = DataLoader(Who(), batch_size=1, collate_fn=list, persistent_workers=True, worker_init_fn=count, **kind)
    first, second = [[b[0][4] for b in counted] for _ in range(2)]
    assert first == second and len(set(first)) == 2 if kind["worker_type"] == "thread" else first == second
    calls = 2 if kind["worker_type"] == "thread" else 1  # of init: threads share the data set
    assert [b[0][3] for b in counted] == [calls] * 6
    crew = counted._iterator.crew
    next(iter(counted))  # leaves an epoch in the middle
    assert lists(DataLoader(range(10), batch_size=5, persistent_workers=True, **kind)) == [
        list(range(5)),
        [5, 6, 7, 8, 9],
    ]
    assert [b[0][0] for b in counted] == [0, 1] * 3
    assert counted._iterator.crew is crew
    stream = DataLoader(Stream(5), batch_size=2, persistent_workers=True, **kind)
    assert lists(stream) == [[0, 2], [1, 3], [4]] == lists(stream)


def count(worker):
    data = get_worker_info().dataset
    with COUNTING:
        data.mark = (data.mark or 0) + 1


@workers
def test_the_loop_may_be_left(kind):
    for _ in range(3):
        for batch in DataLoader(range(1000), batch_size=2, **kind):
            break
    batches = iter(DataLoader(range(1000), batch_size=2, **kind))
    next(batches)
    crew = batches.crew
    del batches
    assert crew.closed
    if kind["worker_type"] == "process":
        assert not any(p.is_alive() for p in crew.processes)
    else:
        assert not any(t.is_alive() for t in crew.threads)


@workers
def test_out_of_order_batches_are_all_there(kind):
    loader = DataLoader(range(50), batch_size=3, in_order=False, **kind)
    assert sorted(sum(lists(loader), [])) == list(range(50))
    assert sorted(sum(lists(DataLoader(Stream(20), batch_size=3, in_order=False, **kind)), [])) == list(range(20))
