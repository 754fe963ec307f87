"""Hooks of every module that count calls and the size of outputs and gradients."""

from fixed import noise, settle


def run(torch):
    nn = torch.nn
    net = settle(torch, nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Sequential(nn.Linear(5, 2), nn.Softmax(-1))))
    outputs, gradients, arguments = [], [], []
    handles = [
        nn.modules.module.register_module_forward_hook(
            lambda m, a, y: outputs.append((type(m).__name__, list(y.shape)))
        ),
        nn.modules.module.register_module_forward_pre_hook(lambda m, a: arguments.append(len(a))),
        nn.modules.module.register_module_full_backward_hook(
            lambda m, gi, go: gradients.append((type(m).__name__, round(go[0].abs().sum().item(), 4)))
        ),
    ]
    x = noise(torch, 4, 3).requires_grad_()
    net(x)[:, 0].sum().backward()
    for handle in handles:
        handle.remove()
    net(x)
    return {"outputs": outputs, "gradients": gradients, "arguments": arguments, "gradient": x.grad}
