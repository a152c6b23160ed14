"""Kinds that mostly hold data, as kubectl prints them: config maps, secrets, service accounts, namespaces, leases,
priority classes, disruption budgets, quotas, role bindings, definitions."""

from typing import Any

from msgspec import field

from understudy.embedded.api.tables.human_duration import age
from understudy.embedded.api.tables.printer import AGE, NAME, MetaFields, PrintedFields, Printer, Row, wide
from understudy.embedded.schema.served_resource import Column


class NamedFields(PrintedFields, frozen=True):
    metadata: MetaFields = MetaFields()


class ConfigMapFields(PrintedFields, frozen=True):
    metadata: MetaFields = MetaFields()
    data: dict[str, Any] = field(default_factory=dict)
    binary_data: dict[str, Any] = field(default_factory=dict)


class SecretFields(PrintedFields, frozen=True):
    metadata: MetaFields = MetaFields()
    type: str = ""
    data: dict[str, Any] = field(default_factory=dict)


class ServiceAccountFields(PrintedFields, frozen=True):
    metadata: MetaFields = MetaFields()
    secrets: tuple[Any, ...] = ()


class NamespaceStatusFields(PrintedFields, frozen=True):
    phase: str = ""


class NamespaceFields(PrintedFields, frozen=True):
    metadata: MetaFields = MetaFields()
    status: NamespaceStatusFields = NamespaceStatusFields()


class LeaseSpecFields(PrintedFields, frozen=True):
    holder_identity: str = ""


class LeaseFields(PrintedFields, frozen=True):
    metadata: MetaFields = MetaFields()
    spec: LeaseSpecFields = LeaseSpecFields()


class PriorityClassFields(PrintedFields, frozen=True):
    metadata: MetaFields = MetaFields()
    value: int = 0
    global_default: bool = False
    preemption_policy: str = ""


class QuotaStatusFields(PrintedFields, frozen=True):
    hard: dict[str, str] = field(default_factory=dict)
    used: dict[str, str] = field(default_factory=dict)


class QuotaFields(PrintedFields, frozen=True):
    metadata: MetaFields = MetaFields()
    status: QuotaStatusFields = QuotaStatusFields()


class BudgetSpecFields(PrintedFields, frozen=True):
    min_available: int | str | None = None
    max_unavailable: int | str | None = None


class BudgetStatusFields(PrintedFields, frozen=True):
    disruptions_allowed: int = 0


class BudgetFields(PrintedFields, frozen=True):
    metadata: MetaFields = MetaFields()
    spec: BudgetSpecFields = BudgetSpecFields()
    status: BudgetStatusFields = BudgetStatusFields()


class SubjectFields(PrintedFields, frozen=True):
    kind: str = ""
    name: str = ""
    namespace: str = ""


class RoleRefFields(PrintedFields, frozen=True):
    kind: str = ""
    name: str = ""


class BindingFields(PrintedFields, frozen=True):
    metadata: MetaFields = MetaFields()
    role_ref: RoleRefFields = RoleRefFields()
    subjects: tuple[SubjectFields, ...] = ()


def _config_map(one: ConfigMapFields, now: float) -> Row:
    return Row([one.metadata.name, len(one.data) + len(one.binary_data), age(one.metadata.creation_timestamp, now)])


def _secret(one: SecretFields, now: float) -> Row:
    return Row([one.metadata.name, one.type, len(one.data), age(one.metadata.creation_timestamp, now)])


def _service_account(one: ServiceAccountFields, now: float) -> Row:
    return Row([one.metadata.name, len(one.secrets), age(one.metadata.creation_timestamp, now)])


def _namespace(one: NamespaceFields, now: float) -> Row:
    return Row([one.metadata.name, one.status.phase, age(one.metadata.creation_timestamp, now)])


def _lease(one: LeaseFields, now: float) -> Row:
    return Row([one.metadata.name, one.spec.holder_identity, age(one.metadata.creation_timestamp, now)])


def _priority_class(one: PriorityClassFields, now: float) -> Row:
    created = age(one.metadata.creation_timestamp, now)
    return Row([one.metadata.name, one.value, one.global_default, created, one.preemption_policy])


def _budget(one: BudgetFields, now: float) -> Row:
    limits = ("N/A" if limit is None else str(limit) for limit in (one.spec.min_available, one.spec.max_unavailable))
    created = age(one.metadata.creation_timestamp, now)
    return Row([one.metadata.name, *limits, one.status.disruptions_allowed, created])


def _binding(one: BindingFields, now: float) -> Row:
    role, created = f"{one.role_ref.kind}/{one.role_ref.name}", age(one.metadata.creation_timestamp, now)
    users, groups = (
        ", ".join(subject.name for subject in one.subjects if subject.kind == kind) for kind in ("User", "Group")
    )
    accounts = [f"{subject.namespace}/{subject.name}" for subject in one.subjects if subject.kind == "ServiceAccount"]
    return Row([one.metadata.name, role, created, users, groups, ", ".join(accounts)])


def _named(one: NamedFields, _now: float) -> Row:
    return Row([one.metadata.name, one.metadata.creation_timestamp])


_DATA = Column("Data", "integer", description="How many keys it has.")
_CREATED = Column("Created At", "date", description="When it was created.")


def _quota(one: QuotaFields, now: float) -> Row:
    used = one.status.used
    shown = {name: f"{name}: {used.get(name, '0')}/{hard}" for name, hard in sorted(one.status.hard.items())}
    requests = ", ".join(text for name, text in shown.items() if not name.startswith("limits."))
    limits = ", ".join(text for name, text in shown.items() if name.startswith("limits."))
    return Row([one.metadata.name, requests, limits, age(one.metadata.creation_timestamp, now)])


CONFIG_MAPS = Printer((NAME, _DATA, AGE), ConfigMapFields, _config_map)
SECRETS = Printer((NAME, Column("Type", description="What the secret is for."), _DATA, AGE), SecretFields, _secret)
SERVICE_ACCOUNTS = Printer(
    (NAME, Column("Secrets", "integer", description="How many secrets it may use."), AGE),
    ServiceAccountFields,
    _service_account,
)
NAMESPACES = Printer(
    (NAME, Column("Status", description="Whether it takes new objects."), AGE), NamespaceFields, _namespace
)
LEASES = Printer((NAME, Column("Holder", description="Who holds it."), AGE), LeaseFields, _lease)
PRIORITY_CLASSES = Printer(
    (
        NAME,
        Column("Value", "integer", description="The higher, the more important."),
        Column("Global-Default", "boolean", description="Whether it goes to pods that name none."),
        AGE,
        Column("PreemptionPolicy", description="Whether its pods may take others' places."),
    ),
    PriorityClassFields,
    _priority_class,
)
BUDGETS = Printer(
    (
        NAME,
        Column("Min Available", description="Pods that must stay."),
        Column("Max Unavailable", description="Pods that may be missing."),
        Column("Allowed Disruptions", "integer", description="Pods that may be evicted now."),
        AGE,
    ),
    BudgetFields,
    _budget,
)
QUOTAS = Printer(
    (
        NAME,
        Column("Request", description="What is used, and what may be used, of all but limits."),
        Column("Limit", description="The same of limits."),
        AGE,
    ),
    QuotaFields,
    _quota,
)
BINDINGS = Printer(
    (
        NAME,
        Column("Role", description="The role that is granted."),
        AGE,
        wide("Users", "Users it is granted to."),
        wide("Groups", "Groups it is granted to."),
        wide("ServiceAccounts", "Service accounts it is granted to."),
    ),
    BindingFields,
    _binding,
)
ANYTHING = Printer((NAME, _CREATED), NamedFields, _named)
