"""Setting, deleting and replacing members; the usual mistakes."""


def run(torch):
    nn = torch.nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(2, 2)
            self.scale = nn.Parameter(torch.ones(1))
            self.plain = torch.zeros(3)
            self.register_parameter("optional", None)

    class Forgot(nn.Module):
        def __init__(self):
            self.fc = nn.Linear(1, 1)

    net = Net()
    before = [name for name, _ in net.named_parameters()]
    net.fc = nn.Linear(2, 3)
    net.optional = nn.Parameter(torch.zeros(2))
    del net.scale
    caught = []
    for kind, attempt in (
        (AttributeError, Forgot),
        (AttributeError, lambda: net.missing),
        (TypeError, lambda: setattr(net, "fc", 3)),
        (TypeError, lambda: setattr(net, "optional", torch.zeros(2))),
        (NotImplementedError, lambda: net(1)),
        (RuntimeError, lambda: net.fc(torch.zeros(1, 5))),
        (KeyError, lambda: net.register_buffer("a.b", None)),
    ):
        try:
            attempt()
            caught.append("nothing")
        except kind:
            caught.append(kind.__name__)
    net.fc = None
    return {
        "before": before,
        "after": [name for name, _ in net.named_parameters()],
        "caught": caught,
        "none": net.fc is None,
        "plain": "plain" in net.state_dict(),
        "views": [list(net._parameters), list(net._modules), list(net._buffers)],
        "has": [hasattr(net, "fc"), hasattr(net, "scale")],
    }
