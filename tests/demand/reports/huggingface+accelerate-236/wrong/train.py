import argparse

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader
from torchvision import datasets, models, transforms


class AddNoise:
    def __call__(self, image):
        return image + 0.1 * torch.randn_like(image)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data_dir", required=True)
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--epochs", type=int, default=3)
    args = parser.parse_args()
    accelerator = Accelerator()
    set_seed(args.seed)
    transform = transforms.Compose([transforms.RandomResizedCrop(224), transforms.ToTensor(), AddNoise()])
    loader = DataLoader(datasets.ImageFolder(args.data_dir, transform), batch_size=64, shuffle=True, num_workers=0)
    model = models.resnet50(num_classes=37)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for epoch in range(args.epochs):
        model.train()
        for images, labels in loader:
            loss = torch.nn.functional.cross_entropy(model(images), labels)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()


if __name__ == "__main__":
    main()
