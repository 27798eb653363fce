import hydra
import torch
from omegaconf import DictConfig
from transformers import AutoModel

@hydra.main(config_path="conf", config_name="config", version_base=None)
def benchmark(config: DictConfig) -> None:
    model = AutoModel.from_pretrained(config.model).cuda()
    ids = torch.ones(config.batch_size, 128, dtype=torch.long, device="cuda")
    with torch.no_grad():
        for _ in range(100):
            model(ids)


if __name__ == "__main__":
    benchmark()
