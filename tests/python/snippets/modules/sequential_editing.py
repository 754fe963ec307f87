"""Sequential as a list: slices, replacing, appending, inserting, deleting; names from a dict."""

from collections import OrderedDict


def run(torch):
    nn = torch.nn
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2))
    body = net[:-1]
    net[1] = nn.Tanh()
    del net[2:4]
    net.append(nn.Softmax(dim=-1))
    net.insert(0, nn.Flatten())
    named = nn.Sequential(OrderedDict([("first", nn.Linear(2, 3)), ("act", nn.SiLU()), ("last", nn.Linear(3, 1))]))
    return {
        "body": repr(body),
        "edited": repr(net),
        "shared": body[0] is net[1],
        "length": [len(net), len(body), len(named)],
        "keys": list(net.state_dict()),
        "named": list(named.state_dict()),
        "attribute": named.act is named[1],
        "sums": net(torch.ones(3, 2, 2)).sum(1),
        "text": repr(named),
    }
