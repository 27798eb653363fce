"""Codebooks that follow moving averages: of one rank's batch, of all ranks' batches, and what only looks like one."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel

# --- bugs -----------------------------------------------------------------------------------------


def follow(average, new, decay):
    average.data.mul_(decay).add_(new, alpha=1 - decay)


class Codes(nn.Module):
    def __init__(self, codes, width):
        super().__init__()
        self.register_buffer("embed", torch.randn(codes, width))
        self.register_buffer("cluster_size", torch.zeros(codes))
        self.register_buffer("embed_avg", torch.zeros(codes, width))

    def forward(self, x):
        nearest = torch.cdist(x, self.embed).argmin(-1)
        if self.training:
            used = F.one_hot(nearest, len(self.embed)).type(x.dtype)
            follow(self.cluster_size, used.sum(0), 0.99)  # expect: DL625
            follow(self.embed_avg, used.t() @ x, 0.99)
            counts = self.cluster_size + 1e-5
            self.embed.data.copy_(self.embed_avg / counts[:, None])
        return F.embedding(nearest, self.embed)


class CodesOfTheLayerAround(nn.Module):
    # FunCodec 3435d87 funcodec/modules/quantization/ddp_core_vq.py:229: each codebook is handed its buffers
    def forward(self, x, buffers):
        self.cluster_size, self.embed, self.embed_avg = buffers
        nearest = torch.cdist(x, self.embed).argmin(-1)
        used = F.one_hot(nearest, len(self.embed)).type(x.dtype)
        follow(self.cluster_size, used.sum(0), 0.99)  # expect: DL625
        follow(self.embed_avg, used.t() @ x, 0.99)
        self.embed.data.copy_(self.embed_avg / self.cluster_size[:, None])
        return F.embedding(nearest, self.embed)


class SumsOfTheLayerAround(nn.Module):
    def forward(self, x, buffers):
        self.cluster_size, self.embed, self.embed_avg = buffers
        used = F.one_hot(torch.cdist(x, self.embed).argmin(-1), len(self.embed)).type(x.dtype)
        counts, sums = used.sum(0), used.t() @ x
        dist.all_reduce(counts)
        dist.all_reduce(sums)
        follow(self.cluster_size, counts, 0.99)
        follow(self.embed_avg, sums, 0.99)
        self.embed.data.copy_(self.embed_avg / self.cluster_size[:, None])


class CodesOfALayer(nn.Module):
    def __init__(self, codes, width):
        super().__init__()
        self.table = nn.Embedding(codes, width)
        self.register_buffer("cluster_size", torch.zeros(codes))
        self.sums = nn.Parameter(torch.zeros(codes, width), requires_grad=False)

    def learn(self, used, x):
        self.cluster_size.mul_(0.9).add_(0.1 * used.sum(0))  # expect: DL625
        self.sums.data.lerp_(used.t() @ x, 0.1)
        mean = self.sums / self.cluster_size[:, None]
        self.table.weight.data = mean


class CodesWrittenOut(nn.Module):
    def __init__(self, codes, width, decay):
        super().__init__()
        self.decay = decay
        self.register_buffer("codebook", torch.randn(codes, width))
        self.register_buffer("cluster_size", torch.zeros(codes))
        self.register_buffer("sums", torch.zeros(codes, width))

    def forward(self, used, x):
        # dist.all_reduce(used)
        self.cluster_size = self.decay * self.cluster_size + (1 - self.decay) * used.sum(0)  # expect: DL625
        self.sums = self.decay * self.sums + (1 - self.decay) * (used.t() @ x)
        self.codebook.copy_(self.sums / self.cluster_size[:, None])
        return used @ self.codebook


# --- correct --------------------------------------------------------------------------------------


class CodesOfAllRanks(nn.Module):
    def __init__(self, codes, width):
        super().__init__()
        self.register_buffer("embed", torch.randn(codes, width))
        self.register_buffer("cluster_size", torch.zeros(codes))
        self.register_buffer("embed_avg", torch.zeros(codes, width))

    def forward(self, used, x):
        counts, sums = used.sum(0), used.t() @ x
        if dist.is_initialized():
            dist.all_reduce(counts)
            dist.all_reduce(sums)
        follow(self.cluster_size, counts, 0.99)
        follow(self.embed_avg, sums, 0.99)
        self.embed.data.copy_(self.embed_avg / self.cluster_size[:, None])


class CodesAddedUpByWhatIsGiven(nn.Module):
    def __init__(self, codes, width, several):
        super().__init__()
        self.all_reduce_fn = dist.all_reduce if several else nn.Identity()
        self.register_buffer("embed", torch.randn(codes, width))
        self.register_buffer("cluster_size", torch.zeros(codes))

    def forward(self, used, x):
        counts = used.sum(0)
        self.all_reduce_fn(counts)
        follow(self.cluster_size, counts, 0.99)
        self.embed.copy_(x / self.cluster_size[:, None])


class HowOftenUsed(nn.Module):
    """Counts are kept, and nothing is set from them."""

    def __init__(self, codes, width):
        super().__init__()
        self.table = nn.Embedding(codes, width)
        self.register_buffer("cluster_size", torch.zeros(codes))

    def forward(self, used):
        self.cluster_size.mul_(0.99).add_(used.sum(0), alpha=0.01)
        return used @ self.table.weight


class LearnsByGradient(nn.Module):
    """The table is a parameter with a gradient, which DDP averages."""

    def __init__(self, codes, width):
        super().__init__()
        self.table = nn.Parameter(torch.randn(codes, width))

    def forward(self, used):
        self.seen = 0.9 * self.seen + 0.1 * used.sum(0)
        return used @ self.table


class Codec(nn.Module):
    def __init__(self):
        super().__init__()
        self.codes = Codes(1024, 64)
        self.of_layer = CodesOfALayer(1024, 64)
        self.written_out = CodesWrittenOut(1024, 64, 0.99)
        self.of_all = CodesOfAllRanks(1024, 64)
        self.given = CodesAddedUpByWhatIsGiven(1024, 64, True)
        self.used = HowOftenUsed(1024, 64)
        self.by_gradient = LearnsByGradient(1024, 64)


def train(loader):
    dist.init_process_group("nccl")
    codec = DistributedDataParallel(Codec().cuda())
    optimizer = torch.optim.AdamW(codec.parameters())
    for batch in loader:
        codec(batch).mean().backward()
        optimizer.step()
