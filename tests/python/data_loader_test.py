"""neura.utils.data.DataLoader: the same batches without workers, with threads and with processes."""

import threading

import neura
import numpy as np
import pytest
from neura.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    IterableDataset,
    Sampler,
    TensorDataset,
    default_collate,
    get_worker_info,
)

KINDS = [{}, {"num_workers": 2, "worker_type": "thread"}, {"num_workers": 2, "worker_type": "process"}]
WORKERS = KINDS[1:]
kinds = pytest.mark.parametrize("kind", KINDS, ids=["alone", "threads", "processes"])
workers = pytest.mark.parametrize("kind", WORKERS, ids=["threads", "processes"])


class Numbers(Dataset):
    def __init__(self, n=10):
        self.n = n

    def __getitem__(self, i):
        return i

    def __len__(self):
        return self.n


class Stream(IterableDataset):
    """0 … n - 1, shared among the workers."""

    def __init__(self, n, length=None):
        self.n, self.length = n, length

    def __iter__(self):
        info = get_worker_info()
        return iter(range(0, self.n) if info is None else range(info.id, self.n, info.num_workers))

    def __len__(self):
        if self.length is None:
            raise TypeError("no length")
        return self.length


def lists(loader):
    return [b.tolist() for b in loader]


@kinds
def test_batches_come_in_order(kind):
    loader = DataLoader(Numbers(), batch_size=4, **kind)
    assert lists(loader) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]] == lists(loader)
    assert len(loader) == 3 == len(iter(loader))
    loader = DataLoader(Numbers(), batch_size=4, drop_last=True, **kind)
    assert lists(loader) == [[0, 1, 2, 3], [4, 5, 6, 7]] and len(loader) == 2
    assert lists(DataLoader(Numbers(0), **kind)) == []


class Rich(Dataset):
    """Every kind of thing that crosses to the loader."""

    def __getitem__(self, i):
        return {
            "big": neura.full((100, 70), float(i)),
            "half": neura.full((3,), i, dtype=neura.bfloat16),
            "turned": neura.arange(6).reshape(2, 3).T + i,
            "none": neura.zeros(0, 3),
            "array": np.full((50, 60), i, dtype=np.int16),
            "read-only": np.frombuffer(bytes([i]) * 600, dtype=np.uint8),
            "text": str(i),
            "tuple": (i, float(i)),
        }

    def __len__(self):
        return 5


def same(a, b):
    if isinstance(a, neura.Tensor):
        return a.dtype is b.dtype and a.shape == b.shape and a.equal(b)
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b) and a.flags.writeable == b.flags.writeable
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return a == b


@workers
@pytest.mark.parametrize("collate_fn", [None, list], ids=["collated", "as they are"])
def test_batches_of_anything_equal_those_made_without_workers(kind, collate_fn):
    expected = list(DataLoader(Rich(), batch_size=2, collate_fn=collate_fn))
    got = list(DataLoader(Rich(), batch_size=2, collate_fn=collate_fn, **kind))
    assert same(expected, got)
    first = got[0]["big"] if collate_fn is None else got[0][0]["big"]
    first.add_(1)  # it is ours to change
    assert same(expected[1:], got[1:])


def test_batches_kept_are_not_written_again():
    loader = DataLoader(Numbers(40), collate_fn=big, num_workers=2, worker_type="process")
    kept = list(loader)
    assert [b[0, 0].item() for b in kept] == list(range(40)) and all((b == b[0, 0]).all() for b in kept)
    views = []
    for i, batch in enumerate(loader):
        views.append(batch[3:5])
        del batch
    assert [v[1, 1].item() for v in views] == list(range(40))


def big(items):
    return neura.full((64, 80), float(items[0]))


def test_few_blocks_of_memory_serve_an_epoch():
    loader = DataLoader(Numbers(60), collate_fn=big, num_workers=1, worker_type="process")
    batches = iter(loader)
    for _ in range(50):
        batch = next(batches)
    assert batch[0, 0].item() == 49 and len(batches.crew.ends[0].blocks) <= 5


@kinds
def test_shuffling_follows_the_seed(kind):
    def orders(**options):
        loader = DataLoader(Numbers(30), batch_size=4, shuffle=True, **options, **kind)
        return lists(loader), lists(loader)

    neura.manual_seed(1)
    first, second = orders()
    assert sorted(sum(first, [])) == list(range(30)) and first != second
    neura.manual_seed(1)
    assert orders() == (first, second)
    g = neura.Generator().manual_seed(2)
    a = orders(generator=g)
    assert orders(generator=g.manual_seed(2)) == a and a[0] != first


def test_shuffling_is_the_same_with_any_number_of_workers():
    orders = []
    for kind in KINDS + [{"num_workers": 3, "worker_type": "thread"}]:
        neura.manual_seed(8)
        orders.append(lists(DataLoader(Numbers(30), batch_size=4, shuffle=True, **kind)))
    assert all(o == orders[0] for o in orders)


class Pairs(Sampler):
    def __iter__(self):
        return iter([("a", 1), ("b", 2), ("c", 3)])


class Lookup(Dataset):
    def __getitem__(self, key):
        return key[0] * key[1]


@kinds
def test_samplers_may_give_any_keys(kind):
    loader = DataLoader(Lookup(), sampler=Pairs(), batch_size=2, **kind)
    assert list(loader) == [["a", "bb"], ["ccc"]]
    with pytest.raises(TypeError):
        len(loader)
    batches = [[3, 1], [2], [0, 0, 0]]
    assert lists(DataLoader(Numbers(), batch_sampler=batches, **kind)) == batches
    assert lists(DataLoader(Numbers(), batch_sampler=BatchSampler([5, 6, 7], 2, False), **kind)) == [[5, 6], [7]]


def padded(items):
    width = max(len(i) for i in items)
    return neura.tensor([i + [0] * (width - len(i)) for i in items]), neura.tensor([len(i) for i in items])


@kinds
def test_a_collate_function_pads(kind):
    rows = [[1], [2, 3], [4, 5, 6]]
    got = [(x.tolist(), n.tolist()) for x, n in DataLoader(rows, batch_size=2, collate_fn=padded, **kind)]
    assert got == [([[1, 0], [2, 3]], [1, 2]), ([[4, 5, 6]], [3])]


@kinds
def test_items_may_come_one_by_one(kind):
    got = list(DataLoader([np.ones(2), "b", 3], batch_size=None, **kind))
    assert got[0].tolist() == [1, 1] and got[1:] == ["b", 3]
    assert list(DataLoader(Stream(4), batch_size=None, **kind)) == [0, 1, 2, 3]


@kinds
def test_streams_are_shared(kind):
    loader = DataLoader(Stream(11), batch_size=2, **kind)
    for _ in range(2):
        got = lists(loader)
        assert sorted(sum(got, [])) == list(range(11))
    if kind:
        assert got == [[0, 2], [1, 3], [4, 6], [5, 7], [8, 10], [9]]
    uneven = DataLoader(Stream(1), batch_size=2, **kind)
    assert lists(uneven) == [[0]]
    full = lists(DataLoader(Stream(11), batch_size=2, drop_last=True, **kind))
    assert all(len(b) == 2 for b in full) and len(full) == 5
    with pytest.raises(TypeError):
        len(loader)


@kinds
def test_a_length_that_is_exceeded_warns(kind):
    loader = DataLoader(Stream(6, length=4), batch_size=2, **kind)
    assert len(loader) == 2
    with pytest.warns(UserWarning, match="expected 2 batches"):
        assert len(list(loader)) > 2


class Slow(Dataset):
    """Item 0 waits until item 3 is there, which another worker makes."""

    def __init__(self):
        self.third = threading.Event()

    def __getitem__(self, i):
        if i == 3:
            self.third.set()
        return i, i == 0 and self.third.wait(30)

    def __len__(self):
        return 4


def test_order_matters_only_where_asked_for():
    options = {"batch_size": 1, "num_workers": 2, "worker_type": "thread", "collate_fn": list}
    assert [b[0][0] for b in DataLoader(Slow(), **options)] == [0, 1, 2, 3]
    first, *rest = [b[0] for b in DataLoader(Slow(), in_order=False, **options)]
    assert first == (1, False) and (0, True) in rest


@kinds
def test_the_device_of_batches(kind):
    loader = DataLoader([(1.0, "a")], device="cpu", **kind)
    [[x, text]] = list(loader)
    assert x.device == neura.device("cpu") == loader.device and text == ("a",)
    with pytest.warns(UserWarning, match="pin_memory has no effect"):
        assert lists(DataLoader([1], pin_memory=True, **kind)) == [[1]]


def test_threads_where_batches_are_made_in_cpp():
    set = TensorDataset(neura.arange(10))
    assert DataLoader(set, num_workers=2).worker_type == "thread"
    assert DataLoader(Numbers(), num_workers=2).worker_type == "process"
    assert DataLoader(set, num_workers=2, collate_fn=list).worker_type == "process"
    assert DataLoader(set, num_workers=2, multiprocessing_context="fork").worker_type == "process"
    for kind in KINDS:
        assert [b[0].tolist() for b in DataLoader(set, batch_size=4, **kind)] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


def test_options_are_read_back():
    data, sampler = Numbers(), [1, 2]
    loader = DataLoader(data, 3, sampler=sampler, num_workers=1, timeout=4, prefetch_factor=5, drop_last=True)
    assert loader.dataset is data and loader.sampler is sampler and loader.batch_size == 3 and loader.drop_last
    assert (loader.num_workers, loader.timeout, loader.prefetch_factor) == (1, 4, 5)
    assert loader.collate_fn is default_collate and loader.batch_sampler.batch_size == 3 and loader.in_order
    assert DataLoader(data).prefetch_factor is None and DataLoader(data, num_workers=1).prefetch_factor == 2
    for name in ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"):
        with pytest.raises(ValueError, match=name):
            setattr(loader, name, None)
    loader.multiprocessing_context = "spawn"
    assert loader.multiprocessing_context.get_start_method() == "spawn"


@pytest.mark.parametrize(
    "options",
    [
        {"num_workers": -1},
        {"num_workers": 0.5},
        {"num_workers": 10**6},
        {"timeout": -1},
        {"prefetch_factor": 2},
        {"num_workers": 1, "prefetch_factor": 0},
        {"persistent_workers": True},
        {"worker_type": "fibre"},
        {"shuffle": True, "sampler": [1]},
        {"batch_sampler": [[1]], "batch_size": 2},
        {"batch_sampler": [[1]], "shuffle": True},
        {"batch_sampler": [[1]], "sampler": [1]},
        {"batch_sampler": [[1]], "drop_last": True},
        {"batch_size": None, "drop_last": True},
        {"batch_size": 0},
        {"batch_size": 1.5},
        {"multiprocessing_context": "fork"},
        {"num_workers": 1, "multiprocessing_context": "teleport"},
        {"num_workers": 1, "multiprocessing_context": "fork", "worker_type": "thread"},
    ],
    ids=str,
)
def test_contradictions_are_refused(options):
    with pytest.raises(ValueError, match="expected"):
        DataLoader(Numbers(), **options)


def test_streams_have_an_order_of_their_own():
    for options in ({"shuffle": True}, {"sampler": [1]}, {"batch_sampler": [[1]]}):
        with pytest.raises(ValueError, match="stream"):
            DataLoader(Stream(3), **options)
    DataLoader(Stream(3), shuffle=False)
    with pytest.raises(TypeError):
        DataLoader(Numbers(), num_workers=1, multiprocessing_context=3)
