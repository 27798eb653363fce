"""Why the machines of a launch have no place at which all of them meet."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from itertools import takewhile

from distlint.findings import Place
from distlint.knowledge.configuration.launchers import COUNTED, Launcher
from distlint.launch.commands import Launch, Option, Plain, plain, script_started
from distlint.launch.project import LaunchFiles, Script
from distlint.patterns import pattern
from distlint.records import dataclass


@dataclass(frozen=True, slots=True)
class Why:
    """What happens, and what to do about it."""

    says: str
    advice: str


_GIVE_ADDRESS = "Give all machines the address of the first: `--master_addr`, or `--rdzv_backend=c10d` with `--rdzv_endpoint`"
_NOWHERE = Why(
    "each machine waits at its own address for the others, as this launch is told no other",
    _GIVE_ADDRESS,
)
_OWN = Why(
    "each machine waits for the others at its own address, which is what `localhost` is on each of them",
    _GIVE_ADDRESS,
)
_ALL_FIRST = Why(
    "each machine starts as the first one, and they wait for one another",
    "Number the machines: `--node_rank`, or `--rdzv_backend=c10d` with `--rdzv_endpoint`",
)
_ONE = Why(
    "`torchrun` takes one machine where it is not told `--nnodes`: those of this job do not train together",
    "Tell it how many there are: `--nnodes=$SLURM_NNODES`",
)
_APART = Why(
    "`--standalone` makes a group of each machine: those of this job do not train together",
    "Name one place for all: `--nnodes=$SLURM_NNODES`, with `--rdzv_backend=c10d` and `--rdzv_endpoint`",
)
ITSELF = Why(
    "each machine waits for the others at its own address, which is what `localhost` is on each of them",
    "Give all machines the address of the first, and each its number",
)
"""Of programs that start their own processes."""


def put_in_once(number: str) -> Why:
    """Of a number that `srun` hands to all machines."""
    return Why(
        f"the batch script itself puts in `${number}`, which is 0 on its machine: all machines start as the first one, and "
        "wait for the others",
        f"Leave it to each task: `srun bash -c '… ${number} …'`",
    )


_HERE = pattern(r"(?:tcp://)?(?:localhost|127\.0\.0\.1|::1|\[::1\])(?::\d+)?")
_HANDED_ON = pattern(r"\$\{?(?:[@*\d]|\w*(?:arg|opt|extra)\w*)", re.IGNORECASE)
"""What may hold options that come behind those which are written out."""
_NUMBER = pattern(
    r"^[ \t]*(?:export[ \t]+)?(?P<name>\w*RANK)=[\"']?\$\{(?P=name):?-0\}", re.MULTILINE
)
"""The number of a machine that comes from outside, and is 0 where there is one."""
_MACHINES = ("nodes", "N")
"""How many machines a script asks Slurm for, in `#SBATCH`."""
_CONTAINERS = frozenset({"apptainer", "singularity"})
_FEWER = frozenset({"nodes", "N", "ntasks", "n", "nodelist", "w", "relative", "r"})
"""Options of `srun` that may take a part of them."""


def has_no_place(files: LaunchFiles, script: Script, launch: Launch) -> Why | None:
    """Why the machines of a launch do not find one another; None where they may.

    LanguageBind 7070c53 scripts/audio_language/train.sh:6: `torchrun --nnodes=2 --nproc_per_node 8` and nothing else.
    """
    options = launch.options
    if (
        launch.launcher not in (Launcher.TORCHRUN, Launcher.TORCH_LAUNCH)
        or not launch.options_known
        or "PET_" in script.text
        or any(name.startswith("PET_") for name in launch.environment)
    ):
        return None
    alone = "standalone" in options
    if "nnodes" not in options and _is_on_each_of_several(files, script, launch):
        return _APART if alone else _ONE
    if "nnodes" not in options or alone:
        return None
    number = launch.number("nnodes")
    backend = options.get("rdzv_backend")
    dynamic = backend is not None and backend.value != "static"
    if number is None and not dynamic and "node_rank" not in options:
        return _kept(script)
    if number is None or number[0] < 2:
        return None
    endpoint = options.get("rdzv_endpoint")
    address = endpoint or (None if dynamic else options.get("master_addr"))
    if address is not None and _is_here(address):
        # Several launches of one script on one machine play the machines.
        return _OWN if len(script.launches) == 1 else None
    if dynamic:
        assert backend is not None
        return None if address is not None or backend.value != "c10d" else _NOWHERE
    if address is None:
        return _NOWHERE
    return None if "node_rank" in options else _ALL_FIRST


def _kept(script: Script) -> Why | None:
    """Of a script that takes the number of its machine from outside, and hands it to nobody.

    FSDP-Training b7a4635 run.sh:17: `RANK=${RANK:-0}`, and `torchrun --nnodes=${WORLD_SIZE} --master_addr=${MASTER_ADDR}`.
    """
    for found in _NUMBER.finditer(script.text):
        name = found["name"]
        if len(re.findall(rf"\$\{{?{name}\b", script.text)) == 1 and len(script.launches) == 1:
            return Why(
                f"of several machines each starts as the first one, as `${name}` is handed to nobody, and they wait for one another",
                f"Add `--node_rank=${name}`",
            )
    return None


def _is_on_each_of_several(files: LaunchFiles, script: Script, launch: Launch) -> bool:
    """Whether `srun` starts a launch, or the script around it, on each machine of a job that asks Slurm for several.

    llama-recipes faae2fd getting-started/finetuning/multi_node.slurm:35: two machines, `srun torchrun --nproc_per_node 4`.
    DDPM-weather 7b1914d slurm/singularity_stuff/reserve_node.slurm:3 asks for four, and starts start_singularity.sh, which goes
    on `srun singularity exec … bash /ddpm/slurm/train.sh`.
    """
    words = [word.text for word in launch.before]
    if "srun" in words:
        return _is_whole_step(script, words[words.index("srun") + 1 :])
    name = posixpath.basename(script.path)
    steps = files.steps.get(name, ()) if files.only_one_called(name) == script.path else ()
    jobs = [(job, of_srun) for other, of_srun in steps for job in _jobs(files, other)]
    return bool(jobs) and all(_is_whole_step(job, of_srun) for job, of_srun in jobs)


def _jobs(files: LaunchFiles, script: Script) -> list[Script]:
    """The scripts that ask Slurm for the machines of one: itself, or those that start it."""
    if script.scheduler:
        return [script]
    name = posixpath.basename(script.path)
    return [
        other
        for other in files.scripts
        if not other.told and name in other.text and files.only_one_called(name) == script.path
        for command in other.commands
        if (found := script_started(command)) is not None
        and posixpath.basename(found[0].text or "") == name
    ]


def _is_whole_step(script: Script, of_srun: Iterable[str | None]) -> bool:
    """Whether a job asks for several machines, and `srun` is not told to take a part of them."""
    asked = [word for name in _MACHINES if (word := script.scheduler.get(name)) is not None]
    machines = asked[0].text if asked else None
    if machines is None or not machines.isdecimal() or int(machines) < 2:
        return False
    of_srun = list(takewhile(lambda word: word not in _CONTAINERS, of_srun))
    given = {(word or "").lstrip("-").partition("=")[0] for word in of_srun}
    short = any(re.match(r"-[Nnwr]", word or "") for word in of_srun)
    tasks = script.scheduler.get("ntasks") or script.scheduler.get("n")
    alone = tasks is not None and tasks.text == "1"
    return None not in of_srun and not short and not alone and given.isdisjoint(_FEWER)


def meets_itself(script: Script) -> Iterator[tuple[str, Place]]:
    """The programs without a launcher that are told of several machines, and to meet at this one; and where.

    UniFormerV2 722a434 exp/k710/k710_l14_f8x336/run.sh:7: `--init_method tcp://localhost:10125 --num_shards 4`.
    """
    found = [each for command in script.commands if (each := plain(command)) is not None]
    started = [each.script.text or "" for each in found]
    for each in found:
        name = each.script.text or ""
        # One that is started twice may be each of the machines in turn.
        handed_on = _HANDED_ON.search(script.command_at(each.place.line))
        if started.count(name) == 1 and not handed_on and _counts_itself(each):
            yield name, each.place


def _counts_itself(started: Plain) -> bool:
    given = started.arguments
    return any(
        (address := given.get(row.address)) is not None
        and _is_here(address)
        and (number := given.get(row.machines)) is not None
        and number.sure
        and (number.value or "").isdecimal()
        and int(number.value or "0") > 1
        and (not row.beside or row.beside in given)
        for row in COUNTED
    )


def _is_here(option: Option) -> bool:
    return option.sure and _HERE.fullmatch(option.value or "") is not None
