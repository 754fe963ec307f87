"""Steady benchmarks against their history (tools/bench_history.py), with made-up times."""

import importlib.util
import json
import pathlib
import sys

import pytest

TOOL = pathlib.Path(__file__).parents[2] / "tools" / "bench_history.py"


@pytest.fixture
def tool(monkeypatch):
    spec = importlib.util.spec_from_file_location("bench_history", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "CASES", ["a", "b"])
    return module


@pytest.fixture
def bench(tmp_path):
    """A program that says the next of the given times: [{case: [nanoseconds of each repetition]}, ...]."""

    def make(*measurements):
        (tmp_path / "calls").write_text(json.dumps(measurements))
        program = tmp_path / "bench"
        program.write_text(
            f"""#!{sys.executable}
import json, pathlib, re, sys
calls = pathlib.Path({str(tmp_path / "calls")!r})
now, *later = json.loads(calls.read_text())
calls.write_text(json.dumps(later))
wanted = next(a.partition("=")[2] for a in sys.argv if a.startswith("--benchmark_filter="))
runs = [
    dict(run_type="iteration", run_name=name, cpu_time=time / 1000, time_unit="us")
    for name, times in now.items() if re.search(wanted, name) for time in times
]
runs += [dict(run_type="aggregate", run_name=name, cpu_time=0.001, time_unit="us") for name in now]
print(json.dumps(dict(benchmarks=runs)))
"""
        )
        program.chmod(0o755)
        return program

    return make


def run(tool, program, folder, monkeypatch, capsys, *more):
    monkeypatch.setattr(sys, "argv", ["bench_history", "--bench", str(program), "--history", str(folder), *more])
    tool.main()
    return capsys.readouterr().out


def test_a_history_begins_and_grows_and_the_last_times_count(tool, bench, tmp_path, monkeypatch, capsys):
    folder = tmp_path / "history"
    first = bench({"yardstick": [12, 10], "a": [20, 30], "b": [100]})
    out = run(tool, first, folder, monkeypatch, capsys)
    assert "no times of this kind of machine" in out and not folder.exists()
    first = bench({"yardstick": [12, 10], "a": [20, 30], "b": [100]})
    assert "recorded in" in run(tool, first, folder, monkeypatch, capsys, "--record")
    faster = bench({"yardstick": [10], "a": [10], "b": [100]})
    assert "2 cases compared" in run(tool, faster, folder, monkeypatch, capsys, "--record")
    (file,) = folder.iterdir()
    assert file.stem == tool.kind()
    assert [float(r["times_yardstick"]) for r in tool.read(file)["a"]] == [2, 1]
    before = bench(*3 * [{"yardstick": [10], "a": [20], "b": [100]}])
    assert "a takes 2.00 times" in run(tool, before, folder, monkeypatch, capsys)


@pytest.mark.parametrize("factor, warned", [(1.1, False), (1.2, True)])
def test_more_than_15_percent_are_told_with_where_they_were_faster(
    tool, bench, tmp_path, monkeypatch, capsys, factor, warned
):
    (tmp_path / f"{tool.kind()}.csv").write_text(
        "date,commit,case,times_yardstick,nanoseconds\n2026-01-02,abc1234,a,2,20\n"
    )
    now = bench(*3 * [{"yardstick": [10], "a": [20 * factor], "b": [100]}])
    out = run(tool, now, tmp_path, monkeypatch, capsys)
    warning = f"warning: a takes {factor:.2f} times what it took at abc1234 on 2026-01-02"
    assert (warning in out) == warned
    assert f"1 cases compared with the history of {tool.kind()}: {int(warned)} slower" in out


def test_a_slower_clock_is_no_slower_case_and_one_bad_minute_is_none(tool, bench, tmp_path, monkeypatch, capsys):
    (tmp_path / f"{tool.kind()}.csv").write_text(
        "date,commit,case,times_yardstick,nanoseconds\n2026-01-02,abc1234,a,2,20\n2026-01-02,abc1234,b,10,100\n"
    )
    slow_clock = bench({"yardstick": [20], "a": [40], "b": [200]})
    assert "warning" not in run(tool, slow_clock, tmp_path, monkeypatch, capsys)
    bad_minute = bench({"yardstick": [10], "a": [90], "b": [100]}, {"yardstick": [20], "a": [40], "b": [999]})
    assert "warning" not in run(tool, bad_minute, tmp_path, monkeypatch, capsys)


def test_a_case_that_is_gone_is_told(tool, bench, tmp_path, monkeypatch, capsys):
    with pytest.raises(SystemExit, match="has no case b"):
        run(tool, bench({"yardstick": [10], "a": [20]}), tmp_path, monkeypatch, capsys)
