"""Breakpoints that people leave, and those that are no harm."""

import os
import os
import pdb

import torch
import torch.distributed as dist


def on_rank_0(model, batch):
    loss = model(batch)
    if dist.get_rank() == 0:
        breakpoint()  # expect: DL701
    dist.all_reduce(loss)
    return loss


def for_everybody(model, batch):
    dist.barrier()
    breakpoint()  # expect: DL701
    return model(batch)


def with_pdb(loss):
    dist.all_reduce(loss)
    if loss.isnan():
        pdb.set_trace()  # expect: DL701
    return loss


def beside_other_work(loss):
    if dist.get_rank() == 0:
        print(loss)
        pdb.set_trace()  # expect: DL701
    dist.barrier()


def until_the_loss_is_no_number(model, batch):
    # FIBER ca0f36b fine_grained/tools/train_net.py:208: nothing else ends the loop
    dist.barrier()
    while True:
        loss = model(batch)
        if not torch.isfinite(loss):
            pdb.set_trace()  # expect: DL701
        dist.all_reduce(loss)


def where_a_list_is_missing(path, client):
    # HumanBench f3fd3b3 PATH/core/data/datasets/images/parsing_dataset.py:529: the ranks of one task read it.
    dist.barrier()
    lines = client.Get(path)
    if not lines:
        print("missing", path)
        import pdb

        pdb.set_trace()  # expect: DL701
        raise OSError(path)
    return lines


def where_one_of_two_lists_is_missing(lines, names):
    # HumanBench f3fd3b3 PATH/core/data/datasets/images/reid_dataset.py:71: each has its import.
    dist.barrier()
    if not lines:
        import ipdb; ipdb.set_trace()  # expect: DL701
        raise OSError(lines)
    if not names:
        import ipdb; ipdb.set_trace()  # expect: DL701
        raise OSError(names)
    return lines, names


def where_a_color_is_missing(joints):
    # MeshTransformer cefc4af metro/utils/renderer.py:222: every joint has one; information.
    colors = {0: "pink", 1: "blue"}
    dist.barrier()
    for joint in joints:
        if joint not in colors.keys():
            breakpoint()  # expect: DL701
    return colors


class Lists(torch.utils.data.Dataset):
    # HumanBench f3fd3b3: the ranks of one task alone make it.
    def __init__(self, path):
        dist.barrier()
        self.path = path
        breakpoint()  # expect: DL701
        self.items = list(path.iterdir())


def when_all_is_done(model, batches):
    # InternVideo 3965eef vlnce_baselines/trainer_HAMT.py:722.
    for batch in batches:
        model(batch)
    dist.barrier()
    print("END")
    pdb.set_trace()  # expect: DL701


def where_something_fails(loss, offset):
    # wenet 0154699 wenet/models/finetune/lora/utils.py:334.
    dist.all_reduce(loss)
    try:
        loss -= offset
    except Exception as error:
        print(error)
        breakpoint()  # expect: DL701


def where_its_own_loss_fails(model, batch):
    # StyleTTS2 5cedc71 train_finetune_accelerate.py:467: the others never come.
    dist.barrier()
    loss = model(batch)
    if torch.isnan(loss):
        breakpoint()  # expect: DL701


def where_its_own_gradients_fail(model, batch):
    # Hulk afdcd95 core/solvers/solver_mae_devnew.py:643: reduced further down
    dist.barrier()
    model(batch).backward()
    broken = [n for n, p in model.named_parameters() if torch.isnan(p.grad).sum() > 0]
    if len(broken):
        breakpoint()  # expect: DL701
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)


def where_any_gradient_is_broken(model, batch):
    model(batch).backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
    broken = [n for n, p in model.named_parameters() if torch.isnan(p.grad).sum() > 0]
    if len(broken):
        print(broken)


def where_a_debugger_asks_for_gradients(model, session):
    dist.barrier()
    broken = [n for n, p in model.named_parameters() if torch.isnan(p.grad).sum() > 0]
    if session.debugger_attached and len(broken):
        breakpoint()


def below_an_assertion(path):
    # Otter 1e7eb9a pipeline/mimicit_utils/mimicit_dataset.py:239: the kind of file is the same on all ranks.
    dist.barrier()
    assert os.path.exists(path), f"{path} is missing"
    if not os.path.isfile(path):
        raise FileNotFoundError(path)
    if path.endswith(".json"):
        return path
    else:
        breakpoint()  # expect: DL701


def where_all_losses_fail(model, batch):
    loss = model(batch)
    dist.all_reduce(loss)
    if torch.isnan(loss):
        breakpoint()  # expect: DL701


def imported_for_it(loss):
    dist.all_reduce(loss)
    from ipdb import set_trace as stop

    stop()  # expect: DL701
    return loss






def one_import_for_two(path, other):
    dist.barrier()
    import ipdb

    ipdb.set_trace()  # expect: DL701
    if not other:
        ipdb.set_trace()  # expect: DL701
    return path, other


def where_nobody_debugs(cfg):
    # VGen 4014d1f tools/train/train_dreamvideo_entrance.py:372
    if not cfg.debug:
        torch.cuda.synchronize()
        breakpoint()  # expect: DL701
        dist.barrier()


def beside_one_of_two_ways(features, with_gradient, world_size):
    if with_gradient:
        return dist.nn.all_gather(features)
    parts = [torch.zeros_like(features) for _ in range(world_size)]
    if not features.is_contiguous():
        return parts
    breakpoint()  # expect: DL701
    dist.all_gather(parts, features)
    return parts


class Pairs:
    def __init__(self, pairs):
        self.pairs = pairs

    def __getitem__(self, index):
        first, second = self.pairs[index]
        pdb.set_trace()  # expect: DL701
        return first, second


def ranked_results(results, count):
    if len(results) != count:
        breakpoint()  # expect: DL701
    return sorted(results)


def read_results(path, load):
    try:
        return load(path)
    except ValueError:
        breakpoint()  # expect: DL701
    return None


def at_the_end_of_an_epoch(trainer, max_steps):
    if max_steps is None:
        trainer.save()
        breakpoint()  # expect: DL701
        dist.barrier()


def behind_a_switch(loss, args):
    dist.all_reduce(loss)
    if args.debug:
        breakpoint()
    return loss


def behind_a_variable(loss):
    dist.all_reduce(loss)
    if os.environ.get("DEBUG"):
        pdb.set_trace()
    return loss


def where_a_debugger_asks(loss, session):
    dist.all_reduce(loss)
    if session.debugger_attached and torch.isnan(loss):
        breakpoint()
    return loss


def the_one_of_torch(loss):
    dist.all_reduce(loss)
    dist.breakpoint(0)
    return loss


def on_one_process(model, batch):
    breakpoint()
    return model(batch)


def set_trace(loss):
    return loss


def of_its_own(loss):
    dist.all_reduce(loss)
    set_trace(loss)
    return loss


def of_another_library(tracer, loss):
    dist.barrier()
    tracer.set_trace(loss)


def below_an_assertion_for_debugging(loss, debugging):
    dist.barrier()
    assert torch.isfinite(loss), "the loss is no number"
    if debugging:
        breakpoint()


def only_to_look(results, debugging):
    if debugging and not results:
        breakpoint()
    return sorted(results)


def never(results):
    if False:
        breakpoint()
    return sorted(results)


def for_rank_0(results):
    if dist.get_rank() == 0 and not results:
        return None
    return sorted(results)


def apart_from_the_collective(features, alone):
    if alone:
        breakpoint()
    else:
        dist.barrier()
    return features


def beside_a_collective_that_another_option_asks_for(features, gathers, looks):
    if gathers:
        dist.barrier()
    if looks:
        breakpoint()
    return features


def a_list_is_missing(path, client):
    dist.barrier()
    lines = client.Get(path)
    if not lines:
        print("missing", path)
        raise OSError(path)
    return lines


def a_color_is_missing(joints):
    colors = {0: "pink", 1: "blue"}
    dist.barrier()
    return [joint for joint in joints if joint not in colors.keys()]


class Files(torch.utils.data.Dataset):
    def __init__(self, path, debug):
        dist.barrier()
        if debug:
            breakpoint()
        self.items = list(path.iterdir())


def when_all_is_well(model, batches):
    for batch in batches:
        model(batch)
    dist.barrier()
    print("END")


def above_an_error_behind_a_switch(path, args):
    dist.barrier()
    if args.debug:
        breakpoint()
        raise OSError(path)
    return path


def the_error_alone(path):
    dist.barrier()
    if not path:
        raise OSError(path)


def where_it_is_asked_for(model, batch, debug):
    dist.barrier()
    while debug:
        pdb.set_trace()
        debug = False
    if debug is not None and debug:
        pdb.set_trace()
    return model(batch)


def behind_what_fails(path):
    # UniHCP 37b93cd core/data/test_datasets/images/reid_dataset.py:67: the line above has ended the rank
    dist.barrier()
    lines = open(path).readlines()
    if not lines:
        print("nothing in", list_of_files)  # noqa: F821
        pdb.set_trace()
        raise OSError(path)
    return lines


def behind_what_is_said(path):
    dist.barrier()
    lines = open(path).readlines()
    if not lines:
        print("nothing in", path)
        pdb.set_trace()  # expect: DL701
        raise OSError(path)
    return lines


def pairs_of_this_batch(found, wanted):
    # hotr d3cb632 hotr/models/hotr_matcher.py:122: each rank finds as many as its batch has.
    dist.barrier()
    first = torch.nonzero(found == 0)
    second = torch.nonzero(wanted == 0)
    if len(first) != len(second):
        pdb.set_trace()  # expect: DL701
    dist.all_reduce(found)
    return list(zip(first, second))


def pairs_that_are_asked_for(found, wanted, args):
    dist.barrier()
    first = torch.nonzero(found == 0)
    second = torch.nonzero(wanted == 0)
    if args.debug and len(first) != len(second):
        pdb.set_trace()
    dist.all_reduce(found)
    return list(zip(first, second))


class StopsToDebug:
    # Superpoints_Registration 1713a3c src/cvhelpers/torch_helpers.py:407: entered for debugging alone
    def __enter__(self):
        dist.barrier()

    def __exit__(self, kind, failure, trace):
        dist.barrier()
        breakpoint()


class StopsEachTime:
    def __enter__(self):
        dist.barrier()

    def __exit__(self, kind, failure, trace):
        dist.barrier()
        breakpoint()  # expect: DL701


def steps_with_a_look(options, loss):
    if options.debug:
        with StopsToDebug():
            loss.backward()
    else:
        with StopsEachTime():
            loss.backward()
