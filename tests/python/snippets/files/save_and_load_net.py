"""A net's state to a file and into a new net."""

import os
import tempfile

from fixed import noise, settle


def run(torch):
    nn = torch.nn

    def make():
        return nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(8, 3))

    net = settle(torch, make())
    x = noise(torch, 2, 1, 4, 4)
    net(x)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "net.pt")
        torch.save(net.state_dict(), path)
        state = torch.load(path)
        other = make()
        report = other.load_state_dict(state)
        size = os.path.getsize(path) > 0
    return {
        "same": torch.equal(net.eval()(x), other.eval()(x)),
        "keys": list(state),
        "report": str(report),
        "dtypes": [str(v.dtype) for v in state.values()],
        "out": other(x),
        "size": size,
    }
