import torch.distributed as dist
from torchvision.utils import save_image


class Sizes:
    def __init__(self, shapes):
        self.shapes = shapes

    def write(self, images):
        dist.all_reduce(images)
        if self.shapes["rank"] <= 0:
            save_image(images, "sizes.png")  # expect: DL301
