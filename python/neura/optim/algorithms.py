"""The optimizers, with PyTorch's names, arguments and defaults, which stand in a list of C++. Each step is one fused
pass over memory in C++, except for Adafactor and Muon, which use a parameter as a matrix.

Common arguments: `params`, tensors, pairs (name, tensor) or groups (see `Optimizer`); `lr`, the learning rate;
`weight_decay`, added to the gradient times the parameter; `maximize`, to go uphill. `foreach`, `fused` and `capturable`
are accepted for PyTorch's sake and have no effect: every step is fused. `differentiable=True` raises
NotImplementedError. Values out of range raise ValueError.

A group with `"master": True` keeps a float32 copy of each parameter that is a half, as its state `master_param`. Steps
are taken on the copy, all of whose state is float32, and rounded to the parameter: updates too small for a half thus
accumulate.
"""

from .._neura import _optim, full_like, tensor
from .optimizer import KernelOptimizer


class Adagrad(KernelOptimizer, kernel="Adagrad"):
    def add_param_group(self, param_group):
        super().add_param_group(param_group)
        group = self.param_groups[-1]
        first = group["initial_accumulator_value"]
        for p in group["params"]:
            value = complex(first, first) if p.is_complex() else first
            self.state[p] = {"step": tensor(0.0), "sum": full_like(p, value, requires_grad=False)}


_LAST = {
    "Adadelta": "maximize capturable foreach differentiable",
    "Adagrad": "weight_decay initial_accumulator_value foreach maximize differentiable fused",
    "Adam": "maximize foreach capturable differentiable fused decoupled_weight_decay",
    "NAdam": "decoupled_weight_decay maximize foreach capturable differentiable",
    "RAdam": "maximize foreach capturable decoupled_weight_decay differentiable",
    "RMSprop": "alpha eps centered weight_decay capturable foreach maximize differentiable",
    "Rprop": "foreach maximize differentiable capturable",
}


def _classes():
    """All of neura/tables/optimizers.def, by name. Their arguments and texts come from there as well."""
    made = {"Adagrad": Adagrad}
    for name in _optim.texts:
        base = made["Adam"] if name == "AdamW" else KernelOptimizer
        if name not in made:
            made[name] = type(name, (base,), {"__module__": __name__}, kernel=name)
        if name in _LAST:
            made[name]._last = tuple(_LAST[name].split())
    return made


_CLASSES = _classes()
globals().update(_CLASSES)
