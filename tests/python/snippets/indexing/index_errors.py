"""Mistakes with indices are exceptions of the built-in kinds, and nothing has changed afterwards."""


def run(torch):
    x = torch.arange(6.0).view(2, 3)
    before = x.clone()

    def assign():
        x[0] = torch.zeros(2)

    attempts = {
        "row": (IndexError, lambda: x[2]),
        "too_many": (IndexError, lambda: x[0, 0, 0]),
        "array": (IndexError, lambda: x[torch.tensor([0, 5])]),
        "mask_shape": (IndexError, lambda: x[torch.ones(3, 3, dtype=torch.bool)]),
        "assign_shape": (RuntimeError, assign),
        "dimension": (IndexError, lambda: x.sum(2)),
        "gather_dtype": (RuntimeError, lambda: x.gather(0, torch.zeros(1, 1))),
        "item": (RuntimeError, lambda: x.item()),
        "truth": (RuntimeError, lambda: bool(x)),
        "step": (ValueError, lambda: x[::-1]),
    }
    caught = {}
    for name, (kind, attempt) in attempts.items():
        try:
            attempt()
            caught[name] = "nothing"
        except kind:
            caught[name] = kind.__name__
    return {"caught": caught, "unchanged": torch.equal(x, before)}
