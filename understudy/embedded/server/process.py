"""The server process: opens the store, listens with TLS, and stops cleanly on a signal."""

import asyncio
import contextlib
import ctypes
import errno
import gc
import logging
import signal
import socket
import sys
from collections.abc import Callable, Iterator

import msgspec
import uvicorn

from understudy.embedded.api.builtin_resources import BUILTIN
from understudy.embedded.api.served_resources import ServedResources
from understudy.embedded.cluster_folder import ClusterFolder
from understudy.embedded.process_log import log_to_stderr
from understudy.embedded.server.application import Application
from understudy.embedded.server.authentication.authenticator import TokenFile
from understudy.embedded.server.bootstrap_objects import create_bootstrap_objects
from understudy.embedded.server.http.connection import GuardedProtocol
from understudy.embedded.server.registry.custom_resources import CustomResources
from understudy.embedded.server.registry.state import ServerState
from understudy.embedded.store.records import StoreUnusable, WriteFailed
from understudy.embedded.store.store import Store

SHUTDOWN_SECONDS = 2
# A Go client closes an idle connection after 90 seconds. The client should close it, not the server: a request that is
# sent while the server closes would be lost.
KEEP_ALIVE_SECONDS = 120
LARGEST_MESSAGE = 4 * 1024 * 1024
_BACKLOG = 1024
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of mallopt
log = logging.getLogger(__name__)


class PortTaken(Exception):
    """Another program listens on the port of the cluster."""


class Settings(msgspec.Struct, frozen=True):
    """What the server needs of the cluster's settings."""

    address: str
    port: int


def run(folder: ClusterFolder) -> None:
    """Until SIGTERM or SIGINT."""
    log_to_stderr("%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("uvicorn").setLevel(logging.ERROR)
    _keep_memory()
    _allow_many_connections()
    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(_serve_until_signal(folder))
    except PortTaken as taken:  # not an error of the server: the supervisor reports it, and chooses another port
        log.info("%s", taken)
        sys.exit(1)
    except (OSError, StoreUnusable, WriteFailed) as problem:
        log.error("the server cannot start: %s", problem)
        sys.exit(1)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    if sys.platform == "win32":
        return None
    import uvloop

    return uvloop.new_event_loop


async def _serve_until_signal(folder: ClusterFolder) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    await serve(folder, stop, _on_ready)


def _keep_memory() -> None:
    """Keeps glibc from returning the megabytes a list is built in to the kernel: fetching the pages again takes most of
    the time of a list. Other C libraries have no such settings."""
    with contextlib.suppress(OSError, AttributeError):
        library = ctypes.CDLL(None)
        library.mallopt(_M_MMAP_THRESHOLD, 32 << 20)
        library.mallopt(_M_TRIM_THRESHOLD, 64 << 20)


def _allow_many_connections() -> None:
    """Each connection is an open file, and the default limit is 1024 on most systems."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _on_ready(settings: Settings) -> None:
    """The loaded objects stay for good and few others are in cycles, so the garbage collector runs seldom."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 50, 50)
    log.info("ready on %s port %d", settings.address, settings.port)


async def serve(folder: ClusterFolder, stop: asyncio.Event, on_ready: Callable[[Settings], None]) -> None:
    """Serves until `stop` is set. Every connection made after `on_ready` is answered."""
    settings = msgspec.json.decode(folder.settings.read_bytes(), type=Settings)
    with listening(settings) as listener:
        store = Store.open(folder.database)
        try:
            state = ServerState(store, ServedResources(BUILTIN), TokenFile.read(folder.tokens), folder)
            await create_bootstrap_objects(state, settings.port)
            async with CustomResources.following(state):
                on_ready(settings)
                state.warm_up()
                await _serve(state, listener, stop)
        finally:
            await store.close()


async def _serve(state: ServerState, listener: socket.socket, stop: asyncio.Event) -> None:
    server = _Server(_config(state), state)
    stopping = asyncio.ensure_future(stop.wait())
    stopping.add_done_callback(lambda _: server.stop())
    try:
        await server.serve(sockets=[listener])
    finally:
        stopping.cancel()


class _Server(uvicorn.Server):
    """We handle the signals, so that the store is closed before the process ends. Watches end first."""

    def __init__(self, config: uvicorn.Config, state: ServerState) -> None:
        super().__init__(config)
        self._state = state

    def stop(self) -> None:
        self.should_exit = True

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._state.close()
        await super().shutdown(sockets)


def _config(state: ServerState) -> uvicorn.Config:
    folder = state.folder
    return uvicorn.Config(
        Application(state),
        http=GuardedProtocol,
        ws="wsproto",
        ws_max_size=LARGEST_MESSAGE,
        ws_per_message_deflate=False,
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        ssl_certfile=folder.certificate,
        ssl_keyfile=folder.private_key,
    )


@contextlib.contextmanager
def listening(settings: Settings) -> Iterator[socket.socket]:
    """The port is bound before the store is opened, so that two servers never share a port."""
    family = socket.AF_INET6 if ":" in settings.address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((settings.address, settings.port))
            listener.listen(_BACKLOG)
        except OSError as problem:
            if problem.errno != errno.EADDRINUSE:
                raise
            raise PortTaken(f"port {settings.port} is taken by another program") from problem
        yield listener
