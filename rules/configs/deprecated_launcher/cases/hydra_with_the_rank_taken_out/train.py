import sys

import hydra
import torch.distributed as dist


@hydra.main(version_base=None, config_path="settings", config_name="small")
def main(settings):
    dist.init_process_group("nccl")


if __name__ == "__main__":
    sys.argv = [each for each in sys.argv if not each.startswith("--local")]
    main()
