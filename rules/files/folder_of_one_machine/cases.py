"""Folders that rank 0 makes, and what the ranks write into them."""

import json
import os
from pathlib import Path

import torch
import torch.distributed as dist
from accelerate import Accelerator
from torchvision.utils import save_image

# Bugs


def samples(args, model):
    rank = dist.get_rank()
    folder = f"{args.out}/seed-{args.seed}"
    if rank == 0:
        os.makedirs(folder, exist_ok=True)  # expect: DL310
    dist.barrier()
    for number in range(args.count):
        index = number * dist.get_world_size() + rank
        save_image(model(index), f"{folder}/{index:06d}.png")


def write_part(part, folder):
    torch.save(part, os.path.join(folder, f"part-{dist.get_rank()}.pt"))


def parts(args, rows):
    accelerator = Accelerator()
    if accelerator.is_main_process and not os.path.exists(args.folder):
        os.makedirs(args.folder)  # expect: DL310
    accelerator.wait_for_everyone()
    write_part(rows, args.folder)


def trained(args, model):
    if dist.get_rank() == 0:
        os.makedirs(args.out, exist_ok=True)  # expect: DL310
    dist.barrier()

    def save(name):
        torch.save(model, os.path.join(args.out, f"{name}-{dist.get_rank()}.pt"))

    save("last")


def written_before_the_model(args, model):
    if dist.get_rank() == 0:
        os.makedirs(args.out, exist_ok=True)  # expect: DL310
    dist.barrier()
    with open(os.path.join(args.out, f"log-{dist.get_rank()}.json"), "w") as file:
        json.dump({}, file)
    model.save_pretrained(args.out, is_main_process=dist.get_rank() == 0)


def model_saved_where_it_is_wanted(args, model):
    if dist.get_rank() == 0:
        os.makedirs(args.out, exist_ok=True)  # expect: DL310
    dist.barrier()
    if args.keep:
        model.save_pretrained(args.out, is_main_process=dist.get_rank() == 0)
    with open(os.path.join(args.out, f"log-{dist.get_rank()}.json"), "w") as file:
        json.dump({}, file)


def model_saved_by_rank_0(args, model):
    if dist.get_rank() == 0:
        os.makedirs(args.out, exist_ok=True)  # expect: DL310
        model.save_pretrained(args.out)
    dist.barrier()
    with open(os.path.join(args.out, f"log-{dist.get_rank()}.json"), "w") as file:
        json.dump({}, file)


def collected(results, folder, name):
    path = os.path.join(folder, "%s_rank%d.json" % (name, dist.get_rank()))
    with open(path, "w") as file:
        json.dump(results, file)
    dist.barrier()
    found = []
    if dist.get_rank() == 0:
        for rank in range(dist.get_world_size()):
            path = os.path.join(folder, "%s_rank%d.json" % (name, rank))
            found += json.load(open(path))  # expect: DL310
    return found


def collected_from_a_shared_disk(results, folder):
    # Sa2VA 9832e1a projects/sa2va/evaluation/utils/dist.py:244
    path = os.path.join(folder, "share_%d.json" % dist.get_rank())
    with open(path, "w") as file:
        json.dump(results, file)
    dist.barrier()
    found = []
    for rank in range(dist.get_world_size()):
        path = os.path.join(folder, "share_%d.json" % rank)
        if not os.path.exists(path):
            raise FileNotFoundError(f"{folder} is not shared by rank {rank}")
        found += json.load(open(path))
    return found


def gathered_through_files(data, folder, world_size):
    own_rank = dist.get_rank()
    torch.save(data, f"{folder}/part_{own_rank}.pt")
    dist.barrier()
    return [load_all(folder, world_size), *parts_of(folder, world_size, own_rank)]


def parts_of(folder, world_size, own_rank):
    dist.barrier()
    torch.save(own_rank, f"{folder}/number_{own_rank}.pt")
    parts = []
    for other in range(world_size):
        parts.append(torch.load(f"{folder}/number_{other}.pt"))  # expect: DL310
    return parts


class Evaluator:
    def __init__(self, folder):
        if dist.get_rank() == 0:
            if not os.path.exists(folder):
                os.mkdir(folder)  # expect: DL310
        self.folder = folder
        self.rows = []

    def update(self, images):
        for name, image in images:
            with open(os.path.join(self.folder, name), "wb") as file:
                file.write(image)

    def synchronize(self):
        gathered = [None] * dist.get_world_size()
        dist.all_gather_object(gathered, self.rows)
        return gathered


def evaluated(args, model, loader):
    evaluator = Evaluator(args.out)
    for batch in loader:
        evaluator.update(model(batch))
    return evaluator.synchronize()


# Correct


class EvaluatorOfMain:
    """The folder is made by rank 0, which alone writes into it."""

    def __init__(self, folder):
        if dist.get_rank() == 0:
            os.makedirs(folder, exist_ok=True)
        self.folder = folder

    def summarize(self, rows):
        dist.barrier()
        if dist.get_rank() == 0:
            torch.save(rows, os.path.join(self.folder, "summary.pt"))


class EvaluatorWithPlaceOfItsOwn:
    """What is written elsewhere needs no folder of rank 0."""

    def __init__(self, folder, images):
        if dist.get_rank() == 0:
            os.makedirs(folder, exist_ok=True)
        self.folder = folder
        self.images = images

    def write_images(self, rows):
        dist.barrier()
        torch.save(rows, os.path.join(self.images, f"{dist.get_rank()}.pt"))


class EvaluatorThatMakesIt:
    """Each rank makes the folder before it writes."""

    def __init__(self, folder):
        if dist.get_rank() == 0:
            os.makedirs(folder, exist_ok=True)
        self.folder = folder

    def write_rows(self, rows):
        dist.barrier()
        os.makedirs(self.folder, exist_ok=True)
        torch.save(rows, os.path.join(self.folder, f"{dist.get_rank()}.pt"))


class EvaluatorThatAsksItself:
    """Which rank the engine calls main is not seen."""

    def __init__(self, folder, engine):
        if dist.get_rank() == 0:
            os.makedirs(folder, exist_ok=True)
        self.folder = folder
        self.engine = engine

    def is_main_process(self):
        return self.engine.first if self.engine.parallel else dist.get_rank() == 0

    def push(self, rows, wanted):
        dist.barrier()
        if not self.is_main_process() or not wanted:
            return
        torch.save(rows, os.path.join(self.folder, "pushed.pt"))


class EvaluatorThatIsMoved:
    """Another method sets the folder anew."""

    def __init__(self, folder):
        if dist.get_rank() == 0:
            os.makedirs(folder, exist_ok=True)
        self.folder = folder

    def move(self, folder):
        self.folder = folder

    def write_moved(self, rows):
        dist.barrier()
        torch.save(rows, os.path.join(self.folder, f"{dist.get_rank()}.pt"))


def load_all(folder, world_size):
    """Nothing here says who has written them."""
    dist.barrier()
    return [torch.load(f"{folder}/part_{other}.pt") for other in range(world_size)]


def sent(results, folder):
    rank = dist.get_rank()
    torch.save(results, f"{folder}/part_{rank}.pt")
    gathered = [None] * dist.get_world_size()
    dist.all_gather_object(gathered, results)
    return gathered


def shards_of_the_data(folder, world_size):
    """What is read has other names than what is written."""
    rank = dist.get_rank()
    torch.save(rank, f"{folder}/seen_{rank}.pt")
    rows = []
    for number in range(world_size):
        rows += torch.load(f"{folder}/shard_{number}.pt")
    return rows


def own_parts(folder, count):
    rank = dist.get_rank()
    torch.save(rank, f"{folder}/{rank}_0.pt")
    return [torch.load(f"{folder}/{rank}_{number}.pt") for number in range(count)]


def made_by_all(args, model):
    folder = Path(args.out)
    folder.mkdir(parents=True, exist_ok=True)
    torch.save(model(args), folder / f"{dist.get_rank()}.pt")


def made_on_each_machine(args, model):
    accelerator = Accelerator()
    if accelerator.is_local_main_process:
        os.makedirs(args.out, exist_ok=True)
    accelerator.wait_for_everyone()
    torch.save(model(args), os.path.join(args.out, f"{accelerator.process_index}.pt"))


def written_by_rank_0(args, model):
    if dist.get_rank() == 0:
        os.makedirs(args.out, exist_ok=True)
    dist.barrier()
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), os.path.join(args.out, "model.pt"))


def made_by_all_further_down(args, model):
    if dist.get_rank() == 0:
        os.makedirs(args.out, exist_ok=True)
    dist.barrier()
    os.makedirs(args.out, exist_ok=True)
    torch.save(model(args), os.path.join(args.out, f"{dist.get_rank()}.pt"))


def written_elsewhere(args, model):
    if dist.get_rank() == 0:
        os.makedirs(args.logs, exist_ok=True)
    dist.barrier()
    torch.save(model(args), os.path.join(args.out, f"{dist.get_rank()}.pt"))


def written_where_it_is(args, model):
    if dist.get_rank() == 0:
        os.makedirs(args.out, exist_ok=True)
    dist.barrier()
    if os.path.isdir(args.out):
        torch.save(model(args), os.path.join(args.out, f"{dist.get_rank()}.pt"))


# VideoMAE 14ef8d8 run_class_finetuning.py:546: named in one function, read in another


def tested(args, model, loader, world_size):
    global_rank = dist.get_rank()
    own = os.path.join(args.out, str(global_rank) + ".txt")
    results_to(own, model, loader)
    dist.barrier()
    if global_rank == 0:
        return merged(args.out, world_size)  # expect: DL310
    return None


def results_to(path, model, loader):
    with open(path, "w") as file:
        file.write(str([model(batch) for batch in loader]))


def merged(folder, num_tasks):
    lines = []
    for x in range(num_tasks):
        lines += open(os.path.join(folder, str(x) + ".txt")).readlines()
    return lines


def tested_otherwise(args, model, loader, world_size):
    global_rank = dist.get_rank()
    results_to(os.path.join(args.out, str(global_rank) + ".json"), model, loader)
    dist.barrier()
    return merged(args.out, world_size)


def read_alone(args, world_size):
    rank = dist.get_rank()
    lines = merged(args.out, world_size)
    results_to(str(rank) + ".txt", None, lines)
    return lines


def saved_by_what_makes_the_folder(args, model):
    # EasyAnimate c2a70d1 scripts/train_reward_lora.py:961
    if dist.get_rank() == 0:
        os.makedirs(args.out, exist_ok=True)
    dist.barrier()

    def save(path):
        os.makedirs(args.out, exist_ok=True)
        torch.save(model, path)

    save(os.path.join(args.out, f"{dist.get_rank()}.pt"))


def made_by_saving_the_model(args, model):
    if dist.get_rank() == 0:
        os.makedirs(args.out, exist_ok=True)
    dist.barrier()
    model.save_pretrained(args.out, is_main_process=dist.get_rank() == 0)
    with open(os.path.join(args.out, f"log-{dist.get_rank()}.json"), "w") as file:
        json.dump({}, file)


def made_by_saving_below(args, model):
    if dist.get_rank() == 0:
        os.makedirs(args.out, exist_ok=True)
    dist.barrier()
    if args.keep:
        model.save_pretrained(os.path.join(args.out, "model"))
        with open(os.path.join(args.out, f"log-{dist.get_rank()}.json"), "w") as file:
            json.dump({}, file)


class EvaluatorOfOneProcess:
    def __init__(self, arguments):
        self.arguments = arguments
        if arguments.world_size > 1:
            raise NotImplementedError("several processes")

    def collected(self, results, folder):
        path = os.path.join(folder, f"{self.arguments.rank}.json")
        with open(path, "w") as file:
            json.dump(results, file)
        dist.barrier()
        found = []
        for rank in range(self.arguments.world_size):
            found += json.load(open(os.path.join(folder, f"{rank}.json")))
        return found


class EvaluatorOfSeveralProcesses:
    def __init__(self, arguments):
        self.arguments = arguments
        if arguments.world_size > 1:
            print("several processes")

    def collected(self, results, folder):
        path = os.path.join(folder, f"{self.arguments.rank}.json")
        with open(path, "w") as file:
            json.dump(results, file)
        dist.barrier()
        found = []
        for rank in range(self.arguments.world_size):
            found += json.load(open(os.path.join(folder, f"{rank}.json")))  # expect: DL310
        return found


# Folders that rank 0 makes again at the end


def note(args, epoch):
    with open(os.path.join(args.out, f"epoch-{epoch}-{dist.get_rank()}.json"), "w") as file:
        json.dump({"epoch": epoch}, file)


def looked_at(folders, local_rank):
    for folder in folders:
        if local_rank == 0:
            os.makedirs(folder, exist_ok=True)
    dist.barrier()


def made_while_it_trains(args, model, epochs):
    for epoch in range(epochs):
        looked_at([args.out, args.out + "-again"], args.local_rank)
        note(args, epoch)
    if dist.get_rank() == 0:
        os.makedirs(args.out, exist_ok=True)
        torch.save(model, os.path.join(args.out, "last.pt"))


def made_before_it_trains(args, model, epochs):
    if dist.get_rank() == 0:
        os.makedirs(args.out, exist_ok=True)  # expect: DL310
    dist.barrier()
    for epoch in range(epochs):
        note(args, epoch)
    if dist.get_rank() == 0:
        os.makedirs(args.out, exist_ok=True)
        torch.save(model, os.path.join(args.out, "last.pt"))


def made_for_what_comes_last(args, model, epochs):
    for epoch in range(epochs):
        looked_at([args.out, args.out + "-again"], args.local_rank)
        note(args, epoch)
    last = os.path.join(args.out, "last")
    if dist.get_rank() == 0:
        os.makedirs(last, exist_ok=True)  # expect: DL310
    dist.barrier()
    torch.save(model, os.path.join(last, f"{dist.get_rank()}.pt"))


def made_again_on_each_machine(accelerator, images, folder):
    # LightningDiT 2725fed inference.py:57
    if accelerator.process_index == 0:
        os.makedirs(folder, exist_ok=True)
    if accelerator.local_process_index == 0:
        os.makedirs(folder, exist_ok=True)
    accelerator.wait_for_everyone()
    for number, image in enumerate(images):
        save_image(image, os.path.join(folder, f"{accelerator.process_index}-{number}.png"))
