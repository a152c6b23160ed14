"""Fits a curve with a small neural network in PyTorch's DistributedDataParallel, over as many processes as there are.

Runs as the ranks of a PyTorchJob, or below torchrun. A rank that is told to stop tells the others after the same step;
then all leave, the first one having saved. Started again, they go on as if nothing had happened.
"""

import argparse
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from understudy import train

BATCH = 64


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--steps", type=int, default=200)
    options.add_argument("--checkpoints", required=True, help="a folder that all processes see")
    options.add_argument("--pace", type=float, default=0.0, help="seconds a step takes at least")
    given = options.parse_args()

    dist.init_process_group("gloo")  # MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE are in the environment
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(1, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))
    together = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    def write(path):
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)

    def read(path):
        saved = torch.load(path)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])

    with train.Checkpoints(given.checkpoints, write, read, every_steps=50, agree=greatest) as checkpoints:
        begin = checkpoints.resume()
        say(f"{dist.get_world_size()} processes " + (f"go on from step {begin}" if begin else "begin"))
        for step in range(begin, given.steps):
            x, y = batch(step)
            loss = torch.nn.functional.mse_loss(together(x), y)
            optimizer.zero_grad()
            loss.backward()  # here the ranks share their gradients
            optimizer.step()
            time.sleep(given.pace)
            checkpoints.after(step + 1)
        say(f"done after {given.steps} steps: loss {loss.item()!r}")
    dist.destroy_process_group()


def greatest(number):
    flag = torch.tensor(number)
    dist.all_reduce(flag, op=dist.ReduceOp.MAX)
    return int(flag)


def say(words):
    if dist.get_rank() == 0:
        print(words, flush=True)


def batch(step):
    """Of all its points, those of this process. They depend on nothing but the step and the process."""
    chance = torch.Generator().manual_seed(step * dist.get_world_size() + dist.get_rank())
    x = torch.rand((BATCH // dist.get_world_size(), 1), generator=chance) * 6 - 3
    return x, torch.sin(x)


main()
