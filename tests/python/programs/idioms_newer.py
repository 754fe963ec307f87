"""What recent programs use: operations of one's own, attention by functions, compiled modules."""

import functools
import importlib

from program_helpers import Shown, seeded, settled


def custom_ops(torch):
    show = Shown()
    vals = functools.partial(seeded, torch)
    Tensor = torch.Tensor

    @torch.library.custom_op("mylib::numpy_sin", mutates_args=())
    def numpy_sin(x: Tensor) -> Tensor:
        return torch.from_numpy(__import__("numpy").sin(x.numpy()))

    @numpy_sin.register_fake
    def _(x):
        return torch.empty_like(x)

    def setup(ctx, inputs, output):
        (x,) = inputs
        ctx.save_for_backward(x)

    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x.cos()

    numpy_sin.register_autograd(backward, setup_context=setup)
    x = vals(3).requires_grad_()
    y = numpy_sin(x)
    y.sum().backward()
    show(y, x.grad, torch.ops.mylib.numpy_sin(x.detach()))

    @torch.library.custom_op("mylib::scale_", mutates_args={"x"})
    def scale_(x: Tensor, s: float) -> None:
        x.mul_(s)

    t = torch.ones(2)
    scale_(t, 3.0)
    show(t)
    lib = torch.library.Library("mylib2", "DEF")
    lib.define("twice(Tensor x) -> Tensor")
    lib.impl("twice", lambda x: x * 2, "CompositeImplicitAutograd")
    show(torch.ops.mylib2.twice(torch.ones(1)))
    return show.all


def sdpa_flex(torch):
    show = Shown()
    vals = functools.partial(seeded, torch)
    det = functools.partial(settled, torch)
    F = torch.nn.functional
    sdpa_kernel = torch.nn.attention.sdpa_kernel
    SDPBackend = torch.nn.attention.SDPBackend
    q, k, v = (vals(1, 2, 4, 8, seed=s) for s in range(3))
    with sdpa_kernel(SDPBackend.MATH):
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.3)
    with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]):
        b = F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.3)
    with torch.backends.cuda.sdp_kernel(
        enable_flash=False, enable_math=True, enable_mem_efficient=False
    ) if False else torch.nn.attention.sdpa_kernel(backends=[SDPBackend.MATH]):
        c = F.scaled_dot_product_attention(q, k, v, attn_mask=torch.ones(4, 4).tril().bool(), scale=0.3)
    show(torch.allclose(a, b, atol=1e-06), torch.allclose(a, c, atol=1e-06), a[0, 0, 1])
    flex_attention_module = importlib.import_module(f"{torch.__name__}.nn.attention.flex_attention")
    flex_attention = flex_attention_module.flex_attention
    create_block_mask = flex_attention_module.create_block_mask
    create_mask = flex_attention_module.create_mask
    and_masks = flex_attention_module.and_masks

    def alibi(score, b, h, qi, ki):
        return score + (ki - qi) * 2.0 ** (-(h + 1))

    show(flex_attention(q, k, v, score_mod=alibi)[0, 1, 2])
    bm = create_block_mask(lambda b, h, qi, ki: qi >= ki, None, None, 4, 4, device="cpu")
    show(torch.allclose(flex_attention(q, k, v, block_mask=bm, scale=0.3), a, atol=1e-05))
    bias_module = importlib.import_module(f"{torch.__name__}.nn.attention.bias")
    causal_lower_right = bias_module.causal_lower_right
    show(F.scaled_dot_product_attention(q[:, :, :2], k, v, attn_mask=causal_lower_right(2, 4))[0, 0, 0])
    show(
        create_mask(and_masks(lambda b, h, q, k: q >= k, lambda b, h, q, k: q - k < 2), 1, 1, 4, 4, device="cpu").int()[
            0, 0
        ]
    )
    m = torch.nn.MultiheadAttention(8, 2, batch_first=True, kdim=4, vdim=6, add_bias_kv=True)
    det(m)
    o, w = m(
        vals(2, 3, 8),
        vals(2, 5, 4),
        vals(2, 5, 6),
        key_padding_mask=torch.tensor([[False] * 5, [False] * 3 + [True] * 2]),
        average_attn_weights=False,
    )
    show(o[0, 0], w.shape, w[1, 0, 0])
    return show.all


def compile_jit(torch):
    show = Shown()
    vals = functools.partial(seeded, torch)
    det = functools.partial(settled, torch)
    nn = torch.nn

    @torch.compile(backend="eager")
    def f(x, y):
        return torch.sin(x) + torch.cos(y)

    @torch.compile(fullgraph=True, dynamic=False, mode="reduce-overhead", backend="eager")
    def g(x):
        return (x * 2).relu()

    show(f(torch.zeros(2), torch.zeros(2)), g(torch.tensor([-1.0, 1.0])))
    m = det(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))
    cm = torch.compile(m, backend="eager")
    show(cm(vals(1, 2)), list(cm.state_dict()), cm._orig_mod is m, isinstance(cm, nn.Module))
    m.compile(backend="eager")
    show(m(vals(1, 2)))

    @torch.jit.script
    def relu_sum(x, n: int, flag: bool = True) -> torch.Tensor:
        s = torch.zeros(1)
        for i in range(n):
            if flag:
                s = s + torch.relu(x).sum() * i
        return s

    show(relu_sum(vals(3), 3), relu_sum(vals(3), 2, False))

    class MyCell(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 4)

        @torch.jit.export
        def helper(self, x):
            return x + 1

        @torch.jit.ignore
        def ig(self, x):
            return x

        def forward(self, x, h):
            n = torch.tanh(self.linear(x) + h)
            return (n, n)

    c = det(MyCell())
    x, h = (vals(3, 4), vals(3, 4, seed=1))
    tr = torch.jit.trace(c, (x, h))
    sc = torch.jit.script(c)
    show(
        torch.allclose(tr(x, h)[0], c(x, h)[0]),
        torch.allclose(sc(x, h)[1], c(x, h)[1]),
        sc.linear.weight.shape,
        sc.helper(torch.ones(1)),
        isinstance(sc, nn.Module),
        list(tr.state_dict()),
    )

    @torch.jit.unused
    def zz():
        pass

    @torch._dynamo.disable
    def yy(x):
        return x

    return show.all
