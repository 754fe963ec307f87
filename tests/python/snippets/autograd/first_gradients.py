"""Gradients of a small formula, their accumulation, setting them to zero."""


def run(torch):
    w = torch.tensor([1.0, -2.0, 0.5], requires_grad=True)
    b = torch.tensor(0.25, requires_grad=True)
    x = torch.tensor([0.5, 1.5, -1.0])
    loss = ((w * x).sum() + b).sigmoid().log().neg()
    loss.backward()
    once = w.grad.clone()
    ((w * x).sum() + b).sigmoid().log().neg().backward()
    twice = w.grad.clone()
    w.grad.zero_()
    b.grad = None
    return {
        "loss": loss,
        "once": once,
        "twice": twice,
        "zeroed": w.grad,
        "none": b.grad is None,
        "flags": [loss.requires_grad, loss.is_leaf, w.is_leaf, x.requires_grad, loss.grad_fn is not None],
    }
