"""Distributions against what PyTorch says: distributions.json, which make_distributions.py writes."""

import json
import math
import pathlib
import re

import neura
import pytest
from neura import distributions as D

STORED = json.loads(pathlib.Path(__file__).with_name("distributions.json").read_text())


def t(value):
    return neura.tensor(value, dtype=neura.float64)


def make(call):
    return eval(call, {"t": t, **vars(D)})


def name_of(row):
    return row["call"] if "call" in row else f"{row['p']} {row['q']}"


def flat(value):
    return [x for v in value for x in flat(v)] if isinstance(value, list) else [value]


def near(got, stored, call):
    """Calls of plain numbers make float32. PyTorch's Bessel functions of VonMises are good for 1e-7."""
    loose = 3e-5 if "t(" not in call else 1e-7 if "VonMises" in call else 1e-9
    got, want = flat(got.tolist()), flat(stored)
    assert len(got) == len(want)
    for a, b in zip(got, want):
        assert a == b or (math.isnan(a) and math.isnan(b)) or abs(a - b) <= loose * max(1.0, abs(b)), (got, want)


def test_every_distribution_has_a_row():
    kinds = {n for n in D.__all__ if isinstance(getattr(D, n), type) and issubclass(getattr(D, n), D.Distribution)}
    tried = {re.match(r"\w+", row["call"]).group() for row in STORED["calls"]}
    assert kinds - tried == {"Distribution", "ExponentialFamily"}


@pytest.mark.parametrize("row", STORED["calls"], ids=name_of)
def test_it_says_what_pytorch_says(row):
    d = make(row["call"])
    assert list(d.batch_shape) == row["batch"] and list(d.event_shape) == row["event"]
    kind = neura.float64 if "t(" in row["call"] else neura.float32
    value = neura.tensor(row["value"], dtype=kind)
    for name in ("log_prob", "cdf"):
        if name in row:
            near(getattr(d, name)(value), row[name], row["call"])
    for name in ("mean", "mode", "variance", "stddev"):
        if name in row:
            near(getattr(d, name), row[name], row["call"])
    if "entropy" in row:
        near(d.entropy(), row["entropy"], row["call"])
        near(d.perplexity().log(), row["entropy"], row["call"])
    if "icdf" in row:
        near(d.icdf(neura.full(tuple(d.batch_shape), 0.3, dtype=kind)), row["icdf"], row["call"])
    if "enumerated" in row:
        near(d.enumerate_support(), row["enumerated"], row["call"])
        assert d.enumerate_support(False).shape[0] == len(row["enumerated"])


@pytest.mark.parametrize("row", STORED["calls"], ids=name_of)
def test_expanded_it_says_the_same(row):
    d = make(row["call"])
    wide = d.expand((3, *d.batch_shape))
    assert wide.batch_shape == (3, *d.batch_shape) and wide.event_shape == d.event_shape and type(wide) is type(d)
    value = neura.tensor(row["value"], dtype=neura.float64).to(d.sample().dtype)
    got = wide.log_prob(value.unsqueeze(1))
    assert got.shape == (2, 3, *d.batch_shape)
    for k in range(3):
        near(got[:, k], row["log_prob"], row["call"])
    assert wide.sample((2,)).shape == (2, 3, *d.batch_shape, *d.event_shape)


@pytest.mark.parametrize("row", STORED["pairs"], ids=name_of)
def test_divergences_are_pytorchs(row):
    p, q = make(row["p"]), make(row["q"])
    shape = neura.broadcast_shapes(p.batch_shape, q.batch_shape)
    near(D.kl_divergence(p, q).expand(shape), row["kl"], "t(")


def test_the_table_of_pairs_is_pytorchs():
    pairs = {(row["p"].split("(")[0], row["q"].split("(")[0]) for row in STORED["pairs"]}
    assert len(pairs) >= 75
    known = {(p.__name__, q.__name__) for p, q in D.kl._registry}
    assert pairs - known <= {
        ("LogNormal", "LogNormal"),
        ("Wishart", "Wishart"),
    }  # by TransformedDistribution and families
    for p, q in known - pairs:
        assert (p, q) in {
            ("ExponentialFamily", "ExponentialFamily"),
            ("TransformedDistribution", "TransformedDistribution"),
        }
