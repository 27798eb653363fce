# monolithic_examples 55fce10 lightning_train.py:32: `fit` starts the others, which run the script from its top
import lightning as L
import torch
from torchvision import datasets, transforms

digits = datasets.MNIST("data", transform=transforms.ToTensor(), download=True)


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(784, 10)

    def training_step(self, batch, index):
        images, labels = batch
        return torch.nn.functional.cross_entropy(self.layer(images.flatten(1)), labels)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


def main():
    trainer = L.Trainer(accelerator="gpu", devices=4, strategy="ddp")
    trainer.fit(Net(), torch.utils.data.DataLoader(digits, batch_size=32))


if __name__ == "__main__":
    main()
