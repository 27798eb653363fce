from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


def load_one(args, language):
    known = read_known([language])
    return [DataLoader(known, sampler=DistributedSampler(known)), DataLoader(read_held_out(args))]  # expect: DL403
