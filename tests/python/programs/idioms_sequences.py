"""Models of sequences and of what they hide."""

import functools
from typing import List, Optional
import string

from program_helpers import Shown, seeded, settled


def hmm_forward(torch):
    show = Shown()
    vals = functools.partial(seeded, torch)

    class HMM(torch.nn.Module):
        def __init__(self, N, M):
            super(HMM, self).__init__()
            self.N, self.M = (N, M)
            self.pi = torch.nn.Parameter(vals(N))
            self.A = torch.nn.Parameter(vals(N, N))
            self.B = torch.nn.Parameter(vals(N, M))

        def forward(self, x, T):
            b, tm = (x.shape[0], x.shape[1])
            lpi, la, lb = (torch.nn.functional.log_softmax(p, dim=-1) for p in (self.pi, self.A, self.B))
            alpha = torch.zeros(b, tm, self.N)
            emis = lb.t()[x]
            a = [emis[:, 0] + lpi]
            for t in range(1, tm):
                a.append(emis[:, t] + torch.logsumexp(a[-1].unsqueeze(-1) + la.unsqueeze(0), dim=1))
            alpha = torch.stack(a, 1)
            sums = alpha.logsumexp(dim=2)
            return torch.gather(sums, 1, T.view(-1, 1) - 1)

        @torch.no_grad()
        def viterbi(self, x):
            la, lb = (self.A.log_softmax(-1), self.B.log_softmax(-1))
            d, ptr = (self.pi.log_softmax(0) + lb[:, x[0]], [])
            for o in x[1:]:
                m, p = (d[:, None] + la).max(0)
                d = m + lb[:, o]
                ptr.append(p)
            path = [d.argmax().item()]
            for p in reversed(ptr):
                path.append(p[path[-1]].item())
            return (path[::-1], d.max().item())

    m = HMM(3, 4)
    x = torch.tensor([[0, 1, 2, 3, 1], [2, 2, 0, 0, 0]])
    T = torch.tensor([5, 3])
    opt = torch.optim.NAdam(m.parameters(), lr=0.1)
    for _ in range(4):
        loss = -m(x, T).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        show(loss.item())
    show(m.viterbi(x[0]), m.A.grad)
    show(
        torch.logaddexp(torch.tensor([-10000.0, 0.0]), torch.tensor([-10000.0, 1.0])),
        torch.logcumsumexp(vals(2, 3), 1),
        torch.logsumexp(torch.full((2, 2), -float("inf")), 1),
    )
    torch.manual_seed(0)
    path = torch.multinomial(m.A.softmax(-1), 2, replacement=True)
    show(path.shape, path.dtype)
    return show.all


def crf_layer(torch):
    show = Shown()
    vals = functools.partial(seeded, torch)
    det = functools.partial(settled, torch)
    nn = torch.nn

    class CRF(nn.Module):
        def __init__(self, num_tags: int, batch_first: bool = False) -> None:
            if num_tags <= 0:
                raise ValueError(f"invalid number of tags: {num_tags}")
            super().__init__()
            self.num_tags, self.batch_first = (num_tags, batch_first)
            self.start_transitions, self.end_transitions = (
                nn.Parameter(torch.empty(num_tags)),
                nn.Parameter(torch.empty(num_tags)),
            )
            self.transitions = nn.Parameter(torch.empty(num_tags, num_tags))
            self.reset_parameters()

        def reset_parameters(self):
            nn.init.uniform_(self.start_transitions, -0.1, 0.1)
            nn.init.uniform_(self.end_transitions, -0.1, 0.1)
            nn.init.uniform_(self.transitions, -0.1, 0.1)

        def __repr__(self):
            return f"{self.__class__.__name__}(num_tags={self.num_tags})"

        def forward(self, emissions, tags, mask: Optional[torch.ByteTensor] = None, reduction="sum"):
            if mask is None:
                mask = torch.ones_like(tags, dtype=torch.uint8)
            if self.batch_first:
                emissions, tags, mask = (emissions.transpose(0, 1), tags.transpose(0, 1), mask.transpose(0, 1))
            llh = self._score(emissions, tags, mask) - self._norm(emissions, mask)
            return (
                llh.sum()
                if reduction == "sum"
                else llh.sum() / mask.type_as(emissions).sum()
                if reduction == "token_mean"
                else llh
            )

        def _score(self, e, tags, mask):
            L, B = tags.shape
            mask = mask.type_as(e)
            s = self.start_transitions[tags[0]]
            s += e[0, torch.arange(B), tags[0]]
            for i in range(1, L):
                s += self.transitions[tags[i - 1], tags[i]] * mask[i]
                s += e[i, torch.arange(B), tags[i]] * mask[i]
            ends = mask.long().sum(dim=0) - 1
            return s + self.end_transitions[tags[ends, torch.arange(B)]]

        def _norm(self, e, mask):
            score = self.start_transitions + e[0]
            for i in range(1, e.size(0)):
                nxt = torch.logsumexp(score.unsqueeze(2) + self.transitions + e[i].unsqueeze(1), dim=1)
                score = torch.where(mask[i].unsqueeze(1).bool(), nxt, score)
            return torch.logsumexp(score + self.end_transitions, dim=1)

        def decode(self, e, mask) -> List[List[int]]:
            if self.batch_first:
                e, mask = (e.transpose(0, 1), mask.transpose(0, 1))
            score, hist = (self.start_transitions + e[0], [])
            for i in range(1, e.size(0)):
                nxt, ind = (score.unsqueeze(2) + self.transitions + e[i].unsqueeze(1)).max(dim=1)
                score = torch.where(mask[i].unsqueeze(1), nxt, score)
                hist.append(ind)
            score += self.end_transitions
            ends = mask.long().sum(dim=0) - 1
            out = []
            for b in range(e.size(1)):
                best = [score[b].max(dim=0)[1].item()]
                for h in reversed(hist[: ends[b]]):
                    best.append(h[b][best[-1]].item())
                best.reverse()
                out.append(best)
            return out

    crf = det(CRF(3, batch_first=True))
    e = vals(2, 4, 3).requires_grad_()
    tags = torch.tensor([[0, 1, 2, 0], [2, 1, 0, 0]])
    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]], dtype=torch.bool)
    loss = -crf(e, tags, mask.byte(), "token_mean")
    loss.backward()
    show(crf, loss, e.grad, crf.transitions.grad)
    show(crf.decode(e.detach(), mask), crf(e, tags, reduction="none"))
    try:
        CRF(0)
    except ValueError as ex:
        show(ex)
    return show.all


def seq2seq_attention_packed(torch):
    show = Shown()
    vals = functools.partial(seeded, torch)
    det = functools.partial(settled, torch)
    nn = torch.nn
    F = torch.nn.functional
    pack_padded_sequence = torch.nn.utils.rnn.pack_padded_sequence
    pad_packed_sequence = torch.nn.utils.rnn.pad_packed_sequence
    pad_sequence = torch.nn.utils.rnn.pad_sequence
    pack_sequence = torch.nn.utils.rnn.pack_sequence
    PackedSequence = torch.nn.utils.rnn.PackedSequence
    unpad_sequence = torch.nn.utils.rnn.unpad_sequence
    unpack_sequence = torch.nn.utils.rnn.unpack_sequence

    class Encoder(nn.Module):
        def __init__(self, V, E, H):
            super().__init__()
            self.emb = nn.Embedding(V, E, padding_idx=0)
            self.rnn = nn.GRU(E, H, bidirectional=True, batch_first=True)
            self.fc = nn.Linear(2 * H, H)

        def forward(self, src, lens):
            p = pack_padded_sequence(self.emb(src), lens.cpu(), batch_first=True, enforce_sorted=False)
            out, h = self.rnn(p)
            out, ls = pad_packed_sequence(out, batch_first=True)
            return (out, torch.tanh(self.fc(torch.cat((h[-2, :, :], h[-1, :, :]), dim=1))))

    class Attn(nn.Module):
        def __init__(self, H):
            super().__init__()
            self.attn = nn.Linear(3 * H, H)
            self.v = nn.Linear(H, 1, bias=False)

        def forward(self, h, enc, mask):
            e = torch.tanh(self.attn(torch.cat((h.unsqueeze(1).repeat(1, enc.shape[1], 1), enc), dim=2)))
            a = self.v(e).squeeze(2).masked_fill(mask == 0, -10000000000.0)
            return F.softmax(a, dim=1)

    class Decoder(nn.Module):
        def __init__(self, V, E, H):
            super().__init__()
            self.V = V
            self.emb = nn.Embedding(V, E)
            self.attn = Attn(H)
            self.rnn = nn.GRUCell(2 * H + E, H)
            self.out = nn.Linear(3 * H + E, V)

        def forward(self, y, h, enc, mask):
            em = self.emb(y)
            a = self.attn(h, enc, mask)
            w = torch.bmm(a.unsqueeze(1), enc).squeeze(1)
            h = self.rnn(torch.cat((em, w), 1), h)
            return (self.out(torch.cat((h, w, em), dim=1)), h, a)

    enc, dec = (det(Encoder(7, 4, 5)), det(Decoder(6, 4, 5)))
    src = pad_sequence([torch.tensor([1, 2, 3]), torch.tensor([4, 5]), torch.tensor([6, 1, 2, 3])], batch_first=True)
    lens = (src != 0).sum(1)
    trg = torch.tensor([[1, 2, 3, 0], [1, 4, 0, 0], [1, 2, 5, 3]])
    opt = torch.optim.Adam([p for m in (enc, dec) for p in m.parameters()], lr=0.01)
    for ep in range(3):
        opt.zero_grad()
        o, h = enc(src, lens)
        outs, y = ([], trg[:, 0])
        for t in range(1, 4):
            lo, h, a = dec(y, h, o, src != 0)
            outs.append(lo)
            y = trg[:, t] if t % 2 else lo.argmax(1)
        loss = F.cross_entropy(torch.stack(outs, 1).flatten(0, 1), trg[:, 1:].reshape(-1), ignore_index=0)
        loss.backward()
        n = torch.nn.utils.clip_grad_norm_(enc.parameters(), 1.0, error_if_nonfinite=True)
        opt.step()
        show(loss.item(), n)
    show(a, enc.emb.weight.grad[0])
    ps = pack_sequence([vals(3, 2), vals(2, 2), vals(1, 2)])
    show(ps.batch_sizes, ps.data.shape, isinstance(ps, PackedSequence), type(ps).__name__)
    show([u.shape for u in unpack_sequence(ps)], unpad_sequence(src.t(), lens)[1], src.dtype)
    lstm = det(nn.LSTM(2, 3, num_layers=2, dropout=0.0, proj_size=2))
    o, (h, c) = lstm(ps)
    show(o.data[:2], h.shape, c.shape, lstm)
    try:
        pack_padded_sequence(src, torch.tensor([2, 3, 4]), batch_first=True)
    except RuntimeError:
        show("refused")
    return show.all


def charrnn_tbptt(torch):
    show = Shown()
    vals = functools.partial(seeded, torch)
    det = functools.partial(settled, torch)
    nn = torch.nn

    class RNN(nn.Module):
        def __init__(self, i, h, o):
            super().__init__()
            self.hidden_size = h
            self.i2h, self.i2o, self.softmax = (nn.Linear(i + h, h), nn.Linear(i + h, o), nn.LogSoftmax(dim=1))

        def forward(self, x, hid):
            c = torch.cat((x, hid), 1)
            return (self.softmax(self.i2o(c)), torch.tanh(self.i2h(c)))

        def initHidden(self):
            return torch.zeros(1, self.hidden_size)

    letters = string.ascii_lowercase[:6]

    def line(s):
        t = torch.zeros(len(s), 1, len(letters))
        for li, c in enumerate(s):
            t[li][0][letters.find(c)] = 1
        return t

    rnn = det(RNN(6, 5, 3))
    crit = nn.NLLLoss()
    for word, cat in (("abc", 0), ("fed", 2), ("bad", 1)):
        h = rnn.initHidden()
        rnn.zero_grad()
        x = line(word)
        for i in range(x.size()[0]):
            o, h = rnn(x[i], h)
        loss = crit(o, torch.tensor([cat]))
        loss.backward()
        for p in rnn.parameters():
            p.data.add_(p.grad.data, alpha=-0.05)
        tv, ti = o.topk(1)
        show(loss.item(), ti[0].item(), tv)

    def repackage(h):
        return h.detach() if isinstance(h, torch.Tensor) else tuple((repackage(v) for v in h))

    def batchify(d, b):
        n = d.size(0) // b
        return d.narrow(0, 0, n * b).view(b, -1).t().contiguous()

    data = batchify(torch.arange(40) % 7, 3)
    lm = det(nn.LSTM(4, 5, 2))
    emb, dec = (det(nn.Embedding(7, 4)), det(nn.Linear(5, 7)))
    h = (torch.zeros(2, 3, 5), torch.zeros(2, 3, 5))
    ps = [*lm.parameters(), *emb.parameters(), *dec.parameters()]
    for i in range(0, data.size(0) - 1, 4):
        n = min(4, len(data) - 1 - i)
        x, y = (data[i : i + n], data[i + 1 : i + 1 + n].view(-1))
        h = repackage(h)
        out, h = lm(emb(x), h)
        loss = nn.functional.cross_entropy(dec(out).view(-1, 7), y)
        [p.grad.zero_() for p in ps if p.grad is not None]
        loss.backward()
        torch.nn.utils.clip_grad_norm_(ps, 0.25, foreach=False)
        for p in ps:
            p.data.add_(p.grad, alpha=-1.0)
        show(f"{loss.item():.5f}")
    cell = det(nn.LSTMCell(3, 4))
    hx, cx = (torch.zeros(2, 4), torch.zeros(2, 4))
    outs = []
    for t in vals(3, 2, 3):
        hx, cx = cell(t, (hx, cx))
        outs.append(hx)
    show(
        torch.stack(outs)[-1],
        lm.all_weights[0][0].shape,
        lm.weight_hh_l1.shape,
        [n for n, _ in lm.named_parameters()][:4],
        lm.flatten_parameters(),
    )
    r, hn = det(nn.RNN(3, 2, nonlinearity="relu", bias=False))(vals(4, 3))
    show(r, hn)
    for names in lm._all_weights:
        [show(n, getattr(lm, n).size(0)) for n in filter(lambda n: "bias" in n, names)]
    for name, p in lm.named_parameters():
        if "weight_ih" in name:
            torch.nn.init.xavier_uniform_(p.data)
        elif "weight_hh" in name:
            torch.nn.init.orthogonal_(p.data)
        elif "bias" in name:
            p.data.fill_(0)
            n = p.size(0)
            p.data[n // 4 : n // 2].fill_(1)
    show(lm.bias_ih_l0)
    return show.all
