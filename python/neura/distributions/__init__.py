"""Probability distributions with samplers, densities, gradients of samples, divergences, and sets and transforms of
their values, under the names of torch.distributions."""

from . import constraints, kl, transforms, utils
from ._bernoulli import Bernoulli, ContinuousBernoulli, RelaxedBernoulli
from ._beta import Beta, Dirichlet, Kumaraswamy
from ._categorical import (
    Categorical,
    OneHotCategorical,
    OneHotCategoricalStraightThrough,
    RelaxedOneHotCategorical,
)
from ._composed import Independent, MixtureSameFamily, TransformedDistribution
from ._counts import Binomial, Geometric, Multinomial, NegativeBinomial, Poisson
from ._gamma import Chi2, Exponential, FisherSnedecor, Gamma, InverseGamma
from ._location_scale import Cauchy, Gumbel, HalfCauchy, Laplace, StudentT, Uniform
from ._matrix import LKJCholesky, Wishart
from ._multivariate_normal import LowRankMultivariateNormal, MultivariateNormal
from ._normal import HalfNormal, LogisticNormal, LogNormal, Normal
from ._tails import GeneralizedPareto, Pareto, Weibull
from ._von_mises import VonMises
from .constraint_registry import biject_to, transform_to
from .distribution import Distribution, ExponentialFamily
from .kl import kl_divergence, register_kl
from .transforms import *  # noqa: F401,F403

__all__ = [
    "Bernoulli",
    "Beta",
    "Binomial",
    "Categorical",
    "Cauchy",
    "Chi2",
    "ContinuousBernoulli",
    "Dirichlet",
    "Distribution",
    "Exponential",
    "ExponentialFamily",
    "FisherSnedecor",
    "Gamma",
    "GeneralizedPareto",
    "Geometric",
    "Gumbel",
    "HalfCauchy",
    "HalfNormal",
    "Independent",
    "InverseGamma",
    "Kumaraswamy",
    "LKJCholesky",
    "Laplace",
    "LogNormal",
    "LogisticNormal",
    "LowRankMultivariateNormal",
    "MixtureSameFamily",
    "Multinomial",
    "MultivariateNormal",
    "NegativeBinomial",
    "Normal",
    "OneHotCategorical",
    "OneHotCategoricalStraightThrough",
    "Pareto",
    "Poisson",
    "RelaxedBernoulli",
    "RelaxedOneHotCategorical",
    "StudentT",
    "TransformedDistribution",
    "Uniform",
    "VonMises",
    "Weibull",
    "Wishart",
    "biject_to",
    "constraints",
    "kl",
    "kl_divergence",
    "register_kl",
    "transform_to",
    "transforms",
    "utils",
    *transforms.__all__,
]
