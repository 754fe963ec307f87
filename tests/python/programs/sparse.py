"""Sparse tensors as users write them: building, products, gradients, embeddings, layouts, what is refused."""

from program_helpers import raised, values


def small(torch, dtype=None):
    i = torch.tensor([[0, 1, 1, 2], [2, 0, 2, 1]])
    return torch.sparse_coo_tensor(i, torch.tensor([3.0, 4.0, 5.0, -1.0], dtype=dtype or torch.float64), (3, 3))


def building(torch):
    i = torch.tensor([[0, 1, 1], [2, 0, 2]])
    s = torch.sparse_coo_tensor(i, torch.tensor([3.0, 4.0, 5.0]), (2, 3))
    guessed = torch.sparse_coo_tensor(i, torch.tensor([3.0, 4.0, 5.0]))
    pairs = torch.sparse_coo_tensor(list(zip(*[(0, 0), (1, 1)])), [1, 2], (2, 2))
    return (
        s.to_dense(),
        guessed.shape,
        s._nnz(),
        s.is_coalesced(),
        s.layout == torch.sparse_coo,
        s.is_sparse,
        pairs.to_dense(),
        s.sparse_dim(),
    )


def repeated_indices_add_up(torch):
    s = torch.sparse_coo_tensor([[1, 1, 0]], [3.0, 4.0, 1.0], (3,))
    c = s.coalesce()
    return (
        s._nnz(),
        c._nnz(),
        c.indices(),
        c.values(),
        s.to_dense(),
        raised(lambda: s.indices()),
        s._values(),
        (s + s).coalesce().values(),
    )


def adjacency_products(torch):
    a, x = small(torch), values(torch, 3, 2)
    return (
        a @ x,
        torch.sparse.mm(a, x),
        torch.mv(a, x[:, 0]),
        a @ x[:, 0],
        a.t().to_dense(),
        (a @ a).to_dense(),
        torch.mm(a, x),
        x.T @ a,
    )


def degree_normalisation(torch):
    a = small(torch).abs()
    degree = torch.sparse.sum(a, dim=1).to_dense()
    scale = torch.sparse_coo_tensor(torch.arange(3).repeat(2, 1), degree.rsqrt(), (3, 3))
    normal = torch.sparse.mm(torch.sparse.mm(scale, a), scale)
    return degree, normal.to_dense(), torch.sparse.sum(a), torch.sparse.sum(a, 0).to_dense()


def gradients_reach_both(torch):
    a, x = small(torch).requires_grad_(), values(torch, 3, 2).requires_grad_()
    torch.sparse.mm(a, x).pow(2).sum().backward()
    return a.grad.to_dense(), a.grad.is_sparse, x.grad


def gradients_of_values(torch):
    v = values(torch, 3).requires_grad_()
    s = torch.sparse_coo_tensor([[0, 1, 1], [1, 0, 1]], v, (2, 2))
    (s.to_dense() ** 2).sum().backward(retain_graph=True)
    first, v.grad = v.grad, None
    torch.sparse.sum(s * 3).backward()
    return first, v.grad


def sparse_embedding(torch):
    e = torch.nn.Embedding(5, 2, sparse=True)
    torch.nn.init.ones_(e.weight)
    e(torch.tensor([1, 3, 1])).sum().backward()
    g = e.weight.grad
    torch.optim.SGD(e.parameters(), lr=0.1).step()
    return g.is_sparse, g.coalesce().indices(), g.coalesce().values(), e.weight.detach()


def sparse_adam(torch):
    e = torch.nn.Embedding(4, 2, sparse=True)
    torch.nn.init.ones_(e.weight)
    o = torch.optim.SparseAdam(e.parameters(), lr=0.1)
    for ids in ([0, 1], [1, 1]):
        o.zero_grad()
        (e(torch.tensor(ids)) ** 2).sum().backward()
        o.step()
    plain = torch.optim.Adam(e.parameters())
    return e.weight.detach(), o.state[e.weight]["step"], raised(lambda: plain.step())


def embedding_bag_sparse(torch):
    bag = torch.nn.EmbeddingBag(4, 2, mode="sum", sparse=True)
    torch.nn.init.ones_(bag.weight)
    out = bag(torch.tensor([1, 2, 2, 3]), torch.tensor([0, 2]))
    out.sum().backward()
    return out.detach(), bag.weight.grad.to_dense(), bag.weight.grad.is_sparse


def compressed_rows(torch):
    d = small(torch).to_dense()
    r = d.to_sparse_csr()
    c = d.to_sparse_csc()
    made = torch.sparse_csr_tensor(r.crow_indices(), r.col_indices(), r.values(), (3, 3))
    return (
        r.crow_indices(),
        r.col_indices(),
        r.values(),
        c.ccol_indices(),
        c.row_indices(),
        made.to_dense(),
        r @ values(torch, 3),
        str(r.layout),
    )


def layouts_and_back(torch):
    d = small(torch).to_dense()
    s = d.to_sparse()
    ways = [
        s.to_sparse_csr(),
        s.to_sparse_csc(),
        d.to_sparse(layout=torch.sparse_csr),
        d.to_sparse_bsr((1, 3)),
        s.to_sparse_csr().to_sparse_coo(),
    ]
    return (
        [torch.equal(w.to_dense(), d) for w in ways],
        [str(w.layout) for w in ways],
        s.to_dense().is_sparse,
        d.to_sparse(1).values().shape,
    )


def hybrid(torch):
    s = torch.sparse_coo_tensor([[0, 2]], values(torch, 2, 3), (4, 3))
    return (
        s.to_dense(),
        s.sparse_dim(),
        s.dense_dim(),
        s[2],
        s._values().shape,
        torch.sparse.sum(s, 1).to_dense(),
        s.to_dense()[0],
    )


def element_functions(torch):
    s = small(torch)
    return (
        [
            f(s).to_dense()
            for f in (torch.neg, torch.abs, torch.sin, torch.sqrt, torch.relu, torch.sign, torch.square, torch.expm1)
        ],
        (s * 2).to_dense(),
        (s / 2).to_dense(),
        (s**2).to_dense(),
    )


def sums_of_layouts(torch):
    s, d = small(torch), values(torch, 3, 3)
    return (
        (s + s).to_dense(),
        d + s,
        (s - s * 2).to_dense(),
        (s * s).to_dense(),
        (s * d).to_dense(),
        d.clone().add_(s),
        torch.add(d, s, alpha=2),
    )


def any_of_them(torch):
    s = small(torch)
    zero = torch.sparse_coo_tensor(torch.empty(2, 0, dtype=torch.int64), torch.empty(0), (2, 2))
    return (
        torch.any(s),
        s.any(),
        torch.any(s * 0),
        zero.any(),
        raised(lambda: s.any(0)),
        raised(lambda: torch.equal(s, s)),
    )


def softmax_of_rows(torch):
    s = small(torch)
    return torch.sparse.softmax(s, 1).to_dense(), torch.sparse.log_softmax(s, dim=1).to_dense()


def selecting(torch):
    s = small(torch).coalesce()
    return (
        s[1].to_dense(),
        s.select(1, 2).to_dense(),
        s.index_select(0, torch.tensor([2, 0])).to_dense(),
        s.transpose(0, 1).to_dense(),
        s.narrow_copy(0, 1, 2).to_dense(),
    )


def masks_of_sparse(torch):
    d, s = values(torch, 3, 3), small(torch).coalesce()
    return (
        d.sparse_mask(s).to_dense(),
        torch.sparse.spdiags(torch.tensor([[1.0, 2, 3]]), torch.tensor([0]), (3, 3)).to_dense(),
        torch.eye(3).to_sparse()._nnz(),
    )


def concatenated(torch):
    s = small(torch)
    return (
        torch.cat([s, s]).to_dense(),
        torch.cat([s, s], 1).shape,
        torch.stack([s, s]).to_dense().shape,
        s.unsqueeze(0).shape,
    )


def sparse_errors(torch):
    s = small(torch)
    return {
        "lengths": raised(lambda: torch.sparse_coo_tensor([[0, 1]], [1.0], (3,))),
        "view": raised(lambda: s.view(9)),
        "numpy": raised(lambda: s.numpy(), TypeError),
        "product": raised(lambda: s @ torch.ones(4, dtype=s.dtype)),
        "compare": raised(lambda: s > 0, NotImplementedError),
        "storage": raised(lambda: s.data_ptr(), RuntimeError),
    }


def sparse_clones(torch):
    s = small(torch).coalesce()
    c = s.clone()
    c.values().mul_(2)
    z = torch.zeros_like(s)
    return (
        s.to_dense(),
        c.to_dense(),
        z._nnz(),
        s.float().dtype == torch.float32,
        s.detach().requires_grad,
        s.to(torch.float32).to_dense(),
        s.size(0),
        s.numel(),
        s.dim(),
    )


def addmm_of_sparse(torch):
    s, x, c = small(torch), values(torch, 3, 2), values(torch, 3, 2)
    return (
        torch.sparse.addmm(c, s, x, beta=0.5, alpha=2.0),
        torch.addmm(c, s, x),
        torch.sparse.sampled_addmm(torch.ones(3, 3).double().to_sparse_csr(), x, x.T).to_dense(),
    )


def batched_vectors(torch):
    s = small(torch)
    x = values(torch, 4, 3)
    return (
        torch.vmap(lambda v: s @ v)(x),
        torch.vmap(lambda v: torch.mv(s, v))(x),
        torch.func.jacrev(lambda v: s @ v)(x[0]),
        torch.func.vmap(torch.func.grad(lambda v: (s @ v).pow(2).sum()))(x),
    )


def unscaled_gradients(torch):
    e = torch.nn.Embedding(4, 2, sparse=True)
    torch.nn.init.ones_(e.weight)
    o = torch.optim.SGD(e.parameters(), lr=0.5)
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    scaler.scale(e(torch.tensor([1, 3, 1])).sum()).backward()
    scaler.unscale_(o)
    g = e.weight.grad.to_dense()
    scaler.step(o)
    scaler.update()
    scaler.scale(e(torch.tensor([0])).sum() * float("inf")).backward()
    scaler.step(o)
    scaler.update()
    return g, e.weight.detach(), scaler.get_scale(), raised(lambda: torch.nn.utils.clip_grad_norm_(e.parameters(), 1.0))


def products_that_stay_sparse(torch):
    s, d = small(torch), values(torch, 3, 2)
    base = torch.eye(3, 2, dtype=d.dtype).to_sparse()
    rows, whole = torch.hspmm(s, d), torch.smm(s, d)
    added = [f(base, s, d, beta=2, alpha=3) for f in (torch.sspaddmm, torch.saddmm)]
    facts = [(t.sparse_dim(), t.dense_dim(), t.layout == torch.sparse_coo) for t in (rows, whole, *added)]
    csr, csc = s.coalesce().to_sparse_csr(), s.coalesce().to_sparse_csc()
    copies = [torch.crow_indices_copy(csr), torch.col_indices_copy(csr), torch.values_copy(csr)]
    copies += [torch.ccol_indices_copy(csc), torch.row_indices_copy(csc)]
    copies[2].zero_()
    parts = [(t._indices(), t._values()) for t in (whole, *added)]
    return facts, copies, csr.values(), rows.to_dense(), parts, raised(lambda: torch.smm(d, d))
