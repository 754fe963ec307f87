"""The optimizers, with PyTorch's names, arguments and defaults, which stand in a list of C++. Each step is one pass of
C++ over memory, but for Adafactor and Muon, which look at a tensor as a whole.

Common arguments: `params`, tensors, pairs (name, tensor) or groups (see `Optimizer`); `lr`, the learning rate;
`weight_decay`, added to the gradient times the parameter; `maximize`, to go uphill. `foreach`, `fused` and `capturable`
are taken for PyTorch's sake and change nothing: a step is fused anyway. `differentiable=True` raises
NotImplementedError. Values out of range raise ValueError.

A group with `"master": True` keeps a float32 copy of each parameter that is a half, as its state `master_param`. Steps
are taken on the copy, all of whose state is float32, and rounded to the parameter: what is too small to change a half
adds up.
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


def _classes():
    """All of neura/tables/optimizers.def, by name. Their arguments and texts come from there as well."""
    made = {"Adagrad": Adagrad}
    for name in _optim.texts:
        base = made["Adam"] if name == "AdamW" else KernelOptimizer
        if name not in made:
            made[name] = type(name, (base,), {"__module__": __name__}, kernel=name)
    return made


_CLASSES = _classes()
globals().update(_CLASSES)
