import hydra


@hydra.main(config_path="config", config_name="counting", version_base=None)
def main(config):
    print(config.words)


if __name__ == "__main__":
    main()
