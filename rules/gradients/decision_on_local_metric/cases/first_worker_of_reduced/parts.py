import torch
import torch.distributed as dist


class Parts:
    def __init__(self, batch=None, meta_info=None):
        self.batch = batch
        self.meta_info = meta_info

    @staticmethod
    def concat(data):
        batch = torch.cat([each.batch for each in data]) if data[0].batch is not None else None
        return Parts(batch=batch, meta_info=data[0].meta_info)

    def send(self, rank):
        dist.broadcast(self.batch, src=rank)
