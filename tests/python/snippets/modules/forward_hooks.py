"""Forward hooks and pre-hooks: record activations, change input and output, remove."""

from fixed import noise, settle


def run(torch):
    nn = torch.nn
    net = settle(torch, nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2)))
    x = noise(torch, 4, 3)
    seen, order = {}, []

    def record(name):
        def hook(module, args, output):
            seen[name] = output.detach()
            order.append(name)

        return hook

    handles = [m.register_forward_hook(record(name)) for name, m in net.named_children()]
    plain = net(x)
    pre = net[2].register_forward_pre_hook(lambda module, args: (args[0] * 2,))
    post = net[2].register_forward_hook(lambda module, args, output: output + 1)
    changed = net(x)
    for handle in handles:
        handle.remove()
    count = len(order)
    pre.remove()
    post.remove()
    assert torch.equal(net(x), plain) and len(order) == count
    return {**seen, "order": order, "plain": plain, "changed": changed, "active": (seen["1"] > 0).float().mean(0)}
