"""nn.utils as users write it: clipping, vectors of parameters, packed sequences, parametrizations, pruning."""

from program_helpers import net_of, raised, values


def clipped(torch):
    u = torch.nn.utils
    net = net_of(torch)
    net(torch.ones(4, 2)).pow(2).sum().backward()
    total = u.clip_grad_norm_(net.parameters(), 1.0)
    after = u.get_total_norm([p.grad for p in net.parameters()])
    u.clip_grad_value_(net.parameters(), 0.1)
    empty = u.clip_grad_norm_([torch.nn.Parameter(torch.ones(1))], 1.0)
    bad = torch.nn.Parameter(torch.ones(1))
    bad.grad = torch.tensor([float("nan")])
    return (
        total,
        after,
        [p.grad for p in net.parameters()],
        empty,
        raised(lambda: u.clip_grad_norm_(bad, 1.0, error_if_nonfinite=True)),
        u.clip_grad_norm_(bad, 1.0),
    )


def clipped_in_other_norms(torch):
    u = torch.nn.utils
    p = [torch.nn.Parameter(values(torch, 3)) for _ in range(2)]
    made = {}
    for kind in (1.0, 2.0, float("inf")):
        for q in p:
            q.grad = q.detach() * 10
        made[str(kind)] = u.clip_grad_norm_(p, 2.0, norm_type=kind), p[0].grad.clone()
    u.clip_grads_with_norm_(p, 0.5, torch.tensor(5.0))
    return made, p[1].grad


def vectors_of_parameters(torch):
    net = net_of(torch)
    v = torch.nn.utils.parameters_to_vector(net.parameters())
    torch.nn.utils.vector_to_parameters(v * 2, net.parameters())
    return v.detach(), net[2].weight.detach(), v.shape


def packed_sequences(torch):
    rnn = torch.nn.utils.rnn
    parts = [torch.tensor([1.0, 2, 3]), torch.tensor([4.0]), torch.tensor([5.0, 6])]
    padded = rnn.pad_sequence(parts, batch_first=True, padding_value=-1)
    packed = rnn.pack_padded_sequence(padded.unsqueeze(-1), [3, 1, 2], batch_first=True, enforce_sorted=False)
    back, lengths = rnn.pad_packed_sequence(packed, batch_first=True)
    left = rnn.pad_sequence(parts, padding_side="left")
    return (
        padded,
        packed.data,
        packed.batch_sizes,
        packed.sorted_indices,
        back,
        lengths,
        left,
        [t.tolist() for t in rnn.unpad_sequence(padded, torch.tensor([3, 1, 2]), batch_first=True)],
        raised(lambda: rnn.pack_padded_sequence(padded, [1, 3, 2], batch_first=True)),
    )


def weight_and_spectral_norm(torch):
    m = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 2, bias=False))
    with torch.no_grad():
        m.parametrizations.weight.original0.fill_(2.0)
        m.parametrizations.weight.original1.copy_(torch.tensor([[3.0, 4.0], [0.0, 1.0]]))
    out = m(torch.ones(1, 2)).detach()
    names = [n for n, _ in m.named_parameters()]
    torch.nn.utils.parametrize.remove_parametrizations(m, "weight")
    return out, names, m.weight.detach(), [n for n, _ in m.named_parameters()]


def own_parametrization(torch):
    class Symmetric(torch.nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).mT

        def right_inverse(self, a):
            return a.triu()

    m = torch.nn.Linear(2, 2, bias=False)
    torch.nn.utils.parametrize.register_parametrization(m, "weight", Symmetric())
    m.weight = torch.tensor([[1.0, 2.0], [2.0, 3.0]])
    m(torch.ones(1, 2)).sum().backward()
    return (
        m.weight.detach(),
        m.parametrizations.weight.original.grad,
        torch.nn.utils.parametrize.is_parametrized(m),
        list(m.state_dict()),
    )


def pruned(torch):
    prune = torch.nn.utils.prune
    m = torch.nn.Linear(3, 2)
    with torch.no_grad():
        m.weight.copy_(torch.tensor([[0.1, -2.0, 0.3], [4.0, -0.5, 0.6]]))
    prune.l1_unstructured(m, "weight", amount=2)
    first = m.weight.detach().clone(), m.weight_mask, [n for n, _ in m.named_parameters()], list(m.state_dict())
    prune.remove(m, "weight")
    prune.ln_structured(m, "weight", amount=1, n=2, dim=1)
    return first, m.weight.detach(), prune.is_pruned(m)


def fused_for_inference(torch):
    conv, bn = torch.nn.Conv2d(1, 2, 1), torch.nn.BatchNorm2d(2)
    with torch.no_grad():
        conv.weight.copy_(values(torch, 2, 1, 1, 1)), conv.bias.fill_(0.5)
        bn.running_mean.fill_(0.2), bn.running_var.fill_(2.0), bn.weight.fill_(1.5)
    conv.eval(), bn.eval()
    fused = torch.nn.utils.fuse_conv_bn_eval(conv, bn)
    x = values(torch, 1, 1, 2, 2).float()
    return fused(x).detach(), torch.allclose(fused(x), bn(conv(x)), atol=1e-6)
