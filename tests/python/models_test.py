"""neura.models: names, shapes and answers are those of torchvision and transformers, stored in golden/models.json."""

import json
import pathlib

import neura
import pytest
from model_values import CASES, filled, inputs, sampled
from neura import errors, models, nn

GOLDEN = json.loads((pathlib.Path(__file__).parents[1] / "golden" / "models.json").read_text())


def on_meta(name, **arguments):
    with neura.device("meta"):
        return models.get_model(name, **arguments)


def ready(name):
    """A model of CASES, or what of it is compared, with values that follow from names."""
    case = GOLDEN[name]
    if not case["features"]:
        net = models.get_model(name, **case["arguments"])
        state = case["state"]
    else:
        net = on_meta(name, **case["arguments"]).features.to_empty(device="cpu")
        state = {k: v for k, v in case["state"].items() if k.startswith("features.")}
    given = {k: neura.from_numpy(v) for k, v in filled(state).items()}
    if name == "gpt2":
        given["lm_head.weight"] = given["transformer.wte.weight"]
    net.load_state_dict({k[len("features.") * case["features"] :]: v for k, v in given.items()})
    return net.eval()


@pytest.mark.parametrize("name", CASES)
def test_names_and_shapes_are_the_stored_ones(name):
    state = on_meta(name, **GOLDEN[name]["arguments"]).state_dict()
    assert {k: list(v.shape) for k, v in state.items()} == GOLDEN[name]["state"]
    assert list(state) == list(GOLDEN[name]["state"])


@pytest.mark.parametrize("name", CASES)
def test_answers_are_the_stored_ones(name):
    case = GOLDEN[name]
    with neura.no_grad():
        output = ready(name)(neura.from_numpy(inputs(name)))
    assert list(output.shape) == case["shape"]
    worst = max(abs(a - b) for a, b in zip(sampled(output.numpy()).tolist(), case["output"]))
    assert worst < 1e-4 * max(1, case["largest"]), worst


@pytest.mark.parametrize("name, parameters", {"resnet152": 60192808, "vgg19": 143667240, "vit_l_16": 304326632}.items())
def test_large_ones_have_as_many_parameters_as_torchvision_says(name, parameters):
    assert sum(p.numel() for p in on_meta(name).parameters()) == parameters


@pytest.mark.parametrize(
    "name", ["resnet18", "cifar_resnet8", "mobilenet_v2", "lenet", "unet", "gpt2", "lstm_language", "fashion_cnn"]
)
def test_a_step_of_training_lowers_the_loss(name):
    neura.manual_seed(0)
    case = GOLDEN[name]
    net, x = models.get_model(name, **case["arguments"]), neura.from_numpy(inputs(name))
    net.train()
    optimizer = neura.optim.SGD(net.parameters(), lr=0.01)
    for module in net.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        losses.append((net(x) - 1).square().mean())
        losses[-1].backward()
        assert all(p.grad is not None for p in net.parameters())
        optimizer.step()
    assert losses[-1].item() < losses[0].item()


def test_layers_are_replaced_as_torchvisions():
    net = models.resnet18(small_images=True)
    assert isinstance(net.maxpool, nn.Identity) and net.conv1.kernel_size == (3, 3)
    net.fc = nn.Linear(net.fc.in_features, 3)
    assert net(neura.zeros(1, 3, 32, 32)).shape == (1, 3)
    dilated = models.resnet50(replace_stride_with_dilation=[False, True, True])
    assert dilated.layer4[0].conv2.dilation == (2, 2) and dilated.layer4[1].conv2.dilation == (4, 4)


def test_vgg_of_small_pictures_has_small_layers():
    net = models.vgg11_bn(num_classes=3, small_images=True)
    assert net(neura.zeros(2, 3, 32, 32)).shape == (2, 3) and net.classifier[0].in_features == 512
    assert sum(p.numel() for p in net.parameters()) == 9752835


class TestRegistry:
    def test_lists(self):
        assert models.list_models("resnet*") == ["resnet101", "resnet152", "resnet18", "resnet34", "resnet50"]
        assert "vgg11_bn" not in models.list_models(exclude=["*_bn"]) and len(models.list_models()) > 30
        assert models.get_model_builder("resnet18") is models.resnet18

    def test_a_name_that_is_none(self):
        with pytest.raises(
            errors.ValueError, match="expected the name of a model, got 'resnet81'; did you mean 'resnet18'"
        ):
            models.get_model("resnet81")
        with pytest.raises(errors.ValueError, match="expected a name that is free, got 'resnet18'"):
            models.register_model("resnet18")(dict)


class TestWeights:
    def test_files_and_states(self, tmp_path):
        net = models.lenet()
        neura.save(net.state_dict(), tmp_path / "a.safetensors")
        for weights in (net.state_dict(), tmp_path / "a.safetensors", str(tmp_path / "a.safetensors")):
            assert neura.equal(models.lenet(weights=weights).fc3.bias, net.fc3.bias)

    def test_torchvisions_words(self, tmp_path, monkeypatch):
        import hashlib

        from neura import hub

        state = models.resnet18().state_dict()
        neura.save(state, tmp_path / "w")
        digest = hashlib.sha256((tmp_path / "w").read_bytes()).hexdigest()
        (tmp_path / "w").rename(tmp_path / f"resnet18-{digest[:8]}.pth")
        monkeypatch.setattr(models._registry, "_PLACE", tmp_path.as_uri() + "/")
        monkeypatch.setitem(models._registry._FILES, "resnet18", f"resnet18-{digest[:8]}")
        monkeypatch.setattr(hub, "_dir", str(tmp_path / "hub"))
        net = models.resnet18(weights="DEFAULT", progress=False)
        assert neura.equal(net.fc.weight, state["fc.weight"])
        assert models._registry.published("resnet50", "DEFAULT").endswith("/resnet50-11ad3fa6.pth")

    def test_what_is_none(self):
        with pytest.raises(
            errors.ValueError, match="expected weights to be a file, or one of 'IMAGENET1K_V1', 'DEFAULT'"
        ):
            models.vgg11(weights="IMAGENET22K", init_weights=False)
        with pytest.raises(errors.IoError, match="expected a file of weights, got 'nowhere.pth'"):
            models.lenet(weights="nowhere.pth")
        with pytest.raises(TypeError, match="expected weights to be a file or tensors by name, got int"):
            models.lenet(weights=3)

    def test_names_of_published_files(self):
        vit = models.VisionTransformer(16, 8, 1, 2, 8, 16, num_classes=3)
        old = {
            k.replace("mlp.0.", "mlp.linear_1.").replace("mlp.3.", "mlp.linear_2."): v
            for k, v in vit.state_dict().items()
        }
        assert "encoder.layers.encoder_layer_0.mlp.linear_2.bias" in old
        vit.load_state_dict(old)
        net = models.gpt2(**CASES["gpt2"][0])
        bare = {k.removeprefix("transformer."): v for k, v in net.state_dict().items() if k != "lm_head.weight"}
        bare["h.0.attn.bias"] = neura.ones(1, 1, 12, 12)
        other = models.gpt2(**CASES["gpt2"][0])
        other.load_state_dict(bare)
        x = neura.tensor([[1, 2, 3]])
        assert neura.equal(other.eval()(x), net.eval()(x))
        assert other.lm_head.weight is other.transformer.wte.weight


class TestGPT2:
    def test_generating_with_the_past_is_generating_without(self):
        neura.manual_seed(1)
        net, x = models.gpt2(**CASES["gpt2"][0]).eval(), neura.tensor([[3, 1, 4], [1, 5, 9]])
        ids = x
        for _ in range(6):
            ids = neura.cat([ids, net(ids)[:, -1].argmax(-1, keepdim=True)], 1)
        assert neura.equal(net.generate(x, 6), ids)
        past = []
        net(ids[:, :4], past)
        assert neura.allclose(net(ids[:, 4:], past), net(ids)[:, 4:], atol=1e-5)

    def test_drawing(self):
        net, x = models.gpt2(**CASES["gpt2"][0]), neura.tensor([[3]])
        draw = [
            net.generate(x, 5, temperature=0.9, generator=neura.Generator().manual_seed(s)).tolist() for s in (0, 0, 1)
        ]
        assert draw[0] == draw[1] != draw[2] and net.training
        assert neura.equal(net.generate(x, 5, temperature=2.0, top_k=1), net.generate(x, 5))
        net.transformer.drop.eval()  # a part that is frozen stays so
        net.generate(x, 1)
        assert net.training and not net.transformer.drop.training

    def test_refusals(self):
        with pytest.raises(errors.ValueError, match="expected n_head to divide n_embd, got 3 and 16"):
            models.gpt2(n_embd=16, n_head=3)
        with pytest.raises(errors.ValueError, match="expected n_head to divide n_embd, got 0 and 16"):
            models.gpt2(n_embd=16, n_head=0)
        with pytest.raises(errors.ValueError, match="expected activation_function 'gelu_new'"):
            models.gpt2(activation_function="relu", n_embd=4, n_head=2)
        net = models.gpt2(**CASES["gpt2"][0])
        with pytest.raises(errors.ValueError, match="expected at most 12 tokens, got 13"):
            net(neura.zeros(1, 13, dtype=neura.int64))
        with pytest.raises(errors.ValueError, match="expected a temperature above 0"):
            net.generate(neura.zeros(1, 1, dtype=neura.int64), temperature=0)
        with pytest.raises(errors.ValueError, match="expected top_k of at least 1 or None, got 0"):
            net.generate(neura.zeros(1, 1, dtype=neura.int64), temperature=1.0, top_k=0)


def test_other_refusals():
    with pytest.raises(
        errors.ShapeError, match=r"expected pictures \[N, C, H, W\] of sides in sixteens, got \[1, 3, 30, 32\]"
    ):
        models.unet(init_features=2)(neura.zeros(1, 3, 30, 32))
    with pytest.raises(errors.ValueError, match="expected patch_size to divide image_size, got 5 and 16"):
        models.VisionTransformer(16, 5, 1, 2, 8, 16)
    with pytest.raises(errors.ShapeError, match=r"expected pictures \[N, 3, 16, 16\], got \[1, 3, 8, 8\]"):
        models.VisionTransformer(16, 8, 1, 2, 8, 16)(neura.zeros(1, 3, 8, 8))
    with pytest.raises(errors.ValueError, match="expected stride 1 or 2, got 3"):
        models.InvertedResidual(4, 4, 3, 2)
    with pytest.raises(errors.ValueError, match="expected pictures of 12 pixels a side or more, got 11"):
        models.lenet(image_size=11)
    with pytest.raises(errors.ValueError, match="expected groups 1, base_width 64 and dilation 1"):
        models.BasicBlock(4, 4, groups=2)
