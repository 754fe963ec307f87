"""Metrics: what they count, what they refuse, and when they are read."""

import math

import neura
import pytest
from neura import nn
from neura.train import AUROC, F1, Accuracy, ConfusionMatrix, Mean, Perplexity, Precision, Recall, Run

F = nn.functional


def test_metrics_of_two_and_more_classes_over_batches():
    said, there = neura.tensor([0, 2, 1, 1, 2, 0]), neura.tensor([0, 1, 1, 2, 2, 0])
    for average, values in {"macro": (2 / 3, 2 / 3, 2 / 3), "micro": (4 / 6,) * 3}.items():
        for metric, value in zip((Precision, Recall, F1), values):
            m = metric(3, average)
            m.update(said[:2], there[:2])
            m.update(F.one_hot(said[2:], 3).float(), there[2:])
            assert math.isclose(m.compute(), value)
    said, there = neura.tensor([0.9, 0.2, 0.6, 0.7, 0.1]), neura.tensor([1, 1, 0, 1, 0])
    for metric, value in ((Precision, 2 / 3), (Recall, 2 / 3), (F1, 2 / 3)):
        m = metric()
        m.update(said, there)
        assert math.isclose(m.compute(), value)
    m = Recall(3, "macro")
    m.update(neura.tensor([0, 1, 1]), neura.tensor([0, 0, 1]))  # class 2 does not occur
    assert m.compute() == 0.75


def test_a_table_of_confusion():
    m = ConfusionMatrix(3, ["ant", "bee", "centipede"])
    m.update(neura.tensor([0, 2]), neura.tensor([0, 1]))
    m.update(F.one_hot(neura.tensor([1, 1, 2, 0]), 3).float(), neura.tensor([1, 2, 2, 0]))
    table = m.compute()
    assert table.dtype == neura.int64 and table.tolist() == [[2, 0, 0], [0, 1, 1], [0, 1, 1]]
    assert str(m).splitlines() == [
        "           ant  bee  centipede",
        "ant          2    0          0",
        "bee          0    1          1",
        "centipede    0    1          1",
    ]
    m.reset()
    assert m.compute().tolist() == [[0] * 3] * 3
    of_two = ConfusionMatrix()
    of_two.update(neura.tensor([0.9, 0.2, 0.6]), neura.tensor([1, 1, 0]))
    assert of_two.compute().tolist() == [[0, 1], [1, 1]] and str(of_two) == "   0  1\n0  0  1\n1  1  1"
    with pytest.raises(neura.errors.ValueError, match="ConfusionMatrix: expected 3 classes, got 2 names"):
        ConfusionMatrix(3, ["a", "b"])
    with pytest.raises(neura.errors.ValueError, match="ConfusionMatrix: expected num_classes of 2 or more, got 1"):
        ConfusionMatrix(1)
    with pytest.raises(neura.errors.IndexError, match=r"ConfusionMatrix: expected labels in \[0, 2\), got 0 to 2"):
        ConfusionMatrix().update(neura.tensor([0, 1]), neura.tensor([0, 2]))


def test_a_run_returns_tables_and_logs_numbers():
    model = nn.Linear(2, 2)
    run = Run(model, neura.optim.SGD(model.parameters(), lr=0.1))
    batch = (neura.randn(6, 2), neura.tensor([0, 1, 0, 1, 0, 1]))
    result = run.evaluate(
        "val",
        [batch, batch],
        lambda b: {"metrics": (model(b[0]), b[1])},
        {"accuracy": Accuracy(), "confusion": ConfusionMatrix()},
    )
    assert result["confusion"].sum() == 12 and set(run.values) == {"val/accuracy"}
    assert math.isclose(result["confusion"].diagonal().sum().item() / 12, result["accuracy"])


def test_accuracy_of_the_largest_k():
    scores, labels = neura.tensor([[3.0, 2, 1, 0], [3, 2, 1, 0], [3, 2, 1, 0]]), neura.tensor([0, 1, 3])
    for k, value in ((1, 1 / 3), (2, 2 / 3), (3, 2 / 3), (9, 1.0)):
        m = Accuracy(k)
        m.update(scores[:1], labels[:1])
        m.update(scores[1:], labels[1:])
        assert m.compute() == value


def test_metrics_refuse_numbers_that_are_no_labels():
    labels = neura.tensor([1, 0])
    with pytest.raises(neura.errors.DTypeError, match=r"Accuracy: expected outputs \[n\] of integers, labels, got"):
        Accuracy().update(neura.tensor([0.9, 0.1]), labels)
    for metric in (Accuracy(), Precision()):
        with pytest.raises(neura.errors.DTypeError, match="expected targets of integers, got neura.float32"):
            metric.update(labels, neura.tensor([1.0, 0.0]))
    m = Accuracy()
    m.update(neura.tensor([True, False]), labels)
    assert m.compute() == 1


def test_metrics_are_read_when_they_are_asked_for(monkeypatch):
    monkeypatch.setattr("neura.train.metrics._is_host", lambda labels: False)

    class Unread(neura.Tensor):
        """Labels whose values nobody may look at."""

        def _fail(self, *_):
            raise AssertionError("an update waits for the device")

        item = tolist = __int__ = __float__ = __bool__ = __index__ = _fail

    for wrong in ([1, 3], [-1, 0]):
        for metric in (Precision(3), Recall(3), F1(3)):
            metric.update(neura.tensor([0, 1]), neura.tensor([0, 1]))
            metric.update(neura.tensor([0, 1]).as_subclass(Unread), neura.tensor(wrong).as_subclass(Unread))
            metric._table = metric._table.as_subclass(neura.Tensor)  # now it may be read
            with pytest.raises(
                neura.errors.IndexError, match=r"expected labels in \[0, 3\), got others in 1 of the items"
            ):
                metric.compute()


def test_metrics_of_nothing():
    assert math.isnan(Mean().compute()) and math.isnan(Accuracy().compute())
    empty = Precision()
    empty.update(neura.zeros(0, dtype=neura.int64), neura.zeros(0, dtype=neura.int64))
    assert [Precision().compute(), Recall(4).compute(), F1().compute(), empty.compute()] == [0.0] * 4


def test_the_area_under_the_curve_is_that_of_all_pairs():
    neura.manual_seed(0)
    scores, labels = (neura.randn(60) * 2).round() / 2, neura.randint(0, 2, (60,))  # many are equal
    m = AUROC()
    assert math.isnan(m.compute())
    for part in (slice(0, 7), slice(7, 60)):
        m.update(scores[part], labels[part])
    pairs = scores[labels == 1][:, None] - scores[labels == 0]
    wanted = ((pairs > 0).double() + 0.5 * (pairs == 0).double()).mean().item()
    assert math.isclose(m.compute(), wanted) and 0 < wanted < 1
    both = AUROC()
    both.update(neura.stack([-scores, scores * 0], 1), labels)
    assert math.isclose(both.compute(), wanted)
    m.reset()
    m.update(scores[:4], neura.ones(4, dtype=neura.int64))
    assert math.isnan(m.compute())  # there is no pair
    with pytest.raises(neura.errors.ShapeError, match=r"expected outputs \[n\] or \[n, 2\], of two classes, got"):
        m.update(neura.zeros(3, 3), labels[:3])
    m.update(scores[:2], neura.tensor([0, 2]))
    with pytest.raises(IndexError, match="expected labels 0 and 1"):
        m.compute()


def test_perplexity_is_of_all_tokens_that_count():
    neura.manual_seed(0)
    logits, labels = neura.randn(3, 4, 7), neura.randint(0, 7, (3, 4))
    labels[1, 2:] = -100
    m = Perplexity()
    assert math.isnan(m.compute())
    m.update(logits[:1], labels[:1])
    m.update(logits[1:], labels[1:])
    wanted = F.cross_entropy(logits.reshape(-1, 7), labels.reshape(-1)).exp().item()
    assert math.isclose(m.compute(), wanted, rel_tol=1e-6)
    with pytest.raises(neura.errors.ShapeError, match="expected logits"):
        m.update(logits, labels[:2])
    model = nn.Linear(7, 7)
    run = Run(model, neura.optim.SGD(model.parameters(), lr=0.1))
    measure = lambda batch: {"metrics": (model(batch[0]), batch[1])}  # noqa: E731
    assert run.evaluate("val", [(logits, labels)], measure, {"perplexity": Perplexity()})["perplexity"] > 1
    assert run.values["val/perplexity"] > 1
