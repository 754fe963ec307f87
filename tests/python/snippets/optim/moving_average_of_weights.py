"""An exponential moving average of a net's weights and buffers, swapped in for evaluation."""

from fixed import noise, settle


def run(torch):
    nn = torch.nn

    class Average:
        def __init__(self, net, decay):
            self.decay = decay
            self.shadow = {k: v.detach().clone() for k, v in net.state_dict().items()}

        @torch.no_grad()
        def update(self, net):
            for k, v in net.state_dict().items():
                if v.dtype.is_floating_point:
                    self.shadow[k].lerp_(v, 1 - self.decay)
                else:
                    self.shadow[k].copy_(v)

    net = settle(torch, nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))).double()
    average = Average(net, 0.8)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    x, y = noise(torch, 8, 3).double(), noise(torch, 8, 1, seed=2).double()
    for _ in range(6):
        optimizer.zero_grad()
        nn.functional.mse_loss(net(x), y).backward()
        optimizer.step()
        average.update(net)
    backup = {k: v.clone() for k, v in net.state_dict().items()}
    net.load_state_dict(average.shadow)
    net.eval()
    out = net(x)
    net.load_state_dict(backup)
    return {
        "averaged": out,
        "plain": net(x),
        "batches": average.shadow["1.num_batches_tracked"],
        "mean": average.shadow["1.running_mean"],
    }
