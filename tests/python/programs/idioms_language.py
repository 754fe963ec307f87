"""Layers and losses of language models, as their repositories write them."""

import functools
from typing import Optional
import math

from program_helpers import Shown, seeded, settled


def kv_cache_rope_gqa(torch):
    show = Shown()
    vals = functools.partial(seeded, torch)
    det = functools.partial(settled, torch)
    nn = torch.nn
    F = torch.nn.functional

    def precompute_freqs_cis(dim, end, theta=10000.0):
        freqs = 1.0 / theta ** (torch.arange(0, dim, 2)[: dim // 2].float() / dim)
        t = torch.arange(end, device=freqs.device)
        freqs = torch.outer(t, freqs).float()
        return torch.polar(torch.ones_like(freqs), freqs)

    def reshape_for_broadcast(freqs_cis, x):
        ndim = x.ndim
        assert freqs_cis.shape == (x.shape[1], x.shape[-1])
        shape = [d if i == 1 or i == ndim - 1 else 1 for i, d in enumerate(x.shape)]
        return freqs_cis.view(*shape)

    def apply_rotary_emb(xq, xk, freqs_cis):
        xq_ = torch.view_as_complex(xq.float().reshape(*xq.shape[:-1], -1, 2))
        xk_ = torch.view_as_complex(xk.float().reshape(*xk.shape[:-1], -1, 2))
        freqs_cis = reshape_for_broadcast(freqs_cis, xq_)
        xq_out = torch.view_as_real(xq_ * freqs_cis).flatten(3)
        xk_out = torch.view_as_real(xk_ * freqs_cis).flatten(3)
        return (xq_out.type_as(xq), xk_out.type_as(xk))

    def repeat_kv(x, n_rep):
        bs, slen, n_kv_heads, head_dim = x.shape
        if n_rep == 1:
            return x
        return (
            x[:, :, :, None, :]
            .expand(bs, slen, n_kv_heads, n_rep, head_dim)
            .reshape(bs, slen, n_kv_heads * n_rep, head_dim)
        )

    class RMSNorm(torch.nn.Module):
        def __init__(self, dim, eps=1e-06):
            super().__init__()
            self.eps = eps
            self.weight = nn.Parameter(torch.ones(dim))

        def _norm(self, x):
            return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

        def forward(self, x):
            return self._norm(x.float()).type_as(x) * self.weight

    class Attention(nn.Module):
        def __init__(self, dim=16, n_heads=4, n_kv=2, max_seq=12):
            super().__init__()
            self.hd, self.nh, self.nkv = (dim // n_heads, n_heads, n_kv)
            self.wq = nn.Linear(dim, n_heads * self.hd, bias=False)
            self.wk = nn.Linear(dim, n_kv * self.hd, bias=False)
            self.wv = nn.Linear(dim, n_kv * self.hd, bias=False)
            self.wo = nn.Linear(n_heads * self.hd, dim, bias=False)
            self.register_buffer("cache_k", torch.zeros(2, max_seq, n_kv, self.hd), persistent=False)
            self.register_buffer("cache_v", torch.zeros(2, max_seq, n_kv, self.hd), persistent=False)

        def forward(self, x, start_pos, freqs_cis, mask: Optional[torch.Tensor]):
            b, s, _ = x.shape
            xq, xk, xv = (
                self.wq(x).view(b, s, self.nh, self.hd),
                self.wk(x).view(b, s, self.nkv, self.hd),
                self.wv(x).view(b, s, self.nkv, self.hd),
            )
            xq, xk = apply_rotary_emb(xq, xk, freqs_cis=freqs_cis)
            self.cache_k = self.cache_k.to(xq)
            self.cache_k[:b, start_pos : start_pos + s] = xk
            self.cache_v[:b, start_pos : start_pos + s] = xv
            keys, values = (self.cache_k[:b, : start_pos + s], self.cache_v[:b, : start_pos + s])
            keys, values = (repeat_kv(keys, self.nh // self.nkv), repeat_kv(values, self.nh // self.nkv))
            xq, keys, values = (t.transpose(1, 2) for t in (xq, keys, values))
            scores = torch.matmul(xq, keys.transpose(2, 3)) / math.sqrt(self.hd)
            if mask is not None:
                scores = scores + mask
            scores = F.softmax(scores.float(), dim=-1).type_as(xq)
            out = torch.matmul(scores, values)
            return self.wo(out.transpose(1, 2).contiguous().view(b, s, -1))

    att, norm = (det(Attention()).eval(), RMSNorm(16))
    fc = precompute_freqs_cis(4, 24)

    @torch.inference_mode()
    def step(x, start):
        s = x.shape[1]
        mask = None
        if s > 1:
            mask = torch.full((s, s), float("-inf"))
            mask = torch.triu(mask, diagonal=1)
            mask = torch.hstack([torch.zeros((s, start)), mask]).type_as(x)
        return att(norm(x), start, fc[start : start + s], mask)

    x = vals(2, 7, 16)
    full = step(x, 0)
    att.cache_k.zero_()
    att.cache_v.zero_()
    parts = torch.cat([step(x[:, :3], 0)] + [step(x[:, i : i + 1], i) for i in range(3, 7)], 1)
    show(torch.allclose(full, parts, atol=1e-05), full.is_inference(), full[0, -1])
    show(list(att.state_dict()), fc[2], fc.dtype)
    gqa = F.scaled_dot_product_attention(vals(1, 4, 3, 8), vals(1, 2, 3, 8), vals(1, 2, 3, 8), enable_gqa=True)
    show(gqa.sum(-1))
    return show.all


def alibi_sliding(torch):
    show = Shown()
    vals = functools.partial(seeded, torch)
    F = torch.nn.functional

    def get_slopes(n):
        def p2(n):
            start = 2 ** (-(2 ** (-(math.log2(n) - 3))))
            return [start * start**i for i in range(n)]

        if math.log2(n).is_integer():
            return p2(n)
        c = 2 ** math.floor(math.log2(n))
        return p2(c) + get_slopes(2 * c)[0::2][: n - c]

    slopes = torch.Tensor(get_slopes(6))
    n = 5
    rel = torch.arange(n)[None, :] - torch.arange(n)[:, None]
    bias = slopes[:, None, None] * -rel.abs()[None]
    window = (rel > 0) | (rel <= -3)
    bias = bias.masked_fill(window, torch.finfo(bias.dtype).min)
    q, k, v = (vals(2, 6, n, 4, seed=s).requires_grad_() for s in range(3))
    o = F.scaled_dot_product_attention(q, k, v, attn_mask=bias[None].expand(2, -1, -1, -1))
    ref = (q @ k.mT / 2 + bias).softmax(-1) @ v
    torch.testing.assert_close(o, ref)
    o.square().sum().backward()
    show(slopes, bias[0], q.grad[0, 0], k.grad.norm(), v.grad.abs().max())
    show(
        torch.finfo(torch.float16).min,
        torch.finfo(torch.bfloat16).eps,
        torch.iinfo(torch.int8).max,
        torch.finfo(torch.float32),
    )
    return show.all


def moe_topk(torch):
    show = Shown()
    vals = functools.partial(seeded, torch)
    det = functools.partial(settled, torch)
    nn = torch.nn
    Tensor = torch.Tensor
    F = torch.nn.functional

    class Expert(nn.Module):
        def __init__(self, d, h):
            super().__init__()
            self.w1, self.w2, self.w3 = (
                nn.Linear(d, h, bias=False),
                nn.Linear(h, d, bias=False),
                nn.Linear(d, h, bias=False),
            )

        def forward(self, x):
            return self.w2(F.silu(self.w1(x)) * self.w3(x))

    class MoE(nn.Module):
        def __init__(self, d, h, n, k):
            super().__init__()
            self.gate = nn.Linear(d, n, bias=False)
            self.experts = nn.ModuleList((Expert(d, h) for _ in range(n)))
            self.k = k

        def forward(self, x: Tensor) -> Tensor:
            shape = x.shape
            x = x.view(-1, shape[-1])
            logits = self.gate(x)
            w, sel = torch.topk(logits, self.k)
            w = F.softmax(w, dim=1, dtype=torch.float).to(x.dtype)
            res = torch.zeros_like(x)
            for i, e in enumerate(self.experts):
                idx, nth = torch.where(sel == i)
                if idx.numel() == 0:
                    continue
                res[idx] += w[idx, nth, None] * e(x[idx])
            probs = logits.softmax(-1)
            load = F.one_hot(sel, logits.size(-1)).float().sum(1).mean(0)
            self.aux = logits.size(-1) * (load * probs.mean(0)).sum()
            self.z = torch.logsumexp(logits, -1).pow(2).mean()
            return res.view(shape)

        def dispatch(self, x):
            w, sel = torch.topk(self.gate(x).softmax(-1), self.k)
            flat = sel.flatten()
            order = flat.argsort(stable=True)
            counts = torch.bincount(flat, minlength=len(self.experts))
            tok = torch.arange(x.size(0)).repeat_interleave(self.k)[order]
            outs = [e(c) for e, c in zip(self.experts, x[tok].split(counts.tolist()))]
            out = torch.cat(outs) * w.flatten()[order].unsqueeze(-1)
            return (torch.zeros_like(x).index_add_(0, tok, out), counts)

    m = det(MoE(6, 8, 4, 2))
    x = vals(2, 5, 6)
    y = m(x)
    (y.pow(2).mean() + 0.01 * m.aux + 0.001 * m.z).backward()
    show(y[0], m.aux, m.z)
    show([None if p.grad is None else round(p.grad.norm().item(), 5) for p in m.parameters()])
    out, counts = m.dispatch(x.view(-1, 6))
    show(out[:2], counts, counts.sum())
    stacked = torch.stack([e.w1.weight for e in m.experts])
    show(
        torch.einsum("td,ehd->teh", x.view(-1, 6), stacked).shape,
        torch.bmm(x.view(1, -1, 6).expand(4, -1, -1), stacked.mT).mean((1, 2)),
    )
    return show.all


def lora_inject(torch):
    show = Shown()
    vals = functools.partial(seeded, torch)
    det = functools.partial(settled, torch)
    nn = torch.nn

    class LoRALinear(nn.Linear):
        def __init__(
            self, in_features, out_features, r=2, lora_alpha=4, lora_dropout=0.0, merge_weights=True, **kwargs
        ):
            nn.Linear.__init__(self, in_features, out_features, **kwargs)
            self.r, self.merged, self.merge_weights = (r, False, merge_weights)
            self.lora_A = nn.Parameter(self.weight.new_zeros((r, in_features)))
            self.lora_B = nn.Parameter(self.weight.new_zeros((out_features, r)))
            self.scaling = lora_alpha / r
            self.weight.requires_grad = False
            self.reset_parameters()

        def reset_parameters(self):
            nn.Linear.reset_parameters(self)
            if hasattr(self, "lora_A"):
                nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))
                nn.init.zeros_(self.lora_B)

        def train(self, mode: bool = True):
            nn.Linear.train(self, mode)
            if mode and self.merge_weights and self.merged:
                self.weight.data -= self.lora_B @ self.lora_A * self.scaling
                self.merged = False
            elif not mode and self.merge_weights and (not self.merged):
                self.weight.data += self.lora_B @ self.lora_A * self.scaling
                self.merged = True
            return self

        def forward(self, x):
            if self.r > 0 and (not self.merged):
                return (
                    nn.functional.linear(x, self.weight, bias=self.bias)
                    + x @ self.lora_A.transpose(0, 1) @ self.lora_B.transpose(0, 1) * self.scaling
                )
            return nn.functional.linear(x, self.weight, bias=self.bias)

        def extra_repr(self):
            return super().extra_repr() + f", r={self.r}"

    def replace(model):
        for name, module in list(model.named_modules()):
            if type(module) is nn.Linear:
                parent = model.get_submodule(name.rpartition(".")[0]) if "." in name else model
                new = LoRALinear(module.in_features, module.out_features, bias=module.bias is not None)
                missing = new.load_state_dict(module.state_dict(), strict=False)
                show(missing)
                setattr(parent, name.rpartition(".")[2], new)
        return model

    net = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Sequential(nn.Linear(6, 3, bias=False)))
    det(net)
    replace(net)
    with torch.no_grad():
        for n, p in net.named_parameters():
            if "lora_" in n:
                p.copy_(vals(*p.shape))
    for n, p in net.named_parameters():
        p.requires_grad = "lora_" in n
    show(net, sum((p.numel() for p in net.parameters() if p.requires_grad)))
    x = vals(5, 4)
    a = net(x)
    net.eval()
    b = net(x)
    show((a - b).abs().max() < 1e-06, b)
    net.train()
    opt = torch.optim.AdamW(filter(lambda p: p.requires_grad, net.parameters()), lr=0.05)
    for _ in range(3):
        opt.zero_grad()
        loss = net(x).pow(2).sum()
        loss.backward()
        opt.step()
        show(loss.item())
    lora_sd = {k: v for k, v in net.state_dict().items() if "lora_" in k}
    show({k: tuple(v.shape) for k, v in lora_sd.items()})
    return show.all


def mamba_scan(torch):
    show = Shown()
    vals = functools.partial(seeded, torch)
    det = functools.partial(settled, torch)
    nn = torch.nn
    F = torch.nn.functional

    class Mamba(nn.Module):
        def __init__(self, d_model=4, d_state=3, d_conv=3, expand=2):
            super().__init__()
            self.d_inner = d_model * expand
            self.d_state = d_state
            self.dt_rank = math.ceil(d_model / 2)
            self.in_proj = nn.Linear(d_model, self.d_inner * 2, bias=False)
            self.conv1d = nn.Conv1d(self.d_inner, self.d_inner, d_conv, groups=self.d_inner, padding=d_conv - 1)
            self.x_proj = nn.Linear(self.d_inner, self.dt_rank + d_state * 2, bias=False)
            self.dt_proj = nn.Linear(self.dt_rank, self.d_inner)
            det(self)
            A = torch.arange(1, d_state + 1, dtype=torch.float32).repeat(self.d_inner, 1)
            self.A_log = nn.Parameter(torch.log(A))
            self.A_log._no_weight_decay = True
            self.D = nn.Parameter(torch.ones(self.d_inner))
            self.out_proj = nn.Linear(self.d_inner, d_model, bias=False)
            det(self.out_proj)

        def forward(self, x):
            b, loss, d = x.shape
            x, res = self.in_proj(x).split([self.d_inner, self.d_inner], dim=-1)
            x = self.conv1d(x.transpose(1, 2))[..., :loss].transpose(1, 2)
            x = F.silu(x)
            y = self.ssm(x) * F.silu(res)
            return self.out_proj(y)

        def ssm(self, x):
            A = -torch.exp(self.A_log.float())
            delta, B, C = self.x_proj(x).split([self.dt_rank, self.d_state, self.d_state], dim=-1)
            delta = F.softplus(self.dt_proj(delta))
            dA = torch.exp(torch.einsum("bld,dn->bldn", delta, A))
            dBu = torch.einsum("bld,bln,bld->bldn", delta, B, x)
            h = torch.zeros(x.shape[0], self.d_inner, self.d_state)
            ys = []
            for i in range(x.shape[1]):
                h = dA[:, i] * h + dBu[:, i]
                ys.append(torch.einsum("bdn,bn->bd", h, C[:, i]))
            seq = torch.stack(ys, 1)
            L = torch.log(dA).cumsum(1)
            par = torch.exp(L) * torch.cumsum(dBu * torch.exp(-L), dim=1)
            assert torch.allclose(torch.einsum("bldn,bln->bld", par, C), seq, atol=0.0001)
            return seq + x * self.D

    m = Mamba()
    x = vals(2, 6, 4).requires_grad_()
    y = m(x)
    y.sum().backward()
    show(y, x.grad, m.A_log.grad, getattr(m.A_log, "_no_weight_decay", False))
    show([n for n, p in m.named_parameters() if not getattr(p, "_no_weight_decay", False)])
    return show.all
