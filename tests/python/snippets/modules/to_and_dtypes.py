"""double, half, to(dtype), cpu: what moves, what stays; default dtype."""

from fixed import noise


def run(torch):
    nn = torch.nn
    net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    weight = net[0].weight
    net.double()
    same_object = net[0].weight is weight
    x = noise(torch, 4, 2).double()
    out = net(x)
    names = {k: str(v.dtype) for k, v in net.state_dict().items()}
    net.to(torch.bfloat16)
    half = str(next(net.parameters()).dtype)
    net.to("cpu", dtype=torch.float32)
    torch.set_default_dtype(torch.float64)
    fresh = nn.Linear(1, 1)
    return {
        "out": str(out.dtype),
        "names": names,
        "half": half,
        "same_object": same_object,
        "fresh": [str(fresh.weight.dtype), str(torch.ones(1).dtype), str(torch.tensor([1.0]).dtype)],
        "device": str(fresh.weight.device),
        "made": str(nn.Linear(1, 1, dtype=torch.float16).weight.dtype),
    }
