"""What several programs use: values without a random stream, and the kind of error that a call raises."""


def values(torch, *sizes, dtype=None):
    """Values between -1 and 1 without a pattern: sin(i + 0.37 i^2)."""
    n = 1
    for size in sizes:
        n *= size
    i = torch.arange(n, dtype=dtype or torch.float64)
    return (i + 0.37 * i * i).sin().reshape(sizes)


def raised(call, kind=RuntimeError):
    """Does `except kind` catch what the call raises? "yes", "another error" or "nothing"."""
    try:
        call()
    except kind:
        return "yes"
    except Exception:
        return "another error"
    return "nothing"


def net_of(torch, hidden=3):
    """Two linear layers with fixed weights."""
    net = torch.nn.Sequential(torch.nn.Linear(2, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, 1))
    with torch.no_grad():
        for p in net.parameters():
            p.copy_(values(torch, *p.shape))
    return net


def problem(torch, n=3):
    """A parameter and the loss of it."""
    p = torch.nn.Parameter(values(torch, n))
    return p, lambda: ((p - torch.arange(n, dtype=p.dtype)) ** 2).sum() + p.prod()


def filled(torch, net, scale=0.5):
    """The module, with fixed parameters that are not alike."""
    with torch.no_grad():
        for i, p in enumerate(net.parameters()):
            p.copy_(values(torch, *p.shape) * scale / (1 + i % 3))
    return net
