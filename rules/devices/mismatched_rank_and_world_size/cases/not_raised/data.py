import torch.distributed as dist


class Lines:
    def __init__(self, args, lines):
        place, count = args.local_rank, dist.get_world_size()
        self.lines = [line for at, line in enumerate(lines) if at % count == place]  # expect: DL511
