"""Full backward hooks: sizes of gradients layer by layer, and one that scales."""

from fixed import noise, settle


def run(torch):
    nn = torch.nn
    net = settle(torch, nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))).double()
    norms = []

    def note(module, grad_input, grad_output):
        norms.append(grad_output[0].norm())

    handles = [m.register_full_backward_hook(note) for m in net]
    x = noise(torch, 5, 3).double().requires_grad_()
    net(x).sum().backward()
    first = x.grad.clone()
    for h in handles:
        h.remove()
    net[1].register_full_backward_hook(lambda m, gi, go: (gi[0] * 10,))
    x.grad = None
    net(x).sum().backward()
    return {"norms": torch.stack(norms), "first": first, "scaled": x.grad, "ratio": (x.grad / first).mean()}
