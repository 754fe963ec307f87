"""A Function with two inputs and outputs, needs_input_grad and a gradient that is not there."""

from fixed import noise


def run(torch):
    asked = []

    class SumAndProduct(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a + b, a * b

        @staticmethod
        def backward(ctx, grad_sum, grad_product):
            a, b = ctx.saved_tensors
            asked.append(list(ctx.needs_input_grad))
            ga = grad_sum + grad_product * b if ctx.needs_input_grad[0] else None
            gb = grad_sum + grad_product * a if ctx.needs_input_grad[1] else None
            return ga, gb

    a, b = noise(torch, 4, seed=1).requires_grad_(), noise(torch, 4, seed=2)
    s, p = SumAndProduct.apply(a, b)
    p.sum().backward()
    first = a.grad.clone()
    s2, p2 = SumAndProduct.apply(a, b.requires_grad_())
    (s2 * 2 + p2).sum().backward()
    return {"s": s, "first": first, "a": a.grad, "b": b.grad, "asked": asked}
