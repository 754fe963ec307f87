"""Gradients of densities, entropies and divergences against finite differences."""

import math

import neura
import pytest
from neura import distributions as D
from distributions_values_test import STORED

# Finite differences change one number of a symmetric matrix; counts; probabilities at the end of their interval.
WITHOUT = ("[[2.0, 0.5", "Binomial", "[0.0, 0.5, 1.0]", "[4.0, 0.0, 1.0]")


def is_smooth(call):
    return "t(" in call and not any(part in call for part in WITHOUT)


@pytest.fixture(autouse=True)
def unchecked():
    D.Distribution.set_default_validate_args(False)
    yield
    D.Distribution.set_default_validate_args(True)


def parts(call):
    """A function of the parameters that gives the distribution, and these."""
    leaves = []

    def collect(value):
        leaves.append(neura.tensor(value, dtype=neura.float64, requires_grad=True))
        return leaves[-1]

    eval(call, {"t": collect, **vars(D)})

    def build(*values):
        given = iter(values)
        return eval(call, {"t": lambda value: next(given), **vars(D)})

    return build, leaves


@pytest.mark.parametrize("row", [r for r in STORED["calls"] if is_smooth(r["call"])], ids=lambda r: r["call"])
def test_densities(row):
    build, leaves = parts(row["call"])
    value = neura.tensor(row["value"], dtype=neura.float64)
    assert neura.autograd.gradcheck(lambda *given: build(*given).log_prob(value), leaves, atol=1e-5)
    if "cdf" in row:
        assert neura.autograd.gradcheck(lambda *given: build(*given).cdf(value), leaves, atol=1e-5)


@pytest.mark.parametrize("row", [r for r in STORED["calls"] if is_smooth(r["call"])], ids=lambda r: r["call"])
def test_entropies(row):
    if "entropy" not in row:
        pytest.skip("has no entropy")
    build, leaves = parts(row["call"])
    if not build(*leaves).entropy().requires_grad:
        pytest.skip("has an entropy that depends on none of these parameters")
    used = [a is not None for a in neura.autograd.grad(build(*leaves).entropy().sum(), leaves, allow_unused=True)]
    assert any(used)
    fixed = [leaf if use else leaf.detach() for leaf, use in zip(leaves, used)]
    assert neura.autograd.gradcheck(lambda *given: build(*given).entropy(), fixed, atol=1e-5)


@pytest.mark.parametrize(
    "row", [r for r in STORED["pairs"] if is_smooth(r["p"]) and is_smooth(r["q"])], ids=lambda r: f"{r['p']} {r['q']}"
)
def test_divergences(row):
    build_p, of_p = parts(row["p"])
    build_q, of_q = parts(row["q"])
    result = D.kl_divergence(build_p(*of_p), build_q(*of_q))
    if not result.isfinite().all():
        return
    both = D.kl_divergence
    count = len(of_p)
    check = neura.autograd.gradcheck
    assert check(lambda *given: both(build_p(*given[:count]), build_q(*given[count:])), of_p + of_q, atol=1e-5)


# Where the support depends on a parameter, or ends at it, the mean of the score is not 0.
MOVING = ("Uniform", "Pareto", "GeneralizedPareto", "Binomial(t", "Categorical(t([[0.2, 0.5, 1.3], [4.0, 0.0, 1.0]")


@pytest.mark.parametrize(
    "row",
    [r for r in STORED["calls"] if "t(" in r["call"] and not r["call"].startswith(MOVING)],
    ids=lambda r: r["call"],
)
def test_samples_have_a_score_of_mean_0(row):
    """E[d log p(x) / d theta] = 0: that samples come from the density that log_prob says."""
    neura.manual_seed(11)
    build, leaves = parts(row["call"])
    scores = []
    for _ in range(20):
        d = build(*leaves)
        mean = d.log_prob(d.sample((300,))).mean(0)
        weights = neura.arange(1.0, mean.numel() + 1, dtype=neura.float64).reshape(mean.shape)
        total = (mean * weights).sum()
        scores.append(neura.autograd.grad(total, leaves, allow_unused=True, materialize_grads=True))
    for each in zip(*scores):
        batches = neura.stack(list(each))
        error = batches.mean(0).abs() / (batches.std(0) / math.sqrt(20) + 1e-9)
        assert (error < 6).all(), (batches.mean(0), error)


def test_correlations_of_lkj_have_their_marginals():
    """(1 + r) / 2 is Beta(a, a) with a = concentration + dim / 2 - 1, for each correlation r."""
    neura.manual_seed(5)
    factor = D.LKJCholesky(4, neura.tensor(1.5, dtype=neura.float64)).sample((20000,))
    correlation = factor @ factor.mT
    for i in range(4):
        for j in range(i):
            r = correlation[:, i, j]
            assert abs(r.mean().item()) < 0.015 and abs((r * r).mean().item() - 1 / 6) < 0.01
