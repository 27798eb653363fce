"""YAML with the place of every key and value. No object is built: only text, numbers, lists, mappings.

The values are made from the parser's events: PyYAML's own composer calls itself for each level, in C, and a
file of 200,000 brackets ends the process.
"""

from __future__ import annotations

from typing import Any

from distlint.launch.tree import MAX_DEPTH, MAX_VALUES, Keys, Spans, Unreadable


def read_yaml(text: str) -> tuple[Any, Spans]:
    """The value of `text`, which holds one document, and where its keys and values stand.

    Raises Unreadable.
    """
    import yaml  # 15 ms that a project without such files saves

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        reader = _Reader(yaml, yaml.parse(text, Loader=loader))
        return reader.document(), reader.spans
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise Unreadable(f"not YAML: {error.problem}", mark.index if mark else 0) from None
    except (yaml.YAMLError, ValueError) as error:
        raise Unreadable(f"not YAML: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise Unreadable("nested too deeply for a configuration") from None


class _Reader:
    """Makes values of events. An alias counts as much as what it names: a few lines may mean millions."""

    def __init__(self, yaml: Any, events: Any) -> None:
        self._yaml = yaml
        self._events = events
        self._scalars = yaml.SafeLoader("")
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._count = 0
        self.spans: Spans = {}

    def document(self) -> Any:
        for event in self._events:
            if isinstance(event, self._yaml.DocumentStartEvent):
                break
        else:
            return None
        value, _, _ = self._value(next(self._events), (), 0)
        next(self._events)  # the document's end
        if not isinstance(next(self._events), self._yaml.StreamEndEvent):
            raise Unreadable("several documents in one file")
        return value

    def _value(self, event: Any, keys: Keys, depth: int) -> tuple[Any, int, int]:
        """The value that begins with `event`, and the offsets of its start and end."""
        start, before = event.start_mark.index, self._count
        self._count += 1
        if isinstance(event, self._yaml.AliasEvent):
            value, size = self._anchors.get(event.anchor, (None, MAX_VALUES))
            self._count += size
        if depth > MAX_DEPTH or self._count > MAX_VALUES:
            raise Unreadable("nested too deeply, or too long, for a configuration", start)
        end = event.end_mark.index
        if isinstance(event, self._yaml.MappingStartEvent):
            value, end = self._mapping(keys, depth)
        elif isinstance(event, self._yaml.SequenceStartEvent):
            value, end = self._list(keys, depth)
        elif isinstance(event, self._yaml.ScalarEvent):
            value = self._scalar(event)
        if event.anchor and not isinstance(event, self._yaml.AliasEvent):
            self._anchors[event.anchor] = (value, self._count - before)
        return value, start, end

    def _list(self, keys: Keys, depth: int) -> tuple[list[Any], int]:
        values: list[Any] = []
        while not isinstance(event := next(self._events), self._yaml.SequenceEndEvent):
            values.append(self._value(event, (*keys, ""), depth + 1)[0])
        return values, event.end_mark.index

    def _mapping(self, keys: Keys, depth: int) -> tuple[dict[str, Any], int]:
        values: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        while not isinstance(event := next(self._events), self._yaml.MappingEndEvent):
            if not isinstance(event, self._yaml.ScalarEvent):
                raise Unreadable("a key that is no text", event.start_mark.index)
            key = str(event.value)
            path = (*keys, key)
            value, start, end = self._value(next(self._events), path, depth + 1)
            if key == "<<":
                for part in value if isinstance(value, list) else [value]:
                    merged = {**part, **merged} if isinstance(part, dict) else merged
                continue
            self.spans[path] = (event.start_mark.index, event.end_mark.index, start, end)
            values[key] = value
        return {**merged, **values}, event.end_mark.index

    def _scalar(self, event: Any) -> Any:
        text = str(event.value)
        tag = event.tag or self._scalars.resolve(self._yaml.ScalarNode, text, event.implicit)
        node = self._yaml.ScalarNode(tag, text)
        try:
            match str(tag).removeprefix("tag:yaml.org,2002:"):
                case "int":
                    return self._scalars.construct_yaml_int(node)
                case "float":
                    return self._scalars.construct_yaml_float(node)
                case "bool":
                    return self._scalars.construct_yaml_bool(node)
                case "null":
                    return None
        except (ValueError, KeyError):
            return text
        return text
