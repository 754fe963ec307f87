"""The profiler: operations, ranges and modules with their times, as a table and as a trace."""

from ._events import EventList, FunctionEvent, FunctionEventAvg
from ._nan_tracker import NanFinding, NanTracker
from ._profile import (
    ProfilerAction,
    ProfilerActivity,
    profile,
    record_function,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)

__all__ = [
    "EventList",
    "FunctionEvent",
    "FunctionEventAvg",
    "NanFinding",
    "NanTracker",
    "ProfilerAction",
    "ProfilerActivity",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]
