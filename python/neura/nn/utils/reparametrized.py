"""PyTorch's older weight_norm and spectral_norm: hooks that compute a weight before each forward."""

from ... import _neura
from ..module import Parameter
from .parametrizations import _norm_except, _SpectralNorm

__all__ = ["remove_spectral_norm", "remove_weight_norm", "spectral_norm", "weight_norm"]


def _hook_of(module, kind, name):
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, kind) and hook.name == name:
            return key, hook
    return None, None


def _claim(module, kind, function, name):
    if _hook_of(module, kind, name)[1] is not None:
        raise RuntimeError(f"{function}: expected each weight once, got '{name}' again; remove the first one")
    weight = getattr(module, name)
    if not isinstance(weight, Parameter):
        raise TypeError(f"{function}: expected a parameter '{name}', got {type(weight).__name__}")
    del module._parameters[name]
    return weight


def _remove(module, kind, function, name):
    key, hook = _hook_of(module, kind, name)
    if hook is None:
        raise ValueError(f"{function}: expected a '{name}' that has this norm, got none in {type(module).__name__}")
    hook.restore(module)
    del module._forward_pre_hooks[key]
    return module


class WeightNorm:
    """Computes the weight from name_g, its length, and name_v, its direction."""

    def __init__(self, name, dim):
        self.name, self.dim = name, -1 if dim is None else dim

    def compute_weight(self, module):
        """The weight of the present length and direction."""
        length, direction = getattr(module, self.name + "_g"), getattr(module, self.name + "_v")
        return direction * (length / _norm_except(direction, self.dim))

    def restore(self, module):
        """The weight as a parameter of its own again."""
        weight = self.compute_weight(module).detach()
        delattr(module, self.name)
        del module._parameters[self.name + "_g"], module._parameters[self.name + "_v"]
        module.register_parameter(self.name, Parameter(weight))

    def __call__(self, module, inputs):
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module, name="weight", dim=0):
    """The weight of a module as name_g, its length for each entry of `dim`, times name_v, its direction.

    dim=None: one length for all. Both are parameters; the weight is computed before each forward. Salimans and Kingma,
    arXiv 1602.07868. `nn.utils.parametrizations.weight_norm` is the newer form. `remove_weight_norm` undoes it.
    """
    weight = _claim(module, WeightNorm, "weight_norm", name)
    hook = WeightNorm(name, dim)
    module.register_parameter(name + "_g", Parameter(_norm_except(weight.detach(), hook.dim)))
    module.register_parameter(name + "_v", Parameter(weight.detach()))
    setattr(module, name, hook.compute_weight(module))
    module.register_forward_pre_hook(hook)
    return module


def remove_weight_norm(module, name="weight"):
    """Makes the weight a parameter of its own again. ValueError where there is no weight_norm."""
    return _remove(module, WeightNorm, "remove_weight_norm", name)


class SpectralNorm:
    """Divides name_orig by its largest singular value, which power iteration follows in name_u and name_v."""

    def __init__(self, name, iteration):
        self.name, self.iteration = name, iteration

    def compute_weight(self, module):
        """The weight; while the module trains, after another step of power iteration."""
        self.iteration.train(module.training)
        self.iteration._u, self.iteration._v = getattr(module, self.name + "_u"), getattr(module, self.name + "_v")
        return self.iteration(getattr(module, self.name + "_orig"))

    def restore(self, module):
        """The weight as a parameter of its own again."""
        self.iteration.eval()
        weight = self.iteration(getattr(module, self.name + "_orig")).detach()
        delattr(module, self.name)
        del (
            module._parameters[self.name + "_orig"],
            module._buffers[self.name + "_u"],
            module._buffers[self.name + "_v"],
        )
        module.register_parameter(self.name, Parameter(weight))

    def __call__(self, module, inputs):
        setattr(module, self.name, self.compute_weight(module))


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """The weight of a module divided by its largest singular value, computed before each forward.

    Miyato and others, arXiv 1802.05957. dim: the dimension of the outputs; by default 1 for transposed convolutions and
    0 for everything else. `nn.utils.parametrizations.spectral_norm` is the newer form.
    """
    if getattr(module, name).dim() < 2:
        raise _neura.errors.ShapeError(
            f"spectral_norm: expected a weight of at least 2 dimensions, got {list(getattr(module, name).shape)}"
        )
    weight = _claim(module, SpectralNorm, "spectral_norm", name)
    if dim is None:
        dim = 1 if "ConvTranspose" in type(module).__name__ else 0
    hook = SpectralNorm(name, _SpectralNorm(weight, n_power_iterations, dim, eps))
    module.register_parameter(name + "_orig", weight)
    module.register_buffer(name + "_u", hook.iteration._u)
    module.register_buffer(name + "_v", hook.iteration._v)
    setattr(module, name, weight.detach())
    module.register_forward_pre_hook(hook)
    return module


def remove_spectral_norm(module, name="weight"):
    """Makes the weight a parameter of its own again. ValueError where there is no spectral_norm."""
    return _remove(module, SpectralNorm, "remove_spectral_norm", name)
