"""Files of whole models, memory that is shared by hand, lists of tensors, losses of sizes that differ."""

import io
import os
import tempfile
import warnings

from program_helpers import filled, raised, values


def whole_model_in_a_file(torch):
    net = filled(torch, torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3), torch.nn.ReLU())).double()
    net(values(torch, 4, 2))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.pt")
        torch.save(net.eval(), path)
        refused = raised(lambda: torch.load(path), Exception)
        found = torch.load(path, weights_only=False)
    x = values(torch, 3, 2)
    return found(x), torch.equal(found(x), net(x)), found.training, repr(found), refused, found[1].num_batches_tracked


def run_in_a_file(torch):
    net = filled(torch, torch.nn.Linear(2, 1)).double()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
    net(values(torch, 4, 2)).square().mean().backward()
    optimizer.step()
    file = io.BytesIO()
    torch.save({"net": net, "optimizer": optimizer, "epoch": 3}, file)
    file.seek(0)
    run = torch.load(file, weights_only=False)
    again = run["optimizer"].param_groups[0]["params"][0] is run["net"].weight
    run["net"](values(torch, 4, 2)).square().mean().backward()
    run["optimizer"].step()
    return run["epoch"], again, run["net"].weight, run["optimizer"].state_dict()["state"][0]["exp_avg"]


def parameters_in_a_file(torch):
    weight = torch.nn.Parameter(values(torch, 2, 2))
    frozen = torch.nn.Parameter(torch.arange(3), requires_grad=False)
    file = io.BytesIO()
    torch.save({"weight": weight, "tied": [weight], "frozen": frozen, "tensor": torch.ones(1)}, file)
    file.seek(0)
    found = torch.load(file)
    kinds = [type(found[name]).__name__ for name in ("weight", "frozen", "tensor")]
    return kinds, found["weight"], found["weight"].requires_grad, found["frozen"].requires_grad, found["weight"].is_leaf


def flat_memory_of_many(torch):
    parts = [values(torch, 2, 3), values(torch, 4)]
    flat = torch.cat([p.flatten() for p in parts])
    views, at = [], 0
    for p in parts:
        views.append(torch.empty(0, dtype=flat.dtype).set_(flat.untyped_storage(), at, p.shape))
        at += p.numel()
    flat.mul_(2)
    views[1].fill_(7)
    steps = torch.empty(0, dtype=flat.dtype).set_(flat, 1, (2, 2), (3, 1))
    wrong = raised(lambda: torch.empty(0, dtype=torch.int64).set_(flat), Exception)
    return views, flat, steps, steps.stride(), views[1].storage_offset(), wrong, steps.set_().shape


def lists_of_tensors(torch):
    a, b = [values(torch, 2), values(torch, 3)], [values(torch, 2) * 2, values(torch, 3) - 1]
    torch._foreach_add_(a, b, alpha=0.5)
    torch._foreach_maximum_(a, -0.25)
    return a, torch._foreach_minimum(a, [0.1, 0.2]), torch._foreach_maximum(a, b), torch._foreach_norm(b)


def losses_of_sizes_that_differ(torch):
    F, found = torch.nn.functional, {}
    x, t = values(torch, 4, 1).requires_grad_(), values(torch, 4)
    for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            loss = getattr(F, name)(x, t)
        found[name] = loss, torch.autograd.grad(loss, x), [w.category.__name__ for w in said], str(said[0].message)[:19]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Using a target size")
        found["module"] = torch.nn.MSELoss(reduction="none")(x, t)
    return found, raised(lambda: F.mse_loss(t, values(torch, 3)))


def poles_of_complex_numbers(torch):
    zero = torch.zeros(3, dtype=torch.complex128)
    at = [zero**-1, zero ** (-2 + 1j), zero**2, 1 / zero, (1 + 1j) / torch.tensor(0j), 2 / (zero + 1j)]
    return [torch.view_as_real(z) for z in at]


def powers_of_two(torch):
    x = torch.tensor([0.0, -0.0, 1e-45, float("inf"), 3.0])
    return [torch.ldexp(x, torch.tensor(n)) for n in (255, -32768, 2**31 - 1, 3)]


def tangents_of_writes(torch):
    x, s, i = values(torch, 4), values(torch, 3) + 1, torch.tensor([1, 3, 1])
    writes = [lambda x, s: x.index_copy(0, i, s), lambda x, s: x.scatter(0, i, s), lambda x, s: x.index_put((i,), s)]
    return [torch.func.jvp(f, (x, s), (x + 1, s * s)) for f in writes]


def statistics_through_transforms(torch):
    mean, var, x = torch.zeros(2).double(), torch.ones(2).double(), values(torch, 3, 2, 4)

    def f(x):
        return torch.nn.functional.instance_norm(x, mean, var)

    torch.func.jvp(f, (x,), (x,))
    torch.func.grad(lambda x: f(x).pow(3).sum())(x)
    return mean + 0, var + 0, f(x)
