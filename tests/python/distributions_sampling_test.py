"""Samples against densities and moments, and the gradients of samples."""

import math

import neura
import pytest
from neura import distributions as D
from neura.distributions import _sampling, constraints
from distributions_values_test import STORED, make

CALLS = [row["call"] for row in STORED["calls"] if "t(" in row["call"]]
COUNT = 4000


def draw(call):
    neura.manual_seed(7)
    d = make(call)
    return d, d.sample((COUNT,))


@pytest.mark.parametrize("call", CALLS)
def test_samples_have_shape_and_support_and_repeat(call):
    d, value = draw(call)
    assert value.shape == (COUNT, *d.batch_shape, *d.event_shape) and not value.requires_grad
    if not isinstance(d, D.TransformedDistribution) or "Stick" not in call:  # 1 is the sum to 1e-6 only
        assert d.support.check(value).all()
    assert d.log_prob(value).isfinite().all()
    assert (draw(call)[1] == value).all()
    assert d.sample().shape == (*d.batch_shape, *d.event_shape) and d.sample((2, 3)).shape[:2] == (2, 3)
    assert d.sample((0,)).shape[0] == 0


@pytest.mark.parametrize("call", CALLS)
def test_the_mean_of_samples_is_the_mean(call):
    d, value = draw(call)
    try:
        mean, variance = d.mean, d.variance
    except NotImplementedError:
        pytest.skip("has no mean")
    known = mean.isfinite() & variance.isfinite()
    if "VonMises" in call:
        pytest.skip("has the mean of angles on a circle")
    error = (value.double().mean(0) - mean).abs() / (variance / COUNT).sqrt().clamp(min=1e-12)
    assert (error[known] < 5).all(), error


@pytest.mark.parametrize("call", CALLS)
def test_the_mean_of_log_prob_is_minus_the_entropy(call):
    d, value = draw(call)
    try:
        entropy = d.entropy()
    except NotImplementedError:
        pytest.skip("has no entropy")
    scores = d.log_prob(value)
    error = (scores.mean(0) + entropy).abs() / (scores.std(0) / math.sqrt(COUNT)).clamp(min=1e-9)
    assert (error < 5).all(), error


def cdf_by_integral(d, at):
    """The cdf of a distribution of numbers at sorted values [n, ...batch], by the trapezoid rule of its density."""
    free = neura.linspace(-40.0, 40.0, 16001, dtype=neura.float64).reshape((-1, *[1] * len(d.batch_shape)))
    if d.support is constraints.real:  # far enough for heavy tails
        x, slope = free.sinh().expand((-1, *d.batch_shape)), free.cosh().log()
    else:
        path = D.biject_to(d.support)
        x = path(free.expand((-1, *d.batch_shape)))
        slope = path.log_abs_det_jacobian(free, x)
    density = (d.log_prob(x) + slope).exp()
    density = neura.where(density.isfinite(), density, 0.0)
    steps = (density[1:] + density[:-1]) / 2 * (80.0 / 16000)
    total = neura.cat([neura.zeros_like(steps[:1]), steps.cumsum(0)])
    assert ((total[-1] - 1).abs() < 1e-3).all(), total[-1]
    place = neura.searchsorted(x.movedim(0, -1).contiguous(), at.movedim(0, -1).contiguous()).movedim(-1, 0)
    return total.gather(0, place.clamp(max=16000))


def is_of_numbers(call):
    d = make(call)
    return not d.event_shape and not d.support.is_discrete


@pytest.mark.parametrize("call", [call for call in CALLS if is_of_numbers(call)])
def test_samples_follow_the_cdf(call):
    """Kolmogorov and Smirnov's test, at a chance of 1e-4 of a false alarm."""
    d, value = draw(call)
    value = value.sort(0).values
    if "VonMises" in call:  # an angle: its density is on a circle
        d = D.VonMises(d.loc, d.concentration, validate_args=False)
        d.support = constraints.interval(-math.pi, math.pi)
    try:
        level = d.cdf(value)
    except NotImplementedError:
        level = cdf_by_integral(d, value)
    rank = neura.arange(1, COUNT + 1, dtype=neura.float64).reshape((-1, *[1] * len(d.batch_shape)))
    distance = neura.maximum((level - rank / COUNT).abs(), (level - (rank - 1) / COUNT).abs()).amax(0)
    assert (distance * math.sqrt(COUNT) < 2.25).all(), distance * math.sqrt(COUNT)


def of_counts(call):
    d = make(call)
    return not d.event_shape and d.support.is_discrete


@pytest.mark.parametrize("call", [call for call in CALLS if of_counts(call)] + ["Binomial(400, t([0.3, 0.96]))"])
def test_counts_are_as_frequent_as_their_mass_says(call):
    d, value = draw(call)
    top = int(value.max().item())
    for count in range(top + 1):
        try:
            mass = d.log_prob(neura.full(tuple(d.batch_shape), float(count), dtype=neura.float64)).exp()
        except ValueError:
            continue  # of no use to all of the batch
        share = (value == count).double().mean(0)
        spread = (mass * (1 - mass) / COUNT).sqrt() + 1.0 / COUNT
        assert ((share - mass).abs() < 5 * spread).all(), (count, share, mass)


def with_leaves(call):
    """The distribution with parameters that record gradients, and these."""
    leaves = []

    def t(value):
        leaves.append(neura.tensor(value, dtype=neura.float64, requires_grad=True))
        return leaves[-1]

    return eval(call, {"t": t, **vars(D)}), leaves


@pytest.mark.parametrize("call", [call for call in CALLS if make(call).has_rsample])
def test_gradients_of_samples_are_those_of_the_mean(call):
    """d E[x] / d theta = E[d x / d theta], over 20 batches, whose spread says how exact the right side is."""
    neura.manual_seed(3)
    d, leaves = with_leaves(call)
    try:
        mean, variance = d.mean, d.variance
    except NotImplementedError:
        pytest.skip("has no mean")
    known = mean.isfinite() & variance.isfinite()
    if not known.any():
        pytest.skip("has no finite mean and variance")
    weights = neura.arange(1.0, mean.numel() + 1, dtype=neura.float64).reshape(mean.shape)[known]

    def slopes(value):
        scalar = (value[known] * weights).sum()
        return neura.autograd.grad(scalar, leaves, retain_graph=True, allow_unused=True, materialize_grads=True)

    want = slopes(mean)
    assert any((w != 0).any() for w in want)
    got = [slopes(d.rsample((300,)).mean(0)) for _ in range(20)]
    for leaf, expected in enumerate(want):
        batches = neura.stack([g[leaf] for g in got])
        if "Wishart" in call and expected.dim() >= 2 and "scale_tril" not in call:  # of symmetric matrices
            expected, batches = expected + expected.mT, batches + batches.mT
        error = (batches.mean(0) - expected).abs() / (batches.std(0) / math.sqrt(20) + 1e-9)
        assert (error < 6).all(), (leaf, expected, batches.mean(0), error)


# a, z, dz/da at the same P(a, z), from mpmath with 40 digits
GAMMA_SLOPES = [
    (0.001, 0.001, 6.339511118617),
    (0.03, 0.01295131570287239, 1.674291517595),
    (0.2, 0.018143590657882503, 0.3438098989034),
    (0.7, 0.005760822934314021, 0.04432083540767),
    (1.0, 0.01831563888873418, 0.08183723421607),
    (1.0, 148.4131591025766, 5.583908811731),
    (1.9, 1.1434162721243522, 0.83553768829672),
    (0.01, 1.0, 60.50556226066),
    (1.9, 16.748063447331166, 2.656038957504),
    (3.3, 7.535651506063232, 1.544256793614),
    (9.0, 10.992624823441528, 1.123970680277),
    (40.0, 40.0, 1.004176933164),
    (300.0, 288.11737690746395, 0.980473400677),
    (5000.0, 4860.559920164486, 0.9859573940766),
    (1000000.0, 996007.9893439915, 0.9980014996665),
    (1000000.0, 1005012.5208594011, 1.002502250416),
]


def test_the_slope_of_gamma_samples_is_that_of_their_quantile():
    a, z, want = (neura.tensor(column, dtype=neura.float64) for column in zip(*GAMMA_SLOPES))
    for fine, near in ((True, 1e-10), (False, 1e-6)):
        got = _sampling.log_gamma_slope(a, z.log(), fine) * z
        assert ((got - want).abs() <= near * want.abs()).all(), (got, want)


@pytest.mark.parametrize("a", [0.05, 0.7, 1.0, 3.0, 25.0, 900.0])
def test_gradients_of_the_gamma_cdf(a):
    concentration = neura.tensor(a, dtype=neura.float64, requires_grad=True)
    value = neura.tensor([0.3 * a, 0.9 * a, 1.2 * a], dtype=neura.float64, requires_grad=True)
    assert neura.autograd.gradcheck(lambda c, v: D.Gamma(c, 1.0).cdf(v), (concentration, value), atol=1e-6)


@pytest.mark.parametrize("kind", [neura.float32, neura.float64])
def test_tiny_concentrations_do_not_underflow(kind):
    neura.manual_seed(0)
    tiny = neura.full((1000,), 1e-3, dtype=kind, requires_grad=True)
    for d in (D.Gamma(tiny, 1.0), D.Beta(tiny, tiny), D.Dirichlet(tiny.reshape((10, 100)))):
        value = d.rsample()
        assert value.dtype is kind and d.log_prob(value).isfinite().all()
        (slope,) = neura.autograd.grad(value.sum(), tiny)
        assert slope.isfinite().all()
    assert ((D.Beta(tiny, tiny).sample((50,)) > 0.5).to(kind).mean() - 0.5).abs() < 0.02


def test_binomial_is_a_function_too():
    count, prob = neura.tensor([5.0, 400.0]).unsqueeze(-1), neura.tensor([0.0, 0.25, 0.5, 1.0], dtype=neura.float64)
    draw = [neura.binomial(count, prob, neura.Generator().manual_seed(seed)) for seed in (1, 1, 2)]
    assert (draw[0] == draw[1]).all() and not (draw[0] == draw[2]).all()
    assert draw[0].shape == (2, 4) and draw[0].dtype is neura.float64
    assert (draw[0][:, 0] == 0).all() and draw[0][:, 3].tolist() == [5.0, 400.0]
    with pytest.raises(neura.errors.DTypeError, match="binomial: expected floating tensors, got neura.int64"):
        neura.binomial(neura.tensor(3), prob)
    with pytest.raises(neura.errors.ShapeError):
        neura.binomial(neura.ones(3), prob)


def test_samples_do_not_end_for_wrong_parameters_either():
    nan = neura.tensor([float("nan"), -1.0, 2.0, float("inf")])
    value = D.Gamma(nan, 1.0, validate_args=False).sample()
    assert value.isnan().tolist() == [True, True, False, True]
    assert D.VonMises(0.0, nan, validate_args=False).sample().isnan().tolist() == [True, True, False, True]
    value = D.Binomial(5, nan, validate_args=False).sample()
    assert value.isnan().all()


def test_angles_of_the_largest_concentrations():
    neura.manual_seed(0)
    k = neura.tensor([1e11, 1e13, 1e16], dtype=neura.float64)
    angles = D.VonMises(neura.zeros_like(k), k).sample((4000,)) * k.sqrt()  # almost normal
    assert ((angles.std(0) - 1).abs() < 0.1).all() and (angles.mean(0).abs() < 0.1).all()
    assert D.VonMises(0.0, 1e30).sample().abs() < 1e-6


EMPTY = """
Normal(z, 1.0); Gamma(z, 1.0); Beta(z, z); Dirichlet(m); Categorical(m); OneHotCategorical(m); Multinomial(2, m)
Binomial(3, z); Poisson(z); VonMises(z, z); StudentT(z); MultivariateNormal(m, e); LKJCholesky(3, z); Wishart(z + 4, e)
NegativeBinomial(z, z / 2); LowRankMultivariateNormal(m, e, z.new_ones(3)); LogisticNormal(m, 1.0); HalfNormal(z)
MixtureSameFamily(Categorical(m), Normal(m, 1.0)); RelaxedBernoulli(z.new_ones(()), z); GeneralizedPareto(z, 1.0, 0.5)
"""


@pytest.mark.parametrize("call", [c.strip() for line in EMPTY.strip().splitlines() for c in line.split(";")])
def test_batches_of_nothing(call):
    d = eval(call, {"z": neura.ones(0), "m": neura.ones(0, 3), "e": neura.eye(3), **vars(D)})
    value = d.sample((2,))
    assert value.shape == (2, 0, *d.event_shape) and d.log_prob(value).shape == (2, 0)


def test_sampling_does_not_record_and_rsample_follows_the_mode():
    loc = neura.zeros(3, requires_grad=True)
    assert not D.Normal(loc, 1.0).sample().requires_grad
    assert D.Normal(loc, 1.0).rsample().requires_grad
    with pytest.raises(NotImplementedError, match="Poisson: has no rsample"):
        D.Poisson(2.0).rsample()
