"""Training on sequences, as tutorials write it: recurrent networks, CRF and CTC, search, transformers."""

import math
from collections import OrderedDict

from program_helpers import filled, values


def rnn_from_scratch(torch):
    nn = torch.nn
    import string

    all_letters = string.ascii_letters + " .,;'"
    n_letters = len(all_letters)

    def line_to_tensor(line):
        tensor = torch.zeros(len(line), 1, n_letters)
        for li, letter in enumerate(line):
            tensor[li][0][all_letters.find(letter)] = 1
        return tensor

    class RNN(nn.Module):
        def __init__(self, input_size, hidden_size, output_size):
            super().__init__()
            self.hidden_size = hidden_size
            self.i2h = nn.Linear(input_size + hidden_size, hidden_size)
            self.i2o = nn.Linear(input_size + hidden_size, output_size)
            self.softmax = nn.LogSoftmax(dim=1)

        def forward(self, input, hidden):
            combined = torch.cat((input, hidden), 1)
            return (self.softmax(self.i2o(combined)), self.i2h(combined))

        def initHidden(self):
            return torch.autograd.Variable(torch.zeros(1, self.hidden_size))

    rnn = filled(torch, RNN(n_letters, 4, 3))
    losses = []
    for name, cat in [("Ada", 0), ("Linus", 2), ("O'Neal", 1)] * 2:
        hidden = rnn.initHidden()
        rnn.zero_grad()
        t = line_to_tensor(name)
        for i in range(t.size()[0]):
            output, hidden = rnn(t[i], hidden)
        loss = nn.NLLLoss()(output, torch.LongTensor([cat]))
        loss.backward()
        for p in rnn.parameters():
            p.data.add_(p.grad.data, alpha=-0.05)
        losses.append(loss.item())
    topv, topi = output.data.topk(2, 1, True)
    guess = [(topv[0][i].item(), topi[0][i].item()) for i in range(2)]
    return (losses, guess, hidden.norm(), output.data.type() if False else output.data.dtype == torch.float32)


def lstm_cells_and_wavenet(torch):
    nn = torch.nn
    cell1, cell2 = (filled(torch, nn.LSTMCell(1, 5).double()), filled(torch, nn.GRUCell(5, 4, bias=False).double()))
    lin = filled(torch, nn.Linear(4, 1).double())
    x = values(torch, 2, 6)
    h, c = (torch.zeros(2, 5, dtype=torch.double), torch.zeros(2, 5, dtype=torch.double))
    g = torch.zeros(2, 4, dtype=torch.double)
    outs = []
    for t in x.split(1, dim=1):
        h, c = cell1(t, (h, c))
        g = cell2(h, g)
        outs.append(lin(g))
    for i in range(2):
        h, c = cell1(outs[-1], (h, c))
        g = cell2(h, g)
        outs += [lin(g)]
    out = torch.cat(outs, dim=1)

    class CausalConv1d(nn.Conv1d):
        def __init__(self, in_channels, out_channels, kernel_size, dilation=1, **kw):
            super().__init__(in_channels, out_channels, kernel_size, padding=0, dilation=dilation, **kw)
            self.left = (kernel_size - 1) * dilation

        def forward(self, x):
            return super().forward(nn.functional.pad(x, (self.left, 0)))

    conv = nn.Sequential(
        *[CausalConv1d(1 if i == 0 else 2, 2, 2, dilation=2**i) for i in range(3)], nn.Conv1d(2, 2, 1), nn.GLU(dim=1)
    ).double()
    filled(torch, conv)
    y = conv(x.unsqueeze(1))
    (y.mean() + out.sum()).backward()
    return (out, y, cell1.weight_hh.grad, cell2.weight_ih.grad, repr(conv), repr(cell2))


def crf_batched(torch):
    N, L, T = (2, 4, 3)
    em = values(torch, N, L, T).requires_grad_()
    trans, start, end = (values(torch, T, T).requires_grad_(), values(torch, T), values(torch, T) * 0.5)
    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]], dtype=torch.uint8).bool()
    tags = torch.tensor([[0, 1, 2, 1], [2, 0, 0, 0]])
    e, m, t = (em.transpose(0, 1), mask.t(), tags.t())
    score = start[t[0]] + e[0, torch.arange(N), t[0]]
    alpha = start + e[0]
    for i in range(1, L):
        score += (trans[t[i - 1], t[i]] + e[i, torch.arange(N), t[i]]) * m[i]
        nxt = torch.logsumexp(alpha.unsqueeze(2) + trans + e[i].unsqueeze(1), dim=1)
        alpha = torch.where(m[i].unsqueeze(1), nxt, alpha)
    seq_ends = m.long().sum(dim=0) - 1
    score = score + end[t[seq_ends, torch.arange(N)]]
    nll = (torch.logsumexp(alpha + end, dim=1) - score).mean()
    nll.backward()
    best, hist = (start + e[0], [])
    for i in range(1, L):
        nxt, idx = (best.unsqueeze(2) + trans + e[i].unsqueeze(1)).max(dim=1)
        best = torch.where(m[i].unsqueeze(-1), nxt, best)
        hist.append(idx)
    paths = []
    for b in range(N):
        _, last = (best[b] + end).max(dim=0)
        p = [last.item()]
        for h in reversed(hist[: seq_ends[b]]):
            p.append(h[b][p[-1]].item())
        paths.append(p[::-1])
    return (nll, em.grad, trans.grad, paths)


def ctc_ocr(torch):
    nn, F = (torch.nn, torch.nn.functional)
    cnn = nn.Sequential(
        nn.Conv2d(1, 4, (3, 3), padding=1), nn.ReLU(), nn.MaxPool2d((2, 1)), nn.AdaptiveAvgPool2d((1, None))
    )
    rnn, fc = (nn.GRU(4, 3, bidirectional=True), nn.Linear(6, 5))
    net = filled(torch, nn.ModuleDict(dict(cnn=cnn, rnn=rnn, fc=fc)).double())
    x = values(torch, 2, 1, 4, 8)
    f = net["cnn"](x).squeeze(2).permute(2, 0, 1)
    out, _ = net["rnn"](f)
    logp = net["fc"](out).log_softmax(2)
    targets = torch.IntTensor([1, 2, 2, 4, 3])
    il, tl = (torch.IntTensor([8, 7]), torch.IntTensor([3, 2]))
    loss = nn.CTCLoss(blank=0, reduction="mean", zero_infinity=True)(logp, targets, il, tl)
    l2 = F.ctc_loss(logp, torch.tensor([[1, 2, 2], [4, 3, 0]]), (8, 7), (3, 2), reduction="none")
    loss.backward(retain_graph=True)
    preds = logp.argmax(2).transpose(1, 0).contiguous()
    texts = [[int(k) for k in torch.unique_consecutive(p) if k != 0] for p in preds]
    return (loss, l2, net.fc.weight.grad, texts, net.cnn[0].bias.grad)


def beam_search(torch):
    F = torch.nn.functional
    table = values(torch, 6, 6) * 3
    beams = torch.tensor([[0]])
    scores = torch.zeros(1, dtype=table.dtype)
    for step in range(4):
        logp = F.log_softmax(table[beams[:, -1]], -1)
        cand = (scores[:, None] + logp).flatten()
        scores, idx = torch.topk(cand, k=3, sorted=True)
        beam_id = torch.div(idx, 6, rounding_mode="floor")
        tok = idx % 6
        beams = torch.hstack((beams[beam_id], tok[:, None]))
    lengths = (beams != 0).sum(-1).float()
    norm = scores / ((5 + lengths) / 6).pow(0.6)
    order = norm.argsort(descending=True)
    return (beams[order], norm.sort(descending=True)[0], [" ".join(map(str, b.tolist())) for b in beams])


def nucleus_sampling(torch):
    F = torch.nn.functional

    def top_k_top_p_filtering(logits, top_k=0, top_p=0.0, filter_value=-float("Inf")):
        top_k = min(top_k, logits.size(-1))
        if top_k > 0:
            indices_to_remove = logits < torch.topk(logits, top_k)[0][..., -1, None]
            logits[indices_to_remove] = filter_value
        if top_p > 0.0:
            sorted_logits, sorted_indices = torch.sort(logits, descending=True)
            cumulative_probs = torch.cumsum(F.softmax(sorted_logits, dim=-1), dim=-1)
            sorted_indices_to_remove = cumulative_probs > top_p
            sorted_indices_to_remove[..., 1:] = sorted_indices_to_remove[..., :-1].clone()
            sorted_indices_to_remove[..., 0] = 0
            indices_to_remove = sorted_indices_to_remove.scatter(
                dim=1, index=sorted_indices, src=sorted_indices_to_remove
            )
            logits[indices_to_remove] = filter_value
        return logits

    x = values(torch, 3, 8).float() * 4
    a = top_k_top_p_filtering(x.clone(), top_k=5, top_p=0.8)
    prev = torch.tensor([[0, 2], [1, 1], [7, 3]])
    score = torch.gather(x, 1, prev)
    score = torch.where(score < 0, score * 1.2, score / 1.2)
    y = x.scatter(1, prev, score)
    tok = torch.multinomial(F.softmax(a, dim=-1), num_samples=1)
    eos = tok.eq(3) | (tok == 4)
    unfinished = torch.ones(3, dtype=torch.long).mul((~eos).long().squeeze(1))
    typical = (-x.log_softmax(-1) - torch.special.entr(x.softmax(-1)).sum(-1, keepdim=True)).abs()
    return (a, y, tok.shape, unfinished.dtype == torch.int64, typical, torch.finfo(x.dtype).min)


def word2vec(torch):
    nn, F = (torch.nn, torch.nn.functional)
    text = "we are about to study the idea of a computational process we conjure".split()
    vocab = sorted(set(text))
    ix = {w: i for i, w in enumerate(vocab)}
    bag = filled(torch, nn.EmbeddingBag(len(vocab), 4, mode="sum", sparse=False))
    ngram = nn.Sequential(nn.Embedding(len(vocab), 3), nn.Flatten(), nn.Linear(6, len(vocab)), nn.LogSoftmax(-1))
    filled(torch, ngram)
    data = [([text[i - 2], text[i - 1], text[i + 1], text[i + 2]], text[i]) for i in range(2, len(text) - 2)]
    opt = torch.optim.SGD([{"params": bag.parameters()}, {"params": ngram.parameters(), "lr": 0.5}], lr=0.1)
    total = torch.Tensor([0])
    for ctx, tgt in data:
        ids = torch.tensor([ix[w] for w in ctx], dtype=torch.long)
        opt.zero_grad()
        lp = ngram(ids[:2].view(1, -1))
        s = bag(ids, torch.tensor([0, 2]))
        pos = F.logsigmoid((s[0] * s[1]).sum())
        loss = F.nll_loss(lp, torch.tensor([ix[tgt]])) - pos
        loss.backward()
        opt.step()
        total += loss.item()
    sim = F.cosine_similarity(bag.weight.unsqueeze(0), bag.weight.unsqueeze(1), dim=2)
    offs = torch.tensor([0, 3, 4])
    w = bag(torch.tensor([1, 2, 3, 4, 5]), offs, per_sample_weights=torch.tensor([0.5, 1, 1, 2, 1.0]))
    sp = nn.Embedding.from_pretrained(bag.weight.detach().clone(), freeze=False, sparse=True)
    so = torch.optim.SparseAdam(list(sp.parameters()), lr=0.1)
    sp(torch.tensor([1, 1, 2])).pow(2).sum().backward()
    g = sp.weight.grad.coalesce()
    so.step()
    return (total, sim, w, g.indices(), g.values(), sp.weight, repr(bag))


def lora(torch):
    nn, F = (torch.nn, torch.nn.functional)

    class LoRALinear(nn.Module):
        def __init__(self, base: nn.Linear, r=2, alpha=4):
            super().__init__()
            self.base = base
            self.base.requires_grad_(False)
            self.lora_A = nn.Parameter(base.weight.new_empty(r, base.in_features))
            self.lora_B = nn.Parameter(base.weight.new_zeros((base.out_features, r)))
            self.scaling = alpha / r
            nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))
            self.merged = False

        def forward(self, x):
            y = self.base(x)
            return y if self.merged else y + F.linear(F.linear(x, self.lora_A), self.lora_B) * self.scaling

        @torch.no_grad()
        def merge(self):
            self.base.weight += self.lora_B @ self.lora_A * self.scaling
            self.merged = True

    model = nn.Sequential(
        OrderedDict(
            enc=nn.Sequential(OrderedDict(q_proj=nn.Linear(4, 4), v_proj=nn.Linear(4, 4), act=nn.ReLU())),
            head=nn.Linear(4, 2),
        )
    )
    filled(torch, model)
    for name, module in list(model.named_modules()):
        if isinstance(module, nn.Linear) and name.split(".")[-1] in ("q_proj", "v_proj"):
            parent = model.get_submodule(".".join(name.split(".")[:-1]))
            setattr(parent, name.split(".")[-1], LoRALinear(module))
    for n, p in model.named_parameters():
        p.requires_grad = "lora_" in n
    with torch.no_grad():
        for n, p in model.named_parameters():
            if "lora_A" in n:
                p.copy_(values(torch, *p.shape))
    opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=0.01)
    x, y = (values(torch, 6, 4).float(), torch.tensor([0, 1] * 3))
    for _ in range(3):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        opt.step()
        opt.zero_grad()
    sd = {k: v for k, v in model.state_dict().items() if "lora_" in k}
    before = model(x)
    for m in model.modules():
        if hasattr(m, "merge") and callable(m.merge):
            m.merge()
    res = model.load_state_dict(sd, strict=False)
    return (loss, sd, torch.allclose(before, model(x), atol=1e-06), res.missing_keys, model.enc.q_proj.base.weight)


def flash_and_linear_attention(torch):
    F = torch.nn.functional
    q, k, v = (values(torch, 2, 2, 6, 4) + i / 3 for i in range(3))
    q.requires_grad_()
    alibi = (
        torch.tensor([2 ** (-8 / 2 * (i + 1)) for i in range(2)], dtype=q.dtype)[:, None, None]
        * -(torch.arange(6)[None] - torch.arange(6)[:, None]).abs()
    )
    o1 = F.scaled_dot_product_attention(q, k, v, attn_mask=alibi)
    o2 = F.scaled_dot_product_attention(q, k, v, attn_mask=torch.ones(6, 6, dtype=torch.bool).tril(diagonal=0))

    def phi(x):
        return F.elu(x) + 1

    kv = torch.einsum("bhnd,bhnm->bhdm", phi(k), v)
    z = 1 / (torch.einsum("bhnd,bhd->bhn", phi(q), phi(k).sum(dim=2)) + 1e-06)
    o3 = torch.einsum("bhnd,bhdm,bhn->bhnm", phi(q), kv, z)
    kvc = torch.einsum("...nd,...nm->...ndm", phi(k), v).cumsum(dim=-3)
    o4 = (
        torch.einsum("...nd,...ndm->...nm", phi(q), kvc)
        / torch.einsum("...nd,...nd->...n", phi(q), phi(k).cumsum(-2))[..., None]
    )
    m, total, acc = (
        torch.full((2, 2, 6, 1), -torch.inf, dtype=q.dtype),
        torch.zeros(2, 2, 6, 1, dtype=q.dtype),
        torch.zeros_like(q),
    )
    for kb, vb in zip(k.chunk(3, -2), v.chunk(3, -2)):
        s = q @ kb.mT / 2
        m_new = torch.maximum(m, s.amax(-1, keepdim=True))
        p = torch.exp(s - m_new)
        corr = (m - m_new).exp()
        total = total * corr + p.sum(-1, True)
        acc = acc * corr + p @ vb
        m = m_new
    ref = F.scaled_dot_product_attention(q, k, v)
    local = torch.ones(6, 6).bool().tril().triu(-2)
    lw = (q @ k.mT).masked_fill(~local, -torch.inf).softmax(-1).nan_to_num(0)
    (o1 + o2 + o3 + o4 + acc / total).square().sum().backward()
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        o5 = F.scaled_dot_product_attention(q, k, v)
    return (o1, o2, o3, o4, torch.allclose(acc / total, ref), lw, q.grad, torch.allclose(o5, ref))
