"""Graphs, explanations and contrast."""

import functools


from program_helpers import Shown, seeded, settled


def gnn_gcn_gat(torch):
    show = Shown()
    vals = functools.partial(seeded, torch)
    det = functools.partial(settled, torch)
    nn = torch.nn
    F = torch.nn.functional

    def scatter_softmax(src, index, n):
        mx = torch.full((n, *src.shape[1:]), float("-inf")).scatter_reduce(
            0, index[:, None].expand_as(src), src, "amax"
        )
        e = (src - mx[index]).exp()
        s = torch.zeros(n, *src.shape[1:]).index_add(0, index, e)
        return e / (s[index] + 1e-16)

    class GATConv(nn.Module):
        def __init__(self, i, o, heads):
            super().__init__()
            self.heads, self.o = (heads, o)
            self.lin = nn.Linear(i, heads * o, bias=False)
            self.a_src = nn.Parameter(torch.empty(1, heads, o))
            self.a_dst = nn.Parameter(torch.empty(1, heads, o))
            nn.init.xavier_uniform_(self.a_src, gain=nn.init.calculate_gain("leaky_relu", 0.2))
            nn.init.xavier_uniform_(self.a_dst)

        def forward(self, x, ei):
            h = self.lin(x).view(-1, self.heads, self.o)
            al, ar = ((h * self.a_src).sum(-1), (h * self.a_dst).sum(-1))
            src, dst = ei
            a = scatter_softmax(F.leaky_relu(al[src] + ar[dst], 0.2), dst, x.size(0))
            out = torch.zeros_like(h).index_add_(0, dst, h[src] * a.unsqueeze(-1))
            return (out.flatten(1), a)

    def gcn_norm(ei, n):
        ei = torch.cat([ei, torch.arange(n).repeat(2, 1)], dim=1)
        deg = torch.zeros(n).scatter_add_(0, ei[1], torch.ones(ei.size(1)))
        dis = deg.pow(-0.5)
        dis[dis == float("inf")] = 0
        return (ei, dis[ei[0]] * dis[ei[1]])

    ei = torch.tensor([[0, 1, 1, 2, 3, 0], [1, 0, 2, 1, 0, 3]], dtype=torch.long)
    ei, w = gcn_norm(ei, 5)
    A = torch.sparse_coo_tensor(ei, w, (5, 5)).coalesce()
    x = vals(5, 3).requires_grad_()
    W = det(nn.Linear(3, 4, bias=False))
    show(torch.sparse.mm(A, W(x))[0], torch.spmm(A, x)[1], A.to_dense().sum(0))
    gat = det(GATConv(3, 2, 2))
    o, a = gat(x, ei)
    o.square().sum().backward()
    show(o, a.sum(), x.grad[0])
    y = torch.tensor([0, 1, 0, 1, 1])
    mask = torch.tensor([True, True, False, True, False])
    opt = torch.optim.Adam(
        [{"params": gat.parameters(), "weight_decay": 0.0005}, {"params": W.parameters(), "weight_decay": 0}], lr=0.01
    )
    for ep in range(3):
        opt.zero_grad()
        out = (
            F.log_softmax(A @ W(F.elu(x.detach())), dim=1)[:, :2] + F.log_softmax(gat(x.detach(), ei)[0], dim=-1)[:, :2]
        )
        loss = F.nll_loss(out[mask], y[mask])
        loss.backward()
        opt.step()
        show(f"{loss.item():.4f} {(out.argmax(1)[mask] == y[mask]).sum() / mask.sum():.3f}")
    csr = A.to_sparse_csr()
    show(csr.crow_indices(), csr.col_indices(), (csr @ x.detach())[0])
    batch = torch.tensor([0, 0, 1, 1, 1])
    cnt = torch.bincount(batch)
    show(
        torch.zeros(2, 3).index_add_(0, batch, x.detach()) / cnt[:, None],
        torch.segment_reduce(x.detach(), "max", lengths=cnt),
    )
    show(
        torch.zeros(2, 3).scatter_reduce_(
            0, batch[:, None].expand(-1, 3), x.detach(), reduce="mean", include_self=False
        )
    )
    return show.all


def gradcam_saliency(torch):
    show = Shown()
    vals = functools.partial(seeded, torch)
    det = functools.partial(settled, torch)
    nn = torch.nn
    F = torch.nn.functional
    net = det(
        nn.Sequential(
            nn.Conv2d(1, 4, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(4, 4, 3, padding=1),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(4, 3),
        )
    ).eval()

    class GradCAM:
        def __init__(self, model, layer):
            self.model = model
            self.h = [layer.register_forward_hook(self.fwd), layer.register_full_backward_hook(self.bwd)]

        def fwd(self, m, i, o):
            self.act = o.detach()

        def bwd(self, m, gi, go):
            self.grad = go[0].detach()

        def __call__(self, x, c=None):
            lo = self.model(x)
            c = lo.argmax(1) if c is None else c
            self.model.zero_grad()
            one = torch.zeros_like(lo)
            one[torch.arange(len(x)), c] = 1
            lo.backward(gradient=one, retain_graph=True)
            w = self.grad.mean(dim=(2, 3), keepdim=True)
            cam = F.relu((w * self.act).sum(1, keepdim=True))
            cam = F.interpolate(cam, x.shape[2:], mode="bilinear", align_corners=False)
            cam -= cam.amin((2, 3), keepdim=True)
            return cam / (cam.amax((2, 3), keepdim=True) + 1e-08)

    x = vals(2, 1, 6, 6)
    g = GradCAM(net, net[2])
    show(g(x)[0, 0, :2], g(x, torch.tensor([1, 2])).sum((1, 2, 3)))
    x.requires_grad_()
    s, i = net(x).max(1)
    s.sum().backward()
    show(x.grad.abs().amax(1)[0, 0], i)
    base = torch.zeros_like(x)
    ig = torch.zeros_like(x)
    for a in torch.linspace(0, 1, 8):
        z = (base + a * (x - base)).detach().requires_grad_()
        ig += torch.autograd.grad(net(z)[:, 0].sum(), z)[0] / 8
    show(((x - base) * ig).sum((1, 2, 3)), net(x)[:, 0] - net(base)[:, 0])

    def fgsm(x, y, eps=0.1):
        x = x.clone().detach().requires_grad_(True)
        F.cross_entropy(net(x), y).backward()
        return torch.clamp(x + eps * x.grad.data.sign(), -1, 1).detach()

    def pgd(x, y, eps=0.1, a=0.03, n=3):
        o = x.clone().detach()
        x = o.clone()
        for _ in range(n):
            x.requires_grad = True
            loss = F.cross_entropy(net(x), y)
            g = torch.autograd.grad(loss, x, retain_graph=False, create_graph=False)[0]
            x = x.detach() + a * g.sign()
            x = o + torch.clamp(x - o, min=-eps, max=eps)
            x = x.clamp(-1, 1)
        return x

    y = torch.tensor([0, 1])
    show(
        F.cross_entropy(net(fgsm(x, y)), y),
        F.cross_entropy(net(pgd(x.detach(), y)), y),
        (pgd(x.detach(), y) - x).abs().max(),
    )

    class GuidedReLU(torch.autograd.Function):
        @staticmethod
        def forward(ctx, i):
            o = i.clamp(min=0)
            ctx.save_for_backward(i, o)
            return o

        @staticmethod
        def backward(ctx, g):
            i, o = ctx.saved_tensors
            return torch.addcmul(
                torch.zeros_like(g), torch.addcmul(torch.zeros_like(g), g, (i > 0).type_as(g)), (g > 0).type_as(g)
            )

    for n, m in net._modules.items():
        if m.__class__.__name__ == "ReLU":
            net._modules[n] = type("G", (nn.Module,), {"forward": lambda self, z: GuidedReLU.apply(z)})()
    x.grad = None
    net(x)[:, 0].sum().backward()
    show(x.grad[0, 0, 0], [type(m).__name__ for m in net][:2])
    occl = torch.stack([net(x.detach().masked_fill(torch.arange(6).eq(c).view(1, 1, 1, 6), 0))[0, 0] for c in range(6)])
    show(occl.argmin())
    return show.all


def simclr_clip_losses(torch):
    show = Shown()
    vals = functools.partial(seeded, torch)
    det = functools.partial(settled, torch)
    nn = torch.nn
    F = torch.nn.functional

    def nt_xent(z1, z2, t=0.5):
        n = z1.size(0)
        z = F.normalize(torch.cat([z1, z2]), dim=1)
        sim = torch.mm(z, z.T.contiguous()) / t
        sim = sim[~torch.eye(2 * n, dtype=bool)].view(2 * n, -1)
        pos = torch.cat([(z1n * z2n).sum(1) for z1n, z2n in [(z[:n], z[n:])]] * 2) / t
        return (-pos + sim.logsumexp(1)).mean()

    z1, z2 = (vals(4, 5).requires_grad_(), vals(4, 5, seed=3).requires_grad_())
    part = nt_xent(z1, z2)
    part.backward()
    show(part, z1.grad[0])

    class CLIP(nn.Module):
        def __init__(self):
            super().__init__()
            self.img, self.txt = (nn.Linear(5, 4), nn.EmbeddingBag(9, 4, mode="mean"))
            self.logit_scale = nn.Parameter(torch.ones([]) * torch.tensor(1 / 0.07).log())

        def forward(self, i, t):
            i, t = (self.img(i), self.txt(t))
            i = i / i.norm(dim=-1, keepdim=True)
            t = t / t.norm(dim=1, keepdim=True)
            s = self.logit_scale.exp().clamp(max=100)
            return (s * i @ t.t(), (s * i @ t.t()).t())

    m = det(CLIP())
    m.logit_scale.data.fill_(2.6593)
    li, lt = m(vals(4, 5), torch.arange(12).view(4, 3) % 9)
    gt = torch.arange(4)
    loss = (F.cross_entropy(li, gt) + F.cross_entropy(lt, gt)) / 2
    loss.backward()
    show(loss.item(), m.logit_scale.grad, m.txt.weight.grad.norm())
    d = torch.cdist(z1, z2)
    dd = torch.cdist(z1, z2, p=1, compute_mode="donot_use_mm_for_euclid_dist")
    show(d, dd.diagonal(), F.pairwise_distance(z1, z2, p=2, keepdim=True).T, F.pdist(z1))
    labels = torch.tensor([0, 1, 0, 1])
    mask = torch.eq(labels.view(-1, 1), labels.view(1, -1)).float()
    f = F.normalize(z1, dim=-1)
    logits = f @ f.T / 0.1
    logits = logits - logits.max(dim=1, keepdim=True)[0].detach()
    lm = torch.scatter(torch.ones_like(mask), 1, torch.arange(4).view(-1, 1), 0)
    mask = mask * lm
    logp = logits - torch.log((logits.exp() * lm).sum(1, keepdim=True))
    show(-(mask * logp).sum(1) / mask.sum(1))
    c = ((z1 - z1.mean(0)) / z1.std(0)).T @ ((z2 - z2.mean(0)) / z2.std(0)) / 4
    off = c.flatten()[:-1].view(4, 6)[:, 1:].flatten()
    show(torch.diagonal(c).add_(-1).pow_(2).sum() + 0.005 * off.pow(2).sum())
    show(torch.cov(z1.T).pow(2).fill_diagonal_(0).sum(), F.relu(1 - torch.sqrt(z1.var(dim=0) + 0.0001)).mean())
    show(
        F.cosine_embedding_loss(z1, z2, torch.tensor([1, -1, 1, -1.0]), margin=0.2),
        F.triplet_margin_with_distance_loss(
            z1, z2, z1.flip(0), distance_function=lambda a, b: 1 - F.cosine_similarity(a, b), swap=True
        ),
    )
    return show.all


def equilibrium_implicit(torch):
    show = Shown()
    vals = functools.partial(seeded, torch)
    det = functools.partial(settled, torch)
    nn = torch.nn

    class DEQ(nn.Module):
        def __init__(self, d):
            super().__init__()
            self.lin = nn.Linear(d, d, bias=False)
            self.inp = nn.Linear(d, d)

        def f(self, z, x):
            return torch.tanh(self.lin(z) * 0.5 + self.inp(x))

        def forward(self, x):
            with torch.no_grad():
                z = torch.zeros_like(x)
                for _ in range(40):
                    z = self.f(z, x)
            z = self.f(z, x)
            if z.requires_grad:
                z0 = z.clone().detach().requires_grad_()
                f0 = self.f(z0, x)

                def bw(g):
                    y = g
                    for _ in range(40):
                        y = torch.autograd.grad(f0, z0, y, retain_graph=True)[0] + g
                    return y

                z.register_hook(bw)
            return z

    m = det(DEQ(3))
    x = vals(2, 3).requires_grad_()
    z = m(x)
    z.pow(2).sum().backward()
    g = (x.grad.clone(), m.lin.weight.grad.clone())
    m.zero_grad()
    x.grad = None
    z = torch.zeros(2, 3)
    for _ in range(60):
        z = m.f(z, x)
    z.pow(2).sum().backward()
    show((x.grad - g[0]).abs().max() < 0.0001, (m.lin.weight.grad - g[1]).abs().max() < 0.0001, g[0])

    class Solve(torch.autograd.Function):
        @staticmethod
        def forward(ctx, A, b):
            x = torch.linalg.solve(A, b)
            ctx.save_for_backward(A, x)
            return x

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, g):
            A, x = ctx.saved_tensors
            u = torch.linalg.solve(A.mT, g)
            return (-u[:, None] * x[None] if ctx.needs_input_grad[0] else None, u)

    A = (vals(3, 3) + 3 * torch.eye(3)).double().requires_grad_()
    b = vals(3).double().requires_grad_()
    show(torch.autograd.gradcheck(Solve.apply, (A, b)))

    def sinkhorn(C, eps=0.1, n=20):
        f, g = (torch.zeros(C.size(0)), torch.zeros(C.size(1)))
        [
            (
                (f := (-eps * torch.logsumexp((g[None] - C) / eps, 1) - eps * torch.tensor(float(C.size(0))).log())),
                (g := (-eps * torch.logsumexp((f[:, None] - C) / eps, 0) - eps * torch.tensor(float(C.size(1))).log())),
            )
            for _ in range(n)
        ]
        return torch.exp((f[:, None] + g[None] - C) / eps)

    C = torch.cdist(vals(3, 2), vals(4, 2, seed=1)).requires_grad_()
    P = sinkhorn(C)
    (P * C).sum().backward()
    show(P, P.sum(1), C.grad)

    def soft_sort(s, tau=0.1):
        ss = s.sort(descending=True)[0]
        return (-(ss[:, None] - s[None]).abs() / tau).softmax(-1)

    s = vals(4).requires_grad_()
    (soft_sort(s) @ s)[0].backward()
    show(s.grad, soft_sort(s))

    def soft_dtw(D, gamma=1.0):
        n, m = D.shape
        R = {(-1, -1): torch.tensor(0.0)}
        inf = torch.tensor(1000000000.0)
        for i in range(n):
            for j in range(m):
                r = torch.stack([R.get((i - 1, j - 1), inf), R.get((i - 1, j), inf), R.get((i, j - 1), inf)])
                R[i, j] = D[i, j] - gamma * torch.logsumexp(-r / gamma, 0)
        return R[n - 1, m - 1]

    D = vals(3, 4).abs().requires_grad_()
    soft_dtw(D).backward()
    show(D.grad)
    return show.all
