"""Indexing as users write it: masks, negative numbers, writes through views, scatter, ties and empty results."""

from program_helpers import raised, values


def mixed_index(torch):
    x = torch.arange(60).view(3, 4, 5)
    rows = torch.tensor([0, 2])
    return {
        "between": x[rows, :, torch.tensor([1, -1])],
        "side": x[:, rows, torch.tensor([1, 3])],
        "none": x[None, 1, ..., -1].shape,
        "ellipsis": x[..., 0, 1:3],
        "list": x[[0, 2], [1, 1]],
        "range": x[1:2, ::2, ::3],
        "tensor": x[torch.tensor(1), 2],
        "bool": x[True].shape,
        "pairs": x[rows[:, None], torch.tensor([0, 3])].shape,
    }


def masks(torch):
    x = values(torch, 3, 4)
    m = x > 0
    x2 = x.clone()
    x2[m] = 0
    x3 = x.clone()
    x3[m] *= 10
    return (
        x[m],
        x2,
        x3,
        x[x.sum(1) > 0],
        x[:, m[0]],
        x[m & (x < 0.5)].sum(),
        torch.masked_select(x, m[0]),
        x[x > 9].shape,
    )


def in_place_of_parts(torch):
    x = torch.zeros(3, 4)
    x[1] = 1
    x[:, 2] += torch.tensor([1.0, 2.0, 3.0])
    x[0, 1:3] = torch.tensor([7, 8])
    x[-1, ::2] = x[0, ::2] * 2
    x[..., 3] = torch.arange(3)
    x[torch.tensor([0, 2]), torch.tensor([0, 0])] = -1.0
    return x


def views_are_windows(torch):
    x = torch.zeros(2, 3)
    row, column, flat = x[0], x[:, 1], x.view(-1)
    row.fill_(1)
    column.add_(5)
    flat[5] = -1
    t = x.t()
    t[2, 0] = 9
    copied = x[[0]]
    copied.zero_()
    return (
        x,
        t,
        flat,
        x._version > 0,
        t.is_contiguous(),
        x[[0]].data_ptr() == x.data_ptr(),
        x[0].data_ptr() == x.data_ptr(),
    )


def negative_step(torch):
    x = torch.arange(5)
    refused = raised(lambda: x[::-1], ValueError)
    return refused, x.flip(0), x[torch.arange(4, -1, -1)], raised(lambda: x[5], IndexError), x[5:].shape, x[-9:2]


def index_errors(torch):
    x = torch.ones(2, 3)
    return {
        "out": raised(lambda: x[2], IndexError),
        "many": raised(lambda: x[0, 0, 0], IndexError),
        "float": raised(lambda: x[1.0], IndexError),
        "float tensor": raised(lambda: x[torch.tensor([1.0])], IndexError),
        "mask": raised(lambda: x[torch.ones(3, dtype=torch.bool)], IndexError),
        "shapes": raised(lambda: x[torch.tensor([0, 1]), torch.tensor([0, 1, 2])], IndexError),
        "far": raised(lambda: x[torch.tensor([5])], IndexError),
        "assign": raised(lambda: x.__setitem__(0, torch.ones(2))),
        "scalar": raised(lambda: torch.tensor(1.0)[0], IndexError),
        "iterate": raised(lambda: iter(torch.tensor(1.0)), TypeError),
        "len": raised(lambda: len(torch.tensor(1.0)), TypeError),
        "select": raised(lambda: x.select(0, 4), IndexError),
    }


def gather_of_classes(torch):
    scores = values(torch, 4, 3).log_softmax(1)
    y = torch.tensor([0, 2, 1, 1])
    picked = scores.gather(1, y.unsqueeze(1)).squeeze(1)
    return picked, scores[torch.arange(4), y], -picked.mean(), torch.take_along_dim(scores, y[:, None], dim=1)


def scatter_kinds(torch):
    index = torch.tensor([0, 1, 0, 2, 1])
    x = torch.tensor([1.0, 2, 3, 4, 5])
    zeros = torch.zeros(3)
    reduced = {r: zeros.scatter_reduce(0, index, x, r) for r in ("sum", "prod", "mean", "amax", "amin")}
    fresh = {r: torch.ones(4).scatter_reduce(0, index, x, r, include_self=False) for r in ("prod", "mean", "amax")}
    onehot = torch.zeros(5, 3).scatter_(1, index[:, None], 1)
    return reduced, fresh, onehot, zeros.scatter_add(0, index, x), zeros.index_add(0, index, x, alpha=-1)


def one_hot_ways(torch):
    y = torch.tensor([2, 0, 1])
    return (
        torch.nn.functional.one_hot(y),
        torch.nn.functional.one_hot(y, 5),
        torch.eye(3)[y],
        (y[:, None] == torch.arange(3)).long(),
    )


def index_writes(torch):
    x = torch.zeros(4, 2)
    i = torch.tensor([3, 0])
    x.index_fill_(0, i, 5)
    x.index_copy_(0, torch.tensor([1]), torch.tensor([[1.0, 2.0]]))
    x.index_put_((torch.tensor([2, 2]), torch.tensor([0, 0])), torch.tensor([1.0, 2.0]), accumulate=True)
    return (
        x,
        x.index_select(1, torch.tensor([1, 1, 0])),
        x.take(torch.tensor([0, -1])),
        x.put(torch.tensor([1]), torch.tensor([9.0])),
    )


def where_forms(torch):
    x = torch.tensor([[1, -2], [-3, 4]])
    i, j = torch.where(x < 0)
    return (
        torch.where(x > 0, x, 0),
        torch.where(x > 0, 1.5, x),
        i,
        j,
        torch.where(x > 0, x, torch.tensor(0.5)).dtype == torch.float32,
    )


def nonzero_forms(torch):
    x = torch.tensor([[0, 3, 0], [1, 0, 2]])
    return (
        x.nonzero(),
        x.nonzero(as_tuple=True),
        torch.argwhere(x),
        torch.count_nonzero(x, dim=0),
        torch.nonzero(torch.tensor(5)).shape,
    )


def masked_forms(torch):
    x, m = torch.arange(6.0).view(2, 3), torch.tensor([True, False, True])
    source = torch.tensor([10.0, 20, 30, 40, 50])
    return (
        x.masked_fill(m, float("-inf")),
        x.masked_scatter(m, source),
        x.masked_fill(m, 0).sum(),
        m.nonzero().flatten(),
    )


def top_and_ties(torch):
    x = torch.tensor([[3.0, 1, 3, 2], [0.0, 5, 4, 5]])
    v, i = x.topk(2)
    s, order = x.sort(dim=1, descending=True, stable=True)
    return (
        v,
        s,
        order,
        x.argsort(dim=1, stable=True),
        x.max(1).values,
        x.kthvalue(2).values,
        x.topk(2, largest=False).values,
    )


def padded_sequences(torch):
    lengths = torch.tensor([3, 1, 2])
    mask = torch.arange(3)[None, :] < lengths[:, None]
    x = values(torch, 3, 3) * mask
    last = x[torch.arange(3), lengths - 1]
    return mask, x.sum(1) / lengths, last, x.flip(1), torch.repeat_interleave(torch.arange(3), lengths)


def splitting(torch):
    x = torch.arange(10)
    return {
        "chunk": [c.tolist() for c in x.chunk(4)],
        "split": [c.tolist() for c in x.split(4)],
        "sizes": [c.tolist() for c in x.split([2, 3, 5])],
        "tensor": [c.tolist() for c in x.tensor_split((3, 7))],
        "array": [c.tolist() for c in torch.tensor_split(x, 3)],
        "unbind": [int(v) for v in x[:3].unbind()],
        "hsplit": [c.shape for c in torch.ones(2, 4).hsplit(2)],
        "bad": raised(lambda: x.split([2, 3])),
        "unfold": x.unfold(0, 4, 3),
    }


def joining(torch):
    a, b = torch.ones(2, 2), torch.arange(4).view(2, 2)
    return {
        "cat": torch.cat([a, b]),
        "stack": torch.stack([a, a * 2], dim=-1).shape,
        "hstack": torch.hstack([a, b]),
        "column": torch.column_stack([torch.arange(2), a]),
        "dstack": torch.dstack([a, a]).shape,
        "empty": torch.cat([torch.tensor([]), torch.ones(2)]),
        "block": torch.block_diag(a, torch.tensor([[5.0]])),
        "product": torch.cartesian_prod(torch.tensor([1, 2]), torch.tensor([3, 4])),
        "pairs": torch.combinations(torch.arange(3)),
        "bad": raised(lambda: torch.cat([a, torch.ones(3, 3)])),
        "none": raised(lambda: torch.stack([])),
    }


def searching(torch):
    edges = torch.tensor([1.0, 3, 5, 7])
    x = torch.tensor([0.0, 1, 4, 7, 9])
    return {
        "left": torch.searchsorted(edges, x),
        "right": torch.searchsorted(edges, x, right=True),
        "bucketize": torch.bucketize(x, edges),
        "isin": torch.isin(torch.arange(5), torch.tensor([1, 3])),
        "not": torch.isin(torch.arange(5), 2, invert=True),
        "unique": torch.unique(torch.tensor([3, 1, 3, 2]), return_inverse=True, return_counts=True),
        "runs": torch.unique_consecutive(torch.tensor([1, 1, 2, 2, 1]), return_counts=True),
        "rows": torch.unique(torch.tensor([[1, 2], [0, 1], [1, 2]]), dim=0),
    }


def gradient_of_indexing(torch):
    x = values(torch, 4, 3).requires_grad_()
    i = torch.tensor([0, 0, 3])
    (x[i] ** 2).sum().backward()
    first = x.grad.clone()
    x.grad = None
    x.masked_fill(x > 0, 0).gather(1, torch.tensor([[0, 0], [1, 2], [2, 2], [0, 1]])).sum().backward()
    return first, x.grad


def gradient_of_writes(torch):
    w = values(torch, 3).requires_grad_()
    x = torch.zeros(2, 3, dtype=torch.float64)
    x[0] = w * 2
    x[1, :2] = w[1:] ** 2
    x[:, 0] *= 3
    x.sum().backward()
    return w.grad, x.detach(), x.requires_grad, x.grad_fn is not None


def dimensions(torch):
    x = torch.arange(24).view(2, 3, 4)
    return {
        "movedim": x.movedim(0, -1).shape,
        "permute": x.permute(2, 0, 1).stride(),
        "swap": x.swapaxes(0, 1)[0],
        "flatten": x.flatten(1).shape,
        "unflatten": x.unflatten(-1, (2, -1)).shape,
        "squeeze": x[None, :, :, None].squeeze((0, 3)).shape,
        "roll": x[0].roll(1, dims=1),
        "rot90": torch.rot90(x[0]),
        "expand": x[:1].expand(5, -1, 4).stride(),
        "narrow": x.narrow(1, 1, 2)[0, :, 0],
        "diagonal": x.diagonal(dim1=1, dim2=2),
        "view": raised(lambda: x.permute(2, 0, 1).view(-1)),
        "guess": raised(lambda: x.view(5, -1)),
        "mT": x.mT.shape,
        "tile": x[0, 0].tile(2),
        "repeat": x[0, 0, :2].repeat(2, 2),
    }
