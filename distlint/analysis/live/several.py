"""What of a file says that several processes run it, and what only looks like it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Set
from typing import Final

from distlint.analysis.interpreter.ir import CallSite, Guard
from distlint.analysis.program.definitions import Function, Module, dotted_name, last_name
from distlint.analysis.program.linked import imported, imported_below, importers, linked
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.named import Part, named_from, run_on_import
from distlint.analysis.program.options import options_of
from distlint.analysis.program.places import source_of
from distlint.analysis.program.program import Program
from distlint.analysis.program.syntax import assignments, decided, own_nodes
from distlint.columns import split_lines
from distlint.knowledge.conventions import STARTS_SCRIPTS
from distlint.nodes import walk
from distlint.patterns import pattern

_FIRST: Final = frozenset({"main_process_first", "local_main_process_first"})
_SAYS_RANKS: Final = pattern(
    r"init_process_group|init_distributed|init_device_mesh|Accelerator\(|PartialState\(|Trainer\(|deepspeed\.initialize"
    r"|Fabric\(|torchrun|torch\.distributed\.(?:run|launch)\b|accelerate launch|spawn\(|\brank\b|world_size"
)
"""What a script has that makes ranks, is started on several, or asks for its own."""
_USES_RANKS: Final = pattern(
    r"torch\.distributed|\bdist\b|_dist\b|[dD]istributed\w*[.(]|\w_distributed|distributed_\w|\bDDP\b|[fF]sdp|FSDP|nccl|gloo"
    r"|process_group|device_mesh|world_?size|WORLD_SIZE|num_replicas|[\"']\w*RANK[\"']|get_\w*rank|process_index|set_device"
    r"|(?:device|cuda|gpu)[^\n]{0,30}rank|Accelerator|accelerate|PartialState|[dD]eepspeed|DeepSpeed|Trainer|TrainingArguments"
    r"|Fabric|[lL]ightning|horovod|hvd|mpi4py|SLURM|OMPI_|torch_xla|\bxm\.|torchrun|spawn|Process\(|\bray\b|mmcv|mmengine"
    r"|detectron2|colossalai|megatron|mpu\b|parallel_state|composer|paddle|importlib|sys\.path|fairscale"
)
"""What a file has that meets other processes, numbers them or gives each its device or part; or may, elsewhere."""
_MEETS: Final = pattern(
    r"DistributedDataParallel|\bDDP\b|[fF]sdp|FSDP|FullyShard|fully_shard|[dD]eepspeed|Accelerator|accelerate|Trainer"
    r"|reduce|gather|broadcast|barrier|horovod|hvd|[lL]ightning|fairscale|apex|mmcv|mmengine|[sS]ync|\bwrap"
)
"""What a file has in which ranks exchange anything: gradients, results, or that they are there."""
_SHARDS: Final = frozenset({"FSDP", "FullyShardedDataParallel", "FSDPModule"})
"""Classes of models that are cut into shards (torch 2.13.0 distributed/fsdp), by their usual names."""
_ONE_PROCESS: Final = frozenset({"jax", "flax"})
_OF_TENSORFLOW: Final = frozenset({"tensorflow", "keras"})
"""Their process drives all devices of a machine, too; files of torch read data or write logs by them."""
_MAKES_RANKS: Final = pattern(
    r"torch\.distributed|init_process_group|Accelerator\(|(?<!TF)Trainer\(|torchrun"
)
_MAKES_GROUP: Final = pattern(
    r"(?i:init\w*_?(?:process_group|dist|ddp|device_mesh|parallel)|set_?up_?(?:dist|ddp)|(?:dist|ddp)\w*_?(?:init|set_?up))"
    r"|Accelerator\(|PartialState\(|Trainer\(|Fabric\(|(?:deepspeed|hvd|bmt)\.init|spawn\(|launch|torchrun|TrainingArguments"
)
"""What a file has that makes a process group, or hands on the processes of a launcher."""
_COMMENTED_OUT: Final = pattern(r"^[ \t]*#[^\n]*\binit_process_group\(", re.MULTILINE)
_COMMENTS: Final = pattern(r"^[ \t]*#[^\n]*", re.MULTILINE)
_NOTEBOOK: Final = ".ipynb"
_STARTED_IN_NOTEBOOK: Final = pattern(
    r"torch\.distributed\.(?:run|launch)\b|init_process_group|notebook_launcher|debug_launcher|spawn\(|start_processes|torchrun"
    r"|accelerate[ -]launch|deepspeed[ \t]+[\w./-]+\.py"
    r"|elastic_launch|mpirun|srun|horovodrun|%%?(?:auto)?px\b"
    r"|Distributor\(|TorchTrainer\(|\bProcess\(|\.launch\(|\bdevices=|\bstrategy=|#\|?[ \t]*export\b"
)
"""What starts several processes from a notebook, names them in it, or makes a module of it (nbdev)."""
_REFUSED: Final = pattern(
    r"strategy=[\"'](?:ddp|fsdp|deepspeed)(?!\w*_(?:notebook|fork|spawn))\w*[\"']"
)
"""Strategies by which a Trainer of Lightning starts scripts, and that it refuses in a notebook (pytorch-lightning 2.6.6
trainer/connectors/accelerator_connector.py:534)."""
_ONE_IN_NOTEBOOK: Final = pattern(
    r"""\bdevices=[ ]*(?:["']auto["']|1\b)|\bstrategy=[ ]*["']auto["']"""
)
"""What gives a Trainer of Lightning one GPU in a notebook (pytorch-lightning 2.6.6 trainer/connectors/accelerator_connector.py:
"Trainer will use only 1 of … GPUs because it is running inside an interactive / notebook environment"), not a Fabric."""
_OF_TRAINERS: Final = pattern(r"\b(?:devices|strategy)=")
_SHOWS_PAGE: Final = pattern(r"\.launch\(\s*(?:\)|\w+\s*=)")
"""`launch()` of a page of gradio's, which is handed no function that processes would run."""
_LEVELS: Final = frozenset({"DEBUG", "INFO", "WARN", "WARNING", "ERROR", "CRITICAL", "FATAL"})
_PLAIN: Final = frozenset({"int", "str", "getattr", "vars", "get"})
"""Calls that give back what they are given, or an option of it."""
_ON_ALL_DEVICES: Final = pattern(
    r"""^[^#\n]*(?:\.parallelize\(|device_map["']?\s*[=:]\s*["']auto"""
    r"""|CUDA_VISIBLE_DEVICES["']\]\s*=\s*["']\d["'])""",
    re.MULTILINE,
)
"""What one process does that has all devices for its model, or sees one: the trainer of a second would be refused."""
_TRAINS: Final = frozenset({"transformers.Trainer.train", "transformers.Seq2SeqTrainer.train"})
_FITS: Final = pattern(r"lightning\.pytorch\.Trainer\.\w+")
_GPUS: Final = "gpus"
"""An argument of Lightning's Trainer up to 1.9."""
_CHOOSES_HOW: Final = frozenset(
    {"strategy", "accelerator", "distributed_backend", "plugins", "num_nodes"}
)
"""Arguments of Lightning 1 that may say how a Trainer starts the other processes."""
_SEES_ONE: Final = pattern(r"""^[^#\n]*CUDA_VISIBLE_DEVICES["']\]\s*=\s*["']\d["']""", re.MULTILINE)
_MAKES_TRAINER: Final = pattern(r"(?<!class )\b\w*Trainer\(")
"""A trainer of transformers, or of a class that the program makes of it."""
_LAUNCHED: Final = pattern(
    r"local_rank|LOCAL_RANK|world_size|WORLD_SIZE|torchrun|accelerate|distributed|ddp\b|deepspeed|fsdp"
)
_DIVIDES: Final = "FullyShardedDataParallelPlugin"
"""What has an Accelerator divide its model among the processes (accelerate 1.15.0 utils/dataclasses.py): one has nothing to divide."""
_HANDS_ON: Final = frozenset({"Accelerator", "Fabric"})
"""What hands on the processes of a launcher, and works on one as well."""
_COUNTS: Final = pattern(r"(?i)gpu|n_?proc|num_proc|world_size|devices")
"""Names of how many processes there are, or GPUs for them."""
_NUMBERS: Final = {
    "Trainer": ("devices", "gpus", "num_nodes"),
    "Fabric": ("devices", "num_nodes"),
    "ScalingConfig": ("num_workers",),
    "notebook_launcher": ("num_processes", "num_nodes"),
    "debug_launcher": ("num_processes",),
}
"""What starts the processes itself, with the arguments that say how many: Lightning 2.6.6 pytorch/trainer/trainer.py and
fabric/fabric.py, ray train/ScalingConfig, accelerate 1.15.0 launchers.py."""


@remembered
def asks_for_several(module: Module) -> bool:
    """Whether a file has several processes started by a number in it: `Trainer(devices=2)`, or the default of an option.

    Or by a Trainer of Lightning that takes all GPUs, in a file that asks which of the processes it is, or by a strategy for
    several; or whose model they divide among them, or that has another way for one GPU.
    """
    if _DIVIDES in module.source.text and any(
        last_name(node.func) == _DIVIDES for node in walk(module.source.tree, ast.Call)
    ):
        return True
    defaults = {each.name: each.default for each in options_of(module) if each.default is not None}
    return any(
        keyword.arg in _NUMBERS.get(last_name(node.func), ())
        and _is_above_one(
            defaults.get(keyword.value.attr, keyword.value)
            if isinstance(keyword.value, ast.Attribute)
            else keyword.value
        )
        for node in walk(module.source.tree, ast.Call)
        for keyword in node.keywords
    ) or (
        (_asks_which(module) and _trains_on_all(module))
        or _divides_among_all(module)
        or _goes_another_way_for_one(module)
    )


def _goes_another_way_for_one(module: Module) -> bool:
    """Whether a file makes an Accelerator only where it counts more than one GPU, here or in a function of it.

    miread 466022e train_distributed.py:381: `if args.num_gpu == 1: train(…)`, and else `train_with_accelerator(…)`.
    """
    if not any(word in module.source.text for word in _HANDS_ON):
        return False
    return any(
        last_name(node.func) in _HANDS_ON
        or (
            isinstance(called := module.functions.get(dotted_name(node.func)), Function)
            and any(last_name(each.func) in _HANDS_ON for each in own_nodes(called, ast.Call))
        )
        for test in walk(module.source.tree, ast.If)
        for statement in arms_by_count(test)[0]
        for node in walk(statement, ast.Call)
    )


def arms_by_count(test: ast.If) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """The arms of a condition that are for more than one GPU, and for one; nothing of another condition."""
    match test.test:
        case ast.Compare(
            left=ast.Name() | ast.Attribute() as counted,
            ops=[op],
            comparators=[ast.Constant(value=1)],
        ) if _COUNTS.search(last_name(counted)):
            if isinstance(op, ast.Gt | ast.NotEq):
                return test.body, test.orelse
            if isinstance(op, ast.Eq):
                return test.orelse, test.body
    return [], []


def _asks_which(module: Module) -> bool:
    """Whether a file reads the number that a launcher of several processes gives each of them.

    Latte f8980c5 train_pl.py:173: `int(os.environ.get("LOCAL_RANK", 0)) == 0`.
    """
    return "LOCAL_RANK" in module.source.text and any(
        ast.unparse(node).startswith(("os.environ", "os.getenv", "environ", "getenv"))
        and any(each.value == "LOCAL_RANK" for each in walk(node, ast.Constant))
        for node in walk(module.source.tree, ast.Call, ast.Subscript)
    )


def _trains_on_all(module: Module) -> bool:
    """Whether each Trainer of Lightning that a file makes takes all GPUs that there are: it is told of no number.

    pytorch-lightning 2.6.6 trainer/connectors/accelerator_connector.py:419: `devices="auto"`.
    """
    made = [
        {keyword.arg: keyword.value for keyword in node.keywords}
        for node in walk(module.source.tree, ast.Call)
        if last_name(node.func) == "Trainer"
    ]
    return bool(made) and all(
        isinstance(kind := given.get("accelerator"), ast.Constant)
        and kind.value in ("gpu", "cuda")
        and None not in given
        and given.keys().isdisjoint(_NUMBERS["Trainer"])
        for given in made
    )


def _divides_among_all(module: Module) -> bool:
    """Whether a file makes a Trainer of Lightning with a strategy for several processes, and with all GPUs that there are.

    Multimodal-Emotion-Recognition e4a1b50 train_sentiment_kaggle.py:617: `strategy=strategy`, "ddp_find_unused_parameters_true"
    for more than one GPU, and `devices=n_gpus`, which is `torch.cuda.device_count()`.
    """
    if "Trainer(" not in module.source.text or not STARTS_SCRIPTS.search(module.source.text):
        return False
    for function in module.all_functions:
        for call in own_nodes(function, ast.Call):
            given = {keyword.arg: keyword.value for keyword in call.keywords}
            if last_name(call.func) != "Trainer" or "strategy" not in given or None in given:
                continue
            numbers = [given[name] for name in _NUMBERS["Trainer"][:2] if name in given]
            if (
                numbers
                and any(map(_names_division, _held(function, given["strategy"])))
                and all(any(map(_is_all, _held(function, number))) for number in numbers)
            ):
                return True
    return False


def _held(function: Function, value: ast.expr) -> Iterator[ast.expr]:
    """A value, or what a function assigns to its variable, arm by arm."""
    for each in (
        assignments(function).get(value.id, ()) if isinstance(value, ast.Name) else (value,)
    ):
        yield from (each.body, each.orelse) if isinstance(each, ast.IfExp) else (each,)


def _names_division(strategy: ast.expr) -> bool:
    """Whether a strategy is one for several processes: its name, or an object of its class."""
    name = strategy.value if isinstance(strategy, ast.Constant) else last_name(strategy)
    return isinstance(name, str) and STARTS_SCRIPTS.match(name) is not None


def _is_all(number: ast.expr) -> bool:
    """Whether a number of devices is that of all GPUs."""
    match number:
        case ast.Constant(value="auto" | "-1") | ast.UnaryOp(op=ast.USub(), operand=ast.Constant()):
            return True
        case ast.Call(func=func):
            return last_name(func) == "device_count"
    return False


def _is_above_one(value: ast.expr) -> bool:
    match value:
        case ast.Constant(value=int() as number):
            return number > 1
        case ast.List(elts=[_, _, *_]):
            return True
    return False


def trains_alone(site: CallSite) -> bool:
    """Whether a trainer, which trains on one process as well, is all that speaks of several."""
    module = site.function.module
    return (site.name in _TRAINS and keeps_to_one(module)) or (
        _FITS.fullmatch(site.name) is not None and (_sees_one(module) or _spawns_the_others(site))
    )


def _spawns_the_others(site: CallSite) -> bool:
    """Whether a Trainer of Lightning 1 gets GPUs and no strategy: what it spawns runs the training, and no script.

    pytorch-lightning 1.6.5 trainer/connectors/accelerator_connector.py:592, `DDPSpawnStrategy` for several GPUs; 2.0 took
    `gpus` away. Fengshenbang-LM c8fb7b8 fengshen/examples/clue_sim/main.py:83.
    """
    owner = site.node.func.value if isinstance(site.node.func, ast.Attribute) else None
    made = assignments(site.function).get(dotted_name(owner), []) if owner is not None else []
    return bool(made) and all(
        isinstance(each, ast.Call)
        and any(keyword.arg == _GPUS for keyword in each.keywords)
        and not any(keyword.arg is None or keyword.arg in _CHOOSES_HOW for keyword in each.keywords)
        for each in made
    )


def works_alone(site: CallSite) -> bool:
    """Whether a collective does its work on one process that has no process group, too.

    LLaMA-Factory ff6d4d1 scripts/dcp2hf.py:61, scripts/stat_utils/cal_ppl.py:91: a converter and an evaluation of
    one process; the second calls a library function that has `training_args.main_process_first()`.
    """
    if site.method in _FIRST:
        return not site.name.startswith("accelerate.")
    return site.name.startswith("torch.distributed.checkpoint.") and not any(
        guard.taken and asks_if_sharded(guard.node) for guard in site.guards
    )


def asks_if_sharded(test: ast.expr) -> bool:
    """Whether a condition is that a model is in FSDP, which there is not without a process group.

    llama-recipes faae2fd src/llama_cookbook/model_checkpointing/checkpoint_handler.py:275: `if isinstance(model, FSDP):`,
    and below it `get_model_state_dict(model, …)`.
    """
    match test:
        case ast.Call(func=ast.Name(id="isinstance"), args=[_, kind]):
            return last_name(kind) in _SHARDS
    return False


@remembered
def never_launched(program: Program, module: Module) -> bool:
    """Whether a file is a script that neither makes ranks nor asks for them, nor do those that import it."""
    return module.is_script and not any(
        _SAYS_RANKS.search(each.source.text)
        for each in (
            module,
            *(m for m in program.modules.values() if module in imported(program, m)),
        )
    )


@remembered
def makes_no_group(program: Program, module: Module) -> bool:
    """Whether a file is a script, and neither it nor what it imports makes a process group.

    wekws 1a8ee65 wekws/bin/compute_accuracy.py: one process goes through a data set that asks whether there is a group.
    """
    return module.is_script and not any(map(_speaks_of_group, imported_below(program, module)))


def has_group(program: Program, module: Module) -> bool:
    """Whether a file, or one of those that go with it, has a word for what makes a process group.

    SMART-PET 00dd76e reference/legacy/source/main16_8.py:38: DataParallel in a class, and the script that makes it is not read.
    """
    return any(map(_speaks_of_group, linked(program, module)))


@remembered
def _speaks_of_group(module: Module) -> bool:
    return _MAKES_GROUP.search(module.source.text) is not None


@remembered
def has_commented_out_group(program: Program, module: Module) -> bool:
    """Whether a file makes its process group in a comment, and neither it nor what it imports makes one in code.

    molecular-VAE 9595e1c trainbinding.py:41: `#     torch.distributed.init_process_group(backend='nccl',`.
    """
    return _COMMENTED_OUT.search(module.source.text) is not None and not any(
        _MAKES_GROUP.search(_COMMENTS.sub("", each.source.text))
        for each in imported_below(program, module)
    )


@remembered
def trains_on_one(program: Program, module: Module) -> bool:
    """Whether each file that makes a trainer with the callbacks of a file keeps to one process."""
    makers = importers(program, module) & _makers_of_trainers(program)
    return bool(makers) and all(map(keeps_to_one, makers))


@remembered
def _makers_of_trainers(program: Program) -> set[Module]:
    """The files that make a trainer of transformers."""
    return {
        m
        for m in program.modules.values()
        if "Trainer(" in m.source.text and _MAKES_TRAINER.search(m.source.text)
    }


@remembered
def keeps_to_one(module: Module) -> bool:
    """Whether a file hands a trainer a model that one process has on all devices, or makes one GPU visible.

    RL4LMs 97df0bd rl4lms/envs/text_generation/training_utils.py:277: `self._model.parallelize()`. OpenChatKit
    a7094aa training/lora/example/redpajama-incite-chat-3b.py:3: `os.environ["CUDA_VISIBLE_DEVICES"] = "0"`.
    """
    text = module.source.text
    return _ON_ALL_DEVICES.search(text) is not None and not _LAUNCHED.search(text)


@remembered
def _sees_one(module: Module) -> bool:
    """Whether a file makes one GPU visible: Lightning starts a process for each that it sees."""
    text = module.source.text
    return _SEES_ONE.search(text) is not None and not _LAUNCHED.search(text)


@remembered
def is_one_kernel(module: Module) -> bool:
    """Whether a file is a notebook that starts no processes beside its own, whatever the libraries can do that it uses.

    audiolm-pytorch audiolm_pytorch_demo.ipynb: its trainers call `prepare()`, in the one kernel. maskrcnn-benchmark
    57eec25 demo/shapes_pruning.ipynb: `import torch.distributed as dist`, in functions that ask for ranks. Alpaca-CoT
    bd46c44 peft/examples/int8_training/peft_bnb_whisper_large_v2_training.ipynb: `iface.launch(share=True)` at its end.
    lightly e8d317f examples/notebooks/pytorch_lightning_distributed/mae.ipynb: `strategy="ddp"`. CMUNeXt 18e7d7b
    Segformer_medical_lightning.ipynb: `devices="auto", strategy="auto"`.
    """
    if not module.path.endswith(_NOTEBOOK):
        return False
    text = module.source.text
    if "gradio" in text:
        text = _SHOWS_PAGE.sub("", text)
    if _REFUSED.search(text) is not None and "writefile" not in text:
        text = _OF_TRAINERS.sub("", text)
    if "Fabric" not in text:
        text = _ONE_IN_NOTEBOOK.sub("", text)
    return not _STARTED_IN_NOTEBOOK.search(text)


def says_nothing(program: Program, guard: Guard) -> bool:
    """Whether a test of the rank shows nothing of who runs the function: a line that one process has as well."""
    return (
        _chooses_log_level(guard)
        or has_no_ranks(guard.module)
        or (_asks_for_option(guard.node) and not uses_ranks(program, guard.module))
    )


@remembered
def uses_ranks(program: Program, module: Module) -> bool:
    """Whether what a file runs, or is run by, meets other processes, numbers them, or divides devices or data.

    CodeT5 7de7f69 CodeT5+/code_retrieval/eval_match_retrieval.py:162: `args.local_rank in [0, -1]` is left over around
    a print; nothing makes a process group, and its scripts start it with `python`.
    """
    above = importers(program, module)
    if any(_USES_RANKS.search(_used(each)) for each in above):
        return True
    below = linked(program, module) - above
    return any(_USES_RANKS.search(each.source.text) for each in below) and any(
        _USES_RANKS.search(text) for text in _reached(program, above, below)
    )


@remembered
def ranks_meet(program: Program, module: Module) -> bool:
    """Whether ranks exchange anything in the files that are imported with one: without, each trains a model of its own.

    CodeT5 7de7f69 CodeT5/run_defect.py makes a process group for `--local_rank` and has DataParallel for the rest: what
    is started on one process, and what it does on several is no run that anybody waits for.
    """
    return any(_MEETS.search(each.source.text) for each in linked(program, module))


@remembered
def has_no_ranks(module: Module) -> bool:
    """Whether a file is written for JAX or TensorFlow, where one process drives all devices of a machine, and for
    nothing else.

    CodeRL ec3c526 transformers/examples/legacy/text-classification/run_tf_text_classification.py: `strategy.scope()`.
    """
    used = {target.partition(".")[0] for target in module.imports.values()}
    of_one = not used.isdisjoint(_ONE_PROCESS) or (
        not used.isdisjoint(_OF_TENSORFLOW) and "torch" not in used
    )
    return of_one and not _MAKES_RANKS.search(module.source.text)


@remembered
def _used(module: Module) -> str:
    """The text of a file, of one with options without what is left over: imports that nothing uses, options nobody reads.

    microsoft/Cream 4a13c40 CDARTS/CDARTS_segmentation/tools/utils/cal_model.py counts operations, with the imports and
    the `--world_size` of the training script that it was made from.
    """
    text, tree = module.source.text, module.source.tree
    if "add_argument" not in text or "vars(" in text or _USES_RANKS.search(text) is None:
        return text
    names = {node.id for node in walk(tree, ast.Name)}
    read = {node.attr for node in walk(tree, ast.Attribute)}
    texts = {node.value for node in walk(tree, ast.Constant)}
    lines = split_lines(text)
    unread = {
        id(option.call)
        for option in options_of(module)
        if not option.is_positional and option.name not in read | texts
    }
    for node in walk(tree):
        if isinstance(node, ast.stmt) and _is_left_over(node, names | texts, unread):
            for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                lines[line - 1] = ""
    return "\n".join(lines)


def _is_left_over(statement: ast.stmt, used: Set[object], unread: Set[int]) -> bool:
    match statement:
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            bound = {(each.asname or each.name).partition(".")[0] for each in aliases}
            return "*" not in bound and used.isdisjoint(bound)
        case ast.Expr(value=call):
            return id(call) in unread
    return False


def _reached(program: Program, above: Set[Module], below: Set[Module]) -> Iterator[str]:
    """The parts of the files `below` that `above` run, as far as names lead: what an import itself runs, and what is named.

    CodeT5+/code_retrieval/data_utils.py has a function for a DistributedSampler that nobody calls.
    """
    work: list[Part] = [(each, each.source.tree) for each in above]
    for each in below:
        work += run_on_import(each)
    for module, part in named_from(program, work):
        if module in below:
            yield source_of(module, part)


def _asks_for_option(test: ast.expr) -> bool:
    """Whether a test asks for a number that somebody hands in, not the process group or the environment."""
    return all(last_name(node.func) in _PLAIN for node in walk(test, ast.Call))


def _chooses_log_level(guard: Guard) -> bool:
    """Whether a test decides only how much is logged: a line that scripts of one process were copied with.

    tevatron dd06310 src/tevatron/retriever/driver/jax_encode.py:45: `level=logging.INFO if training_args.local_rank
    in [-1, 0] else logging.WARN`.
    """
    match decided(guard.module).get(id(guard.node)):
        case ast.IfExp(body=body, orelse=orelse):
            return all(last_name(level) in _LEVELS for level in (body, orelse))
    return False
