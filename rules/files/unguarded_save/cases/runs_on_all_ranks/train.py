import os

import hydra
import torch
import torch.distributed as dist


@hydra.main(config_path="conf", config_name="train")
def main(cfg):
    dist.init_process_group("nccl")
    model = torch.nn.Linear(cfg.width, 2)
    torch.save(model.state_dict(), os.path.join(cfg.folder, "last.pt"))  # expect: DL301
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), os.path.join(cfg.folder, "best.pt"))


if __name__ == "__main__":
    main()
