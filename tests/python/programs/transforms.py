"""torch.func as users write it: samples' gradients, Jacobians, ensembles, nesting, what vmap refuses."""

from program_helpers import raised, values


def per_sample_gradients(torch):
    net = torch.nn.Linear(3, 1).double()
    with torch.no_grad():
        net.weight.copy_(values(torch, 1, 3))
        net.bias.zero_()
    params = dict(net.named_parameters())

    def loss(params, x, y):
        out = torch.func.functional_call(net, params, (x.unsqueeze(0),))
        return torch.nn.functional.mse_loss(out.squeeze(0), y)

    x, y = values(torch, 4, 3), values(torch, 4, 1)
    each = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(
        {k: v.detach() for k, v in params.items()}, x, y
    )
    torch.nn.functional.mse_loss(net(x), y).backward()
    return each, {k: v.grad for k, v in params.items()}, torch.allclose(each["weight"].mean(0), net.weight.grad)


def ensemble_of_models(torch):
    nets = [torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh()).double() for _ in range(3)]
    for i, net in enumerate(nets):
        for p in net.parameters():
            torch.nn.init.constant_(p, 0.1 * (i + 1))
    params, buffers = torch.func.stack_module_state(nets)

    def call(p, b, x):
        return torch.func.functional_call(nets[0], (p, b), (x,))

    x = values(torch, 4, 2)
    same, each = torch.vmap(call, in_dims=(0, 0, None))(params, buffers, x), torch.vmap(call)(params, buffers, x[:3])
    return same, each, {k: v.shape for k, v in params.items()}, len(buffers)


def jacobians_agree(torch):
    def f(x):
        return torch.stack([x[0] * x[1], x.sum().sin(), x[2] ** 3])

    x = values(torch, 3)
    a, b = torch.func.jacrev(f)(x), torch.func.jacfwd(f)(x)
    return (
        a,
        torch.allclose(a, b),
        torch.func.hessian(lambda x: f(x).sum())(x),
        torch.func.jacrev(torch.func.jacfwd(f))(x),
    )


def vector_products(torch):
    def f(x):
        return (x.sin() * x.cumsum(0)).exp()

    x, v = values(torch, 3), values(torch, 3) + 1
    y, pull = torch.func.vjp(f, x)
    out, push = torch.func.jvp(f, (x,), (v,))
    return y, pull(v)[0], out, push, torch.allclose(pull(v)[0] @ v, v @ torch.func.jvp(f, (x,), (v,))[1])


def hessian_vector_both_ways(torch):
    def f(x):
        return (x**3).sum() + x.prod()

    x, v = values(torch, 3), values(torch, 3) + 1
    forward = torch.func.jvp(torch.func.grad(f), (x,), (v,))[1]
    backward = torch.func.grad(lambda x: (torch.func.grad(f)(x) * v).sum())(x)
    return forward, backward, torch.func.hessian(f)(x) @ v


def newton(torch):
    def f(x):
        return (x[0] - 1) ** 4 + (x[0] * x[1] - 2) ** 2

    x = torch.tensor([2.0, 2.0], dtype=torch.float64)
    for _ in range(6):
        x = x - torch.linalg.solve(torch.func.hessian(f)(x), torch.func.grad(f)(x))
    return x, f(x)


def maml_inner_step(torch):
    x, y, x2, y2 = values(torch, 5), values(torch, 5) * 2, values(torch, 5) + 1, values(torch, 5)

    def loss(w, x, y):
        return ((w[0] * x + w[1] - y) ** 2).mean()

    def adapted(w):
        inner = w - 0.1 * torch.func.grad(loss)(w, x, y)
        return loss(inner, x2, y2)

    w = torch.tensor([0.5, -0.2], dtype=torch.float64)
    return torch.func.grad_and_value(adapted)(w)


def batch_dimensions(torch):
    x, y = values(torch, 2, 3), values(torch, 3, 2)
    return (
        torch.vmap(torch.dot, in_dims=(0, 1))(x, y),
        torch.vmap(torch.mul, in_dims=(1, 0), out_dims=1)(x, y),
        torch.vmap(torch.vmap(torch.mul, in_dims=(None, 0)), in_dims=(0, None))(x[0], y[:, 0]),
        torch.vmap(lambda a: (a, a.sum()), out_dims=(1, 0))(x),
        torch.vmap(lambda d: d["a"] + d["b"], in_dims=({"a": 0, "b": None},))({"a": x, "b": y[:, 0]}),
        torch.vmap(lambda a: a, in_dims=-1)(x),
        torch.vmap(lambda a: 3.0 * torch.ones(2))(x),
    )


def vmap_refusals(torch):
    x = values(torch, 2, 3)
    return {
        "item": raised(lambda: torch.vmap(lambda a: a.sum().item())(x)),
        "branch": raised(lambda: torch.vmap(lambda a: a if a.sum() > 0 else -a)(x)),
        "sizes": raised(lambda: torch.vmap(torch.add)(x, x[:1].expand(3, 3)), ValueError),
        "none": raised(lambda: torch.vmap(torch.add, in_dims=None)(x, x), ValueError),
        "number": raised(lambda: torch.vmap(lambda a: 3)(x), ValueError),
        "dims": raised(lambda: torch.vmap(torch.neg, in_dims=5)(x), ValueError),
        "structure": raised(lambda: torch.vmap(torch.add, in_dims=(0,))(x, x), ValueError),
        "mask": raised(lambda: torch.vmap(lambda a: a[a > 0])(x)),
        "nonzero": raised(lambda: torch.vmap(torch.nonzero)(x)),
        "write": raised(
            lambda: torch.vmap(lambda a, b: b.add_(a), in_dims=(0, None))(x, torch.zeros(3, dtype=x.dtype))
        ),
    }


def grad_refusals(torch):
    x = values(torch, 3)
    return {
        "vector": raised(lambda: torch.func.grad(lambda x: x * 2)(x)),
        "integers": raised(lambda: torch.func.grad(lambda x: x.sum())(torch.arange(3))),
        "tuple": raised(lambda: torch.func.grad(lambda x: (x.sum(), x))(x)),
        "argnums": raised(lambda: torch.func.grad(lambda x: x.sum(), argnums=1)(x)),
        "tangent": raised(lambda: torch.func.jvp(torch.sin, (x,), (x[:2],))),
        "cotangent": raised(lambda: torch.func.vjp(torch.sin, x)[1](x[:2])),
        "constant": torch.func.grad(lambda x: torch.tensor(1.0, dtype=x.dtype))(x),
    }


def outer_and_inner_gradients(torch):
    x = torch.tensor(2.0)
    third = torch.func.grad(torch.func.grad(torch.func.grad(lambda x: x**4)))(x)
    w = torch.tensor(3.0, requires_grad=True)
    inner = torch.func.grad(lambda v: w * v**2)(x)
    inner.backward()
    return (
        third,
        inner.detach(),
        w.grad,
        torch.func.grad(lambda x: x * torch.func.grad(lambda y: x * y**2)(torch.tensor(1.5)))(x),
    )


def auxiliary_results(torch):
    def f(x):
        return ((x**2).sum(), {"kept": x + 1})

    x = values(torch, 2)
    return (
        torch.func.grad(f, has_aux=True)(x),
        torch.func.grad_and_value(f, has_aux=True)(x),
        torch.func.jacrev(f, has_aux=True)(x),
    )


def many_arguments(torch):
    def f(a, b, k=1):
        return (a * b.sum() * k).sum()

    a, b = values(torch, 2), values(torch, 3)
    both = torch.func.grad(f, argnums=(0, 1))(a, b, k=2)
    tree = torch.func.grad(lambda p: (p["w"] * p["l"][0] + p["l"][1]).sum())({"w": a, "l": [a * 2, a]})
    return both, tree, torch.func.jacrev(lambda a, b: torch.outer(a, b), argnums=1)(a, b).shape


def batched_linear_algebra(torch):
    a = values(torch, 3, 2, 2) + 3 * torch.eye(2, dtype=torch.float64)
    b = values(torch, 3, 2)
    return (
        torch.vmap(torch.linalg.solve)(a, b),
        torch.vmap(torch.linalg.det)(a),
        torch.vmap(torch.linalg.inv)(a),
        torch.vmap(torch.trace)(a),
    )


def batched_indexing(torch):
    x, i = values(torch, 3, 4), torch.tensor([0, 3, 1])
    return (
        torch.vmap(lambda a, k: a[k])(x, i),
        torch.vmap(lambda a, k: a.gather(0, k))(x, i[:, None]),
        torch.vmap(lambda a: a[1:].flip(0))(x),
        torch.vmap(lambda a, k: torch.nn.functional.one_hot(k, 4) * a)(x, i),
        torch.vmap(lambda a: torch.where(a > 0, a, 0.0))(x),
        torch.vmap(lambda k: x[0][k], in_dims=0)(i),
        torch.vmap(lambda a: a.sort().values)(x),
        torch.vmap(lambda a: a.topk(2).indices)(x),
    )


def randomness(torch):
    x = torch.zeros(4, 3)
    different = torch.vmap(lambda a: a + torch.rand(3), randomness="different")(x)
    same = torch.vmap(lambda a: a + torch.rand(3), randomness="same")(x)
    refused = raised(lambda: torch.vmap(lambda a: a + torch.rand(3))(x))
    return (same == same[0]).all(), (different == different[0]).all(), refused, different.shape


def layers_in_vmap(torch):
    conv = torch.nn.Conv1d(2, 3, 3).double()
    torch.nn.init.constant_(conv.weight, 0.1), torch.nn.init.zeros_(conv.bias)
    x = values(torch, 4, 2, 6)
    F = torch.nn.functional
    return (
        torch.vmap(conv)(x).detach(),
        torch.vmap(lambda a: F.max_pool1d(a, 2))(x),
        torch.vmap(lambda a: F.layer_norm(a, (6,)))(x),
        torch.vmap(lambda a: F.softmax(a, 0).sum())(x),
        torch.vmap(lambda a: F.cross_entropy(a.T, torch.tensor([0, 1, 1, 0, 1, 0])))(x),
    )


def functional_state(torch):
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2)).double()
    params = {k: torch.ones_like(v) for k, v in net.named_parameters()}
    buffers = {k: v.clone() for k, v in net.named_buffers()}
    out = torch.func.functional_call(net, (params, buffers), (values(torch, 3, 2),))
    tied = raised(
        lambda: torch.func.functional_call(net, {"unknown": torch.ones(1)}, (values(torch, 3, 2),), strict=True)
    )
    return out.detach(), buffers, net[1].num_batches_tracked, tied


def forward_mode(torch):
    fwAD = torch.autograd.forward_ad
    x, t = values(torch, 3), values(torch, 3) + 1
    with fwAD.dual_level():
        y = fwAD.make_dual(x, t).sin().cumsum(0)
        primal, tangent = fwAD.unpack_dual(y)
        plain = fwAD.unpack_dual(x).tangent
    return primal, tangent, plain, raised(lambda: fwAD.make_dual(x, t))


def chunks(torch):
    x = values(torch, 7, 2)

    def f(a):
        return a.exp().sum()

    return (
        torch.vmap(f, chunk_size=3)(x),
        torch.func.jacrev(lambda a: a**2, chunk_size=1)(x[0]),
        raised(lambda: torch.vmap(f, chunk_size=0)(x), ValueError),
    )


def batch_norms_without_statistics(torch):
    nn, f = torch.nn, torch.func
    net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Sequential(nn.BatchNorm1d(3, affine=False))).double()
    same = f.replace_all_batch_norm_modules_(net) is net
    with torch.no_grad():
        net[0].weight.copy_(values(torch, 3, 2))
        net[0].bias.zero_()
    params = {k: v.detach() for k, v in net.named_parameters()}
    x = values(torch, 4, 5, 2)
    each = f.vmap(f.grad(lambda p, x: (f.functional_call(net, p, (x,)) ** 3).sum()), in_dims=(None, 0))(params, x)
    return same, [k for k, _ in net.named_buffers()], net[1].track_running_stats, each


def looked_into(torch):
    seen, f = [], torch.func

    def look(x):
        seen.append((f.debug_unwrap(x), f.debug_unwrap(x, recurse=False).shape))
        return x * 2

    f.vmap(f.vmap(look))(values(torch, 2, 3))
    f.jvp(look, (values(torch, 2),), (values(torch, 2),))
    return seen, f.debug_unwrap(values(torch, 2))
