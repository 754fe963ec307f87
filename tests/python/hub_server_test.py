"""neura.hub: models from a server of this machine, whole or not at all; the command line; runs of `neura train`."""

import json
import os
import pathlib
import re
import subprocess
import sys

import neura
import pytest
from hub_shelf import Server, apart, kept, make_shelf, pack
from neura import errors, hub, nn
from neura.hub import __main__ as program


def small_mobilenet_of_the_program():
    """The rows of `neura train images --model mobilenet_v2`, as its source has them."""
    source = (pathlib.Path(__file__).parents[2] / "cli" / "zoo.cpp").read_text()
    rows = re.search(r"kSmallMobileNet = (\{.*?\});", source, re.DOTALL).group(1)
    return json.loads(rows.replace("{", "[").replace("}", "]"))


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    return apart(tmp_path, monkeypatch)


@pytest.fixture
def shelf(tmp_path):
    return make_shelf(tmp_path / "shelf")


@pytest.fixture
def server(shelf):
    running = Server(shelf)
    yield running
    if running.thread.is_alive():
        running.stop()


class TestServers:
    def test_an_index_and_its_models(self, server, home, monkeypatch):
        assert hub.list(server.url) == ["line", "other"]
        assert [e["version"] for e in hub.index(server.url + "/index.json")] == ["1.0", "1.10", "1.0"]
        p = hub.get(server.url, "line", progress=False)
        assert p.version == "1.10" and p.verify() == 0
        assert hub.get(server.url, "line", "1.0", progress=False).version == "1.0"
        monkeypatch.setenv("NEURA_HUB", server.url)
        assert hub.get(server.url, "line@1.0").version == "1.0"
        assert hub.get("other@1.0").labels == ["a", "b"] and hub.list() == ["line", "other"]
        assert hub.load("line", version="1.0")[1].weight.shape == (300, 3)
        assert "# other 1.0" in hub.help("other")
        assert not [name for name in kept(home) if "partial" in name or ".new-" in name]
        with pytest.raises(hub.NotFoundError, match="expected line 3, got 1.0, 1.10; choose one of these"):
            hub.get("line@3")
        with pytest.raises(
            hub.NotFoundError, match="expected a model 'lin', got line, other; neura hub list shows all"
        ):
            hub.get("lin")
        monkeypatch.delenv("NEURA_HUB")
        with pytest.raises(errors.ValueError, match="or an index in the environment variable NEURA_HUB, got neither"):
            hub.load("line")

    def test_what_is_kept_needs_no_server(self, server, monkeypatch):
        url = server.url
        hub.get(url, "line", progress=False)
        hub.get(url + "/other/", progress=False)
        asked = len(server.asked)
        assert hub.get(url, "line").verify() == 0 and len(server.asked) == asked
        server.stop()
        assert hub.get(url, "line").version == "1.10" and hub.get(url + "/other").name == "other"
        assert hub.get(url, "line", refresh=True).verify() == 0  # asks, and takes what is there
        assert hub.list(url) == ["line", "other"]
        with pytest.raises(hub.OfflineError, match="expected a server that answers, got .*; try again"):
            hub.get(url, "line", "1.0")
        monkeypatch.setenv("NEURA_OFFLINE", "1")
        with pytest.raises(hub.OfflineError, match="expected it in the cache, as NEURA_OFFLINE is set"):
            hub.get(url + "/line-new")
        with pytest.raises(hub.OfflineError, match="as NEURA_OFFLINE is set"):
            hub.load_state_dict_from_url(url + "/weights.st", progress=False)

    def test_a_new_version_comes_when_it_is_asked_for(self, shelf, server):
        assert hub.get(server.url, "line", progress=False).version == "1.10"
        pack(shelf / "newest", version="2.0")
        hub.build_index(shelf)
        assert hub.get(server.url, "line").version == "1.10"
        assert hub.get(server.url, "line", refresh=True, progress=False).version == "2.0"
        assert hub.get(server.url, "line").version == "2.0"

    def test_a_wrong_hash_leaves_nothing(self, shelf, server, home):
        weights = shelf / "other" / "model.safetensors"
        right = weights.read_bytes()
        for wrong in (right[:-1] + b"!", right + b"!", right.replace(b"weight", b"wEight")):
            weights.write_bytes(wrong)
            with pytest.raises(hub.HashError, match="expected .* bytes with the SHA-256 .*; nothing was kept"):
                hub.load(server.url, "other", verbose=False)
            assert not [n for n in kept(home) if n.startswith("models/") or "partial" in n]
        weights.write_bytes(right)
        assert hub.get(server.url, "other", progress=False).verify() == 0
        (shelf / "line" / "neura.json").write_text((shelf / "other" / "neura.json").read_text())
        with pytest.raises(hub.HashError, match="neura.json: expected the SHA-256 .* of the index"):
            hub.get(server.url, "line", "1.0")

    def test_a_transfer_that_breaks_off_goes_on(self, server, home):
        server.cut, server.times = 100_000, 2
        assert hub.get(server.url, "other", progress=False).verify() == 0
        starts = [start for path, start in server.asked if path.endswith("model.safetensors")]
        assert starts == [0, 100_000, 200_000]

    def test_what_came_before_a_stop_is_not_fetched_again(self, server, home):
        server.cut, server.times = 50_000, 99
        with pytest.raises(hub.OfflineError, match="expected .* bytes, got 200000; the transfer broke off; try again"):
            hub.get(server.url, "other", progress=False)
        assert [n for n in kept(home) if n.endswith(".partial")]
        server.times, server.asked = 0, []
        assert hub.get(server.url, "other", progress=False).verify() == 0
        assert [start for path, start in server.asked if path.endswith("model.safetensors")] == [200_000]

    def test_weights_that_break_off_are_not_kept(self, server, tmp_path):
        url = server.url + "/other/model.safetensors"
        server.cut, server.times = 100_000, 1
        with pytest.raises(errors.IoError, match="expected .* bytes, got 100000; the transfer broke off; try again"):
            hub.load_state_dict_from_url(url, model_dir=tmp_path / "m", progress=False)
        assert list((tmp_path / "m").iterdir()) == []
        assert hub.load_state_dict_from_url(url, model_dir=tmp_path / "m", progress=False)

    @pytest.mark.parametrize("model", ["other", None])
    def test_refresh_mends_what_is_damaged_in_the_cache(self, server, home, model):
        source = server.url if model else server.url + "/other"
        weights = pathlib.Path(hub.get(source, model, progress=False).folder, "model.safetensors")
        right = weights.read_bytes()
        weights.chmod(0o644)
        weights.write_bytes(b"?" + right[1:])  # the file in blobs as well: it is the same one
        with pytest.raises(hub.HashError, match="fetch it again, with refresh"):
            hub.get(source, model)
        again = hub.get(source, model, refresh=True, progress=False)
        assert again.verify() == 0 and weights.read_bytes() == right
        asked = server.count("model.safetensors")
        assert hub.get(source, model, refresh=True).verify() == 0 and server.count("model.safetensors") == asked

    def test_a_server_that_knows_no_ranges(self, server):
        server.cut, server.times, server.ranges = 100_000, 1, False
        assert hub.get(server.url, "other", progress=False).verify() == 0

    def test_a_part_of_another_file_is_found(self, server, shelf, home):
        facts = json.loads((shelf / "other" / "neura.json").read_text())["files"]["model.safetensors"]
        (home / "hub" / "blobs").mkdir(parents=True)
        (home / "hub" / "blobs" / (facts["sha256"] + ".partial")).write_bytes(b"?" * 1000)
        with pytest.raises(hub.HashError, match="nothing was kept"):
            hub.get(server.url, "other", progress=False)
        assert hub.get(server.url, "other", progress=False).verify() == 0

    def test_two_processes_at_once(self, server, home):
        server.cut, server.times = 100_000, 1
        code = "import sys, neura; print(neura.hub.get(sys.argv[1], 'other', progress=False).verify())"
        command = [sys.executable, "-c", code, server.url]
        processes = [
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(3)
        ]
        for process in processes:
            out, err = process.communicate(timeout=120)
            assert process.returncode == 0, err
            assert float(out) == 0
        assert sum(path.endswith("model.safetensors") and start == 0 for path, start in server.asked) == 1
        assert len(list((home / "hub" / "models" / "other").glob("[!.]*[0-9a-f]"))) == 1

    def test_answers_that_are_none(self, server, shelf):
        with pytest.raises(hub.OfflineError, match="404 .*; is the address right?"):
            hub.get(server.url + "/nowhere")
        (shelf / "other" / "neura.json").write_bytes(b" " * (1 << 20) + b"{}")
        with pytest.raises(hub.HashError, match="expected at most 1048576 bytes, got more"):
            hub.get(server.url + "/other")
        with pytest.raises(errors.ValueError, match="expected a file:// of this machine"):
            hub.get("file://elsewhere/x")

    def test_a_hostile_path_writes_nothing(self, shelf, server, home, tmp_path):
        path = shelf / "other" / "neura.json"
        m = json.loads(path.read_text())
        m["files"]["../../../../evil.json"] = m["files"]["config.json"]
        path.write_text(json.dumps(m))
        (shelf / "evil.json").write_text("{}")
        with pytest.raises(hub.ManifestError, match="files: a relative path .* got '../../../../evil.json'"):
            hub.load(server.url + "/other")
        assert kept(home) == [] and not list(tmp_path.glob("evil*"))


class TestProgram:
    def run(self, capsys, *words):
        code = program.main([str(w) for w in words])
        out = capsys.readouterr()
        return code, out.out, out.err

    def test_commands(self, server, shelf, capsys):
        code, out, _ = self.run(capsys, "list", server.url)
        assert code == 0 and out.splitlines()[0].split() == "NAME VERSION SIZE LICENCE TASK SUMMARY".split()
        assert [line.split()[:2] for line in out.splitlines()[1:]] == [
            ["line", "1.0"],
            ["line", "1.10"],
            ["other", "1.0"],
        ]
        code, out, _ = self.run(capsys, "get", server.url, "other")
        assert code == 0 and pathlib.Path(out.strip(), "model.safetensors").is_file()
        code, out, _ = self.run(capsys, "info", server.url, "other")
        assert (
            code == 0 and "architecture         mlp(inputs=3, outputs=2" in out and "labels               a, b" in out
        )
        code, out, _ = self.run(capsys, "info", server.url, "other", "--json")
        assert json.loads(out)["name"] == "other"
        assert json.loads(self.run(capsys, "list", shelf, "--json")[1])[0]["name"] == "line"
        assert "files are as the manifest says, and the weights fit" in self.run(capsys, "check", shelf / "line")[1]
        assert "the recorded outputs come again, within" in self.run(capsys, "verify", shelf, "line")[1]
        assert "3 models" in self.run(capsys, "index", shelf)[1]

    def test_what_goes_wrong_is_one_sentence(self, tmp_path, shelf, capsys):
        code, out, err = self.run(capsys, "get", tmp_path / "nowhere")
        assert (
            code == 1 and not out and err.startswith("neura hub: hub: expected a folder, got") and err.count("\n") == 1
        )
        (shelf / "line" / "config.json").write_text("{}")
        code, _, err = self.run(capsys, "check", shelf / "line")
        assert code == 1 and "expected" in err and err.count("\n") == 1
        with pytest.raises(SystemExit) as usage:
            program.main(["fly"])
        assert usage.value.code == 2


def neura_program():
    found = pathlib.Path(neura.__file__).parents[2] / "bin" / "neura"
    if not found.is_file():
        pytest.skip("the program neura is not built")
    return found


class TestNeuraHub:
    """The program neura starts the package."""

    def run(self, python, *words):
        env = {**os.environ, "NEURA_PYTHON": str(python)}
        return subprocess.run([neura_program(), "hub", *words], capture_output=True, text=True, env=env, timeout=120)

    def test_it_is_the_packages(self, shelf):
        done = self.run(sys.executable, "list", str(shelf))
        assert done.returncode == 0 and done.stdout.splitlines()[3].startswith("other  1.0"), done.stderr
        done = self.run(sys.executable, "pack", "--help")
        assert done.returncode == 0 and "--licence" in done.stdout
        done = self.run(sys.executable, "check", str(shelf))
        assert done.returncode == 1 and done.stderr.count("\n") == 1 and "expected neura.json" in done.stderr

    def test_without_a_python_it_says_what_to_do(self, tmp_path):
        done = self.run(tmp_path / "nowhere", "list")
        assert done.returncode == 1 and "install it, or name it in the environment variable NEURA_PYTHON" in done.stderr
        (tmp_path / "python").write_text(f'#!/bin/sh\nexec {sys.executable} -S -I "$@"\n')
        (tmp_path / "python").chmod(0o755)
        done = self.run(tmp_path / "python", "list")
        assert done.returncode == 1 and "expected a Python with the package neura, got" in done.stderr
        done = subprocess.run([neura_program(), "--help"], capture_output=True, text=True, timeout=60)
        assert "needs the Python package" in done.stdout


class TestRuns:
    """What `neura train` leaves."""

    def run(self, folder, task, model, state, facts, settings=()):
        folder.mkdir()
        config = {"task": task, "data": "", "model": model, "epochs": 1, "batch_size": 8, "lr": 1e-3, "seed": 0}
        config.update(quick=True, settings=dict(settings), facts=facts)
        (folder / "config.json").write_text(json.dumps(config))
        lines = [{"step": 1, "epoch": 0.5, "loss": 1.0}, {"step": 2, "epoch": 1, "val/loss": 0.5, "val/accuracy": 0.75}]
        (folder / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        neura.save({"model": dict(state), "step": 2}, folder / "best.safetensors")
        return folder

    def test_pictures(self, tmp_path):
        net = neura.models.fashion_cnn(3, 8, 12)
        facts = {"classes": ["a", "b", "c"], "height": 8, "width": 12, "count": 5}
        run = self.run(tmp_path / "run", "fashion-mnist", "cnn", net.state_dict(), facts)
        p = hub.pack_run(run, tmp_path / "m", licence="MIT")
        assert (
            p.verify() < 1e-6
            and p.labels == facts["classes"]
            and p.manifest["metrics"] == {"accuracy": 0.75, "loss": 0.5}
        )
        assert "neura train fashion-mnist --model cnn --epochs 1" in (tmp_path / "m" / "README.md").read_text()
        assert neura.equal(p.load()[1].weight, net[1].weight)

    @pytest.mark.parametrize("model", ["lenet", "resnet18", "mobilenet_v2", "mlp"])
    def test_folders_of_pictures(self, tmp_path, model):
        made = {"lenet": {"num_classes": 2, "image_size": 16}, "resnet18": {"num_classes": 2, "small_images": True}}
        rows = small_mobilenet_of_the_program()
        made["mobilenet_v2"] = {"num_classes": 2, "inverted_residual_setting": rows}
        arguments = made.get(model, {"inputs": 768, "outputs": 2, "hidden": 512})
        net = neura.models.get_model(model, **arguments)
        state = net.state_dict() if model == "mlp" else nn.Sequential(net).state_dict()
        facts = {"classes": ["a", "b"], "size": 16, "network": {"architecture": model, "arguments": arguments}}
        run = self.run(tmp_path / "run", "images", model, state, facts)
        p = hub.pack_run(run, tmp_path / "m", licence="MIT")
        assert p.verify() < 1e-6
        # Strides change no weight's size: a packed network with others would load, and answer otherwise.
        assert model == "mlp" or p.manifest["arguments"] == arguments

    def test_a_run_that_keeps_no_network(self, tmp_path):
        run = self.run(tmp_path / "run", "images", "lenet", {}, {"classes": ["a", "b"], "size": 16})
        with pytest.raises(hub.ManifestError, match="expected a run that keeps its network, got one of an older Neura"):
            hub.pack_run(run, tmp_path / "m", licence="MIT")

    @pytest.mark.parametrize("model", ["cifar_resnet8", "mobilenet_v2", "vgg11_bn", "vit_tiny", "mlp"])
    def test_the_programs_networks_are_those_of_neura_models(self, tmp_path, model):
        for label in ("dark", "light"):
            (tmp_path / "data" / label).mkdir(parents=True)
            for i in range(4):
                picture = neura.randint(100, (3, 16, 16)) + (150 if label == "light" else 0)
                neura.data.write_png(tmp_path / "data" / label / f"{i}.png", picture.to(neura.uint8))
        train = [neura_program(), "train", "images", "data", "--quick", "--model", model, "--out", "run"]
        done = subprocess.run(train, cwd=tmp_path, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        p = hub.pack_run(tmp_path / "run", tmp_path / "m", licence="MIT")
        assert p.verify() < 1e-6 and p.labels == ["dark", "light"]

    @pytest.mark.parametrize("model", ["gpt", "lstm"])
    def test_texts(self, tmp_path, model):
        settings = {"width": 8, "layers": 1, "heads": 2, "context": 16, "dropout": 0.1}
        if model == "gpt":
            net = neura.models.gpt2(vocab_size=3, n_positions=16, n_embd=8, n_layer=1, n_head=2)
        else:
            net = neura.models.lstm_language(3, 8, 1)
        facts = {"characters": ["a", "b", " "]}
        run = self.run(tmp_path / "run", "text", model, nn.Sequential(net).state_dict(), facts, settings)
        p = hub.pack_run(run, tmp_path / "m", licence="MIT", name="letters")
        assert p.verify() < 1e-6 and p.labels == ["a", "b", " "] and p.name == "letters"

    def test_what_is_no_run(self, tmp_path):
        with pytest.raises(hub.ManifestError, match="expected the folder of a run of neura train, got another"):
            hub.pack_run(tmp_path, tmp_path / "m", licence="MIT")
        run = self.run(tmp_path / "run", "table", "mlp", {}, {})
        with pytest.raises(
            errors.NotImplementedError, match="expected a run of fashion-mnist, images, text, got one of table"
        ):
            hub.pack_run(run, tmp_path / "m", licence="MIT")

    def test_the_program_trains_one_that_is_packed(self, tmp_path):
        trainer = neura_program()
        neura.manual_seed(0)
        labels = neura.arange(96) % 2
        pictures = (neura.rand(96, 8, 8) * 100).to(neura.uint8) + (labels * 150).to(neura.uint8).reshape(-1, 1, 1)
        (tmp_path / "data").mkdir()
        for part in ("train", "t10k"):
            neura.data.write_idx(str(tmp_path / "data" / f"{part}-images-idx3-ubyte"), pictures)
            neura.data.write_idx(str(tmp_path / "data" / f"{part}-labels-idx1-ubyte"), labels.to(neura.uint8))
        train = [trainer, "train", "fashion-mnist", "data", "--epochs", "2", "--batch-size", "16", "--out", "run"]
        done = subprocess.run(train, cwd=tmp_path, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        assert program.main(["pack", str(tmp_path / "run"), str(tmp_path / "m"), "--licence", "MIT"]) == 0
        p = hub.get(tmp_path / "m")
        assert p.manifest["metrics"]["accuracy"] == 1
        said = p.load()(pictures.unsqueeze(1)).argmax(1)
        assert neura.equal(said, labels)
