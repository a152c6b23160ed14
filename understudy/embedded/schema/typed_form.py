"""The form of a built-in kind: JSON is decoded straight into its struct, or diagnosed if that fails; then the rules of
the kind are applied."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, Generic, TypeVar, cast

import msgspec
from msgspec import UNSET, inspect

from understudy.embedded.schema.causes import MAX_CAUSES
from understudy.embedded.schema.decoding_errors import Diagnosis, UnknownField, diagnose, without_metadata
from understudy.embedded.schema.errors import ApiError, Cause, bad_request, invalid
from understudy.embedded.schema.served_resource import DecodedObject, Draft, Lookup, Strictness
from understudy.embedded.schema.types.meta import KubeObject
from understudy.embedded.schema.types.values import decode_hook
from understudy.embedded.schema.validation import metadata, names
from understudy.embedded.schema.validation.names import NameRule
from understudy.objects.resources import Resource

T = TypeVar("T", bound=KubeObject)

UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def _untouched(*_: Any) -> None: ...


def _nothing(*_: Any) -> tuple[Cause, ...]:
    return ()


class KindRules(msgspec.Struct, Generic[T], frozen=True):
    """The rules of one kind. `begin` sets what a new object gets from the cluster, `inherit` what an update (new, old)
    keeps, `complete` the defaults that depend on other fields; `check` finds what is wrong with an object, `changed`
    what an update (new, old) must not change."""

    named: NameRule = names.subdomain
    begin: Callable[[T, Lookup], None] = _untouched
    inherit: Callable[[T, T], None] = _untouched
    complete: Callable[[T], None] = _untouched
    check: Callable[[T], Iterable[Cause]] = _nothing
    changed: Callable[[T, T], Iterable[Cause]] = _nothing
    counted: bool = False  # has a metadata.generation
    nulls_matter: bool = False  # somewhere in it a null is a value


class TypedForm(Generic[T]):
    """Implements Form for a struct."""

    def __init__(
        self, resource: Resource, struct: type[T], rules: KindRules[T], other_versions: tuple[str, ...] = ()
    ) -> None:
        self.resource = resource
        self.struct = struct
        self.rules = rules
        self._versions = {resource.api_version, *(f"{resource.group}/{version}" for version in other_versions)}
        self._decode = msgspec.json.Decoder(struct, dec_hook=decode_hook).decode
        self._has_status = "status" in struct.__struct_fields__
        self._content = tuple(
            name for name in struct.__struct_fields__ if name not in ("api_version", "kind", "metadata", "status")
        )

    @cached_property
    def list_keys(self) -> Mapping[str, tuple[str, ...]]:
        return list_keys(self.struct)

    def read(self, body: bytes, strictness: Strictness) -> DecodedObject:
        try:
            draft = self._decode(body)
        except UNREADABLE:
            return self.convert(parsed(body, self.resource.kind), strictness)
        return DecodedObject(self._of_this_kind(draft))

    def convert(self, document: Mapping[str, Any], strictness: Strictness) -> DecodedObject:
        try:
            draft = msgspec.convert(document, self.struct, dec_hook=decode_hook)
        except (msgspec.ValidationError, RecursionError):
            return self._convert_anyhow(document, strictness)
        return DecodedObject(self._of_this_kind(draft))

    def load(self, body: bytes) -> Draft:
        try:
            return self._decode(body)
        except UNREADABLE:  # written by another release
            return self.convert(parsed(body, self.resource.kind), Strictness.IGNORE).draft

    def admit_create(self, draft: Draft, lookup: Lookup) -> None:
        new = cast(T, draft)
        new.metadata.generation = 1 if self.rules.counted else UNSET
        new.metadata.self_link = UNSET
        new.metadata.deletion_timestamp = new.metadata.deletion_grace_period_seconds = UNSET
        self.rules.complete(new)
        self.rules.begin(new, lookup)
        self._refuse(new, [*metadata.check(new.metadata, self.rules.named), *first_causes(self.rules.check(new))])

    def admit_update(self, draft: Draft, old: Draft, sub: str, lookup: Lookup) -> None:  # noqa: ARG002
        new, before = cast(T, draft), cast(T, old)
        metadata.carry(new.metadata, before.metadata)
        found = list(metadata.check(new.metadata, self.rules.named))
        if sub == "status":
            new.metadata.owner_references = before.metadata.owner_references
            self._take_over(new, before, self._content)
        elif sub == "":
            self._take_over(new, before, ("status",) if self._has_status else ())
            self.rules.inherit(new, before)
            self.rules.complete(new)
            if not self._same(new, before):
                found += [*first_causes(self.rules.check(new)), *first_causes(self.rules.changed(new, before))]
        self._refuse(new, found)
        if self.rules.counted and not self._same(new, before):
            new.metadata.generation = (before.metadata.generation or 0) + 1

    def _same(self, new: T, old: T) -> bool:
        return all(getattr(new, name) == getattr(old, name) for name in self._content)

    def _take_over(self, new: T, old: T, fields: Iterable[str]) -> None:
        for name in fields:
            setattr(new, name, getattr(old, name))

    def _refuse(self, new: T, found: list[Cause]) -> None:
        if found:
            name = new.metadata.name or new.metadata.generate_name or ""
            raise invalid(self.resource.kind, self.resource.group, name, found[:MAX_CAUSES])

    def _of_this_kind(self, draft: T) -> T:
        self._check_kind(draft.kind, draft.api_version)
        draft.kind, draft.api_version = self.resource.kind, self.resource.api_version
        return draft

    def _check_kind(self, kind: Any, api_version: Any) -> None:
        """An object may leave out its kind and apiVersion: the path of the request gives them."""
        if (kind and kind != self.resource.kind) or (api_version and str(api_version) not in self._versions):
            raise wrong_kind(str(kind or self.resource.kind), str(api_version or ""), self.resource)

    def _convert_anyhow(self, document: Mapping[str, Any], strictness: Strictness) -> DecodedObject:
        """The most common reason to be here is a null, such as the creationTimestamp that Go clients send."""
        try:
            if not self.rules.nulls_matter:
                draft = msgspec.convert(without_nulls(document), self.struct, dec_hook=decode_hook)
                return DecodedObject(self._of_this_kind(draft))
        except (msgspec.ValidationError, RecursionError):
            pass
        return self._convert_slowly(document, strictness)

    def _convert_slowly(self, document: Mapping[str, Any], strictness: Strictness) -> DecodedObject:
        self._check_kind(document.get("kind"), document.get("apiVersion"))
        try:
            found = diagnose(self.struct, document)
            refuse_unreadable(found, self.resource, document, strictness)
            draft = msgspec.convert(found.cleaned, self.struct, dec_hook=decode_hook)
        except msgspec.ValidationError as error:
            raise unreadable(self.resource, str(error)) from error
        except RecursionError:
            raise unreadable(self.resource, TOO_DEEP) from None
        return DecodedObject(self._of_this_kind(draft), warnings_of(found, strictness))


def first_causes(found: Iterable[Cause]) -> Iterator[Cause]:
    return itertools.islice(found, MAX_CAUSES)


TOO_DEEP = "the document is nested too deeply"


def without_nulls(value: Any) -> Any:
    match value:
        case dict():
            return {key: without_nulls(item) for key, item in value.items() if item is not None}
        case list():
            return [without_nulls(item) for item in value if item is not None]
    return value


def parsed(body: bytes, kind: str) -> dict[str, Any]:
    """Raises a 400 for anything but a JSON object."""
    unrecognized = f"the object provided is unrecognized (must be of type {kind}): couldn't get version/kind"
    try:
        document = msgspec.json.decode(body)
    except RecursionError:
        raise bad_request(f"{unrecognized}; json parse error: {TOO_DEEP}") from None
    except UNREADABLE as error:
        raise bad_request(f"{unrecognized}; json parse error: {error}") from error
    if not isinstance(document, dict):
        raise bad_request(f"{unrecognized}; json parse error: expected an object, got {type(document).__name__}")
    return document


def unreadable(resource: Resource, why: str) -> ApiError:
    return bad_request(f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}: {why}')


def wrong_kind(kind: str, api_version: str, resource: Resource) -> ApiError:
    if kind != resource.kind:
        version = api_version.rpartition("/")[2]
        return bad_request(
            f'{kind} in version "{version}" cannot be handled as a {resource.kind}: '
            f"this path takes objects of kind {resource.kind}"
        )
    return bad_request(
        f"the API version in the data ({api_version}) does not match the expected API version ({resource.api_version})"
    )


def refuse_unreadable(
    found: Diagnosis, resource: Resource, document: Mapping[str, Any], strictness: Strictness
) -> None:
    """Kubernetes' order: what has the wrong type, then what is unknown, then what has the wrong value."""
    if found.ill_typed:
        raise unreadable(resource, ", ".join(found.ill_typed[:MAX_CAUSES]))
    if found.unknown and strictness is Strictness.STRICT:
        raise unreadable(resource, f"strict decoding error: {in_words(found.unknown)}")
    if found.wrong:
        about = document.get("metadata")
        name = about.get("name") or about.get("generateName") if isinstance(about, dict) else ""
        raise invalid(resource.kind, resource.group, name if isinstance(name, str) else "", found.wrong[:MAX_CAUSES])


def in_words(unknown: Iterable[UnknownField]) -> str:
    listed = list(unknown)
    guesses = [one.meant for one in listed if one.meant]
    hint = f"; did you mean {', '.join(guesses)}?" if guesses else ""
    return ", ".join(map(str, listed)) + hint


def warnings_of(found: Diagnosis, strictness: Strictness) -> tuple[str, ...]:
    return tuple(in_words([one]) for one in found.unknown) if strictness is Strictness.WARN else ()


def list_keys(struct: type[msgspec.Struct]) -> dict[str, tuple[str, ...]]:
    """The paths of lists that are merged item by item, with the key fields of their items."""
    found: dict[str, tuple[str, ...]] = {}
    _collect(inspect.type_info(struct), "", found, ())
    return found


def _collect(kind: inspect.Type, path: str, found: dict[str, tuple[str, ...]], above: tuple[type, ...]) -> None:
    if isinstance(kind, inspect.Metadata) and kind.extra and "keys" in kind.extra:
        found[path] = kind.extra["keys"]
    match without_metadata(kind):
        case inspect.StructType(cls=cls, fields=fields) if cls not in above:
            for field in fields:
                _collect(field.type, f"{path}.{field.encode_name}".lstrip("."), found, (*above, cls))
        case inspect.ListType(item_type=item):
            _collect(item, path, found, above)
