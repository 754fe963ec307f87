"""Tensors that need gradients print so, with the name of what made them; parameters too."""


def run(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    return {
        "leaf": repr(x),
        "result": repr(y),
        "sum": repr(y.sum()),
        "linear": repr(torch.nn.functional.relu(y - 3)),
        "parameter": repr(torch.nn.Parameter(torch.ones(2))),
        "detached": repr(y.detach()),
        "none": repr(x.grad),
        "dtype": [repr(torch.float32), repr(torch.bool), str(x.dtype)],
        "size": [repr(torch.zeros(2, 3).shape), str(torch.Size([1]))],
        "device": [repr(x.device), str(x.device)],
    }
