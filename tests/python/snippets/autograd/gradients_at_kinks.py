"""The gradient that relu, abs, max, clamp, norm and sqrt have where there is none."""


def run(torch):
    def at(f, values):
        x = torch.tensor(values, requires_grad=True)
        f(x).sum().backward()
        return x.grad

    return {
        "relu": at(torch.relu, [0.0, -1.0, 1.0]),
        "abs": at(torch.abs, [0.0, -2.0]),
        "max": at(torch.max, [1.0, 3.0, 3.0]),
        "amax": at(lambda x: x.amax(0), [1.0, 3.0, 3.0]),
        "max_dim": at(lambda x: x.max(0).values, [3.0, 1.0, 2.0]),
        "clamp": at(lambda x: x.clamp(0, 1), [0.0, 1.0, 2.0, 0.5]),
        "norm": at(lambda x: x.norm(), [0.0, 0.0]),
        "maximum": at(lambda x: torch.maximum(x, torch.ones(2)), [1.0, 2.0]),
        "prod": at(lambda x: x.prod(), [0.0, 2.0, 3.0]),
        "round": at(lambda x: x.round() + x.floor(), [0.5, 1.2]),
        "where": at(lambda x: torch.where(x > 0, x.sqrt(), 0 * x), [4.0, 1.0]),
        "leaky": at(lambda x: torch.nn.functional.leaky_relu(x, 0.1), [0.0, -1.0]),
    }
