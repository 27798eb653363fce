"""Encoders of transformers whose pooler is in the model and in no loss."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from distlint.analysis.model import place_of, related
from distlint.analysis.program.definitions import Class, Function
from distlint.analysis.program.syntax import own_nodes
from distlint.analysis.questions.layers import followed_parts, made_always
from distlint.findings import Applicability, Fix, Place, Related
from distlint.knowledge.wrappers import WITH_POOLER
from distlint.nodes import walk
from distlint.patterns import pattern
from distlint.records import dataclass

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.live.program import LiveProgram

_TOKENS: Final = frozenset({"last_hidden_state", "hidden_states", "attentions"})
"""Fields of an encoder's output that do not come from its pooler."""
_AUTO: Final = "transformers.AutoModel"
_SENTENCES: Final = frozenset(
    {
        "sentence_transformers.SentenceTransformer",
        "sentence_transformers.SentenceTransformerTrainer",
    }
)
_NAMED: Final = pattern(r"(?:[\w-]+/)?(?:bert|roberta|xlm-roberta|mpnet)-(?:base|large)[\w-]*")
"""Checkpoints of which `AutoModel` makes a class with a pooler."""


@dataclass(frozen=True, slots=True, eq=False)
class Pooled:
    """An encoder, where a class makes it, and a use of its output that leaves the pooler out."""

    cls: Class
    node: ast.Assign
    used: ast.expr


def unused_poolers(live: LiveProgram, root: Class) -> Iterator[Pooled]:
    """The encoders in a model of which it reads the states of the tokens alone.

    transformers 5.23.0 models/bert/modeling_bert.py:597: `add_pooling_layer=True`.

    Args:
        live: the program.
        root: the class of the model.
    """
    for cls, family in followed_parts(live, root):
        for statement in made_always(live, cls):
            target = statement.targets[0]
            assert isinstance(target, ast.Attribute)
            if len(cls.self_assigned.get(target.attr, ())) != 1:
                continue
            if _has_pooler(live, cls, statement.value):
                used = _tokens_alone(family, target.attr)
                if used is not None:
                    yield Pooled(cls, statement, used)


def _has_pooler(live: LiveProgram, cls: Class, made: ast.expr) -> bool:
    match made:
        case ast.Call(func=ast.Attribute(attr="from_pretrained", value=of)):
            meaning = live.resolve(cls.module, of)
        case ast.Call(func=of):
            meaning = live.resolve(cls.module, of)
        case _:
            return False
    if any(k.arg in ("add_pooling_layer", None) for k in made.keywords):
        return False
    if meaning == _AUTO and made.args:
        name = made.args[0]
        return (
            isinstance(name, ast.Constant)
            and isinstance(name.value, str)
            and _NAMED.fullmatch(name.value) is not None
        )
    return meaning in WITH_POOLER


def _tokens_alone(family: list[Class], name: str) -> ast.expr | None:
    """A use of an encoder, where each is a call of which the states of the tokens alone are read."""
    first: ast.expr | None = None
    for cls in family:
        for method in cls.methods.values():
            reads = [
                node
                for node in walk(method.node, ast.Attribute)
                if node.attr == name
                and isinstance(node.value, ast.Name)
                and node.value.id == "self"
                and isinstance(node.ctx, ast.Load)
            ]
            of_configuration = {
                id(node.value) for node in walk(method.node, ast.Attribute) if node.attr == "config"
            }
            for read in reads:
                if id(read) in of_configuration:
                    continue
                used = _of_tokens(method, read)
                if used is None:
                    return None
                first = first or used
    return first


def _of_tokens(function: Function, read: ast.Attribute) -> ast.expr | None:
    """What is read of the output where a function calls an encoder, if it is the states of the tokens alone."""
    nodes = own_nodes(function)
    call = next((n for n in nodes if isinstance(n, ast.Call) and n.func is read), None)
    if call is None:
        return None  # `self.bert.embeddings(ids)`, `other(self.bert)`
    outputs: list[ast.expr] = [call]
    for node in nodes:
        if isinstance(node, ast.Assign) and node.value is call:
            if not isinstance(node.targets[0], ast.Name) or len(node.targets) != 1:
                return None
            names = [n for n in nodes if isinstance(n, ast.Name) and n.id == node.targets[0].id]
            stored = [n for n in names if isinstance(n.ctx, ast.Store)]
            if len(stored) != 1:
                return None
            outputs = [n for n in names if isinstance(n.ctx, ast.Load)]
    found = [_field(nodes, output) for output in outputs]
    return found[0] if found and None not in found else None


def _field(nodes: Sequence[ast.AST], output: ast.expr) -> ast.expr | None:
    """The expression that reads the states of the tokens from an output."""
    for node in nodes:
        match node:
            case ast.Attribute(attr=attr, value=value) if value is output and attr in _TOKENS:
                return node
            case ast.Subscript(value=value, slice=ast.Constant(value=key)) if value is output:
                return node if key == 0 or key in _TOKENS else None
    return None


def unsearched_sentences(live: LiveProgram) -> Iterator[tuple[Function, ast.keyword]]:
    """Where the arguments of a SentenceTransformer's training tell DDP to look for no unused parameters.

    Its first module is an `AutoModel`, with the pooler of BERT, RoBERTa, MPNet or XLM-RoBERTa, and its second takes a mean
    of the tokens. autotrain-advanced b5c98fb src/autotrain/trainers/sent_transformers/__main__.py:143.
    """
    for module in live.modules:
        if "ddp_find_unused_parameters" not in module.source.text:
            continue
        for function in module.all_functions:
            nodes = own_nodes(function)
            called = [n for n in nodes if isinstance(n, ast.Call)]
            made = {live.resolve(module, call.func) for call in called}
            if not made & _SENTENCES or any(
                isinstance(n, ast.Constant) and n.value == "add_pooling_layer" for n in nodes
            ):
                continue  # `model_kwargs={"add_pooling_layer": False}`
            for call in called:
                for keyword in call.keywords:
                    match keyword:
                        case ast.keyword(
                            arg="ddp_find_unused_parameters", value=ast.Constant(value=False)
                        ):
                            yield function, keyword


Told = tuple[str, Place, tuple[Related, ...], Fix]
"""What a finding says: its message, place, related places and fix."""


def told_of_pooler(wrap: CallSite, pooled: Pooled) -> Told:
    """What to say of a model that leaves the pooler of its encoder out."""
    advice = "Make it with `add_pooling_layer=False`, or give DDP `find_unused_parameters=True`"
    return (
        "The pooler of this encoder gets no gradient, as only the states of its tokens are used; DDP waits for it, "
        f"and the next forward raises. {advice}.",
        place_of(pooled.cls.module, pooled.node),
        (
            related(wrap.module, wrap.node, "DDP waits for every parameter"),
            related(pooled.cls.module, pooled.used, "this is all that is used"),
        ),
        Fix(Applicability.DISPLAY, advice),
    )


def told_of_sentences(function: Function, keyword: ast.keyword) -> Told:
    """What to say of the arguments with which a SentenceTransformer is trained."""
    advice = "Leave `ddp_find_unused_parameters` out: the Trainer then searches for them"
    return (
        "The pooler that BERT, RoBERTa and MPNet have gets no gradient in a mean over the tokens; on several processes "
        f"DDP waits for it, and the second step raises. {advice}.",
        place_of(function.module, keyword),
        (),
        Fix(Applicability.DISPLAY, advice),
    )


__all__ = ["told_of_pooler", "told_of_sentences", "unsearched_sentences", "unused_poolers"]
