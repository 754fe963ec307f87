"""tools/check_cuda_calls.py finds calls of CUDA's libraries whose status nobody sees, and no others."""

import pathlib
import subprocess
import sys

import pytest

TOOL = pathlib.Path(__file__).parents[2] / "tools" / "check_cuda_calls.py"


def check(tmp_path, body):
    source = tmp_path / "some.cpp"
    source.write_text(f"void f() {{\n{body}\n}}\n")
    done = subprocess.run([sys.executable, TOOL, source], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    "body",
    [
        "cudaFree(p);",
        "  if (p) cudaFree(p);",
        "  for (auto& p : all) cudaFree(p);",
        "  library().cublasDestroy_v2(h);",
        "cudnnDestroy(h), n = 0;",
        "if (a) {\n} else\n  cudaEventDestroy(e);",
        "(void)cudaFree(p);",  # without a reason
    ],
)
def test_an_unseen_status_is_found(tmp_path, body):
    code, said = check(tmp_path, body)
    assert code == 1 and "some.cpp" in said, said


@pytest.mark.parametrize(
    "body",
    [
        "if (cudaFree(p) != cudaSuccess) g();",
        "const auto status = cudaFree(p);",
        "return cudaFree(p);",
        "NEURA_CUDA_TRY(cudaFree(p));",
        "discard(cudaFree(p));",
        "(void)cudaFree(p);  // the driver may be gone",
        "cudaGetLastError();",
        "// cudaFree(p);",
        'say("cudaFree(p);");',
        "#define FREE cudaFree(p);",
    ],
)
def test_what_is_seen_or_no_call_is_not(tmp_path, body):
    assert check(tmp_path, body)[0] == 0, check(tmp_path, body)[1]


def test_the_back_end_has_none():
    done = subprocess.run([sys.executable, TOOL], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
