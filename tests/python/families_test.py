"""Classes that layers have in common, and what PyTorch keeps beside the layers: gradients of convolutions, kernels."""

import neura
import pytest
from neura import errors, nn
from neura.nn.attention import SDPBackend, sdpa_kernel
from neura.nn.modules.activation import MultiheadAttention
from neura.nn.modules.batchnorm import _BatchNorm, _NormBase
from neura.nn.modules.conv import _ConvNd, _ConvTransposeNd
from neura.nn.modules.loss import _Loss, _WeightedLoss
from neura.nn.modules.utils import _ntuple, _pair, _triple

F = nn.functional


@pytest.mark.parametrize(
    "family, yes, no",
    [
        (_BatchNorm, [nn.BatchNorm2d(2), nn.SyncBatchNorm(2), nn.LazyBatchNorm2d()], [nn.InstanceNorm1d(2)]),
        (_NormBase, [nn.BatchNorm1d(2), nn.InstanceNorm1d(2)], [nn.LayerNorm(2)]),
        (_ConvNd, [nn.Conv1d(1, 1, 1), nn.ConvTranspose3d(1, 1, 1), nn.LazyConv2d(1, 1)], [nn.Linear(1, 1)]),
        (_ConvTransposeNd, [nn.ConvTranspose2d(1, 1, 1)], [nn.Conv2d(1, 1, 1)]),
        (_Loss, [nn.MSELoss(), nn.CrossEntropyLoss()], [nn.AdaptiveLogSoftmaxWithLoss(4, 4, [2])]),
        (_WeightedLoss, [nn.CrossEntropyLoss(), nn.BCELoss()], [nn.BCEWithLogitsLoss()]),
        (nn.RNNCellBase, [nn.LSTMCell(1, 1)], [nn.LSTM(1, 1)]),
    ],
)
def test_isinstance(family, yes, no):
    assert all(isinstance(layer, family) and issubclass(type(layer), family) for layer in yes)
    assert not any(isinstance(layer, family) for layer in no)
    assert issubclass(family, nn.Module) and MultiheadAttention is nn.MultiheadAttention


def test_base_classes_are_only_asked():
    with pytest.raises(errors.NotImplementedError, match="_ConvNd: expected a layer such as Conv1d"):
        _ConvNd()


def test_repeated():
    assert (_pair(3), _triple((1, 2, 3)), _ntuple(4)(0)) == ((3, 3), (1, 2, 3), (0, 0, 0, 0))


def test_a_loss_of_ones_own():
    class Squares(_WeightedLoss):
        def forward(self, a, b):
            loss = (a - b) ** 2 * self.weight
            return loss.mean() if self.reduction == "mean" else loss.sum()

    loss = Squares(neura.tensor([1.0, 3.0]), reduction="sum")
    assert loss(neura.ones(2), neura.zeros(2)).item() == 4 and list(loss.state_dict()) == ["weight"]
    assert Squares(size_average=False).reduction == "sum" and Squares(reduce=False).reduction == "none"
    with pytest.raises(ValueError, match="reduction: expected"):
        Squares(reduction="max")


@pytest.mark.parametrize("momentum", [0.1, None])
@pytest.mark.parametrize("affine", [True, False])
def test_sync_batch_norm_is_batch_norm(momentum, affine):
    mine, layer = (kind(3, momentum=momentum, affine=affine) for kind in (nn.SyncBatchNorm, nn.BatchNorm1d))
    for shift in range(3):
        x = (neura.arange(24.0).reshape(4, 3, 2) + shift).sin().requires_grad_()
        y, expected = mine(x), layer(x)
        assert neura.allclose(y, expected)
        (got,), (want,) = (
            neura.autograd.grad(out.square().sum(), x, retain_graph=True) for out in (y.cos(), expected.cos())
        )
        assert neura.allclose(got, want, atol=1e-6)
    for key, value in layer.state_dict().items():
        assert neura.allclose(mine.state_dict()[key], value), key
    assert neura.allclose(mine.eval()(x), layer.eval()(x))
    with pytest.raises(ValueError, match="at least 2 dimensions"):
        mine(neura.ones(3))
    with pytest.raises(errors.NotImplementedError, match="no process_group"):
        nn.SyncBatchNorm(3, process_group=object())


def test_convert_sync_batchnorm():
    net = nn.Sequential(nn.Conv2d(1, 2, 1), nn.Sequential(nn.BatchNorm2d(2)), nn.InstanceNorm2d(2)).eval()
    weight, keys = net[1][0].weight, list(net.state_dict())
    assert nn.SyncBatchNorm.convert_sync_batchnorm(net) is net
    assert type(net[1][0]) is nn.SyncBatchNorm and net[1][0].weight is weight and list(net.state_dict()) == keys
    assert type(net[2]) is nn.InstanceNorm2d and not net[1][0].training


@pytest.mark.parametrize("options", [{}, {"stride": 2, "padding": 1}, {"dilation": 2, "padding": 2}])
def test_gradients_of_convolutions(options):
    x = neura.arange(100.0).reshape(2, 2, 5, 5).sin().requires_grad_()
    w = neura.arange(54.0).reshape(3, 2, 3, 3).cos().requires_grad_()
    y = F.conv2d(x, w, None, **options)
    g = y.detach().cos()
    want = neura.autograd.grad(y, (x, w), g)
    assert neura.allclose(nn.grad.conv2d_input(x.shape, w, g, **options), want[0], atol=1e-5)
    assert neura.allclose(nn.grad.conv2d_weight(x, w.shape, g, **options), want[1], atol=1e-5)
    with pytest.raises(errors.ShapeError, match="conv2d_input: expected an input_size"):
        nn.grad.conv2d_input((2, 2, 9, 9), w, g, **options)


def test_kernels_of_attention():
    q = neura.arange(8.0).reshape(1, 2, 4)
    with sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION]):
        y = F.scaled_dot_product_attention(q, q, q)
    assert neura.equal(y, F.scaled_dot_product_attention(q, q, q))
    for wrong in ([], ["math"]):
        with pytest.raises(ValueError, match="sdpa_kernel: expected one SDPBackend"):
            with sdpa_kernel(wrong):
                pass


def test_utilities():
    neura.manual_seed(3)
    expected = neura.rand(1)
    neura.manual_seed(3)
    assert nn.utils.skip_init(nn.Linear, 2, 3).weight.shape == (3, 2) and neura.equal(neura.rand(1), expected)
    with pytest.raises(RuntimeError, match="skip_init: expected Identity to take"):
        nn.utils.skip_init(nn.Identity)
    layer = nn.Conv2d(2, 2, 3)
    before = layer.weight.tolist()
    nn.utils.convert_conv2d_weight_memory_format(nn.Sequential(layer), neura.channels_last)
    assert layer.weight.stride() == (18, 1, 6, 2) and layer.weight.tolist() == before
    from neura.nn.utils.clip_grad import clip_grad_norm_
    from neura.nn.utils.convert_parameters import parameters_to_vector

    assert clip_grad_norm_ is nn.utils.clip_grad_norm_ and parameters_to_vector is nn.utils.parameters_to_vector
