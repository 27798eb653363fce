import deepspeed

import starting


def main():
    args = starting.get_args()
    deepspeed.init_distributed()
    print(args.steps)


if __name__ == "__main__":
    main()
