"""vmap of every operation, over every set of its operands, is a loop over the samples; so is the gradient inside."""

import neura
import pytest
from neura.func import vjp, vmap
from transform_cases import cases, difference, names

# Sizes or branches that depend on values: refused inside vmap. (Here by the conformance file's name.)
DEPENDS_ON_VALUES = {
    "_segment_reduce#lengths", "_segment_reduce#offsets", "argwhere", "hash_tensor", "histc", "histogram",
    "histogramdd",
    "linspace#tensor_overload", "logspace#tensor_overload", "masked_scatter", "masked_select",
    "nn.functional.ctc_loss", "nonzero",
    "nonzero_static", "repeat_interleave", "tensor_split", "unique", "unique_consecutive",
}  # fmt: skip
# What has no value of its own to compare: random numbers that a loop draws in another order.
DRAWS = {"nn.functional.multi_head_attention_forward"}
# Rows that loop over the samples, because nobody has written a rule.
LOOPS = {
    "ctc_loss", "ctc_loss_backward", "index_select", "median", "median_of_all", "recurrent_layer_backward",
    "index_add", "index_copy", "index_fill", "index_reduce",  # at one place, or of one element
}  # fmt: skip
SHARED = (neura.errors.Error, ValueError)  # a tensor that all samples share cannot be written with what they do not


def looped():
    unknown = set(neura._neura._looped_rows()) - LOOPS
    assert not unknown, f"loops over the samples: {unknown}"


def check(results, wanted):
    for k, y in enumerate(results):
        for n, want in enumerate(wanted):
            wrong = difference(y[n], want[k])
            assert wrong is None, f"result {k} of sample {n}: {wrong}"


def compare(case, which):
    found = case.samples()
    if not found:
        return 0
    samples, wanted = found
    if which is not None:
        mixed = [samples[1 if j == which else 0][j] for j in range(len(case.tensors))]
        try:
            wanted = wanted[0], case.call(*mixed)
        except (neura.errors.Error, ValueError):
            return 0
        if [y.shape for y in wanted[0]] != [y.shape for y in wanted[1]]:
            return 0
    dims = tuple(0 if which in (None, j) else None for j in range(len(case.tensors)))
    inputs = [neura.stack([s[j] for s in samples]) if d == 0 else t for j, (d, t) in enumerate(zip(dims, case.tensors))]
    check(vmap(case.call, in_dims=dims, randomness="same")(*inputs), wanted)
    return 1


@pytest.mark.parametrize("name", [n for n in names() if n not in DEPENDS_ON_VALUES | DRAWS])
def test_is_a_loop_over_the_samples(name):
    neura._neura._looped_rows()
    for case in cases(name, 2):
        compare(case, None)
    looped()


@pytest.mark.parametrize("name", [n for n in names() if n not in DEPENDS_ON_VALUES | DRAWS])
def test_with_one_operand_batched(name):
    neura._neura._looped_rows()
    for case in cases(name, 1):
        for which in range(len(case.tensors)) if len(case.tensors) > 1 else ():
            try:
                compare(case, which)
            except SHARED as error:
                assert "all samples share" in str(error)
    looped()


@pytest.mark.parametrize("name", sorted(DEPENDS_ON_VALUES - {"hash_tensor"}))
def test_refuses_what_depends_on_values(name):
    refused = 0
    for case in cases(name, 4):
        if not case.samples():
            continue
        try:
            compare(case, None)
        except (neura.errors.Error, ValueError, TypeError) as error:
            assert "vmap" in str(error) or "expected a number" in str(error)
            refused += 1
    assert refused


def gradients(case, k, tensors):
    def of(x):
        results = case.call(*[x if j == k else t for j, t in enumerate(tensors)])
        return tuple(y for y in results if y.is_floating_point() or y.is_complex())

    outputs, back = vjp(of, tensors[k])
    return back(tuple(neura.full_like(y, 0.5) for y in outputs))


@pytest.mark.parametrize("name", [n for n in names() if n not in DEPENDS_ON_VALUES | DRAWS])
def test_gradients_inside(name):
    neura._neura._looped_rows()
    for case in cases(name, 1):
        found = case.samples() if any(case.differentiable) else None
        if not found:
            continue
        samples, _ = found
        stacked = [neura.stack(list(pair)) for pair in zip(*samples)]
        for k, wanted in enumerate(case.differentiable):
            if wanted:
                results = vmap(lambda *t: gradients(case, k, t), randomness="same")(*stacked)
                check(results, [gradients(case, k, s) for s in samples])
    looped()
