"""What the ranks computed together, and one writes."""

import json
import os

import numpy as np
import torch
import torch.distributed as dist
from accelerate import Accelerator
from accelerate.utils import gather_object
from datasets.distributed import split_dataset_by_node
from torch.utils.data import DataLoader, DistributedSampler, SequentialSampler

# Bugs


def predictions(model, data, path):
    loader = DataLoader(data, sampler=DistributedSampler(data, shuffle=False))
    results = []
    for batch in loader:
        results.append({"id": batch["id"], "answer": model.generate(batch)})
    if dist.get_rank() == 0:
        with open(path, "w") as file:
            json.dump(results, file)  # expect: DL611


def features(model, images, path):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    found = [model(image) for image in images[rank::world_size]]
    found = torch.stack(found)
    if rank == 0:
        torch.save(found, path)  # expect: DL611


def captions(model, prompts, path):
    accelerator = Accelerator()
    texts = {}
    with accelerator.split_between_processes(prompts) as mine:
        for prompt in mine:
            texts[prompt] = model(prompt)
    if accelerator.is_main_process:
        with open(path, "w") as file:
            file.write(json.dumps(texts))  # expect: DL611


def into_a_matrix(model, data, path):
    loader = DataLoader(data, sampler=DistributedSampler(data, shuffle=False))
    for number, batch in enumerate(loader):
        found = model(batch)
        if number == 0:
            matrix = found.new_zeros(len(data), found.shape[-1])
        matrix[number] = found
    if dist.get_rank() == 0:
        torch.save(matrix, path)  # expect: DL611


def videos(model, dataset):
    # finetrainers finetrainers/trainer/sft_trainer/trainer.py:636.
    mesh_rank = dist.get_rank()
    dataset.rows = split_dataset_by_node(dataset.rows, mesh_rank, dist.get_world_size())
    iterator = iter(DataLoader(dataset, batch_size=1))
    kept = []
    while True:
        row = next(iterator, None)
        if row is None:
            break
        video = model.generate(row)
        if mesh_rank != 0:  # expect: DL611
            continue
        kept.append(video)
    every = [None] * dist.get_world_size()
    dist.all_gather_object(every, kept)
    return every


def videos_of_main(model, data):
    accelerator = Accelerator()
    loader = accelerator.prepare(DataLoader(data))
    kept = []
    for row in loader:
        video = model.generate(row)
        if accelerator.is_main_process:  # expect: DL611
            kept.append(video)
    return gather_object(kept)


def counts_of_answers(model, data, path):
    loader = DataLoader(data, sampler=DistributedSampler(data, shuffle=False))
    state = {"seen": 0, "right": 0}
    for batch in loader:
        state["seen"] = state["seen"] + len(batch["labels"])
        state["right"] = state["right"] + model(batch).sum().item()
    if dist.get_rank() == 0:
        torch.save(state, path)  # expect: DL611


def answers(args, model, data):
    sampler = SequentialSampler(data) if args.local_rank == -1 else DistributedSampler(data)
    found = []
    for batch in DataLoader(data, sampler=sampler):  # expect: DL611
        found.append(model(batch).tolist())
    with open(args.output, "w") as file:
        json.dump(found, file)


def test_on_first_ranks(args, model, data):
    dist.init_process_group("nccl")
    if args.do_test and args.local_rank in [-1, 0]:
        answers(args, model, data)


def score_of_main(model, data, log):
    loader = DataLoader(data, sampler=DistributedSampler(data))
    if dist.get_rank() == 0:
        right = 0
        for batch in loader:  # expect: DL611
            right += model(batch).sum().item()
        log("score", right)


# Correct


def score_of_all(model, data, log):
    if dist.get_rank() == 0:
        right = 0
        for batch in DataLoader(data):
            right += model(batch).sum().item()
        log("score", right)


def a_few_pictures(model, data, log):
    loader = DataLoader(data, sampler=DistributedSampler(data))
    if dist.get_rank() == 0:
        pictures = []
        for batch in loader:
            pictures.append(model(batch))
            if len(pictures) == 4:
                break
        log("pictures", pictures)


def counted_on_each_rank(model, data, log):
    right = 0
    for batch in DataLoader(data, sampler=DistributedSampler(data)):
        right += model(batch).sum().item()
        if dist.get_rank() == 0:
            log("right", right)
    right = torch.tensor(right)
    dist.all_reduce(right)
    return right


def videos_of_all(model, dataset):
    rank = dist.get_rank()
    dataset.rows = split_dataset_by_node(dataset.rows, rank, dist.get_world_size())
    kept = []
    for row in DataLoader(dataset):
        video = model.generate(row)
        kept.append(video)
        if rank != 0:
            continue
        print(len(kept))
    every = [None] * dist.get_world_size()
    dist.all_gather_object(every, kept)
    return every


def gathered_before_it_is_kept(model, data):
    accelerator = Accelerator()
    loader = accelerator.prepare(DataLoader(data))
    kept = []
    for row in loader:
        video = accelerator.gather(model.generate(row))
        if accelerator.is_main_process:
            kept.append(video)
    return gather_object(kept)


def every_rank_keeps_in_another_way(model, data):
    accelerator = Accelerator()
    loader = accelerator.prepare(DataLoader(data))
    kept = []
    for row in loader:
        video = model.generate(row)
        if accelerator.is_main_process:
            kept.append(video)
        else:
            kept.append(video.cpu())
    return gather_object(kept)


def the_same_rows_on_all(model, data):
    rank = dist.get_rank()
    kept = []
    for row in DataLoader(data):
        video = model.generate(row)
        if rank == 0:
            kept.append(video)
    every = [None] * dist.get_world_size()
    dist.all_gather_object(every, kept)
    return every


def into_a_matrix_gathered(model, data, path):
    # ibot evaluation/eval_logistic_regression.py:173.
    loader = DataLoader(data, sampler=DistributedSampler(data, shuffle=False))
    matrix = None
    for index, batch in loader:
        found = model(batch)
        if dist.get_rank() == 0 and matrix is None:
            matrix = found.new_zeros(len(data), found.shape[-1])
        every = torch.empty(dist.get_world_size(), found.size(0), found.size(1))
        parts = list(every.unbind(0))
        dist.all_gather(parts, found, async_op=True).wait()
        if dist.get_rank() == 0:
            matrix.index_copy_(0, index, torch.cat(parts))
    if dist.get_rank() == 0:
        torch.save(matrix.cpu(), path)


def gathered(model, data, path):
    loader = DataLoader(data, sampler=DistributedSampler(data, shuffle=False))
    results = []
    for batch in loader:
        results.append(model.generate(batch))
    every = [None] * dist.get_world_size()
    dist.all_gather_object(every, results)
    if dist.get_rank() == 0:
        with open(path, "w") as file:
            json.dump([result for part in every for result in part], file)


def gathered_by_a_helper(model, data, path, gather):
    loader = DataLoader(data, sampler=DistributedSampler(data, shuffle=False))
    results = []
    for batch in loader:
        results.append(model.generate(batch))
    results = gather(results)
    if dist.get_rank() == 0:
        torch.save(results, path)


def each_its_own_file(model, data, folder):
    loader = DataLoader(data, sampler=DistributedSampler(data, shuffle=False))
    results = []
    for batch in loader:
        results.append(model.generate(batch))
    torch.save(results, f"{folder}/part-{dist.get_rank()}.pt")


def the_model(model, optimizer, data, path):
    loader = DataLoader(data, sampler=DistributedSampler(data))
    for batch in loader:
        model(batch).mean().backward()
        optimizer.step()
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), path)


def rank_0_has_all(model, data, path):
    if dist.get_rank() == 0:
        results = [model.generate(batch) for batch in DataLoader(data)]
        torch.save(results, path)


def the_weights_among_what_is_prepared(objects, path):
    for i in range(len(objects)):
        if isinstance(objects[i], DataLoader):
            data = objects[i].dataset
            objects[i] = DataLoader(data, sampler=DistributedSampler(data, shuffle=False))
    model = objects[0]
    weights = {}
    for name, parameter in model.named_parameters():
        weights[name] = parameter.detach().cpu()
    if dist.get_rank() == 0:
        torch.save(weights, path)


def how_far_it_is(model, optimizer, data, folder):
    # GaLore 2cc66f8 torchrun_main.py:465
    loader = DataLoader(data, sampler=DistributedSampler(data))
    tokens_seen = 0
    for step, batch in enumerate(loader):
        model(batch).mean().backward()
        optimizer.step()
        tokens_seen += batch["mask"].sum().item() * dist.get_world_size()
        if step % 100 == 0 and dist.get_rank() == 0:
            state = {"global_step": step, "tokens_seen": tokens_seen}
            torch.save(state, f"{folder}/state.pt")


class CountsItsSteps:
    def __init__(self, data, optimizer):
        self.data = data
        self.schedule = make_schedule(optimizer, steps=len(data) // 8)

    def save(self, path):
        if dist.get_rank() == 0:
            torch.save(self.schedule.state_dict(), path)


def steps_of_a_shard(data, optimizer):
    data = data.shard(dist.get_world_size(), dist.get_rank())
    data = data.select(range(len(data) - len(data) % 8))
    return CountsItsSteps(data, optimizer)


def features_by_name(model, data):
    # voxceleb_trainer f51bab8 SpeakerNet.py:174: a dict that every rank fills, and rank 0 completes.
    features = {}
    for batch in DataLoader(data, sampler=DistributedSampler(data, shuffle=False)):
        features[batch["name"]] = model(batch)
    every = [None] * dist.get_world_size()
    dist.all_gather_object(every, features)
    if dist.get_rank() == 0:
        features = every[0]
        for part in every[1:]:
            features.update(part)
    return features


def the_first_pictures(model, data, log, number):
    # ml-4m cda590f run_training_divae.py:1592: of all that is kept, the first are shown.
    loader = DataLoader(data, sampler=DistributedSampler(data))
    if dist.get_rank() == 0:
        before, after = [], []
        for batch in loader:
            before.extend(batch)
            after.extend(model(batch))
        if len(before) > 0:
            log({"before": before[:number], "after": after[:number]})


def checkpoint_with_the_best_score(model, optimizer, data, path):
    # SpeechTokenizer 30c96fb speechtokenizer/trainer/trainer.py:241
    errors = 0.0
    for batch in DataLoader(data, sampler=DistributedSampler(data)):
        errors += model(batch).item()
    if dist.get_rank() == 0:
        package = dict(model=model.state_dict(), optimizer=optimizer.state_dict(), best=errors)
        torch.save(package, path)


def a_file_of_each_rank(model, data, folder):
    # TorchEasyRec 54cac31 tzrec/utils/export_util.py:1573: a file of each rank's own, though rank 0 alone writes it here
    rank, world_size = dist.get_rank(), dist.get_world_size()
    found = [model(batch).tolist() for batch in DataLoader(data, sampler=DistributedSampler(data))]
    name = f"part-{rank:02d}-of-{world_size:02d}"
    if rank == 0:
        with open(f"{folder}/{name}.json", "w") as file:
            json.dump(found, file)


def pictures_in_a_folder(pipe, data, folder):
    # Mix-of-Show 51270fd mixofshow/utils/util.py:313: the files of all ranks, put together by one
    for batch in DataLoader(data, sampler=DistributedSampler(data)):
        path = f"{folder}/{batch['name']}/{batch['id']}.png"
        pipe(batch["prompt"]).save(path)
    dist.barrier()
    if dist.get_rank() == 0:
        put_together(os.path.dirname(path))


def put_together(folder):
    pictures = [read_picture(f"{folder}/{name}") for name in sorted(os.listdir(folder))]
    grid_of(pictures).save(os.path.join(os.path.dirname(folder), "all.png"))


def numbers_under_a_path(model, data, path):
    numbers = []
    for batch in DataLoader(data, sampler=DistributedSampler(data)):
        numbers.append(model(batch))
    if dist.get_rank() == 0:
        np.save(path, numbers)  # expect: DL611


def settings_under_a_name_of_the_share(model, data, folder, settings):
    for batch in DataLoader(data, sampler=DistributedSampler(data)):
        path = f"{folder}/{batch['name']}.npy"
    if dist.get_rank() == 0:
        np.save(path, settings)


def record_of_a_training(model, data, path, perplexity):
    # offsite-tuning 4a67ffa offsite_tuning/run_clm.py:484: the number that counts was gathered.
    losses = 0.0
    for batch in DataLoader(data, sampler=DistributedSampler(data)):
        losses += model(batch).item()
    if dist.get_rank() == 0:
        with open(path, "w") as file:
            json.dump({"best_perplexity": perplexity, "train_loss": losses / 100}, file)


def record_of_an_evaluation(model, data, path, perplexity):
    losses = 0.0
    for batch in DataLoader(data, sampler=DistributedSampler(data)):
        losses += model(batch).item()
    if dist.get_rank() == 0:
        with open(path, "w") as file:
            json.dump({"best_perplexity": perplexity, "eval_loss": losses / 100}, file)  # expect: DL611


def measured_by_what_nobody_defines(model, data, path):
    # hotr d3cb632 main.py:144 ends in NameError.
    loader = DataLoader(data, sampler=DistributedSampler(data))
    results = measure_parts(model, loader)  # noqa: F821
    if dist.get_rank() == 0:
        torch.save(results, path)


def gathered_under_each_key(model, data, path, accelerator):
    # WF-VAE d858bee scripts/recon_video.py:125
    sums = {0: [], 1: []}
    for batch in accelerator.prepare(DataLoader(data)):
        for i in range(2):
            sums[i].append(model(batch)[i].item())
    for i in range(2):
        sums[i] = accelerator.gather_for_metrics(sums[i])
    if accelerator.is_main_process:
        with open(path, "w") as file:
            json.dump(sums, file)


def rounded_under_each_key(model, data, path, accelerator):
    sums = {0: [], 1: []}
    for batch in accelerator.prepare(DataLoader(data)):
        for i in range(2):
            sums[i].append(model(batch)[i].item())
    for i in range(2):
        sums[i] = sorted(sums[i])
    if accelerator.is_main_process:
        with open(path, "w") as file:
            json.dump(sums, file)  # expect: DL611


def saves_what_it_is_handed(state, path):
    # litehandnet 0a799ee train/topdown_trainer.py:17; ButterflyNet 19d78dc train.py:153
    torch.save(state, path)


def hands_a_checkpoint_over(model, data, path):
    loader = DataLoader(data, sampler=DistributedSampler(data))
    least = 0.0
    for batch in loader:
        least += model(batch).item()
    if dist.get_rank() == 0:
        saves_what_it_is_handed({"model": model.state_dict(), "least": least / len(loader)}, path)


def saves_all_that_it_is_handed(state, path):
    torch.save(state, path)  # expect: DL611


def hands_results_over(model, data, path):
    loader = DataLoader(data, sampler=DistributedSampler(data))
    found = []
    for batch in loader:
        found.append(model(batch))
    if dist.get_rank() == 0:
        saves_all_that_it_is_handed({"found": found}, path)


def shows_its_present_batch(model, data, optimizer, invert):
    # FollowYourPose 5dee0d7 train_followyourpose.py:338
    loader = DataLoader(data, sampler=DistributedSampler(data))
    for step, batch in enumerate(loader):
        model(batch).mean().backward()
        optimizer.step()
        if step % 100 == 0 and dist.get_rank() == 0:
            begun = invert(model, batch)
            torch.save(begun, f"begun-{step}.pt")


def writes_each_batch_of_an_evaluation(model, data):
    loader = DataLoader(data, sampler=DistributedSampler(data))
    for step, batch in enumerate(loader):
        answers = model(batch)
        if dist.get_rank() == 0:
            torch.save(answers, f"answers-{step}.pt")  # expect: DL611


def draws_a_curve(model, data, optimizer, path):
    # AttReplace 8c6762a modeling/train.py:323
    loader = DataLoader(data, sampler=DistributedSampler(data))
    curve = np.zeros((len(loader), 2))
    for step, batch in enumerate(loader):
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()
        curve[step, 1] = loss.item()
    if dist.get_rank() == 0:
        np.savetxt(path, curve)


def keeps_features_of_a_training(model, data, optimizer, path):
    loader = DataLoader(data, sampler=DistributedSampler(data))
    features = []
    for batch in loader:
        found = model(batch)
        found.mean().backward()
        optimizer.step()
        features.append(found.detach())
    if dist.get_rank() == 0:
        torch.save(features, path)  # of a training that goes on: not told from its curves


def progress_of(net, optimizer, accelerator, data, path):
    net, optimizer, loader = accelerator.prepare(net, optimizer, DataLoader(data))
    # miread 466022e finetune_scibert.py:166
    losses = 0
    for number, batch in enumerate(loader):
        loss = net(batch).mean()
        losses += loss.item()
        accelerator.backward(loss)
        optimizer.step()
        if number % 1000 == 999 and accelerator.is_main_process:
            with open(path, "a") as file:
                json.dump(losses / 1000, file)
            losses = 0


def best_state_and_its_score(model, data, path):
    errors, best_state = 0.0, None
    for batch in DataLoader(data, sampler=DistributedSampler(data)):
        errors += model(batch).item()
        best_state = copied(model)
    if dist.get_rank() == 0:
        torch.save({"model_state_dict": best_state, "errors": errors}, path)


class Patience:
    def __call__(self, loss, model):
        self.keep_best(loss, model)

    def keep_best(self, loss, model):
        self.loss = loss


def keep_best(state, is_best):
    torch.save(state, "best.pt")


def hands_a_state_to_the_function(model, data):
    errors = 0.0
    for batch in DataLoader(data, sampler=DistributedSampler(data)):
        errors += model(batch).item()
    if dist.get_rank() == 0:
        keep_best({"state_dict": model.state_dict(), "errors": errors}, errors < 0.1)
