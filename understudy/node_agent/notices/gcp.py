"""Google Cloud: two values of the metadata server into announcements. The server answers when a value changes."""

from functools import partial
from urllib.parse import quote

from understudy.node_agent.notices.announcements import Announcement, Announcements, Endpoint, Source

SPOT_NOTICE = 30.0  # seconds between preemption and power-off, unless the VM asks for 120
MAINTENANCE_NOTICE = 3600.0  # seconds for VMs with accelerators, and only such are terminated for maintenance
_HEADERS = (("Metadata-Flavor", "Google"),)
_INSTANCE = "/computeMetadata/v1/instance"


def parse_preempted(notice: float, body: bytes) -> Announcements:
    match _word(body):
        case "TRUE":
            return (Announcement("preempted", within=notice),)
        case "FALSE":
            return ()
        case other:
            raise ValueError(f"{other[:40]!r} is neither TRUE nor FALSE")


def parse_maintenance_event(body: bytes) -> Announcements:
    match _word(body):
        case "TERMINATE_ON_HOST_MAINTENANCE":
            return (Announcement("TERMINATE_ON_HOST_MAINTENANCE", within=MAINTENANCE_NOTICE),)
        case "NONE" | "MIGRATE_ON_HOST_MAINTENANCE":  # a machine that migrates goes on running
            return ()
        case other:
            raise ValueError(f"{other[:40]!r} is no maintenance event")


def _word(body: bytes) -> str:
    return body.decode("ascii", "replace").strip()


def _waiting(path: str, etag: str, wait: float) -> str:
    return f"{path}?wait_for_change=true&timeout_sec={wait:g}&last_etag={quote(etag, safe='')}"


def gcp(spot_notice: float = SPOT_NOTICE) -> Source:
    preempted, maintenance = f"{_INSTANCE}/preempted", f"{_INSTANCE}/maintenance-event"
    return Source(
        name="gcp",
        address="http://169.254.169.254",
        endpoints=(
            Endpoint(preempted, partial(parse_preempted, spot_notice), _HEADERS, waiting=partial(_waiting, preempted)),
            Endpoint(maintenance, parse_maintenance_event, _HEADERS, waiting=partial(_waiting, maintenance)),
        ),
    )
