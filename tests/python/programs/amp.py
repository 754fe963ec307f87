"""Mixed precision as users write it: which results are narrow, nesting, loss scaling, own functions."""

from program_helpers import raised, values


def regions(torch):
    x, w = values(torch, 2, 3).float(), values(torch, 3, 2).float()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = x @ w
        made = [
            y,
            y + 1,
            torch.nn.functional.softmax(y, -1),
            x.sum(),
            torch.nn.functional.linear(x, w.T),
            torch.relu(y),
            y.float() @ y,
        ]
        inside = torch.is_autocast_enabled("cpu")
    return [str(m.dtype) for m in made], inside, torch.is_autocast_enabled("cpu"), str((x @ w).dtype), y


def nested_regions(torch):
    x = values(torch, 2, 2).float()
    made = []
    with torch.autocast("cpu", dtype=torch.bfloat16):
        made.append((x @ x).dtype)
        with torch.autocast("cpu", enabled=False):
            made.append((x @ x).dtype)
            with torch.autocast("cpu", dtype=torch.float16):
                made.append((x @ x).dtype)
        made.append(torch.get_autocast_dtype("cpu"))
    return [str(m) for m in made]


def gradients_stay_wide(torch):
    net = torch.nn.Linear(3, 2)
    torch.nn.init.constant_(net.weight, 0.5), torch.nn.init.zeros_(net.bias)
    x = values(torch, 4, 3).float()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = net(x)
        loss = torch.nn.functional.mse_loss(out, torch.ones(4, 2))
    loss.backward()
    return str(out.dtype), str(loss.dtype), str(net.weight.grad.dtype), net.weight.grad, net.bias.grad


def as_a_decorator(torch):
    @torch.autocast("cpu", dtype=torch.bfloat16)
    def product(a, b):
        return a @ b

    class Net(torch.nn.Module):
        @torch.amp.autocast("cpu", dtype=torch.float16)
        def forward(self, x):
            return x @ x

    x = values(torch, 2, 2).float()
    return str(product(x, x).dtype), str(Net()(x).dtype), str((x @ x).dtype)


def scaled_training(torch):
    p = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
    o = torch.optim.SGD([p], lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2)
    made = []
    for factor in (1.0, 1.0, float("inf"), 1.0):
        o.zero_grad()
        scaler.scale((p * p).sum() * factor).backward()
        scaler.step(o)
        scaler.update()
        made.append((scaler.get_scale(), p.detach().clone()))
    return made


def unscaled_then_clipped(torch):
    p = torch.nn.Parameter(torch.tensor([3.0, 4.0]))
    o = torch.optim.SGD([p], lr=1.0)
    scaler = torch.amp.GradScaler("cpu", init_scale=16.0)
    scaler.scale((p * p).sum() / 2).backward()
    raw = p.grad.clone()
    scaler.unscale_(o)
    norm = torch.nn.utils.clip_grad_norm_([p], 1.0)
    twice = raised(lambda: scaler.unscale_(o))
    scaler.step(o)
    scaler.update()
    return raw, norm, p.detach(), twice


def scaler_state(torch):
    a = torch.amp.GradScaler("cpu", init_scale=4.0, growth_factor=3.0, backoff_factor=0.25, growth_interval=5)
    b = torch.amp.GradScaler("cpu")
    b.load_state_dict(a.state_dict())
    off = torch.amp.GradScaler("cpu", enabled=False)
    x = torch.ones(2)
    return (
        a.state_dict(),
        b.get_scale(),
        b.get_growth_factor(),
        off.state_dict(),
        off.scale(x) is x,
        off.get_scale(),
        a.is_enabled(),
        raised(lambda: b.load_state_dict({})),
    )


def scaled_lists(torch):
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0)
    a, b = scaler.scale([torch.ones(2), torch.zeros(1)])
    scaler.update(new_scale=32.0)
    return a, b, scaler.get_scale(), scaler.scale(torch.ones(1))


def own_functions(torch):
    seen = []

    class Mul(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
        def forward(ctx, a, b):
            seen.append((str(a.dtype), torch.is_autocast_enabled("cpu")))
            ctx.save_for_backward(a, b)
            return a @ b

        @staticmethod
        @torch.amp.custom_bwd(device_type="cpu")
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            return g @ b.T, a.T @ g

    x = values(torch, 2, 2).float().requires_grad_()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = Mul.apply(x.bfloat16(), x)
    y.sum().backward()
    return seen, str(y.dtype), x.grad


def losses_in_regions(torch):
    F = torch.nn.functional
    x, t = values(torch, 3, 4).bfloat16(), torch.tensor([0, 1, 3])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        made = [
            F.cross_entropy(x, t),
            F.mse_loss(x, x),
            F.binary_cross_entropy_with_logits(x, torch.ones(3, 4)),
            F.layer_norm(x, (4,)),
            x.cumsum(0),
            x.exp(),
            x.norm(),
        ]
        refused = raised(lambda: F.binary_cross_entropy(torch.sigmoid(x), torch.ones(3, 4)))
    return [str(m.dtype) for m in made], refused


def cast_by_hand(torch):
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.LayerNorm(2)).bfloat16()
    with torch.no_grad():
        for p in net.parameters():
            p.fill_(0.5)
    x = values(torch, 3, 2).bfloat16()
    return (
        net(x).detach(),
        raised(lambda: net(x.float())),
        str(net(x).dtype),
        x.float().sum(),
        torch.finfo(torch.bfloat16).eps,
    )


def older_names(torch):
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before = torch.get_autocast_cpu_dtype(), torch.get_autocast_gpu_dtype(), torch.is_autocast_cpu_enabled()
        torch.set_autocast_cpu_dtype(torch.float16)
        torch.set_autocast_gpu_dtype(torch.bfloat16)
        torch.set_autocast_cpu_enabled(True)
        inside = torch.get_autocast_dtype("cpu"), torch.get_autocast_dtype("cuda"), torch.is_autocast_enabled("cpu")
        product = (torch.ones(2, 2) @ torch.ones(2, 2)).dtype
        torch.set_autocast_cpu_enabled(False)
        torch.set_autocast_cpu_dtype(before[0])
        torch.set_autocast_gpu_dtype(before[1])
    after = torch.get_autocast_dtype("cpu"), torch.get_autocast_dtype("cuda"), torch.is_autocast_cpu_enabled()
    return [str(x) for x in (*before, *inside, product, *after)]
