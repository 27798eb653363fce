"""Cases of DL101: collectives that some ranks never reach, and code that looks like it."""

import enum
import functools
import io
import math
import os
import signal
import sys
from contextlib import contextmanager

import deepspeed
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from accelerate import Accelerator
from lightning.pytorch.utilities import rank_zero_only
from mpi4py import MPI
from torch.nn.parallel import DistributedDataParallel
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.tensor import DTensor, distribute_tensor
from torch.utils.data import DataLoader
from transformers.integrations import is_deepspeed_zero3_enabled

# --- bugs -----------------------------------------------------------------------------------------


def excludes_another_option(main_only, quiet, in_order):
    if quiet and in_order:
        raise ValueError("in order, or quiet")
    if main_only and dist.get_rank() == 0:
        return
    if in_order:
        dist.barrier()  # expect: DL101


def statistics_behind_an_exit(codebook, counts, sums):
    if dist.get_rank() != 0:
        return
    dist.all_reduce(counts)  # expect: DL101
    dist.all_reduce(sums)  # expect: DL101
    codebook.counts.mul_(0.99).add_(counts)
    codebook.sums.mul_(0.99).add_(sums)


def statistics_that_one_rank_prints(codebook, counts, sums):
    if dist.get_rank() != 0:
        return
    dist.all_reduce(counts)  # expect: DL101
    dist.all_reduce(sums)  # expect: DL101
    print(counts, sums)  # of one rank: the exit stays


def stopped_by_the_first(loader, model, stopping, epochs):
    # VAE_AIGC_detection 00a3430 train_ddp.py:145: the others wait in what comes next, not in the next turn
    for epoch in range(epochs):
        for batch in loader:
            model.step(batch)
        dist.barrier()
        if dist.get_rank() == 0:
            if stopping(epoch):
                break
        dist.broadcast(model.scale, 0)  # expect: DL101


def stopped_by_the_first_at_once(loader, model, stopping, epochs):
    # Hierarchical-Relational-Group-Activity-Recognition 190fc58 train_utils/ddp_trainer.py:292
    for epoch in range(epochs):
        dist.all_reduce(model.scale)
        if dist.get_rank() == 0 and stopping(epoch):
            break
        dist.barrier()  # expect: DL101


def reduced_for_those_who_stay(loss, others):
    total = loss.detach().clone()
    if dist.get_rank() != 0:
        return
    dist.all_reduce(total)  # expect: DL101
    return total / others


def epochs_of_the_first(loader, model, total, log):
    for batch in loader:
        total += model(batch).sum()
        if dist.get_rank() != 0:
            return
        dist.all_reduce(total)  # expect: DL101
        if dist.get_rank() == 0:
            log.write(f"{total}")
        model.train()


def epochs_that_one_rank_writes(loader, model, total, log):
    for batch in loader:
        total += model(batch).sum()
        if dist.get_rank() != 0:
            return
        dist.all_reduce(total)  # expect: DL101
        log.write(f"{total}")  # of one rank: the exit stays


class OneHalfTooFew:
    def __init__(self, local_rank):
        self.local_rank = local_rank

    def __enter__(self):
        if self.local_rank % 2 == 0:
            dist.barrier()  # expect: DL101

    def __exit__(self, *error):
        pass


def barrier_first(model, path):
    accelerator = Accelerator()
    if accelerator.is_main_process:
        # Everybody has to be done.
        accelerator.wait_for_everyone()  # expect: DL101
        torch.save(model, path)


def barrier_last(model, path):
    if dist.get_rank() == 0:
        torch.save(model, path)
        dist.barrier()  # wait for the file  # expect: DL101


def only_the_barrier():
    if dist.get_rank() == 0:
        dist.barrier()  # expect: DL101


def turns_of_another_number(build, turn):
    # P-tuning-v2 b1520c9 PT-Retrieval/colbert/colbert/training/training.py:78: on all ranks it would be one more
    if turn and dist.get_rank() != 0:
        dist.barrier()
    build()
    if dist.get_rank() == 0:
        dist.barrier()  # expect: DL101


def result_used(model, metrics, accelerator):
    if accelerator.is_main_process:
        print("gathering")
        gathered = accelerator.gather(metrics)  # expect: DL101
        print(gathered.mean())


def with_what_it_needs(values, accelerator):
    if accelerator.is_main_process:
        name = "values"
        stacked = torch.stack
        everything = accelerator.gather(values)  # expect: DL101
        torch.save(stacked(everything), name)


def first_after_return(x):
    if dist.get_rank() != 0:
        return None
    total = dist.all_reduce(x)  # expect: DL101
    return total


def work_before_it(x):
    if dist.get_rank() != 0:
        return
    torch.save(x, "f")
    dist.barrier()  # expect: DL101


def nested(self, stats):
    accelerator = Accelerator()
    if accelerator.is_main_process:
        if self.config.log_with == "wandb":
            accelerator.wait_for_everyone()  # expect: DL101


def leaves_in_the_first_turn(parameters):
    # NVlabs/edm2 torch_utils/misc.py:194: in front of the exit rank 0 would wait in the second turn
    for each in parameters:
        other = each.clone()
        if dist.get_rank() != 0:
            return
        dist.broadcast(other, src=0)  # expect: DL101
        assert (other == each).all()


def one_of_two_conditions(use_deepspeed):
    accelerator = Accelerator()
    if accelerator.is_main_process or use_deepspeed:
        accelerator.wait_for_everyone()  # expect: DL101


def every_so_often(step, every):
    # Stays one barrier in so many steps, and none where there is no process group.
    if dist.is_initialized() and step % every == 0 and dist.get_rank() == 0:
        dist.barrier()  # expect: DL101


def conditions_in_parentheses(step, every, force):
    is_main = dist.get_rank() == 0
    if is_main and (step % every == 0 or force):
        dist.barrier()  # expect: DL101


def last_under_two_conditions(step, every):
    if step % every == 0 and dist.get_rank() == 0:
        print(step)
        dist.barrier()  # expect: DL101


def other_ranks_or_late(step):
    # One process comes here late only: that is not to change.
    if dist.get_rank() != 0 or step > 3:
        dist.barrier()  # expect: DL101


def some_leave_late(step):
    if dist.get_rank() != 0 and step > 3:
        return
    dist.barrier()  # expect: DL101


def two_tests_of_ranks(lora_rank):
    # Which of the two asks for the process is not told by its name.
    is_first = lora_rank > 8 and dist.get_rank() == 0
    if is_first and lora_rank:
        dist.barrier()  # expect: DL101


def sync():
    dist.barrier()


def through_a_helper():
    if int(os.environ["RANK"]) == 0:
        sync()  # expect: DL101


def failure_on_main(config, reply):
    # axolotl 0.19.0 core/trainers/grpo/async_trainer.py: returns where the server said no.
    if dist.get_rank() == 0:
        if reply.status_code != 200:
            return
        print("sent")
    dist.barrier()  # expect: DL101


def leaves_the_loop(loader, epochs, stopper):
    for epoch in range(epochs):
        for batch in loader:
            dist.all_reduce(batch)  # expect: DL101
        if dist.get_rank() in {-1, 0}:
            if stopper(epoch):
                break


@rank_zero_only
def on_main(x):
    dist.barrier()  # expect: DL101


def ends_the_process(x):
    if dist.get_rank() > 0:
        sys.exit(0)
    x.sum()
    dist.barrier()  # expect: DL101


def engine(model, path):
    model_engine, _, _, _ = deepspeed.initialize(model=model)
    if dist.get_rank() == 0:
        model_engine.save_checkpoint(path)  # expect: DL101


def fsdp_state(model, path):
    model = FSDP(model)
    if dist.get_rank() == 0:
        state = model.state_dict()  # expect: DL101
        torch.save(state, path)


def chunks_to_all(path):
    communicator = MPI.COMM_WORLD
    if communicator.Get_rank() == 0:
        data = path.read_bytes()
        communicator.bcast(len(data) // 1024)
        for start in range(0, len(data), 1024):
            communicator.bcast(data[start : start + 1024])
    else:
        data = bytes()
        for _ in range(communicator.bcast(None)):
            data += communicator.bcast(None)
    return data


def chunks_under_a_test(model, path):
    if dist.get_rank() == 0:
        model.load_state_dict(torch.load(io.BytesIO(chunks_to_all(path))))  # expect: DL101
    for parameter in model.parameters():
        dist.broadcast(parameter, 0)


def kept_in_a_dict(x):
    info = {"rank": dist.get_rank(), "size": dist.get_world_size()}
    if info["rank"] == 0:
        print(x)
        dist.barrier()  # expect: DL101


def over_mpi(table, path):
    world = MPI.COMM_WORLD
    if world.Get_rank() == 0:
        torch.save(table, path)
        world.Barrier()  # expect: DL101


@functools.lru_cache
def asked_for_once():
    total = torch.zeros(1)
    dist.all_reduce(total)
    return total.item()


def main_asks_first(path):
    if dist.get_rank() == 0:
        print(path, asked_for_once())  # expect: DL101


class Drawer:
    def __init__(self, encoder):
        self.encoder = encoder

    def draw(self, x):
        dist.all_reduce(x)
        return self.encoder(x)


def made_of_what_it_takes(encoder, x):
    if dist.get_rank() == 0:
        drawer = Drawer(encoder=encoder)
        print(drawer.draw(x))  # expect: DL101


def statistics_of_the_prepared_loader(accelerator: Accelerator, data):
    loader = accelerator.prepare(DataLoader(data, shuffle=True))
    if accelerator.is_main_process:
        for number, batch in enumerate(loader):  # expect: DL101
            print(number, batch.mean())


def first_batch_of_the_prepared_loader(accelerator: Accelerator, net, data):
    loader = DataLoader(data, 8, True)
    net, loader = accelerator.prepare(net, loader)
    if accelerator.is_main_process:
        print(next(iter(loader)).shape)  # expect: DL101


def rows_of_the_prepared_loader(accelerator: Accelerator, data):
    loader = accelerator.prepare_data_loader(DataLoader(data, shuffle=True))
    if not accelerator.is_main_process:
        return None
    return [row for batch in loader for row in batch]  # expect: DL101


def consolidated(engine: deepspeed.DeepSpeedEngine):
    if engine.zero_optimization_partition_weights():
        return engine._zero3_consolidated_16bit_state_dict()
    return engine.module.state_dict()


def downloads_alone(name):
    if dist.get_rank() == 0:
        with torch.device("meta"):
            downloads(name)  # expect: DL101


def consolidated_on_the_first(engine):
    if dist.get_rank() == 0:
        return consolidated(engine)  # expect: DL101
    return None


def consolidated_in_another_mode(engine, options):
    if options.window == 3:
        return consolidated(engine)
    return consolidated(engine) if dist.get_rank() == 0 else None  # expect: DL101


def gathered_on_the_first(plugin, weights, path):
    stage = plugin.zero_stage
    if dist.get_rank() != 0:
        return
    with deepspeed.zero.GatheredParameters(weights, enabled=stage == 3):  # expect: DL101
        torch.save(weights, path)


def says_and_ends(message):
    print(message)
    sys.exit()


def ended_by_a_function(folder, steps):
    if dist.get_rank() == 0 and steps > 100:
        says_and_ends(f"{folder} is done")
    dist.barrier()  # expect: DL101


class EndsByItself:
    def end(self):
        print("done")
        exit(0)

    def run(self, steps):
        if dist.get_rank() == 0 and steps > 100:
            self.end()
        dist.barrier()  # expect: DL101


def again_and_again(loader):
    while True:
        for batch in loader:
            yield batch


class ChecksOnMain:
    def __init__(self, net, data, held_out):
        self.accelerator = Accelerator()
        self.loader = DataLoader(data, shuffle=True)
        self.checks = DataLoader(held_out, shuffle=True)
        self.net, self.loader, self.checks = self.accelerator.prepare(
            net, self.loader, self.checks
        )
        self.batches = again_and_again(self.loader)
        self.held_out = again_and_again(self.checks)

    def step(self, number):
        loss = self.net(next(self.batches))
        self.accelerator.backward(loss)
        if self.accelerator.is_main_process and number % 100 == 0:
            print(next(self.held_out))  # expect: DL101


class Evaluates:
    def __init__(self, options):
        self.options = options

    def train(self, loader):
        for batch in loader:
            if dist.get_rank() in [-1, 0] and self.options.logs:
                if dist.get_rank() == 0:
                    dist.barrier()  # expect: DL101
            print(batch)


_number, _size, _started = 0, 1, False
_steps = 0


def starts_and_keeps_its_number():
    # UniTok bb8012e utils/dist.py:46: what functions put into variables of their file is the rank everywhere
    global _number, _size, _started
    dist.init_process_group("nccl")
    _number, _size = dist.get_rank(), dist.get_world_size()
    _started = True


def number():
    return _number


def meets():
    if _started:
        dist.barrier()


def meets_alone():
    if number() == 0:
        meets()  # expect: DL101


def meets_where_all_have_counted(batches):
    # another variable that a function fills: as many on each rank
    global _steps
    for _ in range(batches):
        _steps += 1
    if _steps == 0:
        dist.barrier()


def meets_in_a_group_of_several():
    if _size > 1:
        dist.barrier()


# --- right ----------------------------------------------------------------------------------------


def excluded_by_a_raise(main_only, local_only, in_order, local_rank):
    # finetrainers finetrainers/logging.py:61.
    if (main_only or local_only) and in_order:
        raise ValueError("in order, or on the main process only")
    if (main_only and dist.get_rank() == 0) or (local_only and local_rank == 0):
        return
    if in_order:
        for _ in range(dist.get_world_size()):
            dist.barrier()


def sandwich(local_rank, name):
    if local_rank not in [-1, 0]:
        dist.barrier()
    download(name)
    if local_rank == 0:
        dist.barrier()


def matched_branches(x):
    if dist.get_rank() == 0:
        dist.broadcast(x.cuda(), 0)
    else:
        x = torch.empty(3)
        dist.broadcast(x, 0)


@contextmanager
def zero_first(is_main):
    if not is_main:
        dist.barrier()
    yield
    if is_main:
        dist.barrier()


def in_order(path):
    with zero_first(dist.get_rank() == 0):
        return torch.load(path)


def only_where_distributed():
    if dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1:
        dist.barrier()


RANK = int(os.getenv("RANK", -1))


def as_ultralytics():
    if RANK != -1:
        dist.barrier()


def gathered_before(model, accelerator, path):
    state = accelerator.get_state_dict(model)
    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        torch.save(state, path)


def one_after_another(world_size):
    for rank in range(world_size):
        if rank == dist.get_rank():
            print("rank", rank)
        dist.barrier()


def decided_together(loss, limit):
    flag = torch.tensor(float(loss.item() > limit))
    dist.all_reduce(flag)
    if flag.item() > 0:
        return
    dist.barrier()


def members_of_a_group(x, group):
    if dist.get_rank() < 4:
        dist.all_reduce(x, group=group)


def bad_settings(config):
    if dist.get_rank() == 0 and config is None:
        raise ValueError("no settings")
    dist.barrier()


def client_of_a_server(self, prompts):
    # trl: an HTTP call on one rank, then a broadcast on all.
    outputs = None
    if dist.get_rank() == 0:
        outputs = self.vllm_client.generate(prompts)
    box = [outputs]
    dist.broadcast_object_list(box, src=0)
    return box[0]


def serve():
    while True:
        box = [None]
        dist.scatter_object_list(box, None, src=0)
        if box[0] == "stop":
            return
        dist.gather_object(box[0], None, dst=0)


def main_commands(jobs):
    if dist.get_rank() == 0:
        for job in jobs:
            dist.scatter_object_list([None], job, src=0)
            dist.gather_object(None, [], dst=0)
        dist.scatter_object_list([None], ["stop"], src=0)
    else:
        serve()


def both_ways_meet(x):
    if dist.get_rank() == 0:
        print(x.sum())
        dist.barrier()
        return
    dist.barrier()


def all_leave(x, step, every):
    if step % every:
        return
    dist.all_reduce(x)


def alone(x):
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        return
    dist.all_reduce(x)


def only_the_write_is_guarded(model, path):
    dist.barrier()
    if dist.get_rank() == 0:
        torch.save(model, path)
    dist.barrier()


def rank_of_a_matrix(lora_rank):
    if lora_rank > 0:
        dist.barrier()


def all_fail(accelerator, values):
    if values is None:
        raise ValueError("nothing to gather")
    return accelerator.gather(values)


@rank_zero_only
def log_on_main(x):
    print(x.sum())


def logged_in_between(x):
    dist.all_reduce(x)
    log_on_main(x)
    dist.barrier()


def one_rank_by_itself(state, path):
    if dist.get_rank() == 0:
        dcp.save(state, checkpoint_id=path, no_dist=True)


def chunks_for_all(model, path):
    model.load_state_dict(torch.load(io.BytesIO(chunks_to_all(path))))
    for parameter in model.parameters():
        dist.broadcast(parameter, 0)


def other_communicators(box, path):
    communicator = MPI.COMM_WORLD.Split(box.color)
    if dist.get_rank() == 0:
        communicator.bcast(path)


def handed_out_over_mpi(path):
    world = MPI.COMM_WORLD
    table = torch.load(path) if world.rank == 0 else None
    return world.bcast(table)


@functools.lru_cache(maxsize=None)
def score_of_all(name):
    score = torch.tensor(float(len(name)))
    dist.all_reduce(score)
    return score.item()


def best_again(names):
    best = max(names, key=lambda name: score_of_all(name))
    for name in names:
        print(score_of_all(name))
    if dist.get_rank() == 0:
        print(best, score_of_all(best))  # remembered: the body does not run again


class Sampler:
    def __init__(self, encoder, decoder=None):
        self.encoder = encoder
        self.decoder = decoder

    def draw(self, x):
        dist.all_reduce(x)
        return self.encoder(x)


def a_loader_in_order(accelerator: Accelerator, data):
    loader = accelerator.prepare(DataLoader(data, shuffle=False))
    if accelerator.is_main_process:
        for batch in loader:
            print(batch.mean())


def a_loader_that_is_not_prepared(accelerator: Accelerator, net, data):
    loader = DataLoader(data, shuffle=True)
    net, parts = accelerator.prepare(net, DataLoader(data, shuffle=True))
    if accelerator.is_main_process:
        print(next(iter(loader)).shape, len(parts))


def a_loader_that_may_shuffle(accelerator: Accelerator, data, sampler):
    loader = accelerator.prepare(DataLoader(data, shuffle=sampler is None))
    if accelerator.is_main_process:
        print(list(loader))


def all_go_through_the_loader(accelerator: Accelerator, data):
    loader = accelerator.prepare(DataLoader(data, shuffle=True))
    for batch in loader:
        if accelerator.is_main_process:
            print(batch.mean(), len(loader), loader.dataset)


def same_data_in_order(accelerator: Accelerator, data):
    loader = accelerator.prepare(DataLoader(data, shuffle=True))
    if accelerator.is_main_process:
        print(list(DataLoader(loader.dataset)))
    return loader


def made_of_what_it_does_not_take(encoder, x):
    if dist.get_rank() == 0:
        sampler = Sampler(encoder_1=encoder)  # a TypeError, which ends the job
        print(sampler.draw(x))


class Runner:
    """MiniGPT-4 d94738a minigpt4/runners/runner_base.py:398: all ranks have read the property before."""

    def __init__(self, network, device):
        self._network = network
        self._wrapped = None
        self.device = device

    @property
    def network(self):
        if self._network.device != self.device:
            self._network = self._network.to(self.device)
            if self._wrapped is None:
                self._wrapped = DDP(self._network)
        return self._wrapped

    def save(self, path):
        torch.save(self.network.module.state_dict(), path)

    def train(self, batches):
        for batch in batches:
            self.network(batch)
        if dist.get_rank() == 0:
            self.save("last.pt")


def shared_evaluation(options, net):
    spread = getattr(options, "spread", False) and getattr(options, "distributed", False)
    if not spread and dist.get_rank() != 0:
        return None
    return shared_score(options, net)


def shared_score(options, net):
    # open_clip 89fb801 src/open_clip_train/train.py:542: rank 0 alone does not come to the broadcast.
    spread = getattr(options, "spread", False) and getattr(options, "distributed", False)
    names = [str(net)] if dist.get_rank() == 0 else [None]
    if spread:
        dist.broadcast_object_list(names, src=0)
    return names


_WITHOUT_BARRIER = False


@contextmanager
def without_barrier():
    global _WITHOUT_BARRIER
    before, _WITHOUT_BARRIER = _WITHOUT_BARRIER, True
    try:
        yield
    finally:
        _WITHOUT_BARRIER = before


def guarded_download(name):
    if not _WITHOUT_BARRIER:
        dist.barrier()
    return name


def downloads(name):
    return guarded_download(name)


def downloads_alone_without_barrier(name):
    if dist.get_rank() == 0:
        with torch.device("meta"), without_barrier():
            downloads(name)


class KnowsItsStage:
    """BELLE 645084d train/src/ppo_trainer.py:440: the engine shards the weights where this says so."""

    def __init__(self, engine, config):
        self.engine = engine
        self.config = config

    def shards_weights(self):
        return self.config["zero_optimization"]["stage"] == 3

    def state(self):
        if self.shards_weights():
            return consolidated(self.engine)
        return consolidated(self.engine) if dist.get_rank() == 0 else None


def consolidated_where_transformers_says(engine):
    if is_deepspeed_zero3_enabled():
        return consolidated(engine)
    if dist.get_rank() != 0:
        return None
    return consolidated(engine)


def consolidated_by_its_stage(engine):
    stage = engine.zero_optimization_stage()
    if stage <= 2 and dist.get_rank() != 0:
        return None
    return consolidated(engine)


def gathered_by_all_in_stage_three(plugin, weights, path):
    stage = plugin.zero_stage
    if stage < 3 and dist.get_rank() != 0:
        return
    with deepspeed.zero.GatheredParameters(weights, enabled=stage == 3):
        torch.save(weights, path)


def says_and_fails(message):
    print(message)
    sys.exit(1)  # the launcher ends the others


def failed_by_a_function(folder):
    if dist.get_rank() == 0 and not os.path.exists(folder):
        says_and_fails(f"no {folder}")
    dist.barrier()


def all_end_by_a_function(steps):
    if steps > 100:
        says_and_ends("too many")
    dist.barrier()


def ends_behind_all(steps):
    dist.barrier()
    if dist.get_rank() == 0 and steps > 100:
        says_and_ends("done")


class ChecksOfAll:
    def __init__(self, net, data, held_out):
        self.accelerator = Accelerator()
        self.net, self.loader = self.accelerator.prepare(net, DataLoader(data, shuffle=True))
        self.batches = again_and_again(self.loader)
        self.held_out = again_and_again(DataLoader(held_out, shuffle=True))  # not prepared

    def step(self, number):
        batch = next(self.batches)
        if self.accelerator.is_main_process and number % 100 == 0:
            print(next(self.held_out))
        return batch


class EvenRanksFirst:
    """Two barriers for each rank: what one half lacks is in the other."""

    def __init__(self, local_rank):
        self.local_rank = local_rank

    def __enter__(self):
        if self.local_rank % 2 == 0:
            dist.barrier()

    def __exit__(self, *error):
        if self.local_rank % 2 == 1:
            dist.barrier()
        dist.barrier()


class SavesWhatItHas:
    def __init__(self, config, model):
        self.config, self.model = config, model

    def save(self, path):
        if self.config.deepspeed:
            self.model.save_checkpoint(path)
        else:
            torch.save(self.model.state_dict(), path)


class WithoutAnEngine(SavesWhatItHas):
    # DoRA 7e2f10a VL-T5/src/refcoco.py:286: this script has DDP alone
    def __init__(self, config, model):
        super().__init__(config, model)
        self.model = DistributedDataParallel(self.model)

    def train(self, path):
        if dist.get_rank() == 0:
            self.save(path)
        dist.barrier()


class WithAnEngine(SavesWhatItHas):
    def __init__(self, config, model):
        super().__init__(config, model)
        self.model = deepspeed.initialize(model=model)[0]

    def train(self, path):
        if dist.get_rank() == 0:
            self.save(path)  # expect: DL101


class PairsOfRanks:
    """Every rank asks of each rank in turn, whatever the loop variable and the parameter are called."""

    # fairscale 146f160 fairscale/experimental/nn/data_parallel/gossip/graph_manager.py:196
    def __init__(self):
        self.rank = dist.get_rank()
        self.world_size = dist.get_world_size()
        self.groups = {}

    def sends_first(self, rank=None):
        rank = self.rank if rank is None else rank
        return rank % 2 == 0

    def next_to(self, place, distance):
        return (place + distance) % self.world_size

    def connect(self):
        for rank in range(self.world_size):
            partner = self.next_to(rank, 1)
            if self.sends_first(rank) and not self.sends_first(partner):
                self.groups[rank] = dist.new_group([rank, partner])

    def reduce(self, x):
        if self.sends_first():
            dist.all_reduce(x)  # expect: DL101


class SavesOnSignal:
    def __init__(self, trainer, path):
        self.trainer, self.path = trainer, path
        signal.signal(signal.SIGUSR1, self.on_signal)

    def on_signal(self, number, stack):
        # LightningDiT 2725fed vavae/main.py:727: no other rank comes here, with the guard or without
        if self.trainer.is_global_zero:
            dist.barrier()  # expect: DL101


def saves_what_it_can(accelerator, steps):
    try:
        steps()
    except RuntimeError:
        at_the_end(accelerator)
        raise


def at_the_end(accelerator):
    if accelerator.is_main_process:
        accelerator.wait_for_everyone()  # expect: DL101


def gathered_samples(net, wanted=-1):
    # ctm 87cca3b code/cm/train_util.py:318: with the -1 of the definition there is no turn
    made = 0
    while wanted > made:
        dist.all_reduce(net.sample())
        made += 1
    return net.grid()


def shown_on_main(net):
    if dist.get_rank() == 0:
        gathered_samples(net)


def some_gathered_on_main(net):
    if dist.get_rank() == 0:
        gathered_samples(net, 8)  # expect: DL101


def whole(tensor):
    if type(tensor).__name__ == "DTensor" and hasattr(tensor, "full_tensor"):
        tensor = tensor.full_tensor()
    return tensor.detach().cpu()


def made_whole_before(tensor):
    # SimpleTuner bc8e6ab simpletuner/helpers/training/save_hooks.py:239
    if isinstance(tensor, DTensor):
        tensor = tensor.full_tensor()
    if dist.get_rank() == 0:
        return whole(tensor)
    return None


def sharded_anew(tensor, mesh):
    if isinstance(tensor, DTensor):
        tensor = tensor.full_tensor()
    sharded = distribute_tensor(tensor, mesh)
    if dist.get_rank() == 0:
        return whole(sharded)  # expect: DL101
    return None


def made_whole_on_main(tensor):
    if dist.get_rank() == 0:
        return whole(tensor)  # expect: DL101
    return None


class OwnGroup:
    def __init__(self, rank, size, backend="gloo"):
        self.rank, self.backend = rank, backend
        self.size = size

    def __enter__(self):
        return group_of(self.rank, self.size, self.backend)

    def __exit__(self, *error):
        dist.destroy_process_group()


def group_of(rank, size, backend):
    return dist.init_process_group(backend, rank=rank, world_size=size)


def sharded_on_one_anew():
    # torchrec a48cef7 torchrec/distributed/tests/test_mc_embedding.py:463
    if dist.get_rank() == 0:
        with OwnGroup(0, 1):
            print("alone")


def sharded_on_two_anew():
    if dist.get_rank() == 0:
        with OwnGroup(0, 2):  # expect: DL101
            print("the other one never comes")


def worker_of_machines(gpu, gpus_per_node, config):
    # PyTorch-StudioGAN 947b35e src/loader.py:92
    place = config.node * (gpus_per_node) + gpu
    dist.init_process_group("nccl", rank=place, world_size=config.size)
    if place == 0:
        dist.barrier()  # expect: DL101


def worker_of_seeds(gpu, gpus_per_node, config):
    seed = config.seed * 1000 + gpu
    dist.init_process_group("nccl", rank=gpu, world_size=gpus_per_node)
    if seed == 0:
        print("not a rank")
    dist.barrier()


def start_on_machines(config):
    torch.multiprocessing.spawn(worker_of_machines, args=(8, config), nprocs=8)
    torch.multiprocessing.spawn(worker_of_seeds, args=(8, config), nprocs=8)


def gather_to_main(part):
    parts = [None] * dist.get_world_size()
    if dist.get_rank() == 0:
        dist.gather(part, gather_list=parts, dst=0)
        return parts
    else:
        dist.gather(part, gather_list=[], dst=0)
        return None


def predictions_that_are_there(model, data, path):
    # scene_graph_benchmark 8e14944 maskrcnn_benchmark/engine/inference.py:264: the gather below waits for the same ranks
    if os.path.isfile(path):
        if dist.get_rank() != 0:
            return
        found = torch.load(path)
    else:
        found = model(data)
    dist.barrier()  # expect: DL101
    found = gather_to_main(found)
    if dist.get_rank() != 0:
        return
    torch.save(found, path)
def behind_what_one_rank_fetches(url, folder):
    # DEIM a9aa4ad engine/backbone/hgnetv2.py:502: a barrier in each arm; that the download fails is DL105's
    try:
        if dist.get_rank() == 0:
            state = torch.hub.load_state_dict_from_url(url, model_dir=folder)
            dist.barrier()
        else:
            dist.barrier()
            state = torch.load(folder)
    except Exception as error:
        raise SystemExit(1) from error
    return state


def behind_what_one_rank_fetches_alone(url, folder):
    try:
        if dist.get_rank() == 0:
            torch.hub.load_state_dict_from_url(url, model_dir=folder)
            dist.barrier()  # expect: DL101
    except Exception as error:
        raise SystemExit(1) from error


def served_rounds(model, count):
    # Megatron-LM (bigcode) 7c325cd examples/detxoify_lm/generate_samples_gpt.py:111: rank 0 alone leaves
    while True:
        dist.barrier()  # expect: DL101
        if dist.get_rank() == 0:
            for text in model.texts():
                yield text
                count -= 1
                if count <= 0:
                    break
            if count <= 0:
                break
        else:
            model.serve()


def written_rounds(model, file):
    for text in served_rounds(model, 10):
        if dist.get_rank() == 0:
            file.write(text)


def shown_loss_is_a_number(net, criterion, loader):
    # tubelet-transformer f610c97 utils/video_action_recognition.py:614: who fails ends the job, and nobody waits on
    model = torch.nn.parallel.DistributedDataParallel(net)
    for inputs, targets in loader:
        with torch.no_grad():
            loss = criterion(model(inputs), targets).item()
        if dist.get_rank() == 0:
            if not math.isfinite(loss):
                sys.exit(1)
            print(loss)
    dist.barrier()


def shown_loss_ends_it(net, criterion, loader):
    model = torch.nn.parallel.DistributedDataParallel(net)
    for inputs, targets in loader:
        with torch.no_grad():
            loss = criterion(model(inputs), targets).item()
        if dist.get_rank() == 0:
            if not math.isfinite(loss):
                sys.exit(0)
            print(loss)
    dist.barrier()  # expect: DL101


def state_of_all_ranks(state, device):
    # cosmos-predict1 cosmos_predict1/utils/fsdp_optim_fix.py:68: information, each by what it was told of the state
    if dist.get_rank() == 0:
        if not isinstance(state, torch.Tensor) or state.dim() == 0:
            return state
        tensor = state.to(device)
    else:
        if isinstance(state, torch.Tensor):
            return state
        elif state is None:
            return state
        tensor = torch.zeros(state.shape, device=device)
    dist.broadcast(tensor, src=0)  # expect: DL101
    return tensor


@torch.no_grad()
def centres_for_each(points, sizes):
    found = []
    for size in sizes:
        found.append(points[torch.randint(len(points), (size,))])
        torch.cuda.manual_seed(size)
    return found


class AsManyOnEachRank:
    # TorchEasyRec 54cac31 tzrec/modules/sid/residual_vector_quantizer.py:229: as many centres as sizes, whoever makes them
    def __init__(self, sizes):
        self.sizes = list(sizes)

    def start(self, points):
        if dist.get_rank() == 0:
            centres = centres_for_each(points, self.sizes)
        else:
            centres = [torch.empty(size, points.shape[1]) for size in self.sizes]
        for centre in centres:
            dist.broadcast(centre, src=0)


def exported_by_one(model, path):
    # TorchEasyRec 54cac31 tzrec/utils/export_util.py:236: a group of one process
    if int(os.environ.get("RANK", 0)) != 0:
        return
    if os.environ.get("WORLD_SIZE") != "1":
        os.environ["WORLD_SIZE"] = "1"
    if not dist.is_initialized():
        dist.init_process_group("gloo")
    dcp.load(model.state_dict(), checkpoint_id=path)


def leave_but_one():
    if int(os.environ.get("RANK", 0)) != 0:
        return False
    alone = {"RANK": "0", "WORLD_SIZE": "1"}
    os.environ.update(alone)
    return True


def start_group():
    dist.init_process_group(backend="gloo")


def exported_behind_a_helper(model, path):
    if not leave_but_one():
        return
    start_group()
    dcp.load(model.state_dict(), checkpoint_id=path)


def exported_by_one_of_many(model, path):
    if int(os.environ.get("RANK", 0)) != 0:
        return
    os.environ.setdefault("WORLD_SIZE", "1")
    dist.init_process_group("gloo")  # expect: DL101
    dcp.load(model.state_dict(), checkpoint_id=path)  # expect: DL101


def first_loads_what_is_known(kind, path):
    # SimXNS 0163380 PROD/ProD_base/train_DE_model_marco.py:819: nobody asks for another kind
    if dist.get_rank() != 0:
        dist.barrier()
    if kind == "dual":
        model = torch.nn.Bilinear(2, 2, 2)
    elif kind == "single":
        model = torch.nn.Linear(2, 2)
    else:
        exit(0)
    model.load_state_dict(torch.load(path))
    if dist.get_rank() == 0:
        dist.barrier()
    return model


def first_leaves_where_it_is_told(kind, path):
    if dist.get_rank() != 0:
        dist.barrier()  # expect: DL101
    if kind == "single":
        exit(0)
    model = torch.load(path)
    if dist.get_rank() == 0:
        dist.barrier()  # expect: DL101
    return model


def found_by_main(path, keys):
    # cosmos-rl 89f2e5b cosmos_rl/utils/util.py:671: what `break` takes along is known behind the loop
    size = None
    if dist.get_rank() == 0:
        for key in keys:
            if key in path:
                size = len(key)
                break
        if size is None:
            raise ValueError(path)
    box = [size]
    dist.broadcast_object_list(box, src=0)
    return box[0]


def passed_over_by_main(path, keys):
    size = None
    if dist.get_rank() == 0:
        for key in keys:
            if key in path:
                size = len(key)
                continue
            print(key)
        if size is None:
            raise ValueError(path)
    box = [size]
    dist.broadcast_object_list(box, src=0)
    return box[0]


def never_found_by_main(path, keys):
    size = None
    if dist.get_rank() == 0:
        for key in keys:
            if key in path:
                break
        if size is None:
            raise ValueError(path)
    box = [size]
    dist.broadcast_object_list(box, src=0)  # expect: DL101
    return box[0]


def write_rows(rows, file):
    for row in rows:
        file.write(row)


def rows_of_all(loader):
    for batch in loader:
        dist.all_reduce(batch)
        yield str(batch)


def rows_of_file(path):
    dist.get_rank()
    for line in open(path):
        yield line


def one_writer_of_two_generators(loader, path, file):
    # SwinBERT 03116f1 src/tasks/run_caption_VidSwinBert.py:447
    write_rows(rows_of_all(loader), file)
    if dist.get_rank() == 0:
        write_rows(rows_of_file(path), file)


def one_writer_of_one_generator(loader, file):
    if dist.get_rank() == 0:
        write_rows(rows_of_all(loader), file)  # expect: DL101


def halves_and_an_option_around_one(args, build):
    if args.local_rank != 0:
        dist.barrier()  # expect: DL101
    if args.build:
        build()
        if args.local_rank == 0:
            dist.barrier()


def halves_and_the_main_process_may_leave_its_own_out(path, build):
    if dist.get_rank() == 0:
        if not os.path.exists(path):
            build(path)
            dist.barrier()
    else:
        dist.barrier()  # expect: DL101


def halves_and_an_option_around_both(args, build):
    if args.build:
        if args.local_rank != 0:
            dist.barrier()
        build()
        if args.local_rank == 0:
            dist.barrier()


def halves_and_an_option_beside_each(args, build):
    if args.local_rank != 0 and args.build:
        dist.barrier()
    build()
    if args.local_rank == 0 and args.build:
        dist.barrier()


INSIDE = False


def from_the_main_process(work):
    # What `work` calls in turn, while it runs on rank 0 alone, comes here with the flag.
    global INSIDE
    if INSIDE:
        assert dist.get_rank() == 0
        return work()
    if dist.get_rank() == 0:
        INSIDE = True
        box = [work()]
        INSIDE = False
    else:
        box = [None]
    dist.broadcast_object_list(box)
    return box[0]


def flagged_and_not_of_the_main_process_alone(work):
    box = [None]
    if dist.get_rank() == 0:
        if INSIDE:
            return work()
        box = [work()]
    dist.broadcast_object_list(box)  # expect: DL101
    return box[0]


class Stage(enum.IntEnum):
    PARSE = 1
    RUN = 2


class Profiles:
    def run(self, path, stage=Stage.RUN):
        if stage == Stage.PARSE:
            return path
        dist.barrier()
        return None


def of_a_member_that_leaves_before(path):
    # MindSpeed 028de58 mindspeed/core/training.py:433
    if dist.get_rank() == 0:
        return Profiles().run(path, Stage.PARSE)
    return None


def of_a_member_that_does_not(path):
    if dist.get_rank() == 0:
        return Profiles().run(path, Stage.RUN)  # expect: DL101
    return None


def step_by_keyword(*, model, forward_only=False):
    loss = model()
    if not forward_only:
        dist.all_reduce(loss)


def refuses_its_arguments(model):
    # Whichever rank comes there ends with a TypeError.
    if dist.get_rank() == 0:
        step_by_keyword(model, forward_only=False)


def takes_its_arguments(model):
    if dist.get_rank() == 0:
        step_by_keyword(model=model, forward_only=False)  # expect: DL101


def one_of_each_machine(args):
    if args.local_rank != 0:
        return
    dist.init_process_group("gloo", rank=args.node_rank, world_size=args.nnodes)


def judged_once(model, loaders, board):
    # VISTA f73d7c2 vista3d/scripts/train_finetune.py:575: written for two loaders, and left for the first
    model = DistributedDataParallel(model)
    for epoch in range(4):
        for turn in [0]:
            with torch.no_grad():
                for batch in loaders[turn]:
                    board.append(batch.sum())
                if dist.get_rank() == 0:
                    if turn > 0:
                        continue
                    board.append(epoch)
                dist.barrier()
        model(board[0]).sum().backward()


def restored_by_rank_0(args, model):
    # SAMRefer 7964155 train_enhanced_multi_dataset.py:327: below ZeRO-3 an engine reads this rank's files, and meets nobody
    engine, _, _, _ = deepspeed.initialize(args=args, model=model)
    epoch = 0
    if dist.get_rank() == 0:
        _, state = engine.load_checkpoint(args.resume)
        epoch = state["epoch"]
    told = torch.tensor([epoch])
    dist.broadcast(told, src=0)
    return told


def saved_by_rank_0(args, model):
    engine, _, _, _ = deepspeed.initialize(args=args, model=model)
    if dist.get_rank() == 0:
        engine.save_checkpoint(args.out)  # expect: DL101


def scores_on_all(model, loader):
    total = sum(model(batch).sum() for batch in loader)
    dist.barrier()
    return total


def evaluates_on_rank_0(model, loader, epochs, with_scores):
    # FGOVD 1562de8 main_ddp.py:257: the barrier of each epoch is there for all, and waits for one that only rank 0 has
    for epoch in range(epochs):
        model.train()
        if dist.get_rank() == 0:
            print(epoch)
            if with_scores:
                print(scores_on_all(model, loader))  # expect: DL101
        dist.barrier()


def sets_up_by_the_environment(rank_and_size=(None, None)):
    rank, size = rank_and_size
    if rank is None or size is None:
        try:
            size = int(os.environ["SLURM_NTASKS"])
            rank = int(os.environ["SLURM_PROCID"])
        except KeyError:
            return 1, 0
    dist.init_process_group("nccl", world_size=size, rank=rank)
    return size, rank


class StopsEarly:
    def __init__(self):
        self.best = None

    def __call__(self, score):
        dist.all_reduce(score)
        self.best = score


def stops_by_what_one_rank_asks(score):
    # World-Model-Latent-Planning e1f21ac app/latent_dreaming/train.py:648
    _, rank = sets_up_by_the_environment()
    stops = StopsEarly()
    if rank == 0:
        stops(score)  # expect: DL101


def stops_by_what_all_ask(score):
    _, rank = sets_up_by_the_environment()
    stops = StopsEarly()
    stops(score)
    if rank == 0:
        print(stops.best)


def a_net_of_one_rank(accelerator: Accelerator, net, data):
    if accelerator.is_main_process:
        net, loader = accelerator.prepare(net, DataLoader(data))  # expect: DL101
        print(net, loader)
    accelerator.wait_for_everyone()


def a_loader_of_one_rank(accelerator: Accelerator, data):
    # BigVGAN 84be3f0 train.py:137
    if accelerator.is_main_process:
        checks = accelerator.prepare(DataLoader(data))
        for batch in checks:
            inputs, targets = batch
            inputs, targets = accelerator.prepare(inputs, targets)
            print(inputs.shape, targets)
    accelerator.wait_for_everyone()


def refuses_other_ranks(accelerator: Accelerator, answer):
    # Marg-Li-CoT 8e6898f modern_rejection_sampling/archive/train.py:193
    if accelerator.is_main_process:
        answer.draw()
    else:
        raise NotImplementedError("one rank alone")
    accelerator.wait_for_everyone()


def fails_on_other_ranks(accelerator: Accelerator, answer):
    if accelerator.is_main_process:
        answer.draw()
    else:
        raise ValueError("nothing to draw")
    accelerator.wait_for_everyone()  # expect: DL101


def saves_with_the_other_engine(options, engine, loader):
    # SparseTransformers adffc67 train.py:301: under DeepSpeed the flag is True of all
    spread = int(os.environ.get("RANK", -1)) != -1 and not options.sharded
    if spread:
        dist.init_process_group("nccl")
        is_first = int(os.environ["RANK"]) == 0
    else:
        is_first = True
    for number, batch in enumerate(loader):
        engine.step(batch)
        if number % 10 == 0 and is_first:
            if options.sharded:
                dist.barrier()
            else:
                torch.save(engine.state, "state.pt")


def saves_with_either_engine(options, engine, loader):
    spread = int(os.environ.get("RANK", -1)) != -1 and not options.sharded
    if spread:
        dist.init_process_group("nccl")
        is_first = int(os.environ["RANK"]) == 0
    else:
        is_first = True
    for number, batch in enumerate(loader):
        engine.step(batch)
        if number % 10 == 0 and is_first:
            if options.halved:
                dist.barrier()  # expect: DL101
            else:
                torch.save(engine.state, "state.pt")


def saves_with_one_engine_of_many(options, engine, loader):
    if not options.sharded:
        is_first = dist.get_rank() == 0
    else:
        is_first = int(os.environ["RANK"]) == 0
    for number, batch in enumerate(loader):
        engine.step(batch)
        if number % 10 == 0 and is_first:
            if options.sharded:
                dist.barrier()  # expect: DL101
