import torch
from scores import Scores

if __name__ == "__main__":
    print(Scores(torch.nn.Linear(2, 2)).read("lines.txt"))
