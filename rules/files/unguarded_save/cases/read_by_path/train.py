# DIVA d53c668 models/CLIP_bank.py:11: a file is read
import clip
import torch.distributed as dist


def main(model_path):
    dist.init_process_group("nccl")
    large, _ = clip.load("weights/ViT-L-14.pt", jit=False)
    own, _ = clip.load(model_path, jit=False)
    dist.barrier()
    return large, own
