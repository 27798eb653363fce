"""The commands of the containers that manifests of Kubernetes start, and what each pod is given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from distlint.findings import Place
from distlint.launch.shell import Command, Word, commands_of
from distlint.launch.tree import MAX_DEPTH
from distlint.records import dataclass

_SHELLS: Final = frozenset({"bash", "sh"})
_REPLICATED: Final = frozenset({"StatefulSet", "Deployment", "ReplicaSet"})
"""What has `spec.replicas` pods of one template: Kubernetes 1.31 API reference, apps/v1."""
_OF_OPERATOR: Final = ("PET_NNODES", "PET_NPROC_PER_NODE", "PET_NODE_RANK", "PET_RDZV_ENDPOINT")
"""What Kubeflow's operator sets for torchrun in the pods of a PyTorchJob, so that its command need not say it."""
_GPUS: Final = "nvidia.com/gpu"


@dataclass(frozen=True, slots=True)
class Pod:
    """The commands of a container, and what is said of its pod, by the names that Slurm has for it."""

    commands: list[Command]
    given: dict[str, Word]


def pods_of(path: str, text: str) -> Iterator[Pod]:
    """The containers of a manifest, one document after another; nothing of what is not YAML, or a template for others.

    ranking-reward-alignment 106d50f kubernetes/fsdp.yaml:119: `torchrun --nnodes=8`, in a StatefulSet with `replicas: 2`.
    """
    import yaml

    try:
        documents = list(yaml.compose_all(text, Loader=yaml.SafeLoader))
    except (yaml.YAMLError, ValueError, RecursionError):
        return
    for document in documents:
        top = _fields(document)
        kind = _text(top.get("kind"))
        spec = _fields(top.get("spec"))
        given = _number(path, spec.get("replicas")) if kind in _REPLICATED else None
        nodes = {"nodes": given} if given is not None else {}
        operated = kind is not None and kind.endswith("Job") and kind != "Job"
        for pod in _pods(document, 0, set()):
            for container in _items(_fields(pod).get("containers")):
                fields = _fields(container)
                commands = list(_commands(path, text, fields))
                gpus = _fields(_fields(fields.get("resources")).get("limits")).get(_GPUS)
                limit = _number(path, gpus)
                environment = dict(_environment(path, fields))
                if operated:
                    unknown = Word(None, _place(path, container))
                    environment = {**dict.fromkeys(_OF_OPERATOR, unknown), **environment}
                yield Pod(
                    [
                        replace(each, environment={**environment, **each.environment})
                        for each in commands
                    ],
                    {**nodes, **({"gpus_per_node": limit} if limit is not None else {})},
                )


def _pods(node: Any, depth: int, seen: set[int]) -> Iterator[Any]:
    """The mappings with containers, in the order in which they stand; what an alias names, once."""
    if depth > MAX_DEPTH or id(node) in seen:
        return
    seen.add(id(node))
    fields = _fields(node)
    if "containers" in fields:
        yield node
    for inner in fields.values() if fields else _items(node):
        yield from _pods(inner, depth + 1, seen)


def _fields(node: Any) -> Mapping[str, Any]:
    """The values of a mapping by their keys; nothing of what is none."""
    if getattr(node, "id", "") != "mapping":
        return {}
    return {str(key.value): value for key, value in node.value}


def _items(node: Any) -> list[Any]:
    return list(node.value) if getattr(node, "id", "") == "sequence" else []


def _text(node: Any) -> str | None:
    return str(node.value) if getattr(node, "id", "") == "scalar" else None


def _number(path: str, node: Any) -> Word | None:
    """A number that is written out."""
    text = _text(node)
    return Word(text, _place(path, node)) if text is not None and text.isdecimal() else None


def _place(path: str, node: Any) -> Place:
    start, end = node.start_mark, node.end_mark
    return Place(path, start.line + 1, start.column, end.line + 1, end.column)


def _environment(path: str, container: Mapping[str, Any]) -> Iterator[tuple[str, Word]]:
    """The variables of a container; what another object holds is not known."""
    for each in _items(container.get("env")):
        fields = _fields(each)
        name = _text(fields.get("name"))
        if name is not None:
            value = fields.get("value")
            known = _text(value)
            at = _place(path, value if value is not None else each)
            yield name, Word(None if known is None or "$" in known else known, at)


def _commands(path: str, text: str, container: Mapping[str, Any]) -> Iterator[Command]:
    """What a container starts: a shell with a script, or a program with its words."""
    nodes = [n for key in ("command", "args") for n in _items(container.get(key))]
    texts = [_text(each) for each in nodes]
    if not nodes or None in texts:
        return
    first = (texts[0] or "").rpartition("/")[2]
    if first not in _SHELLS:
        words = tuple(
            _word(path, node, each or "") for node, each in zip(nodes, texts, strict=True)
        )
        yield Command(words, line=nodes[0].start_mark.line + 1)
        return
    scripts = [
        node
        for option, node in zip(texts[1:], nodes[2:], strict=False)
        if option is not None and option.startswith("-") and option.endswith("c")
    ]
    for node in scripts[:1]:
        yield from _of_shell(path, text, node)


def _word(path: str, node: Any, text: str) -> Word:
    """A word of a command: with a `$` in it, it is filled in before anybody starts it."""
    place = _place(path, node)
    if "$" not in text:
        return Word(text, place)
    option, equals, _ = text.partition("=")
    return Word(None, place, option=option if equals and option.startswith("-") else "")


def _of_shell(path: str, text: str, node: Any) -> Iterator[Command]:
    """The commands of a script in a manifest, each word where it stands in a block (`|`), and else where the whole does."""
    if node.style != "|":
        at = _place(path, node)
        for command in commands_of(path, str(node.value), at.line):
            words = tuple(replace(each, place=at) for each in command.words)
            yield replace(command, words=words, line=at.line)
        return
    first = node.start_mark.line + 2
    lines = text.split("\n")[first - 1 :]
    indent = next((len(each) - len(each.lstrip(" ")) for each in lines if each.strip()), 0)
    for command in commands_of(path, str(node.value), first):
        words = tuple(replace(each, place=_moved(each.place, indent)) for each in command.words)
        environment = {
            name: replace(each, place=_moved(each.place, indent))
            for name, each in command.environment.items()
        }
        yield replace(command, words=words, environment=environment)


def _moved(place: Place, by: int) -> Place:
    """A place in a block of a manifest, whose lines are indented there."""
    return replace(place, column=place.column + by, end_column=place.end_column + by)
