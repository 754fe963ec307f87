"""Data and first weights for the snippets, from integer arithmetic: nothing depends on a random stream."""


def noise(torch, *shape, seed=0):
    """Values between -1 and 1 without a pattern, in the default dtype."""
    n = 1
    for size in shape:
        n *= size
    i = torch.arange(n) + 1
    mixed = (i * 40503 + i * i * 9176 + (seed + 1) * 25173) % 65521
    return (mixed / 32760.5 - 1).reshape(shape)


def settle(torch, module, seed=0):
    """Gives the matrices and biases of a module fixed values of a usual size; returns the module."""
    with torch.no_grad():
        for i, (name, p) in enumerate(module.named_parameters()):
            if p.dim() > 1:
                p.copy_(noise(torch, *p.shape, seed=seed + i) * (3 / p[0].numel()) ** 0.5)
            elif name.endswith("bias"):
                p.copy_(noise(torch, *p.shape, seed=seed + i) * 0.1)
    return module
