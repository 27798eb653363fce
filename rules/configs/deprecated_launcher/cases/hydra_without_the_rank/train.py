import sys

import hydra
import torch.distributed as dist


@hydra.main(version_base=None, config_path="settings", config_name="small")
def main(settings):
    print("started as", " ".join(sys.argv))
    dist.init_process_group("nccl")


if __name__ == "__main__":
    main()
