from tuner.run import run


def _mp_fn(index):
    run()


if __name__ == "__main__":
    run()
