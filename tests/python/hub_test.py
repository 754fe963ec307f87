"""neura.hub: folders of models are written, compared with their hashes and loaded; broken ones are refused."""

import hashlib
import json
import os
import shutil

import neura
import pytest
from hub_shelf import ABOUT, ARGUMENTS, apart, make_shelf, pack
from neura import errors, hub


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    return apart(tmp_path, monkeypatch)


@pytest.fixture
def shelf(tmp_path):
    return make_shelf(tmp_path / "shelf")


class TestFolders:
    def test_what_is_written_loads(self, tmp_path):
        p = pack(tmp_path / "m", labels=["no", "yes"], metrics={"accuracy": 0.5}, summary="A line.", card="More.")
        net = hub.load(tmp_path / "m")
        assert not net.training and net(neura.ones(1, 3)).shape == (1, 2)
        assert p.verify() == 0 and p.labels == ["no", "yes"] and (p.name, p.version) == ("line", "1.0")
        assert p.manifest["inputs"] == [{"name": "input", "dtype": "float32", "shape": [None, 3]}]
        card = (tmp_path / "m" / "README.md").read_text()
        assert card.startswith("---\nlicense: mit\n") and "| accuracy | 0.5 |" in card and card.endswith("More.\n")
        assert hub.load((tmp_path / "m").as_uri())[1].weight.shape == (300, 3)
        assert sorted(os.listdir(tmp_path)) == ["m"]

    def test_pictures_are_prepared(self, tmp_path):
        steps = [{"step": "resize", "size": [28, 28]}, {"step": "scale"}]
        steps.append({"step": "normalize", "mean": [0.5], "std": [0.25]})
        net, arguments = neura.models.lenet(2, 1, 28), {"num_classes": 2, "in_channels": 1, "image_size": 28}
        about = {**ABOUT, "architecture": "lenet", "arguments": arguments, "preprocessing": steps}
        p = hub.pack(tmp_path / "m", net, example=neura.zeros(1, 1, 28, 28), **about)
        neura.data.write_png(str(tmp_path / "x.png"), neura.full((1, 30, 40), 255, dtype=neura.uint8))
        x = p.preprocess(tmp_path / "x.png")
        assert x.shape == (1, 1, 28, 28) and neura.allclose(x, neura.full_like(x, 2.0))
        assert p.load()(x).shape == (1, 2)
        with pytest.raises(errors.ValueError, match="expected a tensor or the path of a picture, got int"):
            p.preprocess(3)

    def test_a_folder_of_hugging_face_loads_without_a_manifest(self, tmp_path):
        config = {"vocab_size": 11, "n_positions": 8, "n_embd": 4, "n_layer": 1, "n_head": 2}
        net = neura.models.gpt2(**config)
        bare = {k[12:]: v for k, v in net.state_dict().items() if k.startswith("transformer.")}
        neura.safetensors.save_file({**bare, "h.0.attn.bias": neura.ones(1, 1, 8, 8)}, tmp_path / "model.safetensors")
        more = {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "task_specific_params": {}}
        (tmp_path / "config.json").write_text(json.dumps({**config, **more}))
        x = neura.tensor([[1, 2, 3]])
        assert neura.equal(hub.load(tmp_path)(x), net.eval()(x))
        with pytest.raises(hub.ManifestError, match="expected a neura.json to compare with, got none"):
            hub.get(tmp_path).check()

    def test_a_packed_gpt2_has_hugging_faces_config(self, tmp_path):
        config = {"vocab_size": 11, "n_positions": 8, "n_embd": 4, "n_layer": 1, "n_head": 2}
        about = {**ABOUT, "architecture": "gpt2", "arguments": config}
        p = hub.pack(tmp_path / "m", neura.models.gpt2(**config), example=neura.tensor([[1, 2]]), **about)
        assert p.config()["model_type"] == "gpt2" and p.config()["n_embd"] == 4 and p.verify() == 0
        config.update(n_embd=1024, n_head=16)  # as gpt2_medium has them, so that they need not be said
        kept = {key: config[key] for key in ("vocab_size", "n_positions", "n_layer")}
        about = {**ABOUT, "architecture": "gpt2_medium", "arguments": kept}
        medium = hub.pack(tmp_path / "medium", neura.models.gpt2(**config), example=neura.tensor([[1, 2]]), **about)
        assert (medium.config()["n_embd"], medium.config()["n_head"], medium.config()["n_layer"]) == (1024, 16, 1)
        (tmp_path / "m" / "neura.json").unlink()
        assert hub.load(tmp_path / "m").transformer.wte.weight.shape == (11, 4)

    def test_packing_leaves_the_modes(self, tmp_path):
        net = neura.nn.Sequential(neura.nn.Dropout(), neura.nn.Linear(3, 2)).train()
        net[0].eval()
        with pytest.raises(errors.ShapeError):
            hub.pack(tmp_path / "m", net, **{**ABOUT, "architecture": "mlp", "example": neura.ones(2, 4)})
        assert net.training and net[1].training and not net[0].training and not (tmp_path / "m").exists()

    def test_parts(self, tmp_path):
        p = pack(tmp_path / "m")
        tensors = neura.safetensors.load_file(tmp_path / "m" / "model.safetensors")
        names = list(tensors)
        for i, part in enumerate((names[:2], names[2:])):
            neura.safetensors.save_file({n: tensors[n] for n in part}, tmp_path / "m" / f"part{i}.safetensors")
        index = {"weight_map": {n: f"part{i >= 2:d}.safetensors" for i, n in enumerate(names)}}
        (tmp_path / "m" / "model.safetensors.index.json").write_text(json.dumps(index))
        (tmp_path / "m" / "model.safetensors").unlink()
        del p.manifest["files"]["model.safetensors"]
        for path in (tmp_path / "m").iterdir():
            if path.name != "neura.json":
                facts = {"bytes": path.stat().st_size, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
                p.manifest["files"][path.name] = facts
        (tmp_path / "m" / "neura.json").write_text(json.dumps(p.manifest))
        assert hub.get(tmp_path / "m").verify() == 0
        del p.manifest["files"]["part1.safetensors"]
        (tmp_path / "m" / "neura.json").write_text(json.dumps(p.manifest))
        with pytest.raises(hub.ManifestError, match="expected files of the manifest, got 'part1.safetensors'"):
            hub.load(tmp_path / "m")

    def test_what_is_damaged(self, tmp_path):
        pack(tmp_path / "m")
        weights = tmp_path / "m" / "model.safetensors"
        data = bytearray(weights.read_bytes())
        data[-1] ^= 1
        weights.write_bytes(data)
        with pytest.raises(
            hub.HashError, match="model.safetensors: expected the SHA-256 .*, got .*; fetch it again, with refresh"
        ):
            hub.load(tmp_path / "m")
        weights.write_bytes(data[:-1])
        with pytest.raises(hub.HashError, match=f"expected {len(data)} bytes, got {len(data) - 1}"):
            hub.load(tmp_path / "m")
        weights.unlink()
        with pytest.raises(hub.ManifestError, match="expected the file model.safetensors of the manifest, got none"):
            hub.load(tmp_path / "m")
        with pytest.raises(hub.NotFoundError, match="expected a folder, got .*nowhere"):
            hub.load(tmp_path / "nowhere")
        with pytest.raises(hub.NotFoundError, match="expected a model's folder with neura.json or config.json"):
            hub.load(tmp_path)

    def test_outputs_that_do_not_come_again(self, tmp_path):
        p = pack(tmp_path / "m")
        example = neura.safetensors.load_file(tmp_path / "m" / "example.safetensors")
        example["output"][0, 0] += 1
        neura.safetensors.save_file(example, tmp_path / "m" / "example.safetensors")
        with pytest.raises(hub.ManifestError, match="expected the recorded outputs within 0.0001, got"):
            p.verify()

    def test_refusals_of_pack(self, tmp_path):
        pack(tmp_path / "m")
        with pytest.raises(errors.ValueError, match="expected a new folder, got .*, which has something in it"):
            pack(tmp_path / "m")
        for changed, text in (
            ({"name": "No Spaces"}, "expected name: a-z"),
            ({"version": "v1"}, "expected version: numbers and dots"),
            ({"licence": " "}, "expected licence"),
            ({"example": None}, "expected inputs: a list"),
            ({"preprocessing": [{"step": "eval"}]}, "expected preprocessing: steps of resize"),
            ({"metrics": {"loss": float("nan")}}, "expected metrics: numbers"),
        ):
            with pytest.raises(hub.ManifestError, match=text):
                pack(tmp_path / "n", **changed)
        with pytest.raises(errors.ValueError, match="expected the name of a model, got 'mlpp'; did you mean 'mlp'"):
            pack(tmp_path / "n", architecture="mlpp")
        with pytest.raises(hub.ManifestError, match="expected weights and arguments of lenet"):
            pack(tmp_path / "n", architecture="lenet")
        assert sorted(os.listdir(tmp_path)) == ["m"]


HOSTILE = [
    "../x.json",
    "/etc/x.json",
    "a/../../x.json",
    "..",
    "a\\b.json",
    "C:x.json",
    "a//b.json",
    "./a.json",
    "",
    "nul.txt",
]
HOSTILE += [
    "a/b/c/d/e.json",
    "run.py",
    "lib.so",
    "weights.pt",
    "hubconf.py",
    "neura.json",
    "NEURA.json",
    "a\n.json",
    ".a.json",
]
HOSTILE += ["é.json", "x" * 300 + ".json", "a./b.json", None, 3]


class TestManifests:
    def manifest(self, tmp_path):
        return pack(tmp_path / "m").manifest

    @pytest.mark.parametrize("name", HOSTILE)
    def test_hostile_names_of_files_are_refused(self, name):
        assert hub._manifest.file_problem(name)

    @pytest.mark.parametrize(
        "change, text",
        [
            ({"format": 2}, "expected format: 1, got 2; a later Neura may know it"),
            ({"name": "../x"}, "expected name"),
            ({"version": None}, "expected version"),
            ({"task": ""}, "expected task"),
            ({"architecture": 3}, "expected architecture"),
            ({"arguments": [1]}, "expected arguments"),
            ({"arguments": {"a": [[[[[[1]]]]]]}}, "expected arguments"),
            ({"labels": "abc"}, "expected labels"),
            ({"inputs": []}, "expected inputs: a list"),
            ({"inputs": [{"name": "x", "dtype": "float31", "shape": []}]}, "expected inputs: entries"),
            ({"outputs": [{"name": "x", "dtype": "bool", "shape": [-1]}]}, "expected outputs: a shape"),
            ({"preprocessing": [{"step": "resize", "size": 0}]}, "expected preprocessing: a size"),
            ({"preprocessing": [{"step": "scale", "by": 2}]}, "expected preprocessing: scale with nothing along"),
            ({"files": {}}, "expected files"),
            ({"files": {"config.json": {"bytes": 1, "sha256": "0" * 63}}}, "expected files: the sha256 of config.json"),
            ({"files": {"config.json": {"bytes": -1, "sha256": "0" * 64}}}, "expected files: the bytes of config.json"),
            (
                {"files": {"config.json": {"bytes": 1, "sha256": "0" * 64}}},
                "expected files: model.safetensors among them",
            ),
            ({"example": "secret.json"}, "expected example: one of the files"),
        ],
    )
    def test_what_is_wrong_is_said(self, tmp_path, change, text):
        m = {**self.manifest(tmp_path), **change}
        (tmp_path / "m" / "neura.json").write_text(json.dumps(m))
        with pytest.raises(hub.ManifestError) as error:
            hub.Package(tmp_path / "m")
        assert text in str(error.value)

    def test_what_is_no_manifest(self, tmp_path):
        pack(tmp_path / "m")
        for data in (b"", b"{", b"[]", b"\xff", b"[" * 100000, b" " * (1 << 20) + b"{}"):
            (tmp_path / "m" / "neura.json").write_bytes(data)
            with pytest.raises(hub.ManifestError, match="expected"):
                hub.Package(tmp_path / "m")

    def test_architectures_and_arguments_that_are_none(self, tmp_path):
        m = self.manifest(tmp_path)
        for change, text in (
            ({"architecture": "os.system"}, "expected the architecture to be a model of neura.models, got 'os.system'"),
            ({"arguments": {**ARGUMENTS, "nope": 1}}, "expected weights and arguments of mlp, got others: .*nope"),
            ({"arguments": {**ARGUMENTS, "hidden": 10**12}}, "expected weights and arguments of mlp, got others"),
            ({"arguments": {**ARGUMENTS, "layers": 1}}, "expected weights and arguments of mlp, got others"),
        ):
            (tmp_path / "m" / "neura.json").write_text(json.dumps({**m, **change}))
            with pytest.raises(hub.ManifestError, match=text):
                hub.load(tmp_path / "m")

    def test_indexes(self, shelf, tmp_path):
        index = json.loads((shelf / "index.json").read_text())
        for change in (
            {"path": "../m"},
            {"path": "/m"},
            {"manifest": "0"},
            {"name": "A b"},
            {"version": "x"},
            {"bytes": -1},
        ):
            broken = {**index, "models": [{**index["models"][0], **change}]}
            (shelf / "index.json").write_text(json.dumps(broken))
            with pytest.raises(hub.ManifestError, match="index.json: expected"):
                hub.index(shelf)
        with pytest.raises(hub.NotFoundError, match="expected an index.json, got none; neura hub index makes one"):
            hub.index(tmp_path)
        shutil.copytree(shelf / "line", shelf / "again")
        with pytest.raises(errors.ValueError, match="expected one line 1.0, got again and line"):
            hub.build_index(shelf)
