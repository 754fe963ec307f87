"""neura.distributions on a device: what it says there is what it says on the CPU."""

import json
import pathlib

import neura
import pytest
from neura import distributions as D

if not neura.cuda.is_available():
    pytest.skip("no device", allow_module_level=True)

TABLE = pathlib.Path(__file__).parents[2] / "python" / "distributions.json"
STORED = json.loads(TABLE.read_text())


def make(call, device):
    return eval(call, {"t": lambda v: neura.tensor(v, dtype=neura.float64, device=device), **vars(D)})


def unless_missing(function):
    """What it gives, or a skip where an operation is for the CPU alone."""
    try:
        return function()
    except neura.errors.Error as error:
        if "cpu" not in str(error).lower():
            raise
        pytest.skip(f"not on a device: {str(error)[:80]}")


def near(there, here):
    assert there.is_cuda
    there = there.cpu()
    same = (there == here) | (there.isnan() & here.isnan())
    assert (same | ((there - here).abs() <= 1e-9 * here.abs().clamp(min=1.0))).all()


@pytest.mark.parametrize("row", [r for r in STORED["calls"] if "t(" in r["call"]], ids=lambda r: r["call"])
def test_it_says_there_what_it_says_here(row):
    here = make(row["call"], "cpu")
    there = unless_missing(lambda: make(row["call"], "cuda"))
    value = neura.tensor(row["value"], dtype=neura.float64)
    near(unless_missing(lambda: there.log_prob(value.cuda())), here.log_prob(value))
    for name in ("mean", "mode", "variance", "entropy"):
        if name in row:
            a, b = getattr(there, name), getattr(here, name)
            near(a() if callable(a) else a, b() if callable(b) else b)
    if "cdf" in row:
        near(there.cdf(value.cuda()), here.cdf(value))
    neura.manual_seed(1)
    sample = unless_missing(lambda: there.sample((50,)))
    assert sample.is_cuda and there.support.check(sample).all()
    assert unless_missing(lambda: there.log_prob(sample)).isfinite().all()


@pytest.mark.parametrize("call", ["Gamma(a, 2.0)", "Beta(a, 0.5)", "Dirichlet(a)", "StudentT(a)", "Chi2(a)"])
def test_gradients_of_samples_stay_there(call):
    a = neura.tensor([0.3, 1.5, 20.0], dtype=neura.float64, device="cuda", requires_grad=True)
    sample = eval(call, {"a": a, **vars(D)}).rsample((10,))
    (slope,) = neura.autograd.grad((sample * sample).sum(), a)
    assert slope.is_cuda and slope.isfinite().all() and (slope != 0).all()


@pytest.mark.parametrize("row", STORED["pairs"], ids=lambda r: f"{r['p']} {r['q']}")
def test_divergences_are_the_same(row):
    p, q = unless_missing(lambda: (make(row["p"], "cuda"), make(row["q"], "cuda")))
    near(unless_missing(lambda: D.kl_divergence(p, q)), D.kl_divergence(make(row["p"], "cpu"), make(row["q"], "cpu")))
