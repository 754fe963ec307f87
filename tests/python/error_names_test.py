"""An error names what was called: every public function, called with one wrong argument after the other."""

import random
import warnings

import neura
import pytest
from fuzz_values import RIGHT, parameters_of, tensor
from neura import errors

SPACES = {
    "neura": neura,
    "Tensor": neura.Tensor,
    "functional": neura.nn.functional,
    "linalg": neura.linalg,
    "special": neura.special,
    "fft": neura.fft,
    "windows": neura.signal.windows,
    "audio": neura.audio.functional,
}
# What changes the state of the process, or deals in other things than tensors.
LEFT_OUT = set(
    "save load load_backend manual_seed seed set_num_threads set_default_device set_default_dtype set_printoptions "
    "use_deterministic_algorithms set_rng_state from_file set_default_tensor_type set_deterministic_debug_mode "
    "set_anomaly_enabled set_autocast_cpu_dtype set_autocast_cpu_enabled set_autocast_gpu_dtype "
    "compile pca_lowrank svd_lowrank lobpcg".split()
)
# Which say what part of their arguments is wrong, by the name of what takes that part.
LEFT_OUT |= set(
    "vmap triplet_margin_with_distance_loss sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor "
    "sparse_coo_tensor sparse_csc_tensor sparse_csr_tensor to_sparse_coo to_sparse map_ map2_ new_tensor sym_sum "
    "sym_sqrt embedding_bag unsafe_split_with_sizes _assert asarray binomial from_dlpack".split()
)
# Of a device or layout by its name, and of nested lists that are read: these speak for themselves.
OTHERS = {"device", "layout", "tensor"}


def wrongs():
    t = neura.ones
    numbers = [None, "x", object(), -100, 2**62, 1.5, float("nan"), [None], [-9, 9], (99,), True, {}, neura.int32]
    tensors = [t(2, 3).long(), t(2, 3).bool(), t(2, 3) * 1j, t(0), t(()), t(5, 4, 3, 2, 1), t(2).to(neura.float8_e5m2)]
    return numbers + tensors + [lambda: None]


def texts():
    """The names by what they do: those of one text are aliases."""
    found = {}
    for space in SPACES.values():
        for name in dir(space):
            found.setdefault(getattr(getattr(space, name), "__doc__", None), set()).add(name)
    return found


def calls(function, of_tensor, r):
    """Right arguments, and the same with one wrong."""
    required, names = parameters_of(function)
    if of_tensor and required[:1] not in (["self"], ["input"]):
        required = ["self", *required]
    right = [RIGHT.get(name, tensor)(r) for name in required]
    yield right, {}
    for i in range(len(right)):
        for wrong in wrongs():
            if i or not of_tensor or isinstance(wrong, neura.Tensor):
                yield [*right[:i], wrong, *right[i + 1 :]], {}
    for name in names:
        if name not in required:
            yield from ((right, {name: wrong}) for wrong in wrongs())


def refused(function, args, keywords):
    try:
        function(*args, **keywords)
    except Exception as error:
        return error
    finally:
        neura._neura._exchange_modes(1 | 4 | 8 | 32, 0)


@pytest.mark.parametrize("space", SPACES)
def test_an_error_names_what_was_called(space):
    warnings.simplefilter("ignore")
    aliases, other, seen = texts(), {}, 0
    for name in dir(SPACES[space]):
        function = getattr(SPACES[space], name)
        if name in LEFT_OUT or name.startswith("__") or isinstance(function, type) or not callable(function):
            continue
        plain = getattr(SPACES[space], name.rstrip("_"), function)  # of add_, add
        r, known = random.Random(name), aliases[function.__doc__] | aliases[plain.__doc__]
        for args, keywords in (c for _ in range(2) for c in calls(function, space == "Tensor", r)):
            error = refused(function, args, keywords)
            if error is None:
                continue
            seen += 1
            said = str(error).split(": ")[0]
            right = said.strip("_") == name.strip("_") or said in known or said in OTHERS
            if isinstance(error, errors.Error) and not right:
                other[f"{name}: {error}"[:200]] = (args, keywords)
    assert seen > 20
    assert not other, "\n".join(other)
