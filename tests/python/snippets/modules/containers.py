"""ModuleList, ModuleDict, ParameterList and ParameterDict in a net with several heads."""

from fixed import noise, settle


def run(torch):
    nn = torch.nn

    class Heads(nn.Module):
        def __init__(self):
            super().__init__()
            self.trunk = nn.ModuleList(nn.Linear(4, 4) for _ in range(2))
            self.heads = nn.ModuleDict({"class": nn.Linear(4, 3), "box": nn.Linear(4, 2)})
            self.gains = nn.ParameterList([nn.Parameter(torch.full((4,), 1.0 + i)) for i in range(2)])
            self.offsets = nn.ParameterDict({"class": nn.Parameter(torch.zeros(3)), "box": nn.Parameter(torch.ones(2))})

        def forward(self, x):
            for layer, gain in zip(self.trunk, self.gains):
                x = torch.relu(layer(x)) * gain
            return {name: head(x) + self.offsets[name] for name, head in self.heads.items()}

    net = settle(torch, Heads())
    out = net(noise(torch, 3, 4))
    net.trunk.append(nn.Linear(4, 4))
    net.heads.update({"mask": nn.Linear(4, 1)})
    return {
        **out,
        "keys": list(net.state_dict()),
        "lengths": [len(net.trunk), len(net.heads), len(net.gains), len(net.offsets)],
        "has": "mask" in net.heads,
        "names": list(net.heads.keys()),
        "text": repr(net.trunk),
        "dict_text": repr(net.heads),
    }
