"""Several features of training at once: groups, states, schedules, loaders, layers of one's own."""

import copy
import io

from program_helpers import net_of, raised, values


def groups_and_states(torch):
    net = net_of(torch).double()
    decay = [p for p in net.parameters() if p.dim() > 1]
    rest = [p for p in net.parameters() if p.dim() < 2]
    opt = torch.optim.AdamW([{"params": decay, "weight_decay": 0.1}, {"params": rest, "lr": 0.05}], lr=0.01)
    x = values(torch, 6, 2)
    for _ in range(3):
        opt.zero_grad(set_to_none=True)
        net(x).square().mean().backward()
        opt.step()
    state = opt.state_dict()
    facts = [sorted(g) for g in state["param_groups"]], [g["params"] for g in state["param_groups"]]
    other = torch.optim.AdamW([{"params": decay}, {"params": rest}])
    other.load_state_dict(copy.deepcopy(state))
    opt.zero_grad()
    net(x).sum().backward()
    other.step()
    return facts, list(net.parameters()), other.state[rest[0]]["step"], [g["lr"] for g in other.param_groups]


def frozen_then_thawed(torch):
    net = net_of(torch).double()
    net[0].requires_grad_(False)
    opt = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.1, momentum=0.9, nesterov=True)
    x = values(torch, 4, 2)

    def step():
        opt.zero_grad()
        loss = net(x).pow(2).mean()
        loss.backward()
        opt.step()
        return loss.item()

    losses = [step(), step()]
    net[0].requires_grad_(True)
    opt.add_param_group({"params": net[0].parameters(), "lr": 0.01, "momentum": 0.0, "nesterov": False})
    losses += [step(), step()]
    return losses, net.state_dict(), len(opt.state), opt.param_groups[1]["dampening"]


def loader_with_own_batches(torch):
    data = torch.utils.data

    class Words(data.Dataset):
        words = ["a", "quick", "brown", "fox", "jumps", "over", "it"]

        def __len__(self):
            return len(self.words)

        def __getitem__(self, i):
            return {"ids": torch.tensor([ord(c) - 97 for c in self.words[i]]), "name": self.words[i], "n": i}

    def collate(batch):
        batch = sorted(batch, key=lambda d: -len(d["ids"]))
        ids = torch.nn.utils.rnn.pad_sequence([d["ids"] for d in batch], batch_first=True, padding_value=-1)
        return ids, [d["name"] for d in batch], torch.tensor([d["n"] for d in batch])

    weights = torch.tensor([0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 1.0])
    drawn = list(data.WeightedRandomSampler(weights, 6, generator=torch.Generator().manual_seed(1)))
    batches = list(data.DataLoader(Words(), batch_size=3, collate_fn=collate))
    plain = next(iter(data.DataLoader(data.Subset(Words(), [3, 4]), batch_size=1)))
    return batches, plain, all(weights[i] for i in drawn)


def recurrent_training(torch):
    rnn = torch.nn.LSTM(2, 3, num_layers=2, batch_first=True, bidirectional=True).double()
    head = torch.nn.Linear(6, 1).double()
    with torch.no_grad():
        for i, p in enumerate([*rnn.parameters(), *head.parameters()]):
            p.copy_(values(torch, *p.shape) / (i + 1))
    packed = torch.nn.utils.rnn.pack_padded_sequence(
        values(torch, 3, 4, 2), torch.tensor([4, 2, 3]), batch_first=True, enforce_sorted=False
    )
    out, (h, c) = rnn(packed)
    padded, lengths = torch.nn.utils.rnn.pad_packed_sequence(out, batch_first=True)
    loss = head(padded).squeeze(-1).sum(1).square().mean() + c.abs().sum()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(rnn.parameters(), 1.0)
    return loss, lengths, h[-1], rnn.weight_hh_l1_reverse.grad, rnn.bias_ih_l0.grad


def mixed_precision_by_hand(torch):
    net = net_of(torch)
    master = [p.detach().clone().double() for p in net.parameters()]
    half = copy.deepcopy(net).to(torch.bfloat16)
    x = values(torch, 4, 2).to(torch.bfloat16)
    loss = half(x).float().square().mean()
    (loss * 128).backward()
    for m, p in zip(master, half.parameters()):
        m.sub_(p.grad.double() / 128 * 0.1)
        p.data.copy_(m)
    return (
        [p.dtype for p in half.parameters()] == [torch.bfloat16] * 4,
        [m.shape for m in master],
        loss.dtype == torch.float32,
    )


def files_in_memory(torch):
    net = net_of(torch).double()
    opt = torch.optim.Adam(net.parameters(), lr=0.1, amsgrad=True)
    sched = torch.optim.lr_scheduler.SequentialLR(
        opt,
        [
            torch.optim.lr_scheduler.LinearLR(opt, 0.1, total_iters=2),
            torch.optim.lr_scheduler.CosineAnnealingLR(opt, 4),
        ],
        milestones=[2],
    )

    def run(net, opt, sched, n):
        for _ in range(n):
            opt.zero_grad()
            net(values(torch, 3, 2)).square().sum().backward()
            opt.step()
            sched.step()

    run(net, opt, sched, 3)
    buffer = io.BytesIO()
    torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "sched": sched.state_dict(), "epoch": 3}, buffer)
    buffer.seek(0)
    saved = torch.load(buffer, weights_only=True)
    run(net, opt, sched, 2)
    again = net_of(torch, 3).double()
    again.load_state_dict(saved["net"])
    opt2 = torch.optim.Adam(again.parameters(), lr=0.1, amsgrad=True)
    sched2 = torch.optim.lr_scheduler.SequentialLR(
        opt2,
        [
            torch.optim.lr_scheduler.LinearLR(opt2, 0.1, total_iters=2),
            torch.optim.lr_scheduler.CosineAnnealingLR(opt2, 4),
        ],
        milestones=[2],
    )
    opt2.load_state_dict(saved["opt"])
    sched2.load_state_dict(saved["sched"])
    run(again, opt2, sched2, 2)
    same = [torch.equal(a, b) for a, b in zip(net.parameters(), again.parameters())]
    return same, list(again.parameters()), sched2.get_last_lr(), saved["epoch"]


def moving_average_and_swap(torch):
    net = net_of(torch).double()
    ema = torch.optim.swa_utils.AveragedModel(net, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.5))
    opt = torch.optim.RMSprop(net.parameters(), lr=0.01, momentum=0.5, centered=True)
    for i in range(3):
        opt.zero_grad()
        torch.nn.functional.huber_loss(net(values(torch, 4, 2)), values(torch, 4, 1) * i, delta=0.5).backward()
        opt.step()
        ema.update_parameters(net)
    kept = copy.deepcopy(net.state_dict())
    net.load_state_dict(ema.module.state_dict())
    averaged = net(values(torch, 2, 2))
    net.load_state_dict(kept)
    return averaged, net(values(torch, 2, 2)), ema.n_averaged


def norm_statistics(torch):
    bn = torch.nn.BatchNorm1d(3, momentum=None).double()
    for i in range(3):
        bn(values(torch, 5, 3) * (i + 1))
    bn.eval()
    y = bn(values(torch, 2, 3))
    frozen = torch.nn.functional.batch_norm(values(torch, 2, 3), bn.running_mean, bn.running_var)
    folded = torch.nn.utils.fuse_linear_bn_eval(torch.nn.Linear(2, 3).double().eval(), bn)
    bn.reset_running_stats()
    return y, torch.allclose(y, frozen), folded.weight.shape, bn.running_var, bn.num_batches_tracked


def own_layers(torch):
    nn = torch.nn

    class Gate(nn.Module):
        scale: float

        def __init__(self, n, scale=2.0):
            super().__init__()
            self.scale = scale
            self.weight = nn.Parameter(values(torch, n, n))
            self.register_parameter("bias", None)
            self.register_buffer("seen", torch.zeros((), dtype=torch.long), persistent=False)

        def forward(self, x):
            self.seen += 1
            return torch.sigmoid(x @ self.weight) * self.scale

        def extra_repr(self):
            return f"scale={self.scale}"

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(Gate(2, i + 1.0) for i in range(3))
            self.names = nn.ModuleDict({"a": Gate(2), "b": nn.Identity()})

        def forward(self, x):
            for layer in self.layers[1:]:
                x = layer(x)
            return self.names["b"](self.names["a"](x))

    net = Net()
    net(values(torch, 1, 2)).sum().backward()
    seen = {k: b.item() for k, b in net.named_buffers()}
    without = [k for k, p in net.named_parameters() if p.grad is None]
    net.apply(lambda m: isinstance(m, Gate) and nn.init.constant_(m.weight, 0.5))
    return (
        str(net),
        seen,
        without,
        list(net.state_dict()),
        net(values(torch, 1, 2)),
        net.get_submodule("layers.1").scale,
    )


def adversarial_examples(torch):
    net = net_of(torch).double()
    for p in net.parameters():
        p.requires_grad_(False)
    x = values(torch, 3, 2)
    delta = torch.zeros_like(x, requires_grad=True)
    y = torch.tensor([[1.0], [0.0], [1.0]], dtype=x.dtype)
    for _ in range(4):
        loss = torch.nn.functional.binary_cross_entropy_with_logits(net(x + delta), y)
        loss.backward()
        with torch.no_grad():
            delta.add_(0.1 * delta.grad.sign()).clamp_(-0.25, 0.25)
        delta.grad.zero_()
    return delta, loss, [p.grad is None for p in net.parameters()]


def meta_learning(torch):
    net = net_of(torch).double()
    params = dict(net.named_parameters())
    x, y = values(torch, 5, 2), values(torch, 5, 1)
    fast = params
    for _ in range(2):
        loss = (torch.func.functional_call(net, fast, (x,)) - y).square().mean()
        grads = torch.autograd.grad(loss, list(fast.values()), create_graph=True)
        fast = {k: p - 0.1 * g for (k, p), g in zip(fast.items(), grads)}
    outer = (torch.func.functional_call(net, fast, (x * 2,)) - y).abs().mean()
    outer.backward()
    return outer, [p.grad for p in net.parameters()]


def schedules_of_two_groups(torch):
    a, b = torch.nn.Parameter(values(torch, 2)), torch.nn.Parameter(values(torch, 2))
    opt = torch.optim.SGD([{"params": [a], "lr": 1.0}, {"params": [b], "lr": 0.1}], momentum=0.9)
    warm = torch.optim.lr_scheduler.LambdaLR(opt, [lambda e: min(1, (e + 1) / 3), lambda e: 0.5**e])
    rates = []
    for _ in range(4):
        opt.step()
        warm.step()
        rates.append(warm.get_last_lr())
    chained = torch.optim.lr_scheduler.ChainedScheduler(
        [torch.optim.lr_scheduler.ExponentialLR(opt, 0.5), torch.optim.lr_scheduler.StepLR(opt, 2)]
    )
    for _ in range(3):
        opt.step()
        chained.step()
        rates.append(chained.get_last_lr())
    return rates, opt.param_groups[0]["initial_lr"]


def lbfgs_with_a_line_search(torch):
    p = torch.nn.Parameter(torch.tensor([-1.2, 1.0], dtype=torch.float64))
    opt = torch.optim.LBFGS([p], lr=1, max_iter=15, line_search_fn="strong_wolfe")

    def closure():
        opt.zero_grad()
        loss = (1 - p[0]) ** 2 + 100 * (p[1] - p[0] ** 2) ** 2
        loss.backward()
        return loss

    losses = [opt.step(closure).item() for _ in range(3)]
    return losses, p, opt.state[p]["n_iter"]


def mistakes_in_training(torch):
    nn, optim = torch.nn, torch.optim
    net = net_of(torch)
    opt = optim.SGD(net.parameters(), lr=0.1)
    return [
        raised(lambda: net(torch.ones(2, 3))),
        raised(lambda: nn.CrossEntropyLoss()(torch.ones(2, 3), torch.tensor([0, 3])), (IndexError, RuntimeError)),
        raised(lambda: nn.CrossEntropyLoss()(torch.ones(2, 3), torch.tensor([0])), (ValueError, RuntimeError)),
        raised(lambda: optim.SGD([], lr=0.1), ValueError),
        raised(lambda: optim.SGD([net(torch.ones(1, 2))], lr=0.1), ValueError),
        raised(lambda: optim.Adam(net.parameters(), lr=-1), ValueError),
        raised(lambda: opt.add_param_group({"params": [net[0].weight]}), ValueError),
        raised(lambda: net.load_state_dict({"0.weight": torch.ones(1)})),
        raised(lambda: nn.Conv2d(3, 4, 3, groups=2), ValueError),
        raised(lambda: nn.Conv2d(3, 4, 3)(torch.ones(1, 2, 5, 5))),
        raised(lambda: nn.MultiheadAttention(5, 2), (AssertionError, ValueError)),
        raised(lambda: nn.Embedding(3, 2)(torch.tensor([3])), (IndexError, RuntimeError)),
        raised(lambda: nn.BatchNorm1d(2)(torch.ones(1, 2)), ValueError),
        raised(lambda: net.get_parameter("5.weight"), AttributeError),
        raised(lambda: torch.utils.data.DataLoader([1, 2], batch_size=0), ValueError),
        raised(lambda: nn.functional.binary_cross_entropy(torch.ones(2), torch.ones(3)), ValueError),
    ]
