"""Pruned parameters, with PyTorch 2.11's masks, and orthogonal ones."""

import neura
import pytest
from neura import errors, nn
from neura.nn.utils import parametrizations, prune


def linear(i, o):
    layer = nn.Linear(i, o, dtype=neura.float64)
    with neura.no_grad():
        layer.weight.copy_((neura.arange(float(i * o), dtype=neura.float64) ** 2).sin().reshape(o, i))
        layer.bias.zero_()
    return layer


def test_masks_add_up():
    layer = linear(4, 3)
    weight = layer.weight.detach().clone()
    prune.l1_unstructured(layer, "weight", 0.3)
    assert layer.weight_mask.tolist() == [[0, 1, 1, 0], [0, 0, 1, 1], [1, 1, 1, 1]]
    prune.ln_structured(layer, "weight", 1, n=2, dim=0)
    assert layer.weight_mask.tolist() == [[0, 0, 0, 0], [0, 0, 1, 1], [1, 1, 1, 1]]
    prune.ln_structured(layer, "weight", 0.5, n=1, dim=1)
    assert layer.weight_mask.tolist() == [[0, 0, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]]
    assert neura.equal(layer.weight, weight * layer.weight_mask) and len(list(layer._forward_pre_hooks)) == 1
    assert sorted(layer.state_dict()) == ["bias", "weight_mask", "weight_orig"]


def test_training_moves_what_is_kept():
    layer = prune.l1_unstructured(linear(4, 3), "weight", 6)
    mask = layer.weight_mask.clone()
    optimizer = neura.optim.SGD(layer.parameters(), lr=0.1)
    layer(neura.ones(2, 4, dtype=neura.float64)).square().sum().backward()
    assert neura.equal(layer.weight_orig.grad != 0, mask != 0)
    optimizer.step()
    layer(neura.ones(2, 4, dtype=neura.float64))
    assert neura.equal(layer.weight == 0, mask == 0)
    assert prune.is_pruned(nn.Sequential(layer)) and prune.remove(layer, "weight") is layer
    assert not prune.is_pruned(layer) and type(layer.weight) is nn.Parameter and (layer.weight == 0).sum() == 6
    assert sorted(layer.state_dict()) == ["bias", "weight"]
    with pytest.raises(ValueError, match="remove: expected a pruned parameter"):
        prune.remove(layer, "weight")


def test_several_parameters_as_one():
    a, b = linear(4, 3), linear(3, 2)
    prune.global_unstructured([(a, "weight"), (b, "weight")], prune.L1Unstructured, amount=8)
    both = neura.cat([(m.weight_orig.abs() * sign).flatten() for m in (a, b) for sign in [1]]).detach()
    mask = neura.cat([a.weight_mask.flatten(), b.weight_mask.flatten()])
    assert mask.sum() == 10 and both[mask == 0].max() <= both[mask == 1].min()
    with pytest.raises(TypeError, match="unstructured method"):
        prune.global_unstructured([(a, "weight")], prune.LnStructured, amount=1, n=2)


def test_importance_and_masks_of_ones_own():
    layer = linear(2, 2)
    prune.l1_unstructured(layer, "weight", 1, importance_scores=neura.tensor([[4.0, 3.0], [1.0, 2.0]]))
    assert layer.weight_mask.tolist() == [[1, 1], [0, 1]]
    prune.custom_from_mask(layer, "bias", neura.tensor([0, 1]))
    assert layer.bias_mask.tolist() == [0, 1]
    prune.identity(layer, "bias")
    assert layer.bias_mask.tolist() == [0, 1]
    neura.manual_seed(0)
    assert (prune.random_unstructured(linear(3, 3), "weight", 2).weight_mask == 0).sum() == 2
    rows = prune.random_structured(linear(3, 3), "weight", 1, 0).weight_mask.sum(1)
    assert rows.sort().values.tolist() == [0, 3, 3]
    assert prune.L1Unstructured(2).prune(neura.tensor([1.0, -2.0, 3.0])).tolist() == [0, 0, 3]

    class Even(prune.BasePruningMethod):
        PRUNING_TYPE = "unstructured"

        def compute_mask(self, t, default_mask):
            mask = default_mask.clone()
            mask.view(-1)[::2] = 0
            return mask

    layer = linear(3, 2)
    Even.apply(layer, "weight")
    assert layer.weight_mask.tolist() == [[0, 1, 0], [1, 0, 1]]


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda m: prune.l1_unstructured(m, "weight", 99), "at most 6, got 99"),
        (lambda m: prune.l1_unstructured(m, "weight", 1.5), "a count or from 0.0 to 1.0"),
        (lambda m: prune.ln_structured(m, "bias", 1, 2, 0), "at least 2 dimensions"),
        (lambda m: prune.ln_structured(m, "weight", 1, 2, 5), "expected dim from -2 to 1, got 5"),
        (lambda m: prune.custom_from_mask(m, "weight", neura.ones(2)), "expected a mask of"),
        (lambda m: prune.l1_unstructured(m, "weight", 1, neura.ones(2)), "importance_scores of shape"),
    ],
)
def test_mistakes_change_nothing(call, text):
    layer = linear(3, 2)
    with pytest.raises(errors.Error, match=text):
        call(layer)
    assert sorted(dict(layer.named_parameters())) == ["bias", "weight"] and not prune.is_pruned(layer)


UNIT = 1e-12
CAYLEY = (
    [0.619513, -0.583908, 0.524648, -0.040136, 0.643917, 0.764042, -0.78396, -0.494391, 0.375479],
    [0.0, 0.0, 0.0, -0.73703, 0.0, 0.0, 0.70703, -0.72499, 0.0],
)


@pytest.mark.parametrize("name", ["matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("based", [True, False])
@pytest.mark.parametrize("i, o", [(3, 3), (3, 5), (5, 3)])
def test_orthogonal(name, based, i, o):
    layer = parametrizations.orthogonal(linear(i, o), orthogonal_map=name, use_trivialization=based)

    def gap():
        w = layer.weight.detach()
        return ((w @ w.t() if i > o else w.t() @ w) - neura.eye(min(i, o), dtype=w.dtype)).abs().max()

    assert gap() < UNIT
    optimizer = neura.optim.SGD(layer.parameters(), lr=0.1)
    target, losses = neura.arange(float(i * o), dtype=neura.float64).cos().reshape(o, i), []
    for _ in range(5):
        loss = (layer.weight - target).square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses == sorted(losses, reverse=True) and losses[-1] < losses[0] and gap() < UNIT
    q = neura.linalg.qr((neura.arange(float(i * o), dtype=neura.float64) ** 2).cos().reshape(max(i, o), min(i, o)))[0]
    q = q.t() if i > o else q
    if based or name == "householder":
        layer.weight = q
        assert (layer.weight - q).abs().max() < UNIT
    else:
        with pytest.raises(NotImplementedError, match="orthogonal: expected orthogonal_map 'householder'"):
            layer.weight = q


def test_orthogonal_gives_pytorchs_numbers():
    # PyTorch 2.11: the weight, and the gradient of the original for the sum of weight * cos.
    layer = parametrizations.orthogonal(linear(3, 3), orthogonal_map="cayley", use_trivialization=False)
    weight = neura.tensor(CAYLEY[0], dtype=neura.float64)
    assert neura.allclose(layer.weight.flatten(), weight, atol=1e-6)
    (layer.weight * neura.arange(9.0, dtype=neura.float64).cos().reshape(3, 3)).sum().backward()
    got = layer.parametrizations.weight.original.grad.flatten()
    assert neura.allclose(got, neura.tensor(CAYLEY[1], dtype=neura.float64), atol=1e-5)


def test_orthogonal_mistakes():
    for wrong, text in (({"orthogonal_map": "exp"}, "expected orthogonal_map"), ({"name": "bias"}, "at least 2 dim")):
        with pytest.raises(ValueError, match=text):
            parametrizations.orthogonal(linear(2, 2), **wrong)
    layer = nn.Module()
    layer.weight = nn.Parameter(neura.ones(2, 2, dtype=neura.complex64))
    with pytest.raises(ValueError, match="expected a real weight"):
        parametrizations.orthogonal(layer, orthogonal_map="householder")
    assert parametrizations.orthogonal(layer).weight.is_complex()
