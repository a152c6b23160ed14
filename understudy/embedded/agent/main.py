"""The agent of one cluster, from its folder to its end."""

import asyncio
import logging
import sys

from understudy.client import Config, connect
from understudy.embedded.agent.agent import Agent, raise_file_limit, stop_on_signals
from understudy.embedded.folders import ClusterFolder
from understudy.embedded.precedence import TELL_AFTER

_ROLE = "agent"
_SWITCH = 0.0002  # seconds the loop waits for a thread that searches or clears up, whenever it has waited for a file


async def main(folder: ClusterFolder) -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    raise_file_limit()
    sys.setswitchinterval(_SWITCH)
    stopped = asyncio.Event()
    stop_on_signals(stopped)
    async with connect(folder.way_in(_ROLE)) as cluster:
        token = Config.from_kubeconfig(folder.kubeconfig).token
        agent = Agent(folder, cluster, cluster.config.server, token)
        agent.tell_after = TELL_AFTER
        await agent.run(stopped)
