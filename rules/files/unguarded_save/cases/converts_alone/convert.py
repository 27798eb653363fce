import torch
import torch.distributed as dist


class Converter:
    def __init__(self, folder):
        self.folder = folder

    def convert(self, sharded):
        # ROLL mcore_adapter/src/mcore_adapter/models/converter/post_converter.py:410: a group of one, made by a method
        self._set_up()
        dist.all_reduce(sharded)
        torch.save(sharded, self.folder + "/model.pt")

    def _set_up(self):
        dist.init_process_group("gloo", rank=0, world_size=1)


class Streamed(Converter):
    def convert(self, sharded):
        self._set_up()
        for part in sharded:
            dist.all_reduce(part)
        torch.save(sharded, self.folder + "/parts.pt")
