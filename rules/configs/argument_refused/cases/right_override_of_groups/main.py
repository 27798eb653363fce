import hydra
import torch.distributed as dist


@hydra.main(config_path="config", config_name="tuning", version_base=None)
def main(config):
    dist.init_process_group("nccl")
    print(config.data.path)


if __name__ == "__main__":
    main()
