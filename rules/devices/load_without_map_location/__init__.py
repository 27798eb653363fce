"""Every rank loads a checkpoint onto the device that it was saved from.

## What it does
Finds `torch.load` of a checkpoint without `map_location`, in a function that several ranks enter together.

## Why it is bad
A tensor comes back to the device that its file names: that of the rank that saved it, nearly always
`cuda:0`. All ranks of a machine put their copy there, before it is copied on to their own GPUs: with eight
ranks, eight checkpoints and eight CUDA contexts in the memory of the first GPU, which then runs out of it,
while the same script works with two.

## Errors you may see
- `CUDA out of memory`
- `Attempting to deserialize object on CUDA device`

## Example
```python
state = torch.load(path)
model.load_state_dict(state)
```

## Use instead
```python
state = torch.load(path, map_location="cpu")
model.load_state_dict(state)
```

## Fix safety
Safe where the result goes to `load_state_dict`, which copies to the device of the parameters; unsafe
elsewhere, since the program then holds tensors on the CPU; shown only where it computes with one of them.

## Known limits
Only what is a checkpoint by the names around it or by a part of it that `load_state_dict` gets, and only where the program shows that several ranks come
there. Information where nothing in the program writes weights: who has made the file may have done so from the
CPU. Silent where the program itself saves files of that name from the CPU, or lists of samples, or the state
of a sampler or scheduler; where a file is called like published weights, by its hash; where a data set loads a sample; in what is handed to fairseq, which saves from the CPU; and in files for TPUs. Who has written a file that the
user names is not known: it counts as a checkpoint of a GPU, unless all that the program, or the file that loads, writes
comes from the CPU (information). Information where a
file is loaded only if it is found in the folder of the results or of the model, and nothing of the program names one like it, and where
its name stands in the program only where it is loaded, looked for or fetched, and where it fills a network of torchvision as
that comes, with its head for ImageNet. Silent where what rank 0 alone fills goes into
the name: the others ask for another file. A loader that sets `torch.set_default_device` or patches `torch.load` is not known.

## References
- torch 2.13.0 torch/serialization.py:1315
- torch documentation, "Saving and loading models across devices"
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.interpreter.ranks import OTHER
from distlint.analysis.interpreter.values import Variance
from distlint.analysis.live.joint_entry import maybe_guarded
from distlint.analysis.model import Model, place_of, related, source_of
from distlint.analysis.program.definitions import dotted_name
from distlint.analysis.program.linked import linked
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.analysis.questions.filesystem import asked_paths
from distlint.analysis.questions.held_by_main import filled_by_some
from distlint.analysis.questions.launched import without_launcher
from distlint.analysis.questions.paths import parts_of
from distlint.analysis.questions.saved import (
    HOST_STATE,
    file_name,
    file_names,
    file_saves_states_on_host,
    saved_on_host,
    saves_states_on_host,
)
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.nodes import last_name, walk
from distlint.patterns import pattern
from distlint.repairs.arguments import with_keyword
from distlint.repairs.joining import like_the_other_arm
from distlint.rule import Status

from .computing import computed_with

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.live.joint_entry import JointEntry
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.live.summaries import CallGroup
    from distlint.analysis.program.definitions import Function, Module
    from distlint.analysis.program.program import Program

CODE = "DL505"
NAME = "load-without-map-location"
SEVERITY = Severity.WARNING
STATUS = Status.STABLE
LITERALS = ()

_ON_THE_CPU = 'map_location="cpu"'

_PUBLISHED = pattern(r"-(?=\d*[a-f])(?=[a-f]*\d)[0-9a-f]{8}\.(?:pth|pt|bin)$")
_RESULTS = pattern(
    r"(?:^|[^a-z])(?:out|output|save|work|exp)_?dir|output|model_(?:path|dir)|model_name", re.I
)
"""Folders that a program writes its results into, or goes on from."""
_WRITES_CHECKPOINTS = pattern(r"Trainer\(|save_state\(|save_checkpoint\(")
"""What writes files whose names stand in a library."""
_WRITES = pattern(
    rf"{_WRITES_CHECKPOINTS.pattern}|(?:torch|[Aa]ccelerator)\.save\(|\.fit\(|[Cc]heckpoint(?:er|Hook|Callback)"
    r"|[Ss]ave_?(?:pretrained|on_master|state|weight|c(?:he)?c?k(?:poin)?t|file)"
)
"""What writes a file of weights, itself or in a library.

3DTopia be8562d model/triplane_vae.py:342 loads what others have published, and holds no training.
"""
_WRITES_OTHERWISE = pattern(rf"{_WRITES_CHECKPOINTS.pattern}|\.fit\(|save_pretrained\(|save_file\(")
"""What writes weights by no `torch.save` of the program."""
_WHOLE_NAME = pattern(r"\w[\w.+-]*\.\w+")
_READS = pattern(r"^load|_load$|^(?:exists|isfile|is_file)$|download|fetch")
"""Last names of what loads, looks for or fetches a file."""
_CHECKPOINT = pattern(r"ckpt|checkpoint|snapshot|model|state|weight|optim|resume", re.I)

_TENSORS = pattern(
    rf"{_CHECKPOINT.pattern}|net|ema|param|module|head|backbone|coder|gen|dis|dict|feat|emb", re.I
)
"""Names of the parts of a file that hold more than a few numbers."""
_WEIGHTS = frozenset({"pretrained", "weights", "progress"})
"""Parameters of torchvision's networks that change no layer."""
_CLOCK = frozenset({"now", "utcnow", "today", "strftime", "time", "time_ns", "gmtime", "localtime"})


def check(model: Model) -> Iterator[Finding]:
    """Each load of a checkpoint by several ranks that does not say where to."""
    joint_entries: dict[object, JointEntry] = {}
    for (function, _), joint_entry in model.joint_entries.items():
        joint_entries.setdefault(function, joint_entry)
    for call in model.calls("torch.load"):
        site = call.site
        reason = joint_entries.get(site.function)
        if (
            reason is None
            or not reason.all_ranks
            or _is_for_few(call)
            or site.argument(1, "map_location") is not None
            or "mmap" in site.keywords  # maps the file of CPU tensors that a converter has written
            or any(k.arg is None for k in site.node.keywords)
            or any(isinstance(a, ast.Starred) for a in site.node.args)
            or _own_file(site)
            or without_launcher(site.guards, site.function)
            or not _is_checkpoint(site)
            or _is_saved_on_host(model, site)
            or _no_cuda(site)
            or _runs_on_tpus(model, site)
            or _is_published(site)
            or _reads_samples(site)
            or _reads_codes(site)
            or _is_asked_of_this_start(site)
            or _is_fairseqs(model, site)
            or _nobody_writes(model, site)
            or model.has_device_0_alone(site.module)
        ):
            continue
        part = computed_with(site)
        advice = f"Say `{_ON_THE_CPU}`"
        if part is not None:
            named = source_of(site.module, part)
            advice = f"Say with `map_location` which device is this rank's, as `{named}` is computed with there"
        yield Finding(
            CODE,
            NAME,
            Severity.INFO if _is_from_elsewhere(model, site) else SEVERITY,
            "all ranks load this checkpoint onto the device that it was saved from, in general the "
            f"memory of `cuda:0`. {advice}.",
            place_of(site.module, site.node),
            (related(reason.module, reason.node, reason.text),),
            _fix(site) if part is None else Fix(Applicability.DISPLAY, advice),
        )


def _is_for_few(call: CallGroup) -> bool:
    """Whether a question for the rank lets few ranks in: not the arm of all that rank 0 does not take.

    PersFormer_3DLane 3ed3109 experiments/runner.py:794 stands below `elif args.pretrained and args.proc_id == 0`.
    """
    asked = [
        guard
        for guard in call.site.guards
        if guard.value.variance is Variance.RANK_DEPENDENT
        or ("rank" in guard.value.tags and not guard.taken)
    ]
    return (
        OTHER not in call.classes
        or any(guard.taken for guard in asked)
        or maybe_guarded(call.site, known=asked)
    )


def _is_saved_on_host(model: Model, site: CallSite) -> bool:
    """Whether the program itself writes the file, whichever of its names it has, from the host's memory."""
    names = file_names(site.function, site.node.args[0] if site.node.args else None)
    return bool(names) and names <= model.answer(saved_on_host)


def _no_cuda(site: CallSite) -> bool:
    """Whether the file is one for TPUs, which have no `cuda:0`: it imports their library whatever happens.

    litgpt extensions/xla/finetune/adapter.py: `from lightning.fabric.accelerators import XLAAccelerator`.
    """
    names = [
        name
        for node in site.module.source.tree.body
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for name in (getattr(node, "module", None) or "", *(alias.name for alias in node.names))
    ]
    return any(name.startswith(("torch_xla", "XLA")) for name in names)


def _runs_on_tpus(model: Model, site: CallSite) -> bool:
    """Whether the function that loads asks the library of TPUs for something whatever happens.

    fuse-dit 0b498e7 diffusion/trainers.py:428: `self.device = xm.xla_device()` above, in one of several trainers of a file.
    """
    return "torch_xla" in site.module.source.text and any(
        str(model.resolve(site.module, call.func)).startswith("torch_xla.")
        for statement in site.function.body
        if isinstance(statement, ast.Expr | ast.Assign)
        for call in walk(statement, ast.Call)
    )


def _is_published(site: CallSite) -> bool:
    """Whether a file has the name of published weights, which end in their hash: those are saved from the CPU.

    torch 2.13.0 torch/hub.py:854, `filename-<sha256>.ext`, so torchvision's, and what mmcv's tools publish; Infinity
    4c27bbb tools/inception.py:248, `pt_inception-2015-12-05-6726825d.pth` of pytorch-fid.
    """
    path = site.argument(0)
    text = path.const if path is not None and path.known else None
    name = text if isinstance(text, str) else file_name(site.function, site.node.args[0])
    return _PUBLISHED.search(name) is not None


def _reads_samples(site: CallSite) -> bool:
    """Whether a data set loads one of its samples: a file for each, which preparation has written.

    so-vits-svc data_utils.py: `torch.load(filename + ".soft.pt")` in a method that `__getitem__` calls.
    """
    cls = site.function.cls
    return cls is not None and "__getitem__" in cls.methods and site.function.name != "__init__"


def _reads_codes(site: CallSite) -> bool:
    """Whether a file is read for parts alone whose names are of no state of a model: numbers that describe one.

    MONAI tutorials b3c6c99 automl/DiNTS/train_dints.py:349: `ckpt["node_a"]`, `ckpt["arch_code_a"]`.
    """
    names = set(_names(site))
    reads = [n for n in own_nodes(site.function, ast.Name) if n.id in names]
    keys = [
        node.slice.value
        for node in own_nodes(site.function, ast.Subscript)
        if isinstance(node.value, ast.Name)
        and node.value.id in names
        and isinstance(node.slice, ast.Constant)
    ]
    loads = [n for n in reads if isinstance(n.ctx, ast.Load)]
    return (
        bool(keys)
        and len(keys) == len(loads)
        and not _receivers(site)
        and not any(_TENSORS.search(str(key)) for key in keys)
    )


def _is_asked_of_this_start(site: CallSite) -> bool:
    """Whether a file is loaded where it is found, and its name holds the time of this start: there is none yet.

    insightface 7fadd42 parsing/dml_csr/train.py:237: `osp.join(args.snapshot_dir, TIMESTAMP, "best.pth")`.
    """
    path = site.node.args[0] if site.node.args else None
    asked = [test for guard in site.guards if guard.taken for test in asked_paths(guard.node)]
    if path is None or ast.unparse(path) not in map(ast.unparse, asked):
        return False
    work, seen = [path], set[str]()
    while work:
        for node in walk(work.pop()):
            if isinstance(node, ast.Call) and last_name(node.func) in _CLOCK:
                return True
            name = ast.unparse(node) if isinstance(node, ast.Name | ast.Attribute) else ""
            if name and name not in seen:
                seen.add(name)
                for maker in (site.function, site.module.body):
                    work += assignments(maker).get(name, ())
    return False


def _is_fairseqs(model: Model, site: CallSite) -> bool:
    """Whether the result goes to fairseq, whose trainer moves everything to the CPU before it saves.

    audiolm-pytorch audiolm_pytorch/hubert_kmeans.py:63 (fairseq 0.12.2 fairseq/trainer.py: `save_checkpoint`).
    """
    names = set(_names(site))
    for node in own_nodes(site.function, ast.Call):
        if str(model.resolve(site.module, node.func)).startswith("fairseq.checkpoint_utils."):
            given = [*node.args, *(keyword.value for keyword in node.keywords)]
            named = {part.id for value in given for part in walk(value, ast.Name)}
            given += [v for name in named for v in assignments(site.function).get(name, [])]
            if any(ast.unparse(part) in names for v in given for part in walk(v, ast.Name)):
                return True
    return False


def _nobody_writes(model: Model, site: CallSite) -> bool:
    """Whether peft writes another file than the one that is loaded, by the version that the project asks for.

    autotrain-advanced 1bdd143 src/autotrain/trainers/clm/callbacks.py:36: peft 0.14.0 is pinned, and since 0.7.0
    (peft/peft_model.py) adapters are `adapter_model.safetensors`: the load fails before it takes any memory.
    """
    work = list(site.node.args[:1])
    named = [part.id for node in work for part in walk(node, ast.Name)]
    work += [value for name in named for value in assignments(site.function).get(name, [])]
    adapter = any(
        isinstance(part, ast.Constant) and part.value == "adapter_model.bin"
        for value in work
        for part in walk(value)
    )
    return adapter and model.launch.asks_for("peft", (0, 7), site.module.path)


def _is_from_elsewhere(model: Model, site: CallSite) -> bool:
    """Whether nothing shows that a GPU has written the file: the program writes none, none of its name, or from the CPU."""
    return (
        _is_never_there(model, site)
        or not _says(model.program, _WRITES)
        or _writes_from_host(model)
        or file_saves_states_on_host(model, site.module)
        or _is_named_by_loads_alone(model, site)
        or _fills_published_network(model, site)
    )


def _fills_published_network(model: Model, site: CallSite) -> bool:
    """Whether the file fills a network of torchvision as it comes, with its head for the classes of ImageNet.

    torchvision saves from the CPU. IDvs.MoRec ce372cf bce_vision/main-end2end/run.py:41: `models.resnet18(pretrained=False)`
    gets the file, and then another `fc`; a network that the program trained has that one.
    """
    names = set(_names(site))
    filled = {
        dotted_name(method.value)
        for method, part in _given(site)
        if part is site.node or (isinstance(part, ast.Name) and part.id in names)
    }
    made = [
        value
        for name in filled
        for value in assignments(site.function).get(name, ())
        if not (isinstance(value, ast.Constant) and value.value is None)
    ]
    return bool(made) and all(
        isinstance(value, ast.Call)
        and str(model.resolve(site.module, value.func)).startswith("torchvision.models.")
        and all(keyword.arg in _WEIGHTS for keyword in value.keywords)
        for value in made
    )


@remembered
def _says(program: Program, words: re.Pattern[str]) -> bool:
    return any(words.search(module.source.text) for module in program.modules.values())


def _writes_from_host(model: Model) -> bool:
    """Whether all that the program writes of weights are files that it saves from the host's memory itself.

    DialoGPT 61194e4 LSP_train.py:347: `torch.save({k: (v.cpu() if v is not None else None) for …}, …)`.
    """
    return model.answer(saves_states_on_host) and not _says(model.program, _WRITES_OTHERWISE)


def _is_named_by_loads_alone(model: Model, site: CallSite) -> bool:
    """Whether a file has a name that stands in the program only where it is loaded, looked for or fetched.

    ControlAR 87e32e9 condition/hed.py:65: `ControlNetHED.pth`, and above it the address that has it. What a library
    calls so it may write itself: offsite-tuning 4a67ffa has no trainer, and loads `pytorch_model.bin`.
    """
    name = file_name(site.function, site.node.args[0] if site.node.args else None)
    if not _WHOLE_NAME.fullmatch(name):
        return False
    return not _says(model.program, _WRITES_CHECKPOINTS) and not any(
        text.endswith(name) for text in model.answer(_said_elsewhere)
    )


def _said_elsewhere(live: LiveProgram) -> frozenset[str]:
    """The words of a program that may be, or end in, names of files, and that it does not only load, look for or fetch."""
    return frozenset(text for module in live.program.modules.values() for text in _said_in(module))


@remembered
def _said_in(module: Module) -> frozenset[str]:
    reading = {
        node
        for call in walk(module.source.tree, ast.Call)
        if _READS.search(last_name(call.func))
        for node in walk(call, ast.Constant)
    }
    held = {
        node
        for function in module.all_functions
        for values in _only_read(function)
        for value in values
        for node in walk(value, ast.Constant)
    }
    return frozenset(
        node.value
        for node in walk(module.source.tree, ast.Constant)
        if isinstance(node.value, str)
        and "." in node.value
        and "://" not in node.value
        and node not in reading
        and node not in held
    )


def _only_read(function: Function) -> Iterator[list[ast.expr]]:
    """The values of variables of a function that are handed to nothing but what loads, looks for or fetches a file."""
    read = {
        node
        for call in own_nodes(function, ast.Call)
        if _READS.search(last_name(call.func))
        for node in walk(call, ast.Name)
    }
    used: dict[str, bool] = {}
    for node in own_nodes(function, ast.Name):
        if isinstance(node.ctx, ast.Load):
            used[node.id] = used.get(node.id, True) and node in read
    for name, values in assignments(function).items():
        if used.get(name):
            yield values


def _is_never_there(model: Model, site: CallSite) -> bool:
    """Whether a file is loaded where it is found in a folder of results, and nothing of the program names it again.

    CodeGen e3e8855 CodeXGLUE/Code-Code/Clone-detection-BigCloneBench/code/run.py:231: `optimizer.pt`, left over from the
    script that this one was made from.
    """
    path = site.node.args[0] if site.node.args else None
    name = file_name(site.function, path)
    asked = [test for guard in site.guards if guard.taken for test in asked_paths(guard.node)]
    if not name or path is None or ast.unparse(path) not in map(ast.unparse, asked):
        return False
    folder = parts_of(path, site.function)[:1]
    if not any(_RESULTS.search(str(part)) for part in folder):
        return False
    files = [each for each in linked(model.program, site.module) if name in each.source.text]
    named = [
        node
        for each in files
        for node in walk(each.source.tree, ast.Constant)
        if isinstance(node.value, str) and re.search(rf"\b{re.escape(name)}$", node.value)
    ]
    held = assignments(site.function).get(path.id, ()) if isinstance(path, ast.Name) else ()
    of_load = {id(node) for each in (path, *asked, *held) for node in walk(each)}
    return all(id(node) in of_load for node in named) and not any(
        _WRITES_CHECKPOINTS.search(each.source.text) for each in linked(model.program, site.module)
    )


def _own_file(site: CallSite) -> bool:
    """Whether each rank has a file of its own: that names the rank's own device (verl 0.9.1,
    utils/checkpoint/fsdp_checkpoint_manager.py), or what rank 0 alone has filled.

    self-rewarding-lm-pytorch ebeca90 self_rewarding_lm_pytorch/dpo.py:195: `f"model.ckpt.{len(self.scores) - 1}.pt"`.
    """
    path = site.argument(0)
    if path is None or path.variance is not Variance.UNIFORM or "rank" in path.tags:
        return True
    cls = site.function.cls
    filled = filled_by_some((site.function,)) | filled_by_some(cls.methods.values() if cls else ())
    work, seen = list(site.node.args[:1]), set[str]()
    while work:
        for node in walk(work.pop(), ast.Name, ast.Attribute):
            name = dotted_name(node)
            if "rank" in last_name(node).lower() or last_name(node) == "process_index":
                return True
            if name in filled:
                return True
            if isinstance(node, ast.Name) and name not in seen:
                seen.add(name)
                work += assignments(site.function).get(name, [])
    return False


def _is_checkpoint(site: CallSite) -> bool:
    texts = [source_of(site.module, a) for a in site.node.args[:1]]
    texts += _names(site)
    text = " ".join(texts).replace("args.", "")
    if HOST_STATE.search(text):
        return False
    receivers = _receivers(site)
    if receivers:
        # Open-Sora opensora/utils/ckpt.py: `sampler.load_state_dict(torch.load(…))`. A part alone shows as much as the whole:
        # fast-autoaugment 2424224 FastAutoAugment/train.py:199: `data = torch.load(save_path)`, of which `data["optimizer"]`.
        return not all(HOST_STATE.search(name) for name in receivers)
    return _CHECKPOINT.search(text) is not None


def _names(site: CallSite) -> list[str]:
    """What the result is assigned to, or an entry of it.

    DFormer 814799b utils/infer.py:79: `weight = torch.load(args.continue_fpath)["model"]`.
    """
    return [
        ast.unparse(s.targets[0])
        for s in own_nodes(site.function, ast.Assign)
        if _without_keys(s.value) is site.node
    ]


def _without_keys(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Subscript):
        node = node.value
    return node


def _given(site: CallSite) -> Iterator[tuple[ast.Attribute, ast.AST]]:
    """What is handed to `load_state_dict` in the function: the method, and each part of its argument."""
    for node in own_nodes(site.function, ast.Call):
        match node:
            case ast.Call(func=ast.Attribute(attr="load_state_dict") as method, args=[state, *_]):
                yield from ((method, part) for part in walk(state))


def _is_result(site: CallSite, node: ast.AST) -> bool:
    return node is site.node or (isinstance(node, ast.Name) and node.id in _names(site))


def _receivers(site: CallSite) -> set[str]:
    """Whose `load_state_dict` gets the result, or a part of it."""
    return {last_name(method.value) for method, part in _given(site) if _is_result(site, part)}


def _loaded_into_module(site: CallSite) -> bool:
    """Whether the result goes to `load_state_dict`, and nowhere else."""
    into = {id(part) for _, part in _given(site)}
    if id(site.node) in into:
        return True
    reads = [
        n
        for n in own_nodes(site.function, ast.Name)
        if isinstance(n.ctx, ast.Load) and _is_result(site, n)
    ]
    return bool(reads) and all(id(n) in into for n in reads)


def _fix(site: CallSite) -> Fix:
    advice = f"Add `{_ON_THE_CPU}`"
    edit = with_keyword(site.module.source.text, site.node, _ON_THE_CPU)
    if edit is None:
        return Fix(Applicability.DISPLAY, advice)
    safe = Applicability.SAFE if _loaded_into_module(site) else Applicability.UNSAFE
    joined = like_the_other_arm(site.module.source.text, site.function, site.node, _ON_THE_CPU)
    return Fix(safe, advice, joined or (edit,))
