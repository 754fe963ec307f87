"""Chrome's trace format, with the names of fields that PyTorch's traces have: Perfetto and TensorBoard read it."""

import gzip
import json
import os
import time

_CATEGORIES = {"operation": "cpu_op", "range": "user_annotation", "module": "python_function"}


def _entry(event, pid):
    args = {"External id": event.id + 1, "Backward": event.backward}
    if event.module:
        args["Module"] = event.module
    if event.input_shapes:
        args["Input Dims"], args["Input type"] = event.input_shapes, event.input_dtypes
    if event.self_cpu_memory_usage or event.self_device_memory_usage:
        args["Bytes"], args["Device"] = event.self_cpu_memory_usage + event.self_device_memory_usage, event.device
    return {
        "ph": "X",
        "cat": _CATEGORIES[event.kind],
        "name": event.name,
        "pid": pid,
        "tid": event.thread,
        "ts": event.begin / 1e3,
        "dur": (event.end - event.begin) / 1e3,
        "args": args,
    }


def _device_entry(event):
    index = int(event.device.partition(":")[2] or 0)
    return {
        "ph": "X",
        "cat": "kernel",
        "name": event.name,
        "pid": index,
        "tid": 0,
        "ts": event.device_begin / 1e3,
        "dur": (event.device_end - event.device_begin) / 1e3,
        "args": {"External id": event.id + 1, "device": index},
    }


def write(path, events):
    pid, path = os.getpid(), os.fspath(path)
    entries = [{"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": "python"}}]
    for event in events:
        entries.append(_entry(event, pid))
        if event.device_begin >= 0:
            entries.append(_device_entry(event))
    trace = {
        "schemaVersion": 1,
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": time.time_ns() - time.monotonic_ns(),
        "traceName": path,
        "traceEvents": entries,
    }
    with (gzip.open if path.endswith(".gz") else open)(path, "wt", encoding="utf-8") as file:
        json.dump(trace, file)
