# recognize-anything 7cb804a pretrain.py:204, LLaMA-Adapter in DriveLM 1de72a7: what a name stands for is fetched without a lock
import clip
import torch.distributed as dist
import whisper


def main():
    dist.init_process_group("nccl")
    encoder, _ = clip.load("ViT-B/16", device="cpu")  # expect: DL301
    dist.barrier()
    return encoder


def speech():
    dist.init_process_group("nccl")
    model = whisper.load_model("small")  # expect: DL301
    dist.barrier()
    return model
