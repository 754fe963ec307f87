"""Gradients as users ask for them: functions of their own, second derivatives, modes, hooks, errors."""

from program_helpers import raised, values


def own_function(torch):
    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, g):
            (y,) = ctx.saved_tensors
            return g * y

    x = values(torch, 3).requires_grad_()
    Exp.apply(x).sum().backward()
    return x.grad, torch.autograd.gradcheck(Exp.apply, (x,)), torch.autograd.gradgradcheck(Exp.apply, (x,))


def own_function_in_two_parts(torch):
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(x, k, unused):
            return x * k, (x > 0)

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.k = inputs[1]
            ctx.mark_non_differentiable(output[1])
            ctx.set_materialize_grads(False)

        @staticmethod
        def backward(ctx, g, g_mask):
            return g * ctx.k, None, None

    x = values(torch, 3).requires_grad_()
    y, mask = Scale.apply(x, 3.0, "text")
    y.sum().backward()
    return x.grad, mask, mask.requires_grad, type(y.grad_fn).__name__.startswith("Scale")


def straight_through(torch):
    class Round(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.round()

        @staticmethod
        def backward(ctx, g):
            return g.clamp(-0.5, 0.5)

    x = torch.tensor([0.2, 1.7], requires_grad=True)
    (Round.apply(x) * torch.tensor([3.0, 0.25])).sum().backward()
    y = torch.tensor([0.2, 1.7], requires_grad=True)
    ((y.round() - y).detach() + y).pow(2).sum().backward()
    return x.grad, y.grad


def gradient_reversal(torch):
    class Reverse(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, strength):
            ctx.strength = strength
            return x.view_as(x)

        @staticmethod
        def backward(ctx, g):
            return -ctx.strength * g, None

    x = values(torch, 2, 2).requires_grad_()
    (x * x + Reverse.apply(x, 0.5)).sum().backward()
    return x.grad


def only_what_is_needed(torch):
    seen = []

    class Mul(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a * b

        @staticmethod
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            seen.append(list(ctx.needs_input_grad))
            return g * b if ctx.needs_input_grad[0] else None, g * a if ctx.needs_input_grad[1] else None

    a, b = values(torch, 2).requires_grad_(), values(torch, 2)
    Mul.apply(a, b).sum().backward()
    return seen, a.grad, b.grad


def dirty_input(torch):
    class AddOne(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.add_(1)

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = values(torch, 2).requires_grad_()
    y = x * 1
    z = AddOne.apply(y)
    z.sum().backward()
    return z is y, x.grad, z.detach()


def wrong_number_of_gradients(torch):
    class Bad(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            return a + b

        @staticmethod
        def backward(ctx, g):
            return g

    x = torch.ones(2, requires_grad=True)
    return raised(lambda: Bad.apply(x, x).sum().backward())


def once_differentiable(torch):
    once = torch.autograd.function.once_differentiable

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @once
        def backward(ctx, g):
            return 2 * ctx.saved_tensors[0] * g

    x = torch.tensor(3.0, requires_grad=True)
    (g,) = torch.autograd.grad(Square.apply(x), x, create_graph=True)
    return g.detach(), raised(lambda: g.backward())


def double_backward(torch):
    x = values(torch, 3).requires_grad_()
    y = (x**4).sum()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x, create_graph=True)
    (t,) = torch.autograd.grad(h.sum(), x)
    return g.detach(), h.detach(), t, g.requires_grad, t.requires_grad


def gradient_penalty(torch):
    w, x = values(torch, 3, 2).requires_grad_(), values(torch, 4, 3).requires_grad_()
    score = torch.tanh(x @ w).sum()
    (g,) = torch.autograd.grad(score, x, create_graph=True)
    penalty = ((g.norm(dim=1) - 1) ** 2).mean()
    penalty.backward()
    return penalty.detach(), w.grad, x.grad


def hessian_vector(torch):
    x, v = values(torch, 3).requires_grad_(), values(torch, 3) + 1
    f = (x.prod() + x.exp().sum()).log()
    (g,) = torch.autograd.grad(f, x, create_graph=True)
    (hv,) = torch.autograd.grad(g @ v, x)
    h = torch.autograd.functional.hessian(lambda t: (t.prod() + t.exp().sum()).log(), x.detach())
    return hv, torch.allclose(h @ v, hv), torch.autograd.functional.hvp(lambda t: (t**3).sum(), x.detach(), v)


def accumulation(torch):
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    for k in range(3):
        (w * k).sum().backward()
    total = w.grad.clone()
    w.grad.zero_()
    kept = (w * 2).sum()
    kept.backward(retain_graph=True)
    kept.backward()
    return total, w.grad, raised(lambda: kept.backward()) == "nothing"


def graph_is_freed(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x.exp().sum()
    y.backward()
    return (
        raised(lambda: y.backward()),
        raised(lambda: (x * 2).backward()),
        raised(lambda: torch.ones(1).sum().backward()),
    )


def saved_value_was_changed(torch):
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    y = a.exp()
    z = (y * 1).sum()
    y.add_(1)
    first = raised(lambda: z.backward())
    b = a * 2
    c = b * b
    b.mul_(2)
    return first, raised(lambda: c.sum().backward()), raised(lambda: a.add_(1)), raised(lambda: a[0].fill_(1))


def grad_modes(torch):
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        a = x * 2
        with torch.enable_grad():
            b = x * 2
    with torch.inference_mode():
        c = x * 2
    with torch.set_grad_enabled(False):
        d = x * 2

    @torch.no_grad()
    def evaluate(t):
        return t * 2

    flags = [t.requires_grad for t in (a, b, c, d, evaluate(x), x.detach(), x * 2)]
    return flags, c.is_inference(), torch.is_grad_enabled(), raised(lambda: c.requires_grad_().add_(1))


def unused_inputs(torch):
    a, b = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    y = (a * 2).sum()
    refused = raised(lambda: torch.autograd.grad(y, [a, b], retain_graph=True))
    ga, gb = torch.autograd.grad(y, [a, b], allow_unused=True, retain_graph=True)
    za, zb = torch.autograd.grad(y, [a, b], allow_unused=True, materialize_grads=True)
    return refused, ga, gb, za, zb, raised(lambda: torch.autograd.grad(y, torch.ones(1)))


def given_gradients(torch):
    x = values(torch, 3).requires_grad_()
    (x**2).backward(torch.tensor([1.0, 0.0, 2.0], dtype=torch.float64))
    g1 = x.grad.clone()
    ys = [x.sum(), x * 3]
    g2 = torch.autograd.grad(ys, x, [torch.tensor(2.0, dtype=torch.float64), torch.ones(3, dtype=torch.float64)])
    torch.autograd.backward([x.sum(), (x * 2).sum()], inputs=[x])
    return g1, g2, x.grad, raised(lambda: (x * 2).backward(torch.ones(2)))


def leaves(torch):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.retain_grad()
    z = y.sum()
    z.backward()
    d = x.detach()
    d[0] = 7
    return (
        x.is_leaf,
        y.is_leaf,
        y.grad,
        x.data,
        z.grad_fn is None,
        raised(lambda: y.requires_grad_(False)),
        raised(lambda: torch.tensor([1], requires_grad=True)),
    )


def tensor_hooks(torch):
    seen = []
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    handle = y.register_hook(lambda g: g * 2)
    y.register_hook(lambda g: seen.append(g.tolist()))
    x.register_hook(lambda g: g + 1)
    y.sum().backward(retain_graph=True)
    first = x.grad.clone()
    handle.remove()
    x.grad = None
    y.sum().backward()
    return first, seen, x.grad


def accumulate_hooks(torch):
    seen = []
    p = torch.tensor([1.0, 2.0], requires_grad=True)
    p.register_post_accumulate_grad_hook(lambda q: seen.append(q.grad.sum().item()))
    for _ in range(2):
        (p * p).sum().backward()
    return seen, p.grad, raised(lambda: (p * 2).register_post_accumulate_grad_hook(lambda q: None))


def saved_tensor_hooks(torch):
    packed = []

    def pack(t):
        packed.append(list(t.shape))
        return t.numpy(force=True).copy()

    x = values(torch, 2, 2).requires_grad_()
    with torch.autograd.graph.saved_tensors_hooks(pack, torch.from_numpy):
        y = (x.sin() * x).sum()
    y.backward()
    return x.grad, len(packed) >= 2, torch.allclose(x.grad, (x.cos() * x + x.sin()).detach())


def anomaly(torch):
    x = torch.tensor([-1.0], requires_grad=True)
    with torch.autograd.detect_anomaly(check_nan=True):
        found = raised(lambda: (x.sqrt() * 0).sum().backward())
    y = torch.tensor([-1.0], requires_grad=True)
    y.sqrt().sum().backward()
    return found, y.grad, torch.is_anomaly_enabled()


def checkpointed(torch):
    checkpoint, checkpoint_sequential = torch.utils.checkpoint.checkpoint, torch.utils.checkpoint.checkpoint_sequential
    calls = []

    def block(x, w):
        calls.append(1)
        return torch.tanh(x @ w)

    x, w = values(torch, 2, 3).requires_grad_(), values(torch, 3, 3).requires_grad_()
    checkpoint(block, x, w, use_reentrant=False).sum().backward()
    net = torch.nn.Sequential(torch.nn.Tanh(), torch.nn.Tanh(), torch.nn.Sigmoid()).double()
    y = checkpoint_sequential(net, 2, x, use_reentrant=False)
    return x.grad, w.grad, len(calls), y.detach()


def functional_derivatives(torch):
    f = torch.autograd.functional
    x = values(torch, 3)
    out, j = f.vjp(lambda t: t * t.sum(), x, torch.ones(3, dtype=x.dtype))
    return (
        f.jacobian(lambda t: t.outer(t), x).shape,
        out,
        j,
        f.jvp(lambda t: t.exp(), x, x),
        f.vhp(lambda t: (t**3).sum(), x, x),
    )


def kinks(torch):
    x = torch.tensor([0.0, -1.0, 1.0], requires_grad=True)
    made = {}
    for name in ("relu", "abs", "sign", "sqrt", "ceil"):
        (g,) = torch.autograd.grad(getattr(torch, name)(x).sum(), x)
        made[name] = g
    (made["norm"],) = torch.autograd.grad((x * 0).norm(), x)
    (made["clamp"],) = torch.autograd.grad(x.clamp(0, 1).sum(), x)
    (made["pow"],) = torch.autograd.grad((x**2.0).sum(), x)
    (made["where"],) = torch.autograd.grad(torch.where(x > 0, x.log(), x * 2).sum(), x)
    (made["max"],) = torch.autograd.grad(torch.max(x, torch.zeros(3)).sum(), x)
    (made["hardtanh"],) = torch.autograd.grad(torch.nn.functional.hardtanh(x).sum(), x)
    return made


def complex_gradients(torch):
    z = torch.complex(values(torch, 2), values(torch, 2) + 1).requires_grad_()
    (z * z.conj()).real.sum().backward()
    first = z.grad.clone()
    z.grad = None
    z.abs().sum().backward()
    return (
        first,
        z.grad,
        raised(lambda: (z * 2).sum().backward()),
        torch.autograd.gradcheck(lambda t: t.exp().abs(), (z,)),
    )


def views_share_gradients(torch):
    x = values(torch, 2, 3).requires_grad_()
    y = x * 1
    v = y[0]
    v.mul_(3)
    y[:, 1].zero_()
    y.sum().backward()
    return x.grad, v.detach(), y._base is None, v._base is y, v.grad_fn is not None


def node_facts(torch):
    x = torch.ones(2, requires_grad=True)
    y = (x * 2).sum()
    node = y.grad_fn
    nodes = [node.name(), node.next_functions[0][0].name(), node.next_functions[0][0].next_functions[0][0].name()]
    return nodes, node.next_functions[0][1], x.grad_fn


def anomaly_as_a_switch(torch):
    torch.set_anomaly_enabled(True)
    on = torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()
    torch.set_anomaly_enabled(True, False)
    loose = torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()
    torch.set_anomaly_enabled(False)
    return on, loose, torch.is_anomaly_enabled()
