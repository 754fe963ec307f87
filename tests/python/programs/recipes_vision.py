"""Training on pictures and graphs, as tutorials write it."""


from program_helpers import filled, values


def swin_windows(torch):
    nn = torch.nn

    def window_partition(x, window_size):
        B, H, W, C = x.shape
        x = x.view(B, H // window_size, window_size, W // window_size, window_size, C)
        return x.permute(0, 1, 3, 2, 4, 5).contiguous().view(-1, window_size, window_size, C)

    def window_reverse(windows, window_size, H, W):
        B = int(windows.shape[0] / (H * W / window_size / window_size))
        x = windows.view(B, H // window_size, W // window_size, window_size, window_size, -1)
        return x.permute(0, 1, 3, 2, 4, 5).contiguous().view(B, H, W, -1)

    ws, H, W, shift, heads = (2, 4, 4, 1, 2)
    coords_h, coords_w = (torch.arange(ws), torch.arange(ws))
    coords = torch.stack(torch.meshgrid([coords_h, coords_w], indexing="ij"))
    coords_flatten = torch.flatten(coords, 1)
    relative_coords = coords_flatten[:, :, None] - coords_flatten[:, None, :]
    relative_coords = relative_coords.permute(1, 2, 0).contiguous()
    relative_coords[:, :, 0] += ws - 1
    relative_coords[:, :, 1] += ws - 1
    relative_coords[:, :, 0] *= 2 * ws - 1
    index = relative_coords.sum(-1)
    table = nn.Parameter(values(torch, (2 * ws - 1) * (2 * ws - 1), heads))
    img_mask = torch.zeros((1, H, W, 1))
    slices = (slice(0, -ws), slice(-ws, -shift), slice(-shift, None))
    cnt = 0
    for h in slices:
        for w in slices:
            img_mask[:, h, w, :] = cnt
            cnt += 1
    mask_windows = window_partition(img_mask, ws).view(-1, ws * ws)
    attn_mask = mask_windows.unsqueeze(1) - mask_windows.unsqueeze(2)
    attn_mask = attn_mask.masked_fill(attn_mask != 0, float(-100.0)).masked_fill(attn_mask == 0, float(0.0))
    x = values(torch, 1, H, W, 4).requires_grad_()
    shifted = torch.roll(x, shifts=(-shift, -shift), dims=(1, 2))
    xw = window_partition(shifted, ws).view(-1, ws * ws, 4)
    q = xw.view(4, ws * ws, heads, 2).transpose(1, 2)
    attn = q @ q.mT
    attn = attn + table[index.view(-1)].view(ws * ws, ws * ws, -1).permute(2, 0, 1).contiguous().unsqueeze(0)
    attn = attn.view(1, 4, heads, ws * ws, ws * ws) + attn_mask.unsqueeze(1).unsqueeze(0)
    attn = nn.Softmax(dim=-1)(attn.view(-1, heads, ws * ws, ws * ws))
    out = window_reverse((attn @ q).transpose(1, 2).reshape(-1, ws, ws, 4), ws, H, W)
    out = torch.roll(out, shifts=(shift, shift), dims=(1, 2))
    merged = torch.cat([out[:, i::2, j::2, :] for j in (0, 1) for i in (0, 1)], -1).view(1, -1, 16)
    merged.square().sum().backward()
    return (index, attn_mask, out, merged, x.grad, table.grad)


def segmentation_metrics(torch):
    def fast_hist(label, pred, n):
        k = (label >= 0) & (label < n)
        return torch.bincount(n * label[k].to(torch.int64) + pred[k], minlength=n**2).reshape(n, n)

    label = torch.tensor([0, 1, 2, 2, 1, 255, 0, 2])
    pred = torch.tensor([0, 2, 2, 2, 1, 1, 1, 0])
    hist = fast_hist(label, pred, 3)
    iu = torch.diag(hist) / (hist.sum(1) + hist.sum(0) - torch.diag(hist))
    acc_global = torch.diag(hist).sum() / hist.sum()
    prec = hist.diag() / hist.sum(0).clamp(min=1)
    rec = hist.diagonal() / hist.sum(dim=1)
    f1 = 2 * prec * rec / (prec + rec)
    conf = torch.zeros(3, 3, dtype=torch.int64)
    for t, p in zip(label[label != 255].view(-1), pred[label != 255].view(-1)):
        conf[t.long(), p.long()] += 1
    conf2 = torch.zeros(9).index_add_(0, (label * 3 + pred)[label < 3], torch.ones(7)).view(3, 3)
    conf3 = torch.histc((label * 3 + pred)[label < 3].float(), bins=9, min=0, max=8)
    conf4 = torch.zeros(3, 3).index_put_((label[label < 3], pred[label < 3]), torch.tensor(1.0), accumulate=True)
    scores = values(torch, 12).sigmoid()
    y = (values(torch, 12).flip(0) > 0).int()
    order = torch.argsort(scores, descending=True, stable=True)
    tps = torch.cumsum(y[order], 0)
    fps = 1 + torch.arange(12) - tps
    tpr, fpr = (tps / tps[-1], fps / fps[-1])
    auc = torch.trapezoid(torch.cat([torch.zeros(1), tpr]), torch.cat([torch.zeros(1), fpr]))
    ap = (torch.diff(torch.cat([torch.zeros(1), tpr])) * (tps / (tps + fps))).sum()
    bins = torch.linspace(0, 1, 6)
    which = torch.bucketize(scores.float(), bins[1:-1], right=False)
    ece = sum(
        (
            (scores[which == b].mean() - y[which == b].float().mean()).abs() * (which == b).float().mean()
            for b in range(5)
            if (which == b).any()
        )
    )
    return (
        hist,
        iu,
        acc_global,
        f1,
        conf,
        conf2,
        conf3,
        conf4,
        auc,
        ap,
        which,
        ece,
        tps,
        torch.nanmean(torch.where(f1 > 0.5, f1, torch.nan)),
        f1.nanmedian(),
    )


def mixup_cutmix_cutout(torch):
    F = torch.nn.functional
    x, y = (values(torch, 4, 3, 8, 8).float(), torch.tensor([0, 1, 2, 1]))
    torch.manual_seed(3)
    lam = torch.distributions.beta.Beta(1.0, 1.0).sample().item()
    assert 0 <= lam <= 1
    lam, index = (0.3, torch.tensor([2, 0, 3, 1]))
    mixed_x = lam * x + (1 - lam) * x[index, :]
    onehot = torch.zeros(4, 3).scatter_(1, y.view(-1, 1), 1.0)
    ty = onehot.mul(lam).add_(onehot.flip(0), alpha=1.0 - lam)
    logits = mixed_x.mean((2, 3))
    loss = F.cross_entropy(logits, ty)
    l2 = lam * F.cross_entropy(logits, y) + (1 - lam) * F.cross_entropy(logits, y[index])
    l3 = F.kl_div(F.log_softmax(logits / 2, dim=1), F.softmax(logits.flip(0) / 2, dim=1), reduction="batchmean") * 4
    x2 = x.clone()
    bbx1, bby1, bbx2, bby2 = (1, 2, 5, 6)
    x2[:, :, bbx1:bbx2, bby1:bby2] = x[index, :, bbx1:bbx2, bby1:bby2]
    x3 = x.clone()
    x3[..., 2:4, 2:4] = x.mean(dim=(-2, -1), keepdim=True)
    theta = torch.tensor([[0.8, -0.6, 0.1], [0.6, 0.8, 0]]).unsqueeze(0).repeat(4, 1, 1)
    grid = F.affine_grid(theta, x.size(), align_corners=False)
    x4 = F.grid_sample(x, grid, mode="bilinear", padding_mode="reflection", align_corners=False)
    mean, std = (torch.as_tensor([0.5, 0.4, 0.3]), torch.as_tensor((0.2, 0.2, 0.2)))
    x5 = x.sub(mean[None, :, None, None]).div_(std[None, :, None, None])
    flip = torch.tensor([True, False, True, False])
    x6 = torch.where(flip[:, None, None, None], x.flip(-1), x)
    return (loss, l2, l3, x2, x3, x4, x5.mean(), x6.sum(-1), torch.rot90(x, 1, [2, 3]).sum(-1))


def knowledge_distillation(torch):
    nn, F = (torch.nn, torch.nn.functional)
    T, alpha = (4.0, 0.3)
    teacher, student = (filled(torch, nn.Linear(5, 3)), filled(torch, nn.Linear(5, 3), 0.1))
    teacher.eval()
    opt = torch.optim.SGD(student.parameters(), lr=0.5)
    x, y = (values(torch, 6, 5).float(), torch.tensor([0, 1, 2, 0, 1, 2]))
    out = []
    for _ in range(2):
        with torch.no_grad():
            teacher_logits = teacher(x)
        s = student(x)
        kd = nn.KLDivLoss(reduction="batchmean")(F.log_softmax(s / T, dim=1), F.softmax(teacher_logits / T, dim=1)) * (
            alpha * T * T
        )
        kd2 = F.kl_div(F.log_softmax(s, -1), F.log_softmax(teacher_logits, -1), log_target=True, reduction="sum")
        soft = (
            -torch.sum(nn.functional.softmax(teacher_logits / T, dim=-1) * nn.functional.log_softmax(s / T, dim=-1))
            / s.size()[0]
            * T**2
        )
        cos = nn.CosineEmbeddingLoss()(s, teacher_logits, target=torch.ones(x.size(0)))
        loss = kd + F.cross_entropy(s, y) * (1.0 - alpha) + 0.1 * cos + 0.01 * soft
        opt.zero_grad()
        loss.backward()
        opt.step()
        out += [kd, kd2, soft, cos, loss]
    return (out, student.weight)


def deformable_and_involution(torch):
    nn, F = (torch.nn, torch.nn.functional)
    x = values(torch, 2, 4, 6, 6).requires_grad_()
    cols = F.unfold(x, kernel_size=3, dilation=1, padding=1, stride=1)
    w = values(torch, 5, 4 * 9)
    y = (w @ cols).view(2, 5, 6, 6)
    ref = F.conv2d(x, w.view(5, 4, 3, 3), padding=1)
    kernel = F.softmax(
        nn.Conv2d(4, 9, 1).double().requires_grad_(False).weight.data.fill_(0.1).sum()
        * x.mean(1, keepdim=True).expand(-1, 9, -1, -1),
        1,
    )
    inv = (kernel.unsqueeze(1) * cols.view(2, 4, 9, 6, 6)).sum(2)
    back = F.fold(cols, (6, 6), (3, 3), padding=1) / F.fold(
        F.unfold(torch.ones_like(x), 3, padding=1), (6, 6), 3, padding=1
    )
    shuffle = x.view(2, 2, 2, 6, 6).transpose(1, 2).reshape(2, -1, 6, 6)
    cs = nn.ChannelShuffle(2)(x)
    spp = torch.cat([F.adaptive_max_pool2d(x, s).flatten(1) for s in (1, 2, 3)], 1)
    lp = F.lp_pool2d(x.abs() + 0.1, norm_type=3, kernel_size=2)
    gem = F.avg_pool2d(x.clamp(min=1e-06).pow(3), (x.size(-2), x.size(-1))).pow(1.0 / 3)
    lrn = nn.LocalResponseNorm(2)(x)
    inorm = nn.InstanceNorm2d(4, affine=True, track_running_stats=True).double()
    iy = inorm(x)
    (y.sum() + inv.square().sum() + spp.sum() + lp.sum() + gem.sum() + lrn.sum() + iy.pow(3).sum()).backward()
    return (
        torch.allclose(y, ref),
        inv,
        torch.allclose(back, x),
        torch.equal(shuffle, cs),
        spp,
        lp,
        gem,
        lrn,
        x.grad,
        inorm.running_mean,
        F.fractional_max_pool2d(x, 2, output_size=(3, 3)).shape,
    )


def gat_layer(torch):
    nn, F = (torch.nn, torch.nn.functional)

    class GAT(nn.Module):
        def __init__(self, i, o, heads, alpha=0.2, concat=True):
            super().__init__()
            self.h, self.o, self.concat = (heads, o, concat)
            self.W = nn.Parameter(torch.empty(size=(i, heads * o)))
            nn.init.xavier_uniform_(self.W.data, gain=1.414)
            self.a_src = nn.Parameter(torch.zeros(1, heads, o))
            self.a_dst = nn.Parameter(torch.zeros(1, heads, o))
            nn.init.xavier_uniform_(self.a_src)
            self.leakyrelu = nn.LeakyReLU(alpha)

        def forward(self, x, edge_index):
            src, dst = edge_index
            N = x.size(0)
            z = (x @ self.W).view(-1, self.h, self.o)
            e = self.leakyrelu((z * self.a_src).sum(-1)[src] + (z * self.a_dst).sum(-1)[dst])
            index = dst[:, None].expand_as(e)
            m = torch.full((N, self.h), float("-inf"), dtype=e.dtype).scatter_reduce(
                0, index, e, reduce="amax", include_self=True
            )
            e = (e - m[dst]).exp()
            s = torch.zeros(N, self.h, dtype=e.dtype).scatter_add_(0, index, e)
            att = e / (s[dst] + 1e-16)
            out = torch.zeros(N, self.h, self.o, dtype=x.dtype).index_add_(0, dst, z[src] * att.unsqueeze(-1))
            return out.flatten(1) if self.concat else out.mean(dim=1)

    g = filled(torch, GAT(3, 2, 2).double())
    x = values(torch, 5, 3).requires_grad_()
    ei = torch.tensor([[0, 1, 2, 3, 4, 0], [1, 2, 3, 4, 0, 2]])
    y = g(x, ei)
    F.elu(y).sum().backward()
    return (y, x.grad, [p.grad for p in g.parameters()])


def message_passing(torch):
    x = (values(torch, 5, 2) + 2).requires_grad_()
    ei = torch.tensor([[0, 1, 1, 3, 4, 2], [1, 0, 2, 2, 2, 4]])
    row, col = ei
    deg = torch.bincount(row, minlength=5).to(x.dtype)
    dis = deg.pow(-0.5)
    dis[dis == float("inf")] = 0
    norm = dis[row] * dis[col]
    out = {}
    for red in ("sum", "mean", "prod", "amax", "amin"):
        out[red] = x.new_zeros(5, 2).scatter_reduce_(
            0, col.unsqueeze(-1).expand(-1, 2), x[row], reduce=red, include_self=False
        )
    out["ireduce"] = torch.ones(5, 2, dtype=x.dtype).index_reduce(0, col, x[row].detach(), "mean", include_self=False)
    out["norm"] = torch.zeros_like(x).index_add(0, col, x[row] * norm[:, None], alpha=2)
    out["seg"] = torch.segment_reduce(x.detach(), "max", lengths=torch.tensor([2, 3]))
    sum((v.sum() for v in out.values())).backward()
    batch = torch.tensor([0, 0, 1, 1, 1])
    pool = torch.zeros(2, 2, dtype=x.dtype).scatter_add(0, batch[:, None].repeat(1, 2), x.detach())
    ptr = torch.cat([batch.new_zeros(1), torch.bincount(batch).cumsum(0)])
    adj = torch.zeros(5, 5)
    adj[row, col] = 1.0
    und = torch.unique(torch.cat([ei, ei.flip(0)], 1), dim=1)
    ids, inv, cnt = torch.unique(torch.tensor([5, 3, 5, 9]), return_inverse=True, return_counts=True)
    lap = torch.diag_embed(adj.sum(1)) - adj
    ev = torch.linalg.eigvalsh(lap + lap.T)
    hop = torch.matrix_power(adj, 3)
    mask = torch.isin(row, torch.tensor([1, 4]))
    return (
        out,
        x.grad,
        pool,
        ptr,
        und,
        ids,
        inv,
        cnt,
        ev,
        hop,
        mask,
        adj.nonzero(as_tuple=False).t(),
        adj.nonzero(as_tuple=True),
    )


def matrix_factorisation(torch):
    nn = torch.nn

    class MF(nn.Module):
        def __init__(self, u, i, k):
            super().__init__()
            self.user_factors = nn.Embedding(u, k, sparse=True)
            self.item_factors = nn.Embedding(i, k, sparse=True)
            self.user_biases, self.item_biases = (nn.Embedding(u, 1, sparse=True), nn.Embedding(i, 1, sparse=True))

        def forward(self, user, item):
            pred = self.user_biases(user) + self.item_biases(item)
            pred += (self.user_factors(user) * self.item_factors(item)).sum(dim=1, keepdim=True)
            return pred.squeeze()

        def __call__(self, *args):
            return self.forward(*args)

        def predict(self, user, item):
            return self.forward(user, item)

    m = filled(torch, MF(4, 5, 3))
    opt = torch.optim.SGD(m.parameters(), lr=0.1)
    criterion = nn.MSELoss()
    for u, i, r in [(0, 1, 3.0), (2, 2, 1.0), (3, 4, 5.0), (0, 2, 2.0)] * 2:
        opt.zero_grad()
        p = m(torch.LongTensor([u]), torch.LongTensor([i]))
        loss = criterion(p, torch.FloatTensor([r]).squeeze())
        loss.backward()
        opt.step()
    return (loss, m.state_dict(), m.user_factors.weight.grad.is_sparse, str(m))
