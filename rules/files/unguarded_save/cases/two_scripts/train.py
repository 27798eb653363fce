import torch.distributed as dist
from helper import read_tokens


def main(folder):
    dist.init_process_group("nccl")
    tokens = read_tokens("tokens.txt")
    with open(folder + "/shown.html", "w") as file:  # expect: DL301
        file.write(tokens)
    print(dist.is_available())


if __name__ == "__main__":
    main("pages")
