"""First values: what is fixed by formula, and the ranges and spreads of what is drawn."""

import math


def run(torch):
    nn, init = torch.nn, torch.nn.init
    torch.manual_seed(0)
    w = torch.empty(200, 100)
    init.xavier_uniform_(w, gain=init.calculate_gain("relu"))
    bound = math.sqrt(2.0) * math.sqrt(6 / 300)
    inside = w.abs().max().item() <= bound
    init.kaiming_normal_(w, mode="fan_out", nonlinearity="relu")
    spread = abs(w.std().item() - math.sqrt(2 / 200)) < 5e-3
    init.trunc_normal_(w, std=0.02, a=-0.04, b=0.04)
    cut = w.abs().max().item() <= 0.04
    square = init.orthogonal_(torch.empty(5, 5))
    linear = nn.Linear(64, 10)
    return {
        "inside": inside,
        "spread": spread,
        "cut": cut,
        "orthogonal": torch.allclose(square @ square.T, torch.eye(5), atol=1e-5),
        "gains": [init.calculate_gain(n) for n in ("linear", "conv2d", "sigmoid", "tanh", "relu", "selu")],
        "leaky": init.calculate_gain("leaky_relu", 0.2),
        "eye": init.eye_(torch.empty(2, 3)),
        "constant": init.constant_(torch.empty(2), 0.3),
        "dirac": init.dirac_(torch.empty(2, 2, 3)),
        "linear_bound": linear.weight.abs().max().item() <= 1 / 8,
        "norm_starts": [nn.LayerNorm(3).weight, nn.BatchNorm1d(2).running_var],
        "needs_grad": init.ones_(nn.Parameter(torch.empty(2))).requires_grad,
    }
