"""set_to_none and zeros; parameters without gradient are left alone by the step."""


def run(torch):
    used, unused = torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([used, unused], lr=0.5, weight_decay=0.1)
    (used * 3).sum().backward()
    optimizer.step()
    first = [used.detach().clone(), unused.detach().clone()]
    optimizer.zero_grad(set_to_none=False)
    zeros = used.grad.clone()
    optimizer.step()
    optimizer.zero_grad()
    return {
        "first": first,
        "zeros": zeros,
        "decayed": used,
        "none": [used.grad is None, unused.grad is None],
        "errors": [
            raises(ValueError, lambda: torch.optim.SGD([used], lr=-1.0)),
            raises(ValueError, lambda: torch.optim.Adam([])),
        ],
    }


def raises(kind, f):
    try:
        f()
    except kind:
        return kind.__name__
    return "nothing"
