"""Each rank makes up its own name for what all should share.

## What it does
Reports a path that several ranks create or write and into which the clock, a new identifier, the process
number or `hash()` of a text goes; and such a path given as `output_dir` to training arguments. An error where
ranks read what another one wrote (`load_best_model_at_end` of training arguments), or write the shards of one
checkpoint; else a warning; information where all ranks make a folder, and nothing shows that more than one uses it.
Information, too, where all that shows the ranks works on one process as well (a barrier, a wrapped model, an
Accelerator, a trainer or its hook, a test of the rank), nothing above makes the group, and no launch starts what leads
there on several processes: a script or page beside the code, a configuration, a number as in `Trainer(devices=2)`. A
file without any script or page beside it is no such case: nothing there could tell of a launch.

## Why it is bad
The ranks do not read the clock in the same second, and `hash()` of a text is salted in each process: they
end up with different names. Rank 0 saves in one directory, the others look for the file in another; caches
are built once per rank and never found again; the checkpoint is spread over directories.

## Example
```python
run_dir = f"runs/{datetime.now():%Y%m%d-%H%M%S}"
os.makedirs(run_dir, exist_ok=True)
```

## Use instead
```python
now = run_on_main(datetime.now, broadcast=True)
run_dir = f"runs/{now:%Y%m%d-%H%M%S}"
os.makedirs(run_dir, exist_ok=True)
```
For names made from a text: `hashlib.sha256(text.encode()).hexdigest()`.

## Fix safety
Unsafe: names change, and sending rank 0's value needs the process group. Offered only where a collective
is shown to run in the function; elsewhere the finding says what to do.

## Known limits
Information in a program that makes no process group: each process trains for itself. Names of temporary files are not reported: a file of each process's own is what they are for; nor are profiles and what a
process has measured on its device, nor files that all ranks open and into which one rank alone writes, nor what a logger makes, nor names by the number of the rank's device. Under a
launcher that sets one name for all ranks (an environment variable) nothing is wrong.

## References
- python 3.11 reference, 3.3.1: `object.__hash__`, PYTHONHASHSEED
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.interpreter.values import Value, Variance
from distlint.analysis.live.joint_entry import ranked
from distlint.analysis.live.several import has_group
from distlint.analysis.model import evidence, place_of, related
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.analysis.questions.contents import written
from distlint.analysis.questions.filesystem import goes_by_minutes, is_of_share
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.knowledge import sinks
from distlint.knowledge.schema import Effect
from distlint.nodes import last_name, walk
from distlint.patterns import pattern
from distlint.records import dataclass
from distlint.repairs import guarding
from distlint.rule import Status

from .fallback import is_never_needed
from .filled import filled_by_one

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.live.joint_entry import JointEntry
    from distlint.analysis.live.summaries import CallGroup
    from distlint.analysis.model import Model
    from distlint.analysis.questions.filesystem import FileCall

CODE = "DL304"
NAME = "per-process-name"
SEVERITY = Severity.ERROR
STATUS = Status.PREVIEW
LITERALS = ()

_OWN = frozenset({"clock", "hash", "process", "random"})
_TEMPORARY = ("tempfile.", "mkdtemp", "mkstemp", "temporary")
_FOLDER = "output_dir"
_PUTS_TOGETHER = ("load_best_model_at_end", "deepspeed", "fsdp")
"""Training arguments by which ranks look for, or add to, what the others saved: rank 0's best checkpoint, shards."""
_WRITERS = frozenset(
    f"torch.distributed.checkpoint.{name}"
    for name in ("FileSystemWriter", "filesystem.FileSystemWriter")
)
"""What writes a rank's part of a checkpoint (torch 2.13.0 torch/distributed/checkpoint/filesystem.py:1043)."""
_RENAMES = ("rename", "renames", "replace", "move")
_LOGS = pattern(r"(?:^|_)log(?:s|ging|gers?)?(?:$|_)|Log(?:ger|ging)")
"""Names of what keeps a log."""
_PROFILES = frozenset(
    {
        "key_averages",
        "export_chrome_trace",
        "export_stacks",
        "export_memory_timeline",
        "dump_stats",
        "_dump_snapshot",
    }
)
"""What gives or writes the profile of a process: torch 2.13.0 profiler/profiler.py, cuda/memory.py; cProfile."""
_MEASURES = frozenset({"elapsed_time", "max_memory_allocated", "max_memory_reserved"})
"""What measures the device of a process: torch 2.13.0 cuda/streams.py, cuda/memory.py."""
_STEPS = 4
"""So many assignments lie between what is measured and what is written."""
_SEVERITIES = {Effect.READ: SEVERITY, Effect.CREATE_DIR: Severity.INFO}
"""How bad it is: an empty folder of the other ranks is all that is left where nothing shows that they use it."""
_SHARING = (Effect.WRITE, Effect.CREATE_DIR, Effect.DOWNLOAD)


def check(model: Model) -> Iterator[Finding]:
    """Names that each rank makes up, for what ranks share."""
    seen: set[int] = set()
    folders = [_folder(model, call) for call in model.calls() if _is_given_a_folder(call.site)]
    # A clock goes into several names of a script: what is worst of it is said.
    for of_arguments in (f for f in folders if f.severity is SEVERITY):
        yield from _report(model, of_arguments, seen)
    by_some = {
        (found.function, value.key)
        for found in model.file_calls
        if found.effect is Effect.WRITE and len(found.ranks) < len(found.entered)
        for _, _, value in found.sites[:1]
        if value is not None
    }
    used = _used_by_several(model)
    for found in model.file_calls:
        value = found.sites[0][2]
        # What one rank writes for all to read (DeepSpeed-Chat data_utils.py: a cache of data sets).
        shares = found.effect in _SHARING or (
            found.effect is Effect.READ
            and value is not None
            and (found.function, value.key) in by_some
        )
        if (
            found.joint_entry is not None
            and shares
            and found.by_several
            and value is not None
            and _made_up(value)
            and not _put_in_place(found.site, found.text)
            and not filled_by_one(model, found.site)
            and not _is_for_logs(found.site)
            and not _is_a_profile(found)
            and not _is_measured(found)
            and not is_of_share(model, found)
        ):
            severity = _SEVERITIES.get(found.effect, Severity.WARNING)
            if found.effect is Effect.CREATE_DIR and _named(found) in used:
                severity = Severity.WARNING
            if not has_group(model.program, found.site.module):
                # CVIA-25-project-team-theta d953127 src/yolo/train_yolo.py:273: each task of Slurm trains a model of its own.
                severity = Severity.INFO
            made = _Name(found.site, value, found.text, found.joint_entry, severity)
            yield from _report(model, made, seen)
    for of_arguments in folders:
        yield from _report(model, of_arguments, seen)
    for call in model.calls():
        for made in _saved_together(model, call):
            yield from _report(model, made, seen)


def _used_by_several(model: Model) -> frozenset[ast.AST]:
    """What makes up the names below which several ranks write, read, or look for a file.

    To make the folder is no use, nor is what a test of the rank leaves to one: c-jscc ea5f949 ddp_train.py:243.
    """
    folders = {f.text for f in model.file_calls if f.effect is Effect.CREATE_DIR}
    used = {
        _named(found)
        for found in model.file_calls
        if found.effect is not Effect.CREATE_DIR
        and found.joint_entry is not None
        and found.by_several
    }
    for call in model.calls():
        site = call.site
        # OLMoE 357454f scripts/eval_openlm_ckpt.py:444 goes on in the folder.
        if (
            site.name in (*sinks.EXISTENCE_TESTS, "os.chdir")
            and len(call.classes) > 1
            and site.args
        ):
            looked_for = site.args[0]
            if looked_for.origin is not None and (
                site.name == "os.chdir" or ast.unparse(site.node.args[0]) not in folders
            ):
                used.add(looked_for.origin.node)
    return frozenset(node for node in used if node is not None)


def _named(found: FileCall) -> ast.AST | None:
    """What makes up the name of a file or folder."""
    value = found.sites[0][2]
    return value.origin.node if value is not None and value.origin is not None else None


def _saved_together(model: Model, call: CallGroup) -> Iterator[_Name]:
    """The path of a call by which each rank adds its part to one checkpoint: rank 0 alone writes what lists the parts.

    generative-recommenders 2e81fab generative_recommenders/dlrm_v3/checkpoint.py:94: `FileSystemWriter(path)`.
    """
    site = call.site
    if len(call.classes) < 2 or ranked(site):
        return
    for position, keyword in _parts_of_one(site):
        value, node = site.argument(position, keyword), site.argument_node(position, keyword)
        if value is not None and node is not None and _made_up(value):
            why = model.joint_entry_at(call)
            yield _Name(site, value, ast.unparse(node), why, Severity.WARNING)


def _parts_of_one(site: CallSite) -> Iterator[tuple[int | None, str]]:
    """Where a call is told the folder of a checkpoint to which all ranks add."""
    if site.name in _WRITERS:
        yield 0, "path"
    for row in site.rows:
        if row.writers == "each" and row.effect is not Effect.GUARDED_WRITE and row.path_keyword:
            yield row.path if isinstance(row.path, int) else None, row.path_keyword


@dataclass(frozen=True, slots=True)
class _Name:
    """A path of each rank's own: where it is used, what it is, and why all ranks come there."""

    site: CallSite
    value: Value
    text: str
    joint_entry: JointEntry | None
    severity: Severity


def _is_given_a_folder(site: CallSite) -> bool:
    """Whether a call makes training arguments whose `output_dir` each rank makes up."""
    value = site.keywords.get(_FOLDER)
    return (
        site.method.endswith("TrainingArguments")
        and not ranked(site)
        and value is not None
        and _made_up(value)
    )


def _folder(model: Model, call: CallGroup) -> _Name:
    site = call.site
    node = site.argument_node(None, _FOLDER)
    text = ast.unparse(node) if node is not None else _FOLDER
    why = model.joint_entry_at(call)
    severity = SEVERITY if why is not None and _is_put_together(site) else Severity.WARNING
    return _Name(site, site.keywords[_FOLDER], text, why, severity)


def _is_put_together(site: CallSite) -> bool:
    """Whether ranks read what rank 0 saved below `output_dir`, or each saves a shard of one checkpoint there.

    Else rank 0's folder holds all but the others' random states, and nobody looks for anything in another
    (sentence-transformers 85ec645 examples/…/matryoshka_nli.py:77).
    """
    given = (site.keywords.get(name) for name in _PUTS_TOGETHER)
    return any(value is not None and value.truthiness() for value in given)


def _made_up(value: Value) -> bool:
    """Whether each process makes the value up, so that no other can know it."""
    if value.variance is not Variance.RANK_LOCAL or "rank" in value.tags or value.origin is None:
        return False
    if value.origin.kind not in _OWN:
        return False  # a setting from a file, of an object that holds a clock's time too
    made = value.origin.node
    if isinstance(made, ast.Call) and last_name(made) == "current_device":
        return False  # says which of its machine's ranks it is: video-SALMONN-2 61faec0 qwenvl/train/train_qwen.py:303
    if value.origin.kind == "clock" and goes_by_minutes(value.origin):
        return False
    source = ast.unparse(value.origin.node).lower()
    return bool(value.tags & _OWN) and not any(word in source for word in _TEMPORARY)


def _put_in_place(site: CallSite, text: str) -> bool:
    """Whether a file gets its name when it is whole: a name of each process's own is what keeps them apart till then.

    edm 008a4e5 dnnlib/util.py:483: `os.replace(temp_file, cache_file)`; PyTorch-StudioGAN 947b35e src/utils/custom_ops.py:
    126 fills a folder that `os.replace(tmpdir, cached_build_dir)` then moves.
    """
    named = {node.id for node in walk(ast.parse(text), ast.Name)}
    for node in own_nodes(site.function, ast.Call):
        if last_name(node) in _RENAMES and node.args:
            owner = node.func.value if isinstance(node.func, ast.Attribute) else node.func
            moved = (ast.unparse(node.args[0]), ast.unparse(owner))
            if text in moved or named.intersection(moved):
                return True
    return False


def _is_for_logs(site: CallSite) -> bool:
    """Whether a logger makes a file or a folder: each process has its log, and nobody looks for that of another.

    MDT 7d26c21 masked_diffusion/logger.py:100 and 156: the log of each rank, in a folder of its own.
    """
    function = site.function
    stem = function.module.path.rpartition("/")[2].removesuffix(".py")
    names = (function.name, stem, function.cls.name if function.cls is not None else "")
    return any(map(_LOGS.search, names))


def _is_a_profile(found: FileCall) -> bool:
    """Whether a profile of the process is written: each rank has its own, which a name for all would write over.

    dlrm 090956e dlrm_s_pytorch.py:1797: `open("dlrm_s_pytorch" + time_stamp + "_shape.prof", "w")`, and below it
    `prof_f.write(prof.key_averages(…).table(…))`.
    """
    return found.site.method in _PROFILES or any(
        isinstance(node, ast.Call) and last_name(node.func) in _PROFILES
        for each in written(found)
        for node in walk(each)
    )


def _is_measured(found: FileCall) -> bool:
    """Whether all that is written says how long the device of this rank took, or how much it held.

    benchmark 0e83c44 torchbenchmark/util/distributed/trainer.py:148: the means of `pre.elapsed_time(post)`.
    """
    known = assignments(found.function)

    def comes_from_a_measure(name: str, depth: int) -> bool:
        parts = [part for value in known.get(name, ()) for part in walk(value)]
        return any(
            isinstance(part, ast.Call) and last_name(part) in _MEASURES for part in parts
        ) or (
            depth > 0
            and any(
                isinstance(part, ast.Name) and comes_from_a_measure(part.id, depth - 1)
                for part in parts
            )
        )

    shown = {
        node.id for each in written(found) for node in walk(each, ast.Name) if node.id in known
    }
    return bool(shown) and all(comes_from_a_measure(name, _STEPS) for name in shown)


def _report(model: Model, made: _Name, seen: set[int]) -> Iterator[Finding]:
    site, joint_entry = made.site, made.joint_entry
    origin = made.value.origin
    if origin is None or id(origin.node) in seen or is_never_needed(model, origin):
        return
    seen.add(id(origin.node))
    why = f" ({joint_entry.text})" if joint_entry is not None else ""
    yield Finding(
        CODE,
        NAME,
        made.severity,
        f"each rank has a `{made.text}` of its own, since {origin.text} goes into it{why}: what belongs "
        "together has as many names as there are ranks. Let rank 0 choose the name and send it to all.",
        place_of(site.module, site.node),
        (
            related(origin.module, origin.node, f"{origin.text}: each process has its own"),
            *(evidence(joint_entry) if joint_entry is not None else ()),
        ),
        _fix(site, made.value, joint_entry),
    )


def _fix(site: CallSite, value: Value, joint_entry: JointEntry | None) -> Fix | None:
    origin = value.origin
    if (
        joint_entry is None
        or not joint_entry.all_ranks
        or joint_entry.node.lineno >= site.node.lineno  # type: ignore[attr-defined]
        or joint_entry.module is not site.module
        or joint_entry.on_import
        or origin is None
        or origin.module is not site.module
        or not isinstance(origin.node, ast.Call)
        or "hash" in value.tags
        or any(guard.value.variance is not Variance.UNIFORM for guard in site.guards)
        or not joint_entry.node.lineno < origin.node.lineno <= site.node.lineno  # type: ignore[attr-defined]
    ):
        return None
    edit = guarding.call_on_main(site.module.source.text, origin.node, broadcast=True)
    if edit is None:
        return None
    return Fix(Applicability.UNSAFE, "Send rank 0's value to all ranks", (edit,))
