"""Sparse tensors from Python; the numbers are those that PyTorch 2.11 gives."""

import copy
import io
import pickle

import neura
import pytest

PLACES = [[0, 1, 1, 2, 0], [2, 0, 2, 3, 2]]
NUMBERS = [3.0, -4.0, 5.0, 0.5, 0.25]


def some(**options):
    return neura.sparse_coo_tensor(PLACES, NUMBERS, (3, 4), dtype=neura.float64, **options)


def dense():
    return neura.arange(12, dtype=neura.float64).reshape(3, 4) / 4 - 1


def test_parts():
    s = some()
    assert (s.layout, s.is_sparse, s._nnz(), s.sparse_dim(), s.dense_dim()) == (neura.sparse_coo, True, 5, 2, 0)
    assert not s.is_coalesced() and not s.is_contiguous() and neura.ones(2).layout == neura.strided
    k = s.coalesce()
    assert k.indices().tolist() == [[0, 1, 1, 2], [2, 0, 2, 3]] and k.values().tolist() == [3.25, -4.0, 5.0, 0.5]
    c, d = k.to_sparse_csr(), k.to_sparse_csc()
    assert c.is_sparse_csr and not c.is_sparse
    assert (c.crow_indices().tolist(), c.col_indices().tolist()) == ([0, 1, 3, 4], [2, 0, 2, 3])
    assert (d.ccol_indices().tolist(), d.row_indices().tolist()) == ([0, 1, 1, 3, 4], [1, 0, 1, 2])
    assert d.values().tolist() == [-4.0, 3.25, 5.0, 0.5]
    b = neura.eye(4).to_sparse_bsr((2, 2))
    assert b.values().tolist() == [[[1, 0], [0, 1]], [[1, 0], [0, 1]]] and b._nnz() == 2
    assert neura.sparse_coo_tensor(size=(2, 3))._nnz() == 0
    with pytest.raises(ValueError, match="call coalesce"):
        s.values()
    with pytest.raises(neura.errors.NotImplementedError, match="sparse_csr or sparse_bsr"):
        s.crow_indices()


def test_products():
    b = neura.arange(20, dtype=neura.float64).reshape(4, 5) / 4
    want = [[8.125, 8.9375, 9.75, 10.5625, 11.375], [12.5, 12.75, 13.0, 13.25, 13.5], [1.875, 2.0, 2.125, 2.25, 2.375]]
    s = some()
    for t in (s, s.coalesce(), s.to_sparse_csr(), s.to_sparse_csc()):
        assert (t @ b).tolist() == want
        assert neura.sparse.mm(t, b).tolist() == want
        assert (b.t() @ t.t()).t().tolist() == want
        assert (t @ b[:, 1]).tolist() == [row[1] for row in want]
    assert neura.sparse.addmm(neura.ones(3, 5, dtype=neura.float64), s, b, beta=2, alpha=0.5)[2].tolist() == [
        2.9375,
        3.0,
        3.0625,
        3.125,
        3.1875,
    ]
    both = s @ s.t()
    assert both.is_sparse and both.to_dense().tolist() == [[10.5625, 16.25, 0], [16.25, 41, 0], [0, 0, 0.25]]
    x = neura.nn.functional.linear(neura.ones(2, 4, dtype=neura.float64), s, neura.ones(3, dtype=neura.float64))
    assert x.tolist() == [[4.25, 2.0, 1.5]] * 2


def test_elements():
    s, d = some(), dense()
    assert (s * d).to_dense()[1].tolist() == [0, 0, 2.5, 0] and (d + s)[0].tolist() == [-1, -0.75, 2.75, -0.25]
    assert (s * 2)._values().tolist() == [6, -8, 10, 1, 0.5] and (s**2).to_dense()[0, 2] == 3.25**2
    assert neura.relu(s)._values().tolist() == [3.25, 0, 5, 0.5]
    assert neura.sparse.sum(s) == 4.75 and neura.sparse.sum(s, 0).to_dense().tolist() == [-4, 0, 8.25, 0.5]
    soft = neura.sparse.softmax(s, 1)
    assert soft._values().tolist() == pytest.approx([1, 0.00012339457598623172, 0.9998766054240138, 1])
    assert neura.cat([s, s]).shape == (6, 4) and s.index_select(1, neura.tensor([2])).to_dense().tolist() == [
        [3.25],
        [5],
        [0],
    ]
    with pytest.raises(neura.errors.NotImplementedError, match="^cos: expected a dense tensor for input, got a sparse"):
        neura.cos(s)
    for read in (lambda: s.tolist(), lambda: s.numpy(), lambda: s.item(), lambda: s.data_ptr()):
        with pytest.raises((neura.errors.NotImplementedError, TypeError), match="call to_dense"):
            read()


def test_one_index_and_layouts_of_new_tensors():
    s, h = some().coalesce(), neura.sparse_coo_tensor([[0, 1], [1, 2]], [[1.0, 2.0], [3.0, 4.0]], (2, 3, 2))
    assert s[1].indices().tolist() == [[0, 2]] and s[1].values().tolist() == [-4, 5] and s[1][2] == 5 and s[-1][0] == 0
    assert h.select(1, 2).to_dense().tolist() == [[0, 0], [3, 4]] and h.select(2, 1).to_dense().tolist() == [
        [0, 2, 0],
        [0, 0, 4],
    ]
    for make in (neura.zeros, neura.randn):
        with pytest.raises(neura.errors.NotImplementedError, match="^layout: expected neura.strided"):
            make(2, layout=neura.sparse_coo)
    assert neura.zeros(2, layout=neura.strided).tolist() == [0, 0]


def test_gradients():
    k = some().coalesce().requires_grad_()
    b = neura.ones(4, 2, dtype=neura.float64, requires_grad=True)
    (k @ b).sum().backward()
    assert (
        k.grad.is_sparse and k.grad.indices().tolist() == k.indices().tolist() and k.grad.values().tolist() == [2] * 4
    )
    assert b.grad.tolist() == [[-4, -4], [0, 0], [8.25, 8.25], [0.5, 0.5]]
    v = neura.tensor(NUMBERS, dtype=neura.float64, requires_grad=True)
    neura.sparse_coo_tensor(PLACES, v, (3, 4)).coalesce().values().square().sum().backward()
    assert v.grad.tolist() == [6.5, -8, 10, 1, 6.5]
    assert neura.autograd.gradcheck(lambda v: neura.sparse_coo_tensor(PLACES, v, (3, 4)).to_dense(), (v,))


def test_in_place():
    x = dense()
    x.add_(some(), alpha=-2)
    assert x[0].tolist() == [-1, -0.75, -7, -0.25]
    s = some()
    s.mul_(2).sparse_resize_((5, 6), 2, 0)
    assert s.shape == (5, 6) and s._values().tolist() == [6, -8, 10, 1, 0.5]
    assert s.zero_()._nnz() == 0 and neura.zeros_like(some())._nnz() == 0


def test_text():
    text = str(some().float().coalesce().requires_grad_())
    assert text == (
        "tensor(indices=tensor([[0, 1, 1, 2],\n                       [2, 0, 2, 3]]),\n"
        "       values=tensor([ 3.2500, -4.0000,  5.0000,  0.5000]),\n"
        "       size=(3, 4), nnz=4, layout=neura.sparse_coo, requires_grad=True)"
    )


def test_text_breaks_where_pytorch_breaks_it():
    head = "tensor(crow_indices=tensor([0, 1, 2, 3]),\n       col_indices=tensor([0, 1, 2]),\n"
    assert str(neura.eye(3).to_sparse_csr()) == (
        head + "       values=tensor([1., 1., 1.]), size=(3, 3), nnz=3,\n       layout=neura.sparse_csr)"
    )
    assert str(neura.eye(3).double().to_sparse_csr()) == (
        head + "       values=tensor([1., 1., 1.]), size=(3, 3), nnz=3, dtype=neura.float64,\n"
        "       layout=neura.sparse_csr)"
    )
    lines = str(neura.eye(40).to_sparse_csr()).split("\n")
    assert lines[0] == "tensor(crow_indices=tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12,"
    assert lines[4] == "       col_indices=tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12,"
    assert lines[8] == "       values=tensor([1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1.,"
    assert lines[-1] == "       size=(40, 40), nnz=40, layout=neura.sparse_csr)"


def test_checks():
    with pytest.raises(IndexError, match="from 0 to 2, got 5"):
        neura.sparse_coo_tensor([[0, 5]], [1.0, 2.0], (3,))
    good = neura.sparse_csr_tensor([0, 2, 4], [1, 0, 0, 1], [1.0, 2.0, 3.0, 4.0])
    assert good.shape == (2, 2)
    with pytest.raises(ValueError, match="ascend and are distinct"):
        neura.sparse_csr_tensor([0, 2, 4], [1, 0, 0, 1], [1.0, 2.0, 3.0, 4.0], check_invariants=True)
    with neura.sparse.check_sparse_tensor_invariants(), pytest.raises(ValueError):
        neura.sparse_csr_tensor([0, 2, 4], [1, 0, 0, 1], [1.0, 2.0, 3.0, 4.0])


LAYOUTS = [
    lambda d: d.to_sparse(),
    lambda d: d.to_sparse_csr(),
    lambda d: d.to_sparse_csc(),
    lambda d: d.to_sparse_bsr((1, 2)),
    lambda d: d.to_sparse_bsc((3, 2)),
    lambda d: some(),
]


@pytest.mark.parametrize("make", LAYOUTS)
def test_copies_and_files(make):
    t = make(dense()).requires_grad_()
    file = io.BytesIO()
    neura.save({"t": [t], "x": dense()}, file)
    loaded = neura.load(file.getvalue())
    for back in (copy.deepcopy(t), pickle.loads(pickle.dumps(t)), loaded["t"][0]):
        assert back.layout == t.layout and back.requires_grad and back.is_leaf and back.shape == t.shape
        assert back.to_dense().equal(t.to_dense()) and str(back) == str(t)
    deep = copy.deepcopy(t)
    deep.detach().zero_() if deep.layout == neura.sparse_coo else deep._values().zero_()
    assert t.detach().to_dense().abs().sum() > 0
    with pytest.raises(neura.errors.NotImplementedError, match="call to_dense"):
        t.untyped_storage()


def test_damaged_files_are_refused():
    file = io.BytesIO()
    neura.save({"t": some()}, file)
    for old, new in ((b'"list":[3,4]', b'"list":[1,4]'), (b'"sparse_coo"', b'"sparse_xxx"')):
        with pytest.raises(neura.errors.FormatError):
            neura.load(file.getvalue().replace(old, new).replace(old.replace(b'"', b'\\"'), new.replace(b'"', b'\\"')))


ROWS = [1, 3, 1, 0]


def table_and_loss(sparse, **options):
    table = neura.nn.Embedding(6, 2, sparse=sparse, **options)
    with neura.no_grad():
        table.weight.copy_(neura.arange(12.0).reshape(6, 2) / 4)
    return (
        table,
        lambda: (table(neura.tensor(ROWS)) * neura.tensor([[1.0, 2.0], [3.0, -1.0], [0.5, 4.0], [2.0, 2.0]])).sum(),
    )


def test_embedding_gradients():
    table, loss = table_and_loss(True)
    loss().backward()
    g = table.weight.grad
    assert g.is_sparse and g._indices().tolist() == [ROWS] and g._values()[2].tolist() == [0.5, 4]
    plain, other = table_and_loss(False)
    other().backward()
    assert g.to_dense().equal(plain.weight.grad)
    loss().backward()
    assert table.weight.grad.to_dense().equal(2 * plain.weight.grad)
    padded, loss = table_and_loss(True, padding_idx=1)
    loss().backward()
    assert padded.weight.grad._indices().tolist() == [[3, 0]]
    for mode in ("sum", "mean", "max"):
        grads = []
        for sparse in (True, False):
            bag = neura.nn.EmbeddingBag(6, 2, mode=mode, sparse=sparse)
            with neura.no_grad():
                bag.weight.copy_(neura.arange(12.0).reshape(6, 2) / 4)
            (bag(neura.tensor([ROWS, [2, 2, 5, 1]])) ** 2).sum().backward()
            grads.append(bag.weight.grad)
        assert grads[0].is_sparse and neura.allclose(grads[0].to_dense(), grads[1])


@pytest.mark.parametrize(
    "make",
    [
        lambda p: neura.optim.SGD(p, lr=0.1),
        lambda p: neura.optim.SGD(p, lr=0.1, maximize=True),
        lambda p: neura.optim.SGD(p, lr=0.1, momentum=0.9),
        lambda p: neura.optim.SGD(p, lr=0.1, momentum=0.5, nesterov=True),
        lambda p: neura.optim.Adagrad(p, lr=0.1, lr_decay=0.1, initial_accumulator_value=0.2),
    ],
)
def test_sparse_steps_are_the_dense_ones(make):
    made = []
    for sparse in (True, False):
        table, loss = table_and_loss(sparse)
        optimizer = make(table.parameters())
        for _ in range(3):
            optimizer.zero_grad()
            loss().backward()
            optimizer.step()
        made.append(table.weight)
    assert neura.allclose(made[0], made[1], atol=1e-6) and not made[0][1].equal(neura.arange(12.0)[2:4] / 4)


def test_sparse_adam():
    table, loss = table_and_loss(True)
    optimizer = neura.optim.SparseAdam(table.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()
    want = [[-0.3, -0.05], [0.2, 0.45], [1.0, 1.25], [1.2, 2.05], [2.0, 2.25], [2.5, 2.75]]
    assert neura.allclose(table.weight, neura.tensor(want), atol=1e-5)
    plain, loss = table_and_loss(False)
    loss().backward()
    with pytest.raises(neura.errors.NotImplementedError, match="use Adam"):
        neura.optim.SparseAdam(plain.parameters()).step()
    table, loss = table_and_loss(True)
    loss().backward()
    with pytest.raises(neura.errors.NotImplementedError, match="expected a dense tensor"):
        neura.optim.Adam(table.parameters()).step()
    with pytest.raises(neura.errors.NotImplementedError, match="weight_decay"):
        neura.optim.SGD(table.parameters(), weight_decay=0.1).step()


def test_close_tensors_have_one_layout_and_close_values():
    x = neura.tensor([[0.0, 1.0], [2.0, 0.0]])
    neura.testing.assert_close(x.to_sparse(), x.to_sparse())
    neura.testing.assert_close(x.to_sparse_csr(), x, check_layout=False)
    for other in (x, x.to_sparse_csr(), (x + 1).to_sparse()):
        with pytest.raises(AssertionError):
            neura.testing.assert_close(x.to_sparse(), other)


@pytest.mark.parametrize("layout", [neura.sparse_coo, neura.sparse_csr, neura.sparse_csc, neura.sparse_bsr])
def test_a_copy_shares_nothing(layout):
    blocksize = (1, 1) if layout == neura.sparse_bsr else None
    a, b = (neura.eye(3).mul(k).to_sparse(layout=layout, blocksize=blocksize) for k in (1, 2))
    a.copy_(b)
    index = {
        neura.sparse_coo: lambda t: t._indices(),
        neura.sparse_csc: lambda t: t.row_indices(),
    }.get(layout, lambda t: t.col_indices())
    b._values().zero_() if layout == neura.sparse_coo else b.values().zero_()
    index(b).zero_()
    assert a.to_dense().tolist() == neura.eye(3).mul(2).tolist()


def test_dense_dimensions_are_those_that_are_asked_for():
    x = neura.ones(2, 3, 4)
    csr = neura.sparse_csr
    for convert in (lambda t, **named: t.to_sparse_csr(**named), lambda t, **named: t.to_sparse(layout=csr, **named)):
        with pytest.raises(neura.errors.NotImplementedError, match=r"got float32 \[2, 3, 4\], a batch of them"):
            convert(x)
        hybrid = convert(x, dense_dim=1)
        assert (hybrid.dense_dim(), hybrid.values().shape) == (1, (6, 4))
        with pytest.raises(neura.errors.ValueError, match="to_sparse_csr: expected dense_dim from 0 to 0"):
            convert(neura.eye(3), dense_dim=1)
        with pytest.raises(neura.errors.NotImplementedError, match="expected no dense_dim for a sparse tensor"):
            convert(neura.eye(3).to_sparse(), dense_dim=0)
    assert x.to_sparse(dense_dim=1).sparse_dim() == x.to_sparse(2).sparse_dim() == 2
    with pytest.raises(neura.errors.ValueError, match="to_sparse_bsr: expected dense_dim from 0 to 0"):
        neura.eye(4).to_sparse_bsr((2, 2), dense_dim=1)
    for named in ({"layout": neura.sparse_csr}, {"dense_dim": 1}):
        with pytest.raises(TypeError, match="to_sparse: expected sparse_dim alone"):
            x.to_sparse(2, **named)
    for layout in (neura.sparse_coo, neura.sparse_csr):
        with pytest.raises(neura.errors.ValueError, match="to_sparse: expected no blocksize"):
            neura.eye(4).to_sparse(layout=layout, blocksize=(2, 2))
    with pytest.raises(neura.errors.ValueError, match="to_sparse: expected a blocksize"):
        neura.eye(4).to_sparse(layout=neura.sparse_bsr)


@pytest.mark.parametrize("index", [[5], [-5], [[0]], 0, [0.0]])
def test_index_select_refuses_as_that_of_a_dense_tensor(index):
    with pytest.raises(neura.errors.IndexError, match="index_select: expected"):
        neura.eye(3).to_sparse().index_select(0, neura.tensor(index))
