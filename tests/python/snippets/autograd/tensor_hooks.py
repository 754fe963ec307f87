"""Hooks on tensors: look, change, remove; retain_grad for what is not a leaf."""


def run(torch):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    seen = []
    h = x * 2
    h.retain_grad()
    h.register_hook(lambda g: seen.append(g.clone()))
    scaled = h.register_hook(lambda g: g * 0.5)
    leaf = x.register_hook(lambda g: g.clamp(max=3))
    h.pow(2).sum().backward()
    first = x.grad.clone()
    scaled.remove()
    leaf.remove()
    x.grad = None
    y = x * 2
    y.pow(2).sum().backward()
    return {"seen": seen, "retained": h.grad, "first": first, "without": x.grad, "no_grad_inside": y.is_leaf}
