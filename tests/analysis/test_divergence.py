"""Where classes of ranks part: found at the marked lines, and nowhere else.

A mark names the kind of divergence on the line of its anchor: `# parts: rank` (two classes of ranks),
`local` (a condition that each rank answers for itself), `loop`, `failure`. Cases without a mark are right.
"""

from __future__ import annotations

import ast
import re
from textwrap import dedent

import pytest

from distlint.analysis import Source, build_model
from distlint.analysis.model import Model

MARK = re.compile(r"#\s*parts:\s*(\w+)")

HEAD = """
import os, sys, threading, time, torch, torch.distributed as dist
from accelerate import Accelerator
from torch.nn.parallel import DistributedDataParallel as DDP
"""

RIGHT = {
    "a turnstile that is a class, of which one half gives itself back": """
        class First:
            def __enter__(self):
                if dist.get_rank() != 0:
                    dist.barrier()
                return self

            def __exit__(self, *failure):
                if dist.get_rank() == 0:
                    dist.barrier()

        def main(path):
            with First():
                return torch.load(path)
        """,
    "a call of which more is known on rank 0": """
        from mpi4py import MPI

        def main(choose):
            world = MPI.COMM_WORLD if dist.get_rank() == 0 else choose()
            world.Barrier()
            dist.barrier()
        """,
    "a loop that is left, not what is around it": """
        def main(loader, attempts, model):
            model = DDP(model)
            for batch in loader:
                model(batch).sum().backward()
                if dist.get_rank() == 0:
                    for number in range(attempts):
                        if write(number):
                            break
        """,
    "a condition that the called function asks by another name": """
        def innermost(settings):
            if settings.wide:
                dist.barrier()

        def inner(settings, *, model):
            innermost(settings)

        def main(options, model):
            if not options.wide and dist.get_rank() != 0:
                return
            inner(options, model=model)
        """,
    "a condition of what the program made before": """
        def inner(options):
            for batch in options.batches:
                if options.wide:
                    dist.barrier()

        def main():
            options = read()
            if dist.get_rank() == 0 or options.wide:
                inner(options)
        """,
    "whether the rank is set, where it is launched": """
        def first():
            return os.environ.get("WORLD_SIZE") is None or dist.get_rank() == 0

        def main():
            if "RANK" not in os.environ and first():
                dist.barrier()
        """,
    "the clock under another key of a dict": """
        def save(info):
            if info["engine"] == "sharded":
                dist.barrier()

        def main(config):
            save({"time": time.time(), "step": 0, **config})
        """,
    "the rank under a key, where all ranks go the same way": """
        def options(name):
            opt = {"name": name}
            opt["rank"], opt["size"] = dist.get_rank(), dist.get_world_size()
            return opt

        def save(opt, state):
            if opt["rank"] == 0:
                torch.save(state, opt["name"])
            if opt["name"] and opt["size"] > 1:
                dist.barrier()

        def main(state):
            save(options("a"), state)
        """,
    "a key that is set anew": """
        def main(options):
            options["when"] = time.time()
            options["when"] = options["start"]
            if options["when"] > 3:
                dist.barrier()
        """,
    "a function that calls itself under a condition of all ranks": """
        def visit(node):
            if node.left:
                visit(node.left)
            dist.all_reduce(node.value)
            if node.right:
                visit(node.right)
            if dist.get_rank() == 0:
                report(node)
        """,
    "the state of a model that is wrapped in the other mode alone": """
        from torch.distributed.fsdp import FullyShardedDataParallel as FSDP

        def main(args, model):
            if args.fsdp:
                model = FSDP(model)
            if dist.get_rank() == 0:
                state = None if args.fsdp else model.state_dict()
                report(state)
        """,
    "a trainer of one device": """
        import lightning.pytorch as pl

        def main(model):
            trainer = pl.Trainer(devices=8)
            trainer.fit(model)
            if trainer.is_global_zero:
                tester = pl.Trainer(devices=1, accelerator="gpu")
                tester.test(model)
        """,
    "modes exclude each other": """
        class Trainer:
            def __init__(self, args):
                self.mode = args.mode
                if self.mode == "server" and dist.get_rank() == 0:
                    connect()
                elif self.mode == "colocate":
                    self.group = dist.new_group([0, 1])
                dist.barrier()
        """,
    "the mode of an earlier branch": """
        def main(mode, rank):
            if mode == "a":
                dist.barrier()
            if mode == "b" and dist.get_rank() == 0:
                report()
            elif mode == "a":
                dist.barrier()
        """,
    "too many kinds of arguments for one class": """
        def work(first=None, second=None, third=None):
            if dist.get_rank() == 0:
                report(first)
            if second is not None:
                dist.barrier()

        def main():
            if dist.get_rank() == 0:
                work(True)
                work(False)
                work(None, None, True)
                work(True, None, True)
                work(True, None, False)
            work(False, None, False)
        """,
    "a handler of all ranks raises": """
        import requests
        def main(url):
            try:
                requests.get(url)
            except requests.RequestException:
                raise
            dist.barrier()
        """,
    "who raises alone meets the others in a finally": """
        import requests
        def main(url):
            try:
                if dist.get_rank() == 0:
                    try:
                        requests.get(url)
                    except requests.RequestException as error:
                        raise RuntimeError(url) from error
            finally:
                dist.barrier()
        """,
    "who raises alone does so after the collective": """
        import requests
        def main(url):
            dist.barrier()
            if dist.get_rank() == 0:
                try:
                    requests.get(url)
                except requests.RequestException as error:
                    raise RuntimeError(url) from error
        """,
    "a handler of one rank raises where nothing fails on one rank alone": """
        def main(config):
            if dist.get_rank() == 0:
                try:
                    config["name"]
                except KeyError:
                    raise ValueError("name") from None
            dist.barrier()
        """,
    "what is raised alone is caught, and the rank comes to the collective": """
        import requests
        def main(url):
            if dist.get_rank() == 0:
                try:
                    try:
                        requests.get(url)
                    except requests.RequestException as error:
                        raise RuntimeError(url) from error
                except RuntimeError:
                    pass
            dist.barrier()
        """,
    "sandwich": """
        def main(local_rank):
            if local_rank not in [-1, 0]:
                dist.barrier()
            load()
            if local_rank == 0:
                dist.barrier()
        """,
    "matched branches": """
        def main():
            if dist.get_rank() == 0:
                x = read()
                dist.broadcast(x, 0)
            else:
                x = torch.empty(3)
                dist.broadcast(x, 0)
        """,
    "size, then data": """
        def bcast(data, rank, src=0):
            if rank == src:
                if len(data) == 0:
                    size = torch.tensor([0])
                    dist.broadcast(size, src=src)
                else:
                    size = torch.tensor([3])
                    dist.broadcast(size, src=src)
                    dist.broadcast(data, src=src)
                return data
            size = torch.tensor([0])
            dist.broadcast(size, src=src)
            if size.item() == 0:
                return []
            buf = torch.empty(size)
            dist.broadcast(buf, src=src)
            return buf
        """,
    "one barrier for each rank": """
        def main():
            for r in range(dist.get_world_size()):
                if dist.get_rank() == r:
                    print("x")
                dist.barrier()
            for r in range(dist.get_world_size()):
                if r == dist.get_rank():
                    dist.barrier()
        """,
    "RANK != -1 asks whether there are ranks": """
        RANK = int(os.getenv("RANK", -1))
        def main():
            if RANK != -1:
                dist.barrier()
        """,
    "is_initialized and world size": """
        def main():
            if dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1:
                dist.barrier()
        """,
    "context manager, as sandwich": """
        from contextlib import contextmanager
        @contextmanager
        def zero_first(is_main):
            if not is_main:
                dist.barrier()
            yield
            if is_main:
                dist.barrier()
        def main():
            with zero_first(dist.get_rank() == 0):
                x = load()
                return x
        """,
    "context manager, local or global": """
        from contextlib import contextmanager
        @contextmanager
        def main_process_first(local_only=True):
            is_main = int(os.environ["LOCAL_RANK"]) == 0 if local_only else dist.get_rank() == 0
            try:
                if not is_main:
                    dist.barrier()
                yield
            finally:
                if is_main:
                    dist.barrier()
        """,
    "a number that is the local or the global rank": """
        def first(local: bool):
            rank = int(os.environ["LOCAL_RANK"]) if local else dist.get_rank()
            if rank > 0:
                dist.barrier()
            work()
            if rank == 0:
                dist.barrier()
        """,
    "early return of all": """
        def main(x):
            if x is None:
                return
            dist.barrier()
        """,
    "both return before": """
        def gather(rank, counts):
            dist.all_reduce(counts)
            if counts.item() == 0:
                if rank != 0:
                    return None
                return []
            dist.all_gather([counts], counts)
        """,
    "collective in finally": """
        def main():
            try:
                if dist.get_rank() == 0:
                    write()
            finally:
                dist.barrier()
        """,
    "a literal rank turns the barriers off": """
        from contextlib import contextmanager

        @contextmanager
        def first(local_rank):
            if local_rank not in [-1, 0]:
                dist.barrier()
            yield
            if local_rank == 0:
                dist.barrier()

        def build(path, rank=-1, augment=False):
            with first(rank):
                return read(path)

        def train(path, evolve, rect):
            rank = dist.get_rank()
            build(path, rank=rank, augment=True)
            build(path, rank=rank, augment=evolve)
            build(path, rank=rank, augment=None)
            if rank in [-1, 0]:
                build(path, rank=-1, augment=rect)
                build(path)
        """,
    "one side has answered what the other has still to ask": """
        @torch.no_grad()
        def read(path, rank):
            if rank == 0:
                dist.barrier()
            else:
                dist.barrier()

        def train(cuda, opt):
            rank = dist.get_rank()
            if rank == 0:
                quiet(rank)
            if cuda:
                dist.broadcast_object_list([opt])
            for epoch in range(opt.epochs):
                if opt.weights:
                    dist.barrier()

        def quiet(rank):
            if rank == 1:
                dist.barrier()
        """,
    "an argument of each rank's own, the same collectives": """
        def share(rank, x):
            if rank == 0:
                dist.broadcast(x, 0)
            else:
                dist.broadcast(torch.empty(3), 0)

        def main(x):
            share(dist.get_rank(), x)

        def twice(is_source, x):
            if is_source:
                dist.broadcast(x, 0)
            else:
                dist.broadcast(torch.empty(3), 0)

        def pair(x):
            twice(dist.get_rank() == 0, x)
            twice(dist.get_rank() != 0, x)

        def one_after_the_other(x):
            mine(dist.get_rank() == 0, x)
            mine(dist.get_rank() != 0, x)

        def mine(is_source, x):
            if is_source:
                dist.broadcast(x, 0)
        """,
    "the rank of a matrix": """
        def convert(module, rank: int | float = 8):
            if rank == 0:
                raise ValueError("zero")
            dist.barrier()
        """,
    "a raise for another reason than the rank": """
        def main(config):
            if dist.get_rank() == 0:
                if config.bad:
                    raise ValueError("bad")
                write()
            dist.barrier()
        """,
    "recursion": """
        def walk(module):
            for child in module.children():
                walk(child)
            dist.barrier()
        def main(module, server):
            if dist.get_rank() == 0 and server:
                with open("x"):
                    walk(module)
            else:
                walk(module)
        """,
    "recursion with a default": """
        class Sync:
            def inner(self, module):
                self.walk(module)
            def walk(self, module, prefix="", visited=None):
                if visited is None:
                    visited = set()
                for name, child in module.named_children():
                    self.walk(child, prefix=f"{prefix}.{name}", visited=visited)
                if isinstance(module, Special):
                    dist.barrier()
                    if self.mode == "server" and dist.get_rank() == 0:
                        send(module)
            def main(self, module):
                if self.mode == "server" and dist.get_rank() == 0:
                    with open("x"):
                        self.inner(module)
                else:
                    self.inner(module)
        """,
    "a group of its own": """
        def main(group):
            if dist.get_rank() < 2:
                dist.barrier(group)
        """,
    "server loop": """
        def serve():
            while True:
                box = [None]
                dist.scatter_object_list(box, None, src=0)
                if box[0] == "stop":
                    return
                work(box[0])
                dist.gather_object(box[0], None, dst=0)
        def main(jobs):
            if dist.get_rank() == 0:
                for job in jobs:
                    dist.scatter_object_list([None], job, src=0)
                    dist.gather_object(None, [], dst=0)
                dist.scatter_object_list([None], ["stop"], src=0)
            else:
                serve()
        """,
    "an unknown callee that is given a function": """
        def work():
            dist.barrier()
        def main(executor):
            if dist.get_rank() == 0:
                executor.submit(work)
        """,
    "decided by a collective": """
        def main(loss, loader):
            for batch in loader:
                flag = torch.tensor(float(loss.item() > 3))
                dist.all_reduce(flag)
                if flag.item() > 0:
                    break
                dist.barrier()
        """,
    "loop over a dict": """
        def main(parameters):
            for name, p in parameters.items():
                dist.all_reduce(p)
        """,
    "a list indexed by a loop variable": """
        def main(records, order, dtype):
            for index, name in enumerate(sorted(records)):
                for start in range(0, len(records[index]), 8):
                    dist.broadcast(records[index], src=0)
        """,
    "a raise that ends the job": """
        def main(path):
            if dist.get_rank() == 0 and not os.path.exists(path):
                raise FileNotFoundError(path)
            dist.barrier()
        """,
    "only the file system differs": """
        def main(path):
            if os.path.exists(path):
                dist.barrier()
        """,
    "a compiled model's inner model": """
        def main(net):
            model = torch.compile(torch.nn.parallel.DistributedDataParallel(net))
            inner = model
            if net.distributed:
                inner = model.module
            if dist.get_rank() == 0:
                inner(1)
                model._orig_mod.module(1)
        """,
    "a communicator of one rank and a server": """
            # trl 0.26.2 extras/vllm_client.py:468
            class Client:
                def send(self, x):
                    self.communicator.broadcast(x, root=self.rank)
                    self.communicator.barrier()
            def main(x, client: Client):
                if dist.get_rank() == 0:
                    client.send(x)
        """,
    "a question asked twice": """
            state = None
            def is_distributed():
                return state is not None and state.use_distributed
            def main(x, xs):
                if is_distributed() and dist.get_rank() != 0:
                    dist.gather_object(x, dst=0)
                else:
                    if is_distributed():
                        dist.gather_object(x, xs, dst=0)
                dist.barrier()
        """,
    "a helper that only scatters": """
            def main(x, quantized):
                is_source = dist.get_rank() == 0
                def scatter(whole, like):
                    out = torch.empty_like(like)
                    dist.scatter(out, scatter_list=[whole] if is_source else None, src=0)
                    return out
                if quantized:
                    return scatter(x.scale if is_source else None, x.scale)
                return scatter(x if is_source else None, x)
        """,
    "returned where there was none": """
        def write(path, state=None):
            if state is None:
                state = collect()
            torch.save(state, path)
        def collect():
            return Accelerator().get_state_dict(model)

        def save(path, state):
            if state is None:
                return
            if dist.get_rank() == 0:
                write(path, state)
        """,
    "made where there was none": """
        def write(path, state=None):
            if state is None:
                state = collect()
            torch.save(state, path)
        def collect():
            return Accelerator().get_state_dict(model)

        def save(path, kept, other):
            state = kept.get("state")
            if state is None or other is None:
                raise ValueError("nothing to save")
            if dist.get_rank() == 0:
                write(path, state=state)
        """,
    "only where there is one": """
        def write(path, state=None):
            if state is None:
                state = collect()
            torch.save(state, path)
        def collect():
            return Accelerator().get_state_dict(model)

        def save(path, state, log):
            if state and log:
                if dist.get_rank() == 0:
                    write(path, state)
        def save_all(path, states):
            for state in states:
                if not state:
                    continue
                if dist.get_rank() == 0:
                    write(path, state)
        """,
    "a handler that all ranks may come to": """
        def main():
            try:
                dist.barrier(device_ids=[1])
            except TypeError:
                dist.barrier()
        """,
    "a handler meets the others and raises": """
        def main():
            if dist.get_rank() == 0:
                try:
                    prepare()
                except ValueError:
                    dist.barrier()
                    raise
            dist.barrier()
        """,
    "a handler that only logs": """
        def main(x):
            if dist.get_rank() == 0:
                try:
                    prepare()
                except ValueError:
                    return print("failed")
            dist.barrier()
        """,
    "out of memory, raised again": """
        def main(model, loader):
            model = DDP(model)
            for b in loader:
                try:
                    model(b).sum().backward()
                except torch.cuda.OutOfMemoryError:
                    print("out of memory")
                    raise
        """,
    "out of memory, told to each other until all have finished": """
        def main(flags, batch):
            failed = False
            try:
                dist.all_reduce(flags)
                work(batch)
            except RuntimeError as e:
                if "out of memory" not in str(e):
                    raise
                failed = True
            finished = False
            while not finished:
                dist.all_reduce(flags)
                finished = flags.item() == 1
            return failed
        """,
    "a failure below, caught there": """
        import requests
        def fetch(url):
            try:
                return requests.get(url)
            except OSError:
                return None
        def main(url):
            try:
                fetch(url)
            except Exception:
                return
            dist.barrier()
        """,
    "a failure below, another error caught": """
        import requests
        def fetch(url):
            return requests.get(url)
        def main(url):
            try:
                fetch(url)
            except FileNotFoundError:
                return
            dist.barrier()
        """,
    "another error than out of memory": """
        def main(model, loader):
            model = DDP(model)
            for b in loader:
                try:
                    model(b).sum().backward()
                except RuntimeError as e:
                    if "shape" in str(e):
                        continue
                    raise
        """,
    "a thread of every rank": """
        def main(x):
            threading.Thread(target=dist.barrier).start()
            threading.Thread(target=lambda: dist.all_reduce(x)).start()
        """,
    "a thread of one rank that stays local": """
        class Reporter(threading.Thread):
            def run(self):
                print("still alive")
        def main():
            if dist.get_rank() == 0:
                Reporter().start()
            dist.barrier()
        """,
    "evaluation on one rank, no buffers to broadcast": """
        def main(model, x):
            model = DDP(model, broadcast_buffers=False)
            if dist.get_rank() == 0:
                with torch.no_grad():
                    model(x)
        @torch.inference_mode()
        def evaluate(model, x):
            model = DDP(model, broadcast_buffers=False)
            if dist.get_rank() == 0:
                model(x)
        """,
    "evaluation on one rank, unwrapped": """
        def main(model, x):
            model = torch.compile(DDP(model))
            if dist.get_rank() == 0:
                with torch.no_grad():
                    model.module(x)
        """,
    "a data loader over data pipes, on all ranks": """
        from torch.utils.data import DataLoader
        from torch.utils.data.datapipes.iter import IterDataPipe
        class Dispatcher(DataLoader):
            def __iter__(self):
                batches = super().__iter__()
                if dist.get_rank() == 0:
                    yield from batches
        """,
    "a data loader over a plain dataset": """
        from torch.utils.data import DataLoader
        class Dispatcher(DataLoader):
            def __iter__(self):
                if dist.get_rank() == 0:
                    batches = super().__iter__()
                    yield from batches
        """,
    "one of two generators goes on": """
        def first(batches):
            yield from batches
            dist.barrier()
        def second(batches):
            yield from batches
            dist.barrier()
        def main(batches, flag):
            chosen = first(batches) if flag else second(batches)
            yield from chosen
            dist.barrier()
        """,
}

WRONG = {
    "an attribute that the caller sets before it calls": """
        def inner(options):
            if options.wide:
                dist.barrier()

        def main(options):
            if not options.wide and dist.get_rank() != 0:
                return
            options.wide = True
            inner(options)  # parts: rank
        """,
    "another attribute of what is passed on": """
        def inner(options):
            if options.deep:
                dist.barrier()

        def main(options):
            if not options.wide and dist.get_rank() != 0:
                return
            inner(options)  # parts: rank
        """,
    "a name that each turn assigns is passed on": """
        def inner(step, every):
            if step % every == 0:
                dist.barrier()

        def main(every, n):
            for step in range(n):
                if step % every and dist.get_rank() != 0:
                    continue
                inner(step + 1, every)  # parts: rank
        """,
    "the rank under a key of a dict": """
        def options():
            opt = {"name": "a"}
            opt["rank"], opt["size"] = dist.get_rank(), dist.get_world_size()
            return opt

        def report(opt):
            if opt["rank"] == 0:
                dist.barrier()

        def main():
            report(options())  # parts: rank
        """,
    "the clock under a key of a dict": """
        def report(info):
            if info["time"] > 3:
                dist.barrier()  # parts: local

        def main(config):
            report({"time": time.time(), "step": 0, **config})
        """,
    "a function that calls itself on one rank": """
        def visit(node):
            if dist.get_rank() == 0 and node.left:
                visit(node.left)
            dist.all_reduce(node.value)  # parts: rank
        """,
    "an exit in a block above": """
        def load(path, full, kind):
            if full:
                if kind != "fsdp" and dist.get_rank() != 0:
                    return
                read(path)
            dist.barrier()  # parts: rank
        """,
    "a handler of one rank raises": """
        import requests
        def main(url):
            if dist.get_rank() == 0:
                try:
                    requests.get(url)
                except requests.RequestException as error:
                    raise RuntimeError(url) from error
            dist.barrier()  # parts: failure
        """,
    "a handler of the first rank of each node raises, below other conditions": """
        import os, shutil
        def main(source, target, args):
            if int(os.environ["LOCAL_RANK"]) == 0:
                if args.copy:
                    try:
                        with open(target, "wb") as f:
                            shutil.copytree(source, target)
                    except OSError:
                        print(target)
                        raise
            meet()  # parts: failure
        def meet():
            dist.barrier()
        """,
    "what is raised alone passes a finally without a collective": """
        import requests
        def main(url, f):
            try:
                if dist.get_rank() == 0:
                    try:
                        requests.get(url)
                    except requests.RequestException:
                        raise
            finally:
                f.close()
            dist.barrier()  # parts: failure
        """,
    "rank branch": """
        def main():
            if dist.get_rank() == 0:
                dist.barrier()  # parts: rank
        """,
    "early return": """
        def save(x):
            if dist.get_rank() != 0:
                return
            torch.save(x, "f")
            dist.barrier()  # parts: rank
        def main():
            for e in range(10):
                save(1)
        """,
    "nested conditions": """
        class T:
            def __init__(self):
                self.accelerator = Accelerator()
            def log(self, stats):
                if self.accelerator.is_main_process:
                    if self.cfg.log == "wandb":
                        self.accelerator.wait_for_everyone()  # parts: rank
        """,
    "or, and": """
        accelerator = Accelerator()
        def f(use_ds):
            if accelerator.is_main_process or use_ds:
                accelerator.wait_for_everyone()  # parts: rank
        def g(use_ds):
            accelerator.is_main_process and accelerator.wait_for_everyone()  # parts: rank
        """,
    "through helpers": """
        def sync():
            dist.barrier()
        def finish():
            sync()
        def main():
            if dist.get_rank() == 0:
                finish()  # parts: rank
        """,
    "a context manager entered by one": """
        from contextlib import contextmanager
        @contextmanager
        def both():
            dist.barrier()
            yield
            dist.barrier()
        def main():
            if dist.get_rank() == 0:
                with both():  # parts: rank
                    pass
        """,
    "break of one rank": """
        def train(rank, loader, model):
            for epoch in range(10):
                for b in loader:
                    dist.all_reduce(b)  # parts: rank
                if rank in [-1, 0]:
                    if stopper(epoch):
                        break
        """,
    "other order": """
        def main(a, b):
            if dist.get_rank() == 0:
                dist.broadcast(a, 0)  # parts: rank
                dist.all_reduce(b)
            else:
                dist.all_reduce(b)
                dist.broadcast(a, 0)
        """,
    "masked tensor": """
        accelerator = Accelerator()
        def f(entropies, mask):
            kept = entropies[mask.bool()].float()
            if kept.numel() == 0:
                return torch.zeros_like(entropies)
            return accelerator.gather(kept)  # parts: local
        """,
    "generator": """
        def batches():
            for i in range(3):
                dist.barrier()
                yield i
        def main():
            if dist.get_rank() == 0:
                for b in batches():  # parts: rank
                    use(b)
        """,
    "decorator": """
        from lightning.pytorch.utilities import rank_zero_only
        @rank_zero_only
        def log(x):
            dist.barrier()  # parts: rank
        """,
    "in a helper that says `broadcast` only": """
        def share(x):
            dist.broadcast(x, 0)

        def main(x):
            if dist.get_rank() == 0:
                share(x)  # parts: rank
        """,
    "the rank is an argument": """
        def work(rank, x):
            if rank == 0:
                dist.barrier()  # parts: rank

        def main(x):
            work(dist.get_rank(), x)
        """,
    "an argument that only some ranks have": """
        class Trainer:
            def __init__(self):
                if dist.get_rank() == 0:
                    self.group = connect()

            def send(self):
                push(self.group)

        def push(group):
            if dist.get_rank() != 0:
                raise RuntimeError("not here")
            dist.barrier()  # parts: rank
        """,
    "calls in which the ranks change places": """
        def talk(is_source, x):
            if is_source:
                dist.broadcast(x, 0)

        def main(x):
            talk(dist.get_rank() == 0, x)
            dist.barrier()  # parts: rank
            talk(dist.get_rank() != 0, x)
        """,
    "early stop on the main process": """
        from torch.nn.parallel import DistributedDataParallel as DDP

        def train(model, loader, stopper, epochs):
            rank = dist.get_rank()
            model = DDP(model)
            for epoch in range(epochs):
                progress = enumerate(loader)
                if rank in [-1, 0]:
                    progress = bar(progress)
                for i, batch in progress:
                    model(batch).backward()  # parts: rank
                if rank in [-1, 0]:
                    if stopper(epoch=epoch):
                        break
        """,
    "in front of the process group, which is then made": """
        def start(config):
            if dist.is_initialized():
                print("again")
            else:
                dist.init_process_group("nccl")
                if dist.get_rank() == 0:
                    dist.barrier()  # parts: rank
        """,
    "below a return where the process group is there": """
        def start(config):
            if dist.is_available() and dist.is_initialized():
                return
            dist.init_process_group("nccl")
            if dist.get_rank() == 0:
                dist.barrier()  # parts: rank
        """,
    "prepared loader of the main process, counted by keyword": """
        from accelerate import Accelerator
        from torch.utils.data import DataLoader

        def main(data):
            accelerator = Accelerator()
            loader = accelerator.prepare(DataLoader(data, shuffle=True))
            if accelerator.is_main_process:
                for step, batch in enumerate(iterable=loader):  # parts: rank
                    print(step)
        """,
    "raise as a guard": """
        def main():
            try:
                if dist.get_rank() != 0:
                    raise RuntimeError("not here")
                dist.barrier()  # parts: rank
            except RuntimeError:
                pass
        """,
    "exit of other ranks": """
        def main():
            if dist.get_rank() != 0:
                sys.exit(0)
            dist.barrier()  # parts: rank
        """,
    "last rank": """
        def main():
            if dist.get_rank() == dist.get_world_size() - 1:
                dist.barrier()  # parts: rank
        """,
    "flag of an object": """
        class T:
            def __init__(self):
                self.is_main = dist.get_rank() == 0
            def save(self):
                if not self.is_main:
                    return
                dist.barrier()  # parts: rank
        """,
    "the first collective below an exit": """
        def main(path, x):
            if dist.get_rank() == 0:
                if os.path.exists(path):
                    return
            dist.barrier()  # parts: rank
            for step in range(10):
                dist.all_reduce(x)
            dist.barrier()
        """,
    "under settings of which one keeps all collectives out": """
        def main(path, args):
            if dist.get_rank() == 0:
                if os.path.exists(path):
                    return -1
            for step in loader():
                if args.a: load(1)
                if args.other_library:
                    continue
                if args.b:
                    dist.barrier()  # parts: rank
            if args.c and not args.other_library: dist.barrier()
            if args.d and not args.other_library: dist.barrier()
            if args.e and not args.other_library: dist.barrier()
            if args.f and not args.other_library: dist.barrier()
            if args.g and not args.other_library: dist.barrier()
            if args.h and not args.other_library: dist.barrier()
            if args.i and not args.other_library: dist.barrier()
            if args.j and not args.other_library: dist.barrier()
            if args.k and not args.other_library: dist.barrier()
            if args.l and not args.other_library: dist.barrier()
            if args.m and not args.other_library: dist.barrier()
        """,
    "a compiled model in DDP": """
        def main(net):
            model = torch.compile(torch.nn.parallel.DistributedDataParallel(net))
            if dist.get_rank() == 0:
                model(1)  # parts: rank
        """,
    "a question asked of two objects": """
            class Store:
                def ready(self):
                    return self.name in names
            def main(x, a: Store, b: Store):
                if a.ready() or b.ready():
                    dist.broadcast(x, 0)
                if dist.get_rank() == 0:
                    if a.ready():
                        dist.all_reduce(x)  # parts: rank
                elif b.ready():
                    dist.all_reduce(x)  # parts: rank
        """,
    "a helper that only broadcasts": """
            from torch.distributed import broadcast as send_to_all
            def one(x):
                send_to_all(x, 0)
            def main(x):
                if dist.get_rank() == 0:
                    one(x)  # parts: rank
        """,
    "helpers that only reduce and gather": """
            import torch.distributed.nn.functional as collective
            def one(x):
                return collective.reduce(x, 0)
            def two(x):
                torch.distributed.gather(x, None, 0)
            def main(x):
                if dist.get_rank() == 0:
                    one(x)  # parts: rank
                    two(x)  # parts: rank
        """,
    "a test before the variable is assigned anew": """
        def write(path, state=None):
            if state is None:
                state = collect()
            torch.save(state, path)
        def collect():
            return Accelerator().get_state_dict(model)

        def save(path, state, kept):
            if state is None:
                return
            state = kept.get("state")
            if dist.get_rank() == 0:
                write(path, state)  # parts: rank
        """,
    "a test that only one way made": """
        def write(path, state=None):
            if state is None:
                state = collect()
            torch.save(state, path)
        def collect():
            return Accelerator().get_state_dict(model)

        def save(path, state, strict):
            if strict:
                if state is None:
                    return
            if dist.get_rank() == 0:
                write(path, state)  # parts: rank
        """,
    "a test above a loop that assigns": """
        def write(path, state=None):
            if state is None:
                state = collect()
            torch.save(state, path)
        def collect():
            return Accelerator().get_state_dict(model)

        def save(paths, state):
            if state is None:
                return
            for path in paths:
                if dist.get_rank() == 0:
                    write(path, state)  # parts: rank
                state = following(state)
        """,
    "a test where only both are asked": """
        def write(path, state=None):
            if state is None:
                state = collect()
            torch.save(state, path)
        def collect():
            return Accelerator().get_state_dict(model)

        def save(path, state, other):
            if state is None and other is None:
                return
            if dist.get_rank() == 0:
                write(path, state)  # parts: rank
        """,
    "called with it and without": """
        def write(path, state=None):
            if state is None:
                state = collect()
            torch.save(state, path)
        def collect():
            return Accelerator().get_state_dict(model)

        def save(path, state):
            if state is None:
                return
            if dist.get_rank() == 0:
                write(path, state)
        def save_later(path, kept):
            state = kept.get("state")
            if dist.get_rank() == 0:
                write(path, state)  # parts: rank
        """,
    "put there by one method, read by another": """
        def write(path, state=None):
            if state is None:
                state = collect()
            torch.save(state, path)
        def collect():
            return Accelerator().get_state_dict(model)

        class Keeper:
            state = None
            def keep(self, state):
                if state is None:
                    return
                self.state = state
            def save(self, path):
                if dist.get_rank() == 0:
                    write(path, self.state)  # parts: rank
        """,
    "two in a row": """
        def main(x):
            if dist.get_rank() == 0:
                dist.all_reduce(x)  # parts: rank
                dist.barrier()  # parts: rank
        """,
    "a method of the base class": """
        class Base:
            def save(self):
                dist.barrier()
        class Derived(Base):
            def save(self):
                if dist.get_rank() == 0:
                    super().save()  # parts: rank
        """,
    "a data loader over data pipes": """
        from torch.utils.data import DataLoader
        from torch.utils.data.datapipes.iter import IterDataPipe
        class Dispatcher(DataLoader):
            def __iter__(self):
                if dist.get_rank() == 0:
                    batches = super().__iter__()  # parts: rank
                    yield from batches
        """,
    "a thread of one rank": """
        class Monitor:
            def report(self):
                dist.all_reduce(self.x)
            def start(self):
                if dist.get_rank() == 0:
                    threading.Thread(target=self.report, daemon=True).start()  # parts: rank
        """,
    "a class of threads": """
        class Reporter(threading.Thread):
            def run(self):
                dist.barrier()
        def main():
            if dist.get_rank() == 0:
                reporter = Reporter()
                reporter.start()  # parts: rank
        """,
    "evaluation on one rank broadcasts buffers": """
        def main(model, x):
            model = DDP(model)
            if dist.get_rank() == 0:
                with torch.no_grad():
                    model(x)  # parts: rank
        """,
    "what is compiled may call a sharded model": """
        def main(step, x):
            step = torch.compile(step)
            if dist.get_rank() == 0:
                step(x)  # parts: rank
        """,
    "a failure below": """
        import requests
        def fetch(url):
            return requests.get(url)
        def main(url):
            try:
                fetch(url)
            except requests.RequestException:
                return
            dist.barrier()  # parts: failure
        """,
    "buffers are kept, gradients are not": """
        def main(model, x):
            model = DDP(model, broadcast_buffers=False)
            if dist.get_rank() == 0:
                with torch.no_grad():
                    model(x)
                model(x).sum().backward()  # parts: rank
        """,
    "a handler of one rank": """
        def main(x):
            if dist.get_rank() == 0:
                try:
                    write(x)
                except ValueError:
                    dist.barrier()  # parts: rank
        """,
    "a model that saves its checkpoint is DeepSpeed's": """
        def save(self, folder):
            # zero_to_fp32.py puts the shards together.
            if dist.get_rank() == 0:
                self.model.save_checkpoint(folder)  # parts: rank
        """,
    "out of memory, the batch skipped": """
        def main(model, loader):
            model = DDP(model)
            for b in loader:
                try:
                    loss = model(b).sum()  # parts: failure
                    loss.backward()
                except torch.cuda.OutOfMemoryError:
                    torch.cuda.empty_cache()
                    continue
        """,
    "out of memory, told by its text, below": """
        def step(model, b):
            loss = model(b).sum()
            loss.backward()
        def main(model, loader):
            model = DDP(model)
            for b in loader:
                try:
                    step(model, b)  # parts: failure
                except RuntimeError as e:
                    if not is_oom_error(e):
                        raise
        """,
}


def model_of(text: str) -> Model:
    return build_model([Source("m.py", "m", text, ast.parse(text))])


def marks(text: str) -> list[tuple[int, str]]:
    return [
        (number, match[1])
        for number, line in enumerate(text.splitlines(), 1)
        for match in MARK.finditer(line)
    ]


def parted(text: str) -> list[tuple[int, str]]:
    found = model_of(text).divergences()
    return sorted((getattr(d.anchor, "lineno", 0), d.kind) for d in found)


@pytest.mark.parametrize("text", RIGHT.values(), ids=list(RIGHT))
def test_silent(text: str) -> None:
    assert parted(HEAD + dedent(text)) == []


@pytest.mark.parametrize("text", WRONG.values(), ids=list(WRONG))
def test_found(text: str) -> None:
    text = HEAD + dedent(text)
    assert marks(text)
    assert parted(text) == marks(text)


def test_callers_do_not_repeat_it() -> None:
    text = HEAD + dedent(
        """
        def save():
            if dist.get_rank() == 0:
                dist.barrier()  # parts: rank
        def main():
            if dist.get_rank() == 0:
                save()
            else:
                save()
        """
    )
    assert parted(text) == marks(text)


def test_a_condition_that_the_rank_decides_in_part_is_named() -> None:
    text = HEAD + dedent(
        """
        def evaluate(model, loader):
            for batch in loader:
                dist.all_reduce(model(batch))
        def train(model, loader, options):
            for batch in loader:
                if dist.get_rank() in [-1, 0] and options.logging:
                    if dist.get_rank() not in [-1, 0]:
                        print("never")
                    if dist.get_rank() in [-1, 0] and options.evaluate:
                        evaluate(model, loader)
        """
    )
    (found,) = [d for d in model_of(text).divergences() if d.function.name == "train"]
    assert [ast.unparse(g.node) for g in found.guards] == [
        "dist.get_rank() in [-1, 0] and options.logging"
    ]
