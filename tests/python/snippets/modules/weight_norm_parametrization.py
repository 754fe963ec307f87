"""weight_norm as a parametrisation: direction and size are trained, the weight is their product."""

from fixed import noise, settle


def run(torch):
    parametrizations, parametrize = torch.nn.utils.parametrizations, torch.nn.utils.parametrize

    nn = torch.nn
    layer = settle(torch, nn.Linear(3, 2)).double()
    before = layer.weight.detach().clone()
    parametrizations.weight_norm(layer, name="weight", dim=0)
    same_at_first = torch.allclose(layer.weight, before)
    names = sorted(name for name, _ in layer.named_parameters())
    x = noise(torch, 4, 3).double()
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    layer(x).pow(2).mean().backward()
    gradients = {name.replace(".", "_"): p.grad for name, p in layer.named_parameters()}
    optimizer.step()
    trained = layer.weight.detach().clone()
    parametrize.remove_parametrizations(layer, "weight")
    return {
        "same_at_first": same_at_first,
        "names": names,
        "gradients": gradients,
        "trained": trained,
        "kept": torch.equal(layer.weight, trained),
        "plain": [name for name, _ in layer.named_parameters()],
    }
