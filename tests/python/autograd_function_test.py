"""neura.autograd.Function: what forward and backward see, and what becomes of mistakes."""

import traceback

import pytest

import neura
from neura.autograd import Function, gradcheck, gradgradcheck, once_differentiable


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * x * x


def leaf(*values):
    return neura.tensor(values, dtype=neura.float64, requires_grad=True)


def test_values_and_both_derivatives():
    x = leaf(1.0, 2.0, -0.5)
    y = Cube.apply(x)
    assert y.tolist() == [1.0, 8.0, -0.125]
    (d,) = neura.autograd.grad(y.sum(), x, create_graph=True)
    (dd,) = neura.autograd.grad(d.sum(), x)
    assert d.tolist() == [3.0, 12.0, 0.75] and dd.tolist() == [6.0, 12.0, -3.0]
    assert gradcheck(Cube.apply, x) and gradgradcheck(Cube.apply, x)


def test_the_node_is_the_context_and_has_its_name():
    y = Cube.apply(leaf(1.0))
    assert y.grad_fn.name() == "CubeBackward" and type(y.grad_fn).__name__ == "CubeBackward"
    assert y.grad_fn is y.grad_fn
    assert y.grad_fn.next_functions[0][0].name() == "torch::autograd::AccumulateGrad"
    assert "grad_fn=<CubeBackward>" in repr(y)


class Affine(Function):
    @staticmethod
    def forward(ctx, x, scale=2.0, *, shift=None):
        raise AssertionError("never called")


class Scale(Function):
    @staticmethod
    def forward(x, factor=2.0, shift=0.0):
        return x * factor + shift

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.x, ctx.factor, ctx.shift = inputs
        assert output.tolist() == (inputs[0] * inputs[1] + inputs[2]).tolist()

    @staticmethod
    def backward(ctx, g):
        assert ctx.needs_input_grad == (True, False, False)
        return g * ctx.factor, None, None


def test_setup_context_with_defaults_and_keywords():
    x = leaf(1.0, 2.0)
    Scale.apply(x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    x.grad = None
    y = Scale.apply(x, shift=1.0, factor=3.0)
    assert y.tolist() == [4.0, 7.0]
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
    with pytest.raises(TypeError, match="shift"):
        Affine.apply(x, scale=1.0)


class Split(Function):
    """Many results, one that is no tensor, one without a gradient."""

    @staticmethod
    def forward(ctx, x, n, note):
        ctx.set_materialize_grads(note != "none")
        parts = tuple(x[i] * (i + 1) for i in range(n))
        count = neura.tensor(n)
        last = x.sum()
        ctx.mark_non_differentiable(last)
        return (*parts, count, note, last)

    @staticmethod
    def backward(ctx, *grads):
        *grads, count, note, last = grads
        ctx.seen = [None if g is None else g.item() for g in grads]
        assert note is None
        total = [neura.zeros((), dtype=neura.float64) if g is None else g * (i + 1) for i, g in enumerate(grads)]
        return neura.stack(total), None, None


def test_any_number_of_results():
    x = neura.arange(40, dtype=neura.float64).requires_grad_()
    *parts, count, note, last = Split.apply(x, 40, "all")
    assert len(parts) == 40 and note == "all" and count.item() == 40
    assert not count.requires_grad and not last.requires_grad and parts[39].requires_grad
    node = parts[0].grad_fn
    (parts[0] + parts[7] * 2 + parts[39]).backward()
    want = [0.0] * 40
    want[0], want[7], want[39] = 1.0, 16.0, 40.0
    assert x.grad.tolist() == want
    assert node.seen[0] == 1.0 and node.seen[7] == 2.0 and node.seen[1] == 0.0
    *parts, _, _, _ = Split.apply(x, 40, "none")
    node = parts[3].grad_fn
    parts[3].backward()
    assert node.seen[3] == 1.0 and node.seen[0] is None


def test_many_inputs():
    class Sum(Function):
        @staticmethod
        def forward(ctx, *xs):
            ctx.n = len(xs)
            return sum(x.item() for x in xs) + neura.zeros(1)

        @staticmethod
        def backward(ctx, g):
            assert all(ctx.needs_input_grad)
            return tuple(g * i for i in range(ctx.n))

    xs = [neura.ones(1, requires_grad=True) for _ in range(400)]
    y = Sum.apply(*xs)
    assert y.item() == 400
    y.backward()
    assert [x.grad.item() for x in xs[:3]] == [0, 1, 2] and xs[399].grad.item() == 399


class AddOne(Function):
    @staticmethod
    def forward(ctx, x):
        x.add_(1)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 10


def test_mark_dirty():
    x = leaf(1.0, 2.0)
    h = x * 2
    y = AddOne.apply(h)
    assert y is h and h.tolist() == [3.0, 5.0] and h.grad_fn.name() == "AddOneBackward"
    h.sum().backward()
    assert x.grad.tolist() == [20.0, 20.0]
    with pytest.raises(RuntimeError, match="leaf that requires"):
        AddOne.apply(leaf(1.0))
    with pytest.raises(NotImplementedError, match="clone"):
        AddOne.apply((x * 1)[:1])

    class Forgets(AddOne):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x * 1

    with pytest.raises(RuntimeError, match="result of forward"):
        Forgets.apply(x * 2)


def test_an_input_handed_back_is_another_tensor():
    class Same(Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = leaf(1.0)
    y = Same.apply(x)
    assert y is not x and x.is_leaf and x.grad_fn is None and y.grad_fn.name() == "SameBackward"
    y.backward()
    assert x.grad.item() == 2


def test_a_view_that_comes_back_refuses_writes():
    class View(Function):
        @staticmethod
        def forward(ctx, x):
            return x[:2]

        @staticmethod
        def backward(ctx, g):
            return neura.cat([g, g])

    y = View.apply(leaf(1.0, 2.0, 3.0, 4.0) * 1)
    with pytest.raises(RuntimeError):
        y.add_(1)
    y.sum().backward()


def test_saved_tensors_are_checked_and_released():
    x = leaf(1.0, 2.0)
    h = x * 2
    y = Cube.apply(h)
    h.add_(1)
    with pytest.raises(neura.errors.InplaceError, match="saved tensor 0"):
        y.sum().backward()
    y = Cube.apply(x)
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    with pytest.raises(RuntimeError, match="retain_graph"):
        y.sum().backward()
    with pytest.raises(RuntimeError, match="retain_graph"):
        y.grad_fn.saved_tensors


def test_results_and_intermediates_can_be_saved():
    class Exp(Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(y, None, y * 0 + 2)
            return y

        @staticmethod
        def backward(ctx, g):
            y, nothing, two = ctx.saved_tensors
            assert nothing is None and two.tolist() == [2.0, 2.0]
            return g * y

    assert gradcheck(Exp.apply, leaf(0.3, -1.0)) and gradgradcheck(Exp.apply, leaf(0.3, -1.0))


def test_once_differentiable_refuses_the_second_derivative():
    class Once(Cube):
        @staticmethod
        @once_differentiable
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            assert not neura.is_grad_enabled()
            return g * 3 * x * x

    x = leaf(1.0, 2.0)
    Once.apply(x).sum().backward()
    assert x.grad.tolist() == [3.0, 12.0]
    (d,) = neura.autograd.grad(Once.apply(x).sum(), x, create_graph=True)
    assert d.tolist() == [3.0, 12.0]
    with pytest.raises(RuntimeError, match="once_differentiable"):
        d.sum().backward()
    (d,) = neura.autograd.grad(Once.apply(x).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        neura.autograd.grad(d.sum(), x)


def test_once_differentiable_wants_the_context():
    wrapped = neura.autograd.function.once_differentiable(lambda *args: neura.ones(2))
    for first in (3, None, neura.ones(2)):
        with pytest.raises(TypeError, match="expected the context of a Function first, got"):
            wrapped(first, neura.ones(2))


def test_recording_is_off_in_forward_and_follows_create_graph_in_backward():
    seen = []

    class Modes(Function):
        @staticmethod
        def forward(ctx, x):
            seen.append(neura.is_grad_enabled())
            return x * 2

        @staticmethod
        def backward(ctx, g):
            seen.append(neura.is_grad_enabled())
            return g * 2

    x = leaf(1.0)
    Modes.apply(x).backward()
    neura.autograd.grad(Modes.apply(x), x, create_graph=True)
    assert seen == [False, False, False, True]
    with neura.no_grad():
        assert not Modes.apply(x).requires_grad


def result_of(backward, n=1):
    class Wrong(Function):
        forward = staticmethod(lambda ctx, *xs: xs[0] * 2)

    Wrong.backward = staticmethod(backward)
    xs = [leaf(1.0, 2.0) for _ in range(n)]
    Wrong.apply(*xs).sum().backward()
    return [x.grad if x.grad is None else x.grad.tolist() for x in xs]


@pytest.mark.parametrize(
    "backward, n, error, text",
    [
        (lambda ctx, g: (g, g), 1, ValueError, "expected backward to give 1 gradients, one per input, got 2"),
        (lambda ctx, g: g, 2, ValueError, "expected backward to give 2 gradients"),
        (lambda ctx, g: 3.0, 1, TypeError, "expected backward to give tensors or None, got float"),
        (lambda ctx, g: neura.zeros(3), 1, ValueError, r"gradient of shape \[2\] for input 0, got \[3\]"),
    ],
)
def test_mistakes_in_backward_are_named(backward, n, error, text):
    with pytest.raises(error, match=text):
        result_of(backward, n)


def test_none_is_no_gradient_and_trailing_nones_are_no_mistake():
    assert result_of(lambda ctx, g: (g * 3, None, None)) == [[3, 3]]
    assert result_of(lambda ctx, g: None) == [None]
    assert result_of(lambda ctx, g: (None, g), 2) == [None, [1, 1]]


def test_an_exception_keeps_its_traceback():
    def backward(ctx, g):
        return inner_line(g)

    def inner_line(g):
        raise KeyError("from the depth")

    with pytest.raises(KeyError, match="from the depth") as caught:
        result_of(backward)
    names = [f.name for f in traceback.extract_tb(caught.value.__traceback__)]
    assert names[-2:] == ["backward", "inner_line"]
    x = leaf(1.0)
    x.register_hook(lambda g: inner_line(g))
    with pytest.raises(KeyError) as caught:
        (x * 2).backward()
    assert traceback.extract_tb(caught.value.__traceback__)[-1].name == "inner_line"


def test_wrong_use_is_an_error():
    with pytest.raises(RuntimeError, match="apply"):
        Cube()(1)
    with pytest.raises(NotImplementedError, match="forward"):
        Function.__init_subclass__.__func__(type("Empty", (Function,), {}))
        type("Empty", (Function,), {}).apply(leaf(1.0))
    with pytest.raises(TypeError, match="tuple"):
        type("Lists", (Function,), {"forward": staticmethod(lambda ctx, x: [x * 2])}).apply(leaf(1.0))
    with pytest.raises(TypeError, match="save_for_backward"):
        type("Saves", (Function,), {"forward": staticmethod(lambda ctx, x: ctx.save_for_backward(3))}).apply(leaf(1.0))
