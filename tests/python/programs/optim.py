"""Optimizers as users write them: groups, closures, states, hooks, averages."""

import copy

from program_helpers import problem, raised, values


def steps(torch, name, n=4, **options):
    p, loss = problem(torch)
    o = getattr(torch.optim, name)([p], **options)
    for _ in range(n):
        o.zero_grad()
        loss().backward()
        o.step()
    return p.detach()


def sgd_variants(torch):
    return [
        steps(torch, "SGD", lr=0.1, **k)
        for k in (
            {},
            {"momentum": 0.9},
            {"momentum": 0.9, "nesterov": True},
            {"momentum": 0.5, "dampening": 0.1},
            {"weight_decay": 0.1},
            {"maximize": True},
        )
    ]


def adam_variants(torch):
    kinds = [
        {},
        {"amsgrad": True},
        {"weight_decay": 0.1},
        {"betas": (0.5, 0.9)},
        {"eps": 0.1},
        {"maximize": True},
        {"foreach": True},
        {"capturable": False},
    ]
    return (
        [steps(torch, "Adam", lr=0.1, **k) for k in kinds],
        steps(torch, "AdamW", lr=0.1),
        steps(torch, "AdamW", lr=0.1, weight_decay=0.0),
    )


def other_optimizers(torch):
    names = ["Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam", "RMSprop", "Rprop", "Adafactor"]
    return {n: steps(torch, n, n=6, lr=0.05) for n in names}, steps(
        torch, "RMSprop", lr=0.05, momentum=0.9, centered=True
    )


def lbfgs_closure(torch):
    p, loss = problem(torch)
    o = torch.optim.LBFGS([p], lr=0.5, max_iter=5, history_size=3)
    calls = []

    def closure():
        o.zero_grad()
        value = loss()
        value.backward()
        calls.append(value.item())
        return value

    first = o.step(closure)
    o.step(closure)
    strong = torch.optim.LBFGS([p], line_search_fn="strong_wolfe")
    strong.step(closure)
    return (
        p.detach(),
        first.detach(),
        calls[:6],
        raised(lambda: o.step(), TypeError),
        raised(lambda: torch.optim.LBFGS([{"params": [p]}, {"params": []}]), ValueError),
    )


def closure_of_sgd(torch):
    p, loss = problem(torch)
    o = torch.optim.SGD([p], lr=0.1)

    def closure():
        o.zero_grad()
        value = loss()
        value.backward()
        return value

    made = [o.step(closure).item() for _ in range(3)]
    return made, p.detach(), o.step()


def groups(torch):
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
    o = torch.optim.SGD(
        [{"params": net[0].parameters()}, {"params": net[1].parameters(), "lr": 0.5}], lr=0.1, momentum=0.9
    )
    o.add_param_group({"params": torch.nn.Parameter(torch.ones(1)), "weight_decay": 0.2})
    for g in o.param_groups:
        g["lr"] *= 0.5
    return (
        [g["lr"] for g in o.param_groups],
        [g["momentum"] for g in o.param_groups],
        [g["weight_decay"] for g in o.param_groups],
        [len(g["params"]) for g in o.param_groups],
        sorted(o.param_groups[0]),
    )


def bad_arguments(torch):
    p = torch.nn.Parameter(torch.ones(1))
    return {
        "lr": raised(lambda: torch.optim.SGD([p], lr=-1.0), ValueError),
        "empty": raised(lambda: torch.optim.SGD([], lr=0.1), ValueError),
        "tensor": raised(lambda: torch.optim.SGD(p, lr=0.1), TypeError),
        "twice": raised(lambda: torch.optim.SGD([{"params": [p]}, {"params": [p]}], lr=0.1), ValueError),
        "leaf": raised(lambda: torch.optim.SGD([p * 2], lr=0.1), ValueError),
        "number": raised(lambda: torch.optim.SGD([1], lr=0.1), TypeError),
        "betas": raised(lambda: torch.optim.Adam([p], betas=(1.0, 0.9)), ValueError),
        "nesterov": raised(lambda: torch.optim.SGD([p], lr=0.1, nesterov=True), ValueError),
        "set": raised(lambda: torch.optim.SGD([{"params": {p}}], lr=0.1), TypeError),
        "momentum": raised(lambda: torch.optim.SGD([p], lr=0.1, momentum=-1.0), ValueError),
        "eps": raised(lambda: torch.optim.Adam([p], eps=-1.0), ValueError),
    }


def resumed(torch):
    def train(o, loss, n):
        for _ in range(n):
            o.zero_grad()
            loss().backward()
            o.step()

    p, loss = problem(torch)
    o = torch.optim.Adam([p], lr=0.1)
    train(o, loss, 3)
    state = copy.deepcopy(o.state_dict())
    q, loss_q = problem(torch)
    with torch.no_grad():
        q.copy_(p)
    resumed = torch.optim.Adam([q], lr=0.5)
    resumed.load_state_dict(state)
    train(o, loss, 2), train(resumed, loss_q, 2)
    return (
        p.detach(),
        torch.equal(p, q),
        resumed.param_groups[0]["lr"],
        sorted(state["state"][0]),
        state["param_groups"][0]["params"],
        state["state"][0]["step"],
    )


def state_does_not_fit(torch):
    a, b = torch.nn.Parameter(torch.ones(1)), torch.nn.Parameter(torch.ones(1))
    one, two = torch.optim.SGD([a], lr=0.1), torch.optim.SGD([a, b], lr=0.1)
    halves = torch.optim.SGD([{"params": [a]}, {"params": [b]}], lr=0.1)
    return (
        raised(lambda: one.load_state_dict(two.state_dict()), ValueError),
        raised(lambda: one.load_state_dict(halves.state_dict()), ValueError),
        one.state_dict()["state"],
    )


def gradients_may_be_missing(torch):
    a, b = torch.nn.Parameter(torch.ones(1)), torch.nn.Parameter(torch.ones(1))
    o = torch.optim.Adam([a, b], lr=0.1)
    (a * 2).sum().backward()
    o.step()
    frozen = torch.nn.Parameter(torch.ones(1), requires_grad=False)
    torch.optim.SGD([frozen], lr=0.1).step()
    return a.detach(), b.detach(), len(o.state), b in o.state, frozen


def step_hooks(torch):
    seen = []
    p, loss = problem(torch)
    o = torch.optim.SGD([p], lr=0.1)
    o.register_step_pre_hook(lambda opt, args, kwargs: seen.append("before"))
    handle = o.register_step_post_hook(lambda opt, args, kwargs: seen.append("after"))
    o.register_state_dict_post_hook(lambda opt, state: seen.append("state"))
    loss().backward()
    o.step()
    handle.remove()
    o.step()
    o.state_dict()
    return seen


def zeroed(torch):
    p, loss = problem(torch)
    o = torch.optim.SGD([p], lr=0.1)
    loss().backward()
    kept = p.grad
    o.zero_grad(set_to_none=False)
    still = p.grad is kept
    o.zero_grad()
    return still, kept, p.grad


def own_optimizer(torch):
    class Sign(torch.optim.Optimizer):
        def __init__(self, params, lr=0.1):
            super().__init__(params, {"lr": lr})

        @torch.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    self.state[p].setdefault("n", 0)
                    self.state[p]["n"] += 1
                    p.add_(p.grad.sign(), alpha=-group["lr"])

    p, loss = problem(torch)
    o = Sign([p])
    schedule = torch.optim.lr_scheduler.ExponentialLR(o, 0.5)
    for _ in range(3):
        o.zero_grad()
        loss().backward()
        o.step()
        schedule.step()
    return p.detach(), o.state[p]["n"], schedule.get_last_lr(), o.state_dict()["state"]


def gradient_accumulation(torch):
    x, y = values(torch, 8, 2), values(torch, 8)
    made = []
    for parts in (1, 4):
        w = torch.nn.Parameter(torch.zeros(2, dtype=x.dtype))
        o = torch.optim.SGD([w], lr=0.1)
        for a, b in zip(x.chunk(parts), y.chunk(parts)):
            (((a @ w - b) ** 2).mean() / parts).backward()
        o.step()
        made.append(w.detach())
    return made, torch.allclose(*made)


def ema_by_hand(torch):
    p, loss = problem(torch)
    shadow = p.detach().clone()
    o = torch.optim.SGD([p], lr=0.1)
    for _ in range(4):
        o.zero_grad()
        loss().backward()
        o.step()
        shadow.lerp_(p.detach(), 0.25)
    return shadow, p.detach()
