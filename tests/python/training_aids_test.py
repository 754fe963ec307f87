"""neura.utils.tensor_summary and gradient_flow, neura.train.distillation_loss and Distiller."""

import io

import neura
import pytest
from neura import errors, nn
from neura.train import Distiller, distillation_loss
from neura.utils import gradient_flow, tensor_summary


def said(x, name="tensor"):
    out = io.StringIO()
    text = tensor_summary(x, name, file=out)
    assert out.getvalue() == text + "\n"
    return text


class TestTensorSummary:
    def test_numbers(self):
        x = neura.arange(12.0).reshape(3, 4).requires_grad_()
        lines = ["w: [3, 4] float32 on cpu, requires grad", "  min   0", "  max   11", "  mean  5.5", "  std   3.60555"]
        assert said(x, "w") == "\n".join(lines)
        assert said(x.detach().t()).splitlines()[0] == "tensor: [4, 3] float32 on cpu, strides [1, 4]"
        lines = ["tensor: [3] int64 on cpu", "  min   -7", "  max   9", "  mean  1", "  std   8"]
        assert said(neura.tensor([-7, 1, 9])) == "\n".join(lines)
        assert said(neura.tensor(3, dtype=neura.uint8)).splitlines()[3:] == ["  mean  3", "  std   nan"]

    def test_truths_and_nothing(self):
        assert said(neura.tensor([True, False, True, True])) == "tensor: [4] bool on cpu\n  true  3 of 4, 75 %"
        assert said(neura.ones(0, 3)) == "tensor: [0, 3] float32 on cpu\n  values  none"
        assert said(neura.ones(2, device="meta")) == "tensor: [2] float32 on meta"

    def test_what_is_not_finite(self):
        nan, inf = float("nan"), float("inf")
        lines = said(neura.tensor([1.0, nan, 3.0, -inf, inf])).splitlines()
        assert lines[1] == "  not finite  1 NaN, 2 infinite, of 5"
        assert [line.split() for line in lines[2:]] == [["min", "1"], ["max", "3"], ["mean", "2"], ["std", "1.41421"]]
        assert said(neura.tensor([nan])).splitlines()[1:] == ["  not finite  1 NaN, 0 infinite, of 1"]

    def test_other_dtypes(self):
        assert said(neura.tensor([3 + 4j])).splitlines()[1] == "  |x| min   5"
        for dtype in (neura.float16, neura.bfloat16, neura.float64, neura.int8):
            assert said(neura.ones(3, dtype=dtype)).splitlines()[3] == "  mean  1"
        with pytest.raises(TypeError, match="tensor_summary: expected a tensor, got list"):
            tensor_summary([1])

    @pytest.mark.skipif(not neura.cuda.is_available(), reason="no CUDA device")
    def test_on_a_gpu(self):
        assert said(neura.ones(2, device="cuda")).splitlines()[0] == "tensor: [2] float32 on cuda:0"


def flow_of(net, x):
    net.zero_grad()
    net(x).square().mean().backward()
    return gradient_flow(net)


class TestGradientFlow:
    def deep(self, activation, scale=None):
        neura.manual_seed(0)
        net = nn.Sequential(*(part for _ in range(20) for part in (nn.Linear(32, 32), activation())))
        for layer in net[::2]:
            if scale:
                nn.init.normal_(layer.weight, std=scale / 32**0.5)
        return net

    def test_a_deep_sigmoid_network_vanishes(self):
        flow = flow_of(self.deep(nn.Sigmoid), neura.randn(16, 32))
        assert flow.vanishing[0] == "0.weight" and not flow.exploding and "38.weight" not in flow.vanishing
        assert flow.warnings[0].startswith("gradients vanish in 0.weight, 2.weight, 4.weight and ")
        assert "vanishes" in str(flow) and str(flow).splitlines()[0].split()[0] == "Weight"

    def test_a_badly_scaled_one_explodes(self):
        flow = flow_of(self.deep(nn.ReLU, scale=4.0), neura.randn(16, 32))
        assert len(flow.exploding) == 20 and not flow.vanishing and "gradients explode in 0.weight" in flow.warnings[0]
        flow = flow_of(self.deep(nn.ReLU, scale=1e20), neura.randn(16, 32))
        assert flow.rows[0].note == "is not finite"

    def test_a_healthy_one_has_no_warnings(self):
        flow = flow_of(self.deep(nn.ReLU, scale=2**0.5), neura.randn(16, 32))
        assert flow.warnings == [] and len(flow.rows) == 20
        dot = flow.to_dot()
        assert dot.count("->") == 19 and dot.count("palegreen") == 20 and dot.startswith("digraph gradients {")

    def test_what_has_no_gradient(self):
        net = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])
        with pytest.raises(errors.ValueError, match="expected weights with gradients, got none; call backward first"):
            gradient_flow(net)
        net[0](neura.ones(1, 2)).sum().backward()
        flow = gradient_flow(net)
        assert flow.warnings == ["no gradient reached 1.weight: is it used, and trained?"]


class TestDistillation:
    def test_the_loss_is_the_formula(self):
        a, b, t = neura.randn(5, 4), neura.randn(5, 4), 3.0
        p, q = (b / t).softmax(1), (a / t).log_softmax(1)
        want = (p * (p.log() - q)).sum() / 5 * t * t
        assert neura.allclose(distillation_loss(a, b, t), want, atol=1e-6)
        assert distillation_loss(a, b, reduction="none").shape == (5, 4)

    def test_gradients_are_the_students(self):
        a, b = neura.randn(5, 4, requires_grad=True), neura.randn(5, 4, requires_grad=True)
        distillation_loss(a, b).backward()
        assert a.grad.abs().sum() > 0 and b.grad is None
        double = a.detach().double().requires_grad_()
        assert neura.autograd.gradcheck(lambda x: distillation_loss(x, b.detach().double()), (double,))

    def test_a_student_learns_what_the_teacher_says(self):
        neura.manual_seed(0)
        teacher, student = nn.Sequential(nn.Linear(4, 3), nn.Dropout(0.5)), nn.Linear(4, 3)
        distiller, before = Distiller(teacher, alpha=1.0), [p.clone() for p in teacher.parameters()]
        optimizer, x = neura.optim.Adam(student.parameters(), lr=0.05), neura.randn(64, 4)
        distiller.train()
        assert not teacher.training and not any(p.requires_grad for p in teacher.parameters())
        for _ in range(200):
            optimizer.zero_grad()
            loss = distiller(student(x), x, neura.zeros(64, dtype=neura.int64))
            loss.backward()
            optimizer.step()
        assert loss.item() < 1e-3 and all(neura.equal(a, b) for a, b in zip(before, teacher.parameters()))
        assert neura.equal(student(x).argmax(1), distiller.answers(x).argmax(1))

    def test_refusals(self):
        with pytest.raises(errors.ShapeError, match=r"expected scores of one shape, got \[2, 3\] and \[2, 4\]"):
            distillation_loss(neura.ones(2, 3), neura.ones(2, 4))
        with pytest.raises(errors.ValueError, match="expected a temperature above 0, got 0"):
            distillation_loss(neura.ones(2, 3), neura.ones(2, 3), 0)
        with pytest.raises(errors.ValueError, match="expected alpha from 0 to 1, got 2"):
            Distiller(nn.Linear(2, 2), alpha=2)
