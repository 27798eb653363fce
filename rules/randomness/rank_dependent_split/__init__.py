"""The ranks split or shuffle one data set with different seeds.

## What it does
Finds splits and shuffles that all ranks have to make alike, seeded by the rank: the `seed` of a
`DistributedSampler`, which may come neither from the clock nor from an unseeded `random.randint()` of each process, `random_split` and `train_test_split` with a seed or
generator of the rank or after a seed of the rank, and `dataset.shuffle(seed=seed + rank)` in front of what gives
each rank its part. Also `random.shuffle` in the constructor of a data set where nothing is seeded before a
`Trainer` is made, or there or in a method that runs before the sampler is made where nothing seeds `random` (or only for an option that is None by default and
that no launch gives) and a DistributedSampler, accelerate's `prepare()` or a Trainer of Lightning on several devices divides the data, `train_test_split`,
`random_split` and a Hugging Face data set's `shuffle()` or `select(random.sample(…))` without a seed in a program
that seeds nothing, and the beginning and the rest of a permutation or of a shuffled list, one to train on and one to
test on (for a `Trainer`, one that is started on several ranks and makes it later), where nothing that runs before may seed, and
samples that a data set keeps by a draw (`random.sample(rows, k)`, `Subset(data, torch.randperm(n)[:k])`) where the
seed is none (`random.seed(None)` is that, too) or the rank's own, and lists made from a
set of texts (`list(set(prompts))`) or sorted by the `hash` of texts that become a data set, or of which each rank takes its part by index, or whose order
gives numbers to new tokens of a tokenizer or to texts, and data sets that number their samples in the order in which
`glob`, `os.listdir`, `os.walk` and the like list a folder
(information), or in which the workers of `imap_unordered` and `as_completed` are done. Also the permutation in a sampler of the program that gives each rank its part of it, by `torch.randperm` without a generator, `random`,
`np.random`, a `default_rng()` without a seed or a `RandomSampler` whose batches it cuts, where nothing seeds what it draws from. And `interleave_datasets(probabilities=…)` without a seed, and `webdataset.shuffle()` of the shards in front of `split_by_node`.

## Why it is bad
Each rank cuts another permutation. With a `DistributedSampler` the parts overlap: samples are seen twice in
an epoch, others never. With a split, what one rank trains on is in another rank's test set: the evaluation
is too good, and nothing says why.

## Example
```python
sampler = DistributedSampler(data, seed=seed + dist.get_rank())
```

## Use instead
```python
sampler = DistributedSampler(data, seed=seed)
```

## Fix safety
Unsafe: the order and the parts change.

## Known limits
A shuffle of a data set of the rank's own is not reported, nor one that nothing divides or reads afterwards: a whole
copy in another order on each rank is a choice. That a set holds texts is told by the names of what is put in; sets
of numbers are in one order everywhere; what a function that nothing calls makes of one, in a file that others import, is
left out. The order of a folder differs between copies of it, so between machines: ranks
of one machine, and most shared disks, list it alike.

## References
- torch 2.13.0 torch/utils/data/distributed.py: "It should be identical across all processes"
- torch 2.13.0 torch/utils/data/dataset.py:449
- python 3.11 reference, 3.3.1: `object.__hash__`, PYTHONHASHSEED
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.interpreter.values import Variance
from distlint.analysis.live.several import has_no_ranks
from distlint.analysis.model import Model, place_of, related, source_of, span_of
from distlint.analysis.program.memory import all_remembered
from distlint.analysis.program.syntax import assignments
from distlint.analysis.questions.seeding import Seed, seeds, without_rank
from distlint.edits import Replace
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.knowledge import randomness
from distlint.nodes import last_name, walk
from distlint.rule import Status

from .drawn import drawn_seed
from .listed import Listed, listed_samples
from .mixed import drawn_mixtures
from .numbered import numbered_sets
from .piped import shuffled_shards
from .repair import repaired
from .sampled import Permuted, unshared_permutations
from .unordered import Unordered, unordered_lists
from .unseeded import shuffles_by_hand, unseeded_shuffles, unseeded_splits, unseeded_subsets

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.interpreter.values import Value
    from distlint.analysis.model import CallGroup
    from distlint.analysis.program.definitions import Module

CODE = "DL405"
NAME = "rank-dependent-split"
SEVERITY = Severity.ERROR
STATUS = Status.PREVIEW
LITERALS = (b"split_by_node", b"imap_unordered")

_SPLIT = "torch.utils.data.random_split"
_SPLITS = {"train_test_split": ("seed", "random_state"), "shuffle": ("seed",)}
_DIVIDES = (
    "DistributedSampler",
    "prepare",
    "split_dataset_by_node",
    "shard",
    "prepare_data_loader",
)
_OVERLAP = "the ranks shuffle differently, so that their parts overlap and leave samples out"
_OWN_STREAM = {
    "torch": "Hand it a seeded generator",
    "python": "Draw from `random.Random(seed + epoch)`",
    "numpy": "Draw from `np.random.default_rng(seed + epoch)`",
}
"""What to draw an order from that all ranks have alike, for each stream that is the process's own."""
_SHOWN = 5
_LEAK = "the ranks split differently, so that what one trains on is in the test set of another"


def check(model: Model) -> Iterator[Finding]:
    """Each split or shuffle that the ranks make with different seeds."""
    for module in model.modules:
        yield from _in_file(model, module)


@all_remembered
def _in_file(model: Model, module: Module) -> Iterator[Finding]:
    """What is split or shuffled so in a file."""
    if has_no_ranks(module):
        return
    earlier = [s for s in seeds(model, module) if s.per_rank and "torch" in s.streams]
    for call in model.calls(module=module):
        if not call.guarded_by_rank:
            finding = _sampler(model, module, call) or _split(module, call, earlier)
            finding = finding or _method(model, module, call)
            if finding is not None:
                yield finding
    of_trainers = list(unseeded_shuffles(model, module))
    for where, node, trainer in of_trainers:
        yield Finding(
            CODE,
            NAME,
            Severity.WARNING,
            f"nothing is seeded before `{source_of(where, node)}`: every rank has the samples in an "
            "order of its own, and the trainer gives each its part by index, so that samples are seen "
            "twice and others never. Seed before the data set is made, or shuffle with "
            "`random.Random(seed)`.",
            place_of(where, node),
            (related(module, trainer, "seeds the ranks alike, too late for the shuffle"),),
        )
    told = {id(node) for _, node, _ in of_trainers}
    for node, is_made in shuffles_by_hand(model, module):
        if id(node) in told:
            continue
        yield Finding(
            CODE,
            NAME,
            Severity.WARNING if is_made else Severity.INFO,
            f"nothing seeds alike what `{source_of(module, node)}` draws from: every rank has the samples in an order of "
            "its own, and the sampler gives each its part by index, so that samples are seen twice and others "
            "never. Shuffle with `random.Random(seed)`.",
            place_of(module, node),
        )
    splits = list(unseeded_splits(model, module))
    for split in splits:
        name = last_name(split.func)
        of_datasets = name == "select" or (name == "shuffle" and not split.args)
        how = _OVERLAP if of_datasets else _LEAK
        yield Finding(
            CODE,
            NAME,
            Severity.WARNING,
            f"nothing is seeded: {how}. Give it a seed.",
            place_of(module, split),
        )
    of_splits = {id(node) for split in splits for node in walk(split)}
    for drawn in (n for n in unseeded_subsets(model, module) if id(n) not in of_splits):
        yield Finding(
            CODE,
            NAME,
            Severity.WARNING,
            f"nothing seeds alike what `{source_of(module, drawn.func)}` draws from: every rank keeps other samples, and is "
            "given its part of them by index, so that all of them train on more than what one has drawn, and some samples "
            "are seen twice. Draw with a generator that all ranks seed alike.",
            place_of(module, drawn),
        )
    for permuted in unshared_permutations(model, module):
        yield _permuted(module, permuted)
    if mixtures := drawn_mixtures(model, module):
        yield _mixed(module, *mixtures)
    for shuffle, divides in shuffled_shards(model, module):
        yield Finding(
            CODE,
            NAME,
            Severity.WARNING,
            f"`{source_of(module, shuffle)}` draws from the number of the process and the clock: {_OVERLAP}. Use "
            "`webdataset.detshuffle()`, or shuffle behind the division.",
            place_of(module, shuffle),
            (related(module, divides, "gives each rank its part of the shards"),),
        )
    yield from (_unordered(module, use) for use in unordered_lists(model, module))
    for made, used in numbered_sets(model, module):
        yield _numbered(module, made, used)
    yield from map(_listed, listed_samples(model, module))


def _permuted(module: Module, permuted: Permuted) -> Finding:
    advice = _OWN_STREAM.get(permuted.stream, "Give the generator a seed that all ranks have")
    if permuted.stream == "torch" and permuted.generator:
        advice = f"Hand it `generator={permuted.generator}`"
    return Finding(
        CODE,
        NAME,
        Severity.WARNING,
        f"nothing seeds what `{source_of(module, permuted.drawn.func)}` draws from: {_OVERLAP}. {advice}.",
        place_of(module, permuted.drawn),
        (related(permuted.where, permuted.part, "the rank's part of it"),),
        Fix(Applicability.DISPLAY, advice),
    )


def _mixed(module: Module, first: ast.Call, *more: ast.Call) -> Finding:
    advice = "Give it a `seed`"
    return Finding(
        CODE,
        NAME,
        Severity.WARNING,
        "without a `seed` each process draws a mixture of its own, whatever the program seeds, and is given its part of it "
        f"by index, so that samples are seen twice and others never. {advice}.",
        place_of(module, first),
        tuple(related(module, each, "and here") for each in more[:_SHOWN]),
        Fix(Applicability.DISPLAY, advice),
    )


def _unordered(module: Module, use: Unordered) -> Finding:
    text = source_of(module, use.made)
    what = (
        "the ranks divide lists that differ"
        if use.sure
        else "each rank makes a data set in another order, and is given its part of it by index"
    )
    advice = "Sort it: `sorted(...)`"
    edits: tuple[Replace, ...] = ()
    if isinstance(use.made, ast.Call) and last_name(use.made) in ("list", "tuple"):
        edits = (Replace(span_of(use.made.func), "sorted"),)
    elif use.by_hash:
        advice = "Sort by the texts themselves"
    return Finding(
        CODE,
        NAME,
        SEVERITY if use.sure else Severity.WARNING,
        f"`{text}` is in another order in each process, whose hashes of texts are salted: {what}, so that samples "
        f"are seen twice and others never. {advice}.",
        place_of(module, use.made),
        ()
        if use.used is use.made
        else (related(module, use.used, "divided here" if use.sure else "used here"),),
        Fix(Applicability.UNSAFE if edits else Applicability.DISPLAY, advice, edits),
    )


def _numbered(module: Module, made: ast.expr, used: ast.AST) -> Finding:
    advice = "Sort it: `sorted(...)`"
    edits: tuple[Replace, ...] = ()
    if isinstance(made, ast.Call) and last_name(made) in ("list", "tuple"):
        edits = (Replace(span_of(made.func), "sorted"),)
    return Finding(
        CODE,
        NAME,
        Severity.WARNING,
        f"`{source_of(module, made)}` is in another order in each process, whose hashes of texts are salted: one text "
        f"gets another number on each rank, and the ranks train one row of a table with different meanings. {advice}.",
        place_of(module, made),
        (related(module, used, "numbered here"),),
        Fix(Applicability.UNSAFE if edits else Applicability.DISPLAY, advice, edits),
    )


def _listed(listed: Listed) -> Finding:
    module, call = listed.module, listed.call
    text = source_of(module, call.func)
    if listed.as_they_come:
        return _as_they_come(listed, text)
    advice = "Sort it: `sorted(...)`" if listed.sortable else "Sort what it lists"
    edits: tuple[Replace, ...] = ()
    if listed.sortable:
        edits = (Replace(span_of(call), f"sorted({source_of(module, call)})"),)
    return Finding(
        CODE,
        NAME,
        Severity.INFO,  # on one machine, or a shared disk, all see one order
        f"`{text}()` lists the samples in the order of the file system, which is each machine's own: with copies of "
        "the data the ranks mean different samples by one index, so that samples are seen twice and others never. "
        f"{advice}.",
        place_of(module, call),
        (related(module, listed.kept, "the ranks are given their parts by index of this"),)
        if listed.kept is not call
        else (),
        Fix(Applicability.UNSAFE if edits else Applicability.DISPLAY, advice, edits),
    )


def _as_they_come(listed: Listed, text: str) -> Finding:
    advice = (
        "Keep the order of what was asked for: `imap`, `map`, or a number of each result to sort by"
    )
    return Finding(
        CODE,
        NAME,
        Severity.WARNING,
        f"`{text}()` gives the samples in the order in which the workers are done, which is each rank's own: by one index the "
        f"ranks mean different samples, so that samples are seen twice and others never. {advice}.",
        place_of(listed.module, listed.call),
        (related(listed.module, listed.kept, "the ranks are given their parts by index of this"),),
        Fix(Applicability.DISPLAY, advice),
    )


def _sampler(model: Model, module: Module, call: CallGroup) -> Finding | None:
    row = randomness.SAMPLERS.get(call.site.name)
    if row is None or not row.distributed or not row.seed_keyword:
        return None
    node = call.site.argument_node(None, row.seed_keyword)
    seed = call.site.keywords.get(row.seed_keyword)
    own = seed is not None and (_of_rank(seed) or "clock" in seed.tags)
    if own and not _takes_rank_off(call.site, node):
        return _finding(module, call.site, _OVERLAP, node)
    drawn = drawn_seed(model, call.site.function, node) if node is not None else None
    if own or drawn is None:
        return None
    where, draw = drawn
    return Finding(
        CODE,
        NAME,
        Severity.WARNING,
        f"the seed that `{source_of(where, draw)}` gives is another one in every process, and {_OVERLAP}. "
        "Draw it on rank 0, and broadcast it.",
        place_of(module, call.site.node),
        (related(where, draw, "drawn by each process"),),
        Fix(Applicability.DISPLAY, "Draw it on rank 0, and broadcast it"),
    )


def _takes_rank_off(site: CallSite, node: ast.expr | None) -> bool:
    """Whether the rank is subtracted: from a seed that it had been added to, so that all ranks agree
    again (ultralytics 8.4.190, data/build.py: `torch.initial_seed() - RANK - 1`)."""
    nodes = [node] if node is not None else []
    if isinstance(node, ast.Name):
        nodes += assignments(site.function).get(node.id, [])
    return any(isinstance(n, ast.Sub) for tree in nodes for n in walk(tree))


def _method(model: Model, module: Module, call: CallGroup) -> Finding | None:
    site = call.site
    keywords = _SPLITS.get(site.method, ())
    keyword = next((k for k in keywords if _of_rank(site.keywords.get(k))), None)
    data = site.receiver if site.receiver is not None else site.argument(0)
    if keyword is None or _of_rank(data):
        return None
    if site.method == "shuffle" and not _divided(model, site):
        return None
    text = _OVERLAP if site.method == "shuffle" else _LEAK
    return _finding(module, site, text, site.argument_node(None, keyword))


def _divided(model: Model, site: CallSite) -> bool:
    """Whether the same function gives each rank a part afterwards."""
    return any(
        other.site.method in _DIVIDES and other.site.node.lineno >= site.node.lineno
        for other in model.calls(module=site.module)
        if other.site.function is site.function
    )


def _split(module: Module, call: CallGroup, earlier: list[Seed]) -> Finding | None:
    site = call.site
    if site.name != _SPLIT or _of_rank(site.argument(0, "dataset")):
        return None
    given = site.argument(2, "generator")
    node = site.argument_node(2, "generator")
    if given is None:
        before = [
            s
            for s in earlier
            if s.site.function is site.function and s.site.node.lineno < site.node.lineno
        ]
        return _finding(module, site, _LEAK, None, before[-1].value) if before else None
    if node is not None and _of_rank(given):
        return _finding(module, site, _LEAK, node, _seed_in(node), generator=True)
    if isinstance(node, ast.Name) and _seeded_by_rank(module, site, node.id):
        return _finding(module, site, _LEAK, node, None, generator=True)
    return None


def _seed_in(node: ast.expr) -> ast.expr | None:
    """The seed of `Generator().manual_seed(seed + rank)`."""
    match node:
        case ast.Call(func=ast.Attribute(attr="manual_seed"), args=[seed]):
            return without_rank(seed)
    return None


def _seeded_by_rank(module: Module, site: CallSite, name: str) -> bool:
    return any(
        isinstance(node.func, ast.Attribute)
        and node.func.attr == "manual_seed"
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == name
        and node.lineno < site.node.lineno
        and bool(node.args)
        and without_rank(node.args[0]) is not node.args[0]
        for node in walk(site.function.node, ast.Call)
    )


def _of_rank(value: Value | None) -> bool:
    return value is not None and value.variance is Variance.RANK_DEPENDENT


def _finding(
    module: Module,
    site: CallSite,
    text: str,
    node: ast.expr | None,
    seed: ast.expr | None = None,
    generator: bool = False,
) -> Finding:
    fix = repaired(module, site, node, seed, generator)
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"{text}. {fix.message}.",
        place_of(module, site.node),
        (),
        fix,
    )
