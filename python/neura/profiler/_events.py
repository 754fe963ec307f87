"""Events of a profile, their averages, and the table of them."""

from .._neura import errors
from ._trace import write

_DEVICE_SORTS = ("device_time", "device_time_total", "self_device_time_total", "device_memory_usage")
_SORTS = {
    *("count", "cpu_time", "cpu_time_total", "self_cpu_time_total", "cpu_memory_usage", "self_cpu_memory_usage"),
    *_DEVICE_SORTS,
    "self_device_memory_usage",
}


def _time(microseconds, unit=None):
    unit = unit or ("s" if microseconds >= 1e6 else "ms" if microseconds >= 1e3 else "us")
    return f"{microseconds / {'s': 1e6, 'ms': 1e3, 'us': 1.0}[unit]:.3f}{unit}"


def _memory(size):
    for unit, bytes_of in (("GB", 2**30), ("MB", 2**20), ("KB", 2**10)):
        if abs(size) >= bytes_of:
            return f"{size / bytes_of:.2f} {unit}"
    return f"{size} B"


class _Totals:
    """Times are in microseconds, memory in bytes."""

    @property
    def cpu_time(self):
        """The mean time on the CPU, children included."""
        return self.cpu_time_total / self.count

    @property
    def device_time(self):
        """The mean time on the device, children included."""
        return self.device_time_total / self.count


class FunctionEvent(_Totals):
    """One operation, range or module that ran.

    name and key (str); kind (str: "operation", "range", "module"); backward (bool); module (str: the path of the module
    that it ran in, with with_modules); device (str); begin, end, device_begin, device_end (int: nanoseconds of
    time.monotonic_ns; device_begin is -1 where the device was not timed); input_shapes and input_dtypes (list);
    cpu_parent, cpu_children; count, which is 1; and cpu_time_total, self_cpu_time_total, device_time_total,
    self_device_time_total (microseconds), cpu_memory_usage, self_cpu_memory_usage, device_memory_usage and
    self_device_memory_usage (bytes).
    """

    count = 1

    def __init__(self, id, thread, values):
        self.id, self.thread = id, thread
        self.name, self.kind, self.backward, self.device, self.begin, self.end, *values = values
        self.device_begin, self.device_end, size, self.input_shapes, self.input_dtypes = values
        self.key, self.module, self.cpu_parent, self.cpu_children = self.name, "", None, []
        self.is_user_annotation = self.kind == "range"
        self.cpu_time_total = self.self_cpu_time_total = (self.end - self.begin) / 1e3
        on_device = self.device_begin >= 0
        self.device_time_total = self.self_device_time_total = on_device * (self.device_end - self.device_begin) / 1e3
        on_cpu = self.device == "cpu"
        self.cpu_memory_usage = self.self_cpu_memory_usage = size * on_cpu
        self.device_memory_usage = self.self_device_memory_usage = size * (not on_cpu)

    def __repr__(self):
        return f"<FunctionEvent {self.name} cpu_time={_time(self.cpu_time_total)}>"


_SUMS = [part + what for what in ("cpu_time_total", "device_time_total") for part in ("", "self_")]
_SUMS += [part + what for what in ("cpu_memory_usage", "device_memory_usage") for part in ("", "self_")]


class FunctionEventAvg(_Totals):
    """All events of one name, and of one list of shapes where they are grouped by it: their number and their sums."""

    def __init__(self, first):
        self.key, self.input_shapes, self.is_user_annotation = first.key, first.input_shapes, first.is_user_annotation
        self.count = 0
        for name in _SUMS:
            setattr(self, name, 0)

    def add(self, event):
        """Adds an event."""
        self.count += event.count
        for name in _SUMS:
            setattr(self, name, getattr(self, name) + getattr(event, name))
        return self

    def __repr__(self):
        return f"<FunctionEventAvg {self.key} count={self.count} cpu_time={_time(self.cpu_time)}>"


class EventList(list):
    """Events of a profile, in the order in which they began, or their averages."""

    def __init__(self, events=(), profile=None):
        super().__init__(events)
        self._profile = profile

    @property
    def self_cpu_time_total(self):
        """Microseconds of all events without what runs in their children."""
        return sum(event.self_cpu_time_total for event in self)

    def key_averages(self, group_by_input_shape=False):
        """One FunctionEventAvg for each name, or for each name with each list of shapes, which needs record_shapes."""
        found = {}
        for event in self:
            key = event.key, str(event.input_shapes) if group_by_input_shape else ""
            if key not in found:
                found[key] = FunctionEventAvg(event)
            found[key].add(event)
        averages = EventList(found.values(), self._profile)
        averages._shapes = group_by_input_shape
        return averages

    def total_average(self):
        """One FunctionEventAvg of all events, whose key is "Total"."""
        if not self:
            raise errors.ValueError("total_average: expected events, got none; run operations inside the profile")
        total = FunctionEventAvg(self[0])
        for event in self:
            total.add(event)
        total.key = "Total"
        return total

    def export_chrome_trace(self, path):
        """Writes the events for Perfetto or chrome://tracing; a path that ends in .gz is compressed."""
        write(path, self)

    def table(self, sort_by=None, row_limit=100, max_name_column_width=55, max_shapes_column_width=80, header=None):
        """The events as text, one line each.

        sort_by (str): None for the order they have, or "count", "cpu_time", "cpu_time_total", "self_cpu_time_total",
        "cpu_memory_usage", "self_cpu_memory_usage", or one of these with device or cuda for cpu. ValueError for others.
        row_limit (int): of how many lines; below 0 all.

        >>> with neura.profiler.profile() as p:
        ...     y = neura.ones(3).exp()
        >>> "exp" in p.key_averages().table(sort_by="cpu_time_total", row_limit=5)
        True
        """
        rows = list(self)
        if sort_by is not None:
            key = sort_by.replace("cuda", "device")
            if key not in _SORTS:
                raise errors.ValueError(
                    f"table: expected sort_by to be one of {', '.join(sorted(_SORTS))}, got {sort_by!r}"
                )
            rows.sort(key=lambda event: getattr(event, key), reverse=True)
        if row_limit >= 0:
            rows = rows[:row_limit]
        titles, lines = self._columns(rows, max_name_column_width, max_shapes_column_width)
        widths = [max(len(line[i]) for line in [titles, *lines]) for i in range(len(titles))]
        rule = "  ".join("-" * width for width in widths)
        text = ["  ".join(cell.rjust(width) for cell, width in zip(line, widths)) for line in [titles, *lines]]
        end = f"Self CPU time total: {_time(self.self_cpu_time_total)}"
        device = sum(event.self_device_time_total for event in self)
        end += f"\nSelf device time total: {_time(device)}" if device else ""
        return "\n".join([*([header] if header else []), rule, text[0], rule, *text[1:], rule, end, ""])

    def _columns(self, rows, name_width, shapes_width):
        def cut(text, width):
            return text if width is None or len(text) <= width else text[: width - 3] + "..."

        def share(part, whole):
            return f"{100 * part / whole if whole else 0:.2f}%"

        cpu, device = self.self_cpu_time_total, sum(event.self_device_time_total for event in self)
        columns = {
            "Name": lambda e: cut(e.key, name_width),
            "Self CPU %": lambda e: share(e.self_cpu_time_total, cpu),
            "Self CPU": lambda e: _time(e.self_cpu_time_total),
            "CPU total %": lambda e: share(e.cpu_time_total, cpu),
            "CPU total": lambda e: _time(e.cpu_time_total),
            "CPU time avg": lambda e: _time(e.cpu_time),
        }
        if device:
            columns["Self device"] = lambda e: _time(e.self_device_time_total)
            columns["Self device %"] = lambda e: share(e.self_device_time_total, device)
            columns["device total"] = lambda e: _time(e.device_time_total)
            columns["device time avg"] = lambda e: _time(e.device_time)
        if self._profile is not None and self._profile.profile_memory:
            columns["CPU Mem"] = lambda e: _memory(e.cpu_memory_usage)
            columns["Self CPU Mem"] = lambda e: _memory(e.self_cpu_memory_usage)
            if any(e.device_memory_usage for e in self):
                columns["device Mem"] = lambda e: _memory(e.device_memory_usage)
                columns["Self device Mem"] = lambda e: _memory(e.self_device_memory_usage)
        columns["# of Calls"] = lambda e: str(e.count)
        if getattr(self, "_shapes", False):
            columns["Input Shapes"] = lambda e: cut(str(e.input_shapes), shapes_width)
        return list(columns), [[cell(row) for cell in columns.values()] for row in rows]

    def __str__(self):
        return self.table()


def tree(events):
    """Tells each event, in the order they began, who runs it; what a child used is not its parent's own."""
    open_ones = []
    for event in events:
        while open_ones and open_ones[-1].end <= event.begin:
            open_ones.pop()
        parent = next((one for one in reversed(open_ones) if one.end >= event.end and one.kind != "operation"), None)
        open_ones.append(event)
        event.cpu_parent = parent
        event.module = parent.module if parent else ""
        if event.kind == "module":
            event.module = event.name.removeprefix("nn.Module: ")
        if parent:
            parent.cpu_children.append(event)
            parent.self_cpu_time_total -= event.cpu_time_total
    for event in reversed(events):  # children come after their parents
        if event.cpu_parent:
            for name in ("device_time_total", "cpu_memory_usage", "device_memory_usage"):
                setattr(event.cpu_parent, name, getattr(event.cpu_parent, name) + getattr(event, name))
    return events
