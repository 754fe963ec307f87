"""Gradients against central differences that NumPy computes from values alone."""

import neura
import numpy as np
import pytest
from neura.nn import functional as F

R = np.random.RandomState(3)
FUNCTIONS = {
    "exp": (lambda x: x.exp(), [(3, 4)]),
    "product": (lambda a, b: a @ b, [(2, 3), (3, 4)]),
    "quotient": (lambda a, b: a / (b * b + 1), [(2, 3), (3,)]),
    "softmax": (lambda x: F.softmax(x, dim=0), [(3, 4)]),
    "where": (lambda a, b: neura.where(a > 0, a * b, a - b), [(5,), (5,)]),
    "indexed": (lambda x: x[[2, 0, 2], 1:], [(3, 4)]),
    "written in place": (lambda a, b: (a * 1).index_add_(0, neura.tensor([1, 1]), b), [(3, 2), (2, 2)]),
    "conv2d": (lambda x, w: F.conv2d(x, w, padding=1, stride=2), [(1, 2, 5, 4), (3, 2, 3, 3)]),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (4,), w, b), [(3, 4), (4,), (4,)]),
    "cross_entropy": (lambda x: F.cross_entropy(x, neura.tensor([1, 0, 3])), [(3, 4)]),
    "std": (lambda x: x.std(dim=1), [(2, 5)]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_are_those_of_the_values(name):
    function, shapes = FUNCTIONS[name]
    arrays = [R.randn(*s) for s in shapes]
    inputs = [neura.from_numpy(a.copy()).requires_grad_() for a in arrays]
    y = function(*inputs)
    weights = np.array(R.randn(*y.shape))
    (y * neura.from_numpy(weights)).sum().backward()

    def value():
        return (function(*map(neura.from_numpy, arrays)).numpy() * weights).sum()

    for array, x in zip(arrays, inputs):
        numeric = np.zeros_like(array)
        for place in np.ndindex(*array.shape):
            start, step = array[place], 1e-6
            array[place] = start + step
            above = value()
            array[place] = start - step
            numeric[place] = (above - value()) / (2 * step)
            array[place] = start
        np.testing.assert_allclose(x.grad.numpy(), numeric, rtol=1e-6, atol=1e-8)


def test_what_no_grad_and_retain_graph_do_to_them():
    x = neura.tensor([1.0, 2.0], requires_grad=True)
    with neura.no_grad():
        assert not (x * x).requires_grad
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [4, 8]  # twice 2 x
    with pytest.raises(RuntimeError, match="retain_graph"):
        y.backward()
    (g,) = neura.autograd.grad((x.detach().requires_grad_() ** 2).sum(), x, allow_unused=True)
    assert g is None


def test_where_of_a_tensor_is_where_with_it_first():
    condition = neura.tensor([[True, False, True], [False, False, True]])
    gradients = []
    for call in (lambda x, y: x.where(condition, y), lambda x, y: neura.where(condition, x, y)):
        x, y = neura.tensor([[1.0], [2.0]], requires_grad=True), neura.tensor([5.0, 6.0, 7.0], requires_grad=True)
        out = call(x, y)
        (out * neura.arange(1.0, 7).view(2, 3)).sum().backward()
        assert out.tolist() == [[1, 6, 1], [5, 6, 2]]
        gradients.append((x.grad.tolist(), y.grad.tolist()))
    assert gradients[0] == gradients[1] == ([[4], [6]], [4, 7, 0])
