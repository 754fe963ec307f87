"""Several features of tensors at once: masks, indices, einsum, transforms, sparse matrices, matrices."""

from program_helpers import raised, values


def masked_statistics(torch):
    x = values(torch, 4, 5)
    mask = x.abs() > 0.4
    counts = mask.sum(1, keepdim=True)
    mean = torch.where(mask, x, 0).sum(1, keepdim=True) / counts.clamp(min=1)
    var = ((x - mean) ** 2 * mask).sum(1, keepdim=True) / counts.clamp(min=1)
    x[~mask] = float("nan")
    return mean, var, x.nanmean(1), x.isnan().sum(), x.nan_to_num(7.0)[0], x.nanmedian(1).values


def rank_within_groups(torch):
    group = torch.tensor([2, 0, 1, 0, 2, 2, 1])
    score = values(torch, 7)
    order = (group * 10 + score.argsort(descending=True).argsort() / 7.0).argsort(stable=True)
    sorted_group = group[order]
    starts = torch.cat([torch.tensor([True]), sorted_group[1:] != sorted_group[:-1]])
    index = torch.arange(7)
    first = torch.where(starts, index, 0).cummax(0).values
    rank = torch.empty_like(index).scatter_(0, order, index - first)
    best = torch.full((3,), -torch.inf, dtype=score.dtype).scatter_reduce(0, group, score, "amax")
    return rank, best, torch.bincount(group, weights=score), torch.unique_consecutive(sorted_group, return_counts=True)


def block_diagonal_and_trace(torch):
    blocks = [values(torch, 2, 2), values(torch, 1, 3), values(torch, 3, 1)]
    full = torch.block_diag(*blocks)
    traces = torch.einsum("...ii->...", values(torch, 2, 3, 3))
    outer = torch.einsum("bi,bj,bk->ijk", values(torch, 2, 2), values(torch, 2, 3), values(torch, 2, 2))
    bilinear = torch.einsum("bn,anm,bm->ba", values(torch, 4, 2), values(torch, 3, 2, 5), values(torch, 4, 5))
    return full, traces, outer, bilinear, torch.tensordot(full, full, dims=([0], [0])).diagonal()


def windows_of_a_signal(torch):
    x = values(torch, 20)
    frames = x.unfold(0, 8, 4)
    window = torch.hann_window(8, periodic=True, dtype=torch.float64)
    spectrum = torch.fft.rfft(frames * window)
    power = spectrum.abs() ** 2
    back = torch.zeros(20, dtype=torch.float64)
    norm = torch.zeros(20, dtype=torch.float64)
    for i, frame in enumerate(torch.fft.irfft(spectrum, n=8)):
        back[4 * i : 4 * i + 8] += frame
        norm[4 * i : 4 * i + 8] += window
    phase = torch.angle(spectrum[:, 1])
    return power, (back / norm.clamp(min=1e-8))[4:16], phase, torch.diff(phase)


def filters_by_fft(torch):
    image, kernel = values(torch, 2, 6, 6), values(torch, 3, 3)
    padded = torch.nn.functional.pad(kernel, (0, 3, 0, 3)).roll((-1, -1), (0, 1))
    by_fft = torch.fft.ifft2(torch.fft.fft2(image) * torch.fft.fft2(padded)).real
    wrapped = torch.nn.functional.pad(image[:, None], (1, 1, 1, 1), mode="circular")
    by_conv = torch.nn.functional.conv2d(wrapped, kernel.flip(0, 1)[None, None]).squeeze(1)
    return (
        by_fft,
        torch.allclose(by_fft, by_conv),
        torch.fft.fftshift(torch.fft.fftfreq(5)),
        torch.fft.rfftn(image)[1, :2],
    )


def graph_by_sparse(torch):
    edges = torch.tensor([[0, 1, 2, 3, 0], [1, 2, 3, 0, 2]])
    weight = (values(torch, 5) + 2).requires_grad_()
    a = torch.sparse_coo_tensor(edges, weight, (4, 4))
    degree = torch.sparse.sum(a, 1).to_dense()
    x = values(torch, 4, 2).requires_grad_()
    y = torch.sparse.mm(a, x) / degree[:, None]
    (y**2).sum().backward()
    dense = a.detach().to_dense()
    csr = dense.to_sparse_csr()
    return (
        y,
        weight.grad,
        x.grad,
        csr.crow_indices(),
        csr.col_indices(),
        (csr @ x.detach()),
        dense.to_sparse().indices(),
    )


def kronecker_solver(torch):
    a, b = (values(torch, n, n) for n in (2, 3))
    a, b = a @ a.mT + torch.eye(2), b @ b.mT + torch.eye(3)
    rhs = values(torch, 2, 3)
    direct = torch.linalg.solve(torch.kron(a, b), rhs.flatten()).reshape(2, 3)
    (la, qa), (lb, qb) = torch.linalg.eigh(a), torch.linalg.eigh(b)
    by_eigen = qa @ ((qa.T @ rhs @ qb) / torch.outer(la, lb)) @ qb.T
    return direct, torch.allclose(direct, by_eigen), torch.linalg.cond(a), torch.linalg.slogdet(b)


def gaussian_conditionals(torch):
    x = torch.linspace(-1, 1, 5, dtype=torch.float64)[:, None]
    k = torch.exp(-torch.cdist(x, x) ** 2) + 1e-3 * torch.eye(5, dtype=torch.float64)
    known = torch.tensor([0, 2, 4])
    rest = torch.tensor([1, 3])
    root = torch.linalg.cholesky(k[known][:, known])
    y = x[known, 0].sin()
    alpha = torch.cholesky_solve(y[:, None], root)
    v = torch.linalg.solve_triangular(root, k[known[:, None], rest], upper=False)
    d = torch.distributions.MultivariateNormal(torch.zeros(3, dtype=torch.float64), scale_tril=root)
    return k[rest][:, known] @ alpha, k[rest[:, None], rest] - v.T @ v, d.log_prob(y), d.entropy()


def low_rank_by_svd(torch):
    a = values(torch, 3, 6, 4)
    u, s, vh = torch.linalg.svd(a, full_matrices=False)
    low = u[..., :2] @ torch.diag_embed(s[..., :2]) @ vh[:, :2]
    error = torch.linalg.matrix_norm(a - low)
    return low, error, s[:, 2:].norm(dim=1), torch.linalg.matrix_rank(low), torch.linalg.pinv(low)


def tokens_to_batches(torch):
    texts = [[5, 3, 9], [1], [7, 7], [2, 8, 4, 6]]
    lengths = torch.tensor([len(t) for t in texts])
    padded = torch.nn.utils.rnn.pad_sequence([torch.tensor(t) for t in texts], batch_first=True, padding_value=0)
    mask = torch.arange(padded.size(1))[None] < lengths[:, None]
    table = values(torch, 10, 3)
    vectors = torch.nn.functional.embedding(padded, table, padding_idx=0)
    mean = (vectors * mask[..., None]).sum(1) / lengths[:, None]
    flat = torch.cat([torch.tensor(t) for t in texts])
    offsets = torch.cat([torch.zeros(1, dtype=torch.long), lengths.cumsum(0)[:-1]])
    bags = torch.nn.functional.embedding_bag(flat, table, offsets, mode="mean")
    return padded, mask, mean, torch.allclose(mean, bags), torch.masked_select(padded, mask).equal(flat)


def boxes(torch):
    a = (values(torch, 4, 4) + 1) * 5
    a[:, 2:] += a[:, :2] + 2
    area = (a[:, 2:] - a[:, :2]).prod(1)
    low = torch.maximum(a[:, None, :2], a[None, :, :2])
    high = torch.minimum(a[:, None, 2:], a[None, :, 2:])
    inter = (high - low).clamp_(min=0).prod(2)
    iou = inter / (area[:, None] + area - inter)
    pairs = torch.triu(iou, diagonal=1).nonzero(as_tuple=True)
    values_, index = iou.fill_diagonal_(0).flatten().topk(3)
    return iou, pairs, values_, torch.stack(torch.unravel_index(index, iou.shape), -1)


def typed_round_trip(torch):
    x = torch.FloatTensor([1.5, -2.5, 3.5])
    names = [x.type(), x.long().type(), x.to(torch.half).type(), torch.BoolTensor([True]).type()]
    wide = x.type(torch.DoubleTensor)
    ints = x.round().type(torch.int32)
    bits = x.view(torch.int32) & 0x7FFFFF
    packed = torch.frombuffer(bytearray(b"\x00\x01\x02\x03"), dtype=torch.uint8).view(torch.int16)
    return (
        names,
        wide,
        ints,
        bits,
        packed,
        x.new_tensor([1, 2]),
        torch.LongTensor(2, 3).shape,
        torch.is_floating_point(x),
    )


def running_quantiles(torch):
    x = values(torch, 3, 9)
    q = torch.quantile(x, torch.tensor([0.1, 0.5, 0.9], dtype=x.dtype), dim=1)
    edges = torch.linspace(-1, 1, 5, dtype=x.dtype)
    bins = torch.bucketize(x, edges)
    hist = torch.stack([torch.histc(row, 4, -1, 1) for row in x])
    weighted = torch.cumsum(x.sort(1).values, 1)
    return (
        q,
        bins,
        hist,
        weighted[:, -1],
        torch.searchsorted(edges, x[0].contiguous(), right=True),
        x.kthvalue(4).values,
    )


def strided_tricks(torch):
    x = torch.arange(24.0).reshape(2, 3, 4)
    y = x.transpose(0, 2)
    diagonals = torch.as_strided(x, (3, 2), (5, 12))
    z = torch.movedim(x, (0, 1), (2, 0)).flatten(1)
    tiles = x[0].tile(2, 1).repeat_interleave(torch.tensor([1, 0, 2, 1, 1, 0]), dim=0)
    return y.stride(), y.is_contiguous(), diagonals, z, tiles, x.swapaxes(0, 1).reshape(-1)[5], x[..., ::2].stride()


def scatter_softmax(torch):
    index = torch.tensor([0, 0, 1, 2, 2, 2])
    x = values(torch, 6).requires_grad_()
    top = torch.zeros(3, dtype=x.dtype).scatter_reduce(0, index, x.detach(), "amax", include_self=False)
    e = (x - top[index]).exp()
    total = torch.zeros(3, dtype=x.dtype).index_add(0, index, e)
    p = e / total[index]
    (p * torch.arange(6, dtype=x.dtype)).sum().backward()
    return p, x.grad, torch.zeros(3, dtype=x.dtype).index_add_(0, index, p.detach())


def chosen_and_put_back(torch):
    x = values(torch, 4, 6)
    top, place = x.topk(2, dim=1)
    rest = x.scatter(1, place, -torch.inf).softmax(1)
    back = torch.zeros_like(x).scatter_add_(1, place, top)
    x.put_(torch.tensor([0, -1]), torch.tensor([9.0, 8.0], dtype=x.dtype), accumulate=True)
    y = x.index_copy(0, torch.tensor([3, 0]), torch.ones(2, 6, dtype=x.dtype)).take(torch.tensor([0, 7, 23]))
    return rest, back, x[0, 0], x[-1, -1], y, x.take_along_dim(place, 1), x.index_fill(1, place[0], 0)[1]


def mistakes_in_shapes(torch):
    x = values(torch, 2, 3)
    return [
        raised(lambda: x @ x),
        raised(lambda: x + values(torch, 4)),
        raised(lambda: x.view(5)),
        raised(lambda: x.t().view(6)),
        raised(lambda: torch.cat([x, x.t()])),
        raised(lambda: torch.stack([x, x.t()])),
        raised(lambda: x[3], IndexError),
        raised(lambda: x[:, [0, 5]], IndexError),
        raised(lambda: x.sum(4), IndexError),
        raised(lambda: x.expand(3, 3)),
        raised(lambda: torch.einsum("ij,jk->ik", x, x)),
        raised(lambda: x.squeeze(0).item()),
        raised(lambda: bool(x)),
        raised(lambda: torch.linalg.inv(x)),
        raised(lambda: x.gather(1, torch.tensor([[3]]))),
        raised(lambda: torch.zeros(2).scatter_(0, torch.tensor([2]), 1.0)),
    ]
