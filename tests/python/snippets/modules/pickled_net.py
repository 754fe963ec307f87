"""A net through pickle: class, attributes, buffers and hooks by name survive."""

import pickle

from fixed import noise, settle


def run(torch):
    nn = torch.nn
    net = settle(torch, nn.Sequential(nn.Conv1d(2, 3, 2), nn.ReLU(), nn.Flatten(), nn.Linear(9, 2)))
    net.eval()
    net.note = {"epoch": 3}
    net[3].weight.requires_grad = False
    again = pickle.loads(pickle.dumps(net))
    x = noise(torch, 2, 2, 4)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    tensor, view = pickle.loads(pickle.dumps((x, x[0])))
    return {
        "same": torch.equal(net(x), again(x)),
        "kind": type(again).__name__,
        "note": again.note,
        "mode": again.training,
        "frozen": [p.requires_grad for p in again.parameters()],
        "parameter": isinstance(again[0].weight, nn.Parameter),
        "shared": tensor[0].data_ptr() == view.data_ptr(),
        "groups": len(pickle.loads(pickle.dumps(optimizer.state_dict()))["param_groups"]),
        "text": repr(again) == repr(net),
    }
