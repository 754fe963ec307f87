"""Views alias their base, indexing is NumPy's, and writes in place obey one table of rules."""

import random

import neura
import numpy as np
import pytest
from neura import errors

VIEWS = {  # name: (shape of the base, the view, the same on a NumPy array)
    "view": ((2, 6), lambda x: x.view(3, 4), lambda a: a.reshape(3, 4)),
    "reshape": ((2, 6), lambda x: x.reshape(-1), lambda a: a.reshape(-1)),
    "flatten": ((2, 3, 2), lambda x: x.flatten(1), lambda a: a.reshape(2, 6)),
    "unflatten": ((2, 6), lambda x: x.unflatten(1, (2, 3)), lambda a: a.reshape(2, 2, 3)),
    "transpose": ((2, 3), lambda x: x.transpose(0, 1), lambda a: a.T),
    "t": ((2, 3), lambda x: x.t(), lambda a: a.T),
    "T": ((2, 3), lambda x: x.T, lambda a: a.T),
    "mT": ((2, 3, 2), lambda x: x.mT, lambda a: a.swapaxes(1, 2)),
    "permute": ((2, 3, 4), lambda x: x.permute(2, 0, 1), lambda a: a.transpose(2, 0, 1)),
    "movedim": ((2, 3, 4), lambda x: x.movedim(0, 2), lambda a: np.moveaxis(a, 0, 2)),
    "swapaxes": ((2, 3), lambda x: x.swapaxes(0, 1), lambda a: a.T),
    "unsqueeze": ((2, 3), lambda x: x.unsqueeze(1), lambda a: a[:, None]),
    "squeeze": ((2, 1, 3), lambda x: x.squeeze(1), lambda a: a[:, 0]),
    "expand": ((2, 1), lambda x: x.expand(2, 3), lambda a: np.broadcast_to(a, (2, 3))),
    "select": ((3, 4), lambda x: x.select(1, -2), lambda a: a[:, -2]),
    "narrow": ((5,), lambda x: x.narrow(0, 1, 3), lambda a: a[1:4]),
    "slice": ((6, 4), lambda x: x[1::2, :3], lambda a: a[1::2, :3]),
    "diagonal": ((4, 4), lambda x: x.diagonal(1), lambda a: np.diagonal(a, 1)),
    "unfold": ((6,), lambda x: x.unfold(0, 3, 2), lambda a: np.lib.stride_tricks.sliding_window_view(a, 3)[::2]),
    "as_strided": ((6,), lambda x: x.as_strided((2, 2), (3, 1), 1), lambda a: a[1:].reshape(-1)[[[0, 1], [3, 4]]]),
    "chunk": ((5,), lambda x: x.chunk(2)[1], lambda a: a[3:]),
    "split": ((5,), lambda x: x.split([2, 3])[1], lambda a: a[2:]),
    "unbind": ((3, 2), lambda x: x.unbind()[2], lambda a: a[2]),
    "tensor_split": ((5,), lambda x: x.tensor_split([1, 4])[1], lambda a: a[1:4]),
    "detach": ((3,), lambda x: x.detach(), lambda a: a),
    "data": ((3,), lambda x: x.data, lambda a: a),
    "view_as": ((2, 3), lambda x: x.view_as(neura.ones(6)), lambda a: a.reshape(6)),
    "expand_as": ((1, 3), lambda x: x.expand_as(neura.ones(2, 3)), lambda a: np.broadcast_to(a, (2, 3))),
    "real": ((3,), lambda x: x.real, lambda a: a),
}
DTYPES = [neura.float64, neura.float32, neura.int64, neura.uint8, neura.bfloat16, neura.complex64]


@pytest.mark.parametrize("name", VIEWS)
def test_views_alias_their_base(name):
    shape, view, numpy_view = VIEWS[name]
    for dtype in DTYPES[:-1] if name == "real" else DTYPES:
        x = neura.arange(int(np.prod(shape))).view(shape).to(dtype)
        y, a = view(x), np.arange(np.prod(shape)).reshape(shape)
        assert y.tolist() == numpy_view(a).tolist() and y.shape == numpy_view(a).shape
        assert y.untyped_storage() is x.untyped_storage()
        x.add_(1)  # a write through the base is seen in the view
        assert y.tolist() == (numpy_view(a) + 1).tolist()
        version = x._version
        y[(0,) * y.dim()] = 40  # and the other way round
        assert 40 in x and (x._version > version) == (name != "data")


@pytest.mark.parametrize("name", [n for n in VIEWS if n not in ("detach", "data", "tensor_split")])
def test_gradients_of_views(name):
    shape, view, _ = VIEWS[name]
    x = neura.rand(shape, dtype=neura.float64, requires_grad=True)
    y = view(x * 1)
    w = neura.rand(y.shape, dtype=neura.float64)
    (g,) = neura.autograd.grad((y * w).sum(), x)
    step = 1e-6
    for i in np.ndindex(*shape):
        shifted = x.detach().clone()
        shifted[i] += step
        slope = ((view(shifted) - view(x.detach())) * w).sum() / step
        assert abs(float(g[i]) - float(slope)) < 1e-4


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda x: x.view(5), RuntimeError),
        (lambda x: x.T.view(6), RuntimeError),
        (lambda x: x.view(-1, -1), RuntimeError),
        (lambda x: x.transpose(0, 2), IndexError),
        (lambda x: x.permute(0, 0), RuntimeError),
        (lambda x: x.permute(0), RuntimeError),
        (lambda x: x.permute(0, 3), IndexError),
        (lambda x: x.unsqueeze(4), IndexError),
        (lambda x: x.squeeze(2), IndexError),
        (lambda x: x.expand(3, 3), RuntimeError),
        (lambda x: x.select(0, 2), IndexError),
        (lambda x: x.narrow(0, 1, 2), (RuntimeError, IndexError)),
        (lambda x: x.flatten(1, 0), RuntimeError),
        (lambda x: x.unflatten(1, (2, 2)), RuntimeError),
        (lambda x: x.split([1, 2], 1) and x.split([1, 1, 2], 1), RuntimeError),
        (lambda x: x.unfold(0, 3, 1), RuntimeError),
        (lambda x: x.as_strided((9,), (1,)), RuntimeError),
        (lambda x: x.chunk(0), RuntimeError),
        (lambda x: x[::-1], ValueError),
    ],
)
def test_views_that_do_not_exist(call, error):
    with pytest.raises(error):
        call(neura.ones(2, 3))


def key_of(r, shape):
    """A random index per dimension. Beside arrays a number is one of them to NumPy, but not to PyTorch."""
    key, arrays = [], r.random() < 0.5
    length = r.randrange(1, 4)
    for size in shape[: r.randrange(1, len(shape) + 1)]:
        kind = r.randrange(6)
        if kind == 0 and not arrays:
            key.append(r.randrange(-size, size))
        elif kind == 1:
            key.append(slice(r.choice([None, 0, 1, -2]), r.choice([None, size, -1]), r.choice([None, 1, 2])))
        elif kind == 2 and arrays:
            key.append([r.randrange(-size, size) for _ in range(length)])
        elif kind == 3:
            key += [None, slice(None)]
        elif kind == 4 and arrays:
            mask = np.array([False] * size)
            mask[:length] = True
            key.append(mask if mask.sum() == length else slice(None))
        else:
            key.append(slice(None))
    if r.random() < 0.2 and len(key) < len(shape):
        key.append(Ellipsis)
    return tuple(key)


def test_random_indices_as_numpy():
    r = random.Random(5)
    for _ in range(1500):
        shape = tuple(r.randrange(2, 5) for _ in range(r.randrange(1, 5)))
        a, key = np.arange(np.prod(shape)).reshape(shape), key_of(r, shape)
        x = neura.tensor(a)
        ours = tuple(neura.tensor(k) if isinstance(k, np.ndarray) else k for k in key)
        want = a[key]
        assert np.array_equal(x[ours].numpy(), want) and tuple(x[ours].shape) == want.shape, key
        a[key] = 7
        x[ours] = 7
        assert np.array_equal(x.numpy(), a), key
        part = a[key] * 3
        a[key] = part
        x[ours] = neura.tensor(part)
        assert np.array_equal(x.numpy(), a), key


IN_PLACE = {
    "add_": lambda t: t.add_(1),
    "mul_": lambda t: t.mul_(2),
    "div_": lambda t: t.div_(2),
    "sub_": lambda t: t.sub_(1),
    "pow_": lambda t: t.pow_(2),
    "clamp_": lambda t: t.clamp_(0, 1),
    "fill_": lambda t: t.fill_(3),
    "zero_": lambda t: t.zero_(),
    "copy_": lambda t: t.copy_(neura.ones(3)),
    "masked_fill_": lambda t: t.masked_fill_(t.detach() > 0, 2.0),
    "scatter_": lambda t: t.scatter_(0, neura.tensor([0, 1]), neura.ones(2)),
    "scatter_add_": lambda t: t.scatter_add_(0, neura.tensor([0, 1]), neura.ones(2)),
    "index_put_": lambda t: t.index_put_((neura.tensor([0, 1]),), neura.ones(2)),
    "setitem": lambda t: (t.__setitem__(slice(0, 2), 4.0), t)[1],
    "index_add_": lambda t: t.index_add_(0, neura.tensor([0]), neura.ones(1)),
    "+=": lambda t: t.__iadd__(1),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_rules_of_writing_in_place(name):
    write = IN_PLACE[name]
    plain = neura.rand(3)
    place = plain.data_ptr()
    assert write(plain) is plain and plain.data_ptr() == place and plain.shape == (3,)
    leaf = neura.rand(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf"):
        write(leaf)
    with pytest.raises(RuntimeError):
        write(leaf[:])  # a view of a leaf
    with neura.no_grad():
        assert write(leaf) is leaf and leaf.requires_grad and leaf.is_leaf
    result = leaf * 1
    write(result)
    result.sum().backward()  # recorded
    assert leaf.grad is not None
    saved = neura.rand(3, requires_grad=True) * 1
    y = saved * saved
    write(saved)
    with pytest.raises(RuntimeError, match="version"):
        y.sum().backward()
    detached = (base := leaf * 1).detach()
    write(detached)
    assert neura.equal(base.detach(), detached)  # shares the memory
    copy = base.clone()
    before = base.tolist()
    with neura.no_grad():
        write(copy)
    assert base.tolist() == before


def test_in_place_never_changes_shape_or_dtype():
    x = neura.ones(3)
    for call in (
        lambda: x.add_(neura.ones(2, 3)),
        lambda: x.mul_(neura.ones(2, 1)),
        lambda: neura.ones(3, dtype=neura.int64).add_(0.5),
        lambda: neura.ones(3, dtype=neura.bool).mul_(2.5),
        lambda: x.add_(1j),
        lambda: neura.ones(1).expand(3).add_(1),
    ):
        with pytest.raises((RuntimeError, TypeError)):
            call()
    assert x.tolist() == [1, 1, 1]
    assert neura.ones(2, 3).add_(neura.ones(3)).tolist() == [[2, 2, 2], [2, 2, 2]]


def test_reductions_into_named_elements_in_place():
    index, source = neura.tensor([0, 2, 0]), neura.tensor([2.0, 3.0, 5.0])
    for name, words in (("scatter_reduce", "sum prod mean amax amin"), ("index_reduce", "prod mean amax amin")):
        for word in words.split():
            for own in (True, False):
                x = neura.tensor([7.0, 1.0, 4.0])
                expected = getattr(x, name)(0, index, source, word, include_self=own)
                assert getattr(x, name + "_")(0, index, source, word, include_self=own) is x
                assert neura.equal(x, expected)


def test_a_value_that_fills_has_a_gradient_in_place_too():
    value = neura.tensor(2.0, requires_grad=True)
    x = neura.zeros(3).index_fill_(0, neura.tensor([0, 2]), value)
    assert x.tolist() == [2, 0, 2]
    (x * neura.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert value.grad.item() == 4


def test_a_tensor_is_laid_into_other_memory():
    x = neura.arange(6.0)
    for source in (x, x.untyped_storage(), x.storage()):
        y = neura.empty(0)
        assert y.set_(source) is y and y.tolist() == x.tolist() and y.data_ptr() == x.data_ptr()
        assert y.set_(source, 1, (2, 2), (2, 1)).tolist() == [[1, 2], [3, 4]] and y.storage_offset() == 1
        assert y.set_(source, 2, (3,)).tolist() == [2, 3, 4]
    y = neura.empty(0).set_(x[2:4])
    y.fill_(7)
    assert x.tolist() == [0, 1, 7, 7, 4, 5] and y.set_().numel() == 0
    net = neura.nn.Linear(2, 2)
    with neura.no_grad():
        net.weight.set_(neura.ones(3, 2))
    assert net.weight.shape == (3, 2) and net.weight.requires_grad
    for bad, kind in (
        (lambda: neura.empty(0).set_(x.untyped_storage(), 1, (9,)), ValueError),
        (lambda: neura.empty(0).set_(x.untyped_storage(), -1, (2,)), ValueError),
        (lambda: neura.empty(0).set_(neura.ones(2).long()), errors.DTypeError),
        (lambda: neura.empty(0).set_(3), TypeError),
        (lambda: neura.empty(0, requires_grad=True).set_(x), RuntimeError),
    ):
        with pytest.raises(kind, match="set_: expected"):
            bad()


@pytest.mark.parametrize(
    "call",
    [
        lambda: neura.ones([2] * 12),
        lambda: neura.zeros(*[1] * 12),
        lambda: neura.ones(1).reshape([1] * 12),
        lambda: neura.ones(1).view(*[1] * 12),
        lambda: neura.ones(1).expand([1] * 12),
        lambda: neura.ones(1).repeat(*[1] * 12),
        lambda: neura.randn([1] * 12),
    ],
)
def test_more_dimensions_than_there_can_be_are_counted(call):
    with pytest.raises(errors.ShapeError, match="expected at most 8 dimensions, got 12; flatten some of them"):
        call()
