"""Time that a statement takes: Timer, in the manner of timeit, and what it measured.

>>> timer = neura.utils.benchmark.Timer("x + 1", globals={"x": neura.ones(3)})
>>> timer.timeit(10).number_per_run
10
"""

import statistics
import timeit

from .. import _neura

__all__ = ["Measurement", "Timer", "timer"]

_MOST = 10_000  # runs, however short they are


def timer():
    """Seconds, after CUDA devices have done what was asked of them."""
    if not _neura._cuda.why_not():
        _neura._cuda.synchronize(_neura.device("cuda"))
    return timeit.default_timer()


class Measurement:
    """Seconds of several runs, each of number_per_run times a statement: mean, median, iqr, times."""

    def __init__(self, number_per_run, raw_times, task_spec, metadata=None):
        self.number_per_run, self.raw_times, self.task_spec = number_per_run, list(raw_times), task_spec
        self.metadata = metadata

    times = property(lambda self: [t / self.number_per_run for t in self.raw_times], doc="Of one statement, each run.")
    mean = property(lambda self: statistics.fmean(self.times), doc="The mean of times.")
    median = property(lambda self: statistics.median(self.times), doc="The median of times.")

    @property
    def iqr(self):
        """The distance between the quartiles of times."""
        if len(self.times) < 2:
            return 0.0
        low, _, high = statistics.quantiles(self.times, n=4, method="inclusive")
        return high - low

    def __repr__(self):
        scale, unit = next(
            ((s, u) for s, u in ((1, "s"), (1e3, "ms"), (1e6, "us")) if self.median * s >= 1), (1e9, "ns")
        )
        return (
            f"<neura.utils.benchmark.Measurement of {self.task_spec}>\n  {self.median * scale:.2f} {unit} (median of "
            f"{len(self.raw_times)} runs of {self.number_per_run})"
        )


class Timer:
    """Measures stmt, a text of Python, with setup before and globals around it, on num_threads threads.

    label, sub_label, description and env are words for the reader. TypeError for a language other than Python.
    """

    def __init__(
        self,
        stmt="pass",
        setup="pass",
        global_setup="",
        timer=timer,
        globals=None,
        label=None,
        sub_label=None,
        description=None,
        env=None,
        num_threads=1,
        language="python",
    ):
        if str(language).lower() not in ("python", "py", "language.python"):
            raise TypeError(f"Timer: expected language 'python', got {language!r}")
        import neura

        space = {"neura": neura, "torch": neura, **(globals or {})}
        self._timer = timeit.Timer(stmt, setup, timer, space)
        self._threads = num_threads
        words = [word for word in (label or stmt, sub_label, description, env) if word]
        self._words = ", ".join(words)

    def _runs(self, number, repeat):
        before = _neura.get_num_threads()
        _neura.set_num_threads(self._threads)
        try:
            return [self._timer.timeit(number) for _ in range(repeat)]
        finally:
            _neura.set_num_threads(before)

    def timeit(self, number=1000000):
        """One run of stmt, number times, after a few to get warm."""
        self._runs(max(number // 100, 2), 1)
        return Measurement(number, self._runs(number, 1), self._words)

    def blocked_autorange(self, callback=None, min_run_time=0.2):
        """Runs of so many times that each takes a part of min_run_time seconds, until that is over."""
        number, took = 1, self._runs(1, 2)[1]
        while took < min_run_time / 1000 and number < 10**9:
            if number >= 10**6 and not took > 0:
                raise ValueError("Timer: expected a timer that advances, got one that did not in a million runs")
            number *= 10
            took = self._runs(number, 1)[0]
        times = [took]
        while sum(times) < min_run_time and len(times) < _MOST:
            times += self._runs(number, 1)
            if callback is not None:
                callback(number, times[-1])
        return Measurement(number, times, self._words)

    def adaptive_autorange(self, threshold=0.1, *, min_run_time=0.01, max_run_time=10.0, callback=None):
        """blocked_autorange until the quartiles are within threshold of the median, or max_run_time is over."""
        found = self.blocked_autorange(callback, min_run_time)
        while sum(found.raw_times) < max_run_time and len(found.times) < _MOST:
            if len(found.times) >= 4 and not found.iqr > threshold * found.median:
                break
            found.raw_times += self._runs(found.number_per_run, len(found.times))
        return found
