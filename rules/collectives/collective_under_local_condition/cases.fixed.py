"""Cases of DL103: collectives behind conditions of one rank, and behind conditions of all."""

import math
import os
import signal
import sys
import time

import ray
import torch
import torch.distributed as dist
from accelerate import Accelerator
from distlint.runtime import all_ranks, any_rank
from torch.nn.parallel import DistributedDataParallel
from tqdm.auto import tqdm
from transformers.trainer_callback import CallbackHandler, TrainerControl

# --- bugs -----------------------------------------------------------------------------------------


def empty_after_masking(accelerator: Accelerator, entropies, mask):
    kept = entropies[mask.bool()].float()
    # Nothing to do on this rank.
    if any_rank(kept.numel() == 0):  # expect: DL103
        return torch.zeros_like(entropies)
    return accelerator.gather(kept.mean())


def stopped_by_an_output(net, loader):
    model = DistributedDataParallel(net)
    for batch in loader:
        output = model(batch)
        if any_rank(output["loss"] == 0):  # expect: DL103
            dist.barrier()


def left_where_the_loss_is_worse(net, loader, check):
    model = DistributedDataParallel(net)
    best = 0.0
    for batch in loader:
        loss = model(batch).mean()
        loss.backward()
        found = check(loss.item())
        if any_rank(loss.item() > best):  # expect: DL103
            break
        print(found)


def logged_where_there_is_something(accelerator: Accelerator, ratios, mask, metrics):
    kept = ratios[mask > 0]
    if all_ranks(kept.numel() > 0):  # expect: DL103
        metrics.append(accelerator.gather(kept.min()))
        metrics.append(accelerator.gather(kept.max()))


def until_the_end_token(model, tokens, end):
    for _ in range(100):
        token = sampled_from(model, tokens)
        dist.all_reduce(token)
        drawn = torch.multinomial(model(tokens).softmax(-1), 1)
        if any_rank(drawn == end):  # expect: DL103
            break


def generating_to_the_end(net, tokens):
    until_the_end_token(DistributedDataParallel(net), tokens, 2)


def not_a_number(model, batch):
    model = DistributedDataParallel(model)
    loss = model(batch)
    if any_rank(math.isnan(loss.item())):  # expect: DL103
        return
    dist.all_reduce(loss)


def out_of_time(loader, limit):
    start = time.time()
    for batch in loader:
        if any_rank(time.time() - start > limit):  # expect: DL103
            break
        dist.all_reduce(batch)


def all_sequences_finished(model, tokens, stop, length):
    # torchtune 0.6.1 torchtune/generation/_generation.py:387
    model = DistributedDataParallel(model)
    for _ in range(length):
        tokens = model(tokens)
        finished = tokens.eq(stop)
        if all_ranks(finished.all()):  # expect: DL103
            break
        dist.all_reduce(tokens)
    return tokens


def salted(name, x):
    if any_rank(hash(name) % 2 == 0):  # expect: DL103
        dist.all_reduce(x)


def through_a_variable(model, batch, best):
    loss = DistributedDataParallel(model)(batch).mean()
    better = loss.item() < best
    if any_rank(better):  # expect: DL103
        dist.barrier()


class StopOnSignal:
    def __init__(self):
        self.stop = False
        signal.signal(signal.SIGTERM, self.on_signal)

    def on_signal(self, number, frame):
        self.stop = True


def asked_to_stop(loader):
    killer = StopOnSignal()
    for batch in loader:
        dist.all_reduce(batch)
        if any_rank(killer.stop):  # expect: DL103
            break


def step_skipped(net, criterion, loader, optimizer):
    model = DistributedDataParallel(net)
    for inputs, targets in loader:
        loss = criterion(model(inputs), targets)
        if any_rank(not torch.isfinite(loss)):  # expect: DL103
            continue
        loss.backward()
        optimizer.step()


def step_skipped_with_accelerate(accelerator: Accelerator, model, loss_fn, loader, optimizer):
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for inputs, targets in loader:
        loss = loss_fn(model(inputs), targets)
        if any_rank(loss.item() > 100):  # expect: DL103
            optimizer.zero_grad()
            continue
        accelerator.backward(loss)
        optimizer.step()


def stopped(net, criterion, loader, optimizer, loss_scaler):
    model = DistributedDataParallel(net)
    for inputs, targets in loader:
        loss = criterion(model(inputs), targets)
        loss_value = loss.item()
        if not math.isfinite(loss_value):  # expect: DL103
            print("Loss is", loss_value)
            sys.exit(1)
        loss_scaler(loss, optimizer)


class Scaler:
    def __init__(self):
        self.inner = torch.amp.GradScaler()

    def __call__(self, loss, optimizer):
        self.inner.scale(loss).backward()
        self.inner.step(optimizer)


def asserted(net, loader, optimizer):
    model, scaler = DistributedDataParallel(net), Scaler()
    for batch in loader:
        loss = model(batch).mean()
        assert not torch.isnan(loss), "not a number"  # expect: DL103
        scaler(loss, optimizer)


def stopped_by_a_dict(net, criterion, loader, optimizer, loss_scaler):
    model = DistributedDataParallel(net)
    for inputs, targets in loader:
        losses = criterion(model(inputs), targets)
        loss_value = sum(named(losses).values())
        if not math.isfinite(loss_value):  # expect: DL103
            sys.exit(1)
        loss_scaler(losses["all"], optimizer)


def named(losses):
    if world_size() < 2:
        return losses
    return {k: v.detach() for k, v in losses.items()}


def flag_that_may_be_none(net, loader, options):
    model = DistributedDataParallel(net)
    for batch in loader:
        loss = model(batch)
        broken = None
        if options.careful:
            broken = torch.isnan(loss)
        if any_rank(broken):  # expect: DL103
            dist.all_reduce(loss)


def counted_by_the_bar(accelerator: Accelerator, loader, train, judge):
    bar = tqdm(range(1000), disable=not accelerator.is_local_main_process)
    for batch in loader:
        train(batch)
        bar.update(1)
        if bar.n % 100 == 0:  # expect: DL103
            accelerator.gather(judge(batch))


def stopped_by_the_bar(loader, train):
    quiet = dist.get_rank() != 0
    with tqdm(total=100, disable=quiet) as bar:
        for batch in tqdm(loader, disable=quiet):
            train(batch)
            bar.update()
    progress = tqdm(loader, disable=quiet)
    for batch in progress:
        if progress.n > 50:  # expect: DL103
            dist.all_reduce(train(batch))


@torch.no_grad()
def ends_in_a_validation(model, batches, total):
    model = DistributedDataParallel(model)
    for batch in batches:
        loss = model(batch).mean().item()
        if any_rank(not math.isfinite(loss)):  # expect: DL103
            print("loss is", loss)
            sys.exit(1)
        total += loss
    dist.all_reduce(total)


def reduced_copy(flag):
    flag = flag.clone()
    dist.all_reduce(flag)
    return flag


def own_flag_behind_a_copy(net, criterion, loader, optimizer):
    model = DistributedDataParallel(net)
    for inputs, targets in loader:
        loss = criterion(model(inputs), targets)
        flag = loss.detach().isnan()
        reduced_copy(flag)
        if any_rank(flag.item()):  # expect: DL103
            continue
        loss.backward()
        optimizer.step()


def reduced_where_asked(flag, exact):
    if exact:
        dist.all_reduce(flag)


def own_flag_without_being_asked(net, criterion, loader, optimizer, exact):
    model = DistributedDataParallel(net)
    for inputs, targets in loader:
        loss = criterion(model(inputs), targets)
        flag = loss.detach().isnan()
        reduced_where_asked(flag, exact)
        if any_rank(flag.item()):  # expect: DL103
            continue
        loss.backward()
        optimizer.step()


def own_limit_in_other_steps(net, loader, step):
    model = DistributedDataParallel(net)
    for batch in loader:
        loss = model(batch).mean()
        limit = loss.item()
        if step % 10 == 0:
            limit = from_rank_0(limit)
        if any_rank(limit > 3):  # expect: DL103
            continue
        loss.backward()


class LeavesAtTheEnd:
    def __init__(self, end):
        self.end = end
        self.late = False

    def look(self):
        if time.time() > self.end:
            self.late = True

    def train(self, loader):
        for batch in loader:
            dist.all_reduce(batch)
            self.look()
            if any_rank(self.late):  # expect: DL103
                break

    def train_here(self, loader):
        for batch in loader:
            dist.all_reduce(batch)
            if time.time() > self.end:
                self.late = True
            if any_rank(self.late):  # expect: DL103
                break


class Listens:
    # smollm vision/m4/training/trainer.py:1363: the flag of the handler is kept in another, and a method answers by it
    def __init__(self):
        self.listener = StopOnSignal()
        self.received = False

    def look(self):
        if self.listener.stop:
            self.received = True

    def is_over(self, step, last):
        self.look()
        over = True
        if self.received:
            print("stopped")
        elif step >= last:
            print("done")
        else:
            over = False
        return over

    def train(self, loader, last):
        for step, batch in enumerate(loader):
            dist.all_reduce(batch)
            if any_rank(self.is_over(step, last)):  # expect: DL103
                break


def after_a_time_in_a_tensor(batches, limit, start):
    for batch in batches:
        passed = torch.FloatTensor([time.time() - start])
        if any_rank(passed.item() > limit):  # expect: DL103
            break
        dist.all_reduce(batch)


def asked_by_some(model, loader, optimizer, args):
    # bts 5e3406b pytorch/bts_main.py:464: advice alone, since the others do not come to the question
    model = DistributedDataParallel(model)
    for batch in loader:
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()
        if not args.several or args.rank % args.per_machine == 0:
            print(loss)
            if math.isnan(loss.item()):  # expect: DL103
                return -1
    return 0


def asked_by_all(model, loader, optimizer, args):
    model = DistributedDataParallel(model)
    for batch in loader:
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()
        if args.local_rank != -1:
            if any_rank(math.isnan(loss.item())):  # expect: DL103
                return -1
    return 0


def skipped_where_an_image_has_no_boxes(net, loader, optimizer):
    model = DistributedDataParallel(net)
    for step, (images, targets) in enumerate(loader):
        if any_rank(any(len(boxes) < 1 for boxes in targets)):  # expect: DL103
            print("no boxes in batch", step)
            continue
        loss = model(images, targets).mean()
        loss.backward()
        optimizer.step()


def skipped_where_no_text_has_words(net, train_loader, optimizer):
    model = DistributedDataParallel(net)
    for batch in tqdm(train_loader):
        if any_rank(sum(len(text["words"]) for text in batch) == 0):  # expect: DL103
            continue
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()


# --- right ----------------------------------------------------------------------------------------


def of_what_each_batch_has_alike(net, loader, optimizer, layers):
    model = DistributedDataParallel(net)
    for images, targets in loader:
        # how many images, and what is no part of the batch
        if len(targets) < 1 or any(len(each) < 1 for each in layers):
            continue
        # how long, whatever the data is
        if any(len(boxes) > 100 for boxes in targets):
            print("crowded")
        loss = model(images, targets).mean()
        loss.backward()
        optimizer.step()


def of_what_all_have_told(net, loader, optimizer):
    model = DistributedDataParallel(net)
    for images, targets in loader:
        empty = torch.tensor(float(any(len(boxes) < 1 for boxes in targets)))
        dist.all_reduce(empty)
        if empty > 0:
            continue
        loss = model(images, targets).mean()
        loss.backward()
        optimizer.step()


def of_the_part_that_is_printed(net, loader, optimizer):
    model = DistributedDataParallel(net)
    for images, targets in loader:
        if any(len(boxes) == 0 for boxes in targets):
            print("an image without boxes")
        loss = model(images, targets).mean()
        loss.backward()
        optimizer.step()


class Cached:
    def __init__(self, folder):
        self.files = sorted(os.listdir(folder))

    def __len__(self):
        return 100


def cached_in_a_folder_of_its_time(out, steps, batches):
    # MotionDirector 0146a50 MotionDirector_train.py:888: when the folder was made does not count its files
    folder = os.path.join(out, f"train_{time.strftime('%H-%M')}")
    data = Cached(f"{folder}/latents")
    rounds = math.ceil(steps / len(data))
    for epoch in range(rounds):
        for step, batch in enumerate(batches):
            if epoch == 0 and step < steps:
                continue
            dist.all_reduce(batch)


def told_by_a_word(net, loader):
    # imaginaire vid2vid.py:263: the model's code chooses the word, by the turn and the epoch.
    model = DistributedDataParallel(net)
    for batch in loader:
        output = model(batch)
        if output["source"] != "cache":
            dist.barrier()
        if "cache" == output["source"]:
            dist.barrier()


def left_by_one_process(net, loader, args):
    # CodeT5 run_defect.py:152: nobody waits in the backward of what DataParallel gave.
    if args.local_rank != -1:
        dist.init_process_group("nccl")
    model = net
    if args.gpus > 1:
        model = torch.nn.DataParallel(model)
    best = 0.0
    for batch in loader:
        loss = model(batch).mean()
        loss.backward()
        if loss.item() > best:
            break


def reduced_first(model, batch):
    loss = DistributedDataParallel(model)(batch)
    flag = torch.isnan(loss).any().float()
    dist.all_reduce(flag)
    if flag.item() > 0:
        return
    dist.all_reduce(loss)


def gathered(accelerator: Accelerator, values, mask):
    kept = accelerator.gather(values)[mask]
    if kept.numel() == 0:
        return
    accelerator.wait_for_everyone()


def by_the_configuration(config, x):
    if config.sync:
        dist.all_reduce(x)


def nothing_behind_it(model, batch):
    loss = DistributedDataParallel(model)(batch)
    if loss.item() > 3:
        print("large")
    dist.all_reduce(loss)


def both_take_part(model, batch):
    loss = DistributedDataParallel(model)(batch)
    if loss.item() > 3:
        dist.all_reduce(loss.clamp(max=3))
    else:
        dist.all_reduce(loss)


def a_shared_file(path):
    if os.path.exists(path):
        dist.barrier()


def timed(x):
    start = time.time()
    dist.barrier()
    if time.time() - start > 1:
        print("slow")


def until_a_token(model, tokens, end=None):
    for _ in range(100):
        token = sampled_from(model, tokens)
        dist.all_reduce(token)
        drawn = torch.multinomial(model(tokens).softmax(-1), 1)
        if drawn == end:  # no tensor equals None
            break


def generating_as_many_on_each(net, tokens):
    until_a_token(DistributedDataParallel(net), tokens)


def is_given(x, y=None):
    if y is not None:
        dist.all_reduce(y)


def shape_of_all(x):
    if x.shape[0] == 0:
        return
    dist.all_reduce(x)


def asked_to_stop_together(loader):
    killer = StopOnSignal()
    for batch in loader:
        stop = torch.tensor(int(killer.stop))
        dist.all_reduce(stop)
        if stop.item():
            break
        dist.all_reduce(batch)


def smallest_of_all(accelerator, model, elapsed):
    gathered = accelerator.gather(torch.tensor([elapsed]))
    known = gathered[gathered != 0]
    if len(known) and known.min() > 3:
        dist.barrier()


def rows_of_all(scores):
    parts = [torch.zeros_like(scores) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, scores)
    whole = torch.cat(parts)
    whole = whole[whole > 0]
    if whole.numel() == 0:
        return
    dist.all_reduce(scores)


def loss_of_all(net, criterion, loader, optimizer):
    model = DistributedDataParallel(net)
    for inputs, targets in loader:
        loss = criterion(model(inputs), targets)
        shared = loss.detach().clone()
        dist.all_reduce(shared)
        if not math.isfinite(shared.item()):
            sys.exit(1)
        loss.backward()
        optimizer.step()


def loss_of_all_by_a_helper(net, criterion, reduce_loss, loader):
    model = DistributedDataParallel(net)
    for inputs, targets in loader:
        loss = criterion(model(inputs), targets)
        if not math.isfinite(reduce_loss(loss)):
            sys.exit(1)
        loss.backward()


def replaced(net, criterion, loader, optimizer):
    model = DistributedDataParallel(net)
    for inputs, targets in loader:
        loss = criterion(model(inputs), targets)
        if torch.isnan(loss):
            loss = torch.nan_to_num(loss) * 0
        loss.backward()
        optimizer.step()


def skipped_behind_the_backward(net, criterion, loader, optimizer):
    model = DistributedDataParallel(net)
    for inputs, targets in loader:
        loss = criterion(model(inputs), targets)
        loss.backward()
        if torch.isnan(loss):
            optimizer.zero_grad()
            continue
        optimizer.step()


def evaluated(net, criterion, loader):
    model = DistributedDataParallel(net)
    with torch.no_grad():
        for inputs, targets in loader:
            loss = criterion(model(inputs), targets)
            if torch.isnan(loss):
                raise ValueError("not a number")


def alone(net, criterion, loader, optimizer):
    for inputs, targets in loader:
        loss = criterion(net(inputs), targets)
        if torch.isnan(loss):
            continue
        loss.backward()
        optimizer.step()


def every_other_step(net, loader, optimizer):
    model = DistributedDataParallel(net)
    for step, batch in enumerate(loader):
        loss = model(batch).mean()
        if step % 2:
            continue
        if loss.requires_grad:
            loss.backward()
        optimizer.step()


def has_group():
    return dist.is_available() and dist.is_initialized()


def world_size():
    if not has_group():
        return 1
    return dist.get_world_size()


def mean_over_ranks(losses):
    # RT-DETR 068dfde rtdetrv2_pytorch/src/misc/dist_utils.py:177
    if world_size() < 2:
        return losses
    names, values = [], []
    for name in sorted(losses.keys()):
        names.append(name)
        values.append(losses[name])
    values = torch.stack(values)
    dist.all_reduce(values)
    values /= world_size()
    return {k: v for k, v in zip(names, values)}


def mean_of_a_dict(net, criterion, loader, optimizer, loss_scaler):
    model = DistributedDataParallel(net)
    for inputs, targets in loader:
        losses = criterion(model(inputs), targets)
        loss_value = sum(mean_over_ranks(losses).values())
        if not math.isfinite(loss_value):
            sys.exit(1)
        loss_scaler(losses["all"], optimizer)


def losses_of_a_second_head(net, loader, options):
    # SlowFast 287ec00 tools/train_net.py:213: whether there are more losses, the configuration decides.
    model = DistributedDataParallel(net)
    for batch in loader:
        loss = model(batch)
        extra = None
        if isinstance(loss, tuple):
            loss, extra = loss
        if extra:
            dist.all_reduce(extra)


def numbers_of_dimensions(net, batch):
    # LMFlow f3597db src/lmflow/pipeline/utils/raft_trainer.py:3250: code fixes how many sizes a tensor has.
    model = DistributedDataParallel(net)
    logits = model(batch)
    if len(logits.shape) < 2 or len(logits.size()) < 2 or logits.dim() < 2 or logits.ndim < 2:
        return logits
    dist.all_reduce(logits)
    return logits


def next_token(net, x):
    return net(x)


@torch.compile
def next_token_at_once(net, x):
    return net(x)


def until_the_end(net, x, end, length):
    # fish-speech 3dd1f85 fish_speech/models/text2semantic/inference.py:233: functions are compiled, nobody wraps.
    compiled = torch.compile(next_token)
    for _ in range(length):
        x = next_token_at_once(net, compiled(net, x))
        if x[0] == end:
            break
    dist.barrier()
    return x


class LoggingTrainer:
    # LMFlow f3597db src/lmflow/pipeline/utils/raft_trainer.py:2203: callbacks set the flags by the step count.
    def __init__(self, callbacks, model):
        self.control = TrainerControl()
        self.handler = CallbackHandler(callbacks, model, None, None, None)

    def train(self, args, state, loss):
        start = time.time()
        for _ in range(3):
            logs = {"seconds": time.time() - start}
            self.control = self.handler.on_log(args, state, self.control, logs)
            if self.control.should_log:
                dist.all_reduce(loss)


def counted_beside_the_bar(accelerator: Accelerator, loader, train, judge):
    bar = tqdm(range(1000), disable=not accelerator.is_local_main_process)
    for step, batch in enumerate(loader, 1):
        train(batch)
        bar.update(1)
        if step % 100 == 0:
            accelerator.gather(judge(batch))


def bar_of_all(accelerator: Accelerator, loader, judge):
    bar = tqdm(range(1000))
    for batch in loader:
        bar.update(1)
        if bar.n % 100 == 0:
            accelerator.gather(judge(batch))


def rows_of_the_bar(accelerator: Accelerator, loader, judge):
    for batch in tqdm(loader, disable=not accelerator.is_main_process):
        if batch.n > 3:
            print(batch.n)
        accelerator.gather(judge(batch))


def one_batch(holder, batch, optimizer):
    # ml-mdm ml_mdm/trainer.py:39: the holder of a wrapped model gives the loss.
    loss = holder.get_loss(batch).mean()
    if any_rank(math.isnan(loss.item())):  # expect: DL103
        optimizer.zero_grad()
        return None
    loss.backward()
    return loss


def through_a_holder(make, loader, optimizer):
    holder = make()
    holder.model = DistributedDataParallel(holder.model)
    for batch in loader:
        one_batch(holder, batch, optimizer)


def one_batch_of_a_plain_model(holder, batch, optimizer):
    loss = holder.get_loss(batch).mean()
    if math.isnan(loss.item()):
        return None
    loss.backward()
    return loss


def through_a_holder_of_a_plain_model(make, net, loader, optimizer):
    holder = make()
    holder.model = net
    for batch in loader:
        one_batch_of_a_plain_model(holder, batch, optimizer)


def through_a_holder_that_is_unwrapped(make, loader):
    holder = make()
    holder.model = DistributedDataParallel(holder.model)
    holder.model = holder.model.module
    for batch in loader:
        loss = holder.get_loss(batch)
        if math.isnan(loss.item()):
            continue
        loss.backward()


def all_skip_together(make, loader):
    holder = make()
    holder.model = DistributedDataParallel(holder.model)
    for batch in loader:
        loss = holder.get_loss(batch)
        broken = torch.isnan(loss).float()
        dist.all_reduce(broken)
        if broken.item() > 0:
            continue
        loss.backward()


@torch.no_grad()
def ends_in_a_validation_for_all(model, batches, total):
    model = DistributedDataParallel(model)
    for batch in batches:
        loss = model(batch).mean()
        dist.all_reduce(loss)
        if not math.isfinite(loss.item()):
            sys.exit(1)
        total += loss
    dist.all_reduce(total)


@torch.no_grad()
def ends_for_a_wrong_shape(batches, total):
    for batch in batches:
        if batch.argmax().item() > 3:
            raise ValueError("a label that does not exist")
        total += batch.sum()
    dist.all_reduce(total)


def from_rank_0(value):
    tensor = torch.tensor(value)
    dist.broadcast(tensor, 0)
    return tensor.item()


def passed_on(tensor, op=dist.ReduceOp.SUM):
    if has_group():
        return _passed_on(tensor, op)


def _passed_on(tensor, op):
    return dist.all_reduce(tensor, op)


def largest(value):
    # jukebox 08efbbc jukebox/utils/dist_utils.py:23: through an adapter of two levels
    value = torch.tensor(value).float().cuda()
    passed_on(value, op=dist.ReduceOp.MAX)
    return value.item()


def overflow_of_all(net, criterion, loader, optimizer):
    model = DistributedDataParallel(net)
    for inputs, targets in loader:
        loss = criterion(model(inputs), targets)
        overflow = largest(int(math.isinf(loss.item()))) > 0
        if not overflow:
            loss.backward()
            optimizer.step()


def mean_in_place(tensor):
    dist.all_reduce(tensor=tensor.data)
    tensor /= world_size()


def flag_in_place(net, criterion, loader, optimizer):
    model = DistributedDataParallel(net)
    for inputs, targets in loader:
        loss = criterion(model(inputs), targets)
        flag = loss.detach().isnan().float()
        mean_in_place(flag)
        if flag.item() > 0:
            continue
        loss.backward()
        optimizer.step()


class Exchange:
    def together(self, flags):
        dist.all_reduce(flags.view(-1), op=dist.ReduceOp.MAX)
        return None


def flag_by_a_method(net, criterion, loader, exchange: Exchange):
    model = DistributedDataParallel(net)
    for inputs, targets in loader:
        loss = criterion(model(inputs), targets)
        bad = loss.detach().isnan()
        exchange.together(flags=bad)
        if bad.any():
            continue
        loss.backward()


class StopsOnTime:
    def cancelled(self):
        # molmo 793fa38 olmo/train.py:1263
        stop, steps = False, 0
        if dist.get_rank() == 0 and time.time() - self.start > self.limit:
            stop, steps = True, self.more
        stop = from_rank_0(stop)
        if stop:
            steps = from_rank_0(steps)
        return stop, steps

    def fit(self, net, loader):
        model = DistributedDataParallel(net)
        last = self.last
        for batch in loader:
            model(batch).mean().backward()
            self.step += 1
            stop, steps = self.cancelled()
            if stop:
                last = min(self.step + steps, last)
            if self.step >= last:
                break


class LeavesTogether:
    def __init__(self, end):
        self.end = end
        self.late = False
        self.warned = False

    def look(self):
        if time.time() > self.end:
            self.late = True

    def train(self, loader):
        for batch in loader:
            dist.all_reduce(batch)
            self.look()
            late = torch.tensor(float(self.late))
            dist.all_reduce(late, op=dist.ReduceOp.MAX)
            if late > 0:
                break

    def train_on(self, loader):
        for batch in loader:
            dist.all_reduce(batch)
            if time.time() > self.end:
                self.warned = True
            if self.warned:
                print("late")

    def train_anew(self, loader, steps):
        if time.time() > self.end:
            self.late = True
        self.late = False
        for step, batch in enumerate(loader):
            dist.all_reduce(batch)
            self.late = step >= steps
            if self.late:
                break


def measured(net, batch):
    return net(batch).mean()


def evaluated_for_a_while(net, loader, limit):
    # openvla-oft 213c5ff vla-scripts/finetune.py:735: DDP broadcasts in front of the first of these forwards alone
    net = DistributedDataParallel(net)
    began = time.time()
    with torch.no_grad():
        for batch in loader:
            measured(net, batch)
            if time.time() - began > limit:
                break


def trained_for_a_while(net, loader, limit):
    net = DistributedDataParallel(net)
    began = time.time()
    for batch in loader:
        measured(net, batch).backward()
        if any_rank(time.time() - began > limit):  # expect: DL103
            break


def filled_or_due(model, evaluate, step):
    # oat c1a074c oat/learners/base.py:553: each rank has its own time there, and all have one
    report = {}
    if step % 100 == 0:
        report = {"score": evaluate(model), "at": time.time()}
    if report or step % 10 == 0:
        dist.all_reduce(model.total)


def searched_by_rank_0_alone(model, loader):
    # doctr 8a88fea references/detection/train.py:115: no two ranks come here
    for batch in loader:
        loss = model(batch)
        dist.all_reduce(loss)
        if not torch.isfinite(loss):
            break


def searches_first(model, loader, find):
    dist.barrier()
    if dist.get_rank() == 0 and find:
        searched_by_rank_0_alone(model, loader)
        return
    for batch in loader:
        model(batch)


def trains_in_one_task(net, loader, optimizer):
    # pytorch/rl ae9719f sota-implementations/grpo/grpo-async.py:258: no other process trains
    net = DistributedDataParallel(net)
    for batch in loader:
        loss = net(batch).mean()
        if not torch.isfinite(loss):
            continue
        loss.backward()
        optimizer.step()


def trains_in_several_tasks(net, loader, optimizer):
    net = DistributedDataParallel(net)
    for batch in loader:
        loss = net(batch).mean()
        if any_rank(not torch.isfinite(loss)):  # expect: DL103
            continue
        loss.backward()
        optimizer.step()


def starts_one_task(net, loader, optimizer):
    task = ray.remote(num_gpus=4)(trains_in_one_task)
    ray.get(task.remote(net, loader, optimizer))


def starts_several_tasks(net, loaders, optimizer):
    task = ray.remote(num_gpus=1)(trains_in_several_tasks)
    ray.get([task.remote(net, loader, optimizer) for loader in loaders])


def gathered_from_all(tensor, total, world_size):
    # scBERT 262fd4b utils.py:214
    parts = [tensor.clone() for _ in range(world_size)]
    dist.all_gather(parts, tensor)
    return torch.cat(parts, dim=0)[:total]


def stops_by_what_all_have(net, loader, total, world_size):
    best = 0.0
    for _ in range(10):
        dist.barrier()
        found = torch.cat([net(batch).argmax(dim=-1) for batch in loader], dim=0)
        found = gathered_from_all(found, total, world_size)
        kept = found[found != -1]
        if kept.float().mean() <= best:
            break
        best = kept.float().mean()


def stops_by_what_it_has(net, loader):
    best = 0.0
    for _ in range(10):
        dist.barrier()
        found = torch.cat([net(batch).argmax(dim=-1) for batch in loader], dim=0)
        kept = found[found != -1]
        if all_ranks(kept.float().mean() <= best):  # expect: DL103
            break
        best = kept.float().mean()


def skips_where_the_averaged_norm_is_not_finite(net, loader, optimizer):
    # rl-llm-grpo-ppo 9990c2d main_grpo.py:445
    net = DistributedDataParallel(net)
    for batch in loader:
        loss = net(batch).mean()
        loss.backward()
        # the norm is of the gradients as they were, whatever the limit
        norm = torch.nn.utils.clip_grad_norm_(net.parameters(), loss.item())
        if not torch.isfinite(norm):
            continue
        optimizer.step()
        dist.all_reduce(norm)


def skips_where_the_loss_of_each_rank_is_not_finite_either(net, loader, optimizer):
    net = DistributedDataParallel(net)
    for batch in loader:
        loss = net(batch).mean()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        if any_rank(not torch.isfinite(loss + norm)):  # expect: DL103
            continue
        optimizer.step()
        dist.all_reduce(norm)
