#!/usr/bin/env python3
"""Writes the .pt files beside it. Needs PyTorch; made with 2.11."""

import collections
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
    torch.save(containers(), HERE / "containers.pt")
    saved, net = model()
    torch.save(saved, HERE / "model.pt")
    torch.save(net[4], HERE / "module.pt")
    torch.save({"x": torch.ones(2)}, HERE / "legacy.pt", _use_new_zipfile_serialization=False)
