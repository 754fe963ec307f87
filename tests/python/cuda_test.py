"""neura.cuda: the same names with and without a device; without one, errors that say what is missing."""

import neura
import pytest

HAS = neura.cuda.is_available()
needs_none = pytest.mark.skipif(HAS, reason="a CUDA device is there")
needs_one = pytest.mark.skipif(not HAS, reason="no CUDA device")


def test_looking_and_tidying_never_fail():
    cuda = neura.cuda
    assert cuda.device_count() >= int(HAS) and cuda.is_initialized() is HAS
    assert neura.device("cuda" if cuda.is_available() else "cpu").type == ("cuda" if HAS else "cpu")
    cuda.empty_cache()
    cuda.reset_peak_memory_stats()
    figures = (
        cuda.memory_allocated(),
        cuda.memory_reserved(0),
        cuda.max_memory_allocated("cuda"),
        cuda.max_memory_reserved(neura.device("cuda:0")),
    )
    assert all(n >= 0 for n in figures) and (HAS or figures == (0, 0, 0, 0))


def test_a_seed_of_cuda_leaves_the_one_generator_alone():
    neura.manual_seed(3)
    expected = neura.rand(4)
    neura.manual_seed(3)
    neura.cuda.manual_seed(5), neura.cuda.manual_seed_all(6)
    assert neura.equal(neura.rand(4), expected)
    with pytest.raises(TypeError):
        neura.cuda.manual_seed("now")


def test_tf32_is_for_convolutions_until_products_are_said_to_use_it():
    matmul, cudnn = neura.backends.cuda.matmul, neura.backends.cudnn
    assert neura.get_float32_matmul_precision() == "highest" and not matmul.allow_tf32 and cudnn.allow_tf32
    try:
        for word in ("high", "medium"):
            neura.set_float32_matmul_precision(word)
            assert neura.get_float32_matmul_precision() == word and matmul.allow_tf32
        with pytest.raises(ValueError, match='expected "highest", "high" or "medium", got "low"'):
            neura.set_float32_matmul_precision("low")
        assert neura.get_float32_matmul_precision() == "medium"
        matmul.allow_tf32 = False
        assert neura.get_float32_matmul_precision() == "highest"
        matmul.allow_tf32 = True
        assert neura.get_float32_matmul_precision() == "high" and cudnn.allow_tf32
        cudnn.allow_tf32 = False
        assert not cudnn.allow_tf32 and matmul.allow_tf32
    finally:
        neura.set_float32_matmul_precision("highest")
        cudnn.allow_tf32 = True


def test_devices_of_another_kind_are_refused():
    for ask in (neura.cuda.synchronize, neura.cuda.memory_allocated, neura.cuda.get_device_name):
        with pytest.raises(ValueError, match="expected a device of CUDA, got cpu"):
            ask("cpu")
    with pytest.raises(TypeError):
        neura.cuda.synchronize(1.5)


@needs_none
@pytest.mark.parametrize(
    "ask",
    [
        lambda: neura.ones(1).cuda(),
        lambda: neura.ones(1).to("cuda"),
        lambda: neura.ones(1, device="cuda"),
        lambda: neura.nn.Linear(1, 1).cuda(),
        lambda: neura.nn.Linear(1, 1, device="cuda"),
        neura.cuda.current_device,
        neura.cuda.synchronize,
        neura.cuda.mem_get_info,
        neura.cuda.get_device_name,
        neura.cuda.get_device_capability,
        neura.cuda.get_device_properties,
    ],
)
def test_without_a_device_errors_say_why(ask):
    with pytest.raises(neura.errors.DeviceError, match="expected one that can be used, got cuda:0: .*use the cpu") as e:
        ask()
    assert isinstance(e.value, RuntimeError)


@needs_one
def test_with_a_device_tensors_travel():
    x = neura.arange(6.0).reshape(2, 3)
    y = x.cuda()
    assert y.is_cuda and y.device == neura.device("cuda:0") and x.cuda(0).device == y.device
    neura.cuda.synchronize()
    assert (y * 2).cpu().tolist() == (x * 2).tolist()
    assert neura.cuda.memory_allocated() > 0
    name = neura.cuda.get_device_name()
    assert name and neura.cuda.get_device_properties(0).name == name
    free, total = neura.cuda.mem_get_info()
    assert 0 < free <= total


def test_an_integer_is_the_index_of_a_cuda_device():
    assert neura.device(1) == neura.device("cuda:1") == neura.device("cuda", 1)
    for wrong in (-1, 256, 2**70):
        with pytest.raises(neura.errors.DeviceError, match="expected an index that exists"):
            neura.device(wrong)
    for wrong in (True, 1.0, None, neura.tensor(1)):
        with pytest.raises(TypeError):
            neura.device(wrong)
