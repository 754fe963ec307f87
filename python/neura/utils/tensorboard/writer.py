"""Writes what TensorBoard shows."""

import os
import socket
import threading
import time

from ..._neura import errors
from . import _records as r
from . import _values as values
from ._hparams import hparams


class FileWriter:
    """An event file of its own in a directory, which is made.

    log_dir (str); filename_suffix (str): ends the file's name.
    """

    _numbers, _lock = iter(range(1 << 62)), threading.Lock()

    def __init__(self, log_dir, max_queue=10, flush_secs=120, filename_suffix=""):
        self._dir = os.fspath(log_dir)
        os.makedirs(self._dir, exist_ok=True)
        with self._lock:
            number = next(self._numbers)
        name = f"events.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}.{os.getpid()}.{number}"
        self._file = open(os.path.join(self._dir, name + filename_suffix), "wb")
        self._waiting, self._max, self._seconds, self._flushed = 0, max_queue, flush_secs, time.monotonic()
        self._write(r.double(1, time.time()) + r.message(3, "brain.Event:2"))
        self.flush()

    def get_logdir(self):
        """The directory."""
        return self._dir

    def _write(self, data):
        with self._lock:
            if self._file.closed:
                raise errors.ValueError(
                    "FileWriter: expected an open file, got one that was closed; make another writer"
                )
            self._file.write(r.record(data))
        self._waiting += 1

    def add_summary(self, summary, global_step=None, walltime=None):
        """Adds a Summary as bytes."""
        self._write(r.event(time.time() if walltime is None else walltime, int(global_step or 0), summary))
        if self._waiting > self._max or time.monotonic() - self._flushed > self._seconds:
            self.flush()

    def flush(self):
        """What was added is in the file afterwards."""
        with self._lock:
            if not self._file.closed:
                self._file.flush()
        self._waiting, self._flushed = 0, time.monotonic()

    def close(self):
        """Ends the file; nothing can be added any more."""
        with self._lock:
            self._file.close()


class SummaryWriter:
    """Curves, histograms, pictures and text of a training, for `tensorboard --logdir=runs`. Also a context manager.

    log_dir (str): a directory; by default one below runs/ with the time and the host in its name, and `comment`
    after it.
    max_queue (int), flush_secs (int): how many summaries, and for how long, may wait before they are in the file.

    Everywhere: tag (str) is the name under which it is shown, global_step (int) where on the axis, walltime (float)
    when, in seconds since 1970.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with neura.utils.tensorboard.SummaryWriter(folder) as writer:
    ...         for step in range(3):
    ...             writer.add_scalar("loss", 1 / (step + 1), step)
    """

    def __init__(self, log_dir=None, comment="", purge_step=None, max_queue=10, flush_secs=120, filename_suffix=""):
        if purge_step is not None:
            raise errors.NotImplementedError(
                f"SummaryWriter: expected purge_step=None, got {purge_step}; "
                "write a continued run to a directory of its own"
            )
        if not log_dir:
            log_dir = os.path.join("runs", time.strftime("%b%d_%H-%M-%S_") + socket.gethostname() + comment)
        self.log_dir = os.fspath(log_dir)
        self._options = max_queue, flush_secs, filename_suffix
        self.file_writer = FileWriter(self.log_dir, *self._options)
        self._others = {}

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def get_logdir(self):
        """The directory."""
        return self.log_dir

    def add_scalar(self, tag, scalar_value, global_step=None, walltime=None):
        """A point of a curve. scalar_value: a number or a tensor of one element. ValueError for others."""
        self.file_writer.add_summary(values.scalar(tag, scalar_value), global_step, walltime)

    def add_scalars(self, main_tag, tag_scalar_dict, global_step=None, walltime=None):
        """A point of each of several curves in one picture, each a run of its own below the directory."""
        points = {tag: values.scalar(main_tag, x) for tag, x in tag_scalar_dict.items()}
        for tag, summary in points.items():
            where = os.path.join(self.log_dir, main_tag.replace("/", "_") + "_" + tag)
            if where not in self._others:
                self._others[where] = FileWriter(where, *self._options)
            self._others[where].add_summary(summary, global_step, walltime)

    def add_histogram(self, tag, values, global_step=None, bins="tensorflow", walltime=None, max_bins=None):
        """How values are distributed.

        values: a tensor or an array. bins: "tensorflow" for bounds that grow by a tenth, "auto", a number, or bounds.
        ValueError without values, and where one is not finite.
        """
        from ._values import histogram

        self.file_writer.add_summary(histogram(tag, values, bins, max_bins), global_step, walltime)

    def add_image(self, tag, img_tensor, global_step=None, walltime=None, dataformats="CHW"):
        """A picture: uint8, or numbers from 0 to 1. dataformats: "CHW", "HWC" or "HW". ShapeError for other sizes."""
        self.file_writer.add_summary(values.image(tag, img_tensor, dataformats), global_step, walltime)

    def add_images(self, tag, img_tensor, global_step=None, walltime=None, dataformats="NCHW"):
        """Pictures as a grid, eight to a row. dataformats: "NCHW" or "NHWC"."""
        self.file_writer.add_summary(values.image(tag, img_tensor, dataformats), global_step, walltime)

    def add_text(self, tag, text_string, global_step=None, walltime=None):
        """A text, shown as Markdown."""
        self.file_writer.add_summary(values.text(tag, text_string), global_step, walltime)

    def add_hparams(self, hparam_dict, metric_dict, hparam_domain_discrete=None, run_name=None, global_step=None):
        """A run's settings (bool, int, float, str) and what it reached with them (numbers), as a run of its own.

        TypeError for settings of other types.
        """
        where = os.path.join(self.log_dir, str(time.time()) if run_name is None else run_name)
        summaries = hparams(hparam_dict, metric_dict, hparam_domain_discrete or {})
        summaries += [values.scalar(tag, x) for tag, x in metric_dict.items()]
        writer = FileWriter(where, *self._options)
        for summary in summaries:
            writer.add_summary(summary, global_step)
        writer.close()

    def add_graph(self, model, input_to_model=None, verbose=False, use_strict_trace=True):
        """Not there: NotImplementedError. neura.graph shows a model's operations as text and DOT."""
        raise errors.NotImplementedError("add_graph: graphs are not written; neura.graph.trace(...).to_dot() draws one")

    def flush(self):
        """What was added is in the files afterwards."""
        for writer in (self.file_writer, *self._others.values()):
            writer.flush()

    def close(self):
        """Ends the files; adding raises ValueError afterwards."""
        for writer in (self.file_writer, *self._others.values()):
            writer.close()
