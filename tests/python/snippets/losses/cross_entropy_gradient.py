"""The gradient of cross entropy is softmax minus one-hot; with ignored and smoothed labels too."""

from fixed import noise


def run(torch):
    F = torch.nn.functional
    x = (noise(torch, 4, 3).double() * 2).requires_grad_()
    y = torch.tensor([2, 0, 1, 1])
    (plain,) = torch.autograd.grad(F.cross_entropy(x, y, reduction="sum"), x)
    formula = x.detach().softmax(1) - F.one_hot(y, 3)
    y[3] = -100
    (ignored,) = torch.autograd.grad(F.cross_entropy(x, y), x)
    (smoothed,) = torch.autograd.grad(F.cross_entropy(x, y.clamp(min=0), label_smoothing=0.2), x)
    return {"plain": plain, "same": torch.allclose(plain, formula), "ignored": ignored, "smoothed": smoothed}
