"""The model server `neura serve`, asked over HTTP by the protocol itself, and by the clients that are installed."""

import http.client
import json
import os
import pathlib
import signal
import struct
import subprocess
import time

import neura
import pytest
from neura import nn

ROOT = pathlib.Path(__file__).parents[2]


def program():
    for folder in (os.environ.get("NEURA_BIN"), pathlib.Path(neura.__file__).parents[2] / "bin"):
        if folder and (path := pathlib.Path(folder) / "neura").exists():
            if " serve " in subprocess.run([path, "--help"], capture_output=True, text=True, timeout=60).stdout:
                return path
    pytest.skip("the program neura is not built, or without its part SERVE")


class Net(nn.Module):
    def forward(self, x):
        return x * 2


def expected(values):
    return [2 * v for v in values]


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    command = program()
    folder = tmp_path_factory.mktemp("models")
    (folder / "net/1").mkdir(parents=True)
    neura.onnx.export(
        Net().eval(),
        neura.ones(2, 4),
        folder / "net/1/model.onnx",
        input_names=["x"],
        output_names=["y"],
        dynamic_axes={"x": {0: "batch"}},
    )
    (folder / "fixed").mkdir()
    neura.graph.export(Net().eval(), neura.zeros(1, 4), input_names=["x"], output_names=["y"]).save(
        str(folder / "fixed/model.neura")
    )
    file = folder / "port"
    server = subprocess.Popen([command, "serve", folder, "--port", "0", "--port-file", file], stderr=subprocess.PIPE)
    try:
        for _ in range(600):
            if file.exists() and ready(int(file.read_text())):
                break
            assert server.poll() is None, server.stderr.read()
            time.sleep(0.1)
        yield int(file.read_text())
    finally:
        server.send_signal(signal.SIGTERM)
        assert server.wait(timeout=60) == 0
        server.stderr.close()


def ready(port):
    return ask(port, "GET", "/v2/health/ready")[0] == 200


def ask(port, method, path, body=b"", headers=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


def test_json(port):
    tensor = {"name": "x", "datatype": "FP32", "shape": [1, 4], "data": [[1, 2, 3, 4.5]]}
    for name in ("net", "fixed"):
        status, _, body = ask(port, "POST", f"/v2/models/{name}/infer", json.dumps({"id": "7", "inputs": [tensor]}))
        answer = json.loads(body)
        assert status == 200 and answer["id"] == "7"
        assert answer["outputs"][0] == {"name": "y", "datatype": "FP32", "shape": [1, 4], "data": [2, 4, 6, 9]}
    status, _, body = ask(port, "POST", "/v2/models/net/infer", json.dumps({"inputs": []}))
    assert status == 400 and "expected an input" in json.loads(body)["error"]


def test_bytes(port):
    values = [float(i) for i in range(8)]
    head = json.dumps(
        {
            "inputs": [{"name": "x", "datatype": "FP32", "shape": [2, 4], "parameters": {"binary_data_size": 32}}],
            "outputs": [{"name": "y", "parameters": {"binary_data": True}}],
        }
    ).encode()
    length = {"Inference-Header-Content-Length": str(len(head))}
    status, headers, body = ask(port, "POST", "/v2/models/net/infer", head + struct.pack("<8f", *values), length)
    assert status == 200
    begin = int(headers["Inference-Header-Content-Length"])
    assert json.loads(body[:begin])["outputs"][0]["parameters"] == {"binary_data_size": 32}
    assert list(struct.unpack("<8f", body[begin:])) == expected(values)


def test_tritonclient(port):
    triton = pytest.importorskip("tritonclient.http")
    numpy = pytest.importorskip("numpy")
    client = triton.InferenceServerClient(f"127.0.0.1:{port}")
    assert client.is_server_live() and client.is_server_ready() and client.is_model_ready("net")
    assert client.get_server_metadata()["name"] == "neura"
    assert client.get_model_metadata("net")["inputs"][0]["shape"] == [-1, 4]
    x = numpy.arange(12, dtype=numpy.float32).reshape(3, 4)
    for binary in (True, False):
        given = triton.InferInput("x", [3, 4], "FP32")
        given.set_data_from_numpy(x, binary_data=binary)
        for wanted in (None, [triton.InferRequestedOutput("y", binary_data=binary)]):
            for packed in (None, "gzip"):
                result = client.infer(
                    "net", [given], outputs=wanted, request_id="a", request_compression_algorithm=packed
                )
                assert (result.as_numpy("y") == 2 * x).all() and result.get_response()["id"] == "a"
    index = {row["name"]: row["state"] for row in client.get_model_repository_index()}
    assert index == {"net": "READY", "fixed": "READY"}
    client.unload_model("net")
    assert not client.is_model_ready("net")
    client.load_model("net")
    assert client.is_model_ready("net")
    with pytest.raises(triton.InferenceServerException, match="expected a model of the folder"):
        client.load_model("none")
    client.close()


def test_kserve(port):
    kserve = pytest.importorskip("kserve")
    numpy = pytest.importorskip("numpy")
    asyncio = pytest.importorskip("asyncio")

    async def run():
        client = kserve.InferenceRESTClient(kserve.RESTConfig(protocol="v2", timeout=60))
        base = f"http://127.0.0.1:{port}"
        assert await client.is_server_ready(base) and await client.is_server_live(base)
        assert await client.is_model_ready(base, "net")
        x = numpy.arange(8, dtype=numpy.float32).reshape(2, 4)
        for binary in (False, True):
            given = kserve.InferInput("x", [2, 4], "FP32")
            given.set_data_from_numpy(x, binary_data=binary)
            request = kserve.InferRequest(model_name="net", infer_inputs=[given])
            answer = await client.infer(base, request, model_name="net")
            assert (answer.outputs[0].as_numpy() == 2 * x).all()
        await client.close()

    asyncio.run(run())
