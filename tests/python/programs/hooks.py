"""Hooks of modules: their order, what they change, when they are called."""

from program_helpers import net_of, raised


def forward_hooks_order(torch):
    seen = []
    net = net_of(torch)
    net[0].register_forward_pre_hook(lambda m, args: seen.append("pre"))
    net[0].register_forward_pre_hook(lambda m, args: seen.append("first"), prepend=True)
    net[0].register_forward_hook(lambda m, args, out: seen.append(f"out {list(out.shape)}"))
    handle = net.register_forward_hook(lambda m, args, out: out * 2)
    x = torch.ones(2, 2)
    doubled = net(x)
    handle.remove()
    return seen, torch.allclose(doubled, net(x) * 2), len(seen), len(net[0]._forward_hooks)


def hooks_change_inputs(torch):
    net = net_of(torch)
    plain = net(torch.ones(1, 2)).detach()
    handle = net.register_forward_pre_hook(lambda m, args: (args[0] * 0,))
    zeroed = net(torch.ones(1, 2)).detach()
    handle.remove()

    class Scale(torch.nn.Module):
        def forward(self, x, *, by=1.0):
            return x * by

    s = Scale()
    s.register_forward_pre_hook(lambda m, args, kwargs: (args, {"by": kwargs["by"] + 1}), with_kwargs=True)
    s.register_forward_hook(lambda m, args, kwargs, out: out + kwargs["by"], with_kwargs=True)
    return plain, zeroed, s(torch.ones(2), by=2.0)


def backward_hooks(torch):
    seen = []
    net = net_of(torch)
    net[2].register_full_backward_hook(
        lambda m, gi, go: seen.append(([g.shape for g in gi], [g.sum().item() for g in go]))
    )
    net[2].register_full_backward_pre_hook(lambda m, go: (go[0] * 3,))
    net(torch.ones(2, 2)).sum().backward()
    return seen, net[2].bias.grad, net[0].weight.grad


def activations_kept(torch):
    kept = {}
    net = net_of(torch)
    handles = [
        m.register_forward_hook(lambda m, a, out, name=name: kept.update({name: out.detach()}))
        for name, m in net.named_children()
    ]
    net(torch.tensor([[1.0, -1.0]]))
    for h in handles:
        h.remove()
    kept["after"] = len(kept)
    net(torch.zeros(1, 2))
    return kept


def global_hooks(torch):
    seen = []
    handle = torch.nn.modules.module.register_module_forward_hook(lambda m, a, out: seen.append(type(m).__name__))
    net_of(torch)(torch.ones(1, 2))
    handle.remove()
    net_of(torch)(torch.ones(1, 2))
    return seen


def always_called_hook(torch):
    seen = []

    class Fails(torch.nn.Module):
        def forward(self, x):
            raise KeyError("no")

    m = Fails()
    m.register_forward_hook(lambda *a: seen.append("always"), always_call=True)
    m.register_forward_hook(lambda *a: seen.append("never"))
    return raised(lambda: m(1), KeyError), seen


def state_dict_hooks(torch):
    net = net_of(torch)
    net.register_state_dict_post_hook(lambda m, state, prefix, meta: state.update({prefix + "note": torch.ones(1)}))
    net.register_load_state_dict_pre_hook(lambda m, state, prefix, *rest: state.pop(prefix + "note", None))
    saved = net.state_dict()
    done = []
    net.register_load_state_dict_post_hook(lambda m, keys: done.append(len(keys.missing_keys)))
    return list(saved), str(net.load_state_dict(saved)), done, list(net.state_dict(prefix="p."))[:2]
