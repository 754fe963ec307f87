"""Checkpoints, anomaly mode, Jacobians and Hessians, gradcheck."""

import contextlib
import gc
import weakref

import pytest

import neura
from neura.autograd import functional, gradcheck, gradgradcheck, graph
from neura.utils.checkpoint import checkpoint, checkpoint_sequential


def leaf(*values):
    return neura.tensor(values, dtype=neura.float64, requires_grad=True)


class Block:
    """A parameter that the function reads beside its inputs, and how often it ran."""

    def __init__(self):
        self.w = (neura.arange(9, dtype=neura.float64).reshape(3, 3) / 10).requires_grad_()
        self.runs = 0

    def __call__(self, x, scale=1.0, *, shift=None):
        self.runs += 1
        y = (x @ self.w).tanh() * scale
        return y if shift is None else y + shift * y


def gradients(f, x, blocks):
    x.grad = None
    for b in blocks:
        b.w.grad = None
    f(x).sum().backward()
    return [x.grad] + [b.w.grad for b in blocks]


def same(a, b):
    return all(bool((p == q).all()) for p, q in zip(a, b))


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_checkpoint_gives_the_same_gradients(use_reentrant):
    b, x = Block(), leaf(0.1, 0.2, 0.3)
    plain = gradients(b, x, [b])
    b.runs = 0
    kept = gradients(lambda x: checkpoint(b, x, use_reentrant=use_reentrant), x, [b])
    assert same(plain, kept) and b.runs == 2


def test_checkpoint_passes_anything_through():
    b, x = Block(), leaf(0.1, 0.2, 0.3)
    shift = leaf(1.0, 2.0, 3.0)

    def f(x, note, options, shift=None):
        assert note == "note" and options == {"scale": 2.0}
        return {"y": b(x, shift=shift, **options)}, note

    result, note = checkpoint(f, x, "note", {"scale": 2.0}, use_reentrant=False, shift=shift)
    assert note == "note"
    result["y"].sum().backward()
    got = [x.grad, shift.grad, b.w.grad]
    x.grad = shift.grad = b.w.grad = None
    b(x, 2.0, shift=shift).sum().backward()
    assert same(got, [x.grad, shift.grad, b.w.grad])


def test_checkpoint_without_an_input_that_needs_a_gradient():
    b = Block()
    checkpoint(b, neura.ones(3, dtype=neura.float64), use_reentrant=False).sum().backward()
    assert b.w.grad is not None


def test_checkpoints_nest():
    blocks, x = [Block() for _ in range(3)], leaf(0.1, 0.2, 0.3)

    def whole(x, call):
        for b in blocks:
            x = call(b, x)
        return x

    def inner(x):
        return whole(x, lambda b, x: checkpoint(b, x, use_reentrant=False))

    plain = gradients(lambda x: whole(x, lambda b, x: b(x)), x, blocks)
    nested = gradients(lambda x: checkpoint(inner, x, use_reentrant=False), x, blocks)
    assert same(plain, nested)


def test_checkpoint_draws_the_same_numbers_and_leaves_the_generator():
    def f(x):
        return x * neura.rand(4, dtype=neura.float64)

    x = leaf(1.0, 1.0, 1.0, 1.0)
    neura.manual_seed(3)
    y = checkpoint(f, x, use_reentrant=False)
    after = neura.rand(1).item()
    y.sum().backward()
    later = neura.rand(1).item()
    assert x.grad.tolist() == y.tolist()
    neura.manual_seed(3)
    f(x)
    assert after == neura.rand(1).item() and later == neura.rand(1).item()
    x.grad = None
    y = checkpoint(f, x, use_reentrant=False, preserve_rng_state=False)
    y.sum().backward()
    assert x.grad.tolist() != y.tolist()


def test_checkpoint_keeps_less_and_runs_only_as_far_as_needed():
    saved = []
    x = leaf(0.1, 0.2)
    reached = []

    def f(x):
        y = x.exp().sin()
        reached.append("end")
        return y + 1

    with graph.saved_tensors_hooks(lambda t: saved.append(t) or t, lambda t: t):
        y = checkpoint(f, x, use_reentrant=False)
    assert len(saved) == 1  # its argument
    y.sum().backward()
    assert reached == ["end"]  # the second run stopped at the last value
    y = checkpoint(f, x, use_reentrant=False, early_stop=False)
    y.sum().backward()
    assert reached == ["end"] * 3


def test_checkpoint_twice_with_retain_graph_and_second_derivatives():
    x = leaf(0.5, -1.0)

    def f(x):
        return x.sin() * x

    y = checkpoint(f, x, use_reentrant=False).sum()
    (a,) = neura.autograd.grad(y, x, create_graph=True)
    (b,) = neura.autograd.grad(f(x).sum(), x, create_graph=True)
    assert same([a], [b])
    assert same(neura.autograd.grad(a.sum(), x), neura.autograd.grad(b.sum(), x))
    y = checkpoint(f, x, use_reentrant=False).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert same([x.grad], [b.detach() * 2])


def test_checkpoint_notices_what_changes():
    state = {"n": 1}

    def f(x):
        state["n"] += 1
        return (x.repeat(state["n"]).exp() * 2).sum()

    x = leaf(1.0)
    with pytest.raises(RuntimeError, match="compute the same again"):
        checkpoint(f, x, use_reentrant=False).backward()

    def g(x):
        state["n"] += 1
        for _ in range(state["n"]):
            x = x.exp()
        return x

    state["n"] = 5
    y = checkpoint(g, x, use_reentrant=False)
    state["n"] = 2
    with pytest.raises(RuntimeError, match="save"):
        y.backward()
    h = x * 2
    y = checkpoint(lambda x: x.exp(), h, use_reentrant=False)
    h.add_(1)
    with pytest.raises(neura.errors.InplaceError):
        y.backward()


def test_checkpoint_arguments():
    entered = []

    @contextlib.contextmanager
    def context(name):
        entered.append(name)
        yield

    x = leaf(1.0)

    def f(x):
        return x.exp()

    checkpoint(f, x, use_reentrant=False, context_fn=lambda: (context("first"), context("second"))).backward()
    assert entered == ["first", "second"]
    with pytest.raises(ValueError, match="determinism_check"):
        checkpoint(f, x, determinism_check="maybe")
    with pytest.raises(NotImplementedError, match="debug"):
        checkpoint(f, x, debug=True)
    with neura.no_grad():
        assert not checkpoint(f, x).requires_grad

    def fails(x):
        if len(entered) > 2:
            raise KeyError("the second time")
        entered.append(1)
        return x.exp()

    with pytest.raises(KeyError, match="the second time"):
        checkpoint(fails, x, use_reentrant=False).backward()


def test_checkpoint_with_functions_of_ones_own():
    class Square(neura.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            assert len(ctx.saved_tensors) == 1
            return g * 2 * ctx.saved_tensors[0]

    x = leaf(3.0)
    checkpoint(lambda x: Square.apply(Square.apply(x)), x, use_reentrant=False).backward()
    assert x.grad.item() == 4 * 27


def test_checkpoint_releases_its_arguments():
    class Token:
        pass

    token = Token()
    watch = weakref.ref(token)
    x = leaf(1.0)
    y = checkpoint(lambda x, t: x.exp(), x, token, use_reentrant=False)
    y.backward()
    del token, y
    gc.collect()
    assert watch() is None


def test_checkpoint_sequential():
    blocks, x = [Block() for _ in range(5)], leaf(0.1, 0.2, 0.3)
    plain = gradients(lambda x: blocks[4](blocks[3](blocks[2](blocks[1](blocks[0](x))))), x, blocks)
    for segments in (1, 2, 3, 5):
        for b in blocks:
            b.runs = 0
        parts = gradients(lambda x: checkpoint_sequential(blocks, segments, x, use_reentrant=False), x, blocks)
        assert same(plain, parts)
        again = len(blocks) // segments * (segments - 1)
        assert [b.runs for b in blocks] == [2] * again + [1] * (5 - again)
    with pytest.raises(ValueError, match="segments"):
        checkpoint_sequential(blocks, 6, x)


def bad_root(x):
    return (x.sqrt() * 0).sum()


def test_anomaly_mode_shows_the_python_line():
    x = leaf(0.0, 1.0)
    with neura.autograd.detect_anomaly():
        y = bad_root(x)
        with pytest.raises(RuntimeError) as caught:
            y.backward()
    text = str(caught.value)
    assert text.startswith("sqrt: expected a derivative without NaN")
    assert "in bad_root" in text and "x.sqrt() * 0" in text and __file__ in text
    assert not neura.autograd.is_anomaly_enabled()
    with neura.autograd.detect_anomaly(check_nan=False):
        y = bad_root(x)
        y.backward()
    assert x.grad.isnan().any()


def test_anomaly_mode_names_the_forward_call_of_any_error():
    class Fails(neura.autograd.Function):
        forward = staticmethod(lambda ctx, x: x * 2)

        @staticmethod
        def backward(ctx, g):
            raise KeyError("mine")

    neura.autograd.set_detect_anomaly(True)
    try:
        x = leaf(1.0, 2.0)
        h = x.exp()
        h.add_(1)
        with pytest.raises(neura.errors.InplaceError, match="(?s)the forward call was exp.*x.exp"):
            h.sum().backward()
        with pytest.raises(KeyError) as caught:
            Fails.apply(x).sum().backward()
    finally:
        neura.autograd.set_detect_anomaly(False)
    notes = getattr(caught.value, "__notes__", None)
    assert notes is None or "Fails.apply(x)" in notes[0]
    with neura.autograd.set_detect_anomaly(True, check_nan=False):
        assert neura.autograd.is_anomaly_enabled() and not neura.autograd.is_anomaly_check_nan_enabled()
    assert not neura.autograd.is_anomaly_enabled()


def test_jacobian_and_hessian():
    x, y = leaf(1.0, 2.0), leaf(3.0)

    def f(x, y):
        return (x * x * y, x.sum() * y)

    (a, b), (c, d) = functional.jacobian(f, (x, y))
    assert a.tolist() == [[6.0, 0.0], [0.0, 12.0]] and b.tolist() == [[1.0], [4.0]]
    assert c.tolist() == [[3.0, 3.0]] and d.tolist() == [[3.0]]
    single = functional.jacobian(lambda x: x.exp(), x)
    assert neura.allclose(single, neura.diag(x.detach().exp())) and not single.requires_grad
    h = functional.hessian(lambda x: (x**3).sum(), x)
    assert h.tolist() == [[6.0, 0.0], [0.0, 12.0]]
    (xx, xy), (yx, yy) = functional.hessian(lambda x, y: (x * x).sum() * y, (x, y))
    assert xy.tolist() == [[2.0], [4.0]] and yx.tolist() == [[2.0, 4.0]] and yy.tolist() == [[0.0]]
    j = functional.jacobian(lambda x: x**2, x, create_graph=True)
    j.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    with pytest.raises(NotImplementedError, match="vectorize=True"):
        functional.jacobian(lambda x: x, x, strategy="forward-mode")
    for strategy in "reverse-mode", "forward-mode":
        (a, b), (c, d) = functional.jacobian(f, (x, y), vectorize=True, strategy=strategy)
        assert a.tolist() == [[6.0, 0.0], [0.0, 12.0]] and b.tolist() == [[1.0], [4.0]]
        assert c.tolist() == [[3.0, 3.0]] and d.tolist() == [[3.0]]
    with pytest.raises(RuntimeError, match="strict"):
        functional.jacobian(lambda x: x, x, vectorize=True, strict=True)
    with pytest.raises(RuntimeError, match="strict"):
        functional.jacobian(lambda x, y: x, (x, y), strict=True)
    with pytest.raises(RuntimeError, match="one element"):
        functional.hessian(lambda x: x, x)


def test_products_with_vectors():
    x, v = neura.tensor([1.0, 2.0]), neura.tensor([1.0, 10.0])

    def f(x):
        return x**3

    value, product = functional.vjp(f, x, v)
    assert value.tolist() == [1.0, 8.0] and product.tolist() == [3.0, 120.0]
    value, product = functional.jvp(f, x, v)
    assert value.tolist() == [1.0, 8.0] and product.tolist() == [3.0, 120.0]

    def s(x):
        return (x**3).sum() + x[0] * x[1]

    for op in (functional.hvp, functional.vhp):
        value, product = op(s, x, v)
        assert value.item() == 11.0 and product.tolist() == [16.0, 121.0]
    assert functional.jvp(lambda x: x * 0 + 1, x, v)[1].tolist() == [0.0, 0.0]
    with pytest.raises(RuntimeError, match="v"):
        functional.vjp(f, x)
    with pytest.raises(RuntimeError, match="shape"):
        functional.jvp(f, x, neura.ones(3))


def test_gradcheck_agrees_and_refuses():
    a, b = neura.randn(2, 3, dtype=neura.float64).requires_grad_(), neura.eye(3, dtype=neura.float64)
    assert gradcheck(lambda a, b: (a @ b, a.sin()), (a, b)) and gradcheck(
        lambda a, b: (a @ b, a.sin()), [a, b], fast_mode=True
    )
    z = neura.randn(3, dtype=neura.complex128).requires_grad_()
    for fast in (False, True):
        assert gradcheck(lambda z: z * z.conj() + z.exp(), z, fast_mode=fast)
        assert gradgradcheck(lambda z: z * z * z, z, fast_mode=fast)
        assert gradgradcheck(lambda x: x.tanh(), leaf(0.3, 0.4), fast_mode=fast, gen_non_contig_grad_outputs=True)

    class Wrong(neura.autograd.Function):
        forward = staticmethod(lambda ctx, x: x * 2)
        backward = staticmethod(lambda ctx, g: g * 3)

    for fast in (False, True):
        with pytest.raises(
            neura.autograd.GradcheckError, match="Jacobian mismatch for output 0 with respect to input 0"
        ):
            gradcheck(Wrong.apply, leaf(1.0, 2.0), fast_mode=fast)
        assert not gradcheck(Wrong.apply, leaf(1.0, 2.0), fast_mode=fast, raise_exception=False)
    with pytest.raises(ValueError, match="requires a gradient"):
        gradcheck(lambda x: x, neura.ones(2, dtype=neura.float64))
    with pytest.warns(UserWarning, match="double precision"):
        gradcheck(lambda x: x * 2, neura.ones(2, requires_grad=True), eps=0.5)
    with pytest.raises(NotImplementedError, match="masked"):
        gradcheck(lambda x: x, leaf(1.0), masked=True)
    flip = [1.0]

    class Nervous(neura.autograd.Function):
        forward = staticmethod(lambda ctx, x: x * 2)

        @staticmethod
        def backward(ctx, g):
            flip[0] = -flip[0]
            return g * 2 + flip[0] * 1e-7

    with pytest.raises(neura.autograd.GradcheckError, match="not reentrant"):
        gradcheck(Nervous.apply, leaf(1.0))
    assert gradcheck(Nervous.apply, leaf(1.0), nondet_tol=1e-3)
