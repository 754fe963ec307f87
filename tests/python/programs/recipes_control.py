"""Reinforcement learning and mixtures of experts, as tutorials write them."""

import math
from collections import namedtuple

from program_helpers import filled, values


def reinforce(torch):
    nn, F, optim = (torch.nn, torch.nn.functional, torch.optim)
    Categorical = torch.distributions.Categorical
    SavedAction = namedtuple("SavedAction", ["log_prob", "value"])

    class Policy(nn.Module):
        def __init__(self):
            super().__init__()
            self.affine1 = nn.Linear(4, 8)
            self.action_head, self.value_head = (nn.Linear(8, 2), nn.Linear(8, 1))
            self.saved_actions, self.rewards = ([], [])

        def forward(self, x):
            x = F.relu(self.affine1(x))
            return (F.softmax(self.action_head(x), dim=-1), self.value_head(x))

    model = filled(torch, Policy())
    optimizer = optim.Adam(model.parameters(), lr=0.03)
    eps = __import__("numpy").finfo(__import__("numpy").float32).eps.item()
    state = values(torch, 5, 4).float().numpy()
    for t in range(5):
        probs, value = model(torch.from_numpy(state[t]).float())
        m = Categorical(probs)
        action = torch.tensor(t % 2)
        model.saved_actions.append(SavedAction(m.log_prob(action), value))
        model.rewards.append(float(t) - 1)
    R, policy_losses, value_losses, returns = (0, [], [], [])
    for r in model.rewards[::-1]:
        R = r + 0.99 * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + eps)
    for (log_prob, value), R in zip(model.saved_actions, returns):
        advantage = R - value.item()
        policy_losses.append(-log_prob * advantage)
        value_losses.append(F.smooth_l1_loss(value, torch.tensor([R])))
    optimizer.zero_grad()
    loss = torch.stack(policy_losses).sum() + torch.stack(value_losses).sum()
    loss.backward()
    optimizer.step()
    del model.rewards[:]
    a = Categorical(torch.tensor([0.0, 1.0])).sample()
    return (loss, returns, list(model.parameters()), a.item(), m.entropy(), m.probs)


def c51_and_dueling(torch):
    nn, F = (torch.nn, torch.nn.functional)

    class NoisyLinear(nn.Module):
        def __init__(self, i, o, std=0.5):
            super().__init__()
            self.i, self.o = (i, o)
            self.weight_mu, self.weight_sigma = (nn.Parameter(torch.Tensor(o, i)), nn.Parameter(torch.Tensor(o, i)))
            self.register_buffer("weight_epsilon", torch.Tensor(o, i))
            self.bias_mu = nn.Parameter(torch.Tensor(o))
            mu = 1 / math.sqrt(i)
            self.weight_mu.data.uniform_(-mu, mu)
            self.weight_sigma.data.fill_(std / math.sqrt(i))
            self.bias_mu.data.uniform_(-mu, mu)
            self.reset_noise()

        def reset_noise(self):
            o, i = (values(torch, n).float() for n in (self.o, self.i))
            self.weight_epsilon.copy_(o.sign().mul(o.abs().sqrt()).ger(i.sign().mul(i.abs().sqrt())))

        def forward(self, x):
            if self.training:
                return F.linear(
                    x,
                    self.weight_mu + self.weight_sigma.mul(torch.autograd.Variable(self.weight_epsilon)),
                    self.bias_mu,
                )
            return F.linear(x, self.weight_mu, self.bias_mu)

    n_atoms, v_min, v_max = (5, -2.0, 2.0)
    support = torch.linspace(v_min, v_max, steps=n_atoms)
    delta_z = (v_max - v_min) / (n_atoms - 1)
    val, adv = (filled(torch, NoisyLinear(3, n_atoms)), filled(torch, NoisyLinear(3, 2 * n_atoms)))
    x = values(torch, 4, 3).float()
    v, a = (val(x).view(-1, 1, n_atoms), adv(x).view(-1, 2, n_atoms))
    q = v + a - a.mean(1, keepdim=True)
    p = F.softmax(q, dim=-1).clamp(min=0.001)
    with torch.no_grad():
        nq = (p * support).sum(2)
        na = nq.argmax(1)
        nd = p[range(4), na]
        t_z = torch.tensor([0.0, 1, -1, 0.5])[:, None] + 0.9 * support
        t_z = t_z.clamp(min=v_min, max=v_max)
        b = (t_z - v_min) / delta_z
        l, u = (b.floor().long(), b.ceil().long())
        offset = torch.linspace(0, 3 * n_atoms, 4).long().unsqueeze(1).expand(4, n_atoms)
        proj = torch.zeros(nd.size())
        proj.view(-1).index_add_(0, (l + offset).view(-1), (nd * (u.float() - b)).view(-1))
        proj.view(-1).index_add_(0, (u + offset).view(-1), (nd * (b - l.float())).view(-1))
    loss = -(proj * torch.log(p[torch.arange(4), [0, 1, 0, 1]])).sum(1)
    weights = torch.tensor([0.1, 0.2, 0.3, 0.4]) ** (-0.4)
    (loss * weights / weights.max()).mean().backward()
    return (proj, loss, val.weight_sigma.grad, adv.bias_mu.grad, nq, na)


def soft_decision_and_moe(torch):
    nn, F = (torch.nn, torch.nn.functional)

    class MoE(nn.Module):
        def __init__(self, d, n, k):
            super().__init__()
            self.gate = nn.Linear(d, n, bias=False)
            self.experts = nn.ModuleList([nn.Sequential(nn.Linear(d, 4), nn.ReLU(), nn.Linear(4, d)) for _ in range(n)])
            self.k = k

        def forward(self, x):
            flat = x.view(-1, x.shape[-1])
            logits = self.gate(flat)
            weights, selected = torch.topk(logits, self.k)
            weights = F.softmax(weights, dim=1, dtype=torch.float).to(x.dtype)
            results = torch.zeros_like(flat)
            for i, expert in enumerate(self.experts):
                batch_idx, nth = torch.where(selected == i)
                if batch_idx.numel() == 0:
                    continue
                results[batch_idx] += weights[batch_idx, nth, None] * expert(flat[batch_idx])
            mask = F.one_hot(selected, num_classes=len(self.experts)).permute(2, 1, 0)
            tokens = mask.float().mean(dim=(1, 2))
            aux = (tokens * logits.softmax(-1).mean(0)).sum() * len(self.experts)
            dense = torch.zeros_like(logits).index_put((torch.arange(flat.size(0))[:, None], selected), weights)
            out2 = torch.zeros_like(flat)
            for e in range(len(self.experts)):
                top_x, idx = mask[e].nonzero(as_tuple=True)[::-1]
                cur = flat[None, top_x].reshape(-1, flat.size(-1))
                out2.index_add_(0, top_x, (self.experts[e](cur) * weights[top_x, idx, None]).to(flat.dtype))
            return (results.view_as(x), aux, dense, out2)

    m = filled(torch, MoE(3, 4, 2))
    x = values(torch, 2, 3, 3).float()
    y, aux, dense, y2 = m(x)
    (y.pow(2).mean() + 0.01 * aux).backward()
    return (
        y,
        aux,
        dense,
        torch.allclose(y.flatten(0, 1), y2, atol=1e-06),
        m.gate.weight.grad,
        m.experts[1][0].weight.grad,
    )
