"""Loaders over a sampler of MONAI, which is a subclass of torch's."""

from monai.data import DataLoader, DistributedSampler


def loaders(args):
    # research-contributions 21ed8e5 SwinUNETR/Pretrain/utils/data_utils.py:129
    sampler = DistributedSampler(dataset=args.data, even_divisible=True)  # expect: DL403
    held_out = DistributedSampler(args.held_out, False, None, None, False)
    return DataLoader(args.data, sampler=sampler), DataLoader(args.held_out, sampler=held_out)
