"""autograd.grad: several inputs, unused ones, a vector in front, nothing left in .grad."""

from fixed import noise


def run(torch):
    a, b = noise(torch, 3, seed=1).double().requires_grad_(), noise(torch, 3, seed=2).double().requires_grad_()
    unused = torch.ones(1, requires_grad=True)
    y = a.tanh() * b + a
    ga, gb = torch.autograd.grad(y.sum(), [a, b], retain_graph=True)
    (weighted,) = torch.autograd.grad(
        y, a, grad_outputs=torch.tensor([1.0, 0.0, 2.0], dtype=torch.float64), retain_graph=True
    )
    some = torch.autograd.grad(y.sum(), [b, unused], allow_unused=True, retain_graph=True)
    zeros = torch.autograd.grad(y.mean(), [unused], allow_unused=True, materialize_grads=True)
    return {
        "ga": ga,
        "gb": gb,
        "weighted": weighted,
        "unused": some[1] is None,
        "materialized": zeros[0],
        "untouched": [a.grad is None, b.grad is None],
    }
