"""Fits a curve with a small neural network in JAX, over as many processes as the job has.

Each process computes the gradient of its share of every batch, and a psum gives all of them the mean. A process
that is told to stop tells the others after the same step. Then all leave, and the first one has saved. Started again,
they go on.
"""

import argparse
import functools
import os
import time
import traceback

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from understudy import train

BATCH = 64


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--steps", type=int, default=200)
    options.add_argument("--checkpoints", required=True, help="a folder that all processes see")
    options.add_argument("--pace", type=float, default=0.0, help="seconds a step takes at least")
    given = options.parse_args()

    env = os.environ  # as a JAXJob fills it
    where = f"{env['COORDINATOR_ADDRESS']}:{env['COORDINATOR_PORT']}"
    ranks = int(env["NUM_PROCESSES"]), int(env["PROCESS_ID"])
    jax.distributed.initialize(where, *ranks, heartbeat_timeout_seconds=30)
    mesh = Mesh(np.array(jax.devices()), ("data",))
    state = {"weights": first_weights(), "speed": jax.tree.map(np.zeros_like, first_weights())}

    def write(path):
        with open(path, "wb") as file:
            np.savez(file, **{f"{part}.{name}": value for part in state for name, value in state[part].items()})

    def read(path):
        with np.load(path) as saved:
            for part in state:
                state[part] = {name: saved[f"{part}.{name}"] for name in state[part]}

    with train.Checkpoints(given.checkpoints, write, read, every_steps=50, agree=greatest) as checkpoints:
        begin = checkpoints.resume()
        say(f"{jax.process_count()} processes " + (f"go on from step {begin}" if begin else "begin"))
        update = compiled(mesh)
        for step in range(begin, given.steps):
            state["weights"], state["speed"], loss = update(state["weights"], state["speed"], *batch(step, mesh))
            time.sleep(given.pace)
            checkpoints.after(step + 1)
        say(f"done after {given.steps} steps: loss {float(loss)!r}")


def greatest(number):
    return int(multihost_utils.process_allgather(np.int32(number)).max())


def say(words):
    if jax.process_index() == 0:
        print(words, flush=True)


def first_weights():
    chance = np.random.default_rng(1)
    shapes = {"in": (1, 32), "bias": (32,), "out": (32, 1)}
    return {name: chance.normal(0.0, 0.5, shape).astype(np.float32) for name, shape in shapes.items()}


def batch(step, mesh):
    """Of all its points, those of this process. They depend on nothing but the step and the process."""
    chance = np.random.default_rng([step, jax.process_index()])
    x = chance.uniform(-3.0, 3.0, (BATCH // jax.process_count(), 1)).astype(np.float32)
    shared_out = NamedSharding(mesh, P("data"))
    return [jax.make_array_from_process_local_data(shared_out, part) for part in (x, np.sin(x))]


def compiled(mesh):
    @jax.jit
    @functools.partial(jax.shard_map, mesh=mesh, in_specs=(P(), P(), P("data"), P("data")), out_specs=P())
    def update(weights, speed, x, y):
        def loss_of(weights):
            hidden = jnp.tanh(x @ weights["in"] + weights["bias"])
            share = jnp.mean((hidden @ weights["out"] - y) ** 2)
            return jax.lax.psum(share, "data") / jax.lax.psum(1, "data")

        loss, gradient = jax.value_and_grad(loss_of)(weights)
        speed = jax.tree.map(lambda old, new: 0.9 * old + new, speed, gradient)
        return jax.tree.map(lambda old, change: old - 0.01 * change, weights, speed), speed, loss

    return update


try:
    main()
except Exception:  # another process is gone, as a rule: an orderly end would wait for it
    traceback.print_exc()
    os._exit(1)
