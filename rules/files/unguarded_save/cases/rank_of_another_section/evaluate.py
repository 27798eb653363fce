import torch.distributed as dist


def evaluate(cfg):
    template = "{}/{}.txt"
    with open(template.format(cfg.OUTPUT.FOLDER, cfg.MATRIX.PROCESS), "w") as file:  # expect: DL301
        file.write("boxes")
    dist.barrier()
