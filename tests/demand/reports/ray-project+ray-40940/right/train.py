import torch
from ray import train
from ray.train import ScalingConfig
from ray.train.torch import TorchTrainer, prepare_data_loader, prepare_model
from torch.utils.data import DataLoader

from data import dataset
from net import Net


def train_func(config):
    model = prepare_model(Net())
    loader = prepare_data_loader(DataLoader(dataset(), batch_size=config["batch_size"], shuffle=True))
    optimizer = torch.optim.Adam(model.parameters(), lr=config["lr"])
    criterion = torch.nn.MSELoss()
    for epoch in range(config["epochs"]):
        loader.sampler.set_epoch(epoch)
        loss_sum = 0
        for x, y in loader:
            prediction = model(x)
            loss = criterion(prediction, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            loss_sum += loss.item()
        train.report({"loss": float(loss_sum) / len(loader)})


if __name__ == "__main__":
    trainer = TorchTrainer(
        train_func,
        train_loop_config={"lr": 1e-3, "batch_size": 64, "epochs": 20},
        scaling_config=ScalingConfig(num_workers=4, use_gpu=True),
    )
    trainer.fit()
