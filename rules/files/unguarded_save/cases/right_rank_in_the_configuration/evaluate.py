import torch.distributed as dist


def evaluate(cfg):
    template = "{}/{}.txt"
    with open(template.format(cfg.OUTPUT.FOLDER, cfg.LAUNCH.PROCESS), "w") as file:
        file.write("boxes")
    dist.barrier()
    if cfg.LAUNCH.PROCESS == 0:
        with open(f"{cfg.OUTPUT.FOLDER}/all.txt", "w") as file:
            file.write("score")
