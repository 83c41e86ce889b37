"""Training steps of PyTorch (not private), Opacus and JAX (private) on networks of four shapes.

    networks.py [--quick] [--all] [MODEL:BATCH ...]      all contestants, one after the other
    networks.py [--quick] --turns N --one SYSTEM MODEL:BATCH    one of them, which waits for a line of input before each of N blocks
    networks.py [--all] --list MODEL:BATCH                their names

../src/bin/networks does work of the same names: a step is forward, backward, clip, noise, update on a batch that is already in memory. 32-bit
floats, two threads, noise from each library's default generator, which is not cryptographically secure. Each contestant has a
process of its own. `(huge pages)` is the same with transparent huge pages switched on from outside, which helps a library that allocates large
arrays at each step.
"""

import os
import resource
import statistics
import subprocess
import sys
import time

import lines

QUICK, ALL = "--quick" in sys.argv, "--all" in sys.argv
THREADS = 2
RATE, CLIP_NORM, NOISE = 0.05, 1.0, 1.1
# A figure is the median over this many blocks of this many seconds.
BLOCKS, SECONDS = (3, 0.1) if QUICK else (7, 0.5)
# With turns, blocks are shorter, and a contestant whose step takes longer than a second has fewer of them.
TURN_SECONDS, LONG_TURNS = min(SECONDS, 0.2), 5
HUGE = " (huge pages)"

# (kind, ...): conv inputs outputs kernel stride padding; max, avg kernel stride; linear inputs outputs
MODELS = {
    "mnist-cnn": ((1, 28, 28), [
        ("conv", 1, 16, 8, 2, 3), ("relu",), ("max", 2, 1), ("conv", 16, 32, 4, 2, 0), ("relu",), ("max", 2, 1),
        ("flatten",), ("linear", 512, 32), ("relu",), ("linear", 32, 10)]),
    "mlp": ((784,), [
        ("linear", 784, 1024), ("relu",), ("linear", 1024, 1024), ("relu",), ("linear", 1024, 10)]),
    "softmax": ((4096,), [("linear", 4096, 10)]),
    "cifar-cnn": ((3, 32, 32), [
        ("conv", 3, 32, 3, 1, 1), ("relu",), ("avg", 2, 2), ("conv", 32, 64, 3, 1, 1), ("relu",), ("avg", 2, 2),
        ("conv", 64, 128, 3, 1, 1), ("relu",), ("avg", 2, 2),
        ("flatten",), ("linear", 2048, 128), ("relu",), ("linear", 128, 10)]),
}
WORK = ["mnist-cnn:256", "mnist-cnn:2048", "mlp:256", "mlp:2048", "softmax:2048", "cifar-cnn:256"]
SYSTEMS = ["torch", "opacus hooks", "opacus ghost", "opacus ghost" + HUGE, "jax vmap", "jax-privacy"]
# Only with --all: these are never the fastest of their library.
SLOWER = ["opacus hooks" + HUGE, "opacus functorch", "opacus ew", "jax-privacy whole batch"]


def is_hopeless(system, work):
    """Whether a contestant would form per-example gradients that are too large: 1.9 GB for the MLP at 256 (a hundred times slower than ghost
    norms), 15 GB at 2048."""
    forms_gradients = system.startswith(("jax", "opacus")) and "ghost" not in system
    return forms_gradients and (work == "mlp:2048" or work == "mlp:256" and system != "jax vmap" and not ALL)


def torch_step(shape, layers, batch, mode):
    """One step of PyTorch, or of Opacus in a mode."""
    import torch
    from torch import nn

    torch.set_num_threads(THREADS)
    torch.manual_seed(0)
    kinds = {"conv": nn.Conv2d, "max": nn.MaxPool2d, "avg": nn.AvgPool2d, "linear": nn.Linear, "relu": nn.ReLU,
             "flatten": nn.Flatten}
    model = nn.Sequential(*(kinds[kind](*numbers) for kind, *numbers in layers))
    parameters = sum(p.numel() for p in model.parameters())
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    loss = nn.CrossEntropyLoss()
    x, y = torch.randn(batch, *shape), torch.randint(0, 10, (batch,))
    if mode is not None:
        from opacus import PrivacyEngine

        data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=batch)
        made = PrivacyEngine().make_private(
            module=model, optimizer=optimizer, criterion=loss, data_loader=data, noise_multiplier=NOISE,
            max_grad_norm=CLIP_NORM, poisson_sampling=False, grad_sample_mode=mode)
        model, optimizer = made[:2]
        if mode == "ghost":
            loss = made[2]

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss(model(x), y).backward()
        optimizer.step()

    return step, parameters


def jax_forward(layers):
    """The network as a function of its weights and a batch with channels last, which suits XLA."""
    import jax
    from jax import lax, numpy as jnp

    def window(kernel, stride):
        return (1, kernel, kernel, 1), (1, stride, stride, 1), "VALID"

    def forward(weights, h):
        weights = iter(weights)
        for kind, *numbers in layers:
            if kind == "conv":
                (w, b), (_, _, _, stride, padding) = next(weights), numbers
                h = b + lax.conv_general_dilated(
                    h, w, (stride, stride), [(padding, padding)] * 2, dimension_numbers=("NHWC", "HWIO", "NHWC"))
            elif kind == "linear":
                w, b = next(weights)
                h = h @ w + b
            elif kind == "relu":
                h = jax.nn.relu(h)
            elif kind == "max":
                h = lax.reduce_window(h, -jnp.inf, lax.max, *window(*numbers))
            elif kind == "avg":
                h = lax.reduce_window(h, 0.0, lax.add, *window(*numbers)) / numbers[0] ** 2
            else:
                h = h.reshape(h.shape[0], -1)
        return h

    return forward


def jax_step(shape, layers, batch, system):
    """One private step in JAX: by hand (vmap of grad), or by JAX-Privacy."""
    import jax
    from jax import numpy as jnp

    key_x, key_y, key_noise, *keys = jax.random.split(jax.random.key(0), 3 + len(layers))
    weights = []
    for key, (kind, *numbers) in zip(keys, layers):
        if kind in ("conv", "linear"):
            inputs, outputs, *kernel = numbers[:3]
            depth = inputs * (kernel[0] ** 2 if kernel else 1)
            form = (kernel[0], kernel[0], inputs, outputs) if kernel else (inputs, outputs)
            weights.append((jax.random.normal(key, form) / depth**0.5, jnp.zeros(outputs)))
    forward = jax_forward(layers)
    x = jax.random.normal(key_x, (batch, *shape[1:], *shape[:1]) if len(shape) == 3 else (batch, *shape))
    y = jax.random.randint(key_y, (batch,), 0, 10)

    def loss(weights, x, y):
        return -jnp.take_along_axis(jax.nn.log_softmax(forward(weights, x)), y[:, None], 1).mean()

    def moved(weights, gradient):
        return jax.tree.map(lambda w, g: w - RATE * g, weights, gradient)

    if system == "jax vmap":
        state = key_noise

        def update(weights, key, x, y):
            each = jax.vmap(jax.grad(loss), (None, 0, 0))(weights, x[:, None], y[:, None])
            leaves, tree = jax.tree.flatten(each)
            squared = sum(jnp.sum(g * g, axis=tuple(range(1, g.ndim))) for g in leaves)
            factor = jnp.minimum(1.0, CLIP_NORM / jnp.maximum(jnp.sqrt(squared), 1e-12))
            key, *keys = jax.random.split(key, len(leaves) + 1)
            noisy = [(jnp.tensordot(factor, g, axes=1) + NOISE * CLIP_NORM * jax.random.normal(k, g.shape[1:])) / batch
                     for g, k in zip(leaves, keys)]
            return moved(weights, jax.tree.unflatten(tree, noisy)), key
    else:
        import jax_privacy

        # The default, nan_safe, is up to twenty times slower on CPUs; parts of 32 are faster than the whole batch.
        parts = None if system.endswith("whole batch") else min(32, batch)
        clipped = jax_privacy.clipped_grad(
            loss, l2_clip_norm=CLIP_NORM, batch_argnums=(1, 2), normalize_by=batch, microbatch_size=parts, nan_safe=False)
        noise = jax_privacy.noise_addition.gaussian_privatizer(
            stddev=NOISE * clipped.sensitivity(), prng_key=key_noise)
        state = noise.init(weights)

        def update(weights, state, x, y):
            gradient, state = noise.update(clipped(weights, x, y), state)
            return moved(weights, gradient), state

    update = jax.jit(update)
    at = [weights, state]

    def step():
        at[:] = update(*at, x, y)
        jax.block_until_ready(at[0])

    return step, sum(leaf.size for leaf in jax.tree.leaves(weights))


def steady(step, turns):
    """Measures `step` in blocks, after a second of warm-up. With turns, waits before each block. Returns the median seconds of one call and the
    number of blocks."""
    begun, calls = time.perf_counter(), 0
    while calls < 2 or time.perf_counter() - begun < 2 * SECONDS:
        step()
        calls += 1
    start = time.perf_counter()
    step()
    one = time.perf_counter() - start
    count = max(1, int((TURN_SECONDS if turns else SECONDS) / one))
    taken, blocks = [], min(turns, LONG_TURNS if one > 1 else turns) or BLOCKS
    for _ in range(blocks):
        if turns:
            print("waiting", flush=True)
            sys.stdin.readline()
            # After a wait the caches are cold, so the first steps are not counted. (Steps of seconds are not affected.)
            for _ in range(-(-count // 8) if one <= 1 else 0):
                step()
        start = time.perf_counter()
        for _ in range(count):
            step()
        taken.append((time.perf_counter() - start) / count)
    return statistics.median(taken), blocks


def run(system, work, turns):
    """Measures one contestant on one piece of work in this process."""
    model, batch = work.split(":")
    shape, layers = MODELS[model]
    if system.startswith("jax"):
        step, parameters = jax_step(shape, layers, int(batch), system)
    else:
        mode = None if system == "torch" else system.removesuffix(HUGE).split()[1]
        step, parameters = torch_step(shape, layers, int(batch), mode)
    taken, blocks = steady(step, turns)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    lines.emit(work, system, "s", taken, batch=int(batch), parameters=parameters, blocks=blocks, peak_bytes=peak,
               threads=THREADS)


def contestants(work):
    return [system for system in SYSTEMS + (SLOWER if ALL else []) if not is_hopeless(system, work)]


def alone(system, work, turns=0):
    """The command and the environment that start a contestant in a process of its own, on two processors."""
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    environment = dict(os.environ, JAX_PLATFORMS="cpu", CUDA_VISIBLE_DEVICES="", **{name: str(THREADS) for name in names})
    if system.endswith(HUGE):
        environment.update(GLIBC_TUNABLES="glibc.malloc.hugetlb=1", THP_MEM_ALLOC_ENABLE="1")
    quick = ["--quick"] if QUICK else []
    return [sys.executable, "-W", "ignore", sys.argv[0], *quick, "--here", str(turns), system, work], environment


def after(option):
    return sys.argv[sys.argv.index(option) + 1:]


if "--list" in sys.argv:
    print(*contestants(*after("--list")), sep="\n")
elif "--turns" in sys.argv:
    words, environment = alone(*after("--one"), int(after("--turns")[0]))
    os.execve(words[0], words, environment)
elif "--here" in sys.argv:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:THREADS])
    count, system, work = after("--here")
    run(system, work, int(count))
else:
    for work in [word for word in sys.argv[1:] if ":" in word] or WORK:
        for system in contestants(work):
            words, environment = alone(system, work)
            subprocess.run(words, check=True, env=environment)
