"""Parametrizations that are made already."""

from ... import _neura
from ...autograd.grad_mode import no_grad
from ..module import Module
from . import parametrize

__all__ = ["weight_norm", "spectral_norm"]


def _norm_except(v, dim):
    """The norm over all dimensions but one, which keeps its place."""
    if dim == -1:
        return v.square().sum().sqrt()
    others = [d for d in range(v.dim()) if d != dim]
    return v.square().sum(others, keepdim=True).sqrt()


class _WeightNorm(Module):
    def __init__(self, dim=0):
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g, weight_v):
        return weight_v * (weight_g / _norm_except(weight_v, self.dim))

    def right_inverse(self, weight):
        return _norm_except(weight, self.dim), weight


def weight_norm(module, name="weight", dim=0):
    """The weight is original1, its direction, times original0, its length: one for each entry of dimension dim.

    dim=None: one length for all. Salimans and Kingma, arXiv 1602.07868. Reads weight_g and weight_v of older files.
    """
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def read_old_names(state_dict, prefix, *rest):
        for old, new in (("g", "original0"), ("v", "original1")):
            key = f"{prefix}{name}_{old}"
            if key in state_dict:
                state_dict[f"{prefix}parametrizations.{name}.{new}"] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(read_old_names)
    return module


class _SpectralNorm(Module):
    def __init__(self, weight, n_power_iterations=1, dim=0, eps=1e-12):
        super().__init__()
        if n_power_iterations <= 0:
            raise ValueError(f"spectral_norm: expected n_power_iterations to be positive, got {n_power_iterations}")
        self.dim, self.eps, self.n_power_iterations = dim % weight.dim(), eps, n_power_iterations
        if weight.dim() > 1:
            matrix = self._matrix(weight.detach())
            self.register_buffer(
                "_u", self._normal(_neura.randn(matrix.shape[0], dtype=matrix.dtype, device=matrix.device))
            )
            self.register_buffer(
                "_v", self._normal(_neura.randn(matrix.shape[1], dtype=matrix.dtype, device=matrix.device))
            )
            self._iterate(matrix, 15)

    def _matrix(self, weight):
        if self.dim != 0:
            weight = weight.permute(self.dim, *[d for d in range(weight.dim()) if d != self.dim])
        return weight.flatten(1)

    def _normal(self, x):
        return x / x.square().sum().sqrt().clamp(min=self.eps)

    def _iterate(self, matrix, times):
        with no_grad():
            for _ in range(times):
                self._u.copy_(self._normal(matrix @ self._v))
                self._v.copy_(self._normal(matrix.t() @ self._u))

    def forward(self, weight):
        if weight.dim() == 1:
            return self._normal(weight)
        matrix = self._matrix(weight)
        if self.training:
            self._iterate(matrix.detach(), self.n_power_iterations)
        return weight / (self._u.clone() * (matrix @ self._v.clone())).sum()

    def right_inverse(self, value):
        return value


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """The weight divided by its largest singular value, which power iteration follows. Miyato et al., arXiv 1802.05957.

    dim: the dimension of the outputs; by default 1 for transposed convolutions and 0 for everything else.
    """
    weight = getattr(module, name)
    if dim is None:
        dim = 1 if "ConvTranspose" in type(module).__name__ else 0
    parametrize.register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))
    return module
