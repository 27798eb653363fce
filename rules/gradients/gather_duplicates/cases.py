"""What is gathered in an evaluation."""

import torch
import torch.distributed as dist
import lightning.pytorch as pl
from accelerate import Accelerator
from timm.data.distributed_sampler import OrderedDistributedSampler
from torch.nn import functional
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
from transformers import Trainer

# Bugs


def metric_of_batches(model, data, metric):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, DataLoader(data, batch_size=8))
    model.eval()
    for batch in loader:
        predictions = model(batch["inputs"]).argmax(dim=-1)
        predictions, labels = accelerator.gather((predictions, batch["labels"]))  # expect: DL602
        metric.add_batch(predictions=predictions, references=labels)
    return metric.compute()


def through_a_reshape(model, data, metric, choices):
    # t-zero 7a699e3 examples/single_task_fine_tune.py:694: what one call is given keeps one length
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, DataLoader(data, batch_size=8))
    for batch in loader:
        predictions = choices.view(batch["labels"].size(0), -1).argmax(dim=-1)
        metric.add_batch(
            predictions=accelerator.gather(predictions),
            references=accelerator.gather(batch["labels"]),  # expect: DL602
        )
    return metric.compute()


def gathered_one_by_one(model, data, metric, choices):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, DataLoader(data, batch_size=8))
    for batch in loader:
        predictions = accelerator.gather(choices.view(batch["labels"].size(0), -1))
        labels = accelerator.gather(batch["labels"])  # expect: DL602
        metric.add_batch(predictions=predictions, references=labels)
    return metric.compute()


class Trainer:
    def __init__(self, model, eval_loader):
        self.accelerator = Accelerator()
        self.model = self.accelerator.prepare(model)
        self.eval_loader = self.accelerator.prepare(eval_loader)

    def evaluate(self):
        losses = []
        for step, batch in enumerate(self.eval_loader):
            with torch.no_grad():
                loss = self.model(batch).loss
            losses.append(self.accelerator.gather(loss.repeat(8)))  # expect: DL602
        return torch.cat(losses).mean()


def mean_of_each_rank(model, accuracy, data, meter):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, DataLoader(data, batch_size=8))
    for inputs, target in loader:
        top1, top5 = accuracy(model(inputs), target, topk=(1, 5))
        meter.update(accelerator.gather(top1).mean(0).item())  # expect: DL602


def right_or_wrong(model, data):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, DataLoader(data, batch_size=8))
    right = 0
    for inputs, target in loader:
        hits = model(inputs).argmax(dim=-1).eq(target)
        right += accelerator.gather(hits).sum().item()  # expect: DL602
    return right


def loss_of_each_rank(model, data, losses):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, DataLoader(data, batch_size=8))
    for batch in loader:
        loss = model(batch).loss
        losses.append(accelerator.gather(loss))  # expect: DL602


def validate(model, dataset_val):
    sampler = DistributedSampler(dataset_val, shuffle=False)  # expect: DL602
    model.eval()
    right = torch.zeros(2)
    with torch.no_grad():
        for batch, target in DataLoader(dataset_val, sampler=sampler):
            right[0] += (model(batch).argmax(-1) == target).sum()
            right[1] += len(target)
    dist.all_reduce(right)
    return right[0] / right[1]


def loaders(train_set, held_out, world_size, rank):
    train = DataLoader(train_set, sampler=DistributedSampler(train_set))
    sampler = DistributedSampler(held_out, world_size, rank)  # expect: DL602
    return train, DataLoader(held_out, sampler=sampler, batch_size=4)


def through_a_function(model, train_set, held_out):
    _, loader = loaders(train_set, held_out, dist.get_world_size(), dist.get_rank())
    return measured(model, loader)


@torch.no_grad()
def measured(model, loader):
    losses = torch.zeros(1)
    for batch in loader:
        losses += model(batch).mean()
    dist.all_reduce(losses)
    return losses / dist.get_world_size() / len(loader)


def build(data, is_train):
    if is_train:
        sampler = DistributedSampler(data)
    else:
        sampler = DistributedSampler(data, shuffle=False)  # expect: DL602
    return DataLoader(data, sampler=sampler)


def numbers_of_batches(model, data, accuracy, criterion):
    # DCNv4 4b848f7 classification/main_accelerate.py:281: one number of each rank has no samples to cut
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, DataLoader(data, batch_size=8))
    right, lost = [], []
    for images, labels in loader:
        output = model(images)
        first, fifth = accuracy(output, labels, topk=(1, 5))
        right.append(accelerator.gather(first).mean())  # expect: DL602
        lost.append(accelerator.gather(criterion(output, labels).mean().unsqueeze(0)))  # expect: DL602
        lost.append(accelerator.gather(functional.cross_entropy(output, labels)))  # expect: DL602
    return right, lost


def numbers_of_samples(model, data, criterion):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, DataLoader(data, batch_size=8))
    lost = []
    for images, labels in loader:
        output = model(images)
        each = functional.cross_entropy(output, labels, reduction="none")
        lost.append(accelerator.gather(each))  # expect: DL602
        lost.append(accelerator.gather(criterion(output, labels).mean(dim=-1)))  # expect: DL602
        right = (output.argmax(-1) == labels).float()
        lost.append(accelerator.gather(right.view(-1)))  # expect: DL602
    return lost


def what_is_over_is_left_out(model, dataset_val):
    # mace mace/cli/run_train.py:715: a head with fewer configurations than ranks is not validated at all.
    sampler = DistributedSampler(dataset_val, shuffle=False, drop_last=True)  # expect: DL602
    return measured(model, DataLoader(dataset_val, sampler=sampler))


def last_batch_is_left_out(model, dataset_val):
    # Qwen-VL eval_mm/evaluate_grounding.py:135
    loader = DataLoader(  # expect: DL602
        dataset_val, 8, sampler=DistributedSampler(dataset_val, drop_last=True), drop_last=True  # expect: DL602
    )
    return measured(model, loader)


def in_order(dataset, is_training):
    # efficientdet-pytorch effdet/data/loader.py:229
    if is_training:
        sampler = DistributedSampler(dataset)
    else:
        sampler = OrderedDistributedSampler(dataset)  # expect: DL602
    return DataLoader(dataset, sampler=sampler)


class Tagger(pl.LightningModule):
    # HTS-Audio-Transformer main.py:59 and sed_model.py:117
    def val_dataloader(self):
        sampler = DistributedSampler(self.eval_dataset, shuffle=False)  # expect: DL602
        return DataLoader(self.eval_dataset, sampler=sampler)

    def validation_epoch_end(self, outputs):
        predictions = torch.cat(outputs)
        gathered = [torch.zeros_like(predictions) for _ in range(dist.get_world_size())]
        dist.all_gather(gathered, predictions)
        self.log("mAP", self.evaluate_metric(torch.cat(gathered)))


# Correct


class OfFullBatches:
    def __init__(self, model, held_out):
        # HuatuoGPT-o1 2c8d7fc ppo_utils/ppo_trainer_medo1.py:794: nothing is filled up where the last batch is dropped
        self.accelerator = Accelerator()
        self.model = self.accelerator.prepare(model)
        self.eval_loader = DataLoader(held_out, batch_size=8, drop_last=True)
        self.eval_loader = self.accelerator.prepare(self.eval_loader)

    def scored(self, metric):
        for batch in self.eval_loader:
            scores = self.model(batch["inputs"]).argmax(dim=-1)
            metric.add_batch(self.accelerator.gather(scores))
        return metric.compute()


def last_batch_of_training_is_left_out(model, optimizer, train_set):
    sampler = DistributedSampler(train_set, drop_last=True)
    for batch in DataLoader(train_set, sampler=sampler, drop_last=True):
        model(batch).mean().backward()
        optimizer.step()


def last_batch_of_one_process_is_left_out(model, dataset_val):
    return measured(model, DataLoader(dataset_val, 8, drop_last=True))


def of_one_replica(model, dataset_val):
    sampler = DistributedSampler(dataset_val, num_replicas=1, rank=0)
    return measured(model, DataLoader(dataset_val, sampler=sampler))


def of_training(model, optimizer, train_set):
    sampler = DistributedSampler(train_set)
    for batch in DataLoader(train_set, sampler=sampler):
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()
        dist.all_reduce(loss.detach())


def whole_on_each_rank(model, dataset_val):
    model.eval()
    total = 0.0
    with torch.no_grad():
        for batch in DataLoader(dataset_val):
            total += model(batch).sum().item()
    return total


def for_metrics(model, data, metric):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, DataLoader(data, batch_size=8))
    for batch in loader:
        predictions = model(batch["inputs"]).argmax(dim=-1)
        predictions, labels = accelerator.gather_for_metrics((predictions, batch["labels"]))
        metric.add_batch(predictions=predictions, references=labels)
    return metric.compute()


def cut_to_the_length(model, data, batch_size):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, DataLoader(data, batch_size=8))
    losses = []
    for batch in loader:
        losses.append(accelerator.gather(model(batch).loss.repeat(batch_size)))
    return torch.cat(losses)[: len(data)].mean()


def in_training(model, optimizer, data):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(data, batch_size=8))
    for batch in loader:
        loss = model(batch).loss
        average = accelerator.gather(loss.repeat(8)).mean()
        accelerator.backward(loss)
        optimizer.step()
        accelerator.log({"loss": average.item()})


class Counting:
    # LLaVA-NeXT llava/train/llava_trainer.py:1019: tokens that were trained on; the base class has `training_step`.
    def __init__(self, model, data):
        self.accelerator = Accelerator()
        self.model, self.loader = self.accelerator.prepare(model, DataLoader(data, batch_size=8))
        self.seen = 0

    def run(self):
        for batch in self.loader:
            count = torch.tensor(batch["ids"].numel())
            self.seen += self.accelerator.gather(count).sum().item()
            self.training_step(self.model, batch)


class Training:
    def __init__(self, model, optimizer, data):
        self.accelerator = Accelerator()
        self.model, self.optimizer, self.loader = self.accelerator.prepare(
            model, optimizer, DataLoader(data, batch_size=8)
        )

    def step(self, batch):
        loss = self.model(batch).loss
        self.accelerator.backward(loss)
        self.optimizer.step()
        return loss

    def train(self):
        for batch in self.loader:
            loss = self.step(batch)
            average = self.accelerator.gather(loss.repeat(8)).mean()
            self.accelerator.log({"loss": average.item()})


def of_no_loader(model, prompts, tokenizer):
    accelerator = Accelerator()
    with accelerator.split_between_processes(prompts) as mine:
        for prompt in mine:
            images = model(prompt)
            accelerator.gather(images)


class Counting(Trainer):
    def train_on(self, model, data):
        accelerator = Accelerator()
        model, loader = accelerator.prepare(model, DataLoader(data, batch_size=8))
        for batch in loader:
            # LLaVA-NeXT df17966 llava/train/llava_trainer.py:1019: what all have trained on
            self.seen += accelerator.gather(batch["ids"]).numel()
            self.training_step(model, batch)


def the_first_batches(model, data, wanted):
    # RoboticsDiffusionTransformer deb71d8 train/sample.py:24: the last batch is not what it is for.
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, DataLoader(data, batch_size=8, shuffle=True))
    total = 0
    for step, batch in enumerate(loader):
        if step >= wanted:
            break
        total += accelerator.gather(model(batch).eq(batch["labels"])).sum().item()
    return total


def rows_of(parts, dataset):
    rows, step = [], 0
    for part in parts:
        rows.extend(part[: len(dataset) - step])
        step += len(part)
    return rows


def cut_by_a_helper(model, data, metric):
    # CodeRL ec3c526 transformers/examples/pytorch/question-answering/run_qa_no_trainer.py:762
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, DataLoader(data, batch_size=8))
    found = []
    for batch in loader:
        found.append(accelerator.gather(model(batch)).cpu())
    return metric.compute(rows_of(found, data))


def joined_by_a_helper(model, data, metric):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, DataLoader(data, batch_size=8))
    found = []
    for batch in loader:
        found.append(accelerator.gather(model(batch)).cpu())  # expect: DL602
    return metric.compute(all_of(found))


def all_of(parts):
    return torch.cat(parts)


def read_to_the_length_of_what_is_cut(model, data, scores, table):
    # FineGrainedRLHF a1469d4 fgrlhf/ppo.py:377: what fills the last batch up is behind the end
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, DataLoader(data, batch_size=8))
    for batch in loader:
        judged = {name: score(model(batch)) for name, score in scores.items()}
        texts = accelerator.gather_for_metrics(batch["ids"])
        for name, values in judged.items():
            judged[name] = accelerator.gather(values)
        for i in range(len(texts)):
            table.append([texts[i], *(values[i] for values in judged.values())])


def read_to_a_length_of_its_own(model, data, table):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, DataLoader(data, batch_size=8))
    for batch in loader:
        texts = accelerator.gather_for_metrics(batch["ids"])
        scores = accelerator.gather(model(batch))  # expect: DL602
        for i in range(len(scores)):
            table.append([len(texts), scores[i]])
