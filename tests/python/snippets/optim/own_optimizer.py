"""An optimizer of one's own: Lion, with defaults, state and a closure."""

from fixed import noise, settle


def run(torch):
    class Lion(torch.optim.Optimizer):
        def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0):
            if lr <= 0:
                raise ValueError(f"Invalid learning rate: {lr}")
            super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay))

        @torch.no_grad()
        def step(self, closure=None):
            loss = None
            if closure is not None:
                with torch.enable_grad():
                    loss = closure()
            for group in self.param_groups:
                b1, b2 = group["betas"]
                for p in group["params"]:
                    if p.grad is None:
                        continue
                    state = self.state[p]
                    if len(state) == 0:
                        state["average"] = torch.zeros_like(p)
                    average = state["average"]
                    p.mul_(1 - group["lr"] * group["weight_decay"])
                    p.add_(torch.sign(average * b1 + p.grad * (1 - b1)), alpha=-group["lr"])
                    average.mul_(b2).add_(p.grad, alpha=1 - b2)
            return loss

    net = settle(torch, torch.nn.Linear(3, 1)).double()
    x = noise(torch, 8, 3).double()
    optimizer = Lion(net.parameters(), lr=0.02, weight_decay=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 4, 0.5)

    def closure():
        optimizer.zero_grad()
        loss = (net(x) - x.sum(1, keepdim=True)).pow(2).mean()
        loss.backward()
        return loss

    losses = []
    for _ in range(8):
        losses.append(optimizer.step(closure).detach())
        scheduler.step()
    state = optimizer.state_dict()
    return {
        "losses": torch.stack(losses),
        "weight": net.weight,
        "keys": list(state["state"][0]),
        "lr": state["param_groups"][0]["lr"],
    }
