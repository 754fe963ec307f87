"""A diagonal matrix that is no tensor and overrides the functions it knows."""


def run(torch):
    handled = {}

    class Diagonal:
        def __init__(self, n, value):
            self.n, self.value = n, value

        def tensor(self):
            return self.value * torch.eye(self.n)

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func not in handled or not all(issubclass(t, (torch.Tensor, Diagonal)) for t in types):
                return NotImplemented
            return handled[func](*args, **(kwargs or {}))

    def implements(function):
        return lambda f: handled.setdefault(function, f)

    @implements(torch.mean)
    def mean(x):
        return float(x.value) / x.n

    def dense(x):
        return x.tensor() if isinstance(x, Diagonal) else x

    @implements(torch.add)
    def add(a, b, *, alpha=1):
        if isinstance(a, Diagonal) and isinstance(b, Diagonal):
            return Diagonal(a.n, a.value + alpha * b.value)
        return torch.add(dense(a), dense(b), alpha=alpha)

    @implements(torch.mm)
    def mm(a, b):
        return torch.mm(dense(a), dense(b))

    d = Diagonal(3, 2.0)
    try:
        torch.mul(d, 2)
        error = "none"
    except TypeError:
        error = "TypeError"
    return {
        "mean": torch.mean(d),
        "sum": torch.add(d, Diagonal(3, 5.0), alpha=2).value,
        "mixed": torch.add(torch.ones(3, 3), d),
        "mm": torch.mm(d, torch.arange(6.0).reshape(3, 2)),
        "error": error,
        "like": hasattr(d, "__torch_function__"),
    }
