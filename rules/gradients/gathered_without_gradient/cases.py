"""Features of all ranks, and losses that are made of them."""

import torch
import torch.distributed as dist
import torch.distributed.nn.functional as with_gradient
import torch.nn.functional as F
from accelerate import Accelerator


def gather(x):
    parts = [torch.zeros_like(x) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, x)
    return torch.cat(parts)


def gather_with_own(x):
    parts = [torch.zeros_like(x) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, x)
    parts[dist.get_rank()] = x
    return torch.cat(parts)


# Bugs


class Clip(torch.nn.Module):
    def forward(self, image, text, scale):
        images = gather(image)
        texts = gather(text)
        logits = scale * images @ texts.t()  # expect: DL618
        return F.cross_entropy(logits, torch.arange(len(logits)))


def by_lists(image, text):
    images = [torch.zeros_like(image) for _ in range(dist.get_world_size())]
    texts = [torch.zeros_like(text) for _ in range(dist.get_world_size())]
    dist.all_gather(images, image)
    dist.all_gather(texts, text)
    images = torch.cat(images)
    texts = torch.cat(texts)
    logits = torch.matmul(images, texts.T)  # expect: DL618
    return F.cross_entropy(logits, torch.arange(len(logits)))


class WithAccelerator:
    def __init__(self):
        self.accelerator = Accelerator()

    def contrastive(self, image, text):
        images = self.accelerator.gather(image)
        texts = self.accelerator.gather(text)
        logits = images @ texts.T  # expect: DL618
        return F.cross_entropy(logits, torch.arange(len(logits)))


# Correct


class OwnPutBack(torch.nn.Module):
    def forward(self, image, text, scale):
        images, texts = gather_with_own(image), gather_with_own(text)
        logits = scale * images @ texts.t()
        return F.cross_entropy(logits, torch.arange(len(logits)))


class LocalLoss(torch.nn.Module):
    def forward(self, image, text, labels):
        images, texts = gather(image), gather(text)
        per_image, per_text = image @ texts.t(), text @ images.t()
        return F.cross_entropy(per_image, labels) + F.cross_entropy(per_text, labels)


def gathers_with_gradient(image, text):
    images = torch.cat(with_gradient.all_gather(image))
    texts = torch.cat(with_gradient.all_gather(text))
    logits = images @ texts.T
    return F.cross_entropy(logits, torch.arange(len(logits)))


@torch.no_grad()
def evaluation_loss(image, text):
    images, texts = gather(image), gather(text)
    logits = images @ texts.T
    return F.cross_entropy(logits, torch.arange(len(logits)))


def recall(image, text):
    images, texts = gather(image), gather(text)
    return (images @ texts.T).argmax(1)


def momentum_keys(query, key, queue):
    keys = gather(key)
    positive = query @ key.T
    negative = query @ queue.T
    return F.cross_entropy(torch.cat([positive, negative]), torch.zeros(len(query))), keys
