import hydra
import torch
from omegaconf import DictConfig
from transformers import AutoModel

DEVICE = torch.device("cuda", 0 if torch.cuda.is_available() else None)
torch.cuda.init()


@hydra.main(config_path="conf", config_name="config", version_base=None)
def benchmark(config: DictConfig) -> None:
    model = AutoModel.from_pretrained(config.model).to(DEVICE)
    ids = torch.ones(config.batch_size, 128, dtype=torch.long, device=DEVICE)
    with torch.no_grad():
        for _ in range(100):
            model(ids)


if __name__ == "__main__":
    benchmark()
