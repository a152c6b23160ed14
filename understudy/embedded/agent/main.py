"""The agent of one cluster, from its folder to its end."""

import asyncio
import logging

from understudy.client import Config, connect
from understudy.embedded.agent.agent import Agent, raise_file_limit, stop_on_signals
from understudy.embedded.folders import ClusterFolder
from understudy.embedded.precedence import TELL_AFTER

_ROLE = "agent"


async def main(folder: ClusterFolder) -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    raise_file_limit()
    stopped = asyncio.Event()
    stop_on_signals(stopped)
    async with connect(folder.way_in(_ROLE)) as cluster:
        token = Config.from_kubeconfig(folder.kubeconfig).token
        agent = Agent(folder, cluster, cluster.config.server, token)
        agent.tell_after = TELL_AFTER
        await agent.run(stopped)
