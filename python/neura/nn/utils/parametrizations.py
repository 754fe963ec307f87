"""Ready-made parametrizations: weight, spectral and orthogonal norms."""

from ... import _neura
from ..._limits import finfo
from ..._neura import Tensor, errors
from ...autograd.grad_mode import no_grad
from ..module import Module
from . import parametrize

__all__ = ["orthogonal", "weight_norm", "spectral_norm"]


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
    """Weight normalisation: the norm original0, one for each index of dim, times the direction original1.

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


def _orthonormal(x):
    """The factor Q of x = QR, where R has a positive diagonal."""
    q, r = _neura.linalg.qr(x)
    sign = r.diagonal(dim1=-2, dim2=-1).sgn()
    return q * _neura.where(sign == 0, 1, sign).unsqueeze(-2)


def _is_orthonormal(q):
    n, k = q.shape[-2:]
    unit = _neura.eye(k, dtype=q.dtype, device=q.device)
    return bool(_neura.allclose(q.mH @ q, unit, atol=10 * n * finfo(q.dtype).eps))


class _Orthogonal(Module):
    def __init__(self, orthogonal_map, use_trivialization):
        super().__init__()
        self.orthogonal_map = orthogonal_map
        self.register_buffer("base", None, persistent=use_trivialization)
        self.use_trivialization = use_trivialization

    def forward(self, x):
        wide = x.shape[-2] < x.shape[-1]
        q = self._columns(x.mT if wide else x)
        if self.base is not None:
            q = self.base @ q
        return q.mT if wide else q

    def _columns(self, x):
        n, k = x.shape[-2:]
        if self.orthogonal_map == "householder":
            v = x.tril(-1)
            q = _neura.linalg.householder_product(v, 2 / (1 + v.square().sum(-2)))
            return q * x.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)
        x = x.tril()
        if n != k:
            x = _neura.cat([x, x.new_zeros(*x.shape[:-2], n, n - k)], -1)
        skew = x - x.mH
        if self.orthogonal_map == "matrix_exp":
            q = _neura.matrix_exp(skew)
        else:
            unit = _neura.eye(n, dtype=x.dtype, device=x.device)
            q = _neura.linalg.solve(unit - skew / 2, unit + skew / 2)
        return q[..., :k]

    def right_inverse(self, q):
        wide = q.shape[-2] < q.shape[-1]
        q = q.mT if wide else q
        if self.use_trivialization:
            x = self._rebase(q)
        elif self.orthogonal_map == "householder":
            x, tau = _neura.geqrf(q)
            diagonal = x.diagonal(dim1=-2, dim2=-1)
            positive = (diagonal >= 0) == (tau != 0)  # forward reflects along every column, geqrf not where tau is 0
            diagonal.copy_(_neura.where(positive, 1.0, -1.0))
        else:
            raise NotImplementedError(
                f"orthogonal: expected orthogonal_map 'householder' or use_trivialization=True to assign through, got "
                f"'{self.orthogonal_map}' without it"
            )
        return x.mT if wide else x

    def _rebase(self, q):
        """Lets the parametrization begin at q: what is trained is the way from there."""
        n, k = q.shape[-2:]
        if n == k:
            self.base = q.clone() if _is_orthonormal(q) else _orthonormal(q)
        else:
            more = _neura.randn(*q.shape[:-2], n, n - k, dtype=q.dtype, device=q.device)
            self.base = _orthonormal(_neura.cat([q, more], -1))
        start = _neura.zeros_like(q)
        start.diagonal(dim1=-2, dim2=-1).fill_(-1)  # householder reads signs there
        return start


def orthogonal(module, name="weight", orthogonal_map=None, *, use_trivialization=True):
    """The weight, a matrix or a batch of them, is orthogonal: its columns (or rows, if it is wide) are orthonormal.

    orthogonal_map: how a free matrix becomes an orthogonal one. 'matrix_exp', of a skew matrix A; 'cayley',
    (I - A/2)^-1 (I + A/2); 'householder', a product of reflections, for real weights. By default 'matrix_exp' for
    square or complex weights, else 'householder'. use_trivialization: the weight is B Q with a fixed matrix B of the
    weight that was there, so that an orthogonal one stays as it is. Lezcano-Casado, arXiv 1909.09501.
    ValueError for a weight of one dimension or another map.

    >>> layer = neura.nn.utils.parametrizations.orthogonal(neura.nn.Linear(3, 5))
    >>> bool(neura.allclose(layer.weight.t() @ layer.weight, neura.eye(3), atol=1e-5))
    True
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise errors.ValueError(f"orthogonal: expected a tensor '{name}' in {type(module).__name__}, got none")
    if weight.dim() < 2:
        raise errors.ValueError(f"orthogonal: expected a weight of at least 2 dimensions, got {list(weight.shape)}")
    if orthogonal_map is None:
        square = weight.shape[-2] == weight.shape[-1]
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    if orthogonal_map not in ("matrix_exp", "cayley", "householder"):
        raise errors.ValueError(
            f"orthogonal: expected orthogonal_map to be 'matrix_exp', 'cayley' or 'householder', got {orthogonal_map!r}"
        )
    if orthogonal_map == "householder" and weight.is_complex():
        raise errors.ValueError("orthogonal: expected a real weight for 'householder', got a complex one")
    parametrize.register_parametrization(module, name, _Orthogonal(orthogonal_map, use_trivialization), unsafe=True)
    return module
