"""Data sets, samplers and collation of neura.utils.data."""

import collections

import neura
import numpy as np
import pytest
from neura.utils.data import (
    BatchSampler,
    ChainDataset,
    ConcatDataset,
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    Sampler,
    SequentialSampler,
    StackDataset,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
    default_collate,
    default_convert,
    random_split,
)


def generator(seed):
    return neura.Generator().manual_seed(seed)


class Stream(IterableDataset):
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return iter(range(self.n))

    def __len__(self):
        return self.n


def test_tensor_dataset_gives_rows():
    x, y = neura.arange(12.0).reshape(4, 3), neura.arange(4)
    set = TensorDataset(x, y)
    assert len(set) == 4
    row, label = set[2]
    assert row.tolist() == [6, 7, 8] and label.item() == 2
    assert set[-1][1].item() == 3
    assert set[1:3][0].shape == (2, 3)
    with pytest.raises(IndexError):
        set[4]
    with pytest.raises(ValueError, match=r"equal first size, got \[4, 3\]"):
        TensorDataset(x, neura.zeros(3))


def test_sets_made_of_others():
    a, b = list(range(5)), list(range(10, 13))
    both = ConcatDataset([a, b])
    assert [both[i] for i in range(8)] == a + b and both[-1] == 12 and both[-8] == 0
    assert both.cumulative_sizes == [5, 8]
    for i, kind in ((8, IndexError), (-9, ValueError)):
        with pytest.raises(kind, match="expected an index in"):
            both[i]
    with pytest.raises(ValueError):
        ConcatDataset([])
    with pytest.raises(TypeError):
        ConcatDataset([Stream(2)])
    part = Subset(both, [7, 0, 5])
    assert [part[i] for i in range(3)] == [12, 0, 10] and part.__getitems__([2, 1]) == [10, 0] and len(part) == 3

    class Named(Dataset):
        def __getitem__(self, i):
            return i

        def __len__(self):
            return 2

    joined = Named() + Named()
    assert isinstance(joined, ConcatDataset) and [joined[i] for i in range(4)] == [0, 1, 0, 1]
    chained = Stream(2) + Stream(3)
    assert isinstance(chained, ChainDataset) and list(chained) == [0, 1, 0, 1, 2] and len(chained) == 5
    with pytest.raises(TypeError):
        list(ChainDataset([[1]]))
    assert isinstance(Dataset[int], object)
    with pytest.raises(NotImplementedError):
        Dataset()[0]


def test_stacked_sets():
    a, b = [1, 2, 3], ["x", "y", "z"]
    assert StackDataset(a, b)[1] == (2, "y")
    named = StackDataset(number=a, text=b)
    assert named[2] == {"number": 3, "text": "z"} and len(named) == 3
    assert named.__getitems__([0, 2]) == [{"number": 1, "text": "x"}, {"number": 3, "text": "z"}]
    for wrong in (lambda: StackDataset(a, [1]), lambda: StackDataset(), lambda: StackDataset(a, b=b)):
        with pytest.raises(ValueError):
            wrong()


def test_random_split_is_disjoint_complete_and_repeatable():
    def parts(lengths, seed=1):
        return [[p[i] for i in range(len(p))] for p in random_split(range(10), lengths, generator=generator(seed))]

    first = parts([3, 7])
    assert [len(p) for p in first] == [3, 7] and sorted(sum(first, [])) == list(range(10))
    assert parts([3, 7]) == first != parts([3, 7], seed=2)
    assert [len(p) for p in parts([0.33, 0.33, 0.34])] == [4, 3, 3]
    assert [len(p) for p in random_split(range(7), [0.5, 0.5])] == [4, 3]
    neura.manual_seed(1)
    assert [list(p) for p in random_split(range(10), [3, 7])] == first
    with pytest.warns(UserWarning, match="part 1 has no items"):
        random_split(range(1), [0.9, 0.1])
    for wrong in ([3, 8], [0.5, 0.6], [-0.5, 1.5]):
        with pytest.raises(ValueError):
            random_split(range(10), wrong)


def test_samplers():
    assert list(SequentialSampler(range(4))) == [0, 1, 2, 3] and len(SequentialSampler(range(4))) == 4
    order = RandomSampler(range(50), generator=generator(3))
    first, second = list(order), list(order)
    assert sorted(first) == list(range(50)) == sorted(second) and first != second and len(order) == 50
    assert list(RandomSampler(range(50), generator=generator(3))) == first
    neura.manual_seed(4)
    a = list(RandomSampler(range(50)))
    neura.manual_seed(4)
    assert list(RandomSampler(range(50))) == a
    more = list(RandomSampler(range(5), num_samples=12))
    assert len(more) == 12 and sorted(more[:5]) == sorted(more[5:10]) == list(range(5))
    drawn = list(RandomSampler(range(10), replacement=True, num_samples=10000))
    counts = collections.Counter(drawn)
    assert len(drawn) == 10000 and all(800 < counts[i] < 1200 for i in range(10))
    some = SubsetRandomSampler([7, 3, 9], generator=generator(0))
    assert sorted(some) == [3, 7, 9] and len(some) == 3
    for wrong, kind in [
        (lambda: RandomSampler(range(3), replacement=1), TypeError),
        (lambda: RandomSampler(range(3), num_samples=0), ValueError),
        (lambda: RandomSampler(range(3), num_samples=1.5), ValueError),
        (lambda: RandomSampler([]), ValueError),
    ]:
        with pytest.raises(kind):
            wrong()


def test_weighted_sampler_follows_the_weights():
    counts = collections.Counter(WeightedRandomSampler([1, 0, 3], 8000, generator=generator(2)))
    assert counts[1] == 0 and abs(counts[2] / counts[0] - 3) < 0.3
    once = WeightedRandomSampler([0.1, 0.9, 0.4, 3.0], 4, replacement=False)
    assert sorted(once) == [0, 1, 2, 3] and len(once) == 4
    assert list(WeightedRandomSampler([0.0, 2.0], 2, replacement=False)) == [1, 0]
    for wrong in (
        lambda: WeightedRandomSampler([1], 0),
        lambda: WeightedRandomSampler([1], True),
        lambda: WeightedRandomSampler([1], 1, replacement=0),
        lambda: WeightedRandomSampler([[1.0]], 1),
        lambda: list(WeightedRandomSampler([0.0, 0.0], 1, replacement=False)),
        lambda: list(WeightedRandomSampler([1.0, -1.0], 2)),
    ):
        with pytest.raises((ValueError, RuntimeError)):
            wrong()


def test_batch_sampler():
    assert list(BatchSampler(range(5), 2, False)) == [[0, 1], [2, 3], [4]]
    assert list(BatchSampler(range(5), 2, True)) == [[0, 1], [2, 3]]
    assert len(BatchSampler(range(5), 2, False)) == 3 and len(BatchSampler(range(5), 2, True)) == 2
    assert list(BatchSampler([], 2, False)) == []
    for size, last in [(0, False), (True, False), (1.0, False), (2, 1)]:
        with pytest.raises(ValueError):
            BatchSampler(range(5), size, last)


def test_distributed_sampler_shares_fairly():
    def shares(n, ranks, **options):
        return [list(DistributedSampler(range(n), ranks, r, **options)) for r in range(ranks)]

    assert shares(6, 2, shuffle=False) == [[0, 2, 4], [1, 3, 5]]
    assert shares(5, 2, shuffle=False) == [[0, 2, 4], [1, 3, 0]]
    assert shares(5, 2, shuffle=False, drop_last=True) == [[0, 2], [1, 3]]
    assert shares(1, 3, shuffle=False) == [[0], [0], [0]]
    assert shares(0, 2, shuffle=False) == [[], []]
    assert sorted(sum(shares(9, 3), [])) == list(range(9))
    sampler = DistributedSampler(range(20), 2, 0)
    first = list(sampler)
    assert list(sampler) == first and len(sampler) == 10
    sampler.set_epoch(1)
    assert list(sampler) != first
    with pytest.raises(RuntimeError):
        DistributedSampler(range(3))
    with pytest.raises(ValueError):
        DistributedSampler(range(3), 2, 2)


Point = collections.namedtuple("Point", "x y")


def test_collate_goes_into_structures():
    batch = default_collate([{"a": neura.ones(2), "b": [1, 2.5], "c": ("t", Point(True, None or 3))}] * 2)
    assert batch["a"].shape == (2, 2)
    assert batch["b"][0].tolist() == [1, 1] and batch["b"][0].dtype is neura.int64
    assert batch["b"][1].dtype is neura.float64
    text, point = batch["c"]
    assert text == ("t", "t") and isinstance(batch["c"], list)
    assert isinstance(point, Point) and point.x.dtype is neura.bool and point.y.tolist() == [3, 3]
    assert default_collate([b"a", b"b"]) == [b"a", b"b"]
    ordered = default_collate([collections.OrderedDict(z=1, a=2)])
    assert isinstance(ordered, collections.OrderedDict) and list(ordered) == ["z", "a"]
    assert default_collate([collections.deque([1, 2])] * 2)[0].tolist() == [1, 1]


def test_collate_takes_arrays_and_their_numbers():
    rows = default_collate([np.arange(3, dtype=np.int16)] * 2)
    assert rows.shape == (2, 3) and rows.dtype is neura.int16
    assert default_collate([np.float32(1), np.float32(2)]).dtype is neura.float32
    assert default_collate([np.float64(1)]).dtype is neura.float64
    assert default_collate([np.bool_(True)]).dtype is neura.bool
    assert default_collate([np.array(1), np.array(2)]).tolist() == [1, 2]
    assert default_collate([np.str_("a")]) == ["a"]


def test_collate_says_what_does_not_fit():
    for wrong, kind, text in [
        ([neura.ones(2), neura.ones(3)], RuntimeError, "equal shape"),
        ([neura.ones(2), 1], TypeError, None),
        ([[1, 2], [1]], RuntimeError, r"sizes \[1, 2\]"),
        ([np.array(["a"])], TypeError, "<U1"),
        ([object()], TypeError, "builtins.object"),
        ([None], TypeError, "NoneType"),
    ]:
        with pytest.raises(kind, match=text):
            default_collate(wrong)


def test_collate_keeps_gradients():
    w = neura.ones(2, requires_grad=True)
    default_collate([w * 1, w * 2]).sum().backward()
    assert w.grad.tolist() == [3, 3]


def test_convert_changes_arrays_alone():
    out = default_convert({"a": np.ones(2), "b": [np.int64(3), "t"], "c": (np.ones(1), 5), "d": Point(np.ones(1), 0)})
    assert out["a"].tolist() == [1, 1] and out["b"][0].item() == 3 and out["b"][1] == "t"
    assert isinstance(out["c"], list) and out["c"][1] == 5 and isinstance(out["d"], Point)
    x = neura.ones(2)
    assert default_convert(x) is x


class Custom(Sampler):
    def __iter__(self):
        return iter([2, 0, 2])

    def __len__(self):
        return 3


class Doubled(TensorDataset):
    def __getitem__(self, i):
        return tuple(2 * t for t in super().__getitem__(i))


def test_batches_made_in_cpp_equal_those_made_item_by_item():
    x, y = neura.randn(20, 3, 2), neura.arange(20).to(neura.int32)
    set = TensorDataset(x, y)
    part = Subset(set, list(range(19, 0, -2)))

    def by_item(items, n, **options):
        class Plain(Dataset):
            __getitem__ = lambda self, i: items[i]  # noqa: E731
            __len__ = lambda self: n  # noqa: E731

        return list(DataLoader(Plain(), **options))

    for data in (set, part, Subset(part, [1, -1, 0])):
        for options in (
            {"batch_size": 4},
            {"batch_size": 3, "drop_last": True},
            {"sampler": Custom(), "batch_size": 2},
        ):
            fast, slow = list(DataLoader(data, **options)), by_item(data, len(data), **options)
            assert len(fast) == len(slow) > 0
            for f, s in zip(fast, slow):
                assert type(f) is type(s) is list and all(a.equal(b) and a.dtype is b.dtype for a, b in zip(f, s))
    changed = next(iter(DataLoader(Doubled(x), batch_size=2)))[0]
    assert changed.equal(2 * x[:2])
    part = next(iter(DataLoader(Subset(Doubled(x), [0, 1]), batch_size=2)))[0]
    assert part.equal(2 * x[:2])
    with pytest.raises(IndexError, match="20"):
        list(DataLoader(set, sampler=[20]))
    keys = next(iter(DataLoader(set, sampler=[neura.tensor(3), np.int64(4)], batch_size=2)))[1]
    assert keys.tolist() == [3, 4]
    w = x.clone().requires_grad_()
    next(iter(DataLoader(TensorDataset(w), batch_size=5)))[0].sum().backward()
    assert w.grad.sum().item() == 30
