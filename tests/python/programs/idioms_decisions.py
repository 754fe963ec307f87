"""Reinforcement learning and learning to learn."""

import functools
from collections import defaultdict
import copy
import numpy as np

from program_helpers import Shown, seeded, settled


def ppo_gae(torch):
    show = Shown()
    vals = functools.partial(seeded, torch)
    det = functools.partial(settled, torch)
    nn = torch.nn
    Categorical = torch.distributions.categorical.Categorical
    Normal = torch.distributions.normal.Normal

    def layer_init(layer, std=np.sqrt(2), bias_const=0.0):
        torch.nn.init.orthogonal_(layer.weight, std)
        torch.nn.init.constant_(layer.bias, bias_const)
        return layer

    class Agent(nn.Module):
        def __init__(self):
            super().__init__()
            self.critic = nn.Sequential(layer_init(nn.Linear(4, 8)), nn.Tanh(), layer_init(nn.Linear(8, 1), std=1.0))
            self.actor = nn.Sequential(layer_init(nn.Linear(4, 8)), nn.Tanh(), layer_init(nn.Linear(8, 3), std=0.01))
            self.logstd = nn.Parameter(torch.zeros(1, 2))

        def get_value(self, x):
            return self.critic(x)

        def act(self, x, action=None):
            probs = Categorical(logits=self.actor(x))
            if action is None:
                action = probs.sample()
            return (action, probs.log_prob(action), probs.entropy(), self.critic(x))

    a = Agent()
    w = a.actor[0].weight
    show((w.T @ w - 2 * torch.eye(4)).abs().max() < 1e-05)
    det(a)
    N, E = (5, 2)
    obs = vals(N, E, 4)
    actions = torch.arange(N * E).view(N, E) % 3
    rewards = vals(N, E, seed=2)
    dones = torch.zeros((N, E))
    dones[2, 0] = 1
    nd = torch.zeros(E)
    with torch.no_grad():
        _, logprobs, _, values = a.act(obs, actions)
        values = values.squeeze(-1)
        nv = a.get_value(obs[-1] * 0.5).reshape(1, -1)
        adv = torch.zeros_like(rewards)
        lastgaelam = 0
        for t in reversed(range(N)):
            nnt, nxt = (1.0 - nd, nv) if t == N - 1 else (1.0 - dones[t + 1], values[t + 1])
            delta = rewards[t] + 0.99 * nxt * nnt - values[t]
            adv[t] = lastgaelam = delta + 0.99 * 0.95 * nnt * lastgaelam
        ret = adv + values
    opt = torch.optim.Adam(a.parameters(), lr=0.025, eps=1e-05)
    b = [x.reshape((-1,) + x.shape[2:]) for x in (obs, logprobs, actions, adv, ret, values)]
    inds = np.arange(N * E)
    fr = []
    for ep in range(3):
        for s in range(0, N * E, 5):
            mb = inds[s : s + 5]
            _, nlp, ent, v = a.act(b[0][mb], b[2].long()[mb])
            lr_ = nlp - b[1][mb]
            ratio = lr_.exp()
            with torch.no_grad():
                kl = (ratio - 1 - lr_).mean()
                fr += [((ratio - 1.0).abs() > 0.2).float().mean().item()]
            A = b[3][mb]
            A = (A - A.mean()) / (A.std() + 1e-08)
            pg = torch.max(-A * ratio, -A * torch.clamp(ratio, 0.8, 1.2)).mean()
            v = v.view(-1)
            vc = b[5][mb] + torch.clamp(v - b[5][mb], -0.2, 0.2)
            vl = 0.5 * torch.max((v - b[4][mb]) ** 2, (vc - b[4][mb]) ** 2).mean()
            loss = pg - 0.01 * ent.mean() + vl * 0.5
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(a.parameters(), 0.5)
            opt.step()
        show(loss.item(), kl.item())
    yp, yt = (b[5].cpu().numpy(), b[4].cpu().numpy())
    show(np.mean(fr), 1 - np.var(yt - yp) / np.var(yt))
    n = Normal(vals(2, 2), a.logstd.expand(2, 2).exp())
    show(n.log_prob(torch.zeros(2, 2)).sum(1), n.entropy().sum(1), n)
    show(Categorical(probs=torch.tensor([0.2, 0.8])), Categorical(logits=torch.zeros(2, 3)).probs)
    return show.all


def sac_squashed(torch):
    show = Shown()
    vals = functools.partial(seeded, torch)
    det = functools.partial(settled, torch)
    nn = torch.nn
    F = torch.nn.functional
    Normal = torch.distributions.Normal
    TransformedDistribution = torch.distributions.TransformedDistribution
    TanhTransform = torch.distributions.TanhTransform
    Independent = torch.distributions.Independent
    kl_divergence = torch.distributions.kl_divergence

    class Actor(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(3, 8)
            self.mu = nn.Linear(8, 2)
            self.ls = nn.Linear(8, 2)
            self.register_buffer("action_scale", torch.tensor((2.0 - -2.0) / 2, dtype=torch.float32))
            self.register_buffer("action_bias", torch.tensor(0.0))

        def forward(self, x):
            x = F.relu(self.fc(x))
            ls = torch.tanh(self.ls(x))
            return (self.mu(x), -5 + 0.5 * (2 + 5) * (ls + 1))

        def dist(self, x):
            m, s = self(x)
            return Independent(TransformedDistribution(Normal(m, s.exp()), TanhTransform(cache_size=1)), 1)

        def sample(self, x, eps):
            m, s = self(x)
            n = Normal(m, s.exp())
            xt = m + s.exp() * eps
            yt = torch.tanh(xt)
            lp = n.log_prob(xt) - torch.log(self.action_scale * (1 - yt.pow(2)) + 1e-06)
            return (yt * self.action_scale + self.action_bias, lp.sum(1, keepdim=True))

    class Q(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(5, 8), nn.SiLU(), nn.Linear(8, 1))

        def forward(self, s, a):
            return self.net(torch.cat([s, a], 1))

    actor, q1, q2 = (det(Actor()), det(Q()), det(Q(), 0.3))
    t1, t2 = (copy.deepcopy(q1).requires_grad_(False), copy.deepcopy(q2))
    log_alpha = torch.zeros(1, requires_grad=True)
    aopt = torch.optim.Adam([log_alpha], lr=0.01)
    qopt = torch.optim.Adam(list(q1.parameters()) + list(q2.parameters()), lr=0.01)
    popt = torch.optim.Adam(list(actor.parameters()), lr=0.01)
    s, s2, act, r, d = (vals(6, 3), vals(6, 3, seed=1), vals(6, 2), vals(6), torch.tensor([0, 0, 1, 0, 0, 1.0]))
    for i in range(3):
        alpha = log_alpha.exp().item()
        with torch.no_grad():
            na, nl = actor.sample(s2, vals(6, 2, seed=9 + i))
            mq = torch.min(t1(s2, na), t2(s2, na)) - alpha * nl
            y = r.flatten() + (1 - d.flatten()) * 0.99 * mq.view(-1)
        ql = F.mse_loss(q1(s, act).view(-1), y) + F.mse_loss(q2(s, act).view(-1), y)
        qopt.zero_grad()
        ql.backward()
        qopt.step()
        pi, lp = actor.sample(s, vals(6, 2, seed=4 + i))
        pl = (alpha * lp - torch.min(q1(s, pi), q2(s, pi)).view(-1)).mean()
        popt.zero_grad()
        pl.backward()
        popt.step()
        al = (-log_alpha.exp() * (lp.detach() - 2)).mean()
        aopt.zero_grad()
        al.backward()
        aopt.step()
        for p, tp in zip(q1.parameters(), t1.parameters()):
            tp.data.copy_(0.005 * p.data + (1 - 0.005) * tp.data)
        with torch.no_grad():
            for p, tp in zip(q2.parameters(), t2.parameters()):
                tp.lerp_(p, 0.005)
        show(ql.item(), pl.item(), al.item(), log_alpha.item())
    dist = actor.dist(s)
    a = dist.rsample()
    show(a.shape, dist.log_prob(a).shape, dist.batch_shape, dist.event_shape)
    show(dist.log_prob(torch.full((6, 2), 0.3)), dist.base_dist.base_dist.mean[0])
    show(kl_divergence(Independent(Normal(torch.zeros(3, 2), 1.0), 1), Independent(Normal(torch.ones(3, 2), 2.0), 1)))
    return show.all


def maml_functional(torch):
    show = Shown()
    vals = functools.partial(seeded, torch)
    det = functools.partial(settled, torch)
    nn = torch.nn
    F = torch.nn.functional
    functional_call = torch.func.functional_call
    grad = torch.func.grad
    vmap = torch.func.vmap
    stack_module_state = torch.func.stack_module_state
    grad_and_value = torch.func.grad_and_value
    net = det(nn.Sequential(nn.Linear(1, 8), nn.ReLU(inplace=True), nn.Linear(8, 1)))
    params = dict(net.named_parameters())

    def loss_fn(p, x, y):
        return F.mse_loss(functional_call(net, p, (x,)), y)

    def inner(p, x, y, n=2, lr=0.1):
        for _ in range(n):
            g = grad(loss_fn)(p, x, y)
            p = {k: v - lr * g[k] for k, v in p.items()}
        return p

    def task_loss(p, xs, ys, xq, yq):
        return loss_fn(inner(p, xs, ys), xq, yq)

    xs = vals(3, 5, 1)
    a = torch.tensor([1.0, 2.0, -1.0]).view(3, 1, 1)
    ys = a * xs.sin()
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(3):
        loss = vmap(task_loss, in_dims=(None, 0, 0, 0, 0))(params, xs, ys, xs + 0.1, ys).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        show(loss.item())
    g, v = grad_and_value(loss_fn)(params, xs[0], ys[0])
    show({k: t.norm().item() for k, t in g.items()}, v.item())
    models = [det(copy.deepcopy(net), 0.3 * (i + 1)) for i in range(3)]
    ps, bs = stack_module_state(models)
    base = copy.deepcopy(models[0]).to("meta")
    out = vmap(lambda p, b, x: functional_call(base, (p, b), (x,)), in_dims=(0, 0, None))(ps, bs, xs[0])
    show(out.squeeze(-1), {k: v.shape for k, v in ps.items()}, bs)
    psg = vmap(grad(lambda p, x, y: loss_fn(p, x[None], y[None])), in_dims=(None, 0, 0))(
        {k: v.detach() for k, v in params.items()}, xs[0], ys[0]
    )
    show(psg["0.weight"].shape, psg["2.bias"].flatten())
    hvp = torch.func.jvp(grad(lambda w: (w**4).sum()), (xs[0],), (torch.ones(5, 1),))
    show(hvp[1].T)
    show(
        torch.func.jacrev(lambda x: x.sin().cumsum(0))(xs[0, :, 0]).diagonal(),
        torch.func.jacfwd(torch.softmax)(xs[0, :3, 0], 0)
        if False
        else torch.func.jacfwd(lambda t: t.softmax(0))(xs[0, :3, 0]),
    )
    fast = [p.clone() for p in net.parameters()]

    def fwd(x, w):
        return F.linear(F.relu(F.linear(x, w[0], w[1])), w[2], w[3])

    for _ in range(2):
        gs = torch.autograd.grad(F.mse_loss(fwd(xs[0], fast), ys[0]), fast, create_graph=True)
        fast = [w - 0.1 * g for w, g in zip(fast, gs)]
    net.zero_grad()
    F.mse_loss(fwd(xs[0], fast), ys[0]).backward()
    show([p.grad.sum().item() for p in net.parameters()])
    return show.all


def sam_lookahead(torch):
    show = Shown()
    vals = functools.partial(seeded, torch)
    det = functools.partial(settled, torch)
    nn = torch.nn

    class SAM(torch.optim.Optimizer):
        def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
            assert rho >= 0.0, f"Invalid rho, should be non-negative: {rho}"
            super(SAM, self).__init__(params, dict(rho=rho, adaptive=adaptive, **kwargs))
            self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
            self.param_groups = self.base_optimizer.param_groups
            self.defaults.update(self.base_optimizer.defaults)

        @torch.no_grad()
        def first_step(self, zero_grad=False):
            gn = self._grad_norm()
            for group in self.param_groups:
                scale = group["rho"] / (gn + 1e-12)
                for p in group["params"]:
                    if p.grad is None:
                        continue
                    self.state[p]["old_p"] = p.data.clone()
                    p.add_((torch.pow(p, 2) if group["adaptive"] else 1.0) * p.grad * scale.to(p))
            if zero_grad:
                self.zero_grad()

        @torch.no_grad()
        def second_step(self, zero_grad=False):
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is None:
                        continue
                    p.data = self.state[p]["old_p"]
            self.base_optimizer.step()
            if zero_grad:
                self.zero_grad()

        @torch.no_grad()
        def step(self, closure=None):
            closure = torch.enable_grad()(closure)
            self.first_step(zero_grad=True)
            closure()
            self.second_step()

        def _grad_norm(self):
            return torch.norm(
                torch.stack(
                    [
                        ((torch.abs(p) if g["adaptive"] else 1.0) * p.grad).norm(p=2)
                        for g in self.param_groups
                        for p in g["params"]
                        if p.grad is not None
                    ]
                ),
                p=2,
            )

        def load_state_dict(self, sd):
            super().load_state_dict(sd)
            self.base_optimizer.param_groups = self.param_groups

    net = det(nn.Sequential(nn.Linear(3, 5), nn.SELU(), nn.Linear(5, 1)))
    x, y = (vals(8, 3), vals(8, 1, seed=1))
    opt = SAM(net.parameters(), torch.optim.SGD, lr=0.1, momentum=0.9, adaptive=True)
    for _ in range(3):

        def closure():
            loss = nn.functional.huber_loss(net(x), y, delta=0.5)
            loss.backward()
            return loss

        loss = closure()
        opt.step(closure)
        opt.zero_grad()
        show(loss.item())
    show(sorted(opt.state[net[0].weight].keys()), sorted(opt.defaults))

    class Lookahead:
        def __init__(self, base, k=2, alpha=0.5):
            self.__dict__.update(base=base, k=k, alpha=alpha)
            self.state = defaultdict(dict)
            self.n = 0

        @property
        def param_groups(self):
            return self.base.param_groups

        def step(self):
            self.base.step()
            self.n += 1
            if self.n % self.k:
                return
            for g in self.param_groups:
                for p in g["params"]:
                    s = self.state[p]
                    if "slow" not in s:
                        s["slow"] = torch.empty_like(p.data).copy_(p.data)
                    s["slow"] += self.alpha * (p.data - s["slow"])
                    p.data.copy_(s["slow"])

    la = Lookahead(torch.optim.Adam(net.parameters(), lr=0.05))
    for _ in range(4):
        net.zero_grad()
        loss = closure()
        la.step()
    show(loss.item(), net[0].weight in la.state)
    return show.all
