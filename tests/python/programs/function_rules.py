"""Functions of one's own inside transforms: vmap and jvp that a program writes, and rules made from the others."""

import numpy
from program_helpers import raised, values


def by_numpy(lib):
    """exp by NumPy, which sees no transform: every rule is written."""

    class Exp(lib.autograd.Function):
        @staticmethod
        def forward(x):
            return lib.from_numpy(numpy.exp(x.detach().numpy()))

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(output)
            ctx.save_for_forward(output)

        @staticmethod
        def backward(ctx, grad):
            (y,) = ctx.saved_tensors
            return grad * y

        @staticmethod
        def jvp(ctx, tangent):
            (y,) = ctx.saved_tensors
            return tangent * y

        @staticmethod
        def vmap(info, in_dims, x):
            assert info.batch_size == x.shape[in_dims[0]] and info.randomness == "error"
            return Exp.apply(x), in_dims[0]

    return Exp.apply


def vmap_of_numpy(torch):
    exp, x = by_numpy(torch), values(torch, 3, 4)
    vmap = torch.func.vmap
    return vmap(exp)(x), vmap(exp, in_dims=1)(x), vmap(exp, 1, 1)(x), vmap(vmap(exp))(x)


def gradients_around_and_inside(torch):
    exp, x = by_numpy(torch), values(torch, 3, 4)
    f = torch.func
    leaf = x.clone().requires_grad_()
    f.vmap(exp)(leaf).prod().backward()
    inside = f.vmap(f.grad(lambda row: exp(row).prod()))(x)
    around = f.grad(lambda m: f.vmap(exp, in_dims=1)(m).prod())(x)
    return leaf.grad, inside, around, f.jacrev(exp)(x[0]), f.vmap(f.jacrev(exp))(x)


def second_derivatives(torch):
    exp, x = by_numpy(torch), values(torch, 3)
    f = torch.func
    cost = lambda x: (exp(x) * x.flip(0)).sum()
    leaf = x.clone().requires_grad_()
    (g,) = torch.autograd.grad(cost(leaf), leaf, create_graph=True)
    (twice,) = torch.autograd.grad((g * g).sum(), leaf)
    return twice, f.jacrev(f.grad(cost))(x), f.grad(lambda x: f.grad(cost)(x).prod())(x)


def forward_mode(torch):
    exp, x, t = by_numpy(torch), values(torch, 3), values(torch, 3) + 1
    f = torch.func
    value, tangent = f.jvp(exp, (x,), (t,))
    each = f.vmap(lambda t: f.jvp(exp, (x,), (t,))[1])(torch.stack([t, 2 * t]))
    along = f.jvp(lambda x: f.vmap(exp)(x), (torch.stack([x, t]),), (torch.stack([t, x]),))
    return value, tangent, each, along, f.jacfwd(exp)(x)


def forward_over_reverse(torch):
    exp, x, t = by_numpy(torch), values(torch, 3), values(torch, 3) + 1
    f = torch.func
    cost = lambda x: (exp(x) ** 2).sum()
    reverse_over_forward = f.grad(lambda x: f.jvp(cost, (x,), (t,))[1])(x)
    return f.jvp(f.grad(cost), (x,), (t,)), reverse_over_forward, f.hessian(cost)(x)


def shared_and_batched(torch):
    """A product of two, each of which may be one for all."""

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(x, y):
            return x * y

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, grad):
            x, y = ctx.saved_tensors
            return Product.apply(grad, y), Product.apply(grad, x)

        @staticmethod
        def vmap(info, in_dims, x, y):
            seen.append((info.batch_size, *in_dims))
            x = x.unsqueeze(0) if in_dims[0] is None else x.movedim(in_dims[0], 0)
            y = y.unsqueeze(0) if in_dims[1] is None else y.movedim(in_dims[1], 0)
            return Product.apply(x, y), 0

    seen = []
    f = torch.func
    x, y = values(torch, 3, 2), values(torch, 2) + 1
    one = f.vmap(Product.apply, in_dims=(0, None))(x, y)
    other = f.vmap(Product.apply, in_dims=(None, 1))(y, values(torch, 2, 3))
    gradients = f.grad(lambda x, y: f.vmap(Product.apply, (0, None))(x, y).prod(), argnums=(0, 1))(x, y)
    twice = f.vmap(f.vmap(Product.apply, (None, 0)), (0, None))(values(torch, 2, 1), values(torch, 4, 1))
    return one, other, gradients, twice, seen[0], seen[1][:2]


def made_rule(torch):
    """generate_vmap_rule: vmap of forward, backward and jvp."""

    class Scaled(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x, w, power):
            return (x**power * w).sum(-1)

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, w, ctx.power = inputs
            ctx.save_for_backward(x, w)
            ctx.save_for_forward(x, w)

        @staticmethod
        def backward(ctx, grad):
            x, w = ctx.saved_tensors
            return grad * w * ctx.power * x ** (ctx.power - 1), grad * x**ctx.power, None

        @staticmethod
        def jvp(ctx, x_t, w_t, _):
            x, w = ctx.saved_tensors
            return (x_t * w * ctx.power * x ** (ctx.power - 1) + w_t * x**ctx.power).sum(-1)

    f = torch.func
    x, w = values(torch, 3, 2), values(torch, 2) + 1
    call = lambda x, w: Scaled.apply(x, w, 3)
    mapped = f.vmap(call, in_dims=(0, None))
    leaves = x.clone().requires_grad_(), w.clone().requires_grad_()
    mapped(*leaves).prod().backward()
    return (
        mapped(x, w),
        f.vmap(call, in_dims=(1, None))(values(torch, 2, 5), w),
        [t.grad for t in leaves],
        f.vmap(f.grad(call, argnums=(0, 1)), in_dims=(0, None))(x, w),
        f.jvp(mapped, (x, w), (x + 1, w * 2)),
        f.hessian(lambda x: mapped(x, w).prod())(x),
        f.vmap(f.vmap(call, (0, None)), (None, 0))(x, values(torch, 4, 2)),
        f.jacfwd(lambda w: mapped(x, w))(w),
    )


def many_results(torch):
    """Values and places of the largest: the second result has no gradient."""

    class Largest(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            value, place = x.max(-1)
            return value, place

        @staticmethod
        def setup_context(ctx, inputs, output):
            (x,), (_, place) = inputs, output
            ctx.mark_non_differentiable(place)
            ctx.save_for_backward(place)
            ctx.n = x.shape[-1]

        @staticmethod
        def backward(ctx, grad, _):
            (place,) = ctx.saved_tensors
            return torch.nn.functional.one_hot(place, ctx.n).to(grad.dtype) * grad.unsqueeze(-1)

    f = torch.func
    x = values(torch, 3, 4)
    value, place = f.vmap(Largest.apply)(x)
    leaf = x.clone().requires_grad_()
    out, at = f.vmap(Largest.apply, in_dims=1)(leaf)
    (out**2).sum().backward()
    return value, place, leaf.grad, at.requires_grad, out.requires_grad


def dual_level(torch):
    ad = torch.autograd.forward_ad

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, by):
            ctx.x, ctx.by = x, by
            return x * x * by

        @staticmethod
        def jvp(ctx, x_t, _):
            return 2 * ctx.x * x_t * ctx.by

    x, t = values(torch, 3), values(torch, 3) + 1
    with ad.dual_level():
        y = Square.apply(ad.make_dual(x, t), 3)
        primal, tangent = ad.unpack_dual(y)
        plain = ad.unpack_dual(Square.apply(x, 2)).tangent
    return primal, tangent, plain


def missing_tangents(torch):
    """An argument without a tangent has one of zeros, or None where the context says so."""

    def function(materialize):
        class Sum(torch.autograd.Function):
            @staticmethod
            def forward(x, y):
                return x + 2 * y

            @staticmethod
            def setup_context(ctx, inputs, output):
                ctx.set_materialize_grads(materialize)

            @staticmethod
            def jvp(ctx, x_t, y_t):
                seen.append(y_t is None)
                return x_t if y_t is None else x_t + 2 * y_t

        return Sum.apply

    seen = []
    x, y = values(torch, 3), values(torch, 3) + 1
    results = [torch.func.jvp(lambda x: function(m)(x, y), (x,), (y,)) for m in (True, False)]
    return results, seen


def refusals(torch):
    f = torch.func
    x = values(torch, 3)

    class Both(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def vmap(info, in_dims, x):
            return x * 2, 0

    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def vmap(info, in_dims, x):
            return x * 2

    class Plain(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

    return [
        raised(lambda: f.vmap(Both.apply)(x)),
        raised(lambda: f.vmap(Wrong.apply)(x)),
        raised(lambda: f.jvp(Plain.apply, (x,), (x,)), (RuntimeError, NotImplementedError)),
    ]
