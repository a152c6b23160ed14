"""Types of Kubernetes inside custom resources: a schema may say `x-understudy-type: PodSpec` where upstream definitions
repeat the thousands of lines of it. Turns the struct of such a type into the tree that objects are held against.

Unknown fields and wrong types are found at every depth. Values are judged when the pods are made.
"""

from functools import lru_cache

import msgspec
from msgspec import inspect

from understudy.embedded.schema.custom.tree import Limits, Node
from understudy.embedded.schema.jobs import JobSpec
from understudy.embedded.schema.pods import PodSpec

CORE_TYPES: dict[str, type[msgspec.Struct]] = {"JobSpec": JobSpec, "PodSpec": PodSpec}


@lru_cache
def core_type(name: str) -> Node:
    """Built once: the kinds that have it share it."""
    return _node(inspect.type_info(CORE_TYPES[name]))


def _node(kind: inspect.Type) -> Node:
    match kind:
        case inspect.Metadata(type=inner):
            return _node(inner)
        case inspect.StructType(fields=fields):
            below = {field.encode_name: _node(field.type) for field in fields}
            return Node("object", properties=below, required=tuple(f.encode_name for f in fields if f.required))
        case inspect.ListType(item_type=item, min_length=least):
            return Node("array", items=_node(item), limits=Limits(min_size=least) if least else None)
        case inspect.DictType(value_type=item):
            return Node("object", additional=_node(item))
        case inspect.UnionType():
            return Node(int_or_string=True)
        case inspect.IntType():
            return Node("integer")
        case inspect.BoolType():
            return Node("boolean")
        case inspect.StrType() | inspect.LiteralType():
            return Node("string")
    return Node(preserve=True)  # a quantity, which may be a number too
