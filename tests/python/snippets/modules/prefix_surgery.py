"""Renaming keys of a checkpoint, and loading only what fits, as when a wrapper is taken off."""

from fixed import settle


def run(torch):
    nn = torch.nn
    old = settle(torch, nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 3)))
    saved = {"module.backbone." + k: v for k, v in old.state_dict().items()}

    class New(nn.Module):
        def __init__(self):
            super().__init__()
            self.backbone = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 3))
            self.head = nn.Linear(3, 5)

    net = New()
    renamed = {k.removeprefix("module."): v for k, v in saved.items()}
    own = net.state_dict()
    fitting = {k: v for k, v in renamed.items() if k in own and own[k].shape == v.shape}
    result = net.load_state_dict(fitting, strict=False)
    sub = {k.split(".", 1)[1]: v for k, v in fitting.items()}
    return {
        "missing": result.missing_keys,
        "unexpected": result.unexpected_keys,
        "loaded": torch.equal(net.backbone[2].weight, old[2].weight),
        "own_memory": net.backbone[0].weight.data_ptr() != old[0].weight.data_ptr(),
        "sub": str(old.load_state_dict(sub)),
        "prefixed": list(net.backbone.state_dict(prefix="b.")),
    }
