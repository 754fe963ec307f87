"""A summary of a net made by hand: names, shapes, numbers, memory, output shapes by hooks."""

from fixed import noise


def run(torch):
    nn = torch.nn
    net = nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 10)
    )
    rows, handles = [], []
    for name, module in net.named_children():

        def hook(m, inputs, output, name=name):
            count = sum(p.numel() for p in m.parameters())
            rows.append(f"{name:>2s} {type(m).__name__:<12s} {str(tuple(output.shape)):<18s} {count:6d}")

        handles.append(module.register_forward_hook(hook))
    with torch.no_grad():
        net(noise(torch, 2, 1, 8, 8))
    for handle in handles:
        handle.remove()
    memory = sum(t.numel() * t.element_size() for t in net.state_dict().values())
    return {"table": "\n".join(rows), "memory": memory, "numel": sum(p.numel() for p in net.parameters())}
