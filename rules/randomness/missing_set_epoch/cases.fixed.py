"""Samplers over epochs, for training and otherwise."""

import monai
import torch
from torch.utils.data import BatchSampler, DataLoader, DistributedSampler, RandomSampler
from torch.utils.data.distributed import DistributedSampler as Sharded

# Bugs


def train(model, data, epochs):
    sampler = DistributedSampler(data)  # expect: DL403
    loader = DataLoader(data, batch_size=8, sampler=sampler)
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        # one pass
        for batch in loader:
            model(batch).sum().backward()


def chosen_class(model, data, epochs, local_rank):
    kind = RandomSampler if local_rank == -1 else DistributedSampler
    loader = DataLoader(data, batch_size=8, sampler=kind(data))  # expect: DL403
    for _ in range(epochs):
        for batch in loader:
            model(batch).sum().backward()



def counted_by_a_bar(model, data, args):
    loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data))  # expect: DL403
    for _ in trange(int(args.num_train_epochs), desc="Epoch"):
        for batch in loader:
            model(batch).sum().backward()


def one_name_for_two(model, data, held_out, epochs):
    # Qwen2-Audio-finetune 701d676 src/train_ddp.py:71: by the time of the loop the name is the other sampler's
    sampler = DistributedSampler(data)  # expect: DL403
    loader = DataLoader(data, batch_size=8, sampler=sampler)
    sampler = DistributedSampler(held_out, shuffle=False)
    others = DataLoader(held_out, batch_size=8, sampler=sampler)
    for epoch in range(epochs):
        if hasattr(loader.sampler, "set_epoch"):
            loader.sampler.set_epoch(epoch)
        for batch in loader:
            model(batch).sum().backward()
        with torch.no_grad():
            print(epoch, sum(model(batch).sum() for batch in others))


def inline(model, data, epochs):
    loader = DataLoader(
        data,
        batch_size=8,
        sampler=Sharded(data, shuffle=True),  # expect: DL403
    )
    for epoch in range(epochs):
        loader.sampler.set_epoch(epoch)
        for batch in loader:
            model(batch).sum().backward()


def perhaps(model, data, args):
    if args.distributed:
        sampler = torch.utils.data.distributed.DistributedSampler(data)  # expect: DL403
    else:
        sampler = torch.utils.data.RandomSampler(data)
    loader = DataLoader(data, sampler=sampler)
    for epoch in range(args.epochs):
        if args.distributed:
            sampler.set_epoch(epoch)
        train_one_epoch(model, loader)


def epochs_of_a_function_inside(model, data, epochs):
    # ResNeSt 1dfb3e8 scripts/torch/train.py:196, without the call
    loader = DataLoader(data, sampler=DistributedSampler(data))  # expect: DL403

    def train_once(epoch):
        for batch in loader:
            model(batch, epoch).sum().backward()

    for epoch in range(epochs):
        loader.sampler.set_epoch(epoch)
        train_once(epoch)


def settings_of_a_loader(model, data, epochs, split):
    # TAP 352891f pythia/datasets/multi_dataset.py:286, without the call
    settings = {"shuffle": False}
    if split != "test":
        settings["shuffle"] = True
    loader = DataLoader(data, sampler=DistributedSampler(data, shuffle=settings["shuffle"]))  # expect: DL403
    for epoch in range(epochs):
        loader.sampler.set_epoch(epoch)
        for batch in loader:
            model(batch).sum().backward()


def told_before_the_change(model, data, epochs):
    # MeMOTR 7de13f4 train_engine.py:97
    sampler = DistributedSampler(data)
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        sampler = DistributedSampler(data)  # expect: DL403
        for batch in DataLoader(data, sampler=sampler):
            model(batch).sum().backward()


def criterion_that_is_told(model, data, epochs, criterion):
    # AVID-CMA 4538e40 main-avid.py:131, where the sampler is told as well
    loader = DataLoader(data, sampler=DistributedSampler(data))  # expect: DL403
    for epoch in range(epochs):
        loader.sampler.set_epoch(epoch)
        criterion.set_epoch(epoch)
        for batch in loader:
            criterion(model(batch)).backward()


def sampler_of_several_ranks(model, data, args):
    sampler = None
    if args.number_of_ranks > 1 and args.shuffles:
        sampler = DistributedSampler(data)  # expect: DL403
    loader = DataLoader(data, sampler=sampler)
    for epoch in range(args.epochs):
        if args.number_of_ranks > 1 and args.shuffles:
            sampler.set_epoch(epoch)
        train_one_epoch(model, loader)


def build(data):
    sampler = DistributedSampler(data)  # expect: DL403
    return DataLoader(data, sampler=sampler)


def train_one_epoch(model, loader):
    for batch in loader:
        model(batch).sum().backward()


def resume(sampler, start):
    sampler.set_epoch(start)


def told_once(model, data, epochs, start):
    sampler = DistributedSampler(data)  # expect: DL403
    resume(sampler, start)
    loader = DataLoader(data, sampler=sampler)
    for epoch in range(start, epochs):
        sampler.set_epoch(epoch)
        train_one_epoch(model, loader)


def until_enough_steps(model, data, steps):
    sampler = DistributedSampler(data)  # expect: DL403
    loader = DataLoader(data, sampler=sampler)
    step = 0
    while step < steps:
        for batch in loader:
            model(batch).sum().backward()
            step += 1


def counted_beside_steps(model, data, steps):
    sampler = DistributedSampler(data)  # expect: DL403
    train_data = DataLoader(data, sampler=sampler)
    step = epoch = 0
    while step < steps:
        sampler.set_epoch(epoch)
        for batch in train_data:
            model(batch).sum().backward()
            step += 1
        epoch += 1


def all_under_one_option(model, data, args):
    # ERNIE 514cbe4 code/run_typing.py:523: the outer branch holds the loop as well, and chooses nothing for it
    if args.do_train:
        if args.local_rank == -1:
            sampler = RandomSampler(data)
        else:
            sampler = DistributedSampler(data)  # expect: DL403
        loader = DataLoader(data, sampler=sampler)
        for _epoch in range(args.epochs):
            if args.local_rank != -1:
                sampler.set_epoch(_epoch)
            for batch in loader:
                model(batch).sum().backward()


def by_a_helper(data, shuffle, distributed):
    if distributed:
        return DistributedSampler(data, shuffle=shuffle)  # expect: DL403
    return RandomSampler(data)


def train_pass(number, loader, model):
    for batch in loader:
        model(batch).sum().backward()


def counted_by_range(model, data, args):
    # vq-vae-2-pytorch ef5f67c train_vqvae.py:124
    sampler = by_a_helper(data, shuffle=True, distributed=args.distributed)
    loader = DataLoader(data, sampler=sampler)
    for i in range(args.epoch):
        if hasattr(loader.sampler, "set_epoch"):
            loader.sampler.set_epoch(i)
        train_pass(i, loader, model)


def prepared(data, valset, distributed):
    # tacotron2 185cd24 train.py:49
    if distributed:
        sampler, shuffle = DistributedSampler(data), False  # expect: DL403
    else:
        sampler, shuffle = None, True
    loader = DataLoader(data, sampler=sampler, shuffle=shuffle)
    return loader, valset


def with_prepared(model, data, valset, args):
    train_loader, _ = prepared(data, valset, args.distributed)
    for epoch in range(args.epochs):
        if hasattr(train_loader.sampler, "set_epoch"):
            train_loader.sampler.set_epoch(epoch)
        for i, batch in enumerate(train_loader):
            model(batch).sum().backward()


def run_phase(phase, loader, model):
    for batch in loader:
        loss = model(batch).sum()
        if phase == "train":
            loss.backward()


def by_phases(model, data, start, stop, scheduler):
    # AVID-CMA 4538e40 main-avid.py:136
    sampler = DistributedSampler(data)  # expect: DL403
    train_loader = DataLoader(data, sampler=sampler)
    for epoch in range(start, stop):
        sampler.set_epoch(epoch)
        scheduler.step(epoch)
        run_phase("train", train_loader, model)


def always_batched(data):
    sampler = DistributedSampler(data)  # expect: DL403
    return DataLoader(data, batch_sampler=BatchSampler(sampler, 8, drop_last=True))


def through_parameters(model, loader, epochs):
    for epoch in range(epochs):
        loader.batch_sampler.sampler.set_epoch(epoch)
        train_pass(epoch, loader, model)


def with_batches(model, data, epochs):
    batches = always_batched(data)
    through_parameters(model, batches, epochs)


class Keeps:
    def __init__(self, model, data):
        self.model = model
        self.loader = DataLoader(data, sampler=DistributedSampler(data))  # expect: DL403

    def fit(self, epochs):
        for epoch in range(epochs):
            self.loader.sampler.set_epoch(epoch)
            for batch in self.loader:
                self.model(batch).sum().backward()


def kept(model, data):
    keeps = Keeps(model, data)
    keeps.fit(3)


class OwnLoader:
    def __init__(self, data, sampler):
        self.data, self.order = data, sampler

    def __iter__(self):
        return (self.data[i] for i in self.order)


def own_loader(data):
    return OwnLoader(data, DistributedSampler(data))  # expect: DL403


def through_an_own_loader(model, data, epochs):
    loader = own_loader(data)
    for epoch in range(epochs):
        for batch in loader:
            model(batch).sum().backward()


def one_of_two(data, wide):
    sampler = DistributedSampler(data)  # expect: DL403
    loader = DataLoader(data, sampler=sampler)
    return data.batches() if wide else loader


def through_one_of_two(model, data, epochs, wide):
    loader = one_of_two(data, wide)
    for epoch in range(epochs):
        for batch in loader:
            model(batch).sum().backward()


def counted_with_a_bar(model, data, cfg):
    sampler = DistributedSampler(data)  # expect: DL403
    loader = DataLoader(data, sampler=sampler)
    for turn in tqdm(range(cfg["start"], cfg["num_epochs"]), desc="all"):
        sampler.set_epoch(turn)
        for batch in loader:
            model(batch).sum().backward()


def counted_by_nobody(model, data, max_epoch):
    sampler = DistributedSampler(data)  # expect: DL403
    loader = DataLoader(data, sampler=sampler)
    for _ in range(max_epoch):
        for batch in loader:
            model(batch).sum().backward()


def until_told_to_stop(model, data, steps):
    sampler = DistributedSampler(data)  # expect: DL403
    loader = DataLoader(data, sampler=sampler)
    step = 0
    while True:
        for batch in loader:
            model(batch).sum().backward()
            step += 1
            if step == steps:
                return


def until_a_flag_falls(model, data, steps):
    # DROID-SLAM 2dfd39f train.py:78
    sampler = DistributedSampler(data)  # expect: DL403
    loader = DataLoader(data, sampler=sampler)
    keeps_on, step = True, 0
    while keeps_on:
        for number, batch in enumerate(loader):
            model(batch).sum().backward()
            step += 1
            if step >= steps:
                keeps_on = False
                break


def until_steps_or_a_flag(model, data, trainer):
    sampler = DistributedSampler(data)  # expect: DL403
    loader = DataLoader(data, sampler=sampler)
    while trainer.step < trainer.steps and not trainer.ended:
        for batch in loader:
            model(batch).sum().backward()


def settings_of_a_dict(model, data, epochs):
    settings = {"drop_last": True, "shuffle": True}
    loader = DataLoader(data, sampler=DistributedSampler(data, **settings))  # expect: DL403
    for epoch in range(epochs):
        loader.sampler.set_epoch(epoch)
        for batch in loader:
            model(batch).sum().backward()


def settings_without_a_say(model, data, epochs, seed):
    settings = dict(drop_last=True)
    settings["seed"] = seed
    sampler = DistributedSampler(data, **settings)  # expect: DL403
    loader = DataLoader(data, sampler=sampler)
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        for batch in loader:
            model(batch).sum().backward()


def shown_and_trained_on(model, data, epochs):
    sampler = DistributedSampler(data)  # expect: DL403
    loader = DataLoader(data, sampler=sampler)
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        for step, batch in enumerate(loader):
            if step % 50 == 0:
                print(f"{step} steps")
            model(batch).mean().backward()


def until_enough_steps_behind_a_bar(model, data, kind, steps):
    # ProphetNet 5cf70eb GENIE/train_util/train_util.py:172
    if kind == "pairs":
        sampler = DistributedSampler(data)  # expect: DL403
        loader = DataLoader(data, sampler=sampler)
    else:
        raise NotImplementedError
    step = 0
    while step < steps:
        passing = tqdm(loader, desc="Iteration")
        for batch in passing:
            model(batch).sum().backward()
            step += 1


def chosen_by_a_flag(model, data, epochs, env):
    # modulus 878fd04 examples/molecular_dynamics/lennard_jones/lennard_jones_system.py:103
    if env.distributed:
        sampler = DistributedSampler(data)  # expect: DL403
        loader = DataLoader(data, sampler=sampler)
    else:
        loader = DataLoader(data, shuffle=True)
    for epoch in range(epochs):
        if env.distributed:
            sampler.set_epoch(epoch)
        for batch in loader:
            model(batch)


class KeepsByAnyName:
    # ProphetNet 5cf70eb AR-diffusion/train_utils/trainer.py:146
    def __init__(self, model, data):
        self.model, self.step = model, 0
        self.data = data

    def run(self, steps):
        while self.step < steps:
            passing = tqdm(self.data, desc="Iteration")
            for number, batch in enumerate(passing):
                self.model(batch).sum().backward()
                self.step += 1


def loaders_of(data, held_out):
    sampler = DistributedSampler(data)  # expect: DL403
    return DataLoader(data, sampler=sampler), DataLoader(held_out)


def kept_by_any_name(model, data, held_out):
    train_loader, dev_loader = loaders_of(data, held_out)
    KeepsByAnyName(model=model, data=train_loader).run(1000)


def counted_by_a_kept_bar(model, data, args):
    # EasyNLP a4ee956 examples/X-STA/run_xqa.py:289
    sampler = RandomSampler(data) if args.local_rank == -1 else DistributedSampler(data)  # expect: DL403
    loader = DataLoader(data, sampler=sampler)
    turns = trange(0, int(args.num_train_epochs), desc="Epoch")
    for turn in turns:
        if args.local_rank != -1:
            sampler.set_epoch(turn)
        passing = tqdm(loader, desc="Iteration")
        for number, batch in enumerate(passing):
            model(batch).sum().backward()


def numbered_turns_of_a_kept_bar(model, data, args):
    # CodeBERT c0de43d CodeBERT/codesearch/run_classifier.py:94
    sampler = RandomSampler(data) if args.local_rank == -1 else DistributedSampler(data)  # expect: DL403
    loader = DataLoader(data, sampler=sampler)
    shown = trange(args.first, int(args.num_train_epochs), desc="Epoch")
    for number, _ in enumerate(shown):
        if args.local_rank != -1:
            sampler.set_epoch(number)
        for batch in loader:
            model(batch, number).sum().backward()


# Correct


def collected_once(model, data, epochs):
    # modulus 878fd04 examples/cfd/external_aerodynamics/xaeronet/volume/train.py:122: nobody draws from the sampler again
    loader = DataLoader(data, sampler=DistributedSampler(data))
    batches = collected(loader)
    for epoch in range(epochs):
        for batch in batches:
            model(batch)


def collected(loader):
    found = []
    for batch in loader:
        found.append(batch.cpu())
    return found


def collected_elsewhere(model, data, epochs, partition):
    loader = DataLoader(data, sampler=DistributedSampler(data))
    batches, sizes = partition(loader)
    for epoch in range(epochs):
        for i in range(len(batches)):
            model(batches[i], sizes[i])


def only_counted(data, epochs):
    # EasyNLP a4ee956 examples/test_odps_reader/main.py:146: a test of the reader, in which the order is nobody's matter
    sampler = DistributedSampler(data)
    loader = DataLoader(data, sampler=sampler)
    for epoch in range(epochs):
        for step, batch in enumerate(loader):
            if step % 50 == 0:
                print(f"{step} steps")
        print(f"{epoch} is over")


def told_behind_a_bar(model, data, steps):
    sampler = DistributedSampler(data)
    loader = DataLoader(data, sampler=sampler)
    step = turn = 0
    while step < steps:
        sampler.set_epoch(turn)
        turn += 1
        passing = tqdm(loader, desc="Iteration")
        for batch in passing:
            model(batch).sum().backward()
            step += 1


IN_ORDER = {"shuffle": False}


def in_order_by_a_dict(model, data, epochs):
    # groundingLMM e74865f train.py:338
    settings = {"shuffle": False, "drop_last": False}
    loader = DataLoader(data, sampler=DistributedSampler(data, **settings))
    for epoch in range(epochs):
        for batch in loader:
            model(batch).sum().backward()


def in_order_by_a_dict_of_the_file(model, data, epochs):
    loader = DataLoader(data, sampler=DistributedSampler(data, **IN_ORDER))
    for epoch in range(epochs):
        for batch in loader:
            model(batch).sum().backward()


def in_order_by_an_entry(model, data, epochs, rank):
    settings = dict(rank=rank)
    settings["shuffle"] = False
    loader = DataLoader(data, sampler=DistributedSampler(data, **settings))
    for epoch in range(epochs):
        for batch in loader:
            model(batch).sum().backward()


def in_order_by_an_update(model, data, epochs, rank):
    settings = {"rank": rank, "shuffle": True}
    settings = {**settings, "shuffle": False}
    loader = DataLoader(data, sampler=DistributedSampler(data, **settings))
    for epoch in range(epochs):
        for batch in loader:
            model(batch).sum().backward()


def as_the_caller_says(model, data, epochs, **settings):
    loader = DataLoader(data, sampler=DistributedSampler(data, **settings))
    for epoch in range(epochs):
        for batch in loader:
            model(batch).sum().backward()


def in_order_until_enough_steps(model, data, steps):
    sampler = DistributedSampler(data, shuffle=False)
    loader = DataLoader(data, sampler=sampler)
    step = 0
    while step < steps:
        for batch in loader:
            model(batch).sum().backward()
            step += 1


def in_order(model, data, epochs):
    loader = DataLoader(data, sampler=DistributedSampler(data, shuffle=False))
    for epoch in range(epochs):
        for batch in loader:
            model(batch).sum().backward()


def as_asked(model, data, args):
    sampler = DistributedSampler(data, shuffle=args.shuffle)
    loader = DataLoader(data, sampler=sampler)
    for epoch in range(args.epochs):
        train_one_epoch(model, loader)


def evaluate(model, data):
    val_sampler = DistributedSampler(data)
    return [model(batch) for batch in DataLoader(data, sampler=val_sampler)]


def one_process(model, data, epochs):
    loader = DataLoader(data, shuffle=True)
    for epoch in range(epochs):
        train_one_epoch(model, loader)


def ordered_evaluation(model, test_data):
    sampler = Sharded(test_data)
    return [model(batch) for batch in DataLoader(test_data, sampler=sampler)]


def kept_by_another_library(model, data, epochs):
    from torchdata.nodes import Loader, SamplerWrapper

    sampler = DistributedSampler(data)
    loader = Loader(SamplerWrapper(sampler))
    for epoch in range(epochs):
        for index in loader:
            model(data[index]).sum().backward()


def forever(loader, sampler=None):
    epoch = 0
    while loader:
        if sampler is not None:
            sampler.set_epoch(epoch)
        epoch += 1
        yield from loader


def told_by_a_generator(model, data, epochs):
    # trlx 3340c2f trlx/trainer/nemo_ppo_trainer.py:354
    sampler = DistributedSampler(data, shuffle=True)
    batches = iter(forever(DataLoader(data, sampler=sampler), sampler=sampler))
    for epoch in range(epochs):
        train_one_epoch(model, [next(batches) for _ in range(100)])


def told_until_a_flag_falls(model, data, steps):
    sampler = DistributedSampler(data)
    loader = DataLoader(data, sampler=sampler)
    keeps_on, step, passes = True, 0, 0
    while keeps_on:
        sampler.set_epoch(passes)
        passes += 1
        for batch in loader:
            model(batch).sum().backward()
            step += 1
            keeps_on = step < steps


def ordered_until_a_flag_falls(model, data, queue):
    sampler = DistributedSampler(data, shuffle=False)
    loader = DataLoader(data, sampler=sampler)
    while queue.open:
        for batch in loader:
            queue.put(model(batch))


def one_pass_of_features(encoder, data, epochs=1):
    # Siamese-Image-Modeling bbdec30 main_logistic.py:314: no caller asks for a second pass
    loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data))
    found = []
    for _ in range(epochs):
        for batch in loader:
            found.append(encoder(batch))
    return torch.cat(found)


def features(encoder, data):
    return one_pass_of_features(encoder, data)


def started(args):
    if args.quick:
        args.number_of_ranks = 1
    else:
        args.number_of_ranks = torch.cuda.device_count()


def sampler_that_is_never_made(model, data, args):
    # VGen 4014d1f tools/train/train_t2v_instructvideo_entrance.py:162: `quick` runs one process, and the other runs ask
    sampler = None
    if args.number_of_ranks > 1 and args.quick:
        sampler = DistributedSampler(data)
    loader = DataLoader(data, sampler=sampler)
    for epoch in range(args.epochs):
        train_one_epoch(model, loader)


def settings_without_order(model, data, epochs):
    settings = {}
    settings["shuffle"] = False
    loader = DataLoader(data, sampler=DistributedSampler(data, shuffle=settings["shuffle"]))
    for epoch in range(epochs):
        for batch in loader:
            model(batch).sum().backward()


# The data set is made and shuffled anew in each epoch, or is not.


def texts_of(base, length, shuffle=False):
    dataset = base.map(lambda text: text[:length])
    if shuffle:
        dataset = dataset.shuffle()
    return dataset


def texts_by_seed(base, length, shuffle=False):
    dataset = base.map(lambda text: text[:length])
    if shuffle:
        dataset = dataset.shuffle(seed=1)
    return dataset


def shuffled_in_each_epoch(base, model, epochs):
    # coconut 27273cb run.py:259
    for epoch in range(epochs):
        texts = texts_of(base, epoch // 4, shuffle=True)
        loader = DataLoader(texts, sampler=DistributedSampler(texts, shuffle=True))
        for batch in loader:
            model(batch)


def shuffled_by_one_seed(base, model, epochs):
    for epoch in range(epochs):
        texts = texts_by_seed(base, epoch // 4, shuffle=True)
        loader = DataLoader(texts, sampler=DistributedSampler(texts))  # expect: DL403
        loader.sampler.set_epoch(epoch)
        for batch in loader:
            model(batch)


def made_in_each_epoch(base, model, epochs):
    for epoch in range(epochs):
        texts = texts_of(base, epoch // 4)
        sampler = DistributedSampler(texts)  # expect: DL403
        sampler.set_epoch(epoch)
        for batch in DataLoader(texts, sampler=sampler):
            model(batch)


def shuffled_once(base, model, epochs):
    texts = texts_of(base, 4, shuffle=True)
    for epoch in range(epochs):
        loader = DataLoader(texts, sampler=DistributedSampler(texts))  # expect: DL403
        loader.sampler.set_epoch(epoch)
        for batch in loader:
            model(batch)


class ShufflesItself(torch.utils.data.Dataset):
    def __init__(self, texts):
        self.texts = texts

    def shuffle(self):
        self.texts = [self.texts[n] for n in torch.randperm(len(self.texts))]


def shuffled_below_the_sampler(texts, model, epochs):
    # CogDL 281f474 cogdl/trainer/trainer.py:360
    data = ShufflesItself(texts)
    loader = DataLoader(data, sampler=DistributedSampler(data))
    for epoch in range(epochs):
        data.shuffle()
        for batch in loader:
            model(batch)


def shuffled_into_another(texts, model, epochs):
    data = ShufflesItself(texts)
    loader = DataLoader(data, sampler=DistributedSampler(data))  # expect: DL403
    for epoch in range(epochs):
        loader.sampler.set_epoch(epoch)
        shuffled = texts.shuffle()
        for batch in loader:
            model(batch, shuffled)


def shuffled_by_the_same_seed(texts, model, epochs):
    data = ShufflesItself(texts)
    loader = DataLoader(data, sampler=DistributedSampler(data))  # expect: DL403
    for epoch in range(epochs):
        loader.sampler.set_epoch(epoch)
        torch.manual_seed(0)
        data.shuffle()
        for batch in loader:
            model(batch)


@torch.inference_mode()
def measured_once(model, loader):
    for batch in loader:
        model(batch)


def measured_over_epochs(texts, model, epochs):
    # RFdiffusion2 03c4653 rf2aa/SE3Transformer/se3_transformer/runtime/inference.py:135
    loader = DataLoader(texts, sampler=DistributedSampler(texts))
    for epoch in range(epochs):
        measured_once(model, loader)


def gone_through_once(model, loader):
    for batch in loader:
        model(batch).sum().backward()


def trained_and_measured(texts, model, epochs):
    loader = DataLoader(texts, sampler=DistributedSampler(texts))  # expect: DL403
    for epoch in range(epochs):
        loader.sampler.set_epoch(epoch)
        gone_through_once(model, loader)
        measured_once(model, loader)


def of_monai(model, data, steps):
    # MONAI research-contributions 21ed8e5 SwinUNETR/Pretrain/utils/data_utils.py:129
    sampler = monai.data.DistributedSampler(dataset=data, even_divisible=True)  # expect: DL403
    loader = DataLoader(data, sampler=sampler)
    step = 0
    while step < steps:
        for batch in loader:
            model(batch).sum().backward()
            step += 1


def of_monai_in_order(model, data, steps):
    sampler = monai.data.DistributedSampler(data, True, None, None, False)
    loader = DataLoader(data, sampler=sampler)
    step = 0
    while step < steps:
        for batch in loader:
            model(batch).sum().backward()
            step += 1


def ends_above_its_epochs(model, data, optimizer):
    # STR_e2e 03c5fca main.py:86
    sampler = DistributedSampler(data)
    loader = DataLoader(data, sampler=sampler)
    for batch in loader:
        print(batch)
        exit()
    exit()
    for epoch in range(10):
        for batch in loader:
            model(batch).sum().backward()
            optimizer.step()


def fails_above_its_epochs(args, model, data, optimizer):
    # KB-Chat ed39d0c main_train_update.py:49
    args = vars(args)
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=args.batch_size, sampler=sampler)
    for epoch in range(args["epochs"]):
        for batch in loader:
            model(batch).sum().backward()
            optimizer.step()


def asks_its_options_by_name(args, model, data, optimizer):
    size = args.batch_size
    args = vars(args)
    sampler = DistributedSampler(data)  # expect: DL403
    loader = DataLoader(data, batch_size=size, sampler=sampler)
    for epoch in range(args.get("epochs")):
        sampler.set_epoch(epoch)
        for batch in loader:
            model(batch).sum().backward()
            optimizer.step()


def refused_by_its_loader(model, data, epochs):
    # UnitLinearAtt 7b660fb train_attention.py:121: a ValueError on every rank
    refused = DataLoader(data, batch_size=8, shuffle=True, sampler=DistributedSampler(data))
    for epoch in range(epochs):
        for batch in refused:
            model(batch).sum().backward()


def taken_by_its_loader(model, data, epochs):
    taken = DataLoader(
        data,
        batch_size=8,
        shuffle=False,
        sampler=DistributedSampler(data),  # expect: DL403
    )
    for epoch in range(epochs):
        taken.sampler.set_epoch(epoch)
        for batch in taken:
            model(batch).sum().backward()


def left_over_beside_a_loader(dataset, model, optimizer):
    # FDRFNet 93b531d src/train.py:282: the loader gets neither, and shuffles itself
    sampler_left = DistributedSampler(dataset)
    batches_left = BatchSampler(sampler_left, 4, drop_last=True)
    loader = DataLoader(dataset, batch_size=4, shuffle=True)
    for epoch in range(10):
        for batch in loader:
            model(batch).mean().backward()
            optimizer.step()


def in_a_batch_sampler_that_is_used(dataset, model, optimizer):
    sampler_used = DistributedSampler(dataset)  # expect: DL403
    batches_used = BatchSampler(sampler_used, 4, drop_last=True)
    loader = DataLoader(dataset, batch_sampler=batches_used)
    for epoch in range(10):
        sampler_used.set_epoch(epoch)
        for batch in loader:
            model(batch).mean().backward()
            optimizer.step()
