"""Fits of the Python package from each kind of table, the time of its import, and the memory of a fit.

    python.py --data FOLDER [--quick] --turns N --one KIND

../src/bin/python.rs writes the rows and does the same fit from Rust. Each kind of table has a process of its own.
"""

import pathlib
import statistics
import subprocess
import sys
import time

import lines

FOLDER = pathlib.Path(sys.argv[sys.argv.index("--data") + 1])
ROWS, COLUMNS = (20_000, 10) if "--quick" in sys.argv else (400_000, 50)
KINDS = ("numpy C", "numpy F", "numpy C f32", "numpy F f32", "pandas", "polars", "pyarrow")


def table(kind):
    """The table, and its size in bytes."""
    import numpy as np

    x = np.fromfile(FOLDER / "x.f64").reshape(ROWS, COLUMNS)
    size = x.nbytes
    names = [f"x{place}" for place in range(COLUMNS)]
    if kind == "pandas":
        import pandas

        return pandas.DataFrame(x, columns=names), size
    if kind == "polars":
        import polars

        return polars.DataFrame(x, schema=names), size
    if kind == "pyarrow":
        import pyarrow

        return pyarrow.table({name: x[:, place].copy() for place, name in enumerate(names)}), size
    if kind.endswith("f32"):
        x = x.astype(np.float32)
    return np.asarray(x, order=kind.split()[1]), x.nbytes


def peak():
    """The most memory that this process has had, in bytes."""
    text = pathlib.Path("/proc/self/status").read_text()
    return 1024 * int(text.split("VmHWM:")[1].split()[0])


def fits(kind, turns):
    import gc

    import numpy as np

    import sordino

    x, size = table(kind)
    y = np.fromfile(FOLDER / "y.f64").astype(np.int64)
    model = sordino.linear_model.LogisticRegression(1.0, bounds=(-1, 1), classes=[0, 1], steps=20)
    with sordino.config_context(progress="off"):
        # Code and threads are there before memory is measured.
        model.fit(x[:1000], y[:1000])
        gc.collect()
        pathlib.Path("/proc/self/clear_refs").write_text("5")
        before = peak()
        model.fit(x, y)
        extra = peak() - before
        taken, processor = [], time.process_time()
        for _ in range(turns):
            print("waiting", flush=True)
            sys.stdin.readline()
            begun = time.perf_counter()
            model.fit(x, y)
            taken.append(time.perf_counter() - begun)
    processor = (time.process_time() - processor) / turns
    config = dict(
        rows=ROWS, columns=COLUMNS, extra_bytes=extra, input_bytes=size + y.nbytes, processor_s=processor
    )
    lines.emit(f"logistic, {ROWS} x {COLUMNS}", kind, "s", statistics.median(taken), **config)


def imports(turns):
    """`import sordino` in fresh processes, after one that warms the disk's cache up. numpy stays out."""
    program = (
        "import sys, time; begun, own = time.perf_counter(), time.process_time(); import sordino; "
        "print(time.perf_counter() - begun, time.process_time() - own); assert 'numpy' not in sys.modules"
    )
    command = [sys.executable, "-I", "-c", program]
    said = [subprocess.run(command, check=True, capture_output=True).stdout.split() for _ in range(turns + 1)]
    taken, processor = (statistics.median(map(float, column)) for column in zip(*said[1:]))
    lines.emit("import", "sordino", "s", taken, processor_s=processor)


if "--list" in sys.argv:
    print("\n".join(KINDS))
elif "--imports" in sys.argv:
    imports(int(sys.argv[sys.argv.index("--turns") + 1]))
else:
    fits(sys.argv[sys.argv.index("--one") + 1], int(sys.argv[sys.argv.index("--turns") + 1]))
