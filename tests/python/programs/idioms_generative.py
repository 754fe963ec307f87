"""Flows, diffusion, autoencoders and adversaries."""

import functools


from program_helpers import Shown, seeded, settled


def realnvp_flow(torch):
    show = Shown()
    vals = functools.partial(seeded, torch)
    det = functools.partial(settled, torch)
    nn = torch.nn
    D = torch.distributions

    class Coupling(nn.Module):
        def __init__(self, dim, mask):
            super().__init__()
            self.register_buffer("mask", mask)
            self.net = nn.Sequential(nn.Linear(dim, 8), nn.Tanh(), nn.Linear(8, 2 * dim))
            self.scale = nn.Parameter(torch.zeros(dim))

        def forward(self, x):
            s, t = self.net(x * self.mask).chunk(2, -1)
            s = s.tanh() * self.scale.exp()
            s, t = (s * (1 - self.mask), t * (1 - self.mask))
            return (x * s.exp() + t, s.sum(-1))

        def inverse(self, z):
            s, t = self.net(z * self.mask).chunk(2, -1)
            s = s.tanh() * self.scale.exp()
            s, t = (s * (1 - self.mask), t * (1 - self.mask))
            return (z - t) * (-s).exp()

    class Flow(nn.Module):
        def __init__(self, dim, n):
            super().__init__()
            m = torch.arange(dim) % 2
            self.layers = nn.ModuleList([Coupling(dim, (m if i % 2 else 1 - m).float()) for i in range(n)])
            self.register_buffer("loc", torch.zeros(dim))
            self.register_buffer("cov", torch.eye(dim))

        @property
        def base(self):
            return D.MultivariateNormal(self.loc, self.cov)

        def log_prob(self, x):
            ld = x.new_zeros(x.shape[0])
            for part in self.layers:
                x, d = part(x)
                ld = ld + d
            return self.base.log_prob(x) + ld

        def sample(self, shape):
            z = self.base.sample(shape)
            for part in reversed(self.layers):
                z = part.inverse(z)
            return z

    f = det(Flow(3, 4))
    x = vals(6, 3)
    opt = torch.optim.Adamax(f.parameters(), lr=0.01)
    for i in range(3):
        loss = -f.log_prob(x).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        show(f"{loss:.5f}")
    z = x
    for part in f.layers:
        z, _ = part(z)
    for part in list(f.layers)[::-1]:
        z = part.inverse(z)
    show(torch.allclose(z, x, atol=1e-05), f.sample((5,)).shape, f.sample(torch.Size([2, 3])).shape)
    J = torch.autograd.functional.jacobian(lambda v: f.layers[0](v[None])[0][0], x[0])
    show(torch.linalg.slogdet(J), f.layers[0](x[:1])[1])
    td = D.TransformedDistribution(D.Normal(0.0, 1.0), [D.AffineTransform(loc=1.0, scale=2.0), D.ExpTransform()])
    show(td.log_prob(torch.tensor([0.5, 3.0])), td.cdf(torch.tensor(2.0)), td)
    return show.all


def vae_beta(torch):
    show = Shown()
    vals = functools.partial(seeded, torch)
    det = functools.partial(settled, torch)
    nn = torch.nn
    optim = torch.optim
    F = torch.nn.functional

    class VAE(nn.Module):
        def __init__(self):
            super(VAE, self).__init__()
            self.fc1, self.fc21, self.fc22, self.fc3, self.fc4 = (
                nn.Linear(16, 8),
                nn.Linear(8, 2),
                nn.Linear(8, 2),
                nn.Linear(2, 8),
                nn.Linear(8, 16),
            )
            self.eps = vals(4, 2, seed=2)

        def encode(self, x):
            h1 = F.relu(self.fc1(x))
            return (self.fc21(h1), self.fc22(h1))

        def reparameterize(self, mu, logvar):
            std = torch.exp(0.5 * logvar)
            eps = self.eps if self.training else torch.randn_like(std)
            return mu + eps * std

        def decode(self, z):
            return torch.sigmoid(self.fc4(F.relu(self.fc3(z))))

        def forward(self, x):
            mu, logvar = self.encode(x.view(-1, 16))
            return (self.decode(self.reparameterize(mu, logvar)), mu, logvar)

    model = det(VAE())
    opt = optim.Adam(model.parameters(), lr=0.01)
    data = torch.sigmoid(vals(4, 1, 4, 4))

    def loss_function(rx, x, mu, lv, beta):
        return F.binary_cross_entropy(rx, x.view(-1, 16), reduction="sum") + beta * (
            -0.5 * torch.sum(1 + lv - mu.pow(2) - lv.exp())
        )

    for i in range(4):
        opt.zero_grad()
        r, mu, lv = model(data)
        loss = loss_function(r, data, mu, lv, min(1.0, i / 3))
        loss.backward()
        opt.step()
        show(loss.item() / len(data))
    show(model.eps.shape, "eps" in model.state_dict(), model.decode(torch.zeros(1, 2)))
    q = torch.distributions.Normal(mu, (0.5 * lv).exp())
    p = torch.distributions.Normal(torch.zeros_like(mu), torch.ones_like(lv))
    show(torch.distributions.kl_divergence(q, p).sum(-1), -0.5 * (1 + lv - mu**2 - lv.exp()).sum(1))
    log_w = torch.stack(
        [
            torch.distributions.Bernoulli(probs=r).log_prob(data.view(4, 16).round()).sum(-1)
            + p.log_prob(mu).sum(-1)
            - q.log_prob(mu).sum(-1)
            for _ in range(3)
        ]
    )
    show(torch.logsumexp(log_w, 0) - torch.tensor(3.0).log())
    cap = torch.clamp(torch.tensor(0.3 * 4), 0, 25.0)
    show(30 * (torch.distributions.kl_divergence(q, p).sum(1).mean() - cap).abs())
    return show.all


def gan_dcgan(torch):
    show = Shown()
    vals = functools.partial(seeded, torch)
    det = functools.partial(settled, torch)
    nn = torch.nn

    def weights_init(m):
        classname = m.__class__.__name__
        if classname.find("Conv") != -1:
            nn.init.normal_(m.weight.data, 0.0, 0.02)
        elif classname.find("BatchNorm") != -1:
            nn.init.normal_(m.weight.data, 1.0, 0.02)
            nn.init.constant_(m.bias.data, 0)

    G = nn.Sequential(
        nn.ConvTranspose2d(3, 8, 4, 1, 0, bias=False),
        nn.BatchNorm2d(8),
        nn.ReLU(True),
        nn.ConvTranspose2d(8, 1, 4, 2, 1, bias=False),
        nn.Tanh(),
    )
    D = nn.Sequential(
        nn.Conv2d(1, 4, 4, 2, 1, bias=False),
        nn.LeakyReLU(0.2, inplace=True),
        nn.Conv2d(4, 1, 4, 1, 0, bias=False),
        nn.Sigmoid(),
    )
    G.apply(weights_init)
    D.apply(weights_init)
    det(G, 0.3)
    det(D, 0.3)
    crit = nn.BCELoss()
    oD, oG = (
        torch.optim.Adam(D.parameters(), lr=0.002, betas=(0.5, 0.999)),
        torch.optim.Adam(G.parameters(), lr=0.002, betas=(0.5, 0.999)),
    )
    real_label, fake_label = (1.0, 0.0)
    for i in range(3):
        D.zero_grad()
        real = vals(4, 1, 8, 8).tanh()
        label = torch.full((4,), real_label, dtype=torch.float)
        out = D(real).view(-1)
        eD = crit(out, label)
        eD.backward()
        D_x = out.mean().item()
        fake = G(vals(4, 3, 1, 1, seed=i))
        label.fill_(fake_label)
        out = D(fake.detach()).view(-1)
        eF = crit(out, label)
        eF.backward()
        oD.step()
        G.zero_grad()
        label.fill_(real_label)
        out = D(fake).view(-1)
        eG = crit(out, label)
        eG.backward()
        oG.step()
        show("%.4f %.4f %.4f / %.4f" % (eD.item() + eF.item(), eG.item(), D_x, out.mean().item()))
    x = real.clone().requires_grad_()
    d = D(x)
    (g,) = torch.autograd.grad(d.sum(), x, create_graph=True)
    r1 = g.pow(2).reshape(4, -1).sum(1).mean() * 5
    D.zero_grad()
    r1.backward()
    show(r1.item(), D[0].weight.grad.norm())
    show(
        torch.relu(1 - d).mean() + torch.relu(1 + d).mean(),
        nn.functional.softplus(-d).mean(),
        nn.MSELoss()(d, torch.ones_like(d)),
    )
    w = vals(2, 3, requires_grad=True) if False else vals(2, 3).requires_grad_()
    img = (w @ vals(3, 16)).view(2, 1, 4, 4)
    noise = vals(2, 1, 4, 4, seed=8) / 4
    gr = torch.autograd.grad((img * noise).sum(), w, create_graph=True)[0]
    show(gr.pow(2).sum(1).sqrt())

    def mmd(x, y, s=(1.0, 2.0)):
        xx, yy, xy = (torch.cdist(x, x) ** 2, torch.cdist(y, y) ** 2, torch.cdist(x, y) ** 2)
        return sum(((torch.exp(-xx / a) + torch.exp(-yy / a) - 2 * torch.exp(-xy / a)).mean() for a in s))

    show(mmd(vals(4, 3), vals(4, 3, seed=1)))
    S = vals(3, 3) @ vals(3, 3).T
    e, v = torch.linalg.eigh(S)
    show((v @ e.clamp(0).sqrt().diag() @ v.T).trace())
    return show.all


def vqvae_gumbel(torch):
    show = Shown()
    vals = functools.partial(seeded, torch)
    det = functools.partial(settled, torch)
    nn = torch.nn
    F = torch.nn.functional

    class EMAQuantizer(nn.Module):
        def __init__(self, n, d, decay=0.9, eps=1e-05):
            super().__init__()
            embed = vals(d, n)
            self.register_buffer("embed", embed)
            self.register_buffer("cluster_size", torch.zeros(n))
            self.register_buffer("embed_avg", embed.clone())
            self.n, self.d, self.decay, self.eps = (n, d, decay, eps)

        def forward(self, input):
            flatten = input.reshape(-1, self.d)
            dist = (
                flatten.pow(2).sum(1, keepdim=True) - 2 * flatten @ self.embed + self.embed.pow(2).sum(0, keepdim=True)
            )
            _, ind = (-dist).max(1)
            onehot = F.one_hot(ind, self.n).type(flatten.dtype)
            ind = ind.view(*input.shape[:-1])
            q = F.embedding(ind, self.embed.transpose(0, 1))
            if self.training:
                self.cluster_size.data.mul_(self.decay).add_(onehot.sum(0), alpha=1 - self.decay)
                self.embed_avg.data.mul_(self.decay).add_(flatten.transpose(0, 1) @ onehot, alpha=1 - self.decay)
                n = self.cluster_size.sum()
                cs = (self.cluster_size + self.eps) / (n + self.n * self.eps) * n
                self.embed.data.copy_(self.embed_avg / cs.unsqueeze(0))
            diff = (q.detach() - input).pow(2).mean()
            return (input + (q - input).detach(), diff, ind)

    enc, dec = (det(nn.Conv2d(1, 4, 4, 2, 1)), det(nn.ConvTranspose2d(4, 1, 4, 2, 1)))
    vq = EMAQuantizer(6, 4)
    opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], 0.003, amsgrad=True)
    x = vals(2, 1, 8, 8)
    for i in range(3):
        with torch.enable_grad():
            z = enc(x).permute(0, 2, 3, 1)
            q, diff, ind = vq(z)
            rec = dec(q.permute(0, 3, 1, 2))
            loss = F.mse_loss(rec, x) + 0.25 * diff
        opt.zero_grad()
        loss.backward()
        opt.step()
        show(loss.item(), ind.unique().tolist(), enc.weight.grad.abs().sum().item())
    vq.eval()
    show(vq(z)[1], vq.cluster_size, {k: v.shape for k, v in vq.state_dict().items()})
    logits = vals(3, 4).requires_grad_()
    torch.manual_seed(0)
    y = F.gumbel_softmax(logits, tau=0.5, hard=True, dim=-1)
    show(y.sum(-1), (y == y.round()).all(), y.requires_grad)
    (y * torch.arange(4.0)).sum().backward()
    show(logits.grad.shape)

    def fsq(z, levels):
        L = torch.tensor(levels)
        half = (L - 1) * (1 - 0.001) / 2
        off = torch.where(L % 2 == 0, 0.5, 0.0)
        shift = (off / half).atanh()
        b = (z + shift).tanh() * half - off
        zh = b + (b.round() - b).detach()
        basis = torch.cumprod(torch.tensor([1] + levels[:-1]), 0)
        return (zh, ((zh / (L // 2) * (L // 2) + L // 2) * basis).sum(-1).to(torch.int32))

    show(fsq(vals(4, 3), [8, 5, 5]))
    return show.all
