"""gradcheck and gradgradcheck over formulas in float64."""

from fixed import noise


def run(torch):
    F = torch.nn.functional
    x = noise(torch, 3, 4, seed=1).double().requires_grad_()
    w = noise(torch, 2, 4, seed=2).double().requires_grad_()
    b = noise(torch, 2, seed=3).double().requires_grad_()
    check, second = torch.autograd.gradcheck, torch.autograd.gradgradcheck
    wrong = []

    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 3

    try:
        check(Wrong.apply, (x,))
    except RuntimeError:
        wrong.append("refused")
    return {
        "linear": check(F.linear, (x, w, b)),
        "softmax": check(lambda x: x.softmax(-1), (x,)),
        "second": second(lambda x: torch.tanh(x).pow(2), (x,)),
        "norm": check(lambda x: F.layer_norm(x, (4,)), (x,), atol=1e-4),
        "quiet": check(Wrong.apply, (x,), raise_exception=False),
        "wrong": wrong,
    }
