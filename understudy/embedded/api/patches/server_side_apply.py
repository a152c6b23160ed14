"""Server-side apply: an object and the configuration of one manager into the object that all its managers want.

Every manager owns the fields it applied or changed last. Applying sets the fields of a manager and gives up those it no
longer names. It changes fields of other managers only if forced.
"""

from collections.abc import Container, Iterable, Mapping
from typing import Any

from understudy.embedded.api.patches.client_side_apply import with_last_applied
from understudy.embedded.api.patches.field_sets import (
    IDENTITY,
    SYSTEM,
    UNOWNED,
    Path,
    Paths,
    Shape,
    is_key,
    owned,
    prefixes,
)
from understudy.embedded.api.patches.json_values import refuse_depth, same
from understudy.embedded.api.patches.managed_fields import (
    Owner,
    Writer,
    applier,
    conflict_error,
    owners_of,
    updater,
    with_owners,
)
from understudy.embedded.api.patches.strategic_merge import ListKeys
from understudy.embedded.schema.errors import Cause, bad_request, invalid

Document = dict[str, Any]

_MISSING = object()


class _AllPaths:
    def __contains__(self, _: object) -> bool:
        return True


FORCED: Container[Path] = _AllPaths()


def apply_configuration(
    live: Document | None, config: Any, writer: Writer, list_keys: ListKeys, may_take: Container[Path] = ()
) -> Document:
    """The object to store, with its managedFields; `live` itself where nothing changes. ApiError 409 where fields of
    others would change that are not in `may_take`. `live` is None for a new object; one without managedFields belongs
    to no manager."""
    said = _checked(config, writer)
    shape = Shape(list_keys)
    before: Document = live or {}
    refuse_depth(before)
    merged = shape.overlay(before, said)
    wanted = applier(writer, owned(shape.fields(shape.overlay({}, said))))
    owners = owners_of(before)
    former = next((owner for owner in owners if owner.identity == wanted.identity), wanted.owning(frozenset()))
    others = _without_lost(
        [owner for owner in owners if owner.identity != wanted.identity],
        _touched(shape.fields(before), shape.fields(merged)),
        may_take,
    )
    result = with_last_applied(shape.without(merged, _given_up(former, [wanted, *others])), said, writer)
    if live is not None and _nothing_new(live, result, [wanted, *others]):
        return live
    return with_owners(result, [*others, wanted])


def track_update(old: Document, new: Document, writer: Writer, list_keys: ListKeys) -> Document:
    """An ordinary write: the writer becomes the only owner of every changed field. Objects that were never applied have
    no managedFields and get none."""
    given = new.get("metadata", {}).get("managedFields")
    owners = () if _is_reset(given) else owners_of(new) or owners_of(old)
    if not owners:
        return with_owners(new, ())
    refuse_depth(new)
    shape = Shape(list_keys)
    before, after = shape.fields(old), shape.fields(new)
    touched = _touched(before, after)
    taken = updater(writer, touched & owned(after))
    own = next((owner for owner in owners if owner.identity == taken.identity), None)
    others = [owner.owning(owner.paths - touched) for owner in owners if owner is not own]
    if own is not None:
        kept = own.paths - (touched - after.keys())
        taken = taken.owning(kept | taken.paths) if taken.paths else own.owning(kept)
    return with_owners(new, [*others, taken])


def _checked(config: Any, writer: Writer) -> Document:
    """The configuration without fields that cannot be applied: many files have `creationTimestamp: null`."""
    if not isinstance(config, dict):
        raise bad_request("what is applied must be an object")
    refuse_depth(config)
    if not writer.manager:
        cause = Cause("FieldValueRequired", "Required value: is required for apply patch", "fieldManager")
        raise invalid("PatchOptions", "meta.k8s.io", "", [cause])
    metadata = config.get("metadata")
    if not isinstance(metadata, dict):
        return config
    if metadata.get("managedFields"):
        raise bad_request("metadata.managedFields must be nil")
    absent = SYSTEM | {key for key in IDENTITY if metadata.get(key) is None}
    return {**config, "metadata": {key: value for key, value in metadata.items() if key not in absent}}


def _is_reset(given: Any) -> bool:
    """A list of one empty entry resets managedFields."""
    return bool(given == [{}])


def _touched(before: Mapping[Path, Any], after: Mapping[Path, Any]) -> Paths:
    """Fields that are new, removed or changed."""
    changed = {path for path, value in after.items() if not same(before.get(path, _MISSING), value)}
    return frozenset(changed | (before.keys() - after.keys()))


def _without_lost(others: list[Owner], touched: Paths, may_take: Container[Path]) -> list[Owner]:
    """The other owners without the fields they lose."""
    lost = [(owner, path) for owner in others for path in sorted(owner.paths & touched) if path not in may_take]
    if lost:
        raise conflict_error(lost)
    return [owner.owning(owner.paths - touched) for owner in others]


def _given_up(former: Owner, owners: list[Owner]) -> set[Path]:
    """The fields that the manager owned before and that have no owner now. An object or list is removed with its last
    part, and the key of an item only together with the item."""
    still = prefixes(path for owner in owners for path in owner.paths) | UNOWNED
    led_through = {path for path in prefixes(former.paths) if path[-1].startswith("f:")}
    return {path for path in (led_through | former.paths) - still if not is_key(path)}


def _nothing_new(live: Document, result: Document, owners: list[Owner]) -> bool:
    return _holdings(owners_of(live)) == _holdings(owners) and same(with_owners(live, ()), with_owners(result, ()))


def _holdings(owners: Iterable[Owner]) -> dict[tuple[str, ...], Paths]:
    return {owner.identity: owner.paths for owner in owners if owner.paths}
