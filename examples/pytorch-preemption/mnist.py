"""Learns to read digits on every worker of a PyTorchJob at once, each on its own share of them.

Digits are 5 x 7 dots with some noise, made here. After every batch the workers add up their gradients: with
torch.distributed where torch is installed, else over plain sockets through rank 0. Both need only what a PyTorchJob
gives its pods: MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE.
"""

import argparse
import json
import math
import os
import random
import socket
import time

RANK, WORLD = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
MASTER = (os.environ.get("MASTER_ADDR", "localhost"), int(os.environ.get("MASTER_PORT", "23456")))
DIGITS = (
    "01110100011001110101110011000101110", "00100011000010000100001000010001110", "01110100010000100010001000100011111",
    "11111000100010000010000011000101110", "00010001100101010010111110001000010", "11111100001111000001000011000101110",
    "00110010001000011110100011000101110", "11111000010001000100010000100001000", "01110100011000101110100011000101110",
    "01110100011000101111000010001001100",
)  # fmt: skip
DOTS, BATCH, BATCHES, RATE = 36, 20, 10, 0.3
EPOCH = 1.0  # seconds it takes at least: so small a task would be done before a user has looked at it


def joined(backend):
    """Waits for all ranks, and returns a function that adds up the numbers of all ranks."""
    try:
        import torch
        import torch.distributed as group
    except ImportError:
        return through_sockets()
    group.init_process_group(backend)

    def add_up(numbers):
        tensor = torch.tensor(numbers, dtype=torch.float64)
        group.all_reduce(tensor)
        return tensor.tolist()

    return add_up


def through_sockets():
    if RANK == 0:
        with socket.create_server(("0.0.0.0", MASTER[1])) as server:
            peers = [server.accept()[0].makefile("rw") for _ in range(WORLD - 1)]
    else:
        peers = [reached_master().makefile("rw")]

    def add_up(numbers):
        if RANK == 0:
            total = [sum(column) for column in zip(numbers, *(heard(peer) for peer in peers), strict=True)]
            for peer in peers:
                say(peer, total)
            return total
        say(peers[0], numbers)
        return heard(peers[0])

    return add_up


def reached_master():
    while True:
        try:
            return socket.create_connection(MASTER)
        except OSError:
            time.sleep(0.1)


def say(peer, numbers):
    peer.write(json.dumps(numbers) + "\n")
    peer.flush()


def heard(peer):
    line = peer.readline()
    if not line:
        raise SystemExit("a worker has left")
    return json.loads(line)


def drawn(chance):
    """A digit and its dots, one in twenty of them wrong, and one more that is always there."""
    digit = chance.randrange(10)
    dots = [float((dot == "1") != (chance.random() < 0.05)) for dot in DIGITS[digit]]
    return digit, [*dots, 1.0]


def guesses(weights, dots):
    scores = [math.exp(sum(w * d for w, d in zip(weights[n * DOTS :], dots, strict=False))) for n in range(10)]
    return [score / sum(scores) for score in scores]


def gradient(weights, chance):
    found, loss = [0.0] * len(weights), 0.0
    for _ in range(BATCH):
        digit, dots = drawn(chance)
        guessed = guesses(weights, dots)
        loss -= math.log(guessed[digit])
        for n in range(10):
            error = guessed[n] - (n == digit)
            for at, dot in enumerate(dots):
                found[n * DOTS + at] += error * dot
    return [*found, loss]


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--backend", default="gloo")
    options.add_argument("--epochs", type=int, default=10)
    given = options.parse_args()
    add_up = joined(given.backend)
    chance, weights = random.Random(RANK), [0.0] * (10 * DOTS)
    for epoch in range(1, given.epochs + 1):
        began = time.monotonic()
        for _ in range(BATCHES):
            *slope, loss = add_up(gradient(weights, chance))
            weights = [w - RATE * s / (BATCH * WORLD) for w, s in zip(weights, slope, strict=True)]
        print(f"rank {RANK} of {WORLD}: epoch {epoch}, loss {loss / (BATCH * WORLD):.4f}", flush=True)
        time.sleep(max(0.0, began + EPOCH - time.monotonic()))


main()
