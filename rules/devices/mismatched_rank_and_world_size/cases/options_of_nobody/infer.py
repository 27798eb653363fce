import torch
from loading import read_lines

if __name__ == "__main__":
    model = torch.load("model.pt")
    for line in read_lines("lines.txt"):
        print(model(line))
