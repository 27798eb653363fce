"""Layers of models that DDP wraps, and what forward makes of them."""

import random

import torch
from accelerate import Accelerator
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainingArguments
from transformers import AutoModel, BertModel, CLIPTextModel, RobertaModel

# Bugs


class Leftover(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Linear(width, width)
        self.old_head = nn.Linear(width, 2)  # expect: DL615

    def forward(self, x):
        return self.body(x)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.attend = nn.MultiheadAttention(width, 4)
        self.third_norm = nn.LayerNorm(width)  # expect: DL615
        nn.init.ones_(self.third_norm.weight)

    def forward(self, x):
        return self.attend(x, x, x)[0]


class OfBlocks(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.blocks = nn.ModuleList([Block(width) for _ in range(4)])
        self.apply(self._init_weights)

    def _init_weights(self, module):
        for part in self.modules():
            print(part, module)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


class ByChance(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body_of_chance = nn.Linear(width, width)
        self.condition = nn.Linear(width, width)  # expect: DL615

    def forward(self, x):
        x = self.body_of_chance(x)
        if self.training and random.random() < 0.5:
            x = x + self.condition(x)
        return x


class Prepared(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.main_path = nn.Linear(width, width)
        self.unused_path = nn.Sequential(nn.Linear(width, width), nn.ReLU())  # expect: DL615

    def forward(self, x):
        return self.main_path(x)


def train(width, rank, loader):
    leftover = DDP(Leftover(width), device_ids=[rank], find_unused_parameters=True)
    model = OfBlocks(width)
    model = model.to(rank)
    model = nn.parallel.DistributedDataParallel(
        model, device_ids=[rank], find_unused_parameters=True
    )
    chance = DDP(ByChance(width).cuda(), find_unused_parameters=True)
    for batch in loader:
        (leftover(batch) + model(batch) + chance(batch)).sum().backward()


def train_prepared(width, loader):
    accelerator = Accelerator()
    net = Prepared(width)
    net, loader = accelerator.prepare(net, loader)
    for batch in loader:
        accelerator.backward(net(batch).sum())


def train_by_inner_states(name, head, loader):
    accelerator = Accelerator()
    encoder = CLIPTextModel.from_pretrained(name)
    optimizer = torch.optim.AdamW([*encoder.parameters(), *head.parameters()])
    encoder, optimizer = accelerator.prepare(encoder, optimizer)
    for ids in loader:
        hidden = encoder(ids, output_hidden_states=True).hidden_states[-2]  # expect: DL615
        accelerator.backward(head(hidden).mean())
        optimizer.step()


def load(name):
    return CLIPTextModel.from_pretrained(name)


def train_by_states_of_a_variable(name, rank, loader):
    encoder = load(name).to(rank)
    encoder = DDP(encoder, device_ids=[rank])
    optimizer = torch.optim.AdamW(encoder.parameters())
    for ids in loader:
        out = encoder(ids, output_hidden_states=True)
        out.hidden_states[-3].mean().backward()  # expect: DL615
        optimizer.step()


class OneHeadOfTwo(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.heads_by_task = nn.ModuleDict(
            {
                "words": nn.Linear(width, width),
                "speech": nn.Linear(width, width),  # expect: DL615
            }
        )
        self.starts = nn.ParameterDict({"words": nn.Parameter(torch.zeros(8))})  # expect: DL615

    def forward(self, x):
        return self.heads_by_task["words"](x)


def train_one_head_of_two(rank):
    return DDP(OneHeadOfTwo(8).to(rank), device_ids=[rank], find_unused_parameters=True)


# Correct


class HeadOfTheTask(nn.Module):
    def __init__(self, width, task):
        super().__init__()
        self.task = task
        self.heads_of_tasks = nn.ModuleDict(
            {"words": nn.Linear(width, width), "speech": nn.Linear(width, width)}
        )

    def forward(self, x):
        return self.heads_of_tasks["words"](x) + self.heads_of_tasks[self.task](x)


class BothHeads(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.both_heads = nn.ModuleDict(
            {"words": nn.Linear(width, width), "speech": nn.Linear(width, width)}
        )

    def forward(self, x):
        return self.both_heads["words"](x) + self.both_heads.speech(x)


def train_heads(rank, task):
    return DDP(HeadOfTheTask(8, task).to(rank)), DDP(BothHeads(8).to(rank))


class UsedThroughAMethod(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.projection = nn.Linear(width, width)
        self.relu = nn.ReLU()

    def project(self, x):
        return self.projection(x)

    def forward(self, x):
        return self.project(x)


class Tied(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.embed_in = nn.Embedding(width, width)
        self.embed_out = nn.Linear(width, width)
        self.embed_out.weight = self.embed_in.weight

    def forward(self, x):
        return self.embed_in(x) @ self.embed_in.weight.T


class ByNumber(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.stage1 = nn.Linear(width, width)
        self.stage2 = nn.Linear(width, width)

    def forward(self, x):
        for number in (1, 2):
            x = getattr(self, f"stage{number}")(x)
        return x


class OneAfterTheOther(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer_one = nn.Linear(width, width)
        self.layer_two = nn.Linear(width, width)

    def forward(self, x):
        for layer in self.children():
            x = layer(x)
        return x


class Frozen(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.train_me = nn.Linear(width, width)
        self.leave_me = nn.Linear(width, width)
        for parameter in self.leave_me.parameters():
            parameter.requires_grad = False

    def forward(self, x):
        return self.train_me(x)


class Base(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.for_children = nn.Linear(width, width)

    def forward(self, x):
        return self.run(x)


class Derived(Base):
    def run(self, x):
        return self.for_children(x)


class ReadByItsOwner(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = Holder(width)

    def forward(self, x):
        return x @ self.inner.table


class Holder(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.table = nn.Parameter(torch.zeros(width, width))

    def forward(self, x):
        return x


class EitherWay(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.always = nn.Linear(width, width)

    def forward(self, x):
        if random.random() < 0.5:
            return self.always(x) * 2
        return self.always(x)


class Searched(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body_of_searched = nn.Linear(width, width)
        self.spare = nn.Linear(width, width)

    def forward(self, x):
        return self.body_of_searched(x)


class NotWrapped(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.never_read = nn.Linear(width, width)

    def forward(self, x):
        return x


def train_well(width, rank, loader):
    models = (
        DDP(UsedThroughAMethod(width)),
        DDP(Tied(width)),
        DDP(ByNumber(width)),
        DDP(OneAfterTheOther(width)),
        DDP(Frozen(width)),
        DDP(Derived(width)),
        DDP(ReadByItsOwner(width)),
        DDP(EitherWay(width)),
        DDP(Searched(width), device_ids=[rank], find_unused_parameters=True),
        NotWrapped(width),
    )
    for batch in loader:
        for model in models:
            model(batch).sum().backward()


def train_by_the_last_states(name, loader):
    accelerator = Accelerator()
    encoder = CLIPTextModel.from_pretrained(name)
    optimizer = torch.optim.AdamW(encoder.parameters())
    encoder, optimizer = accelerator.prepare(encoder, optimizer)
    for ids in loader:
        hidden = encoder(ids, output_hidden_states=True).hidden_states[-1]
        accelerator.backward(hidden.mean())
        optimizer.step()


def train_by_more(name, loader):
    accelerator = Accelerator()
    encoder = CLIPTextModel.from_pretrained(name)
    optimizer = torch.optim.AdamW(encoder.parameters())
    encoder, optimizer = accelerator.prepare(encoder, optimizer)
    for ids in loader:
        out = encoder(ids, output_hidden_states=True)
        accelerator.backward(out.hidden_states[-2].mean() + out.pooler_output.mean())
        optimizer.step()


def train_beside_a_frozen_encoder(name, head, loader):
    accelerator = Accelerator()
    encoder = CLIPTextModel.from_pretrained(name)
    encoder.requires_grad_(False)
    optimizer = torch.optim.AdamW(head.parameters())
    encoder, head, optimizer = accelerator.prepare(encoder, head, optimizer)
    for ids in loader:
        hidden = encoder(ids, output_hidden_states=True).hidden_states[-2]
        accelerator.backward(head(hidden).mean())
        optimizer.step()


class Tagger(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.encoder = BertModel.from_pretrained("bert-base-cased")  # expect: DL615
        self.head = nn.Linear(self.encoder.config.hidden_size, width)

    def forward(self, ids):
        out = self.encoder(ids)
        return self.head(out.last_hidden_state)


class FirstToken(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.encoder = AutoModel.from_pretrained("roberta-large")  # expect: DL615
        self.head = nn.Linear(1024, width)

    def forward(self, ids):
        return self.head(self.encoder(ids)[0][:, 0])


def train_taggers(width):
    return DDP(Tagger(width)), DDP(FirstToken(width))


class OfThePooler(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.encoder = RobertaModel.from_pretrained("roberta-base")
        self.head = nn.Linear(768, width)

    def forward(self, ids):
        out = self.encoder(ids)
        return self.head(out.pooler_output)


class WithoutPooler(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.encoder = BertModel(config, add_pooling_layer=False)
        self.head = nn.Linear(768, 2)

    def forward(self, ids):
        return self.head(self.encoder(ids)[0])


class HandsItAllOn(nn.Module):
    def __init__(self, config, loss):
        super().__init__()
        self.encoder = BertModel(config)
        self.head = nn.Linear(768, 2)
        self.loss = loss

    def forward(self, ids):
        out = self.encoder(ids)
        return self.head(out[0]).sum() + self.loss(out)


class FrozenEncoder(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.encoder = BertModel(config)
        self.head = nn.Linear(768, 2)
        for parameter in self.encoder.pooler.parameters():
            parameter.requires_grad = False

    def forward(self, ids):
        return self.head(self.encoder(ids)[0])


def train_others(config, loss, width):
    return (
        DDP(OfThePooler(width)),
        DDP(WithoutPooler(config)),
        DDP(HandsItAllOn(config, loss)),
        DDP(FrozenEncoder(config)),
    )


def sentences(name, folder):
    net = SentenceTransformer(name)
    settings = SentenceTransformerTrainingArguments(
        output_dir=folder,
        ddp_find_unused_parameters=False,  # expect: DL615
    )
    return net, settings


def sentences_left_to_the_trainer(name, folder):
    net = SentenceTransformer(name)
    return net, SentenceTransformerTrainingArguments(output_dir=folder)


def sentences_without_pooler(name, folder):
    net = SentenceTransformer(name, model_kwargs={"add_pooling_layer": False})
    settings = SentenceTransformerTrainingArguments(folder, ddp_find_unused_parameters=False)
    return net, settings
