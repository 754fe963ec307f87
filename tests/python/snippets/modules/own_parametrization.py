"""A symmetric and a positive weight by parametrisations written as modules."""

from fixed import noise, settle


def run(torch):
    parametrize = torch.nn.utils.parametrize

    nn = torch.nn

    class Symmetric(nn.Module):
        def forward(self, w):
            return w.triu() + w.triu(1).transpose(-1, -2)

    class Positive(nn.Module):
        def forward(self, w):
            return torch.nn.functional.softplus(w)

    layer = settle(torch, nn.Linear(3, 3))
    parametrize.register_parametrization(layer, "weight", Symmetric())
    parametrize.register_parametrization(layer, "weight", Positive())
    w = layer.weight
    layer(noise(torch, 2, 3)).sum().backward()
    return {
        "weight": w,
        "symmetric": torch.equal(w, w.T),
        "positive": bool((w > 0).all()),
        "is": parametrize.is_parametrized(layer, "weight"),
        "gradient": layer.parametrizations.weight.original.grad,
        "keys": list(layer.state_dict()),
    }
