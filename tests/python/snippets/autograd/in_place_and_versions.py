"""In-place operations that are fine, and those that the engine must refuse."""


def run(torch):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 2
    y.add_(1).mul_(3)
    y.sum().backward()
    refused = []
    z = x.exp()
    z.mul_(2)
    try:
        z.sum().backward()
    except RuntimeError:
        refused.append("saved value changed")
    try:
        x.add_(1)
    except RuntimeError:
        refused.append("leaf in place")
    once = x * 2
    once.sum().backward()
    square = x.pow(2).sum()
    square.backward()
    try:
        square.backward()
    except RuntimeError:
        refused.append("backward twice")
    try:
        x.detach().sum().backward()
    except RuntimeError:
        refused.append("no gradient")
    try:
        (x * 2).backward()
    except RuntimeError:
        refused.append("not a number")
    return {"gradient": x.grad, "refused": refused}
