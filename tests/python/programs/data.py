"""Data loading as users write it: data sets, samplers, collating, orders, splits, errors of the loader."""

import collections

from program_helpers import raised, values

Pair = collections.namedtuple("Pair", "x y")


def squares(torch, n=7):
    class Squares(torch.utils.data.Dataset):
        def __len__(self):
            return n

        def __getitem__(self, i):
            if not 0 <= i < n:
                raise IndexError(i)
            return torch.tensor([float(i), i * i]), i % 2

    return Squares()


def batches_in_order(torch):
    loader = torch.utils.data.DataLoader(squares(torch), batch_size=3)
    return [(x, y) for x, y in loader], len(loader), len(loader.dataset), loader.batch_size, loader.drop_last


def last_batch_dropped(torch):
    loader = torch.utils.data.DataLoader(squares(torch), batch_size=3, drop_last=True)
    return [x.shape for x, _ in loader], len(loader), sum(y.sum().item() for _, y in loader)


def without_batches(torch):
    loader = torch.utils.data.DataLoader(squares(torch), batch_size=None)
    return [x for x, _ in loader][:2], [y for _, y in loader], len(loader)


def every_sample_once(torch):
    g = torch.Generator().manual_seed(5)
    loader = torch.utils.data.DataLoader(squares(torch), batch_size=2, shuffle=True, generator=g)
    first = [int(v) for x, _ in loader for v in x[:, 0]]
    second = [int(v) for x, _ in loader for v in x[:, 0]]
    return sorted(first), sorted(second), len(first)


def tensors_together(torch):
    d = torch.utils.data.TensorDataset(torch.arange(10).view(5, 2), torch.arange(5.0))
    return d[2], d[1:3], len(d), d[-1], d.tensors[0].shape


def subsets_and_splits(torch):
    D = torch.utils.data
    data = squares(torch, 10)
    sub = D.Subset(data, [1, 3, 5])
    a, b = D.random_split(data, [0.75, 0.25], generator=torch.Generator().manual_seed(0))
    c = D.random_split(range(10), [3, 7])
    return (
        sub[1],
        len(sub),
        len(a),
        len(b),
        sorted(list(a.indices) + list(b.indices)),
        [len(p) for p in c],
        raised(lambda: D.random_split(data, [3, 3]), ValueError),
        sub.indices,
    )


def joined_sets(torch):
    D = torch.utils.data
    both = D.ConcatDataset([squares(torch, 2), squares(torch, 3)])
    added = squares(torch, 2) + squares(torch, 2)
    return (
        len(both),
        both[3],
        both[-1],
        both.cumulative_sizes,
        len(added),
        raised(lambda: both[-9], ValueError),
        raised(lambda: both[9], IndexError),
    )


def side_by_side(torch):
    D = torch.utils.data
    d = D.StackDataset(image=torch.arange(4), text=["a", "b", "c", "d"])
    t = D.StackDataset(torch.arange(3), torch.arange(3) * 2)
    return d[1], t[2], len(d), [b for b in D.DataLoader(d, batch_size=3)]


def streams(torch):
    class Count(torch.utils.data.IterableDataset):
        def __init__(self, n):
            self.n = n

        def __iter__(self):
            return iter(range(self.n))

    loader = torch.utils.data.DataLoader(Count(5), batch_size=2)
    chained = torch.utils.data.ChainDataset([Count(2), Count(3)])
    return (
        [b for b in loader],
        list(chained),
        raised(lambda: len(loader), TypeError),
        raised(lambda: torch.utils.data.DataLoader(Count(3), shuffle=True), ValueError),
    )


def collated(torch):
    c = torch.utils.data.default_collate
    return {
        "numbers": c([1, 2, 3]),
        "floats": c([1.0, 2.5]),
        "tensors": c([torch.ones(2), torch.zeros(2)]),
        "tuples": c([(1, "a"), (2, "b")]),
        "dicts": c([{"x": 1, "y": [1, 2]}, {"x": 2, "y": [3, 4]}]),
        "named": list(c([Pair(1, 2.0), Pair(3, 4.0)])._asdict().items()),
        "strings": c(["a", "b"]),
        "bool": c([True, False]),
        "ragged": raised(lambda: c([[1], [1, 2]])),
        "sizes": raised(lambda: c([torch.ones(2), torch.ones(3)])),
        "object": raised(lambda: c([None, None]), TypeError),
    }


def collated_from_numpy(torch):
    import numpy

    c = torch.utils.data.default_collate
    return (
        c([numpy.ones(2, "f"), numpy.zeros(2, "f")]),
        c([numpy.float64(1), numpy.float64(2)]),
        c([numpy.int32(3)]),
        torch.utils.data.default_convert(numpy.arange(2)),
        torch.utils.data.default_convert({"a": "b"}),
    )


def own_collate(torch):
    texts = [[1, 2, 3], [4], [5, 6]]

    def pad(batch):
        lengths = torch.tensor([len(t) for t in batch])
        return torch.nn.utils.rnn.pad_sequence([torch.tensor(t) for t in batch], batch_first=True), lengths

    loader = torch.utils.data.DataLoader(texts, batch_size=2, collate_fn=pad)
    return [b for b in loader]


def plain_lists(torch):
    loader = torch.utils.data.DataLoader(list(range(5)), batch_size=2)
    pairs = torch.utils.data.DataLoader([(1.0, "a"), (2.0, "b"), (3.0, "c")], batch_size=2)
    return (
        [b for b in loader],
        [list(b) for b in pairs],
        [b for b in torch.utils.data.DataLoader(torch.arange(4.0), batch_size=3)],
    )


def samplers(torch):
    D = torch.utils.data
    data = squares(torch, 5)
    batch = D.BatchSampler(D.SequentialSampler(data), 2, drop_last=False)
    torch.manual_seed(0)
    return {
        "sequential": list(D.SequentialSampler(data)),
        "random": sorted(D.RandomSampler(data)),
        "replaced": len(list(D.RandomSampler(data, replacement=True, num_samples=8))),
        "subset": sorted(D.SubsetRandomSampler([4, 2])),
        "weighted": list(D.WeightedRandomSampler([0.0, 0.0, 1.0], 4)),
        "batches": list(batch),
        "dropped": list(D.BatchSampler(range(5), 2, drop_last=True)),
        "lengths": [len(batch), len(D.RandomSampler(data, num_samples=3))],
        "negative": raised(lambda: D.RandomSampler(data, num_samples=-1), ValueError),
        "empty": raised(lambda: D.RandomSampler([]), ValueError),
        "size": raised(lambda: D.BatchSampler(range(5), 0, drop_last=False), ValueError),
    }


def loader_with_a_sampler(torch):
    D = torch.utils.data
    data = squares(torch)
    odd = D.DataLoader(data, batch_size=2, sampler=[1, 3, 5])
    own = D.DataLoader(data, batch_sampler=[[0, 6], [2]])
    return (
        [y for _, y in odd],
        [x[:, 0] for x, _ in own],
        len(odd),
        len(own),
        raised(lambda: D.DataLoader(data, sampler=[1], shuffle=True), ValueError),
        raised(lambda: D.DataLoader(data, batch_sampler=[[0]], batch_size=2), ValueError),
    )


def loader_errors(torch):
    D = torch.utils.data

    class Broken(D.Dataset):
        def __len__(self):
            return 3

        def __getitem__(self, i):
            return 1 / (i - 1)

    return {
        "workers": raised(lambda: D.DataLoader([1], num_workers=-1), ValueError),
        "timeout": raised(lambda: D.DataLoader([1], timeout=-1), ValueError),
        "prefetch": raised(lambda: D.DataLoader([1], prefetch_factor=2), ValueError),
        "persistent": raised(lambda: D.DataLoader([1], persistent_workers=True), ValueError),
        "broken": raised(lambda: list(D.DataLoader(Broken(), batch_size=1)), ZeroDivisionError),
        "unwritten": raised(lambda: D.Dataset()[0], NotImplementedError),
        "change": raised(lambda: setattr(D.DataLoader([1]), "batch_size", 4), ValueError),
        "none": raised(lambda: D.DataLoader([1], batch_size=None, drop_last=True), ValueError),
    }


def distributed_sampler(torch):
    S = torch.utils.data.distributed.DistributedSampler
    data = list(range(7))
    parts = [list(S(data, num_replicas=3, rank=r, shuffle=False)) for r in range(3)]
    dropped = [list(S(data, num_replicas=3, rank=r, shuffle=False, drop_last=True)) for r in range(3)]
    s = S(data, num_replicas=2, rank=0)
    s.set_epoch(1)
    return parts, dropped, len(s), raised(lambda: S(data, num_replicas=2, rank=2), ValueError)


def workers_keep_the_order(torch):
    loader = torch.utils.data.DataLoader(list(range(6)), batch_size=2, num_workers=2)
    return [b for b in loader], [b for b in loader], torch.utils.data.get_worker_info()


def epochs_of_training(torch):
    x = values(torch, 8, 2)
    d = torch.utils.data.TensorDataset(x, x.sum(1, keepdim=True))
    w = torch.zeros(2, 1, dtype=x.dtype, requires_grad=True)
    losses = []
    for epoch in range(3):
        total = 0.0
        for a, b in torch.utils.data.DataLoader(d, batch_size=3):
            loss = torch.nn.functional.mse_loss(a @ w, b)
            loss.backward()
            with torch.no_grad():
                w -= 0.1 * w.grad
                w.grad = None
            total += loss.item() * len(a)
        losses.append(total / len(d))
    return losses, w.detach()
