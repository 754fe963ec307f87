"""Metrics: what they count, what they refuse, and when they are read."""

import math

import neura
import pytest
from neura import nn
from neura.train import F1, Accuracy, Mean, Precision, Recall

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
