"""What opinfo.py and its kin share: PyTorch's arguments for Neura, comparisons, findings, the way they start."""
import argparse
import collections
import signal
import warnings

import torch
from torch.overrides import resolve_name

import neura

DTYPES = "float32 float64 float16 bfloat16 int8 uint8 int16 int32 int64 bool complex64 complex128".split()
TO_NEURA = {getattr(torch, name): getattr(neura, name) for name in DTYPES}
TOLERANCES = {torch.float16: 1e-2, torch.bfloat16: 3e-2, torch.float64: 1e-8, torch.complex128: 1e-8}
RANDOM = tuple(
    "rand dropout bernoulli normal poisson multinomial exponential geometric cauchy uniform empty rrelu resize gumbel "
    "fractional lowrank scaled_dot multi_head".split()
)
NO_GRADIENT = "svd eigh linalg.eig lu_factor ldl geqrf".split()  # of what is unique up to signs
SKIPPED = ("jiterator", "_", "sparse.", "masked.", "ops.")
SPARSE = [torch.sparse_coo, torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc]
MOST_DIMENSIONS = 8  # of Neura's tensors
SECONDS = 20  # for one sample


class Unknown(Exception):
    """An argument that Neura has no counterpart of."""


class Slow(Exception):
    """A sample took too long."""


def in_time(seconds=SECONDS):
    signal.alarm(seconds)


def on_alarm(*_):
    raise Slow()


def sparse_of(t, leaves):
    """A sparse tensor of Neura with the same layout and parts."""
    size = tuple(t.shape)
    if t.layout is torch.sparse_coo:
        parts = t._indices(), t._values()
        made = neura.sparse_coo_tensor(*translated(parts, []), size, is_coalesced=t.is_coalesced() or None)
    else:
        rows = t.layout in (torch.sparse_csr, torch.sparse_bsr)
        parts = (t.crow_indices(), t.col_indices()) if rows else (t.ccol_indices(), t.row_indices())
        if parts[0].dim() > 1:
            raise Unknown("batches of compressed matrices")
        make = getattr(neura, str(t.layout).split(".")[-1] + "_tensor")
        made = make(*translated((*parts, t.values()), []), size)
    if t.requires_grad:
        leaves.append((t, made.requires_grad_()))
    return made


def tensor_of(t, leaves):
    if t.layout != torch.strided and t.layout in SPARSE:
        return sparse_of(t.detach(), leaves)
    if t.dtype not in TO_NEURA or t.layout != torch.strided or t.device.type != "cpu":
        raise Unknown(f"{t.dtype} {t.layout} {t.device}")
    given = t.detach().resolve_conj().resolve_neg()
    if given.numel() and 0 not in given.stride():
        copy = torch.empty_strided(given.shape, given.stride(), dtype=given.dtype)
        given = copy.copy_(given)
    if t.dim() > MOST_DIMENSIONS:
        raise Unknown(f"{t.dim()} dimensions")
    made = neura.from_dlpack(given)
    if t.requires_grad:
        made.requires_grad_()
        leaves.append((t, made))
    return made


def translated(x, leaves):
    """x for Neura; leaves collects (PyTorch's, Neura's) tensors that require a gradient."""
    if isinstance(x, torch.Tensor):
        return tensor_of(x, leaves)
    if isinstance(x, torch.dtype) and x in TO_NEURA:
        return TO_NEURA[x]
    if isinstance(x, torch.device):
        return neura.device(str(x))
    if isinstance(x, torch.memory_format):
        return getattr(neura, str(x).split(".")[-1])
    if isinstance(x, torch.layout) and hasattr(neura, str(x).split(".")[-1]):
        return getattr(neura, str(x).split(".")[-1])
    if isinstance(x, (torch.dtype, torch.layout, torch.Generator)):
        raise Unknown(str(x))
    if isinstance(x, dict):
        return {key: translated(value, leaves) for key, value in x.items()}
    if isinstance(x, list):
        return [translated(value, leaves) for value in x]
    if isinstance(x, tuple):
        return tuple(translated(value, leaves) for value in x)
    return x


def leaf_copies(x):
    if isinstance(x, torch.Tensor):
        plain = x.detach().resolve_conj().resolve_neg().clone()
        return plain.requires_grad_(x.requires_grad)
    if isinstance(x, dict):
        return {key: leaf_copies(value) for key, value in x.items()}
    return type(x)(leaf_copies(value) for value in x) if type(x) in (list, tuple) else x


def tensors_in(x):
    if isinstance(x, (torch.Tensor, neura.Tensor)):
        return [x]
    return [t for value in x for t in tensors_in(value)] if isinstance(x, (list, tuple)) else []


def differing_tensor(want, got):
    if want.layout in SPARSE and isinstance(got, neura.Tensor):
        if str(want.layout).split(".")[-1] != str(got.layout).split(".")[-1]:
            return f"{got.layout} for {want.layout}"
        want, got = want.to_dense(), got.to_dense()
    if want.layout != torch.strided or want.dtype not in TO_NEURA:
        return None
    if not isinstance(got, neura.Tensor):
        return f"{type(got).__name__} for a tensor"
    if not str(got.layout).endswith("strided"):
        return f"{got.layout} for {want.layout}"
    if TO_NEURA[want.dtype] != got.dtype or tuple(want.shape) != tuple(got.shape):
        return f"{got.dtype} {tuple(got.shape)} for {want.dtype} {tuple(want.shape)}"
    if not want.numel():
        return None
    a, b = want.detach().resolve_conj().resolve_neg(), torch.from_dlpack(got.detach().clone())
    if a.is_floating_point() or a.is_complex():
        tolerance = TOLERANCES.get(a.dtype, 1e-4)
        same = torch.isclose(a, b, rtol=tolerance, atol=tolerance / 10, equal_nan=True)
    else:
        same = a == b
    if same.all():
        return None
    place = tuple((~same).nonzero()[0].tolist())
    count = int((~same).sum())
    return f"{count} of {a.numel()} differ, at {list(place)}: {b[place].item()} for {a[place].item()}"


def differing(want, got):
    """What is another in Neura's answer, in words; None where nothing is."""
    if isinstance(want, torch.Tensor):
        return differing_tensor(want, got)
    if isinstance(want, (list, tuple)):
        got = list(got)
        if len(want) != len(got):
            return f"{len(got)} results for {len(want)}"
        return next(filter(None, map(differing, want, got)), None)
    return f"{got!r} for {want!r}" if isinstance(want, (bool, int, str)) and want != got else None


def shown(x):
    if isinstance(x, torch.Tensor):
        plain = x.layout != torch.strided or x.is_contiguous()
        strides = "" if plain else f" strides {list(x.stride())}"
        return f"{str(x.dtype)[6:]} {list(x.shape)}{strides}"
    if isinstance(x, dict):
        return ", ".join(f"{key}={shown(value)}" for key, value in x.items())
    return "(" + ", ".join(map(shown, x)) + ")" if isinstance(x, (list, tuple)) else repr(x)[:60]


class Findings:
    """What was compared, how often, and what differed, with the first examples."""

    def __init__(self):
        self.calls, self.found = collections.Counter(), {}

    def note(self, name, what, args, kwargs, detail):
        count, examples = self.found.setdefault((name, what), (0, []))
        if count < 3:
            examples.append(f"{shown(args)} {shown(kwargs)}: {detail}"[:400])
        self.found[name, what] = count + 1, examples

    def show(self):
        print(f"{sum(self.calls.values())} calls of {len(self.calls)} functions compared")
        for (name, what), (times, examples) in sorted(self.found.items()):
            print(f"{name} {what}: {times} of {self.calls[name]} calls", *examples, sep="\n    ")


def named(func):
    """The name of a function of torch and the function of that name of Neura's; None where there is none."""
    name, own = resolve_name(func) or "", neura
    for part in name.split(".")[1:]:
        own = getattr(own, part, None)
    return name, own if name else None


KINDS = (IndexError, ValueError, TypeError, AssertionError, NotImplementedError, RuntimeError)


def outcome(function):
    """(result, None) or (None, exception)."""
    try:
        return function(), None
    except Slow:
        raise
    except Exception as error:
        return None, error


def same_kind(want, got):
    """Whether who catches PyTorch's exception catches ours. An assertion of PyTorch's is any error."""
    kinds = [kind for kind in KINDS if isinstance(want, kind)]
    return not kinds or isinstance(got, kinds[0]) or kinds[0] is AssertionError


def judged(found, name, want, got, given):
    """Compares two outcomes; whether both are results."""
    found.calls[name] += 1
    (wanted, refused), (gotten, failed) = want, got
    if refused is not None and failed is None:
        found.note(name, f"computes what raises {type(refused).__name__}", *given, str(refused).split("\n")[0])
    elif failed is not None and refused is None:
        found.note(name, f"raises {type(failed).__name__}", *given, failed)
    elif failed is not None:
        if not same_kind(refused, failed):
            what = f"raises {type(failed).__name__} for {type(refused).__name__}"
            found.note(name, what, *given, f"{failed} / {refused}")
    else:
        what = None if any(word in name for word in RANDOM) else differing(wanted, gotten)
        if what:
            found.note(name, "differs", *given, what)
        return True
    return False


def samples_of(op, dtype, gradients, limit):
    in_time()
    try:
        all_of_them = list(op.sample_inputs("cpu", dtype, requires_grad=gradients))
        return (all_of_them + list(op.reference_inputs("cpu", dtype, requires_grad=gradients)))[:limit]
    except Exception as e:
        print(f"{op.name}: no samples ({e})"[:100])
        return []
    finally:
        in_time(0)


def compare_orders(found, name, wants, gots, leaves, given):
    for order in ("first", "second"):
        pairs = [(t, n) for t, n in zip(wants, gots) if t is not None and n is not None and t.requires_grad]
        pairs = [(t, n) for t, n in pairs if n.requires_grad]  # what is constant has none here
        if not pairs or not leaves or any(word in name for word in RANDOM):
            return
        weights = [torch.rand(t.shape).to(t.dtype) for t, _ in pairs]
        own_weights = [neura.from_dlpack(w) for w in weights]
        wants, refused = outcome(lambda: gradients(torch, [t for t, _ in pairs], [t for t, _ in leaves], weights))
        gots, error = outcome(lambda: gradients(neura, [n for _, n in pairs], [n for _, n in leaves], own_weights))
        if refused is not None:
            return
        if error is not None:
            return found.note(name, f"raises {type(error).__name__} in its {order} derivative", *given, error)
        for want, got in zip(wants, gots):
            if (want is None) != (got is None):
                one = next(t for t in (want, got) if t is not None)
                what = "has one and is not zero" if one.abs().sum().item() else None
            else:
                what = differing(want, got) if want is not None else None
            if what:
                return found.note(name, f"differs in its {order} derivative", *given, what)


def gradients(library, results, leaves, weights):
    return library.autograd.grad(results, leaves, weights, allow_unused=True, create_graph=True)


def timed(function):
    in_time()
    try:
        function()
    except (Slow, Unknown):
        pass
    finally:
        in_time(0)


def entry(doc, modes):
    """The program of a tool with modes: functions of (findings, dtype, part of a name, samples of each)."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=modes)
    parser.add_argument("--dtype", choices=DTYPES, default="float32")
    parser.add_argument("--only", default="", help="names that contain this")
    parser.add_argument("--limit", type=int, default=20, help="samples of each")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    signal.signal(signal.SIGALRM, on_alarm)
    torch.manual_seed(0)
    found = Findings()
    modes[args.mode](found, getattr(torch, args.dtype), args.only, args.limit)
    found.show()
