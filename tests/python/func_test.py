"""neura.func and neura.autograd.forward_ad: what PyTorch gives, errors, random numbers, what is not left behind."""

import json
import pathlib

import neura
import neura.nn.functional as F
import pytest
from func_snippets import plain, programs
from neura import errors
from neura.autograd import forward_ad
from neura.func import functional_call, grad, hessian, jacrev, jvp, linearize, stack_module_state, vjp, vmap

STORED = json.loads(pathlib.Path(__file__).with_name("func.json").read_text())["results"]
PROGRAMS = programs(neura, neura.func, forward_ad)
X = neura.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])


def close(a, b):
    if isinstance(b, dict):
        return a.keys() == b.keys() and all(close(a[k], b[k]) for k in b)
    if isinstance(b, list):
        return len(a) == len(b) and all(close(x, y) for x, y in zip(a, b))
    return a == b or abs(a - b) <= 1e-9 * max(1, abs(b))


@pytest.mark.parametrize("name", STORED)
def test_gives_what_pytorch_gives(name):
    have = plain(PROGRAMS[name]())
    assert close(have, STORED[name]), f"{have} instead of {STORED[name]}"


def test_programs_are_all_stored():
    assert PROGRAMS.keys() == STORED.keys()


def net():
    nn = neura.nn
    m = nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.GroupNorm(2, 4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64, 3)
    )
    return m.double(), {k: v.detach() for k, v in m.named_parameters()}


def test_gradients_for_each_sample():
    m, parameters = net()
    x, y = neura.rand(5, 1, 10, 10, dtype=neura.float64), neura.tensor([0, 1, 2, 0, 1])

    def loss(p, x, y):
        return neura.nn.functional.cross_entropy(functional_call(m, p, (x.unsqueeze(0),)), y.unsqueeze(0))

    neura._neura._looped_rows()
    each = vmap(grad(loss), in_dims=(None, 0, 0))(parameters, x, y)
    assert not neura._neura._looped_rows()  # what makes it as fast as a batch: no row takes the samples one by one
    for i in range(5):
        for k, g in grad(loss)(parameters, x[i], y[i]).items():
            assert neura.allclose(each[k][i], g)
    neura.nn.functional.cross_entropy(m(x), y).backward()
    for k, p in m.named_parameters():
        assert neura.allclose(each[k].mean(0), p.grad)


def test_ensemble():
    models = [net()[0] for _ in range(3)]
    parameters, buffers = stack_module_state(models)
    x = neura.rand(2, 1, 10, 10, dtype=neura.float64)
    both = vmap(lambda p, b: functional_call(models[0], (p, b), (x,)))(parameters, buffers)
    for i, m in enumerate(models):
        assert neura.allclose(both[i], m(x))
    assert parameters["0.weight"].requires_grad and parameters["0.weight"].is_leaf
    with pytest.raises(RuntimeError, match="at least one"):
        stack_module_state([])
    with pytest.raises(RuntimeError, match="one class"):
        stack_module_state([neura.nn.Linear(1, 1), neura.nn.ReLU()])


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda: vmap(lambda x: x[0].item())(X), RuntimeError, "item: expected a tensor whose values can be read"),
        (lambda: vmap(lambda x: x if x.sum() > 0 else -x)(X), RuntimeError, "bool: expected a tensor whose values"),
        (lambda: vmap(lambda x: x.numpy())(X), (RuntimeError, TypeError, BufferError, ValueError), "vmap"),
        (lambda: vmap(lambda x: x.tolist())(X), RuntimeError, "tolist"),
        (lambda: vmap(lambda x: x.nonzero())(X), RuntimeError, "nonzero: expected a result whose size"),
        (lambda: vmap(lambda x: x + neura.rand(2))(X), RuntimeError, "randomness"),
        (lambda: vmap(lambda x: x, randomness="no")(X), RuntimeError, "'no'"),
        (lambda: vmap(lambda: 1)(), ValueError, "inputs"),
        (lambda: vmap(lambda x: x, in_dims=None)(X), ValueError, "in_dims"),
        (lambda: vmap(lambda x: x, in_dims=(None,))(X), ValueError, "None for all"),
        (lambda: vmap(lambda x: x, in_dims=2)(X), ValueError, "2 dimensions"),
        (lambda: vmap(lambda x, y: x)(X, X.T), ValueError, "3 and 2"),
        (lambda: vmap(lambda x, y: x)(X, 2.0), ValueError, "float"),
        (lambda: vmap(lambda x, y: x, in_dims=(0, 0, 0))(X, X), ValueError, "structure"),
        (lambda: vmap(lambda x: x, out_dims=None)(X), ValueError, "a batch"),
        (lambda: vmap(lambda x: 3)(X), ValueError, "int"),
        (lambda: vmap(lambda x, y: y.add_(x), in_dims=(0, None))(X, neura.zeros(2)), RuntimeError, "all samples share"),
        (lambda: vmap(lambda x: x, chunk_size=0)(X), ValueError, "chunk_size"),
        (lambda: grad(lambda x: x)(X), RuntimeError, r"\[3, 2\]"),
        (lambda: grad(lambda x: x.sum(), argnums=1)(X), RuntimeError, "argnums"),
        (lambda: grad(lambda x: 1.0)(X), TypeError, "float"),
        (lambda: grad(lambda x: x)(1.0), TypeError, "float"),
        (lambda: grad(lambda x: x.sum(), has_aux=True)(X), RuntimeError, "aux"),
        (lambda: jvp(neura.sin, X, X), RuntimeError, "tuples"),
        (lambda: jvp(neura.sin, (X,), (X, X)), RuntimeError, "1 primals"),
        (lambda: jvp(neura.sin, (X,), (X.T,)), neura.errors.ShapeError, "shape"),
        (lambda: jvp(neura.sin, (X,), (X.double(),)), neura.errors.DTypeError, "dtype"),
        (lambda: jvp(lambda x: X, (X,), (X,), strict=True), RuntimeError, "strict"),
        (lambda: vjp(neura.sin, X)[1](X, X), RuntimeError, "1 cotangents"),
        (lambda: linearize(neura.sin, X)[1](X.T), RuntimeError, "like its primal"),
        (lambda: forward_ad.make_dual(X, X), RuntimeError, "dual level"),
        (lambda: forward_ad.exit_dual_level(), RuntimeError, "open level"),
        (lambda: neura.func.functionalize(neura.sin, remove="all"), RuntimeError, "'all'"),
        (lambda: jacrev(lambda x: 3)(X), TypeError, "int"),
    ],
)
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call()
    assert neura.func.vmap(lambda x: x * 2)(X).tolist() == (X * 2).tolist()  # nothing is left open


def test_random_numbers():
    ones = neura.ones(4, 100)

    def masks(randomness):
        neura.manual_seed(1)
        return vmap(lambda x: neura.nn.functional.dropout(x, 0.5), randomness=randomness)(ones)

    same, different = masks("same"), masks("different")
    assert all((same[0] == same[i]).all() for i in range(4)) and not (different[0] == different[1]).all()
    assert 0.3 < float((different == 0).double().mean()) < 0.7

    def drawn(randomness):
        return vmap(lambda x: x + neura.randn(3), randomness=randomness)(neura.zeros(2, 3))

    assert (drawn("same")[0] == drawn("same")[1]).sum() <= 3
    r = drawn("same")
    assert (r[0] == r[1]).all()
    r = drawn("different")
    assert (r[0] != r[1]).all()


@pytest.mark.parametrize("inner, outer", [("same", "different"), ("different", "same"), ("different", "different")])
@pytest.mark.parametrize("draw", [lambda x: x + neura.rand(5), lambda x: neura.nn.functional.dropout(x + 1, 0.5)])
def test_random_numbers_of_nested_batches(inner, outer, draw):
    neura.manual_seed(2)
    y = vmap(vmap(draw, randomness=inner), randomness=outer)(neura.zeros(2, 3, 5))
    assert bool((y[:, 0] == y[:, 1]).all()) == (inner == "same")
    assert bool((y[0] == y[1]).all()) == (outer == "same")


@pytest.mark.parametrize("randomness", ["same", "different"])
def test_a_gradient_draws_the_same_numbers(randomness):
    x = neura.ones(4, 50)

    def value(x):
        y = neura.nn.functional.dropout(x, 0.5)
        return (y * 3).sum(), y

    g, y = vmap(grad(value, has_aux=True), randomness=randomness)(x)
    assert (g == y * 3).all()


def test_what_a_closure_holds():
    w = neura.tensor([1.0, 2.0], requires_grad=True)
    y = vmap(lambda x: (w * x).sum())(X)
    assert neura.autograd.grad(y.sum(), w)[0].tolist() == X.sum(0).tolist()
    g = grad(lambda x: (w * x * x).sum())(X[0])
    assert g.requires_grad and not grad(lambda x: (x * x).sum())(X[0]).requires_grad
    assert w.grad is None


def test_a_tensor_that_leaves_vmap_is_refused():
    kept = []
    vmap(lambda x: kept.append(x * 2) or x)(X)
    with pytest.raises(RuntimeError, match="left the function"):
        kept[0] + 1
    with pytest.raises(RuntimeError, match="left the function"):
        vmap(lambda x: x + kept[0])(X)
    kept.clear()
    assert vmap(lambda x: x + 1)(X).tolist() == (X + 1).tolist()


def test_writes_and_views_inside():
    def f(x):
        y = neura.zeros(2, 2)
        y[0] = x
        y[1, 0] = x.sum()
        return y

    assert vmap(f)(X)[1].tolist() == [[3.0, 4.0], [7.0, 0.0]]
    g = vmap(grad(lambda x: (f(x) ** 2).sum()))(X)
    assert g.tolist() == (2 * X + 2 * X.sum(1, keepdim=True)).tolist()
    assert jvp(f, (X[0],), (X[1],))[1].tolist() == [[3.0, 4.0], [7.0, 0.0]]
    t = jvp(lambda x: x.clone().mul_(x), (X[0],), (X[1],))[1]
    assert t.tolist() == (2 * X[0] * X[1]).tolist()


def test_a_view_of_what_all_samples_share_reaches_its_history():
    def f(w, x):
        y = w * 1
        y[0].mul_(3)
        return (y * x).sum()

    assert vmap(grad(f), in_dims=(None, 0))(neura.ones(2), X).tolist() == (X * neura.tensor([3.0, 1.0])).tolist()
    assert vmap(lambda x: grad(lambda w: (w * 1)[0].mul_(3) * x[0])(neura.ones(2)))(X)[1].tolist() == [9.0, 0.0]


def test_functions_of_ones_own():
    class Cube(neura.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            return g * 3 * ctx.saved_tensors[0] ** 2

    assert vmap(grad(lambda x: Cube.apply(x).sum()))(X).tolist() == (3 * X**2).tolist()
    with pytest.raises(NotImplementedError, match="Function"):
        jvp(Cube.apply, (X,), (X,))
    with pytest.raises(NotImplementedError, match="Function"), neura.no_grad():
        jvp(Cube.apply, (X,), (X,))
    w = X.clone().requires_grad_()
    with pytest.raises(NotImplementedError, match="Function"):
        vmap(Cube.apply)(w)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: neura.nn.functional.scaled_dot_product_attention(x, x * 2, x.flip(-1), is_causal=True),
        lambda x: neura.nn.functional.scaled_dot_product_attention(x, x, x, neura.tril(neura.ones(1, 4, 4)).double()),
        lambda x: neura.nn.functional.scaled_dot_product_attention(x[0], x[1], x[0]),
        lambda x: neura.nn.functional.cross_entropy(x[0], neura.tensor([0, -100, 2, 1]), reduction="none"),
        lambda x: neura.nn.functional.cross_entropy(x, neura.tensor([[0, 1, 2], [0, 3, 1]]), label_smoothing=0.1),
        lambda x: neura.nn.functional.nll_loss(x[0], neura.tensor([0, 1, 2, 1]), x[1, 0].detach(), reduction="none"),
        lambda x: neura.nn.functional.nll_loss(x[0, 0], neura.tensor(2)),
        lambda x: neura.nn.functional.grid_sample(x[None], x[None, :, :3, :2].tanh() * 0.9, align_corners=True),
    ],
)
def test_rows_of_a_jacobian_are_computed_together(call):
    x = (neura.arange(24, dtype=neura.float64) * 0.7).sin().reshape(2, 4, 3)
    neura._neura._looped_rows()
    rows = jacrev(call)(x)
    assert not neura._neura._looped_rows()
    leaf = x.clone().requires_grad_()
    y = call(leaf)
    for at, row in zip(y.reshape(-1), rows.reshape(-1, *x.shape)):
        (want,) = neura.autograd.grad(at, leaf, retain_graph=True)
        assert neura.allclose(row, want, atol=1e-12) and want.any() == row.any()


def test_indices_of_each_sample():
    at = neura.tensor([1, 0, 1])
    assert vmap(lambda x, i: x[i])(X, at).tolist() == [2.0, 3.0, 6.0]
    assert vmap(lambda i: X[i])(at).tolist() == X[at].tolist()
    rows = neura.tensor([[0, 1], [1, 1], [0, 0]])
    y = vmap(lambda x, i: x.index_add(0, i, neura.ones(2)))(X, rows)
    assert y.tolist() == [[2.0, 3.0], [3.0, 6.0], [7.0, 6.0]]
    with pytest.raises(IndexError, match="from 0 to 1"):
        vmap(lambda x, i: x.index_add(0, i, neura.ones(2)))(X, rows + 1)


def test_checkpoints():
    from neura.utils.checkpoint import checkpoint

    def f(w, x):
        return checkpoint(lambda w: neura.tanh(w * x), w, use_reentrant=False).sum()

    x = X.double() / 10
    g = vmap(grad(f), in_dims=(None, 0))(x[0], x)
    assert neura.allclose(g, x / neura.cosh(x[0] * x) ** 2)
    with pytest.raises(RuntimeError, match="left the function"):
        grad(lambda w: vmap(lambda x: f(w, x))(X).sum())(X[0])


def test_printing(capsys):
    vmap(lambda x: print(x) or x)(X[:2, 0])
    jvp(lambda x: print(x) or x, (X[0],), (X[0],))
    assert capsys.readouterr().out == "vmap(tensor([1., 3.]))\ntransform(tensor([1., 2.]))\n"


def test_dual_levels_nest():
    with forward_ad.dual_level():
        x = forward_ad.make_dual(neura.tensor(2.0), neura.tensor(1.0))
        with forward_ad.dual_level():
            y = forward_ad.make_dual(x, neura.tensor(1.0))
            inner = forward_ad.unpack_dual(y**3)
        first = forward_ad.unpack_dual(inner.primal)
        second = forward_ad.unpack_dual(inner.tangent)
    assert (first.primal, first.tangent) == (8.0, 12.0) and (second.primal, second.tangent) == (12.0, 12.0)
    assert forward_ad.unpack_dual(X).tangent is None
    with forward_ad.dual_level():
        d = forward_ad.make_dual(X, X)
        assert d[0, 0].item() == 1.0 and d.shape == X.shape
        assert forward_ad.unpack_dual(d.detach()).tangent is None


def test_third_derivative_along_random_directions():
    def f(x):
        return neura.tanh(x).prod()

    x = neura.tensor([0.3, -0.5, 0.7], dtype=neura.float64)
    h = hessian(f)(x)
    assert neura.allclose(h, jacrev(jacrev(f))(x)) and neura.allclose(h, h.T)
    t = jvp(hessian(f), (x,), (neura.ones_like(x),))[1]
    e = 1e-5
    assert neura.allclose(t, (hessian(f)(x + e) - hessian(f)(x - e)) / (2 * e), atol=1e-8)


def ways_through(f, x):
    """f in each transform."""
    jvp(f, (x,), (x,))
    grad(lambda y: (jvp(f, (y,), (x,))[1] ** 2).sum())(x)
    grad(lambda y: f(y).pow(3).sum())(x)
    jvp(lambda y: jvp(f, (y,), (x,))[1], (x,), (x,))


@pytest.mark.parametrize("norm", [F.batch_norm, lambda x, m, v, training: F.instance_norm(x, m, v)])
def test_statistics_that_a_norm_moves_stay_plain_tensors(norm):
    mean, var, x = neura.zeros(2), neura.ones(2), neura.randn(3, 2, 4)
    ways_through(lambda x: norm(x, mean, var, training=True), x)
    assert "vmap" not in repr(mean) and "transform" not in repr(mean) and not mean.requires_grad
    before = mean.clone()
    with pytest.raises(errors.InplaceError):
        vmap(lambda x: norm(x, mean, var, training=True))(neura.randn(5, 3, 2, 4))
    norm(x, mean, var, training=True)
    assert mean.shape == (2,) and not neura.equal(mean, before)


def test_a_captured_tensor_that_was_written_once_stays_outside():
    captured = neura.zeros(2)
    with pytest.raises(errors.InplaceError, match="one that all samples share"):
        vmap(lambda x: captured.mul_(2).add_(x))(neura.ones(3, 2))
    with pytest.raises(errors.InplaceError, match="made outside"):
        jvp(lambda x: captured[:1].mul_(2).add_(x), (neura.ones(1),), (neura.ones(1),))
    assert (captured + 1).tolist() == [1, 1]


@pytest.mark.parametrize(
    "write",
    [
        lambda x, i, s: x.index_copy(0, i, s),
        lambda x, i, s: x.scatter(0, i, s),
        lambda x, i, s: x.index_put((i,), s),
        lambda x, i, s: x.put(i, s),
        lambda x, i, s: x.index_fill(0, i, s[0]),
        lambda x, i, s: x.index_add(0, i, s),
        lambda x, i, s: x.clone().index_copy_(0, i, s),
    ],
)
def test_where_two_values_are_written_the_tangent_is_of_that_which_stays(write):
    x, s = neura.zeros(4, dtype=neura.float64), neura.tensor([1.0, 2.0, 3.0], dtype=neura.float64)
    i, h = neura.tensor([1, 3, 1]), 1e-6
    got = jvp(lambda x, s: write(x, i, s), (x, s), (x + 0.5, s * s))[1]
    want = (write(x + h * (x + 0.5), i, s + h * s * s) - write(x - h * (x + 0.5), i, s - h * s * s)) / (2 * h)
    assert neura.allclose(got, want, atol=1e-8)
