import sys

import torch

from segnet import InstanSeg


def load(folder):
    model = InstanSeg()
    state = torch.load(f"{folder}/model_weights.pth", map_location="cpu")
    model.load_state_dict(state["model_state_dict"])
    return model.eval()


if __name__ == "__main__":
    print(load(sys.argv[1]))
