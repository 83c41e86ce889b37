"""Logistic regression of scikit-learn (not private) and diffprivlib (objective perturbation, pure epsilon).

    linear.py --data FOLDER [--quick]

../src/bin/linear does work of the same names, and writes the files: rows of norm at most 1, the label last. Each
contestant has a process of its own, so that its peak memory is its own. All contestants use all cores.
"""

import pathlib
import resource
import subprocess
import sys
import time

import lines

QUICK = "--quick" in sys.argv
FOLDER = pathlib.Path(sys.argv[sys.argv.index("--data") + 1])
N, D = (20_000 if QUICK else 500_000), 100
EPSILON = 1.0
REPEATS = 3
SYSTEMS = ["scikit-learn", "scikit-learn f32", "diffprivlib"]


def run(system):
    import numpy as np

    kind = np.float32 if system.endswith("f32") else np.float64

    def load(part):
        table = np.load(FOLDER / f"{part}-{N}-{D}.npy", mmap_mode="r")
        return np.ascontiguousarray(table[:, :D], dtype=kind), table[:, D].astype(np.int64)

    x, y = load("train")
    if system == "diffprivlib":
        import warnings

        warnings.simplefilter("ignore")
        from diffprivlib.models import LogisticRegression

        def make():
            return LogisticRegression(epsilon=EPSILON, data_norm=1.0, C=1.0, max_iter=100)
    else:
        from sklearn.linear_model import LogisticRegression

        def make():
            return LogisticRegression(C=1.0, max_iter=100)

    model = make().fit(x, y)  # the first call imports and warms up
    taken, before = [], time.process_time()
    for _ in range(REPEATS):
        begun = time.perf_counter()
        model = make().fit(x, y)
        taken.append(time.perf_counter() - begun)
    processor = (time.process_time() - before) / REPEATS
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    # Probabilities are computed here, in double precision: diffprivlib's need other versions of scikit-learn.
    xt, yt = load("test")
    score = xt.astype(np.float64) @ model.coef_[0].astype(np.float64) + model.intercept_[0]
    loss = float(np.mean(np.logaddexp(0, -np.where(yt > 0, 1.0, -1.0) * score)))
    config = dict(accuracy=float(np.mean((score > 0) == (yt > 0))), loss=loss, processor_s=processor,
                  peak_bytes=peak, data_bytes=x.nbytes)
    if system == "diffprivlib":
        config.update(epsilon=EPSILON, delta=0.0)
    lines.emit(f"logistic, {N} x {D}", system, "s", sorted(taken)[REPEATS // 2], **config)


if "--one" in sys.argv:
    run(sys.argv[sys.argv.index("--one") + 1])
else:
    for system in SYSTEMS:
        subprocess.run([sys.executable, *sys.argv, "--one", system], check=True)
