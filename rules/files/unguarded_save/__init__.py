"""Every rank writes the same file.

## What it does
Reports a write to one path that rank 0 and other ranks perform together: `torch.save`, `save_file`,
`save_pretrained`, `json.dump`, `numpy.save`, `open(path, "w")`, a download without a lock, and the like.
The program itself must show that several ranks come there: the function performs a collective, tests the
rank elsewhere, is a method that a trainer calls on every rank, or is called by such code under no test
of the rank. Or a script or page beside the code starts the program on several processes (`torchrun`, `deepspeed`, `srun` with several
tasks, `accelerate launch` with a number or a configuration that has one): then all of them run it from its first line to its
last. Also a write that the other ranks make of the same path on the other arm of a test of the rank, or of the path that they
are left with where rank 0 alone chooses another one.
`main_process_first()` of training arguments, and reading a distributed checkpoint, work on one process as
well: they show nothing of who calls the function, nor of a script that makes no ranks.
Nor does a test of an option (`args.local_rank in [-1, 0]`) where nothing makes a group, picks a device by it or divides
data, a Trainer whose model one process spreads over all devices, or a parameter `is_main_process=True` for which
nobody passes anything.
A notebook is one process unless it starts more (`notebook_launcher`, `!torchrun`), and `args.gpu is None` tells
no ranks apart. A file opened with "r+" that is only read is not written.

What a class does shows nothing of a script that uses it, says nothing of ranks, trains nothing and is started by no launch.

Silent where the rank (also in the name of what is copied into a folder), a temporary name or an element of this rank's batch goes into the path, where one rank goes first
(`main_process_first`, `if rank != 0: barrier()` … `if rank == 0: barrier()`, a context manager of the
project that does so), in a function that builds a parallel layout whose sizes are all 1, in a program that
asserts one process at its start, under an option that the program computes with a question for the main process in it, in the
branch of an option for no ranks whose other branch asks which one this is, where a comment on the call says that it works on one GPU only, in a branch for a constant that no caller passes, no choice of the command line is
or an assertion has excluded, and on calls that choose the writing rank themselves
(`accelerator.save`, `Trainer.save_model`, DCP, `engine.save_checkpoint`).

A warning where something shows the harm:

| what is written | what happens |
| --- | --- |
| what comes over the network: `torch.hub.load`, data sets of torchvision, `requests.get()` into `open(path, "wb")` | a rank that comes a little later finds half of it |
| a file that the run reads: at the same path, by who is handed the path below, by a function that is called with the folder, as `deepspeed_config`; not where all ranks meet between the two | it may be empty or half written then |
| what is of a rank's part of the data, or of the batch of a hook | the part of one rank is left |
| what each has drawn without one seed for all | a mixture may be left |
| what names the rank, `TrainerState`, what `Trainer.evaluate()` returns (with how long it took) | lines of another length: the end of one stands behind another's |
| a log, or answers of a model one after the other, in a file opened with "w" | the lines of one stand over those of the others |
| a file that all open with "w" or "wb", and rank 0 alone writes into, before a loop runs a model | who opens it later empties it |
| an array that all map with "w+" | each sets to zero what another has filled in |
| a list that begins empty and that rank 0 alone puts anything into | the others leave it empty |
| weights, those that `pickle` writes into an open file among them, arrays, videos, unpacked archives | it takes long; a job that ends meanwhile leaves half of it |
| `os.symlink`, `shutil.copytree`, `open(path, "x")` | FileExistsError on all ranks but one |
| `push_to_hub=True`, and what uploads by itself: `tokenizer.push_to_hub(…)`, `HfApi().upload_folder(…)` | a commit of each |
| `save_pretrained(…, is_main_process=…, state_dict=accelerator.get_state_dict(model))` in a launch with ZeRO-3 | the others have no state, and write the empty parameters that they hold over it (an error) |

An error where it is a checkpoint, in a file in which all ranks are seen to come, but a warning where the run itself reads it
in front of the write alone, to go on from an earlier run, and where all ranks write the same bytes of it: by `save_pretrained` or as
safetensors, which name no device, in no launch with FSDP or ZeRO-3 and read by nothing in the run, and in a handler of exceptions.
Information elsewhere: a configuration, the
options, a list of scores that are the same on all ranks, a picture, a tokenizer, a README, of which nothing shows that ranks write
other lines or that the run reads them.
Information, too, where all that shows the ranks works on one process as well (a barrier, a wrapped model, an
Accelerator, a trainer or its hook, a test of the rank), nothing above makes the group, and no launch starts what leads
there on several processes: a script or page beside the code, a configuration, a number as in `Trainer(devices=2)`, or what a run
that the project shows tells a Trainer of Lightning (`Trainer(**cfg.trainer)`, and `python train.py trainer=ddp`). A
file without any script or page beside it is no such case: nothing there could tell of a launch.

Downloads that the first process has made in front of the `fit` of Lightning, which starts the others, are
no finding, nor is the second split of a data set from one archive where the function, or all callers, ask for the other one
first, or a class of the program's own fetches it above, nor a data set at the top of a script that spawns its ranks, or that their
parent asks for alike, which it has fetched, nor what `setup`
of a data module calls behind its `prepare_data`, where it asks whether it is there; what holds the lock of a file, `fcntl.flock`
among them; what rank 0 runs in a thread; what goes into a folder that each rank makes right above without `exist_ok`: one rank comes
that far (DL305).

## Why it is bad
The processes truncate and fill one file at the same time. What is left is a mixture, or the file is
complete only until a slower rank opens it again; a job that is killed meanwhile leaves half a checkpoint.
With sharded models each rank overwrites the others with its own part.

## Errors you may see
- `PytorchStreamReader failed`
- `unexpected EOF, expected`

## Example
```python
accelerator.wait_for_everyone()
torch.save(model.state_dict(), path)
```

## Use instead
```python
accelerator.wait_for_everyone()
save(model, path)
```
All ranks call `save`: the state is gathered from all of them, rank 0 writes it to a temporary name and
renames it. `if main: torch.save(model.state_dict(), path)` is not the repair: it hangs under FSDP1 and
writes half a checkpoint, without an error, under FSDP2 (measured with torch 2.13.0).

## Fix safety
`save(...)` and `run_on_main(...)` need all ranks. The fix is safe where the analysis shows that they
arrive: a collective in the same function or in one that calls it, or a trainer's hook, and no condition
that ranks may answer differently. It is unsafe elsewhere, where the keys of the saved state change
(`module.` goes), where a model's own `save_pretrained` is moved to rank 0, and for `with open(...)`
blocks, and where an option says whether anything is downloaded. Where only a test of the rank shows that several ranks come, what needs all of them is shown and never
applied, and the finding is information; it is a warning in a program whose ranks never exchange anything.

Shown only: what stands under a comparison of scores that each rank has computed for itself, what is each rank's part of the data, or of a model of torchrec's, and what a trainer's hook reaches through a helper whose path
other callers choose, too.

A helper that some callers reach on one rank alone is left as it is: the call that all ranks make becomes
`run_on_main(helper, ...)`, also where it stands in another file, or up to five times in one. A statement goes
under the test of rank 0 that the function has already. Downloads into a library's cache let the first rank of each
machine go first. Nothing is offered for what stands in front of `init_process_group()`, or in the constructor of a
LightningModule, where every process takes itself for rank 0, and for
`with` blocks of more than a few lines or with loops, which may hold each rank's share.

## Known limits
What each turn of a loop through the data writes anew over one path is information: one process leaves the last turn, too.
A path that a function receives counts as the same on all ranks unless a caller is seen to pass a
rank's own. Elements of collections count as the rank's own, and so does every path with the local rank,
also where several machines share a disk. `rank % 2` counts as a name of its own, and a path that a request gives is one
process's. What is downloaded in front of the `fit` of Lightning that starts the other ranks is there when they come; what
they write anew there is found. Writes through unknown
functions are not seen. A collective that is made only where there is a process group (`if dist.is_initialized()`) shows
nothing of a script that makes none.

## References
- torch 2.13.0 torch/serialization.py: `save` opens the path with "wb"
- accelerate 1.15.0 accelerate/utils/other.py: `save` writes on the main process only
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from distlint.analysis.interpreter.ranks import MAIN
from distlint.analysis.interpreter.values import Variance
from distlint.analysis.live.joint_entry import BARRIERS, in_handlers, lets_engine_in
from distlint.analysis.live.several import ranks_meet
from distlint.analysis.model import evidence, place_of, related, span_of
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.analysis.questions import filesystem as files
from distlint.analysis.questions.alone import (
    called_by_main_alone,
    is_beside_ranks,
    left_to_flag,
)
from distlint.analysis.questions.contents import holds_state, is_large, pickles_module
from distlint.analysis.questions.harms import OVERWRITTEN, Harm, harm_of
from distlint.analysis.questions.launched import is_for_one_gpu
from distlint.analysis.questions.locks import in_turn_by_lock
from distlint.analysis.questions.made_before import left_to_first, made_before_fit, prepared_before
from distlint.analysis.questions.read_back import only_resumes, read_behind_a_wait
from distlint.analysis.questions.sections import after_main, in_turn
from distlint.analysis.questions.sharding import keeps_parts
from distlint.analysis.questions.terminals import never_answered
from distlint.analysis.questions.written_by_main import leaves_all_to_main, leaves_to_main
from distlint.edits import Replace
from distlint.findings import Applicability, Finding, Fix, Related, Severity
from distlint.knowledge import facts, sinks
from distlint.knowledge.schema import Effect
from distlint.knowledge.sinks import KEEPS_WHAT_IS_THERE
from distlint.knowledge.versions import SAVES_BY_FUNCTION
from distlint.launch.engines import SHARDING
from distlint.nodes import last_name, walk
from distlint.repairs import downloads, guarding
from distlint.repairs.blocks import block_with
from distlint.repairs.premises import (
    everyone_comes,
    group_comes_later,
    is_decided_by_score,
    joint_callers,
    may_come_alone,
    meetings_in,
    on_import,
    ranked_callers,
)
from distlint.rule import Status

from .either_way import either_way
from .emptied import emptied
from .together import is_there, one_of_each_section

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.live.joint_entry import JointEntry
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function
    from distlint.analysis.questions.filesystem import FileCall

CODE = "DL301"
NAME = "unguarded-save"
SEVERITY = Severity.ERROR
STATUS = Status.STABLE
LITERALS = (b"DistributedSampler",)  # what divides data shows several ranks in another file, too

_NAMED_WRITES = frozenset(
    {
        "save",
        "savefig",
        "save_pretrained",
        "dump",
        "imsave",
        "imwrite",
        "to_csv",
        "to_json",
        "savez",
    }
)
"""What writes to a file in nearly every library."""


def check(model: Model) -> Iterator[Finding]:
    """Writes to one path by several ranks."""
    yield from one_of_each_section(_found(model))


def _found(model: Model) -> Iterator[Finding]:
    for found in _without_repeats(filter(_by_all, model.file_calls)):
        joint_entry = found.joint_entry
        if (
            joint_entry is None
            or files.check_before(found) is not None
            or in_turn(model, found.site)
            or in_turn_by_lock(model, found.site)
            or prepared_before(model, found)
            or left_to_first(model, found)
            or never_answered(model, found.site, joint_entry)
            or (found.effect is Effect.DOWNLOAD and _is_fetched_by_first(model, found, joint_entry))
            or (found.site.name in KEEPS_WHAT_IS_THERE and after_main(model, found.site))
            or not files.same_path(model, found)
            or is_there(model, found, joint_entry)
            or model.starts_one(found.site.module, joint_entry)
            or _several_ask(model, found)
            or is_for_one_gpu(joint_entry.call or found.site)
            or leaves_all_to_main(found.site)
            or left_to_flag(model, found.site)
            or (not joint_entry.all_ranks and called_by_main_alone(model, found.function))
            or _asked_where_there_are_ranks(found)
            or (
                leaves_to_main(found.site)
                and model.is_before(*SAVES_BY_FUNCTION, found.site.module)
            )
        ):
            continue
        node, module = found.site.node, found.site.module
        harm = harm_of(model, found)
        if found.by_others:
            if harm is not None:
                yield _by_others(found, harm, joint_entry)
            continue
        if harm is None:
            yield Finding(
                CODE,
                NAME,
                Severity.INFO,
                f"all ranks write `{found.text}`: {joint_entry.text}. {_harmless(model, found)}; let rank 0 alone write them.",
                place_of(module, node),
                evidence(joint_entry),
            )
            continue
        fix = _fix(model, found, joint_entry)
        if when := "in DeepSpeed or FSDP " if _is_let_in_by_engine(found.site) else "":
            # What needs all ranks would hang where the test lets rank 0 alone in.
            fix = Fix(Applicability.DISPLAY, "Ask for rank 0 alone around it")
        if fix is not None and fix.edits and (advice := _of_parts(found, harm)):
            fix = Fix(Applicability.DISPLAY, advice)
        fails = id(node) in in_handlers(found.function)
        if fails and _is_state(model, found):
            fix = Fix(
                Applicability.DISPLAY,
                "Let rank 0 alone write it: nothing there can wait for the others",
            )
        does = f"write `{found.text}`"
        if found.effect is Effect.DOWNLOAD:
            does = f"download `{found.text}` into one folder"
        elif found.effect is Effect.UPLOAD:
            does = f"upload to `{found.text}`"
        yield Finding(
            CODE,
            NAME,
            # What shows in another file alone may be so of another way here (an endpoint of one rank:
            # megatron-core 0.19.2, inference/text_generation_server/endpoints/completions.py:143). A test of the
            # rank is no proof that all come (13 of 15 such errors were false at first sight, docs/precision.md, and 7 of 9
            # warnings: cosmos-transfer1 5005e82 cosmos_transfer1/checkpointer/fsdp_checkpointer.py:238).
            Severity.INFO
            if not joint_entry.all_ranks
            else Severity.ERROR
            if _is_state(model, found)
            # In a handler of exceptions only who has failed comes: SummerLM 99bbe51 main_distributed.py:247.
            and not (when or fails)
            and not only_resumes(model, found)
            and not _is_alike(model, found, harm)
            and joint_entry.module is module
            and ranks_meet(model.program, module)
            else Severity.WARNING,
            f"{when}all ranks {does} at the same time: {joint_entry.text}, and {harm.text}. {_advice(fix)}",
            place_of(module, node),
            (*evidence(joint_entry), *harm.at),
            fix,
        )
    for other, main in either_way(model):
        yield Finding(
            CODE,
            NAME,
            Severity.ERROR if _is_state(model, other) else Severity.WARNING,
            f"the other ranks write `{other.text}` at the same time as rank 0 does, and what is left of the "
            "file is whatever they happened to write last. Drop this arm.",
            place_of(other.site.module, other.site.node),
            (related(main.site.module, main.site.node, "rank 0 writes it here"),),
            Fix(Applicability.DISPLAY, "Drop this arm"),
        )
    for site, start in emptied(model):
        fix = Fix(
            Applicability.DISPLAY, "Let rank 0 alone make this call, behind `get_state_dict()`"
        )
        yield Finding(
            CODE,
            NAME,
            SEVERITY,
            "all ranks write `model.safetensors` at the same time: `is_main_process` asks for the configuration alone, and "
            "under ZeRO-3 the other ranks have None for a state, so that they write the empty parameters that they hold. "
            f"{fix.message}.",
            place_of(site.module, site.node),
            (Related(start.place, "this launch"),),
            fix,
        )


def _harmless(model: Model, found: FileCall) -> str:
    """What is known of a write that harms nothing."""
    if read_behind_a_wait(model, found):
        return "Nothing shows that they write other lines, and all ranks wait before their run reads these"
    return "Nothing shows that they write other lines, or that their run reads these"


def _by_others(found: FileCall, harm: Harm, joint_entry: JointEntry) -> Finding:
    fix = Fix(Applicability.DISPLAY, "Give all ranks the path of rank 0, and let it alone write")
    return Finding(
        CODE,
        NAME,
        Severity.WARNING,
        f"rank 0 writes to a path of its own, and all other ranks to one `{found.text}` at the same time: "
        f"{joint_entry.text}, and {harm.text}. {fix.message}.",
        place_of(found.site.module, found.site.node),
        (*evidence(joint_entry), *harm.at),
        fix,
    )


def _by_all(found: FileCall) -> bool:
    """Whether a call writes a file on several ranks at once, with nothing that makes them take turns."""
    return (
        found.joint_entry is not None
        and found.effect in (Effect.WRITE, Effect.DOWNLOAD, Effect.UPLOAD)
        and found.row.effect is not Effect.DELETE
        and not found.row.locked
        and not (found.effect is Effect.DOWNLOAD and found.row.atomic)
        and found.by_several
        and not files.marks(found.site)
    )


def _is_let_in_by_engine(site: CallSite) -> bool:
    """Whether all ranks come where an engine shards the model, and else rank 0 alone."""
    return any(guard.taken and lets_engine_in(guard.node) for guard in site.guards)


def _several_ask(model: Model, found: FileCall) -> bool:
    """Whether all callers of a helper ask for the rank but those that an option leaves with one process.

    OpenLTM 0b30050 utils/tools.py:64: `if self.ddp: if self.local_rank == 0: self.save_checkpoint(…)`, and without the test
    in the `else`; run.py makes the process group under `elif args.ddp`.
    """
    together = model.callers.get(found.function, ())
    return (
        bool(together)
        and all(
            is_beside_ranks(site) or model.is_of_one_process(site.module.path, site.node.lineno)
            for site in together
        )
        and bool(ranked_callers(model, found.function))
    )


def _asked_where_there_are_ranks(found: FileCall) -> bool:
    """Whether the others come to a write only where an option says that there are none: else they have left above.

    MoAI a7728a8 datasets/evaluation/textvqa_evaluation.py:103, below `if self._distributed: … if not is_main_process():
    return {}` and its `else`.
    """
    others = [site for rank, site, _ in found.sites if rank is not MAIN]
    return bool(others) and all(map(is_beside_ranks, others))


def _is_fetched_by_first(model: Model, found: FileCall, joint_entry: JointEntry) -> bool:
    """Whether `fit` of Lightning starts the other ranks behind a download: they find all of it when they run it again.

    lightly e8d317f examples/pytorch_lightning_distributed/nnclr.py:57. What each writes anew they write beside one another.
    """
    return model.fetched_by_first(joint_entry) or (
        made_before_fit(found) and model.ranks_come_in_fit(joint_entry.module)
    )


def _without_repeats(calls: Iterable[FileCall]) -> Iterator[FileCall]:
    """The calls without downloads of what their file has fetched further up: it is there when asked again.

    dino 7c446df main_dino.py:47: `torch.hub.list(…)`, and twice `torch.hub.load(…)` of the same below.
    """
    fetched: dict[tuple[str, str], list[CallSite]] = {}
    for found in calls:
        path = found.sites[0][2]
        if found.effect is Effect.DOWNLOAD and path is not None and path.known:
            before = fetched.setdefault((found.site.module.path, str(path.const)), [])
            if any(not files.on_the_other_arm(found.site, site) for site in before):
                continue
            before.append(found.site)
        yield found


def _is_state(model: Model, found: FileCall) -> bool:
    return holds_state(found) and is_large(model, found)


def _is_alike(model: Model, found: FileCall, harm: Harm) -> bool:
    """Whether all ranks write the same bytes of one model, which the run does not read: the file ends up whole mostly.

    safetensors has no device in it, which `torch.save` writes of each tensor. santacoder-finetuning 13b6933 train.py:270,
    behind `trainer.train()`; in ZeRO-3 or FSDP each rank has another part.
    """
    return (
        harm.text == OVERWRITTEN
        and (found.site.method == "save_pretrained" or found.site.name in sinks.WITHOUT_DEVICES)
        and model.start_in(SHARDING, found.site.module) is None
    )


def _of_parts(found: FileCall, harm: Harm) -> str:
    """What to do where each rank writes a part, so that one writer would leave out the rest; empty elsewhere."""
    if holds_state(found):
        parts = keeps_parts(found.site.module)
        return "Save what each rank holds: `torch.distributed.checkpoint`" if parts else ""
    return "Put together what each rank has, and let rank 0 write it" if harm.of_share else ""


def _advice(fix: Fix | None) -> str:
    return "Write it once, on rank 0." if fix is None else f"{fix.message}."


def _fix(model: Model, found: FileCall, joint_entry: JointEntry) -> Fix | None:
    if (moved := on_import(joint_entry)) is not None:
        return moved
    site = found.site
    text, node = site.module.source.text, site.node
    # A test of the rank shows that several ranks come, not that all do: what needs all is for people to judge
    # (FlagEmbedding's trainers, trlx's examples: 13 wrong edits).
    together = joint_entry.all_ranks and not is_decided_by_score(model, site)
    least = Applicability.UNSAFE if together else Applicability.DISPLAY
    safe = Applicability.SAFE if together and everyone_comes(model, site, joint_entry) else least
    if found.effect is Effect.DOWNLOAD and isinstance(site.statement, (ast.Expr, ast.Assign)):
        return _fetched_first(model, found, least if _is_asked_for(site) else safe)
    if any(guard.value.variance is Variance.RANK_LOCAL for guard in site.guards):
        return None  # each rank decides for itself: what needs all ranks would hang here
    if ranked_callers(model, found.function):
        moved = _at_the_callers(model, found)
        if moved is not None:
            return moved
    if _belongs_to_callers(model, found, joint_entry):
        call = joint_entry.call or site
        where = f"{call.module.path}:{call.node.lineno}"
        advice = f"Let rank 0 alone make the call in {where}"
        return _in_the_call(model, found, call, advice) or Fix(Applicability.DISPLAY, advice)
    if _writes_more(model, found) and (whole := _at_the_callers(model, found)) is not None:
        return whole
    if isinstance(site.statement, ast.Expr) and site.statement.value is node:
        of_module = pickles_module(model, found)
        if site.name in ("torch.save", "safetensors.torch.save_file") and not of_module:
            made = _through_save(model, found)
            if made is not None:
                edit, keeps_keys = made
                return Fix(
                    safe if keeps_keys else least,
                    "Save with `save()`, called by all ranks",
                    (edit,),
                )
        if (trainer := _trainer_of(model, found)) is not None:
            advice = f"Save with `{trainer}.save_model()`, called by all ranks: in FSDP `save_pretrained` gathers"
            return Fix(Applicability.DISPLAY, advice)
        gathers = (
            found.effect is Effect.UPLOAD
            or (of_module and model.may_shard)
            or (_is_state(model, found) and site.method == "save_pretrained")
        )
        replaced = (
            guarding.statement_on_main(text, site.statement, "$rank_info().rank == 0")
            if _is_told_state(model, found)
            else None
        )
        if replaced is not None:
            return Fix(least, "Let rank 0 alone write it", (replaced,))
        replaced = guarding.call_on_main(text, node)
        if replaced is None:
            return None
        return Fix(
            least if gathers else safe,
            "Write on rank 0 while the others wait: `run_on_main()`",
            (replaced,),
        )
    statement = site.statement
    if not isinstance(statement, (ast.With, ast.Expr)):
        return None
    if _is_general(model, found):
        call = joint_entry.call or next(iter(model.callers[found.function]))
        advice = f"Let rank 0 alone make the call in {call.module.path}:{call.node.lineno}"
        return _at_the_callers(model, found) or Fix(Applicability.DISPLAY, advice)
    used = guarding.names_read_after(site.function.node, statement)
    if group_comes_later(model, site):
        return Fix(Applicability.DISPLAY, "Write it behind `init_process_group()`, on rank 0")
    guarded = guarding.statement_on_main(text, statement, "$rank_info().rank == 0")
    if guarded is None or guarding.names_bound(statement) & used:
        return None
    if found.path is not None and _is_needed_below(model, found, statement, found.path):
        # The others do not wait, and would read what is not there yet
        # (nemo-toolkit 3.0.0 nemo/collections/tts/g2p/models/ctc.py:140: the vocabulary).
        return None
    return Fix(Applicability.UNSAFE, "Let rank 0 alone write it", (guarded,))


def _is_asked_for(site: CallSite) -> bool:
    """Whether an option says whether anything is downloaded: else all would wait for rank 0's scan of its folders.

    poolformer a075575 train.py:494: `create_dataset(…, download=args.dataset_download)`, which is off by default.
    """
    return any(
        keyword.arg == "download" and not isinstance(keyword.value, ast.Constant)
        for keyword in site.node.keywords
    )


def _trainer_of(model: Model, found: FileCall) -> str | None:
    """The trainer whose model is saved: after `train()` it may be in FSDP, and rank 0 would gather alone.

    LMFlow f3597db src/lmflow/pipeline/dpov2_aligner.py:108. Its layers are, too, where the model is saved by the name
    that the trainer was given: LLMZoo cf70d9c train.py:65, whose launches say `--fsdp`.
    """
    match found.site.node.func:
        case ast.Attribute(attr="save_pretrained", value=ast.Attribute(attr="model", value=owner)):
            if "trainer" in last_name(owner).lower():
                return ast.unparse(owner)
        case ast.Attribute(attr="save_pretrained", value=ast.Name(id=name)) if model.may_shard:
            return next(
                (
                    trainer
                    for trainer, values in assignments(found.function).items()
                    if any(_trains(value, name) for value in values)
                ),
                None,
            )
    return None


def _trains(value: ast.expr, name: str) -> bool:
    """Whether a trainer is made for the model that a variable holds."""
    if not isinstance(value, ast.Call) or not last_name(value.func).endswith("Trainer"):
        return False
    given = [k.value for k in value.keywords if k.arg == "model"] or value.args[:1]
    return any(isinstance(node, ast.Name) and node.id == name for node in given)


def _is_needed_below(model: Model, found: FileCall, statement: ast.stmt, path: ast.expr) -> bool:
    """Whether the path is written again below, with no barrier in front of it: here, or where a caller gives it.

    CosyVoice ace7c47 cosyvoice/cli/model.py:84: `convert_onnx_to_trt(path, …)`, then `open(path, "rb")`.
    """
    function = found.function
    if _all_wait_behind(function, statement, path):
        return False
    if guarding.written_after(function.node, statement, path):
        return True
    # litgpt 2685705 litgpt/utils.py:551: `checkpoint_dir / "model_config.yaml"`, which the callers go on with.
    named = {node.id for node in walk(path, ast.Name)}
    for name in sorted(named & set(function.parameters)):
        position = function.parameters.index(name)
        for site in model.callers.get(function, ()):
            given = site.argument_node(position, name) or site.argument_node(position)
            if given is not None and guarding.written_after(
                site.function.node, site.statement, given
            ):
                return True
    return False


def _all_wait_behind(function: Function, statement: ast.stmt, path: ast.expr) -> bool:
    """Whether a barrier follows a statement in its own block, before anything there names the path."""
    block = block_with(function, statement) or []
    for behind in block[block.index(statement) + 1 :] if block else ():
        if isinstance(behind, ast.Expr) and last_name(behind.value) in BARRIERS:
            return True
        if guarding.written_after(behind, statement, path):
            return False
    return False


def _is_told_state(model: Model, found: FileCall) -> bool:
    """Whether a write is in a trainer's callback, whose `state` says who is rank 0, and no rank reads it below.

    artidoro/qlora 7f4e95a qlora.py:271: every callback of transformers itself guards its writes so.
    """
    return _is_hook(model, found.function) and not (
        found.path is not None and _is_needed_below(model, found, found.site.statement, found.path)
    )


def _is_hook(model: Model, function: Function) -> bool:
    """Whether a function is a hook of a trainer's callback, which is given the trainer's `state`."""
    return (
        function.cls is not None
        and "state" in function.parameters
        and "transformers.TrainerCallback"
        in facts.with_bases(tuple(model.program.mro(function.cls)[1]))
    )


def _belongs_to_callers(model: Model, found: FileCall, joint_entry: JointEntry) -> bool:
    """Whether callers choose the path of a helper, and some of them may come alone with a path of their own."""
    # Beside a collective of the caller the helper is part of a program; what a hook calls may be a library's.
    if found.path is None or joint_entry.call is None or joint_entry.by_collective:
        return False
    own = set(found.function.parameters) - {"self", "cls"}
    named = {node.id for node in walk(found.path, ast.Name)}
    return bool(own & named) and may_come_alone(model, found.function)


def _at_the_callers(model: Model, found: FileCall) -> Fix | None:
    """The fix of a helper, where all ranks call it: in a few statements, of this file or of others."""
    sites = joint_callers(model, found.function)
    edits = [guarding.call_on_main(site.module.source.text, site.node) for site in sites]
    calls = [call for site in sites if (call := model.call_at(site.node)) is not None]
    entries = [model.joint_entry_at(call) for call in calls]
    if not edits or None in edits or None in entries or len(entries) != len(sites):
        return None
    safe = all(
        entry is not None and everyone_comes(model, site, entry)
        for site, entry in zip(sites, entries, strict=True)
    )
    own = found.function.module.path
    by_file: dict[str, list[tuple[int, Replace]]] = {}
    for site, edit in zip(sites, edits, strict=True):
        if edit is not None:
            by_file.setdefault(site.module.path, []).append((site.node.lineno, edit))
    where = [_lines_of(path if path != own else "", rows) for path, rows in by_file.items()]
    (path, rows), *more = by_file.items()
    return Fix(
        Applicability.SAFE if safe else Applicability.UNSAFE,
        f"Call `{found.function.name}` on rank 0 while the others wait, in {' and '.join(where)}: `run_on_main()`",
        tuple(edit for _, edit in rows),
        path if path != own else "",
        tuple((path, tuple(edit for _, edit in rows)) for path, rows in more),
    )


def _lines_of(path: str, rows: Sequence[tuple[int, Replace]]) -> str:
    """The lines of a file, or without a path of this one, as a message names them."""
    lines = ", ".join(str(line) for line, _ in rows)
    return f"{path}:{lines}" if path else f"line{'s' * (len(rows) > 1)} {lines}"


def _is_general(model: Model, found: FileCall) -> bool:
    """Whether a function only writes what callers give it to where they say: which rank writes is theirs to know.

    InternVideo 3965eef InternVideo1/Pretrain/ViCLIP/utils/basic_utils.py:234: `save_json(data, filename)`, which
    all but one script call on rank 0.
    """
    path = found.path
    function = found.function
    return (
        isinstance(path, ast.Name)
        and path.id in function.parameters
        and function.cls is None
        and found.site.statement in function.body
        and len(model.callers.get(function, ())) > 1
    )


def _writes_more(model: Model, found: FileCall) -> bool:
    """Whether a helper writes more than this to where callers say, and does nothing that is for all ranks.

    capi 98b4fa1 eval_visualizations.py:218: a grid, and below it each picture in it.
    """
    function = found.function
    if found.path is None or function.cls is not None or _keeps_something(function):
        return False
    where = set(function.parameters) & _names(found.path)
    others = [
        node
        for node in own_nodes(function, ast.Call)
        if node is not found.site.node and _is_named_write(node)
    ]
    given = ((*node.args, *(keyword.value for keyword in node.keywords)) for node in others)
    more = any(where & _names(argument) for arguments in given for argument in arguments)
    return more and not meetings_in(model, function)


def _is_named_write(node: ast.Call) -> bool:
    name = last_name(node.func)
    return name in _NAMED_WRITES or (name == "open" and any("w" in _text_of(a) for a in node.args))


def _text_of(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _names(node: ast.expr) -> set[str]:
    return {part.id for part in walk(node, ast.Name)}


def _in_the_call(model: Model, found: FileCall, call: CallSite, advice: str) -> Fix | None:
    """The fix of a helper whose callers choose the path: rank 0 makes the call, where it does nothing but to write.

    It may stand in another file: each script that all ranks run has such a call of its own.
    """
    helper = found.function
    alone = isinstance(call.statement, ast.Expr) and call.statement.value is call.node
    if not alone or call.callee is not helper or not call.module.source.reported:
        return None
    if meetings_in(model, helper) or _keeps_something(helper):
        return None
    text = call.module.source.text
    elsewhere = "" if call.module is helper.module else call.module.path
    if _is_hook(model, call.function):
        # sentence-transformers 6.2.0 cross_encoder/fit_mixin.py:75: as transformers' own callbacks do.
        guarded = guarding.statement_on_main(text, call.statement, "$rank_info().rank == 0")
        return Fix(Applicability.UNSAFE, advice, (guarded,), elsewhere) if guarded else None
    edit = guarding.call_on_main(text, call.node)
    if edit is None:
        return None
    return Fix(Applicability.UNSAFE, f"{advice}, while the others wait", (edit,), elsewhere)


def _keeps_something(function: Function) -> bool:
    """Whether a function changes what outlives it: an attribute, an element, a name of the module."""
    return any(
        isinstance(node, ast.Global | ast.Nonlocal)
        or (isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store))
        for node in own_nodes(function)
    )


def _fetched_first(model: Model, found: FileCall, safety: Applicability) -> Fix | None:
    """The fix of a download."""
    if any(guard.value.variance is Variance.RANK_LOCAL for guard in found.site.guards):
        return None
    if made_before_fit(found):
        # No group yet in which rank 0 could go first: pytorch-ddp-examples 4467e84 mnist_lightning_ddp.py:62, under srun.
        advice = "Fetch it in `prepare_data()`, which Lightning calls on one rank of each machine"
        return Fix(Applicability.DISPLAY, advice)
    return downloads.first(model, found, safety)


def _through_save(model: Model, found: FileCall) -> tuple[Replace, bool] | None:
    """`save(obj, path)`, and whether the file's contents keep their keys."""
    site = found.site
    text, node = site.module.source.text, site.node
    if len(node.args) != 2 or node.keywords or any(isinstance(a, ast.Starred) for a in node.args):
        return None
    saved, path = node.args
    what, keeps = guarding.source(text, saved), True
    if (
        isinstance(saved, ast.Call)
        and isinstance(saved.func, ast.Attribute)
        and saved.func.attr == "state_dict"
        and not saved.args
        and not saved.keywords
    ):
        call = model.call_at(saved)
        owner = call.site.receiver if call is not None else None
        if owner is not None and (owner.wraps or "unwrapped" in owner.tags):
            what, keeps = guarding.source(text, saved.func.value), not owner.wraps
    if site.name == "torch.save" and what == guarding.source(text, saved):
        given = guarding.source(text, node).removeprefix(guarding.source(text, node.func))
        return Replace(span_of(node), f"$save{given}"), keeps
    function = "" if site.name == "torch.save" else f", save_fn={guarding.source(text, node.func)}"
    code = f"$save({what}, {guarding.source(text, path)}{function})"
    return Replace(span_of(node), code), keeps
