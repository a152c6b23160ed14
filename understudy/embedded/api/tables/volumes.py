"""PersistentVolumeClaims and PersistentVolumes as kubectl prints them."""

from msgspec import field

from understudy.embedded.api.tables.human_duration import age
from understudy.embedded.api.tables.printer import AGE, NAME, MetaFields, PrintedFields, Printer, Row, wide
from understudy.embedded.schema.served_resource import Column

_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
_UNSET = "<unset>"
_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}


class ClaimSpecFields(PrintedFields, frozen=True):
    volume_name: str = ""
    storage_class_name: str = ""
    volume_attributes_class_name: str = ""
    volume_mode: str = ""


class ClaimStatusFields(PrintedFields, frozen=True):
    phase: str = ""
    access_modes: tuple[str, ...] = ()
    capacity: dict[str, str] = field(default_factory=dict)


class ClaimFields(PrintedFields, frozen=True):
    metadata: MetaFields = MetaFields()
    spec: ClaimSpecFields = ClaimSpecFields()
    status: ClaimStatusFields = ClaimStatusFields()


class ClaimRefFields(PrintedFields, frozen=True):
    namespace: str = ""
    name: str = ""


class VolumeSpecFields(PrintedFields, frozen=True):
    capacity: dict[str, str] = field(default_factory=dict)
    access_modes: tuple[str, ...] = ()
    persistent_volume_reclaim_policy: str = ""
    claim_ref: ClaimRefFields | None = None
    storage_class_name: str = ""
    volume_attributes_class_name: str = ""
    volume_mode: str = ""


class VolumeStatusFields(PrintedFields, frozen=True):
    phase: str = ""
    reason: str = ""


class VolumeFields(PrintedFields, frozen=True):
    metadata: MetaFields = MetaFields()
    spec: VolumeSpecFields = VolumeSpecFields()
    status: VolumeStatusFields = VolumeStatusFields()


_STATUS = Column("Status", description="Whether it is bound.")
_CAPACITY = Column("Capacity", description="How much it holds.")
_ACCESS = Column("Access Modes", description="Who may mount it, and how.")
_CLASS = Column("StorageClass", description="Class of storage.")
_ATTRIBUTES = Column("VolumeAttributesClass", description="Class of attributes.")
_MODE = wide("VolumeMode", "Folder or block device.")

_CLAIM_COLUMNS = (
    NAME,
    _STATUS,
    Column("Volume", description="Volume it is bound to."),
    _CAPACITY,
    _ACCESS,
    _CLASS,
    _ATTRIBUTES,
    AGE,
    _MODE,
)
_VOLUME_COLUMNS = (
    NAME,
    _CAPACITY,
    _ACCESS,
    Column("Reclaim Policy", description="What becomes of it once it is released."),
    _STATUS,
    Column("Claim", description="Claim it is bound to."),
    _CLASS,
    _ATTRIBUTES,
    Column("Reason", description="Why it is in this status."),
    AGE,
    _MODE,
)


def _claim_row(claim: ClaimFields, now: float) -> Row:
    meta, spec, status = claim.metadata, claim.spec, claim.status
    return Row(
        [
            meta.name,
            "Terminating" if meta.deletion_timestamp else status.phase,
            spec.volume_name,
            status.capacity.get("storage", "0") if spec.volume_name else "",
            _modes(status.access_modes) if spec.volume_name else "",
            meta.annotations.get(_CLASS_ANNOTATION, spec.storage_class_name),
            spec.volume_attributes_class_name or _UNSET,
            age(meta.creation_timestamp, now),
            spec.volume_mode or _UNSET,
        ]
    )


def _volume_row(volume: VolumeFields, now: float) -> Row:
    meta, spec = volume.metadata, volume.spec
    return Row(
        [
            meta.name,
            spec.capacity.get("storage", "0"),
            _modes(spec.access_modes),
            spec.persistent_volume_reclaim_policy,
            "Terminating" if meta.deletion_timestamp else volume.status.phase,
            f"{spec.claim_ref.namespace}/{spec.claim_ref.name}" if spec.claim_ref else "",
            meta.annotations.get(_CLASS_ANNOTATION, spec.storage_class_name),
            spec.volume_attributes_class_name or _UNSET,
            volume.status.reason,
            age(meta.creation_timestamp, now),
            spec.volume_mode or _UNSET,
        ]
    )


def _modes(given: tuple[str, ...]) -> str:
    """In Kubernetes' own order, whatever the order they were given in."""
    return ",".join(short for mode, short in _MODES.items() if mode in given)


CLAIMS = Printer(_CLAIM_COLUMNS, ClaimFields, _claim_row)
VOLUMES = Printer(_VOLUME_COLUMNS, VolumeFields, _volume_row)
