"""What the ranks do to files: writes, reads, deletions, directories, downloads, each with its path."""

from __future__ import annotations

import ast
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from distlint.analysis.interpreter.ir import CallSite, Guard
from distlint.analysis.interpreter.ranks import MAIN, NODE_MAIN, OTHER, RankClass
from distlint.analysis.interpreter.values import Origin, Value, Variance
from distlint.analysis.live.joint_entry import (
    BARRIERS,
    MAKES_RANKS,
    JointEntry,
    Together,
    beside_a_collective,
    groups_of,
    imported_again,
    may_come_alone,
    maybe_guarded,
    starts_group,
)
from distlint.analysis.program.definitions import Function, dotted_name, last_name
from distlint.analysis.program.handed import (
    always_told_rank,
    argument_of,
    callers_by_name,
    left_at_default,
    namings,
    started_with,
)
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import (
    assignments,
    default_of,
    element_names,
    literals,
    mentions_rank,
    only_adds_a_bar,
    own_nodes,
    spawned_index,
    statement_with_test,
    target_names,
)
from distlint.analysis.questions.commands import command_of, copied_by_command, made_by_command
from distlint.analysis.questions.entered import never_entered
from distlint.analysis.questions.entry_points import has_no_ranks
from distlint.analysis.questions.held_by_main import fails_on_others
from distlint.analysis.questions.paths import ending, folder_of, holds, parts_of, readable
from distlint.analysis.questions.refused_options import refused_options
from distlint.analysis.questions.unset_options import is_for_refused
from distlint.knowledge import sinks
from distlint.knowledge.hooks import BATCH_NAMES, BATCHES, ROUTES
from distlint.knowledge.schema import CallRow as Row
from distlint.knowledge.schema import Effect
from distlint.nodes import walk
from distlint.patterns import pattern
from distlint.records import dataclass

if TYPE_CHECKING:
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.program import Program

_FILES: Final = (
    Effect.WRITE,
    Effect.READ,
    Effect.DELETE,
    Effect.CREATE_DIR,
    Effect.DOWNLOAD,
    Effect.UPLOAD,
)
_NOT_FILES: Final = frozenset(
    {"f", "fp", "fh", "fd", "fout", "file", "buf", "buffer", "stream", "out_file", "file_obj"}
)
"""Names of parameters that hold an open file or a buffer rather than a path."""
_WEIGHTS: Final = (".pt", ".pth", ".bin", ".ckpt")
_FILE_WORDS: Final = pattern(r"path|file|ckpt|checkpoint|weights", re.IGNORECASE)
"""Endings of files of weights, and words of what names one."""
_DEVICES: Final = ("/dev/", "/proc/", "/sys/")
_PARTS: Final = (
    "rank",
    "worker",
    "shard",
    "process_i",
    "proc_id",
    "device_id",
    "current_device",
    "gpu_id",
    "node_id",
)
"""Words of names that number processes or their parts."""
_COUNTED: Final = frozenset({"ranks", "workers", "shards", "nodes"})
"""Last words of names that say how many there are."""
_NOT_WHO: Final = frozenset({"num", "world", "total", "count", "lora", "src", "dst", "size"})
"""Words that make of a rank a count, a size or somebody else's number."""
_HOLDERS: Final = ("_dir", "_path", "_file", "_folder", "_name")
"""Ends of names of what may hold a rank, where the assignment shows whether it does."""
_SECONDS: Final = pattern(r"%-?[SfsTXcr]")
"""What writes a time to the second, or finer."""
_PROGRESS: Final = frozenset({"step", "epoch", "iteration", "iter", "itr", "nimg", "kimg", "tick"})
_PLACEHOLDER: Final = pattern(r"\{([^{}!:]+)[^{}]*\}|%\((\w+)\)")
"""Names in a template of `str.format` or of `%`."""
_FOLDER: Final = pattern(r"(?:dir|folder)$", re.IGNORECASE)
"""Names of folders."""
_MAX_CALLERS: Final = 3


@dataclass(frozen=True, slots=True, eq=False)
class FileCall:
    """A call that touches a file, as the ranks that enter its function together make it.

    path      the expression of the path; None for downloads into a cache
    sites     the call as each class of ranks met it, with what the path is there
    entered   the classes of ranks that enter the function
    arrival   what shows that they do so together; None where nothing does
    """

    effect: Effect
    row: Row
    path: ast.expr | None
    sites: tuple[tuple[RankClass, CallSite, Value | None], ...]
    entered: frozenset[RankClass]
    joint_entry: JointEntry | None
    left: frozenset[str] = frozenset()
    """The parameters of its function that nobody gives."""

    @property
    def site(self) -> CallSite:
        """The call as the first rank class met it."""
        return self.sites[0][1]

    @property
    def function(self) -> Function:
        """The function that the call stands in."""
        return self.site.function

    @property
    def text(self) -> str:
        """The path as written, for messages."""
        return ast.unparse(self.path) if self.path is not None else ""

    @property
    def ranks(self) -> frozenset[RankClass]:
        """The rank classes that make the call, without the first ranks of the other machines.

        They write to a disk of their own, or the program would test the global rank.
        """
        return frozenset(rank for rank, _, _ in self.sites) - {NODE_MAIN}

    @property
    def by_several(self) -> bool:
        """Whether rank 0 and another rank make the call, and no test of the rank may stand before it."""
        return (
            MAIN in self.ranks and len(self.ranks) > 1 and not self._may_be_guarded
        ) or self.by_others

    @property
    def by_others(self) -> bool:
        """Whether all ranks enter the function, and rank 0 with other arguments than those that the others share.

        Text-To-Video-Finetuning efbd149 train.py:537: a test of the rank around `output_dir = create_output_folders(…)`,
        and ranks 1, 2, … go on with the folder that the settings name.
        """
        entry = self.joint_entry
        return (
            MAIN not in self.entered
            and OTHER in self.ranks
            and entry is not None
            and entry.all_ranks
            and not self._may_be_guarded
        )

    @property
    def _may_be_guarded(self) -> bool:
        return any(maybe_guarded(site, self.left) for _, site, _ in self.sites)


def file_calls(live: LiveProgram) -> list[FileCall]:
    """Every call of the reported modules that touches a file, in source order.

    A call whose function the ranks enter in several ways is there once: as they enter it together.
    """
    found: dict[tuple[int, int], FileCall] = {}
    by_main: dict[tuple[int, int], list[Value]] = {}
    single = live.alone
    for summaries in live.functions():
        if summaries.function in single:
            continue
        for family, group in groups_of(summaries):
            joint_entry = live.joint_entries.get((summaries.function, family))
            for made in _of_group(live.program, group, joint_entry):
                if made.joint_entry is not None and made.by_several:
                    made = _without_failing(live, made)
                    if _is_never_of_several(live, made):
                        made = replace(made, joint_entry=None)
                key = (id(made.site.node), id(made.path))
                by_main.setdefault(key, []).extend(
                    value for rank, _, value in made.sites if rank is MAIN and value is not None
                )
                known = found.get(key)
                if known is None or _worth(made) > _worth(known):
                    found[key] = made
    return sorted(
        (_with_main(each, by_main[key]) for key, each in found.items()),
        key=lambda f: (f.site.module.path, f.site.node.lineno, f.site.node.col_offset),
    )


def _with_main(found: FileCall, by_main: list[Value]) -> FileCall:
    """A call with rank 0 among the ranks that make it, where it comes by other arguments and means the same path.

    yolor 3ca250a train.py:231: rank 0 alone is handed a `tb_writer`, and what is written lies in `opt.save_dir`.
    """
    alike = {value.key for value in by_main if not is_own(value)}
    if not found.by_others or any(
        value is None or is_own(value) or value.key not in alike for _, _, value in found.sites
    ):
        return found
    _, site, value = found.sites[0]
    return replace(found, sites=((MAIN, site, value), *found.sites), entered=found.entered | {MAIN})


def _without_failing(live: LiveProgram, found: FileCall) -> FileCall:
    """A call without the ranks that have failed before they come to it."""
    if not fails_on_others(live, found.site):
        return found
    return replace(found, sites=tuple(each for each in found.sites if each[0] == MAIN))


def _is_never_of_several(live: LiveProgram, found: FileCall) -> bool:
    """Whether rank 0 alone comes to a call, or a program that its own checks keep to one process."""
    return _is_of_checkpoint(live.program, found.site) or (
        bool(refused_options(live.program))
        and is_for_refused(live.program, found.function, live.answer(_calls_of_main))
    )


def _is_of_checkpoint(program: Program, site: CallSite) -> bool:
    """Whether a trainer's `_save()` makes a call only for the folders `checkpoint-…`, which the library names, and of which
    it has the writing ranks alone call it (transformers 5.23.0 trainer.py, `PREFIX_CHECKPOINT_DIR`, `args.should_save`).

    Video-ChatGPT 659e04b video_chatgpt/train/llava_trainer.py:44; what the script itself saves goes to the other arm.
    """
    return may_come_alone(program, site.function) and any(
        so
        and isinstance(part, ast.Call)
        and last_name(part.func) == "startswith"
        and any(
            isinstance(a, ast.Constant) and str(a.value).startswith("checkpoint") for a in part.args
        )
        for guard in site.guards
        for part, so in literals(guard.node, guard.taken)
    )


def _calls_of_main(live: LiveProgram) -> frozenset[ast.Call]:
    """The calls that rank 0 alone makes on its machine, as far as is seen."""
    return frozenset(
        group.site.node
        for group in live.calls()
        if group.classes - {NODE_MAIN} == {MAIN} or maybe_guarded(group.site)
    )


def _worth(found: FileCall) -> tuple[bool, bool, int]:
    return (found.by_several and found.joint_entry is not None, found.by_several, len(found.ranks))


def _of_group(
    program: Program, group: Together, joint_entry: JointEntry | None
) -> Iterator[FileCall]:
    by_node: dict[int, list[tuple[RankClass, CallSite]]] = {}
    opened: set[int] = set()
    for rank, summary in group:
        for site in summary.calls:
            if site.rows or site.name in sinks.OPENS or site.name in sinks.COMMANDS:
                by_node.setdefault(id(site.node), []).append((rank, site))
            if site.name in sinks.OPENS:
                opened.add(id(site.node))
    entered = frozenset(rank for rank, _ in group)
    for sites in by_node.values():
        sites.sort(key=lambda pair: pair[0].rank)
        for effect, row, path in effects_of(sites[0][1]):
            if path is None and effect is not Effect.DOWNLOAD:
                continue
            made = [
                (rank, site, path_value(site, path))
                for rank, site in sites
                if not _left_to_others(program, site) and not never_entered(program, site)
            ]
            if len({rank for rank, _, _ in made}) > 1 and _chosen_by_callers(program, made[0][1]):
                continue
            if made and not any(_is_handle(site, value, path, opened) for _, site, value in made):
                site = made[0][1]
                reason = joint_entry
                if (reason is None or reason.call is None) and _leaves_before(group, site):
                    reason = imported_again(site)
                elif reason is None or _excluded(reason, group, site):
                    reason = beside_a_collective(site, group) or imported_again(site)
                left = left_at_default(program, site.function)
                yield FileCall(effect, row, path, tuple(made), entered, reason, left)


def _excluded(joint_entry: JointEntry, group: Together, site: CallSite) -> bool:
    """Whether all calls that make the process group stand on arms that exclude the call: nothing shows ranks on its own.

    MoE-LLaVA 6cb5f66 moellava/model/builder.py:184: one kind of model is put together file by file, and another one's
    branch of the same `elif` has `deepspeed.init_distributed()`.
    """
    if not joint_entry.leads_to(site):
        return True
    if not joint_entry.starts or joint_entry.call is not None:
        return False
    starts = [each for _, summary in group for each in summary.calls if starts_group(each)]
    return bool(starts) and all(on_the_other_arm(each, site) for each in starts)


def _leaves_before(group: Together, site: CallSite) -> bool:
    """Whether an option makes a function end behind a call, above all that makes ranks in it: this mode meets nobody.

    LongVA f4c8781 text_extend/eval_text_ppl.py:165: `--save-tokenized` writes and returns; the Accelerator comes 28 lines
    below.
    """
    blocks = (
        statement_with_test(site.function, guard.node)
        for guard in site.guards
        if guard.value.variance is Variance.UNIFORM
    )
    bodies = (body for block in blocks if block is not None for body in (block.body, block.orelse))
    if not any(
        body
        and body[0].lineno <= site.node.lineno <= (body[-1].end_lineno or 0)
        and isinstance(body[-1], ast.Return)
        for body in bodies
    ):
        return False
    calls = [
        each
        for _, summary in group
        for each in summary.calls
        if MAKES_RANKS.search(each.name) or starts_group(each)
    ]
    return bool(calls) and all(each.node.lineno > site.node.lineno for each in calls)


def on_the_other_arm(site: CallSite, before: CallSite) -> bool:
    """Whether a test that let one call through kept the other out: REPA, utils.py:93, beside the `if` of line 91."""
    taken = {id(guard.node): guard.taken for guard in before.guards}
    return any(taken.get(id(guard.node), guard.taken) is not guard.taken for guard in site.guards)


def effects_of(site: CallSite) -> Iterator[tuple[Effect, Row, ast.expr | None]]:
    """What a call does to which path."""
    opens = sinks.OPENS.get(site.name)
    if opens is not None:
        if _is_descriptor(_path_node(site, opens.path, opens.path_keyword), site.function):
            return
        text = mode_of(site)
        if text and sinks.APPENDING not in text:
            # Logs of all ranks in one file: fairseq 0.12.2 (fairseq_cli/train.py), mosaicml 0.32.1
            # (composer/callbacks/mlperf.py), where the other ranks have nothing to log.
            writes = bool(set(text) & (sinks.CREATING_MODES if opens.maps else sinks.WRITING_MODES))
            if writes and "r" in text:
                writes = not _only_read(site)
            effect = Effect.WRITE if writes else Effect.READ
            yield effect, Row(site.name, effect), _path_node(site, opens.path, opens.path_keyword)
        return
    if any(row.effect is Effect.GUARDED_WRITE for row in site.rows):
        return
    # Without a test beside it a command stands in a helper, which may be called in a section of one
    # rank (yolov5 5081342 utils/downloads.py:36).
    command = command_of(site.node, site.function) if site.name in sinks.COMMANDS else None
    if (
        command is not None
        and any(asked_paths(guard.node) for guard in site.guards)
        and (made := made_by_command(command)) is not None
    ):
        yield made[0], Row(site.name, made[0]), made[1]
    if command is not None and (copied := copied_by_command(command)) is not None:
        yield Effect.WRITE, Row(site.name, Effect.WRITE), copied[1]
    for row in site.rows:
        if row.effect is Effect.UPLOAD and _pushes_itself(site):
            continue
        if row.effect in _FILES and not row.handle and not _reads_a_file(site):
            yield row.effect, row, _path_node(site, row.path, row.path_keyword)
            if row.target is not None:
                target = _path_node(site, row.target, "dst")
                if target is not None:
                    yield Effect.WRITE, row, target
        elif Effect.WRITE in row.also and Effect.GUARDED_WRITE not in row.also:
            yield Effect.WRITE, row, _path_node(site, row.path, row.path_keyword)


def _pushes_itself(site: CallSite) -> bool:
    """Whether a trainer is asked to upload its model: its first argument is a message, and it lets rank 0 alone commit."""
    function = site.node.func
    return isinstance(function, ast.Attribute) and "trainer" in last_name(function.value).lower()


def _is_descriptor(path: ast.expr | None, function: Function, steps: int = 2) -> bool:
    """Whether what a call opens is a number that this process holds of an open file: nothing is looked up, or emptied.

    open-pi-zero c3df7fb scripts/run.py:30: `open(sys.stdout.fileno(), mode="w", buffering=1)`.
    """
    match path:
        case ast.Constant(value=int()):
            return True
        case ast.Call(func=called):
            return last_name(called) in sinks.DESCRIPTORS
        case ast.Name(id=name) if steps:
            given = assignments(function).get(name, ())
            return bool(given) and all(_is_descriptor(each, function, steps - 1) for each in given)
    return False


def _reads_a_file(site: CallSite) -> bool:
    """Whether a call that fetches what a name stands for is given a file: by its ending, or by what code calls it.

    DIVA d53c668 models/CLIP_bank.py:11: `clip.load("pretrained_weights/CLIP/ViT-L-14.pt")`.
    """
    name = site.argument_node(0, "name") if site.name in sinks.BY_NAME else None
    if name is None:
        return False
    value = site.argument(0, "name")
    if value is not None and isinstance(value.const, str):
        return value.const.endswith(_WEIGHTS)
    return _FILE_WORDS.search(ast.unparse(name)) is not None


def mode_of(site: CallSite) -> str:
    """The letters of the mode in which a call opens a file; "" for other calls, and where it is not known.

    What `tarfile.open` has behind a `:` or `|` is a compression: `r:xz` reads (catalyst e99f906
    catalyst/contrib/datasets/misc.py:104).
    """
    row = sinks.OPENS.get(site.name)
    if row is None:
        return ""
    mode = site.argument(row.mode, row.mode_keyword)
    text = row.default if mode is None else mode.const
    return re.split("[:|]", text)[0] if isinstance(text, str) else ""


def appended(site: CallSite, *, by_default: bool = False) -> ast.expr | None:
    """The path of a file that a call opens to append to it, `by_default` also without saying so; None for other calls."""
    opens = sinks.OPENS.get(site.name)
    if opens is None or sinks.APPENDING not in mode_of(site):
        return None
    told = site.argument(opens.mode, opens.mode_keyword) is not None
    return _path_node(site, opens.path, opens.path_keyword) if told or by_default else None


def _only_read(site: CallSite) -> bool:
    """Whether a file opened with "r+", which truncates nothing, is only read through its name.

    LLaMA2-Accessory light-eval/src/eval_gsm8k.py:157: `jsonlines.Reader(f)`. Handed to anything but a reader, it
    may be written.
    """
    handle, block = handle_of(site), site.statement
    # A block closes it: below, the name may be that of another file (Swin-Transformer-Object-Detection c7b2011
    # .dev_scripts/batch_test.py:74).
    nodes: Iterable[ast.AST] = own_nodes(site.function)
    if isinstance(block, ast.With | ast.AsyncWith):
        nodes = [each for part in block.body for each in walk(part)]
    uses = [
        node
        for node in nodes
        if isinstance(node, ast.Name) and node.id == handle and isinstance(node.ctx, ast.Load)
    ]
    reads = {
        id(used)
        for node in nodes
        for used in _read_in(node)
        if isinstance(used, ast.Name) and used.id == handle
    }
    return bool(uses) and all(id(node) in reads for node in uses)


def handle_of(site: CallSite) -> str | None:
    """The name that an opened file is given: `with open(path) as f`, `f = open(path)`."""
    for node in own_nodes(site.function, ast.withitem, ast.Assign):
        match node:
            case ast.withitem(context_expr=opened, optional_vars=ast.Name(id=name)) if (
                opened is site.node
            ):
                return name
            case ast.Assign(targets=[ast.Name(id=name)], value=opened) if opened is site.node:
                return name
    return None


def _read_in(node: ast.AST) -> list[ast.expr]:
    """What is read, and not written, by an expression or a statement."""
    match node:
        case ast.Attribute(value=owner, attr=attr) if attr in sinks.READING_METHODS:
            return [owner]
        case ast.Call(func=called, args=args) if sinks.READERS.search(last_name(called)):
            return args
        case ast.For(iter=read) | ast.comprehension(iter=read):
            return [read]
    return []


def written_by_one(site: CallSite) -> ast.expr | None:
    """The path of a call that chooses one writing rank itself; None where each writes a file of its own."""
    for row in site.rows:
        if row.effect is Effect.GUARDED_WRITE and row.writers != "each":
            return _path_node(site, row.path, row.path_keyword)
    return None


def read_by(site: CallSite) -> ast.expr | None:
    """The path that a call reads beside what it is for: a model's weights; None where nothing says which."""
    for row in site.rows:
        if Effect.READ in row.also and row.path is not None:
            return _path_node(site, row.path, row.path_keyword)
    return None


def _path_node(site: CallSite, position: int | str | None, keyword: str) -> ast.expr | None:
    if position == "self":
        return site.node.func.value if isinstance(site.node.func, ast.Attribute) else None
    return site.argument_node(position if isinstance(position, int) else None, keyword)


def path_value(site: CallSite, node: ast.expr | None) -> Value | None:
    if node is None:
        return None
    if isinstance(site.node.func, ast.Attribute) and node is site.node.func.value:
        return site.receiver
    for index, argument in enumerate(site.node.args):
        if argument is node:
            return site.args[index] if index < len(site.args) else None
    for keyword in site.node.keywords:
        if keyword.value is node and keyword.arg is not None:
            return site.keywords.get(keyword.arg)
    return None


def _is_handle(
    site: CallSite, value: Value | None, node: ast.expr | None, opened: set[int]
) -> bool:
    """Whether what stands where a path may stand is an open file or a buffer; nobody opens one again."""
    if value is None:
        return False
    if isinstance(value.key, tuple) and len(value.key) == 2 and value.key[1] in opened:
        return True
    if value.type is not None and value.type.startswith(("io.", "_io.")):
        return True
    if isinstance(value.const, str) and value.const.startswith(_DEVICES):
        return True
    if _is_stream(value):
        return True
    named = isinstance(node, ast.Name) and node.id in _NOT_FILES and value.const is not None
    return named and site.name not in sinks.OPENS


def _is_stream(value: Value) -> bool:
    """Whether a value is no file of anybody's, but what the process writes to anyway."""
    return isinstance(value.target, str) and value.target in (
        "os.devnull",
        "sys.stdout",
        "sys.stderr",
    )


def _left_to_others(program: Program, site: CallSite) -> bool:
    """Whether who writes is decided elsewhere: by an argument such as `is_main_process=`, or in a method of the
    program's own that the call may mean."""
    keyword = sinks.MAIN_PROCESS_ARGUMENTS.get(site.method)
    if keyword is not None and keyword in site.keywords:
        return True
    return (
        site.name.startswith(".")
        and site.callee is None
        and site.method in _writers_chosen_inside(program)
        and _is_made_elsewhere(site)
    )


def _chosen_by_callers(program: Program, site: CallSite) -> bool:
    """Whether a call stands under a parameter for which all callers pass a test of the rank.

    One of them lets rank 0 in and another the last one, and no run both: ms-swift 3602360
    swift/pipelines/train/sft.py:197, `if is_write_rank:`, for `is_master()` and `is_last_rank()`.
    """
    function = site.function
    return any(
        holds
        and isinstance(part, ast.Name)
        and part.id in function.parameters
        and part.id not in assignments(function)
        and always_told_rank(program, function, part.id)
        for guard in site.guards
        for part, holds in literals(guard.node, guard.taken)
    )


_MODELS: Final = ("unwrap", "prepare", "from_pretrained", "compile", "to", "cuda")
"""How the names of calls begin, or what they are, that hand back a model."""


def _is_made_elsewhere(site: CallSite) -> bool:
    """Whether what a method is called on was returned by a call that says nothing of what it is."""
    function = site.node.func
    if not isinstance(function, ast.Attribute) or not isinstance(function.value, ast.Name):
        return False
    # What hooks save is a variable of the function around them mostly: UniWorld-V1 8403e86 train_denoiser.py:502.
    values = next(
        (
            known
            for each in site.function.outward()
            if (known := assignments(each).get(function.value.id))
        ),
        [],
    )
    return bool(values) and all(
        isinstance(value, ast.Call) and not last_name(value.func).startswith(_MODELS)
        for value in values
    )


@remembered
def _writers_chosen_inside(program: Program) -> frozenset[str]:
    """The methods of the program that are called like one that writes a file, and ask for the rank themselves.

    trlx trlx/trainer/accelerate_base_trainer.py: `save_pretrained()` of the trainer waits for everyone, and hands
    `is_main_process=` to the model's.
    """
    return frozenset(
        name
        for module in program.modules.values()
        for cls in module.all_classes
        for name, method in cls.methods.items()
        if name in sinks.SINK_METHODS
        and any(
            isinstance(node, ast.Name | ast.Attribute)
            and (mentions_rank(node) or last_name(node) in BARRIERS)
            for statement in method.body
            for node in walk(statement)
        )
    )


def same_path(live: LiveProgram, found: FileCall, *, listed: bool = False) -> bool:
    """Whether the ranks that make the call mean the same file.

    No where the rank, or something of the rank's own (its part of the data, a temporary name, the
    clock), goes into the path: here, or in the arguments of those who call the function.
    """
    if found.path is None or _is_own_in_folder(found):
        return False
    if found.by_others:
        # What rank 0 alone is handed tells nothing of them.
        values = [value for _, _, value in found.sites]
        own = any(value is None or is_own(value) for value in values)
        return not own and not names_a_part(found.path, found.function)
    around = _around_own_file(found)
    if around is not None:
        function = found.function
        return not any(differs_between_ranks(each, function, live.callers) for each in around)
    names = readable(parts_of(found.path, found.function))
    if names is None:
        names = _computed_alike(found)
    told = _told_apart(found)
    if told or (told is None and _own_somewhere(found, only_passed=names is not None)):
        return False
    if names is not None:
        if any(_is_number(name, found.function) for name in names):
            return False
    elif told is None and (
        names_a_part(found.path, found.function)
        or _kept_apart(live.program, found.path, found.function)
    ):
        return False
    if _handed_apart(live.program, found.path, found.function) or _is_requested(
        live.program, found.path, found.function
    ):
        return False
    if _kept_in_options(live, found):
        return False
    if listed and any(v is not None and "file" in v.tags for _, _, v in found.sites):
        return not _own_where_they_meet(live, found)
    # Data sets lie where the settings say: SwissArmyTransformer 63dc23a sat/data_utils/configure_data.py:113 makes one for
    # each of the paths on the command line. Of the rank's own part of a list its value tells.
    listed_alike = found.effect is Effect.DOWNLOAD or _is_divided_by_nobody(live, found)
    return _shared(found.path, found.function, _who_comes(live, found), _MAX_CALLERS, listed_alike)


def _is_divided_by_nobody(live: LiveProgram, found: FileCall) -> bool:
    """Whether a launcher starts several processes of a program that has no word for ranks: each goes through all of the data.

    BottleneckIterativeNetwork 718e191 engines/lrs3_recon.py:195, by `torchrun --nproc_per_node $NGPU`.
    """
    entry = found.joint_entry
    return (
        entry is not None and entry.launch is not None and has_no_ranks(live.program, entry.module)
    )


def _who_comes(live: LiveProgram, found: FileCall) -> Mapping[Function, list[CallSite]]:
    """Who calls each function; of those that call this one, who is seen to come with other ranks, and by a path that fits.

    CogVideoX-Fun 6c39567 cogvideox/utils/utils.py:65 is under `if path.endswith("mp4"):`. Scripts of one process call it with
    a name without a number, and of all ranks of a training who passes one passes one of a GIF.
    """
    entry, function = found.joint_entry, found.function
    sites = live.callers.get(function, ())
    if entry is None or entry.call is None or not sites:
        return live.callers
    asked = [
        each
        for guard in found.site.guards
        for each in _asked_endings(guard)
        if each[0] in function.parameters
    ]
    together = live.answer(entered_together)
    coming = [
        site
        for site in sites
        if site.function in together and all(_may_end(site, *each) for each in asked)
    ]
    return {**live.callers, function: coming} if coming else live.callers


def entered_together(live: LiveProgram) -> frozenset[Function]:
    """The functions that several ranks are known to enter together."""
    return frozenset(function for function, _ in live.joint_entries)


def _asked_endings(guard: Guard) -> Iterator[tuple[str, str, bool]]:
    """What a condition says of the end of a variable: its name, the end, and whether it has it."""
    for part, holds_ in literals(guard.node, guard.taken):
        match part:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr="endswith"),
                args=[ast.Constant(value=str() as end)],
            ):
                yield name, end, holds_


def _may_end(site: CallSite, name: str, end: str, has_it: bool) -> bool:
    assert site.callee is not None
    given = argument_of(site.node, site.callee, name)
    known = ending(parts_of(given, site.function)) if given is not None else ""
    if not known:
        return True
    return known.endswith(end) is has_it or (has_it and end.endswith(known))


def is_of_share(live: LiveProgram, found: FileCall) -> bool:
    """Whether something of a collection goes into the path, of which each rank may have its part.

    CogView 189a12b generate_samples.py:244: a clock, and the words of a line; each rank has taken its own lines.
    """
    return found.path is not None and not _shared(
        found.path, found.function, live.callers, _MAX_CALLERS
    )


def _is_own_in_folder(found: FileCall) -> bool:
    """Whether a file that carries the rank in its name is copied into a folder, where it keeps the name.

    X-VLM cb4fff1 dataset/utils.py:146: `hcopy("…_rank0.pth", hdfs_wdir)`, which calls `shutil.copy(from_path, to_path)`.
    """
    if found.site.name not in sinks.KEEP_NAMES:
        return False
    given = (found.site.argument_node(0, "src"), found.site.argument_node(1, "dst"))
    function, entry = found.function, found.joint_entry
    call = entry.call if entry is not None else None
    names = [each.id for each in given if isinstance(each, ast.Name)]
    if (
        call is not None
        and call.callee is function
        and len(names) == 2
        and set(names) <= set(function.parameters)
    ):
        source, folder = (argument_of(call.node, function, name) for name in names)
        given, function = (source, folder), call.function
    source, folder = given
    return (
        source is not None
        and folder is not None
        and _FOLDER.search(last_name(folder)) is not None
        and names_a_part(source, function)
    )


def _around_own_file(found: FileCall) -> list[ast.expr] | None:
    """What the folder of a file that is each rank's own is named by; None elsewhere.

    Nothing but the rank may differ in it, unless the folder is spelled out but for parameters. The rank may be in the last
    part alone, which goes: unmasked_teacher 4fb4049 multi_modality/dataset/utils.py:129,
    `os.makedirs(os.path.dirname(result_file))`, whose file is `"%s_rank%d.json" % (filename, get_rank())`.
    """
    assert found.path is not None
    values = [value for _, _, value in found.sites if value is not None]
    if all(value.variance is Variance.UNIFORM for value in values):
        return None
    folder = folder_of(found.path, found.function)
    if folder is not None and any(value.variance is Variance.RANK_LOCAL for value in values):
        known = (readable(parts_of(each, found.function)) for each in folder)
        return folder if all(names is not None for names in known) else None
    return folder


def differs_between_ranks(
    path: ast.expr, function: Function, callers: Mapping[Function, list[CallSite]]
) -> bool:
    """Whether a path is each rank's own, by the names in it or by what all callers are seen to pass."""
    return names_a_part(path, function) or not _shared(path, function, callers, _MAX_CALLERS)


def _own_somewhere(found: FileCall, *, only_passed: bool) -> bool:
    """Whether the path is each rank's own by its value.

    A path that is spelled out, but for the parameters in it, can only be so by what is passed. Where a class of ranks
    comes from several calls, one that passes a shared path is enough (EditAnything utils/texutal_inversion.py:881: the
    last call is rank 0's alone, and the path of that is chosen there).
    """
    start, end = found.function.body[0].lineno, found.function.body[-1].end_lineno or 0
    by_class: dict[RankClass, list[bool]] = {}
    for rank, _, value in found.sites:
        origin = value.origin if value is not None else None
        here = (
            origin is not None
            and origin.module is found.function.module
            and start <= getattr(origin.node, "lineno", 0) <= end
        )
        own = value is not None and is_own(value) and not (only_passed and here)
        by_class.setdefault(rank, []).append(own)
    return any(all(calls) for calls in by_class.values())


def _told_apart(found: FileCall) -> bool | None:
    """Whether a path that is computed from the rank comes out different; None where that is not known.

    `rank % 1` is in the path and the same on every rank. What is chosen by a test of the rank, and not
    made from its number, is one path for all the ranks that the test does not name.
    """
    values = {
        rank: value for rank, _, value in found.sites if value is not None and rank is not NODE_MAIN
    }
    main = values.pop(MAIN, None)
    if main is None or not values or main.variance is not Variance.RANK_DEPENDENT:
        return None
    if any(_computed(value.key) is None for value in (main, *values.values())):
        return None
    if _is_parameter(main.key) and all(value.key == main.key for value in values.values()):
        # What the parameter holds differs, and nothing is made of it here: Megatron-LLaMA 25306de
        # megatron/optimizer/distrib_optimizer.py:705, handed a writer to `…_dp_{data_parallel_rank:03d}`.
        return None
    return all(
        value.key != main.key and ("rank" in value.tags or rank is not OTHER)
        for rank, value in values.items()
    )


def _is_parameter(key: Hashable) -> bool:
    return isinstance(key, tuple) and key[:1] == ("parameter",)


def _computed_alike(found: FileCall) -> set[str] | None:
    """The parameters in a path that no rank computes in another way; None where that is not known."""
    names: set[str] = set()
    for _, _, value in found.sites:
        inner = _computed(value.key) if value is not None else None
        if value is None or value.variance is not Variance.UNIFORM or inner is None:
            return None
        names |= inner
    return names


def _computed(key: Hashable) -> set[str] | None:
    """The parameters in a value made of them, of constants and of what a collective filled in.

    None where there is more to it than formatting and arithmetic.
    """
    match key:
        case ("constant", *_) | ("item", ("filled", *_), _):
            return set()
        case ("parameter", _, str() as name):
            return {name}
        case ("format", tuple() as pieces) | ("binary", _, *pieces):
            found = [_computed(piece) for piece in pieces]
            known = [names for names in found if names is not None]
            return set().union(*known) if len(known) == len(found) else None
    return None


def _is_number(name: str, function: Function) -> bool:
    """Whether a parameter tells who the process is: by its name, its default, or how ranks start."""
    if _counts(name) or name == spawned_index(function):
        return True
    default = default_of(function, name)
    return default is not None and names_a_part(default, function)


def _counts(name: str) -> bool:
    """Whether a name is that of the number of a process, and not of how many there are."""
    last = name.rpartition(".")[2].lower()
    words = last.split("_")
    if words[-1] in _COUNTED or not _NOT_WHO.isdisjoint(words):
        return False
    return any(word in last for word in _PARTS) and not last.startswith("ranking")


def counts_processes(node: ast.AST) -> bool:
    """Whether an expression is a variable or an attribute that is called like the number of a process."""
    name = node.attr if isinstance(node, ast.Attribute) else dotted_name(node)
    return bool(name) and _counts(name)


def names_a_part(node: ast.expr, function: Function, *, bars: bool = True) -> bool:
    """Whether a path is made from something that by its name counts processes: `worker_id`.

    Names are followed to what they are assigned or hold by default, attributes of `self` into the
    methods that assign them. A placeholder of a template counts too, whoever fills it in: mosaicml
    0.32.1 composer/profiler/json_trace_handler.py, whose `filename` is "…-rank{rank}.json" by default.

    With `bars`, also from a loop whose progress bar some processes do not draw: `tqdm(loader, disable=rank != 0)`.
    """
    seen: set[tuple[str, Function]] = set()
    stack: list[tuple[ast.AST, Function]] = [(node, function)]
    while stack:
        root, scope = stack.pop()
        if isinstance(root, ast.IfExp) and only_adds_a_bar(root):
            stack += [(root.body, scope), (root.orelse, scope)]
            continue
        hidden = set() if bars else _of_bars(root)
        for child in walk(root):
            if child in hidden:
                continue
            if isinstance(child, ast.Call) and dotted_name(child.func) == "len":
                # How many batches a loader has, whatever its `num_workers`.
                hidden.update(part for argument in child.args for part in walk(argument))
            if _is_own_device(child, root, scope):
                return True
            if isinstance(child, ast.Constant):
                if isinstance(child.value, str) and _holds_part(child.value):
                    return True
                continue
            name = dotted_name(child)
            if isinstance(child, ast.Attribute) and _is_progress(name):
                # ParallelWaveGAN 8674037 parallel_wavegan/bin/train.py:1544: `trainer.steps`, of a trainer that was
                # given a sampler with its rank.
                hidden.update(walk(child.value))
            if not name or (name, scope) in seen:
                continue
            seen.add((name, scope))
            meanings = [] if _is_progress(name) else list(_meanings(name, scope))
            if _counts(name) and not (meanings and name.lower().endswith(_HOLDERS)):
                return True
            stack.extend(meanings)
    return False


def _is_own_device(node: ast.AST, root: ast.AST, function: Function) -> bool:
    """Whether a part of a path is the device of this process, with its number: that of parameters, or of what was moved.

    HTS-Audio-Transformer 2e29471 sed_model.py:196: `str(next(self.parameters()).device)`. `.device.type` has no number.
    champ 02e5533 train_s1.py:563: `f"data-rank{accelerator.device.index}.png"`, which is the local rank (accelerate 1.15.0
    state.py:844). What is merely moved to that device is not named by it.
    """
    match node:
        case (
            ast.Attribute(attr="index", value=ast.Attribute(attr="device", value=owner))
            | ast.FormattedValue(value=ast.Attribute(attr="device", value=owner))
            | ast.Call(func=ast.Name(id="str"), args=[ast.Attribute(attr="device", value=owner)])
        ) if "accelerator" in last_name(owner).lower():
            return True
        case ast.Call(func=ast.Attribute(attr="get_device", value=tensor)):
            pass
        case ast.Attribute(attr="device", value=tensor):
            if any(n.attr == "type" and n.value is node for n in walk(root, ast.Attribute)):
                return False
        case _:
            return False
    made = assignments(function).get(tensor.id, ()) if isinstance(tensor, ast.Name) else (tensor,)
    return bool(made) and all(map(_is_on_own_device, made))


def _is_on_own_device(tensor: ast.expr) -> bool:
    """Whether an expression is a parameter of a model, or a tensor that was moved to the accelerator."""
    match tensor:
        case ast.Call(func=ast.Name(id="next"), args=[first, *_]):
            return any(n.attr == "parameters" for n in walk(first, ast.Attribute))
        case ast.Call(func=ast.Attribute(attr="cuda"), args=[], keywords=[]):
            return True
        case ast.Attribute(attr="weight" | "bias"):
            return True
    return False


def _of_bars(root: ast.AST) -> set[ast.AST]:
    """What says whether progress bars are drawn: `disable=rank != 0`."""
    return {
        inner for node in walk(root, ast.keyword) if node.arg == "disable" for inner in walk(node)
    }


def _is_progress(name: str) -> bool:
    """Whether a name counts how far the training is: alike on all ranks, whatever returned it.

    1d-tokenizer utils/train_utils.py:1226: `global_step = train_one_epoch(…, logger, …)`, whose logger names its rank.
    stylegan-xl 4241ff9 training/training_loop.py:372: `cur_nimg += batch_size`, the images that all ranks have seen.
    """
    return name.rpartition(".")[2].rpartition("_")[2].rstrip("s").lower() in _PROGRESS


def _holds_part(text: str) -> bool:
    """Whether a template has a placeholder for the number of a process: "{rank}", "%(local_rank)d"."""
    return any(
        word in match[match.lastindex or 0].lower()
        for match in _PLACEHOLDER.finditer(text)
        for word in _PARTS
    )


def _meanings(name: str, function: Function) -> Iterator[tuple[ast.AST, Function]]:
    """The expressions that a name or an attribute of `self` stands for, each with its function."""
    assigned = assignments(function).get(name, ())
    yield from ((value, function) for value in assigned)
    default = default_of(function, name)
    if default is not None:
        yield default, function
    cls = function.cls
    if cls is not None and name.startswith("self.") and not assigned:
        attr = name[5:]
        for method in cls.self_assigned.get(attr, ()):
            yield from ((value, method) for value in assignments(method).get(name, ()))
        if attr in cls.attributes:
            yield cls.attributes[attr], function.module.body
    elif "." in name and not assigned:
        # `args.out = …` in the function that sets the process up.
        for other in function.module.all_functions:
            if name.partition(".")[0] in other.parameters:
                yield from ((value, other) for value in assignments(other).get(name, ()))
    elif not assigned and name in function.module.assigned and name not in function.parameters:
        body = function.module.body
        yield from ((value, body) for value in assignments(body).get(name, ()))


def is_own(value: Value) -> bool:
    """Whether a value is each rank's own: made from the rank, the clock, the process, the data."""
    if value.variance is Variance.RANK_DEPENDENT or "rank" in value.tags:
        return True
    if value.tags == {"clock"} and value.origin is not None and goes_by_minutes(value.origin):
        return False
    # What `prepare()` has made is as long on every rank: PixArt-alpha cac2fd3 train_scripts/train_pixart_lcm_lora.py:266,
    # a path with `len(train_dataloader)`.
    return value.variance is Variance.RANK_LOCAL and not value.tags <= {"file", "prepared"}


def goes_by_minutes(origin: Origin) -> bool:
    """Whether the clock is written without seconds: ranks that have just started together, or met, read the same.

    ChatLM-mini-Chinese 2696eb8 pre_train.py:128: `time.strftime('%Y%m%d-%H%M')`, right behind the Trainer's end. VGen
    4014d1f tools/train/train_t2v_instructvideo_entrance.py:534: `time.localtime()`, of which `tm_min` is taken at most.
    """
    parts = _parts_of_time(origin)
    if parts:
        return parts <= sinks.NO_SECONDS
    for node in walk(origin.module.source.tree, ast.Call):
        if last_name(node.func) == "strftime" and any(part is origin.node for part in walk(node)):
            texts = [each.value for each in node.args if isinstance(each, ast.Constant)]
            return bool(texts) and not any(_SECONDS.search(str(text)) for text in texts)
    return False


def _parts_of_time(origin: Origin) -> set[str]:
    """The attributes that a function takes from a time that it asks for; nothing where it does more with it."""
    module = origin.module
    for function in module.all_functions:
        for node in own_nodes(function, ast.Assign):
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=asked) if asked is origin.node:
                    loads = {
                        use
                        for use in own_nodes(function, ast.Name)
                        if use.id == name and use not in node.targets
                    }
                    taken = {
                        part.value: part.attr
                        for part in own_nodes(function, ast.Attribute)
                        if part.value in loads
                    }
                    return set(taken.values()) if loads == taken.keys() else set()
    return set()


def _shared(
    node: ast.expr,
    function: Function,
    callers: Mapping[Function, list[CallSite]],
    depth: int,
    listed_alike: bool = False,
) -> bool:
    folder = folder_of(node, function)
    if folder is not None:
        # VGen 4014d1f tools/inferences/inference_instructvideo_entrance.py:262: `os.path.dirname(path)`, of files that are
        # named after a caption each.
        return all(_shared(each, function, callers, depth, listed_alike) for each in folder)
    parameters, elements = sources_of(node, function)
    if (elements and not listed_alike) or spawned_index(function) in parameters:
        return False
    if depth and any(
        _kept_of_share(name, function, callers, depth) for name in _own_attributes(node, function)
    ):
        return False
    asked = parameters - {"self", "cls"}
    sites = callers.get(function, ())
    if not asked or not sites or not depth:
        return True
    return any(_arguments_shared(site, asked, callers, depth, listed_alike) for site in sites)


def _own_attributes(node: ast.expr, function: Function) -> set[str]:
    """The attributes of `self` in a path, through the variables of its function, that other methods assign."""
    assigned = assignments(function)
    names: set[str] = set()
    stack: list[ast.AST] = [node]
    while stack:
        for child in walk(stack.pop()):
            name = dotted_name(child)
            if name and name not in names:
                names.add(name)
                stack.extend(assigned.get(name, ()))
    return {name for name in names if name.startswith("self.") and name not in assigned}


def _kept_of_share(
    name: str, function: Function, callers: Mapping[Function, list[CallSite]], depth: int
) -> bool:
    """Whether an attribute keeps what other methods took from a collection, or were handed of their rank's own.

    zju3dv/NeuralRecon 0fd2df3 utils.py:285: `self.scene_name`, by `__call__` from `outputs["scene_name"][i]`.
    """
    kept = [
        (value, method)
        for value, method in _meanings(name, function)
        if isinstance(value, ast.expr) and not isinstance(value, ast.Constant)
    ]
    return bool(kept) and all(
        method.name != "__init__" and not _shared(value, method, callers, depth - 1)
        for value, method in kept
    )


def _kept_apart(program: Program, node: ast.expr, function: Function) -> bool:
    """Whether an attribute in a path keeps what a constructor was given, and each rank gives its own.

    swav 06b1b7c src/utils.py:92: `PD_Stats(os.path.join(dump_path, "stats" + str(params.rank) + ".pkl"), args)`.
    InternEvo c628a8c internlm/utils/simple_memory_profiler.py:273 makes a variable of it first.
    """
    for name in _own_attributes(node, function):
        given = [
            names_a_part(argument, user)
            for value, method in _meanings(name, function)
            if method.name == "__init__" and method is not function
            for parameter in {dotted_name(child) for child in walk(value)} & {*method.parameters}
            for user, call in callers_by_name(program, method)
            # A class is tried out at the end of its own file.
            if not (user.is_module_body and user.module is method.module)
            if (argument := argument_of(call, method, parameter)) is not None
        ]
        if given and all(given):
            return True
    return False


def _kept_in_options(live: LiveProgram, found: FileCall) -> bool:
    """Whether a path is an attribute of what a function is handed, and all who hand it on have put into it what each
    process makes up.

    LCASAFormer 4e5b3cb train_dist.py:486: `opt.log_dir` with a clock and a number drawn without a seed, and `main(opt)`.
    """
    assert found.path is not None
    names = [dotted_name(each) for each in walk(found.path, ast.Attribute)]
    return any(
        _made_up_above(live, found.function, name, _MAX_CALLERS)
        for name in names
        if name.partition(".")[0] in found.function.parameters and name.count(".") == 1
    )


def _made_up_above(live: LiveProgram, function: Function, name: str, depth: int) -> bool:
    """Whether all callers of a function hand it an object to whose attribute they have given a value of their own."""
    owner, _, attr = name.partition(".")
    sites = live.callers.get(function, ())
    if not sites or not depth or owner == "self":
        return False
    for site in sites:
        given = argument_of(site.node, function, owner)
        if not isinstance(given, ast.Name):
            return False
        here = f"{given.id}.{attr}"
        known = assignments(site.function).get(here)
        if known is None:
            if given.id not in site.function.parameters or not _made_up_above(
                live, site.function, here, depth - 1
            ):
                return False
        elif not all(_is_made_up(live, value, site.function) for value in known):
            return False
    return True


def _is_made_up(live: LiveProgram, value: ast.expr, function: Function) -> bool:
    """Whether each process has its own of a value, by what is called for it: here, or for a variable in it."""
    named = assignments(function)
    values = [value]
    for node in walk(value, ast.Name):
        values += named.get(node.id, ())
    return any(
        group is not None and group.site.result is not None and is_own(group.site.result)
        for each in values
        for call in walk(each, ast.Call)
        for group in (live.call_at(call),)
    )


def _handed_apart(program: Program, node: ast.expr, function: Function) -> bool:
    """Whether a path is handed to a function, and who starts it as processes makes one for each of them.

    llama-recipes faae2fd end-to-end-use-cases/Multi-Modal-RAG/scripts/label_script.py:138: `for rank in range(…):`, with
    `Process(target=process_images, args=(…, f"captions_gpu_{rank}.csv"))` in it.
    """
    return any(
        names_a_part(given, user) or sources_of(given, user)[1]
        for name in sources_of(node, function)[0]
        for user, given in started_with(program, function, name)
    )


def _is_requested(program: Program, node: ast.expr, function: Function) -> bool:
    """Whether a path is a parameter that a request to this process gives: each process gets one of its own.

    AReaL 4aef98d areal/experimental/weight_update/awex/megatron_adapter.py:145, which areal/experimental/training_service/
    worker/awex.py:184 calls below `@bp.route("/debug/get_parameters", methods=["POST"])`.
    """
    return (
        isinstance(node, ast.Name)
        and node.id in function.parameters
        and any(map(_answers, (user for user, _ in namings(program, function.name).calls)))
    )


def _answers(function: Function | None) -> bool:
    """Whether a function stands in one that a server calls for a request."""
    while function is not None:
        if any(
            isinstance(each, ast.Call) and last_name(each.func) in ROUTES
            for each in function.decorators
        ):
            return True
        function = function.parent
    return False


def _own_where_they_meet(live: LiveProgram, found: FileCall) -> bool:
    """Whether the file in which several ranks are seen to come together hands each of them a path of its own.

    VideoX-Fun 804a425 videox_fun/utils/utils.py:265: scripts/wan2.2/train_s2v_lora.py:229 passes
    `f"sample-{global_step}-rank{accelerator.process_index}-….mp4"`; another script, whose rank 0 alone comes, one without a number.
    """
    entry, function = found.joint_entry, found.function
    if entry is None or found.path is None or entry.module is function.module:
        return False
    passed = sources_of(found.path, function)[0] & set(function.parameters)
    given = [
        (site.function, [argument_of(site.node, function, name) for name in passed])
        for site in live.callers.get(function, ())
        if site.module is entry.module
    ]
    return bool(given) and all(
        any(each is not None and names_a_part(each, user) for each in arguments)
        for user, arguments in given
    )


def _arguments_shared(
    site: CallSite,
    asked: set[str],
    callers: Mapping[Function, list[CallSite]],
    depth: int,
    listed_alike: bool = False,
) -> bool:
    assert site.callee is not None
    names = site.callee.parameters
    skipped = 1 if site.callee.cls is not None and names[:1] == ["self"] else 0
    for position, name in enumerate(names[skipped:]):
        if name not in asked or _is_progress(name):
            continue
        value = site.argument(position, name)
        argument = site.argument_node(position, name)
        if value is not None and (is_own(value) or _is_stream(value)):
            return False
        if argument is not None and (
            names_a_part(argument, site.function)
            or not _shared(argument, site.function, callers, depth - 1, listed_alike)
        ):
            return False
    return True


def sources_of(node: ast.expr, function: Function) -> tuple[set[str], bool]:
    """What an expression is made of, through the assignments of its function.

    Returns:
        The parameters that go into it, and whether an element of some collection does: the ranks
        may hold different collections (each its part of a dataset), and do hold different batches.
    """
    assigned, elements = assignments(function), element_names(function)
    batches = batch_names(function)
    names: set[str] = set()
    stack: list[ast.AST] = [node]
    while stack:
        nodes = list(walk(stack.pop()))
        # `[d for d in names if …]` is a selection of `names`, whose sources are followed as well
        # (open-muse training/train_muse.py: the last of the checkpoints in a folder).
        bound = {
            n for c in nodes if isinstance(c, ast.comprehension) for n in target_names(c.target)
        }
        placed = {id(n) for c in nodes if _says_where(c) for n in walk(c)}
        for child in nodes:
            if id(child) in placed:
                continue
            if isinstance(child, ast.Subscript) and dotted_name(child.value) in batches:
                return set(), True
            name = dotted_name(child)
            if name and name not in names and name not in bound:
                names.add(name)
                if name in elements or name.rpartition(".")[0] in batches:
                    return set(), True
                if not _is_progress(name):
                    stack.extend(assigned.get(name, ()))
    return names & set(function.parameters), False


def _says_where(node: ast.AST) -> bool:
    """Whether an argument says on which device something lies, and nothing of what it is.

    EfficientDet.Pytorch fbe56e5 train.py:221: `args.network` out of `torch.load(args.resume, map_location=loc)`.
    """
    return isinstance(node, ast.keyword) and node.arg == "map_location"


def batch_names(function: Function) -> frozenset[str]:
    """The parameters that hold a batch, each rank's own where the data are divided.

    Lumina-T2X 1c60696 lumina_audio/models/autoencoder1d.py:159: files named after `batch["f_name"][b]`.
    """
    place = BATCHES.get(function.name) if function.cls is not None else None
    parameters = function.parameters
    told = parameters[place : place + 1] if place is not None else []
    return BATCH_NAMES.intersection(parameters).union(told)


def asks_existence(site: CallSite) -> bool:
    """Whether the call is made only where a test of the file system came out one way.

    Where it ends in an error the other way, it is no question whether the work is done: DALLE2-pytorch 680dfc4
    dalle2_pytorch/trainer.py:269: `assert not (path.exists() and not overwrite)` in front of the save.
    """
    return any(
        "file" in guard.value.tags and asked_paths(guard.node) and not refuses(site.function, guard)
        for guard in site.guards
    )


def check_before(found: FileCall) -> Guard | None:
    """The test in force that asks whether the path, or one above or below it, exists.

    A download answers to what is missing alone, and not to a test of the address that it comes from: VideoMamba f3427e4
    videomamba/image_sm/main.py:433, `load_state_dict_from_url(args.resume)` under `os.path.exists(args.resume)`.
    """
    fetched = found.effect is Effect.DOWNLOAD
    if found.path is None or (fetched and found.row.path_keyword == "url"):
        return None
    path = parts_of(found.path, found.function)
    for guard in found.site.guards:
        if (guard.exits and _raises(found.function, guard)) or (fetched and _finds_it(guard)):
            continue
        for test in asked_paths(guard.node):
            asked = parts_of(test, found.function)
            of_folder = _makes_folder(found) if asked == path else holds(asked, path)
            if of_folder and _asks_for_file(guard.node, test):
                continue
            if holds(asked, path) or holds(path, asked):
                return guard
    return None


def _makes_folder(found: FileCall) -> bool:
    return found.effect is Effect.CREATE_DIR or found.site.method in sinks.MAKE_FOLDER


def _asks_for_file(condition: ast.expr, path: ast.expr) -> bool:
    """Whether a condition asks if a path is a file: one that becomes a folder is none before nor after.

    transformers 4.16.1 src/transformers/modeling_utils.py:1035: `if os.path.isfile(save_directory):` refuses, and behind
    it the folder is made with `exist_ok=True` and filled; mttl 3724abf mttl/models/base_model.py:124.
    """
    return any(
        last_name(node.func) in ("isfile", "is_file")
        and (
            path in node.args or (isinstance(node.func, ast.Attribute) and node.func.value is path)
        )
        for node in walk(condition, ast.Call)
    )


def _finds_it(guard: Guard) -> bool:
    """Whether a condition holds where all is there that it asks the file system for."""
    answers = [holds for part, holds in literals(guard.node, guard.taken) if asked_paths(part)]
    return bool(answers) and all(answers)


def refuses(function: Function, guard: Guard) -> bool:
    """Whether a condition is that of an assertion, or the other arm of an early exit ends in an error."""
    return (guard.exits and _raises(function, guard)) or any(
        node.test is guard.node for node in own_nodes(function, ast.Assert)
    )


def _raises(function: Function, guard: Guard) -> bool:
    """Whether the other arm of an early exit ends in an error: then nothing is made in its place."""
    statement = statement_with_test(function, guard.node)
    if statement is None:
        return False
    arm = statement.orelse if guard.taken else statement.body
    return bool(arm) and isinstance(arm[-1], ast.Raise)


def asked_paths(condition: ast.expr) -> list[ast.expr]:
    """The paths about which a condition asks the file system."""
    names = {name.rpartition(".")[2] for name in sinks.EXISTENCE_TESTS} | sinks.EXISTENCE_METHODS
    found: list[ast.expr] = []
    for node in walk(condition, ast.Call):
        if last_name(node.func) in names:
            if node.args:
                found.append(node.args[0])
            elif isinstance(node.func, ast.Attribute):
                found.append(node.func.value)
    return found


_FILE_ERRORS: Final = frozenset(
    {
        "Exception",
        "BaseException",
        "OSError",
        "IOError",
        "FileNotFoundError",
        "FileExistsError",
        "EnvironmentError",
    }
)


def marks(site: CallSite) -> bool:
    """Whether a call makes an empty file, or leaves the one that is there: repeated, it does no harm.

    LMFlow f3597db src/lmflow/pipeline/utils/raft_trainer.py:2733; diffusers' dynamic_modules_utils.py in tango.
    """
    return site.method == "touch" and "exist_ok" not in site.keywords


def moves_its_own(found: FileCall) -> bool:
    """Whether a call puts a file of each rank's own in the place of a common one: whoever is last, it is whole.

    esvit 2d6becd datasets/blob_storage.py:158: `os.rename(local_path + rank, local_path)`. Or a path in its own place, which
    does nothing however often: TemCoCo 06bdad4 utils.py:790, below `new_name = path`.
    """
    site = found.site
    if site.name not in sinks.RENAMES or found.row.target is None:
        return False
    source = _path_node(site, found.row.path, found.row.path_keyword)
    if source is None:
        return False
    target = site.argument_node(found.row.target)
    if target is not None and parts_of(source, found.function) == parts_of(target, found.function):
        return True
    if source is found.path:
        return False
    value = path_value(site, source)
    return (value is not None and is_own(value)) or names_a_part(source, found.function)


def tolerated(site: CallSite) -> bool:
    """Whether the call, or what stands around it, takes a file that others made or removed."""
    if marks(site):
        return True
    for keyword, positions in sinks.TOLERANT.items():
        # `rmtree(path, True)`: lightweight-gan efbec45 lightweight_gan/lightweight_gan.py:1626.
        value = site.argument(positions.get(site.name), keyword)
        if value is not None and value.truthiness() is not False:
            return True
    caught = [handler.type for attempt in site.tries for handler in attempt.handlers]
    for node in own_nodes(site.function, ast.With, ast.AsyncWith):
        if stands_in(site, node):
            for item in node.items:
                call = item.context_expr
                if isinstance(call, ast.Call) and last_name(call.func) == "suppress":
                    caught.extend(call.args)
    return any(kind is None or _catches(kind) for kind in caught)


def _catches(kind: ast.expr) -> bool:
    kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    return any(last_name(each) in _FILE_ERRORS for each in kinds)


def stands_in(site: CallSite, block: ast.With | ast.AsyncWith) -> bool:
    """Whether a call of the same function stands in the body of a `with`."""
    return block.body[0].lineno <= site.node.lineno <= (block.end_lineno or block.lineno)
