import torch
import torch.distributed as dist


class Converter:
    def __init__(self, folder):
        self.folder = folder

    def convert(self, sharded):
        # each rank of the launch converts
        self._set_up()
        dist.all_reduce(sharded)
        torch.save(sharded, self.folder + "/model.pt")  # expect: DL301

    def _set_up(self):
        dist.init_process_group("gloo")


class Streamed(Converter):
    def convert(self, sharded):
        self._set_up()
        for part in sharded:
            dist.all_reduce(part)
        torch.save(sharded, self.folder + "/parts.pt")  # expect: DL301
