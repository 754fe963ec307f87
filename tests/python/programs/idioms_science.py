"""Differential equations, filters and processes."""

import functools


from program_helpers import Shown, seeded, settled


def neural_ode_adjoint(torch):
    show = Shown()
    det = functools.partial(settled, torch)
    nn = torch.nn

    class Func(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(2, 6), nn.Tanh(), nn.Linear(6, 2))
            for m in self.net.modules():
                if isinstance(m, nn.Linear):
                    nn.init.constant_(m.bias, val=0)

        def forward(self, t, y):
            return self.net(y**3)

    def rk4(f, t0, t1, y):
        h = t1 - t0
        k1 = f(t0, y)
        k2 = f(t0 + h / 2, y + h * k1 / 2)
        k3 = f(t0 + h / 2, y + h * k2 / 2)
        k4 = f(t1, y + h * k3)
        return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    class Adjoint(torch.autograd.Function):
        @staticmethod
        def forward(ctx, y0, t, flat, func):
            with torch.no_grad():
                ys = [y0]
                for a, b in zip(t[:-1], t[1:]):
                    ys.append(rk4(func, a, b, ys[-1]))
                ys = torch.stack(ys)
            ctx.func = func
            ctx.save_for_backward(t, ys.clone(), flat)
            return ys

        @staticmethod
        def backward(ctx, g):
            t, ys, flat = ctx.saved_tensors
            func = ctx.func
            ps = tuple(func.parameters())
            adj, gp = (torch.zeros_like(ys[0]), torch.zeros_like(flat))

            def aug(t, state):
                y, a, _ = state
                with torch.enable_grad():
                    y = y.detach().requires_grad_(True)
                    f = func(t, y)
                    dy, *dp = torch.autograd.grad(f, (y, *ps), a, allow_unused=True)
                dp = torch.cat(
                    [d.reshape(-1) if d is not None else torch.zeros_like(p).reshape(-1) for d, p in zip(dp, ps)]
                )
                return (f, -dy, -dp)

            for i in range(len(t) - 1, 0, -1):
                adj = adj + g[i]
                h = t[i - 1] - t[i]
                s = (ys[i], adj, gp)
                for _ in range(1):
                    k1 = aug(t[i], s)
                    k2 = aug(t[i] + h / 2, [x + h / 2 * k for x, k in zip(s, k1)])
                    k3 = aug(t[i] + h / 2, [x + h / 2 * k for x, k in zip(s, k2)])
                    k4 = aug(t[i - 1], [x + h * k for x, k in zip(s, k3)])
                    s = [x + h / 6 * (a + 2 * b + 2 * c + d) for x, a, b, c, d in zip(s, k1, k2, k3, k4)]
                _, adj, gp = s
            return (adj + g[0], None, gp, None)

    f = det(Func()).double()
    t = torch.linspace(0.0, 1.0, 11, dtype=torch.float64)
    y0 = torch.tensor([[2.0, 0.0], [0.5, -1.0]], dtype=torch.float64, requires_grad=True)
    flat = torch.nn.utils.parameters_to_vector(f.parameters())
    ys = Adjoint.apply(y0, t, flat, f)
    ys[-1].pow(2).sum().backward()
    show(ys[-1], y0.grad)
    g1 = torch.cat([p.grad.flatten() for p in f.parameters()])
    y1 = y0.detach().clone().requires_grad_()
    y = y1
    for a, b in zip(t[:-1], t[1:]):
        y = rk4(f, a, b, y)
    gs = torch.autograd.grad(y.pow(2).sum(), [y1, *f.parameters()])
    show(
        torch.allclose(gs[0], y0.grad, rtol=0.001),
        (torch.cat([g.flatten() for g in gs[1:]]) - g1).abs().max() < 0.001,
        ys.grad_fn.name(),
    )
    return show.all


def pinn_burgers(torch):
    show = Shown()
    det = functools.partial(settled, torch)
    nn = torch.nn
    torch.set_default_dtype(torch.float64)

    class PINN(nn.Module):
        def __init__(self, layers):
            super().__init__()
            self.linears = nn.ModuleList([nn.Linear(layers[i], layers[i + 1]) for i in range(len(layers) - 1)])
            for part in self.linears:
                nn.init.xavier_normal_(part.weight.data, gain=1.0)
                nn.init.zeros_(part.bias.data)
            self.nu = nn.Parameter(torch.tensor(0.05))
            self.act = nn.Tanh()
            self.iter = 0

        def forward(self, x, t):
            a = torch.hstack((x, t))
            for part in self.linears[:-1]:
                a = self.act(part(a))
            return self.linears[-1](a)

        def residual(self, x, t):
            x = x.clone().requires_grad_(True)
            t = t.clone().requires_grad_(True)
            u = self(x, t)
            u_t = torch.autograd.grad(u, t, torch.ones_like(u), create_graph=True)[0]
            u_x = torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)[0]
            u_xx = torch.autograd.grad(u_x, x, torch.ones_like(u_x), create_graph=True)[0]
            u_xxx = torch.autograd.grad(u_xx.sum(), x, create_graph=True)[0]
            return u_t + u * u_x - self.nu * u_xx + 0.001 * u_xxx

    m = PINN([2, 8, 8, 1])
    det(m)
    X, T = torch.meshgrid(torch.linspace(-1, 1, 5), torch.linspace(0, 1, 4), indexing="ij")
    x, t = (X.flatten()[:, None], T.flatten()[:, None])
    opt = torch.optim.LBFGS(
        m.parameters(),
        lr=1,
        max_iter=5,
        max_eval=8,
        history_size=10,
        tolerance_grad=1e-09,
        line_search_fn="strong_wolfe",
    )
    hist = []

    def closure():
        opt.zero_grad()
        loss = m.residual(x, t).pow(2).mean() + (m(x, torch.zeros_like(t)) + torch.sin(torch.pi * x)).pow(2).mean()
        loss.backward()
        hist.append(loss.item())
        return loss

    for _ in range(2):
        opt.step(closure)
    show(hist[:3], len(hist), m.nu.item(), opt.state_dict()["state"][0]["func_evals"])
    h = torch.autograd.functional.hessian(lambda v: m(v[:1][None], v[1:][None]).sum(), torch.tensor([0.3, 0.2]))
    show(h, h.dtype)
    lap = torch.func.vmap(lambda v: torch.trace(torch.func.hessian(lambda w: m(w[:1], w[1:]).squeeze())(v)))(
        torch.cat([x, t], 1)[:4]
    )
    show(lap)
    return show.all


def kalman_ekf(torch):
    show = Shown()
    vals = functools.partial(seeded, torch)
    torch.set_default_dtype(torch.double)
    Tensor = torch.Tensor

    def kf(zs: Tensor, F: Tensor, H: Tensor, Q: Tensor, R: Tensor):
        n = F.shape[0]
        x = F.new_zeros(n, 1)
        P = torch.eye(n).mul(10.0)
        ll = 0.0
        xs, Ps = ([], [])
        for z in zs.unbind():
            x, P = (F @ x, F @ P @ F.mT + Q)
            y = z.view(-1, 1) - H @ x
            S = H @ P @ H.T + R
            L = torch.linalg.cholesky(S)
            K = torch.cholesky_solve(H @ P, L).mT
            x = x + K @ y
            identity = torch.eye(n)
            P = (identity - K @ H) @ P @ (identity - K @ H).T + K @ R @ K.T
            ll = ll - 0.5 * (
                torch.cholesky_solve(y, L).mul(y).sum()
                + 2 * L.diagonal().log().sum()
                + y.numel() * torch.log(torch.tensor(2 * torch.pi))
            )
            xs.append(x.squeeze(-1))
            Ps.append(P)
        return (torch.stack(xs), torch.stack(Ps), ll)

    dt = 0.1
    F_ = torch.tensor([[1, dt], [0, 1]])
    H = torch.tensor([[1.0, 0]])
    zs = torch.linspace(0, 1, 8).square() + 0.05 * vals(8)
    logq = torch.tensor([-3.0, -2.0], requires_grad=True)
    logr = torch.tensor(-2.0, requires_grad=True)
    opt = torch.optim.Rprop([logq, logr], lr=0.1, etas=(0.5, 1.2))
    for _ in range(3):
        xs, Ps, ll = kf(zs, F_, H, torch.diag_embed(logq.exp()), logr.exp().reshape(1, 1))
        opt.zero_grad()
        (-ll).backward()
        opt.step()
        show(ll.item(), logq.grad, logr.grad.item())
    xs, Ps = (xs.detach(), Ps.detach())
    sm, sP = ([xs[-1]], [Ps[-1]])
    for t in range(len(xs) - 2, -1, -1):
        Pp = F_ @ Ps[t] @ F_.T + torch.eye(2) * 0.01
        C = torch.linalg.solve(Pp, F_ @ Ps[t]).T
        sm.insert(0, xs[t] + C @ (sm[0] - F_ @ xs[t]))
        sP.insert(0, Ps[t] + C @ (sP[0] - Pp) @ C.T)
    show(torch.stack(sm), torch.stack(sP)[0])

    def h(s):
        return torch.stack([s.norm(), torch.atan2(s[1], s[0])])

    J = torch.autograd.functional.jacobian(h, torch.tensor([1.0, 2.0]))
    show(J, F_.dtype, dt * torch.ones(1))
    n = 2
    U = torch.linalg.cholesky((n + 1) * Ps[-1], upper=True)
    pts = torch.cat([xs[-1:], xs[-1] + U, xs[-1] - U])
    show(pts, torch.cov(pts.T, correction=0), torch.corrcoef(pts.T))
    w = torch.softmax(vals(6), 0)
    u = (torch.arange(6) + 0.5) / 6
    show(torch.searchsorted(w.cumsum(0), u), 1 / w.square().sum(), torch.bucketize(u, w.cumsum(0), right=True))
    return show.all


def gaussian_process(torch):
    show = Shown()
    vals = functools.partial(seeded, torch)
    torch.set_default_dtype(torch.float64)

    class GP(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.ls, self.os, self.noise = (torch.nn.Parameter(torch.zeros(())) for _ in range(3))

        def k(self, a, b):
            return self.os.exp() * torch.exp(-0.5 * torch.cdist(a, b).pow(2) / self.ls.exp() ** 2)

        def forward(self, X, y):
            K = self.k(X, X) + self.noise.exp() * torch.eye(len(X))
            L = torch.linalg.cholesky(K)
            a = torch.cholesky_solve(y[:, None], L)
            return 0.5 * y @ a.squeeze() + L.diagonal().log().sum() + len(X) / 2 * torch.log(torch.tensor(2 * torch.pi))

        def predict(self, X, y, Z):
            L = torch.linalg.cholesky(self.k(X, X) + self.noise.exp() * torch.eye(len(X)))
            Ks = self.k(X, Z)
            V = torch.linalg.solve_triangular(L, Ks, upper=False)
            return (Ks.T @ torch.cholesky_solve(y[:, None], L), (self.k(Z, Z) - V.T @ V).diagonal())

    X = torch.linspace(0, 3, 8)[:, None] + 0.01 * vals(8, 1)
    y = X.sin().squeeze()
    gp = GP()
    opt = torch.optim.Adam(gp.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        loss = gp(X, y)
        loss.backward()
        opt.step()
        show(loss.item(), [p.grad.item() for p in gp.parameters()])
    with torch.no_grad():
        mu, var = gp.predict(X, y, torch.tensor([[0.5], [5.0]]))
        show(mu, var)
    mvn = torch.distributions.MultivariateNormal(torch.zeros(8), gp.k(X, X).detach() + 0.1 * torch.eye(8))
    show(mvn.log_prob(y), mvn.entropy(), mvn.scale_tril[1])
    lr = torch.distributions.LowRankMultivariateNormal(torch.zeros(3), vals(3, 1), torch.ones(3))
    show(lr.log_prob(torch.ones(3)), lr.covariance_matrix)
    w = torch.distributions.Wishart(torch.tensor(4.0), torch.eye(2))
    show(
        w.log_prob(torch.eye(2)),
        torch.distributions.LKJCholesky(2, 1.0).log_prob(torch.eye(2)),
        torch.distributions.Beta(2.0, 3.0).log_prob(torch.tensor(0.3)),
        torch.distributions.Gamma(2.0, 1.0).mean,
        torch.distributions.Poisson(3.0).log_prob(torch.tensor(2.0)),
    )
    return show.all


def s4_kernel_fft(torch):
    show = Shown()
    vals = functools.partial(seeded, torch)

    def hippo(N):
        P = torch.sqrt(1 + 2 * torch.arange(N, dtype=torch.float64))
        A = P.unsqueeze(1) * P.unsqueeze(0)
        A = torch.tril(A) - torch.diag(torch.arange(N, dtype=torch.float64))
        return -A

    N, L = (4, 10)
    A, B, C = (hippo(N), torch.ones(N, 1).double(), vals(1, N, dtype=torch.float64))
    step = 1.0 / L
    identity = torch.eye(N, dtype=A.dtype)
    BL = torch.linalg.inv(identity - step / 2.0 * A)
    Ab, Bb = (BL @ (identity + step / 2.0 * A), BL * step @ B)
    K = torch.stack([(C @ torch.linalg.matrix_power(Ab, loss) @ Bb).squeeze() for loss in range(L)])
    u = torch.sin(torch.linspace(0, 3, L, dtype=torch.float64))
    ud = torch.fft.rfft(torch.nn.functional.pad(u, (0, K.shape[0])))
    Kd = torch.fft.rfft(torch.nn.functional.pad(K, (0, u.shape[0])))
    out = torch.fft.irfft(ud * Kd)[: u.shape[0]]
    x = torch.zeros(N, 1).double()
    ref = []
    for k in range(L):
        x = Ab @ x + Bb * u[k]
        ref.append((C @ x).item())
    show(torch.allclose(out, torch.tensor(ref, dtype=torch.float64)), out, K)
    Lam, V = torch.linalg.eig(A)
    show(torch.sort(Lam.real).values, (V @ torch.diag(Lam) @ torch.linalg.inv(V) - A).abs().max() < 1e-09)
    vand = torch.vander(torch.exp(Lam * step), L, increasing=True) if hasattr(torch, "vander") else None
    show(vand.shape, vand.dtype)
    show(torch.matrix_exp(A * step)[0], torch.linalg.cond(V) > 1)
    return show.all
