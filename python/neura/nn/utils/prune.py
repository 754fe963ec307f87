"""Pruning: some elements of a parameter are held at 0 during training.

A pruned parameter `name` becomes the parameter `name_orig` and the buffer `name_mask`, of 1 where an element is kept;
`name` itself is their product, computed again before each forward. Pruning again keeps what was pruned before.

>>> layer = neura.nn.utils.prune.l1_unstructured(neura.nn.Linear(4, 2), "weight", amount=3)
>>> int((layer.weight == 0).sum()), sorted(layer.state_dict())
(3, ['bias', 'weight_mask', 'weight_orig'])
"""

import abc
import numbers

from ... import _neura
from ..._neura import errors
from ...autograd.grad_mode import no_grad

__all__ = [
    "BasePruningMethod",
    "CustomFromMask",
    "Identity",
    "L1Unstructured",
    "LnStructured",
    "PruningContainer",
    "RandomStructured",
    "RandomUnstructured",
    "custom_from_mask",
    "global_unstructured",
    "identity",
    "is_pruned",
    "l1_unstructured",
    "ln_structured",
    "random_structured",
    "random_unstructured",
    "remove",
]


def _check_amount(amount):
    if isinstance(amount, bool) or not isinstance(amount, numbers.Real):
        raise TypeError(f"prune: expected amount to be a number, got {type(amount).__name__}")
    whole = isinstance(amount, numbers.Integral)
    if amount < 0 or (not whole and amount > 1):
        raise errors.ValueError(f"prune: expected amount to be a count or from 0.0 to 1.0, got {amount}")


def _count(amount, size):
    """How many of `size` are pruned."""
    if not isinstance(amount, numbers.Integral):
        return round(amount * size)
    if amount > size:
        raise errors.ValueError(f"prune: expected amount to be at most {size}, got {amount}")
    return amount


def _check_dim(t, dim):
    if t.dim() < 2:
        raise errors.ValueError(f"prune: expected a parameter of at least 2 dimensions, got {list(t.shape)}")
    if not -t.dim() <= dim < t.dim():
        raise errors.IndexError(f"prune: expected dim from {-t.dim()} to {t.dim() - 1}, got {dim}")


class BasePruningMethod(abc.ABC):
    """The base of pruning methods, which define PRUNING_TYPE and compute_mask.

    PRUNING_TYPE is 'unstructured', 'structured' or 'global': does an earlier pruning leave single elements or whole
    slices to choose from?
    """

    def __call__(self, module, inputs):
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abc.abstractmethod
    def compute_mask(self, t, default_mask):
        """The mask of tensor t: default_mask, with more zeros."""

    def apply_mask(self, module):
        """The pruned tensor."""
        mask = getattr(module, self._tensor_name + "_mask")
        return mask.to(dtype=getattr(module, self._tensor_name + "_orig").dtype) * getattr(
            module, self._tensor_name + "_orig"
        )

    @classmethod
    def apply(cls, module, name, *args, importance_scores=None, **kwargs):
        """Prunes the parameter `name` of a module by cls(*args, **kwargs); returns the method.

        importance_scores: of the parameter's shape, by which the least important go; by default its pruned values.
        """
        method = cls(*args, **kwargs)
        method._tensor_name = name
        earlier = next(((key, hook) for key, hook in _hooks(module) if hook._tensor_name == name), None)
        if earlier is not None:
            container = earlier[1] if isinstance(earlier[1], PruningContainer) else PruningContainer(earlier[1])
            container.add_pruning_method(method)
            method = container
        original = getattr(module, name if earlier is None else name + "_orig")
        scores = getattr(module, name) if importance_scores is None else importance_scores
        if scores.shape != original.shape:
            raise errors.ShapeError(
                f"prune: expected importance_scores of shape {list(original.shape)}, got {list(scores.shape)}"
            )
        with no_grad():
            default = getattr(module, name + "_mask").to(original.dtype) if earlier else _neura.ones_like(original)
            mask = method.compute_mask(scores.detach(), default.detach())
        if earlier is None:
            del module._parameters[name]
            module.register_parameter(name + "_orig", original)
        else:
            del module._forward_pre_hooks[earlier[0]]
        module.register_buffer(name + "_mask", mask.detach())
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t, default_mask=None, importance_scores=None):
        """A pruned copy of a tensor."""
        default = _neura.ones_like(t) if default_mask is None else default_mask
        scores = t if importance_scores is None else importance_scores
        if scores.shape != t.shape:
            raise errors.ShapeError(
                f"prune: expected importance_scores of shape {list(t.shape)}, got {list(scores.shape)}"
            )
        return t * self.compute_mask(scores, default_mask=default)

    def remove(self, module):
        """Makes the pruned tensor a parameter of its own again: what is pruned stays 0 until training changes it."""
        name = self._tensor_name
        original = module._parameters[name + "_orig"]
        _neura.nn._set_data(original, self.apply_mask(module).detach())
        delattr(module, name)
        del module._parameters[name + "_orig"], module._buffers[name + "_mask"]
        module.register_parameter(name, original)


def _hooks(module):
    return [(key, h) for key, h in module._forward_pre_hooks.items() if isinstance(h, BasePruningMethod)]


class PruningContainer(BasePruningMethod):
    """Several methods for one parameter: each chooses among what those before it have left."""

    def __init__(self, *args):
        methods = args[0] if len(args) == 1 and not isinstance(args[0], BasePruningMethod) else args
        self._pruning_methods = ()
        self._tensor_name = methods[0]._tensor_name
        for method in methods:
            self.add_pruning_method(method)

    def add_pruning_method(self, method):
        """Appends a method for the same parameter."""
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"PruningContainer: expected a BasePruningMethod, got {type(method).__name__}")
        if method._tensor_name != self._tensor_name:
            raise errors.ValueError(
                f"PruningContainer: expected a method for '{self._tensor_name}', got one for '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self):
        return len(self._pruning_methods)

    def __iter__(self):
        return iter(self._pruning_methods)

    def __getitem__(self, index):
        return self._pruning_methods[index]

    def compute_mask(self, t, default_mask):
        """The mask of the last method, computed on what the mask so far has left."""
        method, mask = self._pruning_methods[-1], default_mask.clone()
        if method.PRUNING_TYPE == "unstructured":
            kept = mask == 1
        elif method.PRUNING_TYPE == "structured":
            if not hasattr(method, "dim"):
                raise AttributeError(f"{type(method).__name__}: expected a structured method to have an attribute dim")
            dim = method.dim % t.dim()
            alive = mask.sum([d for d in range(t.dim()) if d != dim]) != 0
            kept = (slice(None),) * dim + (alive,)
        elif method.PRUNING_TYPE == "global":
            kept = (slice(None),) * t.dim()
        else:
            raise errors.ValueError(
                f"{type(method).__name__}: expected PRUNING_TYPE to be 'unstructured', 'structured' or 'global', got "
                f"{method.PRUNING_TYPE!r}"
            )
        mask[kept] = method.compute_mask(t[kept], default_mask=mask[kept]).to(mask.dtype)
        return mask


class Identity(BasePruningMethod):
    """Prunes nothing."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t, default_mask):
        """The mask as it is."""
        return default_mask


class _Amount(BasePruningMethod):
    PRUNING_TYPE = "unstructured"

    def __init__(self, amount):
        _check_amount(amount)
        self.amount = amount


class _Unstructured(_Amount):
    def compute_mask(self, t, default_mask):
        """default_mask without the elements of the lowest scores."""
        n, mask = _count(self.amount, t.numel()), default_mask.clone()
        if n:
            mask.view(-1)[_neura.topk(self._scores(t).reshape(-1), n, largest=False).indices] = 0
        return mask


class RandomUnstructured(_Unstructured):
    """Prunes random elements. amount: how many, or a fraction."""

    def _scores(self, t):
        return _neura.rand(t.shape, device=t.device)


class L1Unstructured(_Unstructured):
    """Prunes the elements of the smallest magnitude. amount: how many, or a fraction."""

    def _scores(self, t):
        return t.abs()


class _Structured(_Amount):
    PRUNING_TYPE = "structured"

    def compute_mask(self, t, default_mask):
        """default_mask without the slices of the lowest scores."""
        _check_dim(t, self.dim)
        dim, mask = self.dim % t.dim(), default_mask.clone()
        n = _count(self.amount, t.size(dim))
        if n:
            lowest = _neura.topk(self._scores(t, dim), n, largest=False).indices
            mask[(slice(None),) * dim + (lowest,)] = 0
        return mask


class RandomStructured(_Structured):
    """Prunes random slices along dim. amount: how many, or a fraction."""

    def __init__(self, amount, dim=-1):
        super().__init__(amount)
        self.dim = dim

    def _scores(self, t, dim):
        return _neura.rand(t.size(dim), device=t.device)


class LnStructured(_Structured):
    """Prunes the slices along dim of the smallest n-norm. amount: how many, or a fraction."""

    def __init__(self, amount, n, dim=-1):
        super().__init__(amount)
        self.n, self.dim = n, dim

    def _scores(self, t, dim):
        others = [d for d in range(t.dim()) if d != dim]
        return _neura.norm(t, self.n, dim=others)


class CustomFromMask(BasePruningMethod):
    """Prunes where a mask is 0."""

    PRUNING_TYPE = "global"

    def __init__(self, mask):
        self.mask = mask

    def compute_mask(self, t, default_mask):
        """default_mask times the mask."""
        if self.mask.shape != default_mask.shape:
            raise errors.ShapeError(
                f"prune: expected a mask of {list(default_mask.shape)}, got {list(self.mask.shape)}"
            )
        return default_mask * self.mask.to(default_mask.dtype)


def identity(module, name):
    """Gives the parameter `name` a mask of ones; returns the module."""
    Identity.apply(module, name)
    return module


def random_unstructured(module, name, amount):
    """Prunes random elements of the parameter `name`: a count or a fraction. Returns the module."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module, name, amount, importance_scores=None):
    """Prunes the elements of the parameter `name` of the smallest magnitude: a count or a fraction."""
    L1Unstructured.apply(module, name, amount, importance_scores=importance_scores)
    return module


def random_structured(module, name, amount, dim):
    """Prunes random slices of the parameter `name` along dim: a count or a fraction. Returns the module."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module, name, amount, n, dim, importance_scores=None):
    """Prunes the slices of the parameter `name` along dim of the smallest n-norm: a count or a fraction."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def global_unstructured(parameters, pruning_method, importance_scores=None, **kwargs):
    """Prunes several parameters, as [(module, name)], as if they were one: by L1Unstructured or RandomUnstructured.

    importance_scores: {(module, name): scores}. kwargs: of the method, such as amount. TypeError for a method of
    another kind.
    """
    parameters = list(parameters)
    scores = importance_scores or {}
    chosen = [scores.get((m, name), getattr(m, name)).detach() for m, name in parameters]
    masks = [getattr(m, name + "_mask", None) for m, name in parameters]
    masks = [_neura.ones_like(t) if mask is None else mask for t, mask in zip(chosen, masks)]
    container = PruningContainer.__new__(PruningContainer)
    container._tensor_name, container._pruning_methods = "temp", ()
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    container.add_pruning_method(method)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(f"global_unstructured: expected an unstructured method, got {pruning_method.__name__}")
    flat = _neura.cat([t.reshape(-1) for t in chosen])
    mask = container.compute_mask(flat, _neura.cat([m.reshape(-1) for m in masks]))
    for (module, name), part, t in zip(parameters, mask.split([t.numel() for t in chosen]), chosen):
        custom_from_mask(module, name, part.view_as(t))


def custom_from_mask(module, name, mask):
    """Prunes the parameter `name` where mask is 0; returns the module."""
    CustomFromMask.apply(module, name, mask)
    return module


def remove(module, name):
    """Makes a pruned parameter an ordinary one again; ValueError where it is not pruned. Returns the module."""
    for key, hook in _hooks(module):
        if hook._tensor_name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise errors.ValueError(f"remove: expected a pruned parameter, got '{name}' of {type(module).__name__}")


def is_pruned(module):
    """True if a parameter of the module, or of a submodule, is pruned."""
    return any(_hooks(m) for m in module.modules())
