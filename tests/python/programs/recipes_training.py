"""Loops of training as programs write them: scaling, checkpoints, averages, own functions and states."""

import copy
from collections import OrderedDict

from program_helpers import filled, values


def amp_loop(torch):
    nn, F = (torch.nn, torch.nn.functional)
    net = filled(torch, nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(16, 3)))
    opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    scaler = torch.cuda.amp.GradScaler(enabled=torch.cuda.is_available() and False)
    s2 = torch.amp.GradScaler("cpu", init_scale=2.0**10, growth_interval=2)
    x, y = (values(torch, 4, 1, 4, 4).float(), torch.tensor([0, 1, 2, 0]))
    dt = []
    for i in range(3):
        opt.zero_grad()
        with torch.autocast(device_type="cpu", dtype=torch.bfloat16, cache_enabled=True):
            out = net(x)
            loss = F.cross_entropy(out, y)
        dt += [str(out.dtype), str(loss.dtype), str(net[0](x).dtype)]
        s2.scale(loss).backward()
        s2.unscale_(opt)
        torch.nn.utils.clip_grad_norm_(
            net.parameters(), max_norm=1.0, norm_type=2.0, error_if_nonfinite=False, foreach=None
        )
        s2.step(opt)
        s2.update()
    with torch.autocast("cpu"):
        z = torch.mm(x.view(4, 16), x.view(4, 16).t())
    with torch.cuda.amp.autocast(enabled=False):
        w = x @ x
    return (
        dt,
        s2.get_scale(),
        scaler.state_dict(),
        str(z.dtype),
        w.dtype == torch.float32,
        sorted(s2.state_dict()),
        s2._growth_tracker is not None,
        s2.is_enabled(),
        scaler.scale(loss) is loss,
    )


def accumulate_and_checkpoint(torch):
    nn = torch.nn
    cp = torch.utils.checkpoint
    net = filled(torch, nn.Sequential(*[nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Dropout(0.0)) for _ in range(4)]))
    x = values(torch, 8, 4).float().requires_grad_()
    y1 = cp.checkpoint_sequential(net, 2, x, use_reentrant=False)
    g1 = torch.autograd.grad(y1.sum(), [x, *net.parameters()])
    y2 = cp.checkpoint(net, x, use_reentrant=True, preserve_rng_state=False)
    y2.sum().backward()
    same = [torch.allclose(a, b.grad) for a, b in zip(g1, [x, *net.parameters()])]
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    accum = 3
    opt.zero_grad()
    total = 0.0
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x.detach()), batch_size=2, drop_last=False)
    for i, (b,) in enumerate(loader, start=1):
        loss = cp.checkpoint(lambda a, k=1: net(a).pow(2).mean() * k, b, k=2, use_reentrant=False) / accum
        loss.backward()
        total += loss.detach()
        if i % accum == 0 or i == len(loader):
            opt.step()
            opt.zero_grad()
    return (y1, same, total, list(net.parameters()))


def param_groups_by_name(torch):
    nn = torch.nn
    net = nn.Sequential(
        OrderedDict(
            [
                ("backbone", nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2))),
                ("head", nn.Linear(2, 2)),
                ("emb", nn.Embedding(3, 2)),
            ]
        )
    )
    filled(torch, net)
    decay, no_decay = (set(), set())
    whitelist, blacklist = ((nn.Linear, nn.Conv2d), (nn.BatchNorm2d, nn.Embedding))
    for mn, m in net.named_modules():
        for pn, p in m.named_parameters(recurse=False):
            fpn = "%s.%s" % (mn, pn) if mn else pn
            if pn.endswith("bias"):
                no_decay.add(fpn)
            elif pn.endswith("weight") and isinstance(m, whitelist):
                decay.add(fpn)
            elif pn.endswith("weight") and isinstance(m, blacklist):
                no_decay.add(fpn)
    pd = {pn: p for pn, p in net.named_parameters()}
    assert len(pd.keys() - (decay | no_decay)) == 0
    head_ids = list(map(id, net.head.parameters()))
    base = filter(lambda p: id(p) not in head_ids, net.parameters())
    o1 = torch.optim.SGD(
        [{"params": base}, {"params": net.head.parameters(), "lr": 0.1, "name": "head"}], lr=0.01, momentum=0.9
    )
    o2 = torch.optim.AdamW(
        [
            {"params": [pd[n] for n in sorted(decay)], "weight_decay": 0.1},
            {"params": [pd[n] for n in sorted(no_decay)], "weight_decay": 0.0},
        ]
    )
    o3 = torch.optim.Adam(net.named_parameters(), lr=0.1)
    for g in o1.param_groups:
        g.setdefault("initial_lr", g["lr"])
        g["lr"] *= 0.5
    return (
        sorted(decay),
        sorted(no_decay),
        str(o1),
        str(o2),
        o3.param_groups[0].get("param_names"),
        [len(g["params"]) for g in o2.param_groups],
        o1.defaults,
        sorted(o3.state_dict()["param_groups"][0]),
    )


def functional_api(torch):
    nn, F, func = (torch.nn, torch.nn.functional, torch.func)
    net = filled(torch, nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1)).double())
    params = {k: v.detach() for k, v in net.named_parameters()}
    x, y = (values(torch, 4, 2), values(torch, 4, 1))

    def loss(p, xi, yi):
        return F.mse_loss(func.functional_call(net, p, (xi.unsqueeze(0),)), yi.unsqueeze(0))

    per = func.vmap(func.grad(loss), in_dims=(None, 0, 0))(params, x, y)
    g, v = func.grad_and_value(lambda p: loss(p, x[0], y[0]))(params)
    models = [filled(torch, nn.Linear(2, 2).double(), s) for s in (0.1, 0.5, 1.0)]
    sp, sb = func.stack_module_state(models)
    base = copy.deepcopy(models[0]).to("meta")
    ens = func.vmap(lambda p, b, xx: func.functional_call(base, (p, b), (xx,)), in_dims=(0, 0, None))(sp, sb, x)

    def f(w):
        return (x @ w).tanh().sum(0)

    w = values(torch, 2, 2)
    j1, j2 = (func.jacrev(f)(w), func.jacfwd(f)(w))
    h = func.hessian(lambda w: (x @ w).tanh().pow(2).sum())(w)
    out, vjp = func.vjp(f, w)
    jv = func.jvp(f, (w,), (torch.ones_like(w),))
    lin, jl = func.linearize(f, w)
    aux = func.jacrev(lambda w: (f(w), f(w).detach()), has_aux=True)(w)
    hvp = torch.autograd.functional.hvp(lambda w: (x @ w).tanh().pow(2).sum(), w, torch.ones_like(w))
    J = torch.autograd.functional.jacobian(f, w, create_graph=False, vectorize=True)
    ntk = func.vmap(func.vmap(lambda a, b: a @ b, (None, 0)), (0, None))(x, x)
    pw = torch.vmap(torch.dot)(x, x)
    rnd = torch.vmap(lambda v: v + torch.rand(2, dtype=v.dtype) * 0, randomness="different")(x)
    fo, fp = func.vmap(lambda d: (d["a"] + 1, d["b"].sum()), in_dims=({"a": 0, "b": None},), out_dims=(0, 0))(
        {"a": x, "b": y}
    )
    ft = func.functionalize(lambda a: a.clone().add_(1))(x)
    tied = torch.nn.utils.stateless.functional_call(net, params, x)
    return (
        per,
        g,
        v,
        ens,
        j1,
        torch.allclose(j1, j2),
        h,
        vjp(torch.ones(2, dtype=torch.double)),
        jv,
        jl(torch.ones_like(w)),
        aux,
        hvp,
        torch.allclose(J, j1),
        ntk,
        pw,
        rnd,
        fo,
        fp,
        ft,
        tied,
    )
