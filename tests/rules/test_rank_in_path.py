"""DL301 and the ways in which a rank goes into a path: own files are silent, one file of all is reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.checked import lines_of, marked

HEAD = """\
import dataclasses
import os
import os.path as osp
from dataclasses import dataclass, field
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from accelerate import Accelerator
from tqdm import tqdm


"""

OWN = {
    "an attribute that callers hand in, through a variable": """\
class Recorder:
    def __init__(self, folder):
        self.folder = folder

    def keep(self, state):
        dist.barrier()
        path = f"{self.folder}/memory.pt"
        torch.save(state, path)

def main(state):
    recorder = Recorder(f"out/rank{dist.get_rank()}_of_all")
    recorder.keep(state)

if __name__ == "__main__":
    Recorder("try").keep({})
""",
    "f-string": """\
def save(state, out):
    dist.barrier()
    torch.save(state, f"{out}/state-{dist.get_rank()}.pt")
""",
    "f-string with a format": """\
def save(state, out):
    dist.barrier()
    r = dist.get_rank()
    torch.save(state, f"{out}/state-{r:05d}.pt")
""",
    "percent": """\
def save(state, out):
    dist.barrier()
    torch.save(state, "%s/state-%02d.pt" % (out, dist.get_rank()))
""",
    "percent with a mapping": """\
def save(state, out):
    dist.barrier()
    torch.save(state, "%(out)s/state-%(n)d.pt" % {"out": out, "n": dist.get_rank()})
""",
    "format": """\
def save(state, out):
    dist.barrier()
    torch.save(state, "{}/state-{}.pt".format(out, dist.get_rank()))
""",
    "format with a keyword": """\
def save(state, out):
    dist.barrier()
    torch.save(state, "{o}/state-{n:03d}.pt".format(o=out, n=dist.get_rank()))
""",
    "format of a mapping": """\
def save(state, out):
    dist.barrier()
    names = {"n": dist.get_rank()}
    torch.save(state, "state-{n}.pt".format(**names))
""",
    "zfill": """\
def save(state, out):
    dist.barrier()
    torch.save(state, os.path.join(out, str(dist.get_rank()).zfill(4) + ".pt"))
""",
    "Path join": """\
def save(state, out):
    dist.barrier()
    torch.save(state, Path(out) / str(dist.get_rank()) / "state.pt")
""",
    "joinpath": """\
def save(state, out):
    dist.barrier()
    torch.save(state, Path(out).joinpath("states", f"{dist.get_rank()}.pt"))
""",
    "with_name": """\
def save(state, out):
    dist.barrier()
    torch.save(state, Path(out).with_name(f"{dist.get_rank()}.pt"))
""",
    "with_suffix": """\
def save(state, out):
    dist.barrier()
    torch.save(state, Path(out).with_suffix(f".{dist.get_rank()}"))
""",
    "replace": """\
def save(state, out):
    dist.barrier()
    torch.save(state, out.replace("N", str(dist.get_rank())))
""",
    "join of strings": """\
def save(state, out):
    dist.barrier()
    torch.save(state, "-".join([out, str(dist.get_rank())]))
""",
    "augmented": """\
def save(state, out):
    dist.barrier()
    path = out
    path += f"-{dist.get_rank()}"
    torch.save(state, path)
""",
    "element of a dict": """\
def save(state, out):
    dist.barrier()
    paths = {"model": f"{out}/{dist.get_rank()}.pt", "log": out}
    torch.save(state, paths["model"])
""",
    "element of a dict set later": """\
def save(state, out):
    dist.barrier()
    paths = {}
    paths["model"] = f"{out}/{dist.get_rank()}.pt"
    torch.save(state, paths["model"])
""",
    "element of a tuple": """\
def save(state, out):
    dist.barrier()
    folder, name = out, f"{dist.get_rank()}.pt"
    torch.save(state, os.path.join(folder, name))
""",
    "environment": """\
def save(state, out):
    dist.barrier()
    torch.save(state, os.path.join(out, os.environ["RANK"]))
""",
    "environment with a default": """\
def save(state, out):
    dist.barrier()
    torch.save(state, osp.join(out, "%s.pt" % os.environ.get("RANK", "0")))
""",
    "attribute": """\
class Writer:
    def __init__(self, out):
        self.number = dist.get_rank()
        self.out = out

    def save(self, state):
        dist.barrier()
        torch.save(state, f"{self.out}/{self.number}.pt")
""",
    "attribute that holds the path": """\
class Writer:
    def __init__(self, out):
        self.path = os.path.join(out, f"{dist.get_rank()}.pt")

    def save(self, state):
        dist.barrier()
        torch.save(state, self.path)
""",
    "attribute of an object in an attribute": """\
class Mesh:
    def __init__(self):
        self.me = dist.get_rank()


class Writer:
    def __init__(self, out):
        self.mesh = Mesh()

    def save(self, state, out):
        dist.barrier()
        torch.save(state, f"{out}/{self.mesh.me}.pt")
""",
    "attribute of a base class": """\
class Base:
    def __init__(self):
        self.number = dist.get_rank()


class Writer(Base):
    def save(self, state, out):
        dist.barrier()
        torch.save(state, f"{out}/{self.number}.pt")
""",
    "property": """\
class Writer:
    def __init__(self, out):
        self.out = out

    @property
    def path(self):
        return f"{self.out}/{dist.get_rank()}.pt"

    def save(self, state):
        dist.barrier()
        torch.save(state, self.path)
""",
    "helper method": """\
class Writer:
    def path_for(self, step):
        return os.path.join(self.out, f"{step}-{dist.get_rank()}.pt")

    def save(self, state, step):
        dist.barrier()
        torch.save(state, self.path_for(step))
""",
    "helper function": """\
def path_for(out):
    return os.path.join(out, f"{dist.get_rank()}.pt")


def save(state, out):
    dist.barrier()
    torch.save(state, path_for(out))
""",
    "helper function that gets the number": """\
def path_for(out, n):
    return os.path.join(out, f"{n}.pt")


def save(state, out):
    dist.barrier()
    torch.save(state, path_for(out, dist.get_rank()))
""",
    "helper function with a fallback": """\
def number():
    if not dist.is_initialized():
        return 0
    return dist.get_rank()


def save(state, out):
    dist.barrier()
    torch.save(state, os.path.join(out, str(number())))
""",
    "field of a dataclass": """\
@dataclass
class Settings:
    out: str
    n: int = 0


def main(state, out):
    settings = Settings(out, dist.get_rank())
    dist.barrier()
    torch.save(state, f"{settings.out}/{settings.n}.pt")
""",
    "field of a dataclass made in __post_init__": """\
@dataclass
class Settings:
    out: str

    def __post_init__(self):
        self.path = f"{self.out}/{dist.get_rank()}.pt"


def main(state, out):
    settings = Settings(out)
    dist.barrier()
    torch.save(state, settings.path)
""",
    "field set on the options": """\
def main(state, args):
    args.n = dist.get_rank()
    dist.barrier()
    torch.save(state, f"{args.out}/{args.n}.pt")
""",
    "field set on the options by a helper": """\
def setup(args):
    dist.init_process_group("nccl")
    args.n = dist.get_rank()
    args.out = os.path.join(args.out, str(args.n))


def main(state, args):
    setup(args)
    dist.barrier()
    torch.save(state, args.out)
""",
    "index of mp.spawn": """\
def work(index, out):
    dist.init_process_group("nccl", rank=index, world_size=4)
    dist.barrier()
    torch.save({}, f"{out}/{index}.pt")


def main():
    mp.spawn(work, args=("out",), nprocs=4)
""",
    "index of mp.spawn, through a call": """\
def work(i, out):
    dist.init_process_group("nccl", rank=i, world_size=4)
    train(i, out)


def train(n, out):
    dist.barrier()
    torch.save({}, f"{out}/{n}.pt")


def main():
    mp.spawn(work, args=("out",), nprocs=4)
""",
    "argument": """\
def write(state, path):
    torch.save(state, path)


def main(state, out):
    dist.barrier()
    write(state, f"{out}/{dist.get_rank()}.pt")
""",
    "argument through two calls": """\
def write(state, path):
    torch.save(state, path)


def save(state, folder):
    write(state, folder + "/state.pt")


def main(state, out):
    dist.barrier()
    save(state, f"{out}/{dist.get_rank()}")
""",
    "accelerator": """\
def main(state, out):
    accelerator = Accelerator()
    accelerator.wait_for_everyone()
    torch.save(state, f"{out}/{accelerator.process_index:02}.pt")
""",
    "index arithmetic": """\
def main(images, out):
    me, world = dist.get_rank(), dist.get_world_size()
    dist.barrier()
    for i in range(10):
        torch.save(images[i], f"{out}/{i * world + me}.pt")
""",
    "strided range": """\
def main(images, out):
    dist.barrier()
    for i in range(dist.get_rank(), 100, dist.get_world_size()):
        torch.save(images[i], f"{out}/{i}.pt")
""",
    "strided slice": """\
def main(names, out):
    dist.barrier()
    for name in names[dist.get_rank()::dist.get_world_size()]:
        torch.save(name, f"{out}/{name}.pt")
""",
    "conditional": """\
def main(state, out):
    n = dist.get_rank()
    dist.barrier()
    path = f"{out}/main.pt" if n == 0 else f"{out}/other-{n}.pt"
    torch.save(state, path)
""",
    "changed directory of the rank": """\
def main(state, out):
    folder = Path(out, f"part-{dist.get_rank()}")
    folder.mkdir(exist_ok=True)
    dist.barrier()
    with (folder / "log.txt").open("w") as f:
        f.write("x")
""",
    "elements behind a bar": """\
def main(state, names):
    dist.barrier()
    for name in tqdm(names):
        torch.save(state, name)
""",
    "the rank's share behind a bar": """\
def main(state, out, total):
    dist.barrier()
    share = range(dist.get_rank(), total, dist.get_world_size())
    if dist.get_rank() == 0:
        share = tqdm(share)
    for number in share:
        torch.save(state, f"{out}/{number}.pt")
""",
    "another list on rank 0": """\
def main(state, out, few, many):
    dist.barrier()
    names = tqdm(few) if dist.get_rank() == 0 else many
    for name in names:
        torch.save(state, out + name)
""",
    "device of the mesh": """\
def main(state, out, mesh):
    dist.barrier()
    torch.save(state, f"{out}/{mesh.get_local_rank()}.pt")
""",
}
"""Every rank has a file of its own."""

SHARED = {
    "an attribute that some callers hand in alike, through a variable": """\
class Recorder:
    def __init__(self, folder):
        self.folder = folder

    def keep(self, state):
        dist.barrier()
        path = f"{self.folder}/memory.pt"
        torch.save(state, path)  # here

def main(state):
    recorder = Recorder(f"out/rank{dist.get_rank()}_of_all")
    recorder.keep(state)

def other(state):
    Recorder("out").keep(state)
""",
    "a step that a function returns beside a rank": """\
def logger_of(path):
    return open(path)


def train(logger, step):
    logger.write(str(step))
    return step + 1


def main(state, out):
    dist.barrier()
    logger = logger_of(f"log-{dist.get_rank()}.txt")
    global_step = 0
    global_step = train(logger, global_step)
    torch.save(state, os.path.join(out, str(global_step)))  # here
""",
    "modulo one": """\
def save(state, out):
    dist.barrier()
    torch.save(state, f"{out}/state-{dist.get_rank() % 1}.pt")  # here
""",
    "times zero": """\
def save(state, out):
    dist.barrier()
    number = dist.get_rank() * 0
    torch.save(state, f"{out}/state-{number}.pt")  # here
""",
    "world size": """\
def save(state, out):
    dist.barrier()
    torch.save(state, f"{out}/state-{dist.get_world_size()}.pt")  # here
""",
    "world size of the environment": """\
def save(state, out):
    dist.barrier()
    torch.save(state, f"{out}/{os.environ['WORLD_SIZE']}.pt")  # here
""",
    "world size in a name": """\
def save(state, out):
    dist.barrier()
    num_ranks = dist.get_world_size()
    torch.save(state, f"{out}/of-{num_ranks}.pt")  # here
""",
    "a directory that is named so": """\
def save(state, out):
    dist.barrier()
    rank_dir = os.path.join(out, "ranks")
    torch.save(state, os.path.join(rank_dir, "state.pt"))  # here
""",
    "a word in the text": """\
def save(state, out):
    dist.barrier()
    torch.save(state, out + "/rank.pt")  # here
""",
    "a ranking": """\
def save(state, out):
    dist.barrier()
    rankings = os.path.join(out, "rankings.pt")
    torch.save(state, rankings)  # here
""",
    "a count of workers": """\
def save(state, out, num_workers=4):
    dist.barrier()
    torch.save(state, f"{out}/{num_workers}-workers.pt")  # here
""",
    "the rank of a low-rank adapter": """\
def save(state, out, lora_rank=8):
    dist.barrier()
    torch.save(state, f"{out}/lora-{lora_rank}.pt")  # here
""",
    "the rank in the contents only": """\
def save(out):
    dist.barrier()
    torch.save({"rank": dist.get_rank()}, os.path.join(out, "state.pt"))  # here
""",
    "made and not used": """\
def save(state, out):
    dist.barrier()
    own = f"{out}/{dist.get_rank()}.pt"
    print(own)
    torch.save(state, f"{out}/state.pt")  # here
""",
    "overwritten": """\
def save(state, out):
    dist.barrier()
    path = f"{out}/{dist.get_rank()}.pt"
    path = f"{out}/state.pt"
    torch.save(state, path)  # here
""",
    "the folder alone": """\
def save(state, out):
    dist.barrier()
    path = f"{out}/{dist.get_rank()}.pt"
    torch.save(state, os.path.join(os.path.dirname(path), "state.pt"))  # here
""",
    "the parent": """\
def save(state, out):
    dist.barrier()
    path = Path(out) / f"{dist.get_rank()}"
    torch.save(state, path.parent / "state.pt")  # here
""",
    "the other element of the tuple": """\
def save(state, out):
    dist.barrier()
    folder, number = out, dist.get_rank()
    torch.save(state, os.path.join(folder, "state.pt"))  # here
""",
    "the other element of the dict": """\
def save(state, out):
    dist.barrier()
    paths = {"own": f"{out}/{dist.get_rank()}.pt", "state": f"{out}/state.pt"}
    torch.save(state, paths["state"])  # here
""",
    "the other attribute": """\
class Writer:
    def __init__(self, out):
        self.rank = dist.get_rank()
        self.path = os.path.join(out, "state.pt")

    def save(self, state):
        dist.barrier()
        torch.save(state, self.path)  # here
""",
    "a property without it": """\
class Writer:
    def __init__(self, out):
        self.out, self.rank = out, dist.get_rank()

    @property
    def path(self):
        return f"{self.out}/state.pt"

    def save(self, state):
        dist.barrier()
        torch.save(state, self.path)  # here
""",
    "the same in both arms": """\
def save(state, out):
    dist.barrier()
    path = f"{out}/state.pt" if dist.get_rank() == 0 else f"{out}/state.pt"
    torch.save(state, path)  # here
""",
    "one file by all other ranks": """\
def save(state, out):
    dist.barrier()
    path = "main.pt" if dist.get_rank() == 0 else "other.pt"
    torch.save(state, path)  # here
""",
    "a flag": """\
def save(state):
    dist.barrier()
    torch.save(state, f"state-{dist.get_rank() >= 0}.pt")  # here
""",
    "the rank of the source": """\
def save(state, src_rank=0):
    dist.barrier()
    torch.save(state, f"from-{src_rank}.pt")  # here
""",
    "broadcast before": """\
def save(state, out):
    names = [f"{out}/{dist.get_rank()}.pt"]
    dist.broadcast_object_list(names)
    torch.save(state, names[0])  # here
""",
    "the number of spawned processes": """\
def work(index, out, nprocs):
    dist.init_process_group("nccl", rank=index, world_size=nprocs)
    dist.barrier()
    torch.save({}, f"{out}/{nprocs}.pt")  # here


def main():
    mp.spawn(work, args=("out", 4), nprocs=4)
""",
    "the step": """\
def main(state, out):
    for step in range(100):
        dist.barrier()
        torch.save(state, f"{out}/{step}.pt")  # here
""",
    "the step times the world": """\
def main(state, out):
    world = dist.get_world_size()
    for step in range(100):
        dist.barrier()
        torch.save(state, f"{out}/{step * world}.pt")  # here
""",
    "steps behind a bar of rank 0": """\
def main(state, out, total, start):
    dist.barrier()
    steps = range(total)
    if dist.get_rank() == 0:
        steps = tqdm(steps, dynamic_ncols=True)
    for step in steps:
        number = start + step
        torch.save(state, f"{out}/{number}.pt")  # here
""",
    "batches behind a bar of rank 0": """\
def main(state, out, loader):
    dist.barrier()
    batches = tqdm(loader) if dist.get_rank() == 0 else loader
    for step, batch in enumerate(batches):
        torch.save(state, f"{out}/{step}.pt")  # here
""",
    "the integer part": """\
def save(state):
    dist.barrier()
    torch.save(state, f"state-{dist.get_rank() // dist.get_world_size()}.pt")  # here
""",
}
"""All ranks, or several, mean one file."""


@pytest.mark.parametrize("text", OWN.values(), ids=OWN)
def test_a_file_of_its_own(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert lines_of("DL301", tmp_path, HEAD + text, capsys) == []


@pytest.mark.parametrize("text", SHARED.values(), ids=SHARED)
def test_one_file_of_all(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert lines_of("DL301", tmp_path, HEAD + text, capsys) == marked(HEAD + text)
