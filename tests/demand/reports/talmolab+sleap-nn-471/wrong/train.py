import argparse
import json

import lightning as L
import torch
import zmq
from lightning.pytorch.callbacks import Callback

from pose_data import loaders
from pose_model import UNet


class TrainingControllerZMQ(Callback):
    def __init__(self, address="tcp://127.0.0.1:9000"):
        super().__init__()
        self.address = address
        self.socket = None

    def setup(self, trainer, pl_module, stage):
        if trainer.is_global_zero:
            self.socket = zmq.Context().socket(zmq.SUB)
            self.socket.subscribe("")
            self.socket.connect(self.address)

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        if trainer.is_global_zero:
            if self.socket.poll(10, zmq.POLLIN):
                message = json.loads(self.socket.recv_string())
                if message["command"] == "stop":
                    trainer.should_stop = True
        trainer.strategy.barrier()


class PoseModule(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = UNet()

    def training_step(self, batch, batch_idx):
        loss = torch.nn.functional.mse_loss(self.net(batch["image"]), batch["maps"])
        self.log("train/loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-4)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--devices", type=int, default=2)
    args = parser.parse_args()
    trainer = L.Trainer(devices=args.devices, strategy="ddp", callbacks=[TrainingControllerZMQ()])
    trainer.fit(PoseModule(), *loaders())


if __name__ == "__main__":
    main()
