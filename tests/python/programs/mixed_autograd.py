"""Several features of autograd at once: masks and writes in place, hooks, nests of transforms, complex numbers."""

from program_helpers import net_of, raised, values


def masked_write_and_hook(torch):
    x = values(torch, 4, 3).requires_grad_()
    y = x * 2
    y.register_hook(lambda g: g.clamp(max=1))
    mask = y > 0
    y = y.clone()
    y[mask] = y[mask] ** 2
    y[:, 1] *= x[:, 0].detach()
    (y.sum(1) * torch.arange(4.0, dtype=y.dtype)).sum().backward()
    return x.grad, mask.sum()


def scan_written_in_place(torch):
    x = values(torch, 6).requires_grad_()
    out = torch.zeros(6, dtype=x.dtype)
    state = torch.zeros((), dtype=x.dtype)
    for i in range(6):
        state = 0.9 * state + x[i] ** 2
        out[i] = state
    loss = (out * out.detach().flip(0)).sum()
    loss.backward()
    return loss, x.grad


def views_of_views(torch):
    base = values(torch, 4, 4).requires_grad_()
    y = base.clone()
    corner = y[:2].t()[1:]
    corner.mul_(3).add_(1)
    y.diagonal().zero_()
    y.view(2, 8)[1].neg_()
    y.pow(3).sum().backward()
    return y, base.grad, corner._base is y, y._version


def grads_of_a_list(torch):
    a, b, c = (values(torch, n).requires_grad_() for n in (2, 3, 4))
    y = a.sum() * b.prod() + b.norm()
    grads = torch.autograd.grad(y, [a, b, c], allow_unused=True, materialize_grads=True, retain_graph=True)
    only = torch.autograd.grad(y, [b], create_graph=True)[0]
    return grads, torch.autograd.grad(only.sum(), [a, b], allow_unused=True)


def jacobian_of_an_implicit_layer(torch):
    w = (values(torch, 3, 3) / 4).requires_grad_()
    x = values(torch, 3)

    def step(w, z):
        return torch.tanh(w @ z + x)

    z = torch.zeros(3, dtype=x.dtype)
    with torch.no_grad():
        for _ in range(60):
            z = step(w, z)
    z = step(w, z.detach().requires_grad_())
    j = torch.func.jacrev(step, argnums=1)(w.detach(), z.detach())
    v = torch.linalg.solve(torch.eye(3, dtype=x.dtype) - j.T, torch.ones(3, dtype=x.dtype))
    z.backward(v)
    return z, w.grad


def nests_of_transforms(torch):
    f = torch.func
    x, y = values(torch, 3), values(torch, 4)

    def g(a, b):
        return torch.sin(a * b.sum()) + a**2

    mixed = f.vmap(f.vmap(f.grad(g), in_dims=(None, 0)), in_dims=(0, None))(x, values(torch, 4, 2))
    cross = f.jacfwd(f.jacrev(lambda a, b: (a.outer(b) ** 3).sum(), argnums=0), argnums=1)(x, y)
    third = f.vmap(f.grad(f.grad(f.grad(lambda t: t**5 + t.sin()))))(x)
    return mixed, cross, third


def per_sample_clipping(torch):
    f = torch.func
    net = net_of(torch).double()
    params = {k: v.detach() for k, v in net.named_parameters()}
    x, y = values(torch, 5, 2), values(torch, 5, 1)

    def loss(p, x, y):
        return ((f.functional_call(net, p, (x[None],)) - y) ** 2).sum()

    grads, losses = f.vmap(f.grad_and_value(loss), in_dims=(None, 0, 0))(params, x, y)
    norms = torch.stack([g.flatten(1).norm(dim=1) for g in grads.values()]).norm(dim=0)
    factor = (0.5 / (norms + 1e-6)).clamp(max=1)
    clipped = {k: torch.einsum("n,n...->...", factor, g) / 5 for k, g in grads.items()}
    return losses, norms, clipped


def hutchinson_trace(torch):
    f = torch.func
    x, v = values(torch, 4), values(torch, 3, 4).sign()
    cost = lambda x: (x**4).sum() + x.prod()
    products = f.vmap(lambda v: f.jvp(f.grad(cost), (x,), (v,))[1])(v)
    return (products * v).sum(1).mean(), f.hessian(cost)(x).trace()


def attention_derivatives(torch):
    q = values(torch, 1, 2, 3, 4)
    mask = torch.ones(3, 3, dtype=torch.bool).tril()
    attend = lambda q: torch.nn.functional.scaled_dot_product_attention(q, q * 2, q.flip(-1), attn_mask=mask)
    jacobian = torch.func.jacrev(attend)(q)
    each = torch.func.vmap(torch.func.grad(lambda q: (attend(q) ** 2).sum()))(values(torch, 3, 1, 2, 3, 4))
    return jacobian.shape, jacobian.sum((0, 1, 2, 3)), each[1]


def losses_rows(torch):
    F, f = torch.nn.functional, torch.func
    x, t = values(torch, 4, 3), torch.tensor([0, 2, 1, -100])
    w = values(torch, 3) + 2
    rows = f.jacrev(lambda x: F.cross_entropy(x, t, w, reduction="none"))(x)
    smoothed = f.jacrev(lambda x: F.cross_entropy(x, t, label_smoothing=0.1).exp())(x)
    nll = f.jacrev(lambda x: F.nll_loss(x.log_softmax(1), t, reduction="none"))(x)
    images = f.jacrev(lambda x: F.cross_entropy(x, t[None, :3], reduction="none"))(values(torch, 1, 3, 3))
    return rows, smoothed, nll, images, f.jacrev(lambda x: F.cross_entropy(x, t[0]))(x[0])


def sampled_grid(torch):
    F, f = torch.nn.functional, torch.func
    x, grid = values(torch, 1, 2, 4, 4), values(torch, 1, 3, 3, 2) * 0.9
    sample = lambda x, g: F.grid_sample(x, g, align_corners=False, padding_mode="border")
    by_both = f.jacrev(sample, argnums=(0, 1))(x, grid)
    each = f.vmap(f.grad(lambda x, g: (sample(x, g) ** 2).sum(), argnums=(0, 1)), in_dims=(0, None))
    return [j.sum((0, 1, 2, 3)) for j in by_both], each(values(torch, 3, 1, 2, 4, 4), grid)


def complex_optimisation(torch):
    z = torch.complex(values(torch, 3), values(torch, 3) + 1).requires_grad_()
    target = torch.fft.fft(torch.complex(values(torch, 3), torch.zeros(3, dtype=torch.float64)))
    opt = torch.optim.SGD([z], lr=0.05, momentum=0.5)
    losses = []
    for _ in range(4):
        opt.zero_grad()
        loss = (torch.fft.fft(z) - target).abs().square().mean()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return losses, z, z.grad


def hooks_on_leaves_and_accumulation(torch):
    p = torch.nn.Parameter(values(torch, 3))
    seen = []
    first = p.register_hook(lambda g: g * 2)
    p.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.sum().item()))
    (p**2).sum().backward()
    first.remove()
    (p**3).sum().backward()
    return seen, p.grad


def graph_surgery(torch):
    x = values(torch, 3).requires_grad_()
    y = x.exp()
    y.retain_grad()
    z = y.detach().requires_grad_()
    (z.log() * 2).sum().backward()
    y.backward(z.grad * 3)
    return x.grad, y.grad, z.grad, z.grad_fn is None


def normalised_weights(torch):
    lin = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(3, 2).double())
    with torch.no_grad():
        lin.parametrizations.weight.original0.copy_(torch.tensor([[2.0], [0.5]]))
        lin.parametrizations.weight.original1.copy_(values(torch, 2, 3))
        lin.bias.zero_()
    (lin(values(torch, 4, 3)) ** 2).sum().backward()
    return {k: p.grad for k, p in lin.named_parameters()}, lin.weight


def expectation_gradients(torch):
    D = torch.distributions
    mu, rho = values(torch, 3).requires_grad_(), (values(torch, 3) + 1.5).requires_grad_()
    q = D.Independent(D.Normal(mu, torch.nn.functional.softplus(rho)), 1)
    p = D.MultivariateNormal(torch.zeros(3, dtype=torch.float64), torch.eye(3, dtype=torch.float64) * 2)
    z = mu + torch.nn.functional.softplus(rho) * values(torch, 5, 3)
    bound = (p.log_prob(z) - q.log_prob(z)).mean()
    kl = D.kl_divergence(D.Normal(mu, rho.exp()), D.Normal(0.0, 1.0)).sum()
    (kl - bound).backward()
    return bound, kl, mu.grad, rho.grad


def checkpoint_with_state(torch):
    from importlib import import_module

    checkpoint = import_module(torch.__name__ + ".utils.checkpoint").checkpoint
    net = net_of(torch).double()
    calls = []

    def block(x, scale, *, shift):
        calls.append(1)
        return net(x * scale) + shift

    x = values(torch, 4, 2).requires_grad_()
    y = checkpoint(block, x, 2.0, shift=values(torch, 1), use_reentrant=False)
    y.square().mean().backward()
    return x.grad, [p.grad for p in net.parameters()], len(calls)


def wrong_uses(torch):
    x = values(torch, 3).requires_grad_()
    y = x.exp()
    y.add_(1)
    z = x.sin()

    def twice():
        z.sum().backward()
        z.sum().backward()

    return [
        raised(lambda: y.sum().backward()),
        raised(twice),
        raised(lambda: x.add_(1)),
        raised(lambda: x[0].fill_(1)),
        raised(lambda: x.numpy()),
        raised(lambda: torch.autograd.grad(x * 2, x)),
        raised(lambda: torch.autograd.grad(x.sum(), values(torch, 2).requires_grad_())),
        raised(lambda: setattr(x.sin(), "requires_grad", False)),
        raised(lambda: torch.arange(3).requires_grad_()),
        raised(lambda: setattr(x, "grad", values(torch, 2)), (RuntimeError, TypeError)),
    ]
