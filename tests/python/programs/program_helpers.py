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


def seeded(torch, *sizes, dtype=None, seed=0):
    """Values as those of `values`, others for each seed, in the default dtype."""
    n = 1
    for size in sizes:
        n *= size
    i = torch.arange(n, dtype=torch.float64) + seed * 17
    return (i + 0.37 * i * i).sin().reshape(sizes).to(dtype or torch.get_default_dtype())


def settled(torch, net, scale=0.5):
    """The module, with fixed parameters."""
    with torch.no_grad():
        for i, p in enumerate(net.parameters()):
            p.copy_(seeded(torch, *p.shape, seed=i) * scale)
    return net


class Shown:
    """Called in place of print: keeps what it is given; what is neither a tensor nor plain, as text."""

    def __init__(self):
        self.all = []

    def __call__(self, *items):
        self.all.append([self._plain(item) for item in items])

    def _plain(self, item):
        if isinstance(item, dict):
            return {key: self._plain(value) for key, value in item.items()}
        if isinstance(item, (list, tuple)):
            return [self._plain(value) for value in item]
        plain = item is None or isinstance(item, (bool, int, float, str)) or hasattr(item, "resolve_conj")
        return item if plain or type(item).__name__ == "ndarray" else str(item)
