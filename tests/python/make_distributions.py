"""Writes distributions.json: what PyTorch's distributions say of values they drew, and divergences between them.

Run it with PyTorch: make_distributions.py
"""

import json
import pathlib

import torch
import torch.distributions

CALLS = """
Bernoulli(t(0.3)); Bernoulli(logits=t([[-2.0], [0.4]])); Bernoulli(t([0.0, 0.5, 1.0])); Bernoulli(0.25)
Beta(t([0.4, 3.5, 70.0]), t([[1.7], [2.25]])); Beta(0.5, 2.5)
Binomial(7, t([0.2, 0.85])); Binomial(t([3.0, 12.0]), logits=t([[-0.3], [1.2]])); Binomial(4, t([0.0, 1.0]))
Categorical(t([[0.2, 0.5, 1.3], [4.0, 0.0, 1.0]])); Categorical(logits=t([0.1, -2.0, 1.5, 0.0]))
Cauchy(t([0.3, -4.0]), t([[0.7], [2.0]])); Chi2(t([0.7, 5.5])); Chi2(3.0)
ContinuousBernoulli(t([0.1, 0.8])); ContinuousBernoulli(t([0.4995, 0.5])); ContinuousBernoulli(logits=t([-1.7, 3.0]))
Dirichlet(t([[0.3, 2.5, 1.2], [4.0, 0.9, 20.0]])); Exponential(t([0.4, 11.0]))
FisherSnedecor(t([1.5, 4.5]), t([[3.0], [9.5]])); Gamma(t([0.3, 2.5, 60.0]), t([[0.4], [3.0]])); Gamma(2.0, 3.0)
GeneralizedPareto(t([0.5, -1.0]), t([1.5, 0.3]), t([[0.3], [0.7]]))
GeneralizedPareto(t(0.25), t(2.0), t([-0.4, 0.2, 0.0]))
Geometric(t([0.1, 0.75])); Geometric(logits=t([-1.5, 0.5])); Gumbel(t([0.3, -2.0]), t([[0.4], [3.0]]))
HalfCauchy(t([0.4, 3.0])); HalfNormal(t([0.4, 3.0]))
Independent(Normal(t([[0.5, 1.5, -1.0], [0.0, 2.0, 3.0]]), t([0.3, 1.0, 2.5])), 1)
Independent(Bernoulli(t([0.2, 0.9])), 0)
InverseGamma(t([0.6, 1.5, 4.5]), t([[0.4], [3.0]])); Kumaraswamy(t([0.6, 2.5]), t([[0.8], [3.5]]))
LKJCholesky(2, t([0.5, 1.0, 3.5])); LKJCholesky(4, t(1.5)); Laplace(t([0.3, -2.0]), t([[0.4], [3.0]]))
LogNormal(t([0.3, -2.0]), t([[0.4], [1.5]])); LogisticNormal(t([[0.3, -1.0], [0.0, 2.0]]), t([0.5, 1.25]))
LowRankMultivariateNormal(t([[0.5, -1.0, 2.0]]), t([[1.0, 0.3], [-0.5, 2.0], [0.1, 0.7]]), t([[0.5, 1.0, 2.0], \
[3.0, 0.1, 0.4]]))
MixtureSameFamily(Categorical(t([[0.3, 0.7], [0.5, 0.5]])), Normal(t([[-1.0, 2.0], [0.0, 4.0]]), t([0.5, 1.5])))
MixtureSameFamily(Categorical(t([0.2, 0.3, 0.5])), MultivariateNormal(t([[0.0, 1.0], [2.0, 0.0], [-1.0, 3.0]]), \
t([[2.0, 0.5], [0.5, 1.0]])))
Multinomial(5, t([[0.2, 0.5, 0.3], [0.1, 0.1, 0.8]])); Multinomial(3, logits=t([0.0, 1.0, -1.0]))
MultivariateNormal(t([[0.5, -1.0], [0.0, 2.0], [1.0, 1.0]]), t([[2.0, 0.5], [0.5, 1.0]]))
MultivariateNormal(t([0.5, -1.0]), scale_tril=t([[[1.5, 0.0], [0.5, 0.7]], [[0.2, 0.0], [-3.0, 2.0]]]))
MultivariateNormal(t([0.5, -1.0, 0.0]), precision_matrix=t([[2.0, 0.5, 0.1], [0.5, 1.0, -0.2], [0.1, -0.2, 3.0]]))
NegativeBinomial(t([2.5, 7.0]), t([[0.3], [0.8]])); NegativeBinomial(3, logits=t([-0.5, 0.7]))
Normal(t([0.3, -2.0]), t([[0.4], [3.0]])); Normal(0.5, 2.0); Normal(t([0.3, 1.0]), 2)
OneHotCategorical(t([[0.2, 0.5, 1.3], [4.0, 0.5, 1.0]])); OneHotCategorical(logits=t([0.1, -2.0, 1.5, 0.0]))
OneHotCategoricalStraightThrough(t([0.2, 0.5, 1.3])); Pareto(t([0.4, 3.0]), t([[0.7], [1.5], [4.5]]))
RelaxedBernoulli(t(0.7), t([0.2, 0.9])); RelaxedBernoulli(t([0.5, 2.0]), logits=t([-1.0, 0.5]))
RelaxedOneHotCategorical(t(0.7), t([[0.2, 0.5, 1.3], [4.0, 0.5, 1.0]]))
RelaxedOneHotCategorical(t(2.0), logits=t([0.1, -2.0, 1.5]))
StudentT(t([0.7, 1.5, 6.5]), t([[0.4], [-3.0]]), t(1.7)); StudentT(3.5); Poisson(t([0.4, 3.0, 25.0]))
Uniform(t([0.3, -2.0]), t([[0.4], [3.0]])); VonMises(t([0.3, -2.0]), t([[0.4], [30.0]]))
Weibull(t([0.4, 3.0]), t([[1.25], [2.5]]))
Wishart(t([2.5, 4.0]), t([[2.0, 0.5], [0.5, 1.0]]))
Wishart(t(5.0), scale_tril=t([[1.5, 0.0, 0.0], [0.5, 0.7, 0.0], [-1.0, 0.2, 0.3]]))
Wishart(t(4.5), precision_matrix=t([[2.0, 0.5], [0.5, 1.0]]))
TransformedDistribution(Normal(t([0.3, -2.0]), t(0.5)), [ExpTransform(), AffineTransform(1.0, t([[-2.0], [0.5]]))])
TransformedDistribution(Normal(t([0.3, -2.0, 1.0]), t(0.5)), [SigmoidTransform()])
TransformedDistribution(Gamma(t([1.3, 2.0]), t(0.5)), [StickBreakingTransform()])
TransformedDistribution(Normal(t([0.0, 1.0, 2.0, 3.0]), t(1.0)), ReshapeTransform((4,), (2, 2)))
"""

PAIRS = """
Bernoulli(t([0.3, 0.8])) Bernoulli(t([[0.6], [0.1]])); Beta(t([0.4, 3.5]), t(1.5)) Beta(t(2.0), t([[0.7], [5.0]]))
Binomial(7, t([0.2, 0.85])) Binomial(7, t([0.5])); Binomial(9, t(0.2)) Binomial(7, t(0.5))
Categorical(t([0.2, 0.5, 1.3])) Categorical(t([[1.0, 2.0, 3.0], [1.0, 0.0, 1.0]]))
OneHotCategorical(t([0.2, 0.5, 1.3])) OneHotCategorical(t([1.0, 2.0, 3.0]))
ContinuousBernoulli(t([0.1, 0.4995, 0.8])) ContinuousBernoulli(t([[0.3], [0.9]]))
Dirichlet(t([[0.3, 2.5, 1.2], [4.0, 0.9, 20.0]])) Dirichlet(t([1.0, 2.0, 3.0]))
Exponential(t([0.4, 11.0])) Exponential(t([[2.0], [0.3]]))
Gamma(t([0.3, 2.5]), t(0.4)) Gamma(t(2.0), t([[1.5], [7.0]]))
Gumbel(t([0.3, -2.0]), t(0.4)) Gumbel(t(1.0), t([[1.5], [0.6]])); Geometric(t([0.1, 0.75])) Geometric(t([[0.5], [0.2]]))
HalfNormal(t([0.4, 3.0])) HalfNormal(t([[2.0], [1.0]]))
Laplace(t([0.3, -2.0]), t(0.4)) Laplace(t(1.0), t([[1.5], [0.6]]))
Normal(t([0.3, -2.0]), t(0.4)) Normal(t(1.0), t([[1.5], [0.6]]))
Pareto(t([2.0, 0.5]), t(1.4)) Pareto(t(1.0), t([[1.5], [0.6]]))
Poisson(t([0.4, 3.0])) Poisson(t([[2.0], [1.0]])); Uniform(t([0.3, -2.0]), t(0.7)) Uniform(t(-1.0), t([[1.5], [0.6]]))
Cauchy(t([0.3, -2.0]), t(0.4)) Cauchy(t(1.0), t([[1.5], [0.6]]))
LogNormal(t([0.3, -2.0]), t(0.4)) LogNormal(t(1.0), t(1.5))
Independent(Normal(t([0.3, -2.0]), t(0.4)), 1) Independent(Normal(t([1.0, 1.0]), t([0.5, 2.0])), 1)
MultivariateNormal(t([[0.5, -1.0], [1.0, 1.0]]), t([[2.0, 0.5], [0.5, 1.0]])) MultivariateNormal(t([0.0, 1.0]), \
scale_tril=t([[1.5, 0.0], [0.5, 0.7]]))
MultivariateNormal(t([0.5, -1.0]), t([[2.0, 0.5], [0.5, 1.0]])) LowRankMultivariateNormal(t([0.0, 1.0]), t([[1.5], \
[0.5]]), t([0.3, 2.0]))
LowRankMultivariateNormal(t([0.0, 1.0]), t([[1.5], [0.5]]), t([0.3, 2.0])) MultivariateNormal(t([0.5, -1.0]), \
t([[2.0, 0.5], [0.5, 1.0]]))
LowRankMultivariateNormal(t([0.0, 1.0]), t([[1.5], [0.5]]), t([0.3, 2.0])) LowRankMultivariateNormal(t([[0.5, \
0.0]]), t([[0.5], [-1.5]]), t([1.3, 0.7]))
Wishart(t(4.5), t([[2.0, 0.5], [0.5, 1.0]])) Wishart(t(3.5), t([[1.0, 0.1], [0.1, 1.0]]))
Bernoulli(t([0.3, 0.8])) Poisson(t([[0.6], [2.1]]))
"""

ONE_OF_EACH = """
Bernoulli(t([0.3, 0.8])); Beta(t([0.4, 3.5]), t(1.5)); Binomial(7, t([0.2, 0.85])); ContinuousBernoulli(t([0.2, 0.7]))
Exponential(t([0.4, 1.5])); Gamma(t([0.7, 2.5]), t(1.4)); Gumbel(t([0.3, -1.0]), t(1.4))
Laplace(t([0.3, -1.0]), t(0.6))
Normal(t([0.3, -1.0]), t(0.6)); Pareto(t([0.2, 0.3]), t(2.5)); Poisson(t([0.4, 3.0])); Uniform(t([0.35, 0.4]), t(0.9))
"""

WAYS = "log_prob cdf".split()
FACTS = "mean mode variance stddev".split()


def t(value):
    return torch.tensor(value, dtype=torch.float64)


def split(text):
    return [call.strip() for line in text.strip().splitlines() for call in line.split(";")]


def make(call):
    return eval(call, {"t": t, **vars(torch.distributions)})


def stored(value):
    """Nested lists, floats of 12 digits; inf and nan as JSON's extension has them."""
    if isinstance(value, list):
        return [stored(v) for v in value]
    return float(f"{value:.12g}") if isinstance(value, float) else value


def attempt(answer):
    try:
        return stored(answer().tolist())
    except NotImplementedError:
        return None


def describe(call):
    d = make(call)
    value = d.sample((2,))
    entry = {"call": call, "batch": list(d.batch_shape), "event": list(d.event_shape), "value": value.tolist()}
    is_near_half = "0.4995" in call  # PyTorch's cdf of a ContinuousBernoulli is that of a Uniform there
    for name in WAYS[: 1 if is_near_half else 2]:
        entry[name] = attempt(lambda: getattr(d, name)(value))
    for name in FACTS if not call.startswith("Kumaraswamy") else ("mean", "variance"):  # its mode is NaN
        entry[name] = attempt(lambda: getattr(d, name))
    entry["entropy"] = attempt(d.entropy)
    entry["icdf"] = None if is_near_half else attempt(lambda: d.icdf(t(0.3).expand(d.batch_shape)))
    entry["enumerated"] = attempt(d.enumerate_support)
    return {name: found for name, found in entry.items() if found is not None}


def divergence(p, q):
    both = make(p), make(q)
    shape = torch.broadcast_shapes(both[0].batch_shape, both[1].batch_shape)  # PyTorch broadcasts only some of them
    result = attempt(lambda: torch.distributions.kl_divergence(*(d.expand(shape) for d in both)))
    return None if result is None else {"p": p, "q": q, "kl": result}


def halves(text):
    """The two calls of a pair: the second starts where the brackets of the first are all closed."""
    depth = 0
    for at, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if letter == " " and depth == 0:
            return text[:at], text[at + 1 :]


def main():
    torch.manual_seed(1)
    torch.set_default_dtype(torch.float64)  # parts of PyTorch's formulas are in the default dtype
    calls = [describe(call) for call in split(CALLS)]
    pairs = [halves(pair) for pair in split(PAIRS)]
    kinds = split(ONE_OF_EACH)
    pairs += [(p, q) for p in kinds for q in kinds if p.partition("(")[0] != q.partition("(")[0]]
    found = {"calls": calls, "pairs": [entry for entry in (divergence(*pair) for pair in pairs) if entry]}
    lines = [f'"{name}": [\n' + ",\n".join(map(json.dumps, rows)) + "\n]" for name, rows in found.items()]
    path = pathlib.Path(__file__).with_name("distributions.json")
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
