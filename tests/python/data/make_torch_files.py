#!/usr/bin/env python3
"""Writes the .pt files beside it. Needs PyTorch; made with 2.11."""

import collections
import itertools
import pathlib

import torch
from torch import nn

HERE = pathlib.Path(__file__).resolve().parent
OPTIMIZERS = {
    "SGD": dict(lr=0.1, momentum=0.9, weight_decay=0.01),
    "Adam": dict(lr=0.05, betas=(0.8, 0.99), amsgrad=True),
    "AdamW": dict(lr=0.05),
    "RMSprop": dict(lr=0.05, momentum=0.5, centered=True),
    "Adagrad": dict(lr=0.1, lr_decay=0.01, initial_accumulator_value=0.5),
    "Adadelta": dict(lr=1.0),
    "Adamax": dict(lr=0.05),
    "NAdam": dict(lr=0.05),
    "RAdam": dict(lr=0.05),
    "ASGD": dict(lr=0.05, t0=1.0),
    "Rprop": dict(lr=0.05),
}
SCHEDULERS = {
    "StepLR": dict(step_size=2),
    "MultiStepLR": dict(milestones=[3, 5, 5], gamma=0.5),
    "ConstantLR": dict(factor=0.5, total_iters=6),
    "LinearLR": dict(total_iters=7),
    "ExponentialLR": dict(gamma=0.9),
    "PolynomialLR": dict(total_iters=9, power=2.0),
    "CosineAnnealingLR": dict(T_max=5, eta_min=0.01),
    "CosineAnnealingWarmRestarts": dict(T_0=3, T_mult=2),
    "CyclicLR": dict(base_lr=0.01, max_lr=0.2, step_size_up=3),
    "OneCycleLR": dict(max_lr=0.3, total_steps=20),
}


def options(**values):
    """Every combination, as keyword arguments."""
    return [dict(zip(values, v)) for v in itertools.product(*values.values())]


def alone(**values):
    """The defaults, each option by itself, and all of them."""
    return [{}, *({k: v} for k, v in values.items()), values]


MOMENTS = options(weight_decay=[0, 0.1], amsgrad=[False, True], maximize=[False, True])
SEQUENCES = {  # each with 20 steps
    "SGD": options(momentum=[0, 0.9], weight_decay=[0, 0.1], maximize=[False, True])
    + options(momentum=[0.9], dampening=[0.5], weight_decay=[0, 0.1], maximize=[False, True])
    + options(momentum=[0.9], nesterov=[True], weight_decay=[0, 0.1], maximize=[False, True]),
    "Adam": MOMENTS + [dict(betas=(0.7, 0.9), eps=1e-2), dict(weight_decay=0.1, decoupled_weight_decay=True)],
    "AdamW": MOMENTS + [dict(betas=(0.7, 0.9), eps=1e-2)],
    "RMSprop": options(momentum=[0, 0.9], centered=[False, True], weight_decay=[0, 0.1], maximize=[False, True])
    + [dict(alpha=0.5, eps=1e-2)],
    "Adagrad": alone(lr_decay=0.1, weight_decay=0.1, initial_accumulator_value=0.5, eps=1e-2, maximize=True),
    "Adadelta": alone(rho=0.5, eps=1e-2, weight_decay=0.1, maximize=True),
    "Adamax": alone(betas=(0.7, 0.9), eps=1e-2, weight_decay=0.1, maximize=True),
    "NAdam": alone(betas=(0.7, 0.9), eps=1e-2, weight_decay=0.1, momentum_decay=0.1, maximize=True)
    + [dict(weight_decay=0.1, decoupled_weight_decay=True)],
    "RAdam": alone(betas=(0.7, 0.9), eps=1e-2, weight_decay=0.1, maximize=True)
    + [dict(weight_decay=0.1, decoupled_weight_decay=True)],
    "ASGD": alone(lambd=0.1, alpha=0.5, t0=3.0, weight_decay=0.1, maximize=True),
    "Rprop": alone(etas=(0.3, 1.5), step_sizes=(0.01, 0.5), maximize=True),
}
RATES = {  # each with 30 epochs
    "StepLR": [dict(step_size=1), dict(step_size=10), dict(step_size=7, gamma=0.5)],
    "MultiStepLR": [dict(milestones=[3, 9, 20]), dict(milestones=[20, 3, 9, 9], gamma=0.5)],
    "ConstantLR": [dict(), dict(factor=0.2, total_iters=12)],
    "LinearLR": [dict(), dict(start_factor=0.1, end_factor=0.7, total_iters=12)],
    "ExponentialLR": [dict(gamma=0.9)],
    "PolynomialLR": [dict(), dict(total_iters=20, power=2.0)],
    "CosineAnnealingLR": [dict(T_max=10), dict(T_max=30, eta_min=0.001)],
    "CosineAnnealingWarmRestarts": [dict(T_0=10), dict(T_0=4, T_mult=2, eta_min=0.001)],
    "CyclicLR": [
        dict(base_lr=0.01, max_lr=0.2, step_size_up=4, mode=mode, gamma=0.9, step_size_down=down)
        for mode, down in [("triangular", None), ("triangular2", 6), ("exp_range", 3)]
    ],
    "OneCycleLR": [
        dict(max_lr=[0.3, 0.1], total_steps=31),
        dict(max_lr=0.3, epochs=4, steps_per_epoch=8, anneal_strategy="linear", cycle_momentum=False),
        dict(max_lr=0.3, total_steps=31, three_phase=True, div_factor=10.0, final_div_factor=100.0, pct_start=0.2),
    ],
    "ReduceLROnPlateau": [
        dict(mode=mode, factor=0.5, patience=2, **more)
        for mode in ("min", "max")
        for more in [
            dict(),
            dict(threshold=0.1),
            dict(threshold=0.1, threshold_mode="abs"),
            dict(cooldown=3),
            dict(min_lr=[0.03, 0.005]),
            dict(eps=0.01),
        ]
    ],
}
METRICS = [3, 2, 2, 1.9, 1.95, 2, 2, 2, 2.1, 2, 1.5, 1.5, 1.4, 1.45, 1.5, 1.5, 1.5, 1.5, 1.6, 1.7, 1.7, 1.3, 1.3, 1.29]
METRICS += [1.28, 1.27, 1.26, 1.25, 1.24, 1.3]


def sequences():
    torch.set_default_dtype(torch.float64)  # as torch keeps some numbers of the state in the default dtype
    names, rows = [], []
    for name, all_kwargs in SEQUENCES.items():
        for kwargs in all_kwargs:
            p = torch.tensor([1.0, -2.0, 0.5]).requires_grad_()
            optimizer = getattr(torch.optim, name)([p], lr=0.1, **kwargs)
            values = []
            for n in range(20):
                p.grad = gradient(p, n) * 0.9**n  # falls, so that the largest square so far is not the last
                optimizer.step()
                values.append(p.detach().clone())
            names.append((name, kwargs))
            rows.append(torch.stack(values))
    steps = {"cases": names, "values": torch.stack(rows)}
    names, rows = [], []
    for name, all_kwargs in RATES.items():
        for kwargs in all_kwargs:
            groups = [{"params": [torch.zeros(1, requires_grad=True)], "lr": lr} for lr in (0.1, 0.01)]
            optimizer = torch.optim.SGD(groups, momentum=0.9)
            scheduler = getattr(torch.optim.lr_scheduler, name)(optimizer, **kwargs)
            values = [[g["lr"] for g in optimizer.param_groups]]
            for metric in METRICS:
                optimizer.step()
                scheduler.step(*([metric] if name == "ReduceLROnPlateau" else []))
                values.append([g["lr"] for g in optimizer.param_groups])
            names.append((name, kwargs))
            rows.append(torch.tensor(values))
    torch.set_default_dtype(torch.float32)
    return {"steps": steps, "rates": {"cases": names, "values": torch.stack(rows), "metrics": METRICS}}


def gradient(p, n):
    """Differs from step to step and changes its sign."""
    return torch.sin(torch.arange(p.numel(), dtype=p.dtype) + 1.7 * n).reshape(p.shape)


def step(optimizer, params, n):
    for p in params:
        p.grad = gradient(p, n)
    optimizer.step()


def optimizers():
    out = {}
    for name, kwargs in OPTIMIZERS.items():
        params = [torch.linspace(-1, 1, 6).reshape(2, 3).requires_grad_(), torch.ones(4).requires_grad_()]
        groups = [{"params": [params[0]]}, {"params": [params[1]], "lr": 0.02}]
        optimizer = getattr(torch.optim, name)(groups, **kwargs)
        text = repr(optimizer)
        for n in range(3):
            step(optimizer, params, n)
        # A copy, as saving now would make: tensors are shared with the optimizer.
        saved = {"params": [p.detach().clone() for p in params]}
        saved["state"] = torch.load(to_bytes(optimizer.state_dict()))
        for n in range(3, 6):
            step(optimizer, params, n)
        saved["after"] = [p.detach().clone() for p in params]
        out[name] = {"kwargs": kwargs, "repr": text, **saved}
    return out


def schedulers():
    out = {}
    for name, kwargs in SCHEDULERS.items():

        def make():
            groups = [{"params": [torch.zeros(1, requires_grad=True)], "lr": lr} for lr in (0.1, 0.02)]
            return torch.optim.SGD(groups, lr=0.1, momentum=0.9)

        optimizer = make()
        scheduler = getattr(torch.optim.lr_scheduler, name)(optimizer, **kwargs)
        rates = []
        for n in range(8):
            if n == 4:
                state = torch.load(to_bytes([scheduler.state_dict(), optimizer.state_dict()]))
            optimizer.step()
            scheduler.step()
            rates.append([(g["lr"], g["momentum"]) for g in optimizer.param_groups])
        out[name] = {"kwargs": kwargs, "state": state[0], "optimizer": state[1], "rates": rates}
    return out


def to_bytes(value):
    import io

    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return file


def containers():
    base = torch.arange(12.0)
    shared = torch.arange(4)
    dtypes = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128 float8_e4m3fn"
    values = torch.tensor([0, 1, 2, 1])
    return {
        "plain": [
            None,
            True,
            False,
            0,
            -1,
            255,
            65536,
            -(2**40),
            2**70,
            1.5,
            float("inf"),
            "text ä",
            b"\x00\xff",
            2 - 1j,
        ],
        "tuples": ((), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)),
        "nested": {"a": {1: [2, {"b": ()}]}, 3: {4, 5}},
        "ordered": collections.OrderedDict([("z", 1), ("a", 2)]),
        "counter": collections.Counter([1, 1, 2]),
        "types": [torch.float32, torch.bfloat16, torch.device("cpu"), torch.Size([2, 3])],
        "views": [base, base.reshape(3, 4).t(), base[2:8:2], base[5]],
        "same": [shared, shared],
        "dtypes": {name: values.to(getattr(torch, name)) for name in dtypes.split()},
        "empty": [torch.empty(0), torch.empty(2, 0), torch.tensor(2.5)],
        "conjugate": [torch.tensor([1 + 2j]).conj(), torch.tensor([1 + 2j]).conj().imag],
        "parameter": nn.Parameter(torch.ones(2)),
        "leaf": torch.ones(2, requires_grad=True),
        "expanded": torch.ones(1).expand(3, 2),
    }


def model():
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(2, 3, 3, padding=1), nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten(), nn.Linear(48, 4), nn.LayerNorm(4)
    )
    x = torch.randn(5, 2, 4, 4)
    net(x)
    net.eval()
    return {"model": net.state_dict(), "input": x, "output": net(x).detach()}, net


if __name__ == "__main__":
    torch.save({"optimizers": optimizers(), "schedulers": schedulers()}, HERE / "optim.pt")
    torch.save(sequences(), HERE / "sequences.pt")
    torch.save(containers(), HERE / "containers.pt")
    saved, net = model()
    torch.save(saved, HERE / "model.pt")
    torch.save(net[4], HERE / "module.pt")
    torch.save({"x": torch.ones(2)}, HERE / "legacy.pt", _use_new_zipfile_serialization=False)
