"""A training on one GPU, for which no sampler is made (gpt-from-scratch 9b85295 src/train.py:127)."""

from data import loaders_of


def main(net, data):
    loader = loaders_of(data)
    for epoch in range(3):
        for batch in loader:
            net(batch).sum().backward()


if __name__ == "__main__":
    main(None, None)
