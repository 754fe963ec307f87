"""Layers as programs change them: blocks and activations of their own, old states, names of old."""

import copy

from program_helpers import filled, raised, values


def activations_of_transformer_layers(torch):
    nn, F = (torch.nn, torch.nn.functional)
    x, mem = (values(torch, 2, 4, 8), values(torch, 2, 3, 8))
    pad = torch.tensor([[False, False, True, True], [False] * 4])
    causal = nn.Transformer.generate_square_subsequent_mask(4, dtype=torch.float64)
    made = {}
    for i, act in enumerate((F.silu, nn.GELU(approximate="tanh"), torch.tanh, lambda t: t.clamp(min=0) ** 2, F.relu)):
        options = {"batch_first": True, "norm_first": i % 2 == 0}
        layer = filled(torch, nn.TransformerEncoderLayer(8, 2, 16, 0.0, act, **options).double())
        dec = filled(
            torch,
            nn.TransformerDecoderLayer(
                8, 2, 16, 0.0, torch.tanh if isinstance(act, nn.Module) else act, **options
            ).double(),
        )
        stack = nn.TransformerEncoder(layer, num_layers=2)
        y = stack(x, mask=causal, src_key_padding_mask=pad)
        z = nn.TransformerDecoder(dec, 2)(
            x, mem, tgt_mask=causal, tgt_is_causal=True, memory_mask=torch.zeros(4, 3).bool()
        )
        (y.sum() + z.square().sum()).backward()
        made[i] = (y, z, layer.linear1.weight.grad is None, stack.layers[1].linear1.weight.grad)
    whole = filled(torch, nn.Transformer(8, 2, 1, 1, 16, 0.0, F.leaky_relu, batch_first=True).double())
    out = whole(x, mem)
    custom = nn.Transformer(
        8,
        2,
        1,
        1,
        16,
        activation=torch.tanh,
        custom_encoder=nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 1),
    )
    copied = copy.deepcopy(whole)
    return (
        made,
        out,
        torch.equal(copied.eval()(x, mem), whole.eval()(x, mem)),
        list(dict(whole.encoder.layers[0].named_children())),
        len(whole.state_dict()),
        custom.decoder.layers[0].activation is torch.tanh,
        isinstance(custom.encoder.layers[0].activation, nn.Module),
        raised(lambda: nn.TransformerEncoderLayer(8, 2, activation="swish")),
    )


def blocks_of_ones_own(torch):
    nn = torch.nn

    class Kept(nn.TransformerEncoderLayer):
        def _sa_block(self, x, attn_mask, key_padding_mask, is_causal=False):
            x, self.weights = self.self_attn(
                x, x, x, attn_mask=attn_mask, key_padding_mask=key_padding_mask, need_weights=True
            )
            return self.dropout1(x)

    class Gated(nn.TransformerEncoderLayer):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self.gate = nn.Linear(8, 8)

        def _ff_block(self, x):
            return super()._ff_block(x) * torch.sigmoid(self.gate(x))

    class Both(nn.TransformerDecoderLayer):
        def _mha_block(self, x, mem, attn_mask, key_padding_mask, is_causal=False):
            return super()._mha_block(x, mem, attn_mask, key_padding_mask, is_causal) * 2

    x = values(torch, 2, 4, 8)
    kept = filled(torch, Kept(8, 2, 16, dropout=0.0, batch_first=True).double())
    gated = filled(torch, Gated(8, 2, 16, 0.0, "gelu", batch_first=True, norm_first=True).double())
    both = filled(torch, Both(8, 2, 16, 0.0, batch_first=True).double())
    y = kept(x, src_mask=torch.ones(4, 4).triu(1).bool(), is_causal=True)
    z = nn.TransformerEncoder(gated, 2, norm=nn.LayerNorm(8).double())(x)
    w = both(x, x.flip(0), torch.zeros(4, 4).double(), None)
    return (y, kept.weights, z, w, kept.eval()(x), [n for n, _ in gated.named_children()])


def activation_assigned(torch):
    nn, F = (torch.nn, torch.nn.functional)

    class Own(nn.TransformerEncoderLayer):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self.activation = nn.SiLU()
            self.scale = 2.0

        def forward(self, src, *args, **kwargs):
            return super().forward(src, *args, **kwargs) * self.scale

    x = values(torch, 2, 4, 8)
    own = filled(torch, Own(8, 2, 16, 0.0, batch_first=True).double())
    stack = nn.TransformerEncoder(own, 2)
    later = filled(torch, nn.TransformerDecoderLayer(8, 2, 16, 0.0, "gelu", batch_first=True).double())
    before = later(x, x)
    later.activation = torch.tanh
    after = later(x, x)
    later.activation = F.gelu
    return (
        stack(x),
        before,
        after,
        torch.allclose(later(x, x), before),
        copy.deepcopy(own)(x),
        [n for n, _ in own.named_children()],
        later.training,
        later.norm_first,
    )


def sparse_tensors_of_old(torch):
    i, v = (torch.tensor([[0, 1, 1], [2, 0, 2]]), torch.tensor([3.0, 4.0, 5.0]))
    made = torch.sparse.FloatTensor(i, v, torch.Size([2, 4]))
    fitted = torch.sparse.DoubleTensor(i, v.double())
    none = torch.sparse.FloatTensor(2, 3)
    return (
        made.to_dense(),
        fitted.to_dense(),
        none.to_dense(),
        made.type(),
        fitted.type(),
        fitted.dtype == torch.float64,
        isinstance(made, torch.sparse.FloatTensor),
        isinstance(made, torch.sparse.LongTensor),
        isinstance(v, torch.sparse.FloatTensor),
        torch.sparse.LongTensor(i, torch.tensor([1, 2, 3])).coalesce().values(),
        torch.spmm(made, torch.eye(4)),
    )


def lazy_instance_norms(torch):
    nn = torch.nn
    layer = nn.LazyInstanceNorm2d()
    x = values(torch, 2, 3, 4, 4).float()
    before = str(layer)
    y = layer(x)
    plain = nn.LazyInstanceNorm1d(affine=False, track_running_stats=False)
    z = plain(x[:, 0])
    return (
        before,
        y,
        str(layer),
        layer.weight,
        layer.running_mean,
        layer.running_var,
        layer.num_batches_tracked,
        z,
        str(plain),
        list(layer.state_dict()),
    )


def printed_activations(torch):
    nn = torch.nn
    return str(
        nn.Sequential(
            nn.Hardswish(inplace=True),
            nn.Hardsigmoid(True),
            nn.SiLU(True),
            nn.Mish(inplace=True),
            nn.ReLU6(True),
            nn.Hardtanh(inplace=True),
        )
    )


def prefixes_of_data_parallel(torch):
    nn = torch.nn
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    wrapped = nn.ModuleDict({"module": net})
    state = wrapped.state_dict()
    nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    plain = {"a.b": torch.ones(1), "c": torch.zeros(1), "a.a.d": torch.ones(2)}
    nn.modules.utils.consume_prefix_in_state_dict_if_present(plain, "a.")
    return (
        list(state),
        str(net.load_state_dict(state)),
        sorted(state._metadata),
        list(plain),
        state._metadata["1"].get("version"),
        net.dump_patches,
        net.call_super_init,
    )


def autocast_of_the_cpu(torch):
    x = values(torch, 2, 2).float()
    with torch.cpu.amp.autocast():
        a = ((x @ x).dtype, torch.get_autocast_dtype("cpu"))
    with torch.cpu.amp.autocast(enabled=True, dtype=torch.float16):
        b = (x @ x).dtype
    with torch.cpu.amp.autocast(False):
        c = (x @ x).dtype
    scaler = torch.cpu.amp.GradScaler(init_scale=4.0)
    return ([str(d) for d in (*a, b, c)], scaler.scale(x), scaler.state_dict())


def step_hooks_get_the_optimizer(torch):
    seen = []
    p = torch.nn.Parameter(torch.ones(2))
    opt = torch.optim.SGD([p], lr=0.5)

    def closure(scale=1.0):
        opt.zero_grad()
        loss = (p * p).sum() * scale
        loss.backward()
        return loss

    def before(optimizer, args, kwargs):
        seen.append((args[0] is optimizer, len(args), sorted(kwargs)))
        return ((args[0], lambda: closure(2.0)), {})

    handle = opt.register_step_pre_hook(before)
    opt.register_step_post_hook(
        lambda optimizer, args, kwargs: seen.append((args[0] is optimizer, len(args), sorted(kwargs)))
    )
    first = opt.step(closure)
    handle.remove()
    second = opt.step(closure=closure)
    return (seen, first, second, p)


def convolutions_of_ones_own(torch):
    nn = torch.nn

    class Standardised(nn.Conv2d):
        def forward(self, x):
            w = self.weight
            w = (w - w.mean(dim=(1, 2, 3), keepdim=True)) / w.std(dim=(1, 2, 3), keepdim=True)
            return self._conv_forward(x, w, self.bias)

    x = values(torch, 2, 4, 6, 6)
    made = {}
    for i, options in enumerate(
        (
            {"padding": 1},
            {"padding": (2, 1), "padding_mode": "reflect", "groups": 2},
            {"padding": "same", "dilation": 2},
            {"padding": "same", "padding_mode": "circular", "bias": False},
            {"padding": "valid", "stride": 2},
        )
    ):
        conv = filled(torch, Standardised(4, 4, 3, **options).double())
        plain = filled(torch, nn.Conv2d(4, 4, 3, **options).double())
        made[i] = (
            conv(x),
            torch.allclose(plain._conv_forward(x, plain.weight, plain.bias), plain(x)),
            list(conv._reversed_padding_repeated_twice),
            conv.transposed,
        )
    line = filled(torch, nn.Conv1d(4, 2, 2).double())
    return (
        made,
        line._conv_forward(x[:, :, 0], line.weight * 2, None),
        nn.ConvTranspose1d(1, 1, 1).transposed,
        nn.MultiheadAttention(4, 2)._qkv_same_embed_dim,
        nn.MultiheadAttention(4, 2, kdim=3)._qkv_same_embed_dim,
    )


def gradients_deleted(torch):
    p = torch.nn.Parameter(torch.ones(2))
    opt = torch.optim.SGD([p], lr=0.5)
    (p * 3).sum().backward()
    del p.grad
    opt.step()
    untouched = p.detach().clone()
    (p * 2).sum().backward()
    return (untouched, p.grad, raised(lambda: setattr(p, "grad", 3), TypeError))


def one_process(torch):
    dist = torch.distributed

    def get_world_size():
        if not dist.is_available():
            return 1
        if not dist.is_initialized():
            return 1
        return dist.get_world_size()

    return (get_world_size(), dist.is_available() and dist.is_initialized())


def old_norm_states(torch):
    nn = torch.nn
    bn = nn.BatchNorm2d(2)
    r = bn.load_state_dict(
        {"weight": torch.ones(2), "bias": torch.ones(2), "running_mean": torch.ones(2), "running_var": torch.ones(2)}
    )
    i = nn.InstanceNorm1d(2)
    m = raised(lambda: i.load_state_dict({"running_mean": torch.ones(2), "running_var": torch.ones(2)}))
    new = bn.state_dict()
    new.pop("num_batches_tracked")
    strict = raised(lambda: bn.load_state_dict(new))
    net = nn.Sequential(nn.Conv2d(1, 2, 1), nn.BatchNorm2d(2))
    net[1](torch.ones(2, 2, 1, 1))
    st = {k: v for k, v in net.state_dict().items() if "num_batches" not in k}
    return (
        str(r),
        m,
        strict,
        str(net.load_state_dict(st)),
        net[1].num_batches_tracked,
        nn.BatchNorm1d._version,
        nn.InstanceNorm2d._version,
        nn.Linear._version,
        nn.LayerNorm._version,
        nn.SyncBatchNorm._version,
        nn.LazyBatchNorm1d._version,
        nn.MultiheadAttention._version,
        nn.Embedding._version,
        nn.utils.parametrizations is not None,
    )
