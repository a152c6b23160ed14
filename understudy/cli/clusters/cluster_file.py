"""Reads the file that says which nodes a cluster has. An unknown field is an error."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from understudy.cli.errors import BadInput, suggestion
from understudy.cli.input.documents import Text, load_text, mappings
from understudy.embedded.cluster_folder import ADMIN_ACCESS, OWN_ACCESS, PYTHON_SCOPES
from understudy.embedded.clusters.pools import SPOT_CLOUDS, Notices, Pool, Spot, Taint, Topology

RUNTIMES = ("process", "docker", "podman")
_WORDS = {"int": "a whole number", "float": "a number", "str": "text", "array": "a list", "object": "a mapping",
          "bool": "true or false"}  # fmt: skip
_CHOICES_ARE = {"runtime": "the runtimes are", "podAccess": "it is one of", "pythonEnv": "it is one of"}
_TYPES = re.compile(r"`([^`]+)`")
_MISSING = re.compile(r"Object missing required field `([^`]+)`")
_CHOICES = {"spot": (True, False, *SPOT_CLOUDS), "spare": (True, False, "keep")}


class ClusterFile(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    pools: tuple[Pool, ...]
    name: str = ""
    runtime: str = ""
    pod_access: str = ""
    python_env: str = ""


def read(path: str) -> ClusterFile:
    found = mappings(Text(path, load_text(path)))
    if len(found) != 1:
        raise BadInput(f"{path}: {len(found)} documents; a cluster file is one, with the key pools")
    document = found[0]
    if "apiVersion" in document:
        raise BadInput(f"{path}: these are Kubernetes objects; a cluster file has the key pools and a list under it")
    _known_keys(path, "", document, ClusterFile)
    if "pools" not in document:
        raise BadInput(f"{path}: pools: missing; give at least one, such as `pools: [{{name: node, count: 3}}]`")
    _check_pools(path, document["pools"])
    try:
        cluster = msgspec.convert(document, ClusterFile)
    except msgspec.ValidationError as error:
        raise BadInput(f"{path}: {_placed(str(error))}") from None
    for key, given, choices in (
        ("runtime", cluster.runtime, RUNTIMES),
        ("podAccess", cluster.pod_access, (OWN_ACCESS, ADMIN_ACCESS)),
        ("pythonEnv", cluster.python_env, PYTHON_SCOPES),
    ):
        if given and given not in choices:
            raise BadInput(f"{path}: {key}: {suggestion(given, choices, _CHOICES_ARE[key])}")
    return cluster


def _check_pools(path: str, pools: object) -> None:
    """Refuses unknown keys of pools by the name of the field, before conversion to structs gives less clear errors."""
    for index, pool in enumerate(pools if isinstance(pools, list) else []):
        if not isinstance(pool, dict):
            raise BadInput(f"{path}: pools[{index}]: expected a mapping with a name, such as {{name: node, count: 3}}")
        place = f"pools[{index}]."
        _known_keys(path, place, pool, Pool)
        for field, struct in (("topology", Topology), ("taints", Taint), ("spot", Spot), ("notices", Notices)):
            given = pool.get(field)
            for entry in given if isinstance(given, list) else [given]:
                if isinstance(entry, dict):
                    _known_keys(path, f"{place}{field}.", entry, struct)
        if isinstance(spot := pool.get("spot"), dict):
            _check_spot(f"{path}: {place}spot", spot)
        for field, choices in _CHOICES.items():
            if field in pool and pool[field] not in choices and not (field == "spot" and isinstance(spot, dict)):
                offered = ", ".join(str(choice).lower() for choice in choices)
                raise BadInput(f"{path}: {place}{field}: {pool[field]!r} is none of {offered}")
        _check_mapping(path, f"{place}labels", pool.get("labels"), str, "text; write it in quotes")
        _check_mapping(path, f"{place}accelerators", pool.get("accelerators"), int, "a whole number")


def _check_spot(place: str, spot: Mapping[str, Any]) -> None:
    offered = ", ".join(SPOT_CLOUDS)
    if "cloud" not in spot:
        raise BadInput(f"{place}.cloud: missing; it is one of {offered}")
    if spot["cloud"] not in SPOT_CLOUDS:
        raise BadInput(f"{place}.cloud: {spot['cloud']!r} is none of {offered}")


def _check_mapping(path: str, place: str, given: object, kind: type, wanted: str) -> None:
    for key, value in given.items() if isinstance(given, dict) else ():
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            shown = msgspec.json.encode(value).decode()
            raise BadInput(f"{path}: {place}.{key}: expected {wanted}, got {shown}")


def _known_keys(path: str, prefix: str, values: Mapping[str, Any], struct: type[msgspec.Struct]) -> None:
    known = [field.encode_name for field in msgspec.structs.fields(struct)]
    for key in values:
        if key not in known:
            raise BadInput(f"{path}: {prefix}{key}: no such field; {suggestion(str(key), known, 'there are')}")


def _placed(problem: str) -> str:
    """msgspec's `Expected X, got Y - at `$.a`` as `a: expected X, got Y`, in words for people."""
    what, _, where = problem.partition(" - at ")
    field = where.strip("`").removeprefix("$").removeprefix(".")
    if missing := _MISSING.fullmatch(what):
        return f"{field}.{missing[1]}: missing; every one needs it"
    return f"{field or 'the file'}: {_TYPES.sub(_in_words, what[:1].lower() + what[1:])}"


def _in_words(types: re.Match[str]) -> str:
    return " or ".join(_WORDS.get(name, name) for name in types[1].split(" | ") if name != "null")
