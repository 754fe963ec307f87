"""`with neura.device(...)`: what is made without a device goes there. Runs on the device for tests, and on CUDA."""

import threading

import neura
import pytest
from neura import nn

if not neura.cuda.is_available():
    pytest.skip("no device", allow_module_level=True)

CPU, CUDA = neura.device("cpu"), neura.device("cuda:0")


def made():
    return neura.ones(2).device


def test_tensors_go_where_the_innermost_block_says():
    assert made() == CPU == neura.get_default_device()
    with CUDA as entered:
        assert entered is CUDA and made() == CUDA == neura.get_default_device()
        with neura.device("cpu"):
            assert made() == CPU
            with CUDA, CUDA:  # one object, several times
                assert made() == CUDA
            assert made() == CPU
        assert made() == CUDA
        assert neura.ones(2, device="cpu").device == CPU
    assert made() == CPU


def test_an_exception_ends_the_block():
    with pytest.raises(ZeroDivisionError):
        with CUDA:
            1 / 0
    assert made() == CPU
    with pytest.raises(RuntimeError, match="got none"):
        CUDA.__exit__(None, None, None)
    with pytest.raises(neura.errors.DeviceError, match="got cuda:200"):
        with neura.device("cuda:200"):
            made()
    assert made() == CPU


def test_the_default_lies_below_all_blocks():
    neura.set_default_device("cuda")
    try:
        assert made() == CUDA
        with neura.device("cpu"):
            neura.set_default_device("cpu")
            assert made() == CPU
            neura.set_default_device(0)
            assert made() == CPU
        assert made() == CUDA
    finally:
        neura.set_default_device(None)
    assert made() == CPU
    with pytest.raises(neura.errors.DeviceError, match='got "toaster"'):
        neura.set_default_device("toaster")
    with pytest.raises(TypeError):
        neura.set_default_device(1.5)
    assert made() == CPU


def test_a_device_decorates_functions_and_generators():
    @CUDA
    def one(x, *, more=0):
        """What it says."""
        return neura.ones(x + more).device

    @neura.device("cuda:0")
    def several(n):
        got = made()
        for _ in range(n):
            got = yield got, made()

    assert one(1, more=2) == CUDA and one.__name__ == "one" and one.__doc__ == "What it says."
    steps = several(2)
    assert next(steps) == (CUDA, CUDA) and made() == CPU  # between its steps nothing is changed
    assert steps.send(5) == (5, CUDA) and made() == CPU

    @neura.device("cpu")
    def back():
        return made(), one(1)

    with CUDA:
        assert back() == (CPU, CUDA) and made() == CUDA

    @CUDA
    def fails():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    assert made() == CPU
    for wrong in ((), (1,), (made, made)):
        with pytest.raises(TypeError, match="expected one function to decorate"):
            CUDA(*wrong)


def test_pinned_tensors_are_made_where_they_are_asked_for():
    like = neura.ones(2, 3)
    for x in (
        neura.ones(2, pin_memory=True),
        neura.empty((2, 0), pin_memory=True),
        neura.full((2,), 7, pin_memory=True),
        neura.arange(3, pin_memory=True),
        neura.tensor([1.0, 2.0], pin_memory=True),
        neura.rand(4, pin_memory=True),
        neura.randint(3, (2,), pin_memory=True),
        neura.zeros_like(like, pin_memory=True),
        neura.randn_like(like, pin_memory=True),
        like.new_full((2,), 3, pin_memory=True),
        like.new_tensor([1], pin_memory=True),
    ):
        assert x.device == CPU and (x.is_pinned() or not x.numel())
    assert neura.full((2,), 7, pin_memory=True).tolist() == [7, 7]
    strided = neura.empty_strided((2, 3), (1, 4), pin_memory=True)
    assert strided.is_pinned() and strided.stride() == (1, 4)
    turned = neura.arange(6).reshape(2, 3).t().pin_memory()
    assert turned.stride() == (1, 3) and turned.tolist() == [[0, 3], [1, 4], [2, 5]]
    assert neura.ones(1).expand(3).pin_memory().tolist() == [1, 1, 1]
    leaf = neura.ones(2, pin_memory=True, requires_grad=True)
    assert leaf.is_leaf and leaf.requires_grad and leaf.is_pinned()
    assert not neura.ones(2).is_pinned()
    with pytest.raises(neura.errors.DeviceError, match="ones: expected a tensor on the cpu"):
        neura.ones(2, device="cuda", pin_memory=True)


def test_threads_do_not_see_each_others_blocks():
    seen = []
    with CUDA:
        thread = threading.Thread(target=lambda: seen.append(made()))
        thread.start()
        thread.join()
    assert seen == [CPU]


def test_every_function_that_makes_tensors_follows():
    with CUDA:
        for x in (
            neura.empty(2),
            neura.empty_strided((2,), (1,)),
            neura.empty_permuted((2,), (0,)),
            neura.zeros(2),
            neura.full((2,), 3),
            neura.scalar_tensor(1.0),
            neura.arange(3),
            neura.linspace(0, 1, 3),
            neura.logspace(0, 1, 3),
            neura.eye(2),
            neura.tril_indices(2, 2),
            neura.triu_indices(2, 2),
            neura.tensor([1, 2]),
            neura.tensor(1.0),
            neura.tensor(neura.ones(2, device="cpu")),
            neura.as_tensor([1]),
            neura.asarray([1.0]),
            neura.rand(2),
            neura.randn(2),
            neura.randint(3, (2,)),
            neura.randperm(3),
            neura.normal(0.0, 1.0, (2,)),
            neura.Tensor(2, 3),
            neura.Tensor([1, 2]),
            nn.Parameter(),
            neura.signal.windows.hann(4),
        ):
            assert x.device == CUDA, x
        here = neura.ones(2, device="cpu")
        memory = bytearray(4)
        for x in (here + 1, neura.ones_like(here), here.new_zeros(2), here.new_tensor([1]), here.clone()):
            assert x.device == CPU
        assert neura.frombuffer(memory, dtype=neura.uint8).device == CPU  # it is that memory
    assert neura.tensor(neura.ones(2, device=CUDA)).device == CUDA  # a copy stays where its tensor is


def test_arrays_cross_into_the_block_and_stay_out_of_it():
    numpy = pytest.importorskip("numpy")
    array = numpy.arange(3.0)
    with CUDA:
        assert neura.from_numpy(array).device == CPU
        assert neura.tensor(array).device == neura.as_tensor(array).device == CUDA
        assert neura.tensor(array).cpu().tolist() == [0, 1, 2]


def test_layers_are_made_in_it_with_the_cpus_numbers():
    def network():
        neura.manual_seed(1)
        return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.PReLU(), nn.LayerNorm(4), nn.Linear(4, 2))

    want = network()
    with CUDA:
        got = network()
        nn.init.orthogonal_(got[0].weight)
    nn.init.orthogonal_(want[0].weight)
    got[0].weight.data.copy_(want[0].weight.data)  # drawn after other numbers
    for (name, a), (_, b) in zip(want.state_dict().items(), got.state_dict().items()):
        assert b.device == CUDA and neura.equal(a, b.cpu()), name
    x = neura.ones(2, 3)
    with CUDA:
        assert neura.allclose(got.eval()(x.to(CUDA)).cpu(), want.eval()(x))


def test_files_and_samplers_do_not_follow(tmp_path):
    saved = {"x": neura.arange(3)}
    neura.save(saved, tmp_path / "x")
    with CUDA:
        assert neura.load(tmp_path / "x")["x"].device == CPU
        order = list(neura.utils.data.RandomSampler(range(5), generator=neura.Generator().manual_seed(1)))
    assert order == list(neura.utils.data.RandomSampler(range(5), generator=neura.Generator().manual_seed(1)))


class Squares:
    def __len__(self):
        return 4

    def __getitem__(self, i):
        return neura.tensor(float(i)), i * i


@pytest.mark.parametrize("workers", [{}, {"num_workers": 2, "worker_type": "thread"}])
def test_loaders_made_in_it_put_their_batches_there(workers):
    with CUDA:
        loader = neura.utils.data.DataLoader(Squares(), batch_size=2, **workers)
        inside = list(loader)
        here = neura.utils.data.DataLoader(Squares(), batch_size=2, device="cpu", **workers)
    for batches in (inside, list(loader)):
        assert [part.device for batch in batches for part in batch] == [CUDA] * 4
        assert [part.tolist() for batch in batches for part in batch] == [[0, 1], [0, 1], [2, 3], [4, 9]]
    assert all(part.device == CPU for batch in here for part in batch)


def test_worker_processes_make_their_items_on_the_cpu():
    with CUDA:
        loader = neura.utils.data.DataLoader(
            Squares(), batch_size=2, num_workers=1, worker_type="process", multiprocessing_context="fork"
        )
        assert [part.device for batch in loader for part in batch] == [CUDA] * 4
