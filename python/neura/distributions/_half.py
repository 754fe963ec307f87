"""Distributions of |x|, of an x whose distribution is symmetric about 0."""

import math

from .. import _neura as _n
from . import constraints
from ._composed import TransformedDistribution
from ._transform_elements import AbsTransform


class Half(TransformedDistribution):
    """|x| of a distribution that is symmetric around 0 and has a `scale`."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, symmetric, validate_args=None):
        super().__init__(symmetric, AbsTransform(), validate_args)

    scale = property(lambda self: self.base_dist.scale)
    mode = property(lambda self: _n.zeros_like(self.scale))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return _n.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value):
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self):
        return self.base_dist.entropy() - math.log(2)
