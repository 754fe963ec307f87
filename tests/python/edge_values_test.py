"""Values, gradients and refusals at the edges of functions: PyTorch's, found by tools/opinfo_edges.py and its kin."""

import math
import warnings

import neura
import neura.nn.functional as F
import pytest
from neura import errors, nn

inf, nan = math.inf, math.nan


def gradients(f, *values, dtype=neura.float64):
    """Of the sum of f: the gradient, and the gradient of its sum, with respect to the first operand."""
    leaves = [neura.tensor(v, dtype=dtype, requires_grad=True) for v in values]
    (first,) = neura.autograd.grad(f(*leaves).sum(), leaves[:1], create_graph=True)
    (second,) = neura.autograd.grad(first.sum(), leaves[:1], allow_unused=True)
    return first.tolist(), second.tolist()


@pytest.mark.parametrize(
    "f,second",
    [
        (F.silu, 0.5),
        (F.softplus, 0.25),
        (F.logsigmoid, -0.25),
        (lambda x: F.gelu(x, approximate="tanh"), 0.7978845608028654),
        (lambda x: F.softplus(x, beta=3), 0.75),
    ],
)
@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_smooth_functions_have_their_second_derivative_at_zero(f, second, zero):
    assert gradients(f, [zero])[1] == [pytest.approx(second, rel=1e-12)]


@pytest.mark.parametrize("dtype,tolerance", [(neura.float64, 1e-13), (neura.float32, 1e-6)])
@pytest.mark.parametrize("x", [1e-30, 1e-10, 1e-3, 0.01, 0.1, 0.158, 0.16, -0.05])
def test_the_derivative_of_sinc_keeps_its_digits_near_zero(x, dtype, tolerance):
    t = neura.tensor([x], dtype=dtype).double().item() * math.pi
    terms = [(-1) ** k * 2 * k * t ** (2 * k - 1) / math.factorial(2 * k + 1) for k in range(1, 14)]
    assert gradients(neura.sinc, [x], dtype=dtype)[0] == [pytest.approx(math.pi * math.fsum(terms), rel=tolerance)]


def test_the_second_derivative_of_sinc_at_zero():
    assert gradients(neura.sinc, [0.0])[1] == [pytest.approx(-(math.pi**2) / 3, rel=1e-14)]


@pytest.mark.parametrize("x", [200.25, 1e30])
def test_the_second_derivative_of_sinc_far_from_zero(x):
    t = math.pi * x
    second = math.pi**2 * ((2 / t**2 - 1) * math.sin(t) - 2 * math.cos(t) / t) / t
    for dtype, tolerance in ((neura.float64, 1e-9), (neura.float32, 1e-3)):
        got = gradients(neura.sinc, [x], dtype=dtype)[1][0]
        assert math.isfinite(got) and (x > 1e9 or got == pytest.approx(second, rel=tolerance))


@pytest.mark.parametrize("x", [21.0, 1e15, 1e30, 1e300])
def test_mish_grows_as_its_operand_does(x):
    assert gradients(F.mish, [x])[0] == [1]


@pytest.mark.parametrize("loss", [F.smooth_l1_loss, F.huber_loss])
def test_the_gradient_of_a_loss_that_is_nan_is_nan(loss):
    x = neura.tensor([0.0, 1.0, 5.0], requires_grad=True)
    loss(x, neura.tensor([nan, 0.5, 0.0]), reduction="sum").backward()
    assert math.isnan(x.grad[0].item()) and x.grad[1:].tolist() == [0.5, 1]


def test_infinite_logits_that_are_right_or_wrong():
    x = neura.tensor([inf, -inf, 100.0, -100.0, inf, -inf])
    y = F.binary_cross_entropy_with_logits(x, neura.tensor([0.0, 0.0, 1.0, 1.0, 1.0, 1.0]), reduction="none")
    assert y.tolist() == [inf, 0, 0, 100, 0, inf]


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("again", [False, True])
def test_no_gradient_reaches_targets_that_are_ignored(smoothing, again):
    x = neura.tensor([[1.0, 2.0], [3.0, -1.0]], requires_grad=True)
    y = F.cross_entropy(x, neura.tensor([-100, -100]), label_smoothing=smoothing)
    assert math.isnan(y.item())
    (g,) = neura.autograd.grad(y, [x], create_graph=again)
    assert g.tolist() == [[0, 0], [0, 0]]
    y = F.nll_loss(x, neura.tensor([-100, -100]))
    (g,) = neura.autograd.grad(y, [x], create_graph=again)
    assert g.tolist() == [[0, 0], [0, 0]]


def test_the_zeroth_norm_of_a_row_of_an_embedding_counts():
    weight = neura.arange(9.0).reshape(3, 3)
    y = F.embedding(neura.tensor([0, 1]), weight, max_norm=1.0, norm_type=0.0)
    assert y[0].tolist() == pytest.approx([0, 0.5, 1]) and y[1].tolist() == pytest.approx([1, 4 / 3, 5 / 3])


@pytest.mark.parametrize("mode", ["nearest", "bilinear"])
def test_a_size_that_stays_is_copied_whatever_the_factor(mode):
    x = neura.arange(12.0).reshape(1, 1, 3, 4)
    y = F.interpolate(x, scale_factor=(1.3, 1.0), mode=mode)
    assert neura.equal(x, y)


def test_nearest_repeats_each_element_where_the_size_doubles():
    x = neura.arange(3.0).reshape(1, 1, 3)
    assert F.interpolate(x, scale_factor=2.3).flatten().tolist() == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize("function", [neura.quantile, neura.nanquantile])
def test_quantiles_between_infinities(function):
    x = neura.tensor([-inf, 0.0, inf])
    assert function(x, neura.tensor([0.25])).tolist() == [-inf]
    assert function(x, 0.0).item() == -inf and function(x, 0.5).item() == 0


def test_distances_between_points_of_no_dimension_are_zero():
    a, b = neura.ones(2, 0), neura.ones(3, 0)
    for p in (0, 1, 2, 3, inf):
        assert neura.cdist(a, b, p=p).tolist() == [[0, 0, 0]] * 2
        assert F.pdist(b, p=p).tolist() == [0, 0, 0]


def test_index_fill_counts_from_the_end():
    x = neura.arange(3.0)
    assert x.index_fill(0, neura.tensor([-1]), 9.0).tolist() == [0, 1, 9]
    assert x.clone().index_fill_(0, neura.tensor([-3, 1]), 9.0).tolist() == [9, 9, 2]
    for wrong in (3, -4):
        with pytest.raises(IndexError, match=f"got {wrong}"):
            x.index_fill(0, neura.tensor([wrong]), 9.0)


@pytest.mark.parametrize("offset", [2**62, -(2**63), 2**63 - 1, 2**32 + 1])
def test_a_diagonal_far_outside_is_not_another_one(offset):
    for function in (neura.diagonal, neura.diagonal_copy):
        with pytest.raises(ValueError, match=str(offset)):
            function(neura.ones(5, 5), offset)


def test_statistics_are_mapped_along_any_dimension():
    x = neura.randn(2, 5, 3)
    together, apart = neura.zeros(3, 2), [neura.zeros(3), neura.zeros(3)]
    f = lambda x, mean, var: F.batch_norm(x, mean, var, training=True)  # noqa: E731
    y = neura.func.vmap(f, in_dims=(0, 1, 1))(x, together, neura.ones(3, 2))
    for i in range(2):
        assert neura.allclose(y[i], f(x[i], apart[i], neura.ones(3)), atol=1e-6)
        assert neura.allclose(together[:, i], apart[i]) and apart[i].abs().sum() > 0


# What PyTorch refuses


def leaf():
    return neura.ones(2, requires_grad=True)


REFUSED = {
    "roll of a number": (IndexError, lambda: neura.roll(neura.tensor(1.0), 0, dims=0)),
    "GRU of another dtype": (ValueError, lambda: nn.GRU(3, 5)(neura.ones(2, 4, 3).double())),
    "masked_scatter_ of a leaf": (
        RuntimeError,
        lambda: leaf().masked_scatter_(neura.zeros(2, dtype=neura.bool), neura.ones(2)),
    ),
    "resize_ of a leaf": (RuntimeError, lambda: leaf().resize_(2)),
    "resize_as_ of a leaf": (RuntimeError, lambda: leaf().resize_as_(neura.ones(2))),
    "amax of complex": (NotImplementedError, lambda: neura.ones(2).to(neura.complex64).amax()),
    "median of complex": (NotImplementedError, lambda: neura.ones(2).to(neura.complex64).median()),
    "normal_ of integers": (NotImplementedError, lambda: neura.ones(2).int().normal_()),
    "bincount of floats": (NotImplementedError, lambda: neura.bincount(neura.ones(2))),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_pytorch_refuses_is_refused_as_there(name):
    kind, call = REFUSED[name]
    with pytest.raises(kind) as error:
        call()
    assert isinstance(error.value, errors.Error)


def parameter():
    return nn.Parameter(neura.ones(2, 2))


@pytest.mark.parametrize("optimizer", [neura.optim.SGD, neura.optim.Adam, neura.optim.LBFGS])
def test_optimizers_refuse_names_of_some_and_rates_of_several_elements(optimizer):
    with pytest.raises(ValueError, match="names for all parameters or for none"):
        optimizer([("weight", parameter()), parameter()])
    with pytest.raises(ValueError, match=r"a learning rate of one element, got a tensor of shape \[2\]"):
        optimizer([parameter()], lr=neura.tensor([0.1, 0.1]))


def test_sparse_adam_refuses_sparse_parameters():
    sparse = neura.ones(2, 2).to_sparse().requires_grad_()
    with pytest.raises(ValueError, match="dense parameters"):
        neura.optim.SparseAdam([parameter(), sparse])


@pytest.mark.parametrize("loss", [F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss, F.kl_div, F.poisson_nll_loss])
def test_losses_of_sizes_that_differ_broadcast_with_a_warning(loss):
    x, t = neura.rand(4, 1, requires_grad=True), neura.rand(4) + 1
    with pytest.warns(UserWarning, match=r"Using a target size \(\[4\]\) that is different to the input size"):
        y = loss(x, t, reduction="none")
    assert y.shape == (4, 4)
    (g,) = neura.autograd.grad(y.sum(), [x])
    wide = x.expand(4, 4)
    (want,) = neura.autograd.grad(loss(wide, t.expand(4, 4), reduction="sum"), [x])
    assert neura.allclose(g, want)
    with pytest.raises(RuntimeError, match=r"shapes that broadcast, got \[4\] and \[3\]"):
        loss(t, neura.rand(3))


def test_a_warning_that_is_an_error_stops_the_loss():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning):
            nn.MSELoss()(neura.ones(3), neura.ones(3, 1))


@pytest.mark.parametrize("dtype", [neura.complex64, neura.complex128])
@pytest.mark.parametrize("count", [1, 9])
def test_powers_of_the_complex_zero(dtype, count):
    zero = neura.zeros(count, dtype=dtype)
    for exponent in (-1, -2, -0.5, -1 + 1j):
        y = zero**exponent
        assert (y.real == inf).all() and y.imag.isnan().all()
    assert (zero**1j).isnan().all()
    assert (zero**0 == 1).all() and (zero**2 == 0).all() and (zero**0.5 == 0).all()


def test_a_number_over_the_complex_zero_is_nan():
    for number in (1, 2.5, 1 + 1j):
        for zero in (neura.tensor(0j), neura.zeros(9, dtype=neura.complex128)):
            y = number / zero
            assert y.real.isnan().all() and y.imag.isnan().all()
    assert (1 / neura.tensor([2j])).tolist() == [-0.5j] and ((1 + 1j) / neura.tensor([inf + 0j])).tolist() == [0]
    x = neura.tensor([1 + 2j, -3j], requires_grad=True)
    (2 / x).abs().sum().backward()
    want = neura.tensor([1 + 2j, -3j], requires_grad=True)
    neura.div(2, want).abs().sum().backward()
    assert neura.allclose(x.grad, want.grad)


@pytest.mark.parametrize("dtype", [neura.float8_e4m3fn, neura.float8_e5m2])
def test_numbers_of_8_bits_are_floating(dtype):
    x = neura.tensor([0.5, -2.0]).to(dtype)
    assert dtype.is_floating_point and x.is_floating_point() and neura.is_floating_point(x)
    assert not dtype.is_complex and dtype.is_signed


@pytest.mark.parametrize("dtype", [neura.float16, neura.bfloat16, neura.float32, neura.float64])
def test_products_with_a_power_of_two_that_no_number_holds(dtype):
    def of(x, n):
        return neura.ldexp(neura.tensor([x], dtype=dtype), neura.tensor([n])).item()

    tiny = neura.finfo(dtype).smallest_normal
    for n in (255, 2**31 - 1, -255, -(2**62)):
        assert of(0.0, n) == 0 and of(inf, n) == inf and math.isnan(of(nan, n))
    assert of(3.0, 2**31 - 1) == inf and of(3.0, -(2**31)) == 0 and of(-3.0, 2**40) == -inf
    e = round(math.log2(tiny))
    assert of(tiny, -e) == 1 and of(1.0, e) == tiny and of(tiny, 1 - 2 * e - 2) == 2.0 ** (-e - 1)
    assert neura.ldexp(neura.tensor([3]), neura.tensor([2])).item() == 12
    x = neura.tensor([1.0, 2.0], dtype=dtype, requires_grad=True)
    neura.ldexp(x, neura.tensor([3, -2])).sum().backward()
    assert x.grad.tolist() == [8, 0.25]
