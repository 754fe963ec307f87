"""What distributions refuse, how they print, how they are extended, and that they load late."""

import pickle
import re
import subprocess
import sys
import warnings

import neura
import pytest
from neura import distributions as D
from neura.distributions import constraints
from distributions_values_test import STORED, make

errors = neura.errors


def t(value):
    return neura.tensor(value, dtype=neura.float64)


WRONG = """
Bernoulli(1.5); Bernoulli(t([0.5, -0.1])); Bernoulli(logits=nan); Beta(0.0, 1.0); Beta(1.0, -1.0)
Binomial(-1, t(0.5)); Binomial(2.5, t(0.5)); Binomial(2, t(1.5)); Categorical(t([-1.0, 3.0]))
Categorical(t([0.0, 0.0]))
Categorical(logits=t([nan, 0.0])); Cauchy(0.0, 0.0); Chi2(-1.0); ContinuousBernoulli(1.5)
Dirichlet(t([1.0, 0.0])); Exponential(0.0); FisherSnedecor(1.0, 0.0); Gamma(-1.0, 1.0); Gamma(1.0, t([1.0, 0.0]))
GeneralizedPareto(0.0, 0.0, 1.0); Geometric(0.0); Geometric(1.5); Gumbel(0.0, -1.0); HalfCauchy(-1.0); HalfNormal(0.0)
InverseGamma(0.0, 1.0); Kumaraswamy(0.0, 1.0); LKJCholesky(3, -1.0); LKJCholesky(1); Laplace(0.0, 0.0)
LogNormal(0.0, -1.0); LogisticNormal(t([0.0, 0.0]), t([1.0, -1.0]))
LowRankMultivariateNormal(t([0.0]), t([[1.0]]), t([0.0]))
Multinomial(3, t([-1.0, 2.0])); MultivariateNormal(t([0.0, 0.0]), t([[1.0, 2.0], [2.0, 1.0]]))
MultivariateNormal(t([0.0, 0.0]), scale_tril=t([[1.0, 1.0], [0.0, 1.0]]))
MultivariateNormal(t([0.0, 0.0]), precision_matrix=t([[1.0, 0.5], [0.4, 1.0]])); MultivariateNormal(t([0.0]))
NegativeBinomial(-1.0, t(0.5)); NegativeBinomial(1.0, t(1.0)); Normal(0.0, 0.0); Normal(nan, 1.0); Normal("0", 1.0)
OneHotCategorical(t([-1.0, 2.0])); OneHotCategoricalStraightThrough(t([-1.0, 2.0])); Pareto(0.0, 1.0); Pareto(1.0, 0.0)
Poisson(-1.0); RelaxedBernoulli(t(1.0), 1.5); RelaxedOneHotCategorical(t(1.0), t([-1.0, 2.0])); StudentT(0.0)
StudentT(1.0, 0.0, -1.0); Uniform(1.0, 1.0); Uniform(t([0.0, 2.0]), 1.0); VonMises(0.0, 0.0); Weibull(1.0, 0.0)
Wishart(t(1.0), t([[1.0, 0.0], [0.0, 1.0]])); Wishart(t(3.0), t([[1.0, 2.0], [2.0, 1.0]])); Wishart(t(3.0))
Bernoulli(); Bernoulli(0.5, 0.0); Categorical(); Geometric(); Binomial(3); NegativeBinomial(3.0); OneHotCategorical()
Multinomial(3); ContinuousBernoulli(0.5, 0.5); RelaxedBernoulli(t(1.0)); RelaxedOneHotCategorical(t(1.0))
Independent(Normal(0.0, 1.0), 1); TransformedDistribution(Normal(0.0, 1.0), [3])
Normal(t([1.0, 2.0]), t([1.0, 1.0, 1.0]))
TransformedDistribution(Normal(0.0, 1.0), StickBreakingTransform())
MixtureSameFamily(Normal(0.0, 1.0), Normal(0.0, 1.0))
MixtureSameFamily(Categorical(t([1.0, 1.0])), Normal(t([0.0]), t(1.0)))
Dirichlet(t(1.0)); Categorical(t(1.0)); MultivariateNormal(t(1.0), t([[1.0]]))
MultivariateNormal(t([1.0, 2.0]), t([1.0]))
MultivariateNormal(t([1.0, 2.0, 3.0]), t([[1.0, 0.0], [0.0, 1.0]]))
LowRankMultivariateNormal(t([0.0]), t([1.0]), t([1.0]))
LowRankMultivariateNormal(t([0.0]), t([[1.0], [1.0]]), t([1.0]))
"""


@pytest.mark.parametrize("call", [c.strip() for line in WRONG.strip().splitlines() for c in line.split(";")])
def test_wrong_parameters_are_value_errors(call):
    with pytest.raises(ValueError) as caught:
        eval(call, {"t": t, "nan": float("nan"), **vars(D)})
    assert isinstance(caught.value, errors.Error) and "expected" in str(caught.value)


def test_every_distribution_refuses_something():
    kinds = {n for n in D.__all__ if isinstance(getattr(D, n), type) and issubclass(getattr(D, n), D.Distribution)}
    assert kinds - set(re.findall(r"\w+", WRONG)) == {"Distribution", "ExponentialFamily"}


def test_an_error_says_which_parameter_and_what_to_do():
    with pytest.raises(errors.ValueError) as caught:
        D.Normal(0.0, t([1.0, -2.0]))
    text = str(caught.value)
    assert text.startswith(
        "Normal: expected parameter scale within GreaterThan(lower_bound=0.0), got\n" "tensor([ 1., -2.]"
    )
    assert text.endswith("correct it, or give validate_args=False")


@pytest.mark.parametrize("call", [row["call"] for row in STORED["calls"] if "t(" in row["call"]])
def test_wrong_values_are_value_errors(call):
    d = make(call)
    good = d.sample()
    with pytest.raises(ValueError):
        d.log_prob(neura.full_like(good, float("nan")) if good.is_floating_point() else good - 100)
    with pytest.raises(ValueError):
        d.log_prob(good.tolist())
    if good.shape:
        with pytest.raises(ValueError):
            d.log_prob(neura.zeros(7, 5, 11, 13, dtype=neura.float64))


def test_checks_can_be_turned_off():
    assert D.Normal(0.0, -1.0, validate_args=False).scale == -1.0
    assert D.Exponential(1.0, validate_args=False).log_prob(t(-1.0)) == 1.0
    D.Distribution.set_default_validate_args(False)
    try:
        assert D.Normal(0.0, -1.0).scale == -1.0
        assert D.Uniform(1.0, 0.0).low == 1.0
        with pytest.raises(ValueError, match="expected parameter scale"):
            D.Normal(0.0, -1.0, validate_args=True)
    finally:
        D.Distribution.set_default_validate_args(True)
    with pytest.raises(errors.ValueError, match="expected True or False, got 2"):
        D.Distribution.set_default_validate_args(2)
    with pytest.raises(ValueError, match="expected parameter scale"):
        D.Normal(0.0, -1.0)


def test_what_is_not_there_says_so():
    with pytest.raises(errors.NotImplementedError, match="StudentT: has no cdf"):
        D.StudentT(1.0).cdf(t(0.0))
    with pytest.raises(errors.NotImplementedError, match="Normal: has no enumerate_support"):
        D.Normal(0.0, 1.0).enumerate_support()
    with pytest.raises(
        errors.NotImplementedError, match="kl_divergence: has no formula for the families Normal and Poisson"
    ):
        D.kl_divergence(D.Normal(0.0, 1.0), D.Poisson(1.0))
    with pytest.raises(errors.NotImplementedError, match="Binomial of fewer trials"):
        D.kl_divergence(D.Binomial(2, t(0.5)), D.Binomial(3, t(0.5)))
    with pytest.raises(errors.NotImplementedError, match="different transforms"):
        D.kl_divergence(D.Weibull(1.0, 2.0), D.Weibull(1.0, 3.0))
    with pytest.raises(errors.NotImplementedError, match="several total_counts"):
        D.Binomial(t([1.0, 2.0]), t(0.5)).enumerate_support()
    with pytest.raises(errors.NotImplementedError, match="has only one total_count"):
        D.Multinomial(t([1.0, 2.0]), t([0.5, 0.5]))
    with pytest.raises(errors.ShapeError, match="expected as many outcomes in both, got 2 and 3"):
        D.kl_divergence(D.Categorical(t([1.0, 1.0])), D.Categorical(t([1.0, 1.0, 1.0])))
    with pytest.raises(TypeError, match="register_kl: expected classes of distributions"):
        D.register_kl(int, D.Normal)


def test_they_print_their_parameters():
    assert repr(D.Normal(neura.zeros(2, 3), 1.0)) == "Normal(loc: neura.Size([2, 3]), scale: neura.Size([2, 3]))"
    assert repr(D.Normal(0.5, 1.0)) == "Normal(loc: 0.5, scale: 1.0)"
    assert repr(D.LogNormal(0.5, 1.0)) == "LogNormal(loc: 0.5, scale: 1.0)"
    assert repr(D.Bernoulli(0.5)) == "Bernoulli(probs: 0.5)"
    assert repr(D.Independent(D.Normal(neura.zeros(2), 1.0), 1)) == (
        "Independent(Normal(loc: neura.Size([2]), scale: neura.Size([2])), 1)"
    )
    assert repr(D.ExpTransform().inv) == "ExpTransform().inv"
    for row in STORED["calls"]:
        assert repr(make(row["call"])).startswith(row["call"].split("(")[0] + "(")


def test_a_class_of_ones_own():
    class Point(D.Distribution):
        arg_constraints = {"at": constraints.positive}
        support = constraints.real

        def __init__(self, at, validate_args=None):
            self.at = at
            super().__init__(at.shape, validate_args=validate_args)

    with pytest.raises(ValueError, match="Point: expected parameter at within"):
        Point(t([-1.0]))
    with pytest.raises(errors.NotImplementedError, match="Point: has no expand; define it"):
        Point(t([1.0])).expand((2, 1))
    for name in ("mean", "mode", "variance", "stddev"):
        with pytest.raises(errors.NotImplementedError, match=f"Point: has no {name.replace('stddev', 'variance')}"):
            getattr(Point(t([1.0])), name)

    class Bare(D.Distribution):
        pass

    with pytest.warns(UserWarning, match="Bare: has no arg_constraints"):
        Bare()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Bare(validate_args=False)

    class Shifted(D.Normal):
        pass

    assert type(Shifted(0.0, 1.0).expand((2,))) is Shifted
    assert D.kl_divergence(Shifted(0.0, 1.0), D.Normal(1.0, 1.0)) == 0.5


def test_an_exponential_family_of_ones_own():
    """Entropy and divergence from the log normaliser, against the formulas of the same distributions."""
    kinds = [
        (D.Normal(t([0.3, 1.0]), t(2.0)), D.Normal(t(1.0), t([0.5, 3.0]))),
        (D.Gamma(t([0.3, 2.0]), t([1.5, 3.0])), D.Gamma(t([1.0, 2.5]), t([0.7, 1.0]))),
        (D.Beta(t([0.3, 2.0]), t([1.5, 3.0])), D.Beta(t([1.0, 2.5]), t([0.7, 1.0]))),
        (D.Dirichlet(t([0.3, 2.0])), D.Dirichlet(t([1.0, 2.5]))),
        (D.Exponential(t([0.3, 2.0])), D.Exponential(t([1.0, 2.5]))),
        (D.Bernoulli(t([0.3, 0.9])), D.Bernoulli(t([0.5, 0.4]))),
        (D.ContinuousBernoulli(t([0.3, 0.5])), D.ContinuousBernoulli(t([0.5, 0.4]))),
        (D.Poisson(t([0.3, 2.0])), D.Poisson(t([1.0, 2.5]))),
    ]
    family = D.kl._registry[D.ExponentialFamily, D.ExponentialFamily]
    for p, q in kinds:
        assert (family(p, q) - D.kl_divergence(p, q)).abs().max() < 1e-9, p
        if type(p) not in (D.Dirichlet, D.Beta, D.Poisson):  # the carriers of these are left in the parameters
            assert (D.ExponentialFamily.entropy(p) - p.entropy()).abs().max() < 1e-5 or isinstance(p, D.Normal), p
    a = t(2.0).requires_grad_()
    assert not D.Poisson(2.0)._natural_params[0].requires_grad and D.Exponential(a)._natural_params[0].requires_grad
    (slope,) = neura.autograd.grad(D.ExponentialFamily.entropy(D.Exponential(a)), a)
    assert abs(slope.item() + 0.5) < 1e-12


def test_gradients_reach_the_parameters_of_densities():
    a, b = t(1.5).requires_grad_(), t(0.7).requires_grad_()
    for d, x in ((D.Gamma(a, b), t(0.8)), (D.Beta(a, b), t(0.3)), (D.StudentT(a, b), t(0.3)), (D.Normal(a, b), t(0.3))):
        assert neura.autograd.gradcheck(lambda p, q: type(d)(p, q).log_prob(x), (a, b))
    p = t([0.3, 0.6]).requires_grad_()
    d = D.Bernoulli(p)
    with neura.no_grad():
        d.logits  # computed with gradients all the same
    assert d.log_prob(t(1.0)).requires_grad


def test_the_nearest_pair_is_taken_and_a_tie_warns():
    class A(D.Normal):
        pass

    class B(A):
        pass

    @D.register_kl(A, D.Normal)
    def left(p, q):
        return "left"

    @D.register_kl(D.Normal, A)
    def right(p, q):
        return "right"

    try:
        assert D.kl_divergence(A(0.0, 1.0), D.Normal(0.0, 1.0)) == "left"
        with pytest.warns(RuntimeWarning, match=r"both \(A, Normal\) and \(Normal, A\) fit"):
            assert D.kl_divergence(B(0.0, 1.0), B(0.0, 1.0)) == "left"
    finally:
        del D.kl._registry[A, D.Normal], D.kl._registry[D.Normal, A]
        D.kl._found.clear()


def test_sample_n_warns():
    with pytest.warns(UserWarning, match="call sample"):
        assert D.Normal(0.0, 1.0).sample_n(3).shape == (3,)


def test_distributions_are_pickled():
    for row in STORED["calls"]:
        d = make(row["call"])
        again = pickle.loads(pickle.dumps(d))
        value = neura.tensor(row["value"], dtype=d.sample().dtype)
        assert (again.log_prob(value) == d.log_prob(value)).all()


def test_pytorchs_modules_are_there():
    import neura.distributions.normal
    from neura.distributions.categorical import Categorical
    from neura.distributions.exp_family import ExponentialFamily
    from neura.distributions.relaxed_categorical import ExpRelaxedCategorical
    from neura.distributions.studentT import StudentT

    assert neura.distributions.normal.Normal is D.Normal and Categorical is D.Categorical and StudentT is D.StudentT
    assert (
        issubclass(D.Gamma, ExponentialFamily) and D.relaxed_categorical.ExpRelaxedCategorical is ExpRelaxedCategorical
    )


def test_they_load_late():
    program = (
        "import sys, neura; assert not any('distributions' in m for m in sys.modules); "
        "neura.distributions.Normal(0.0, 1.0).sample(); assert not {'neura.nn', 'numpy'} & set(sys.modules)"
    )
    path = ":".join(p for p in sys.path if p)
    subprocess.run([sys.executable, "-c", program], check=True, env={"PYTHONPATH": path})
