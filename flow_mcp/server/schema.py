"""From a closed pydantic model to the small input schema that a client is shown.

Hosts put every schema before the model at each turn, and some resolve no references, so the schema is inlined and
bare: no `$ref`, no generated titles, no `null` arms, nothing open.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

_Node = dict[str, Any]


def input_schema(model: type[BaseModel]) -> _Node:
    """Return the JSON schema of a request model, inlined and closed.

    A field that may be null is shown as an optional field of its other type. A class's docstring is for its
    readers: only the description of a field is shown.

    Raises:
        ValueError: the model is open somewhere, refers to itself, or demands a field that may be null.
    """
    root = model.model_json_schema()
    definitions: Mapping[str, _Node] = root.pop("$defs", {})
    root.pop("description", None)
    return _Inliner(definitions).small(root, ())


class _Inliner:
    """Rewrites one schema; `around` names the definitions that are being inlined, to notice a circle."""

    def __init__(self, definitions: Mapping[str, _Node]) -> None:
        self._definitions = definitions

    def small(self, node: _Node, around: tuple[str, ...]) -> _Node:
        if "$ref" in node:
            return self._inlined(node, around)
        arms = [arm for arm in [*node.get("anyOf", ()), *node.get("oneOf", ())] if arm != {"type": "null"}]
        bare = {key: value for key, value in node.items() if key not in _NOISE}
        if bare.get("default") in (None, []):
            bare.pop("default", None)
        if len(arms) == 1:
            return {**self.small(arms[0], around), **bare}
        if arms:
            return {**bare, "anyOf": [self.small(arm, around) for arm in arms]}
        return self._leaf(bare, around)

    def _inlined(self, node: _Node, around: tuple[str, ...]) -> _Node:
        name = str(node["$ref"]).removeprefix("#/$defs/")
        if name in around:
            message = f"{name} refers to itself, so it has no finite schema."
            raise ValueError(message)
        target = {key: value for key, value in self._definitions[name].items() if key != "description"}
        beside = {key: value for key, value in node.items() if key != "$ref"}
        return self.small({**target, **beside}, (*around, name))

    def _leaf(self, bare: _Node, around: tuple[str, ...]) -> _Node:
        if "const" in bare:
            bare["enum"] = [bare.pop("const")]
        if isinstance(bare.get("items"), dict):
            bare["items"] = self.small(bare["items"], around)
        if bare.get("type") == "object":
            return self._object(bare, around)
        return bare

    def _object(self, bare: _Node, around: tuple[str, ...]) -> _Node:
        if bare.get("additionalProperties") is not False:
            message = f"An object is open: {bare}. Give its model extra='forbid'."
            raise ValueError(message)
        properties: dict[str, _Node] = bare.get("properties", {})
        for name in bare.get("required", ()):
            if {"type": "null"} in properties[name].get("anyOf", ()):
                message = f"The field {name} may be null and is required. Give it the default None."
                raise ValueError(message)
        small = {name: self.small(value, around) for name, value in properties.items()}
        return {**bare, "properties": small}


_NOISE = frozenset({"title", "discriminator", "anyOf", "oneOf"})
