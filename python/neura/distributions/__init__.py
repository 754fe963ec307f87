"""Probability distributions with samplers, densities, gradients of samples, divergences, and sets and transforms of
their values, under the names of torch.distributions."""

import sys as _sys

from . import constraints, distribution, kl, transforms, utils  # noqa: F401
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

for _home, _names in {  # PyTorch's modules, each a second name of the one that has its classes
    "_bernoulli": "bernoulli continuous_bernoulli relaxed_bernoulli",
    "_beta": "beta dirichlet kumaraswamy",
    "_categorical": "categorical one_hot_categorical relaxed_categorical",
    "_composed": "independent mixture_same_family transformed_distribution",
    "_counts": "binomial geometric multinomial negative_binomial poisson",
    "_gamma": "chi2 exponential fishersnedecor gamma inverse_gamma",
    "_location_scale": "cauchy gumbel half_cauchy laplace studentT uniform",
    "_matrix": "lkj_cholesky wishart",
    "_multivariate_normal": "lowrank_multivariate_normal multivariate_normal",
    "_normal": "half_normal log_normal logistic_normal normal",
    "_tails": "generalized_pareto pareto weibull",
    "_von_mises": "von_mises",
    "distribution": "exp_family",
}.items():
    for _name in _names.split():
        globals()[_name] = _sys.modules[f"{__name__}.{_name}"] = globals()[_home]
del _home, _name, _names

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
